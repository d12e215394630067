"""The packages that people would take instead, each as its own README says, on the database.

Nothing here checks a signature or an owner. ``drf_idempotencykey`` keys by user and skips whoever
is not signed in, so its view has one who costs no query.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction
from django.urls import URLPattern, path
from django.utils.module_loading import import_string
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from benchmarks.settings import PACKAGES
from benchmarks.site.api import BareOrder
from benchmarks.site.operations import take


@cache
def _somebody() -> Any:
    return get_user_model().objects.get()


class Somebody(BaseAuthentication):
    """Authenticates everybody as the one user, who was read before."""

    def authenticate(self, _request: Request) -> tuple[Any, None]:
        """Give the user."""
        return _somebody(), None


def _drf_idempotency() -> type[APIView]:
    # By its middleware: its decorator renders a response of Django REST framework before the view
    # has finalised it, and answers 500 after the effect (1.0.0).
    return BareOrder


def _rest_framework_idempotency_key() -> type[APIView]:
    decorated = import_string(
        "rest_framework_idempotency_key.decorators.simple_idempotency_key_method"
    )

    class View(APIView):
        authentication_classes = ()
        permission_classes = ()
        # It opens the transaction itself.
        post = decorated(_take)

    return View


def _drf_idempotencykey() -> type[APIView]:
    mixin: Any = import_string("drf_idempotencykey.mixins.DrfIdempotencyKeyMixin")

    class View(mixin, APIView):  # type: ignore[misc]  # only an installed package has a type
        authentication_classes = (Somebody,)
        permission_classes = ()

        def post(self, request: Request) -> Response:
            with transaction.atomic():
                return _take(self, request)

    return View


def _take(_view: APIView, request: Request) -> Response:
    return Response(take(request.data), status=201)


VIEWS = {
    "drf_idempotency": _drf_idempotency,
    "rest_framework_idempotency_key": _rest_framework_idempotency_key,
    "drf_idempotencykey": _drf_idempotencykey,
}
# What a package puts around every view of the site.
MIDDLEWARE = {
    "drf_idempotency": "drf_idempotency.middleware.IdempotencyMiddleware",
    "rest_framework_idempotency_key": (
        "rest_framework_idempotency_key.middleware.IdempotencyKeyMiddleware"
    ),
}


def urls() -> list[URLPattern]:
    """Give the routes of the packages that are installed."""
    return [path(f"packages/{name}/", VIEWS[name]().as_view()) for name in PACKAGES]

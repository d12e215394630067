"""The test site's API: views that ask who calls before the gate does."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.http import HttpRequest, HttpResponseBase, JsonResponse
from django.urls import path
from django.utils.decorators import method_decorator
from django.views import View
from rest_framework.authentication import BasicAuthentication, SessionAuthentication
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

from poppy_operations import operation_of
from poppy_operations.decorators import personal_agents
from poppy_operations.rest_framework import HasScope
from tests.shop import orders
from tests.shop.api import Agents, Class, gated


class Public(APIView):
    """A view that authenticates nobody."""

    authentication_classes = ()

    @gated
    def post(self, request: Request) -> HttpResponseBase:
        """Take the order."""
        return orders.take(operation_of(request))


class SiteUsers(APIView):
    """A view that authenticates its users in its own ways."""

    authentication_classes = (BasicAuthentication, SessionAuthentication)

    @gated
    def post(self, request: Request) -> HttpResponseBase:
        """Take the order."""
        return orders.take(operation_of(request))


class Scoped(Agents):
    """A view for which a token needs a scope."""

    permission_classes = (HasScope.of("orders:write"),)

    def get(self, request: Request) -> HttpResponseBase:
        """Say who it is."""
        return Response({"user": str(request.user), "session": getattr(request.auth, "sid", None)})

    @gated
    def post(self, request: Request) -> HttpResponseBase:
        """Take the order."""
        return orders.take(operation_of(request))


class ScopedSiteUsers(Scoped):
    """The same, where the site authenticates in its own ways."""

    authentication_classes = (BasicAuthentication,)


class Members(Scoped):
    """A view for those who are signed in."""

    permission_classes = (IsAuthenticated,)


class SeldomThrottle(BaseThrottle):
    """Lets nobody through."""

    def allow_request(self, request: Request, view: APIView) -> bool:
        """Refuse."""
        return False

    def wait(self) -> float:
        """Say for how long."""
        return 7


class Throttled(Class):
    """A view that is always asked too often."""

    throttle_classes = (SeldomThrottle,)


def catch_all(error: Exception, context: dict[str, Any]) -> Response:
    """An exception handler that knows an answer to everything, with the status of a header."""
    status = int(context["request"].headers.get("X-Status", 500))
    return Response({"caught": type(error).__name__}, status)


class CatchAll(Class):
    """A view whose exceptions never get out."""

    def get_exception_handler(self) -> Any:
        """Catch everything."""
        return catch_all


@method_decorator(personal_agents(scope="orders:write"), name="dispatch")
class PlainClass(View):
    """A class-based view for agents with a scope."""

    def get(self, request: HttpRequest) -> HttpResponseBase:
        """Say who it is."""
        return JsonResponse({"user": str(request.user)})

    @method_decorator(orders.order.api(terms=lambda self, request: orders.order_terms(request)))
    def post(self, request: HttpRequest) -> HttpResponseBase:
        """Take the order."""
        return orders.take(operation_of(request), orders.created_plainly)


@transaction.non_atomic_requests
@personal_agents(scope="orders:write")
async def awho(request: HttpRequest) -> HttpResponseBase:
    """Say who it is, with nothing behind the gate."""
    return JsonResponse({"user": str(await request.auser())})


urlpatterns = [
    path("plain-class/", PlainClass.as_view()),
    path("awho/", awho),
    path("public/", Public.as_view()),
    path("site-users/", SiteUsers.as_view()),
    path("scoped/", Scoped.as_view()),
    path("scoped-site-users/", ScopedSiteUsers.as_view()),
    path("members/", Members.as_view()),
    path("throttled/", Throttled.as_view()),
    path("catch-all/", CatchAll.as_view()),
]

"""Views of every kind that are, in part, behind a gate; each says if it is in a transaction."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from django.db import connection, transaction
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.urls import path
from django.utils.decorators import method_decorator
from django.views import View
from rest_framework.decorators import api_view
from rest_framework.exceptions import APIException
from rest_framework.response import Response
from rest_framework.views import APIView
from rest_framework.viewsets import ViewSet

from poppy_operations.atomic_requests import switched_off_aliases

POST = frozenset({"POST"})


def gate(view: Any) -> Any:
    """Mark a handler as the doors do."""

    @functools.wraps(view)
    def gated(*args: Any, **kwargs: Any) -> Any:
        return view(*args, **kwargs)

    gated.poppy_gate = POST
    return gated


def agate(view: Any) -> Any:
    @functools.wraps(view)
    async def gated(*args: Any, **kwargs: Any) -> Any:
        return await view(*args, **kwargs)

    gated.poppy_gate = POST
    return gated


def facts(request: Any) -> dict[str, Any]:
    return {
        "atomic": connection.in_atomic_block,
        "off": list(switched_off_aliases(getattr(request, "_request", request))),
    }


@gate
def function(request: HttpRequest) -> HttpResponse:
    return JsonResponse(facts(request))


def ungated(request: HttpRequest) -> HttpResponse:
    return JsonResponse(facts(request))


class ClassView(View):
    def get(self, request: HttpRequest) -> HttpResponse:
        return JsonResponse(facts(request))

    @gate
    def post(self, request: HttpRequest) -> HttpResponse:
        return JsonResponse(facts(request))


class DispatchingView(ClassView):
    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        return super().dispatch(request, *args, **kwargs)


@method_decorator(gate, name="dispatch")
class GatedDispatch(View):
    def post(self, request: HttpRequest) -> HttpResponse:
        return JsonResponse(facts(request))


class GatedClass(View):
    poppy_gate = POST

    def post(self, request: HttpRequest) -> HttpResponse:
        return JsonResponse(facts(request))


class GatedAPIView(APIView):
    authentication_classes = ()

    def get(self, request: Any) -> Response:
        return Response(facts(request))

    @gate
    def post(self, request: Any) -> Response:
        return Response(facts(request))


class GatedViewSet(ViewSet):
    authentication_classes = ()

    def list(self, request: Any) -> Response:
        return Response(facts(request))

    @gate
    def create(self, request: Any) -> Response:
        return Response(facts(request))


@api_view(["GET", "POST"])
@gate
def gated_api_function(request: Any) -> Response:
    return Response(facts(request))


@agate
async def async_function(request: HttpRequest) -> HttpResponse:
    return JsonResponse(facts(request))


class AsyncClassView(View):
    @agate
    async def post(self, request: HttpRequest) -> HttpResponse:
        return JsonResponse(facts(request))


class Methods:
    @gate
    def answer(self, request: HttpRequest) -> HttpResponse:
        return JsonResponse(facts(request))


class Slotted:
    """A callable that takes no attributes."""

    __slots__ = ()
    poppy_gate = POST

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return JsonResponse(facts(request))


class RaisingAPIView(APIView):
    authentication_classes = ()

    @gate
    def post(self, request: Any, kind: str) -> Response:
        if kind == "missing":
            raise Http404
        raise APIException


@gate
def get_and_post(request: HttpRequest) -> HttpResponse:
    return JsonResponse(facts(request))


get_and_post.poppy_gate = frozenset({"GET", "HEAD", "POST"})


class HeadView(View):
    def get(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse(headers={"Atomic": str(connection.in_atomic_block)})


def as_views(name: str) -> Callable[..., Any]:
    return {
        "function": function,
        "ungated": ungated,
        "class": ClassView.as_view(),
        "dispatching": DispatchingView.as_view(),
        "gated-dispatch": GatedDispatch.as_view(),
        "gated-class": GatedClass.as_view(),
        "api-view": GatedAPIView.as_view(),
        "viewset": GatedViewSet.as_view({"get": "list", "post": "create"}),
        "api-function": gated_api_function,
        "method": Methods().answer,
        "slotted": Slotted(),
        "reading": get_and_post,
        "site-non-atomic": transaction.non_atomic_requests(gate(function)),
        "async-function": async_function,
        "async-class": AsyncClassView.as_view(),
    }[name]


NAMES = [
    "function",
    "class",
    "dispatching",
    "gated-dispatch",
    "gated-class",
    "api-view",
    "viewset",
    "api-function",
    "method",
]
ASYNC_NAMES = ["async-function", "async-class"]

urlpatterns = [
    *(
        path(f"{name}/", as_views(name))
        for name in [*NAMES, *ASYNC_NAMES, "ungated", "slotted", "reading", "site-non-atomic"]
    ),
    path("raising/<str:kind>/", RaisingAPIView.as_view()),
]

"""A site whose processes die: each door with each kind of effects, and a queue that is a file.

It is not the shop's site, because every process must see what its actions reach, and the queue:
both are files. What a test changes about an action here is a moment at which the process dies.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import include, path
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from poppy_operations import (
    Action,
    CurrentOperation,
    NotPerformed,
    Performed,
    Terms,
    operation_of,
)
from poppy_operations.rest_framework import PersonalAgentAuthentication
from tests.crash.outside import Barred, Outside
from tests.shop.models import Effect

LEASE = timedelta(seconds=10)
OPTIONS: dict[str, Any] = {"lease": LEASE, "lifetime": timedelta(hours=1)}


def nothing() -> None:
    """Do nothing: the ordinary case."""


@dataclass
class Moments:
    """What a child process does at moments inside the action, beside the action itself."""

    before_effect: Callable[[], None] = nothing
    after_effect: Callable[[], None] = nothing


moments = Moments()


@dataclass
class Stores:
    """Where the outside and the queue are."""

    folder: Path = Path()

    @property
    def outside(self) -> Outside:
        """What external actions reach."""
        return Outside(self.folder / "outside")

    @property
    def queue(self) -> Path:
        """The messages to workers, one a line, which are never taken out."""
        return self.folder / "queue"


stores = Stores()


def terms(request: HttpRequest | Request, **kwargs: str) -> Terms:
    """The terms of any action here."""
    data = request.data if isinstance(request, Request) else request.POST
    return Terms({"thing": data["thing"]})


def still(operation: CurrentOperation) -> Terms:
    """The terms as they still are."""
    return Terms(operation.terms)


def key_of(operation: CurrentOperation) -> str:
    """The idempotency key of whatever is done for an operation."""
    assert operation.operation_id is not None
    return operation.operation_id


def write(operation: CurrentOperation) -> dict[str, str]:
    """Have an effect in the database."""
    moments.before_effect()
    Effect.objects.create(kind=operation.action, key=key_of(operation))
    moments.after_effect()
    return {"done": key_of(operation)}


def reach_outside(operation: CurrentOperation) -> dict[str, str]:
    """Have an effect outside the database."""
    key = key_of(operation)
    ticket = stores.outside.ticket(key)
    moments.before_effect()
    try:
        stores.outside.do(key, ticket)
    except Barred as barred:
        raise NotPerformed from barred
    moments.after_effect()
    return {"done": key}


def outcome(operation: CurrentOperation) -> Performed | NotPerformed:
    """Ask the outside what became of an operation."""
    key = key_of(operation)
    return Performed({"done": key}, status=201) if stores.outside.outcome(key) else NotPerformed()


def times(effects: str, operation_id: str) -> int:
    """How often an operation really happened."""
    if effects == "external":
        return stores.outside.times(operation_id)
    return Effect.objects.filter(key=operation_id).count()


def enqueue(operation_id: str, attempt: str) -> None:
    """Hand an attempt to the workers."""
    with stores.queue.open("a") as queue:
        queue.write(json.dumps([operation_id, attempt]) + "\n")


in_database = Action("crash.database", effects="database", **OPTIONS)
outside = Action("crash.external", effects="external", **OPTIONS)
in_database_later = Action(
    "crash.database_later",
    effects="database",
    background=True,
    perform=write,
    still=still,
    **OPTIONS,
)
outside_later = Action(
    "crash.external_later", effects="external", background=True, perform=reach_outside, **OPTIONS
)
outside.reconcile(outcome)
outside_later.reconcile(outcome)
BODIES = {"database": write, "external": reach_outside}


def page(action: Action) -> Callable[..., HttpResponseBase]:
    """A view of the website."""

    @action.view(terms=terms)
    def view(request: HttpRequest) -> HttpResponseBase:
        BODIES[action.effects](operation_of(request))
        return HttpResponse(status=303, headers={"Location": "/done/"})

    return view


def async_page(action: Action) -> Callable[..., Any]:
    """The same, asynchronous."""

    @action.view(terms=terms)
    async def view(request: HttpRequest) -> HttpResponseBase:
        await sync_to_async(BODIES[action.effects])(operation_of(request))
        return HttpResponse(status=303, headers={"Location": "/done/"})

    return view


def api(action: Action) -> Callable[..., HttpResponseBase]:
    """A view of the API."""

    class View(APIView):
        authentication_classes = (PersonalAgentAuthentication,)
        permission_classes = (AllowAny,)

        @action.api(terms=terms)
        def post(self, request: Request) -> Response:
            return Response(BODIES[action.effects](operation_of(request)), status=201)

    return View.as_view()


urlpatterns = [
    path("poppy/", include("poppy_operations.urls")),
    path("website/database/", page(in_database)),
    path("website/external/", page(outside)),
    path("async/database/", async_page(in_database)),
    path("async/external/", async_page(outside)),
    path("api/database/", api(in_database)),
    path("api/external/", api(outside)),
    path("background/database/", api(in_database_later)),
    path("background/external/", api(outside_later)),
    path("website/background/database/", page(in_database_later)),
    path("website/background/external/", page(outside_later)),
]

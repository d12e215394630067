"""More pages of the test site: actions in shapes that only the website's tests need."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.urls import path
from django.views.decorators.debug import sensitive_post_parameters

from poppy_operations import Action, Terms, operation_of
from tests.shop import operations as shop
from tests.shop.models import Effect

search = Action("website.search", effects="database")
note = Action("website.note", effects="database", lifetime=timedelta(days=3))
careful = Action("website.careful", effects="database", approvers=("user",))
hooked = Action("website.hooked", effects="database")
batch = Action("website.batch", effects="database")
strange = Action("website.strange", effects="database")


def search_terms(request: HttpRequest) -> Terms | HttpResponseBase:
    """What one searches for."""
    query = request.GET.get("q", "")
    if "\0" in query:
        return HttpResponse("no such query", status=400)
    return Terms({"query": query}, summary="Search, for money.")


@search.view(terms=search_terms, methods=["GET"])
def searching(request: HttpRequest) -> HttpResponseBase:
    """A page that costs something as soon as it is loaded."""
    Effect.objects.create(kind="search", key=operation_of(request).terms["query"])
    return HttpResponse("found")


def note_terms(request: HttpRequest, **kwargs: str) -> Terms | HttpResponseBase:
    """Whatever a script of the page sends as JSON."""
    try:
        text = json.loads(request.body or b"null")["text"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return JsonResponse({"error": "no text"}, status=400)
    if not isinstance(text, str) or len(text) > 100 or not text.isprintable():
        return JsonResponse({"error": "no such text"}, status=400)
    return Terms({"text": text}, summary=f"Write *{text}* down.")


@note.view(terms=note_terms, ignore=["trace", "client.trace", "utm"])
def noting(request: HttpRequest, **kwargs: str) -> HttpResponseBase:
    """Writes a note."""
    Effect.objects.create(kind="note", key=operation_of(request).terms["text"])
    return JsonResponse({"done": True}, status=201)


@careful.view(terms=shop.order_terms)
def caring(request: HttpRequest) -> HttpResponseBase:
    """Only on the User's own approval."""
    return shop.happen(operation_of(request))


@sensitive_post_parameters("pin")
@hooked.view(terms=shop.order_terms)
def hooking(request: HttpRequest) -> HttpResponseBase:
    """With a policy of its own, and a secret in its content."""
    return shop.happen(operation_of(request))


def batch_terms(request: HttpRequest) -> Terms:
    """Several orders, all in one operation."""
    items = [{"sku": sku} for sku in request.POST.getlist("sku")]
    return Terms({"items": items}, summary="Buy " + " and ".join(request.POST.getlist("sku")))


@batch.view(terms=batch_terms)
def batching(request: HttpRequest) -> HttpResponseBase:
    """All of them or none."""
    for item in operation_of(request).terms["items"]:
        Effect.objects.create(kind="batch", key=item["sku"])
    return HttpResponse("all")


class Strange:
    """What the strange action's terms are; set by a test."""

    terms: Any = None
    summary: Any = None


def strange_terms(request: HttpRequest) -> Terms:
    """Terms that a test chooses."""
    return Terms(Strange.terms, summary=Strange.summary)


@strange.view(terms=strange_terms)
def strangely(request: HttpRequest) -> HttpResponseBase:
    """Does as the terms say."""
    Effect.objects.create(kind="strange", key=str(operation_of(request).revision))
    return HttpResponse("strange")


def own_flow(request: HttpRequest) -> HttpResponse:
    """The site's own way to have an action approved."""
    return HttpResponse("Confirm it here.")


urlpatterns = [
    path("search/", searching),
    path("notes/", noting),
    path("notes/<str:shelf>/", noting),
    path("careful/", caring),
    path("hooked/", hooking),
    path("batch/", batching),
    path("strange/", strangely),
    path("own-flow/", own_flow),
]

"""Which methods are behind the gate: nobody gets past it by a method that no one thought of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import path
from django.views import View

from poppy_operations import Action, Terms
from poppy_operations.doors.gating import methods_of
from tests.agents import SessionOf, reference
from tests.connections import be_atomic
from tests.shop.models import Effect
from tests.urls import urlpatterns as of_the_shop

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.website.test_methods")]

close = Action("methods.close", effects="database")
unsubscribe = Action("methods.unsubscribe", effects="database")


def close_terms(request: HttpRequest) -> Terms:
    """What is going to be closed."""
    return Terms({"what": "the account"})


@close.view(terms=close_terms)
def closing(request: HttpRequest) -> HttpResponseBase:
    """Shows its form on GET, and acts on everything else."""
    if request.method == "GET":
        return HttpResponse("form")
    Effect.objects.create(kind="close", key=str(request.method))
    return HttpResponse("closed")


class Unsubscribing(View):
    """Acts on GET, by which Django answers HEAD as well."""

    @unsubscribe.view(terms=close_terms, methods=["GET"])
    def get(self, request: HttpRequest) -> HttpResponseBase:
        """Act at once."""
        Effect.objects.create(kind="unsubscribe", key=str(request.method))
        return HttpResponse("unsubscribed")


urlpatterns = [
    *of_the_shop,
    path("close/", closing),
    path("unsubscribe/", Unsubscribing.as_view()),
]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "MOVE", "PURGE", "ANYTHING"])
@pytest.mark.parametrize("atomic_requests", [False, True])
@pytest.mark.django_db(transaction=True)
def test_a_method_that_nobody_named_is_behind_the_gate_too(
    method: str,
    atomic_requests: bool,
    signed_out: SessionOf,
    monkeypatch: pytest.MonkeyPatch,
    effects: Callable[[], list[str]],
) -> None:
    be_atomic(monkeypatch, atomic=atomic_requests)
    browser = signed_out.browser()
    refused = browser.generic(method, "/close/")
    assert refused.status_code == 403
    assert effects() == []
    signed_out.approve(reference(refused)[1])
    assert browser.generic(method, "/close/").content == b"closed"
    assert effects() == [f"close {method}"]


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_head_is_behind_the_gate_where_get_is(
    method: str, signed_out: SessionOf, effects: Callable[[], list[str]]
) -> None:
    browser = signed_out.browser()
    refused = browser.generic(method, "/unsubscribe/")
    assert refused.status_code == 403
    assert effects() == []
    signed_out.approve(reference(refused)[1])
    browser.generic(method, "/unsubscribe/")
    assert effects() == [f"unsubscribe {method}"]


def test_an_approval_of_get_is_none_of_head(
    signed_out: SessionOf, effects: Callable[[], list[str]]
) -> None:
    browser = signed_out.browser()
    signed_out.approve(reference(browser.get("/unsubscribe/"))[1])
    assert browser.head("/unsubscribe/").status_code == 403
    assert effects() == []


def test_what_a_site_may_leave_out_is_left_out() -> None:
    gated = methods_of(["post"])
    assert "POST" in gated
    assert all(method not in gated for method in ("GET", "HEAD", "OPTIONS", "TRACE", "PUT"))


def test_visitors_use_whatever_method_they_like(
    client: Any, effects: Callable[[], list[str]]
) -> None:
    assert client.generic("MOVE", "/close/").content == b"closed"
    assert effects() == ["close MOVE"]


class Calling(View):
    """A handler that leaves its work to another one of the class."""

    def get(self, request: HttpRequest) -> HttpResponseBase:
        """Act, as the form does."""
        return self.post(request)

    @close.view(terms=close_terms)
    def post(self, request: HttpRequest) -> HttpResponseBase:
        """Act."""
        Effect.objects.create(kind="close", key=str(request.method))
        return HttpResponse("closed")


urlpatterns.append(path("calling/", Calling.as_view()))


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "TRACE"])
def test_what_only_shows_is_closed_to_agents_in_a_view_that_acts_on_the_rest(
    method: str, signed_out: SessionOf, client: Any, effects: Callable[[], list[str]]
) -> None:
    for agents in (signed_out.browser(), signed_out.client):
        headers = {} if agents is not signed_out.client else signed_out.headers()
        refused = agents.generic(method, "/close/", headers=headers)
        assert refused.status_code == 405
        assert refused["Allow"] == "DELETE, GET, PATCH, POST, PUT"
    assert effects() == []
    # People get what the view does for them.
    assert client.generic(method, "/close/").status_code == 200
    assert effects() == [f"close {method}"]


def test_a_gated_handler_is_gated_whoever_calls_it(
    signed_out: SessionOf, client: Any, effects: Callable[[], list[str]]
) -> None:
    browser = signed_out.browser()
    refused = browser.get("/calling/")
    assert refused.status_code == 403
    assert effects() == []
    signed_out.approve(reference(refused)[1])
    assert browser.get("/calling/").content == b"closed"
    assert effects() == ["close GET"]
    assert client.get("/calling/").content == b"closed"

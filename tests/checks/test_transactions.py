"""Middleware that opens a transaction around the gate is found, and named when it gets there."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import path

from poppy_operations.declarations.registry import registry
from poppy_operations.lifecycle.durable import OuterTransaction
from tests.agents import ORDER, SessionOf
from tests.checks.test_checks import found
from tests.shop import operations as shop
from tests.shop.models import Item
from tests.urls import urlpatterns as of_the_shop

GetResponse = Callable[[HttpRequest], HttpResponse]


class Plain:
    """A middleware that has nothing to do with transactions."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer."""
        return self.get_response(request)


class Opening(Plain):
    """A middleware of the site's own."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer in a transaction."""
        with transaction.atomic():
            return self.get_response(request)


def opening(get_response: GetResponse) -> GetResponse:
    """The same, as a function."""

    def middleware(request: HttpRequest) -> HttpResponse:
        with transaction.atomic():
            return get_response(request)

    return middleware


@transaction.atomic
@shop.buy.view(terms=shop.order_terms)
def decorated(request: HttpRequest) -> HttpResponse:
    """A view whose gate is inside a transaction."""
    return HttpResponse()


urlpatterns = [*of_the_shop, path("decorated/", decorated)]


@pytest.fixture
def revisions(monkeypatch: pytest.MonkeyPatch) -> type:
    """The middleware of django-reversion, as far as it is known by its name."""

    class RevisionMiddleware(Opening):
        using = None
        atomic = True

        def __call__(self, request: HttpRequest) -> HttpResponse:
            """Answer, in a transaction that code elsewhere opens."""
            return super().__call__(request) if self.atomic else self.get_response(request)

    RevisionMiddleware.__module__ = "reversion.middleware"
    RevisionMiddleware.__qualname__ = "RevisionMiddleware"
    for name in ("reversion", "reversion.middleware"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setattr(
        sys.modules["reversion.middleware"], "RevisionMiddleware", RevisionMiddleware, raising=False
    )
    return RevisionMiddleware


REVISIONS = "reversion.middleware.RevisionMiddleware"
DERIVED = f"{__name__}.Derived"


def derived(monkeypatch: pytest.MonkeyPatch, base: type, **members: Any) -> None:
    """Let the site derive a middleware of its own."""
    made = type("Derived", (base,), members)
    monkeypatch.setattr(sys.modules[__name__], "Derived", made, raising=False)


# The check


@pytest.mark.parametrize(
    ("members", "alias", "names"),
    [
        ({}, "default", [DERIVED]),
        ({"atomic": False}, "default", []),
        ({"using": "default"}, "default", [DERIVED]),
        ({"using": "other"}, "default", []),
        ({}, "other", []),
        ({"using": "other"}, "other", [DERIVED]),
    ],
)
def test_reversions_middleware_is_warned_of_where_it_opens_a_transaction_on_our_database(
    members: dict[str, Any],
    alias: str,
    names: list[str],
    settings: Any,
    revisions: type,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    derived(monkeypatch, revisions, **members)
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, DERIVED]
    monkeypatch.setattr("poppy_operations.lifecycle.outer_transactions.write_alias", lambda: alias)
    assert [one.msg.split()[0] for one in found("W012")] == names


def test_other_middleware_and_a_site_without_actions_are_not_warned(
    settings: Any, revisions: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = [f"{__name__}.{name}" for name in ("Plain", "Opening", "opening")]
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, *own, "nowhere.middleware"]
    assert found("W012") == []

    settings.MIDDLEWARE = [*settings.MIDDLEWARE, REVISIONS]
    assert len(found("W012")) == 1
    monkeypatch.setattr(registry, "_actions", {})
    assert found("W012") == []


# The error


def refused(session: SessionOf, settings: Any, *middleware: str, path: str = "/buy/") -> str:
    """What is said of an agent's request under this middleware."""
    browser = session.browser()
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, *middleware]
    browser.handler.load_middleware()
    with pytest.raises(OuterTransaction) as raised:
        browser.post(path, ORDER)
    return str(raised.value)


@pytest.mark.django_db
def test_reversions_middleware_is_named(
    signed_out: SessionOf, jacket: Item, settings: Any, revisions: type
) -> None:
    said = refused(signed_out, settings, f"{__name__}.Plain", REVISIONS, f"{__name__}.Opening")
    assert f" {REVISIONS} in MIDDLEWARE opens it around every request. " in said


@pytest.mark.parametrize("name", ["Opening", "opening"])
@pytest.mark.django_db
def test_middleware_of_the_sites_own_that_may_open_it_is_named(
    name: str,
    signed_out: SessionOf,
    jacket: Item,
    settings: Any,
    revisions: type,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    derived(monkeypatch, revisions, atomic=False)
    own = f"{__name__}.{name}"
    said = refused(signed_out, settings, f"{__name__}.Plain", own, DERIVED)
    assert f" In MIDDLEWARE, {own} may open it around every request. " in said


@pytest.mark.django_db
def test_a_function_in_a_transaction_is_named(
    signed_out: SessionOf, jacket: Item, settings: Any
) -> None:
    settings.ROOT_URLCONF = __name__
    said = refused(signed_out, settings, f"{__name__}.Opening", path="/decorated/")
    assert f" It is around {__name__}.decorated. " in said


def test_what_names_nobody_says_what_to_do(settings: Any) -> None:
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, f"{__name__}.Plain"]
    said = str(OuterTransaction())
    assert "performed. Put the gate outside the transaction." in said

"""django-reversion: a revision belongs inside the gated view, and never around the gate."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.core.checks import run_checks
from django.test import Client
from reversion.models import Revision, Version

from poppy_operations.lifecycle.durable import OuterTransaction
from tests.agents import ORDER, SessionOf
from tests.asking import recorded
from tests.packages.browsers import BUY, bought
from tests.shop.models import Item

MARKED_DOWN = "shop.exchange 1 jacket"
WITH_TRANSACTION = "reversion.middleware.RevisionMiddleware"
WITHOUT = "tests.packages.reversion.revisions.RevisionWithoutTransaction"


def price() -> Decimal:
    """What the jacket costs."""
    return Item.objects.get(sku="jacket").price


def versions() -> list[str]:
    """The prices of the jacket that were kept, the first one first."""
    return [version.field_dict["price"] for version in Version.objects.order_by("pk")]


@pytest.mark.parametrize("path", ["/inside/", "/by-itself/"])
def test_a_visitors_change_is_a_revision(
    visitor: Client, alice: Any, path: str, effects: Callable[[], list[str]]
) -> None:
    visitor.login(username="alice", password="alice")

    assert visitor.post(path, ORDER)["Location"] == "/done/"
    assert effects() == [MARKED_DOWN]
    assert versions() == [Decimal("35.00")]
    assert Revision.objects.get().user == alice


@pytest.mark.parametrize("path", ["/inside/", "/by-itself/"])
def test_an_agents_change_is_a_revision_once_it_is_performed(
    signed_in: SessionOf, alice: Any, path: str, effects: Callable[[], list[str]]
) -> None:
    browser = signed_in.browser()
    recorded(signed_in, browser, path)
    assert versions() == []

    assert browser.post(path, ORDER)["Location"] == "/done/"
    assert effects() == [MARKED_DOWN]
    assert versions() == [Decimal("35.00")]
    assert Revision.objects.get().user == alice


def test_a_revision_can_name_the_operation(signed_in: SessionOf) -> None:
    browser = signed_in.browser()
    _, approval = recorded(signed_in, browser, "/by-itself/")
    browser.post("/by-itself/", ORDER)

    assert Revision.objects.get().comment == approval["operation_id"]


def test_what_is_not_performed_leaves_no_revision(
    signed_in: SessionOf, effects: Callable[[], list[str]]
) -> None:
    browser = signed_in.browser()
    recorded(signed_in, browser, "/not-after-all/")

    assert browser.post("/not-after-all/", ORDER).status_code == 409
    assert (effects(), versions(), price()) == ([], [], Decimal("70.00"))


def test_a_revision_around_the_gate_is_refused_for_an_agent(
    signed_in: SessionOf, effects: Callable[[], list[str]]
) -> None:
    browser = signed_in.browser()

    with pytest.raises(OuterTransaction, match=r"transaction\.atomic"):
        browser.post("/around/", ORDER)
    assert (effects(), versions(), price()) == ([], [], Decimal("70.00"))


def test_a_revision_around_the_gate_is_a_visitors_as_ever(
    visitor: Client, effects: Callable[[], list[str]]
) -> None:
    assert visitor.post("/around/", ORDER)["Location"] == "/done/"
    assert effects() == [MARKED_DOWN]
    assert versions() == [Decimal("35.00")]


@pytest.mark.parametrize("path", [WITH_TRANSACTION, WITHOUT])
def test_a_visitor_buys_at_once_beside_the_middleware(
    visitor: Client, settings: Any, path: str, effects: Callable[[], list[str]]
) -> None:
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, path]

    assert visitor.post(BUY, ORDER)["Location"] == "/done/"
    assert effects() == [bought(1)]


def test_the_middlewares_transaction_is_refused_by_its_name(
    signed_in: SessionOf, settings: Any, effects: Callable[[], list[str]]
) -> None:
    browser = signed_in.browser()
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, WITH_TRANSACTION]
    browser.handler.load_middleware()

    with pytest.raises(OuterTransaction, match=f"{WITH_TRANSACTION} in MIDDLEWARE opens it"):
        browser.post(BUY, ORDER)
    assert effects() == []


@pytest.mark.parametrize(("path", "is_warned"), [(WITH_TRANSACTION, True), (WITHOUT, False)])
def test_a_check_warns_of_the_middlewares_transaction(
    settings: Any, path: str, is_warned: bool
) -> None:
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, path]
    said = [one.msg.split()[0] for one in run_checks() if one.id == "poppy_operations.W012"]
    assert said == ([path] if is_warned else [])


def test_the_middleware_without_its_transaction_lets_agents_perform(
    signed_in: SessionOf, settings: Any, effects: Callable[[], list[str]]
) -> None:
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, WITHOUT]
    browser = signed_in.browser()
    recorded(signed_in, browser, "/inside/")

    assert browser.post("/inside/", ORDER)["Location"] == "/done/"
    assert effects() == [MARKED_DOWN]
    assert versions() == [Decimal("35.00")]


def test_the_middleware_without_its_transaction_keeps_what_was_rolled_back(
    signed_in: SessionOf, settings: Any, effects: Callable[[], list[str]]
) -> None:
    """Why revisions belong inside the view: this one says what did not happen."""
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, WITHOUT]
    browser = signed_in.browser()
    recorded(signed_in, browser, "/not-after-all/")

    assert browser.post("/not-after-all/", ORDER).status_code == 409
    assert (effects(), price()) == ([], Decimal("70.00"))
    assert versions() == [Decimal("35.00")]

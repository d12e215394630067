"""How many queries the website's paths cost, beside the site's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from poppy_operations.models import Revision
from tests.agents import ORDER, SessionOf, approval_of, reference
from tests.shop.models import Item
from tests.shop.operations import Behaviour

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("jacket")]
TRANSACTIONS = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE", "ROLLBACK", "SET")
SITES_OWN = ("shop_item", "shop_effect", "auth_user", "django_session")
WRITES = ("INSERT", "UPDATE", "DELETE")
PATHS = ["/buy/", "/abuy/", "/class/", "/form/", "/refund/", "/arefund/"]


class Ours(list[str]):
    """What this app asked of the database."""

    @property
    def writes(self) -> list[str]:
        return [sql for sql in self if sql.startswith(WRITES)]


@contextmanager
def our_queries() -> Iterator[Callable[[], Ours]]:
    """Count queries without transactions and without the site's own session, user and terms."""
    with CaptureQueriesContext(connection) as captured:
        yield lambda: Ours(
            query["sql"]
            for query in captured.captured_queries
            if not query["sql"].startswith(TRANSACTIONS)
            and not any(table in query["sql"] for table in SITES_OWN)
        )


@pytest.mark.parametrize("path", PATHS)
def test_the_websites_paths_stay_within_their_budgets(path: str, signed_out: SessionOf) -> None:
    browser = signed_out.browser()
    with our_queries() as asking:
        asked = browser.post(path, ORDER)
    with our_queries() as asking_again:
        again = browser.post(path, ORDER)
    assert reference(again) == reference(asked)
    _, ref = reference(asked)
    with our_queries() as first_look_up:
        operation = signed_out.look_up(ref)
    with our_queries() as look_up:
        signed_out.look_up(ref)
    with our_queries() as approving:
        assert signed_out.endpoint(ref, approval_of(operation)).status_code == 204
    with our_queries() as performing:
        assert browser.post(path, ORDER).status_code == 302
    with our_queries() as status:
        assert signed_out.status(ref) == "performed"

    assert len(asking()) <= 4, asking()
    assert len(asking().writes) == 2, asking()
    assert len(asking_again()) <= 3, asking_again()
    assert asking_again().writes == []
    # The first look-up is marked.
    assert len(first_look_up()) <= 3, first_look_up()
    assert len(first_look_up().writes) == 1, first_look_up()
    assert len(look_up()) <= 2, look_up()
    assert look_up().writes == []
    assert len(approving()) <= 3, approving()
    assert len(approving().writes) == 1, approving()
    assert len(performing()) <= 5, performing()
    assert len(status()) <= 2, status()


def test_asking_for_another_revision_of_an_operation_stays_within_the_budget(
    signed_out: SessionOf,
) -> None:
    browser = signed_out.browser()
    browser.post("/buy/", ORDER)
    Item.objects.update(price="75.00")
    with our_queries() as asking:
        browser.post("/buy/", ORDER)
    assert len(asking()) <= 4, asking()


def test_approving_another_revision_than_the_references_costs_one_query_more(
    signed_out: SessionOf,
) -> None:
    browser = signed_out.browser()
    _, ref = reference(browser.post("/buy/", ORDER))
    approval = approval_of(signed_out.look_up(ref))
    Item.objects.update(price="75.00")
    _, later = reference(browser.post("/buy/", ORDER))
    for _ in range(2):
        with our_queries() as approving:
            assert signed_out.endpoint(later, approval).status_code == 204
        assert len(approving()) <= 4, approving()


def test_a_waiting_page_asks_for_the_join_and_for_its_operation_alone(
    signed_out: SessionOf, client: Any
) -> None:
    browser = signed_out.browser()
    _, ref = reference(browser.post("/buy/", ORDER))
    watch = f"/poppy/waiting/{Revision.objects.get(ref=ref).watch}"
    with our_queries() as waiting:
        assert browser.get(watch).json()["status"] == "waiting"
    signed_out.approve(ref)
    with our_queries() as approved:
        assert browser.get(watch).json()["status"] == "approved"
    with our_queries() as strangers:
        assert client.get(watch).json()["status"] == "unknown"
    assert len(waiting()) <= 2, waiting()
    assert len(approved()) <= 2, approved()
    assert strangers() == []


def test_a_signed_in_session_costs_no_more(signed_in: SessionOf) -> None:
    browser = signed_in.browser()
    with our_queries() as asking:
        asked = browser.post("/orders/7/exchange/", ORDER)
    _, ref = reference(asked)
    signed_in.approve(ref)
    with our_queries() as performing:
        assert browser.post("/orders/7/exchange/", ORDER).status_code == 302
    assert len(asking()) <= 4, asking()
    assert len(performing()) <= 5, performing()


@pytest.mark.parametrize("path", PATHS)
def test_ordinary_visitors_on_gated_views_cost_nothing(path: str, client: Any) -> None:
    with our_queries() as ours:
        assert client.post(path, ORDER).status_code == 302
    assert ours() == []


def test_signed_in_visitors_on_gated_views_cost_nothing(client: Any, alice: Any) -> None:
    client.force_login(alice)
    with our_queries() as ours:
        assert client.post("/orders/7/exchange/", ORDER).status_code == 302
    assert ours() == []


@pytest.mark.parametrize("path", ["/plain/", "/done/"])
def test_other_views_cost_nothing(path: str, client: Any, alice: Any) -> None:
    client.force_login(alice)
    with our_queries() as ours:
        assert client.get(path).status_code == 200
    assert ours() == []


def test_a_joined_browser_costs_nothing_where_its_user_is_not_read(signed_out: SessionOf) -> None:
    browser = signed_out.browser()
    with our_queries() as ours:
        browser.get("/done/")
    assert ours() == []


def test_an_agents_browser_pays_for_its_join_where_no_approval_is_needed(
    signed_out: SessionOf, site: Behaviour
) -> None:
    site.needed = False
    browser = signed_out.browser()
    with our_queries() as ours:
        assert browser.post("/buy/", ORDER).status_code == 302
    assert len(ours()) <= 3, ours()
    assert ours().writes == []


def test_the_costs_do_not_grow_with_what_an_owner_has_open(signed_out: SessionOf) -> None:
    browser = signed_out.browser()
    for quantity in range(2, 12):
        browser.post("/buy/", {**ORDER, "quantity": str(quantity)})
    with our_queries() as asking:
        _, ref = reference(browser.post("/buy/", ORDER))
    signed_out.approve(ref)
    with our_queries() as performing:
        assert browser.post("/buy/", ORDER).status_code == 302
    assert len(asking()) <= 4, asking()
    assert len(performing()) <= 5, performing()

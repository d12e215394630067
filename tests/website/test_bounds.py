"""What one owner asks for costs the others nothing, and its own next requests little."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from poppy_operations.gate.revisions import BRIEF, live_revisions
from poppy_operations.models import Operation, Revision
from poppy_operations.protocol.owner import Owner
from tests.agents import ORDER, SessionOf, approval_of, reference
from tests.asking import ask, error, recorded
from tests.shop.models import Item
from tests.shop.operations import Behaviour

pytestmark = [pytest.mark.django_db, pytest.mark.database, pytest.mark.usefixtures("jacket")]
Effects = Callable[[], list[str]]
CAP = 3


@pytest.fixture
def cap(settings: Any) -> int:
    """Few open revisions for each owner."""
    settings.POPPY_OPERATIONS = {**settings.POPPY_OPERATIONS, "OPEN_REVISIONS": CAP}
    return CAP


def with_note(note: str) -> dict[str, str]:
    return {**ORDER, "note": note}


def rows() -> int:
    return Operation.objects.count() + Revision.objects.count()


@pytest.mark.slow
def test_what_gives_way_is_gone_and_rows_do_not_grow(
    signed_out: SessionOf, cap: int, settings: Any
) -> None:
    browser = signed_out.browser()
    for number in range(cap):
        ask(browser, "/buy/", with_note(str(number)))
    before = rows()
    for number in range(20):
        ask(browser, "/buy/", with_note(f"more {number}"))
    assert rows() == before == 2 * cap


def test_a_page_of_what_gave_way_says_no_more(signed_out: SessionOf, cap: int) -> None:
    browser = signed_out.browser()
    ref = ask(browser, "/buy/", with_note("first"))
    watch = Revision.objects.get(ref=ref).watch
    for number in range(cap):
        ask(browser, "/buy/", with_note(str(number)))
    assert browser.get(f"/poppy/waiting/{watch}").json()["status"] == "unknown"
    assert error(signed_out.endpoint(ref)) == (400, "invalid_request")


@pytest.mark.slow
def test_an_owner_who_approves_and_never_performs_has_to_wait(
    signed_out: SessionOf, cap: int, effects: Effects
) -> None:
    browser = signed_out.browser()
    for number in range(10 * cap):
        recorded(signed_out, browser, "/buy/", with_note(str(number)))
    refused = browser.post("/buy/", with_note("one more"), headers={"accept": "application/json"})
    assert refused.status_code == 429
    assert 0 < int(refused["Retry-After"]) <= 901
    # What is approved is performed all the same, and makes room.
    assert browser.post("/buy/", with_note("0")).status_code == 302
    assert len(effects()) == 1
    ask(browser, "/buy/", with_note("one more"))


@pytest.mark.slow
def test_an_owner_of_many_unknown_outcomes_has_to_wait_too(signed_out: SessionOf, cap: int) -> None:
    browser = signed_out.browser()
    for number in range(10 * cap):
        recorded(signed_out, browser, "/refund/", with_note(str(number)))
    now = timezone.now()
    Operation.objects.update(
        state="performing", effects="external", started_at=now, outcome_unknown_since=now
    )
    Revision.objects.update(expires_at=now - timedelta(days=1))
    refused = browser.post("/buy/", ORDER, headers={"accept": "application/json"})
    assert (refused.status_code, refused["Retry-After"]) == (429, "61")


def columns(browser: Client, data: dict[str, str]) -> str:
    with CaptureQueriesContext(connection) as captured:
        browser.post("/buy/", data)
    reads = [
        query["sql"] for query in captured.captured_queries if query["sql"].startswith("SELECT")
    ]
    reads = [read.replace("`", '"') for read in reads]  # MariaDB's
    return "\n".join(read for read in reads if "poppy_operations_revision" in read)


def test_long_columns_are_not_read_with_every_row(signed_out: SessionOf) -> None:
    browser = signed_out.browser()
    ask(browser, "/buy/", with_note("first"))
    read = columns(browser, with_note("second"))
    assert read
    for column in ("terms", "content_fields"):
        assert f'"poppy_operations_revision"."{column}"' not in read
    assert '"poppy_operations_revision"."summary",' not in read.replace('"summary", 1', "")


def test_only_what_is_live_is_read(signed_in: SessionOf) -> None:
    browser = signed_in.browser()
    owner = owner_of(signed_in)
    now = timezone.now()
    ask(browser, "/orders/7/exchange/", with_note("1"))
    for number in range(5):
        ask(browser, "/orders/7/exchange/", with_note(f"more {number}"))
    assert len(live_revisions(owner, now)) == 6
    Revision.objects.update(expires_at=now - timedelta(hours=1))
    assert live_revisions(owner, now) == []
    slot = Operation.objects.get().slot
    assert slot is not None
    (newest,) = live_revisions(owner, now, [slot])
    assert newest.number == 6
    Operation.objects.update(state="performing")
    assert [row.number for row in live_revisions(owner, now)] == [6]


def owner_of(session: SessionOf) -> Owner:
    return Owner(session.agent.client_id, session.user_id, session.account)


def test_an_operation_whose_newest_revision_gave_way_is_found_all_the_same(
    signed_in: SessionOf, cap: int
) -> None:
    browser = signed_in.browser()
    ref = ask(browser, "/orders/7/exchange/", with_note("seen"))
    signed_in.look_up(ref)
    ask(browser, "/orders/7/exchange/", with_note("unseen"))
    Revision.objects.filter(number=2).delete()
    Revision.objects.update(expires_at=timezone.now() - timedelta(hours=1))
    ask(browser, "/orders/7/exchange/", with_note("again"))
    assert Operation.objects.count() == 1
    assert [row.number for row in Revision.objects.order_by("pk")] == [1, 3]


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/buy/", "/abuy/"])
@pytest.mark.parametrize("length", [BRIEF, BRIEF + 1])
def test_a_long_summary_is_told_whole(
    path: str, length: int, signed_out: SessionOf, site: Behaviour, effects: Effects
) -> None:
    browser = signed_out.browser()
    ref = ask(browser, path)
    Revision.objects.update(summary="s" * length)
    assert ask(browser, path) == ref
    operation = signed_out.look_up(ref)
    assert operation["summary"] == "s" * length
    assert signed_out.endpoint(ref, approval_of(operation)).status_code == 204
    seen: list[Any] = []
    site.before_effect = lambda current: seen.append(current.summary)
    assert browser.post(path, ORDER).status_code == 302
    assert seen == ["s" * length]


def test_names_of_any_length_cost_the_next_requests_nothing(
    signed_out: SessionOf, settings: Any
) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = None
    browser = signed_out.browser()
    for number in range(3):
        body = urlencode({**ORDER, "n" * 100_000 + str(number): "1"})
        form = "application/x-www-form-urlencoded"
        assert browser.post("/buy/", body, content_type=form).status_code == 403
    kept = Revision.objects.values_list("content_fields", flat=True)
    assert max(map(len, kept)) < 500
    assert len({*kept}) == 3


def test_a_revision_that_is_under_way_is_told_with_its_terms(
    signed_out: SessionOf, site: Behaviour
) -> None:
    browser, other = signed_out.browser(), signed_out.browser()
    recorded(signed_out, browser, "/refund/")
    Item.objects.update(price="70.00")
    refs: list[str] = []

    def meanwhile(_operation: Any) -> None:
        for _ in range(2):
            refs.append(reference(other.post("/refund/", ORDER))[1])

    site.before_effect = meanwhile
    assert browser.post("/refund/", ORDER).status_code == 302
    assert refs[0] == refs[1]
    first, further = Revision.objects.order_by("pk")
    for name in ("terms", "summary", "content_fields", "content_digest"):
        assert getattr(first, name) == getattr(further, name)

"""What many requests at the same moment make of one approval, in real processes (7)."""

from __future__ import annotations

from functools import partial

import pytest

from example_project.tour.agent import approval_of
from tests.servers.shop import (
    EXCHANGE,
    EXCHANGES,
    REFUNDS,
    SessionAt,
    Shop,
    at_once,
    operation_in,
    ref_in,
    tabs_of,
)

pytestmark = pytest.mark.servers
TWELVE = 12


@pytest.fixture
def joined(shop: Shop, request: pytest.FixtureRequest) -> SessionAt:
    """A Session whose browser shows the order."""
    session = SessionAt(shop, request.node.originalname)
    session.join()
    return session


@pytest.fixture
def agent(shop: Shop, request: pytest.FixtureRequest) -> SessionAt:
    """A Session without a browser."""
    return SessionAt(shop, request.node.originalname)


@pytest.mark.requirement("OPS-7-01")
def test_twelve_requests_of_a_browser_after_one_approval_have_one_effect(joined: SessionAt) -> None:
    tabs = tabs_of(joined.browser, TWELVE)
    ref = ref_in(joined.exchange())
    operation = operation_in(joined.look_up(ref))
    assert joined.look_up(ref, approval_of(operation)).status == 204

    answers = at_once([partial(joined.exchange, tab) for tab in tabs])
    # A database that is busy may say so; it never breaks.
    assert {answer.status for answer in answers} <= {303, 403, 503}
    assert [answer.status for answer in answers].count(303) == 1
    for answer in answers:
        if answer.status == 403:
            ref_in(answer)
    assert joined.shop.new_effects() == [("exchange", operation["operation_id"])]
    assert joined.state(ref) == "performed"


def test_twelve_asks_of_a_browser_are_one_operation(joined: SessionAt) -> None:
    answers = at_once([partial(joined.exchange, tab) for tab in tabs_of(joined.browser, TWELVE)])
    refs = [ref_in(answer) for answer in answers]
    operations = [operation_in(joined.look_up(ref)) for ref in refs]
    assert len({operation["operation_id"] for operation in operations}) == 1


def test_an_approval_that_is_sent_twelve_times_at_once_is_recorded_once(joined: SessionAt) -> None:
    ref = ref_in(joined.exchange())
    operation = operation_in(joined.look_up(ref))
    approve = partial(joined.look_up, ref, approval_of(operation))
    answers = at_once([approve] * TWELVE)
    assert [answer.status for answer in answers] == [204] * TWELVE
    records = joined.shop.in_database(
        "SELECT COUNT(*) FROM poppy_operations_approval a "
        "JOIN poppy_operations_operation o ON o.id = a.operation_id WHERE o.operation_id = %s",
        operation["operation_id"],
    )
    assert records == 1
    assert joined.state(ref) == "approved"


@pytest.mark.parametrize(
    ("kind", "path", "content"),
    [("exchange", EXCHANGES, EXCHANGE), ("refund", REFUNDS, {"amount": "20.00"})],
    ids=["exchange", "refund"],
)
def test_twelve_requests_of_an_api_with_one_approval_have_one_effect(
    agent: SessionAt, kind: str, path: str, content: dict[str, str]
) -> None:
    approval = agent.asked(path, content)
    answers = at_once([partial(agent.post, path, content, approval)] * TWELVE)
    performed = {answer.body for answer in answers if answer.status == 201}
    assert len(performed) == 1
    assert {answer.status for answer in answers} <= {201, 503}
    assert agent.shop.new_effects() == [(kind, approval["operation_id"])]
    # Whoever was told to come back gets the first answer then.
    again = agent.post(path, content, approval)
    assert (again.status, again.body) == (201, performed.pop())


@pytest.mark.parametrize(
    ("path", "content"),
    [(EXCHANGES, EXCHANGE), (REFUNDS, {"amount": "30.00"})],
    ids=["exchange", "refund"],
)
def test_twelve_asks_of_an_api_are_one_operation(
    agent: SessionAt, path: str, content: dict[str, str]
) -> None:
    answers = at_once([partial(agent.post, path, content)] * TWELVE)
    operations = [operation_in(answer) for answer in answers]
    assert len({operation["operation_id"] for operation in operations}) == 1

"""One effect, documented answers and never a fault, however the database isolates."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.databases.doors import Door, effects_left
from tests.databases.sites import ISOLATED, Site
from tests.databases.stories import Slow, happens_once, late_finish, meet, twelve_at_once
from tests.shop.operations import Behaviour

pytestmark = [
    pytest.mark.servers,
    pytest.mark.parametrize(
        "running", ISOLATED.values(), ids=ISOLATED, indirect=True, scope="module"
    ),
]


def doors(*names: str) -> Any:
    return pytest.mark.parametrize("door", names, indirect=True)


@doors("website", "website-async", "website-outside", "api", "api-outside")
def test_what_was_approved_happens_once(door: Door) -> None:
    happens_once(door)


@pytest.mark.requirement("OPS-7-01")
@doors("website", "api")
def test_twelve_requests_with_one_approval_have_one_effect(door: Door) -> None:
    twelve_at_once(door)


@pytest.mark.requirement("OPS-7-01")
@doors("website", "api")
def test_an_attempt_that_outlives_its_lease_commits_only_what_nobody_else_did(
    door: Door, site: Behaviour
) -> None:
    site.after_effect = slow = Slow()
    late_finish(door, slow)


SNAPSHOTS = [
    ISOLATED[name]
    for name in ("postgres-repeatable-read", "postgres-serializable", "mariadb-snapshot")
]


@pytest.mark.requirement("OPS-7-01")
@doors("website", "api")
def test_a_repeat_costs_an_action_its_snapshot_at_most_once(
    running: Site, door: Door, site: Behaviour
) -> None:
    door.ask_and_approve()
    site.after_effect = slow = Slow()
    first, meanwhile = meet(door, slow, timedelta(0))
    assert meanwhile.status_code in door.meanwhile
    # A browser's repeat gets a further reference, which is one more revision of the operation.
    if running in SNAPSHOTS and not door.gives_again:
        assert (first.status_code, first["Retry-After"]) == (503, "1")
        assert (door.state, effects_left()) == ("open", 0)
        site.after_effect = slow = Slow()
        first, meanwhile = meet(door, slow, timedelta(0))
        assert meanwhile.status_code in door.meanwhile
    assert (first.status_code, door.state, effects_left()) == (door.performed, "performed", 1)

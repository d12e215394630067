"""Instants decide, also in the nights in which a local time is there twice or not at all."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from importlib import import_module
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.apps import apps
from django.db import connection
from django.utils import timezone

from poppy_operations.gate.revisions import is_expired, live_revisions
from poppy_operations.lifecycle import claims, purging, settling
from poppy_operations.models import Agent, Join, Operation, Revision
from poppy_operations.models.instants import instant
from poppy_operations.sessions.clock import epoch, stored
from tests.agents import ORDER, SessionOf
from tests.asking import quiet, recorded
from tests.lifecycle.rows import OWNER, approval_of, read, returned
from tests.shop.models import Item

pytestmark = [pytest.mark.django_db, pytest.mark.database]
migration = import_module("poppy_operations.migrations.0003_instants")
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
# The moment at which the clocks are set back or forward.
NIGHTS = {
    "Europe/Berlin": datetime(2026, 10, 25, 1, tzinfo=UTC),
    "America/New_York": datetime(2026, 11, 1, 6, tzinfo=UTC),
    "Australia/Lord_Howe": datetime(2026, 4, 4, 15, tzinfo=UTC),
    "Europe/London": datetime(2026, 3, 29, 1, tzinfo=UTC),
    "UTC": datetime(2026, 10, 25, 1, tzinfo=UTC),
}


@pytest.fixture(params=["naive", "aware"])
def zones(request: Any) -> bool:
    """Whether the site uses time zones."""
    return bool(request.param == "aware")


@pytest.fixture(params=NIGHTS)
def change(request: Any, zones: bool, settings: Any) -> datetime:
    """The moment of a change in a site's time zone."""
    settings.USE_TZ = zones
    settings.TIME_ZONE = request.param
    return NIGHTS[request.param]


@pytest.mark.slow
def test_every_minute_of_the_night_is_stored_and_found_as_it_is(change: datetime) -> None:
    revision = returned()
    for minutes in range(-150, 150, 7):
        moment = change + minutes * MINUTE + timedelta(microseconds=7)
        Revision.objects.filter(pk=revision.pk).update(expires_at=moment)
        assert read(revision).expires_at == moment
        assert Revision.objects.values_list("expires_at", flat=True).get() == moment
        assert Revision.objects.filter(expires_at=moment).exists()
        assert not Revision.objects.filter(expires_at__lt=moment).exists()
        assert not Revision.objects.filter(expires_at__gt=moment).exists()
        assert Revision.objects.filter(expires_at__lt=moment + SECOND).exists()
        assert Revision.objects.filter(expires_at__gt=moment - SECOND).exists()
        assert is_expired(read(revision), moment + SECOND)
        assert not is_expired(read(revision), moment)
        assert live_revisions(OWNER, moment)


def test_a_lease_is_as_long_as_it_is(change: datetime) -> None:
    revision = returned(lifetime=timedelta(days=1))
    for seconds in (-3605, -1805, -55, -5, 5, 1805, 3605):
        begun = change + seconds * SECOND
        approval = approval_of(revision)
        operation = Operation.objects.get()
        assert claims.begin(
            operation, approval, attempt="a" * 32, effects="database", lease_s=60, now=begun
        )
        operation = Operation.objects.get()
        for after, over in ((10, False), (59, False), (61, True)):
            moment = begun + after * SECOND
            assert claims.is_lapsed(operation, moment) is over
            assert Operation.objects.filter(claims.lapsed(moment)).exists() is over
        assert claims.release(operation, "a" * 32)


def test_an_attempt_outside_that_still_runs_is_not_judged(change: datetime) -> None:
    revision = returned()
    begun = change - 10 * MINUTE
    assert claims.begin(
        Operation.objects.get(),
        approval_of(revision),
        attempt="a" * 32,
        effects="external",
        lease_s=900,
        now=begun,
    )
    operation = Operation.objects.get()
    for after, over in ((1, False), (14, False), (16, True)):
        moment = begun + after * MINUTE
        assert settling.can_settle(operation, moment) is over
        assert Operation.objects.filter(settling.settleable(moment)).exists() is over


def test_what_expired_is_forgotten_a_day_after_it_did(change: datetime) -> None:
    revision = returned()
    Operation.objects.update(created_at=change - timedelta(days=3))
    Revision.objects.update(expires_at=change)
    assert not purging.forgettable(change + purging.MARGIN - MINUTE).exists()
    assert purging.forgettable(change + purging.MARGIN + MINUTE).exists()
    assert read(revision).returned_at.tzinfo is not None


@pytest.mark.parametrize("path", ["/buy/", "/refund/"])
def test_an_approval_that_came_before_the_change_is_not_used_after_its_time(
    path: str,
    change: datetime,
    signed_out: SessionOf,
    jacket: Item,
    time_machine: Any,
    effects: Callable[[], list[str]],
) -> None:
    time_machine.move_to(change - 20 * MINUTE, tick=False)
    browser = signed_out.browser(quiet())
    recorded(signed_out, browser, path)
    # Fifty minutes late, and by the clock on the wall of some of these places in time.
    time_machine.move_to(change + 45 * MINUTE, tick=False)
    response = browser.post(path, ORDER)
    assert response.status_code == 403
    assert effects() == []


def test_a_join_and_its_ticket_end_when_they_end(change: datetime, session_of: Any) -> None:
    session_of()
    join = Join.objects.create(
        agent=Agent.objects.get(),
        ticket_digest="t",
        ticket_expires_at=change + MINUTE,
        user_id="u1",
        sid="ses_1",
        created_at=change,
        expires_at=change + 10 * MINUTE,
    )
    found = Join.objects.filter(pk=join.pk)
    assert found.filter(ticket_expires_at__gt=change + 59 * SECOND).exists()
    assert not found.filter(ticket_expires_at__gt=change + 61 * SECOND).exists()
    assert found.get().expires_at == change + 10 * MINUTE


@pytest.mark.parametrize("minutes", [-90, -45, -15, 15, 45, 90])
def test_the_clock_of_tokens_is_the_same_all_night(
    change: datetime, minutes: int, time_machine: Any
) -> None:
    moment = change + minutes * MINUTE
    time_machine.move_to(moment, tick=False)
    assert epoch() == int(moment.timestamp())
    assert epoch(stored(epoch())) == epoch()
    added = Agent.objects.create(client_id="https://late.example/client")
    assert read(added).created_at == moment


def test_a_moment_of_the_sites_own_is_read_in_its_time_zone(settings: Any) -> None:
    settings.TIME_ZONE = "Europe/Berlin"
    naive = datetime(2026, 7, 1, 14)  # noqa: DTZ001  as a site without time zones has it
    assert instant(naive) == datetime(2026, 7, 1, 12, tzinfo=UTC)
    assert instant(naive.replace(tzinfo=ZoneInfo("Asia/Tokyo"))).hour == 5
    revision = returned()
    settings.USE_TZ = False
    Revision.objects.filter(pk=revision.pk).update(expires_at=naive)
    assert read(revision).expires_at == instant(naive)
    assert read(revision).looked_up_at is not None
    Revision.objects.filter(pk=revision.pk).update(looked_up_at=None)
    assert read(revision).looked_up_at is None


def test_what_was_stored_in_local_time_is_turned_and_can_be_turned_back(
    change: datetime, zones: bool
) -> None:
    if timezone.get_default_timezone_name() == "Europe/London":
        change += timedelta(days=1)  # some local times of that night are none
    revision = returned()
    moment = change - timedelta(hours=3)
    Revision.objects.update(expires_at=moment, looked_up_at=None)
    Agent.objects.create(client_id="https://late.example/client")
    editor = SimpleNamespace(connection=connection)
    migration.to_local_times(apps, editor)
    zone = timezone.get_default_timezone()
    is_kept = zones or connection.vendor == "postgresql"
    shift = timedelta(0) if is_kept else moment.astimezone(zone).utcoffset()
    assert shift is not None
    assert read(revision).expires_at == moment + shift
    assert read(revision).looked_up_at is None
    migration.to_instants(apps, editor)
    assert read(revision).expires_at == moment


def test_a_connection_with_a_time_zone_of_its_own_stores_instants_too(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if connection.vendor == "postgresql":
        pytest.skip("it stores instants anyway")
    monkeypatch.setitem(connection.settings_dict, "TIME_ZONE", "Europe/Berlin")
    for name in ("timezone", "timezone_name"):
        monkeypatch.delitem(connection.__dict__, name, raising=False)
    revision = returned()
    for minutes in range(-90, 90, 15):
        moment = NIGHTS["Europe/Berlin"] + minutes * MINUTE
        Revision.objects.update(expires_at=moment)
        assert read(revision).expires_at == moment
        assert Revision.objects.filter(expires_at__gte=moment).exists()
        assert not Revision.objects.filter(expires_at__gt=moment).exists()
    for name in ("timezone", "timezone_name"):
        connection.__dict__.pop(name, None)

"""The transactions that Django would have opened, around the site's own code."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection, connections, transaction

from poppy_operations.gate.sync_and_async import Steps, drive, site
from poppy_operations.gate.transactions import mark_for_rollback, transacted
from tests.connections import be_atomic
from tests.shop.models import Effect

pytestmark = pytest.mark.django_db(transaction=True)


def writing(ending: BaseException | None = None) -> Steps[bool]:
    """The site's code: it writes, and says whether a transaction was open."""

    def write() -> bool:
        Effect.objects.create(kind="site", key="it")
        if ending is not None:
            raise ending
        return connection.in_atomic_block

    return (yield from site(write))


@pytest.mark.parametrize("aliases", [(), ("default",)])
def test_what_the_sites_code_wrote_stays(aliases: tuple[str, ...]) -> None:
    assert drive(transacted(aliases, writing())) is bool(aliases)
    assert not connection.in_atomic_block
    assert Effect.objects.count() == 1


@pytest.mark.parametrize("ending", [ValueError("a fault"), KeyboardInterrupt()])
@pytest.mark.parametrize("aliases", [(), ("default",)])
def test_only_a_transaction_undoes_what_the_sites_code_wrote(
    aliases: tuple[str, ...], ending: BaseException
) -> None:
    with pytest.raises(type(ending)) as raised:
        drive(transacted(aliases, writing(ending)))
    assert raised.value is ending
    assert not connection.in_atomic_block
    assert Effect.objects.exists() is not bool(aliases)


@pytest.mark.parametrize("of_django", [True, False])
def test_only_a_transaction_around_a_view_is_marked_for_rollback(
    monkeypatch: pytest.MonkeyPatch, *, of_django: bool
) -> None:
    be_atomic(monkeypatch, atomic=of_django)
    with transaction.atomic():
        Effect.objects.create(kind="site", key="it")
        mark_for_rollback()
    assert Effect.objects.exists() is not of_django


def test_a_view_without_a_transaction_has_nothing_to_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    be_atomic(monkeypatch)
    mark_for_rollback()
    assert not connection.needs_rollback


def test_a_database_that_nobody_used_is_not_connected_to(monkeypatch: Any) -> None:
    elsewhere = {**connections.settings["default"], "ATOMIC_REQUESTS": True}
    monkeypatch.setitem(connections.settings, "elsewhere", elsewhere)
    try:
        mark_for_rollback()
        assert connections["elsewhere"].connection is None
    finally:
        del connections["elsewhere"]

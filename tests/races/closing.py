"""More kinds of rounds: what ends an attempt or forgets an operation meets those that use it."""

from __future__ import annotations

from datetime import datetime
from functools import partial

from poppy_operations import Performed, maintenance
from poppy_operations.lifecycle.purging import MARGIN
from poppy_operations.models import Approval, Operation
from tests.races.asking import NOW, SECOND, Asked, Wish
from tests.races.kinds import AFTER_THE_LEASE, STATES, voided
from tests.races.looking import (
    OF_A_BROWSER,
    Expected,
    answers_to,
    count_of,
    ensure_once,
    go,
)
from tests.races.together import Together, meet_late, met

BARRED = "site's 409"  # of an attempt that reconcile had given up before it reached the outside


def reconciled(now: datetime) -> str:
    """Reconcile everything, as maintenance does."""
    maintenance.reconcile(now=now)
    return "judged"


def settled(asked: Asked, now: datetime, *, as_performed: bool) -> str:
    """Settle it as a person does, who first looks at it."""
    operation = Operation.objects.select_related("approval__revision").get(
        operation_id=asked.returned.operation_id
    )
    done = maintenance.settle_by_hand(
        operation, Performed() if as_performed else None, by="operator", because="races", now=now
    )
    return "judged" if done else "too late"


def purged(now: datetime) -> str:
    """Purge, as maintenance does."""
    maintenance.purge(now=now)
    return "purged"


def settle_and_finish(together: Together, number: int, effects: str, door: str) -> None:
    """An attempt comes to its end after its lease, when a person judges it, rightly or wrongly."""
    wish = Wish.new(effects, door)
    asked = wish.approved()
    attempt = partial(wish.send, NOW, asked, inside=meet_late(number % 5))
    expected: list[Expected] = [(attempt, answers_to(wish))]
    expected += [
        (
            met(settled, asked, AFTER_THE_LEASE, as_performed=bool(number % 2), late=number % late),
            {"judged", "too late", "busy"},
        )
        for late in (4, 3, 7)
    ]
    answers = go(together, expected)
    assert answers.count("judged") <= 1
    ensure_once(wish, asked, now=AFTER_THE_LEASE)


def reconcile_and_finish(together: Together, number: int, effects: str, door: str) -> None:
    """The same where maintenance asks the outside, and the request is repeated besides."""
    wish = Wish.new(effects, door)
    asked = wish.approved()
    attempt = partial(wish.send, NOW, asked, inside=meet_late(number % 5))
    to_requests = answers_to(wish) | {BARRED}
    answers = go(
        together,
        [
            (attempt, to_requests),
            (met(wish.send, AFTER_THE_LEASE, asked, late=number % 7), to_requests),
            (met(reconciled, AFTER_THE_LEASE, late=number % 4), {"judged"}),
            (met(reconciled, AFTER_THE_LEASE, late=number % 3), {"judged"}),
        ],
    )
    assert count_of(wish, asked) == ("performed" in answers)
    ensure_once(wish, asked, now=AFTER_THE_LEASE)


def purge_and_everything(together: Together, number: int, effects: str, door: str) -> None:
    """Purge comes when the operation is wanted again, and by others whose clocks are slow.

    Before that it was open, or an attempt was given up, or it was performed.
    """
    wish = Wish.new(effects, door)
    asked = wish.approved()
    last = asked.last_moment
    over = last + MARGIN + SECOND
    before = ("open", "given up", "performed")[number % 3]
    if before == "given up":
        wish.abandon(last, asked)
    if before == "performed":
        assert wish.send(NOW, asked) == "performed"
    two = wish.of_quantity(2)
    to_requests = OF_A_BROWSER | {BARRED}
    expected: list[Expected] = [
        (met(purged, over, late=number % 4), {"purged"}),
        (met(purged, over, late=number % 7), {"purged"}),
        (met(reconciled, over, late=number % 2), {"judged"}),
        (met(wish.send, over, asked), to_requests),
        (met(two.send, over, asked, late=number % 3), to_requests),
        (met(wish.send, last, asked, late=number % 5), to_requests),
    ]
    if wish.on_website:
        record = Approval.objects.select_related("operation").get(
            operation__operation_id=asked.returned.operation_id
        )
        expected += [
            (met(voided, record, late=number % 6), {"voided", "in use", "busy"}),
            (met(wish.approve, last, asked), {"recorded", "invalid_request", "busy"}),
            (met(wish.look_up, last, asked), {"asked", "invalid_request", *STATES}),
        ]
    else:
        expected += [(met(wish.send, last, asked, late=late), to_requests) for late in (0, 1, 2)]
    go(together, expected)
    assert reconciled(over) == "judged"  # an attempt at the last moment that was given up
    found = count_of(wish, asked)
    assert found <= 1
    for _ in range(2):
        assert wish.send(over, asked) in {"asked", "performed"}
        assert purged(over) == "purged"
    assert count_of(wish, asked) == found

"""Kinds of rounds: who meets, which answers are right, and what must have come of it."""

from __future__ import annotations

from copy import copy
from functools import partial

from django.test import Client

from poppy_operations.lifecycle import approving
from poppy_operations.models import Approval, Decline, Operation
from tests.agents import AGENT, HOST, SessionOf
from tests.crash.cells import Cell
from tests.crash.site import LEASE
from tests.races.asking import DECLINE, NOW, SECOND, Wish, told_over_http
from tests.races.looking import (
    OF_A_BROWSER,
    OF_AN_API,
    Expected,
    answers_to,
    count_of,
    ensure_once,
    go,
    happened,
)
from tests.races.together import Together, meet_late, met

AFTER_THE_LEASE = NOW + LEASE + SECOND
STATES = frozenset({"is approved", "is performing", "is performed"})


def same_approval(together: Together, number: int, effects: str, door: str) -> None:
    """Everybody sends the request of one approval."""
    wish = Wish.new(effects, door)
    asked = wish.approved()
    party: Expected = (met(wish.send, NOW, asked), answers_to(wish))
    answers = go(together, [party] * together.parties)
    assert count_of(wish, asked) == ("performed" in answers)
    ensure_once(wish, asked, now=NOW)


def same_approval_over_http(together: Together, number: int, effects: str, door: str) -> None:
    """The same by the doors themselves, and in the background with the workers besides."""
    cell = Cell.approved(door, effects, clock=None)  # type: ignore[arg-type]  # it waits for none
    operation = Operation.objects.get(operation_id=cell.operation_id)
    documented = OF_A_BROWSER if cell.on_website else OF_AN_API
    clones = [clone(cell) for _ in range(together.parties)]
    go(together, [(met(said, one), documented) for one in clones])
    if cell.in_background:
        go(together, [(met(delivered, one), {"delivered", "busy"}) for one in clones])
        cell.is_performed()
        cell.deliver()
    assert cell.times <= 1
    assert cell.is_performed()
    assert happened(operation.owner_digest, effects) == 1


def said(cell: Cell) -> str:
    """Send the request of a cell."""
    return told_over_http(cell.send())


def delivered(cell: Cell) -> str:
    """Deliver its messages, as queues do that deliver more than once."""
    cell.deliver()
    return "delivered"


def clone(cell: Cell) -> Cell:
    """The same Session and browser for another thread."""
    other, session = copy(cell), cell.session
    other.session = SessionOf(AGENT, session.issuer, session.user_id, session.sid)
    other.request = copy(cell.request)
    other.request.session = other.session
    if cell.request.browser is not None:
        cookies = {name: morsel.value for name, morsel in cell.request.browser.cookies.items()}
        other.request.browser = Client(headers={"host": HOST})
        other.request.browser.cookies.load(cookies)
    return other


def two_revisions(together: Together, number: int, effects: str, door: str) -> None:
    """Two revisions of one operation are approved at once, and both are asked for."""
    one = Wish.new(effects, door)
    two = one.of_quantity(2)
    asked = [one.ask(), two.ask()]
    assert asked[0].returned.operation_id == asked[1].returned.operation_id
    expected: list[Expected] = []
    for wish, it in zip([one, two], asked, strict=True):
        most = 9 if wish.on_website else 3
        expected += [
            (met(wish.send, NOW, it, late=number % late), answers_to(wish))
            for late in (most, most + 1, most + 2)
        ]
        if wish.on_website:
            expected.append((met(wish.approve, NOW, it), {"recorded", "busy"}))
        else:
            expected.append((met(wish.send, NOW, it), answers_to(wish)))
    answers = go(together, expected)
    assert count_of(one, asked[0]) == ("performed" in answers)
    if one.on_website and "performed" not in answers:
        assert one.approve(NOW, asked[0]) == two.approve(NOW, asked[1]) == "recorded"
    ensure_once(one, *asked, now=NOW)


def approval_and_expiry(together: Together, number: int, effects: str, door: str) -> None:
    """Some come in the last second, and some in the one after it."""
    wish = Wish.new(effects, door)
    asked = wish.ask()
    last, over = asked.last_moment, asked.last_moment + 0.2 * SECOND
    most = 11 if wish.on_website else 4
    expected: list[Expected] = [
        # What expired is asked for again.
        *[(met(wish.send, over, asked, late=late), OF_A_BROWSER) for late in (0, number % most)],
        *[
            (met(wish.send, last, asked, late=number % late), answers_to(wish))
            for late in (most + 1, most + 2)
        ],
    ]
    if wish.on_website:
        expected += [
            (met(wish.approve, last, asked), {"recorded", "busy"}),
            # Recorded is what is said of one that is being performed, too.
            (met(wish.approve, over, asked), {"invalid_request", "recorded", "busy"}),
            (met(wish.look_up, last, asked), {"asked", *STATES}),
            (met(wish.look_up, over, asked), {"invalid_request", *STATES} - {"is approved"}),
        ]
    else:
        expected += expected
    answers = go(together, expected)
    assert count_of(wish, asked) == ("performed" in answers)
    if wish.on_website:
        if "performed" not in answers:
            assert answers[5] != "recorded"
            assert wish.approve(over, asked) == "invalid_request"
        assert wish.approve(last, asked) == "recorded"
    ensure_once(wish, asked, now=last)


def approve_and_decline(together: Together, number: int, effects: str, door: str) -> None:
    """A policy that is just changing declines some of the same approval and not the others."""
    wish = Wish.new(effects, door)
    asked = wish.ask()
    approve = wish.approve if wish.on_website else wish.send
    to_approvals = {"recorded", "busy"} if wish.on_website else OF_AN_API
    to_requests = OF_A_BROWSER if wish.on_website else {*OF_AN_API, "declined"}
    # A browser first has to find what was recorded.
    most = 17 if wish.on_website else 3
    expected: list[Expected] = [
        (met(approve, NOW, asked, late=late), {"declined", *to_approvals})
        for late in (0, number % 4)
    ]
    expected += [
        (
            met(approve, NOW, asked, reference=DECLINE, late=number % late),
            {"declined", *to_approvals},
        )
        for late in (most, most + 1)
    ]
    expected += [(met(wish.send, NOW, asked, late=number % late), to_requests) for late in (5, 6)]
    answers = go(together, expected)
    declines = Decline.objects.filter(operation__operation_id=asked.returned.operation_id)
    assert count_of(wish, asked) == ("performed" in answers)
    assert declines.count() == ("declined" in answers)
    assert not {"declined", "performed"} <= set(answers)
    again = approve(NOW, asked)
    if "declined" in answers:
        assert again == "declined"
        assert wish.send(NOW, asked) == ("asked" if wish.on_website else "declined")
        assert count_of(wish, asked) == 0
    else:
        assert again in {"recorded", "performed"}
        ensure_once(wish, asked, now=NOW)


def takeover_and_late_finish(together: Together, number: int, effects: str, door: str) -> None:
    """An attempt comes to its end when others find its lease over."""
    wish = Wish.new(effects, door)
    asked = wish.approved()
    attempt = partial(wish.send, NOW, asked, inside=meet_late(number % 5))
    expected: list[Expected] = [(attempt, answers_to(wish))]
    expected += [
        (met(wish.send, AFTER_THE_LEASE, asked, late=number % late), answers_to(wish))
        for late in (2, 3, 4)
    ]
    if wish.on_website:
        expected.append((met(wish.look_up, AFTER_THE_LEASE, asked), STATES))
    else:
        expected.append((met(wish.send, AFTER_THE_LEASE, asked), OF_AN_API))
    answers = go(together, expected)
    assert count_of(wish, asked) == ("performed" in answers)
    ensure_once(wish, asked, now=AFTER_THE_LEASE)


def void_and_begin(together: Together, number: int, effects: str, door: str) -> None:
    """Somebody voids an approval when it is about to be used, and its agent sends it again."""
    wish = Wish.new(effects, door)
    asked = wish.approved()
    record = Approval.objects.select_related("operation").get(
        operation__operation_id=asked.returned.operation_id
    )
    answers = go(
        together,
        [
            (met(voided, record, late=number % 8), {"voided", "in use", "busy"}),
            (
                met(wish.approve, NOW, asked, late=number % 3),
                {"recorded", "invalid_request", "busy"},
            ),
            *[(met(wish.send, NOW, asked, late=late), OF_A_BROWSER) for late in (0, 1, number % 3)],
        ],
    )
    assert count_of(wish, asked) == ("performed" in answers)
    if answers[0] == "voided":
        assert "performed" not in answers
        assert wish.approve(NOW, asked) == "invalid_request"
        assert wish.send(NOW, asked) == "asked"
        assert count_of(wish, asked) == 0
    else:
        assert "invalid_request" not in answers
        ensure_once(wish, asked, now=NOW)


def voided(record: Approval) -> str:
    """Void an approval, as somebody does who was shown that it is not in use."""
    done = approving.void(record, by="operator", because="races", now=NOW)
    return "voided" if done else "in use"

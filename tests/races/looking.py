"""What every round ends with: right answers, rows that fit together, and nothing done twice."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from poppy_operations.models import Approval, Operation, Performance
from tests.crash.site import times
from tests.races.asking import Asked, Wish
from tests.races.together import Party, Together

State = Operation.State
Expected = tuple[Party, Collection[str]]
OF_AN_API = frozenset({"performed", "performing", "busy"})
OF_A_BROWSER = OF_AN_API | {"asked"}


def answers_to(wish: Wish) -> frozenset[str]:
    """The answers that a request on a valid approval may get."""
    return OF_A_BROWSER if wish.on_website else OF_AN_API


def go(together: Together, expected: Sequence[Expected]) -> list[str]:
    """Let parties meet. Fails on an answer that is not among a party's, such as an exception."""
    answers = together.go([party for party, _ in expected])
    pairs = zip(answers, expected, strict=True)
    odd = [
        f"{answer}, not {sorted(documented)}"
        for answer, (_, documented) in pairs
        if answer not in documented
    ]
    assert not odd, "\n".join(odd)
    return answers


def happened(owner_digest: str, effects: str, *operation_ids: str) -> int:
    """Say how often anything happened for an owner, by the operations that are named or still here.

    Fails where one happened twice, or where its rows say two things.
    """
    found = list(Operation.objects.filter(owner_digest=owner_digest))
    for operation in found:
        _ensure_consistent(operation, times(effects, operation.operation_id))
    known = {operation.operation_id for operation in found} | set(operation_ids)
    return sum(times(effects, operation_id) for operation_id in known)


def _ensure_consistent(operation: Operation, number: int) -> None:
    performances = list(Performance.objects.filter(operation=operation))
    told = (operation.operation_id, operation.state, number, len(performances))
    assert number <= 1, f"happened {number} times: {told}"
    assert operation.state != State.PERFORMING, told
    assert len(performances) == number == (operation.state == State.PERFORMED), told
    assert (operation.slot is None) == (operation.state == State.PERFORMED), told
    assert operation.outcome_unknown_since is None, told
    assert operation.lease_until is None, told
    if operation.state == State.OPEN:
        assert operation.approval_id is None, told
        assert operation.started_at is None, told
    for performance in performances:
        _ensure_approved(operation, performance)


def _ensure_approved(operation: Operation, performance: Performance) -> None:
    """It was performed on an approval of its own, of exactly what was performed, and in time."""
    used = Approval.objects.get(pk=performance.approval_id)
    if performance.how != Performance.How.LATE:  # else the operation tells of another attempt
        assert operation.approval_id == used.pk
    assert (used.operation_id, used.revision_id) == (operation.pk, performance.revision_id)
    assert used.voided_at is None
    assert used.received_at.replace(microsecond=0) <= performance.revision.expires_at


def count_of(wish: Wish, asked: Asked) -> int:
    """How often anything happened for the owner of a wish."""
    return happened(wish.owner.digest, wish.effects, asked.returned.operation_id)


def ensure_once(wish: Wish, *asked: Asked, now: object) -> None:
    """Repeat the request as its agent would, and find that it happened, once.

    Everybody may have met a busy database; nobody has to find it done already.
    """
    if count_of(wish, asked[0]) == 0:
        assert wish.send(now, asked[0]) == "performed"
    assert count_of(wish, asked[0]) == 1
    for one in asked:
        if wish.on_website:
            assert wish.look_up(now, one) == "is performed"
        else:
            assert wish.send(now, one) == "performed"
    assert count_of(wish, asked[0]) == 1

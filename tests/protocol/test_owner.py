from __future__ import annotations

from itertools import product

import pytest

from poppy_operations.protocol.owner import Owner


def test_the_digests_of_different_owners_differ() -> None:
    names = (None, "", "a", "None", "null", 'a", "b')
    owners = [Owner(*three) for three in product(names, repeat=3)]
    assert len({owner.digest for owner in owners}) == len(owners)
    assert Owner("a", "b", None).digest == Owner("a", "b", None).digest


@pytest.mark.parametrize(
    ("session", "is_challenged"),
    [
        (Owner("A", "u1", None), True),
        (Owner("A", "u1", "X"), False),
        (Owner("A", "u1", "Y"), False),
        (Owner("A", "u2", None), False),
        (Owner("B", "u1", None), False),
    ],
)
def test_only_a_signed_out_session_of_the_same_agent_and_user_is_challenged(
    session: Owner, *, is_challenged: bool
) -> None:
    assert session.is_challenged_for(Owner("A", "u1", "X")) is is_challenged


def test_a_signed_out_operation_challenges_nobody() -> None:
    assert not Owner("A", "u1", None).is_challenged_for(Owner("A", "u1", None))

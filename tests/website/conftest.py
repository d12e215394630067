"""Fixtures of the tests of operations on the website."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from poppy_operations.testing.agents import PersonalAgent, TokenIssuer
from tests.agents import SessionOf
from tests.website.company import Policy, policy


@pytest.fixture
def company(settings: Any) -> Iterator[Policy]:
    """The Company's policies."""
    settings.POPPY_OPERATIONS = {
        **settings.POPPY_OPERATIONS,
        "COMPANY": "tests.website.company.PolicyCompany",
    }
    policy.reset()
    yield policy
    policy.reset()


@pytest.fixture
def anybody(
    agent: PersonalAgent, other_agent: PersonalAgent, issuer: TokenIssuer, alice: Any, bob: Any
) -> Callable[..., SessionOf]:
    """Make a Session of either agent, any User and either account, or none."""
    agents = {"A": agent, "B": other_agent}
    accounts = {"nobody": None, "alice": str(alice.pk), "bob": str(bob.pk)}

    def make(
        agent: str = "A", user_id: str = "u1", account: str = "nobody", sid: str = "ses_1"
    ) -> SessionOf:
        return SessionOf(agents[agent], issuer, user_id=user_id, account=accounts[account], sid=sid)

    return make


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self, traveller: Any, start: datetime) -> None:
        self._traveller = traveller
        self.start = start

    def at(self, **since_start: float) -> None:
        """Set the time, counted from the start of the test."""
        self._traveller.move_to(self.start + timedelta(**since_start))


@pytest.fixture
def clock() -> Iterator[Clock]:
    """The clock, which stands still."""
    start = timezone.now().replace(microsecond=0)
    with time_machine.travel(start, tick=False) as traveller:
        yield Clock(traveller, start)

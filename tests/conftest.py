"""Fixtures that every test may use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
import time_machine
from django.contrib.auth import get_user_model
from django.utils import timezone

from poppy_operations.sessions.agents import add_agent
from poppy_operations.testing.agents import PersonalAgent, TokenIssuer
from tests.agents import AGENT, ISSUER, OTHER_AGENT, SessionOf
from tests.clock import Clock
from tests.configuring import configure
from tests.connections import be_atomic, need_connections_of_their_own
from tests.shop.company import Policy, policy
from tests.shop.models import Effect, Item
from tests.shop.operations import Behaviour, behaviour

pytest_plugins = (
    "tests.garbage",
    "tests.conformance.plugin",
    "tests.ran",
    "tests.stages.marks",
)


@pytest.fixture
def site() -> Iterator[Behaviour]:
    """How the test site behaves."""
    behaviour.reset()
    yield behaviour
    behaviour.reset()


@pytest.fixture
def atomic_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each request is a transaction."""
    be_atomic(monkeypatch)


@pytest.fixture
def own_connections() -> None:
    """Threads that meet need a connection each."""
    need_connections_of_their_own()


@pytest.fixture
def issuer(settings: Any) -> TokenIssuer:
    """The authorization server that the Company trusts."""
    configure(settings, TOKEN_JWKS=ISSUER.jwks)
    return ISSUER


@pytest.fixture
def agent(db: None) -> PersonalAgent:
    """A Personal Agent on the allow-list."""
    add_agent(AGENT.client_id, jwks=AGENT.jwks, name="Agent")
    return AGENT


@pytest.fixture
def other_agent(db: None) -> PersonalAgent:
    """Another Personal Agent on the allow-list."""
    add_agent(OTHER_AGENT.client_id, jwks=OTHER_AGENT.jwks, name="Other")
    return OTHER_AGENT


@pytest.fixture
def alice(db: None) -> Any:
    """A customer."""
    return get_user_model().objects.create_user("alice", password="alice")


@pytest.fixture
def bob(db: None) -> Any:
    """Another customer."""
    return get_user_model().objects.create_user("bob", password="bob")


@pytest.fixture
def jacket(db: None, site: Behaviour) -> Item:
    """Something to buy."""
    return Item.objects.create(sku="jacket", price=Decimal("70.00"))


@pytest.fixture
def session_of(agent: PersonalAgent, issuer: TokenIssuer) -> Callable[..., SessionOf]:
    """Make Sessions of the agent."""
    return partial(SessionOf, agent, issuer)


@pytest.fixture
def signed_out(session_of: Callable[..., SessionOf]) -> SessionOf:
    """A Session that is not signed in."""
    return session_of()


@pytest.fixture
def signed_in(session_of: Callable[..., SessionOf], alice: Any) -> SessionOf:
    """A Session signed in to alice's account."""
    return session_of(account=str(alice.pk))


@pytest.fixture
def effects(db: None) -> Callable[[], list[str]]:
    """What really happened so far."""
    return lambda: [str(effect) for effect in Effect.objects.order_by("pk")]


@pytest.fixture
def company(settings: Any) -> Iterator[Policy]:
    """The Company's policies."""
    configure(settings, COMPANY="tests.shop.company.PolicyCompany")
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


@pytest.fixture
def clock() -> Iterator[Clock]:
    """The clock, which stands still."""
    start = timezone.now().replace(microsecond=0)
    with time_machine.travel(start, tick=False) as traveller:
        yield Clock(traveller, start)

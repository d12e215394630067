"""What agents and browsers send is looked up exactly, also if the database ignores case."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db.models import CharField
from django.db.models.lookups import Exact
from django.test.utils import register_lookup

from poppy_operations.background import perform_attempt
from poppy_operations.models import Agent, Join, Operation, Revision
from poppy_operations.models.statements import Texts
from poppy_operations.sessions.agents import find_agent
from tests.agents import AGENT, ApiClient, SessionOf, approval_of
from tests.asking import ask, error
from tests.background.agents import Job
from tests.configuring import configure
from tests.shop.models import Item
from tests.shop.orders import ApiBehaviour, api

pytestmark = pytest.mark.django_db
Effects = Callable[[], list[str]]


class IgnoringCase(Exact):
    """What a collation does that takes upper and lower case for the same."""

    def process_lhs(self, *args: Any, **options: Any) -> Any:
        """Compare the column in upper case."""
        sql, parameters = super().process_lhs(*args, **options)
        return f"UPPER({sql})", parameters

    def process_rhs(self, *args: Any, **options: Any) -> Any:
        """Compare the value in upper case."""
        sql, parameters = super().process_rhs(*args, **options)
        return f"UPPER({sql})", parameters


@pytest.fixture(autouse=True)
def ignoring_case() -> Iterator[None]:
    """A database whose collation takes other spellings for the same."""
    Texts.known.clear()
    with register_lookup(CharField, IgnoringCase):
        yield
    Texts.known.clear()


@pytest.fixture
def shop(jacket: Item) -> Iterator[ApiBehaviour]:
    """There is a jacket to buy."""
    api.reset()
    yield api
    api.reset()


def test_the_database_ignores_case_here(agent: Any) -> None:
    assert Agent.objects.filter(client_id=AGENT.client_id.upper()).exists()


def test_a_waiting_page_watches_its_own_revision_alone(signed_out: SessionOf, jacket: Item) -> None:
    browser = signed_out.browser()
    ref = ask(browser)
    watch = Revision.objects.get(ref=ref).watch
    assert watch is not None
    for spelling, status in ((watch, "waiting"), (watch.upper(), "unknown")):
        assert browser.get(f"/poppy/waiting/{spelling}").json() == {"status": status}


def test_a_reference_is_its_own_alone(signed_out: SessionOf, jacket: Item) -> None:
    ref = ask(signed_out.browser())
    assert error(signed_out.endpoint(ref.upper())) == (400, "invalid_request")
    assert signed_out.look_up(ref)["terms"]["quantity"] == 1


@pytest.mark.parametrize("name", ["operation_id", "revision"])
def test_an_approval_names_its_own_operation_and_revision_alone(
    name: str, signed_in: SessionOf, shop: ApiBehaviour, effects: Effects
) -> None:
    agent = ApiClient(signed_in)
    operation = agent.ask()
    named = {**approval_of(operation), name: operation[name].upper()}
    assert agent.send(named).status_code == 403
    browser = signed_in.browser()
    ref = ask(browser)
    recorded = approval_of(signed_in.look_up(ref))
    assert signed_in.endpoint(ref, {**recorded, name: recorded[name].upper()}).status_code != 204
    assert browser.post("/buy/", {"sku": "jacket", "quantity": 1}).status_code == 403
    assert effects() == []


def test_an_agent_is_its_own_client_id_alone(agent: Any) -> None:
    assert find_agent(AGENT.client_id) is not None
    assert find_agent(AGENT.client_id.upper()) is None


def test_a_ticket_is_its_own_alone(signed_out: SessionOf, client: Any) -> None:
    options = {"content_type": "application/json", "headers": signed_out.headers()}
    answer = signed_out.client.post("/poppy/join", data="", **options)
    path = "/" + answer.json()["url"].split("/", 3)[3]
    (ticket,) = re.findall(r"[^/]+$", path)
    other = path.replace(ticket, ticket.swapcase())
    headers = {"host": "shop.example", "Sec-Fetch-Site": "none"}
    assert client.get(other, headers=headers).status_code == 400
    assert Join.objects.get().redeemed_at is None


taken: list[tuple[str, str]] = []


def test_a_message_of_a_queue_names_its_own_attempt_alone(
    signed_out: SessionOf, settings: Any
) -> None:
    taken.clear()
    settings.ROOT_URLCONF = "tests.crash.site"
    configure(settings, QUEUE=f"{__name__}.take")
    Job(signed_out, "api", "database").send()
    ((operation_id, attempt),) = taken
    for other in ((operation_id.upper(), attempt), (operation_id, attempt.upper())):
        assert not perform_attempt(*other)
        assert Operation.objects.get().started_at is None
    assert perform_attempt(operation_id, attempt)


def take(operation_id: str, attempt: str) -> None:
    """Keep a message."""
    taken.append((operation_id, attempt))

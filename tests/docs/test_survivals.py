"""The tests of "What survives what" that have no other home; the page names all of them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.core.cache import cache
from django.template.response import SimpleTemplateResponse
from django.test import Client
from django.utils import timezone

from poppy_operations.background import perform_attempt
from poppy_operations.conf import conf
from poppy_operations.declarations.registry import registry
from poppy_operations.maintenance import reconcile, requeue, stuck
from poppy_operations.models import Operation
from tests.agents import HOST, ORDER, SessionOf, reference
from tests.configuring import configure
from tests.shop import operations as declared
from tests.shop.models import Item
from tests.shop.operations import Behaviour, happen

pytestmark = pytest.mark.django_db


@pytest.fixture
def browser(signed_in: SessionOf, jacket: Item) -> Client:
    """A browser that wants a jacket; what goes wrong behind it is not raised."""
    return signed_in.browser(Client(headers={"host": HOST}, raise_request_exception=False))


def approved(browser: Client, agent: SessionOf, url: str = "/buy/") -> str:
    """Ask and approve; gives the reference."""
    _, ref = reference(browser.post(url, ORDER))
    agent.approve(ref)
    return ref


@pytest.mark.parametrize("url", ["/buy/", "/refund/"])
def test_a_page_that_django_cannot_render_after_the_gate_is_of_a_performed_operation(
    browser: Client, signed_in: SessionOf, site: Behaviour, effects: Any, url: str
) -> None:
    ref = approved(browser, signed_in, url)
    site.answer = lambda operation: SimpleTemplateResponse("no/such.html")
    assert browser.post(url, ORDER).status_code == 500
    assert (len(effects()), signed_in.status(ref)) == (1, "performed")


def test_an_external_attempt_that_outlives_its_lease_is_recorded_when_it_ends(
    browser: Client, signed_in: SessionOf, site: Behaviour, effects: Any
) -> None:
    ref = approved(browser, signed_in, "/refund/")
    meanwhile: list[int] = []

    def outlive(operation: Any) -> None:
        site.after_effect = lambda operation: None
        clock.shift(timedelta(minutes=20))
        other = signed_in.browser()
        meanwhile.append(other.post("/refund/", ORDER).status_code)
        assert [item.why for item in stuck()] == ["no reconcile hook"]
        assert (reconcile().freed, signed_in.status(ref)) == (0, "performing")

    site.after_effect = outlive
    with time_machine.travel(timezone.now(), tick=False) as clock:
        assert browser.post("/refund/", ORDER).status_code == 302
        assert meanwhile == [403]
        assert (len(effects()), signed_in.status(ref)) == (1, "performed")
        assert Operation.objects.get().performance.how == "finished"


@pytest.fixture
def queue(settings: Any, monkeypatch: Any) -> list[tuple[str, str]]:
    """What was handed to the queue of an action in the background."""
    sent: list[tuple[str, str]] = []
    monkeypatch.setattr(declared, "queue", lambda *message: sent.append(message), raising=False)
    path = "tests.shop.operations.queue"
    configure(settings, QUEUE=path)
    monkeypatch.setattr(declared.refund, "background", True)
    monkeypatch.setattr(declared.refund, "perform", happen)
    return sent


def test_a_queue_that_is_down_loses_nothing_and_does_nothing(
    browser: Client, signed_in: SessionOf, queue: Any, effects: Any, monkeypatch: Any
) -> None:
    ref = approved(browser, signed_in, "/refund/")

    def down(*message: str) -> None:
        raise ConnectionError

    with monkeypatch.context() as broken:
        broken.setattr(declared, "queue", down)
        assert browser.post("/refund/", ORDER).status_code == 503
    assert (effects(), signed_in.status(ref)) == ([], "approved")
    browser.post("/refund/", ORDER)
    assert perform_attempt(*queue[0])
    assert (len(effects()), signed_in.status(ref)) == (1, "performed")


def test_a_lost_message_is_sent_again_and_then_given_up(
    browser: Client, signed_in: SessionOf, queue: Any, effects: Any
) -> None:
    ref = approved(browser, signed_in, "/refund/")
    browser.post("/refund/", ORDER)
    lost = queue.pop()
    assert requeue() == 0
    with time_machine.travel(timezone.now() + timedelta(minutes=5)):
        assert requeue() == 1
        assert queue == [lost]
    with time_machine.travel(timezone.now() + conf.queue_lease + timedelta(seconds=2)):
        assert requeue() == 0
        assert reconcile().freed == 1
        assert not perform_attempt(*lost)
    assert effects() == []
    assert signed_in.status(ref) == "approved"


def test_nothing_depends_on_a_cache(browser: Client, signed_in: SessionOf, effects: Any) -> None:
    cache.clear()
    ref = approved(browser, signed_in)
    cache.clear()
    assert browser.post("/buy/", ORDER).status_code == 302
    cache.clear()
    assert browser.post("/buy/", ORDER).status_code == 403
    assert (len(effects()), signed_in.status(ref)) == (1, "performed")


def unknown(browser: Client, agent: SessionOf, site: Behaviour) -> str:
    """An external attempt that nobody knows the end of; gives its reference."""

    def lose(operation: Any) -> None:
        raise TimeoutError

    ref = approved(browser, agent, "/refund/")
    site.after_effect = lose
    browser.post("/refund/", ORDER)
    return ref


def test_an_action_that_is_gone_is_listed_and_its_attempt_stays(
    browser: Client, signed_in: SessionOf, site: Behaviour
) -> None:
    ref = unknown(browser, signed_in, site)
    registry.discard(declared.refund)
    try:
        assert [item.why for item in stuck()] == ["action gone"]
        assert reconcile().still_unknown == 1
    finally:
        registry.add(declared.refund)
    assert signed_in.status(ref) == "performing"


def test_an_attempt_keeps_the_effects_that_it_began_with(
    browser: Client, signed_in: SessionOf, site: Behaviour, effects: Any, monkeypatch: Any
) -> None:
    ref = unknown(browser, signed_in, site)
    monkeypatch.setattr(declared.refund, "effects", "database")
    with time_machine.travel(timezone.now() + timedelta(minutes=14)):
        assert browser.post("/refund/", ORDER).status_code == 403
        assert reconcile().freed == 0
        assert signed_in.status(ref) == "performing"
    assert len(effects()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("keeps", [True, False])
def test_a_new_key_performs_nothing_twice(
    browser: Client, signed_in: SessionOf, effects: Any, settings: Any, keeps: bool
) -> None:
    approved(browser, signed_in)
    replace_key(settings, keeps=keeps)
    rejoined = signed_in.browser()
    again = rejoined.post("/buy/", ORDER)
    assert again.status_code == (302 if keeps else 403)
    if not keeps:
        signed_in.approve(reference(again)[1])
        assert rejoined.post("/buy/", ORDER).status_code == 302
    assert len(effects()) == 1


def test_a_new_key_leaves_a_join_its_login(
    browser: Client, signed_in: SessionOf, settings: Any
) -> None:
    joined = signed_in.browser()
    replace_key(settings, keeps=True)
    for _ in range(2):  # Django changes the session's key the first time
        assert joined.get("/plain/").content == b"alice"
    assert joined.post("/buy/", ORDER).status_code == 403


def replace_key(settings: Any, *, keeps: bool) -> None:
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY] if keeps else []
    settings.SECRET_KEY = "another"


def test_a_deleted_account_leaves_its_operations(
    browser: Client, signed_in: SessionOf, alice: Any
) -> None:
    ref = approved(browser, signed_in)
    browser.post("/buy/", ORDER)
    account = str(alice.pk)
    alice.delete()
    assert Operation.objects.get().account == account
    assert SessionOf(signed_in.agent, signed_in.issuer).endpoint(ref).status_code == 401

"""Where operations stand: one for each action, and nothing to be read from it."""

from __future__ import annotations

import hashlib
import hmac
import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.http import HttpRequest
from django.test import RequestFactory

from poppy_operations.declarations.terms import Terms
from poppy_operations.doors.http_asker import HttpAsker
from poppy_operations.doors.http_content import http_content, parsed_body
from poppy_operations.gate.asks import Ask
from poppy_operations.gate.callers import Caller
from poppy_operations.gate.calls import Call, Wanted
from poppy_operations.gate.returning import ask
from poppy_operations.models import Operation, Revision
from poppy_operations.protocol import interfaces
from poppy_operations.protocol.owner import Owner
from poppy_operations.site_responses import SiteResponses
from tests.shop.operations import buy, refund

OWNER = Owner("https://agent.example/client", "u1", "alice")
PIN = "0417"


def an_ask(
    fields: dict[str, str],
    *,
    action: Any = buy,
    interface: Any = interfaces.API,
    owner: Owner = OWNER,
    same_action: object = None,
    conversation: str = "",
) -> Ask:
    request: HttpRequest = RequestFactory().post("/pay/", fields)
    terms = Terms({"amount": "70.00"}, same_action=same_action)
    call = Call(
        action=action,
        asker=HttpAsker(request),
        results=SiteResponses(),
        content=lambda: http_content(request, action=action.name, data=parsed_body(request)),
        terms=lambda: terms,
        body=lambda operation: None,
        conversation=conversation,
    )
    return Ask(call, Caller(interface, owner), owner, Wanted.of(call, terms))


def guesses() -> Iterator[str]:
    yield from map("".join, itertools.product("0123456789", repeat=4))


@pytest.mark.django_db
def test_a_pin_cannot_be_read_from_what_is_kept_without_the_key(settings: Any) -> None:
    ask(an_ask({"pin": PIN}))
    operation, revision = Operation.objects.get(), Revision.objects.get()
    kept = json.dumps([vars(operation), vars(revision)], default=str)
    assert PIN not in kept.replace(str(operation.created_at), "")

    settings.SECRET_KEY = "a guess"
    for pin in itertools.islice(guesses(), 400, 430):
        guess = an_ask({"pin": pin})
        guessed = [
            *guess.slots,
            *guess.content_digests,
            *guess.call.sent_digests(OWNER),
            *guess.wanted.parts.field_digests(OWNER)[0].values(),
            *(hashlib.sha256(text.encode()).hexdigest() for text in texts(guess)),
        ]
        assert not [one for one in guessed if one in kept], pin


def texts(guess: Ask) -> Iterator[str]:
    """What a digest without a key could have been made of."""
    parts = guess.wanted.parts
    yield parts.text
    yield from parts.texts.values()
    named = [OWNER.digest, "api", "", guess.call.action.name, parts.text]
    yield json.dumps(named)
    yield json.dumps(named, separators=(",", ":"))


@pytest.mark.django_db
def test_a_pin_cannot_be_read_by_comparing_with_requests_of_ones_own() -> None:
    ask(an_ask({"pin": PIN}))
    kept = json.dumps(vars(Revision.objects.get()), default=str)
    mine = Owner(OWNER.client_id, "u2", "mallory")
    guess = an_ask({"pin": PIN}, owner=mine)
    fields = guess.wanted.parts.field_digests(mine)[0].values()
    for one in [*guess.content_digests, *guess.call.sent_digests(mine), *fields]:
        assert one not in kept


def test_the_slot_is_keyed_and_looked_for_under_every_key(settings: Any) -> None:
    one = an_ask({"pin": PIN})
    (before,) = one.slots
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "new", [settings.SECRET_KEY, "older"]
    assert len(set(an_ask({"pin": PIN}).slots)) == 3
    assert an_ask({"pin": PIN}).slots[1] == before
    assert before != hmac.new(b"new", b"", hashlib.sha256).hexdigest()


@pytest.mark.parametrize("same_action", [None, ("it",)])
@pytest.mark.requirement("OPS-3-06", "OPS-6-46")
@pytest.mark.ambiguity("AMB-18")
def test_amb_18_the_action_the_interface_the_conversation_and_the_owner_are_in_the_slot(
    same_action: object,
) -> None:
    differing = [
        {},
        {"action": refund},
        {"interface": interfaces.WEBSITE},
        {"conversation": "c1"},
        {"owner": Owner(OWNER.client_id, OWNER.user_id, None)},
    ]
    slots = [an_ask({"pin": PIN}, same_action=same_action, **more).slots for more in differing]
    assert len({slot for (slot,) in slots}) == len(differing)


@pytest.mark.django_db
@pytest.mark.requirement("OPS-6-46")
def test_content_of_another_interface_or_action_is_not_the_same() -> None:
    ask(an_ask({"pin": PIN}))
    revision = Revision.objects.select_related("operation").get()
    assert an_ask({"pin": PIN}).is_same(revision)
    others = [
        an_ask({"pin": PIN}, interface=interfaces.WEBSITE),
        an_ask({"pin": PIN}, action=refund),
    ]
    for other in others:
        assert other.content_digests != an_ask({"pin": PIN}).content_digests or (
            other.caller.interface is interfaces.WEBSITE
        )
        other.__dict__["content_digests"] = [revision.content_digest]
        assert not other.is_same(revision)
        assert not other.is_same_action(revision)

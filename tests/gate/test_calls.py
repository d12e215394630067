"""What the site's ``allowed`` and ``terms`` may say."""

from __future__ import annotations

from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse

from poppy_operations.declarations.declared_action import DeclaredAction
from poppy_operations.declarations.terms import Terms
from poppy_operations.doors.http_asker import HttpAsker
from poppy_operations.gate.calls import Call, asked_terms, denied
from poppy_operations.gate.sync_and_async import drive
from poppy_operations.site_responses import SiteResponses
from tests.agents import ORDER, SessionOf
from tests.shop.models import Item
from tests.shop.operations import Behaviour, buy

AN_ANSWER = HttpResponse("no", status=403)
TERMS = Terms({"thing": "it"})


def call_of(action: DeclaredAction = buy, **said: Any) -> Call:
    """A call whose site says this."""
    functions: dict[str, Any] = {name: lambda value=value: value for name, value in said.items()}
    functions.setdefault("terms", lambda: TERMS)
    request = HttpRequest()
    return Call(
        action=action,
        asker=HttpAsker(request),
        results=SiteResponses(),
        request=request,
        content=lambda: None,  # type: ignore[arg-type, return-value]  # nobody looks at it
        body=lambda _: AN_ANSWER,
        **functions,
    )


@pytest.mark.parametrize("said", [None, AN_ANSWER])
def test_allowed_says_nothing_or_answers(said: Any) -> None:
    assert drive(denied(call_of(allowed=said))) is said


@pytest.mark.parametrize("said", [True, False, "yes"])
def test_allowed_that_says_anything_else_is_a_mistake(said: Any) -> None:
    message = f"shop.buy: allowed returns None or a response, not {said!r}"
    with pytest.raises(TypeError, match=message):
        drive(denied(call_of(allowed=said)))


@pytest.mark.parametrize("said", [TERMS, AN_ANSWER])
def test_terms_are_terms_or_an_answer(said: Any) -> None:
    assert drive(asked_terms(call_of(terms=said))) is said


@pytest.mark.parametrize(("said", "kind"), [(None, "None"), ({"a": 1}, "an object of type dict")])
def test_terms_that_are_anything_else_are_a_mistake(said: Any, kind: str) -> None:
    with pytest.raises(TypeError, match=f"shop.buy: terms returns Terms or a response, not {kind}"):
        drive(asked_terms(call_of(terms=said)))


@pytest.mark.django_db
@pytest.mark.parametrize("is_agents", [True, False])
def test_an_agent_and_a_visitor_meet_the_same_mistake(
    is_agents: bool, signed_in: SessionOf, client: Any, alice: Any, site: Behaviour, jacket: Item
) -> None:
    browser = signed_in.browser() if is_agents else client
    client.force_login(alice)
    site.allowed = lambda request: True  # type: ignore[assignment, return-value]  # the mistake
    for path in ("/buy/", "/guarded/"):
        with pytest.raises(TypeError, match="allowed returns None or a response, not True"):
            browser.post(path, ORDER)
    site.allowed = lambda request: None
    site.terms_answer = lambda request: "terms"  # type: ignore[assignment, return-value]  # too
    with pytest.raises(TypeError, match="terms returns Terms or a response, not an object of"):
        browser.post("/buy/", ORDER)

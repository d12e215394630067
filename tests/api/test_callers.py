"""Who asks at the API: Sessions, agents without one, and everybody else (2, 3)."""

from __future__ import annotations

import json
import logging
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from django.test import Client

from poppy_operations import Company
from poppy_operations.models import Operation
from tests.agents import HOST, ORDER, ApiClient, SessionOf, approval_of, operation_in, reference
from tests.configuring import configure
from tests.shop.orders import ApiBehaviour

pytestmark = pytest.mark.usefixtures("transactions")
Effects = Callable[[], list[str]]
INVALID_SESSION = (403, {"error": "invalid_session"})
EXTENSION_REQUIRED = {"error": "extension_required", "extension": "operations"}


def basic(name: str) -> dict[str, str]:
    """The header of HTTP Basic authentication; passwords are names."""
    return {"Authorization": f"Basic {b64encode(f'{name}:{name}'.encode()).decode()}"}


# A Company that answers something else than it may


def test_an_account_is_text(agents_api: ApiClient, bob: Any, settings: Any) -> None:
    settings.POPPY_OPERATIONS = {
        **settings.POPPY_OPERATIONS,
        "COMPANY": "tests.shop.company.NumberedAccounts",
    }
    agents_api.session.client.force_login(bob)
    with pytest.raises(TypeError, match=r"Company\.account_of returns an account, which is text"):
        agents_api.send(path="/api/bare/")


def test_what_is_undeclared_gets_a_refusal(agents_api: ApiClient, settings: Any) -> None:
    settings.POPPY_OPERATIONS = {
        **settings.POPPY_OPERATIONS,
        "COMPANY": "tests.shop.company.NotARefusal",
    }
    with pytest.raises(TypeError, match=r"Company\.undeclared returns a Refusal, not JsonResponse"):
        agents_api.send(declared=False)


# Undeclared


@pytest.mark.requirement("OPS-2-10", "OPS-2-12", "OPS-2-13", "OPS-2-14")
def test_an_undeclared_request_is_refused_and_gets_no_operation(
    agents_api: ApiClient, effects: Effects
) -> None:
    agents_api.ask()
    answer = agents_api.send(declared=False)

    assert (answer.status_code, answer.json()) == (403, EXTENSION_REQUIRED)
    assert "no-store" in answer["Cache-Control"]
    assert effects() == []


@pytest.mark.requirement("OPS-2-17", "OPS-1-10")
@pytest.mark.parametrize(
    ("extensions", "declares"),
    [
        ('"operations";v="3"', True),
        ('"operations";v="2", "operations";v="3"', True),
        ('"other";v="1", "operations";v="3";x=1', True),
        ('"operations";v="2"', False),
        ('"operations";v="4"', False),
        ('"operations";v="3.0"', False),
        ('"operations";v=" 3"', False),
        ('"operations";v=3', False),
        ('operations;v="3"', False),
        ('"operations";v="3",', False),
        ("", False),
    ],
)
def test_only_version_3_is_a_declaration(
    extensions: str, declares: bool, agents_api: ApiClient
) -> None:
    answer = agents_api.send(headers={"Poppy-Extensions": extensions})

    if declares:
        assert operation_in(answer)
    else:
        assert answer.json() == EXTENSION_REQUIRED


@pytest.mark.requirement("OPS-2-13")
def test_the_site_may_answer_undeclared_requests_its_own_way(
    agents_api: ApiClient, settings: Any, effects: Effects
) -> None:
    configure(settings, COMPANY="tests.shop.company.OwnWay")
    answer = agents_api.send(declared=False)

    assert (answer.status_code, answer.json()["see"]) == (409, "https://shop.example/approve")
    assert effects() == []
    assert operation_in(agents_api.send())


@pytest.mark.requirement("OPS-2-14")
def test_the_status_of_the_refusal_is_a_setting(agents_api: ApiClient, settings: Any) -> None:
    configure(settings, EXTENSION_REQUIRED_STATUS=400)
    answer = agents_api.send(declared=False)

    assert (answer.status_code, answer.json()) == (400, EXTENSION_REQUIRED)


@pytest.mark.requirement("OPS-2-12")
@pytest.mark.ambiguity("AMB-03")
def test_amb_03_an_undeclared_approval_is_honoured_and_gets_no_operation(
    agents_api: ApiClient, effects: Effects
) -> None:
    operation = agents_api.ask()
    mismatch = agents_api.approve(operation, body={**ORDER, "quantity": 2}, declared=False)
    assert (mismatch.status_code, mismatch.json()) == (403, EXTENSION_REQUIRED)

    performed = agents_api.approve(operation, declared=False)
    again = agents_api.approve(operation, declared=False)
    assert (performed.status_code, again.content) == (201, performed.content)
    assert effects() == ["api.order 1 jacket"]


def test_an_undeclared_request_that_needs_no_approval_is_served(
    agents_api: ApiClient, shop: ApiBehaviour, effects: Effects
) -> None:
    shop.needed = False

    assert agents_api.send(declared=False).status_code == 201
    assert effects() == ["api.order 1 jacket"]


# Agents that leave something out


@pytest.mark.requirement("OPS-6-43")
@pytest.mark.parametrize("path", ["/api/class/", "/api/public/", "/api/plain/", "/api/bare/"])
def test_an_agents_token_without_a_session_is_refused(
    path: str, agents_api: ApiClient, client: Client, effects: Effects
) -> None:
    """Leaving out one header must not leave out the approval (B7)."""
    token = {"Authorization": f"Bearer {agents_api.session.access_token}"}
    body = json.dumps(ORDER)
    answer = client.post(path, body, content_type="application/json", headers=token)

    assert (answer.status_code, answer.json()) == INVALID_SESSION
    assert effects() == []


@pytest.mark.parametrize("path", ["/api/class/", "/api/plain/"])
def test_a_token_that_is_no_agents_is_the_sites_own_business(
    path: str,
    agents_api: ApiClient,
    client: Client,
    effects: Effects,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Which one that is the site has to say; see `test_moved_tokens`."""
    monkeypatch.setattr(Company, "client_of", lambda *_arguments: None)
    answer = client.post(
        path,
        json.dumps(ORDER),
        content_type="application/json",
        headers={"Authorization": "Bearer of-the-sites-own"},
    )

    assert answer.status_code == 201
    assert effects() == ["api.order 1 jacket"]


def test_an_approval_without_a_session_is_refused(
    agents_api: ApiClient, client: Client, effects: Effects
) -> None:
    headers = agents_api.session.headers(approval_of(agents_api.ask()), access_token=None)
    del headers["Poppy-Session"]
    answer = client.post(
        "/api/class/", json.dumps(ORDER), content_type="application/json", headers=headers
    )

    assert (answer.status_code, answer.json()) == INVALID_SESSION
    assert effects() == []


# The Session's account and the site's user


def test_a_view_that_authenticates_nobody_serves_every_session(
    agents_api: ApiClient, signed_out_api: ApiClient, effects: Effects
) -> None:
    for api in (agents_api, signed_out_api):
        operation = api.ask(path="/api/public/")
        assert api.approve(operation, path="/api/public/").status_code == 201
    assert len(effects()) == 2
    accounts = set(Operation.objects.values_list("account", flat=True))
    assert accounts == {agents_api.session.account, None}


# A plain view knows its users by their cookies alone.
@pytest.mark.parametrize(
    ("path", "how"),
    [("/api/site-users/", "basic"), ("/api/site-users/", "cookie"), ("/api/bare/", "cookie")],
)
def test_a_session_beside_another_users_credential_is_refused(
    path: str,
    how: str,
    agents_api: ApiClient,
    signed_out_api: ApiClient,
    bob: Any,
    effects: Effects,
) -> None:
    """Whose action would it be (M10)?"""
    apis = [signed_out_api] if how == "basic" else [agents_api, signed_out_api]
    for api in apis:
        if how == "cookie":
            api.session.client.force_login(bob)
        headers = basic("bob") if how == "basic" else {}
        answer = api.send(path=path, headers=headers)
        assert (answer.status_code, answer.json()) == INVALID_SESSION
    assert effects() == []
    assert not Operation.objects.exists()


def test_a_session_beside_its_own_users_cookie_is_served(
    agents_api: ApiClient, alice: Any, effects: Effects
) -> None:
    agents_api.session.client.force_login(alice)
    operation = agents_api.ask(path="/api/bare/")

    assert agents_api.approve(operation, path="/api/bare/").status_code == 201
    assert effects() == ["api.order 1 jacket"]


@pytest.mark.parametrize("path", ["/api/class/", "/api/plain/"])
def test_cookies_do_not_count_where_the_session_is_asked_for_first(
    path: str, signed_out_api: ApiClient, agents_api: ApiClient, bob: Any, effects: Effects
) -> None:
    for api in (signed_out_api, agents_api):
        api.session.client.force_login(bob)
        assert api.approve(api.ask(path=path), path=path).status_code == 201
    accounts = set(Operation.objects.values_list("account", flat=True))
    assert accounts == {None, agents_api.session.account}


# Interfaces


@pytest.mark.requirement("OPS-6-33", "OPS-6-01", "OPS-4-02")
@pytest.mark.ambiguity("AMB-06", "AMB-37")
@pytest.mark.parametrize("performed", [False, True])
def test_amb_06_amb_37_an_approval_of_the_websites_operation_counts_for_nothing_at_the_api(
    performed: bool, agents_api: ApiClient, effects: Effects
) -> None:
    browser = agents_api.session.browser(Client(headers={"host": HOST}))
    form = {"sku": "jacket", "quantity": "1"}
    _, ref = reference(browser.post("/buy/", form))
    operation = agents_api.session.look_up(ref)
    if performed:
        agents_api.session.approve(ref)
        assert browser.post("/buy/", form).status_code == 302
    plain = agents_api.send(path="/api/both/")
    answer = agents_api.approve(operation, path="/api/both/")

    assert operation_in(answer)["operation_id"] != operation["operation_id"]
    assert answer.content == plain.content
    assert "Poppy-Operation" not in answer
    assert len(effects()) == performed


@pytest.mark.requirement("OPS-6-34", "OPS-4-02")
@pytest.mark.ambiguity("AMB-06", "AMB-37")
@pytest.mark.parametrize("performed", [False, True])
def test_amb_06_amb_37_an_approval_of_the_apis_operation_counts_for_nothing_at_the_endpoint(
    performed: bool, agents_api: ApiClient, effects: Effects
) -> None:
    operation = agents_api.ask(path="/api/both/")
    if performed:
        agents_api.approve(operation, path="/api/both/")
    browser = agents_api.session.browser(Client(headers={"host": HOST}))
    form = {"sku": "jacket", "quantity": "1"}
    _, ref = reference(browser.post("/buy/", form))
    answer = agents_api.session.endpoint(ref, approval_of(operation))

    assert operation_in(answer)["operation_id"] != operation["operation_id"]
    assert browser.post("/buy/", form).status_code == 403
    assert len(effects()) == performed


@pytest.mark.ambiguity("AMB-37")
def test_amb_37_a_joined_browser_at_the_apis_view_is_the_website(
    agents_api: ApiClient, effects: Effects
) -> None:
    browser = agents_api.session.browser(Client(headers={"host": HOST}))

    def fetch(**headers: str) -> Any:
        return browser.post(
            "/api/both/",
            json.dumps(ORDER),
            content_type="application/json",
            headers={"Accept": "application/json", **headers},
        )

    operation = agents_api.ask(path="/api/both/")
    answer = fetch(**{"Poppy-Approval": 'operation_id="x"'})
    assert (answer.status_code, answer.json()) == (403, {"error": "approval_required"})
    _, ref = reference(answer)
    assert agents_api.session.look_up(ref)["operation_id"] != operation["operation_id"]

    agents_api.session.approve(ref)
    performed = fetch()
    assert (performed.status_code, performed.json()) == (201, ORDER)
    assert effects() == ["shop.buy 1 jacket"]


@pytest.mark.ambiguity("AMB-37")
def test_amb_37_nothing_is_said_of_the_websites_approval_to_a_request_that_it_cannot_be_for(
    agents_api: ApiClient, caplog: pytest.LogCaptureFixture
) -> None:
    browser = agents_api.session.browser(Client(headers={"host": HOST}))

    def fetch(body: Mapping[str, Any]) -> str:
        text = json.dumps(body)
        return reference(browser.post("/api/both/", text, content_type="application/json"))[1]

    agents_api.session.approve(fetch(ORDER))
    gift = {**ORDER, "gift": True}
    with caplog.at_level(logging.INFO, "poppy_operations"):
        agents_api.ask(path="/api/both/", body=gift)
        assert "same terms" not in caplog.text
        fetch(gift)
    assert "An approval has the same terms and other content: gift" in caplog.text


def test_a_joined_browser_gets_no_operation_of_an_action_without_a_website_door(
    agents_api: ApiClient, effects: Effects
) -> None:
    browser = agents_api.session.browser(Client(headers={"host": HOST}))
    answer = browser.post("/api/class/", json.dumps(ORDER), content_type="application/json")

    assert answer.status_code == 403
    assert "Poppy-Operation" not in answer
    assert effects() == []


# The cap


def test_too_many_open_operations_are_answered_with_429(
    agents_api: ApiClient, session_of: Callable[..., SessionOf], settings: Any, effects: Effects
) -> None:
    configure(settings, OPEN_REVISIONS=2)
    first = agents_api.ask(body={**ORDER, "quantity": 1})
    agents_api.ask(body={**ORDER, "quantity": 2})
    answer = agents_api.send(body={**ORDER, "quantity": 3})

    assert (answer.status_code, answer.json()) == (429, {"error": "rate_limited"})
    assert 0 < int(answer["Retry-After"]) <= 15 * 60 + 1
    assert "no-store" in answer["Cache-Control"]
    assert agents_api.ask() == first
    assert ApiClient(session_of()).ask(body={**ORDER, "quantity": 3})
    assert agents_api.approve(first).status_code == 201
    assert agents_api.ask(body={**ORDER, "quantity": 3})
    assert len(effects()) == 1


# What the log says


@pytest.mark.parametrize(
    ("headers", "code", "reason"),
    [
        ({"Poppy-Session": "s3cret.jwt"}, "invalid_session", "The Session JWT or its delegation"),
        ({"Authorization": "Bearer s3cret"}, "invalid_session", "made for another access token"),
        ({"Poppy-Version": "2.s3cret"}, "invalid_request", "Poppy-Version is not 1.x."),
        ({"Authorization": f"Basic {b64encode(b'bob:bob').decode()}"}, "invalid_session", "token"),
    ],
)
@pytest.mark.parametrize("path", ["/api/class/", "/api/plain/"])
def test_the_log_says_why_a_session_is_refused_and_no_secret(
    path: str,
    headers: dict[str, str],
    code: str,
    reason: str,
    agents_api: ApiClient,
    caplog: Any,
) -> None:
    with caplog.at_level(logging.INFO, "poppy_operations"):
        answer = agents_api.send(path=path, headers=headers)

    assert answer.json() == {"error": code}
    [record] = [record for record in caplog.records if hasattr(record, "error")]
    assert record.levelno == logging.INFO
    assert record.getMessage().startswith(f"Refused with {code}. ")
    assert reason in record.getMessage()
    assert "s3cret" not in caplog.text
    sent = agents_api.session.headers()
    assert not [value for value in (*sent.values(), *headers.values()) if value in caplog.text]


@pytest.mark.parametrize(
    ("kept", "reason"),
    [
        ("Authorization", "The access token of an agent came without a Session."),
        ("Poppy-Approval", "An approval came without a Session."),
    ],
)
def test_the_log_says_what_came_without_a_session(
    kept: str, reason: str, agents_api: ApiClient, client: Client, caplog: Any
) -> None:
    sent = agents_api.session.headers(approval_of(agents_api.ask(path="/api/plain/")))
    with caplog.at_level(logging.INFO, "poppy_operations"):
        answer = client.post(
            "/api/plain/",
            json.dumps(ORDER),
            content_type="application/json",
            headers={kept: sent[kept]},
        )

    assert (answer.status_code, answer.json()) == INVALID_SESSION
    assert f"Refused with invalid_session. {reason}" in caplog.messages
    assert sent[kept] not in caplog.text


def test_the_log_says_that_somebody_else_asked(
    agents_api: ApiClient, bob: Any, caplog: Any
) -> None:
    agents_api.session.client.force_login(bob)
    with caplog.at_level(logging.INFO, "poppy_operations"):
        agents_api.send(path="/api/bare/")

    reason = "The site takes the request for another account than the Session's."
    assert f"Refused with invalid_session. {reason}" in caplog.messages

"""Sessions and scopes for views of an API, gated or not, in REST framework and without it."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.views.decorators.csrf import csrf_exempt
from rest_framework.views import APIView

from poppy_operations.company import Company
from poppy_operations.decorators import personal_agents
from poppy_operations.rest_framework import HasScope
from poppy_operations.sessions.agents import revoke_agent
from poppy_operations.sessions.refusals import KeysUnavailable
from poppy_operations.sessions.tokens import TokenVerifier
from poppy_operations.testing.agents import ABSENT
from tests.agents import HOST, ORDER, ApiClient, SessionOf, operation_in
from tests.api.test_callers import basic
from tests.configuring import configure

pytestmark = pytest.mark.usefixtures("transactions")
Effects = Callable[[], list[str]]
SCOPED = ["/api/scoped/", "/api/plain-class/", "/api/awho/"]
INVALID_SESSION = (403, {"error": "invalid_session"})


@pytest.fixture
def writer(agents_api: ApiClient) -> ApiClient:
    """An agent whose token has the scope."""
    agents_api.session.scope = "orders:read orders:write"
    return agents_api


def get(api: ApiClient, path: str, **request: Any) -> Any:
    """Ask a view that changes nothing."""
    return api.send(method="GET", body="", path=path, **request)


@pytest.mark.parametrize("path", SCOPED)
def test_a_session_with_the_scope_acts_as_its_accounts_user(path: str, writer: ApiClient) -> None:
    answer = get(writer, path)

    assert (answer.status_code, answer.json()["user"]) == (200, "alice")


def test_the_view_gets_the_session(writer: ApiClient) -> None:
    assert get(writer, "/api/scoped/").json()["session"] == "ses_1"


@pytest.mark.parametrize("path", SCOPED)
@pytest.mark.parametrize("scope", ["", "orders:read", "orders:writer", "x orders:write2"])
def test_a_token_without_the_scope_is_told_which_one_is_missing(
    scope: str, path: str, agents_api: ApiClient
) -> None:
    agents_api.session.scope = scope
    answer = get(agents_api, path)

    assert answer.status_code == 403
    assert answer.json() == {"error": "insufficient_scope", "scope": "orders:write"}
    assert answer["WWW-Authenticate"] == 'Bearer error="insufficient_scope", scope="orders:write"'


@pytest.mark.parametrize("path", SCOPED)
def test_a_signed_out_session_is_challenged_for_an_account(
    path: str, signed_out_api: ApiClient
) -> None:
    answer = get(signed_out_api, path)

    assert (answer.status_code, answer.json()) == (401, {"error": "sign_in_required"})
    assert answer["WWW-Authenticate"] == (
        'Bearer resource_metadata="https://shop.example/.well-known/oauth-protected-resource"'
    )


@pytest.mark.parametrize("path", SCOPED)
def test_a_site_may_challenge_by_the_request(
    path: str, signed_out_api: ApiClient, settings: Any
) -> None:
    configure(settings, COMPANY="tests.shop.company.ByOperation")

    assert get(signed_out_api, path)["WWW-Authenticate"] == (
        'Bearer resource_metadata="https://shop.example/None"'  # no operation is at stake
    )


def test_permissions_of_rest_framework_challenge_a_signed_out_session_too(
    signed_out_api: ApiClient, writer: ApiClient
) -> None:
    answer = get(signed_out_api, "/api/members/")

    assert answer.status_code == 401
    assert answer["WWW-Authenticate"].startswith("Bearer resource_metadata=")
    assert get(writer, "/api/members/").status_code == 200


@pytest.mark.parametrize("path", [*SCOPED, "/api/members/"])
@pytest.mark.parametrize(
    "headers",
    [{"Poppy-Session": "no.jwt"}, {"Poppy-Session": ""}, {"Accept": "text/html"}],
    ids=["bad", "empty", "revoked"],
)
def test_a_session_that_does_not_hold_is_invalid(
    headers: dict[str, str], path: str, writer: ApiClient
) -> None:
    if "Accept" in headers:
        revoke_agent(writer.session.agent.client_id)
    answer = get(writer, path, headers=headers)

    assert (answer.status_code, answer.json()) == INVALID_SESSION
    assert answer["Content-Type"] == "application/json"
    assert "WWW-Authenticate" not in answer


@pytest.mark.parametrize("path", [*SCOPED, "/api/members/"])
@pytest.mark.parametrize("case", ["expired", "no account", "inactive"])
def test_a_token_that_does_not_hold_is_a_401(
    case: str, path: str, writer: ApiClient, alice: Any
) -> None:
    session = writer.session
    account, lifetime = session.account or "", 3600
    if case == "expired":
        lifetime = -3600
    elif case == "no account":
        account = "999999"
    else:
        alice.is_active = False
        alice.save()
    token = session.issuer.access_token(
        account, client_id=session.agent.client_id, scope=session.scope, lifetime=lifetime
    )
    answer = get(writer, path, access_token=token, ath=ABSENT)

    assert (answer.status_code, answer.json()) == (401, {"error": "invalid_token"})
    assert answer["WWW-Authenticate"] == 'Bearer error="invalid_token"'


@pytest.mark.parametrize("path", [*SCOPED, "/api/members/", "/api/scoped-site-users/"])
def test_an_agents_token_without_a_session_is_invalid(
    path: str, writer: ApiClient, client: Client
) -> None:
    token = {"Authorization": f"Bearer {writer.session.access_token}"}
    answer = client.get(path, headers=token)

    assert (answer.status_code, answer.json()) == INVALID_SESSION


@pytest.mark.parametrize("path", SCOPED)
def test_keys_that_cannot_be_had_are_nobodys_fault(
    path: str, writer: ApiClient, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unavailable(*args: Any, **kwargs: Any) -> Any:
        message = "No keys."
        raise KeysUnavailable(message, retry_after=17)

    monkeypatch.setattr(TokenVerifier, "verify", unavailable)
    answer = get(writer, path)

    assert (answer.status_code, answer.json()) == (503, {"error": "temporarily_unavailable"})
    assert answer["Retry-After"] == "17"


@pytest.mark.parametrize("path", SCOPED)
def test_another_version_of_the_protocol_is_refused(path: str, writer: ApiClient) -> None:
    answer = get(writer, path, headers={"Poppy-Version": "2.0"})

    assert (answer.status_code, answer.json()) == (400, {"error": "invalid_request"})


@pytest.mark.parametrize("path", SCOPED)
def test_the_sites_own_users_need_no_scope(path: str, client: Client, alice: Any) -> None:
    assert client.get(path).status_code == 401
    client.force_login(alice)

    assert client.get(path).json()["user"] == "alice"


def test_a_scope_is_asked_of_every_session_whoever_authenticates(
    signed_out_api: ApiClient, agents_api: ApiClient, writer: ApiClient, bob: Any
) -> None:
    """The site's own classes know nothing of scopes, and may take the request for somebody."""
    path = "/api/scoped-site-users/"
    bobs = get(signed_out_api, path, headers=basic("bob"))
    assert (bobs.status_code, bobs.json()) == INVALID_SESSION
    assert get(signed_out_api, path).status_code == 401
    assert get(writer, path).status_code == 200
    assert get(writer, path, headers={"Poppy-Session": "no.jwt"}).json() == INVALID_SESSION[1]
    agents_api.session.scope = ""
    assert get(agents_api, path).json()["error"] == "insufficient_scope"


def test_nobody_may_be_none(client: Client, settings: Any, rf: Any) -> None:
    request = APIView().initialize_request(rf.get("/"))
    request.user = None  # type: ignore[assignment]  # what UNAUTHENTICATED_USER = None gives

    assert HasScope.of("a:b")().has_permission(request, None) is False


@pytest.mark.parametrize("path", ["/api/scoped/", "/api/plain-class/"])
def test_a_gated_view_asks_for_the_scope_first(
    path: str, agents_api: ApiClient, effects: Effects
) -> None:
    assert agents_api.send(path=path).json()["error"] == "insufficient_scope"
    agents_api.session.scope = "orders:write"
    operation = operation_in(agents_api.send(path=path))
    assert agents_api.approve(operation, path=path).status_code == 201
    assert effects() == ["api.order 1 jacket"]


# Plain views


@pytest.mark.parametrize("path", ["/api/plain/", "/api/plain-class/"])
def test_agents_need_no_csrf_token_and_everybody_else_does(
    path: str, writer: ApiClient, alice: Any, effects: Effects
) -> None:
    strict = Client(enforce_csrf_checks=True, headers={"host": HOST})
    strict.force_login(alice)
    refused = strict.post(path, json.dumps(ORDER), content_type="application/json")
    assert (refused.status_code, effects()) == (403, [])

    strict.cookies["csrftoken"] = "a" * 32
    taken = strict.post(
        path,
        json.dumps(ORDER),
        content_type="application/json",
        headers={"X-CSRFToken": "a" * 32, "Origin": f"http://{HOST}"},
    )
    assert (taken.status_code, len(effects())) == (201, 1)

    writer.session.client = Client(enforce_csrf_checks=True, headers={"host": HOST})
    assert writer.approve(writer.ask(path=path), path=path).status_code == 201


def test_a_view_that_the_site_exempts_stays_exempt() -> None:
    @personal_agents()
    @csrf_exempt
    def hook(request: HttpRequest) -> HttpResponse:
        return HttpResponse("taken")

    request = HttpRequest()
    request.method = "POST"
    request.META = {"SERVER_NAME": HOST, "SERVER_PORT": "80"}
    assert hook(request).content == b"taken"


def test_what_is_no_view_function_is_refused_at_import() -> None:
    with pytest.raises(TypeError, match="with parentheses"):
        personal_agents()(None)  # type: ignore[type-var]
    with pytest.raises(TypeError, match="method_decorator"):
        personal_agents()(APIView)
    with pytest.raises(TypeError, match="PersonalAgentAuthentication"):
        personal_agents()(APIView.as_view())


def test_a_session_is_verified_once_for_the_guard_and_the_gate(
    writer: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    verified: list[SessionOf] = []
    real = Company.session_for

    def counted(self: Company, request: Any) -> Any:
        verified.append(request)
        return real(self, request)

    monkeypatch.setattr(Company, "session_for", counted)
    for path in ("/api/scoped/", "/api/plain-class/"):
        verified.clear()
        assert operation_in(writer.send(path=path))
        assert len(verified) == 1


@pytest.mark.parametrize("path", [*SCOPED, "/api/members/"])
@pytest.mark.parametrize("has_session", [True, False])
def test_the_log_says_why_a_request_is_refused_and_no_secret(
    has_session: bool, path: str, writer: ApiClient, client: Client, caplog: Any
) -> None:
    token = f"Bearer {writer.session.access_token}"
    headers = {"Authorization": token}
    if has_session:
        headers["Poppy-Session"] = "s3cret.jwt"
    with caplog.at_level(logging.INFO, "poppy_operations"):
        answer = client.get(path, headers=headers)

    assert (answer.status_code, answer.json()) == INVALID_SESSION
    reason = "The Session JWT or" if has_session else "The access token of an agent came without"
    [message] = [text for text in caplog.messages if text.startswith("Refused with ")]
    assert message.startswith(f"Refused with invalid_session. {reason}")
    assert not [value for value in (token, "s3cret") if value in caplog.text]

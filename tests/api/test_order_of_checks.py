"""Whatever else fails as well, an API's answer is that of the first check that fails (6)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.http import JsonResponse
from django.utils import timezone

from poppy_operations.models import Operation
from tests.agents import ORDER, ApiClient, SessionOf, approval_of, operation_in
from tests.clock import Clock
from tests.shop.orders import ApiBehaviour

pytestmark = pytest.mark.usefixtures("transactions")
Effects = Callable[[], list[str]]
PATHS = ["/api/class/", "/api/plain/", "/api/public/"]
MALFORMED = {"Poppy-Approval": 'operation_id="op_1", approver="robot"'}


def refused(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]


@pytest.mark.requirement("OPS-6-43", "OPS-6-45")
@pytest.mark.parametrize("path", PATHS)
def test_a_bad_session_comes_before_an_approval_that_cannot_be_used(
    path: str, agents_api: ApiClient
) -> None:
    malformed = agents_api.send(path=path, headers=MALFORMED)
    bad_session = agents_api.send(path=path, headers={**MALFORMED, "Poppy-Session": "not.a.jwt"})

    assert refused(malformed) == (400, "invalid_request")
    assert refused(bad_session) == (403, "invalid_session")


@pytest.mark.requirement("OPS-6-44", "OPS-6-45")
@pytest.mark.parametrize("path", PATHS)
def test_a_bad_token_comes_before_an_approval_that_cannot_be_used(
    path: str, agents_api: ApiClient
) -> None:
    session = agents_api.session
    account, client_id = session.account or "", session.agent.client_id
    expired = session.issuer.access_token(account, client_id=client_id, lifetime=-3600)
    foreign = session.issuer.access_token(account, client_id="https://other.example/")

    for token in (expired, foreign):
        answer = agents_api.send(path=path, headers=MALFORMED, access_token=token)
        assert refused(answer) == (401, "invalid_token")


@pytest.mark.requirement("OPS-6-44", "OPS-6-45")
def test_a_token_without_the_scope_comes_before_an_approval_that_cannot_be_used(
    agents_api: ApiClient,
) -> None:
    agents_api.session.scope = "orders:read"
    answer = agents_api.send(path="/api/scoped/", headers=MALFORMED)

    assert refused(answer) == (403, "insufficient_scope")


@pytest.mark.parametrize("headers", [MALFORMED, {"Poppy-Approval": "no dictionary"}])
@pytest.mark.parametrize("path", PATHS)
def test_the_sites_right_comes_before_the_approval_is_read(
    path: str, headers: dict[str, str], agents_api: ApiClient, shop: ApiBehaviour
) -> None:
    shop.allowed = lambda request: JsonResponse({"detail": "Not yours."}, status=404)
    answer = agents_api.send(path=path, headers=headers)

    assert (answer.status_code, answer.json()) == (404, {"detail": "Not yours."})


@pytest.mark.requirement("OPS-6-39", "OPS-6-45")
@pytest.mark.parametrize("state", ["open", "performing", "performed"])
def test_who_may_approve_comes_before_what_became_of_it(
    state: str,
    agents_api: ApiClient,
    session_of: Callable[..., SessionOf],
    alice: Any,
    effects: Effects,
) -> None:
    operation = agents_api.ask()
    if state == "performed":
        agents_api.approve(operation)
    if state == "performing":
        _is_performing()
    before = effects()
    stranger = ApiClient(session_of(user_id="u2", account=str(alice.pk)))

    own = operation_in(stranger.approve(operation))
    assert own["operation_id"] != operation["operation_id"]
    assert effects() == before


@pytest.mark.requirement("OPS-6-41", "OPS-6-42", "OPS-6-45", "OPS-7-03")
@pytest.mark.parametrize("differs", ["revision", "content", "expired"])
@pytest.mark.parametrize("state", ["performing", "performed"])
def test_what_became_of_it_comes_before_whether_the_approval_fits(
    state: str, differs: str, agents_api: ApiClient, clock: Clock, effects: Effects
) -> None:
    operation = agents_api.ask()
    approval = approval_of(operation)
    first = None
    if state == "performed":
        first = agents_api.send(approval)
    else:
        _is_performing()
    if differs == "expired":
        clock.at(minutes=15, seconds=1)
    if differs == "revision":
        approval["revision"] = "1-never-returned"
    body = {**ORDER, "quantity": 2} if differs == "content" else ORDER
    answer = agents_api.send(approval, body=body)

    if first is None:
        assert (answer.status_code, answer.json()["status"]) == (503, "performing")
    else:
        assert (answer.status_code, answer.content) == (201, first.content)
    assert len(effects()) == (first is not None)


def _is_performing() -> None:
    """Let the one operation be under way elsewhere, for long."""
    Operation.objects.update(
        state=Operation.State.PERFORMING,
        attempt="elsewhere",
        effects="external",
        started_at=timezone.now(),
        lease_until=timezone.now() + timedelta(hours=1),
    )

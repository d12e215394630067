"""Checks 1, 2 and 3 at the API, each answered as it is written (6)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
import time_machine
from django.utils import timezone
from rest_framework.response import Response

from poppy_operations.maintenance import purge
from poppy_operations.models import Operation, Revision
from poppy_operations.sessions.agents import revoke_agent
from poppy_operations.testing.agents import PersonalAgent, TokenIssuer
from tests.agents import MADE_UP, ORDER, ApiClient, SessionOf, approval_of, operation_in, reference
from tests.configuring import configure
from tests.shop.models import Item
from tests.shop.orders import ApiBehaviour

pytestmark = pytest.mark.usefixtures("transactions")
Effects = Callable[[], list[str]]


@pytest.mark.requirement(
    "OPS-1-02", "OPS-3-15", "OPS-4-03", "OPS-4-04", "OPS-4-05", "OPS-4-07", "OPS-4-08"
)
def test_the_refusal_is_a_403_that_holds_the_operation(
    agents_api: ApiClient, signed_out_api: ApiClient
) -> None:
    answers = [agents_api.send(), signed_out_api.send()]

    for answer in answers:
        assert answer.status_code == 403
        assert answer["Content-Type"] == "application/json"
        assert "WWW-Authenticate" not in answer
        assert "Poppy-Operation" not in answer
        body = answer.json()
        assert body.keys() == {"error", "operation"}
        assert body["error"] == "approval_required"
        assert body["operation"].keys() == {
            "operation_id",
            "revision",
            "terms",
            "summary",
            "expires_at",
        }
        assert isinstance(body["operation"]["terms"], dict)
        assert body["operation"]["summary"] == "Order 1 × jacket for $70.00."
        assert "no-store" in answer["Cache-Control"]


@pytest.mark.requirement("OPS-4-06")
@pytest.mark.parametrize("accept", ["text/html", "*/*", "application/json"])
def test_the_refusal_is_json_whatever_the_request_accepts(
    accept: str, agents_api: ApiClient
) -> None:
    answer = agents_api.send(headers={"Accept": accept})

    assert answer["Content-Type"] == "application/json"
    assert operation_in(answer)


@pytest.mark.requirement("OPS-4-09")
def test_the_sites_own_members_stand_beside_the_operation(
    agents_api: ApiClient, settings: Any
) -> None:
    configure(settings, COMPANY="tests.shop.company.Talkative")
    body = agents_api.send().json()

    assert (body["detail"], body["code"]) == ("Approval is needed.", "E403")
    assert operation_in(agents_api.send())


# Check 1


@pytest.fixture
def others(
    session_of: Callable[..., SessionOf],
    other_agent: PersonalAgent,
    issuer: TokenIssuer,
    alice: Any,
    bob: Any,
) -> dict[str, ApiClient]:
    """Sessions that cannot approve what the agent's first Session of alice's asked for."""
    return {
        "another account": ApiClient(session_of(account=str(bob.pk))),
        "another user": ApiClient(session_of(user_id="u2", account=str(alice.pk))),
        "another user, signed out": ApiClient(session_of(user_id="u2")),
        "another agent": ApiClient(SessionOf(other_agent, issuer, account=str(alice.pk))),
        "another agent, signed out": ApiClient(SessionOf(other_agent, issuer)),
    }


@pytest.mark.requirement(
    "OPS-3-36", "OPS-3-40", "OPS-3-41", "OPS-3-42", "OPS-6-39", "OPS-6-40", "OPS-3-39"
)
@pytest.mark.parametrize("performed", [False, True])
@pytest.mark.parametrize(
    "who",
    [
        "another account",
        "another user",
        "another user, signed out",
        "another agent",
        "another agent, signed out",
    ],
)
def test_who_cannot_approve_gets_what_an_unknown_id_gets_byte_for_byte(
    who: str,
    performed: bool,
    agents_api: ApiClient,
    others: dict[str, ApiClient],
    effects: Effects,
) -> None:
    operation = agents_api.ask()
    if performed:
        agents_api.approve(operation)
    other = others[who]
    plain = other.send()
    foreign = other.approve(operation)
    unknown = other.send({**MADE_UP, "approver": "user"})

    assert operation_in(foreign)["operation_id"] != operation["operation_id"]
    assert foreign.content == unknown.content == plain.content
    assert foreign.headers == unknown.headers == plain.headers
    assert len(effects()) == performed


@pytest.mark.requirement("OPS-3-37", "OPS-3-38")
@pytest.mark.ambiguity("AMB-01")
@pytest.mark.parametrize("performed", [False, True])
def test_amb_01_the_same_user_signed_out_is_challenged_for_the_account(
    performed: bool, agents_api: ApiClient, signed_out_api: ApiClient, effects: Effects
) -> None:
    operation = agents_api.ask()
    if performed:
        agents_api.approve(operation)
    answer = signed_out_api.approve(operation)

    assert answer.status_code == 401
    assert answer["WWW-Authenticate"].startswith("Bearer resource_metadata=")
    assert "operation" not in answer.json()
    assert len(effects()) == performed
    assert agents_api.approve(operation).status_code == 201
    assert len(effects()) == 1


@pytest.mark.ambiguity("AMB-01")
def test_amb_01_a_site_may_challenge_for_one_operation(
    agents_api: ApiClient, signed_out_api: ApiClient, settings: Any
) -> None:
    configure(settings, COMPANY="tests.shop.company.ByOperation")
    operation = agents_api.ask()
    _, ref = reference(agents_api.session.browser().post("/buy/", ORDER))
    of_the_website = agents_api.session.look_up(ref)
    at_the_api = signed_out_api.approve(operation)
    at_the_endpoint = signed_out_api.session.endpoint(ref)

    for answer, asked in ((at_the_api, operation), (at_the_endpoint, of_the_website)):
        assert answer.status_code == 401
        assert answer["WWW-Authenticate"] == (
            f'Bearer resource_metadata="https://shop.example/{asked["operation_id"]}"'
        )


@pytest.mark.requirement("OPS-3-33", "OPS-3-34", "OPS-8.1-01")
def test_what_was_returned_signed_out_is_approved_signed_out(
    agents_api: ApiClient, signed_out_api: ApiClient, effects: Effects
) -> None:
    operation = signed_out_api.ask()
    other = operation_in(agents_api.approve(operation))
    assert other["operation_id"] != operation["operation_id"]
    assert effects() == []

    again = ApiClient(SessionOf(signed_out_api.session.agent, signed_out_api.session.issuer))
    again.session.sid = "ses_2"
    assert again.approve(operation).status_code == 201
    assert effects() == ["api.order 1 jacket"]


@pytest.mark.requirement("OPS-3-31", "OPS-3-32", "OPS-3-35", "OPS-6-21")
def test_another_session_with_a_renewed_token_can_approve(
    agents_api: ApiClient, session_of: Callable[..., SessionOf], alice: Any, effects: Effects
) -> None:
    operation = agents_api.ask()
    later = ApiClient(session_of(account=str(alice.pk), sid="ses_2", scope="other"))
    answer = later.approve(
        operation, headers={"Accept-Language": "de", "User-Agent": "another", "X-Trace": "2"}
    )

    assert answer.status_code == 201
    assert effects() == ["api.order 1 jacket"]


# Checks before these


@pytest.mark.requirement("OPS-6-43", "OPS-8.1-03")
def test_a_revoked_agent_gets_no_stored_answer(agents_api: ApiClient, effects: Effects) -> None:
    operation = agents_api.ask()
    agents_api.approve(operation)
    revoke_agent(agents_api.session.agent.client_id)
    known = agents_api.approve(operation)
    unknown = agents_api.send({**MADE_UP, "approver": "user"})

    assert (known.status_code, known.json()) == (403, {"error": "invalid_session"})
    assert (known.content, known.headers) == (unknown.content, unknown.headers)
    assert len(effects()) == 1


@pytest.mark.requirement("OPS-6-44")
def test_a_token_without_the_scope_gets_no_stored_answer(
    agents_api: ApiClient, effects: Effects
) -> None:
    agents_api.path = "/api/scoped/"
    agents_api.session.scope = "orders:write"
    operation = agents_api.ask()
    assert agents_api.approve(operation).status_code == 201
    agents_api.session.scope = "orders:read"
    answer = agents_api.approve(operation)

    assert answer.status_code == 403
    assert answer.json() == {"error": "insufficient_scope", "scope": "orders:write"}
    assert len(effects()) == 1


@pytest.mark.requirement("OPS-6-44")
def test_an_expired_token_gets_no_stored_answer(agents_api: ApiClient, effects: Effects) -> None:
    session = agents_api.session
    operation = agents_api.ask()
    agents_api.approve(operation)
    expired = session.issuer.access_token(
        session.account or "", client_id=session.agent.client_id, lifetime=-3600
    )
    for path in ("/api/class/", "/api/plain/", "/api/public/"):
        answer = agents_api.approve(operation, path=path, access_token=expired)
        assert (answer.status_code, answer.json()) == (401, {"error": "invalid_token"})
        assert answer["WWW-Authenticate"] == 'Bearer error="invalid_token"'
    assert len(effects()) == 1


@pytest.mark.requirement("OPS-6-43", "OPS-8.1-01")
@pytest.mark.parametrize("path", ["/api/class/", "/api/plain/", "/api/public/"])
def test_a_bad_session_gets_no_stored_answer(
    path: str, agents_api: ApiClient, effects: Effects
) -> None:
    operation = agents_api.ask(path=path)
    agents_api.approve(operation, path=path)
    for header in ("", "not.a.jwt", "a, b"):
        answer = agents_api.approve(operation, path=path, headers={"Poppy-Session": header})
        assert (answer.status_code, answer.json()) == (403, {"error": "invalid_session"})
        assert "WWW-Authenticate" not in answer
    assert len(effects()) == 1


def test_a_lost_right_gets_the_sites_refusal_and_no_stored_answer(
    agents_api: ApiClient, shop: ApiBehaviour, effects: Effects
) -> None:
    operation = agents_api.ask()
    agents_api.approve(operation)
    shop.allowed = lambda request: Response({"detail": "Not yours."}, 404)
    answers = [agents_api.approve(operation), agents_api.send({**MADE_UP, "approver": "user"})]

    for answer in answers:
        assert (answer.status_code, answer.json()) == (404, {"detail": "Not yours."})
    assert len(effects()) == 1


# Check 2


@pytest.mark.parametrize("differs", ["nothing", "revision", "content"])
def test_an_answer_that_is_given_again_to_another_request_is_told_to_the_log(
    differs: str, agents_api: ApiClient, caplog: pytest.LogCaptureFixture
) -> None:
    operation = agents_api.ask()
    named = approval_of(operation)
    agents_api.send(named)
    if differs == "revision":
        named["revision"] = "1-never-returned"
    body = {**ORDER, "quantity": 2} if differs == "content" else ORDER
    with caplog.at_level(logging.INFO, "poppy_operations"):
        assert agents_api.send(named, body=body).status_code == 201

    told = [
        (record.levelname, vars(record)["operation_id"], vars(record)["named"])
        for record in caplog.records
        if "given again to a request that differs" in record.getMessage()
    ]
    expected = ("INFO", operation["operation_id"], named["revision"])
    assert told == ([] if differs == "nothing" else [expected])


@pytest.mark.requirement("OPS-1-06", "OPS-6-41", "OPS-6-42", "OPS-6-45", "OPS-7-01")
@pytest.mark.ambiguity("AMB-07")
def test_amb_07_what_was_performed_is_answered_again_whatever_else_has_changed(
    agents_api: ApiClient, shop: ApiBehaviour, effects: Effects
) -> None:
    operation = agents_api.ask()
    first = agents_api.approve(operation)
    Item.objects.update(price=Decimal("75.00"))
    shop.needed = False
    never = {**approval_of(operation), "revision": "1-never-returned"}

    for again in (
        agents_api.approve(operation),
        agents_api.approve(operation, "agent"),
        agents_api.send(never),
        agents_api.approve(operation, body={**ORDER, "quantity": 2}),
    ):
        assert (again.status_code, again.content) == (first.status_code, first.content)
    assert effects() == ["api.order 1 jacket"]


@pytest.mark.ambiguity("AMB-07")
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", "/api/class/"),
        ("POST", "/api/class/7/"),
        ("POST", "/api/function/"),
        ("POST", "/api/plain/"),
        ("POST", "/api/transfer/"),
    ],
)
def test_amb_07_elsewhere_it_only_says_that_it_was_performed(
    method: str, path: str, agents_api: ApiClient, effects: Effects
) -> None:
    operation = agents_api.ask()
    agents_api.approve(operation)
    answer = agents_api.approve(operation, method=method, path=path)

    assert answer.status_code == 200
    assert answer.json() == {"operation_id": operation["operation_id"], "status": "performed"}
    assert effects() == ["api.order 1 jacket"]


@pytest.mark.requirement("OPS-7-08", "OPS-7-09", "OPS-6-42")
@pytest.mark.parametrize("unknown", [False, True])
def test_while_it_is_being_performed_nobody_reads_a_failure(
    unknown: bool, agents_api: ApiClient, effects: Effects
) -> None:
    agents_api.path = "/api/transfer/"
    operation = agents_api.ask()
    Operation.objects.update(
        state=Operation.State.PERFORMING,
        attempt="elsewhere",
        effects="external",
        started_at=timezone.now(),
        lease_until=timezone.now() + timedelta(minutes=1),
        outcome_unknown_since=timezone.now() if unknown else None,
    )
    for answer in (
        agents_api.approve(operation),
        agents_api.send(),  # Without an approval no second operation may come (M22).
        agents_api.approve(operation, body={**ORDER, "quantity": 2}),
    ):
        assert answer.status_code == 503
        assert int(answer["Retry-After"]) > 0
        assert answer.json() == {
            "operation_id": operation["operation_id"],
            "status": "performing",
        }
    assert effects() == []


@pytest.mark.requirement("OPS-7-08", "OPS-7-09")
def test_the_request_whose_own_action_ended_unknown_is_told_so_too(
    agents_api: ApiClient, site: Any, effects: Effects
) -> None:
    agents_api.path = "/api/transfer/"
    agents_api.session.client.raise_request_exception = False

    def time_out(operation: Any) -> None:
        message = "The gateway did not answer."
        raise TimeoutError(message)

    site.after_effect = time_out
    operation = agents_api.ask()
    answer = agents_api.approve(operation)

    assert (answer.status_code, answer.json()["status"]) == (503, "performing")
    assert int(answer["Retry-After"]) > 0
    assert effects() == ["api.transfer 1 jacket"]
    assert agents_api.approve(operation).status_code == 503
    assert effects() == ["api.transfer 1 jacket"]


# Check 3


@pytest.mark.requirement("OPS-1-05", "OPS-3-25", "OPS-6-20", "OPS-6-52", "OPS-6-53", "OPS-6-54")
@pytest.mark.ambiguity("AMB-18")
def test_amb_18_another_content_is_another_action_with_an_operation_of_its_own(
    agents_api: ApiClient, effects: Effects
) -> None:
    operation = agents_api.ask()
    two = {**ORDER, "quantity": 2}
    other = operation_in(agents_api.approve(operation, body=two))

    assert other["operation_id"] != operation["operation_id"]
    assert other["terms"]["quantity"] == 2
    assert effects() == []
    assert operation_in(agents_api.approve(other)) != other
    assert effects() == []
    assert agents_api.approve(other, body=two).status_code == 201
    assert effects() == ["api.order 2 jacket"]


@pytest.mark.requirement("OPS-3-23", "OPS-3-26", "OPS-5-03")
@pytest.mark.ambiguity("AMB-18")
def test_amb_18_what_the_site_calls_one_action_is_performed_once(
    agents_api: ApiClient, effects: Effects
) -> None:
    agents_api.path = "/api/one-order/"
    first = agents_api.ask()
    two = {**ORDER, "quantity": 2}
    second = operation_in(agents_api.approve(first, body=two))
    assert second["operation_id"] == first["operation_id"]
    assert second["revision"] != first["revision"]

    assert agents_api.approve(second, body=two).status_code == 201
    assert agents_api.approve(first).json() == two  # The same operation: what it was answered.
    assert effects() == ["api.one_order 2 jacket"]


@pytest.mark.requirement("OPS-3-08", "OPS-3-19", "OPS-3-25", "OPS-6-37", "OPS-6-53", "OPS-6-54")
def test_a_price_that_changed_gets_a_new_revision_of_the_same_operation(
    agents_api: ApiClient, effects: Effects
) -> None:
    operation = agents_api.ask()
    Item.objects.update(price=Decimal("75.00"))
    new = operation_in(agents_api.approve(operation))

    assert new["operation_id"] == operation["operation_id"]
    assert new["revision"] != operation["revision"]
    assert new["terms"]["total"]["amount"] == "75.00"
    assert effects() == []
    assert operation_in(agents_api.approve(operation)) == new


@pytest.mark.requirement("OPS-6-37", "OPS-6-54")
@pytest.mark.parametrize("case", ["never returned", "of another operation", "expired"])
def test_a_revision_that_is_not_this_operations_any_more_performs_nothing(
    case: str, agents_api: ApiClient, effects: Effects
) -> None:
    start = timezone.now().replace(microsecond=0)
    with time_machine.travel(start, tick=False) as clock:
        operation = agents_api.ask()
        approval = approval_of(operation)
        if case == "never returned":
            approval["revision"] = "9999999999-never"
        elif case == "of another operation":
            approval["revision"] = agents_api.ask(path="/api/class/7/")["revision"]
        else:
            clock.move_to(start + timedelta(minutes=15, seconds=1))
        answer = operation_in(agents_api.send(approval))

        assert answer["operation_id"] == operation["operation_id"]
        assert answer["revision"] != approval["revision"]
        assert answer["terms"] == operation["terms"]
        assert effects() == []


@pytest.mark.requirement("OPS-6-54")
def test_the_revision_that_an_approval_names_never_comes_back(agents_api: ApiClient) -> None:
    named = agents_api.ask()
    wrong = agents_api.ask(body={**ORDER, "quantity": 2})
    seen = set()
    for _ in range(4):
        approval = {**approval_of(wrong), "revision": named["revision"]}
        named = operation_in(agents_api.send(approval))
        assert named["revision"] != approval["revision"]
        seen.add(named["revision"])
    assert len(seen) <= 2  # It does not loop through ever new ones either.
    assert Revision.objects.count() <= 4


@pytest.mark.requirement("OPS-7-03")
def test_the_replay_lasts_as_long_as_the_operation_is_remembered(
    agents_api: ApiClient, effects: Effects
) -> None:
    start = timezone.now()
    with time_machine.travel(start, tick=False) as clock:
        operation = agents_api.ask()
        first = agents_api.approve(operation)
        clock.move_to(start + timedelta(days=2))
        again = agents_api.approve(operation)

    assert (again.status_code, again.content) == (201, first.content)
    assert len(effects()) == 1


@pytest.mark.requirement("OPS-7-07")
def test_once_it_is_forgotten_a_retry_gets_a_new_revision_and_performs_nothing(
    agents_api: ApiClient, effects: Effects
) -> None:
    start = timezone.now()
    with time_machine.travel(start, tick=False) as clock:
        operation = agents_api.ask()
        agents_api.approve(operation)
        clock.move_to(start + timedelta(days=400))
        purge()
        assert not Operation.objects.exists()
        new = operation_in(agents_api.approve(operation))

    assert new["revision"] != operation["revision"]
    assert len(effects()) == 1


@pytest.mark.requirement("OPS-3-04", "OPS-3-06")
def test_the_same_order_once_more_is_another_operation(
    agents_api: ApiClient, effects: Effects
) -> None:
    first = agents_api.ask()
    agents_api.approve(first)
    second = agents_api.ask()

    assert second["operation_id"] != first["operation_id"]
    assert agents_api.approve(second).status_code == 201
    assert len(effects()) == 2

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from poppy_operations.protocol import wire
from poppy_operations.protocol.canonical import canonical_terms, freeze
from poppy_operations.protocol.errors import STATUSES, error_body
from poppy_operations.protocol.operation import DeclineStatement, ReturnedOperation
from tests.protocol.examples import (
    ALTERNATIVE,
    DECLINE,
    OPERATION,
    OPERATION_AS_JSON,
    REASON,
    SUMMARY,
)

WITHOUT_SUMMARY = replace(OPERATION, summary=None)
# They have results of their own, or none: a tool refuses nobody on the whole server.
NOT_OF_TOOLS = {"approval_required", "approval_declined", "extension_required"}
BARE_DECLINE = DeclineStatement("cls_2Wq8", "1791487200-p9Lm3Rt6Vx1c")
DECLINED = {
    "operation_id": "cls_2Wq8",
    "revision": "1791487200-p9Lm3Rt6Vx1c",
    "reason": REASON,
    "alternative": ALTERNATIVE,
}


def text_of(result: dict[str, object]) -> str:
    content = result["content"]
    assert isinstance(content, list)
    assert [item["type"] for item in content] == ["text"]
    return str(content[0]["text"])


@pytest.mark.requirement("OPS-3-02")
def test_an_operation_is_the_object_of_the_text() -> None:
    assert OPERATION.as_json() == OPERATION_AS_JSON
    assert list(OPERATION.as_json()) == [
        "operation_id",
        "revision",
        "summary",
        "terms",
        "expires_at",
    ]


@pytest.mark.requirement("OPS-3-11")
@pytest.mark.parametrize("summary", [None, ""])
def test_without_a_summary_an_operation_has_no_such_member(summary: str | None) -> None:
    expected = {key: value for key, value in OPERATION_AS_JSON.items() if key != "summary"}
    assert replace(OPERATION, summary=summary).as_json() == expected


@pytest.mark.requirement("OPS-3-13", "OPS-3-16")
def test_summary_and_terms_arrive_unchanged() -> None:
    summary = "*Exchange* the **Jacke** für Zoë\n\n- one\n- <b>two</b>"
    terms = {"größe": ["M", {"ä": None}], "": True, "n": 2**53}
    operation = ReturnedOperation("op", "rev", canonical_terms(terms), 0, summary)
    sent = json.loads(json.dumps(operation.as_json()))
    assert sent["summary"] == summary
    assert sent["terms"] == terms


def test_an_api_returns_the_operation_beside_the_error() -> None:
    assert wire.api_approval_required(OPERATION) == {
        "error": "approval_required",
        "operation": OPERATION_AS_JSON,
    }
    assert STATUSES["approval_required"] == 403


def test_an_apis_own_error_fields_stand_beside_the_operation() -> None:
    body = wire.api_approval_required(OPERATION, {"detail": "Ask first.", "code": 7})
    assert body == {
        "error": "approval_required",
        "operation": OPERATION_AS_JSON,
        "detail": "Ask first.",
        "code": 7,
    }


def test_a_pages_own_script_is_not_told_the_operation() -> None:
    assert wire.website_approval_required() == {"error": "approval_required"}


def test_a_websites_own_error_fields_stand_beside_the_error() -> None:
    body = wire.website_approval_required({"message": "Wait."})
    assert body == {"error": "approval_required", "message": "Wait."}


@pytest.mark.parametrize("name", ["error", "operation"])
def test_own_fields_never_take_the_protocols_names(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        wire.api_approval_required(OPERATION, {name: 1})
    with pytest.raises(ValueError, match=name):
        wire.website_approval_required({name: 1})


def test_a_tool_returns_the_operation_alone_and_says_so_in_words() -> None:
    result = wire.mcp_approval_required(OPERATION)
    assert result.keys() == {"isError", "content", "structuredContent"}
    assert result["isError"] is True
    assert result["structuredContent"] == {"operation": OPERATION_AS_JSON}
    assert text_of(result) == f"Not done yet. This needs approval: {SUMMARY}"


def test_without_a_summary_the_text_of_a_tool_is_a_neutral_sentence() -> None:
    result = wire.mcp_approval_required(WITHOUT_SUMMARY)
    assert text_of(result) == "Not done yet. This needs approval of the terms in `operation`."
    assert result["structuredContent"] == {"operation": WITHOUT_SUMMARY.as_json()}


def test_a_message_carries_the_operation_and_nothing_else() -> None:
    assert wire.conversation_operation(OPERATION) == {"operation": OPERATION_AS_JSON}


def test_an_api_declines_as_in_the_text() -> None:
    body = wire.api_declined(DECLINE)
    assert body == {"error": "approval_declined", **DECLINED}
    assert next(iter(body)) == "error"
    assert STATUSES["approval_declined"] == 403


@pytest.mark.requirement("OPS-6-83")
@pytest.mark.parametrize("reason", [None, ""])
def test_a_decline_without_reason_or_alternative_has_no_such_members(reason: str | None) -> None:
    assert wire.api_declined(replace(BARE_DECLINE, reason=reason)) == {
        "error": "approval_declined",
        "operation_id": "cls_2Wq8",
        "revision": "1791487200-p9Lm3Rt6Vx1c",
    }


def test_an_alternative_is_passed_on_as_plain_json_and_not_shared() -> None:
    frozen = freeze(json.dumps(ALTERNATIVE))
    members = replace(DECLINE, alternative=frozen).members()
    assert json.loads(json.dumps(members))["alternative"] == ALTERNATIVE
    assert DECLINE.members()["alternative"] is not ALTERNATIVE


def test_a_tool_declines_with_the_error_and_says_so_in_words() -> None:
    result = wire.mcp_declined(DECLINE)
    assert result["isError"] is True
    assert result["structuredContent"] == {"error": "approval_declined", **DECLINED}
    assert text_of(result) == f"Not done. The approval was declined. {REASON}"
    assert text_of(wire.mcp_declined(BARE_DECLINE)) == "Not done. The approval was declined."


def test_a_message_declines_without_the_error() -> None:
    assert wire.conversation_declined(DECLINE) == {"declined": DECLINED}


@pytest.mark.parametrize("state", wire.STATES)
def test_a_look_up_gives_the_operations_state(state: wire.Status) -> None:
    assert wire.status("exc_5Rt2", state) == {"operation_id": "exc_5Rt2", "status": state}


@pytest.mark.parametrize("state", ["open", "", "unknown", "Performed"])
def test_other_states_are_not_told(state: wire.Status) -> None:
    with pytest.raises(ValueError, match="approved, performing, performed"):
        wire.status("exc_5Rt2", state)


def test_an_unfinished_tool_is_in_progress_and_no_error() -> None:
    result = wire.mcp_unfinished("exc_5Rt2")
    assert result["isError"] is False
    assert "in progress" in text_of(result)
    assert result["structuredContent"] == {"operation_id": "exc_5Rt2", "status": "performing"}


def test_what_was_performed_before_is_told_that_nothing_was_done_again() -> None:
    result = wire.mcp_performed("exc_5Rt2")
    assert result["isError"] is False
    assert result["structuredContent"] == {"operation_id": "exc_5Rt2", "status": "performed"}
    assert "nothing was done again" in text_of(result)


@pytest.mark.parametrize("code", sorted(STATUSES.keys() - NOT_OF_TOOLS))
def test_an_error_says_in_words_what_it_is(code: str) -> None:
    result = wire.mcp_error(code, {"scope": "orders:write"}, retry_after_s="7")
    assert result["isError"] is True
    assert result["structuredContent"] == {"error": code, "scope": "orders:write"}
    assert text_of(result).startswith("Not done. ")
    assert text_of(result).endswith(f"({code}) Try again in 7 s.")
    assert "Try again" not in text_of(wire.mcp_error(code, {"scope": "orders:write"}))


def test_an_approval_that_cannot_be_looked_at_is_no_failure() -> None:
    result = wire.mcp_cannot_look()
    assert result["isError"] is False
    assert result["structuredContent"] == {"error": "temporarily_unavailable"}
    assert "not known now whether this was done" in text_of(result)


def test_every_error_code_has_one_status() -> None:
    assert dict(STATUSES) == {
        "invalid_request": 400,
        "invalid_session": 403,
        "invalid_token": 401,
        "sign_in_required": 401,
        "extension_required": 403,
        "insufficient_scope": 403,
        "approval_required": 403,
        "approval_declined": 403,
        "rate_limited": 429,
        "temporarily_unavailable": 503,
    }


def test_a_refusal_for_want_of_the_extension_names_it() -> None:
    assert error_body("extension_required", extension="operations") == {
        "error": "extension_required",
        "extension": "operations",
    }


def test_a_refusal_may_be_its_code_alone() -> None:
    assert error_body("invalid_request") == {"error": "invalid_request"}


@pytest.mark.parametrize("code", ["extension_required", "insufficient_scope", "approval_declined"])
def test_a_refusal_that_says_too_little_is_refused(code: str) -> None:
    with pytest.raises(ValueError, match="also has"):
        error_body(code)


def test_other_error_codes_are_refused() -> None:
    with pytest.raises(ValueError, match="no error code"):
        error_body("server_error")

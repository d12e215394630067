"""The pieces of OpenAPI that describe operations (3, 4, 6, 7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_ID = {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,256}$"}
_TEXT = {"type": "string"}


def _object(required: Mapping[str, Any], **optional: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "required": list(required),
        "properties": {**required, **optional},
    }


def _error(*codes: str) -> dict[str, Any]:
    # A pattern in place of an enum: drf-spectacular gives each enum a component of its own.
    return {"type": "string", "pattern": f"^({'|'.join(codes)})$"}


COMPONENTS: Mapping[str, dict[str, Any]] = {
    "PoppyOperation": _object(
        {
            "operation_id": {**_ID, "description": "Identifies the action."},
            "revision": {**_ID, "description": "Identifies these terms."},
            "terms": {
                "type": "object",
                "additionalProperties": {},
                "description": "Everything that affects the action.",
            },
            "expires_at": {
                "type": "string",
                "format": "date-time",
                "description": "The last time an approval of this revision is accepted.",
            },
        },
        summary={**_TEXT, "description": "The same terms in plain language, for the User."},
    ),
    "PoppyApprovalRequired": _object(
        {
            "error": _error("approval_required"),
            "operation": {"$ref": "#/components/schemas/PoppyOperation"},
        }
    ),
    "PoppyApprovalDeclined": _object(
        {"error": _error("approval_declined"), "operation_id": _ID, "revision": _ID},
        reason=_TEXT,
        alternative={"type": "object", "additionalProperties": {}},
    ),
    "PoppyExtensionRequired": _object(
        {
            "error": _error("extension_required"),
            "extension": {"type": "string", "pattern": "^operations$"},
        }
    ),
    "PoppyInsufficientScope": _object({"error": _error("insufficient_scope"), "scope": _TEXT}),
    "PoppyInvalidSession": _object({"error": _error("invalid_session")}),
    "PoppyInvalidRequest": _object({"error": _error("invalid_request")}),
    "PoppySignIn": _object({"error": _error("sign_in_required", "invalid_token")}),
    "PoppyRateLimited": _object({"error": _error("rate_limited")}),
    "PoppyUnavailable": _object({"error": _error("temporarily_unavailable")}),
    "PoppyPerforming": _object(
        {"operation_id": _ID, "status": {"type": "string", "pattern": "^performing$"}}
    ),
    "PoppyPerformed": _object(
        {"operation_id": _ID, "status": {"type": "string", "pattern": "^performed$"}}
    ),
}

NEEDS_APPROVAL = (
    "Needs approval if a Personal Agent asks for it: the request is refused with the "
    "operation, and performed once when the same request comes again with `Poppy-Approval`."
)

_RETRY_AFTER = {
    "Retry-After": {"schema": {"type": "integer", "minimum": 1}, "description": "In seconds."}
}
_CHALLENGE = {"WWW-Authenticate": {"schema": _TEXT, "description": "The challenge."}}


@dataclass(frozen=True)
class DocumentedAnswer:
    """One more body of one status. The empty schema allows anything, in the site's own form."""

    status: int
    schema: str
    description: str
    gated_only: bool = True
    own_form: bool = False
    headers: Mapping[str, Any] = field(default_factory=dict)

    @property
    def schemas(self) -> tuple[str, ...]:
        """The names of the components, and the empty one if the site has a form of its own."""
        return (self.schema, "") if self.own_form else (self.schema,)


RESPONSES = (
    DocumentedAnswer(
        200,
        "PoppyPerformed",
        "The operation was performed before, and its answer is not given again here.",
    ),
    DocumentedAnswer(
        400,
        "PoppyInvalidRequest",
        "The request is not valid, its approval lacks a member, or the protocol's version is "
        "not spoken here.",
        gated_only=False,
        own_form=True,
    ),
    DocumentedAnswer(
        401,
        "PoppySignIn",
        "The Session is to be signed in to an account, or its access token is bad.",
        gated_only=False,
        own_form=True,
        headers=_CHALLENGE,
    ),
    DocumentedAnswer(
        403, "PoppyApprovalRequired", "Nothing was done: the operation is to be approved."
    ),
    DocumentedAnswer(
        403, "PoppyApprovalDeclined", "Nothing was done: this approval is not acted on."
    ),
    DocumentedAnswer(
        403, "PoppyExtensionRequired", "Nothing was done: the extension is not declared."
    ),
    DocumentedAnswer(
        403,
        "PoppyInvalidSession",
        "The request shows no valid Session, or the caller has no right to this.",
        gated_only=False,
        own_form=True,
    ),
    DocumentedAnswer(
        403, "PoppyInsufficientScope", "The access token lacks the scope.", gated_only=False
    ),
    DocumentedAnswer(
        429,
        "PoppyRateLimited",
        "Too many operations wait for approval, or too many requests came.",
        own_form=True,
        headers=_RETRY_AFTER,
    ),
    DocumentedAnswer(
        503,
        "PoppyPerforming",
        "The operation is being performed, or nobody knows yet whether it took effect. The same "
        "request, with the same approval, finds out.",
        headers=_RETRY_AFTER,
    ),
    DocumentedAnswer(
        503,
        "PoppyUnavailable",
        "Nothing was done; the same request may come again.",
        gated_only=False,
        headers=_RETRY_AFTER,
    ),
)

PARAMETERS = (
    {
        "name": "Poppy-Extensions",
        "in": "header",
        "required": False,
        "schema": _TEXT,
        "description": "Declares what the Personal Agent supports. Without `operations` in "
        "version 3 no operation is returned.",
        "example": '"operations";v="3"',
    },
    {
        "name": "Poppy-Approval",
        "in": "header",
        "required": False,
        "schema": _TEXT,
        "description": "The approval of the operation that this same request was refused with: a "
        "Dictionary (RFC 9651) with the Strings `operation_id`, `revision` and `approver` (`user` "
        "or `agent`), and optionally `approved_at` (Integer), `input_type` and `reference`.",
        "example": 'operation_id="exc_5Rt2", revision="1791487200-k3Jd9Qx2mW8v", approver="user"',
    },
)

SECURITY_SCHEMES: Mapping[str, dict[str, Any]] = {
    "poppySession": {
        "type": "apiKey",
        "in": "header",
        "name": "Poppy-Session",
        "description": "A Personal Agent's Session JWT, made for this one request.",
    },
    "poppyAccessToken": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "JWT",
        "description": "The access token of the account that the Session is signed in to.",
    },
}

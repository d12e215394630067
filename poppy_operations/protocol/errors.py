"""The error codes that go into a JSON body, each with its HTTP status."""

from __future__ import annotations

from types import MappingProxyType

# Code, status, and the members that the code needs to make sense.
_ERRORS: dict[str, tuple[int, frozenset[str]]] = {
    "invalid_request": (400, frozenset()),
    "invalid_session": (403, frozenset()),
    "invalid_token": (401, frozenset()),
    "sign_in_required": (401, frozenset()),
    "extension_required": (403, frozenset({"extension"})),
    "insufficient_scope": (403, frozenset({"scope"})),
    "approval_required": (403, frozenset()),
    "approval_declined": (403, frozenset({"operation_id", "revision"})),
    "rate_limited": (429, frozenset()),
    "temporarily_unavailable": (503, frozenset()),
}

STATUSES = MappingProxyType({code: status for code, (status, _) in _ERRORS.items()})


def error_body(code: str, **members: object) -> dict[str, object]:
    """Return the JSON body of a refusal: ``error`` first, then its other members.

    Raises:
        ValueError: there is no such code, or a member that the code needs is missing.
    """
    if code not in _ERRORS:
        message = f"There is no error code {code!r}."
        raise ValueError(message)
    _, needed = _ERRORS[code]
    missing = sorted(needed - members.keys())
    if missing:
        message = f"The error {code!r} also has {', '.join(missing)}."
        raise ValueError(message)
    return {"error": code, **members}

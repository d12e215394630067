"""An agent's approval as it arrives, in a header or as JSON (6)."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from poppy_operations.protocol.ids import is_id
from poppy_operations.protocol.structured import parse_dictionary

Approver = Literal["user", "agent"]
APPROVERS: Final[tuple[Approver, ...]] = ("user", "agent")
LONGEST_INPUT_TYPE = 256
# The largest Integer of a structured field. JSON gets the same limit.
LATEST_TIME = 10**15 - 1


class MalformedApproval(ValueError):
    """An approval with a required member that is missing, of another type, or of no known value.

    ``operation_id`` and ``revision`` are those that the approval names, or ``None`` if they cannot
    be read: no answer may return the revision that was named.
    """

    def __init__(
        self, message: str, *, operation_id: str | None = None, revision: str | None = None
    ) -> None:
        super().__init__(message)
        self.operation_id = operation_id
        self.revision = revision


@dataclass(frozen=True)
class ApprovalStatement:
    """What an agent states: that one revision of an operation is approved (5, 8.1).

    ``operation_id`` and ``revision`` are IDs, or ``""`` if the text that came can be no ID: such
    text names nothing that we returned, and is not kept. ``approved_at`` is in Unix seconds.
    ``dropped`` names the optional members whose values are not accepted; they count as missing.
    """

    operation_id: str
    revision: str
    approver: str
    approved_at: int | None = None
    input_type: str | None = None
    reference: str | None = None
    dropped: tuple[str, ...] = ()

    def members(self) -> dict[str, str | int]:
        """Return the approval's JSON object, without the members that are missing."""
        members = {
            "operation_id": self.operation_id,
            "revision": self.revision,
            "approver": self.approver,
            "approved_at": self.approved_at,
            "input_type": self.input_type,
            "reference": self.reference,
        }
        return {name: value for name, value in members.items() if value is not None}


def approval_from_header(value: str) -> ApprovalStatement | None:
    """Read a ``Poppy-Approval`` field (6, "APIs"); ``None`` if it is unparsable or empty.

    Several fields arrive joined with commas. If a member comes twice, the last one counts.

    Raises:
        MalformedApproval: the field can be parsed, but a required member is missing or wrong.
    """
    members = parse_dictionary(value)
    return _statement(members) if members else None


def approval_from_json(value: object) -> ApprovalStatement:
    """Read the approval of a tool call's ``_meta`` or of a message.

    Raises:
        MalformedApproval: the value is no object, or a required member is missing or wrong.
    """
    if not isinstance(value, Mapping):
        message = "An approval is an object."
        raise MalformedApproval(message)
    return _statement(value)


def _statement(members: Mapping[str, object]) -> ApprovalStatement:
    operation_id = members.get("operation_id")
    revision = members.get("revision")
    approver = members.get("approver")
    if not isinstance(operation_id, str) or not isinstance(revision, str):
        raise _malformed(members, "An approval names an operation and a revision.")
    # The type is checked first: a Token of a structured field equals its text.
    if not isinstance(approver, str) or approver not in APPROVERS:
        raise _malformed(members, "The approver of an approval is user or agent.")
    # If the agent approved, how the User answered says nothing, and is ignored (6).
    readers = _USER_MEMBERS if approver == "user" else _AGENT_MEMBERS
    dropped = tuple(name for name, fits in readers.items() if not _is_fine(members, name, fits))
    kept = {name: members.get(name) for name in readers if name not in dropped}
    return ApprovalStatement(
        operation_id=_id(operation_id) or "",
        revision=_id(revision) or "",
        approver=approver,
        dropped=dropped,
        **kept,  # type: ignore[arg-type]  # each was looked at by its reader
    )


def _malformed(members: Mapping[str, object], message: str) -> MalformedApproval:
    return MalformedApproval(
        message,
        operation_id=_id(members.get("operation_id")),
        revision=_id(members.get("revision")),
    )


def _id(value: object) -> str | None:
    return value if is_id(value) else None


def _is_fine(members: Mapping[str, object], name: str, fits: Callable[[object], bool]) -> bool:
    return name not in members or fits(members[name])


def _is_time(value: object) -> bool:
    # Not compared with the clock or with the expiry: the time is the agent's statement.
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LATEST_TIME


def _is_input_type(value: object) -> bool:
    return (
        isinstance(value, str)
        and len(value) <= LONGEST_INPUT_TYPE
        and not any(unicodedata.category(character) in ("Cc", "Cs") for character in value)
    )


_AGENT_MEMBERS: dict[str, Callable[[object], bool]] = {"approved_at": _is_time, "reference": is_id}
_USER_MEMBERS = {**_AGENT_MEMBERS, "input_type": _is_input_type}

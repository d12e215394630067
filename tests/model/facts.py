"""What the model speaks of: owners, requests, operations and their revisions.

Operations and revisions get their names when an agent first reads them, so what the package must
keep apart or together is compared by identity. Times are milliseconds; the protocol's are seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

OPEN, PERFORMING, PERFORMED = "open", "performing", "performed"
LIFETIME_S = 15 * 60
LEASE_S = {"database": 60, "external": 15 * 60}
LONGEST_LEASE_S = 60 * 60
EFFECTS = {
    "order": "database",
    "change": "database",
    "each": "database",
    "pay": "external",
    "send": "external",
}
OUTLIVES_MS = LEASE_S["external"] * 1000 + 1000
DAY_S = 24 * 60 * 60
# How a run ends, for what its effects are; everything else is performed.
UNDONE: dict[str, dict[str, int | None]] = {
    "database": {
        "refused": 409,
        "login": 302,
        "marked": 500,
        "not performed": 409,
        "sold out": 500,
        "error before": 500,
        "error after": 500,
    },
    "external": {"not performed": 409, "sold out": 500},
}
UNKNOWN = dict.fromkeys(("refused", "login", "error before", "error after"))
NO_EFFECT = {"error before", "killed before", "not performed", "sold out"}
KILLED = {"killed before", "killed after", "killed at the end"}


class Owner(NamedTuple):
    """Who an operation belongs to (3)."""

    agent: str
    user: str
    account: str


class Want(NamedTuple):
    """What a request asks for. ``spelled`` and ``trace`` are bytes that mean nothing.

    ``door``: at which of the two views, which take forms and JSON. Who asks there decides on the
    interface, and not the view.
    """

    action: str
    item: str
    quantity: int
    note: str = ""
    door: str = "web"
    spelled: str = ""
    trace: str = ""

    @property
    def content(self) -> tuple[Any, ...]:
        """The request by meaning."""
        return self[:5]

    @property
    def raw(self) -> tuple[Any, ...]:
        """The request by value: in JSON, a number is the same however it is spelled."""
        return self[:6] if self.door == "web" else self.content


class Run(NamedTuple):
    """How the site's code goes, should the request come to it."""

    ending: str = "performed"
    in_between: str = ""
    when: str = ""
    what: str = ""


class Approval(NamedTuple):
    """An approval as an agent sends it; both names are texts."""

    operation_id: str
    revision: str
    approver: str


@dataclass(eq=False, repr=False)
class Operation:
    """One action of one owner."""

    owner: Owner
    interface: str
    action: str
    key: object
    created_s: int
    name: str | None = None
    state: str = OPEN
    attempt: int = 0
    attempts: int = 0
    lease_s: int = 0
    lease_until: int = 0
    is_unknown: bool = False
    in_use: Revision | None = None
    performed: Revision | None = None
    answer: object = None
    ended: int = 0
    effects: int = 0
    revisions: list[Revision] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"<{self.name} {self.owner} {self.interface} {self.action} {self.state}>"

    def moves_on(self) -> None:
        """Whatever was examined before says nothing any more."""
        self.attempts += 1
        self.attempt = self.attempts


@dataclass(eq=False, repr=False)
class Revision:
    """One set of terms."""

    operation: Operation
    terms: tuple[str, int, int]
    want: Want
    number: int
    returned_s: int
    expires_s: int
    name: str | None = None
    ref: str | None = None
    watch: str | None = None
    is_seen: bool = False
    is_retired: bool = False
    recorded: int | None = None
    recorded_by: str = ""
    is_voided: bool = False
    declined: set[str] = field(default_factory=set)
    approved: bool = False

    def __repr__(self) -> str:
        return f"<{self.name} {self.terms} {self.want} of {self.operation}>"

    @property
    def is_waiting(self) -> bool:
        """Whether an approval of it is on record and not voided."""
        return self.recorded is not None and not self.is_voided


class Expected(NamedTuple):
    """An answer: its kind, and what belongs to it."""

    kind: str
    operation: Operation | None = None
    revisions: tuple[Revision, ...] = ()
    status: int = 0
    code: str = ""
    retry_after: int | None = None


INVALID = Expected("error", status=400, code="invalid_request")
FORBIDDEN = Expected("site", status=404)
BAD_SESSION = Expected("error", status=403, code="invalid_session")
BAD_TOKEN = Expected("error", status=401, code="invalid_token")
RECORDED = Expected("recorded", status=204)


def key_of(want: Want) -> object:
    """What the site calls the same action: the item, the whole request, or nothing ever."""
    if want.action == "each":
        return object()
    return want.item if want.action in {"change", "pay"} else want.content


def is_challenged(owner: Owner, other: Owner) -> bool:
    """Whether a signed-out Session of the same agent and User is asked to sign in (AMB-01)."""
    return not owner.account and bool(other.account) and owner[:2] == other[:2]

"""The interfaces that return operations, and what the rules ask of each (4, 6, 7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Interface:
    """One interface. The gate asks these columns, and never compares the name.

    ``approvals_recorded``: an approval is recorded, and waits for the request to be made again. If
    not, it is sent with the request.

    ``told_by_reference``: the answer holds a reference, and only ``endpoint`` shows the operation.
    If not, the answer holds the operation, and whoever gets it has seen the terms.

    ``answered_with_pages``: a browser shows the answers. If not, a program reads them.

    ``stores_body``: the body of an answer is stored, to be given again.

    ``keeps_slot``: the slot of an operation stays taken after the operation was performed, so that
    a repeat gets the answer again and no new operation.

    ``repeated_while_performing``: a repeat gets a further revision of the operation that is being
    performed. If not, the repeat is told that the operation is unfinished.

    ``approved_by``: whose approval counts.
    """

    name: str
    approvals_recorded: bool
    told_by_reference: bool
    answered_with_pages: bool
    stores_body: bool
    keeps_slot: bool
    repeated_while_performing: bool
    approved_by: Literal["the User's agent", "a person"]

    @property
    def repeat_is_new(self) -> bool:
        """Whether a repeat of what was performed asks for a new action."""
        return self.approvals_recorded and not self.keeps_slot


WEBSITE = Interface(
    "website",
    approvals_recorded=True,
    told_by_reference=True,
    answered_with_pages=True,
    stores_body=False,
    keeps_slot=False,
    repeated_while_performing=True,
    approved_by="the User's agent",
)
API = Interface(
    "api",
    approvals_recorded=False,
    told_by_reference=False,
    answered_with_pages=False,
    stores_body=True,
    keeps_slot=False,
    repeated_while_performing=False,
    approved_by="the User's agent",
)
MCP = Interface(
    "mcp",
    approvals_recorded=False,
    told_by_reference=False,
    answered_with_pages=False,
    stores_body=True,
    keeps_slot=False,
    repeated_while_performing=False,
    approved_by="the User's agent",
)
CONVERSATION = Interface(
    "conversation",
    approvals_recorded=False,
    told_by_reference=False,
    answered_with_pages=False,
    stores_body=True,
    keeps_slot=False,
    repeated_while_performing=False,
    approved_by="the User's agent",
)
# The Company's own approval, for askers who may not get an operation.
REVIEW = Interface(
    "review",
    approvals_recorded=True,
    told_by_reference=False,
    answered_with_pages=False,
    stores_body=True,
    keeps_slot=True,
    repeated_while_performing=False,
    approved_by="a person",
)

INTERFACES = {row.name: row for row in (WEBSITE, API, MCP, CONVERSATION, REVIEW)}


def interface_called(name: str) -> Interface:
    """The row of an interface. Raises ``KeyError`` for a name that no row has."""
    return INTERFACES[name]

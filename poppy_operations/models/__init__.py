"""The rows behind operations: who asked for what, on which terms, and what became of it.

Models hold shape and constraints only; every transition is in ``lifecycle``. Identities are text
and never foreign keys to the user model: an account that is deleted must neither turn its
operations into signed-out ones nor delete evidence.
"""

from __future__ import annotations

from poppy_operations.models.agents import Agent, Join
from poppy_operations.models.operations import (
    Approval,
    Decline,
    Operation,
    Performance,
    Revision,
    Settlement,
)

__all__ = [
    "Agent",
    "Approval",
    "Decline",
    "Join",
    "Operation",
    "Performance",
    "Revision",
    "Settlement",
]

"""What a site runs from time to time, and what its operators decide.

Purge, reconcile, requeue and a list of what is stuck; settle and revoke. Management commands, tasks
and the admin are thin wrappers of these functions.
"""

from __future__ import annotations

from poppy_operations.maintenance.by_hand import answer_of, settle_by_hand
from poppy_operations.maintenance.forgetting import purge
from poppy_operations.maintenance.reconciling import reconcile
from poppy_operations.maintenance.requeueing import requeue
from poppy_operations.maintenance.results import (
    Interrupted,
    Purged,
    Reconciled,
    Stuck,
    as_json,
    counts,
)
from poppy_operations.maintenance.revoking import revoke
from poppy_operations.maintenance.stuck_operations import stuck

__all__ = [
    "Interrupted",
    "Purged",
    "Reconciled",
    "Stuck",
    "answer_of",
    "as_json",
    "counts",
    "purge",
    "reconcile",
    "requeue",
    "revoke",
    "settle_by_hand",
    "stuck",
]

"""Performing one approved revision: in the database, outside, or in the background (7)."""

from __future__ import annotations

from poppy_operations.gate.answers import Outcome
from poppy_operations.gate.performing.attempt import Attempt
from poppy_operations.gate.performing.external import perform_external
from poppy_operations.gate.performing.in_database import perform_in_database
from poppy_operations.gate.performing.queued import perform_queued
from poppy_operations.gate.sync_and_async import Steps


def perform_approved(attempt: Attempt) -> Steps[Outcome]:
    """Perform one approved revision, unless another request has the claim."""
    if attempt.job.action.background:
        return (yield from perform_queued(attempt))
    if attempt.job.action.effects == "database":
        return (yield from perform_in_database(attempt))
    return (yield from perform_external(attempt))

"""Middleware of a site that wants each request to be a revision, and no transaction around it."""

from __future__ import annotations

from reversion.middleware import RevisionMiddleware


class RevisionWithoutTransaction(RevisionMiddleware):  # type: ignore[misc]  # it has no types
    """A revision for each request, saved after the transactions of the request."""

    atomic = False

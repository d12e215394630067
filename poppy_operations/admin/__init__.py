"""What happened, for the people who run the site: read-only, but for decisions of their own."""

from __future__ import annotations

from poppy_operations.admin import agents, evidence, operations

__all__ = ["agents", "evidence", "operations"]

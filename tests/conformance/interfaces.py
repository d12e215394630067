"""Where a statement applies, and on which of these interfaces tests show it to hold."""

from __future__ import annotations

from collections.abc import Iterable

from tests.conformance.ledger import Ledger, Requirement

INTERFACES = ("website", "api", "mcp", "conversation")
# The package has no door for conversations yet: whatever applies there is pending there.
WITH_A_DOOR = ("website", "api", "mcp")
# Folders of tests about one interface. All others are about what the interfaces have in common.
FOLDERS = {
    "api": "api",
    "browser": "website",
    "browser_story": "website",
    "endpoint": "website",
    "joins": "website",
    "mcp": "mcp",
    "waiting_page": "website",
    "website": "website",
}


def where_it_applies(row: Requirement, ledger: Ledger) -> tuple[str, ...]:
    """Name the interfaces for which a statement says something that can be shown there."""
    named = INTERFACES if row.interfaces == ("all",) else row.interfaces
    only = ledger.only_on.get(row.id)
    return tuple(one for one in INTERFACES if one in named and (only is None or one in only[0]))


def where_it_is_shown(row: Requirement, tests: Iterable[str], ledger: Ledger) -> tuple[str, ...]:
    """Name the interfaces on which these tests show a statement."""
    shown = {interface for test in tests for interface in _of_test(test)}
    return tuple(one for one in where_it_applies(row, ledger) if one in shown)


def _of_test(test: str) -> tuple[str, ...]:
    folder = test.split("/")[1] if "/" in test else ""
    return (FOLDERS[folder],) if folder in FOLDERS else WITH_A_DOOR

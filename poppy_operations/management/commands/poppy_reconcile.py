"""``manage.py poppy_reconcile``."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from poppy_operations.maintenance import as_json, reconcile


class Command(BaseCommand):
    """Find out what became of attempts of unknown outcome."""

    help = "Ask each action's reconcile hook what became of attempts of unknown outcome."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take ``--json`` and ``--dry-run``."""
        parser.add_argument("--json", action="store_true", help="print the counts as JSON")
        parser.add_argument("--dry-run", action="store_true", help="count, and ask nobody")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Reconcile, and print how the attempts ended."""
        result = reconcile(dry_run=options["dry_run"])
        if options["json"]:
            self.stdout.write(as_json(result))
            return
        self.stdout.write(
            f"Performed: {result.performed}. Not performed: {result.not_performed}. "
            f"Still unknown: {result.still_unknown}. Freed: {result.freed}."
        )

"""``manage.py poppy_reconcile``."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from poppy_operations.maintenance import Interrupted, as_json, counts, reconcile

ENDED = (
    "Performed: {performed}. Not performed: {not_performed}. Still unknown: {still_unknown}. "
    "Freed: {freed}. Enqueued again: {requeued}."
)
WOULD = (
    "Unknown: {still_unknown}. Would free: {freed}. Would enqueue again: {requeued}. "
    "Nobody was asked, and nothing was changed."
)


class Command(BaseCommand):
    """Find out what became of attempts that did not come to an end."""

    help = (
        "Ask each action's reconcile hook what became of attempts of unknown outcome, free the "
        "attempts that lapsed, and enqueue again those that no worker has started."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Take ``--json`` and ``--dry-run``."""
        parser.add_argument("--json", action="store_true", help="print the counts as JSON")
        parser.add_argument(
            "--dry-run", action="store_true", help="count, and ask nobody and change nothing"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Reconcile, and print how the attempts ended."""
        try:
            result = reconcile(dry_run=options["dry_run"])
        except Interrupted as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            self.stdout.write(as_json(result))
            return
        self.stdout.write((WOULD if options["dry_run"] else ENDED).format(**counts(result)))
        if result.still_unknown:
            self.stdout.write("See poppy_stuck for what is unknown.")

"""``manage.py poppy_reconcile``."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from poppy_operations.maintenance import as_json, counts, reconcile, requeue


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
        dry_run = options["dry_run"]
        ended = {**counts(reconcile(dry_run=dry_run)), "requeued": requeue(dry_run=dry_run)}
        if options["json"]:
            self.stdout.write(as_json(ended))
            return
        if dry_run:
            self.stdout.write("Nothing was changed; nobody was asked.")
        self.stdout.write(
            "Performed: {performed}. Not performed: {not_performed}. Still unknown: "
            "{still_unknown}. Freed: {freed}. Enqueued again: {requeued}.".format(**ended)
        )

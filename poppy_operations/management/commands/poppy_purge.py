"""``manage.py poppy_purge``."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from poppy_operations.maintenance import Interrupted, as_json, purge


class Command(BaseCommand):
    """Forget operations that need not be remembered any more."""

    help = "Forget operations a day after all their revisions expired, and old browser joins."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take ``--json`` and ``--dry-run``."""
        parser.add_argument("--json", action="store_true", help="print the counts as JSON")
        parser.add_argument("--dry-run", action="store_true", help="count, and delete nothing")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Purge, and print what was forgotten."""
        try:
            result = purge(dry_run=options["dry_run"])
        except Interrupted as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            self.stdout.write(as_json(result))
            return
        verb = "Would forget" if options["dry_run"] else "Forgot"
        self.stdout.write(f"{verb} {result.operations} operations and {result.joins} joins.")

"""``manage.py poppy_stuck``."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from poppy_operations.maintenance import as_json, stuck


class Command(BaseCommand):
    """List operations that do not end by themselves."""

    help = "List operations of unknown outcome, and those whose attempt has lapsed."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take ``--json``."""
        parser.add_argument("--json", action="store_true", help="print the list as JSON")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Print the list."""
        found = stuck()
        if options["json"]:
            self.stdout.write(as_json(found))
            return
        for item in found:
            self.stdout.write(f"{item.operation_id} {item.action} since {item.since}: {item.why}")
        self.stdout.write(f"{len(found)} stuck.")

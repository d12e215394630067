"""``manage.py poppy_stuck``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from poppy_operations.lifecycle.durable import Busy
from poppy_operations.maintenance import Stuck, as_json, stuck


class Command(BaseCommand):
    """List operations that do not end by themselves."""

    help = "List operations of unknown outcome, and those whose attempt has lapsed."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take ``--json`` and ``--fail``."""
        parser.add_argument("--json", action="store_true", help="print the list as JSON")
        parser.add_argument(
            "--fail", action="store_true", help="end with 1 if an operation needs somebody"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Print the list, and what to do about each."""
        try:
            found = stuck()
        except Busy as error:
            message = f"The database is locked, unreachable or read-only: {error}.{error.advice}"
            raise CommandError(message) from error
        needing = [item for item in found if item.needs_somebody]
        if options["json"]:
            self.stdout.write(as_json(found))
        else:
            for item in found:
                self.stdout.write("\n".join(_lines(item)))
            self.stdout.write(f"Stuck: {len(found)}. Need somebody: {len(needing)}.")
        if options["fail"] and needing:
            message = f"Operations that need somebody: {len(needing)}."
            raise CommandError(message)


def _lines(item: Stuck) -> Iterator[str]:
    since = item.since.isoformat(timespec="seconds")
    yield f"{item.operation_id} {item.action}, {item.why} since {since}"
    if item.needs_somebody:
        yield f"  idempotency key: {item.idempotency_key}"
        yield f"  agent:           {item.client_id or 'none'}"
        yield f"  account:         {'signed out' if item.account is None else item.account}"
        yield f"  admin:           {item.admin_path or 'not installed'}"
    yield f"  next:            {item.next_step}"

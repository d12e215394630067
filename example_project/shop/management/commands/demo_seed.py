"""Fill the demo shop."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from example_project.shop.seed import seed


class Command(BaseCommand):
    help = "Create the demo's users, products and orders; what is there already stays."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--reset",
            action="store_true",
            help="begin again: without exchanges, refunds, reservations, closures, operations and "
            "revoked agents",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        seed(reset=options["reset"])
        self.stdout.write("The demo shop is ready.")

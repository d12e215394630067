"""Play the whole story against a server of its own."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from example_project.tour.narration import Narrator
from example_project.tour.play import play

INTRODUCTION = """
A Personal Agent exchanges a jacket for Alice, and the shop asks for approval of the exact terms
first. Everything below really happens, between a server that this command has started and an
agent with a browser of its own.
"""


class Command(BaseCommand):
    help = (
        "Play the whole story headless, against a server and a database of its own, and tell it "
        "step by step. Ends with 1 at the first surprise."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="a JSON object a line")

    def handle(self, *args: Any, **options: Any) -> None:
        narrator = Narrator(self.stdout, machine=options["json"])
        if not options["json"]:
            self.stdout.write(INTRODUCTION)
        if not play(narrator):
            sys.exit(1)

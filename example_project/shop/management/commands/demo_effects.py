"""Say what really happened."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand

from example_project.shop.effects import effects


class Command(BaseCommand):
    help = "Print a JSON object a line for everything that really happened, in order."

    def handle(self, *args: Any, **options: Any) -> None:
        for effect in effects():
            self.stdout.write(json.dumps(effect))

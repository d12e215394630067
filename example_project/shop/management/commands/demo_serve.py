"""Serve the demo shop."""

from __future__ import annotations

from typing import Any

import uvicorn
from django.conf import settings
from django.core.management.base import BaseCommand

ADDRESSES = """
The shop:   http://127.0.0.1:{port}/          (alice or bob, password demo-password)
The admin:  http://127.0.0.1:{port}/admin/    (staff, password demo-password)
For agents: http://127.0.0.1:{port}/.well-known/poppy.json

Ctrl-C ends it.
"""


class Command(BaseCommand):
    help = "Serve the demo shop on 127.0.0.1, at the port that PORT names (8000)."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(ADDRESSES.format(port=settings.PORT))
        uvicorn.run(
            "example_project.asgi:application",
            host="127.0.0.1",
            port=settings.PORT,
            log_level="info",
            access_log=False,
        )

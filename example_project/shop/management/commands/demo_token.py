"""Issue an access token, as the demo's authorization server."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser


class Command(BaseCommand):
    help = "Print an access token (RFC 9068) for a user's account, issued to a Personal Agent."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--client-id", required=True, help="the agent's client ID, an URL")
        parser.add_argument("--scope", default="", help='such as "orders:write"')
        parser.add_argument("--lifetime", type=int, default=3600, help="in seconds (3600)")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            user = User.objects.get(username=options["username"])
        except User.DoesNotExist as error:
            message = f"There is no user {options['username']!r}; demo_seed creates alice and bob."
            raise CommandError(message) from error
        token = settings.TOKEN_ISSUER.access_token(
            str(user.pk),
            client_id=options["client_id"],
            scope=options["scope"],
            lifetime=options["lifetime"],
        )
        self.stdout.write(token)

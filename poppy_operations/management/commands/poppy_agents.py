"""The allow-list of Personal Agents, for the people who run the site."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from poppy_operations.lifecycle.durable import Busy, busy_if_unusable
from poppy_operations.maintenance import revoke
from poppy_operations.models import Agent
from poppy_operations.sessions.agents import (
    UnknownAgent,
    add_agent,
    known_agent,
    listed_agents,
    refresh_keys,
)
from poppy_operations.sessions.keys import parsed_key_set
from poppy_operations.sessions.refusals import KeysUnavailable


class Command(BaseCommand):
    help = "Adds, revokes and lists the Personal Agents whose Sessions are accepted."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        add = verbs.add_parser("add", help="allow an agent, or give it other keys")
        keys = add.add_mutually_exclusive_group(required=True)
        keys.add_argument("--jwks", metavar="FILE", help="its key set, a JSON file")
        keys.add_argument("--jwks-uri", metavar="URL", default="", help="the URL of its key set")
        add.add_argument("--again", action="store_true", help="allow an agent that was revoked")
        add.add_argument("--name", default="", help="its name in the admin")
        revoke = verbs.add_parser("revoke", help="accept none of its Sessions any more")
        refresh = verbs.add_parser("refresh", help="load its key set now")
        verbs.add_parser("list", help="print all of them")
        for verb in (add, revoke, refresh):
            verb.add_argument("client_id", metavar="CLIENT_ID")

    def handle(self, *args: Any, verb: str, **options: Any) -> None:
        verbs = {
            "add": self.add,
            "revoke": self.revoke,
            "refresh": self.refresh,
            "list": self.list,
        }
        try:
            with busy_if_unusable():
                verbs[verb](options)
        except Busy as error:
            fault = f"The database is locked, unreachable or read-only: {error}."
            message = f"{fault} It may be half done.{error.advice}"
            raise CommandError(message) from error
        except (OSError, ValueError, UnknownAgent, KeysUnavailable) as error:
            raise CommandError(str(error)) from error

    def add(self, options: dict[str, Any]) -> None:
        jwks = None
        if options["jwks"] is not None:
            jwks = json.loads(parsed_key_set(Path(options["jwks"]).read_bytes()))
        given = {key: options[key] for key in ("name", "jwks_uri", "again")}
        agent = add_agent(options["client_id"], jwks=jwks, **given)
        self.stdout.write(f"{agent.client_id} is allowed.")
        if agent.jwks_uri:
            try:
                refresh_keys(agent)
            except KeysUnavailable as error:
                self.stderr.write(f"{error} It is tried again when the agent asks for something.")

    def revoke(self, options: dict[str, Any]) -> None:
        self.stdout.write(f"{revoke(options['client_id']).client_id} is revoked.")

    def refresh(self, options: dict[str, Any]) -> None:
        agent = known_agent(options["client_id"])
        refresh_keys(agent)
        self.stdout.write(f"The keys of {agent.client_id} are loaded.")

    def list(self, options: dict[str, Any]) -> None:
        for agent in listed_agents():
            self.stdout.write(_line(agent))


def _line(agent: Agent) -> str:
    name = f"  {agent.name}" if agent.name else ""
    return f"{agent.status:8} {agent.client_id}{name}"

"""Who calls the shop's API: agents in their Sessions, and what they bring."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from example_project.issuer import demo_issuer
from example_project.tour.agent import CLIENT_ID, approval_of
from example_project.tour.server import Server
from example_project.tour.web import Answer, send
from poppy_operations.testing.agents import PersonalAgent

Approval = Mapping[str, str | int]
AGENT = PersonalAgent(CLIENT_ID)
OTHER_AGENT = PersonalAgent("https://other-agent.example/client")
# What may differ between an answer and the same answer again, which nobody may keep.
PER_ANSWER = {"cache-control", "date", "server"}


@dataclass(frozen=True)
class Caller:
    """An agent in a Session of one of its Users, signed in where it has a token."""

    shop: str
    token: str | None = None
    user_id: str = "usr_alice"
    sid: str = "ses_1"
    keys: PersonalAgent = AGENT

    def send(
        self,
        path: str,
        content: object = None,
        approval: Approval | None = None,
        *,
        method: str = "POST",
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a request; content that is bytes already is sent as it is."""
        sent = self.keys.headers(
            user_id=self.user_id,
            sid=self.sid,
            audience=self.shop,
            access_token=self.token,
            approval=approval,
        )
        sent |= {"Content-Type": "application/json", **(headers or {})}
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        return send(method, self.shop + path, sent, body)

    def asked(self, path: str, content: object, approver: str = "user") -> dict[str, str | int]:
        """Ask, and give an approval of what is returned."""
        return approval_of(operation_in(self.send(path, content)), approver=approver)


@dataclass
class Books:
    """What really happened at a shop, read from its own database and the gateway's.

    The shop's commands say the same, and take a process for each look.
    """

    server: Server

    def rows(self, query: str, file: str = "shop.sqlite3") -> list[tuple[Any, ...]]:
        """Read something."""
        with closing(sqlite3.connect(self.server.folder / file, timeout=20)) as books:
            return books.execute(query).fetchall()

    def signed_in(self, name: str, user_id: str, **agent: Any) -> Caller:
        """Give an agent whose Session is signed in to somebody's account."""
        ((account,),) = self.rows(f"SELECT id FROM auth_user WHERE username = '{name}'")
        issuer = demo_issuer(self.server.folder / "issuer-key.pem", self.server.url)
        caller = Caller(self.server.url, None, user_id, **agent)
        return replace(
            caller,
            token=issuer.access_token(
                str(account), client_id=caller.keys.client_id, scope="orders:write"
            ),
        )

    def effects(self) -> Counter[str]:
        """Count everything that happened."""
        counted = Counter[str]()
        for kind in ("exchange", "reservation", "closure"):
            ((counted[kind],),) = self.rows(f"SELECT COUNT(*) FROM shop_{kind}")
        refunds = "SELECT COUNT(*) FROM entries WHERE kind = 'refund'"
        ((counted["refund"],),) = self.rows(refunds, "payments.sqlite3")
        return counted


def operation_in(answer: Answer) -> dict[str, Any]:
    """Give the operation that an answer asks approval for."""
    assert answer.status == 403, answer.text
    body = answer.json()
    assert body["error"] == "approval_required", body
    operation: dict[str, Any] = body["operation"]
    return operation


def told(answer: Answer) -> tuple[int, list[tuple[str, str]], bytes]:
    """Give all that an answer tells its reader."""
    headers = [(name, value) for name, value in answer.headers if name.lower() not in PER_ANSWER]
    return answer.status, sorted(headers), answer.body

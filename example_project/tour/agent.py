"""The Personal Agent of the tour: it signs its own Sessions and speaks to the shop directly.

What its browser sees is another matter: the browser never holds the agent's keys.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from example_project.tour.web import Answer, send
from poppy_operations.protocol.structured import parse_dictionary, string_member
from poppy_operations.testing.agents import PersonalAgent

CLIENT_ID = "https://agent.example/client"
USER_ID = "usr_alice_at_stormline"
SESSION_ID = "ses_Hq3vT8nW2kLm9xRb"


@dataclass(frozen=True)
class Reference:
    """What the website hands out with ``Poppy-Operation``: whose Session, and which operation."""

    sid: str
    ref: str


def reference_in(answer: Answer) -> Reference | None:
    """Return the reference that an answer of the website carries, if it does (4)."""
    header = answer.header("Poppy-Operation")
    members = None if header is None else parse_dictionary(header)
    if members is None:
        return None
    sid, ref = string_member(members, "sid"), string_member(members, "ref")
    return Reference(str(sid), str(ref)) if sid and ref else None


def approval_of(
    operation: Mapping[str, Any], *, approver: str = "user", input_type: str | None = "tap"
) -> dict[str, str | int]:
    """Return an approval of exactly the revision that was returned (6)."""
    approval: dict[str, str | int] = {
        "operation_id": operation["operation_id"],
        "revision": operation["revision"],
        "approver": approver,
        "approved_at": int(time.time()),
    }
    if approver == "user" and input_type is not None:
        approval["input_type"] = input_type
    return approval


class Agent:
    """An agent with one Session, signed in to an account when it has a token."""

    def __init__(self, shop: str, keys: PersonalAgent, access_token: str | None = None) -> None:
        self.shop = shop
        self.keys = keys
        self.access_token = access_token

    def post(
        self, url: str, content: object, *, approval: Mapping[str, str | int] | None = None
    ) -> Answer:
        """Send a request of the agent's own, with the Session header, to an address."""
        headers = self._headers(approval) | {"Content-Type": "application/json"}
        return send("POST", url, headers, json.dumps(content).encode())

    def get(self, url: str) -> Answer:
        """Read something through the shop's API."""
        return send("GET", url, self._headers(None))

    def _headers(self, approval: Mapping[str, str | int] | None) -> dict[str, str]:
        headers = self.keys.headers(
            user_id=USER_ID,
            sid=SESSION_ID,
            audience=self.shop,
            access_token=self.access_token,
            approval=approval,
        )
        return headers | {"Accept": "application/json"}

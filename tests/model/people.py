"""Who takes part: Sessions of Personal Agents, and the browsers that join them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from django.test import Client

from tests.agents import AGENT, HOST, ISSUER, OTHER_AGENT, SessionOf
from tests.model.facts import Owner

JOIN_MS = 60 * 60 * 1000
AGENTS = {"A": AGENT, "B": OTHER_AGENT}
PASSWORD = "sesame"
# agent, User, account, sid, whether it declares the extension
SESSIONS = (
    ("A", "u1", "alice", "ses_1", True),
    ("A", "u1", "", "ses_2", True),
    ("A", "u1", "alice", "ses_3", True),
    ("A", "u1", "alice", "ses_4", False),
    ("A", "u1", "", "ses_5", False),
    ("A", "u2", "", "ses_6", True),
    ("A", "u2", "alice", "ses_7", True),
    ("B", "u1", "alice", "ses_8", True),
    ("A", "u1", "bob", "ses_9", True),
    ("B", "u1", "", "ses_10", True),
)


@dataclass(eq=False)
class Session:
    """One Session, and how its agent speaks."""

    owner: Owner
    declared: bool
    speaks: SessionOf

    @classmethod
    def of(cls, row: tuple[str, str, str, str, bool], accounts: dict[str, str]) -> Session:
        """A Session of ``SESSIONS``."""
        agent, user, account, sid, declared = row
        speaks = SessionOf(
            AGENTS[agent],
            ISSUER,
            user_id=user,
            sid=sid,
            account=accounts[account] if account else None,
            declared=declared,
            client=new_client(),
        )
        return cls(Owner(agent, user, account), declared, speaks)

    def join(self, browser: Client) -> None:
        """Join a browser, whose person confirms what its page asks."""
        ticket = self.speaks.client.post(
            "/poppy/join", "", "application/json", headers=self.speaks.headers()
        )
        path = "/" + ticket.json()["url"].split("/", 3)[3]
        joined = browser.get(path, headers={"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"})
        if joined.status_code == 200:
            joined = browser.post(path, headers={"Sec-Fetch-Site": "same-origin"})
        assert joined.status_code == 303, joined.content

    def headers(self, approval: str | None = None, *, fault: str = "") -> dict[str, str]:
        """The headers of one request, with one fault or none."""
        options: dict[str, Any] = {}
        if fault == "token":
            options["access_token"] = self.speaks.issuer.access_token(
                self.speaks.account or "", client_id=self.speaks.agent.client_id, lifetime=-3600
            )
        headers = self.speaks.headers(**options)
        if fault == "session":
            headers["Poppy-Session"] = "not.a.jwt"
        return headers if approval is None else {**headers, "Poppy-Approval": approval}

    def look_up(self, ref: str, approval: str | None = None, *, fault: str = "") -> Any:
        """Ask the endpoint for a reference, or send it an approval."""
        return self.speaks.client.post(
            "/poppy/operations",
            data=json.dumps({"ref": ref}),
            content_type="application/json",
            headers=self.headers(approval, fault=fault),
        )


@dataclass(eq=False)
class Browser:
    """A browser: an ordinary visitor's until it is joined to a Session."""

    client: Client = field(default_factory=lambda: new_client())
    is_marked: bool = False
    marked_until: int = 0  # by its cookie alone, after a sign-out
    session: Session | None = None
    until: int = 0
    own_login: str = ""

    def joined(self, now: int) -> Session | None:
        """The Session that the website handles the browser's requests as."""
        return None if self.own_login else self.join(now)

    def join(self, now: int) -> Session | None:
        """The Session of its live join."""
        return self.session if now < self.until else None

    def account(self, now: int) -> str:
        """Whose account the browser is signed in to."""
        session = self.join(now)
        return self.own_login or (session.owner.account if session else "")

    def leaves(self) -> None:
        """Its join is over for good; the browser stays an agent's."""
        self.session, self.until = None, 0

    def signs_out(self, now: int) -> None:
        """Its join and its login are over; it stays an agent's for a while."""
        self.leaves()
        if self.is_marked:
            # The cookie knows whole seconds.
            self.marked_until = now // 1000 * 1000 + JOIN_MS
        self.is_marked, self.own_login = False, ""

    def is_agents(self, now: int) -> bool:
        """Whether it is not an ordinary visitor's."""
        return self.is_marked or now < self.marked_until


def new_client(**options: Any) -> Client:
    """A client whose server answers 500 where a view raises."""
    return Client(raise_request_exception=False, headers={"host": HOST}, **options)

"""The Personal Agent that asks: its Sessions, its requests to the API, its browsers."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from http.cookies import SimpleCookie
from itertools import count
from typing import Any
from urllib.parse import urlsplit

import http_sf
from django.contrib.auth import get_user_model

from benchmarks.calls import Answer, Sent, Site, form
from benchmarks.keys import agent, token_issuer
from benchmarks.settings import FOLDER, ISSUER
from poppy_operations.sessions.agents import add_agent
from poppy_operations.testing.agents import PersonalAgent, TokenIssuer

SCOPE = "poppy:browser-sign-in orders:write"
ORDER = {"sku": "jacket", "quantity": 1}
# Other processes of a run use the same database.
_numbers = count(secrets.randbelow(10**9) * 10**6)


def number() -> int:
    """Give a number that nobody else has got."""
    return next(_numbers)


@cache
def the_agent() -> PersonalAgent:
    """Give the agent."""
    return agent(FOLDER)


@cache
def the_issuer() -> TokenIssuer:
    """Give the issuer of access tokens."""
    return token_issuer(FOLDER)


def introduce() -> str:
    """Put the agent on the allow-list and open an account; its name is given."""
    add_agent(the_agent().client_id, jwks=the_agent().jwks)
    user, _ = get_user_model().objects.get_or_create(username="alice")
    return str(user.pk)


def expect(answer: Answer, status: int) -> Answer:
    """Insist on a status: what fails is not measured."""
    if answer.status != status:
        message = f"Answered {answer.status}, not {status}: {answer.body[:500]!r}"
        raise RuntimeError(message)
    return answer


def expecting(status: int) -> Callable[[Answer], None]:
    """Give what insists on a status."""

    def insist(answer: Answer) -> None:
        expect(answer, status)

    return insist


@dataclass
class AgentSession:
    """One Session, of a User of its own unless one is named, signed in to the account."""

    account: str
    user_id: str = field(default_factory=lambda: f"usr_{number()}")
    sid: str = "ses_1"

    def access_token(self) -> str:
        """Issue a token."""
        client_id = the_agent().client_id
        return the_issuer().access_token(self.account, client_id=client_id, scope=SCOPE)

    def headers(
        self, approval: Mapping[str, Any] | None = None, *, token: str = "", **options: Any
    ) -> dict[str, str]:
        """Sign the headers of one request, with the access token that is kept or another one."""
        return the_agent().headers(
            user_id=self.user_id,
            sid=self.sid,
            audience=ISSUER,
            access_token=token or _known_token(self.account),
            approval=approval,
            **options,
        )

    def order(
        self,
        path: str,
        approval: Mapping[str, Any] | None = None,
        content: Mapping[str, Any] = ORDER,
        **options: Any,
    ) -> Sent:
        """Give a request for an order."""
        headers = self.headers(approval, **options)
        return Sent("POST", path, headers, json.dumps(content).encode())

    def endpoint(self, ref: str, approval: Mapping[str, Any] | None = None) -> Sent:
        """Give a look-up of a reference, or its approval."""
        body = json.dumps({"ref": ref}).encode()
        return Sent("POST", "/poppy/operations", self.headers(approval), body)


@cache
def _known_token(account: str) -> str:
    # An agent keeps its access token for an hour.
    return AgentSession(account, "nobody").access_token()


def approval_in(answer: Answer) -> dict[str, str]:
    """Approve the operation that an answer asks approval for."""
    operation = json.loads(expect(answer, 403).body)["operation"]
    return {
        "operation_id": operation["operation_id"],
        "revision": operation["revision"],
        "approver": "user",
    }


def asked(site: Site, session: AgentSession, path: str) -> dict[str, str]:
    """Ask the API, and give the approval of what was returned."""
    return approval_in(site.send(session.order(path)))


class Browser:
    """An agent's browser, joined to a Session."""

    def __init__(self, site: Site, session: AgentSession) -> None:
        self._site, self.session = site, session
        self._cookies: SimpleCookie = SimpleCookie()
        ticket = expect(site.send(Sent("POST", "/poppy/join", session.headers())), 200)
        url = urlsplit(json.loads(ticket.body)["url"])
        fetched = {"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"}
        joined = site.send(Sent("GET", f"{url.path}?{url.query}", fetched))
        for cookie in expect(joined, 303).all_of("Set-Cookie"):
            self._cookies.load(cookie)

    def order(self, fields: Mapping[str, str]) -> Sent:
        """Give the request that submits the gated form."""
        cookies = "; ".join(f"{name}={one.value}" for name, one in self._cookies.items())
        return form("/page/", fields, {"Cookie": cookies})

    def asked(self, fields: Mapping[str, str]) -> str:
        """Submit the form, which is refused; give the reference."""
        return reference_in(self._site.send(self.order(fields)))

    def looked_up(self, ref: str) -> dict[str, str]:
        """Look a reference up, and give the approval of what it stands for."""
        return approval_in(self._site.send(self.session.endpoint(ref)))

    def approve(self, ref: str) -> None:
        """Look a reference up and approve it."""
        approval = self.looked_up(ref)
        expect(self._site.send(self.session.endpoint(ref, approval)), 204)

    def perform(self, fields: Mapping[str, str]) -> None:
        """Submit the form whose approval was recorded."""
        expect(self._site.send(self.order(fields)), 302)


def reference_in(answer: Answer) -> str:
    """Give the reference in the website's refusal."""
    header = expect(answer, 403).header("Poppy-Operation")
    parsed: Any = http_sf.parse(header.encode(), tltype="dictionary")
    return str(parsed["ref"][0])

"""The API: asking, performing and repeating, beside the floor and the view by hand."""

from __future__ import annotations

import json
from collections.abc import Callable

from django.conf import settings

from benchmarks.agents import ORDER, AgentSession, asked, expect, expecting, number, the_agent
from benchmarks.calls import Answer, Sent, Site
from benchmarks.figures import Measure
from benchmarks.rounds import Subject
from benchmarks.site.company import KNOWN
from benchmarks.site.floor import content_digest, terms_digest
from benchmarks.site.models import Claim
from poppy_operations.sessions.session import Session

MEASURES = (
    Measure("bare", "bare", "bare"),
    Measure("floor", "floor", "bare"),
    Measure("by_hand", "by_hand", "bare"),
    Measure("ask", "ask", "bare"),
    Measure("ask_again", "ask_again", "bare"),
    Measure("api_perform", "api_perform", "by_hand"),
    Measure("api_perform_floor", "api_perform", "floor"),
    Measure("api_perform_bare", "api_perform", "bare"),
    Measure("api_perform_external", "api_perform_external", "by_hand"),
    Measure("api_perform_external_bare", "api_perform_external", "bare"),
    Measure("replay", "replay_unverified", "bare"),
    Measure("replay_verified", "replay", "bare"),
)


class Api:
    """The subjects of the API, in one account; each request is of a User of its own."""

    def __init__(self, account: str) -> None:
        self._account = account
        self._site = Site(settings.MIDDLEWARE)
        self._performed = self._session()
        self._approval = asked(self._site, self._performed, "/order/")
        expect(self._site.send(self._performed.order("/order/", self._approval)), 201)

    def subjects(self) -> list[Subject]:
        """Give them all."""
        return [
            Subject("bare", self._bare, expecting(201)),
            Subject("floor", self._floor, expecting(201)),
            Subject("by_hand", self._performing("/order/", "/by-hand/"), expecting(201)),
            Subject("ask", self._ask, expecting(403)),
            Subject("ask_again", self._ask_again, expecting(403)),
            Subject("api_perform", self._performing("/order/"), expecting(201)),
            Subject("api_perform_external", self._performing("/transfer/"), expecting(201)),
            Subject("replay", self._replay, expecting(201)),
            Subject("replay_unverified", self._replay_unverified, expecting(201)),
        ]

    def _session(self) -> AgentSession:
        return AgentSession(self._account)

    def _bare(self) -> Callable[[], Answer]:
        return self._site.ready(Sent("POST", "/bare/", {}, json.dumps(ORDER).encode()))

    def _floor(self) -> Callable[[], Answer]:
        key = f"ord_{number()}"
        Claim.objects.create(
            key=key, terms_digest=terms_digest(ORDER), content_digest=content_digest(ORDER)
        )
        approval = {"operation_id": key, "revision": "1-r", "approver": "user"}
        return self._site.ready(self._session().order("/floor/", approval))

    def _performing(self, ask_at: str, perform_at: str = "") -> Callable[[], Callable[[], Answer]]:
        def prepare() -> Callable[[], Answer]:
            session = self._session()
            approval = asked(self._site, session, ask_at)
            return self._site.ready(session.order(perform_at or ask_at, approval))

        return prepare

    def _ask(self) -> Callable[[], Answer]:
        return self._site.ready(self._session().order("/order/"))

    def _ask_again(self) -> Callable[[], Answer]:
        session = self._session()
        asked(self._site, session, "/order/")
        return self._site.ready(session.order("/order/"))

    def _replay(self) -> Callable[[], Answer]:
        return self._site.ready(self._performed.order("/order/", self._approval))

    def _replay_unverified(self) -> Callable[[], Answer]:
        sent = self._performed.order("/order/", self._approval)
        known = Session(
            client_id=the_agent().client_id,
            user_id=self._performed.user_id,
            account=self._account,
            sid=self._performed.sid,
            declared=True,
            scope=frozenset({"orders:write"}),
            token_expires_at=None,
        )
        KNOWN["known"] = known
        headers = {**sent.headers, "Poppy-Session": "known"}
        return self._site.ready(Sent(sent.method, sent.path, headers, sent.body))

"""Rules: what browsers do on the website."""

from __future__ import annotations

from typing import Any

from poppy_operations.protocol.structured import poppy_approval
from tests.agents import reference
from tests.model.approving import MADE_UP, Approving, content_of, path_of
from tests.model.dice import Dice
from tests.model.facts import (
    BAD_SESSION,
    FORBIDDEN,
    PERFORMED,
    Approval,
    Expected,
    Run,
    Want,
)
from tests.model.people import PASSWORD, Browser, Session

STRAY = f'operation_id="{MADE_UP}", revision="{MADE_UP}", approver="user"'


class Browsing(Approving):
    """Joined browsers, browsers with a login of their own, and ordinary visitors."""

    def join(self, dice: Dice) -> None:
        """A browser joins a Session, in place of another one."""
        joining, to = dice.choose(self.browsers), dice.choose(self.sessions)
        if to.owner.agent not in self.revoked and not joining.own_login:
            self.join_session(joining, to)

    def sign_in(self, dice: Dice) -> None:
        """A joined browser gets a login that its join did not give."""
        one, name = dice.choose(self.browsers), dice.choose(("alice", "bob"))
        if one.joined(self.model.now) is None:
            return
        response = one.client.post(
            "/accounts/login/?next=/done/", {"username": name, "password": PASSWORD}
        )
        assert response.status_code == 302
        one.own_login = name

    def sign_out(self, dice: Dice) -> None:
        """A sign-out ends the join, and the browser stays an agent's for a while."""
        one = dice.choose(self.browsers)
        assert one.client.post("/accounts/logout/").status_code == 302
        one.signs_out(self.milliseconds())

    def ask_on_website(self, dice: Dice) -> None:
        """A browser asks for an action, and its agent mostly looks up what for."""
        one = dice.choose(self.browsers)
        if one.joined(self.model.now) is None and not dice.one_in(6):
            self.bring(one, dice.choose(self.sessions))
        session = one.joined(self.model.now)
        page, want = dice.one_in(4), dice.want(self.actions, "web")
        stray = self.stray(dice) if dice.one_in(12) else None
        response = self.on_website(one, want, dice.run(), page=page, stray=stray)
        if (
            not dice.one_in(3)
            and session
            and response is not None
            and "Poppy-Operation" in response
        ):
            _, ref = reference(response)
            self.at_endpoint(session, self.answers.refs[ref], None, lambda: None)

    def ask_and_approve(self, dice: Dice) -> None:
        """A browser asks, perhaps again, and its agent approves all that was returned."""
        one, session = dice.choose(self.browsers), dice.choose(self.sessions)
        self.bring(one, session)
        want = dice.want(self.actions, "web")
        refs = []
        for _ in range(dice.choose((1, 1, 2))):
            response = self.on_website(one, want, Run())
            if "Poppy-Operation" in response:
                refs.append(reference(response)[1])
        joined = one.joined(self.model.now)
        for ref in dice.order(refs) if joined else ():
            revision = self.answers.refs[ref]
            self.at_endpoint(joined, revision, None, lambda: None)
            names = revision.operation.name or MADE_UP, revision.name or MADE_UP
            self.clock.shift(0.001)
            self.model.now = self.milliseconds()
            self.approve_at_endpoint(joined, revision, names, dice.approver())

    def go_on(self, dice: Dice) -> None:
        """A browser makes a request again for which an approval was recorded."""
        waiting = [one for one in self.remembered() if one.is_waiting]
        unused = [one for one in waiting if one.operation.state != PERFORMED]
        if not waiting:
            self.ask_and_approve(dice)
            return
        tried = [one for one in unused if one.operation.attempts]
        revision = dice.choose(tried if tried and dice.one_in(2) else unused or waiting)
        chosen = dice.choose(self.browsers)
        if not dice.one_in(8):
            owner = revision.operation.owner
            of_owner = [one for one in self.everybody if one.owner == owner]
            self.bring(chosen, dice.choose(of_owner))
        self.on_website(chosen, revision.want, dice.run())

    def watch(self, dice: Dice) -> None:
        """A waiting page asks where its operation stands."""
        shown = [one for one in self.remembered() if one.watch]
        if not shown:
            self.ask_on_website(dice)
            return
        one, revision = dice.choose(self.browsers), dice.choose(shown)
        session = one.joined(self.model.now)
        expected = self.model.watch(None if session is None else session.owner, revision)
        response = one.client.get(revision.watch)
        assert (response.status_code, response.json()["status"]) == (200, expected)

    def bring(self, browser: Browser, session: Session) -> None:
        """Have a browser joined to a Session of this owner, where it can be."""
        if browser.own_login:
            browser.client.post("/accounts/logout/")
            browser.signs_out(self.milliseconds())
        joined = browser.joined(self.model.now)
        is_there = joined is not None and joined.owner == session.owner
        if session.owner.agent not in self.revoked and not is_there:
            self.join_session(browser, session)

    def stray(self, dice: Dice) -> str:
        """An approval that a page's script adds to a request: made up, or one that is good."""
        known = self.read()
        if not known or dice.one_in(3):
            return STRAY
        revision = dice.choose(known)
        names = revision.operation.name or MADE_UP, revision.name or MADE_UP
        return poppy_approval(Approval(*names, "user")._asdict())

    def on_website(
        self,
        browser: Browser,
        want: Want,
        run: Run,
        *,
        page: bool = False,
        stray: str | None = None,
    ) -> Any:
        """Make one request of a browser, which is the website's at either door."""
        session = browser.joined(self.model.now)
        run = run if session else Run()
        headers = {} if page else {"accept": "application/json"}
        headers |= {} if stray is None else {"Poppy-Approval": stray}
        self.asked = want

        def expect() -> Expected:
            is_agents = browser.is_agents(self.model.now)
            if not is_agents and stray is not None:
                return BAD_SESSION  # Nobody but an agent's own request approves anything.
            if self.model.is_forbidden(want):
                return FORBIDDEN
            if not is_agents:
                return self.model.visit(want)
            if session is None:
                return self.model.undeclared(want)
            declared = session.declared
            return self.model.website(session.owner, declared=declared, want=want, run=run)

        return self.request(
            lambda: browser.client.post(path_of(want), **content_of(want), headers=headers),
            run,
            expect,
            sid=session.speaks.sid if session else "-",
            door=want.door,
        )

"""The state machine: agents, browsers, operators, faults and time, one step after the other.

Every step is made in the package and in the model, and every answer and effect is compared.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from hypothesis import note
from hypothesis.stateful import rule

from poppy_operations import maintenance
from poppy_operations.sessions.agents import add_agent
from tests.model.approving import MADE_UP
from tests.model.browsing import Browsing
from tests.model.dice import Dice
from tests.model.facts import (
    DAY_S,
    EFFECTS,
    LIFETIME_S,
    PERFORMED,
    PERFORMING,
    Approval,
    Revision,
    Run,
)
from tests.model.people import AGENTS
from tests.model.site import shop
from tests.model.world import KEYS, numbers, row_of, settled, voided

DEEDS = {
    "ask_on_website": 12,
    "ask_and_approve": 14,
    "approve": 10,
    "go_on": 24,
    "ask_at_api": 12,
    "approve_at_api": 30,
    "look_up": 5,
    "watch": 3,
    "malformed": 2,
    "badly": 3,
    "forbid": 2,
    "price": 4,
    "wait": 3,
    "wait_for": 8,
    "settle": 10,
    "try_again": 6,
    "reconcile": 4,
    "void": 2,
    "purge": 1,
    "need": 2,
    "policy": 1,
    "rotate": 1,
    "join": 2,
    "sign_in": 1,
    "sign_out": 1,
    "revoke_or_allow": 1,
}
POLICIES = ((), (), (), ("agent",), ("user",), ("agent", "user"))


class OperationsMachine(Browsing):
    """All of it, with what the Company and its operators do, and time."""

    number = 0

    @rule(number=numbers)
    def go(self, number: int) -> None:
        """Somebody does something."""
        self.number += 1
        dice = Dice(number, self.number)
        deed = dice.weighed(DEEDS)
        note(deed)
        self.step(deed)
        getattr(self, deed)(dice)
        self.look_at_effects()

    def price(self, dice: Dice) -> None:
        """A price moves, and at times back again."""
        item, up = dice.choose("aab"), dice.choose((0, 1))
        moved = {"a": 10, "b": 20}[item] + up
        shop.prices[item] = self.model.prices[item] = moved

    def need(self, dice: Dice) -> None:
        """The site asks for approval, or not for now, or from a price on that others cross."""
        shop.needed = self.model.needed = not dice.one_in(3)
        shop.limit = self.model.limit = dice.choose((0, 10, 11, 11))

    def forbid(self, dice: Dice) -> None:
        """The site lets nobody ask for an item, or for all of them again."""
        shop.forbidden = self.model.forbidden = dice.choose(("", "", "", "a", "b", "b"))

    def policy(self, dice: Dice) -> None:
        """The Company's policy about approvers changes."""
        declines = dice.choose(POLICIES)
        shop.declines = self.model.declines = declines

    def wait(self, dice: Dice) -> None:
        """Time passes."""
        half = LIFETIME_S // 2
        self.clock.shift(dice.choose((1, 30, 59, 61, 61, half - 1, half, half + 1, LIFETIME_S)))

    def wait_for(self, dice: Dice) -> None:
        """Time passes to the edge of something."""
        known = self.remembered()
        leases = [one.lease_until for one in self.model.operations if one.state == PERFORMING]
        edges = [revision.expires_s * 1000 for revision in known]
        edges += [(revision.expires_s - LIFETIME_S // 2) * 1000 for revision in known]
        edges += [browser.until for browser in self.browsers]
        if leases and not dice.one_in(4):
            edges = leases
        ahead = sorted(edge for edge in edges if edge > self.model.now + 2)
        if ahead:
            moment = dice.choose(ahead[:3]) + dice.choose((-1, 0, 1, 999, 1000, 1001))
            self.clock.move_to(datetime.fromtimestamp(moment / 1000, UTC))

    def purge(self, dice: Dice) -> None:
        """Everybody sleeps, and then the Company forgets what it may forget."""
        if dice.one_in(2):
            self.clock.shift(dice.choose((1, 2)) * DAY_S + dice.choose((0, 1, 2)) * LIFETIME_S)
        self.model.now = self.milliseconds()
        assert maintenance.purge().operations == self.model.purge()

    def reconcile(self, dice: Dice) -> None:
        """Maintenance finds out what became of attempts."""
        shop.hook = self.model.hook = dice.choose(("truth", "truth", "truth", "unknown", "error"))
        assert maintenance.counts(maintenance.reconcile()) == self.model.reconcile()
        shop.hook = self.model.hook = "truth"

    def settle(self, dice: Dice) -> None:
        """A person opens a form, or sends one, perhaps long after it was opened."""
        if not self.performing() and not self.examined:
            self.go_on(dice)
            return
        if self.performing() and not (self.examined and dice.one_in(2)):
            operation = dice.choose(self.performing())
            self.examined.append((row_of(operation), operation, operation.attempt))
        if self.examined and not dice.one_in(4):
            self._send_form(dice)

    def _send_form(self, dice: Dice) -> None:
        # A form that was opened for an attempt before the one that it would meet now.
        late = [
            (row, operation, attempt)
            for row, operation, attempt in self.examined
            if operation.state == PERFORMING and operation.attempt != attempt
        ]
        forms = late if late and dice.one_in(2) else self.examined
        if dice.choose(forms)[1] in self.model.operations:
            self.send(dice.choose([form for form in forms if form[1] in self.model.operations]))

    def send(self, form: tuple[Any, Any, int]) -> None:
        """A person says what is true by now of the attempt that the form was opened for."""
        row, operation, attempt = form
        happened = any(effect.operation is operation for effect in self.model.effects)
        expected = self.model.settle(operation, attempt, happened=happened)
        assert settled(row, happened=happened) == expected

    def try_again(self, dice: Dice) -> None:
        """An attempt is given up, the next one is no better, and then comes what was for the first.

        The three meet too seldom by chance.
        """
        left = [one for one in self.model.operations if one.state == PERFORMING]
        if not left:
            self.go_on(dice)
            return
        operation = dice.choose(left)
        revision = operation.in_use
        assert revision is not None
        form = row_of(operation), operation, operation.attempt
        if EFFECTS[operation.action] == "database":
            self.pass_time(max(0, operation.lease_until - self.model.now) + 1)
        else:
            self.send(form)
        self.once_more(revision, Run(dice.choose(("error before", "killed before"))), dice)
        self.pass_time(dice.choose((1, 59, 61, 119, 121)) * 1000)
        if operation in self.model.operations and EFFECTS[operation.action] == "external":
            self.send(form)
        self.once_more(revision, Run(), dice)

    def pass_time(self, milliseconds: int) -> None:
        """Time passes within a step."""
        self.clock.shift(milliseconds / 1000)
        self.model.now = self.milliseconds()

    def once_more(self, revision: Revision, run: Run, dice: Dice) -> None:
        """The request of an approval is made once more."""
        operation = revision.operation
        owners = [one for one in self.everybody if one.owner == operation.owner]
        session = dice.choose(owners)
        if operation.interface == "website":
            browser = dice.choose(self.browsers)
            self.bring(browser, session)
            self.on_website(browser, revision.want, run)
        else:
            approval = Approval(operation.name or "", revision.name or "", dice.approver())
            self.at_api(session, revision.want, run, approval=approval)

    def performing(self) -> list[Any]:
        """Attempts that a person may have to judge."""
        return [
            one
            for one in self.model.operations
            if one.state == PERFORMING and EFFECTS[one.action] == "external"
        ]

    def void(self, dice: Dice) -> None:
        """An operator voids an approval that was not used."""
        recorded = [one for one in self.model.all_revisions() if one.recorded]
        if not recorded:
            return
        unused = [one for one in recorded if one.operation.state != PERFORMED]
        revision = dice.choose(unused or recorded)
        assert voided(revision) == self.model.void(revision)

    def revoke_or_allow(self, dice: Dice) -> None:
        """An agent is revoked, or allowed again; its joins stay over."""
        name = dice.choose(sorted(self.revoked) or "AAB")
        agent = AGENTS[name]
        if name in self.revoked:
            add_agent(agent.client_id, jwks=agent.jwks, again=True)
            self.revoked.discard(name)
        elif dice.one_in(3):
            maintenance.revoke(agent.client_id)
            self.revoked.add(name)
            for browser in self.browsers:
                if browser.session and browser.session.owner.agent == name:
                    browser.leaves()

    def rotate(self, _dice: Dice) -> None:
        """The site's secret key is replaced; the old one stays good for what was signed."""
        number = len(settings.SECRET_KEY_FALLBACKS) + 1
        if number < len(KEYS):
            settings.SECRET_KEY = KEYS[number]
            settings.SECRET_KEY_FALLBACKS = list(KEYS[:number])
            for browser in self.browsers:
                # Django gives logins another session key now, which a killed request would lose.
                browser.client.get(f"/poppy/waiting/{MADE_UP}")

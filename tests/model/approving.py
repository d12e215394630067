"""Rules: what Personal Agents do, at the API and at the endpoint."""

from __future__ import annotations

import json
from typing import Any

from poppy_operations.protocol.structured import poppy_approval
from tests.model.dice import Dice
from tests.model.facts import (
    BAD_SESSION,
    BAD_TOKEN,
    FORBIDDEN,
    INVALID,
    PERFORMED,
    Approval,
    Expected,
    Revision,
    Run,
    Want,
)
from tests.model.people import Session
from tests.model.world import World

MADE_UP = "a2b3c4d5e6f7a2b3c4d5e6f7a2b3c4d5"
# Parsed, but no approval: 400 wherever it is sent (AMB-04).
MALFORMED = (
    'operation_id="{0}", revision="{1}"',
    'operation_id="{0}", revision="{1}", approver="company"',
    'operation_id="{0}", approver="user"',
    'revision="{1}", approver="user"',
    'operation_id="{0}", revision=7, approver="user"',
)
UNPARSABLE = ("", "operation_id=", '"{0}"', 'operation_id="{0}" revision="{1}", approver="user"')


def content_of(want: Want) -> dict[str, Any]:
    """What is sent for it: a form to one door, JSON to the other."""
    more = {name: getattr(want, name) for name in ("note", "trace") if getattr(want, name)}
    if want.door == "web":
        return {"data": {"quantity": f"{want.spelled}{want.quantity}", **more}}
    quantity = float(want.quantity) if want.spelled else want.quantity
    body = json.dumps({"quantity": quantity, **more})
    return {"data": body, "content_type": "application/json"}


def path_of(want: Want) -> str:
    """Where it is sent."""
    return f"/{want.door}/{want.action}/{want.item}/"


class Approving(World):
    """Asking, approving, looking up and repeating, rightly and wrongly."""

    def ask_at_api(self, dice: Dice) -> None:
        """An agent asks for an action, at times with a header that says nothing."""
        header = None
        if dice.one_in(8):
            header = dice.choose(UNPARSABLE).format(MADE_UP, MADE_UP)
        want = dice.want(self.actions, "api")
        self.at_api(dice.choose(self.sessions), want, dice.run(), header=header)

    def approve_at_api(self, dice: Dice) -> None:
        """An approval with a request: mostly the right ones, together."""
        known = self.read()
        if not known:
            self.ask_at_api(dice)
            return
        at_api = [one for one in known if one.operation.interface == "api"]
        revision = self.to_approve(dice, known if dice.one_in(8) else at_api or known)
        want = revision.want
        if dice.one_in(8):
            want = dice.want(self.actions, "api")
        names = self.names_of(revision, dice)
        sender = self.approver_of(revision, dice)
        self.at_api(sender, want, dice.run(), approval=Approval(*names, dice.approver()))

    def names_of(self, revision: Revision, dice: Dice) -> tuple[str, str]:
        """The names of an approval: mostly the revision's, at times mixed up or made up."""
        operation_id, name = revision.operation.name or "", revision.name or ""
        other = dice.choose(self.read())
        other_operation_id, other_name = other.operation.name or "", other.name or ""
        if not dice.one_in(5):
            return operation_id, name
        siblings = [one.name for one in revision.operation.revisions if one.name]
        return dice.choose(
            (
                (operation_id, dice.choose(siblings or [name])),
                (operation_id, dice.choose(siblings or [name])),
                (operation_id, other_name),
                (other_operation_id, other_name),
                (other_operation_id, name),
                (operation_id, MADE_UP),
                (MADE_UP, name),
            )
        )

    def malformed(self, dice: Dice) -> None:
        """A header that is parsed and is no approval, at the API or at the endpoint."""
        if not self.remembered():
            self.ask_at_api(dice)
            return
        revision = dice.choose(self.remembered())
        header = dice.choose(MALFORMED).format(revision.operation.name, revision.name)
        sender = self.approver_of(revision, dice)
        if revision.ref is None:
            self.at_api(sender, revision.want, Run(), header=header, expected=INVALID)
        else:
            self.at_endpoint(sender, revision, header, lambda: INVALID)

    def badly(self, dice: Dice) -> None:
        """A bad Session or token, whatever else comes with it: an approval, good or malformed."""
        if not self.remembered():
            self.ask_at_api(dice)
            return
        revision, sender = dice.choose(self.remembered()), dice.choose(self.everybody)
        names = revision.operation.name or MADE_UP, revision.name or MADE_UP
        good = poppy_approval(Approval(*names, "user")._asdict())
        headers = (None, good, *(text.format(*names) for text in (*MALFORMED, *UNPARSABLE)))
        header = dice.choose(headers)
        fault = dice.choose(("session", "token" if sender.owner.account else "session"))
        if revision.ref is None or dice.one_in(2):
            self.at_api(sender, revision.want, Run(), header=header, fault=fault)
        else:
            reference = None if dice.one_in(4) else revision
            self.at_endpoint(sender, reference, header, lambda: None, fault=fault)

    def refused(self, sender: Session, fault: str) -> Expected | None:
        """What comes before all that is about operations."""
        if sender.owner.agent in self.revoked or fault == "session":
            return BAD_SESSION
        return BAD_TOKEN if fault == "token" else None

    def look_up(self, dice: Dice) -> None:
        """An agent looks a reference up, or one that was never given."""
        given = [one for one in self.remembered() if one.ref]
        if not given:
            self.ask_at_api(dice)
            return
        revision = dice.choose(given)
        sender = self.approver_of(revision, dice)
        header = "operation_id=" if dice.one_in(8) else None
        self.at_endpoint(sender, None if dice.one_in(16) else revision, header, lambda: None)

    def approve(self, dice: Dice) -> None:
        """An approval at the endpoint: mostly of the reference's own revision."""
        if not any(one.ref for one in self.remembered()):
            self.ask_at_api(dice)
            return
        revision = self.to_approve(dice, [one for one in self.remembered() if one.ref])
        sender = self.approver_of(revision, dice)
        if revision.name is None:
            self.at_endpoint(sender, revision, None, lambda: None)
        if revision.name is None:
            return
        self.approve_at_endpoint(sender, revision, self.names_of(revision, dice), dice.approver())

    def approve_at_endpoint(
        self, sender: Session, revision: Revision, names: tuple[str, str], approver: str
    ) -> None:
        """Send an approval with a reference."""
        approval = Approval(*names, approver)
        self.at_endpoint(
            sender,
            revision,
            poppy_approval(approval._asdict()),
            lambda: self.model.approve(sender.owner, revision, approval, declared=sender.declared),
            approval,
        )

    def to_approve(self, dice: Dice, given: list[Revision]) -> Revision:
        """What to approve: mostly something that waits for it."""
        usable = [
            one
            for one in given
            if not (self.model.is_expired(one) or one.is_waiting or one.is_retired)
            and one.operation.state != PERFORMED
        ]
        # What was tried before, and may be tried again, is where attempts can be mixed up.
        tried = [one for one in usable if one.operation.attempts]
        if tried and dice.one_in(2):
            return dice.choose(tried)
        return dice.choose(given if dice.one_in(4) or not usable else usable)

    def at_endpoint(
        self,
        sender: Session,
        revision: Revision | None,
        header: str | None,
        expect: Any,
        approval: Approval | None = None,
        fault: str = "",
    ) -> None:
        """Send a reference to the endpoint."""

        def expected() -> Expected:
            declared = sender.declared
            return (
                self.refused(sender, fault)
                or expect()
                or self.model.look_up(sender.owner, revision, declared=declared)
            )

        ref = MADE_UP if revision is None else revision.ref or ""
        response = self.request(
            lambda: sender.look_up(ref, header, fault=fault), Run(), expected, approval=approval
        )
        if approval is not None and response.status_code == 204:
            self.approved.add(approval[:2])

    def at_api(
        self,
        sender: Session,
        want: Want,
        run: Run,
        *,
        approval: Approval | None = None,
        header: str | None = None,
        expected: Expected | None = None,
        fault: str = "",
    ) -> None:
        """Make a request in a Session, which is the API's at either door."""
        if approval is not None:
            header = poppy_approval(approval._asdict())
            named = self.model.named(approval.operation_id)
            if named is not None and named.interface == "api":
                self.approved.add(approval[:2])
        self.asked = want

        def send() -> Any:
            headers = sender.headers(header, fault=fault)
            return sender.speaks.client.post(path_of(want), **content_of(want), headers=headers)

        def expect() -> Expected:
            before = self.refused(sender, fault)
            if before is not None:
                return before
            if self.model.is_forbidden(want):
                return FORBIDDEN
            return expected or self.model.api(
                sender.owner,
                declared=sender.declared,
                want=want,
                run=run,
                approval=approval,
                unparsable=header is not None,
            )

        self.repeat = send
        self.request(send, run, expect, approval=approval, door=want.door)

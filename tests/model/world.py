"""What the rules of the state machine stand on: one example's site, people, clock and model."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar

import time_machine
from django.conf import settings
from django.db import connection, transaction
from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize

from poppy_operations import maintenance
from poppy_operations.lifecycle.approving import void
from poppy_operations.lifecycle.settling import settle
from poppy_operations.models import Approval as ApprovalRow
from poppy_operations.models import Operation as OperationRow
from poppy_operations.protocol.stored_answer import StoredAnswer
from tests.model import facts as rules
from tests.model.answers import Answers
from tests.model.dice import Dice
from tests.model.facts import Expected, Revision, Run, Want
from tests.model.model import Model
from tests.model.people import JOIN_MS, SESSIONS, Browser, Session
from tests.model.site import Killed, Plan, only_while_alive, shop
from tests.shop.models import Effect

START = datetime(2026, 10, 8, 12, tzinfo=UTC)
CAP = 5
numbers = st.integers(0, 2**32 - 1)
KEYS = ("tests-only", "the second key", "the third key")


class World(RuleBasedStateMachine):
    """A site, agents, their Sessions, two browsers, and time. An example is undone at its end."""

    accounts: ClassVar[dict[str, str]] = {}
    steps: ClassVar[Counter[str]] = Counter()
    kinds: ClassVar[Counter[str]] = Counter()

    def __init__(self) -> None:
        super().__init__()
        shop.reset()
        self.traveller = time_machine.travel(START, tick=False)
        self.clock = self.traveller.start()
        self.savepoint = transaction.atomic()
        self.savepoint._from_testcase = True  # type: ignore[attr-defined]  # as Django's own has
        self.savepoint.__enter__()
        self.alive = connection.execute_wrapper(only_while_alive)
        self.alive.__enter__()
        self.model = Model(cap=CAP, now=self.milliseconds())
        self.answers = Answers()
        self.sessions = [Session.of(row, self.accounts) for row in SESSIONS]
        self.everybody = self.sessions
        self.browsers = [Browser(), Browser()]
        self.actions: Sequence[str] = tuple(rules.EFFECTS)
        self.revoked: set[str] = set()
        self.returned: dict[Revision, None] = {}
        self.approved: set[tuple[str, str]] = set()
        self.examined: list[tuple[Any, rules.Operation, int]] = []
        self.repeat: Callable[[], Any] | None = None

    @initialize(number=numbers)
    def look_closely(self, number: int) -> None:
        """Few actions and few Sessions at a time, so that they meet."""
        dice = Dice(number, 0)
        self.actions = dice.order(sorted(rules.EFFECTS))[: dice.choose((1, 2))]
        self.sessions = dice.order(self.everybody)[: dice.choose((1, 2, 3))]
        for browser in self.browsers:
            self.join_session(browser, self.sessions[0])

    def teardown(self) -> None:
        """Undo everything."""
        self.alive.__exit__(None, None, None)
        transaction.set_rollback(True)
        self.savepoint.__exit__(None, None, None)
        self.traveller.stop()
        settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = KEYS[0], []

    # What steps are made of

    def milliseconds(self) -> int:
        """The clock."""
        return round(datetime.now(UTC).timestamp() * 1000)

    def step(self, name: str) -> None:
        """Begin a step: no two happen in the same millisecond."""
        type(self).steps[name] += 1
        self.clock.shift(0.001)
        self.model.now = self.milliseconds()
        self.model.running = None

    def remembered(self) -> list[Revision]:
        """Every revision that was ever returned, also those that the Company forgot."""
        self.returned |= dict.fromkeys(self.model.all_revisions())
        return list(self.returned)

    def read(self) -> list[Revision]:
        """The revisions that agents have read."""
        return [revision for revision in self.remembered() if revision.name is not None]

    def approver_of(self, revision: Revision, dice: Dice) -> Session:
        """A Session that can approve it; now and then any other."""
        if dice.one_in(6):
            return dice.choose(self.everybody)
        owner = revision.operation.owner
        return dice.choose([one for one in self.everybody if one.owner == owner])

    def join_session(self, browser: Browser, session: Session) -> None:
        """Join a browser, in place of what it was joined to."""
        session.join(browser.client)
        browser.is_marked, browser.session = True, session
        now = self.milliseconds()
        # A signed-in one's join ends with its token, which knows whole seconds.
        browser.until = (now // 1000 * 1000 if session.owner.account else now) + JOIN_MS

    def request(
        self, send: Callable[[], Any], run: Run, expect: Callable[[], Expected], **compared: Any
    ) -> Any:
        """Send one request and compare its answer with the expected one; ``None``: killed."""
        self.model.during, self.model.voided = [], None
        note(f"  {self.asked} {run}")
        expected = expect()
        during: list[Any] = []
        plan = self.plan(run, during, send)
        try:
            with shop.going(plan):
                response = send()
        except Killed:
            response = None
        finally:
            shop.is_dead = False
        type(self).kinds[expected.kind] += 1
        for inner, was_expected in zip(during, self.model.during, strict=True):
            is_same_request = run.in_between == "other" and inner is during[0]
            self.answers.compare(was_expected, inner, **(compared if is_same_request else {}))
        if response is None:
            assert expected.kind == "killed", expected
        else:
            self.answers.compare(expected, response, **compared)
        self.look_at_effects()
        return response

    def plan(self, run: Run, during: list[Any], send: Callable[[], Any]) -> Plan:
        """What the site and others do while the request is answered."""
        plan = Plan(run.ending, run.in_between)

        def other() -> None:
            with shop.going(Plan()):
                during.append(send())

        if run.in_between == "other":
            plan.at_terms = other
        if run.in_between == "void":
            plan.at_terms = self.void_it
        if run.when and rules.EFFECTS[self.asked.action] == "external":
            setattr(plan, run.when, lambda: self.inside(run, during))
        return plan

    def void_it(self) -> None:
        """Void the record that was about to be used, between the checks and the claim."""
        if self.model.voided is not None:
            assert voided(self.model.voided)

    asked: Want

    def inside(self, run: Run, during: list[Any]) -> None:
        """What others do while the site's code runs outside of the database."""
        running = self.model.running
        assert running is not None
        row = row_of(running.operation)
        if run.what.startswith("outlive"):
            self.clock.shift(rules.OUTLIVES_MS / 1000)
        if run.what == "outlive and settle":
            assert settled(row, happened=run.when == "after")
        if run.what == "outlive and reconcile":
            maintenance.reconcile()
        row.refresh_from_db()
        if running.operation.interface == "website":
            owners = [one for one in self.everybody if one.owner == running.operation.owner]
            during.append(next(one for one in owners if one.declared).look_up(running.ref or ""))
        elif row.state != "open":
            assert self.repeat is not None
            during.append(self.repeat())

    def look_at_effects(self) -> None:
        """What really happened is what the model says, each once, and approved exactly so."""
        keys = Effect.objects.values_list("key", flat=True)
        happened = Counter(tuple(json.loads(key)) for key in keys)
        happened.update(
            (effect.operation_id, effect.revision, effect.terms) for effect in shop.outside
        )
        by_model: Counter[tuple[Any, ...]] = Counter(
            (one.operation.name, one.name, as_json(one.terms)) for one in self.model.effects
        )
        by_model.update(("", "", as_json(terms)) for terms in self.model.ungated)
        assert happened == by_model
        gated = [one for one in happened if one[0]]
        assert len({operation_id for operation_id, _, _ in gated}) == len(gated)
        for operation_id, revision, _ in gated:
            assert happened[operation_id, revision, _] == 1
            assert (operation_id, revision) in self.approved


def as_json(terms: tuple[str, int, int]) -> str:
    """Terms as the site notes them beside an effect."""
    item, quantity, amount = terms
    return json.dumps({"amount": amount, "item": item, "quantity": quantity})


def row_of(operation: rules.Operation) -> Any:
    """The row of an operation, as an operator examines it."""
    revision = next(one for one in operation.revisions if one.name is not None)
    return OperationRow.objects.select_related("approval__revision").get(
        revisions__revision=revision.name
    )


def voided(revision: Revision) -> bool:
    """Void the approval on record for a revision."""
    row = ApprovalRow.objects.select_related("operation").get(recorded_for__revision=revision.name)
    return void(row, by="an operator", because="asked to", now=datetime.now(UTC))


def settled(row: Any, *, happened: bool) -> bool:
    """Say as a person what became of the attempt that was examined."""
    answer = StoredAnswer(200) if happened else None
    return settle(
        row, answer, how="settled", by="a person", because="looked", now=datetime.now(UTC)
    )

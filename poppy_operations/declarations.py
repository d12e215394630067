"""What a site declares: its actions, the terms of one request, and what its code can say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, Final, Literal, final

from asgiref.sync import iscoroutinefunction
from django.conf import settings
from django.http import HttpResponseBase
from django.utils import timezone, translation
from django.utils.functional import Promise

from poppy_operations.protocol.approval import APPROVERS, ApprovalStatement
from poppy_operations.protocol.canonical import canonical_terms, digest, freeze, storable_text
from poppy_operations.protocol.ids import is_prefix
from poppy_operations.protocol.owner import Owner

EffectsKind = Literal["database", "external"]
LONGEST_LEASE: Final = timedelta(hours=1)


@final
class Each:
    """``same_action=Each``: every ask is an action of its own, even with equal content."""


def _resolve(value: object) -> object:
    """Turn what only Django understands into something that terms may hold."""
    if isinstance(value, Promise):
        with translation.override(settings.LANGUAGE_CODE):
            return str(value)
    if isinstance(value, datetime):
        return timezone.make_aware(value)
    return value


@dataclass(frozen=True)
class Terms:
    """The exact terms of the action that a request asks for (3).

    ``values`` holds everything that affects the action: what changes, every amount, date,
    recipient and condition. ``summary`` says the same in plain language, enough for the User to
    decide from it alone; it may use basic Markdown. ``needed=False`` says that this request needs
    no approval this time. ``same_action`` is what the site calls one action, such as
    ``(order_id, item_id)``: an ask for the same one with other terms keeps its ``operation_id``.
    Left out, it is the route, its arguments and the request's content; ``Each`` makes every ask an
    action of its own. ``content`` is a bound and valid form or serializer, by whose validated
    values two requests are compared.
    """

    values: Mapping[str, object]
    summary: str | Promise | None = None
    needed: bool = True
    same_action: object = None
    content: Any = None

    @cached_property
    def text(self) -> str:
        """The values as canonical JSON.

        Raises ``UnrepresentableTerms``, which names the path, for a value that has no one
        spelling in JSON.
        """
        return canonical_terms(self.values, resolve=_resolve)

    @cached_property
    def digest(self) -> str:
        """The digest of the canonical text: equal terms, equal digest."""
        return digest(self.text)

    @property
    def summary_text(self) -> str | None:
        """The summary in the language of the request, as it is stored.

        Raises ``UnrepresentableTerms`` for a character that no database keeps.
        """
        return None if self.summary is None else storable_text(str(self.summary), "summary")

    @cached_property
    def same_action_text(self) -> str:
        """``same_action`` as canonical JSON, in which ``1`` and ``"1"`` differ."""
        return canonical_terms({"same_action": self.same_action}, resolve=_resolve)


@dataclass(frozen=True)
class CurrentOperation:
    """What the action's own code is handed: the terms, and whose operation they belong to.

    For an ordinary visitor, and where no approval is needed, it has terms and no
    ``operation_id``. ``idempotency_key`` is for whatever an external action calls: the same for
    every attempt of the operation that may have reached the outside, and another one once
    ``reconcile`` found that an attempt did not happen, whose key the outside refuses from then on.
    """

    action: str
    terms: Mapping[str, Any]
    summary: str | None = None
    operation_id: str | None = None
    revision: str | None = None
    idempotency_key: str | None = None
    owner: Owner | None = None
    approval: ApprovalStatement | None = None

    @classmethod
    def without_id(cls, action: str, terms: Terms) -> CurrentOperation:
        """The operation of a request that needs no approval. Its terms are read when used."""
        return cls(action, LazyTerms(terms), None if terms.summary is None else str(terms.summary))


def operation_of(request: Any) -> CurrentOperation:
    """The operation of a gated request, typed, for Django and Django REST framework requests.

    Raises ``RuntimeError`` outside a gated view, and for a method that its door does not gate.
    """
    operation: CurrentOperation | None = getattr(request, "operation", None)
    if operation is None:
        message = (
            f"This {request.method} request did not come through an action's door. operation_of() "
            "is called in a view that a door decorates, for a method that the door gates: methods= "
            "names them, and @require_POST refuses the others."
        )
        raise RuntimeError(message)
    return operation


class LazyTerms(Mapping[str, Any]):
    """Terms that are made canonical when they are first read, since most visitors never do."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms

    @cached_property
    def _frozen(self) -> Mapping[str, Any]:
        return freeze(self._terms.text)

    def __getitem__(self, key: str) -> Any:
        return self._frozen[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._frozen)

    def __len__(self) -> int:
        return len(self._frozen)


class NotPerformed(Exception):
    """Raised by an action: nothing happened, and this is what to answer, with any status.

    Returned by ``reconcile``: it did not happen, and it cannot happen any more.
    """

    def __init__(self, response: HttpResponseBase | None = None) -> None:
        super().__init__("The action says that nothing happened.")
        self.response = response


@dataclass(frozen=True)
class Performed:
    """Returned by ``reconcile``: it happened. ``result`` is the answer to give from now on.

    A response is stored as it is; a mapping is stored as a JSON answer with ``status``; nothing
    becomes a plain statement.
    """

    result: HttpResponseBase | Mapping[str, Any] | None = None
    status: int = 200


@dataclass(frozen=True)
class Decline:
    """The Company's refusal of a valid approval, for reasons of its own (6).

    ``reason`` is short, in plain language for the User, and holds nothing that the Session could
    not see anyway. ``alternative`` is another way to do the action. ``rule`` stays with the
    Company: the admin shows it, the agent never sees it. It has at most 200 characters.
    """

    reason: str | None = None
    alternative: Mapping[str, Any] | None = None
    rule: str = "policy"

    def __post_init__(self) -> None:
        # Not above: terms and their summaries serve where the app is not installed, as in an agent.
        from poppy_operations.models.lengths import NAME_LENGTH

        if len(self.rule) > NAME_LENGTH:
            message = f"The rule of a decline has at most {NAME_LENGTH} characters."
            raise ValueError(message)


@dataclass(frozen=True)
class Refusal:
    """What ``Company.undeclared`` chooses: refuse, with ``extension_required`` or an own answer."""

    response: HttpResponseBase | None = None


ReconcileHook = Callable[[CurrentOperation], Performed | NotPerformed | None]
PerformHook = Callable[[CurrentOperation], HttpResponseBase | Mapping[str, Any] | None]
StillHook = Callable[[CurrentOperation], Terms | NotPerformed]
DeclineHook = Callable[[CurrentOperation, ApprovalStatement], Decline | None]


@dataclass(eq=False)
class DeclaredAction:
    """One kind of action, whatever door it is asked for through.

    ``effects`` has no default. ``"external"``, the safe direction, says that the action reaches
    outside; ``"database"`` says that everything it does is in the database of this app's tables,
    inside the transaction that the gate opens. ``lifetime`` is how long a revision can be
    approved. ``lease`` is how long an attempt is taken to be alive: a database attempt past it
    may be taken over, an external one may be judged by ``reconcile``; by default 60 seconds and
    15 minutes. ``prefix`` begins every ``operation_id``. ``approvers`` are those whose approval
    is accepted; others are declined. ``not_performed`` lists exception classes of an external
    action that say that nothing happened. ``website=False`` marks an action that a browser cannot
    repeat. ``perform`` is the action as a function of the approved operation, which a worker runs
    where ``background`` is true; ``still`` tells the worker what the action would do by now.

    Raises ``ValueError`` where arguments contradict each other or cannot be stored, ``TypeError``
    where a hook is async.
    """

    name: str
    effects: EffectsKind
    lifetime: timedelta = timedelta(minutes=15)
    lease: timedelta | None = None
    prefix: str = "op"
    approvers: tuple[str, ...] = APPROVERS
    not_performed: tuple[type[Exception], ...] = ()
    website: bool = True
    perform: PerformHook | None = None
    still: StillHook | None = None
    background: bool = False
    has_website_door: bool = field(default=False, init=False)
    reconcile_hook: ReconcileHook | None = field(default=None, init=False)
    decline_hook: DeclineHook | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._check_names()
        if self.effects not in {"database", "external"}:
            message = f'{self.name}: effects is "database" or "external", not {self.effects!r}.'
            raise ValueError(message)
        if not set(self.approvers) <= set(APPROVERS) or not self.approvers:
            message = f'{self.name}: approvers holds "user", "agent" or both.'
            raise ValueError(message)
        if self.not_performed and self.effects == "database":
            message = (
                f"{self.name}: not_performed= is for external effects; whatever an action in the "
                "database raises undoes it."
            )
            raise ValueError(message)
        self._check_perform()
        self._check_durations()
        registry.add(self)

    def _check_names(self) -> None:
        from poppy_operations.models.lengths import ACTION_LENGTH  # as in Decline

        if not 0 < len(self.name) <= ACTION_LENGTH:
            message = f"The name of an action has 1 to {ACTION_LENGTH} characters: {self.name!r}."
            raise ValueError(message)
        if not is_prefix(self.prefix):
            message = f"{self.name}: prefix is 1 to 16 of a-z and 0-9, not {self.prefix!r}."
            raise ValueError(message)

    def _check_durations(self) -> None:
        durations: dict[str, object] = {"lifetime": self.lifetime}
        if self.lease is not None:
            durations["lease"] = self.lease
        for name, duration in durations.items():
            if not isinstance(duration, timedelta) or duration < timedelta(seconds=1):
                message = f"{self.name}: {name} is a timedelta of a second or more."
                raise ValueError(message)

    def _check_perform(self) -> None:
        for name in ("perform", "still"):
            self._refuse_async(name, getattr(self, name))
        if self.background and self.perform is None:
            message = f"{self.name}: background=True runs perform=, which is missing."
            raise ValueError(message)
        if self.perform is not None and self.still is None and self.effects == "database":
            message = f"{self.name}: perform= with effects in the database needs still= as well."
            raise ValueError(message)
        if self.still is not None and self.perform is None:
            message = f"{self.name}: still= is asked before perform=, which is missing."
            raise ValueError(message)

    def _refuse_async(self, name: str, hook: object) -> None:
        if iscoroutinefunction(hook):
            message = f"{self.name}: {name} is called, and not awaited; it cannot be async."
            raise TypeError(message)

    @property
    def lease_s(self) -> int:
        """How long an attempt is taken to be alive, in whole seconds."""
        default = timedelta(seconds=60) if self.effects == "database" else timedelta(minutes=15)
        return max(1, int((self.lease or default).total_seconds()))

    def reconcile(self, hook: ReconcileHook) -> ReconcileHook:
        """Say how to find out whether an external attempt happened (decorator).

        The hook is asked only once the attempt has ended as unknown or its lease is over. It
        returns ``Performed(result)``, ``NotPerformed()`` (it did not happen and cannot any more:
        the outside refuses its ``idempotency_key`` from now on) or ``None`` (still unknown).
        """
        if self.effects != "external":
            message = f"{self.name}: only external effects have an outcome to find out."
            raise TypeError(message)
        self._refuse_async("reconcile", hook)
        self.reconcile_hook = hook
        return hook

    def decline(self, hook: DeclineHook) -> DeclineHook:
        """Say which approvals to decline (decorator). The hook returns ``Decline`` or ``None``."""
        self._refuse_async("decline", hook)
        self.decline_hook = hook
        return hook


class Registry:
    """The actions of this site, by name."""

    def __init__(self) -> None:
        self._actions: dict[str, DeclaredAction] = {}

    def add(self, action: DeclaredAction) -> None:
        """Add an action. Raises ``ValueError`` where another one has its name."""
        if action.name in self._actions:
            message = f"Two actions are called {action.name!r}; a name is used once."
            raise ValueError(message)
        self._actions[action.name] = action

    def discard(self, action: DeclaredAction) -> None:
        """Take an action out again, as tests do that declare their own."""
        self._actions.pop(action.name, None)

    def get(self, name: str) -> DeclaredAction | None:
        """The action of that name, or none, as after a deployment that dropped it."""
        return self._actions.get(name)

    def __iter__(self) -> Iterator[DeclaredAction]:
        return iter(list(self._actions.values()))

    @property
    def on_website(self) -> bool:
        """Whether any action returns operations on the website (2)."""
        return any(action.website and action.has_website_door for action in self._actions.values())


registry = Registry()

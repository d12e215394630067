"""An action as the site declares it, and the registry of all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, Literal

from asgiref.sync import iscoroutinefunction
from django.http import HttpResponseBase

from poppy_operations.declarations.current import CurrentOperation
from poppy_operations.declarations.outcomes import Decline, NotPerformed, Performed
from poppy_operations.declarations.registry import registry
from poppy_operations.declarations.terms import Terms
from poppy_operations.protocol.approval import APPROVERS, ApprovalStatement
from poppy_operations.protocol.ids import is_prefix

EffectsKind = Literal["database", "external"]
LONGEST_LEASE: Final = timedelta(hours=1)
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

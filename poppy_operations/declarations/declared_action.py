"""An action as the site declares it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from typing import Any, Literal

from django.http import HttpResponseBase

from poppy_operations.declarations.arguments import (
    listed,
    require_duration,
    require_flag,
    require_name,
)
from poppy_operations.declarations.callables import require_hook
from poppy_operations.declarations.current import ApprovedOperation
from poppy_operations.declarations.declaring import Declaring
from poppy_operations.declarations.outcomes import Decline, NotPerformed, Performed
from poppy_operations.declarations.registry import registry
from poppy_operations.declarations.terms import Terms
from poppy_operations.protocol.approval import APPROVERS, ApprovalStatement, Approver
from poppy_operations.protocol.ids import is_prefix

EffectsKind = Literal["database", "external"]
ReconcileHook = Callable[[ApprovedOperation], Performed | NotPerformed | None]
PerformHook = Callable[[ApprovedOperation], HttpResponseBase | Mapping[str, Any] | None]
StillHook = Callable[[ApprovedOperation], Terms | NotPerformed]
DeclineHook = Callable[[ApprovedOperation, ApprovalStatement], Decline | None]


@dataclass(eq=False)
class DeclaredAction:
    """One kind of action, through whatever door it is asked for.

    ``effects`` has no default. ``"external"``, the safe direction, says that the action reaches
    outside; ``"database"`` says that everything it does is in the database of this app's tables,
    inside the transaction that the gate opens. ``lifetime`` is how long a revision can be
    approved. ``lease`` is how long an attempt is taken to be alive. After it, a database attempt
    may be taken over (default: 60 seconds), and an external one may be judged by ``reconcile``
    (default: 15 minutes). ``prefix`` begins every ``operation_id``. ``approvers`` are those whose
    approval is accepted; others are declined. ``not_performed`` lists exception classes of an
    external action that say that nothing happened. ``website=False`` marks an action that a browser
    cannot repeat. ``perform`` is the action as a function of the approved operation, which a worker
    runs if ``background`` is true; ``still`` tells the worker what the action would do by now.

    Raises ``TypeError`` if an argument is of another type, or a hook cannot be called, and
    ``ValueError`` if arguments contradict each other or cannot be stored.
    """

    name: str
    _: KW_ONLY
    effects: EffectsKind
    lifetime: timedelta = timedelta(minutes=15)
    lease: timedelta | None = None
    prefix: str = "op"
    approvers: Sequence[Approver] = APPROVERS
    not_performed: tuple[type[Exception], ...] = ()
    website: bool = True
    perform: PerformHook | None = None
    still: StillHook | None = None
    background: bool = False
    has_website_door: bool = field(default=False, init=False)
    reconcile_hook: ReconcileHook | None = field(default=None, init=False)
    decline_hook: DeclineHook | None = field(default=None, init=False)
    declared_by: Declaring = field(default_factory=Declaring.now, init=False, repr=False)
    _hooks_declared_by: dict[str, Declaring] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        self._check_names()
        if self.effects not in ("database", "external"):
            message = f'{self.name}: effects is "database" or "external", not {self.effects!r}.'
            raise ValueError(message)
        for name in ("website", "background"):
            require_flag(f"{self.name}: {name}", getattr(self, name))
        self._check_approvers()
        self._check_not_performed()
        self._check_perform()
        require_duration(f"{self.name}: lifetime", self.lifetime)
        if self.lease is not None:
            require_duration(f"{self.name}: lease", self.lease)
        registry.add(self)

    def _check_names(self) -> None:
        from poppy_operations.models.lengths import ACTION_LENGTH  # as in Decline

        require_name("The name of an action", self.name, ACTION_LENGTH)
        if not is_prefix(self.prefix):
            message = f"{self.name}: prefix is 1 to 16 of a-z and 0-9, not {self.prefix!r}."
            raise ValueError(message)

    def _check_approvers(self) -> None:
        named = listed(f"{self.name}: approvers", self.approvers, 'approvers, "user" and "agent"')
        if not named or any(approver not in APPROVERS for approver in named):
            message = f'{self.name}: approvers lists "user", "agent" or both, not {named!r}.'
            raise ValueError(message)
        self.approvers = named  # type: ignore[assignment]  # each was looked at above

    def _check_not_performed(self) -> None:
        subject = f"{self.name}: not_performed"
        named = listed(subject, self.not_performed, "exception classes")
        if named and self.effects == "database":
            message = (
                f"{subject} is for external effects; whatever an action in the database raises "
                "undoes it."
            )
            raise ValueError(message)
        for kind in named:
            if not isinstance(kind, type) or not issubclass(kind, Exception):
                message = f"{subject} lists exception classes, and {kind!r} is none."
                raise TypeError(message)
            if kind is Exception:
                message = f"{subject}: Exception is raised whatever happened; name its subclasses."
                raise ValueError(message)
        # What ``except`` takes.
        self.not_performed = named  # type: ignore[assignment]  # each was looked at above

    def _check_perform(self) -> None:
        for name in ("perform", "still"):
            if getattr(self, name) is not None:
                require_hook(f"{self.name}: {name}", getattr(self, name), "the operation")
        if self.background and self.perform is None:
            message = f"{self.name}: background=True runs perform=, which is missing."
            raise ValueError(message)
        if self.perform is not None and self.still is None and self.effects == "database":
            message = f"{self.name}: perform= with effects in the database needs still= as well."
            raise ValueError(message)
        if self.still is not None and self.perform is None:
            message = f"{self.name}: still= is asked before perform=, which is missing."
            raise ValueError(message)

    def _declare_hook(self, name: str, *arguments: str, hook: object) -> None:
        """Refuse what cannot be called, and a second hook, which would take the first's place."""
        require_hook(f"{self.name}: {name}", hook, *arguments)
        declaring, earlier = Declaring.now(), self._hooks_declared_by.get(name)
        if getattr(self, f"{name}_hook") is None:
            earlier = None
        if earlier is not None and not declaring.is_again(earlier):
            message = (
                f"{self.name} has a {name} hook already, declared by {earlier}. Call both "
                "functions in one hook."
            )
            raise ValueError(message)
        self._hooks_declared_by[name] = declaring

    @property
    def lease_s(self) -> int:
        """How long an attempt is taken to be alive, in whole seconds and at least one."""
        default = timedelta(seconds=60) if self.effects == "database" else timedelta(minutes=15)
        return max(1, int((self.lease or default).total_seconds()))

    def reconcile(self, hook: ReconcileHook) -> ReconcileHook:
        """Say how to find out whether an external attempt happened (decorator).

        The hook is asked only once the attempt has ended as unknown or its lease is over. It
        returns ``Performed(result)``, ``NotPerformed()`` (it did not happen and cannot any more:
        the outside refuses its ``idempotency_key`` from now on) or ``None`` (still unknown). Raises
        ``TypeError`` if the effects are in the database, or the hook does not take an operation,
        and ``ValueError`` if the action has such a hook already.
        """
        if self.effects != "external":
            message = f"{self.name}: only external effects have an outcome to find out."
            raise TypeError(message)
        self._declare_hook("reconcile", "the operation", hook=hook)
        self.reconcile_hook = hook
        return hook

    def decline(self, hook: DeclineHook) -> DeclineHook:
        """Say which approvals to decline (decorator). The hook returns ``Decline`` or ``None``.

        Raises ``TypeError`` if the hook does not take an operation and an approval, and
        ``ValueError`` if the action has such a hook already.
        """
        self._declare_hook("decline", "the operation", "the approval", hook=hook)
        self.decline_hook = hook
        return hook

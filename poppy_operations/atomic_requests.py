"""ATOMIC_REQUESTS for one request: an agent's gated request opens its own transactions (7).

A claim must be committed before the action runs. The transaction that Django opens around each view
would prevent that. If the view were marked as non-atomic for ever, ordinary visitors would lose
that transaction too, and threads would race; so the view answers for each request.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, TypeVar

from django.db import connections
from django.http import HttpRequest

View = TypeVar("View", bound=Callable[..., Any])
_NON_ATOMIC = "_non_atomic_requests"  # Django's own attribute of views
_SWITCHED_OFF = "_poppy_switched_off"
_OUTER_BLOCKS = "_poppy_outer_blocks"
_gated_now: ContextVar[bool] = ContextVar("poppy_gated_now", default=False)
AGENT_HEADERS = ("HTTP_POPPY_SESSION", "HTTP_POPPY_APPROVAL", "HTTP_AUTHORIZATION")


class AtomicSwitch(set[str]):
    """The aliases without a transaction around a view: those that the site named, or all."""

    def __contains__(self, alias: object) -> bool:
        return _gated_now.get() or super().__contains__(alias)


class _Every(set[str]):
    def __contains__(self, alias: object) -> bool:
        return True


def never_atomic(view: View) -> View:
    """Mark a view that opens its own transactions, on every database and for everybody."""
    setattr(view, _NON_ATOMIC, _Every())
    return view


def has_agent_header(request: HttpRequest) -> bool:
    """Whether a request may be an agent's by its headers; if in doubt, yes."""
    return any(name in request.META for name in AGENT_HEADERS)


def atomic_aliases(callback: Callable[..., Any]) -> tuple[str, ...]:
    """Name the databases on which Django opens a transaction around the view."""
    without = getattr(callback, _NON_ATOMIC, ())
    if isinstance(without, AtomicSwitch):
        without = set(without)  # what the site says, not what a request was told
    return tuple(
        alias
        for alias, database in connections.settings.items()
        if database["ATOMIC_REQUESTS"] and alias not in without
    )


def switch(callback: Callable[..., Any], *, off: bool) -> bool:
    """Say for this request whether Django opens its transactions; call it at every request.

    Returns whether they are off. If the callable takes no attributes, it keeps its transactions.
    """
    _gated_now.set(off)
    if off and not isinstance(getattr(callback, _NON_ATOMIC, None), AtomicSwitch):
        view = getattr(callback, "__func__", callback)  # methods lend their attributes only
        try:
            setattr(view, _NON_ATOMIC, AtomicSwitch(getattr(callback, _NON_ATOMIC, ())))
        except AttributeError:
            return False
    return off


def remember(request: HttpRequest, aliases: tuple[str, ...]) -> None:
    """Keep which aliases were switched off, and which of them are in a transaction even so.

    Only a test can be in a transaction when a request begins. Call it in the request's own thread.
    """
    setattr(request, _SWITCHED_OFF, aliases)
    outer = tuple(alias for alias in aliases if connections[alias].in_atomic_block)
    if outer:
        setattr(request, _OUTER_BLOCKS, outer)


def switched_off_aliases(request: HttpRequest) -> tuple[str, ...]:
    """Name the databases whose transaction Django would have opened for anybody else.

    If the gate lets the request pass after all, it opens the same transactions itself.
    """
    aliases: tuple[str, ...] = getattr(request, _SWITCHED_OFF, ())
    return aliases


def in_outer_block(request: HttpRequest) -> bool:
    """Whether there is anything for ``take_back_rollback`` to look at."""
    return hasattr(request, _OUTER_BLOCKS)


def take_back_rollback(request: HttpRequest) -> None:
    """Take Django REST framework's mark for rollback off a test's own transaction.

    On an error the framework means to roll back the transaction around the view, which was switched
    off.
    """
    for alias in getattr(request, _OUTER_BLOCKS, ()):
        connection = connections[alias]
        if connection.in_atomic_block and connection.needs_rollback:
            connection.set_rollback(False)

"""The exceptions that reach the site's code. Their base classes are Python's and Django's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poppy_operations.lazily import names_from

if TYPE_CHECKING:
    from poppy_operations.lifecycle.durable import Busy as Busy
    from poppy_operations.lifecycle.durable import OuterTransaction as OuterTransaction
    from poppy_operations.maintenance.results import Interrupted as Interrupted
    from poppy_operations.protocol.canonical import UnrepresentableTerms as UnrepresentableTerms
    from poppy_operations.sessions.agents import UnknownAgent as UnknownAgent
    from poppy_operations.sessions.jwts import BadJwt as BadJwt
    from poppy_operations.sessions.refusals import InsufficientScope as InsufficientScope
    from poppy_operations.sessions.refusals import InvalidSession as InvalidSession
    from poppy_operations.sessions.refusals import InvalidToken as InvalidToken
    from poppy_operations.sessions.refusals import InvalidVersion as InvalidVersion
    from poppy_operations.sessions.refusals import KeysUnavailable as KeysUnavailable
    from poppy_operations.sessions.refusals import SessionRefused as SessionRefused

_HOMES = {
    "BadJwt": "sessions.jwts",
    "Busy": "lifecycle.durable",
    "InsufficientScope": "sessions.refusals",
    "Interrupted": "maintenance.results",
    "InvalidSession": "sessions.refusals",
    "InvalidToken": "sessions.refusals",
    "InvalidVersion": "sessions.refusals",
    "KeysUnavailable": "sessions.refusals",
    "OuterTransaction": "lifecycle.durable",
    "SessionRefused": "sessions.refusals",
    "UnknownAgent": "sessions.agents",
    "UnrepresentableTerms": "protocol.canonical",
}
__all__ = [
    "BadJwt",
    "Busy",
    "InsufficientScope",
    "Interrupted",
    "InvalidSession",
    "InvalidToken",
    "InvalidVersion",
    "KeysUnavailable",
    "OuterTransaction",
    "SessionRefused",
    "UnknownAgent",
    "UnrepresentableTerms",
]
__getattr__ = names_from(__name__, _HOMES)

"""One call of a gated action, as a door hands it to the gate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from poppy_operations.declarations.current import CurrentOperation
from poppy_operations.declarations.declared_action import DeclaredAction
from poppy_operations.declarations.terms import Terms
from poppy_operations.gate import earlier
from poppy_operations.gate.comparing import RequestContent
from poppy_operations.gate.door import Asker, Results
from poppy_operations.gate.parts import Parts, is_earlier, keyed
from poppy_operations.gate.sync_and_async import Steps, site
from poppy_operations.models import Revision, instants
from poppy_operations.protocol import interfaces
from poppy_operations.protocol.interfaces import Interface
from poppy_operations.protocol.owner import Owner

# How often a request is tried before it is answered as busy.
TRIES = 4
# The same if each lost try is another request's success, so that the last of many gets its turn.
TRIES_BESIDE_OTHERS = 100


def _no_one() -> Any:
    return None


def _never() -> bool:
    return False


@dataclass(kw_only=True)
class Job:
    """What it takes to perform an action, whoever asked for it.

    ``terms`` and ``body`` are the site's own code; each may be a coroutine function. ``request``
    goes into reports of faults. ``transactions`` names the databases on which Django would
    have opened a transaction around the site's code.
    """

    action: DeclaredAction
    results: Results
    terms: Callable[[], Any]
    body: Callable[[CurrentOperation], Any]
    request: Any = None
    transactions: Sequence[str] = ()
    now: datetime = field(default_factory=instants.now)


@dataclass(kw_only=True)
class Call(Job):
    """What a door knows about one request for a gated action.

    ``allowed`` is the site's own code too. ``replay`` gives an answer again if its body was not
    stored, such as a stream's. ``interface`` is the door's own, for requests in a Session; requests
    of a joined browser are the website's, whatever the door. ``prepare`` is called for an agent's
    request before ``terms`` and ``body``. ``open_methods`` is given if the method of the request is
    open to people alone; it lists the methods that agents may use there. ``is_lost`` says whether
    content was sent that nobody can read.
    """

    asker: Asker
    content: Callable[[], RequestContent]
    is_lost: Callable[[], bool] = _never
    prepare: Callable[[], Any] = _no_one
    allowed: Callable[[], Any] = _no_one
    replay: Callable[[CurrentOperation], Any] | None = None
    ignore: Sequence[str] = ()
    interface: Interface = interfaces.API
    conversation: str = ""
    open_methods: Sequence[str] | None = None

    @cached_property
    def asked(self) -> RequestContent:
        """What the request asks for, read once."""
        return self.content()

    def target_digests(self, owner: Owner) -> list[str]:
        """Digests of the request's target, one for each key."""
        return keyed(self.asked.target_text, owner)

    def sent_digests(self, owner: Owner) -> list[str]:
        """Digests of the whole request by value, one for each key."""
        return keyed(self.asked.sent.text, owner)

    def is_at_target_of(self, revision: Revision, owner: Owner) -> bool:
        """Whether the request's target is that of the request that got a revision of this owner."""
        stored = revision.target_digest
        if is_earlier(stored):
            before = self.asked.target_before
            return before is not None and stored in earlier.target_digests(before())
        return stored in self.target_digests(owner)

    def is_sent_again(self, revision: Revision, owner: Owner) -> bool:
        """Whether the request equals, by value, the request that got a revision of this owner."""
        return revision.raw_digest in self.sent_digests(owner)


@dataclass(frozen=True)
class Wanted:
    """What a call asks for, after the site has said its terms."""

    terms: Terms
    parts: Parts

    @classmethod
    def of(cls, call: Call, terms: Terms) -> Wanted:
        """Evaluate the terms and the content of a call, once."""
        return cls(terms, call.asked.meant(terms.content, call.ignore))


def denied(call: Call) -> Steps[Any]:
    """Ask the site's ``allowed``; its answer if it refuses the request, else ``None``."""
    said: object = yield from site(call.allowed)
    if said is None or call.results.is_answer(said):
        return said
    message = f"{call.action.name}: allowed returns None or a response, not {said!r}."
    raise TypeError(message)


def asked_terms(call: Call) -> Steps[Any]:
    """Ask the site what the request would do: ``Terms``, or the answer by which it refuses."""
    said: object = yield from site(call.terms)
    if isinstance(said, Terms) or call.results.is_answer(said):
        return said
    kind = "None" if said is None else f"an object of type {type(said).__name__}"
    message = f"{call.action.name}: terms returns Terms or a response, not {kind}."
    raise TypeError(message)

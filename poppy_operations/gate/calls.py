"""One call of a gated action, as a door hands it to the gate."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone

from poppy_operations.declarations.current import CurrentOperation
from poppy_operations.declarations.declared_action import DeclaredAction
from poppy_operations.declarations.terms import Terms
from poppy_operations.gate.comparing import RequestContent, keyed_digests
from poppy_operations.gate.stored import as_sent
from poppy_operations.gate.sync_and_async import Steps, site
from poppy_operations.models import Operation

SiteTerms = Terms | HttpResponseBase


def _no_one() -> Any:
    return None


@dataclass
class Call:
    """What a door knows about one request for a gated action.

    ``allowed``, ``terms`` and ``body`` are the site's own code; each may be a coroutine function.
    ``render`` makes a response final, inside the run, so that what is stored is what is sent.
    ``replay`` gives an answer again whose body was not stored, such as a stream's.
    ``interface`` is the one of the door for requests in a Session; a joined browser's are the
    website's whatever the door.
    """

    action: DeclaredAction
    request: HttpRequest
    content: Callable[[], RequestContent]
    terms: Callable[[], Awaitable[SiteTerms] | SiteTerms]
    body: Callable[[CurrentOperation], Any]
    allowed: Callable[[], Any] = _no_one
    user: Callable[[], Any] = _no_one
    render: Callable[[HttpResponseBase], HttpResponseBase] = as_sent
    replay: Callable[[CurrentOperation], Any] | None = None
    ignore: Sequence[str] = ()
    interface: str = Operation.Interface.API
    conversation: str = ""
    now: datetime = field(default_factory=timezone.now)

    @cached_property
    def approval_header(self) -> str | None:
        """The raw ``Poppy-Approval``, or ``None`` where there is none in any form."""
        value: str | None = self.request.META.get("HTTP_POPPY_APPROVAL")
        return value

    @cached_property
    def _content(self) -> RequestContent:
        return self.content()

    @cached_property
    def target_digests(self) -> list[str]:
        """Digests of action, method, host, route and arguments, one for each key."""
        return keyed_digests(self._content.target_text)

    @cached_property
    def raw_digests(self) -> list[str]:
        """Digests of the whole request by value, one for each key."""
        return keyed_digests(self._content.raw_text)

    def meaning_text(self, terms: Terms) -> str:
        """The request by meaning, as canonical text."""
        return self._content.meaning_text(terms.content, self.ignore)

    def field_digests(self) -> dict[str, str]:
        """Short digests by field, for naming differences."""
        return self._content.field_digests()

    def differing_fields(self, stored: str) -> tuple[str, ...]:
        """Names of the fields that differ from those of a stored revision."""
        return self._content.differing_fields(stored)


@dataclass(frozen=True)
class Wanted:
    """What a call asks for, once the site has said its terms."""

    terms: Terms
    content_digests: list[str]
    content_text: str

    @classmethod
    def of(cls, call: Call, terms: Terms) -> Wanted:
        """Evaluate the terms and the content of a call, once."""
        text = call.meaning_text(terms)
        return cls(terms, keyed_digests(text), text)


def denied(call: Call) -> Steps[HttpResponseBase | None]:
    """Ask the site's ``allowed``; its response where it refuses the request."""
    said: object = yield from site(call.allowed)
    if said is None or isinstance(said, HttpResponseBase):
        return said
    message = f"{call.action.name}: allowed returns None or a response, not {said!r}."
    raise TypeError(message)


def asked_terms(call: Call) -> Steps[SiteTerms]:
    """Ask the site what the request would do; its response where it refuses the request."""
    said: object = yield from site(call.terms)
    if isinstance(said, Terms | HttpResponseBase):
        return said
    kind = "None" if said is None else f"an object of type {type(said).__name__}"
    message = f"{call.action.name}: terms returns Terms or a response, not {kind}."
    raise TypeError(message)

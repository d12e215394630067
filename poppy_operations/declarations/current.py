"""The operation that the action's own code gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpRequest

from poppy_operations.declarations.terms import LazyTerms, Terms
from poppy_operations.declarations.tool_calls import ToolContext, request_in
from poppy_operations.protocol.approval import ApprovalStatement
from poppy_operations.protocol.owner import Owner


@dataclass(frozen=True)
class CurrentOperation:
    """What the action's own code gets: the terms, and whose operation they belong to.

    For an ordinary visitor, or if no approval is needed, it has terms and no ``operation_id``.
    ``idempotency_key`` is for the systems that an external action calls. It is the same for every
    attempt of the operation, until ``reconcile`` finds that an attempt was not performed: from then
    on the outside refuses that key, and later attempts have another.

    As text it is its action and its ID, since error reports show what the site's variables hold.
    """

    action: str
    terms: Mapping[str, Any] = field(repr=False)
    summary: str | None = field(default=None, repr=False)
    operation_id: str | None = None
    revision: str | None = field(default=None, repr=False)
    idempotency_key: str | None = field(default=None, repr=False)
    owner: Owner | None = field(default=None, repr=False)
    approval: ApprovalStatement | None = field(default=None, repr=False)

    @classmethod
    def without_id(cls, action: str, terms: Terms) -> CurrentOperation:
        """The operation of a request that needs no approval. Its terms are read when used."""
        return cls(action, LazyTerms(terms), None if terms.summary is None else str(terms.summary))


@dataclass(frozen=True, kw_only=True)
class ApprovedOperation(CurrentOperation):
    """What hooks get: a returned operation. Its ID, revision, key and owner are never ``None``.

    The site's view gets one as well if its request performs an approved operation.
    """

    operation_id: str = field()
    revision: str = field(repr=False)
    idempotency_key: str = field(repr=False)
    owner: Owner = field(repr=False)


def operation_of(request: HttpRequest | ToolContext) -> CurrentOperation:
    """The operation of a gated request, typed: of Django, Django REST framework, or a tool call.

    A tool passes the ``Context`` of its call. Raises ``RuntimeError`` outside a gated view or tool
    or if its door does not gate the method, and ``TypeError`` if ``request`` is no request.
    """
    found = request_in(request) or request
    # A request of Django REST framework holds Django's own.
    if not isinstance(getattr(found, "_request", found), HttpRequest):
        kind = type(found).__name__
        message = (
            "operation_of() takes the request of a view, not an object of the type "
            f"{kind}. In a tool it takes the tool's Context."
        )
        raise TypeError(message)
    operation: CurrentOperation | None = getattr(found, "operation", None)
    if operation is None:
        message = (
            f"This {getattr(found, 'method', '')} request did not come through an action's door. "
            "operation_of() is called in a view that a door decorates, for a method that the door "
            "gates: methods= names them, and @require_POST refuses the others."
        )
        raise RuntimeError(message)
    return operation

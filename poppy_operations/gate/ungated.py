"""Running the site's view if no approval is needed, as if this app were not there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from poppy_operations.declarations.current import CurrentOperation
from poppy_operations.declarations.outcomes import NotPerformed
from poppy_operations.declarations.terms import Terms
from poppy_operations.gate.answers import Answer, SiteAnswer
from poppy_operations.gate.calls import Call, asked_terms, denied
from poppy_operations.gate.sync_and_async import Steps, database, site
from poppy_operations.gate.transactions import mark_for_rollback, transacted
from poppy_operations.lifecycle.durable import OuterTransaction
from poppy_operations.models.databases import write_alias


def ungated(call: Call) -> Steps[Answer]:
    """Ask ``allowed`` and ``terms``, and run the view with the terms at hand."""
    denial = yield from denied(call)
    if denial is not None:
        return SiteAnswer(denial)
    terms = yield from asked_terms(call)
    if not isinstance(terms, Terms):
        return SiteAnswer(terms)
    return (yield from perform_ungated(call, terms))


def perform_for_agent(call: Call, terms: Terms) -> Steps[Answer]:
    """Run the view for an agent that needs no approval, in transactions that can be rolled back.

    A visitor's request keeps the transactions that Django gives it, as if this app were not there.
    If the view leaves its work to another gated view, what it did is rolled back, and it is run
    again without our transactions: the other view's claim must be committed before its action.
    """
    aliases = [alias for alias in call.transactions if alias != write_alias()]
    if write_alias() in call.transactions or call.action.effects == "database":
        aliases.append(write_alias())
    try:
        return (yield from transacted(aliases, perform_ungated(call, terms, aliases)))
    except OuterTransaction:
        if call.transactions:
            raise
        return (yield from perform_ungated(call, terms))


def perform_ungated(call: Call, terms: Terms, ours: Sequence[str] = ()) -> Steps[Answer]:
    """Run the view for a request that needs no approval. ``ours``: the transactions around it."""
    current = CurrentOperation.without_id(call.action.name, terms)
    try:
        result = yield from site(partial(call.body, current))
    except NotPerformed as said:
        yield from database(partial(mark_for_rollback, ours))
        result = call.results.nothing_happened(said)
    return SiteAnswer(result)

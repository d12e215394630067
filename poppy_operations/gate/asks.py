"""One ask of one owner, compared with the operations that the owner has already."""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from poppy_operations.declarations.terms import Each
from poppy_operations.gate.callers import Caller
from poppy_operations.gate.calls import Call, Wanted
from poppy_operations.gate.parts import is_earlier, keyed, keyed_slots
from poppy_operations.gate.revisions import has_record, read_in_full
from poppy_operations.logs import log_of
from poppy_operations.models import Operation, Revision
from poppy_operations.protocol.canonical import digest
from poppy_operations.protocol.owner import Owner


@dataclass(frozen=True)
class Ask:
    """One ask of one owner. ``named`` is the revision that the answer must not be (6)."""

    call: Call
    caller: Caller
    owner: Owner
    wanted: Wanted
    named: str = ""

    @cached_property
    def slots(self) -> list[str]:
        """The slots of what the site calls one action; each has room for one unperformed operation.

        A new operation is put into the first slot. There is a slot for each key, since by default a
        slot is made of the request's content: an operation that was stored under an earlier key is
        in another slot. If every ask is an action of its own, the ask has one random slot.
        """
        terms = self.wanted.terms
        if terms.same_action is Each:
            return [digest(secrets.token_hex(16))]
        key = self.wanted.parts.text if terms.same_action is None else terms.same_action_text
        interface, action = self.caller.interface.name, self.call.action.name
        unkeyed = digest(
            json.dumps(
                [self.owner.digest, interface, self.call.conversation, action, key],
                separators=(",", ":"),
            )
        )
        return keyed_slots(unkeyed)

    @cached_property
    def content_digests(self) -> list[str]:
        """Digests of the request by meaning, one for each key."""
        return keyed(self.wanted.parts.text, self.owner)

    def is_same(self, revision: Revision) -> bool:
        """Whether a revision describes exactly this request (check 3)."""
        return self.has_terms_of(revision) and self.has_content_of(revision)

    def is_same_action(self, revision: Revision) -> bool:
        """Whether a revision is of the action that this request is for, whatever its terms."""
        return self._is_in_slot(revision) or self.has_content_of(revision)

    def of_slot(self, rows: Sequence[Revision]) -> list[Revision]:
        """The revisions of the operations in this ask's slots, those being performed first."""
        operations = {row.operation_id for row in rows if self._is_in_slot(row)}
        mine = [row for row in rows if row.operation_id in operations]
        return sorted(mine, key=lambda row: row.operation.state != Operation.State.PERFORMING)

    def _is_in_slot(self, revision: Revision) -> bool:
        return revision.operation.slot in self.slots or self._is_earlier_attempt(revision)

    def has_terms_of(self, revision: Revision) -> bool:
        """Whether a revision has the terms that the site says now, at the same door."""
        return (
            revision.terms_digest == self.wanted.terms.digest
            and revision.operation.action == self.call.action.name
            and revision.operation.interface == self.caller.interface.name
        )

    def has_content_of(self, revision: Revision) -> bool:
        """Whether a revision is for this very content, at the same door."""
        return (
            revision.content_digest in self.content_digests
            and revision.operation.action == self.call.action.name
            and revision.operation.interface == self.caller.interface.name
        )

    def _is_earlier_attempt(self, revision: Revision) -> bool:
        """Whether an attempt from before an upgrade performs it, perhaps for this very request."""
        return (
            revision.operation.state == Operation.State.PERFORMING
            and revision.operation.conversation == self.call.conversation
            and is_earlier(revision.content_digest)
            and self.has_terms_of(revision)
        )


def differing_fields(asked: Ask, rows: Sequence[Revision]) -> tuple[str, ...]:
    """The names of the fields that keep the request from an approval of the very same terms.

    Values are never told. A site that finds its nonce among the names puts it into ``ignore=``.
    """
    for revision in rows:
        is_approved = has_record(revision) or revision.revision == asked.named
        if is_approved and asked.has_terms_of(revision) and not asked.has_content_of(revision):
            return _told(asked, revision)
    return ()


def _told(asked: Ask, revision: Revision) -> tuple[str, ...]:
    if is_earlier(revision.content_digest):
        fields: tuple[str, ...] = ()
        level, message = (
            logging.INFO,
            "An approval of the same terms was asked for before an upgrade",
        )
    else:
        parts = asked.wanted.parts
        read_in_full(revision)
        fields = parts.differing_fields(revision.content_fields, asked.owner)
        level, message = logging.INFO, "An approval has the same terms and other content"
        if asked.call.is_sent_again(revision, asked.owner):
            level = logging.WARNING
            message = (
                "An approval has the same terms, and the same content was sent, but the form or "
                "serializer made other values of it"
            )
        elif set(fields) <= set(parts.incomparable_fields()):
            level = logging.WARNING
            message = "An approval has the same terms and content that cannot be compared"
    log_of(
        level,
        "%s: %s",
        message,
        ", ".join(fields),
        operation_id=revision.operation.operation_id,
        action=asked.call.action.name,
        fields=list(fields),
    )
    return fields

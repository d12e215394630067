"""Returning operations: new ones, further revisions, and what gives way to them (3, 4)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from django.db import IntegrityError
from django.db.models import Exists, OuterRef

from poppy_operations.lifecycle.durable import durably
from poppy_operations.models import Approval, Operation, Revision
from poppy_operations.models.databases import write_alias
from poppy_operations.models.inserting import insert
from poppy_operations.models.statements import Change, Changing, given
from poppy_operations.protocol.ids import (
    new_attempt,
    new_operation_id,
    new_ref,
    new_revision,
    new_watch,
)
from poppy_operations.protocol.interfaces import interface_called
from poppy_operations.protocol.owner import Owner
from poppy_operations.sessions.clock import epoch
from poppy_operations.signals import operation_returned, tell

# What a revision keeps as it was asked, under the same names.
AS_ASKED = (
    "terms",
    "terms_digest",
    "target_digest",
    "raw_digest",
    "content_digest",
    "summary",
)


@dataclass(frozen=True)
class Asked:
    """Everything about one ask that its revision keeps."""

    action: str
    prefix: str
    interface: str
    owner: Owner
    conversation: str
    slot: str
    terms: str
    terms_digest: str
    target_digest: str
    raw_digest: str
    content_digest: str
    content_fields: Mapping[str, str]
    summary: str | None
    lifetime: timedelta
    earlier_slots: Sequence[str] = ()

    @classmethod
    def again(cls, revision: Revision, *, prefix: str, lifetime: timedelta) -> Asked:
        """What a revision keeps of its ask, to be asked once more. It was read in full."""
        operation = revision.operation
        return cls(
            action=operation.action,
            prefix=prefix,
            interface=operation.interface,
            owner=operation.owner,
            conversation=operation.conversation,
            slot=operation.slot or "",
            content_fields=json.loads(revision.content_fields),
            lifetime=lifetime,
            **{name: getattr(revision, name) for name in AS_ASKED},
        )


def return_operation(asked: Asked, now: datetime) -> Revision | None:
    """Store a new operation with its first revision; ``None`` if its slot is taken.

    Also ``None`` if an operation of the same action is in the slot of an earlier key, which no
    constraint of the database can tell.
    """

    def write() -> Revision | None:
        if asked.earlier_slots and _is_in_one_of(asked.earlier_slots):
            return None
        operation = Operation(
            operation_id=new_operation_id(asked.prefix),
            action=asked.action,
            interface=asked.interface,
            client_id=asked.owner.client_id,
            user_id=asked.owner.user_id,
            account=asked.owner.account,
            owner_digest=asked.owner.digest,
            conversation=asked.conversation,
            slot=asked.slot,
            attempt=new_attempt(),
            revision_count=1,
            created_at=now,
        )
        insert(operation)
        return _store_revision(asked, operation, number=1, now=now)

    return _returned(write)


def _is_in_one_of(slots: Sequence[str]) -> bool:
    return Operation.objects.using(write_alias()).filter(slot__in=slots).exists()


def return_revision(asked: Asked, operation: Operation, now: datetime) -> Revision | None:
    """Store a further revision of an operation; ``None`` if another came first."""
    number = operation.revision_count + 1

    def write() -> Revision | None:
        counted = _COUNT.rows(
            id=operation.pk, counted=operation.revision_count, revision_count=number
        )
        return _store_revision(asked, operation, number, now) if counted else None

    return _returned(write)


def _count() -> Change:
    of = partial(given, Operation)
    counted = Operation.objects.filter(id=of("id"), revision_count=of("revision_count", "counted"))
    return Change(
        counted.exclude(state=Operation.State.PERFORMED), {"revision_count": of("revision_count")}
    )


_COUNT = Changing(_count)


def _returned(write: Callable[[], Revision | None]) -> Revision | None:
    try:
        revision = durably(write)
    except IntegrityError:
        return None
    if revision is not None:
        tell(operation_returned, operation=revision.operation, revision=revision)
    return revision


def _store_revision(asked: Asked, operation: Operation, number: int, now: datetime) -> Revision:
    by_reference = interface_called(asked.interface).told_by_reference
    expires_at = (now + asked.lifetime).replace(microsecond=0)
    revision = Revision(
        operation=operation,
        revision=new_revision(
            owner=operation.owner_digest,
            operation_id=operation.operation_id,
            terms_digest=asked.terms_digest,
            content_digest=asked.content_digest,
            expires_at=epoch(expires_at),
        ),
        number=number,
        ref=new_ref() if by_reference else None,
        watch=new_watch() if by_reference else None,
        content_fields=json.dumps(asked.content_fields),
        returned_at=now,
        expires_at=expires_at,
        lifetime_s=int(asked.lifetime.total_seconds()),
        # An agent that is told a reference sees the terms when it looks up the operation.
        looked_up_at=None if by_reference else now,
        **{name: getattr(asked, name) for name in AS_ASKED},
    )
    insert(revision)
    return revision


def mark_looked_up(revision: Revision, now: datetime) -> None:
    """Note that the agent has seen the terms, so that the revision does not give way to others."""
    _LOOK_UP.rows(id=revision.pk, looked_up_at=now)


_LOOK_UP = Changing(
    lambda: Change(
        Revision.objects.filter(id=given(Revision, "id"), looked_up_at=None),
        {"looked_up_at": given(Revision, "looked_up_at")},
    )
)


def give_way(revision: Revision) -> bool:
    """Delete a revision that nobody ever looked up, and its operation if no revision is left.

    False if somebody just looked the revision up, or it is gone.
    """
    operation = revision.operation
    unseen = Revision.objects.filter(pk=revision.pk, looked_up_at=None).filter(
        ~Exists(Approval.objects.filter(recorded_for=OuterRef("pk")))
    )
    empty = Operation.objects.filter(
        pk=operation.pk, state=Operation.State.OPEN, revision_count=operation.revision_count
    ).filter(~Exists(Revision.objects.filter(operation=OuterRef("pk"))))

    def write() -> bool:
        # One statement for each, which looks and deletes: delete() would look first. If another row
        # came to belong to a deleted one in the meantime, the commit fails.
        gone = unseen._raw_delete(write_alias())  # noqa: SLF001  nothing public does it
        if gone:
            empty._raw_delete(write_alias())  # noqa: SLF001  as above
        return bool(gone)

    try:
        return durably(write)
    except IntegrityError:
        return False

"""Who asked for what, on which terms, and what became of it."""

from __future__ import annotations

import uuid
from typing import ClassVar

from django.db import models
from django.utils.translation import gettext_lazy as _

from poppy_operations.models.instants import InstantField
from poppy_operations.models.lengths import (
    ACTION_LENGTH,
    DIGEST_LENGTH,
    ID_LENGTH,
    NAME_LENGTH,
    URL_LENGTH,
)
from poppy_operations.models.shown import ShownByKey
from poppy_operations.protocol.owner import Owner


class Operation(models.Model):
    """One action of one owner, performed at most once (3, 7)."""

    class Interface(models.TextChoices):
        """The interface that returned the operation; its approval comes back there (6)."""

        WEBSITE = "website", _("website")
        API = "api", _("API")
        MCP = "mcp", _("MCP")
        CONVERSATION = "conversation", _("conversation")
        REVIEW = "review", _("review")

    class State(models.TextChoices):
        """The state of an operation. With an unknown outcome it is ``performing``, with a date."""

        OPEN = "open", _("open")
        PERFORMING = "performing", _("performing")
        PERFORMED = "performed", _("performed")

    class Effects(models.TextChoices):
        """What the current attempt reaches, as the action declared when the attempt began."""

        DATABASE = "database", _("database")
        EXTERNAL = "external", _("external")

    operation_id = models.CharField(_("operation ID"), max_length=64)
    action = models.CharField(_("action"), max_length=ACTION_LENGTH)
    interface = models.CharField(_("interface"), max_length=12, choices=Interface.choices)
    client_id = models.CharField(_("client ID"), max_length=URL_LENGTH, null=True, blank=True)
    user_id = models.CharField(_("User ID"), max_length=ID_LENGTH, null=True, blank=True)
    account = models.CharField(_("account"), max_length=ID_LENGTH, null=True, blank=True)
    owner_digest = models.CharField(max_length=DIGEST_LENGTH, editable=False)
    conversation = models.CharField(_("conversation"), max_length=ID_LENGTH, blank=True)
    slot = models.CharField(max_length=DIGEST_LENGTH, null=True, blank=True, editable=False)
    state = models.CharField(_("state"), max_length=10, choices=State.choices, default=State.OPEN)
    revision_count = models.PositiveIntegerField(_("revisions"), default=0)
    created_at = InstantField(_("first returned at"))

    # The current attempt.
    attempt = models.CharField(max_length=32, editable=False)
    approval = models.ForeignKey(
        "Approval",
        # Begin updates the operation before it inserts an API's approval: the other order
        # deadlocks on MariaDB, where the insert locks the row that the update wants.
        db_constraint=False,
        db_index=False,
        on_delete=models.DO_NOTHING,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("approval in use"),
    )
    effects = models.CharField(_("effects"), max_length=10, choices=Effects.choices, blank=True)
    lease_s = models.PositiveIntegerField(_("lease in seconds"), default=0)
    lease_until = InstantField(_("lease until"), null=True, blank=True)
    enqueued_at = InstantField(null=True, blank=True, editable=False)
    started_at = InstantField(_("started at"), null=True, blank=True)
    outcome_unknown_since = InstantField(_("outcome unknown since"), null=True, blank=True)

    # What a worker's last attempt said if it did nothing: the answer to one repeat.
    refusal = models.TextField(null=True, blank=True, editable=False)
    barred_keys = models.PositiveSmallIntegerField(
        _("barred idempotency keys"),
        default=0,
        help_text=_("Attempts that reconcile found not performed; the outside refuses their keys."),
    )

    class Meta:
        verbose_name = _("operation")
        verbose_name_plural = _("operations")
        permissions: ClassVar = [("settle_operation", "Can settle an unknown outcome")]
        # On PostgreSQL, unique=True of a text adds an index for LIKE, which nobody needs.
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["operation_id"], name="poppy_operation_id"),
            models.UniqueConstraint(fields=["slot"], name="poppy_operation_slot"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["owner_digest", "state"], name="poppy_operation_owner"),
            models.Index(fields=["state", "lease_until"], name="poppy_operation_lease"),
            models.Index(fields=["created_at"], name="poppy_operation_created"),
            # What operators ask: what was this agent given, or asked for in this account?
            models.Index(fields=["action"], name="poppy_operation_action"),
            models.Index(fields=["client_id"], name="poppy_operation_agent"),
            models.Index(fields=["account"], name="poppy_operation_account"),
        ]

    def __str__(self) -> str:
        return self.operation_id

    @property
    def idempotency_key(self) -> str:
        """The key for whatever an attempt calls outside.

        It is the ``operation_id``, until reconcile says that an attempt was not performed: the
        outside then refuses its key for ever, and the next attempt has another.
        """
        number = self.barred_keys
        return f"{self.operation_id}-{number + 1}" if number else self.operation_id

    @property
    def owner(self) -> Owner:
        """Who can approve the operation (3)."""
        return Owner(self.client_id, self.user_id, self.account)


class Revision(ShownByKey, models.Model):
    """One set of terms of an operation, which never changes (3)."""

    operation = models.ForeignKey(
        Operation, on_delete=models.CASCADE, related_name="revisions", verbose_name=_("operation")
    )
    revision = models.CharField(_("revision"), max_length=64)
    number = models.PositiveIntegerField(_("number"))
    ref = models.CharField(max_length=64, null=True, blank=True, editable=False)
    watch = models.CharField(max_length=64, null=True, blank=True, editable=False)
    terms = models.TextField(_("terms"))
    terms_digest = models.CharField(max_length=DIGEST_LENGTH, editable=False)
    target_digest = models.CharField(max_length=DIGEST_LENGTH, editable=False)
    raw_digest = models.CharField(max_length=DIGEST_LENGTH, editable=False)
    content_digest = models.CharField(max_length=DIGEST_LENGTH, editable=False)
    content_fields = models.TextField(editable=False, default="{}")
    summary = models.TextField(_("summary"), null=True, blank=True)
    returned_at = InstantField(_("returned at"))
    expires_at = InstantField(_("expires at"))
    lifetime_s = models.PositiveIntegerField(_("lifetime in seconds"))
    looked_up_at = InstantField(_("looked up at"), null=True, blank=True)
    retired_at = InstantField(_("retired at"), null=True, blank=True)

    class Meta:
        verbose_name = _("revision")
        verbose_name_plural = _("revisions")
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["operation", "number"], name="poppy_revision_number"),
            models.UniqueConstraint(fields=["revision"], name="poppy_revision"),
            models.UniqueConstraint(fields=["ref"], name="poppy_revision_ref"),
            models.UniqueConstraint(fields=["watch"], name="poppy_revision_watch"),
        ]
        indexes: ClassVar = [models.Index(fields=["expires_at"], name="poppy_revision_expires")]

    def __str__(self) -> str:
        return self.revision


class Approval(models.Model):
    """An agent's statement that one revision is approved, or a person's in review (5, 8.1)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    operation = models.ForeignKey(
        Operation, on_delete=models.CASCADE, related_name="approvals", verbose_name=_("operation")
    )
    revision = models.ForeignKey(
        Revision, on_delete=models.CASCADE, related_name="approvals", verbose_name=_("revision")
    )
    recorded_for = models.OneToOneField(
        Revision,
        on_delete=models.CASCADE,
        related_name="record",
        null=True,
        blank=True,
        editable=False,
        help_text=_("Set where an approval waits for a request: at most one for a revision."),
    )
    approver = models.CharField(_("approver, as stated"), max_length=10)
    approved_at = models.BigIntegerField(
        _("approved at, as stated (Unix seconds)"), null=True, blank=True
    )
    input_type = models.CharField(_("input type, as stated"), max_length=ID_LENGTH, blank=True)
    reference = models.CharField(
        _("agent's reference, as stated"), max_length=ID_LENGTH, blank=True
    )
    sid = models.CharField(_("Session ID"), max_length=ID_LENGTH, blank=True)
    person = models.CharField(_("reviewer"), max_length=ID_LENGTH, blank=True)
    received_at = InstantField(_("received at"))
    voided_at = InstantField(_("voided at"), null=True, blank=True)
    voided_by = models.CharField(_("voided by"), max_length=ID_LENGTH, blank=True)
    voided_because = models.TextField(_("voided because"), blank=True)

    class Meta:
        verbose_name = _("approval")
        verbose_name_plural = _("approvals")
        permissions: ClassVar = [("void_approval", "Can void an unused approval")]
        indexes: ClassVar = [models.Index(fields=["reference"], name="poppy_approval_reference")]

    def __str__(self) -> str:
        return str(self.id)


class Decline(models.Model):
    """The Company's refusal of a valid approval; it never counts as an approval (6)."""

    operation = models.ForeignKey(
        Operation, on_delete=models.CASCADE, related_name="declines", verbose_name=_("operation")
    )
    revision = models.ForeignKey(
        Revision, on_delete=models.CASCADE, related_name="declines", verbose_name=_("revision")
    )
    approver = models.CharField(_("approver, as stated"), max_length=10)
    reason = models.TextField(_("reason"), null=True, blank=True)
    alternative = models.TextField(_("alternative"), null=True, blank=True)
    rule = models.CharField(_("rule"), max_length=NAME_LENGTH)
    sid = models.CharField(_("Session ID"), max_length=ID_LENGTH, blank=True)
    declined_at = InstantField(_("declined at"))

    class Meta:
        verbose_name = _("decline")
        verbose_name_plural = _("declines")
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["operation", "revision", "approver"], name="poppy_decline_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.operation}: {self.approver}"


class Performance(models.Model):
    """The record that an operation was performed, once, and the answer to give again (7)."""

    class How(models.TextChoices):
        """How the Company came to know that it was performed."""

        FINISHED = "finished", _("finished")
        LATE = "late", _("finished after its attempt had been given up")
        RECONCILED = "reconciled", _("reconciled")
        SETTLED = "settled", _("settled by a person")

    operation = models.OneToOneField(
        Operation, on_delete=models.CASCADE, related_name="performance", verbose_name=_("operation")
    )
    revision = models.ForeignKey(
        Revision, on_delete=models.CASCADE, related_name="+", verbose_name=_("revision")
    )
    approval = models.ForeignKey(
        Approval, on_delete=models.CASCADE, related_name="+", verbose_name=_("approval")
    )
    attempt = models.CharField(max_length=32, editable=False)
    how = models.CharField(_("how"), max_length=10, choices=How.choices, default=How.FINISHED)
    status = models.PositiveSmallIntegerField(_("status"))
    headers = models.TextField(_("headers"), default="[]")
    body = models.BinaryField(null=True, blank=True, editable=False)
    finished_at = InstantField(_("finished at"))

    class Meta:
        verbose_name = _("performance")
        verbose_name_plural = _("performances")

    def __str__(self) -> str:
        return f"{self.operation}: {self.status}"


class Settlement(models.Model):
    """Who ended an unknown outcome, how, when and why; kept beside the operation (7)."""

    class Outcome(models.TextChoices):
        """What became of the attempt."""

        PERFORMED = "performed", _("performed")
        NOT_PERFORMED = "not_performed", _("not performed")

    operation = models.ForeignKey(
        Operation, on_delete=models.CASCADE, related_name="settlements", verbose_name=_("operation")
    )
    attempt = models.CharField(max_length=32, editable=False)
    outcome = models.CharField(_("outcome"), max_length=14, choices=Outcome.choices)
    settled_by = models.CharField(_("settled by"), max_length=ID_LENGTH)
    because = models.TextField(_("because"), blank=True)
    settled_at = InstantField(_("settled at"))
    # Copies of what the operation said of the attempt, which it no longer says after its end.
    started_at = InstantField(_("started at"), null=True, blank=True)
    unknown_since = InstantField(_("outcome unknown since"), null=True, blank=True)

    class Meta:
        verbose_name = _("settlement")
        verbose_name_plural = _("settlements")

    def __str__(self) -> str:
        return f"{self.operation}: {self.outcome}"

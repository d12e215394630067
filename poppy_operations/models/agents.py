"""The Personal Agents that a Company accepts, and the browsers that they join."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils.translation import gettext_lazy as _

from poppy_operations.models.instants import InstantField
from poppy_operations.models.lengths import (
    DIGEST_LENGTH,
    ID_LENGTH,
    NAME_LENGTH,
    RETURN_TO_LENGTH,
    URL_LENGTH,
)
from poppy_operations.models.shown import ShownByKey


class Agent(models.Model):
    """A Personal Agent on the allow-list; revoking it is the Company's kill switch (8.1)."""

    class Status(models.TextChoices):
        """Whether the agent's Sessions are accepted."""

        ALLOWED = "allowed", _("allowed")
        REVOKED = "revoked", _("revoked")

    client_id = models.CharField(_("client ID"), max_length=URL_LENGTH, unique=True)
    name = models.CharField(_("name"), max_length=NAME_LENGTH, blank=True)
    jwks_uri = models.CharField(
        _("JWKS URI"),
        max_length=URL_LENGTH,
        blank=True,
        help_text=_("Empty: the keys were given when the agent was added."),
    )
    jwks = models.TextField(_("key set"), blank=True)
    keys_loaded_at = InstantField(_("keys loaded at"), null=True, blank=True)
    keys_tried_at = InstantField(_("keys tried at"), null=True, blank=True)
    keys_failing_since = InstantField(_("keys failing since"), null=True, blank=True)
    status = models.CharField(
        _("status"), max_length=10, choices=Status.choices, default=Status.ALLOWED
    )
    revoked_at = InstantField(_("revoked at"), null=True, blank=True)
    created_at = InstantField(_("added at"), auto_now_add=True)

    class Meta:
        verbose_name = _("Personal Agent")
        verbose_name_plural = _("Personal Agents")

    def __str__(self) -> str:
        return self.name or self.client_id


class Join(ShownByKey, models.Model):
    """A browser joined to a Session, from its ticket to its end (core profile, browser join)."""

    agent = models.ForeignKey(
        Agent, on_delete=models.CASCADE, related_name="joins", verbose_name=_("Personal Agent")
    )
    ticket_digest = models.CharField(max_length=DIGEST_LENGTH, unique=True, editable=False)
    ticket_expires_at = InstantField(_("ticket expires at"))
    user_id = models.CharField(_("User ID"), max_length=ID_LENGTH)
    account = models.CharField(_("account"), max_length=ID_LENGTH, null=True, blank=True)
    sid = models.CharField(_("Session ID"), max_length=ID_LENGTH)
    declared = models.BooleanField(_("declared operations"), default=False)
    return_to = models.CharField(max_length=RETURN_TO_LENGTH, blank=True, editable=False)
    cookie_name = models.CharField(max_length=NAME_LENGTH, blank=True, editable=False)
    cookie_digest = models.CharField(max_length=DIGEST_LENGTH, blank=True, editable=False)
    created_at = InstantField(_("created at"))
    redeemed_at = InstantField(_("redeemed at"), null=True, blank=True)
    session_key_digest = models.CharField(
        max_length=DIGEST_LENGTH, null=True, blank=True, editable=False
    )
    gave_login = models.BooleanField(_("gave a login"), default=False)
    expires_at = InstantField(_("expires at"))
    ended_at = InstantField(_("ended at"), null=True, blank=True)
    ended_because = models.CharField(_("ended because"), max_length=40, blank=True)

    class Meta:
        verbose_name = _("browser join")
        verbose_name_plural = _("browser joins")
        indexes: ClassVar = [
            models.Index(fields=["session_key_digest"], name="poppy_join_session_key"),
            models.Index(fields=["expires_at"], name="poppy_join_expires"),
        ]

    def __str__(self) -> str:
        return self.sid

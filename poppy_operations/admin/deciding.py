"""What a person decides about an operation: the forms, and which approvals can still be used."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from poppy_operations.conf import conf
from poppy_operations.declarations.outcomes import Performed
from poppy_operations.gate.revisions import usable
from poppy_operations.models import Approval, Operation, Settlement
from poppy_operations.models.databases import write_alias
from poppy_operations.protocol.interfaces import interface_called

OUTCOMES = [
    (Settlement.Outcome.PERFORMED, _("It was performed")),
    (Settlement.Outcome.NOT_PERFORMED, _("It was not performed, and this attempt is over")),
]


def unused_approvals(operation: Operation, now: datetime) -> Sequence[Approval]:
    """Find the approvals that could still be used, were the operation open. One query."""
    return list(
        Approval.objects.using(write_alias())
        .select_related("revision")
        .filter(usable(now), operation=operation)
        .order_by("received_at")
    )


class BecauseForm(forms.Form):
    """Why something is decided, which is kept beside the decision."""

    because = forms.CharField(
        label=_("Why"),
        widget=forms.Textarea(attrs={"rows": 3, "cols": 60}),
        help_text=_("Kept with your name and the time. The agent does not see it."),
    )


class AnswerField(forms.JSONField):
    """JSON that may be left out, and then stays empty."""

    def prepare_value(self, value: Any) -> Any:
        """Show an empty field if there is no answer."""
        return None if value is None else super().prepare_value(value)


class SettleForm(BecauseForm):
    """What became of one attempt. It names the attempt, so that it judges no other one."""

    attempt = forms.CharField(widget=forms.HiddenInput)
    outcome = forms.ChoiceField(
        label=_("What became of it"), choices=OUTCOMES, widget=forms.RadioSelect
    )
    status = forms.IntegerField(
        label=_("HTTP status of the answer"),
        required=False,
        min_value=200,
        max_value=299,
        initial=200,
    )
    answer = AnswerField(
        label=_("Answer"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 4, "cols": 60, "spellcheck": "false"}),
        help_text=_(
            "If it was performed: what every repeat of the request gets from now on, as a JSON "
            "object, such as the ID of what was made. Empty: a plain statement that it was "
            "performed."
        ),
    )
    void = forms.MultipleChoiceField(
        label=_("If it was not performed: void"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("The agent may have it performed by every approval that you do not void."),
    )

    field_order = ("outcome", "status", "answer", "void", "because")

    def __init__(
        self, *args: Any, operation: Operation, approvals: Iterable[Approval], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        if not interface_called(operation.interface).stores_body:
            # A repeat of the request is told that it is done, and gets no answer again.
            del self.fields["status"], self.fields["answer"]
        choices = [(str(approval.pk), described(approval, operation)) for approval in approvals]
        if choices:
            self.fields["void"].choices = choices  # type: ignore[attr-defined]  # of this field
        else:
            del self.fields["void"]

    def clean_answer(self) -> dict[str, Any] | None:
        """Accept only what an answer can hold."""
        answer = self.cleaned_data["answer"]
        if answer is None:
            return None
        if not isinstance(answer, dict):
            raise ValidationError(gettext("An answer is a JSON object, in braces."))
        try:
            text = json.dumps(answer, allow_nan=False)
        except ValueError as error:
            raise ValidationError(gettext("JSON has neither infinity nor NaN.")) from error
        if len(text) > conf.stored_body_bytes:
            raise ValidationError(gettext("An answer of that length cannot be stored."))
        return answer

    def clean(self) -> dict[str, Any]:
        """Refuse what contradicts itself."""
        data = super().clean() or {}
        if data.get("outcome") == Settlement.Outcome.NOT_PERFORMED:
            if data.get("answer") is not None:
                self.add_error("answer", gettext("If it was not performed, it has no answer."))
        elif data.get("void"):
            self.add_error("void", gettext("If it was performed, there is nothing to void."))
        return data

    def performed(self) -> Performed | None:
        """What the person says; ``None`` if it was not performed."""
        data = self.cleaned_data
        if data["outcome"] == Settlement.Outcome.NOT_PERFORMED:
            return None
        return Performed(data.get("answer"), status=data.get("status") or 200)

    def to_void(self) -> list[UUID]:
        """The approvals to void."""
        return [UUID(key) for key in self.cleaned_data.get("void", ())]


def described(approval: Approval, operation: Operation) -> str:
    """Name an approval for people."""
    words = {
        "number": approval.revision.number,
        "approver": approval.approver,
        "summary": approval.revision.summary or approval.revision.revision,
    }
    if approval.pk == operation.approval_id:
        return gettext("this attempt's approval of terms %(number)d: %(summary)s") % words
    return gettext("approval of terms %(number)d by %(approver)s: %(summary)s") % words

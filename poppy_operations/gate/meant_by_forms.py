"""What a form or formset made of a request's fields (check 3).

A field that the request did not send is no content, whatever value the form has for it. All that
was sent counts: by the cleaned value if it was made of every value sent, else as it was sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.forms.widgets import MultipleHiddenInput

from poppy_operations.gate.ignoring import within, without
from poppy_operations.gate.meaning import MISSING, is_nothing, meant
from poppy_operations.gate.parts import MEANT, Part, sent_parts
from poppy_operations.protocol.content import FileContent, canonical_content


def form_parts(form: Any, raw: Any, *, is_form: bool, ignore: Sequence[str]) -> dict[Part, str]:
    """The parts of a request's content, by the cleaned values of a form or formset.

    A formset's management form is in no cleaned value, yet it tells changed rows from new ones: it
    is compared as it was sent.
    """
    if not isinstance(raw, Mapping):
        return sent_parts(raw)
    parts, rest = {}, dict(raw)
    for one in form.forms if hasattr(form, "management_form") else [form]:
        for bound in one:
            names = _sent_names(bound, raw, is_form=is_form)
            value = _cleaned_value(one, bound, [raw[name] for name in names], ignore)
            if not names or value is MISSING:
                continue
            for name in names:
                rest.pop(name, None)
            if value is not None:
                parts[MEANT, bound.html_name] = canonical_content(value)
    return parts | sent_parts(rest)


def _sent_names(bound: Any, raw: Mapping[str, Any], *, is_form: bool) -> list[str]:
    """The names under which something was sent for a field; none unless it looks at all of it.

    A disabled field looks at none of it: it has its initial value, whatever was sent.
    """
    if bound.field.disabled:
        return []
    sent = [
        (name, widget)
        for name, widget in _widgets(bound.field.widget, bound.html_name)
        if name in raw
    ]
    if is_form and not all(_reads_all(widget, raw[name]) for name, widget in sent):
        return []
    return [name for name, _ in sent]


def _widgets(widget: Any, name: str) -> Iterator[tuple[str, Any]]:
    if hasattr(widget, "widgets_names"):
        for part, suffix in zip(widget.widgets, widget.widgets_names, strict=True):
            yield from _widgets(part, name + suffix)
    elif hasattr(widget, "year_field"):
        for part in (widget.year_field, widget.month_field, widget.day_field):
            yield part % name, widget
    else:
        yield name, widget


def _reads_all(widget: Any, values: Sequence[Any]) -> bool:
    """Whether a widget reads each value; most read only the last, and only a file or only text."""
    reads_lists = getattr(widget, "allow_multiple_selected", False)
    if len(values) > 1 and not (reads_lists or isinstance(widget, MultipleHiddenInput)):
        return False
    return all(isinstance(value, FileContent) is widget.needs_multipart_form for value in values)


def _cleaned_value(form: Any, bound: Any, sent: Sequence[Any], ignore: Sequence[str]) -> Any:
    """What a field's values came to: ``None`` if that is as if nothing had been sent."""
    if bound.name in ignore or bound.html_name in ignore:
        return None
    value = getattr(form, "cleaned_data", {}).get(bound.name, MISSING)
    # If nothing was sent, not even a blank, a model's form leaves a row's own default.
    if is_nothing(value) and is_nothing(sent) and not hasattr(form, "instance"):
        return None
    return value if value is MISSING else meant(sent, without(value, within(ignore, bound.name)))

"""What a serializer made of a request's members (check 3).

Django REST framework is optional and stays behind its doors: serializers and their fields are
recognised by their attributes and by the names of their classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from poppy_operations.gate.ignoring import within, without
from poppy_operations.gate.meaning import MISSING, meant, sent_values
from poppy_operations.gate.parts import MEANT, WHOLE, Part, sent_parts
from poppy_operations.protocol.content import canonical_content

# If a form was sent, these fields read all of their values; other fields read the last.
_READ_LISTS = ("ListField", "MultipleChoiceField", "ManyRelatedField")


def serializer_parts(
    serializer: Any, raw: Any, *, is_form: bool, ignore: Sequence[str]
) -> dict[Part, str]:
    """The parts of a request's content, by the validated values of a serializer.

    If a form was sent, nested members have long names of their own: they are compared as sent.
    """
    values = serializer.validated_data
    if hasattr(serializer, "child"):
        whole = MISSING if is_form else _meant(serializer, raw, values, ignore)
        return sent_parts(raw) if whole is MISSING else {(WHOLE, MEANT): canonical_content(whole)}
    if not isinstance(raw, Mapping):
        return sent_parts(raw)
    parts, rest = {}, {}
    for name, sent in raw.items():
        field = serializer.fields.get(name)
        read = _read_values(field, sent) if is_form else sent
        value = MISSING if read is MISSING else _member(field, read, values, ignore)
        if value is MISSING:
            rest[name] = sent
        elif value is not None:
            parts[MEANT, name] = canonical_content(value)
    return parts | sent_parts(rest)


def _read_values(field: Any, sent: Sequence[Any]) -> Any:
    """What a field reads of a form's values; ``MISSING`` if that is not all of them."""
    if _is(field, *_READ_LISTS):
        return list(sent)
    return sent[0] if len(sent) == 1 and not _is_composite(field) else MISSING


def _member(field: Any, sent: Any, values: Any, ignore: Sequence[str]) -> Any:
    """What a member came to; ``None`` if it is as if the member had not been sent.

    A hidden field has its default, whatever was sent.
    """
    if field is None or field.read_only or _is(field, "HiddenField"):
        return MISSING
    name, source = field.field_name, field.source
    if name in ignore or source in ignore:
        return None
    value = _field_value(field, values)
    if value is MISSING:
        return MISSING
    if _is_default(field, sent, value):
        return None
    return _meant(field, sent, value, [*within(ignore, name), *within(ignore, source)])


def _field_value(field: Any, values: Any) -> Any:
    """Where a field's value is: it may be renamed, nested, or spread over those beside it."""
    if field.source == "*":
        return values if hasattr(field, "fields") else MISSING
    for name in field.source_attrs:
        if not isinstance(values, Mapping) or name not in values:
            return MISSING
        values = values[name]
    return values


def _is_default(field: Any, sent: Any, value: Any) -> bool:
    """Whether the field's default itself was sent. A computed one may differ each time."""
    default = getattr(field, "default", None)
    if callable(default) or default is None or getattr(field.root, "partial", False):
        return False
    text = canonical_content(default)
    is_sent = str(sent).strip() == str(default) or canonical_content(sent) == text
    return is_sent and canonical_content(value) == text


def _meant(field: Any, sent: Any, value: Any, ignore: Sequence[str]) -> Any:
    if not _is_composite(field) or (sent is None and value is None):
        return meant(sent, without(value, ignore))
    if hasattr(field, "fields"):
        if not isinstance(sent, Mapping):
            return MISSING
        return _meant_members(field, sent, value, ignore)
    return _items(field.child, sent, value, ignore)


def _meant_members(
    serializer: Any, sent: Mapping[Any, Any], values: Any, ignore: Sequence[str]
) -> Any:
    members = {}
    for name, member in sent.items():
        value = _member(serializer.fields.get(name), member, values, ignore)
        if value is not None:
            members[name] = sent_values(member) if value is MISSING else value
    return members


def _items(child: Any, sent: Any, values: Any, ignore: Sequence[str]) -> Any:
    """The values item by item; ``MISSING`` if there are not as many as were sent."""
    if isinstance(sent, Mapping) and isinstance(values, Mapping) and sent.keys() == values.keys():
        return {name: _item(child, sent[name], values[name], ignore) for name in sent}
    if isinstance(sent, list) and isinstance(values, list) and len(sent) == len(values):
        return [_item(child, *pair, ignore) for pair in zip(sent, values, strict=True)]
    return MISSING


def _item(child: Any, sent: Any, value: Any, ignore: Sequence[str]) -> Any:
    found = _meant(child, sent, value, ignore)
    return sent_values(sent) if found is MISSING else found


def _is_composite(field: Any) -> bool:
    child = getattr(field, "child", None)
    return hasattr(field, "fields") or (child is not None and _is_composite(child))


def _is(field: Any, *names: str) -> bool:
    return any(kind.__name__ in names for kind in type(field).__mro__)

"""What a request asks for, compared by meaning and never by bytes (check 3)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.utils.encoding import force_bytes

from poppy_operations.protocol.canonical import keyed_digest
from poppy_operations.protocol.content import DEEPEST_CONTENT, canonical_content

MOST_FIELDS = 200


def keyed_digests(text: str) -> list[str]:
    """The digest under the current key and under each of its fallbacks.

    Keyed, since contents may hold PINs and passwords that a plain digest would let be guessed.
    """
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    return [keyed_digest(text, force_bytes(key)) for key in keys]


@dataclass(frozen=True)
class RequestContent:
    """One request: its target, and its query and body by value, without what does not matter.

    Its door builds it, from an HTTP request or from whatever else asks there.
    """

    target: Mapping[str, Any]
    query: Mapping[str, Any]
    body: Any

    @property
    def target_text(self) -> str:
        """Action, method, host, route and arguments (RFC 9110, 7.1)."""
        return canonical_content(self.target)

    @property
    def raw_text(self) -> str:
        """The whole request by value, known before the site has validated it."""
        return canonical_content([self.target, self.query, self.body])

    def meaning_text(self, content: Any, ignore: Sequence[str] = ()) -> str:
        """The whole request by meaning: validated values, and the members they do not cover."""
        if content is None:
            return self.raw_text
        values = without(plain(_validated(content)), ignore)
        return canonical_content([self.target, self.query, values, _unknown(content, self.body)])

    def field_digests(self) -> dict[str, str]:
        """A short digest for each field, by which a difference can be named, never shown."""
        named = [(f"query {name}", value) for name, value in self.query.items()]
        if isinstance(self.body, Mapping):
            named += [(str(name), value) for name, value in self.body.items()]
        else:
            named.append(("body", self.body))
        named.append(("target", self.target))
        return {
            name: keyed_digests(canonical_content(value))[0][:16]
            for name, value in named[:MOST_FIELDS]
        }

    def differing_fields(self, stored: str) -> tuple[str, ...]:
        """The names of the fields whose values are not those of a stored revision."""
        before: dict[str, str] = json.loads(stored)
        now = self.field_digests()
        names = sorted(before.keys() | now.keys())
        return tuple(name for name in names if before.get(name) != now.get(name))


def file_content(upload: UploadedFile[Any]) -> dict[str, Any]:
    """What an upload is compared by: its name, type and contents."""
    contents = hashlib.sha256()
    for chunk in upload.chunks():  # From the beginning, wherever the site has read to.
        contents.update(chunk)
    upload.seek(0)
    return {
        "file": upload.name,
        "type": upload.content_type,
        "size": upload.size,
        "digest": contents.hexdigest(),
    }


def plain(value: Any, depth: int = 0) -> Any:
    """Values of forms and serializers with their uploads replaced by what those contain."""
    if isinstance(value, UploadedFile):
        return file_content(value)
    if depth > DEEPEST_CONTENT:
        return value  # Too deep to be compared: canonical_content makes it equal to nothing.
    if isinstance(value, Mapping):
        return {str(name): plain(item, depth + 1) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, depth + 1) for item in value]
    return value


def _validated(content: Any) -> Any:
    for name in ("cleaned_data", "validated_data"):
        values = getattr(content, name, None)
        if values is not None:
            return values
    message = "Terms(content=…) takes a bound and valid form or serializer."
    raise TypeError(message)


def _unknown(content: Any, raw: Any) -> Any:
    """The members of the raw content that the form or serializer does not look at.

    They must not ride along under an approval, whatever the view makes of them.
    """
    if hasattr(content, "cleaned_data"):
        if not isinstance(raw, Mapping):
            return raw
        known = _names(content)
        return {name: value for name, value in raw.items() if name not in known}
    return _unknown_to(content, raw)


def _names(form: Any) -> set[str]:
    """The raw fields that a form, or a formset, looks at; all others it does not know.

    What a formset's management form says is in no validated value, yet it parts what is changed
    from what is created. A disabled field has its initial value, whatever was sent.
    """
    if hasattr(form, "management_form"):
        return set().union(*map(_names, form.forms))
    return {
        name
        for bound in form
        if not bound.field.disabled
        for name in _widget_names(bound.field.widget, bound.html_name)
    }


def _widget_names(widget: Any, name: str) -> Iterator[str]:
    if hasattr(widget, "widgets_names"):
        for part, suffix in zip(widget.widgets, widget.widgets_names, strict=True):
            yield from _widget_names(part, name + suffix)
    elif hasattr(widget, "year_field"):
        for part in (widget.year_field, widget.month_field, widget.day_field):
            yield part % name
    else:
        yield name


def _unknown_to(field: Any, raw: Any) -> Any:
    """What a serializer, or a field of one, does not look at; ``None`` if it looks at it all."""
    if hasattr(field, "child"):
        return _unknown_to_each(field.child, raw)
    if not hasattr(field, "fields"):
        return None
    if not isinstance(raw, Mapping):
        return raw  # A form's: there the members of what is nested have long names of their own.
    unknown: dict[str, Any] = {}
    for name, value in raw.items():
        declared = field.fields.get(name)
        if declared is None or declared.read_only or _is_hidden(declared):
            unknown[name] = value
        elif (nested := _unknown_to(declared, value)) is not None:
            unknown[name] = nested
    return unknown or None


def _is_hidden(field: Any) -> bool:
    """Whether it is a ``HiddenField``, which has its default, whatever was sent.

    By its name, since Django REST framework is optional and stays behind its doors.
    """
    return any(kind.__name__ == "HiddenField" for kind in type(field).__mro__)


def _unknown_to_each(child: Any, raw: Any) -> Any:
    if not isinstance(raw, Mapping | list):
        return None
    items = raw.items() if isinstance(raw, Mapping) else enumerate(raw)
    unknown = {place: _unknown_to(child, item) for place, item in items}
    return {place: nested for place, nested in unknown.items() if nested is not None} or None


def without(values: Any, ignore: Sequence[str]) -> Any:
    """Leave out what the site says does not matter: names, or paths like ``client.trace``."""
    for path in ignore:
        values = _cut(values, path.split("."))
    return values


def _cut(values: Any, path: Sequence[str]) -> Any:
    if isinstance(values, list):
        return [_cut(item, path) for item in values]
    if not isinstance(values, Mapping):
        return values
    whole = ".".join(path)
    if whole in values:
        return {name: value for name, value in values.items() if name != whole}
    if path[0] not in values:
        return values
    first, rest = path[0], path[1:]
    return {**values, first: _cut(values[first], rest)}

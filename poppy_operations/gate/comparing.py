"""What a request asks for, compared by meaning and never by bytes (check 3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from poppy_operations.gate.meant_by_forms import form_parts
from poppy_operations.gate.meant_by_serializers import serializer_parts
from poppy_operations.gate.parts import QUERY, TARGET, Part, Parts, sent_parts
from poppy_operations.protocol.content import canonical_content


@dataclass(frozen=True)
class RequestContent:
    """One request: its target, and its query and body by value, without what does not matter.

    A door builds it from its HTTP request, or from whatever it has in place of one. If ``is_form``
    is true, the body is a mapping from each name to the list of its values. ``target_before`` is
    the target as version 0.1.0 described it.
    """

    target: Mapping[str, Any]
    query: Mapping[str, Any]
    body: Any
    is_form: bool = False
    target_before: Callable[[], Mapping[str, Any]] | None = None

    @cached_property
    def target_text(self) -> str:
        """The target as text: action, method, site, path, route and arguments (RFC 9110, 7.1)."""
        return canonical_content(self.target)

    @cached_property
    def sent(self) -> Parts:
        """The whole request by value, known before the site has validated it."""
        return Parts(self._around | sent_parts(self.body))

    def meant(self, content: Any, ignore: Sequence[str] = ()) -> Parts:
        """The whole request by meaning: by what a form or serializer made of what was sent."""
        if content is None:
            return self.sent
        parts_of = _reader_of(content)
        parts = parts_of(content, self.body, is_form=self.is_form, ignore=ignore)
        return Parts(self._around | parts)

    @property
    def _around(self) -> dict[Part, str]:
        return {(TARGET, ""): self.target_text} | sent_parts(self.query, QUERY)


def _reader_of(content: Any) -> Callable[..., dict[Part, str]]:
    if getattr(content, "cleaned_data", None) is not None:
        return form_parts
    if getattr(content, "validated_data", None) is not None:
        return serializer_parts
    message = "Terms(content=…) takes a bound and valid form or serializer."
    raise TypeError(message)

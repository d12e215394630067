"""The exact terms of the action that one request asks for (3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, final

from django.conf import settings
from django.utils import timezone, translation
from django.utils.functional import Promise

from poppy_operations.declarations.arguments import require_flag, require_object, require_text
from poppy_operations.protocol.canonical import canonical_terms, digest, freeze, storable_text


@final
class Each:
    """``same_action=Each``: every ask is an action of its own, even with equal content."""

    def __init__(self) -> None:
        message = "same_action=Each is written without parentheses."
        raise TypeError(message)


def _resolve_for_django(value: object) -> object:
    """Turn what only Django understands into something that terms may hold."""
    if isinstance(value, Promise):
        with translation.override(settings.LANGUAGE_CODE):
            return str(value)
    if isinstance(value, datetime):
        return timezone.make_aware(value)
    return value


def _is_bound(content: object) -> bool:
    """Whether ``content`` is an instance of a form, formset or serializer, and not its class."""
    return not isinstance(content, type) and callable(getattr(content, "is_valid", None))


@dataclass(frozen=True)
class Terms:
    """The exact terms of the action that a request asks for (3).

    ``values`` holds everything that affects the action: what changes, every amount, date,
    recipient and condition. ``summary`` says the same in plain language, enough for the User to
    decide from it alone; it may use basic Markdown. ``needed=False`` says that this request needs
    no approval this time. ``same_action`` is what the site calls one action, such as
    ``(order_id, item_id)``: an ask for the same action with other terms keeps its ``operation_id``.
    By default it is the route, its arguments and the request's content; ``Each`` makes every ask an
    action of its own. ``content`` is a bound and valid form or serializer: two requests are
    compared by its validated values.

    Raises ``TypeError`` if an argument is of another type. The values themselves are checked when
    they are first read.
    """

    values: Mapping[str, object] = field(repr=False)
    _: KW_ONLY
    summary: str | Promise | None = field(default=None, repr=False)
    needed: bool = True
    same_action: object = None
    content: Any = None

    def __post_init__(self) -> None:
        require_object("Terms", self.values)
        require_text("Terms(summary=…)", self.summary)
        require_flag("Terms(needed=…)", self.needed)
        if self.content is not None and not _is_bound(self.content):
            message = "Terms(content=…) is a form or a serializer with the request's data in it."
            raise TypeError(message)

    @cached_property
    def text(self) -> str:
        """The values as canonical JSON.

        Raises ``UnrepresentableTerms``, which names the path, if a value has no exact form in
        JSON.
        """
        return canonical_terms(self.values, resolve=_resolve_for_django)

    @cached_property
    def digest(self) -> str:
        """The digest of the canonical text; equal terms have the same digest."""
        return digest(self.text)

    @property
    def summary_text(self) -> str | None:
        """The summary in the language of the request, as it is stored.

        Raises ``UnrepresentableTerms`` if it holds a character that no database keeps.
        """
        return None if self.summary is None else storable_text(str(self.summary), "summary")

    @cached_property
    def same_action_text(self) -> str:
        """``same_action`` as canonical JSON, in which ``1`` and ``"1"`` differ."""
        return canonical_terms({"same_action": self.same_action}, resolve=_resolve_for_django)


class LazyTerms(Mapping[str, Any]):
    """Terms that are made canonical when they are first read, since most visitors never do."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms

    @cached_property
    def _frozen(self) -> Mapping[str, Any]:
        return freeze(self._terms.text)

    def __getitem__(self, key: str) -> Any:
        return self._frozen[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._frozen)

    def __len__(self) -> int:
        return len(self._frozen)

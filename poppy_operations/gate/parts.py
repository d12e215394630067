"""The parts of a request that are compared one by one, so that a difference can be named."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.conf import settings
from django.utils.encoding import force_bytes

from poppy_operations.gate.uploads import resolved
from poppy_operations.models.lengths import DIGEST_LENGTH
from poppy_operations.protocol.canonical import digest, keyed_digest
from poppy_operations.protocol.content import canonical_content, is_unreadable
from poppy_operations.protocol.owner import Owner

# A request may hold any names: this many are told apart, and this much of each is kept.
MOST_NAMES = 200
LONGEST_NAME = 60
# Kept in place of a digest if the value equals nothing, not even itself.
INCOMPARABLE = "-"

TARGET = "target"
QUERY = "query"
# Of the content: what was sent, what a form or serializer made of it, and what has no fields.
SENT = "sent"
MEANT = "meant"
WHOLE = "body"
FURTHER = "(further fields)"
Part = tuple[str, str]

# Says by which rules a digest was made.
FORM = "2."
SHORT = slice(len(FORM), len(FORM) + 16)


def keyed(text: str, owner: Owner) -> list[str]:
    """The digests of an owner's text: under the current key, and under each of its fallbacks.

    They are keyed since contents may hold PINs and passwords, which can be guessed from a plain
    digest. They hold the owner since otherwise a reader of the rows could guess with requests of
    another owner.
    """
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    digests = [keyed_digest(f"{owner.digest} {text}", force_bytes(key)) for key in keys]
    return [f"{FORM}{digest}"[:DIGEST_LENGTH] for digest in digests]


def keyed_slots(unkeyed: str) -> list[str]:
    """The slots of an operation under the current key, and under each of its fallbacks."""
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    return [keyed_digest(unkeyed, force_bytes(key)) for key in keys]


def is_earlier(stored: str) -> bool:
    """Whether a digest of a request was made by the rules of version 0.1.0."""
    return not stored.startswith(FORM)


def sent_parts(values: Any, place: str = SENT) -> dict[Part, str]:
    """What was sent, by value: member by member if it has members."""
    if not isinstance(values, Mapping) or not all(isinstance(name, str) for name in values):
        return {(WHOLE, ""): canonical_content(values, resolved)}
    names, parts = sorted(values), {}
    if len(names) > MOST_NAMES:
        further = {name: values[name] for name in names[MOST_NAMES:]}
        parts[FURTHER, place] = canonical_content(further, resolved)
    for name in names[:MOST_NAMES]:
        parts[place, name] = canonical_content(values[name], resolved)
    return parts


@dataclass(frozen=True)
class Parts:
    """The texts of a request's parts. Two requests are the same if all of these texts are."""

    texts: Mapping[Part, str]

    @cached_property
    def text(self) -> str:
        """One text for all parts, with their names and the digests of their values."""
        return json.dumps(sorted([*part, digest] for part, digest in self._digests.items()))

    @cached_property
    def _digests(self) -> dict[Part, str]:
        return {part: digest(text) for part, text in self.texts.items()}

    def field_digests(self, owner: Owner) -> list[dict[str, str]]:
        """A short digest for each field, by which a difference can be named without the values.

        One dict for each key; the first is stored.
        """
        fields: list[dict[str, str]] = [{} for _ in keyed("", owner)]
        for label, parts in self._labelled().items():
            text = json.dumps([label, [self._digests[part] for part in parts]])
            incomparable = any(is_unreadable(self.texts[part]) for part in parts)
            for digests, long in zip(fields, keyed(text, owner), strict=True):
                digests[label] = INCOMPARABLE if incomparable else long[SHORT]
        return fields

    def incomparable_fields(self) -> tuple[str, ...]:
        """The names of the fields whose values equal nothing, not even themselves."""
        return tuple(_label(*part) for part, text in self.texts.items() if is_unreadable(text))

    def _labelled(self) -> dict[str, list[Part]]:
        labelled: dict[str, list[Part]] = {}
        for part in sorted(self.texts):
            label = _label(*part)
            if len(labelled) >= MOST_NAMES and label not in labelled and label != TARGET:
                label = FURTHER
            labelled.setdefault(label, []).append(part)
        return labelled

    def differing_fields(self, stored: str, owner: Owner) -> tuple[str, ...]:
        """The names of the fields whose values are not those of a stored revision."""
        before: dict[str, str] = json.loads(stored)
        # Under any other key than the one under which they were stored, all of them differ.
        return min((_differing(before, now) for now in self.field_digests(owner)), key=len)


def _differing(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(
        name
        for name in sorted(before.keys() | now.keys())
        if before.get(name) != now.get(name) or now[name] == INCOMPARABLE
    )


def _label(place: str, name: str) -> str:
    """The name of a part for people. Two parts may share a name: then either of them differs."""
    if place in {TARGET, WHOLE, FURTHER}:
        return place
    shown = name if name.isprintable() else json.dumps(name)
    if len(shown) > LONGEST_NAME:
        shown = f"{shown[:LONGEST_NAME]}… {digest(name)[:8]}"
    return f"query {shown}" if place == QUERY else shown

"""Leaving out values that do not matter, as the site says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from poppy_operations.protocol.plain_json import DEEPEST_CONTENT


def without(values: Any, ignore: Sequence[str]) -> Any:
    """The values without those that ``ignore`` names, or paths like ``client.trace`` lead to."""
    for path in ignore:
        values = _cut(values, path.split("."), 0)
    return values


def _cut(values: Any, path: Sequence[str], depth: int) -> Any:
    if depth > DEEPEST_CONTENT:
        return values  # Too deep to be compared: it equals nothing, not even itself.
    if isinstance(values, list | tuple):
        return [
            _cut(item, path, depth + 1) if isinstance(item, Mapping | list | tuple) else item
            for item in values
        ]
    if not isinstance(values, Mapping):
        return values
    whole = ".".join(path)
    if whole in values:
        return {name: value for name, value in values.items() if name != whole}
    if path[0] not in values:
        return values
    first, rest = path[0], path[1:]
    return {**values, first: _cut(values[first], rest, depth + 1)}


def within(ignore: Sequence[str], name: str) -> list[str]:
    """The paths of what is ignored inside the member of this name."""
    return [path[len(name) + 1 :] for path in ignore if path.startswith(f"{name}.")]

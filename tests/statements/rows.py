"""Rows compared column by column, with what was read beside them."""

from __future__ import annotations

from typing import Any

from django.db import models


def facts(row: models.Model | None) -> dict[str, Any]:
    """Every column of a row that was read, and its model. ``None`` has none."""
    if row is None:
        return {}
    deferred = row.get_deferred_fields()
    names = [field.attname for field in row._meta.concrete_fields]
    assert not row._state.adding
    return {
        "model": type(row),
        "alias": row._state.db,
        **{name: getattr(row, name) for name in names if name not in deferred},
    }


def related(row: models.Model, relation: str) -> models.Model | None:
    """What was read beside a row; asking for it must not ask the database."""
    assert row._meta.get_field(relation).is_cached(row)  # type: ignore[union-attr]  # a relation
    found: models.Model | None = getattr(row, relation, None)
    return found

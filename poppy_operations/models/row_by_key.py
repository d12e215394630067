"""A row of one of the site's own models, by a statement that is made once for each database."""

from __future__ import annotations

from typing import Any, TypeVar

from django.db import connections, models
from django.db.models import QuerySet
from django.db.models.manager import BaseManager

from poppy_operations.models.statements import Columns, Given, Reading, options

R = TypeVar("R", bound=models.Model)
_by_key: dict[type[models.Model], Reading] = {}


def row_by_key(model: type[R], key: object) -> R | None:
    """A row of one of the site's models by its primary key, as its manager gives it.

    Raises what Django raises for a key that is none, such as ``ValueError``.
    """
    manager = model._default_manager  # noqa: SLF001  Django's documented name
    if not _is_plain(manager):
        return manager.filter(pk=key).first()
    field = options(model).pk
    reading = _by_key.get(model)
    if reading is None:
        rows = manager.filter(pk=Given("key", field))
        reading = _by_key[model] = Reading(lambda: rows, Columns(model))
    alias = manager.db
    if not _is_within_range(field, key, connections[alias]):
        return None
    for (row,) in reading.rows_at(alias, key=key):
        found: R = row
        return found
    return None


def _is_plain(manager: Any) -> bool:
    """Whether it gives all rows, whoever asks: a site's own manager may give those of a tenant."""
    return (
        type(manager).get_queryset is BaseManager.get_queryset
        and manager._queryset_class is QuerySet  # noqa: SLF001  what managers are made with
    )


def _is_within_range(field: Any, key: object, connection: Any) -> bool:
    """Whether a database has such a key at all; of integers it may not even take the larger."""
    if field.is_relation:  # as where a model is derived from another one
        field = field.target_field
    if not isinstance(field, models.IntegerField):
        return True
    least, most = connection.ops.integer_field_range(field.get_internal_type())
    number = field.get_prep_value(key)
    return bool((least is None or least <= number) and (most is None or number <= most))

"""Storing a new row by a statement that is made once for each database."""

from __future__ import annotations

from typing import Any

from django.db import connections, models, transaction
from django.db.models.signals import post_save, pre_save

from poppy_operations.models.databases import write_alias
from poppy_operations.models.statements import Place, Text, Texts, options

_inserts: dict[type[models.Model], Texts] = {}


def insert(row: models.Model) -> None:
    """Store a new row, whose key is its own or is made by the database."""
    model, alias = type(row), write_alias()
    if pre_save.has_listeners(model) or post_save.has_listeners(model):
        row.save(using=alias, force_insert=True)  # The site's receivers hear of it, as of any row.
        return
    connection, makes_key = connections[alias], row.pk is None
    texts = _inserts.setdefault(model, Texts())
    text = texts.of(alias, lambda: _insert_text(model, connection, makes_key=makes_key), makes_key)
    values = {place.name: place.field.pre_save(row, add=True) for place in text.places}
    with transaction.mark_for_rollback_on_error(using=alias), connection.cursor() as cursor:
        cursor.execute(text.sql, text.bound(connection, values))
        if makes_key:
            row.pk = _made_key(model, connection, cursor)
    state = row._state  # noqa: SLF001  Django's documented name
    state.adding, state.db = False, alias


def _insert_text(model: type[models.Model], connection: Any, *, makes_key: bool) -> Text:
    quoted, meta = connection.ops.quote_name, options(model)
    fields = [field for field in meta.concrete_fields if field is not meta.pk or not makes_key]
    names = ", ".join(quoted(field.column) for field in fields)
    places = ", ".join(["%s"] * len(fields))
    sql = f"INSERT INTO {quoted(meta.db_table)} ({names}) VALUES ({places})"  # noqa: S608  names of ours
    if makes_key and connection.features.can_return_columns_from_insert:
        sql = f"{sql} RETURNING {quoted(meta.pk.column)}"
    taken = tuple(Place(index, field.attname, field) for index, field in enumerate(fields))
    return Text(sql, (None,) * len(fields), taken)


def _made_key(model: type[models.Model], connection: Any, cursor: Any) -> Any:
    if connection.features.can_return_columns_from_insert:
        return cursor.fetchone()[0]
    meta = options(model)
    return connection.ops.last_insert_id(cursor, meta.db_table, meta.pk.column)

"""Statements whose text is made once for each database.

Django makes the text of a statement anew each time, which takes it several times as long as the
database takes to answer. The few statements of every request are written as querysets all the same,
with ``given`` in place of each value: Django's compiler makes their texts, and whoever runs one
gives the values, which are bound by position. All of them run where we write.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar

from django.conf import settings
from django.db import connections, models, transaction
from django.db.models import Field, QuerySet, Value
from django.db.models.sql import UpdateQuery

from poppy_operations.models.databases import write_alias

R = TypeVar("R", bound=models.Model)


def options(model: type[models.Model]) -> Any:
    """What Django knows of a model."""
    return model._meta  # noqa: SLF001  Django's documented name


class Given(Value):
    """The place of a value in a statement. The value becomes the database's by its field."""

    def __init__(self, name: str, field: Field[Any, Any]) -> None:
        super().__init__(name, output_field=field)

    def as_sql(self, _compiler: Any, _connection: Any) -> Any:
        """Leave the place open."""
        return "%s", [self]


def given(model: type[models.Model], field: str, name: str = "") -> Given:
    """The place of a value of that field; ``name`` is for a second one of the same field."""
    return Given(name or field, options(model).get_field(field))


@dataclass(frozen=True)
class _Converted:
    """A column whose values are the database's own, and become Python's."""

    index: int
    expression: Any
    by_field: list[Callable[..., Any]]
    by_backend: bool

    def converters(self, connection: Any) -> list[Callable[..., Any]]:
        """What makes them Python's. Those of a backend hold a connection."""
        if not self.by_backend:
            return self.by_field
        by_backend: list[Callable[..., Any]] = connection.ops.get_db_converters(self.expression)
        return by_backend + self.by_field


class Place:
    """Where a value goes, and the field by which it becomes the database's."""

    def __init__(self, index: int, name: str, field: Field[Any, Any]) -> None:
        self.index, self.name, self.field = index, name, field
        self._is_text = type(field) in {models.CharField, models.TextField}

    def prepared(self, value: Any, connection: Any) -> Any:
        """The value as the database takes it."""
        if self._is_text and type(value) is str:
            return value  # As it is: half of all values are texts.
        return self.field.get_db_prep_save(value, connection)


@dataclass(frozen=True)
class Text:
    """What the compiler made of a statement: no part of it holds a connection."""

    sql: str
    parameters: tuple[Any, ...]
    places: tuple[Place, ...]
    converted: tuple[_Converted, ...] = ()

    @classmethod
    def of(cls, compiler: Any) -> Text:
        """Compile a statement."""
        sql, parameters = compiler.as_sql()
        places = [
            Place(index, one.value, one.output_field)
            for index, one in enumerate(parameters)
            if isinstance(one, Given)
        ]
        converted, connection = [], compiler.connection
        for index, (expression, *_) in enumerate(compiler.select or ()):
            by_field = list(expression.get_db_converters(connection))
            by_backend = bool(connection.ops.get_db_converters(expression))
            if by_field or by_backend:
                converted.append(_Converted(index, expression, by_field, by_backend))
        return cls(sql, tuple(parameters), tuple(places), tuple(converted))

    def bound(self, connection: Any, values: dict[str, Any]) -> list[Any]:
        """The parameters, with the values in their places."""
        parameters = list(self.parameters)
        for place in self.places:
            parameters[place.index] = place.prepared(values[place.name], connection)
        return parameters

    def read(self, connection: Any, rows: list[Any]) -> list[Any]:
        """The rows as Python has them."""
        if not self.converted or not rows:
            return rows
        columns = [
            (one.index, one.expression, one.converters(connection)) for one in self.converted
        ]
        read = [list(row) for row in rows]
        for row in read:
            for index, expression, converters in columns:
                value = row[index]
                for convert in converters:
                    value = convert(value, expression, connection)
                row[index] = value
        return read


class Texts:
    """The texts of one statement, by database."""

    known: ClassVar[dict[Hashable, Text]] = {}  # of all statements

    def of(self, alias: str, make: Callable[[], Text], shape: Hashable = None) -> Text:
        """The text for a database, which is made when it is first asked for."""
        # Without USE_TZ PostgreSQL is asked for instants in another way.
        key = (self, alias, type(connections[alias]), settings.USE_TZ, shape)
        text = self.known.get(key)
        if text is None:
            text = self.known[key] = make()
        return text


class Columns(Generic[R]):
    """The columns of a model, at the end of a path of relations."""

    def __init__(self, model: type[R], path: str = "", *, without: Sequence[str] = ()) -> None:
        self._model, self._path, self._without = model, path, without

    @cached_property
    def attnames(self) -> list[str]:
        """The fields, as a row has them."""
        fields = options(self._model).concrete_fields
        return [field.attname for field in fields if field.name not in self._without]

    @cached_property
    def _names_sought(self) -> frozenset[str]:
        # Django looks for each field in it, in the order of the fields.
        return frozenset(self.attnames)

    @property
    def names(self) -> list[str]:
        """The same, as a query names them."""
        return [f"{self._path}{attname}" for attname in self.attnames]

    @cached_property
    def key(self) -> int:
        """Where the primary key stands."""
        return self.attnames.index(options(self._model).pk.attname)

    def row(self, alias: str, values: Sequence[Any]) -> R | None:
        """Give the row; ``None`` if the path led to none."""
        if values[self.key] is None:
            return None
        return self._model.from_db(alias, self._names_sought, values)


def link(row: models.Model, relation: str, other: models.Model | None) -> None:
    """Let a row know another one that was read with it; ``None``: there is none."""
    options(type(row)).get_field(relation).set_cached_value(row, other)


class Reading:
    """A read. ``query`` makes its queryset, for a ``shape`` such as how many values are looked for.

    Each of its rows is given as one item for each of ``columns``: a model's row, or a value by its
    name.
    """

    def __init__(self, query: Callable[..., QuerySet[Any]], *columns: Columns[Any] | str) -> None:
        self.query, self.columns = query, columns
        self._texts = Texts()

    def rows(self, *shape: Hashable, **values: Any) -> list[tuple[Any, ...]]:
        """Run it with these values, where we write."""
        return self.rows_at(write_alias(), *shape, **values)

    def rows_at(self, alias: str, *shape: Hashable, **values: Any) -> list[tuple[Any, ...]]:
        """Run it with these values on another database."""
        text = self._texts.of(alias, lambda: self._text(alias, shape), shape)
        connection = connections[alias]
        with connection.cursor() as cursor:
            cursor.execute(text.sql, text.bound(connection, values))
            found = cursor.fetchall()
        return [self._parts(alias, row) for row in text.read(connection, found)]

    def exact(self, field: str, **values: Any) -> tuple[Any, ...] | None:
        """The row whose first item has exactly the given value of a field; ``None`` if none has.

        Some databases find other spellings too: without regard to case, accents or last spaces.
        """
        for row in self.rows(**values):
            if getattr(row[0], field) == values[field]:
                return row
        return None

    def _text(self, alias: str, shape: Sequence[Hashable]) -> Text:
        names = [
            name for one in self.columns for name in ([one] if isinstance(one, str) else one.names)
        ]
        query: Any = self.query(*shape).values_list(*names).query
        query.selected = None  # Nobody asks for names of columns; values by name come last.
        return Text.of(query.get_compiler(using=alias))

    def _parts(self, alias: str, row: Sequence[Any]) -> tuple[Any, ...]:
        parts, start = [], 0
        for one in self.columns:
            if isinstance(one, str):
                parts.append(row[start])
                start += 1
            else:
                end = start + len(one.attnames)
                parts.append(one.row(alias, row[start:end]))
                start = end
        return tuple(parts)


@dataclass(frozen=True)
class Change:
    """Which rows are changed, and how."""

    rows: QuerySet[Any]
    changes: dict[str, Any]


class Changing:
    """An update of rows. ``change`` makes its queryset and says what becomes of the rows."""

    def __init__(self, change: Callable[..., Change]) -> None:
        self.change = change
        self._texts = Texts()

    def rows(self, *shape: Hashable, **values: Any) -> int:
        """Run it with these values, and say how many rows were changed."""
        alias = write_alias()
        text = self._texts.of(alias, lambda: self._text(alias, shape), shape)
        connection = connections[alias]
        with (
            transaction.mark_for_rollback_on_error(using=alias),
            connection.cursor() as cursor,
        ):
            cursor.execute(text.sql, text.bound(connection, values))
            return int(cursor.rowcount)

    def _text(self, alias: str, shape: Sequence[Hashable]) -> Text:
        change = self.change(*shape)
        query: Any = change.rows.query.chain(UpdateQuery)
        query.add_update_values(change.changes)
        return Text.of(query.get_compiler(using=alias))

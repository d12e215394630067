"""Operations by the million: copies of a few that the site itself has made.

Only what has to differ is said here; every other column is the copied row's, also where columns
come and go. Written for PostgreSQL.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import connection, models

from benchmarks.agents import AgentSession
from benchmarks.calls import Site
from benchmarks.subjects.website import Story
from poppy_operations.models import Approval, Operation, Performance, Revision

OLD = "interval '3 days'"
# One in ten operations is still to be approved; ten operations are of one owner.
LIVE = 10
OWNED = 10


def fill(account: str, number: int, old: int = 0) -> None:
    """Make so many operations of other owners; ``old`` of them can be forgotten."""
    site = Site(settings.MIDDLEWARE)
    story = Story(site, account)
    story.ask()
    story.approve()
    story.perform()
    performed = _latest()
    story.ask()
    asked = _latest()
    live = number // LIVE
    if old:
        _copies(performed, old, "old", f" - {OLD}")
    _copies(performed, number - old - live, "new")
    _copies(asked, live, "live")
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")


def _latest() -> Operation:
    return Operation.objects.latest("pk")


def _copies(template: Operation, number: int, prefix: str, shift: str = "") -> None:
    made = f"'{prefix}_' || n"
    digest = f"md5('{prefix}' || (n / {OWNED})::text)"
    _copy(
        template,
        f"generate_series(1, {number}) AS n",
        shift,
        operation_id=made,
        owner_digest=f"{digest} || {digest}",
        user_id=f"'{prefix}_' || (n / {OWNED})",
        slot=f"CASE WHEN t.slot IS NULL THEN NULL ELSE md5({made}) || md5({made}) END",
        approval_id=f"CASE WHEN t.approval_id IS NULL THEN NULL ELSE md5({made})::uuid END",
    )
    copies = f"{_table(Operation)} AS o WHERE o.operation_id LIKE '{prefix}\\_%'"
    for revision in Revision.objects.filter(operation=template):
        _copy(
            revision,
            copies,
            shift,
            operation_id="o.id",
            revision="o.operation_id || '-r'",
            ref="o.operation_id || '-ref'",
            watch="o.operation_id || '-watch'",
        )
    revised = (
        f"{_table(Revision)} AS r JOIN {copies.replace('WHERE', 'ON o.id = r.operation_id AND')}"
    )
    for approval in Approval.objects.filter(operation=template):
        _copy(
            approval,
            revised,
            shift,
            id="o.approval_id",
            operation_id="o.id",
            revision_id="r.id",
            recorded_for_id="r.id",
        )
    for performance in Performance.objects.filter(operation=template):
        _copy(
            performance,
            revised,
            shift,
            operation_id="o.id",
            revision_id="r.id",
            approval_id="o.approval_id",
        )


def _table(model: type[models.Model]) -> str:
    return connection.ops.quote_name(model._meta.db_table)  # noqa: SLF001  Django's documented name


def _copy(row: models.Model, source: str, shift: str, **different: str) -> None:
    """Copy a row once for each of a source, with these columns as they are said to differ."""
    columns = {
        str(field.column): different.get(str(field.column)) or _kept(field, shift)
        for field in row._meta.concrete_fields  # noqa: SLF001  Django's documented name
        if not isinstance(field, models.AutoField)
    }
    names = ", ".join(map(connection.ops.quote_name, columns))
    joined, _, condition = source.partition(" WHERE ")
    where = f"t.id = %s AND {condition}" if condition else "t.id = %s"
    table = _table(type(row))
    statement = (
        f"INSERT INTO {table} ({names}) SELECT {', '.join(columns.values())} "
        f"FROM {table} AS t CROSS JOIN {joined} WHERE {where}"
    )
    with connection.cursor() as cursor:
        cursor.execute(statement.replace("%", "%%").replace("%%s", "%s"), [row.pk])


def _kept(field: Any, shift: str) -> str:
    column = f"t.{connection.ops.quote_name(field.column)}"
    return f"{column}{shift}" if isinstance(field, models.DateTimeField) else column


def asked_before(story: Story, number: int) -> None:
    """Let the owner of a story have so many revisions more that wait for an approval."""
    for _ in range(number):
        story.ask()


def session_with(site: Site, account: str, number: int) -> AgentSession:
    """Give a Session whose owner has so many revisions at the API."""
    session = AgentSession(account)
    for quantity in range(1, number + 1):
        site.send(session.order("/order/", content={"sku": "jacket", "quantity": quantity}))
    return session

"""Instants: the times by which we decide, in every time zone and whatever ``USE_TZ`` says.

Without ``USE_TZ`` Django stores the local time, in which one hour of a year comes twice. So this
package's columns are UTC, and all times that it handles know their time zone.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.db import models
from django.utils import timezone


def now() -> datetime:
    """The current instant."""
    return datetime.now(UTC)


def instant(moment: datetime | None = None) -> datetime:
    """A moment as an instant, by default now. If it is naive, the site's time zone is meant."""
    if moment is None:
        return now()
    aware = timezone.make_aware(moment) if timezone.is_naive(moment) else moment
    return aware.astimezone(UTC)


class InstantField(models.DateTimeField):  # type: ignore[type-arg]  # not subscriptable at run time
    """A ``DateTimeField`` that holds instants: aware in Python, and UTC in the database."""

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:  # noqa: FBT001  Django's
        """Give the value to store; the current instant if ``auto_now_add`` adds it."""
        if self.auto_now_add and add:
            setattr(model_instance, self.attname, now())
        return getattr(model_instance, self.attname)

    def get_prep_value(self, value: Any) -> Any:
        """Give the value as an instant."""
        moment = self.to_python(value)
        return instant(moment) if isinstance(moment, datetime) else moment

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:  # noqa: FBT001, FBT002  Django's own signature
        """Give the value as the database's driver takes it."""
        moment = value if prepared else self.get_prep_value(value)
        if not isinstance(moment, datetime) or connection.vendor == "postgresql":
            return moment  # PostgreSQL stores instants itself.
        naive = moment.astimezone(UTC).replace(tzinfo=None)
        # With USE_TZ Django converts to the time zone of the connection, and refuses naive times.
        aware = naive.replace(tzinfo=connection.timezone) if settings.USE_TZ else naive
        return connection.ops.adapt_datetimefield_value(aware)

    def select_format(self, compiler: Any, sql: str, params: Any) -> tuple[str, Any]:
        """Let PostgreSQL give UTC if Django drops the time zone of the values that it reads."""
        sql, params = super().select_format(compiler, sql, params)
        if compiler.connection.vendor == "postgresql" and not settings.USE_TZ:
            return f"{sql} AT TIME ZONE 'UTC'", params
        return sql, params

    def from_db_value(self, value: Any, _expression: Any, connection: Any) -> datetime | None:
        """Give the stored value as an instant."""
        if not isinstance(value, datetime):
            return None
        if connection.vendor == "postgresql" and timezone.is_aware(value):
            return value.astimezone(UTC)
        return value.replace(tzinfo=UTC)

"""Times become instants: UTC in the database, whatever ``USE_TZ`` and ``TIME_ZONE`` say.

Nothing changes where Django stored instants already: on PostgreSQL, and with ``USE_TZ`` if the
database has no ``TIME_ZONE`` of its own. Elsewhere what is stored is turned from the local time. A
local time that was twice counts as the first one: nothing expires later by that.
"""

from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from typing import Any

from django.conf import settings
from django.db import migrations
from django.utils import timezone

import poppy_operations.models.instants

APP = "poppy_operations"


def to_instants(apps: Any, schema_editor: Any) -> None:
    """Turn local times into UTC."""
    turn(apps, schema_editor.connection, lambda stored, zone: stored.replace(tzinfo=zone))


def to_local_times(apps: Any, schema_editor: Any) -> None:
    """Turn UTC into local times."""
    turn(
        apps,
        schema_editor.connection,
        lambda stored, zone: stored.astimezone(zone).replace(tzinfo=UTC),
    )


def turn(apps: Any, connection: Any, turned: Callable[[datetime, tzinfo], datetime]) -> None:
    """Turn what is stored, read as UTC, where it was stored in another time zone."""
    zone = connection.timezone if settings.USE_TZ else timezone.get_default_timezone()
    if connection.vendor == "postgresql" or zone == UTC or str(zone) == "UTC":
        return
    for model in apps.get_app_config(APP).get_models():
        names = [
            field.attname
            for field in model._meta.concrete_fields
            if isinstance(field, poppy_operations.models.instants.InstantField)
        ]
        rows = model._base_manager.using(connection.alias)
        for row in list(rows.values("pk", *names)) if names else ():
            pk = row.pop("pk")
            kept = {name: turned(value, zone) for name, value in row.items() if value is not None}
            rows.filter(pk=pk).update(**kept)


class Migration(migrations.Migration):

    dependencies = [
        ('poppy_operations', "0002_keyed_slots"),
    ]

    operations = [
        # The columns stay as they are.
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    model_name='agent',
                    name='created_at',
                    field=poppy_operations.models.instants.InstantField(auto_now_add=True, verbose_name='added at'),
                ),
                migrations.AlterField(
                    model_name='agent',
                    name='keys_failing_since',
                    field=poppy_operations.models.instants.InstantField(blank=True, null=True, verbose_name='keys failing since'),
                ),
                migrations.AlterField(
                    model_name='agent',
                    name='keys_loaded_at',
                    field=poppy_operations.models.instants.InstantField(blank=True, null=True, verbose_name='keys loaded at'),
                ),
                migrations.AlterField(
                    model_name='agent',
                    name='keys_tried_at',
                    field=poppy_operations.models.instants.InstantField(blank=True, null=True, verbose_name='keys tried at'),
                ),
                migrations.AlterField(
                    model_name='agent',
                    name='revoked_at',
                    field=poppy_operations.models.instants.InstantField(blank=True, null=True, verbose_name='revoked at'),
                ),
                migrations.AlterField(
                    model_name='approval',
                    name='received_at',
                    field=poppy_operations.models.instants.InstantField(verbose_name='received at'),
                ),
                migrations.AlterField(
                    model_name='approval',
                    name='voided_at',
                    field=poppy_operations.models.instants.InstantField(blank=True, null=True, verbose_name='voided at'),
                ),
                migrations.AlterField(
                    model_name='decline',
                    name='declined_at',
                    field=poppy_operations.models.instants.InstantField(verbose_name='declined at'),
                ),
                migrations.AlterField(
                    model_name='join',
                    name='created_at',
                    field=poppy_operations.models.instants.InstantField(verbose_name='created at'),
                ),
                migrations.AlterField(
                    model_name='join',
                    name='ended_at',
                    field=poppy_operations.models.instants.InstantField(blank=True, null=True, verbose_name='ended at'),
                ),
                migrations.AlterField(
                    model_name='join',
                    name='expires_at',
                    field=poppy_operations.models.instants.InstantField(verbose_name='expires at'),
                ),
                migrations.AlterField(
                    model_name='join',
                    name='redeemed_at',
                    field=poppy_operations.models.instants.InstantField(blank=True, null=True, verbose_name='redeemed at'),
                ),
                migrations.AlterField(
                    model_name='join',
                    name='ticket_expires_at',
                    field=poppy_operations.models.instants.InstantField(verbose_name='ticket expires at'),
                ),
                migrations.AlterField(
                    model_name='operation',
                    name='created_at',
                    field=poppy_operations.models.instants.InstantField(verbose_name='first returned at'),
                ),
                migrations.AlterField(
                    model_name='operation',
                    name='enqueued_at',
                    field=poppy_operations.models.instants.InstantField(blank=True, editable=False, null=True),
                ),
                migrations.AlterField(
                    model_name='operation',
                    name='lease_until',
                    field=poppy_operations.models.instants.InstantField(blank=True, null=True, verbose_name='lease until'),
                ),
                migrations.AlterField(
                    model_name='operation',
                    name='outcome_unknown_since',
                    field=poppy_operations.models.instants.InstantField(blank=True, null=True, verbose_name='outcome unknown since'),
                ),
                migrations.AlterField(
                    model_name='operation',
                    name='started_at',
                    field=poppy_operations.models.instants.InstantField(blank=True, null=True, verbose_name='started at'),
                ),
                migrations.AlterField(
                    model_name='performance',
                    name='finished_at',
                    field=poppy_operations.models.instants.InstantField(verbose_name='finished at'),
                ),
                migrations.AlterField(
                    model_name='revision',
                    name='expires_at',
                    field=poppy_operations.models.instants.InstantField(verbose_name='expires at'),
                ),
                migrations.AlterField(
                    model_name='revision',
                    name='looked_up_at',
                    field=poppy_operations.models.instants.InstantField(blank=True, null=True, verbose_name='looked up at'),
                ),
                migrations.AlterField(
                    model_name='revision',
                    name='retired_at',
                    field=poppy_operations.models.instants.InstantField(blank=True, null=True, verbose_name='retired at'),
                ),
                migrations.AlterField(
                    model_name='revision',
                    name='returned_at',
                    field=poppy_operations.models.instants.InstantField(verbose_name='returned at'),
                ),
                migrations.AlterField(
                    model_name='settlement',
                    name='settled_at',
                    field=poppy_operations.models.instants.InstantField(verbose_name='settled at'),
                ),
                migrations.AlterField(
                    model_name='settlement',
                    name='started_at',
                    field=poppy_operations.models.instants.InstantField(blank=True, null=True, verbose_name='started at'),
                ),
                migrations.AlterField(
                    model_name='settlement',
                    name='unknown_since',
                    field=poppy_operations.models.instants.InstantField(blank=True, null=True, verbose_name='outcome unknown since'),
                ),
            ],
        ),
        migrations.RunPython(to_instants, to_local_times),
    ]

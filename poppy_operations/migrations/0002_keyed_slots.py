"""Key the slots of 0.1.0, from which a short secret in a request's content could be read."""

import hashlib
import hmac
from typing import Any

from django.conf import settings
from django.db import migrations
from django.utils.encoding import force_bytes

ROWS = 500


def key_slots(apps: Any, schema_editor: Any) -> None:
    Operation = apps.get_model("poppy_operations", "Operation")
    standing = Operation.objects.using(schema_editor.connection.alias).exclude(slot=None)
    key = force_bytes(settings.SECRET_KEY)
    last = 0
    while rows := list(standing.filter(pk__gt=last).order_by("pk").only("slot")[:ROWS]):
        for row in rows:
            row.slot = hmac.new(key, row.slot.encode(), hashlib.sha256).hexdigest()
        standing.bulk_update(rows, ["slot"])
        last = rows[-1].pk


class Migration(migrations.Migration):

    dependencies = [("poppy_operations", "0001_initial")]

    operations = [
        # Nothing tells what a keyed slot was made of. Undone, each stays, and 0.1.0 does not find
        # it: what waits is asked anew, and what is being performed can be asked for beside it.
        migrations.RunPython(key_slots, migrations.RunPython.noop),
    ]

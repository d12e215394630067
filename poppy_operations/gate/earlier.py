"""The digests of requests that version 0.1.0 kept, for the operations that it returned.

Its digests of contents leave out the path, so no request has the same digest any more. An operation
that waited for approval is asked for anew. If it was performed, its answer is given as before. If
it is being performed, it is not begun again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.utils.encoding import force_bytes

from poppy_operations.protocol.canonical import keyed_digest
from poppy_operations.protocol.content import canonical_content


def target_digests(target: Mapping[str, Any]) -> list[str]:
    """The digests of a target as version 0.1.0 made them, one for each key."""
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    return [keyed_digest(_text(target), force_bytes(key)) for key in keys]


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        members = (f"{json.dumps(name)}:{_text(value[name])}" for name in sorted(value))
        return "{" + ",".join(members) + "}"
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, int) and not isinstance(value, bool) and value:
        digits = str(value)
        zeros = len(digits) - len(digits.rstrip("0"))
        return f"{digits[: len(digits) - zeros]}e{zeros}" if zeros else digits
    return canonical_content(value)

"""What version 0.1.0 kept of requests, for what it returned and others still ask about.

Its digests of contents know no path: none of them is the digest of a request by now. What waited is
asked anew. What was performed is told as before, and what is being performed is not begun again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.utils.encoding import force_bytes

from poppy_operations.protocol.canonical import keyed_digest
from poppy_operations.protocol.content import canonical_content


def target_digests(target: Mapping[str, Any] | None) -> list[str]:
    """The digests of a target, one for each key."""
    if target is None:
        return []
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

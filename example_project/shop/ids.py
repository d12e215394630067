"""Names for what the shop keeps, short enough to read out on the phone."""

from __future__ import annotations

import secrets

# Without the letters and digits that are mistaken for one another.
ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"
LENGTH = 12


def new_id(prefix: str) -> str:
    """Return a new ID such as ``exc_k3jd9qx2mw8v``."""
    return f"{prefix}_{''.join(secrets.choice(ALPHABET) for _ in range(LENGTH))}"

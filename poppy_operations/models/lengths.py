"""How long texts may be."""

from __future__ import annotations

# Wide enough for an HTTPS URL, narrow enough for a unique index on every database.
URL_LENGTH = 500
ID_LENGTH = 256
DIGEST_LENGTH = 64
ACTION_LENGTH = 100
NAME_LENGTH = 200  # of agents, of rules that decline, of cookies
RETURN_TO_LENGTH = 2000

"""The identifiers that we read and make (3, 4; characters: spec 8.2).

Those that we make cannot be guessed, and are in lower case: even if a database compares without
regard to case, it never takes one for another.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import secrets
from typing import TypeGuard

_ID_PATTERN = re.compile(r"[A-Za-z0-9_-]{1,256}")
_REF = re.compile(r"[A-Za-z0-9_.-]{1,2048}")
_PREFIX = re.compile(r"[a-z0-9]{1,16}")


def is_id(value: object) -> TypeGuard[str]:
    """Whether a value can be an ID: 1 to 256 of ``A-Z a-z 0-9 _ -``."""
    return isinstance(value, str) and _ID_PATTERN.fullmatch(value) is not None


def is_ref(value: object) -> TypeGuard[str]:
    """Whether a value can be a website's reference: 1 to 2048 of ``A-Z a-z 0-9 - _ .`` (4)."""
    return isinstance(value, str) and _REF.fullmatch(value) is not None


def is_prefix(value: object) -> TypeGuard[str]:
    """Whether a value can begin the operation IDs that we make: 1 to 16 of ``a-z 0-9``."""
    return isinstance(value, str) and _PREFIX.fullmatch(value) is not None


def new_operation_id(prefix: str = "op") -> str:
    """Return a new ``operation_id``: the prefix, ``_`` and 128 random bits as 26 characters.

    Raises:
        ValueError: the prefix is not 1 to 16 of ``a-z 0-9``.
    """
    if not is_prefix(prefix):
        message = f"The prefix of operation IDs is 1 to 16 of a-z and 0-9, not {prefix!r}."
        raise ValueError(message)
    return f"{prefix}_{_base32(secrets.token_bytes(16))}"


def new_revision(
    *,
    owner: str,
    operation_id: str,
    terms_digest: str,
    content_digest: str,
    expires_at: int,
) -> str:
    """Return a new ``revision``: its expiry in Unix seconds, ``-``, and 160 bits.

    The bits depend on everything that the revision stands for and on a nonce, so that no two
    revisions are ever the same: neither other terms nor another owner can get this one, and if a
    request failed with a revision, it is never answered with that revision again (3, 6).
    """
    nonce = secrets.token_hex(32)
    parts = [owner, operation_id, terms_digest, content_digest, expires_at, nonce]
    octets = hashlib.sha256(json.dumps(parts).encode()).digest()
    return f"{expires_at}-{_base32(octets[:20])}"


def new_attempt() -> str:
    """Return the token of one attempt to perform an operation: 128 random bits in hexadecimal."""
    return secrets.token_hex(16)


def new_ref() -> str:
    """Return a website's reference to a revision (4): 160 random bits."""
    return _base32(secrets.token_bytes(20))


def new_watch() -> str:
    """Return the key under which a waiting page asks for a revision's state: 160 random bits."""
    return _base32(secrets.token_bytes(20))


def _base32(octets: bytes) -> str:
    return base64.b32encode(octets).decode("ascii").rstrip("=").lower()

"""The demo's authorization server: one key under ``var/`` and the tokens that it signs.

A real Company has an identity provider for this. The demo signs access tokens itself, so that it
needs nothing beside it.
"""

from __future__ import annotations

import os
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from poppy_operations.testing.agents import TokenIssuer


def demo_issuer(key_file: Path, issuer: str) -> TokenIssuer:
    """Return the issuer whose key is in ``key_file``; the first call makes the key."""
    if not key_file.exists():
        _make_key(key_file)
    key = serialization.load_pem_private_key(key_file.read_bytes(), password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        message = f"{key_file} holds another kind of key: remove it, and a new one is made."
        raise TypeError(message)
    return TokenIssuer(issuer, audience=issuer, kid="demo-key-1", key=key)


def _make_key(key_file: Path) -> None:
    """Write a new key; of several processes that start together, one wins."""
    pem = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    key_file.parent.mkdir(parents=True, exist_ok=True)
    draft = key_file.with_name(f"{key_file.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(pem)
    try:
        os.link(draft, key_file)
    except FileExistsError:
        pass
    finally:
        draft.unlink()

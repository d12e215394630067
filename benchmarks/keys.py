"""The keys of a run, shared by the processes that sign tokens and those that check them."""

from __future__ import annotations

from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from poppy_operations.testing.agents import PersonalAgent, TokenIssuer, new_key


def token_issuer(folder: Path) -> TokenIssuer:
    """Give the issuer of access tokens whose key lies in the folder; made by the first to ask."""
    return TokenIssuer(key=_key(folder / "issuer.pem"))


def agent(folder: Path) -> PersonalAgent:
    """Give the Personal Agent whose published key lies in the folder."""
    return PersonalAgent(key=_key(folder / "agent.pem"))


def _key(path: Path) -> ec.EllipticCurvePrivateKey:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        made = new_key("ES256")
        path.write_bytes(made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    key = load_pem_private_key(path.read_bytes(), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    return key

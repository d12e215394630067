from __future__ import annotations

from pathlib import Path

import jwt
import pytest

from example_project.issuer import demo_issuer

ISSUER = "http://127.0.0.1:8000"


def test_the_key_is_made_once_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    key_file = tmp_path / "var" / "key.pem"
    first = demo_issuer(key_file, ISSUER)
    again = demo_issuer(key_file, ISSUER)
    assert again.jwks == first.jwks
    assert key_file.stat().st_mode & 0o077 == 0
    assert [path.name for path in key_file.parent.iterdir()] == ["key.pem"]


def test_its_tokens_verify_with_its_public_key(tmp_path: Path) -> None:
    issuer = demo_issuer(tmp_path / "key.pem", ISSUER)
    token = issuer.access_token("7", client_id="https://agent.example/client", scope="a b")
    key = jwt.PyJWK.from_dict(issuer.jwks["keys"][0])
    assert "d" not in issuer.jwks["keys"][0]
    claims = jwt.decode(token, key, algorithms=["ES256"], audience=ISSUER, issuer=ISSUER)
    assert (claims["sub"], claims["scope"]) == ("7", "a b")
    assert jwt.get_unverified_header(token)["typ"] == "at+jwt"


def test_another_kind_of_key_is_refused(tmp_path: Path) -> None:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ed25519

    key_file = tmp_path / "key.pem"
    key_file.write_bytes(
        ed25519.Ed25519PrivateKey.generate().private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    with pytest.raises(TypeError, match=r"key\.pem"):
        demo_issuer(key_file, ISSUER)

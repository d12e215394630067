from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from poppy_operations.sessions import tokens
from poppy_operations.sessions.jwts import Jwt, verified_claims
from poppy_operations.sessions.keys import PublicKey
from poppy_operations.sessions.refusals import InvalidToken, KeysUnavailable
from poppy_operations.sessions.tokens import AccessToken, KnownTokens, TokenVerifier
from poppy_operations.testing.agents import ABSENT, TokenIssuer, compact_jwt, new_key, public_jwk
from tests.configuring import configure
from tests.sessions.conftest import AUDIENCE, NOW, KeyServer

CLIENT_ID = "https://agent.example/client"
T = int(NOW.timestamp())


def token_of(issuer: TokenIssuer, **changes: Any) -> str:
    account = changes.pop("account", "7")
    return issuer.access_token(account, client_id=CLIENT_ID, now=NOW, **changes)


def verify(token: str, *, after: int = 0) -> AccessToken:
    return TokenVerifier().verify(token, now=NOW + timedelta(seconds=after))


def test_a_token_says_whose_it_is(issuer: TokenIssuer) -> None:
    token = token_of(issuer, scope="orders:write orders:read", lifetime=60)
    scope = frozenset({"orders:write", "orders:read"})
    assert verify(token) == AccessToken("7", CLIENT_ID, scope, T + 60)


@pytest.mark.parametrize("algorithm", ["ES256", "EdDSA", "RS256"])
def test_tokens_may_be_signed_by_any_accepted_key(settings: Any, algorithm: str) -> None:
    issuer = TokenIssuer(algorithm=algorithm)
    configure(settings, TOKEN_JWKS=issuer.jwks)
    assert verify(token_of(issuer)).account == "7"


@pytest.mark.parametrize(
    "changes",
    [
        {"header": {"typ": "application/at+jwt"}},
        {"header": {"typ": "AT+JWT"}},
        {"header": {"kid": ABSENT}},
        {"aud": ["https://other.example", AUDIENCE]},
        {"scope": ABSENT},
        {"scope": None},
        {"iat": ABSENT},
        {"iat": T + 30},
        {"nbf": T + 30},
        {"account": "7c9e6679-7425-40de-944b-e07fc1f90ae7"},
        {"account": "josé@example.com"},
        {"jti": 7},
    ],
)
def test_what_rfc_9068_leaves_open_is_accepted(issuer: TokenIssuer, changes: Any) -> None:
    assert verify(token_of(issuer, **changes)).client_id == CLIENT_ID


@pytest.mark.parametrize(
    "changes",
    [
        {"header": {"typ": "JWT"}},
        {"header": {"typ": "poppy-session+jwt"}},
        {"header": {"typ": ABSENT}},
        {"header": {"typ": ["at+jwt"]}},
        {"header": {"kid": "other"}},
        {"header": {"kid": 1}},
        {"header": {"alg": "HS256"}},
        {"header": {"alg": "none"}},
        {"header": {"alg": "RS256"}},
        {"header": {"crit": ["exp"]}},
        {"key": new_key("ES256")},
        {"iss": "https://evil.example"},
        {"iss": ABSENT},
        {"iss": [AUDIENCE]},
        {"aud": "https://other.example"},
        {"aud": ABSENT},
        {"aud": ["https://other.example", 1, None]},
        {"aud": {AUDIENCE: True}},
        {"exp": ABSENT},
        {"exp": True},
        {"exp": 10**30},
        {"exp": float(T + 60)},
        {"exp": str(T + 60)},
        {"iat": T + 31},
        {"iat": True},
        {"nbf": T + 31},
        {"nbf": "now"},
        {"sub": ABSENT},
        {"sub": 7},
        {"sub": ""},
        {"sub": "7\x00"},
        {"sub": "\ud800"},
        {"sub": "7" * 257},
        {"scope": ["orders:write"]},
        {"scope": "orders:write\x00"},
        {"scope": "a" * 2001},
        {"scope": 1},
    ],
)
def test_anything_else_is_an_invalid_token(issuer: TokenIssuer, changes: Any) -> None:
    with pytest.raises(InvalidToken):
        verify(token_of(issuer, **changes))


@pytest.mark.parametrize("client_id", [ABSENT, 1, None, "", "\x00", [CLIENT_ID]])
def test_a_token_without_its_client_is_invalid(issuer: TokenIssuer, client_id: Any) -> None:
    with pytest.raises(InvalidToken):
        verify(issuer.access_token("7", client_id=client_id, now=NOW))


@pytest.mark.parametrize("token", ["", "a.b.c", "opaque", "a" * 100_000, "ä", "\ud800"])
def test_a_text_that_is_no_jwt_is_an_invalid_token(issuer: TokenIssuer, token: str) -> None:
    with pytest.raises(InvalidToken):
        verify(token)


def test_an_expired_token_is_invalid_after_the_leeway(issuer: TokenIssuer) -> None:
    token = token_of(issuer, lifetime=60)
    assert verify(token, after=89).account == "7"
    with pytest.raises(InvalidToken, match="expired"):
        verify(token, after=90)


def test_the_key_set_is_no_secret_for_hmac(issuer: TokenIssuer) -> None:
    secret = str(issuer.jwks).encode()
    token = compact_jwt({"typ": "at+jwt", "alg": "HS256"}, {"sub": "7"}, secret, "HS256")
    with pytest.raises(InvalidToken):
        verify(token)


@pytest.mark.parametrize("key_set", [None, {}, {"keys": 7}, {"keys": []}])
def test_without_a_usable_key_set_no_token_is_valid(settings: Any, key_set: Any) -> None:
    configure(settings, TOKEN_JWKS=key_set)
    with pytest.raises(InvalidToken):
        verify(token_of(TokenIssuer()))


def test_a_token_by_either_of_two_keys_with_one_id_is_valid(settings: Any) -> None:
    issuer = TokenIssuer()
    other = public_jwk(new_key("ES256"), "ES256", kid=issuer.kid)
    key_set = {"keys": [other, *issuer.jwks["keys"]]}
    configure(settings, TOKEN_JWKS=key_set)
    assert verify(token_of(issuer)).account == "7"


def test_issuer_and_audience_can_differ_from_the_companys(settings: Any) -> None:
    issuer = TokenIssuer("https://login.example", audience="https://api.example")
    configure(
        settings,
        TOKEN_JWKS=issuer.jwks,
        TOKEN_ISSUER="https://login.example",
        TOKEN_AUDIENCE="https://api.example",
    )
    assert verify(token_of(issuer)).account == "7"
    with pytest.raises(InvalidToken):
        verify(token_of(issuer, iss=AUDIENCE))


def test_keys_at_a_url_are_loaded_once(settings: Any, key_server: KeyServer) -> None:
    issuer = TokenIssuer()
    settings.DEBUG = True
    configure(settings, TOKEN_JWKS=key_server.url)
    key_server.serve(issuer.jwks)
    for _ in range(3):
        assert verify(token_of(issuer)).account == "7"
    assert len(key_server.paths) == 1


def test_keys_that_cannot_be_loaded_are_not_the_tokens_fault(
    settings: Any, key_server: KeyServer
) -> None:
    settings.DEBUG = True
    configure(settings, TOKEN_JWKS=key_server.url)
    with pytest.raises(KeysUnavailable):
        verify(token_of(TokenIssuer()))


def test_a_message_never_holds_the_token(issuer: TokenIssuer) -> None:
    token = token_of(issuer, sub="hunter2\x00")
    with pytest.raises(InvalidToken) as refused:
        verify(token)
    assert token not in str(refused.value)
    assert "hunter2" not in str(refused.value)


# Known access tokens


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The keys by which signatures of access tokens were checked."""
    checked: list[object] = []

    def noted(token: Jwt, key: PublicKey) -> dict[str, object]:
        checked.append(key)
        return verified_claims(token, key)

    monkeypatch.setattr(tokens, "verified_claims", noted)
    return checked


def test_a_known_token_is_not_checked_again(issuer: TokenIssuer, checks: list[object]) -> None:
    token = token_of(issuer, scope="orders:write")
    said = [verify(token) for _ in range(3)]
    assert said[0] == said[1] == said[2]
    assert len(checks) == 1


def test_another_spelling_of_a_known_token_is_another_token(
    issuer: TokenIssuer, checks: list[object]
) -> None:
    token = token_of(issuer)
    verify(token)
    for other in (f"{token}x", token[:-1], f" {token}", token.upper()):
        with pytest.raises(InvalidToken):
            verify(other)
    assert checks


def test_a_known_token_ends_when_it_expires(issuer: TokenIssuer) -> None:
    token = token_of(issuer, lifetime=60)
    assert verify(token, after=89).account == "7"
    with pytest.raises(InvalidToken, match="expired"):
        verify(token, after=90)


@pytest.mark.parametrize("setting", ["TOKEN_ISSUER", "TOKEN_AUDIENCE"])
def test_a_known_token_is_for_whom_the_settings_name_now(
    issuer: TokenIssuer, settings: Any, setting: str
) -> None:
    token = token_of(issuer)
    verify(token)
    configure(settings, **{setting: "https://other.example"})
    with pytest.raises(InvalidToken):
        verify(token)


def test_a_known_token_ends_with_the_key_that_signed_it(
    issuer: TokenIssuer, settings: Any, checks: list[object]
) -> None:
    token, other = token_of(issuer), TokenIssuer()
    verify(token)
    configure(settings, TOKEN_JWKS=other.jwks)
    with pytest.raises(InvalidToken, match="not signed"):
        verify(token)
    configure(settings, TOKEN_JWKS={"keys": [*other.jwks["keys"], *issuer.jwks["keys"]]})
    checked = len(checks)
    assert verify(token).account == "7"
    assert len(checks) > checked


def test_a_known_token_ends_where_the_key_set_of_the_settings_is_changed_in_its_place(
    issuer: TokenIssuer, settings: Any
) -> None:
    keys = {"keys": list(issuer.jwks["keys"])}
    configure(settings, TOKEN_JWKS=keys)
    token = token_of(issuer)
    verify(token)
    keys["keys"].clear()
    with pytest.raises(InvalidToken, match="not signed"):
        verify(token)


def test_a_known_token_ends_once_its_key_is_gone_from_where_keys_are_loaded(
    issuer: TokenIssuer, settings: Any, key_server: KeyServer, checks: list[object]
) -> None:
    settings.DEBUG = True
    key_server.serve(issuer.jwks)
    configure(settings, TOKEN_JWKS=key_server.url)
    token = token_of(issuer, lifetime=3600)
    for _ in range(3):
        assert verify(token).account == "7"
    known_from = len(checks)
    key_server.serve(TokenIssuer().jwks)
    assert verify(token, after=599).account == "7"
    assert len(checks) == known_from
    with pytest.raises(InvalidToken, match="not signed"):
        verify(token, after=601)


def test_a_verifier_with_keys_of_its_own_is_asked_for_them_each_time(issuer: TokenIssuer) -> None:
    asked: list[object] = []

    class Own(TokenVerifier):
        def keys(self, *, alg: object, kid: object, now: int) -> tuple[PublicKey, ...]:
            asked.append(kid)
            return super().keys(alg=alg, kid=kid, now=now) if len(asked) < 3 else ()

    token = token_of(issuer)
    verify(token)
    for _ in range(2):
        assert Own().verify(token, now=NOW).account == "7"
    with pytest.raises(InvalidToken, match="not signed"):
        Own().verify(token, now=NOW)


def test_what_a_verifier_of_the_sites_own_does_to_claims_stays_with_it(
    issuer: TokenIssuer,
) -> None:
    class Renaming(TokenVerifier):
        def read(self, claims: dict[str, object]) -> AccessToken:
            claims["sub"] = "8"
            return super().read(claims)

    token = token_of(issuer)
    assert Renaming().verify(token, now=NOW).account == "8"
    assert verify(token).account == "7"


def test_no_token_stays_in_memory(issuer: TokenIssuer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TokenVerifier, "known_tokens", KnownTokens())
    token = token_of(issuer)
    verify(token)
    kept = repr(vars(TokenVerifier.known_tokens))
    assert token not in kept
    assert token.rpartition(".")[2] not in kept


def test_so_many_tokens_are_known_and_no_more(
    issuer: TokenIssuer, monkeypatch: pytest.MonkeyPatch, checks: list[object]
) -> None:
    known = KnownTokens()
    monkeypatch.setattr(TokenVerifier, "known_tokens", known)
    monkeypatch.setattr(KnownTokens, "MOST", 2)
    first, second, third = (token_of(issuer, account=str(number)) for number in (1, 2, 3))
    for token in (first, second, first, third, first, second):
        verify(token)
    assert len(checks) == 4
    assert len(vars(known)["_known"]) == 2

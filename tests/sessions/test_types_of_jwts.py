"""The `typ` of a JWT is a media type (RFC 7515, 4.1.9)."""

from __future__ import annotations

from typing import Any

import pytest

from poppy_operations.sessions.jwts import is_of_type
from poppy_operations.sessions.refusals import InvalidSession, InvalidToken
from poppy_operations.sessions.tokens import TokenVerifier
from poppy_operations.testing.agents import ABSENT, PersonalAgent, TokenIssuer
from tests.sessions.conftest import AUDIENCE, NOW, session_of

SPELLINGS = [
    "{}",
    "application/{}",
    "Application/{}",
    "APPLICATION/{}",
]
OTHERS: list[object] = [
    ABSENT,
    None,
    "",
    "JWT",
    "application/",
    "application/jwt",
    "text/poppy-session+jwt",
    "text/at+jwt",
    "application/application/poppy-session+jwt",
    "application/application/at+jwt",
    "poppy-session",
    "at",
    " poppy-session+jwt",
    "poppy-session+jwt ",
    "poppy-session+jwt; v=1",
    1,
    True,
    ["poppy-session+jwt"],
    ["at+jwt"],
    {"at+jwt": 1},
]


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("typ", ["poppy-session+jwt", "Poppy-Session+JWT", "POPPY-SESSION+JWT"])
def test_the_type_of_a_session_may_be_spelled_in_every_way_of_media_types(
    spelling: str, typ: str, agent: PersonalAgent
) -> None:
    headers = agent.headers(audience=AUDIENCE, now=NOW, header={"typ": spelling.format(typ)})

    assert session_of(headers).sid == "ses_1"


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("typ", ["at+jwt", "AT+JWT", "At+Jwt"])
def test_so_may_that_of_an_access_token(spelling: str, typ: str, issuer: TokenIssuer) -> None:
    token = issuer.access_token(
        "7", client_id="https://agent.example", now=NOW, header={"typ": spelling.format(typ)}
    )

    assert TokenVerifier().verify(token, now=NOW).account == "7"


@pytest.mark.parametrize("typ", OTHERS)
def test_another_type_is_neither(typ: object, agent: PersonalAgent, issuer: TokenIssuer) -> None:
    session = agent.headers(audience=AUDIENCE, now=NOW, header={"typ": typ})
    with pytest.raises(InvalidSession):
        session_of(session)
    header: dict[str, Any] = {"typ": typ}
    token = issuer.access_token("7", client_id="https://agent.example", now=NOW, header=header)
    with pytest.raises(InvalidToken):
        TokenVerifier().verify(token, now=NOW)


def test_one_kind_of_jwt_is_never_the_other(agent: PersonalAgent, issuer: TokenIssuer) -> None:
    assert not is_of_type({"typ": "application/at+jwt"}, "poppy-session+jwt")
    assert not is_of_type({"typ": "application/poppy-session+jwt"}, "at+jwt")

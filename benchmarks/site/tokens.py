"""Tokens as a site would check them by hand: PyJWT, and nothing of ours."""

from __future__ import annotations

from typing import Any

import jwt
from rest_framework.request import Request

from benchmarks.settings import FOLDER, ISSUER, TOKEN_JWKS

# By the exact text, as long as the process lives.
_delegations: dict[str, Any] = {}


def session_and_token(request: Request, *, cached: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """Check the tokens of a request and give the claims of the Session and of the access token.

    A delegation is checked each time, or ``cached`` once it is known.
    """
    text = request.META["HTTP_POPPY_SESSION"]
    delegation = jwt.get_unverified_header(text)["poppy_dlg"]
    key = _delegations.get(delegation) if cached else None
    if key is None:
        key = _delegations[delegation] = _delegated_key(delegation)
    session = jwt.decode(text, key, algorithms=["ES256"], audience=ISSUER)
    bearer = request.META["HTTP_AUTHORIZATION"].removeprefix("Bearer ")
    return session, jwt.decode(bearer, _issuer_key(), algorithms=["ES256"], audience=ISSUER)


def _delegated_key(delegation: str) -> Any:
    claims = jwt.decode(delegation, agent_key(), algorithms=["ES256"])
    return jwt.PyJWK.from_dict(claims["cnf"]["jwk"]).key


_keys: dict[str, Any] = {}


def _issuer_key() -> Any:
    if "issuer" not in _keys:
        _keys["issuer"] = jwt.PyJWK.from_dict(TOKEN_JWKS["keys"][0]).key
    return _keys["issuer"]


def agent_key() -> Any:
    """Give the key that the agent publishes; a site by hand would keep it somewhere."""
    if "agent" not in _keys:
        from benchmarks.keys import agent

        _keys["agent"] = jwt.PyJWK.from_dict(agent(FOLDER).jwks["keys"][0]).key
    return _keys["agent"]

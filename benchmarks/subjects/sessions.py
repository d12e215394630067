"""Verifying a Session and its access token, beside one check of a JWT by PyJWT."""

from __future__ import annotations

from base64 import urlsafe_b64decode
from collections.abc import Callable
from typing import Any

import jwt
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from django.core.handlers.wsgi import WSGIRequest

from benchmarks.agents import AgentSession, the_agent, the_issuer
from benchmarks.calls import Sent
from benchmarks.figures import Measure
from benchmarks.rounds import Subject
from benchmarks.settings import ISSUER
from poppy_operations.models import Agent
from poppy_operations.sessions.verification import SessionVerifier

MEASURES = (
    Measure("session_warm", "session_warm", "jwt_decode"),
    Measure("session_warm_signatures", "session_warm", "two_signatures"),
    Measure("session_with_queries", "session_with_queries", "jwt_decode"),
    Measure("session_cold", "session_cold", "jwt_decode"),
)
TIMES = 10


class WithoutQueries(SessionVerifier):
    """The verifier, with the agent at hand."""

    listed: Agent

    def agent(self, client_id: str) -> Agent:
        """Give the agent without asking the database."""
        return self.listed


class Sessions:
    """The subjects. Warm: delegation and access token are known, as of the second request on."""

    def __init__(self, account: str) -> None:
        self._session = AgentSession(account, "usr_verified")
        self._without_queries = WithoutQueries()
        WithoutQueries.listed = Agent.objects.get(client_id=the_agent().client_id)
        self._key = the_agent().session_key.public_key()

    def subjects(self) -> list[Subject]:
        """Give them all."""
        return [
            Subject("jwt_decode", self._decode, times=TIMES),
            Subject("two_signatures", self._signatures, times=TIMES),
            Subject("session_warm", self._warm(self._without_queries), times=TIMES),
            Subject("session_with_queries", self._warm(SessionVerifier()), times=TIMES),
            Subject("session_cold", self._cold, times=TIMES),
        ]

    def _decode(self) -> Callable[[], Any]:
        token, key = self._token(), self._key
        return lambda: jwt.decode(token, key, algorithms=["ES256"], audience=ISSUER)

    def _signatures(self) -> Callable[[], Any]:
        of_session = _signature_check(self._token(), self._key)
        of_token = _signature_check(self._session.access_token(), the_issuer().key.public_key())
        return lambda: (of_session(), of_token())

    def _token(self) -> str:
        return self._session.headers()["Poppy-Session"]

    def _warm(self, verifier: SessionVerifier) -> Callable[[], Callable[[], Any]]:
        def prepare() -> Callable[[], Any]:
            request = _request(self._session.headers())
            return lambda: verifier.verify(request)

        return prepare

    def _cold(self) -> Callable[[], Any]:
        """Use a delegation and an access token that nobody has seen before."""
        delegation, token = the_agent().delegation(), self._session.access_token()
        request = _request(self._session.headers(token=token, delegation=delegation))
        return lambda: self._without_queries.verify(request)


def _request(headers: dict[str, str]) -> WSGIRequest:
    return WSGIRequest(Sent("POST", "/order/", headers).environ())


def _signature_check(token: str, key: Any) -> Callable[[], None]:
    """Give the check of a signature and nothing else, all of the token taken apart before."""
    signed, _, signature = token.rpartition(".")
    raw = urlsafe_b64decode(signature + "==")
    pair = int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big")
    der, algorithm = encode_dss_signature(*pair), ec.ECDSA(hashes.SHA256())
    message = signed.encode()
    return lambda: key.verify(der, message, algorithm)

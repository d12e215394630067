"""Verifying the Session of a request: headers, Session JWT, delegation, access token.

This is our reading of the core protocol, all of it in one class: a site that knows better
overrides a method and returns its own verifier's Session from ``Company.session_for``.
"""

from __future__ import annotations

import hashlib
import re
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest

from poppy_operations.conf import conf
from poppy_operations.models import Agent
from poppy_operations.protocol.ids import is_id
from poppy_operations.protocol.structured import declares_operations
from poppy_operations.sessions.agents import AgentKeys, find_agent
from poppy_operations.sessions.clock import epoch
from poppy_operations.sessions.delegations import (
    Delegation,
    KnownDelegations,
    claimed_client_id,
    verified_delegation,
)
from poppy_operations.sessions.jwts import (
    BadJwt,
    Jwt,
    check_lifetime,
    is_of_type,
    unverified_header,
    verified_claims,
)
from poppy_operations.sessions.refusals import (
    InvalidSession,
    InvalidToken,
    InvalidVersion,
    KeysUnavailable,
)
from poppy_operations.sessions.session import Session
from poppy_operations.sessions.tokens import AccessToken, TokenVerifier

SESSION_TYPE: Final = "poppy-session+jwt"
LONGEST_SESSION_JWT: Final = 300

_VERSION = re.compile(r"1(\.[0-9]{1,9}){0,2}")
# Any white space: readers that split a header at white space take a no-break space for one.
_BEARER = re.compile(r"bearer(?:\s+(.*))?", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class SessionHeaders:
    """The headers that a Session is read from, raw; ``None`` if a request has no such header.

    Web servers join several headers of one name with commas. Joined ones are refused, except for
    the extensions, which are a list.
    """

    session: str | None = field(repr=False)
    version: str | None = None
    extensions: str | None = None
    authorization: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, request: HttpRequest) -> SessionHeaders:
        """Read them from a Django request."""
        meta = request.META
        return cls(
            meta.get("HTTP_POPPY_SESSION"),
            meta.get("HTTP_POPPY_VERSION"),
            meta.get("HTTP_POPPY_EXTENSIONS"),
            meta.get("HTTP_AUTHORIZATION"),
        )

    @classmethod
    def from_mapping(cls, headers: Mapping[str, str]) -> SessionHeaders:
        """Read them from a mapping by header name in lower case, as MCP servers have it."""
        return cls(
            headers.get("poppy-session"),
            headers.get("poppy-version"),
            headers.get("poppy-extensions"),
            headers.get("authorization"),
        )


class SessionVerifier:
    """Verifies Sessions; every step is a method that a subclass can replace."""

    known_delegations = KnownDelegations()
    token_verifier = TokenVerifier()

    def verify(self, request: HttpRequest, *, now: datetime | None = None) -> Session:
        """Verify the Session of a Django request. See ``verify_headers``."""
        return self.verify_headers(SessionHeaders.of(request), now=now)

    def verify_headers(self, headers: SessionHeaders, *, now: datetime | None = None) -> Session:
        """Verify a Session and its access token, if any, in one query.

        Raises:
            InvalidVersion: the request speaks another major version of the protocol.
            InvalidSession: there is no Session, or a check of it failed.
            InvalidToken: the Session stands, but the access token does not.
            KeysUnavailable: keys that are needed cannot be loaded now.

        """
        if headers.session is None:
            message = "The request has no Poppy-Session header."
            raise InvalidSession(message)
        self.check_version(headers.version)
        bearer = self.bearer_token(headers.authorization)
        try:
            client_id, claims = self.session_claims(headers.session, now=epoch(now))
            self.check_ath(claims, bearer)
        except BadJwt as error:
            message = f"The Session JWT or its delegation is refused: {error}"
            raise InvalidSession(message) from None
        token = None if bearer is None else self.access_token(bearer, client_id, now=now)
        return self.session(client_id, claims, headers, token)

    def check_version(self, version: str | None) -> None:
        """Accept the protocol's version 1, and requests that name none. Raises InvalidVersion."""
        if version is not None and _VERSION.fullmatch(version.strip()) is None:
            message = "Poppy-Version is not 1.x."
            raise InvalidVersion(message)

    def bearer_token(self, authorization: str | None) -> str | None:
        """Give the access token that was sent, even if it is malformed, or ``None``."""
        match = _BEARER.fullmatch((authorization or "").strip())
        return None if match is None else match[1] or ""

    def session_claims(self, token: str, *, now: int) -> tuple[str, dict[str, object]]:
        """Verify a Session JWT and its delegation; give the agent's client ID and the claims."""
        leeway = int(conf.leeway.total_seconds())
        session_jwt = Jwt(token)
        header = unverified_header(session_jwt)
        if not is_of_type(header, SESSION_TYPE):
            message = "The JWT's type is not that of Session JWTs."
            raise BadJwt(message)
        delegation = self.delegation(header.get("poppy_dlg"), leeway=leeway, now=now)
        claims = verified_claims(session_jwt, delegation.key)
        check_lifetime(claims, longest=LONGEST_SESSION_JWT, leeway=leeway, now=now)
        for name, expected in (("iss", delegation.client_id), ("aud", conf.issuer)):
            if claims.get(name) != expected:
                message = f"The Session JWT has another `{name}`."
                raise BadJwt(message)
        return delegation.client_id, claims

    def delegation(self, text: object, *, leeway: int, now: int) -> Delegation:
        """Give the delegation of a Session JWT, verified, of an agent that is allowed."""
        if not isinstance(text, str):
            message = "The Session JWT has no delegation (`poppy_dlg`)."
            raise BadJwt(message)
        known = self.known_delegations.get(text)
        shown = Jwt(text) if known is None else text
        agent = self.agent(claimed_client_id(shown) if known is None else known.client_id)
        keys = AgentKeys(agent)
        keys.keep_fresh(now)
        if known is not None and known.holds(agent, leeway=leeway, now=now):
            return known
        verified = verified_delegation(shown, agent, keys, leeway=leeway, now=now)
        self.known_delegations.put(text, verified)
        return verified

    def agent(self, client_id: str) -> Agent:
        """Give the agent if it is on the allow-list now.

        Raises InvalidSession, or KeysUnavailable if the database cannot be asked.
        """
        try:
            agent = find_agent(client_id)
        except (OperationalError, InterfaceError) as error:
            message = "The allow-list cannot be read now."
            raise KeysUnavailable(message, retry_after=1) from error
        if agent is None or agent.status != Agent.Status.ALLOWED:
            message = "The Personal Agent is not on the allow-list, or is revoked."
            raise InvalidSession(message)
        return agent

    def check_ath(self, claims: dict[str, object], bearer: str | None) -> None:
        """Check that the Session JWT was made for the access token that came. Raises BadJwt."""
        if "ath" in claims:
            if bearer is None or claims["ath"] != _ath(bearer):
                message = "The Session JWT was made for another access token."
                raise BadJwt(message)
        elif bearer is not None and conf.require_ath:
            message = "The Session JWT has no `ath` for the access token."
            raise BadJwt(message)

    def access_token(self, bearer: str, client_id: str, *, now: datetime | None) -> AccessToken:
        """Verify the access token, which must be issued to the Session's agent."""
        token = self.token_verifier.verify(bearer, now=now)
        if token.client_id != client_id:
            message = "The access token was issued to another Personal Agent."
            raise InvalidToken(message)
        return token

    def session(
        self,
        client_id: str,
        claims: dict[str, object],
        headers: SessionHeaders,
        token: AccessToken | None,
    ) -> Session:
        """Give the Session that the verified claims and token describe."""
        user_id, sid = claims.get("sub"), claims.get("sid")
        if not is_id(user_id) or not is_id(sid):
            message = "The User ID (`sub`) or the Session ID (`sid`) is no ID."
            raise InvalidSession(message)
        return Session(
            client_id=client_id,
            user_id=user_id,
            account=None if token is None else token.account,
            sid=sid,
            declared=declares_operations(headers.extensions),
            scope=frozenset() if token is None else token.scope,
            token_expires_at=None if token is None else token.expires_at,
        )


def _ath(bearer: str) -> str:
    # Header values reach us as Latin-1 or, in ASGI, decoded the same way.
    digest = hashlib.sha256(bearer.encode("latin-1", "replace")).digest()
    return urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")


def verify(request: HttpRequest, *, now: datetime | None = None) -> Session:
    """Verify the Session of a request as this package reads the core protocol.

    Raises:
        SessionRefused: one of its subclasses says what is wrong.

    """
    return SessionVerifier().verify(request, now=now)


def has_session(request: HttpRequest) -> bool:
    """Whether a request shows a Session, in any form, be it empty or doubled."""
    return "HTTP_POPPY_SESSION" in request.META

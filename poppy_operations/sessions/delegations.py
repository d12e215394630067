"""Delegations: an agent's published key says which key signs its Session JWTs."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

from poppy_operations.models import Agent
from poppy_operations.sessions.agents import AgentKeys
from poppy_operations.sessions.jwts import (
    BadJwt,
    Jwt,
    check_lifetime,
    taken_apart,
    text_claim,
    time_claim,
    unverified_claims,
    unverified_header,
    verified_claims,
)
from poppy_operations.sessions.keys import PublicKey, UnusableKey, public_key
from poppy_operations.sessions.known import Known
from poppy_operations.sessions.refusals import InvalidSession

LONGEST_DELEGATION: Final = 24 * 3600


@dataclass(frozen=True)
class Delegation:
    """A verified delegation. ``key_set`` is the digest of the agent's key set that vouched for it.

    Times are in seconds since 1970 (UTC).
    """

    client_id: str
    key: PublicKey
    issued_at: int
    expires_at: int
    key_set: bytes

    def holds(self, agent: Agent, *, leeway: int, now: int) -> bool:
        """Whether the delegation still holds: for this agent, by its keys of now, at this time."""
        return (
            self.client_id == agent.client_id
            and self.key_set == _digest(agent)
            and self.issued_at - leeway <= now < self.expires_at + leeway
        )


def claimed_client_id(delegation: Jwt | str) -> str:
    """Give the ``iss`` of a delegation that is not yet verified, to look up the agent.

    Raises:
        BadJwt: malformed, or its ``iss`` is no text that the database takes.

    """
    return text_claim(unverified_claims(delegation), "iss")


def verified_delegation(
    delegation: Jwt | str, agent: Agent, keys: AgentKeys, *, leeway: int, now: int
) -> Delegation:
    """Verify a delegation with the agent's current keys.

    Raises:
        BadJwt: malformed, too old or too long-lived.
        InvalidSession: not signed by a key of the agent, or it names no usable key.
        KeysUnavailable: the agent's keys cannot be loaded.

    """
    parts = taken_apart(delegation)
    header = unverified_header(parts)
    kid = header.get("kid")
    if not isinstance(kid, str):
        message = "The delegation names no key of the agent (`kid`)."
        raise InvalidSession(message)
    claims = _claims(parts, keys.matching(alg=header["alg"], kid=kid, now=now))
    if claims.get("iss") != agent.client_id:
        message = "The delegation is not the agent's own."
        raise InvalidSession(message)
    expires_at = check_lifetime(claims, longest=LONGEST_DELEGATION, leeway=leeway, now=now)
    confirmation = claims.get("cnf")
    jwk = confirmation.get("jwk") if isinstance(confirmation, dict) else None
    try:
        key = public_key(jwk)
    except UnusableKey as error:
        message = f"The delegation's `cnf.jwk` is not accepted: {error}"
        raise InvalidSession(message) from None
    return Delegation(agent.client_id, key, time_claim(claims, "iat"), expires_at, _digest(agent))


def _claims(delegation: Jwt, keys: tuple[PublicKey, ...]) -> dict[str, object]:
    for key in keys:
        try:
            return verified_claims(delegation, key)
        except BadJwt:
            continue
    message = "The delegation is not signed by a key that the agent has now."
    raise InvalidSession(message)


def _digest(agent: Agent) -> bytes:
    return hashlib.sha256(agent.jwks.encode()).digest()


class KnownDelegations(Known[str, Delegation]):
    """The delegations verified last, by their exact texts: they save the second signature check.

    Each is used only while the agent's key set is the very one that vouched for it.
    """

"""Why a request that shows a Session, or a token, is refused.

The message of each is a sentence for the Company's log. It never holds a token, a key or any
other text that the caller chose, and never goes into an answer: whichever check failed, the agent
is told the same.
"""

from __future__ import annotations


class SessionRefused(Exception):
    """The request is refused before operations are looked at. Base of the others."""


class InvalidSession(SessionRefused):
    """``invalid_session``: the Session JWT is needed and missing, or a check of it failed."""


class InvalidToken(SessionRefused):
    """``invalid_token``: the Session stands, but its access token is bad or has expired.

    ``client_id`` is whom the token was issued to, if that is known all the same.
    """

    def __init__(self, message: str, *, client_id: str | None = None) -> None:
        super().__init__(message)
        self.client_id = client_id


class InvalidVersion(SessionRefused):
    """``invalid_request``: ``Poppy-Version`` names another major version than 1."""


class KeysUnavailable(SessionRefused):
    """``temporarily_unavailable``: a key set cannot be loaded now, which is not the agent's fault.

    ``retry_after`` is in seconds.
    """

    def __init__(self, message: str, *, retry_after: int = 30) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class InsufficientScope(SessionRefused):
    """``insufficient_scope``: the access token lacks ``scope``, which the answer names."""

    def __init__(self, scope: str) -> None:
        super().__init__(f"The access token does not have the scope {scope!r}.")
        self.scope = scope

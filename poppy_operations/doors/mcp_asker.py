"""Who calls a tool: the headers of the call, and the approval in its ``_meta``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.base_user import AbstractBaseUser

from poppy_operations.browser.state import Browser
from poppy_operations.company import WITHOUT_HTTP, get_company, user_of_account
from poppy_operations.declarations.tool_calls import sdk_call_of
from poppy_operations.doors.http_asker import HttpAsker
from poppy_operations.doors.mcp_requests import request_of, sign_in
from poppy_operations.protocol.approval import ApprovalStatement, approval_from_json
from poppy_operations.protocol.wire import MCP_APPROVAL
from poppy_operations.sessions.refusals import InvalidToken
from poppy_operations.sessions.session import Session


@dataclass(frozen=True, kw_only=True)
class McpAsker(HttpAsker):
    """What one call of a tool tells of who asks. Nobody but agents calls tools."""

    context: Any

    @classmethod
    def of(cls, context: Any) -> McpAsker:
        """Read the call that a context of the SDK belongs to."""
        return cls(request=request_of(context), context=context)

    @property
    def is_without_http(self) -> bool:
        """Whether the call came by no HTTP request, as over stdio."""
        return hasattr(self.request, WITHOUT_HTTP)

    def shows_session(self) -> bool:
        """Whether there is a ``Poppy-Session``; over stdio the Company knows."""
        return self.is_without_http or super().shows_session()

    def session(self) -> Session:
        """The verified Session, whose user the site's code finds at the request.

        Raises a ``SessionRefused``, ``InvalidToken`` if the account is no active user's.
        """
        session = super().session()
        if session.account is not None and not self.request.user.is_authenticated:
            user = user_of_account(session.account)
            if user is None:
                message = "The account is no active user's."
                raise InvalidToken(message)
            sign_in(self.request, user)
        return session

    def browser(self) -> Browser:
        """None: no browser calls tools, and cookies are not read."""
        return Browser(marked=False)

    def is_agent(self) -> bool:
        """Whether the call came from an agent: it always did."""
        return True

    def shows_another_token(self) -> bool:
        """Whether the call has a token beside the Session's, or the SDK has accepted another."""
        if super().shows_another_token():
            return True
        accepted = getattr(self._scope.get("user"), "access_token", None)
        if accepted is None:
            return False
        verifier = get_company().session_verifier()
        bearer = verifier.bearer_token(self.request.META.get("HTTP_AUTHORIZATION"))
        return bool(accepted.token != bearer)

    def user(self) -> Any:
        """Whom the site's own ASGI middleware has signed in, if it has a user of Django's."""
        user = self._scope.get("user")
        return user if isinstance(user, AbstractBaseUser) else None

    def carries_approval(self) -> bool:
        """Whether ``_meta`` has an approval, in any form."""
        return MCP_APPROVAL in self._meta

    def approval(self) -> ApprovalStatement | None:
        """The approval in ``_meta``. Raises ``MalformedApproval``."""
        return approval_from_json(self._meta[MCP_APPROVAL]) if self.carries_approval() else None

    @property
    def _scope(self) -> Mapping[str, Any]:
        scope: Mapping[str, Any] = getattr(self.request, "scope", {})
        return scope

    @property
    def _meta(self) -> Mapping[str, Any]:
        meta = (sdk_call_of(self.context).params or {}).get("_meta")
        return meta if isinstance(meta, Mapping) else {}

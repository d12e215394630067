"""The scope permission for Personal Agents."""

from __future__ import annotations

from typing import Any

from rest_framework.exceptions import APIException, NotAuthenticated
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from poppy_operations.sessions.session import Session


class InsufficientScope(APIException):
    """The access token lacks the scope: 403, and which one."""

    status_code = 403

    def __init__(self, scope: str) -> None:
        super().__init__({"error": "insufficient_scope", "scope": scope})
        self.auth_header = f'Bearer error="insufficient_scope", scope="{scope}"'


class HasScope(BasePermission):
    """Require a scope of an agent's access token: ``permission_classes = [HasScope.of("a:b")]``.

    An agent's signed-out Session is challenged. Whoever else the site has authenticated is none
    of its business: give such users permissions of their own.
    """

    scope = ""

    @classmethod
    def of(cls, scope: str) -> type[HasScope]:
        """Make the permission class for one scope."""
        return type("HasScope", (cls,), {"scope": scope})

    def has_permission(self, request: Request, view: Any) -> bool:
        """Let the request pass, or raise the protocol's error for it."""
        session = request.auth
        if not isinstance(session, Session):
            return request.user.is_authenticated
        if session.account is None:
            raise NotAuthenticated({"error": "sign_in_required"})
        if self.scope not in session.scope:
            raise InsufficientScope(self.scope)
        return True

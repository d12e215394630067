"""The scope permission for Personal Agents."""

from __future__ import annotations

from typing import Any

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from poppy_operations.declarations.arguments import require_scope
from poppy_operations.doors.http_asker import HttpAsker
from poppy_operations.gate.authorization import scope_error
from poppy_operations.rest_framework.errors import core_error
from poppy_operations.sessions.verification import has_session


class HasScope(BasePermission):
    """Require a scope of an agent's access token: ``permission_classes = [HasScope.of("a:b")]``.

    If an agent's Session is signed out, it is challenged. Nothing is required of others whom the
    site has authenticated: give such users permissions of their own.
    """

    scope = ""

    @classmethod
    def of(cls, scope: str) -> type[HasScope]:
        """Make the permission class for one scope. Raises ``TypeError`` if it is no scope."""
        require_scope("The scope of HasScope.of()", scope)
        return type("HasScope", (cls,), {"scope": scope})

    def has_permission(self, request: Request, view: Any) -> bool:
        """Let the request pass, or raise the protocol's error for it."""
        if not self.scope:
            message = "Name the scope that is required: HasScope.of('orders:write')."
            raise TypeError(message)
        plain = request._request  # noqa: SLF001  the only way to Django's own request
        error = scope_error(HttpAsker(plain), request.user, self.scope)
        if error is not None:
            raise core_error(request, error)
        # A site may say that nobody is None.
        return has_session(plain) or bool(getattr(request.user, "is_authenticated", False))

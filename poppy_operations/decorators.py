"""Sessions and scopes for plain Django views that speak JSON."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_protect

from poppy_operations.declarations.arguments import require_scope
from poppy_operations.declarations.callables import is_async
from poppy_operations.doors.http_asker import HttpAsker
from poppy_operations.doors.placement import SESSION_CHECK
from poppy_operations.gate.answers import ErrorAnswer
from poppy_operations.gate.approvals import challenge
from poppy_operations.gate.authorization import agent_of, scope_error
from poppy_operations.responses.bodies import error_response
from poppy_operations.sessions.verification import has_session

F = TypeVar("F", bound=Callable[..., Any])


def personal_agents(*, scope: str | None = None) -> Callable[[F], F]:
    """Let Personal Agents call a plain Django view, as the classes for DRF do for its views.

    A request in a Session gets the account's user as ``request.user``, whatever cookies came with
    it, or an anonymous one if the Session is signed out; ``request.poppy.session`` is the
    Session. Errors of the core protocol are answered as JSON, and so is an agent that leaves its
    Session out. With ``scope``, the access token must have it, and whoever is not signed in is
    challenged. Agents need no CSRF token; everybody else does, as without the decorator.

    Goes above ``@action.api``, on a function, or on a class by
    ``@method_decorator(personal_agents(), name="dispatch")``.
    """
    if scope is not None:
        require_scope("scope=", scope)

    def decorate(view: F) -> F:
        _reject_misuse(view)
        protected = view if getattr(view, "csrf_exempt", False) else csrf_protect(view)
        if is_async(view):

            @wraps(view)
            async def achecked(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
                error = await sync_to_async(_checked)(request, scope)
                if error is not None:
                    return error
                handler = view if has_session(request) else protected
                return await handler(request, *args, **kwargs)

            checked: Any = achecked
        else:

            @wraps(view)
            def schecked(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
                error = _checked(request, scope)
                if error is not None:
                    return error
                handler = view if has_session(request) else protected
                return handler(request, *args, **kwargs)

            checked = schecked
        checked.csrf_exempt = True
        setattr(checked, SESSION_CHECK, True)
        result: F = checked
        return result

    return decorate


def _reject_misuse(view: Any) -> None:
    if inspect.isclass(view):
        message = (
            f"On a class write @method_decorator(personal_agents(), name='dispatch'), above "
            f"{view.__name__}."
        )
        raise TypeError(message)
    if not callable(view):
        message = "@personal_agents() is written with parentheses, on a view function."
        raise TypeError(message)
    if hasattr(view, "cls"):
        message = (
            "A view of Django REST framework takes PersonalAgentAuthentication and HasScope, not "
            "@personal_agents()."
        )
        raise TypeError(message)


def _checked(request: HttpRequest, scope: str | None) -> HttpResponse | None:
    """Say whose request it is, or why it is refused. Reads the Session and the account's user."""
    asker = HttpAsker(request)
    found = agent_of(asker)
    if isinstance(found, ErrorAnswer):
        return error_response(found)
    if found is not None:
        _sign_in(request, found[0])
    if scope is None:
        return None
    error = scope_error(asker, request.user, scope)
    if error is None and found is None and not request.user.is_authenticated:
        error = challenge(asker)
    return None if error is None else error_response(error)


def _sign_in(request: HttpRequest, user: Any) -> None:
    async def auser() -> Any:
        return user

    request.user = user
    request.auser = auser

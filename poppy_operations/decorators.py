"""Sessions and scopes for plain Django views that speak JSON."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_protect

from poppy_operations.doors.plain import SESSION_CHECK
from poppy_operations.gate.answers import Refused
from poppy_operations.gate.approvals import challenge
from poppy_operations.gate.authorization import scope_refusal, user_of_session
from poppy_operations.gate.callers import verified, without_session
from poppy_operations.responses.bodies import refused
from poppy_operations.sessions.verification import has_session

F = TypeVar("F", bound=Callable[..., Any])


def personal_agents(*, scope: str | None = None) -> Callable[[F], F]:
    """Let Personal Agents call a plain Django view; what the classes for DRF do for its views.

    A request in a Session gets the account's user as ``request.user``, whatever cookies came with
    it, or an anonymous one where the Session is signed out; ``request.poppy.session`` is the
    Session. Errors of the core protocol are answered as JSON, and so is an agent that leaves its
    Session out. With ``scope``, the access token must have it, and whoever is not signed in is
    challenged. Agents send no CSRF token, and need none: everybody else does, as without it.

    Goes above ``@action.api``, on a function, or on a class by
    ``@method_decorator(personal_agents(), name="dispatch")``.
    """

    def decorate(view: F) -> F:
        _refuse_misuse(view)
        protected = view if getattr(view, "csrf_exempt", False) else csrf_protect(view)
        if inspect.iscoroutinefunction(view):

            @wraps(view)
            async def achecked(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
                refusal = await sync_to_async(_checked)(request, scope)
                if refusal is not None:
                    return refusal
                handler = view if has_session(request) else protected
                return await handler(request, *args, **kwargs)

            checked: Any = achecked
        else:

            @wraps(view)
            def schecked(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
                refusal = _checked(request, scope)
                if refusal is not None:
                    return refusal
                handler = view if has_session(request) else protected
                return handler(request, *args, **kwargs)

            checked = schecked
        checked.csrf_exempt = True
        setattr(checked, SESSION_CHECK, True)
        result: F = checked
        return result

    return decorate


def _refuse_misuse(view: Any) -> None:
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
    refusal = _in_session(request) if has_session(request) else without_session(request)
    if refusal is None and scope is not None:
        refusal = scope_refusal(request, request.user, scope)
        if refusal is None and not (has_session(request) or request.user.is_authenticated):
            refusal = challenge(request)
    return None if refusal is None else refused(refusal)


def _in_session(request: HttpRequest) -> Refused | None:
    session = verified(request)
    user = session if isinstance(session, Refused) else user_of_session(session)
    if isinstance(user, Refused):
        return user

    async def auser() -> Any:
        return user

    request.user = cast("Any", user)  # Django's stubs promise the configured model
    request.auser = auser
    return None

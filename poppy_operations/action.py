"""``Action``: one kind of action, with a door for each interface."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast, overload

from django.http import HttpRequest, HttpResponse, HttpResponseBase

from poppy_operations.declarations.current import CurrentOperation
from poppy_operations.declarations.declared_action import DeclaredAction
from poppy_operations.declarations.outcomes import ToolResult
from poppy_operations.declarations.terms import Terms
from poppy_operations.doors.api import api_door
from poppy_operations.doors.arguments import (
    GATED_METHODS,
    Methods,
    Names,
    reject_in_arun,
    reject_in_run,
)
from poppy_operations.doors.pages import Judge
from poppy_operations.doors.website import gated_door, run_door, view_door
from poppy_operations.gate.sync_and_async import adrive, drive

F = TypeVar("F", bound=Callable[..., HttpResponseBase | Awaitable[HttpResponseBase]])
C = TypeVar("C", bound=type)
T = TypeVar("T", bound=Callable[..., Any])
# What the body of ``run`` returns, and the handler that calls it.
R = TypeVar("R", bound=HttpResponseBase)

SiteTerms = Terms | HttpResponseBase
TermsFor = Callable[..., SiteTerms | Awaitable[SiteTerms]]
ToolTerms = SiteTerms | ToolResult
ToolTermsFor = Callable[..., ToolTerms | Awaitable[ToolTerms]]
AllowedTool = Callable[..., Any]
Allowed = Callable[..., HttpResponseBase | Awaitable[HttpResponseBase | None] | None]


@dataclass(eq=False)
class Action(DeclaredAction):
    """One kind of action that needs approval, shared by all its doors (1, 3).

    Declare it once, at import, and decorate the views that perform it. The arguments are those of
    ``DeclaredAction``.
    """

    def view(
        self,
        *,
        terms: TermsFor,
        allowed: Allowed | None = None,
        performed: Judge | None = None,
        methods: Methods = GATED_METHODS,
        ignore: Names = (),
    ) -> Callable[[F], F]:
        """Put a view function, or a handler of a class, behind the gate; sync or async.

        ``terms(request, **kwargs)`` validates the request and gives ``Terms``, or the site's own
        answer, such as a form with its errors; it runs for everybody and must have no effect.
        ``allowed(request, **kwargs)`` is an object-level right, asked of everybody before anything
        else and before every replay: it returns ``None``, or a refusal, or raises.
        ``performed(response)`` says whether the action was performed, if the view's answer itself
        does not tell: False counts as ``NotPerformed``. ``methods`` are the HTTP
        methods behind the gate. ``ignore`` names form fields, JSON paths and query
        parameters that do not matter when two requests are compared. The view finds the terms at
        ``operation_of(request).terms``.
        """

        def decorate(view: F) -> F:
            return view_door(
                self,
                view,
                terms=terms,
                allowed=allowed,
                performed=performed,
                methods=methods,
                ignore=ignore,
            )

        return decorate

    def api(
        self,
        *,
        terms: TermsFor,
        allowed: Allowed | None = None,
        replay: Callable[..., Any] | None = None,
        methods: Methods = GATED_METHODS,
        ignore: Names = (),
    ) -> Callable[[F], F]:
        """Put an API's view or handler behind the gate; sync or async.

        A function below ``@api_view``, a handler of an APIView, generic view or ViewSet, or a plain
        Django view that speaks JSON. Authentication, permissions, throttles and parsing come
        first, as without the gate.
        ``replay(request, operation)`` makes the answer of a performed action again if its body
        cannot be stored, such as a stream's or a very large one's. The other arguments are those of
        ``view``.
        """

        def decorate(view: F) -> F:
            return api_door(
                self,
                view,
                terms=terms,
                allowed=allowed,
                replay=replay,
                methods=methods,
                ignore=ignore,
            )

        return decorate

    def tool(
        self,
        *,
        terms: ToolTermsFor,
        allowed: AllowedTool | None = None,
        replay: Callable[..., Any] | None = None,
        scope: str | None = None,
        ignore: Names = (),
    ) -> Callable[[T], T]:
        """Put an MCP tool behind the gate; sync or async. Goes below the server's ``tool()``.

        The tool has a parameter ``ctx: Context``, of the SDK or of FastMCP, and finds the terms at
        ``operation_of(ctx).terms``. ``terms(request, **arguments)`` and
        ``allowed(request, **arguments)`` are called with the arguments of the tool and a request of
        Django's, which has the headers of the call, and the account's user as ``request.user``.
        They may refuse with a result of the SDK or a response. ``scope`` is what the access token
        must have: whoever is not signed in is challenged. ``ignore`` names arguments that do not
        matter when two calls are compared; ``replay`` is that of ``api``. Needs the extra ``mcp``.
        """
        from poppy_operations.doors.mcp import tool_door  # an extra

        def decorate(tool: T) -> T:
            return tool_door(
                self,
                tool,
                terms=terms,
                allowed=allowed,
                replay=replay,
                scope=scope,
                ignore=ignore,
            )

        return decorate

    @overload
    def gated(self, target: C, /) -> C: ...

    @overload
    def gated(
        self,
        /,
        *,
        allowed: Allowed | None = None,
        methods: Methods = GATED_METHODS,
        ignore: Names = (),
    ) -> Callable[[C], C]: ...

    def gated(
        self,
        target: C | None = None,
        /,
        *,
        allowed: Allowed | None = None,
        methods: Methods = GATED_METHODS,
        ignore: Names = (),
    ) -> Any:
        """Prepare the handlers of a class in which a method calls ``run`` or ``arun``.

        Write it with parentheses if there are arguments; they are those of ``view``.
        """

        def decorate(view: C) -> C:
            return gated_door(self, view, allowed=allowed, methods=methods, ignore=ignore)

        return decorate if target is None else decorate(target)

    def run(
        self,
        request: HttpRequest,
        terms: Callable[[], Terms | R],
        body: Callable[[CurrentOperation], R],
        *,
        performed: Judge | None = None,
        ignore: Names = (),
    ) -> R | HttpResponse:
        """Take a browser's request through the gate inside a view, which returns the answer.

        ``body(operation)`` is all of the action, and returns its response. ``terms()`` is called
        again inside the transaction. Raises ``RuntimeError`` outside a class that
        ``gated`` of this action decorates, and if the request has run an action already.
        """
        reject_in_run(self, terms=terms, body=body)
        answer = drive(run_door(self, request, terms, body, ignore, performed))
        return cast("R | HttpResponse", answer)

    async def arun(
        self,
        request: HttpRequest,
        terms: Callable[[], Terms | R | Awaitable[Terms | R]],
        body: Callable[[CurrentOperation], Awaitable[R] | R],
        *,
        performed: Judge | None = None,
        ignore: Names = (),
    ) -> R | HttpResponse:
        """``run`` for async views."""
        reject_in_arun(self, terms=terms, body=body)
        answer = await adrive(run_door(self, request, terms, body, ignore, performed))
        return cast("R | HttpResponse", answer)

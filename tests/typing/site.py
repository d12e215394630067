"""A typed site: each kind of door, hook and answer once. mypy is the test."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, assert_type

from django import forms
from django.contrib.auth.decorators import login_required
from django.contrib.auth.mixins import LoginRequiredMixin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.generic import FormView
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.types import CallToolResult
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from poppy_operations import (
    Action,
    ApprovalStatement,
    ApprovedOperation,
    Browser,
    Company,
    CurrentOperation,
    DeclaredAction,
    Decline,
    Each,
    NotPerformed,
    Owner,
    Performed,
    Refusal,
    RequestFacts,
    Session,
    Terms,
    operation_of,
)
from poppy_operations.exceptions import Busy, InvalidSession, KeysUnavailable, SessionRefused
from poppy_operations.maintenance import revoke
from poppy_operations.mcp import django_tool, session_of
from poppy_operations.sessions.tokens import AccessToken, TokenVerifier

if TYPE_CHECKING:
    Form = FormView["Exchange"]
else:
    Form = FormView

exchange = Action("typing.exchange", effects="database", lifetime=timedelta(minutes=5))
refund = Action("typing.refund", effects="external", approvers=["user"], not_performed=(OSError,))


class ShopRequest(HttpRequest):
    poppy: RequestFacts


def who_asks(request: ShopRequest) -> HttpResponse:
    assert_type(request.poppy.session, Session | None)
    assert_type(request.poppy.refusal, SessionRefused | None)
    assert_type(request.poppy.browser, Browser)
    session = request.poppy.session or request.poppy.browser.session
    return HttpResponse("nobody" if session is None else session.client_id)


def nothing_is_missing(operation: ApprovedOperation) -> str:
    assert_type(operation.operation_id, str)
    assert_type(operation.revision, str)
    assert_type(operation.idempotency_key, str)
    assert_type(operation.owner, Owner)
    return f"{operation.owner.client_id} {operation.idempotency_key}"


@refund.reconcile
def outcome(operation: ApprovedOperation) -> Performed | NotPerformed | None:
    return Performed({"refund": nothing_is_missing(operation)}) if operation.terms else None


def redirected(response: HttpResponse) -> bool:
    return response.status_code == 302


@exchange.decline
def too_much(operation: ApprovedOperation, approval: ApprovalStatement) -> Decline | None:
    return Decline("Too much.") if approval.approver == "agent" else None


def ship_now(operation: ApprovedOperation) -> HttpResponse:
    return HttpResponse(nothing_is_missing(operation))


def ship_terms(operation: CurrentOperation) -> Terms | NotPerformed:
    return Terms(operation.terms)


ship = Action(
    "typing.ship", effects="database", perform=ship_now, still=ship_terms, background=True
)


class ShopTokens(TokenVerifier):
    def verify(self, token: str, *, now: datetime | None = None) -> AccessToken:
        raise KeysUnavailable("The authorization server does not answer.", retry_after=5)


class Shop(Company):
    token_verifier = ShopTokens

    def session_for(self, request: HttpRequest) -> Session:
        if "HTTP_X_SESSION" not in request.META:
            raise InvalidSession("Nothing in front of Django has verified it.")
        return Session("https://agent.example", "usr_1", None, "ses_1", declared=True)

    def undeclared(self, request: HttpRequest, action: DeclaredAction) -> Refusal:
        return Refusal(HttpResponse(action.name, status=403))

    def decline(self, operation: ApprovedOperation, approval: ApprovalStatement) -> Decline | None:
        return Decline(nothing_is_missing(operation))


def revoke_it(client_id: str) -> bool:
    try:
        revoke(client_id)
    except Busy:
        return False
    return True


def exchange_terms(request: HttpRequest, order_id: int) -> Terms | HttpResponse:
    return Terms({"order_id": order_id}, summary="Exchange it.", same_action=(order_id,))


async def exchange_terms_async(request: HttpRequest, order_id: int) -> Terms:
    return Terms({"order_id": order_id}, needed=False)


def refund_terms(request: Request, order_id: int) -> Terms | Response:
    return Terms({"order_id": order_id}, same_action=Each)


@login_required
@exchange.view(terms=exchange_terms)
def exchange_item(request: HttpRequest, order_id: int) -> HttpResponse:
    assert_type(operation_of(request), CurrentOperation)
    return redirect("order", order_id)


@exchange.view(terms=exchange_terms_async, performed=redirected)
async def exchange_item_async(request: HttpRequest, order_id: int) -> HttpResponse:
    return redirect("order", order_id)


class Exchange(forms.Form):
    item = forms.CharField()


@exchange.gated
class ExchangeForm(LoginRequiredMixin, Form):
    def form_valid(self, form: Exchange) -> HttpResponse:
        save = super().form_valid
        terms = Terms(form.cleaned_data)
        return exchange.run(
            self.request, lambda: terms, lambda operation: save(form), performed=redirected
        )


@exchange.gated(methods=["POST"])
class ExchangeFormAsync(Form):
    async def answer(self, form: Exchange) -> HttpResponse:
        async def terms() -> Terms:
            return Terms(form.cleaned_data)

        async def body(operation: CurrentOperation) -> HttpResponse:
            return redirect("order", operation.terms["order_id"])

        return await exchange.arun(self.request, terms, body)


class RefundView(APIView):
    @refund.api(terms=refund_terms)
    def post(self, request: Request, order_id: int) -> Response:
        if not operation_of(request).terms:
            raise NotPerformed(Response(status=409))
        return Response({"order_id": order_id})


@api_view(["POST"])
@refund.api(terms=refund_terms)
def refund_order(request: Request, order_id: int) -> Response:
    return Response({"order_id": order_id})


def names_keep_their_types(request: HttpRequest) -> None:
    assert_type(exchange_item(request, 1), HttpResponse)
    assert_type(ExchangeForm(), ExchangeForm)
    assert_type(ExchangeFormAsync(), ExchangeFormAsync)


def replayed(request: Request, operation: ApprovedOperation) -> Response:
    return Response(nothing_is_missing(operation))


@api_view(["POST"])
@refund.api(terms=refund_terms, replay=replayed, methods=("POST",), ignore={"nonce"})
def refund_streamed(request: Request, order_id: int) -> Response:
    assert_type(operation_of(request), CurrentOperation)
    return Response({"order_id": order_id})


server = MCPServer("typing")


def refund_tool_terms(request: HttpRequest, order_id: int) -> Terms | CallToolResult:
    return Terms({"order_id": order_id}) if order_id else CallToolResult(content=[], is_error=True)


@server.tool()
@refund.tool(terms=refund_tool_terms, scope="orders:write")
def refund_tool(order_id: int, ctx: Context) -> dict[str, int]:
    assert_type(operation_of(ctx), CurrentOperation)
    if not order_id:
        raise NotPerformed(CallToolResult(content=[], is_error=True))
    return {"order_id": order_id}


@server.tool()
@refund.tool(terms=refund_tool_terms, allowed=refund_tool_terms)
async def refund_tool_async(order_id: int, ctx: Context) -> CallToolResult:
    return CallToolResult(content=[], structured_content={"account": session_of(ctx).account})


@server.tool()
@django_tool
def price_tool(sku: str) -> int:
    return len(sku)


def tools_keep_their_types(ctx: Context) -> None:
    assert_type(refund_tool(1, ctx), dict[str, int])
    assert_type(price_tool("parka"), int)
    Refusal(CallToolResult(content=[]))


def these_must_be_errors(request: HttpRequest, operation: CurrentOperation) -> None:
    """An ignored line that is no error is one itself."""
    Action("typing.a", "database")  # type: ignore[call-arg]
    Action("typing.a")  # type: ignore[call-arg]
    Action("typing.a", effects="none")  # type: ignore[arg-type]
    Action("typing.a", effects="external", approvers="user")  # type: ignore[arg-type]
    Action("typing.a", effects="external", approvers=["nobody"])  # type: ignore[list-item]
    Action("typing.a", effects="external", not_performed=OSError)  # type: ignore[arg-type]
    Action("typing.a", effects="external", lifetime=900)  # type: ignore[arg-type]
    Action("typing.a", effects="external", website="False")  # type: ignore[arg-type]
    Action("typing.a", effects="external", perform=too_much)  # type: ignore[arg-type]
    Terms({}, False)  # type: ignore[arg-type, call-arg]
    Terms({}, needed=None)  # type: ignore[arg-type]
    Terms({}, summary=7)  # type: ignore[arg-type]
    Terms([("order_id", 1)])  # type: ignore[arg-type]
    NotPerformed("Sold out.")  # type: ignore[arg-type]
    Decline("No.", "Call us.")  # type: ignore[arg-type]
    exchange.view()  # type: ignore[call-arg]
    exchange.view(terms=None)  # type: ignore[arg-type]
    exchange.view(terms=exchange_terms, methods="POST")  # type: ignore[arg-type]
    exchange.view(terms=exchange_terms, methods=["PSOT"])  # type: ignore[list-item]
    exchange.view(terms=exchange_terms, ignore="nonce")  # type: ignore[arg-type]
    exchange.view(terms=exchange_terms)(None)  # type: ignore[type-var]
    exchange.api(terms=refund_terms, replay="again")  # type: ignore[arg-type]
    refund.tool(terms=None)  # type: ignore[arg-type]
    refund.tool(terms=refund_tool_terms, scope=["orders:write"])  # type: ignore[arg-type]
    refund.tool(terms=refund_tool_terms)(7)  # type: ignore[type-var]
    Refusal("No.")  # type: ignore[arg-type]
    exchange.gated(allowed="everybody")  # type: ignore[call-overload]
    exchange.run(request, Terms({}), ship_now)  # type: ignore[arg-type]
    exchange.reconcile(too_much)  # type: ignore[arg-type]
    exchange.decline(outcome)  # type: ignore[arg-type]
    operation_of("request")  # type: ignore[arg-type]
    request.poppy  # type: ignore[attr-defined]  # noqa: B018
    operation.owner.client_id  # type: ignore[union-attr]  # noqa: B018
    nothing_is_missing(operation)  # type: ignore[arg-type]

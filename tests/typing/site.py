"""A typed site: each kind of door, hook and answer once. mypy is the test."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, assert_type

from django import forms
from django.contrib.auth.decorators import login_required
from django.contrib.auth.mixins import LoginRequiredMixin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.generic import FormView
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from poppy_operations import (
    Action,
    Company,
    CurrentOperation,
    Decline,
    Each,
    NotPerformed,
    Performed,
    Refusal,
    Terms,
    operation_of,
)
from poppy_operations.declarations.declared_action import DeclaredAction
from poppy_operations.protocol.approval import ApprovalStatement

if TYPE_CHECKING:
    Form = FormView["Exchange"]
else:
    Form = FormView

exchange = Action("typing.exchange", effects="database", lifetime=timedelta(minutes=5))
refund = Action("typing.refund", effects="external")


@refund.reconcile
def outcome(operation: CurrentOperation) -> Performed | NotPerformed | None:
    return Performed({"refund": operation.idempotency_key}) if operation.terms else None


@exchange.decline
def too_much(operation: CurrentOperation, approval: ApprovalStatement) -> Decline | None:
    return Decline("Too much.") if approval.approver == "agent" else None


class Shop(Company):
    def undeclared(self, request: HttpRequest, action: DeclaredAction) -> Refusal:
        return Refusal(HttpResponse(action.name, status=403))


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


@exchange.view(terms=exchange_terms_async)
async def exchange_item_async(request: HttpRequest, order_id: int) -> HttpResponse:
    return redirect("order", order_id)


class Exchange(forms.Form):
    item = forms.CharField()


@exchange.gated
class ExchangeForm(LoginRequiredMixin, Form):
    def form_valid(self, form: Exchange) -> HttpResponse:
        save = super().form_valid
        terms = Terms(form.cleaned_data)
        return exchange.run(self.request, lambda: terms, lambda operation: save(form))


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

"""The shop's API; ``/api/schema`` is the OpenAPI document of it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, cast

from django.http import HttpResponseBase
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.exceptions import NotFound
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from example_project.payments.gateway import PaymentRefused
from example_project.shop.closures import SUMMARY, close_account, closure_values
from example_project.shop.exchanges import exchange_item, exchange_summary, exchange_values
from example_project.shop.operations import closure, exchange, refund, refused, reservation
from example_project.shop.orders import own_order
from example_project.shop.prices import money
from example_project.shop.refunds import refund_money, refund_summary, refund_values
from example_project.shop.reservations import reservation_summary, reservation_values, reserve
from example_project.shop.serializers import (
    ExchangeMade,
    ExchangeRequest,
    OrderShown,
    Problem,
    RefundMade,
    RefundRefused,
    RefundRequest,
    ReservationMade,
    ReservationRequest,
    delay,
)
from poppy_operations import NotPerformed, Terms, operation_of
from poppy_operations.rest_framework import HasScope

if TYPE_CHECKING:
    from django.contrib.auth.models import User

MayWriteOrders = HasScope.of("orders:write")
# What the framework answers before a view is asked, beside what the package's schema class adds.
READ = {406: Problem}
WRITTEN = {**READ, 400: OpenApiTypes.OBJECT, 415: Problem}
OF_AN_ORDER = {404: Problem}


def own_order_only(request: Request, order_id: str) -> None:
    """Let nobody near another account's order, whatever was answered to whom before."""
    own_order(request.user, order_id)


def exchange_terms(request: Request, order_id: str) -> Terms:
    """Return the exact terms of the exchange that the request asks for."""
    asked = ExchangeRequest(data=request.data, context={"order": own_order(request.user, order_id)})
    asked.is_valid(raise_exception=True)
    item, replacement = asked.validated_data["item_id"], asked.validated_data["replacement_sku"]
    return Terms(
        exchange_values(item, replacement),
        summary=exchange_summary(item, replacement),
        same_action=(order_id, item.item_id),
        content=asked,
    )


def refund_terms(request: Request, order_id: str) -> Terms:
    """Return the exact terms of the refund that the request asks for."""
    order = own_order(request.user, order_id)
    asked = RefundRequest(data=request.data)
    asked.is_valid(raise_exception=True)
    amount = asked.validated_data["amount"]
    return Terms(refund_values(order, amount), summary=refund_summary(order, amount), content=asked)


def reservation_terms(request: Request) -> Terms:
    """Return the exact terms of the reservation that the request asks for."""
    asked = ReservationRequest(data=request.data)
    asked.is_valid(raise_exception=True)
    product, quantity = asked.validated_data["sku"], asked.validated_data["quantity"]
    return Terms(
        reservation_values(product, quantity),
        summary=reservation_summary(product, quantity),
        content=asked,
    )


def closure_terms(request: Request) -> Terms:
    """Return the terms of closing the account that asks."""
    return Terms(closure_values(cast("User", request.user)), summary=SUMMARY)


class OrderDetail(APIView):
    """An order, with what was done to it since."""

    @extend_schema(responses={200: OrderShown, **READ, **OF_AN_ORDER})
    def get(self, request: Request, order_id: str) -> Response:
        order = own_order(request.user, order_id)
        items = list(order.items.select_related("product"))
        return Response(
            {
                "order_id": order.order_id,
                "placed_at": order.placed_at,
                "items": [
                    {
                        "item_id": item.item_id,
                        "sku": item.product.sku,
                        "name": str(item.product),
                        "ordered_price": money(item.ordered_price),
                    }
                    for item in items
                ],
                "exchanges": [
                    {
                        "exchange_id": made.exchange_id,
                        "item_id": item.item_id,
                        "replaced_sku": made.replaced.sku,
                        "replacement_sku": made.replacement.sku,
                        "price_difference": money(made.price_difference),
                    }
                    for item in items
                    for made in item.exchanges.select_related("replaced", "replacement")
                ],
                "refunds": [
                    {"refund_id": made.refund_id, "amount": money(made.amount)}
                    for made in order.refunds.all()
                ],
            }
        )


class Exchanges(APIView):
    """Exchanges of an order."""

    permission_classes = (MayWriteOrders,)

    @extend_schema(request=ExchangeRequest, responses={201: ExchangeMade, **WRITTEN, **OF_AN_ORDER})
    @exchange.api(terms=exchange_terms, allowed=own_order_only)
    def post(self, request: Request, order_id: str) -> HttpResponseBase:
        operation = operation_of(request)
        made = exchange_item(operation.terms, operation.operation_id)
        wait(request)
        return Response(
            {
                "exchange_id": made.exchange_id,
                "item_id": made.item.item_id,
                "replacement_sku": made.replacement.sku,
                "price_difference": money(made.price_difference),
            },
            status.HTTP_201_CREATED,
        )


class Refunds(APIView):
    """Refunds of an order."""

    permission_classes = (MayWriteOrders,)

    @extend_schema(
        request=RefundRequest,
        responses={201: RefundMade, 422: RefundRefused, **WRITTEN, **OF_AN_ORDER},
    )
    @refund.api(terms=refund_terms, allowed=own_order_only)
    def post(self, request: Request, order_id: str) -> HttpResponseBase:
        operation = operation_of(request)
        try:
            made = refund_money(
                operation.terms, operation.idempotency_key, delay_ms=delay_of(request)
            )
        except PaymentRefused as refusal:
            raise NotPerformed(refused(str(refusal))) from refusal
        return Response(
            {"refund_id": made.refund_id, "amount": money(made.amount)}, status.HTTP_201_CREATED
        )


class Reservations(APIView):
    """Reservations, by an account or by nobody known."""

    permission_classes = (AllowAny,)

    @extend_schema(request=ReservationRequest, responses={201: ReservationMade, **WRITTEN})
    @reservation.api(terms=reservation_terms)
    def post(self, request: Request) -> HttpResponseBase:
        operation = operation_of(request)
        made = reserve(operation.terms, operation.operation_id, request.user)
        return Response(
            {"reservation_id": made.reservation_id, "total": money(made.total)},
            status.HTTP_201_CREATED,
        )


class AccountClosure(APIView):
    """The closure of the account that asks."""

    @extend_schema(request=None, responses={204: None, **READ})
    @closure.api(terms=closure_terms)
    def post(self, request: Request) -> HttpResponseBase:
        operation = operation_of(request)
        close_account(operation.terms, operation.operation_id)
        return Response(status=status.HTTP_204_NO_CONTENT)


class Description(APIView):
    """The OpenAPI document of the API, the same for everybody."""

    authentication_classes = ()
    permission_classes = (AllowAny,)
    schema = None

    def get(self, request: Request) -> Response:
        generator: Any = SchemaGenerator  # which has no types
        return Response(generator().get_schema(request=None, public=True))


class Unknown(APIView):
    """Any other address of the API, whose errors are JSON as well."""

    authentication_classes = ()
    permission_classes = (AllowAny,)
    schema = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        raise NotFound


def delay_of(request: Request) -> int:
    """Return the delay that the request asks for; ``terms`` has validated it."""
    given = cast("dict[str, Any]", request.data).get("delay_ms", 0)
    return int(delay().run_validation(given))


def wait(request: Request) -> None:
    """Be slow where a test asks for it, after the action's writes and before their commit."""
    time.sleep(delay_of(request) / 1000)

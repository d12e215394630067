"""The shop's API. Members that a serializer does not know are ignored by the views."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, cast

from django.http import HttpResponseBase
from django.shortcuts import get_object_or_404
from rest_framework import serializers, status
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from example_project.payments.gateway import PaymentRefused
from example_project.shop.closures import SUMMARY, close_account, closure_values
from example_project.shop.exchanges import exchange_item, exchange_summary, exchange_values
from example_project.shop.models import Order, OrderItem, Product
from example_project.shop.operations import closure, exchange, refund, refused, reservation
from example_project.shop.prices import money
from example_project.shop.refunds import AMOUNTS, refund_money, refund_summary, refund_values
from example_project.shop.reservations import (
    QUANTITIES,
    reservation_summary,
    reservation_values,
    reserve,
)
from poppy_operations import NotPerformed, Terms, operation_of
from poppy_operations.rest_framework import HasScope

if TYPE_CHECKING:
    from django.contrib.auth.models import User

LONGEST_DELAY_MS = 60_000
MayWriteOrders = HasScope.of("orders:write")


def delay() -> serializers.IntegerField:
    """Return the field by which tests make an action slow, in milliseconds."""
    return serializers.IntegerField(default=0, min_value=0, max_value=LONGEST_DELAY_MS)


class Known(serializers.SlugRelatedField[Any]):
    """Something that the shop knows by its name."""

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, str):
            self.fail("invalid")
        if "\0" in data:  # which PostgreSQL cannot even look for
            self.fail("does_not_exist", slug_name=self.slug_field, value="")
        return super().to_internal_value(data)


class ExchangeRequest(serializers.Serializer[Any]):
    """What an exchange is asked for with; ``context["order"]`` is the order."""

    item_id = Known("item_id", queryset=OrderItem.objects.none())
    replacement_sku = Known("sku", queryset=Product.objects.all())
    delay_ms = delay()

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        fields = super().get_fields()
        items = self.context["order"].items.select_related("order", "product")
        fields["item_id"] = Known("item_id", queryset=items)
        return fields


class RefundRequest(serializers.Serializer[Any]):
    """What a refund is asked for with."""

    amount = serializers.DecimalField(
        max_digits=5, decimal_places=2, min_value=AMOUNTS[0], max_value=AMOUNTS[1]
    )
    delay_ms = delay()


class ReservationRequest(serializers.Serializer[Any]):
    """What a reservation is asked for with."""

    sku = Known("sku", queryset=Product.objects.all())
    quantity = serializers.IntegerField(min_value=QUANTITIES[0], max_value=QUANTITIES[1])


def own_order(request: Request, order_id: str) -> Order:
    """Return the order if it is the account's own; anybody else's does not exist for it."""
    return get_object_or_404(Order, order_id=order_id, customer_id=request.user.pk)


def own_order_only(request: Request, order_id: str) -> None:
    """Let nobody near another account's order, whatever was answered to whom before."""
    own_order(request, order_id)


def exchange_terms(request: Request, order_id: str) -> Terms:
    """Return the exact terms of the exchange that the request asks for."""
    asked = ExchangeRequest(data=request.data, context={"order": own_order(request, order_id)})
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
    order = own_order(request, order_id)
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

    def get(self, request: Request, order_id: str) -> Response:
        order = own_order(request, order_id)
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

    @closure.api(terms=closure_terms)
    def post(self, request: Request) -> HttpResponseBase:
        operation = operation_of(request)
        close_account(operation.terms, operation.operation_id)
        return Response(status=status.HTTP_204_NO_CONTENT)


def delay_of(request: Request) -> int:
    """Return the delay that the request asks for; ``terms`` has validated it."""
    given = cast("dict[str, Any]", request.data).get("delay_ms", 0)
    return int(delay().run_validation(given))


def wait(request: Request) -> None:
    """Be slow where a test asks for it, after the action's writes and before their commit."""
    time.sleep(delay_of(request) / 1000)

"""What the test site's API sells behind approval, and how it behaves when a test says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponseBase, JsonResponse
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from poppy_operations import Action, CurrentOperation, Terms
from tests.shop.models import Effect, Item
from tests.shop.operations import SoldOut, behaviour

LOCATION = {"Location": "/api/orders/1/", "X-Order": "1"}


def created(operation: CurrentOperation) -> HttpResponseBase:
    """What an API answers to an order."""
    terms = operation.terms
    return Response({"sku": terms["sku"], "quantity": terms["quantity"]}, 201, headers=LOCATION)


def created_plainly(operation: CurrentOperation) -> HttpResponseBase:
    """The same, by a view without Django REST framework."""
    terms = operation.terms
    body = {"sku": terms["sku"], "quantity": terms["quantity"]}
    return JsonResponse(body, status=201, headers=LOCATION)


def replayed(request: Any, operation: CurrentOperation) -> Response:
    """What a ``replay`` hook makes of the operation."""
    return Response({"sku": operation.terms["sku"], "again": True})


@dataclass
class ApiBehaviour:
    """What the API does beyond the ordinary, set by a test and reset after it."""

    answer: Callable[[CurrentOperation], HttpResponseBase] | None = None
    replay: Callable[[Any, CurrentOperation], HttpResponseBase] = replayed
    allowed: Callable[[Any], HttpResponseBase | None] = lambda request: None
    terms: Callable[[Any], Terms | HttpResponseBase | None] = lambda request: None
    with_content: bool = True
    needed: bool = True
    asked_of: list[str] = field(default_factory=list)

    def reset(self) -> None:
        """Be ordinary again."""
        self.__init__()  # type: ignore[misc]  # every field gets its default again


api = ApiBehaviour()

order = Action("api.order", effects="database", prefix="ord")
one_order = Action("api.one_order", effects="database", prefix="one")
transfer = Action("api.transfer", effects="external", prefix="tra", not_performed=(SoldOut,))
by_hand = Action("api.by_hand", effects="database", approvers=("user",))
judged = Action("api.judged", effects="database")
extra = Action("api.extra", effects="database")


class OrderRequest(serializers.Serializer[Any]):
    """What one orders, and how many."""

    sku = serializers.CharField(max_length=40)
    quantity = serializers.IntegerField(min_value=1, max_value=99, default=1)


def given(request: Request | HttpRequest) -> Any:
    """The parsed body of a request of either kind."""
    if isinstance(request, Request):
        return request.data
    return json.loads(request.body or "{}")


def order_terms(request: Any, **kwargs: str) -> Terms | HttpResponseBase:
    """The terms of an order at today's price."""
    answer = api.terms(request)
    if answer is not None:
        return answer
    asked = OrderRequest(data=given(request))
    asked.is_valid(raise_exception=True)
    item = get_object_or_404(Item, sku=asked.validated_data["sku"])
    quantity = asked.validated_data["quantity"]
    total = item.price * quantity
    return Terms(
        {"sku": item.sku, "quantity": quantity, "total": {"amount": total, "currency": "USD"}},
        summary=f"Order {quantity} × {item.sku} for ${total}.",
        needed=api.needed,
        content=asked if api.with_content else None,
    )


def one_order_terms(request: Any, **kwargs: str) -> Terms | HttpResponseBase:
    """The same, and whatever is asked for at one address is the same action."""
    terms = order_terms(request, **kwargs)
    if isinstance(terms, HttpResponseBase):
        return terms
    return replace(terms, same_action="the order")


def allowed(request: Any, **kwargs: str) -> HttpResponseBase | None:
    """The API's object-level right."""
    return api.allowed(request)


def replay(request: Any, operation: CurrentOperation) -> HttpResponseBase:
    """Give an answer again that could not be stored."""
    return api.replay(request, operation)


async def aorder_terms(request: Any, **kwargs: str) -> Terms | HttpResponseBase:
    """Async terms."""
    return await sync_to_async(order_terms)(request, **kwargs)


async def aallowed(request: Any, **kwargs: str) -> HttpResponseBase | None:
    """An async right."""
    return await sync_to_async(allowed)(request, **kwargs)


async def areplay(request: Any, operation: CurrentOperation) -> HttpResponseBase:
    """An async replay."""
    return JsonResponse({"sku": operation.terms["sku"], "again": True})


def take(
    operation: CurrentOperation,
    answer: Callable[[CurrentOperation], HttpResponseBase] = created,
) -> HttpResponseBase:
    """Do it: one effect, by the approved terms alone."""
    behaviour.before_effect(operation)
    terms = operation.terms
    Effect.objects.create(kind=operation.action, key=f"{terms['quantity']} {terms['sku']}")
    behaviour.after_effect(operation)
    return (api.answer or answer)(operation)

"""What the test site sells behind approval: one action for each shape that matters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect

from poppy_operations import Action, CurrentOperation, Each, Terms
from tests.shop.models import Effect, Item


class SoldOut(Exception):
    """An external action's clean refusal."""


@dataclass
class Behaviour:
    """What the site does beyond the ordinary, set by a test and reset after it."""

    before_effect: Callable[[CurrentOperation], Any] = lambda operation: None
    after_effect: Callable[[CurrentOperation], Any] = lambda operation: None
    answer: Callable[[CurrentOperation], HttpResponseBase] = field(
        default=lambda operation: redirect("/done/")
    )
    allowed: Callable[[HttpRequest], HttpResponseBase | None] = lambda request: None
    needed_from: int = 0
    needed: bool = True
    terms_answer: Callable[[HttpRequest], HttpResponseBase | None] = lambda request: None
    terms_called: int = 0

    def reset(self) -> None:
        """Be ordinary again."""
        self.__init__()  # type: ignore[misc]  # every field gets its default again


behaviour = Behaviour()

buy = Action("shop.buy", effects="database", prefix="buy")
refund = Action("shop.refund", effects="external", prefix="ref", not_performed=(SoldOut,))
exchange = Action("shop.exchange", effects="database", prefix="exc")
each = Action("shop.each", effects="database")
unrepeatable = Action("shop.unrepeatable", effects="database", website=False)


class OrderForm(forms.Form):
    """What one buys, and how many."""

    sku = forms.CharField(max_length=40)
    quantity = forms.IntegerField(min_value=1, max_value=99, initial=1)


def order_terms(request: HttpRequest, **kwargs: str) -> Terms | HttpResponseBase:
    """The terms of an order at today's price."""
    behaviour.terms_called += 1
    answer = behaviour.terms_answer(request)
    if answer is not None:
        return answer
    form = OrderForm(request.POST)
    if not form.is_valid():
        return HttpResponse(form.errors.as_text(), status=400, content_type="text/plain")
    item = Item.objects.filter(sku=form.cleaned_data["sku"]).first()
    if item is None:
        return HttpResponse("no such item", status=404)
    quantity = form.cleaned_data["quantity"]
    total = item.price * quantity
    return Terms(
        {"sku": item.sku, "quantity": quantity, "total": {"amount": total, "currency": "USD"}},
        summary=f"Buy {quantity} × {item.sku} for ${total}.",
        needed=behaviour.needed and total >= behaviour.needed_from,
        content=form,
    )


def exchange_terms(request: HttpRequest, **kwargs: str) -> Terms | HttpResponseBase:
    """The same, with one slot for each order: another size is the same action."""
    terms = order_terms(request)
    if isinstance(terms, HttpResponseBase):
        return terms
    return replace(terms, same_action=(kwargs["order_id"],))


def each_terms(request: HttpRequest, **kwargs: str) -> Terms | HttpResponseBase:
    """The same, and every ask is an action of its own."""
    terms = order_terms(request)
    if isinstance(terms, HttpResponseBase):
        return terms
    return replace(terms, same_action=Each)


def allowed(request: HttpRequest, **kwargs: str) -> HttpResponseBase | None:
    """The site's object-level right."""
    return behaviour.allowed(request)


def happen(operation: CurrentOperation) -> HttpResponseBase:
    """Do it: one effect, by the approved terms alone."""
    behaviour.before_effect(operation)
    terms = operation.terms
    Effect.objects.create(kind=operation.action, key=f"{terms['quantity']} {terms['sku']}")
    behaviour.after_effect(operation)
    return behaviour.answer(operation)

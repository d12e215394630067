"""The pages of the website."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from example_project.shop.exchanges import exchange_item, exchange_summary, exchange_values
from example_project.shop.forms import ExchangeForm, ReservationForm
from example_project.shop.models import Order, OrderItem, Product, Reservation
from example_project.shop.operations import exchange, reservation
from example_project.shop.orders import own_order
from example_project.shop.reservations import reservation_summary, reservation_values, reserve
from poppy_operations import Terms, operation_of

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User

UNPROCESSABLE = HTTPStatus.UNPROCESSABLE_ENTITY


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Show what is on sale, and the customer's own orders."""
    orders = orders_of(request.user) if request.user.is_authenticated else []
    return render(request, "shop/home.html", {"products": Product.objects.all(), "orders": orders})


def orders_of(user: User | AnonymousUser) -> list[Order]:
    return list(Order.objects.filter(customer_id=user.pk).prefetch_related("items__product"))


@require_safe
@login_required
def order(request: HttpRequest, order_id: str) -> HttpResponse:
    """Show an order, with a form to exchange each of its items."""
    return order_page(request, own_order(request.user, order_id))


def order_page(
    request: HttpRequest, order: Order, wrong: ExchangeForm | None = None
) -> HttpResponse:
    """Show the order; ``wrong`` is a form that was sent and cannot be used as it is."""
    items = list(order.items.select_related("product"))
    context = {
        "order": order,
        "items": [(item, item_form(item, order, wrong)) for item in items],
        "wrong": wrong,
        "exchanges": [exchange for item in items for exchange in item.exchanges.all()],
        "refunds": order.refunds.all(),
    }
    return render(request, "shop/order.html", context, status=UNPROCESSABLE if wrong else None)


def item_form(item: OrderItem, order: Order, wrong: ExchangeForm | None) -> ExchangeForm:
    """Return the form for one item: the one that was sent where it is about this item."""
    if wrong is not None and wrong.data.get("item_id") == item.item_id:
        return wrong
    return ExchangeForm(
        order=order, initial={"item_id": item.item_id}, auto_id=f"{item.item_id}_%s"
    )


def reservations_page(request: HttpRequest, form: ReservationForm) -> HttpResponse:
    """Show the form, and the customer's reservations where we know the customer."""
    mine = (
        Reservation.objects.filter(customer_id=request.user.pk).select_related("product")
        if request.user.is_authenticated
        else []
    )
    return render(
        request,
        "shop/reservations.html",
        {"form": form, "reservations": mine},
        status=UNPROCESSABLE if form.errors else None,
    )


def own_order_only(request: HttpRequest, order_id: str) -> None:
    """Let nobody near another customer's order, whatever was answered to whom before."""
    own_order(request.user, order_id)


def exchange_terms(request: HttpRequest, order_id: str) -> Terms | HttpResponse:
    """Return the exact terms of the exchange, or the form with its errors."""
    order = own_order(request.user, order_id)
    form = ExchangeForm(request.POST, order=order)
    if not form.is_valid():
        return order_page(request, order, wrong=form)
    item, replacement = form.cleaned_data["item_id"], form.cleaned_data["replacement_sku"]
    return Terms(
        exchange_values(item, replacement),
        summary=exchange_summary(item, replacement),
        same_action=(order_id, item.item_id),
        content=form,
    )


@require_POST
@login_required
@exchange.view(terms=exchange_terms, allowed=own_order_only)
def exchange_on_website(request: HttpRequest, order_id: str) -> HttpResponse:
    """Exchange an item and show the order again."""
    operation = operation_of(request)
    exchange_item(operation.terms, operation.operation_id)
    messages.success(request, "The item is exchanged.")
    return redirect_to_get("order", order_id)


def reservation_terms(request: HttpRequest) -> Terms | HttpResponse:
    """Return the exact terms of the reservation, or the form with its errors."""
    form = ReservationForm(request.POST)
    if not form.is_valid():
        return reservations_page(request, form)
    product, quantity = form.cleaned_data["sku"], form.cleaned_data["quantity"]
    return Terms(
        reservation_values(product, quantity),
        summary=reservation_summary(product, quantity),
        content=form,
    )


@require_http_methods(["GET", "HEAD", "POST"])
@reservation.view(terms=reservation_terms)
def reservations(request: HttpRequest) -> HttpResponse:
    """Show the form; or make a reservation, signed in or not, and show the page again."""
    if request.method != "POST":  # which alone has an effect, and terms
        return reservations_page(request, ReservationForm())
    operation = operation_of(request)
    made = reserve(operation.terms, operation.operation_id, request.user)
    messages.success(request, f"Reserved. Your reservation is {made.reservation_id}.")
    return redirect_to_get("reservations")


def redirect_to_get(name: str, *args: str) -> HttpResponse:
    """Answer a form that was acted on: the browser goes on with a GET of that page."""
    answer = redirect(name, *args)
    answer.status_code = HTTPStatus.SEE_OTHER
    return answer

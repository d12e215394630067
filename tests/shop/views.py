"""The test site's views, one for each kind of door."""

from __future__ import annotations

from asgiref.sync import sync_to_async
from django.contrib.auth.decorators import login_required
from django.contrib.auth.mixins import LoginRequiredMixin
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.middleware.csrf import get_token
from django.views import View
from django.views.generic import FormView

from poppy_operations import Terms, operation_of
from tests.shop import operations as shop
from tests.shop.models import Item


@shop.buy.view(terms=shop.order_terms, allowed=shop.allowed)
def buy(request: HttpRequest) -> HttpResponseBase:
    """A function view that shows a form and takes orders, signed in or out."""
    if request.method == "GET":
        return HttpResponse(f"<form>{get_token(request)}</form>")
    return shop.happen(operation_of(request))


@login_required
@shop.exchange.view(terms=shop.exchange_terms, allowed=shop.allowed)
def exchange(request: HttpRequest, order_id: str) -> HttpResponseBase:
    """A function view behind login."""
    return shop.happen(operation_of(request))


@shop.refund.view(terms=shop.order_terms)
def refund(request: HttpRequest) -> HttpResponseBase:
    """An external action."""
    return shop.happen(operation_of(request))


@shop.each.view(terms=shop.each_terms)
def each(request: HttpRequest) -> HttpResponseBase:
    """Every ask its own action."""
    return shop.happen(operation_of(request))


@shop.unrepeatable.view(terms=shop.order_terms)
def unrepeatable(request: HttpRequest) -> HttpResponseBase:
    """An action that a browser cannot repeat."""
    return shop.happen(operation_of(request))


@shop.buy.view(terms=shop.order_terms)
async def abuy(request: HttpRequest) -> HttpResponseBase:
    """An async view with a sync ``terms``."""
    return await sync_to_async(shop.happen)(operation_of(request))


async def aorder_terms(request: HttpRequest, **kwargs: str) -> Terms | HttpResponseBase:
    """Async terms."""
    return await sync_to_async(shop.order_terms)(request)


@shop.refund.view(terms=aorder_terms)
async def arefund(request: HttpRequest) -> HttpResponseBase:
    """An external action in an async view with async ``terms``."""
    return await sync_to_async(shop.happen)(operation_of(request))


class Buying(View):
    """A gated handler of a class; the other one is nobody's business."""

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show something."""
        return HttpResponse("form")

    def terms(self, request: HttpRequest, **kwargs: str) -> Terms | HttpResponseBase:
        """Terms that need the view."""
        return shop.order_terms(request)

    @shop.buy.view(terms=terms)
    def post(self, request: HttpRequest) -> HttpResponseBase:
        """Take the order."""
        return shop.happen(operation_of(request))


class OrderFormView(FormView):  # type: ignore[type-arg]  # not subscriptable at run time
    """A form view in which ``form_valid`` is the natural place."""

    form_class = shop.OrderForm
    template_name = "shop/form.html"
    success_url = "/done/"

    def form_valid(self, form: shop.OrderForm) -> HttpResponse:
        """Take the order, all of it inside ``run``."""

        def terms() -> Terms:
            quantity = form.cleaned_data["quantity"]
            item = Item.objects.get(sku=form.cleaned_data["sku"])
            total = {"amount": item.price * quantity, "currency": "USD"}
            values = {"sku": item.sku, "quantity": quantity, "total": total}
            return Terms(values, content=form)

        response = shop.buy.run(self.request, terms, shop.happen)
        assert isinstance(response, HttpResponse)
        return response


@shop.buy.gated
class GatedForm(OrderFormView):
    """The form view, prepared for ``run``."""


@shop.buy.gated(allowed=shop.allowed)
class GuardedForm(LoginRequiredMixin, OrderFormView):
    """The same, behind login and with a right of its own."""


def plain(request: HttpRequest) -> HttpResponse:
    """An ungated view that reads the user."""
    return HttpResponse(str(request.user))


def done(request: HttpRequest) -> HttpResponse:
    """Where the shop sends its customers."""
    return HttpResponse("done")

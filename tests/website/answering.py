"""Views whose answers have to be understood: pages with errors, and doors that judge them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.urls import path
from django.views.generic import FormView

from poppy_operations import Action, Terms, operation_of
from tests.shop import operations as shop
from tests.urls import urlpatterns as of_the_shop

pay = Action("answering.pay", effects="external")
book = Action("answering.book", effects="database")


class Judge:
    """What the site says of its answers; a test sets it."""

    says: Callable[[Any], Any] = staticmethod(lambda response: True)


def judged(response: HttpResponseBase) -> Any:
    """What the site says of an answer."""
    return Judge.says(response)


@pay.view(terms=shop.order_terms, performed=judged)
def paying(request: HttpRequest) -> HttpResponseBase:
    """A payment, outside."""
    return shop.happen(operation_of(request))


@book.view(terms=shop.order_terms, performed=judged)
def booking(request: HttpRequest) -> HttpResponseBase:
    """A booking, in our database."""
    return shop.happen(operation_of(request))


@book.view(terms=shop.order_terms, performed=judged)
async def abooking(request: HttpRequest) -> HttpResponseBase:
    """The same, async."""
    from asgiref.sync import sync_to_async

    return await sync_to_async(shop.happen)(operation_of(request))


@book.gated
class Booking(FormView):  # type: ignore[type-arg]  # not subscriptable at run time
    """A booking whose body shows the form again, if the booking is refused."""

    form_class = shop.OrderForm
    template_name = "shop/form.html"

    def form_valid(self, form: shop.OrderForm) -> Any:
        """Take the order, all of it inside ``run``."""

        def body(operation: Any) -> HttpResponseBase:
            response = shop.happen(operation)
            if response.status_code == 302:
                return response
            form.add_error(None, "sold out")
            return self.form_invalid(form)

        return book.run(self.request, lambda: terms_of(form), body)


class JudgedBooking(Booking):
    """The same, judged by its site."""

    def form_valid(self, form: shop.OrderForm) -> Any:
        """Take the order, all of it inside ``run``."""
        return book.run(self.request, lambda: terms_of(form), shop.happen, performed=judged)


def terms_of(form: shop.OrderForm) -> Terms:
    """What is ordered."""
    return Terms({"sku": form.cleaned_data["sku"], "quantity": form.cleaned_data["quantity"]})


urlpatterns = [
    *of_the_shop,
    path("pay/", paying),
    path("book/", booking),
    path("abook/", abooking),
    path("book/form/", Booking.as_view()),
    path("book/judged/", JudgedBooking.as_view()),
]

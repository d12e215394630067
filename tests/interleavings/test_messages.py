"""A redirect with an error message, as Django's views often say that something went wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.urls import include, path

from poppy_operations import Action, NotPerformed, operation_of
from tests.agents import ORDER, SessionOf, reference
from tests.shop.models import Effect, Item
from tests.shop.operations import behaviour, order_terms
from tests.shop.views import done

pytestmark = pytest.mark.django_db
Effects = Callable[[], list[str]]


def shown(request: HttpRequest) -> HttpResponseBase:
    """The page that shows the message."""
    response = done(request)
    response.content = " ".join(str(message) for message in messages.get_messages(request))
    return response


def view_of(action: Action) -> Callable[..., HttpResponseBase]:
    @action.view(terms=order_terms)
    def view(request: HttpRequest) -> HttpResponseBase:
        operation = operation_of(request)
        Effect.objects.create(kind=operation.action, key="half of it")
        messages.error(request, "We are sold out.")
        return behaviour.answer(operation)

    return view


within = Action("messages.within", effects="database")
outside = Action("messages.outside", effects="external")
urlpatterns = [
    path("poppy/", include("poppy_operations.urls")),
    path("done/", shown),
    path("within/", view_of(within)),
    path("outside/", view_of(outside)),
]


@pytest.fixture(autouse=True)
def here(settings: Any, jacket: Item) -> None:
    settings.ROOT_URLCONF = __name__


@pytest.mark.parametrize("address", ["/within/", "/outside/"])
def test_a_redirect_is_performed_whatever_its_message_says(
    address: str, signed_out: SessionOf, effects: Effects
) -> None:
    browser = signed_out.browser()
    _, ref = reference(browser.post(address, ORDER))
    signed_out.approve(ref)
    answer = browser.post(address, ORDER, follow=True)
    assert answer.redirect_chain == [("/done/", 302)]
    assert answer.content == b"We are sold out."
    assert (len(effects()), signed_out.status(ref)) == (1, "performed")


@pytest.mark.parametrize(("address", "left"), [("/within/", 0), ("/outside/", 1)])
def test_a_redirect_that_says_not_performed_keeps_its_message_and_the_approval(
    address: str, left: int, signed_out: SessionOf, effects: Effects, site: Any
) -> None:
    browser = signed_out.browser()
    _, ref = reference(browser.post(address, ORDER))
    signed_out.approve(ref)
    site.answer = refuse
    answer = browser.post(address, ORDER, follow=True)
    assert answer.redirect_chain == [("/done/", 302)]
    assert answer.content == b"We are sold out."
    # What a view with effects outside wrote is its evidence, and stays.
    assert (len(effects()), signed_out.status(ref)) == (left, "approved")
    site.reset()
    assert browser.post(address, ORDER).status_code == 302
    assert (len(effects()), signed_out.status(ref)) == (left + 1, "performed")


def refuse(operation: Any) -> HttpResponseBase:
    raise NotPerformed(redirect("/done/"))

"""Handlers of gated classes, which validate before they ask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.test import RequestFactory
from django.urls import path
from django.views import View

from poppy_operations import Action, CurrentOperation, Terms
from tests.agents import ORDER, SessionOf, reference
from tests.asking import TWO, ask, error, recorded
from tests.clock import Clock
from tests.shop import operations as shop
from tests.shop.models import Effect, Item
from tests.shop.operations import Behaviour
from tests.shop.views import OrderFormView
from tests.urls import urlpatterns as of_the_shop

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.website.test_classes")]
Effects = Callable[[], list[str]]

pay = Action("classes.pay", effects="database")


def paid(operation: CurrentOperation) -> HttpResponse:
    """Pay, once."""
    Effect.objects.create(kind="pay", key="once")
    return HttpResponse("paid")


def refuse(request: HttpRequest, **kwargs: Any) -> HttpResponse:
    """A right that nobody has."""
    return HttpResponse("not yours", status=404)


@pay.gated(allowed=refuse)
class Guarded(View):
    """A class with a right of its own."""

    def post(self, request: HttpRequest) -> HttpResponseBase:
        """Pay."""
        return pay.run(request, lambda: Terms({}), paid)


@pay.gated
class Open(View):
    """A class that leaves everything to another one."""

    def post(self, request: HttpRequest) -> HttpResponseBase:
        """Leave it to the other class."""
        return Guarded.as_view()(request)


@pay.gated(allowed=lambda request: None)
class Inherited(Guarded):
    """A class that leaves everything to the class that it is derived from."""

    def post(self, request: HttpRequest) -> HttpResponseBase:
        """Leave it to the other class."""
        return super().post(request)


@pay.gated
class Twice(View):
    """A class that asks for two actions, one after the other."""

    def post(self, request: HttpRequest) -> HttpResponseBase:
        """Pay, and pay again."""
        pay.run(request, lambda: Terms({}), paid)
        return pay.run(request, lambda: Terms({}), paid)


urlpatterns = [
    *of_the_shop,
    path("open/", Open.as_view()),
    path("inherited/", Inherited.as_view()),
    path("twice/", Twice.as_view()),
]


@pytest.mark.requirement("OPS-4-56")
@pytest.mark.ambiguity("AMB-25")
def test_amb_25_a_gated_class_asks_for_the_right_before_it_validates(
    signed_in: SessionOf, jacket: Item, site: Behaviour, effects: Effects, client: Any, alice: Any
) -> None:
    site.allowed = lambda request: HttpResponse("not yours", status=404)
    browser = signed_in.browser()
    client.force_login(alice)
    for anybody in (browser, client):
        for data in (ORDER, {"sku": ""}):
            response = anybody.post("/guarded/", data)
            assert (response.status_code, response.content) == (404, b"not yours")
    site.allowed = lambda request: None
    ref, _ = recorded(signed_in, browser, "/guarded/")
    site.allowed = lambda request: HttpResponse("not yours", status=404)
    assert browser.post("/guarded/", ORDER).status_code == 404
    assert effects() == []
    assert signed_in.status(ref) == "approved"
    site.allowed = lambda request: None
    assert browser.post("/guarded/", ORDER).status_code == 302
    assert client.post("/guarded/", TWO).status_code == 302
    assert effects() == ["shop.buy 1 jacket", "shop.buy 2 jacket"]


def test_a_gated_class_serves_no_api(signed_out: SessionOf, jacket: Item, effects: Effects) -> None:
    browser = signed_out.browser()
    ask(browser, "/form/")
    response = browser.post("/form/", ORDER, headers=signed_out.headers())
    assert error(response) == (400, "invalid_request")
    response = browser.post("/form/", ORDER, headers={"Poppy-Session": "a.b.c"})
    assert error(response) == (403, "invalid_session")
    assert effects() == []


def test_run_is_entered_by_the_action_of_its_class_and_by_no_other(
    rf: RequestFactory, jacket: Item, effects: Effects
) -> None:
    class OfAnother(OrderFormView):
        """It calls ``buy.run()``."""

    view = shop.refund.gated(OfAnother).as_view()
    with pytest.raises(RuntimeError, match=r"that @gated of the same action decorates"):
        view(rf.post("/form/", ORDER))
    assert effects() == []


def test_a_gated_class_judges_a_request_by_when_it_came(
    signed_out: SessionOf,
    jacket: Item,
    clock: Clock,
    effects: Effects,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    browser = signed_out.browser()
    recorded(signed_out, browser, "/form/")
    clock.at(minutes=15)

    def validated_late(form: Any) -> None:
        clock.at(minutes=15, seconds=1)

    monkeypatch.setattr(shop.OrderForm, "clean", validated_late)
    assert browser.post("/form/", ORDER).status_code == 302
    assert effects() == ["shop.buy 1 jacket"]


def test_the_reference_of_a_class_is_the_same_as_of_a_function(
    signed_out: SessionOf, jacket: Item
) -> None:
    browser = signed_out.browser()
    first = reference(browser.post("/form/", ORDER))
    assert reference(browser.post("/form/", ORDER)) == first
    assert reference(browser.post("/buy/", ORDER))[1] != first[1]


@pytest.mark.parametrize("url", ["/open/", "/inherited/"])
def test_a_handler_that_another_one_calls_asks_for_its_own_right(
    url: str, signed_out: SessionOf, client: Any, effects: Effects
) -> None:
    for browser in (signed_out.browser(), client):
        response = browser.post(url)
        assert (response.status_code, response.content) == (404, b"not yours")
    assert effects() == []


def test_one_request_runs_one_action(signed_out: SessionOf, client: Any) -> None:
    for browser in (signed_out.browser(), client):
        with pytest.raises(
            RuntimeError, match=r"classes\.pay: run\(\) is called once in a request"
        ):
            browser.post("/twice/")

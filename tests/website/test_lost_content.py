"""A form that was announced and cannot be read is not taken for an empty one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

import pytest
from django.middleware.csrf import get_token
from django.test import Client, RequestFactory

from poppy_operations.models import Operation
from tests.agents import HOST, ORDER, SessionOf
from tests.asking import error
from tests.lost import CHUNKED, FORM, WITHOUT_LENGTH, Broken, body_of
from tests.shop import operations
from tests.shop.models import Item
from tests.shop.operations import Behaviour

pytestmark = pytest.mark.django_db
Effects = Callable[[], list[str]]

SENT = urlencode(ORDER)


def post(browser: Client, path: str, **environ: Any) -> Any:
    """Send the form of an order."""
    return browser.generic("POST", path, **body_of(SENT, FORM, **environ))


@pytest.fixture
def easy(monkeypatch: pytest.MonkeyPatch, site: Behaviour) -> Behaviour:
    """A site that takes an empty form for an order of a jacket, and needs no approval for it."""
    monkeypatch.setattr(operations.OrderForm, "full_clean", lambda self: None)
    monkeypatch.setattr(operations.OrderForm, "is_valid", lambda self: True)
    monkeypatch.setattr(operations.OrderForm, "cleaned_data", ORDER, raising=False)
    site.needed = False
    return site


@pytest.mark.parametrize("environ", WITHOUT_LENGTH)
@pytest.mark.parametrize("path", ["/buy/", "/abuy/", "/class/", "/form/", "/refund/"])
def test_a_browsers_lost_form_is_an_invalid_request(
    path: str,
    environ: Mapping[str, Any],
    signed_out: SessionOf,
    jacket: Item,
    easy: Behaviour,
    effects: Effects,
) -> None:
    browser = signed_out.browser()
    assert error(post(browser, path, **environ)) == (400, "invalid_request")
    assert (easy.terms_called, effects()) == (0, [])
    assert not Operation.objects.exists()


def test_a_form_that_broke_off_stays_so_once_djangos_csrf_protection_has_met_it(
    signed_out: SessionOf, jacket: Item, easy: Behaviour, effects: Effects
) -> None:
    token = get_token(RequestFactory().get("/"))
    browser = signed_out.browser(Client(enforce_csrf_checks=True, headers={"host": HOST}))
    browser.cookies["csrftoken"] = token
    broken = {"CONTENT_LENGTH": "24", "wsgi.input": Broken(), "HTTP_X_CSRFTOKEN": token}
    assert error(post(browser, "/buy/", **broken)) == (400, "invalid_request")
    assert effects() == []


@pytest.mark.parametrize("path", ["/buy/", "/class/", "/form/"])
def test_a_visitors_lost_form_is_the_sites_affair(
    path: str,
    client: Client,
    jacket: Item,
    site: Behaviour,
    django_assert_num_queries: Any,
) -> None:
    with django_assert_num_queries(0):
        response = post(client, path, **CHUNKED)
    assert response.status_code == {"/form/": 200}.get(path, 400)
    assert b"required" in response.content


@pytest.mark.parametrize("environ", [{}, CHUNKED, {"SERVER_PROTOCOL": "HTTP/2"}])
def test_a_form_that_says_its_length_is_read_however_it_comes(
    environ: Mapping[str, Any], signed_out: SessionOf, jacket: Item
) -> None:
    environ = {**environ, "CONTENT_LENGTH": str(len(SENT))}
    assert post(signed_out.browser(), "/buy/", **environ).status_code == 403
    revision = Operation.objects.get().revisions.get()
    assert '"quantity":1' in revision.terms

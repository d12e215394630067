"""What the log says if an approval of the same terms is missed: which field, and why."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
from django import forms
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import path

from poppy_operations import Action, Terms, operation_of
from poppy_operations.declarations.registry import registry
from poppy_operations.models import Revision
from tests.agents import ORDER, SessionOf, approval_of, operation_in, reference
from tests.asking import ask, recorded
from tests.shop.operations import happen
from tests.urls import urlpatterns as of_the_shop

pytestmark = [pytest.mark.django_db, pytest.mark.urls(__name__), pytest.mark.usefixtures("jacket")]
numbers = count()
Told = Callable[[], list[tuple[str, str, list[str]]]]

restless = Action("missed.restless", effects="database")
deep = Action("missed.deep", effects="database")
ACTIONS = (restless, deep)
for _action in ACTIONS:
    registry.discard(_action)  # There only while these tests run.


class Restless(forms.Form):
    """Makes something else of a field each time."""

    sku = forms.CharField()
    nonce = forms.CharField()

    def clean_nonce(self) -> str:
        return f"{self.cleaned_data['nonce']}-{next(numbers)}"


def restless_terms(request: HttpRequest) -> Terms | HttpResponse:
    form = Restless(request.POST)
    if not form.is_valid():
        return HttpResponse(status=400)
    return Terms({"quantity": 1, "sku": form.cleaned_data["sku"]}, content=form)


def deep_terms(request: HttpRequest) -> Terms:
    return Terms({"quantity": 1, "sku": "jacket"})


def happening(request: HttpRequest) -> HttpResponseBase:
    return happen(operation_of(request))


urlpatterns = [
    *of_the_shop,
    path("restless/", restless.view(terms=restless_terms)(happening)),
    path("deep/", deep.view(terms=deep_terms)(happening)),
    path("deep-api/", deep.api(terms=deep_terms)(happening)),
]


@pytest.fixture(autouse=True)
def declared() -> Iterator[None]:
    for action in ACTIONS:
        registry.add(action)
    yield
    for action in ACTIONS:
        registry.discard(action)


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Iterator[Told]:
    """What is logged of approvals with the same terms: level, message and fields."""

    def said() -> list[tuple[str, str, list[str]]]:
        return [
            (one.levelname, one.getMessage(), vars(one)["fields"])
            for one in caplog.records
            if "same terms" in one.getMessage()
        ]

    with caplog.at_level(logging.INFO, "poppy_operations"):
        yield said


NONCE = {"sku": "jacket", "nonce": "n"}


def test_a_form_that_makes_something_else_of_what_was_sent_is_named_with_its_field(
    signed_out: SessionOf, told: Told
) -> None:
    browser = signed_out.browser()
    recorded(signed_out, browser, "/restless/", NONCE)
    assert told() == []
    ask(browser, "/restless/", NONCE)
    ((level, message, fields),) = told()
    assert (level, fields) == ("WARNING", ["nonce"])
    assert "the same content was sent" in message
    assert ": nonce" in message


def test_content_that_cannot_be_compared_is_named_with_its_field(
    signed_out: SessionOf, told: Told
) -> None:
    browser = signed_out.browser()
    body = json.dumps({"deep": json.loads("[" * 200 + "]" * 200), "a": 1})

    def send() -> Any:
        return browser.post("/deep/", body, content_type="application/json")

    signed_out.approve(reference(send())[1])
    assert send().status_code == 403
    ((level, message, fields),) = told()
    assert (level, fields) == ("WARNING", ["deep"])
    assert "cannot be compared" in message


def test_an_approval_at_the_api_that_is_missed_by_content_is_told_too(
    signed_out: SessionOf, told: Told
) -> None:
    def send(body: Any, approval: Any = None) -> Any:
        return signed_out.client.post(
            "/deep-api/",
            body,
            content_type="application/json",
            headers=signed_out.headers(approval),
        )

    operation = operation_in(send({"a": 1, "b": 1}))
    assert told() == []
    operation_in(send({"a": 1, "b": 2}, approval_of(operation)))
    ((level, _, fields),) = told()
    assert (level, fields) == ("INFO", ["b"])


def test_an_approval_at_the_api_that_came_too_late_is_not_told_as_other_content(
    signed_out: SessionOf, told: Told
) -> None:
    def send(approval: Any = None) -> Any:
        return signed_out.client.post("/deep-api/", headers=signed_out.headers(approval))

    operation = operation_in(send())
    Revision.objects.update(expires_at="2020-01-01T00:00:00Z")
    operation_in(send(approval_of(operation)))
    assert told() == []


def test_an_approval_of_version_0_1_is_told_as_such(signed_out: SessionOf, told: Told) -> None:
    browser = signed_out.browser()
    recorded(signed_out, browser)
    Revision.objects.update(content_digest="0" * 64, raw_digest="0" * 64, target_digest="0" * 64)
    ask(browser, "/buy/", ORDER)
    ((level, message, fields),) = told()
    assert (level, fields) == ("INFO", [])
    assert "before an upgrade" in message

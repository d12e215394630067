"""Answers below 400 that say that nothing happened, and answers that only look like it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from django import forms
from django.http import HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse

from poppy_operations import Terms
from poppy_operations.doors import pages
from tests.agents import ORDER, SessionOf, reference
from tests.asking import quiet, recorded
from tests.shop.models import Item
from tests.shop.operations import Behaviour, OrderForm
from tests.website import answering

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.website.answering")]
Effects = Callable[[], list[str]]
WRONG = {"sku": "", "quantity": "many"}
Orders = forms.formset_factory(OrderForm, can_delete=True)


def formset(**wrong: str) -> Any:
    """A bound formset of one form."""
    management = {"form-TOTAL_FORMS": "1", "form-INITIAL_FORMS": "0"}
    values = {f"form-0-{name}": value for name, value in {**ORDER, **wrong}.items()}
    return Orders({**management, **values})


def with_non_form_errors() -> Any:
    """A formset whose management form is missing."""
    return Orders({})


def page(status: int = 200, **context: Any) -> Callable[[Any], Any]:
    """A page with something in its context."""
    return lambda _: TemplateResponse(None, "shop/form.html", context, status=status)


ERRORS: dict[str, Callable[[], Any]] = {
    "a form": lambda: page(form=OrderForm(WRONG)),
    "a form, 422": lambda: page(status=422, form=OrderForm(WRONG)),
    "a form beside a valid one": lambda: page(form=OrderForm(ORDER), other=OrderForm(WRONG)),
    "a formset": lambda: page(orders=formset(quantity="many")),
    "a formset as such": lambda: page(orders=with_non_form_errors()),
    "a list of forms": lambda: page(forms=[OrderForm(ORDER), OrderForm(WRONG)]),
    "a wizard's": lambda: page(wizard={"steps": 3, "form": OrderForm(WRONG)}),
    "a field": lambda: page(field=OrderForm(WRONG)["sku"]),
    "errors": lambda: page(errors=OrderForm(WRONG).errors),
    "errors of the admin": lambda: page(errors=forms.utils.ErrorList(["sold out"])),
}
NO_ERRORS: dict[str, Callable[[], Any]] = {
    "a redirect": lambda: lambda _: redirect("/done/"),
    "a page": lambda: lambda _: HttpResponse("done"),
    "no context": lambda: lambda _: TemplateResponse(None, "shop/form.html"),
    "an unbound form": lambda: page(form=OrderForm()),
    "a valid form": lambda: page(form=OrderForm(ORDER)),
    "a valid formset": lambda: page(orders=formset()),
    "errors of what is deleted": lambda: page(orders=formset(quantity="many", DELETE="on")),
    "no errors": lambda: page(errors=OrderForm(ORDER).errors, others=[forms.utils.ErrorList()]),
    "text": lambda: page(form="form", errors="none"),
}


@pytest.mark.requirement("OPS-7-17")
@pytest.mark.ambiguity("AMB-15")
@pytest.mark.parametrize("path", ["/buy/", "/refund/", "/abuy/", "/arefund/"])
@pytest.mark.parametrize("shown", list(ERRORS))
def test_amb_15_a_page_with_errors_says_that_nothing_happened_and_the_approval_stays(
    shown: str,
    path: str,
    signed_out: SessionOf,
    jacket: Item,
    site: Behaviour,
    effects: Effects,
) -> None:
    browser = signed_out.browser()
    ref, _ = recorded(signed_out, browser, path)
    site.answer = ERRORS[shown]()
    response = browser.post(path, ORDER)
    assert response.status_code == (422 if "422" in shown else 200)
    assert signed_out.status(ref) == "approved"
    assert len(effects()) == ("refund" in path)
    site.answer = lambda _: redirect("/done/")
    assert browser.post(path, ORDER).status_code == 302
    assert signed_out.status(ref) == "performed"


@pytest.mark.ambiguity("AMB-15")
@pytest.mark.parametrize("path", ["/buy/", "/refund/"])
@pytest.mark.parametrize("shown", list(NO_ERRORS))
def test_amb_15_what_shows_no_errors_says_that_it_was_performed(
    shown: str, path: str, signed_out: SessionOf, jacket: Item, site: Behaviour
) -> None:
    browser = signed_out.browser()
    ref, _ = recorded(signed_out, browser, path)
    site.answer = NO_ERRORS[shown]()
    assert browser.post(path, ORDER).status_code in {200, 302}
    assert signed_out.status(ref) == "performed"


def test_forms_are_looked_for_in_a_context_but_not_without_end(
    signed_out: SessionOf, jacket: Item, site: Behaviour
) -> None:
    browser = signed_out.browser()
    ref, _ = recorded(signed_out, browser)
    endless: list[Any] = []
    endless.append(endless)
    site.answer = page(endless=endless)
    assert browser.post("/buy/", ORDER).status_code == 200
    assert signed_out.status(ref) == "performed"


class Raising(OrderForm):
    """A form whose validation fails itself."""

    def clean(self) -> None:
        """Meet a fault."""
        message = "a fault in the validation"
        raise LookupError(message)


@pytest.mark.parametrize(("path", "then"), [("/buy/", "approved"), ("/refund/", "performing")])
def test_a_form_that_cannot_be_judged_is_a_fault_of_the_action(
    path: str,
    then: str,
    signed_out: SessionOf,
    jacket: Item,
    site: Behaviour,
    effects: Effects,
) -> None:
    browser = signed_out.browser(quiet())
    ref, _ = recorded(signed_out, browser, path)
    site.answer = page(form=Raising(ORDER))
    response = browser.post(path, ORDER)
    assert response.status_code == (500 if path == "/buy/" else 403)
    assert signed_out.status(ref) == then


def test_a_form_view_shows_its_form_again_and_nothing_happened(
    signed_out: SessionOf, jacket: Item, site: Behaviour, effects: Effects
) -> None:
    browser = signed_out.browser()
    ref, _ = recorded(signed_out, browser, "/book/form/")
    site.answer = lambda _: HttpResponse("sold out")
    response = browser.post("/book/form/", ORDER)
    assert (response.status_code, b"sold out" in response.content) == (200, True)
    assert effects() == []
    assert signed_out.status(ref) == "approved"


def test_the_log_says_that_an_answer_said_so(
    signed_out: SessionOf, jacket: Item, site: Behaviour, caplog: pytest.LogCaptureFixture
) -> None:
    browser = signed_out.browser()
    recorded(signed_out, browser)
    site.answer = page(form=OrderForm(WRONG))
    with caplog.at_level(logging.INFO):
        browser.post("/buy/", ORDER)
    assert "An answer said that nothing happened." in caplog.text


# performed=

PATHS = ["/book/", "/abook/", "/book/judged/", "/pay/"]


@pytest.fixture
def says(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    def set_to(judge: Any) -> None:
        monkeypatch.setattr(answering.Judge, "says", staticmethod(judge))

    return set_to


@pytest.mark.ambiguity("AMB-15")
@pytest.mark.parametrize("path", PATHS)
def test_amb_15_the_sites_own_word_decides_whether_an_answer_means_performed(
    path: str,
    signed_out: SessionOf,
    jacket: Item,
    site: Behaviour,
    effects: Effects,
    says: Callable[[Any], None],
) -> None:
    browser = signed_out.browser()
    ref, _ = recorded(signed_out, browser, path)
    says(lambda response: b"declined" not in response.content)
    for status in (200, 402):
        site.answer = lambda _, status=status: HttpResponse("card declined", status=status)
        assert browser.post(path, ORDER).content == b"card declined"
        assert signed_out.status(ref) == "approved"
    assert len(effects()) == (2 if path == "/pay/" else 0)
    site.answer = lambda _: HttpResponse("paid")
    assert browser.post(path, ORDER).content == b"paid"
    assert signed_out.status(ref) == "performed"


@pytest.mark.parametrize(("path", "then"), [("/book/", "approved"), ("/pay/", "performing")])
def test_an_error_is_no_success_whatever_the_site_says_of_it(
    path: str,
    then: str,
    signed_out: SessionOf,
    jacket: Item,
    site: Behaviour,
    says: Callable[[Any], None],
) -> None:
    browser = signed_out.browser()
    ref, _ = recorded(signed_out, browser, path)
    says(lambda response: True)
    site.answer = lambda _: HttpResponse("sorry", status=500)
    browser.post(path, ORDER)
    assert signed_out.status(ref) == then


def test_the_sites_own_word_counts_more_than_a_form(
    signed_out: SessionOf, jacket: Item, site: Behaviour, says: Callable[[Any], None]
) -> None:
    browser = signed_out.browser()
    ref, _ = recorded(signed_out, browser, "/book/")
    says(lambda response: "form" in response.context_data)
    site.answer = page(form=OrderForm(WRONG))
    assert browser.post("/book/", ORDER).status_code == 200
    assert signed_out.status(ref) == "performed"


async def later(response: Any) -> bool:
    """Not what can be waited for there."""
    return True


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "judge",
    [
        pytest.param(lambda response: response.nonsense, id="raises"),
        pytest.param(lambda response: None, id="None"),
        pytest.param(lambda response: 1, id="a number"),
        pytest.param(lambda response: later(response), id="a coroutine"),
    ],
)
def test_a_judge_that_does_not_judge_lets_nothing_pass_as_performed(
    judge: Any,
    path: str,
    signed_out: SessionOf,
    jacket: Item,
    effects: Effects,
    says: Callable[[Any], None],
) -> None:
    browser = signed_out.browser(quiet())
    ref, _ = recorded(signed_out, browser, path)
    says(judge)
    response = browser.post(path, ORDER)
    if path == "/pay/":
        assert reference(response)[1] != ref
        assert signed_out.status(ref) == "performing"
    else:
        assert response.status_code == 500
        assert signed_out.status(ref) == "approved"
        assert effects() == []


class AsyncJudge:
    """An object that is called, and has to be awaited."""

    async def __call__(self, response: Any) -> bool:
        """Judge."""
        return True


@pytest.mark.parametrize("judge", [True, "performed", later, AsyncJudge()])
def test_what_cannot_judge_is_refused_at_import_and_before_a_run(judge: Any) -> None:
    action = answering.book
    with pytest.raises(TypeError, match="performed="):
        action.view(terms=lambda request: Terms({}), performed=judge)(lambda request: None)
    with pytest.raises(TypeError, match="performed="):
        action.run(None, lambda: Terms({}), lambda operation: HttpResponse(), performed=judge)  # type: ignore[arg-type]  # refused before it is looked at


def test_visitors_are_judged_by_nobody(
    client: Any, jacket: Item, site: Behaviour, effects: Effects, says: Callable[[Any], None]
) -> None:
    says(lambda response: response.nonsense)
    site.answer = lambda _: HttpResponse("paid")
    assert client.post("/pay/", ORDER).content == b"paid"
    assert len(effects()) == 1


# In DEBUG


@pytest.mark.parametrize(
    ("answer", "debug", "told"),
    [
        (HttpResponse("done"), True, 1),
        (HttpResponse("done"), False, 0),
        (redirect("/done/"), True, 0),
        (HttpResponse("{}", content_type="application/json"), True, 0),
        (SimpleNamespace(), True, 0),
    ],
)
def test_in_debug_a_page_that_counts_as_performed_is_told_once_for_each_action(
    answer: Any,
    debug: bool,
    told: int,
    settings: Any,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.DEBUG = debug
    monkeypatch.setattr(pages, "_TOLD", set())
    for action in (answering.book, answering.book, answering.pay):
        pages.PageResponses(action).verdict(answer)
        pages.PageResponses(action, lambda response: True).verdict(answer)
    messages = [one for one in caplog.messages if "counts as performed" in one]
    assert len(messages) == 2 * told
    assert all("NotPerformed" in one and "performed=" in one for one in messages)

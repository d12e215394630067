"""Where a gate is refused at import: outside the site's guards, around another, or never asked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from django.contrib.auth.mixins import LoginRequiredMixin
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.cache import never_cache
from django.views.generic import FormView
from rest_framework.decorators import api_view
from rest_framework.views import APIView

from poppy_operations import Action, Terms
from poppy_operations.declarations.registry import registry
from poppy_operations.decorators import personal_agents


@pytest.fixture
def buy() -> Iterator[Action]:
    declared = Action("placed.buy", effects="external")
    yield declared
    registry.discard(declared)


@pytest.fixture
def refund() -> Iterator[Action]:
    declared = Action("placed.refund", effects="external")
    yield declared
    registry.discard(declared)


def terms(request: Any, **kwargs: Any) -> Terms:
    return Terms({})


def view(request: Any) -> HttpResponse:
    return HttpResponse("done")


class Page(LoginRequiredMixin, View):
    def get(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse("form")

    def post(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse("done")


@pytest.mark.parametrize("outer", ["view", "api"])
@pytest.mark.parametrize("inner", ["view", "api"])
@pytest.mark.parametrize("between", [None, never_cache])
def test_a_view_has_one_gate(
    outer: str, inner: str, between: Any, buy: Action, refund: Action
) -> None:
    gated = getattr(buy, inner)(terms=terms)(view)
    if between is not None:
        gated = between(gated)
    for action in (buy, refund):
        with pytest.raises(TypeError, match=r"view is behind the gate of placed\.buy already"):
            getattr(action, outer)(terms=terms)(gated)


@pytest.mark.parametrize("inner", ["view", "api", "gated"])
@pytest.mark.parametrize("inherited", [False, True])
def test_a_class_has_one_gate(inner: str, inherited: bool, buy: Action, refund: Action) -> None:
    class Gated(Page):
        pass

    if inner == "gated":
        buy.gated(Gated)
    else:
        setattr(Gated, "post", getattr(buy, inner)(terms=terms)(Page.post))  # noqa: B010
    target = type("Sub", (Gated,), {}) if inherited else Gated
    for action in (buy, refund):
        with pytest.raises(TypeError, match=r"Page\.post is behind the gate of placed\.buy alread"):
            action.gated(target)


def test_two_handlers_of_a_class_have_a_gate_each(buy: Action, refund: Action) -> None:
    class Two(Page):
        post = buy.view(terms=terms)(Page.post)
        put = refund.view(terms=terms)(Page.post)

    assert Two.post is not Two.put


@pytest.mark.parametrize(
    ("guarded", "message"),
    [
        (staticmethod(view), "goes on a view function"),
        (Page.as_view(), r"handlers of Page \(post, put, …\), not on what as_view\(\) gives"),
        (never_cache(Page.as_view()), r"not on what as_view\(\) gives"),
        (api_view(["POST"])(view), "below @api_view"),
        (APIView.as_view(), "below @api_view, or on the handlers of a class"),
        (personal_agents(scope="orders:write")(view), "below @personal_agents"),
        (never_cache(personal_agents()(view)), "below @personal_agents"),
    ],
    ids=["static", "class", "cached", "api_view", "api class", "agents", "cached agents"],
)
@pytest.mark.parametrize("how", ["view", "api"])
def test_a_gate_stands_inside_what_the_site_asks_first(
    how: str, guarded: Any, message: str, buy: Action
) -> None:
    with pytest.raises(TypeError, match=message):
        getattr(buy, how)(terms=terms)(guarded)


@pytest.mark.parametrize("how", ["view", "api"])
def test_the_handler_of_a_method_that_is_not_gated_is_refused(how: str, buy: Action) -> None:
    door = getattr(buy, how)
    with pytest.raises(TypeError, match=r'Page\.get behind the gate.*Write methods=\["GET"\]'):
        door(terms=terms)(Page.get)
    with pytest.raises(TypeError, match=r'Page\.post behind the gate.*Write methods=\["POST"\]'):
        door(terms=terms, methods=["PUT"])(Page.post)

    assert door(terms=terms, methods=["GET"])(Page.get)
    assert door(terms=terms, methods=["post", "put"])(Page.post)


def test_a_function_may_have_the_name_of_a_method(buy: Action) -> None:
    def delete(request: Any) -> HttpResponse:
        return HttpResponse("deleted")

    assert buy.view(terms=terms, methods=["POST"])(delete)


def test_a_class_that_run_cannot_be_called_in_is_refused(buy: Action) -> None:
    class Form(FormView):  # type: ignore[type-arg]  # not subscriptable at run time
        def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            return HttpResponse("form")

    class Api(APIView):
        def post(self, request: Any) -> HttpResponse:
            return HttpResponse("done")

    with pytest.raises(TypeError, match="for the website, and Api is a class of Django REST"):
        buy.gated(Api)
    with pytest.raises(TypeError, match="on a class with handlers such as post"):
        buy.gated(methods=["DELETE"])(Form)
    with pytest.raises(TypeError, match="on a class with handlers such as post"):
        buy.gated(Form.as_view())  # type: ignore[type-var]  # that is the point
    assert buy.gated(Form) is Form


def yielding(request: Any) -> Iterator[HttpResponse]:
    yield HttpResponse("done")


async def ayielding(request: Any) -> AsyncIterator[HttpResponse]:
    yield HttpResponse("done")


class Yielding(View):
    def post(self, request: HttpRequest) -> Iterator[HttpResponse]:
        yield HttpResponse("done")


@pytest.mark.parametrize("view", [yielding, ayielding, Yielding.post])
@pytest.mark.parametrize("how", ["view", "api"])
def test_a_view_whose_call_runs_none_of_its_code_is_refused(
    how: str, view: Any, buy: Action
) -> None:
    with pytest.raises(TypeError, match=r"yields: return StreamingHttpResponse"):
        getattr(buy, how)(terms=lambda *given: Terms({}))(view)
    with pytest.raises(TypeError, match=r"Yielding\.post yields"):
        buy.gated(Yielding)


def test_a_gate_that_django_puts_on_a_method_is_on_it_once(buy: Action, rf: Any) -> None:
    once = method_decorator(buy.view(terms=terms), name="post")(type("Once", (Page,), {}))
    assert once().post(rf.post("/")).content == b"done"
    twice = method_decorator(buy.view(terms=terms), name="post")(once)

    with pytest.raises(TypeError, match=r"is behind the gate of placed\.buy already"):
        twice().post(rf.post("/"))

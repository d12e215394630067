"""Checks of the views of a site's URLs: what a door at import could not see yet."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any

import pytest
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.urls import include, path, re_path
from django.utils.decorators import method_decorator
from django.views import View
from django.views.generic import FormView
from rest_framework import routers, viewsets
from rest_framework.decorators import action as extra_action
from rest_framework.decorators import api_view
from rest_framework.response import Response

from poppy_operations import Action, Terms
from poppy_operations.checks.gates import check_gates
from poppy_operations.checks.runs import check_runs
from poppy_operations.declarations.registry import registry

buy = Action("checked.buy", effects="database")
refund = Action("checked.refund", effects="database")
registry.discard(buy)
registry.discard(refund)
Site = Callable[..., None]


class Shop:
    """Where a site may keep its actions."""

    buy = buy


@pytest.fixture
def site(settings: Any) -> Site:
    """Serves these URL patterns."""

    def serve(*patterns: Any) -> None:
        urls: Any = ModuleType("urls")
        urls.urlpatterns = list(patterns)
        settings.ROOT_URLCONF = urls

    return serve


def unfit() -> list[str]:
    return [f"{one.msg} {one.hint}" for one in check_gates() if one.id == "poppy_operations.E018"]


def never() -> list[str]:
    return [f"{one.msg} {one.hint}" for one in check_gates() if one.id == "poppy_operations.E020"]


def terms(request: Any, **kwargs: Any) -> Terms:
    return Terms({})


def bare(request: Any) -> Any:
    return Terms({})


def of_order(request: Any, order_id: int) -> Any:
    return Terms({})


def anything(request: Any, *args: Any, **kwargs: Any) -> HttpResponse:
    return HttpResponse("done")


# What the site is asked with the arguments of the URL


def test_a_function_takes_what_its_route_captures(site: Site) -> None:
    site(
        path("bare/<int:order_id>/", buy.view(terms=bare)(anything)),
        path("right/<int:order_id>/", buy.view(terms=terms, allowed=bare)(anything)),
        path("api/<int:order_id>/", buy.api(terms=of_order, allowed=bare)(anything)),
        path("fine/<int:order_id>/", buy.api(terms=of_order, allowed=terms)(anything)),
        path("guarded/<int:order_id>/", login_required(buy.view(terms=bare)(anything))),
    )

    start = "The terms= of the gated view anything does not take the arguments of"
    assert [one.partition(" It is called")[0] for one in unfit()] == [
        f"{start} 'bare/<int:order_id>/'.",
        "The allowed= of the gated view anything does not take the arguments of "
        "'right/<int:order_id>/'.",
        "The allowed= of the gated view anything does not take the arguments of "
        "'api/<int:order_id>/'.",
        f"{start} 'guarded/<int:order_id>/'.",
    ]
    assert unfit()[1].endswith(
        "It is called as its view is: allowed(request, order_id=…). Add what is missing, or "
        "**kwargs."
    )


def test_arguments_are_those_of_the_whole_path(site: Site) -> None:
    gated = buy.view(terms=of_order)(anything)
    site(
        path("<int:order_id>/", include([path("", gated), path("<int:item>/", gated)])),
        path("of/", include([path("", gated, {"order_id": 1})])),
        path("with/<int:order_id>/", gated, {"colour": "red"}),
        re_path(r"^(?P<order_id>\d+)/named/$", gated),
        re_path(r"^(\d+)/unnamed/$", gated),
        re_path(r"^(\d+)/two/(\d+)/$", gated),
        re_path(r"^(\d+)/", include([re_path(r"^above/$", gated), re_path(r"^(\d+)/$", gated)])),
        re_path(r"^(\d+)/", include([path("<int:order_id>/below/", gated)])),
    )

    assert [one.partition("'")[2].partition(". Add")[0] for one in unfit()] == [
        "<int:order_id>/<int:item>/'. It is called as its view is: "
        "terms(request, item=…, order_id=…)",
        "with/<int:order_id>/'. It is called as its view is: terms(request, colour=…, order_id=…)",
        "^(\\d+)/two/(\\d+)/$'. It is called as its view is: terms(request, …, …)",
        "^(\\d+)/^(\\d+)/$'. It is called as its view is: terms(request, …, …)",
    ]


def loading(view: Any) -> Any:
    @wraps(view)
    def load(request: HttpRequest, order_id: int) -> Any:
        return view(request, order=str(order_id))

    return load


def order_view(request: HttpRequest, order: str) -> HttpResponse:
    return HttpResponse(order)


def order_terms(request: HttpRequest, order: str) -> Terms:
    return Terms({"order": order})


def test_a_decorator_that_hands_on_something_else_is_left_alone(site: Site) -> None:
    site(path("<int:order_id>/", loading(buy.view(terms=order_terms)(order_view))))

    assert unfit() == []


class Buying(View):
    def own(self, request: HttpRequest, **kwargs: Any) -> Any:
        return Terms({})

    def few(self, request: HttpRequest) -> Any:
        return Terms({})

    @buy.view(terms=own, allowed=few)
    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return HttpResponse("done")

    @buy.view(terms=type)
    def put(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return HttpResponse("done")


@method_decorator(buy.view(terms=bare), name="post")
class Decorated(Buying):
    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return HttpResponse("done")


@buy.gated(allowed=bare)
class Gated(View):
    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return HttpResponse("done")


def test_the_handlers_of_a_class_are_looked_at(site: Site) -> None:
    site(
        path("buy/<int:order_id>/", Buying.as_view()),
        path("decorated/<int:order_id>/", Decorated.as_view()),
        path("gated/<int:order_id>/", Gated.as_view()),
        path("gated/", Gated.as_view()),
    )

    assert [one.partition(" does not")[0] for one in unfit()] == [
        "The allowed= of the gated view Buying",
        "The terms= of the gated view Decorated",
        "The allowed= of the gated view Gated",
    ]


class Orders(viewsets.ViewSet):
    @buy.api(terms=terms)
    def create(self, request: Any, **kwargs: Any) -> Response:
        return Response()

    @buy.api(terms=of_order)
    def update(self, request: Any, pk: str, **kwargs: Any) -> Response:
        return Response()

    @extra_action(detail=True, methods=["post"])
    @buy.api(terms=lambda request, pk: Terms({}))
    def exchange(self, request: Any, pk: str) -> Response:
        return Response()


def test_the_actions_of_a_viewset_are_looked_at(site: Site) -> None:
    router = routers.SimpleRouter()
    router.register("orders", Orders, basename="order")
    site(path("", include(router.urls)))

    assert len(unfit()) == 1
    assert "terms(request, pk=…)" in unfit()[0]
    assert never() == []


# Gates that no request comes to


@api_view(["GET"])
@buy.api(terms=terms)
def read_only(request: Any) -> Response:
    return Response()


@api_view(["GET", "POST"])
@buy.api(terms=terms)
def both(request: Any) -> Response:
    return Response()


def by_another_name(self: Any, request: HttpRequest) -> HttpResponse:
    return HttpResponse("done")


def test_a_gate_that_no_request_comes_to_is_found(site: Site) -> None:
    class Aliased(View):
        get = buy.view(terms=terms)(by_another_name)

    class Fine(View):
        get = post = buy.view(terms=terms)(by_another_name)

    class Listed(viewsets.ViewSet):
        @extra_action(detail=False, methods=["get"])
        @buy.api(terms=terms)
        def close(self, request: Any) -> Response:
            return Response()

    router = routers.SimpleRouter()
    router.register("listed", Listed, basename="listed")
    site(
        path("read/", read_only),
        path("both/", both),
        path("aliased/", Aliased.as_view()),
        path("fine/", Fine.as_view()),
        path("function/", buy.view(terms=terms)(anything)),
        path("", include(router.urls)),
    )

    assert [one.partition(" is for no method of its handler. ")[0] for one in never()] == [
        "The gate of the action checked.buy in read_only",
        "The gate of the action checked.buy in "
        "test_a_gate_that_no_request_comes_to_is_found.<locals>.Aliased",
        "The gate of the action checked.buy in "
        "test_a_gate_that_no_request_comes_to_is_found.<locals>.Listed",
    ]
    assert "answers GET, HEAD, but methods= names others" in never()[0]


def test_a_handler_that_one_of_its_routes_gates_is_asked(site: Site) -> None:
    class Two(viewsets.ViewSet):
        @buy.api(terms=terms)
        def close(self, request: Any) -> Response:
            return Response()

    site(path("a/", Two.as_view({"get": "close"})), path("b/", Two.as_view({"post": "close"})))
    assert never() == []
    site(path("a/", Two.as_view({"get": "close"})))
    assert len(never()) == 1


# run() without @gated


class Form(FormView):  # type: ignore[type-arg]  # not subscriptable at run time
    def form_valid(self, form: Any) -> HttpResponse:
        save = super().form_valid
        return buy.run(self.request, lambda: Terms({}), lambda operation: save(form))


class ByShop(Form):
    shop = Shop

    def form_valid(self, form: Any) -> HttpResponse:
        def nested() -> Any:
            return self.shop.buy.run(self.request, terms, anything)

        return nested()  # type: ignore[no-any-return]


class Awaiting(View):
    async def post(self, request: HttpRequest) -> HttpResponse:
        return await Shop.buy.arun(request, terms, anything)

    @staticmethod
    def helper() -> None: ...

    @classmethod
    def other(cls) -> None: ...


class Unrelated(View):
    """Runs something that is none of ours."""

    class Process:
        def run(self) -> HttpResponse:
            return HttpResponse("done")

    def post(self, request: HttpRequest) -> HttpResponse:
        return self.Process().run()


class OfAnother(Form):
    pass


class Prepared(Form):
    pass


class Viewed(Form):
    post = buy.view(terms=terms)(Form.post)


def function(request: HttpRequest) -> HttpResponse:
    return buy.run(request, lambda: Terms({}), lambda operation: HttpResponse("done"))


@pytest.fixture(scope="module", autouse=True)
def _prepared() -> None:
    buy.gated(Prepared)
    refund.gated(OfAnother)


@pytest.mark.parametrize(
    ("view", "call"),
    [
        (Form.as_view(), "Form calls run"),
        (ByShop.as_view(), "ByShop calls run"),
        (Awaiting.as_view(), "Awaiting calls arun"),
        (OfAnother.as_view(), "OfAnother calls run"),
        (Viewed.as_view(), "Viewed calls run"),
        (function, "function calls run"),
        (login_required(function), "function calls run"),
        (Prepared.as_view(), None),
        (login_required(Prepared.as_view()), None),
        (type("Sub", (Prepared,), {}).as_view(), None),
        (Unrelated.as_view(), None),
        (anything, None),
        (View.as_view(), None),
    ],
    ids=range(13),
)
def test_run_without_gated_is_found_in_the_source(view: Any, call: str | None, site: Site) -> None:
    site(path("", view))

    found = [one.msg for one in check_runs()]
    assert found == (
        [f"The view {call}() of the action checked.buy, whose @gated is missing."] if call else []
    )


def test_what_stands_in_a_function_around_the_view_is_followed(site: Site) -> None:
    local = buy

    class Local(View):
        def post(self, request: HttpRequest) -> HttpResponse:
            return local.run(
                request, lambda: Terms({}), lambda operation: HttpResponse(never_given)
            )

    site(path("", Local.as_view()))
    assert len(check_runs()) == 1
    if local is None:
        never_given = ""


def test_code_without_a_source_is_left_to_the_first_request(site: Site) -> None:
    names: dict[str, Any] = {"buy": buy}
    exec("def view(request): return buy.run(request, None, None)", names)
    site(path("", names["view"]))

    assert check_runs() == []


def test_a_process_that_serves_nothing_has_no_views(settings: Any) -> None:
    del settings.ROOT_URLCONF

    assert (check_gates(), check_runs()) == ([], [])

"""The gate among other decorators: it works, or is refused at import with a clear message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpResponse
from django.test import RequestFactory
from django.urls import path
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from rest_framework.decorators import api_view, permission_classes
from rest_framework.permissions import AllowAny
from rest_framework.views import APIView

from poppy_operations import operation_of
from poppy_operations.decorators import personal_agents
from poppy_operations.lifecycle.durable import OuterTransaction
from poppy_operations.models import Operation
from tests.agents import ApiClient
from tests.shop import api, orders
from tests.shop import operations as website

Effects = Callable[[], list[str]]


@pytest.mark.usefixtures("transactions")
def test_a_transaction_around_the_gate_is_refused_with_a_way_out(
    agents_api: ApiClient, effects: Effects, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At import it cannot be seen from below."""
    around = transaction.atomic(api.Class.post)
    monkeypatch.setattr(api.Class, "post", around)

    with pytest.raises(OuterTransaction, match="Put the gate outside the transaction"):
        agents_api.send()
    assert effects() == []
    assert not Operation.objects.exists()


@pytest.mark.usefixtures("transactions")
def test_a_transaction_below_the_gate_is_the_sites_own(
    agents_api: ApiClient, effects: Effects, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = transaction.atomic(api.Class.post.__wrapped__)
    monkeypatch.setattr(api.Class, "post", api.gated(below))

    assert agents_api.approve(agents_api.ask()).status_code == 201
    assert effects() == ["api.order 1 jacket"]


def _view(request: Any) -> HttpResponse:
    return HttpResponse("never asked")


class _Some(APIView):
    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> HttpResponse:
        return HttpResponse("never asked")


@pytest.mark.parametrize(
    ("view", "message"),
    [
        (api_view(["POST"])(_view), "below @api_view"),
        (csrf_exempt(api_view(["POST"])(_view)), "below @api_view"),
        (transaction.atomic(api_view(["POST"])(_view)), "below @api_view"),
        (_Some.as_view(), "below @api_view"),
        (login_required(_view), "below login_required"),
        (personal_agents()(_view), "below @personal_agents"),
        (_Some.dispatch, "not on dispatch"),
        (_Some, "on a view function or on the handlers of a class"),
        (None, "on a view function or on the handlers of a class"),
    ],
    ids=["api_view", "csrf", "atomic", "as_view", "login", "agents", "dispatch", "class", "none"],
)
def test_a_gate_outside_the_sites_own_guards_is_refused_at_import(view: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        api.gated(view)


def test_a_dispatch_that_django_decorates_for_each_request_is_refused_then(
    rf: RequestFactory,
) -> None:
    class Late(APIView):
        pass

    late = method_decorator(api.gated, name="dispatch")(Late)
    with pytest.raises(TypeError, match="not on dispatch"):
        late.as_view()(rf.post("/"))


@pytest.mark.parametrize("name", ["terms", "allowed", "replay"])
def test_coroutine_functions_beside_a_sync_view_are_refused_at_import(name: str) -> None:
    async def never_awaited(request: Any, **kwargs: Any) -> None:
        return None

    door: Any = orders.order.api(**{"terms": orders.order_terms, name: never_awaited})
    with pytest.raises(TypeError, match=f"{name}= is async"):
        door(_view)


@pytest.mark.usefixtures("transactions")
@pytest.mark.parametrize(
    "decorators",
    [
        [csrf_exempt, api.gated],
        [api.gated, csrf_exempt],
        [api_view(["POST"]), permission_classes([AllowAny]), api.gated],
        [api_view(["POST"]), api.gated, permission_classes([AllowAny])],
        [csrf_exempt, api_view(["POST"]), api.gated],
        [api_view(["POST"]), login_required, api.gated],
        [csrf_exempt, login_required, api.gated],
        [never_cache, csrf_exempt, api.gated],
        [api_view(["POST"]), api.gated, never_cache],
        [api_view(["POST"]), api.gated, transaction.atomic],
    ],
    ids=lambda decorators: "-".join(getattr(one, "__name__", "decorator") for one in decorators),
)
def test_decorators_stack_in_every_order_that_is_not_refused(
    decorators: list[Any],
    agents_api: ApiClient,
    effects: Effects,
    settings: Any,
    alice: Any,
) -> None:
    def taking(request: Any) -> HttpResponse:
        return orders.take(operation_of(request), orders.created_plainly)  # type: ignore[return-value]

    view: Any = taking
    for decorate in reversed(decorators):
        view = decorate(view)
    agents_api.session.client.force_login(alice)
    settings.ROOT_URLCONF = type("Urls", (), {"urlpatterns": [path("stacked/", view)]})
    operation = agents_api.ask(path="/stacked/")
    assert agents_api.approve(operation, path="/stacked/").status_code == 201
    assert effects() == ["api.order 1 jacket"]


def test_a_gated_view_that_gets_no_request_says_so() -> None:
    with pytest.raises(TypeError, match="called with a request"):
        api.gated(_view)("no request")


def test_methods_are_a_list() -> None:
    with pytest.raises(TypeError, match="a list of HTTP methods"):
        orders.order.api(terms=orders.order_terms, methods="POST")(_view)


def test_the_websites_door_is_none_for_a_request_of_rest_framework(rf: RequestFactory) -> None:
    view = website.buy.view(terms=website.order_terms)(_view)
    request = APIView().initialize_request(rf.post("/"))

    with pytest.raises(TypeError, match=r"a DRF view takes @action\.api"):
        view(request)

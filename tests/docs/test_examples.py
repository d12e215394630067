"""What the examples of the pages do when agents and visitors use them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from datetime import timedelta
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from celery import current_app
from django.conf import settings as django_settings
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.urls import path
from django.utils import timezone

import poppy_operations.tasks  # noqa: F401  registers them
from poppy_operations import Action, Terms
from poppy_operations.browser.state import browser_of
from poppy_operations.declarations.registry import registry
from poppy_operations.maintenance import reconcile, revoke, settle_by_hand
from poppy_operations.models import Operation
from poppy_operations.sessions.refusals import InvalidSession, InvalidToken, KeysUnavailable
from poppy_operations.sessions.verification import SessionVerifier
from tests.agents import AUDIENCE, HOST, SessionOf, reference
from tests.configuring import configure
from tests.docs.pages import DOCS
from tests.docs.stand_in import Shop, made_of
from tests.urls import urlpatterns

pytestmark = pytest.mark.django_db
HOW_TO = DOCS / "how-to"
Served = Callable[..., dict[str, ModuleType]]


@pytest.fixture
def shop() -> Shop:
    """What the shop knows, and what happened in it."""
    return Shop()


@pytest.fixture
def page(shop: Shop, request: pytest.FixtureRequest) -> Iterator[dict[str, ModuleType]]:
    """The modules that a page makes; ``@pytest.mark.parametrize(…, indirect=True)`` names it."""
    with made_of(HOW_TO / f"{request.param}.md", shop) as modules:
        yield modules


@pytest.fixture
def serve(page: dict[str, ModuleType], settings: Any) -> Callable[..., Any]:
    """Serve views of the page at addresses."""

    def at(**views: Any) -> Any:
        urls = ModuleType("shop.urls")
        own = [path(f"{name}/<str:order_id>/", view, name=name) for name, view in views.items()]
        order = path(
            "orders/<str:order_id>/", lambda request, order_id: HttpResponse(), name="order"
        )
        vars(urls)["urlpatterns"] = [*own, order, *urlpatterns]
        settings.ROOT_URLCONF = urls
        return page["shop.views"]

    return at


def of(name: str) -> Any:
    """The page that a test is about."""
    return pytest.mark.parametrize("page", [name], indirect=True)


def asked(browser: Client, url: str, data: dict[str, str] | None = None) -> str:
    """Ask, and give the reference that comes back."""
    response = browser.post(url, data)
    assert response.status_code == 403, response.content
    return reference(response)[1]


EXCHANGE = {"item_id": "i1", "sku": "parka"}
EXCHANGED = {
    "order_id": "o1",
    "item_id": "i1",
    "sku": "parka",
    "price_difference": {"amount": "70.00", "currency": "USD"},
}


# A view of the website


@of("website-views")
def test_a_view_waits_and_then_exchanges(serve: Any, shop: Shop, signed_in: SessionOf) -> None:
    serve(exchange=serve().exchange_item)
    browser = signed_in.browser()
    ref = asked(browser, "/exchange/o1/", EXCHANGE)
    assert shop.happened == []
    signed_in.approve(ref)
    assert browser.post("/exchange/o1/", EXCHANGE)["Location"] == "/orders/o1/"
    assert shop.happened == [("exchange", EXCHANGED)]


@of("website-views")
def test_visitors_get_the_views_own_answers(
    serve: Any, shop: Shop, alice: Any, client: Any
) -> None:
    serve(exchange=serve().exchange_item)
    assert client.post("/exchange/o1/", EXCHANGE)["Location"].startswith("/accounts/login/")
    client.force_login(alice)
    assert client.post("/exchange/o1/", EXCHANGE)["Location"] == "/orders/o1/"
    shop.strangers = frozenset({"alice"})
    assert client.post("/exchange/o1/", EXCHANGE).status_code == 404
    assert shop.happened == [("exchange", EXCHANGED)]


@of("website-views")
def test_a_note_that_costs_nothing_needs_no_approval(
    serve: Any, shop: Shop, signed_in: SessionOf
) -> None:
    serve(note=serve().add_gift_note)
    browser = signed_in.browser()
    assert browser.post("/note/o1/", {"price": "0"}).status_code == 302
    asked(browser, "/note/o1/", {"price": "2.50"})
    assert [terms["price"] for _, terms in shop.happened] == ["0"]


@of("website-views")
def test_what_is_sold_out_leaves_the_approval_usable(
    serve: Any, shop: Shop, signed_in: SessionOf
) -> None:
    serve(reserve=serve().reserve_item)
    browser = signed_in.browser()
    signed_in.approve(asked(browser, "/reserve/o1/", {"sku": "parka"}))
    shop.sold_out = True
    assert browser.post("/reserve/o1/", {"sku": "parka"}).status_code == 409
    shop.sold_out = False
    assert browser.post("/reserve/o1/", {"sku": "parka"}).status_code == 302


@of("website-views")
def test_a_payment_page_with_a_problem_leaves_the_approval_usable(
    serve: Any, page: dict[str, ModuleType], shop: Shop, signed_in: SessionOf
) -> None:
    views = serve()
    vars(views)["TemplateResponse"] = lambda request, template, context: HttpResponse(
        context["problem"]
    )
    serve(pay=views.pay)
    browser = signed_in.browser()
    signed_in.approve(asked(browser, "/pay/o1/", {"amount": "5"}))
    shop.sold_out = True
    assert browser.post("/pay/o1/", {"amount": "5"}).content == b"declined"
    shop.sold_out = False
    assert browser.post("/pay/o1/", {"amount": "5"}).status_code == 302


@of("website-views")
def test_a_page_with_a_form_is_gated_where_it_is_posted(
    serve: Any, alice: Any, client: Any, monkeypatch: Any
) -> None:
    views = serve()
    monkeypatch.setattr(views, "render", lambda request, template, context: HttpResponse("form"))
    serve(page=views.exchange_page)
    client.force_login(alice)
    assert client.get("/page/o1/").content == b"form"
    assert client.post("/page/o1/", EXCHANGE).status_code == 302


# Classes, async views, and what is the same


@of("class-based-views")
def test_a_handler_and_a_form_view_wait(serve: Any, shop: Shop, signed_in: SessionOf) -> None:
    views = serve()
    serve(cancel=views.CancelOrder.as_view(), exchange=views.ExchangeItem.as_view())
    browser = signed_in.browser()
    for url, data in (("/cancel/o1/", {}), ("/exchange/o1/", EXCHANGE)):
        signed_in.approve(asked(browser, url, data))
        assert browser.post(url, data)["Location"] == "/orders/o1/"
    assert [what for what, _ in shop.happened] == ["cancel", "exchange"]


@of("async-views")
def test_an_async_view_waits(serve: Any, shop: Shop, signed_in: SessionOf) -> None:
    views = serve()

    async def reserve(request: Any, order_id: str) -> Any:
        return await views.make_reservation(request)

    assert inspect.iscoroutinefunction(views.make_reservation)
    serve(reserve=reserve)
    browser = signed_in.browser()
    signed_in.approve(asked(browser, "/reserve/o1/", {"sku": "parka"}))
    assert browser.post("/reserve/o1/", {"sku": "parka"}).status_code == 302
    assert [what for what, _ in shop.happened] == ["reserve"]


@of("same-action-and-content")
def test_what_is_ignored_may_differ_and_nothing_else(
    serve: Any, shop: Shop, signed_in: SessionOf
) -> None:
    serve(exchange=serve().exchange_item)
    browser = signed_in.browser()
    signed_in.approve(asked(browser, "/exchange/o1/", {**EXCHANGE, "utm_source": "a"}))
    asked(browser, "/exchange/o1/", {**EXCHANGE, "gift": "yes"})
    spaced = {"item_id": " i1 ", "sku": "parka", "utm_source": "b"}
    assert browser.post("/exchange/o1/", spaced).status_code == 302
    assert len(shop.happened) == 1


@of("same-action-and-content")
def test_the_same_action_keeps_its_operation_and_each_is_its_own(
    serve: Any, page: dict[str, ModuleType], signed_in: SessionOf
) -> None:
    exchange, terms = page["shop.operations"].exchange, page["shop.terms"]
    done = lambda request, order_id: HttpResponse()  # noqa: E731  the shortest view
    coffee = lambda request, order_id: terms.coffee_terms(request)  # noqa: E731  as above
    serve(
        same=exchange.view(terms=terms.exchange_terms)(done), each=exchange.view(terms=coffee)(done)
    )
    browser = signed_in.browser()

    def operations(url: str, *forms: dict[str, str]) -> int:
        refs = [asked(browser, url, form) for form in forms]
        return len({signed_in.look_up(ref)["operation_id"] for ref in refs})

    assert operations("/same/o1/", EXCHANGE, {**EXCHANGE, "sku": "jacket"}) == 1
    assert operations("/each/o1/", {}, {}) == 2


# Outside the database, and in the background


def approved_and_lost(serve: Any, shop: Shop, signed_in: SessionOf) -> tuple[Client, str]:
    """A browser with an approved refund, of which no answer will come."""
    serve(refund=serve().refund_order)
    browser = signed_in.browser(Client(raise_request_exception=False, headers={"host": HOST}))
    ref = asked(browser, "/refund/o1/", {"amount": "20.00"})
    signed_in.approve(ref)
    shop.lost = True
    return browser, ref


@of("unknown-outcomes")
def test_an_unknown_outcome_is_found_out(serve: Any, shop: Shop, signed_in: SessionOf) -> None:
    browser, ref = approved_and_lost(serve, shop, signed_in)
    assert browser.post("/refund/o1/", {"amount": "20.00"}).status_code == 403
    assert signed_in.status(ref) == "performing"
    assert reconcile().performed == 1
    assert signed_in.status(ref) == "performed"
    assert len(shop.happened) == 1


@of("unknown-outcomes")
def test_what_did_not_happen_can_be_tried_again_with_another_key(
    serve: Any, shop: Shop, signed_in: SessionOf
) -> None:
    browser, _ref = approved_and_lost(serve, shop, signed_in)
    browser.post("/refund/o1/", {"amount": "20.00"})
    shop.receipts.clear()
    assert reconcile().not_performed == 1
    shop.lost = False
    assert browser.post("/refund/o1/", {"amount": "20.00"}).status_code == 302
    (key,) = shop.receipts
    assert key != Operation.objects.get().operation_id


@of("unknown-outcomes")
def test_a_key_that_is_barred_is_found_out_and_replaced(
    serve: Any, shop: Shop, signed_in: SessionOf
) -> None:
    browser, ref = approved_and_lost(serve, shop, signed_in)
    browser.post("/refund/o1/", {"amount": "20.00"})
    shop.lost = False
    shop.receipts.clear()
    shop.happened.clear()
    operation = Operation.objects.get()
    first_key = operation.idempotency_key
    # The hook barred the key and did not get to say so; a person settled.
    shop.barred.add(first_key)
    assert settle_by_hand(operation, None, by="p", because="not in the books")
    operation.refresh_from_db()
    assert operation.idempotency_key == first_key
    assert browser.post("/refund/o1/", {"amount": "20.00"}).status_code == 403
    assert signed_in.status(ref) == "performing"
    assert reconcile().not_performed == 1
    operation.refresh_from_db()
    assert operation.idempotency_key != first_key
    assert browser.post("/refund/o1/", {"amount": "20.00"}).status_code == 302
    assert len(shop.happened) == 1


@of("unknown-outcomes")
def test_a_visitors_refunds_are_checked_and_each_happens(
    serve: Any, shop: Shop, alice: Any, client: Any, monkeypatch: Any
) -> None:
    views = serve()
    said = lambda request, template, context, status: HttpResponse(status=status)  # noqa: E731  one line
    monkeypatch.setattr(views, "render", said)
    serve(refund=views.refund_order)
    client.force_login(alice)
    for _ in range(2):
        assert client.post("/refund/o1/", {"amount": "20"}).status_code == 302
    refunds = [terms["amount"]["amount"] for _, terms in shop.happened]
    assert refunds == ["20.00", "20.00"]
    assert client.get("/refund/o1/").status_code == 405
    for amount in ("", "0", "-1", "60.01", "NaN"):
        assert client.post("/refund/o1/", {"amount": amount}).status_code == 422
    shop.strangers = frozenset({"alice"})
    assert client.post("/refund/o1/", {"amount": "20"}).status_code == 404
    assert len(shop.happened) == 2


@of("background-work")
def test_an_action_in_the_background_is_queued_and_then_performed(
    serve: Any, page: dict[str, ModuleType], shop: Shop, signed_in: SessionOf, settings: Any
) -> None:
    views = serve()
    serve(move=lambda request, order_id: views.move_archive(request, archive_id=order_id))
    configure(settings, QUEUE="shop.queue.enqueue")
    browser = signed_in.browser()
    ref = asked(browser, "/move/a1/")
    signed_in.approve(ref)
    assert browser.post("/move/a1/").status_code == 403
    assert signed_in.status(ref) == "performing"
    ((queued, what),) = shop.happened
    assert queued == "queued"
    perform_attempt = page["shop.queue"].perform_attempt
    assert perform_attempt(*what["arguments"])
    assert not perform_attempt(*what["arguments"])
    assert signed_in.status(ref) == "performed"
    assert shop.happened[1:] == [("move", {"archive_id": "a1", "files": 3})]


@of("background-work")
@pytest.mark.parametrize("queue", ["poppy_operations.background.perform_attempt", "later"])
def test_a_queue_for_tests_performs_and_its_refusals_come_with_the_repeat(
    serve: Any,
    page: dict[str, ModuleType],
    shop: Shop,
    signed_in: SessionOf,
    settings: Any,
    queue: str,
) -> None:
    views, queues = serve(), page["shop.tests.queues"]
    serve(move=lambda request, order_id: views.move_archive(request, archive_id=order_id))
    if queue == "later":
        named = {"QUEUE": "shop.tests.queues.later"}
        configure(settings, **named)
    else:
        inspect.unwrap(page["shop.tests.test_moving"].at_once)(settings)
    assert settings.POPPY_OPERATIONS["QUEUE"].endswith(queue)
    browser = signed_in.browser()
    performing, refused = (403, 403) if queue == "later" else (200, 503)
    signed_in.approve(asked(browser, "/move/a1/"))
    assert browser.post("/move/a1/").status_code == performing
    queues.work()
    assert [what for what, _ in shop.happened] == ["move"]
    ref = asked(browser, "/move/gone/")
    signed_in.approve(ref)
    assert browser.post("/move/gone/").status_code == refused
    queues.work()
    assert signed_in.status(ref) == "approved"
    assert browser.post("/move/gone/").status_code == 409
    assert browser.post("/move/gone/").status_code == refused


@of("background-work")
def test_a_worker_asks_whether_it_still_is_so(page: dict[str, ModuleType]) -> None:
    archive = page["shop.operations"].archive
    gone = archive.still(SimpleNamespace(terms={"archive_id": "gone"}))
    assert isinstance(gone, page["shop.operations"].NotPerformed)
    assert page["shop.operations"].move(SimpleNamespace(terms={"archive_id": "a1"})) == {
        "moved": "a1"
    }


# Sessions and browsers


@of("verify-sessions")
def test_tokens_are_introspected(page: dict[str, ModuleType], shop: Shop) -> None:
    verifier = page["shop.company"].Introspection()
    with pytest.raises(KeysUnavailable):
        verifier.verify("token")
    shop.token = {"active": False}
    with pytest.raises(InvalidToken):
        verifier.verify("token")
    shop.token = {"active": True, "sub": "1", "client_id": "c", "scope": "a b", "exp": 1}
    assert verifier.verify("token").scope == {"a", "b"}


@of("verify-sessions")
def test_a_step_of_the_verifier_is_stricter(
    page: dict[str, ModuleType], signed_in: SessionOf
) -> None:
    headers = signed_in.headers()
    request = RequestFactory().post("/", headers=headers)
    strict = page["shop.company"].StrictVerifier
    assert issubclass(strict, SessionVerifier)
    company = page["shop.company"].StrictCompany()
    assert company.session_for(request).client_id == signed_in.agent.client_id
    del headers["Authorization"]
    with pytest.raises(InvalidSession):
        company.session_for(RequestFactory().post("/", headers=headers))
    with pytest.raises(page["shop.company"].BadJwt):
        _lenient(strict).check_ath({"ath": "x"}, None)


def _lenient(strict: type[SessionVerifier]) -> SessionVerifier:
    """The verifier, if the one that it derives from let it pass."""

    class Lenient(SessionVerifier):
        def check_ath(self, claims: Any, bearer: Any) -> None:
            pass

    return type("Mixed", (strict, Lenient), {})()


@of("verify-sessions")
def test_a_gateway_says_whose_session_it_is(page: dict[str, ModuleType]) -> None:
    company = page["shop.company"].GatewayCompany()
    with pytest.raises(InvalidSession):
        company.session_for(RequestFactory().get("/"))
    headers = {
        "X-Verified-Client": "https://agent.example/client",
        "X-Verified-User": "u1",
        "X-Verified-Sid": "s1",
        "X-Verified-Extensions": "operations=3",
    }
    session = company.session_for(RequestFactory().get("/", headers=headers))
    assert (session.account, session.declared) == (None, True)


@of("website-views")
def test_a_person_takes_the_browser_over(
    page: dict[str, ModuleType], shop: Shop, signed_in: SessionOf, alice: Any, settings: Any
) -> None:
    urls = ModuleType("shop.urls")
    whose = lambda request: HttpResponse(str(browser_of(request).marked))  # noqa: E731  one line
    again = path("again/", page["shop.views"].sign_in_again)
    vars(urls)["urlpatterns"] = [again, path("whose/", whose), *urlpatterns]
    settings.ROOT_URLCONF = urls
    browser = signed_in.browser()
    assert browser.get("/whose/").content == b"True"
    shop.person = alice
    assert browser.post("/again/").status_code == 302
    assert browser.get("/whose/").content == b"False"


@of("verify-sessions")
def test_the_sites_own_app_is_no_agent(page: dict[str, ModuleType], shop: Shop) -> None:
    company = page["shop.company"].AppCompany()
    token = {"active": True, "sub": "1", "scope": "", "exp": 2**40}
    for client_id, agents in (("shop-mobile-app", False), ("https://agent.example", True)):
        shop.token = {**token, "client_id": client_id}
        request = RequestFactory().get("/?access_token=T")
        assert company.is_agent(request) is agents
        vars(request)["auth"] = page["shop.identity"].AppToken(client_id)
        assert company.is_agent(request) is agents
    vars(request)["auth"] = object()
    assert company.is_agent(request)


@of("provider-joins")
def test_a_providers_join_is_a_join(
    page: dict[str, ModuleType], shop: Shop, signed_in: SessionOf, jacket: Any, settings: Any
) -> None:
    urls = ModuleType("shop.urls")
    whose = lambda request: HttpResponse(str(browser_of(request).session))  # noqa: E731  one line
    vars(urls)["urlpatterns"] = [
        path("joined/", page["shop.joining"].joined),
        path("whose/", whose),
        *urlpatterns,
    ]
    settings.ROOT_URLCONF = urls
    browser = Client(headers={"host": HOST})
    assert browser.get("/joined/").status_code == 400
    shop.facts = {
        "client_id": signed_in.agent.client_id,
        "user_id": signed_in.user_id,
        "account": signed_in.account,
        "sid": signed_in.sid,
        "extensions": {"operations": "3"},
        "token_expires_at": int((timezone.now() + timedelta(minutes=5)).timestamp()),
    }
    assert browser.get("/joined/").status_code == 302
    assert "declared=True" in browser.get("/whose/").content.decode()

    signed_in.approve(asked(browser, "/buy/", {"sku": "jacket", "quantity": "1"}))
    assert browser.post("/buy/", {"sku": "jacket", "quantity": "1"}).status_code == 302

    shop.facts["account"] = None
    assert Client(headers={"host": HOST}).get("/joined/").status_code == 302
    shop.facts["account"] = "404"
    assert browser.get("/joined/").status_code == 400
    shop.facts["account"] = signed_in.account
    revoke(signed_in.agent.client_id)
    assert Client(headers={"host": HOST}).get("/joined/").status_code == 400
    shop.facts["client_id"] = "https://stranger.example/client"
    assert Client(headers={"host": HOST}).get("/joined/").status_code == 400


# What sites add


@of("install")
def test_the_document_of_the_page_has_no_problems(page: dict[str, ModuleType]) -> None:
    page["shop.tests.test_discovery"].test_our_document_says_what_agents_need(RequestFactory())
    assert django_settings.POPPY_OPERATIONS["ISSUER"] == AUDIENCE


@of("test-your-views")
def test_the_pages_test_passes(
    page: dict[str, ModuleType], settings: Any, alice: Any, shop: Shop
) -> None:
    conftest, own = page["shop.tests.conftest"], page["shop.tests.test_cancelling"]
    fixture = lambda name: inspect.unwrap(getattr(conftest, name))  # noqa: E731  one line
    agent, tokens = fixture("agent")(None), fixture("tokens")(settings)
    cancelled: list[str] = []

    def cancel(request: Any, order_id: str) -> HttpResponse:
        cancelled.append(order_id)
        return HttpResponse(status=302, headers={"Location": "/"})

    action = Action("docs.cancel", effects="database")
    terms = Terms({"fee": {"amount": "5.00", "currency": "USD"}})
    urls = ModuleType("shop.urls")
    gated = action.view(terms=lambda request, order_id: terms)(cancel)
    vars(urls)["urlpatterns"] = [path("orders/<str:order_id>/cancel/", gated), *urlpatterns]
    settings.ROOT_URLCONF = urls
    try:
        headers = fixture("headers")(agent, tokens, alice)
        own.test_a_cancellation_waits_for_approval_and_happens_once(headers, cancelled)
    finally:
        registry.discard(action)


@of("maintenance")
def test_the_jobs_of_the_page_run(page: dict[str, ModuleType]) -> None:
    jobs = page["shop.jobs"]
    assert jobs.every_night() == "0 operations and 0 joins are forgotten."
    assert jobs.every_few_minutes() == []


@of("maintenance")
def test_the_beat_entries_name_tasks_that_exist(page: dict[str, ModuleType]) -> None:
    for entry in page["shop.settings"].CELERY_BEAT_SCHEDULE.values():
        assert entry["task"] in current_app.tasks


@of("multiple-databases")
def test_the_router_keeps_our_tables_together(page: dict[str, ModuleType], alice: Any) -> None:
    router = page["shop.routers"].OperationsRouter()
    assert router.db_for_write(Operation) == router.db_for_read(Operation) == "operations"
    assert router.db_for_read(type(alice)) is None
    assert router.allow_migrate("default", "poppy_operations") is False
    assert router.allow_migrate("operations", "auth") is False
    assert router.allow_migrate("default", "auth") is None

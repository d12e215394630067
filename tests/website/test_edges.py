"""What the website's doors do at their edges."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponse
from django.test import AsyncClient, override_settings
from django.urls import path
from django.utils import timezone
from django.views import View

from poppy_operations import NotPerformed, Refusal, Terms
from poppy_operations.company import Company
from poppy_operations.conf import conf
from poppy_operations.declarations.current import CurrentOperation
from poppy_operations.gate import decision, references
from poppy_operations.lifecycle import claims
from poppy_operations.lifecycle.durable import Busy
from poppy_operations.models import Approval, Operation
from poppy_operations.sessions.refusals import KeysUnavailable
from poppy_operations.sessions.tokens import TokenVerifier
from tests.agents import ORDER, SessionOf, approval_of
from tests.asking import TWO, ask, quiet, recorded
from tests.clock import Clock
from tests.shop import operations as shop
from tests.shop.models import Item
from tests.shop.operations import Behaviour
from tests.shop.views import OrderFormView

pytestmark = pytest.mark.django_db
Effects = Callable[[], list[str]]


@shop.buy.gated
class AsyncBuying(View):
    """A gated class whose async handler calls ``arun``."""

    async def post(self, request: HttpRequest) -> HttpResponse:
        """Take the order."""

        async def body(operation: CurrentOperation) -> HttpResponse:
            return HttpResponse(f"{operation.terms['quantity']} bought", status=201)

        terms = {"quantity": request.POST["quantity"]}
        answer = await shop.buy.arun(request, lambda: Terms(terms), body)
        assert isinstance(answer, HttpResponse)
        return answer


urlpatterns = [
    path("async-buying/", AsyncBuying.as_view()),
    path("ungated-form/", OrderFormView.as_view()),
]


@pytest.mark.urls(__name__)
@pytest.mark.django_db(transaction=True)
async def test_an_async_handler_takes_the_rest_of_its_request_through_the_gate(
    client: Any,
) -> None:
    response = await AsyncClient().post("/async-buying/", ORDER)
    assert (response.status_code, response.content) == (201, b"1 bought")


@pytest.mark.urls(__name__)
def test_run_outside_a_gated_class_says_what_to_do(client: Any, jacket: Item) -> None:
    with pytest.raises(RuntimeError, match="@gated"):
        client.post("/ungated-form/", ORDER)


@pytest.mark.parametrize("target", [object, HttpResponse("")])
def test_gated_goes_on_a_class_with_handlers(target: Any) -> None:
    with pytest.raises(TypeError, match="handlers such as post"):
        shop.buy.gated(target)


@override_settings(POPPY_OPERATIONS={})
def test_a_site_without_an_issuer_is_told_so() -> None:
    with pytest.raises(ImproperlyConfigured, match="ISSUER"):
        _ = conf.issuer


def test_a_token_that_cannot_be_verified_now_may_be_an_agents(
    rf: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unavailable(*_arguments: Any, **_named: Any) -> None:
        message = "no keys"
        raise KeysUnavailable(message)

    monkeypatch.setattr(TokenVerifier, "verify", unavailable)
    assert Company().is_agent(rf.get("/", headers={"Authorization": "Bearer a.b.c"}))


def test_naive_times_in_terms_are_the_sites_own() -> None:
    naive = datetime(2026, 10, 8, 12, 20)  # noqa: DTZ001  what sites without time zones have
    with timezone.override(ZoneInfo("America/Los_Angeles")):
        assert Terms({"at": naive}).text == '{"at":"2026-10-08T19:20:00Z"}'


def test_only_external_effects_have_an_outcome_to_find_out() -> None:
    with pytest.raises(TypeError, match="external"):
        shop.buy.reconcile(lambda _operation: NotPerformed())


def test_the_terms_of_a_visitor_are_a_mapping_like_any_other() -> None:
    current = CurrentOperation.without_id("a", Terms({"b": 1, "c": 2}))
    assert (len(current.terms), sorted(current.terms)) == (2, ["b", "c"])


@pytest.mark.parametrize("named", ["allowed", "terms_answer"])
def test_visitors_get_the_sites_own_refusals(
    named: str, client: Any, jacket: Item, site: Behaviour, effects: Effects
) -> None:
    setattr(site, named, lambda _request: HttpResponse("no", status=403))
    response = client.post("/buy/", ORDER)
    assert (response.status_code, response.content) == (403, b"no")
    assert effects() == []


def test_an_agents_browser_that_nobody_knows_is_served_where_no_approval_is_needed(
    signed_out: SessionOf, jacket: Item, site: Behaviour, effects: Effects, alice: Any
) -> None:
    browser = signed_out.browser()
    browser.post("/accounts/login/", {"username": "alice", "password": "alice"})
    site.needed = False
    assert browser.post("/buy/", ORDER).status_code == 302
    assert effects() == ["shop.buy 1 jacket"]


@pytest.mark.parametrize("neighbours", ["waiting", "approved", "performing"])
def test_what_needs_no_approval_is_gated_by_an_operation_of_its_own_alone(
    neighbours: str, signed_out: SessionOf, jacket: Item, site: Behaviour, effects: Effects
) -> None:
    browser = signed_out.browser()
    ask(browser)  # nobody approves it
    ref = ask(browser, "/buy/", TWO)
    if neighbours != "waiting":
        signed_out.approve(ref)
    if neighbours == "performing":
        assert claims.begin(
            Operation.objects.get(revisions__ref=ref),
            Approval.objects.get(),
            attempt="elsewhere",
            effects="database",
            lease_s=60,
            now=timezone.now(),
        )
    site.needed = False
    assert browser.post("/buy/", ORDER).status_code == 302
    assert effects() == ["shop.buy 1 jacket"]
    assert not Operation.objects.filter(state=Operation.State.PERFORMED).exists()
    # The neighbour's own request goes by its approval, where it has one.
    assert browser.post("/buy/", TWO).status_code == (403 if neighbours == "performing" else 302)
    performed = Operation.objects.filter(state=Operation.State.PERFORMED)
    assert [row.revisions.get().ref for row in performed] == [ref] * (neighbours == "approved")


@pytest.mark.parametrize("minutes", [14, 16])
def test_an_expired_approval_gates_nothing_that_needs_none(
    minutes: int, signed_out: SessionOf, jacket: Item, site: Behaviour, clock: Clock
) -> None:
    browser = signed_out.browser()
    recorded(signed_out, browser)
    site.needed = False
    clock.at(minutes=minutes)
    assert browser.post("/buy/", ORDER).status_code == 302
    assert Operation.objects.get().state == ("performed" if minutes < 15 else "open")


@pytest.mark.slow
def test_a_claim_that_is_lost_again_and_again_is_nobodys_fault(
    signed_out: SessionOf,
    jacket: Item,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    browser = signed_out.browser()
    recorded(signed_out, browser)
    monkeypatch.setattr(claims, "begin", lambda *_arguments, **_named: False)
    answer = browser.post("/buy/", ORDER)
    assert (answer.status_code, answer["Retry-After"]) == (503, "1")
    (told,) = caplog.records
    assert told.levelname == "WARNING"
    assert told.getMessage().startswith(
        "The database is locked, unreachable or read-only; nothing was performed. ("
    )
    assert "The claim was lost again and again." in caplog.text


# What an approval is missed by


def told_of_differences(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """What the log says of approvals with the same terms."""
    return [vars(one) for one in caplog.records if "same terms" in one.getMessage()]


GIFT = {**ORDER, "gift": "for my secret friend", "note": "1"}


def test_the_log_names_the_fields_by_which_a_request_misses_an_approval(
    signed_out: SessionOf, jacket: Item, caplog: pytest.LogCaptureFixture
) -> None:
    browser = signed_out.browser()
    _, approval = recorded(signed_out, browser)
    with caplog.at_level(logging.INFO, "poppy_operations"):
        refs = [ask(browser, "/buy/", GIFT) for _ in range(2)]
    assert refs[0] == refs[1]
    for told in told_of_differences(caplog):
        assert told["levelname"] == "INFO"
        assert told["message"].startswith(
            "An approval has the same terms and other content: gift, note ("
        )
        assert told["fields"] == ["gift", "note"]
        assert told["operation_id"] == approval["operation_id"]
        assert told["action"] == "shop.buy"
    assert len(told_of_differences(caplog)) == 2
    assert "friend" not in caplog.text


@pytest.mark.parametrize(
    ("path", "order", "approved"),
    [("/buy/", ORDER, False), ("/buy/", TWO, True), ("/refund/", ORDER, True)],
    ids=["not approved", "other terms", "another action"],
)
def test_the_log_says_nothing_of_what_could_not_have_been_meant(
    path: str,
    order: dict[str, str],
    approved: bool,
    signed_out: SessionOf,
    jacket: Item,
    caplog: pytest.LogCaptureFixture,
) -> None:
    browser = signed_out.browser()
    ref = ask(browser, path, order)
    if approved:
        signed_out.approve(ref)
    with caplog.at_level(logging.INFO, "poppy_operations"):
        ask(browser, "/buy/", GIFT)
    assert told_of_differences(caplog) == []


def test_a_reference_that_cannot_be_told_now_does_not_read_as_a_failure(
    signed_out: SessionOf, jacket: Item, site: Behaviour, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_operation: Any) -> None:
        message = "the line was cut"
        raise ConnectionError(message)

    def busy(*_arguments: Any) -> None:
        raise Busy

    browser = signed_out.browser(quiet())
    signed_out.approve(ask(browser, "/refund/"))
    site.after_effect = fails
    monkeypatch.setattr(decision, "_under_way", busy)
    response = browser.post("/refund/", ORDER)
    assert response.status_code == 503
    assert Operation.objects.get().state == Operation.State.PERFORMING


def test_the_endpoint_is_busy_where_an_operation_never_stands_still(
    signed_out: SessionOf, jacket: Item, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = ask(signed_out.browser())
    approval = approval_of(signed_out.look_up(ref))
    monkeypatch.setattr(references, "declined_by_policy", lambda *_arguments, **_named: True)
    assert signed_out.endpoint(ref, approval).status_code == 503


def test_a_waiting_page_meets_a_lapsed_attempt(
    signed_out: SessionOf, jacket: Item, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = signed_out.browser()
    ref = ask(browser)
    signed_out.approve(ref)
    operation = Operation.objects.get()
    revision = operation.revisions.get()
    now = timezone.now()
    assert claims.begin(
        operation,
        revision.record,
        attempt="gone",
        effects="database",
        lease_s=1,
        now=now - timedelta(minutes=1),
    )
    answer = browser.get(f"/poppy/waiting/{revision.watch}")
    assert answer.json()["status"] == "approved"


def test_a_refusal_without_an_answer_of_its_own_is_the_protocols() -> None:
    assert Refusal().response is None

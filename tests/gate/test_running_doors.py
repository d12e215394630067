"""The table of endings as browsers and agents see it, through the website's doors."""

from __future__ import annotations

import logging
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.db import OperationalError, connection, transaction
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.test import Client

from poppy_operations import NotPerformed
from poppy_operations.models import Operation
from tests.agents import ORDER, SessionOf, reference
from tests.asking import GatedRequest
from tests.shop.models import Item
from tests.shop.operations import Behaviour, SoldOut

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("jacket")]
DATABASE = ["/buy/", "/abuy/", "/class/", "/form/"]
EXTERNAL = ["/refund/", "/arefund/"]
Effects = Callable[[], list[str]]


@pytest.fixture
def approved(signed_out: SessionOf) -> Callable[[str], GatedRequest]:
    """Have a request approved that is still to be made."""

    def approve(path: str) -> GatedRequest:
        browser = signed_out.browser()
        browser.raise_request_exception = False
        request = GatedRequest(signed_out, path, browser=browser)
        request.ask()
        request.approve()
        return request

    return approve


def operation_behind(response: Any) -> str:
    """The operation of a reference in a response."""
    _, ref = reference(response)
    operation_id: str = Operation.objects.get(revisions__ref=ref).operation_id
    return operation_id


def raising(error: BaseException) -> Callable[[Any], Any]:
    def end(operation: Any) -> Any:
        raise error

    return end


NO_EFFECT: dict[str, tuple[Callable[[Any], Any], int]] = {
    "409": (lambda operation: HttpResponse(status=409), 409),
    "500": (lambda operation: HttpResponse(status=500), 500),
    "login": (lambda operation: HttpResponseRedirect("/accounts/login/?next=/"), 302),
    "404": (raising(Http404()), 404),
    "denied": (raising(PermissionDenied()), 403),
    "fault": (raising(ValueError("a fault")), 500),
    "not performed": (raising(NotPerformed(HttpResponse("sold out", status=200))), 200),
    "no response": (raising(NotPerformed("sold out")), 500),  # type: ignore[arg-type]  # likewise
}


@pytest.mark.requirement("OPS-7-16", "OPS-7-17", "OPS-7-18")
@pytest.mark.ambiguity("AMB-15")
@pytest.mark.parametrize("path", DATABASE)
@pytest.mark.parametrize(("ending", "status"), NO_EFFECT.values(), ids=NO_EFFECT)
def test_amb_15_in_the_database_whatever_fails_is_undone_and_the_approval_stays(
    path: str,
    ending: Callable[[Any], Any],
    status: int,
    approved: Callable[[str], GatedRequest],
    site: Behaviour,
    effects: Effects,
) -> None:
    request = approved(path)
    site.answer = ending
    response = request.send()
    assert response.status_code == status
    assert "Poppy-Operation" not in response
    assert (effects(), request.status()) == ([], "approved")
    site.reset()
    assert request.send().status_code == 302
    assert (len(effects()), request.status()) == (1, "performed")


@pytest.mark.requirement("OPS-7-16")
@pytest.mark.ambiguity("AMB-15")
@pytest.mark.parametrize("path", EXTERNAL)
@pytest.mark.parametrize(
    ("error", "status"),
    [
        (NotPerformed(), 409),
        (NotPerformed(HttpResponse(status=302)), 302),
        (NotPerformed("sold out"), 500),  # type: ignore[arg-type]  # that is the point
        (SoldOut(), 500),
    ],
)
def test_amb_15_outside_only_a_clean_refusal_leaves_the_approval_usable(
    path: str,
    error: Exception,
    status: int,
    approved: Callable[[str], GatedRequest],
    site: Behaviour,
    effects: Effects,
) -> None:
    request = approved(path)
    site.before_effect = raising(error)
    assert request.send().status_code == status
    assert (effects(), request.status()) == ([], "approved")
    site.reset()
    assert request.send().status_code == 302
    assert (len(effects()), request.status()) == (1, "performed")


UNKNOWN = {name: NO_EFFECT[name][0] for name in ("409", "500", "login", "404", "denied", "fault")}


@pytest.mark.requirement("OPS-7-08")
@pytest.mark.ambiguity("AMB-13")
@pytest.mark.parametrize("path", EXTERNAL)
@pytest.mark.parametrize("ending", UNKNOWN.values(), ids=UNKNOWN)
def test_amb_13_outside_all_else_is_unknown_and_gets_a_reference_of_the_same_operation(
    path: str,
    ending: Callable[[Any], Any],
    approved: Callable[[str], GatedRequest],
    site: Behaviour,
    effects: Effects,
    caplog: Any,
) -> None:
    request = approved(path)
    site.answer = ending
    with caplog.at_level(logging.ERROR, "poppy_operations"):
        response = request.send()
    assert "Nobody knows" in caplog.text
    assert response.status_code == 403
    assert operation_behind(response) == request.operation_id
    assert (len(effects()), request.status()) == (1, "performing")
    site.reset()
    again = request.send()
    assert again.status_code == 403
    assert reference(again) == reference(response)
    assert (len(effects()), request.status()) == (1, "performing")


@pytest.mark.parametrize("path", EXTERNAL)
def test_an_unknown_outcome_is_raised_in_a_sites_own_tests_like_any_fault(
    path: str, approved: Callable[[str], GatedRequest], site: Behaviour
) -> None:
    request = approved(path)
    request.browser.raise_request_exception = True
    site.answer = raising(ValueError("a fault"))
    with pytest.raises(ValueError, match="a fault"):
        request.send()


@pytest.mark.parametrize("path", [*DATABASE, *EXTERNAL])
def test_a_body_gets_the_approved_terms_and_nothing_else(
    path: str, approved: Callable[[str], GatedRequest], site: Behaviour, effects: Effects
) -> None:
    seen: list[Any] = []
    site.before_effect = seen.append
    request = approved(path)
    request.send()
    assert seen[0].terms["total"]["amount"] == "70.00"
    assert seen[0].operation_id == request.operation_id
    with pytest.raises(TypeError):
        seen[0].terms["quantity"] = 2


# What changes between the checks and the run


def second_look(answer: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The site's terms, which change when they are asked for the second time."""
    looks: list[int] = []

    def terms_answer(request: Any) -> Any:
        looks.append(1)
        return answer(request) if len(looks) == 2 else None

    return terms_answer


@pytest.mark.requirement("OPS-3-19", "OPS-6-37")
@pytest.mark.parametrize("path", ["/buy/", "/abuy/", "/class/"])
def test_a_price_that_changes_inside_gets_a_new_revision_and_nothing_is_done(
    path: str, approved: Callable[[str], GatedRequest], site: Behaviour, effects: Effects
) -> None:
    request = approved(path)

    def dearer(request: Any) -> None:
        Item.objects.update(price=Decimal("75.00"))

    site.terms_answer = second_look(dearer)
    response = request.send()
    assert response.status_code == 403
    _, ref = reference(response)
    assert operation_behind(response) == request.operation_id
    assert effects() == []
    assert request.status() == "approved"
    # It was changed in the run's own transaction, which was rolled back with it.
    assert request.session.look_up(ref)["terms"]["total"]["amount"] == "75.00"
    site.reset()
    assert request.send().status_code == 302


@pytest.mark.parametrize("path", ["/buy/", "/abuy/", "/class/"])
@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (lambda request: HttpResponse("form errors", status=200), 200),
        (lambda request: HttpResponse(status=404), 404),
        (raising(PermissionDenied()), 403),
    ],
)
def test_the_sites_own_answer_inside_is_the_answer(
    path: str,
    answer: Callable[[Any], Any],
    status: int,
    approved: Callable[[str], GatedRequest],
    site: Behaviour,
    effects: Effects,
) -> None:
    request = approved(path)
    site.terms_answer = second_look(answer)
    response = request.send()
    assert response.status_code == status
    assert "Poppy-Operation" not in response
    assert (effects(), request.status()) == ([], "approved")


def test_of_two_outcomes_that_nobody_knows_each_request_gets_its_own_reference(
    approved: Callable[[str], GatedRequest], site: Behaviour
) -> None:
    requests = [approved(path) for path in EXTERNAL]
    site.after_effect = raising(TimeoutError())
    for _ in ("performs", "repeats"):
        for request in requests:
            assert operation_behind(request.send()) == request.operation_id


# ATOMIC_REQUESTS


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("atomic_requests")
class TestAtomicRequests:
    @pytest.mark.parametrize("path", ["/buy/", "/class/", "/form/", "/refund/"])
    def test_an_approved_request_is_performed(
        self, path: str, approved: Callable[[str], GatedRequest], effects: Effects
    ) -> None:
        request = approved(path)
        assert request.send().status_code == 302
        assert (len(effects()), request.status()) == (1, "performed")

    @pytest.mark.parametrize("path", ["/buy/", "/class/", "/form/"])
    def test_the_claim_is_committed_before_the_body_and_only_the_body_is_rolled_back(
        self, path: str, approved: Callable[[str], GatedRequest], site: Behaviour, effects: Effects
    ) -> None:
        request = approved(path)
        depths: list[int] = []
        site.before_effect = lambda operation: depths.append(len(connection.savepoint_ids))
        site.after_effect = raising(Http404())
        assert request.send().status_code == 404
        expected = 1 if connection.vendor == "mysql" else 0
        assert depths == [expected]
        assert (effects(), request.status()) == ([], "approved")

    def test_an_external_body_is_in_no_transaction_and_its_evidence_stays(
        self, approved: Callable[[str], GatedRequest], site: Behaviour, effects: Effects
    ) -> None:
        request = approved("/refund/")
        blocks: list[bool] = []
        site.before_effect = lambda operation: blocks.append(connection.in_atomic_block)
        site.after_effect = raising(ValueError("a fault"))
        assert request.send().status_code == 403
        assert blocks == [False]
        assert (len(effects()), request.status()) == (1, "performing")

    @pytest.mark.parametrize("path", ["/buy/", "/class/", "/form/", "/refund/"])
    def test_an_ordinary_visitor_keeps_djangos_transaction(
        self, path: str, client: Client, site: Behaviour, effects: Effects
    ) -> None:
        client.raise_request_exception = False
        blocks: list[bool] = []
        site.before_effect = lambda operation: blocks.append(connection.in_atomic_block)
        site.after_effect = raising(ValueError("a fault"))
        assert client.post(path, ORDER).status_code == 500
        assert blocks == [True]
        assert effects() == []

    def test_an_agents_ungated_request_gets_the_same_transaction(
        self, signed_out: SessionOf, site: Behaviour, effects: Effects
    ) -> None:
        browser = signed_out.browser()
        browser.raise_request_exception = False
        site.needed = False
        blocks: list[bool] = []
        site.before_effect = lambda operation: blocks.append(connection.in_atomic_block)
        site.after_effect = raising(ValueError("a fault"))
        assert browser.post("/buy/", ORDER).status_code == 500
        assert blocks == [True]
        assert effects() == []

    def test_a_hook_that_fails_after_the_commit_does_not_hide_that_it_was_performed(
        self, approved: Callable[[str], GatedRequest], site: Behaviour, effects: Effects
    ) -> None:
        request = approved("/buy/")
        site.after_effect = lambda operation: transaction.on_commit(
            lambda: raising(ConnectionError("mail"))(None)
        )
        assert request.send().status_code == 302
        assert (len(effects()), request.status()) == (1, "performed")


# The database is in the way


@pytest.mark.parametrize("path", [*DATABASE, *EXTERNAL])
def test_a_database_in_the_way_is_503_and_never_500_and_nothing_is_performed(
    path: str, approved: Callable[[str], GatedRequest], effects: Effects
) -> None:
    request = approved(path)

    def locked(execute: Any, sql: str, *args: Any) -> Any:
        if sql.startswith("UPDATE"):
            message = "database is locked"
            raise OperationalError(message)
        return execute(sql, *args)

    with connection.execute_wrapper(locked):
        response = request.send()
    assert response.status_code == 503
    assert int(response["Retry-After"]) > 0
    assert (effects(), request.status()) == ([], "approved")
    assert request.send().status_code == 302


@pytest.mark.requirement("OPS-7-17")
@pytest.mark.parametrize("path", [*DATABASE, *EXTERNAL])
def test_a_lost_claim_is_looked_at_again_and_performed(
    path: str, approved: Callable[[str], GatedRequest], effects: Effects
) -> None:
    request = approved(path)
    left = [1]

    def locked_once(execute: Any, sql: str, *args: Any) -> Any:
        if sql.startswith("UPDATE") and left:
            left.pop()
            message = "database is locked"
            raise OperationalError(message)
        return execute(sql, *args)

    with connection.execute_wrapper(locked_once):
        assert request.send().status_code == 302
    assert (len(effects()), request.status()) == (1, "performed")


@pytest.mark.parametrize("path", DATABASE)
def test_a_deadlock_in_the_body_is_503_and_the_approval_stays(
    path: str, approved: Callable[[str], GatedRequest], site: Behaviour, effects: Effects
) -> None:
    request = approved(path)
    site.after_effect = raising(OperationalError(1213, "Deadlock found"))
    response = request.send()
    assert response.status_code == 503
    assert (effects(), request.status()) == ([], "approved")

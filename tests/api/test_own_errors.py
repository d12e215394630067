"""The view's own errors keep their shape, and nothing of a failed action stays (6, 7)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.http import Http404, HttpResponse, JsonResponse
from rest_framework import exceptions
from rest_framework.response import Response

from poppy_operations import NotPerformed
from poppy_operations.models import Operation
from tests.agents import ORDER, ApiClient, approval_of, operation_in
from tests.shop.models import Effect
from tests.shop.operations import Behaviour, SoldOut
from tests.shop.orders import ApiBehaviour

pytestmark = pytest.mark.usefixtures("transactions")
Effects = Callable[[], list[str]]


class Conflict(exceptions.APIException):
    """An exception of the site's own."""

    status_code = 409
    default_detail = "Taken."


ENDINGS: dict[str, tuple[Exception, int]] = {
    "validation": (exceptions.ValidationError({"sku": ["Gone."]}), 400),
    "not found": (Http404("gone"), 404),
    "denied": (PermissionDenied("no"), 403),
    "drf denied": (exceptions.PermissionDenied("no"), 403),
    "conflict": (Conflict(), 409),
    "throttled": (exceptions.Throttled(7), 429),
}


def raises(error: BaseException) -> Callable[..., Any]:
    """A hook of the site that raises."""

    def hook(*_args: Any) -> Any:
        raise error

    return hook


def is_open() -> bool:
    """Whether the only operation can be performed."""
    return Operation.objects.get().state == Operation.State.OPEN


@pytest.mark.parametrize("needed", [True, False])
@pytest.mark.parametrize("kind", ENDINGS)
@pytest.mark.parametrize("path", ["/api/class/", "/api/function/", "/api/viewset/"])
def test_what_terms_raise_is_answered_as_without_the_gate(
    path: str, kind: str, needed: bool, agents_api: ApiClient, shop: ApiBehaviour, client: Any
) -> None:
    error, status = ENDINGS[kind]
    shop.needed = needed
    shop.terms = raises(error)
    gated = agents_api.send(path=path)
    visitor = client.post(path, ORDER, content_type="application/json")

    assert (gated.status_code, visitor.status_code) == (status, status)
    assert gated.content == visitor.content
    assert not Operation.objects.exists()
    assert not Effect.objects.exists()


@pytest.mark.parametrize("kind", ENDINGS)
@pytest.mark.parametrize("path", ["/api/class/", "/api/function/", "/api/viewset/"])
def test_what_the_action_raises_undoes_it_and_is_answered_as_without_the_gate(
    path: str, kind: str, agents_api: ApiClient, site: Behaviour, effects: Effects
) -> None:
    error, status = ENDINGS[kind]
    operation = agents_api.ask(path=path)
    site.after_effect = raises(error)
    answer = agents_api.approve(operation, path=path)

    assert answer.status_code == status
    assert "operation" not in answer.json()
    assert effects() == []
    assert is_open()

    site.after_effect = lambda operation: None
    assert agents_api.approve(operation, path=path).status_code == 201
    assert len(effects()) == 1


def ensure_undone_and_repeatable(
    fault: Callable[[Any], None],
    api: ApiClient,
    site: Behaviour,
    effects: Effects,
    path: str,
) -> None:
    """A fault in the action is a 500 without an effect, and the same approval has one later."""
    api.session.client.raise_request_exception = False
    operation = api.ask(path=path)
    site.after_effect = fault
    assert api.approve(operation, path=path).status_code == 500
    assert effects() == []
    assert is_open()

    site.after_effect = lambda operation: None
    assert api.approve(operation, path=path).status_code == 201
    assert len(effects()) == 1


@pytest.mark.requirement("OPS-7-16")
@pytest.mark.parametrize("path", ["/api/class/", "/api/plain/", "/api/aplain/"])
def test_an_error_of_the_site_is_its_500_and_the_approval_stays_good(
    path: str, agents_api: ApiClient, site: Behaviour, effects: Effects
) -> None:
    ensure_undone_and_repeatable(raises(LookupError("a fault")), agents_api, site, effects, path)


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/api/class/", lambda operation: Response({"detail": "Sold out."}, 409)),
        ("/api/class/", lambda operation: JsonResponse({"detail": "Sold out."}, status=503)),
        ("/api/plain/", lambda operation: JsonResponse({"detail": "Sold out."}, status=409)),
    ],
    ids=["drf", "django in drf", "django"],
)
def test_an_answer_of_400_and_above_means_that_nothing_happened(
    path: str, answer: Any, agents_api: ApiClient, shop: ApiBehaviour, effects: Effects
) -> None:
    operation = agents_api.ask(path=path)
    shop.answer = answer
    refused = agents_api.approve(operation, path=path)

    assert (refused.status_code in {409, 503}, refused.json()) == (True, {"detail": "Sold out."})
    assert effects() == []
    assert is_open()


@pytest.mark.parametrize("status", [200, 422])
@pytest.mark.parametrize("path", ["/api/class/", "/api/plain/", "/api/transfer/"])
def test_the_site_says_with_any_status_that_nothing_happened(
    status: int, path: str, agents_api: ApiClient, site: Behaviour, effects: Effects
) -> None:
    operation = agents_api.ask(path=path)
    body = {"detail": "Sold out."}
    plain = JsonResponse(body, status=status)
    site.before_effect = raises(
        NotPerformed(plain if path == "/api/plain/" else Response(body, status))
    )
    answer = agents_api.approve(operation, path=path)

    assert (answer.status_code, answer.json()) == (status, body)
    assert effects() == []
    assert is_open()


def test_an_external_action_may_list_what_it_raises_when_nothing_happened(
    agents_api: ApiClient, site: Behaviour
) -> None:
    agents_api.session.client.raise_request_exception = False
    operation = agents_api.ask(path="/api/transfer/")
    site.before_effect = raises(SoldOut("sold out"))

    assert agents_api.approve(operation, path="/api/transfer/").status_code == 500
    assert is_open()


@pytest.mark.requirement("OPS-7-08")
@pytest.mark.parametrize("kind", ENDINGS)
def test_an_external_action_that_raises_anything_else_is_not_answered_as_failed(
    kind: str, agents_api: ApiClient, site: Behaviour, effects: Effects
) -> None:
    agents_api.session.client.raise_request_exception = False
    operation = agents_api.ask(path="/api/transfer/")
    site.after_effect = raises(ENDINGS[kind][0])

    for _ in range(2):
        answer = agents_api.approve(operation, path="/api/transfer/")
        assert (answer.status_code, answer.json()["status"]) == (503, "performing")
    assert effects() == ["api.transfer 1 jacket"]


@pytest.mark.parametrize("status", [500, 200])
@pytest.mark.parametrize("error", [LookupError("a fault"), Conflict()], ids=["fault", "409"])
def test_a_handler_that_catches_everything_changes_nothing_about_what_was_done(
    error: Exception, status: int, agents_api: ApiClient, site: Behaviour, effects: Effects
) -> None:
    """What the action raised decides, never the status that a handler gives it later."""
    path, headers = "/api/catch-all/", {"X-Status": str(status)}
    operation = agents_api.ask(path=path, headers=headers)
    site.after_effect = raises(error)
    answer = agents_api.approve(operation, path=path, headers=headers)

    assert (answer.status_code, answer.json()) == (status, {"caught": type(error).__name__})
    assert effects() == []
    assert is_open()

    site.after_effect = lambda operation: None
    assert agents_api.approve(operation, path=path, headers=headers).status_code == 201


@pytest.mark.parametrize("path", ["/api/class/", "/api/plain/", "/api/aplain/"])
def test_an_action_that_swallows_a_broken_transaction_is_not_told_as_performed(
    path: str, agents_api: ApiClient, site: Behaviour, effects: Effects
) -> None:
    ensure_undone_and_repeatable(
        lambda operation: transaction.set_rollback(True), agents_api, site, effects, path
    )


def test_an_action_that_refuses_after_a_broken_transaction_gives_its_own_answer(
    agents_api: ApiClient, site: Behaviour, shop: ApiBehaviour, effects: Effects
) -> None:
    operation = agents_api.ask()
    site.after_effect = lambda operation: transaction.set_rollback(True)
    shop.answer = lambda operation: Response({"detail": "Sold out."}, 409)
    refused = agents_api.approve(operation)

    assert (refused.status_code, refused.json()) == (409, {"detail": "Sold out."})
    assert effects() == []
    assert is_open()


def test_a_constraint_that_fails_undoes_the_action(
    agents_api: ApiClient, site: Behaviour, effects: Effects
) -> None:
    operation = agents_api.ask()
    site.after_effect = raises(IntegrityError("unique"))
    with pytest.raises(IntegrityError):
        agents_api.approve(operation)

    assert effects() == []
    assert is_open()


def test_a_throttled_request_gets_the_sites_429(agents_api: ApiClient) -> None:
    answer = agents_api.send(path="/api/throttled/")

    assert (answer.status_code, answer["Retry-After"]) == (429, "7")
    assert answer.json() == {"detail": "Request was throttled. Expected available in 7 seconds."}
    assert not Operation.objects.exists()


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ({"body": "not json"}, 400),
        ({"body": {"sku": "jacket", "quantity": 0}}, 400),
        ({"body": {"sku": "no such item"}}, 404),
        ({"body": "<a/>", "content_type": "application/xml"}, 415),
        ({"method": "PATCH"}, 405),
        ({"headers": {"Accept": "image/png"}}, 406),
    ],
    ids=["syntax", "value", "row", "media type", "method", "accept"],
)
def test_what_the_view_cannot_answer_it_refuses_itself(
    request_: dict[str, Any], status: int, agents_api: ApiClient
) -> None:
    answer = agents_api.send(**request_)

    assert answer.status_code == status
    assert answer.json().keys() & {"detail", "quantity"}
    assert not Operation.objects.exists()


def test_the_second_look_at_the_terms_may_refuse(
    agents_api: ApiClient, shop: ApiBehaviour, effects: Effects
) -> None:
    """Between the checks and the run the site may come to know better."""
    operation = agents_api.ask()
    looks: list[int] = []

    def gone_at_the_second_look(request: Any) -> Any:
        looks.append(1)
        if len(looks) == 2:
            raise Http404
        return Response({"detail": "Gone."}, 410) if len(looks) == 4 else None

    shop.terms = gone_at_the_second_look
    assert agents_api.approve(operation).status_code == 404
    assert agents_api.approve(operation).status_code == 410
    assert effects() == []
    assert is_open()
    assert agents_api.approve(operation).status_code == 201


def test_an_answer_of_terms_is_the_sites_own(agents_api: ApiClient, shop: ApiBehaviour) -> None:
    operation = agents_api.ask()
    shop.terms = lambda request: HttpResponse("closed", status=418, content_type="text/plain")

    for approval in (None, approval_of(operation)):
        answer = agents_api.send(approval)
        assert (answer.status_code, answer.content) == (418, b"closed")


def test_an_exception_of_allowed_is_answered_as_without_the_gate(
    agents_api: ApiClient, shop: ApiBehaviour, client: Any
) -> None:
    shop.allowed = raises(exceptions.NotFound())
    gated = agents_api.send()
    visitor = client.post("/api/class/", ORDER, content_type="application/json")

    assert gated.status_code == visitor.status_code == 404
    assert gated.content == visitor.content
    shop.reset()
    assert operation_in(agents_api.send())

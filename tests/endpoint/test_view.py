"""The endpoint as a view: what it reads, what it is deaf to, and the forms of its answers."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.db import OperationalError, connection
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone
from rest_framework import views
from rest_framework.authentication import SessionAuthentication
from rest_framework.permissions import BasePermission
from rest_framework.throttling import BaseThrottle

from poppy_operations.company import Company
from poppy_operations.declarations.outcomes import Decline
from poppy_operations.declarations.registry import registry
from poppy_operations.lifecycle.durable import Busy
from poppy_operations.models import Approval
from poppy_operations.testing.agents import PersonalAgent
from poppy_operations.views import endpoint as endpoint_view
from poppy_operations.views.endpoint import operations
from tests.agents import HOST, ORDER, SessionOf, approval_of, reference
from tests.configuring import configure
from tests.shop.models import Item

pytestmark = pytest.mark.django_db

PATH = "/poppy/operations"


class Strict(Company):
    """Declines every approval, and has error fields of its own."""

    def decline(self, operation: Any, approval: Any) -> Decline:
        return Decline(reason="Not today.")

    def extra_members(self, request: Any, interface: str) -> dict[str, str]:
        return {"detail": interface}


@pytest.fixture
def ref(signed_out: SessionOf, jacket: Item) -> str:
    """A reference that the signed-out Session's browser got."""
    return reference(signed_out.browser().post("/buy/", ORDER))[1]


def send(session: SessionOf, body: bytes | str, content_type: str = "application/json") -> Any:
    return session.client.post(
        PATH, data=body, content_type=content_type, headers=session.headers()
    )


def everything(response: Any) -> tuple[int, dict[str, str], bytes]:
    return response.status_code, dict(response.headers), response.content


def test_the_endpoint_has_its_own_address() -> None:
    assert reverse("poppy_operations:operations") == PATH


@pytest.mark.requirement("OPS-4-40")
@pytest.mark.parametrize(
    ("header", "value", "status", "expected"),
    [
        ("Poppy-Session", None, 403, {"error": "invalid_session"}),
        ("Poppy-Session", "", 403, {"error": "invalid_session"}),
        ("Poppy-Version", "2.0", 400, {"error": "invalid_request"}),
        ("Poppy-Extensions", None, 403, {"error": "extension_required", "extension": "operations"}),
        # The Session JWT says for which access token it was made.
        ("Authorization", None, 403, {"error": "invalid_session"}),
        ("Authorization", "Bearer other", 403, {"error": "invalid_session"}),
    ],
)
def test_each_header_of_a_look_up_counts(
    header: str,
    value: str | None,
    status: int,
    expected: dict[str, str],
    signed_in: SessionOf,
    jacket: Item,
) -> None:
    _, own = reference(signed_in.browser().post("/buy/", ORDER))
    headers = signed_in.headers()
    assert header in headers
    assert signed_in.look_up(own)

    del headers[header]
    changed = headers if value is None else {**headers, header: value}
    response = signed_in.client.post(
        PATH, json.dumps({"ref": own}), "application/json", headers=changed
    )

    assert (response.status_code, response.json()) == (status, expected)


@pytest.mark.requirement("OPS-4-39", "OPS-4-40", "OPS-4-44")
def test_a_reference_is_exchanged_for_the_operation(signed_out: SessionOf, ref: str) -> None:
    signed_out.client = Client(headers={"host": HOST}, enforce_csrf_checks=True)

    response = signed_out.endpoint(ref)

    assert response.status_code == 403
    assert response["Content-Type"] == "application/json"
    assert response["Cache-Control"] == "no-store, private"
    assert not {"WWW-Authenticate", "Poppy-Operation"} & set(response.headers)
    assert not response.cookies
    body = response.json()
    assert set(body) == {"error", "operation"}
    assert body["error"] == "approval_required"
    assert set(body["operation"]) == {
        "operation_id",
        "revision",
        "summary",
        "terms",
        "expires_at",
    }


@pytest.mark.requirement("OPS-4-39")
def test_members_that_are_not_known_are_ignored(signed_out: SessionOf, ref: str) -> None:
    response = send(signed_out, json.dumps({"ref": ref, "more": [1]}), "application/json; a=b")

    assert response.json()["error"] == "approval_required"


@pytest.mark.requirement("OPS-4-39")
@pytest.mark.parametrize("method", ["get", "head", "put", "patch", "delete", "options", "trace"])
def test_other_methods_get_405(method: str, signed_out: SessionOf) -> None:
    response = getattr(signed_out.client, method)(PATH, headers=signed_out.headers())

    assert (response.status_code, response["Allow"]) == (405, "POST")
    assert response.content == b""
    assert response["Cache-Control"] == "no-store, private"


@pytest.mark.requirement("OPS-2-05")
@pytest.mark.parametrize("method", ["get", "post"])
def test_without_operations_on_the_website_there_is_no_endpoint(
    method: str, signed_out: SessionOf, ref: str, monkeypatch: Any
) -> None:
    monkeypatch.setattr(type(registry), "on_website", property(lambda self: False))

    response = getattr(signed_out.client, method)(PATH, headers=signed_out.headers())

    assert response.status_code == 404
    assert b"approval_required" not in response.content


NOT_A_REFERENCE = {
    "array": b"[]",
    "object without ref": b"{}",
    "number": b'{"ref": 1}',
    "null": b'{"ref": null}',
    "array in ref": b'{"ref": ["a"]}',
    "empty": b'{"ref": ""}',
    "too long": json.dumps({"ref": "a" * 2049}).encode(),
    "slash": b'{"ref": "a/b"}',
    "line end": b'{"ref": "a\\n"}',
    "lone surrogate": b'{"ref": "\\ud800"}',
    "nul": b'{"ref": "\\u0000"}',
    "raw nul": b'{"ref": "\x00"}',
    "not utf-8": b'{"ref": "\xff"}',
    "utf-16": '{"ref": "a"}'.encode("utf-16"),
    "byte order mark": b'\xef\xbb\xbf{"ref": "a"}',
    "deep": b"[" * 200_000,
    "long number": b'{"ref": ' + b"9" * 5000 + b"}",
    "nothing": b"",
    "cut off": b'{"ref": "a',
}


@pytest.mark.requirement("OPS-4-54")
@pytest.mark.parametrize("body", NOT_A_REFERENCE.values(), ids=NOT_A_REFERENCE.keys())
def test_a_body_that_names_no_reference_is_like_an_unknown_reference(
    body: bytes, signed_out: SessionOf
) -> None:
    unknown = everything(signed_out.endpoint("made-up"))

    assert everything(send(signed_out, body)) == unknown
    assert unknown[0] == 400
    assert json.loads(unknown[2]) == {"error": "invalid_request"}


@pytest.mark.requirement("OPS-4-54")
@pytest.mark.parametrize(
    "content_type",
    ["application/x-www-form-urlencoded", "multipart/form-data; boundary=b", "text/plain", ""],
)
def test_another_content_type_is_like_an_unknown_reference(
    content_type: str, signed_out: SessionOf, ref: str
) -> None:
    response = send(signed_out, json.dumps({"ref": ref}), content_type)

    assert everything(response) == everything(signed_out.endpoint("made-up"))


@pytest.mark.requirement("OPS-4-54")
def test_a_body_beyond_the_sites_limit_is_like_an_unknown_reference(
    signed_out: SessionOf, ref: str, settings: Any
) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100

    response = send(signed_out, json.dumps({"ref": ref, "more": "x" * 100}))

    assert everything(response) == everything(signed_out.endpoint("made-up"))


def test_a_body_that_something_else_has_read_is_like_an_unknown_reference(
    signed_out: SessionOf, ref: str
) -> None:
    request = RequestFactory().post(
        PATH, {"ref": ref}, "application/json", headers={**signed_out.headers(), "host": HOST}
    )
    request.read()

    response = operations(request)

    assert json.loads(response.content) == {"error": "invalid_request"}


@pytest.mark.requirement("OPS-4-41")
@pytest.mark.parametrize("body", [b"no json", b'{"ref": "made-up"}'])
def test_the_session_is_checked_before_the_body(body: bytes, signed_out: SessionOf) -> None:
    headers = {**signed_out.headers(), "Poppy-Session": "no.token.atall"}

    response = signed_out.client.post(PATH, body, "application/json", headers=headers)

    assert (response.status_code, response.json()) == (403, {"error": "invalid_session"})
    assert "WWW-Authenticate" not in response.headers
    assert response["Cache-Control"] == "no-store, private"


@pytest.mark.requirement("OPS-4-41", "OPS-4-42", "OPS-4-33")
def test_cookies_do_not_stand_in_for_a_session(
    signed_in: SessionOf, jacket: Item, ref: str
) -> None:
    browser = signed_in.browser()
    _, own = reference(browser.post("/buy/", ORDER))

    response = browser.post(PATH, json.dumps({"ref": own}), "application/json")

    assert (response.status_code, response.json()) == (403, {"error": "invalid_session"})


@pytest.mark.requirement("OPS-4-42")
def test_an_expired_token_is_a_challenge(signed_in: SessionOf, jacket: Item) -> None:
    _, own = reference(signed_in.browser().post("/buy/", ORDER))
    before = timezone.now() - timedelta(hours=2)
    token = signed_in.issuer.access_token(
        signed_in.account or "", client_id=signed_in.agent.client_id, now=before
    )

    response = signed_in.endpoint(own, access_token=token)

    assert (response.status_code, response.json()) == (401, {"error": "invalid_token"})
    assert response["WWW-Authenticate"] == 'Bearer error="invalid_token"'
    assert response["Cache-Control"] == "no-store, private"


@pytest.mark.requirement("OPS-4-43")
def test_no_scope_is_needed(signed_in: SessionOf, jacket: Item) -> None:
    _, own = reference(signed_in.browser().post("/buy/", ORDER))
    signed_in.scope = ""

    signed_in.approve(own)

    assert signed_in.status(own) == "approved"


@pytest.mark.requirement("OPS-4-47")
def test_a_signed_out_session_is_challenged_for_an_accounts_operation(
    signed_in: SessionOf, signed_out: SessionOf, jacket: Item
) -> None:
    _, own = reference(signed_in.browser().post("/buy/", ORDER))

    response = signed_out.endpoint(own)

    assert (response.status_code, response.json()) == (401, {"error": "sign_in_required"})
    assert response["WWW-Authenticate"].startswith("Bearer resource_metadata=")


@pytest.mark.requirement("OPS-4-48", "OPS-4-49", "OPS-4-50", "OPS-4-53")
def test_all_references_that_cannot_be_used_look_the_same(
    signed_out: SessionOf,
    session_of: Callable[..., SessionOf],
    other_agent: PersonalAgent,
    ref: str,
) -> None:
    unknown = everything(signed_out.endpoint("made-up"))
    foreign_user = everything(session_of(user_id="u2").endpoint(ref))
    foreign_agent = everything(SessionOf(other_agent, signed_out.issuer).endpoint(ref))
    altered = everything(signed_out.endpoint(ref[:-1] + ("a" if ref[-1] != "a" else "b")))
    with time_machine.travel(timezone.now() + timedelta(days=1), tick=False):
        expired = everything(signed_out.endpoint(ref))

    assert unknown[0] == 400
    assert json.loads(unknown[2]) == {"error": "invalid_request"}
    assert {str(one) for one in (foreign_user, foreign_agent, altered, expired)} == {str(unknown)}


@pytest.mark.requirement("OPS-2-12", "OPS-2-24", "OPS-2-14")
def test_a_request_that_does_not_declare_the_extension_gets_no_operation(
    signed_out: SessionOf, ref: str
) -> None:
    response = signed_out.endpoint(ref, declared=False)

    assert response.status_code == 403
    assert response.json() == {"error": "extension_required", "extension": "operations"}


@pytest.mark.requirement("OPS-6-35", "OPS-6-36", "OPS-6-59", "OPS-6-60")
def test_an_approval_is_recorded_with_204_and_then_looked_up(
    signed_out: SessionOf, ref: str
) -> None:
    operation = signed_out.look_up(ref)

    recorded = signed_out.endpoint(ref, approval_of(operation))
    state = signed_out.endpoint(ref)

    assert (recorded.status_code, recorded.content) == (204, b"")
    assert "Content-Type" not in recorded.headers
    assert recorded["Cache-Control"] == "no-store, private"
    assert state.status_code == 200
    assert state["Content-Type"] == "application/json"
    assert state["Cache-Control"] == "no-store, private"
    assert state.json() == {"operation_id": operation["operation_id"], "status": "approved"}


@pytest.mark.requirement("OPS-6-88", "OPS-4-57", "OPS-6-84")
def test_a_decline_and_further_members_have_an_apis_form(
    signed_out: SessionOf, ref: str, settings: Any
) -> None:
    configure(settings, COMPANY="tests.endpoint.test_view.Strict")

    asked = signed_out.endpoint(ref)
    operation = asked.json()["operation"]
    declined = signed_out.endpoint(ref, approval_of(operation))

    assert asked.json()["detail"] == "api"
    assert declined.status_code == 403
    assert declined.json() == {
        "error": "approval_declined",
        "operation_id": operation["operation_id"],
        "revision": operation["revision"],
        "reason": "Not today.",
    }
    assert not Approval.objects.exists()


class Nobody(BasePermission):
    """Lets nobody in."""

    def has_permission(self, request: Any, view: Any) -> bool:
        return False


class Never(BaseThrottle):
    """Lets nobody in, either."""

    def allow_request(self, request: Any, view: Any) -> bool:
        return False


def broken(*args: Any) -> Any:
    message = "The endpoint does not listen to the site."
    raise AssertionError(message)


@pytest.fixture
def hostile_site(settings: Any, monkeypatch: Any) -> None:
    """A site that tells Django REST framework to refuse, to render and to count otherwise."""
    settings.REST_FRAMEWORK = {
        "EXCEPTION_HANDLER": broken,
        "UNAUTHENTICATED_USER": broken,
        "DEFAULT_AUTHENTICATION_CLASSES": [SessionAuthentication],
        "DEFAULT_PERMISSION_CLASSES": [Nobody],
        "DEFAULT_THROTTLE_CLASSES": [Never],
        "DEFAULT_VERSIONING_CLASS": "rest_framework.versioning.AcceptHeaderVersioning",
        "DEFAULT_CONTENT_NEGOTIATION_CLASS": "tests.endpoint.test_view.broken",
    }
    settings.MIDDLEWARE = [
        *settings.MIDDLEWARE,
        "django.contrib.auth.middleware.LoginRequiredMiddleware",
    ]
    monkeypatch.setattr(views.APIView, "permission_classes", [Nobody])
    monkeypatch.setattr(views.APIView, "throttle_classes", [Never])
    monkeypatch.setattr(views.APIView, "authentication_classes", [SessionAuthentication])


@pytest.mark.parametrize("accept", ["text/html", "application/xml", "application/json; version=9"])
def test_the_endpoint_is_deaf_to_the_sites_settings(
    accept: str, signed_out: SessionOf, ref: str, hostile_site: None
) -> None:
    signed_out.client = Client(headers={"host": HOST, "accept": accept})

    assert signed_out.endpoint(ref).json()["error"] == "approval_required"
    assert signed_out.endpoint("made-up").status_code == 400
    assert signed_out.client.get(PATH).status_code == 405


@pytest.mark.parametrize("error", [Busy("locked"), OperationalError("database is locked")])
def test_a_database_that_is_in_the_way_is_no_failure(
    error: Exception, signed_out: SessionOf, monkeypatch: Any, caplog: Any
) -> None:
    def in_the_way(*args: Any) -> Any:
        raise error

    monkeypatch.setattr(endpoint_view, "at_endpoint", in_the_way)

    response = signed_out.endpoint("any")

    assert (response.status_code, response["Retry-After"]) == (503, "1")
    assert response.json() == {"error": "temporarily_unavailable"}
    assert response["Cache-Control"] == "no-store, private"
    assert "The database is locked, unreachable or read-only" in caplog.text


def test_a_fault_of_ours_is_djangos_to_report(
    hostile_site: None, signed_out: SessionOf, monkeypatch: Any
) -> None:
    def faulty(*args: Any) -> Any:
        message = "a bug"
        raise RuntimeError(message)

    monkeypatch.setattr(endpoint_view, "at_endpoint", faulty)

    with pytest.raises(RuntimeError, match="a bug"):
        signed_out.endpoint("any")


def test_no_transaction_is_open_around_the_endpoint() -> None:
    without: Any = operations._non_atomic_requests  # type: ignore[attr-defined]  # Django's mark

    assert "default" in without
    assert "any other" in without
    assert connection.alias in without


def test_the_log_says_why_a_session_is_refused(
    signed_out: SessionOf, ref: str, caplog: Any
) -> None:
    with caplog.at_level(logging.INFO, "poppy_operations"):
        response = signed_out.client.post(
            PATH,
            data=json.dumps({"ref": ref}),
            content_type="application/json",
            headers={**signed_out.headers(), "Poppy-Session": "s3cret.jwt"},
        )

    assert response.json() == {"error": "invalid_session"}
    [message] = [text for text in caplog.messages if text.startswith("Refused with ")]
    assert message.startswith("Refused with invalid_session. The Session JWT or its delegation")
    assert "s3cret" not in caplog.text
    assert ref not in caplog.text

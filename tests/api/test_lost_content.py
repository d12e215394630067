"""Content that was announced and cannot be read is not taken for none."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from django.core.asgi import get_asgi_application
from django.test import Client

from tests.agents import HOST, ORDER, ApiClient, SessionOf, approval_of
from tests.asking import error
from tests.lost import CHUNKED, FORM, WITHOUT_LENGTH, Broken, body_of
from tests.shop.orders import ApiBehaviour

pytestmark = pytest.mark.django_db
Effects = Callable[[], list[str]]

JSON = "application/json"
SENT = json.dumps(ORDER)


@pytest.mark.parametrize("environ", WITHOUT_LENGTH)
@pytest.mark.parametrize(
    "path", ["/api/class/", "/api/function/", "/api/generic/", "/api/plain/", "/api/bare/"]
)
def test_lost_content_is_an_invalid_request_with_an_approval_and_without(
    path: str,
    environ: Mapping[str, Any],
    agents_api: ApiClient,
    shop: ApiBehaviour,
    effects: Effects,
) -> None:
    approval = approval_of(agents_api.ask(path=path))
    shop.terms = lambda request: pytest.fail("It was asked for terms.")
    session = agents_api.session
    for headers in (session.headers(), session.headers(approval)):
        body = body_of(SENT, JSON, **environ)
        response = session.client.generic("POST", path, headers=headers, **body)
        assert error(response) == (400, "invalid_request")
    assert effects() == []


def test_a_form_that_broke_off_is_an_invalid_request(
    signed_in: SessionOf, shop: ApiBehaviour
) -> None:
    broken = {**body_of("", FORM), "CONTENT_LENGTH": "24", "wsgi.input": Broken()}
    headers = signed_in.headers()
    response = signed_in.client.generic("POST", "/api/plain/", headers=headers, **broken)
    assert error(response) == (400, "invalid_request")


@pytest.mark.parametrize("headers", [{"Poppy-Session": "x"}, {"Authorization": "Bearer x"}])
def test_who_shows_no_good_session_is_told_that_first(
    headers: dict[str, str], signed_in: SessionOf, shop: ApiBehaviour
) -> None:
    stranger = Client(headers={"host": HOST})
    response = stranger.generic(
        "POST", "/api/plain/", headers=headers, **body_of(SENT, JSON, **CHUNKED)
    )
    assert error(response) == (403, "invalid_session")


@pytest.mark.parametrize(
    ("path", "content_type", "answer"),
    [
        # Django reads such a body itself; its forms with files and Django REST framework do not.
        ("/api/aplain/", JSON, (403, "approval_required")),
        ("/api/plain/", JSON, (403, "approval_required")),
        ("/api/plain/", "multipart/form-data; boundary=x", (400, "invalid_request")),
        ("/api/class/", JSON, (400, "invalid_request")),
    ],
)
@pytest.mark.django_db(transaction=True)
async def test_under_asgi_only_what_its_reader_loses_is_refused(
    path: str,
    content_type: str,
    answer: tuple[int, str],
    signed_in: SessionOf,
    shop: ApiBehaviour,
) -> None:
    headers = {
        "host": HOST,
        "content-type": content_type,
        "transfer-encoding": "chunked",
        **signed_in.headers(),
    }
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "path": path,
        "query_string": b"",
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
    }
    parts = [{"type": "http.request", "body": SENT.encode()}]
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        if not parts:
            await asyncio.Event().wait()  # The client stays until it has its answer.
        return parts.pop()

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await get_asgi_application()(scope, receive, send)
    said = json.loads(b"".join(part.get("body", b"") for part in sent[1:]))
    assert (sent[0]["status"], said["error"]) == answer

"""A body that was announced and cannot be read is no empty body."""

from __future__ import annotations

import asyncio
import json
from io import BytesIO
from typing import Any

import pytest
from django.core.asgi import get_asgi_application
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, UnreadablePostError
from django.test import Client, RequestFactory
from rest_framework.request import Request

from poppy_operations.models import Join
from poppy_operations.unread_bodies import is_body_lost
from tests.joins.joining import agent_headers

pytestmark = pytest.mark.usefixtures("agents_site")

WANTED = json.dumps({"return_to": "/orders/", "cookie": {"name": "a", "value": "b"}}).encode()
JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data; boundary=x"


def ask(environ: dict[str, Any], body: bytes = WANTED) -> Any:
    """POST for a ticket with a body that a WSGI server hands on so."""
    given = {"CONTENT_TYPE": JSON, "wsgi.input": BytesIO(body), **environ}
    return Client().generic("POST", "/poppy/join", headers=agent_headers(), **given)


@pytest.mark.parametrize(
    "environ",
    [
        {"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input_terminated": True},
        {"HTTP_TRANSFER_ENCODING": "chunked", "CONTENT_LENGTH": ""},
        {"HTTP_TRANSFER_ENCODING": "chunked", "CONTENT_LENGTH": "0"},
        {"HTTP_TRANSFER_ENCODING": "gzip, chunked"},
        {"CONTENT_LENGTH": "many"},
        {"CONTENT_LENGTH": "-1"},
        {"CONTENT_LENGTH": "+70"},
        {"CONTENT_LENGTH": "\u0667\u0660"},
        {"CONTENT_LENGTH": "70,70"},
        {"SERVER_PROTOCOL": "HTTP/2.0"},
    ],
)
def test_a_ticket_is_not_given_for_half_of_what_was_asked(environ: dict[str, Any]) -> None:
    refused = ask(environ)
    assert (refused.status_code, refused.json()) == (400, {"error": "invalid_request"})
    assert not Join.objects.exists()


@pytest.mark.parametrize("length", [10, len(WANTED) + 10])
def test_a_body_that_is_cut_off_is_not_half_a_wish(length: int) -> None:
    body = WANTED if length == 10 else WANTED[:-5]
    refused = ask({"CONTENT_LENGTH": str(length)}, body)
    assert (refused.status_code, refused.json()) == (400, {"error": "invalid_request"})
    assert not Join.objects.exists()


def test_a_body_that_breaks_off_or_is_too_large_is_an_invalid_request(settings: Any) -> None:
    class Broken(BytesIO):
        def read(self, *_: Any) -> bytes:
            raise UnreadablePostError

    refused = ask({"CONTENT_LENGTH": "70", "wsgi.input": Broken()})
    assert (refused.status_code, refused.json()) == (400, {"error": "invalid_request"})
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 10
    refused = ask({"CONTENT_LENGTH": str(len(WANTED))})
    assert (refused.status_code, refused.json()) == (400, {"error": "invalid_request"})
    assert not Join.objects.exists()


@pytest.mark.parametrize(
    "environ",
    [
        {"CONTENT_LENGTH": str(len(WANTED))},
        {"CONTENT_LENGTH": str(len(WANTED)), "HTTP_TRANSFER_ENCODING": "chunked"},
        {"CONTENT_LENGTH": str(len(WANTED)), "SERVER_PROTOCOL": "HTTP/2"},
    ],
)
def test_a_body_that_can_be_read_is(environ: dict[str, Any]) -> None:
    assert ask(environ).status_code == 200
    join = Join.objects.get()
    assert (join.return_to, join.cookie_name) == ("/orders/", "a")


@pytest.mark.parametrize(
    "environ",
    [
        {"CONTENT_TYPE": ""},
        {"CONTENT_LENGTH": "0"},
        {"CONTENT_LENGTH": "0", "SERVER_PROTOCOL": "HTTP/2"},
        {"CONTENT_TYPE": "", "SERVER_PROTOCOL": "HTTP/2"},
        {"SERVER_PROTOCOL": "HTTP/1.0"},
    ],
)
def test_no_body_is_no_body(environ: dict[str, Any]) -> None:
    assert ask(environ, b"").status_code == 200
    assert Join.objects.get().return_to == ""


def test_at_the_endpoint_it_is_no_reference() -> None:
    refused = Client().generic(
        "POST",
        "/poppy/operations",
        headers=agent_headers(),
        CONTENT_TYPE=JSON,
        HTTP_TRANSFER_ENCODING="chunked",
        **{"wsgi.input": BytesIO(b'{"ref": "x"}')},
    )
    assert (refused.status_code, refused.json()) == (400, {"error": "invalid_request"})


# Under ASGI


async def served(headers: dict[str, str], body: bytes = WANTED, version: str = "1.1") -> Any:
    """What the site answers an ASGI server that hands on a body without a length."""
    scope = {
        "type": "http",
        "http_version": version,
        "method": "POST",
        "path": "/poppy/join",
        "raw_path": b"/poppy/join",
        "query_string": b"",
        "headers": [
            (name.lower().encode(), value.encode())
            for name, value in {"host": "testserver", "content-type": JSON, **headers}.items()
        ],
    }
    parts = [body[:20], body[20:]]
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        if not parts:
            await asyncio.Event().wait()  # the client stays until it has its answer
        part = parts.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(parts)}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await get_asgi_application()(scope, receive, send)
    return sent[0]["status"], json.loads(b"".join(part.get("body", b"") for part in sent[1:]))


@pytest.mark.parametrize("version", ["1.1", "2"])
@pytest.mark.django_db(transaction=True)
async def test_django_reads_a_body_without_a_length_under_asgi(version: str) -> None:
    headers = agent_headers()
    if version == "1.1":
        headers["Transfer-Encoding"] = "chunked"
    status, _ = await served(headers, version=version)
    assert status == 200
    join = await Join.objects.aget()
    assert (join.return_to, join.cookie_name) == ("/orders/", "a")


def asgi_request(content_type: str, version: str = "1.1", **headers: str) -> ASGIRequest:
    named = {"content-type": content_type, **headers}
    scope = {
        "type": "http",
        "http_version": version,
        "method": "POST",
        "path": "/",
        "headers": [
            (name.replace("_", "-").encode(), value.encode()) for name, value in named.items()
        ],
    }
    return ASGIRequest(scope, BytesIO(b"a=1"))


@pytest.mark.parametrize("content_type", [JSON, FORM, MULTIPART])
def test_what_needs_the_length_loses_the_body_under_asgi(content_type: str) -> None:
    chunked = {"transfer_encoding": "chunked"}
    for version, headers in (("1.1", chunked), ("2", {}), ("3", {})):
        request = asgi_request(content_type, version, **headers)
        assert is_body_lost(request) is (content_type == MULTIPART)
        assert is_body_lost(framework_request(request))
        assert not framework_request(request).data or content_type != JSON
    for version, headers in (("1.1", {}), ("2", {"content_length": "3"})):
        request = asgi_request(content_type, version, **headers)
        assert not is_body_lost(request)
        assert not is_body_lost(framework_request(request))


def framework_request(request: HttpRequest) -> Any:
    """The request that a view of Django REST framework gets."""
    return Request(request)


@pytest.mark.parametrize("content_type", [JSON, FORM, MULTIPART])
def test_nobody_reads_a_body_without_a_length_under_wsgi(content_type: str) -> None:
    environ = {"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input": BytesIO(b"a=1")}
    request = RequestFactory().generic("POST", "/", content_type=content_type, **environ)
    request.META["CONTENT_TYPE"] = content_type
    assert request.body == b""
    assert is_body_lost(request)
    assert is_body_lost(framework_request(request))

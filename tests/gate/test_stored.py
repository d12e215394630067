"""Whether a response says that the action was performed, and what is kept of it."""

from __future__ import annotations

from typing import Any

import pytest
from django.http import FileResponse, HttpResponse, JsonResponse, StreamingHttpResponse
from django.urls import reverse_lazy

from poppy_operations.protocol.stored_answer import StoredAnswer
from poppy_operations.site_responses import says_performed, sent_again, stored_answer
from tests.configuring import configure

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("status", [200, 201, 204, 302, 303, 399])
def test_a_response_below_400_says_that_it_was_performed(status: int) -> None:
    assert says_performed(HttpResponse(status=status))


@pytest.mark.parametrize("status", [400, 404, 409, 429, 500, 503])
def test_a_response_from_400_on_does_not(status: int) -> None:
    assert not says_performed(HttpResponse(status=status))


@pytest.mark.parametrize(
    ("location", "performed"),
    [
        ("/accounts/login/", False),
        ("/accounts/login/?next=/buy/", False),
        ("https://shop.example/accounts/login/?next=/", False),
        ("/accounts/login/done/", True),
        ("/accounts/", True),
        ("", True),
        ("http://[odd", True),
    ],
)
@pytest.mark.parametrize("login", ["/accounts/login/", "login", reverse_lazy("login")])
def test_a_redirect_to_the_login_page_does_not(
    settings: Any, login: Any, location: str, performed: bool
) -> None:
    settings.LOGIN_URL = login
    response = HttpResponse(status=302, headers={"Location": location})
    assert says_performed(response) is performed


def test_a_login_page_elsewhere_is_known_by_its_path(settings: Any) -> None:
    settings.LOGIN_URL = "https://id.example/sign-in?client=shop"
    assert not says_performed(
        HttpResponse(status=302, headers={"Location": "https://id.example/sign-in?next=/"})
    )


def test_a_login_page_that_this_urlconf_does_not_know_is_no_login_page(settings: Any) -> None:
    settings.LOGIN_URL = "account_login"
    response = HttpResponse(status=302, headers={"Location": "/accounts/login/"})
    assert says_performed(response)


@pytest.mark.parametrize("nothing", [None, "done", {"status": 200}])
def test_what_is_no_response_does_not(nothing: object) -> None:
    assert not says_performed(nothing)


def test_status_headers_and_body_are_kept() -> None:
    response = JsonResponse({"order": 7}, status=201, headers={"Location": "/orders/7/"})
    answer = stored_answer(response, with_body=True)
    assert answer.status == 201
    assert dict(answer.headers) == {"Content-Type": "application/json", "Location": "/orders/7/"}
    assert answer.body == b'{"order": 7}'


def test_on_the_website_no_body_is_kept() -> None:
    answer = stored_answer(HttpResponse("done", content_type="text/plain"), with_body=False)
    assert (answer.status, answer.body) == (200, None)


# Written out, and not taken from the package: a header that its list loses is noticed.
@pytest.mark.parametrize(
    "name",
    [
        "Cache-Control",
        "Connection",
        "Content-Length",
        "Date",
        "Expires",
        "Keep-Alive",
        "Proxy-Authenticate",
        "Server",
        "Set-Cookie",
        "TE",
        "Trailer",
        "Transfer-Encoding",
        "Upgrade",
        "X-CSRFToken",
    ],
)
def test_headers_of_one_response_or_one_connection_are_not_kept(name: str) -> None:
    response = HttpResponse("x", headers={name: "something", "Location": "/kept/"})
    response.set_cookie("sessionid", "secret")
    kept = stored_answer(response, with_body=True).headers
    assert dict(kept) == {"Content-Type": "text/html; charset=utf-8", "Location": "/kept/"}
    again = sent_again(StoredAnswer(200, kept, b"x"))
    assert name not in again.headers
    assert not again.cookies


@pytest.mark.parametrize("kind", ["text/html", "TEXT/HTML; charset=utf-8", "application/xhtml+xml"])
def test_pages_are_not_kept_since_they_may_carry_csrf_tokens(kind: str) -> None:
    assert stored_answer(HttpResponse("<p>", content_type=kind), with_body=True).body is None
    assert stored_answer(HttpResponse("", content_type=kind), with_body=True).body == b""


def test_streams_and_files_exist_once(tmp_path: Any) -> None:
    path = tmp_path / "invoice.txt"
    path.write_text("invoice")
    stream = StreamingHttpResponse(iter([b"a", b"b"]), content_type="text/plain")
    assert stored_answer(stream, with_body=True).body is None
    assert stream.getvalue() == b"ab"
    file = FileResponse(path.open("rb"))
    assert stored_answer(file, with_body=True).body is None
    assert file.getvalue() == b"invoice"
    file.close()


def test_only_bodies_up_to_the_sites_limit_are_kept(settings: Any) -> None:
    configure(settings, STORED_BODY_BYTES=4)
    for text, kept in (("1234", b"1234"), ("12345", None)):
        response = HttpResponse(text, content_type="text/plain")
        assert stored_answer(response, with_body=True).body == kept

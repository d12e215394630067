"""What Django reports of an error shows no Session, no approval and no token."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import include, path
from django.views import debug

from poppy_operations.company import verified_session
from poppy_operations.sessions.reports import hide_from_reports
from poppy_operations.sessions.verification import SessionHeaders, SessionVerifier
from tests.agents import SessionOf
from tests.mails import Mailbox, mails

pytestmark = pytest.mark.django_db


def broken(request: HttpRequest) -> HttpResponse:
    """A view of the site that knows who asks, and has a bug."""
    owner = verified_session(request).owner
    raise LookupError(owner.client_id)


def broken_inside(request: HttpRequest) -> HttpResponse:
    """A view whose bug comes up while this package verifies."""
    return HttpResponse(verified_session(request).client_id)


urlpatterns = [
    path("broken/", broken),
    path("inside/", broken_inside),
    path("", include("tests.urls")),
]


@pytest.fixture
def mailbox(settings: Any) -> Iterator[Mailbox]:
    """What is sent to ADMINS, with the page for developers."""
    settings.ROOT_URLCONF = __name__
    with mails("django.request") as found:
        yield found


def ask(session: SessionOf, url: str) -> dict[str, str]:
    """Ask for something that fails, and give the headers that said who asked."""
    headers = {**session.headers(), "Poppy-Approval": 'operation_id="op_1"'}
    client = Client(raise_request_exception=False)
    assert client.get(url, headers={"host": "shop.example", **headers}).status_code == 500
    return headers


def secrets_in(headers: dict[str, str]) -> set[str]:
    found = {headers["Poppy-Session"], headers["Poppy-Approval"]}
    if "Authorization" in headers:
        found.add(headers["Authorization"].removeprefix("Bearer "))
    return {one for value in found for one in (value, repr(value)[1:-1])}


@pytest.mark.parametrize("with_middleware", [True, False])
def test_a_mail_to_admins_shows_that_there_was_a_session_and_not_which(
    signed_in: SessionOf, mailbox: Mailbox, settings: Any, with_middleware: bool
) -> None:
    if not with_middleware:
        ours = "poppy_operations.middleware.PersonalAgentMiddleware"
        settings.MIDDLEWARE = [name for name in settings.MIDDLEWARE if name != ours]
    headers = ask(signed_in, "/broken/")

    told = mailbox.told
    assert "LookupError" in told
    assert "HTTP_POPPY_SESSION" in told
    assert not [secret for secret in secrets_in(headers) if secret in told]


def test_nor_does_one_about_a_fault_while_the_session_is_verified(
    signed_in: SessionOf, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Its caller holds the access token in a variable by then.
    monkeypatch.setattr(SessionVerifier, "check_ath", None)
    headers = ask(signed_in, "/inside/")

    told = mailbox.told
    assert "verify_headers" in told
    assert not [secret for secret in secrets_in(headers) if secret in told]


def test_the_page_for_developers_hides_the_headers_too(
    signed_in: SessionOf, mailbox: Mailbox, settings: Any
) -> None:
    settings.DEBUG = True
    headers = {**signed_in.headers(), "host": "shop.example"}
    page = Client(raise_request_exception=False).get("/broken/", headers=headers)

    assert page.status_code == 500
    assert b"HTTP_POPPY_SESSION" in page.content
    assert headers["Poppy-Session"].encode() not in page.content.split(b"Request information")[1]


class Strict(debug.SafeExceptionReporterFilter):
    """A site's own filter."""

    cleansed_substitute = "hidden by the site"

    def get_safe_request_meta(self, request: Any) -> dict[str, Any]:
        return {**super().get_safe_request_meta(request), "REMOTE_ADDR": "withheld"}


@pytest.fixture
def strict(settings: Any) -> Iterator[None]:
    """A site that hides more."""
    settings.DEFAULT_EXCEPTION_REPORTER_FILTER = f"{__name__}.Strict"
    debug.get_default_exception_reporter_filter.cache_clear()
    yield
    debug.get_default_exception_reporter_filter.cache_clear()


def test_what_the_site_hides_stays_hidden(rf: Any, strict: None) -> None:
    request = rf.get("/", headers={"Poppy-Session": "a.b.c"})
    for _ in range(2):
        hide_from_reports(request)
    meta = debug.get_exception_reporter_filter(request).get_safe_request_meta(request)

    assert meta["HTTP_POPPY_SESSION"] == "hidden by the site"
    assert meta["REMOTE_ADDR"] == "withheld"


def test_reports_on_other_requests_are_the_sites_own_affair(rf: Any) -> None:
    request = rf.get("/")
    hide_from_reports(request)

    assert not hasattr(request, "exception_reporter_filter")


def test_headers_that_are_printed_show_no_secret() -> None:
    headers = SessionHeaders("a.b.c", "1", None, "Bearer d.e.f")

    assert repr(headers) == "SessionHeaders(version='1', extensions=None)"

"""What mails to ADMINS and the log show of a request for a gated action."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator
from typing import Any, NoReturn
from urllib.parse import urlencode

import pytest
from django import forms
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import path
from django.views.generic import FormView
from rest_framework.request import Request
from rest_framework.views import APIView

from poppy_operations import Action, CurrentOperation, Terms, operation_of
from poppy_operations.decorators import personal_agents
from poppy_operations.logs import LONGEST_TOLD
from poppy_operations.rest_framework import PersonalAgentAuthentication
from tests.agents import ORDER, ApiClient, SessionOf
from tests.asking import quiet, recorded
from tests.mails import Mailbox, failing_statements, mails, secrets_kept, secrets_sent, shown
from tests.shop.models import Item
from tests.urls import urlpatterns as of_the_shop

pytestmark = pytest.mark.django_db

kept = Action("reports.kept", effects="database")
sent = Action("reports.sent", effects="external")

# What no line of the code shows, as a mail shows lines of it.
SECRET = secrets.token_hex(8)


class Fault(Exception):
    """A fault of the site's own."""


class Faulty:
    """Where the site is at fault; a test sets it."""

    place = ""


def fails(place: str) -> None:
    """Fail here, if this is the place."""
    if Faulty.place == place:
        raise Fault(place)


def terms(request: Any, **kwargs: str) -> Terms:
    """Terms that are nobody's business."""
    fails("terms")
    return Terms({"code": SECRET}, summary=f"Do {SECRET}.")


def allowed(request: Any, **kwargs: str) -> None:
    """A right."""
    fails("allowed")


def do(operation: CurrentOperation) -> HttpResponseBase:
    """Do it, with the operation in a variable, as it is in any site's."""
    fails("body")
    return HttpResponse(operation.action)


@kept.view(terms=terms, allowed=allowed)
def view(request: HttpRequest) -> HttpResponseBase:
    """A view of the website."""
    return do(operation_of(request))


@kept.view(terms=terms, allowed=allowed)
async def aview(request: HttpRequest) -> HttpResponseBase:
    """The same, async."""
    return do(operation_of(request))


@sent.view(terms=terms, allowed=allowed)
def outside(request: HttpRequest) -> HttpResponseBase:
    """A view that reaches outside."""
    return do(operation_of(request))


@kept.gated(allowed=allowed)
class Gated(FormView):  # type: ignore[type-arg]  # not subscriptable at run time
    """A gated class."""

    form_class = forms.Form

    def form_valid(self, form: forms.Form) -> Any:
        """Do it inside ``run``."""
        return kept.run(self.request, lambda: terms(self.request), do)


class Api(APIView):
    """A view of the API."""

    authentication_classes = (PersonalAgentAuthentication,)

    @kept.api(terms=terms, allowed=allowed)
    def post(self, request: Request) -> HttpResponseBase:
        """Do it."""
        return do(operation_of(request))


@personal_agents()
@sent.api(terms=terms, allowed=allowed)
def plain(request: HttpRequest) -> HttpResponseBase:
    """A plain view of the API that reaches outside."""
    return do(operation_of(request))


def ungated(request: HttpRequest) -> NoReturn:
    """A view that has nothing to do with operations."""
    raise Fault(request.path)


urlpatterns = [
    *of_the_shop,
    path("view/", view),
    path("aview/", aview),
    path("outside/", outside),
    path("gated/", Gated.as_view()),
    path("api/reported/", Api.as_view()),
    path("api/plainly/", plain),
    path("ungated/", ungated),
]
PAGES = ["/view/", "/aview/", "/outside/", "/gated/"]
APIS = ["/api/reported/", "/api/plainly/"]


@pytest.fixture(autouse=True)
def faulty(settings: Any) -> Iterator[type[Faulty]]:
    """A site with faults."""
    settings.ROOT_URLCONF = __name__
    yield Faulty
    Faulty.place = ""


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    """What is sent to ADMINS of what Django and this package log."""
    with mails() as found:
        yield found


@pytest.mark.parametrize("place", ["allowed", "terms", "body"])
@pytest.mark.parametrize("page", PAGES)
def test_a_mail_about_a_browsers_request_shows_nothing_of_its_operation(
    page: str, place: str, signed_out: SessionOf, mailbox: Mailbox, faulty: type[Faulty]
) -> None:
    browser = signed_out.browser(quiet())
    recorded(signed_out, browser, page, {})
    faulty.place = place
    mailbox.mails.clear()
    browser.post(page, {})
    assert "Fault" in mailbox.told
    assert place in mailbox.told
    assert "drive" in mailbox.told  # our own frames are among those that are told
    secret = {SECRET, *secrets_kept(), *secrets_sent(signed_out, browser=browser)}
    assert shown(secret, mailbox.told) == []


@pytest.mark.parametrize("place", ["allowed", "terms", "body"])
@pytest.mark.parametrize("path", APIS)
def test_a_mail_about_an_agents_request_shows_nothing_of_its_operation(
    path: str, place: str, signed_in: SessionOf, mailbox: Mailbox, faulty: type[Faulty]
) -> None:
    signed_in.client.raise_request_exception = False
    agent = ApiClient(signed_in, path)
    operation = agent.ask(body={})
    faulty.place = place
    mailbox.mails.clear()
    answer = agent.approve(operation, body={})
    assert "Fault" in mailbox.told
    assert place in mailbox.told
    assert "drive" in mailbox.told
    headers = sent_with(answer)
    secret = {SECRET, *secrets_kept(), *secrets_sent(signed_in, headers)}
    assert len(secret) > 6
    assert shown(secret, mailbox.told) == []


def sent_with(answer: Any) -> dict[str, str]:
    """The headers of the request of an answer."""
    environ = answer.wsgi_request.META
    names = ("Authorization", "Poppy-Session", "Poppy-Approval")
    return {name: environ["HTTP_" + name.upper().replace("-", "_")] for name in names}


@pytest.mark.parametrize("table", ["poppy_operations_operation", "poppy_operations_revision"])
@pytest.mark.parametrize("page", ["/view/", "/aview/", "/gated/"])
def test_nor_do_djangos_frames_below_ours(
    page: str, table: str, signed_out: SessionOf, mailbox: Mailbox
) -> None:
    browser = signed_out.browser(quiet())
    with failing_statements(table):
        assert browser.post(page, {}).status_code == 500
    assert "refuse" in mailbox.told
    secret = {SECRET, *secrets_sent(signed_out, browser=browser)}
    assert shown(secret, mailbox.told) == []


def test_what_the_sites_own_code_writes_is_told_as_ever(
    signed_out: SessionOf, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = signed_out.browser(quiet())

    def remembers(place: str) -> None:
        if place == "body":
            Item.objects.create(sku="told as ever", price=1)

    monkeypatch.setattr(f"{__name__}.fails", remembers)
    recorded(signed_out, browser, "/view/", {})
    with failing_statements("shop_item"):
        browser.post("/view/", {})
    assert "told as ever" in mailbox.told


def test_a_mail_about_another_request_of_the_browser_shows_none_of_its_cookies(
    signed_in: SessionOf, mailbox: Mailbox
) -> None:
    browser = signed_in.browser(quiet())
    browser.get("/ungated/")
    assert "Fault" in mailbox.told
    assert shown(secrets_sent(signed_in, browser=browser), mailbox.told) == []


def test_a_name_of_a_field_forges_no_line_of_the_log(
    signed_out: SessionOf, jacket: Item, caplog: pytest.LogCaptureFixture
) -> None:
    browser = signed_out.browser()
    recorded(signed_out, browser)
    forged = "\nERROR poppy_operations Performed\u2028\x1b[31m" + "x" * 3 * LONGEST_TOLD
    with caplog.at_level(logging.INFO, "poppy_operations"):
        form = urlencode({**ORDER, forged: "1"})
        content_type = "application/x-www-form-urlencoded"
        assert browser.post("/buy/", form, content_type=content_type).status_code == 403
    assert "Performed" in caplog.text
    for record in caplog.records:
        assert record.getMessage().isprintable()
        assert len(record.getMessage()) < 2 * LONGEST_TOLD

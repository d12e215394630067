"""The waiting page: what it repeats, what it keeps to itself, and what it asks the site."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.messages import get_messages
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.debug import sensitive_post_parameters

from poppy_operations.gate.answers import ApprovalRequired
from poppy_operations.lifecycle.asking import give_way
from poppy_operations.models import Operation, Revision
from poppy_operations.protocol.interfaces import WEBSITE
from poppy_operations.protocol.operation import ReturnedOperation
from poppy_operations.responses import respond
from poppy_operations.responses.continuing import continuing_of
from poppy_operations.views import waiting as waiting_view
from tests.agents import ORDER, SessionOf, reference
from tests.pages import Page
from tests.shop.models import Item
from tests.shop.operations import Behaviour

OPERATION = ReturnedOperation("buy_1", "1-a", "{}", 1791487200, None)
FORM = "application/x-www-form-urlencoded"


def shown(request: HttpRequest, **options: Any) -> Page:
    answer = ApprovalRequired(OPERATION, sid="ses_1", ref="r", watch="watched", **options)
    return Page.of(respond(answer, request, WEBSITE))


def posted(body: str, path: str = "/buy/", **headers: str) -> HttpRequest:
    return RequestFactory().post(path, body, FORM, headers=headers)


@pytest.mark.requirement("OPS-4-30")
def test_the_page_repeats_the_request_with_all_its_fields_and_the_pressed_button() -> None:
    page = shown(
        posted(
            "sku=a%26b&sku=%22%3Cb%3E%22&empty=&note=one%0D%0Atwo&buy=now&csrfmiddlewaretoken=old",
            "/buy/?page=2&tag=a&tag=b",
        )
    )

    form = page.first("form")
    assert form["method"] == "post"
    assert form["action"] == "/buy/?page=2&tag=a&tag=b"
    assert form["enctype"] == FORM
    assert page.fields() == [
        ("sku", "a&b"),
        ("sku", '"<b>"'),
        ("empty", ""),
        ("note", "one\r\ntwo"),
        ("buy", "now"),
    ]
    tokens = [one["value"] for one in page.all("input") if one["name"] == "csrfmiddlewaretoken"]
    assert len(tokens) == 1
    assert tokens[0] != "old"
    assert page.all("button") == [{"type": "submit"}]
    assert "continue here" in page.text


def test_a_multipart_form_without_uploads_is_repeated_as_one() -> None:
    request = RequestFactory().post("/buy/", ORDER)

    page = shown(request)

    assert page.first("form")["enctype"] == "multipart/form-data"
    assert page.fields() == [("sku", "jacket"), ("quantity", "1")]


def test_a_post_without_a_body_is_repeated() -> None:
    continuing = continuing_of(RequestFactory().generic("POST", "/close/?account=1", b"", ""))

    assert continuing is not None
    assert (continuing.action, continuing.fields) == ("/close/?account=1", ())


def test_a_path_cannot_lead_to_another_site() -> None:
    request = posted("a=1")
    request.path = "//evil.example/buy/"

    assert shown(request).first("form")["action"] == "/%2Fevil.example/buy/"


@pytest.mark.requirement("OPS-4-30")
def test_a_gated_get_is_repeated_by_get() -> None:
    page = shown(RequestFactory().get("/unsubscribe/?list=a&list=b&why="))

    form = page.first("form")
    assert (form["method"], form["action"]) == ("get", "/unsubscribe/")
    assert page.fields() == [("list", "a"), ("list", "b"), ("why", "")]
    assert not [field for field in page.all("input") if field["name"] == "csrfmiddlewaretoken"]


def sensitive(*names: str, body: str = "sku=jacket&pin=secret-pin") -> HttpRequest:
    request = posted(body)
    sensitive_post_parameters(*names)(lambda request: HttpResponse())(request)
    return request


@pytest.mark.parametrize("names", [(), ("pin",), ("absent", "pin")])
def test_sensitive_fields_are_not_echoed_and_nothing_incomplete_is_offered(
    names: tuple[str, ...],
) -> None:
    page = shown(sensitive(*names))

    assert page.count("form") == 0
    assert page.fields() == []
    assert "secret-pin" not in str(page.elements) + page.text
    assert "go back and submit the form again" in page.text


def test_sensitive_fields_that_were_not_sent_hide_nothing() -> None:
    assert shown(sensitive("absent")).fields() == [("sku", "jacket"), ("pin", "secret-pin")]
    assert shown(sensitive(body="csrfmiddlewaretoken=t")).count("form") == 1


def test_uploads_are_not_echoed() -> None:
    upload = SimpleUploadedFile("secret.txt", b"secret")

    page = shown(RequestFactory().post("/buy/", {"sku": "jacket", "file": upload}))

    assert page.count("form") == 0
    assert "secret" not in str(page.elements) + page.text
    assert "go back and submit the form again" in page.text


@pytest.mark.parametrize("body", ["note=one%0Atwo", "note=one%0Dtwo", "note=%00", "a%0Ab=1"])
def test_what_a_form_would_change_is_not_repeated_by_one(body: str) -> None:
    assert shown(posted(body)).count("form") == 0


def test_a_form_that_something_else_has_read_is_not_repeated_without_its_fields() -> None:
    request = RequestFactory().post("/buy/", ORDER)
    request.read()

    assert continuing_of(request) is None


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "HEAD"])
def test_what_no_form_can_send_is_left_to_who_sent_it(method: str) -> None:
    page = shown(RequestFactory().generic(method, "/buy/", b"sku=jacket", FORM))

    assert page.count("form") == 0


def test_a_body_that_is_no_form_is_left_to_who_sent_it() -> None:
    request = RequestFactory().post(
        "/buy/", {"sku": "jacket"}, "application/json", headers={"accept": "text/html"}
    )

    page = shown(request)

    assert page.count("form") == 0
    assert "make the same request again" in page.text


@pytest.mark.ambiguity("AMB-13")
def test_amb_13_the_page_says_that_the_action_may_be_under_way() -> None:
    page = shown(posted("a=1"), under_way=True)

    assert "may already be under way" in page.text
    assert "Nothing has been done" not in page.text


def test_only_a_developer_sees_which_fields_differ(settings: Any) -> None:
    differing = ("<nonce>",)
    assert "nonce" not in shown(posted("a=1"), differing=differing).text

    settings.DEBUG = True

    assert "<nonce>" in shown(posted("a=1"), differing=differing).text


def test_the_page_can_be_overridden(settings: Any, tmp_path: Any) -> None:
    own = tmp_path / "poppy_operations"
    own.mkdir()
    (own / "page.html").write_text("<main>Own: {% block content %}{% endblock %}</main>")
    settings.TEMPLATES = [{**settings.TEMPLATES[0], "DIRS": [tmp_path]}]

    page = shown(posted("a=1"))

    assert page.text.startswith("Own: Waiting for approval")
    assert page.count("html") == 0


def test_the_page_is_in_the_visitors_language_and_direction() -> None:
    from django.utils import translation

    with translation.override("ar"):
        assert shown(posted("a=1")).first("html")["dir"] == "rtl"


def test_the_page_asks_after_its_operation_without_naming_it() -> None:
    page = shown(posted("a=1"))

    (box,) = [one for one in page.all("div") if "data-poppy-watch" in one]
    assert box["data-poppy-watch"] == "/poppy/waiting/watched"
    assert [one["src"] for one in page.all("script")] == [
        "/static/poppy_operations/watch.js",
        "/static/poppy_operations/waiting.js",
    ]
    states = [one["data-poppy-when"] for one in page.all("p") if "data-poppy-when" in one]
    assert states == ["waiting", "approved", "continuing", "performing", "performed", "unknown"]


def continue_from(browser: Client, response: Any) -> Any:
    page = Page.of(response)
    tokens = [one["value"] for one in page.all("input") if one["name"] == "csrfmiddlewaretoken"]
    fields: dict[str, list[str]] = {"csrfmiddlewaretoken": tokens}
    for name, value in page.fields():
        fields.setdefault(name, []).append(value)
    return browser.post(page.first("form")["action"], fields, headers={"host": "shop.example"})


@pytest.mark.django_db
@pytest.mark.requirement("OPS-4-30", "OPS-6-55")
def test_continuing_performs_what_was_approved_with_a_fresh_csrf_token(
    signed_out: SessionOf, jacket: Item, effects: Callable[[], list[str]]
) -> None:
    browser = Client(headers={"host": "shop.example"}, enforce_csrf_checks=True)
    signed_out.browser(browser)
    browser.get("/buy/")
    token = browser.cookies["csrftoken"].value
    asked = browser.post("/buy/", {**ORDER, "go": "Buy now", "csrfmiddlewaretoken": token})
    signed_out.approve(reference(asked)[1])

    continued = continue_from(browser, asked)

    assert (continued.status_code, continued["Location"]) == (302, "/done/")
    assert effects() == ["shop.buy 1 jacket"]


@pytest.mark.django_db
@pytest.mark.parametrize("in_session", [False, True])
def test_a_page_from_before_a_new_login_learns_the_csrf_token_of_after_it(
    in_session: bool,
    signed_in: SessionOf,
    jacket: Item,
    effects: Callable[[], list[str]],
    settings: Any,
) -> None:
    settings.CSRF_USE_SESSIONS = in_session
    browser = Client(headers={"host": "shop.example"}, enforce_csrf_checks=True)
    signed_in.browser(browser)
    token = Page.of(browser.get("/buy/")).text
    asked = browser.post("/buy/", {**ORDER, "csrfmiddlewaretoken": token})
    _, ref = reference(asked)
    waiting = reverse("poppy_operations:waiting", args=[watch_of(ref)])
    assert browser.get(waiting).json() == {"status": "waiting"}
    signed_in.browser(browser)  # joined again: Django changes the token
    assert continue_from(browser, asked).status_code == 403
    signed_in.approve(ref)

    told = browser.get(waiting)

    assert told.json().keys() == {"status", "csrf_token"}
    assert not told.cookies
    fields = {**ORDER, "csrfmiddlewaretoken": told.json()["csrf_token"]}
    assert browser.post("/buy/", fields)["Location"] == "/done/"
    assert effects() == ["shop.buy 1 jacket"]


@pytest.mark.django_db
def test_a_browser_without_a_csrf_token_is_given_none(signed_out: SessionOf, jacket: Item) -> None:
    browser = signed_out.browser()
    browser.cookies.pop("csrftoken", None)
    _, ref = reference(browser.post("/buy/", ORDER, headers={"accept": "application/json"}))
    signed_out.approve(ref)

    told = browser.get(reverse("poppy_operations:waiting", args=[watch_of(ref)]))

    assert told.json() == {"status": "approved"}
    assert not told.cookies


def test_the_page_leads_back_to_where_the_request_was_made() -> None:
    def links(**headers: str) -> list[str]:
        request = posted("a=1", "/buy/", host="shop.example", **headers)
        return [one["href"] for one in shown(request).all("a")]

    assert links(referer="http://shop.example/jacket/?size=m") == [
        "http://shop.example/jacket/?size=m"
    ]
    assert links() == []
    assert links(referer="http://elsewhere.example/") == []
    assert links(referer="javascript:alert(1)") == []
    assert links(referer="http://shop.example/buy/") == []


def restarted(browser: Client) -> Client:
    """The same browser, in front of the middleware that the settings name by now."""
    client = Client(headers={"host": "shop.example"})
    client.cookies = browser.cookies
    return client


def watch_of(ref: str) -> str:
    return Revision.objects.get(ref=ref).watch or ""


def ask(browser: Client, watch: str) -> tuple[int, dict[str, str], bytes]:
    response = browser.get(reverse("poppy_operations:waiting", args=[watch]))
    assert not response.cookies
    return response.status_code, dict(response.headers), response.content


def status(browser: Client, watch: str) -> str:
    response = browser.get(reverse("poppy_operations:waiting", args=[watch]))
    answer: str = response.json()["status"]
    return answer


@pytest.mark.django_db
@pytest.mark.requirement("OPS-4-33")
def test_the_question_is_answered_with_a_state_and_nothing_of_the_operation(
    signed_out: SessionOf, jacket: Item
) -> None:
    browser = signed_out.browser()
    _, ref = reference(browser.post("/buy/", ORDER))
    address = reverse("poppy_operations:waiting", args=[watch_of(ref)])
    csrf = browser.cookies["csrftoken"].value
    assert browser.get(address).json() == {"status": "waiting"}

    signed_out.approve(ref)
    answer = browser.get(address).json()
    assert answer.keys() == {"status", "csrf_token"}
    assert len(answer["csrf_token"]) == 2 * len(csrf)


@pytest.mark.django_db
def test_the_page_learns_where_its_operation_stands(
    signed_out: SessionOf, jacket: Item, site: Behaviour
) -> None:
    browser = signed_out.browser()
    _, ref = reference(browser.post("/buy/", ORDER))
    watch = watch_of(ref)
    assert status(browser, watch) == "waiting"

    signed_out.approve(ref)
    assert status(browser, watch) == "approved"

    during: list[str] = []
    site.before_effect = lambda operation: during.append(status(other, watch))
    other = restarted(browser)
    browser.post("/buy/", ORDER)
    assert during == ["performing"]
    assert status(browser, watch) == "performed"


@pytest.mark.django_db
def test_all_else_is_unknown_and_looks_the_same(
    signed_out: SessionOf, session_of: Callable[..., SessionOf], jacket: Item, client: Client
) -> None:
    browser = signed_out.browser()
    watch = watch_of(reference(browser.post("/buy/", ORDER))[1])
    unknown = ask(browser, "made-up")

    others = [
        ask(session_of(user_id="u2").browser(), watch),
        ask(client, watch),
        ask(browser, "\x00"),
        ask(browser, "é" * 3000),
    ]
    with time_machine.travel(timezone.now() + timedelta(minutes=30), tick=False):
        others.append(ask(browser, watch))

    assert unknown[0] == 200
    assert unknown[2] == b'{"status": "unknown"}'
    assert unknown[1]["Cache-Control"] == "no-store, private"
    assert [(one[0], one[2]) for one in others] == [(200, unknown[2])] * len(others)
    assert all(one[1] == unknown[1] for one in others)
    assert "Cookie" in unknown[1]["Vary"].split(", ")


@pytest.mark.django_db
def test_a_page_whose_terms_gave_way_to_others_is_unknown_and_the_other_page_waits_on(
    signed_out: SessionOf, jacket: Item
) -> None:
    browser = signed_out.browser()
    pages = [
        watch_of(reference(browser.post("/buy/", {**ORDER, "quantity": quantity}))[1])
        for quantity in "12"
    ]
    assert give_way(Revision.objects.get(watch=pages[0]))

    assert [status(browser, watch) for watch in pages] == ["unknown", "waiting"]


@pytest.mark.django_db
@pytest.mark.parametrize("method", ["post", "head", "put", "delete", "options"])
def test_the_question_is_a_get(method: str, client: Client) -> None:
    response = getattr(client, method)("/poppy/waiting/any")

    assert (response.status_code, response["Allow"]) == (405, "GET")


@pytest.mark.django_db
@pytest.mark.parametrize("every_request", [True, False])
def test_the_question_does_not_write_the_django_session(
    every_request: bool, signed_out: SessionOf, jacket: Item, settings: Any, monkeypatch: Any
) -> None:
    browser = signed_out.browser()
    watch = watch_of(reference(browser.post("/buy/", ORDER))[1])
    settings.SESSION_SAVE_EVERY_REQUEST = every_request
    saved: list[object] = []
    store = type(browser.session)
    monkeypatch.setattr(store, "save", lambda self, must_create=False: saved.append(self))

    assert ask(browser, watch)[2] == b'{"status": "waiting"}'

    assert saved == []


@pytest.mark.django_db
def test_what_another_middleware_writes_to_the_django_session_is_saved(
    signed_out: SessionOf, settings: Any
) -> None:
    browser = signed_out.browser()
    settings.SESSION_SAVE_EVERY_REQUEST = True
    settings.MIDDLEWARE = [
        *settings.MIDDLEWARE[:2],
        "tests.waiting_page.test_waiting.counting",
        *settings.MIDDLEWARE[2:],
    ]

    restarted(browser).get("/poppy/waiting/any")

    assert browser.session["counted"] == 1


def counting(get_response: Callable[[HttpRequest], HttpResponse]) -> Any:
    """A middleware of the site that writes the Django session after every request."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        request.session["counted"] = request.session.get("counted", 0) + 1
        list(get_messages(request))
        return response

    return middleware


@pytest.mark.django_db
def test_the_question_needs_no_login(signed_out: SessionOf, jacket: Item, settings: Any) -> None:
    browser = signed_out.browser()
    watch = watch_of(reference(browser.post("/buy/", ORDER))[1])
    settings.MIDDLEWARE = [
        *settings.MIDDLEWARE,
        "django.contrib.auth.middleware.LoginRequiredMiddleware",
    ]

    browser = restarted(browser)
    assert browser.get("/done/").status_code == 302
    assert status(browser, watch) == "waiting"


def test_a_site_without_django_sessions_is_answered(rf: RequestFactory) -> None:
    response = waiting_view.waiting(rf.get("/poppy/waiting/any"), watch="made up")

    assert response.content == b'{"status": "unknown"}'


@pytest.mark.django_db
def test_a_database_that_is_in_the_way_does_not_end_the_waiting(
    signed_out: SessionOf, monkeypatch: Any
) -> None:
    def in_the_way(*args: Any) -> str:
        message = "database is locked"
        raise OperationalError(message)

    monkeypatch.setattr(waiting_view, "watched", in_the_way)

    response = signed_out.browser().get("/poppy/waiting/any")

    assert (response.status_code, response["Retry-After"]) == (503, "5")
    assert response["Cache-Control"] == "no-store, private"


@pytest.mark.django_db
def test_the_question_changes_nothing(signed_out: SessionOf, jacket: Item) -> None:
    browser = signed_out.browser()
    watch = watch_of(reference(browser.post("/buy/", ORDER))[1])
    before = [Operation.objects.values().get(), Revision.objects.values().get()]

    status(browser, watch)

    assert [Operation.objects.values().get(), Revision.objects.values().get()] == before

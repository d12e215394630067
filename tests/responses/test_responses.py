"""The forms of the gate's answers: JSON for APIs, pages, fragments and JSON for browsers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import http_sf
import pytest
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

from poppy_operations.company import Company
from poppy_operations.declarations.current import CurrentOperation
from poppy_operations.gate.answers import (
    Answer,
    ApprovalRequired,
    Declined,
    ErrorAnswer,
    PlainlyPerformed,
    Replay,
    SiteAnswer,
    StillPerforming,
    Undeclared,
)
from poppy_operations.models import Performance
from poppy_operations.protocol.interfaces import API, WEBSITE, Interface
from poppy_operations.protocol.operation import DeclineStatement, ReturnedOperation
from poppy_operations.responses import respond
from poppy_operations.responses.bodies import extra_members
from tests.configuring import configure
from tests.pages import Page

OPERATION = ReturnedOperation(
    operation_id="buy_secret-id",
    revision="1791487200-secret-revision",
    terms='{"sku":"secret-terms"}',
    expires_at=1791487200,
    summary="A secret summary.",
)
WAITING = ApprovalRequired(OPERATION, sid="ses_1", ref="secret-ref", watch="watched")
SECRETS = [
    "secret-id",
    "secret-revision",
    "secret-terms",
    "secret summary",
    "secret-ref",
    "2026-10-08",
    "1791487200",
    "ses_1",
]
JSON = {"accept": "application/json"}
HTMX = {"hx-request": "true", "accept": "*/*"}


class Talkative(Company):
    """Adds members of its own to the bodies that ask for approval."""

    members: Mapping[Any, Any] | None = None

    def extra_members(self, request: HttpRequest, interface: str) -> Any:
        return self.members


@pytest.fixture
def talkative(settings: Any) -> Iterator[type[Talkative]]:
    configure(settings, COMPANY="tests.responses.test_responses.Talkative")
    yield Talkative
    Talkative.members = None


def replay(stored: Performance) -> Replay:
    return Replay(CurrentOperation("shop.buy", {}, operation_id="buy_1"), stored)


def performance(
    status: int = 201, body: bytes | memoryview | None = b"{}", **headers: str
) -> Performance:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Performance(status=status, headers=json.dumps(list(named.items())), body=body)


def post(**headers: str) -> HttpRequest:
    return RequestFactory().post("/buy/", {"sku": "jacket"}, headers=headers)


def api(answer: Answer, request: HttpRequest | None = None) -> HttpResponse:
    response = respond(answer, request or post(), API)
    assert isinstance(response, HttpResponse)
    return response


def website(answer: Answer, request: HttpRequest | None = None, **headers: str) -> HttpResponse:
    response = respond(answer, request or post(**headers), WEBSITE)
    assert isinstance(response, HttpResponse)
    return response


@pytest.mark.parametrize("interface", [WEBSITE, API])
def test_the_sites_own_answers_are_left_alone(interface: Interface) -> None:
    own = HttpResponse("own", headers={"Cache-Control": "max-age=60"})

    for answer in (SiteAnswer(own), Undeclared(own)):
        assert respond(answer, post(), interface) is own
    assert dict(own.headers) == {
        "Content-Type": "text/html; charset=utf-8",
        "Cache-Control": "max-age=60",
    }


EVERY_ANSWER: dict[str, Answer] = {
    "waiting": WAITING,
    "declined": Declined(DeclineStatement("buy_1", "1-a", None, None)),
    "performing": StillPerforming("buy_1", 2),
    "replay": replay(performance(cache_control="max-age=60")),
    "redirect": replay(performance(302, None, Location="/done/", cache_control="public")),
    "performed": PlainlyPerformed("buy_1"),
    "undeclared": Undeclared(),
    "refused": ErrorAnswer("invalid_session"),
    "later": ErrorAnswer("rate_limited", headers={"Retry-After": "3"}),
}


@pytest.mark.ambiguity("AMB-22")
@pytest.mark.parametrize("accept", ["text/html", "application/json"])
@pytest.mark.parametrize("interface", [WEBSITE, API])
@pytest.mark.parametrize("answer", EVERY_ANSWER.values(), ids=EVERY_ANSWER.keys())
def test_amb_22_nobody_stores_an_answer_of_ours(
    answer: Answer, interface: Interface, accept: str
) -> None:
    response = respond(answer, post(accept=accept), interface)

    # "private" is for Django's own cache middleware, which knows no "no-store".
    assert response.headers["Cache-Control"] == "no-store, private"


@pytest.mark.requirement("OPS-4-03", "OPS-4-04", "OPS-4-05", "OPS-4-06")
@pytest.mark.parametrize("accept", ["text/html", "*/*", "application/json"])
def test_an_api_returns_the_operation_in_json(accept: str) -> None:
    response = api(WAITING, post(accept=accept))

    assert response.status_code == 403
    assert response["Content-Type"] == "application/json"
    assert json.loads(response.content) == {
        "error": "approval_required",
        "operation": OPERATION.as_json(),
    }
    assert not {"WWW-Authenticate", "Poppy-Operation"} & set(response.headers)


@pytest.mark.requirement("OPS-4-09")
def test_a_site_adds_members_beside_the_operation(talkative: type[Talkative]) -> None:
    talkative.members = {"detail": "Approve first.", "code": 7}

    body = json.loads(api(WAITING).content)

    assert body == {
        "error": "approval_required",
        "operation": OPERATION.as_json(),
        "detail": "Approve first.",
        "code": 7,
    }


@pytest.mark.requirement("OPS-4-37")
def test_a_site_adds_members_for_its_own_scripts(talkative: type[Talkative]) -> None:
    talkative.members = {"message": "Approve first."}

    body = json.loads(website(WAITING, **JSON).content)

    assert body == {"error": "approval_required", "message": "Approve first."}


@pytest.mark.requirement("OPS-4-09", "OPS-4-37")
@pytest.mark.parametrize("taken", ["error", "operation"])
@pytest.mark.parametrize("form", [api, website])
def test_a_site_cannot_overwrite_the_protocols_members(
    taken: str, form: Callable[..., HttpResponse], talkative: type[Talkative]
) -> None:
    talkative.members = {taken: "mine"}

    with pytest.raises(ValueError, match=f"what {taken} hold"):
        form(WAITING, post(**JSON))


@pytest.mark.parametrize(
    ("members", "error"),
    [
        (None, TypeError),
        ([("a", 1)], TypeError),
        ({1: "a"}, TypeError),
        ({"a": object()}, TypeError),
        ({"a": float("nan")}, ValueError),
    ],
)
def test_members_that_json_cannot_hold_are_an_error_that_names_the_hook(
    members: Any, error: type[Exception], talkative: type[Talkative]
) -> None:
    talkative.members = members

    with pytest.raises(error, match=r"Company\.extra_members"):
        extra_members(post(), "api")


def test_an_api_declines_in_json() -> None:
    response = api(Declined(DeclineStatement("buy_1", "1-a", "Too much.", None)))

    assert response.status_code == 403
    assert json.loads(response.content) == {
        "error": "approval_declined",
        "operation_id": "buy_1",
        "revision": "1-a",
        "reason": "Too much.",
    }


def test_an_api_that_is_still_performing_says_when_to_ask_again() -> None:
    response = api(StillPerforming("buy_1", 60))

    assert (response.status_code, response["Retry-After"]) == (503, "60")
    assert json.loads(response.content) == {"operation_id": "buy_1", "status": "performing"}


def test_an_api_replays_status_headers_and_bytes() -> None:
    stored = performance(
        201, memoryview(b'{"order": 7}'), Content_Type="application/json", Location="/orders/7"
    )

    response = api(replay(stored))

    assert (response.status_code, response.content) == (201, b'{"order": 7}')
    assert dict(response.headers) == {
        "Content-Type": "application/json",
        "Location": "/orders/7",
        "Cache-Control": "no-store, private",
    }
    assert not response.cookies


@pytest.mark.parametrize(
    ("stored", "status"),
    [
        (performance(204, None), 204),
        (performance(304, None, ETag='"a"'), 304),
        (performance(303, None, Location="/orders/7"), 303),
        (performance(201, b""), 201),
    ],
)
def test_an_api_replays_answers_without_a_body(stored: Performance, status: int) -> None:
    response = api(replay(stored))

    assert (response.status_code, response.content) == (status, b"")
    assert "Content-Type" not in response.headers


@pytest.mark.parametrize(
    "answer",
    [
        replay(performance(200, None, Content_Type="application/pdf")),
        replay(performance(300, None)),
        PlainlyPerformed("buy_1"),
    ],
)
def test_an_api_says_plainly_that_it_was_performed_where_no_answer_can_be_shown(
    answer: Answer,
) -> None:
    response = api(answer)

    assert response.status_code == 200
    assert json.loads(response.content) == {"operation_id": "buy_1", "status": "performed"}


@pytest.mark.requirement("OPS-2-14")
@pytest.mark.parametrize("status", [403, 400])
def test_an_api_refuses_for_want_of_the_extension(status: int, settings: Any) -> None:
    configure(settings, EXTENSION_REQUIRED_STATUS=status)

    response = api(Undeclared())

    assert response.status_code == status
    assert json.loads(response.content) == {
        "error": "extension_required",
        "extension": "operations",
    }


def test_an_error_has_its_members_status_and_headers() -> None:
    token = api(ErrorAnswer("invalid_token", headers={"WWW-Authenticate": "Bearer x"}))
    scope = api(ErrorAnswer("insufficient_scope", {"scope": "orders:write"}))
    other = api(ErrorAnswer("invalid_request", status=404))

    assert (token.status_code, token["WWW-Authenticate"]) == (401, "Bearer x")
    assert json.loads(scope.content) == {"error": "insufficient_scope", "scope": "orders:write"}
    assert other.status_code == 404


TURBO = "text/vnd.turbo-stream.html, text/html, application/xhtml+xml"
CLIENTS = {
    "page": {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"},
    "fetch": JSON,
    "htmx": HTMX,
    "boosted": {**HTMX, "hx-boosted": "true"},
    "turbo": {"accept": TURBO},
    "frame": {"accept": TURBO, "turbo-frame": "cart"},
}


@pytest.mark.requirement(
    "OPS-4-18", "OPS-4-19", "OPS-4-23", "OPS-4-24", "OPS-4-32", "OPS-4-36", "OPS-4-38"
)
@pytest.mark.parametrize("headers", CLIENTS.values(), ids=CLIENTS.keys())
def test_every_client_gets_403_with_the_reference_in_the_header_alone(
    headers: dict[str, str],
) -> None:
    response = website(WAITING, **headers)

    assert response.status_code == 403
    assert http_sf.parse(response["Poppy-Operation"].encode(), tltype="dictionary") == {
        "sid": ("ses_1", {}),
        "ref": ("secret-ref", {}),
    }
    assert "no-store" in response["Cache-Control"]
    text = response.content.decode()
    assert [secret for secret in SECRETS if secret in text] == []
    assert {"Accept", "Cookie"} <= set(response["Vary"].split(", "))


@pytest.mark.requirement("OPS-4-34")
@pytest.mark.parametrize("client", ["page", "boosted", "turbo"])
def test_a_page_load_gets_a_page_that_says_what_waits_and_where(client: str) -> None:
    response = website(WAITING, **CLIENTS[client])

    assert response["Content-Type"] == "text/html; charset=utf-8"
    page = Page.of(response)
    assert "waiting for your approval in your personal agent" in page.text
    assert (page.count("html"), page.count("main"), page.count("h1")) == (1, 1, 1)
    assert page.first("html")["lang"] == "en"
    assert page.title == "Waiting for approval"


@pytest.mark.requirement("OPS-4-35", "OPS-4-36")
def test_a_script_that_accepts_json_gets_the_error_without_the_operation() -> None:
    response = website(WAITING, **JSON)

    assert response["Content-Type"] == "application/json"
    assert json.loads(response.content) == {"error": "approval_required"}
    assert response["Link"] == '</poppy/waiting/watched>; rel="status"'


def test_nothing_is_watched_where_there_is_nothing_to_watch() -> None:
    unwatched = ApprovalRequired(OPERATION, sid="ses_1", ref="secret-ref")

    assert "Link" not in website(unwatched, **JSON).headers
    assert Page.of(website(unwatched)).count("script") == 0


def test_turbo_gets_what_it_puts_into_its_frame() -> None:
    response = website(WAITING, accept=TURBO, turbo_frame='<c"art>')

    page = Page.of(response)
    assert (page.count("html"), page.count("main"), page.count("h1")) == (0, 0, 0)
    assert page.first("turbo-frame") == {"id": '<c"art>'}
    assert page.first("form")["data-poppy-continue"] == ""
    assert page.count("script") == 2
    assert "HX-Retarget" not in response.headers
    assert "Turbo-Frame" in response["Vary"]


def test_htmx_gets_a_fragment_and_is_told_where_to_show_it() -> None:
    response = website(WAITING, **HTMX)

    page = Page.of(response)
    assert (page.count("html"), page.count("main"), page.count("form")) == (0, 0, 0)
    assert "do the same here again" in page.text
    assert {name: response[name] for name in ("HX-Retarget", "HX-Reswap", "HX-Reselect")} == {
        "HX-Retarget": "body",
        "HX-Reswap": "afterbegin",
        "HX-Reselect": "#poppy-operations",
    }
    assert page.first("section")["id"] == "poppy-operations"
    assert page.count("script") == 2
    boosted = website(WAITING, **CLIENTS["boosted"])
    assert (boosted["HX-Retarget"], boosted["HX-Reswap"]) == ("body", "innerHTML")
    assert Page.of(boosted).first("main")["id"] == "poppy-operations"


ACCEPTED = [
    ("application/json", True),
    ("application/json, text/plain, */*", True),
    ("application/json; charset=utf-8", True),
    ("application/vnd.api+json", True),
    ("application/*", True),
    ("text/html;q=0.5, application/json", True),
    ("text/html;q=0.5, application/json;q=0.5", False),
    ("application/json;q=0.5, text/html", False),
    ("application/json;q=0.1, */*", False),
    ("text/*, */*;q=0.1", False),
    ("application/json;q=0", False),
    ("*/*", False),
    ("image/png", False),
    ("", False),
    ("nonsense;;q=x", False),
]


@pytest.mark.ambiguity("AMB-21")
@pytest.mark.parametrize(("accept", "is_json"), ACCEPTED)
def test_amb_21_json_is_for_who_prefers_it_to_html(accept: str, is_json: bool) -> None:
    response = website(WAITING, accept=accept)

    assert (response["Content-Type"] == "application/json") is is_json


@pytest.mark.ambiguity("AMB-21")
@pytest.mark.parametrize(
    ("accept", "is_json"), [("*/*", True), ("text/html, */*", False), ("", True)]
)
def test_amb_21_json_is_for_who_sends_json_and_names_no_html(accept: str, is_json: bool) -> None:
    request = RequestFactory().post(
        "/buy/", {"sku": "jacket"}, "application/json", headers={"accept": accept}
    )

    response = website(WAITING, request)

    assert (response["Content-Type"] == "application/json") is is_json


@pytest.mark.ambiguity("AMB-21")
def test_amb_21_without_accept_a_page_is_sent() -> None:
    assert website(WAITING, post())["Content-Type"].startswith("text/html")


def test_a_page_says_that_the_action_is_being_done() -> None:
    response = website(StillPerforming("buy_1", 2))

    assert (response.status_code, response["Retry-After"]) == (503, "2")
    page = Page.of(response)
    assert "is being done" in page.text
    assert "Poppy-Operation" not in response.headers
    assert "buy_1" not in page.text
    script = website(StillPerforming("buy_1", 2), **JSON)
    assert (script.status_code, script["Retry-After"]) == (503, "2")
    assert json.loads(script.content) == {"status": "performing"}


def test_a_browser_gets_a_stored_redirect_again() -> None:
    stored = performance(302, None, Location="/done/", X_Shop="7")

    response = website(replay(stored))

    assert (response.status_code, response["Location"], response["X-Shop"]) == (302, "/done/", "7")


@pytest.mark.parametrize(
    "answer",
    [replay(performance(200, b"<p>Thanks, Alice</p>")), PlainlyPerformed("buy_1")],
)
def test_a_browser_is_told_that_it_was_done_where_there_was_no_redirect(answer: Answer) -> None:
    response = website(answer)

    assert response.status_code == 200
    assert Page.of(response).title == "Done"
    assert "Alice" not in response.content.decode()
    assert json.loads(website(answer, **JSON).content) == {"status": "performed"}


def test_a_browser_that_may_get_no_operation_gets_a_page_without_a_reference() -> None:
    response = website(Undeclared())

    assert response.status_code == 403
    assert "Poppy-Operation" not in response.headers
    assert "needs approval" in Page.of(response).text
    script = website(Undeclared(), **JSON)
    assert json.loads(script.content) == {
        "error": "extension_required",
        "extension": "operations",
    }


def test_the_browser_never_gets_a_page_of_a_decline() -> None:
    declined = Declined(DeclineStatement("buy_1", "1-a", None, None))

    assert json.loads(website(declined).content)["error"] == "approval_declined"


@pytest.mark.parametrize(
    ("code", "status", "text"),
    [("rate_limited", 429, "too many actions"), ("temporarily_unavailable", 503, "busy")],
)
def test_a_browser_is_asked_to_come_back_later(code: str, status: int, text: str) -> None:
    refused = ErrorAnswer(code, headers={"Retry-After": "3"})

    response = website(refused)

    assert (response.status_code, response["Retry-After"]) == (status, "3")
    assert text in Page.of(response).text
    script = website(refused, **JSON)
    assert (script.status_code, script["Retry-After"]) == (status, "3")
    assert json.loads(script.content) == {"error": code}


def test_other_errors_are_json_on_the_website_too() -> None:
    response = website(ErrorAnswer("invalid_session"))

    assert response.status_code == 403
    assert json.loads(response.content) == {"error": "invalid_session"}


SHOWN: dict[str, Answer] = {
    "waiting": WAITING,
    "under way": ApprovalRequired(OPERATION, sid="ses_1", ref="r", watch="w", under_way=True),
    "performing": StillPerforming("buy_1", 2),
    "performed": PlainlyPerformed("buy_1"),
    "undeclared": Undeclared(),
    "too many": ErrorAnswer("rate_limited", headers={"Retry-After": "3"}),
    "busy": ErrorAnswer("temporarily_unavailable", headers={"Retry-After": "1"}),
}


@pytest.mark.parametrize("answer", SHOWN.values(), ids=SHOWN.keys())
def test_pages_are_whole_and_work_under_a_strict_content_security_policy(answer: Answer) -> None:
    page = Page.of(website(answer))

    assert (page.count("html"), page.count("main"), page.count("h1")) == (1, 1, 1)
    assert page.title
    assert page.inline_code == []
    assert page.unclosed == []


@pytest.mark.parametrize("answer", SHOWN.values(), ids=SHOWN.keys())
def test_fragments_are_one_element(answer: Answer) -> None:
    page = Page.of(website(answer, **HTMX))

    assert (page.count("html"), page.count("main"), page.count("section")) == (0, 0, 1)
    assert page.inline_code == []
    assert page.unclosed == []

"""Whatever is sent, nothing is performed and nobody sees a fault of ours."""

from __future__ import annotations

import json
import string
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from poppy_operations.models import Approval
from poppy_operations.protocol.approval import approval_from_header
from tests.agents import HOST, ORDER, SessionOf, approval_of
from tests.asking import MADE_UP_REF, ask
from tests.configuring import configure
from tests.shop.models import Effect, Item

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

ENDPOINT = "/poppy/operations"
# What sections 4, 6 and 7 and the core protocol name for the endpoint and for a browser.
AT_ENDPOINT = {200, 204, 400, 401, 403, 405, 429, 503}
IN_BROWSER = {400, 403, 404, 429, 503}

any_input = settings(
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)

TEXT = st.text(st.characters(exclude_categories=()), max_size=30)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=8,
)
JSON_BODY = JSON.map(lambda value: json.dumps(value).encode())
# What WSGI hands on of a header: Latin-1 without line ends.
HEADER = st.text(st.characters(max_codepoint=255, exclude_characters="\r\n\x00"), max_size=60)
REFS = (
    TEXT
    | JSON
    | st.text(string.ascii_letters + string.digits + "-_.", max_size=2100)
    | st.sampled_from(
        [
            MADE_UP_REF,
            MADE_UP_REF.upper(),
            "." * 2048,
            "." * 2049,
            "",
            "\x00",
            "\u017f" * 32,
        ]
    )
)
CONTENT_TYPES = st.sampled_from(
    ["application/json", "application/json; charset=utf-16", "text/plain", "", "a", "application/x",
     "application/x-www-form-urlencoded", "multipart/form-data; boundary=b",
     "multipart/form-data", "application/merge-patch+json", "application/json;;;="]
)  # fmt: skip


def sent(
    client: Client, body: bytes, content_type: str, headers: Mapping[str, str], path: str = ENDPOINT
) -> Any:
    """Send a request as it is."""
    return client.generic("POST", path, body, content_type=content_type, headers=dict(headers))


def is_documented(response: Any, statuses: set[int]) -> bool:
    """Whether an answer is one that the text names, in the form that it names."""
    assert response.status_code in statuses, (response.status_code, response.content)
    if response.status_code in {204, 405}:
        return response.content == b""
    return isinstance(json.loads(response.content), dict)


def nothing_happened() -> bool:
    """Whether no action was performed and no approval recorded."""
    return not Effect.objects.exists() and not Approval.objects.exists()


@pytest.fixture
def ref(signed_out: SessionOf, jacket: Item) -> str:
    """The reference of an operation that waits."""
    return ask(signed_out.browser())


@any_input
@given(body=st.binary(max_size=60) | JSON_BODY, content_type=CONTENT_TYPES)
def test_any_body_at_the_endpoint(signed_out: SessionOf, body: bytes, content_type: str) -> None:
    response = sent(signed_out.client, body, content_type, signed_out.headers())
    assert is_documented(response, AT_ENDPOINT)
    assert (response.status_code, response.json()) == (400, {"error": "invalid_request"})


@any_input
@given(other=REFS, more=st.dictionaries(TEXT, JSON, max_size=2))
def test_any_reference_at_the_endpoint(
    signed_out: SessionOf, ref: str, other: Any, more: dict[str, Any]
) -> None:
    approval = approval_of(signed_out.look_up(ref))
    body = json.dumps({**more, "ref": other}).encode()
    for headers in (signed_out.headers(), signed_out.headers(approval)):
        response = sent(signed_out.client, body, "application/json", headers)
        assert (response.status_code, response.json()) == (400, {"error": "invalid_request"})
    assert nothing_happened()


@any_input
@given(
    body=st.integers(2, 20_000).map(lambda depth: b'{"ref":' + b"[" * depth + b"]" * depth + b"}")
)
def test_deep_nesting_at_the_endpoint(signed_out: SessionOf, body: bytes) -> None:
    response = sent(signed_out.client, body, "application/json", signed_out.headers())
    assert (response.status_code, response.json()) == (400, {"error": "invalid_request"})


BARE = st.sampled_from(
    ["user", '"user"', '"agent"', '"robot"', "1", "-1", "1.5", "?1", "?0", ":AAAA:", "@1", "(1 2)",
     '%"a"', '""', "9" * 15, "9" * 16, '"' + "a" * 300 + '"', "{op}", "{rev}", '"{op}"', '"{rev}"',
     '"{op}";a=1', "*"]
)  # fmt: skip
KEYS = st.sampled_from(
    ["operation_id", "revision", "approver", "approved_at", "input_type", "reference", "a", "A"]
)
MEMBERS = st.lists(st.tuples(KEYS, BARE), max_size=7).map(
    lambda members: ", ".join(f"{key}={value}" for key, value in members)
)
MUTATED = st.tuples(
    st.just('operation_id="{op}", revision="{rev}", approver="user"'),
    st.integers(0, 60),
    st.text(string.printable[:95], max_size=3),
).map(lambda parts: parts[0][: parts[1]] + parts[2] + parts[0][parts[1] :])


@any_input
@given(header=HEADER | MEMBERS | MUTATED)
def test_any_approval_header_at_the_endpoint(signed_out: SessionOf, ref: str, header: str) -> None:
    Approval.objects.all().delete()
    operation = signed_out.look_up(ref)
    header = header.replace("{op}", operation["operation_id"]).replace(
        "{rev}", operation["revision"]
    )
    body = json.dumps({"ref": ref}).encode()
    headers = {**signed_out.headers(), "Poppy-Approval": header}
    response = sent(signed_out.client, body, "application/json", headers)
    assert is_documented(response, {204, 400, 403})
    assert not Effect.objects.exists()
    if response.status_code == 204:
        # Only what a strict reader reads as an approval of exactly this revision is recorded.
        statement = approval_from_header(header)
        assert statement is not None
        assert statement.operation_id == operation["operation_id"]
        assert statement.revision == operation["revision"]
        assert statement.approver in {"user", "agent"}
        assert Approval.objects.count() == 1
    else:
        assert not Approval.objects.exists()


@any_input
@given(
    name=st.sampled_from(
        ["Poppy-Session", "Poppy-Version", "Poppy-Extensions", "Authorization", "Content-Length",
         "Cookie", "Accept", "Host", "Origin", "X-Forwarded-Proto"]
    ),
    value=HEADER,
)  # fmt: skip
def test_any_other_header_at_the_endpoint(
    signed_out: SessionOf, ref: str, name: str, value: str
) -> None:
    Approval.objects.all().delete()
    approval = approval_of(signed_out.look_up(ref))
    body = json.dumps({"ref": ref}).encode()
    headers = {**signed_out.headers(approval), name: value}
    response = sent(signed_out.client, body, "application/json", headers)
    if name == "Poppy-Session":
        assert (response.status_code, response.json()) == (403, {"error": "invalid_session"})
    if name in {"Host", "Content-Length"}:
        assert response.status_code in AT_ENDPOINT
    else:
        assert is_documented(response, AT_ENDPOINT)
    assert not Effect.objects.exists()


@any_input
@given(data=st.data())
def test_any_change_of_a_good_token(
    signed_in: SessionOf, jacket: Item, data: st.DataObject
) -> None:
    Approval.objects.all().delete()
    token = signed_in.access_token or ""
    good = signed_in.headers(access_token=token)
    name = data.draw(st.sampled_from(["Poppy-Session", "Authorization"]))
    value = good[name]
    # Not the last character of a part: its spare bits may be anything in base64.
    at = data.draw(st.integers(len("Bearer "), len(value) - 3))
    other = data.draw(st.sampled_from(string.ascii_letters + string.digits + "-_.=~ %"))
    if value[at] == other or value[at + 1 : at + 2] in ("", "."):
        return
    headers = {**good, name: value[:at] + other + value[at + 1 :]}
    body = json.dumps({"ref": MADE_UP_REF}).encode()
    response = sent(signed_in.client, body, "application/json", headers)
    assert is_documented(response, {401, 403})
    assert response.json()["error"] in {"invalid_session", "invalid_token"}


FIELDS = st.dictionaries(
    st.sampled_from(["sku", "quantity", "csrfmiddlewaretoken", "text"]) | TEXT,
    TEXT | st.sampled_from(["jacket", "1", "99", "\u0661", "1e1", "0x1", "\x00", "\ud800"]),
    max_size=4,
)
FORM_BODY = FIELDS.map(
    lambda fields: "&".join(f"{name}={value}" for name, value in fields.items()).encode(
        errors="surrogatepass"
    )
)
BODIES = st.one_of(
    st.binary(max_size=60),
    FORM_BODY,
    JSON_BODY,
    st.fixed_dictionaries({"text": TEXT | JSON}, optional={"trace": JSON, "more": JSON}).map(
        lambda value: json.dumps(value).encode()
    ),
    st.just(b'--b\r\nContent-Disposition: form-data; name="sku"\r\n\r\njacket\r\n--b--'),
)
BROWSER_HEADERS = st.dictionaries(
    st.sampled_from(
        ["Poppy-Approval", "Poppy-Extensions", "Poppy-Version", "Accept", "HX-Request",
         "HX-Boosted", "Authorization", "Accept-Language", "X-Requested-With", "Idempotency-Key",
         "Sec-Fetch-Mode"]
    ),
    HEADER | st.sampled_from(["application/json", "text/html;q=0", "true", "*/*;q=x"]),
    max_size=4,
)  # fmt: skip


@any_input
@given(
    body=BODIES,
    content_type=CONTENT_TYPES,
    headers=BROWSER_HEADERS,
    path=st.sampled_from(["/buy/", "/form/", "/notes/", "/refund/", "/class/", "/each/", "/abuy/"]),
)
def test_any_request_of_a_joined_browser(
    signed_out: SessionOf,
    jacket: Item,
    settings: Any,
    body: bytes,
    content_type: str,
    headers: dict[str, str],
    path: str,
) -> None:
    configure(settings, OPEN_REVISIONS=5)
    browser = _joined(signed_out)
    response = sent(browser, body, content_type, headers, path)
    # 200: a form that shows its errors. Both are the site's own.
    assert response.status_code in IN_BROWSER | {200}, response.content
    assert nothing_happened()


def _joined(session: SessionOf) -> Client:
    """One browser for all examples of a test."""
    kept: dict[str, Client] = session.__dict__.setdefault("joined", {})
    if "browser" not in kept:
        kept["browser"] = session.browser()
    return kept["browser"]


@any_input
@given(
    query=TEXT
    | st.sampled_from(["q=%00", "q=%ff", "q=%ud800", "&&&=", "q=1&q=2", "q=" + "a" * 3000])
)
def test_any_query_of_a_joined_browser(signed_out: SessionOf, query: str) -> None:
    browser = _joined(signed_out)
    encoded = query.encode(errors="surrogatepass").decode("latin-1")
    response = browser.generic("GET", "/search/", QUERY_STRING=encoded)
    assert response.status_code in IN_BROWSER
    assert nothing_happened()


@any_input
@given(
    path=st.text(string.printable[:94].replace("/", "").replace("?", ""), min_size=1, max_size=40),
    where=st.sampled_from(["/poppy/waiting/", "/poppy/join/"]),
)
def test_any_key_of_a_waiting_page_or_ticket(
    signed_out: SessionOf, ref: str, path: str, where: str
) -> None:
    browser = _joined(signed_out)
    response = browser.generic("GET", where + path.replace("%", ""))
    assert response.status_code < 500
    if where == "/poppy/waiting/" and response.status_code == 200:
        assert response.json() == {"status": "unknown"}
    assert nothing_happened()


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "LINK", "post", "GET", "HEAD"])
def test_any_method_at_a_gated_view(method: str, signed_out: SessionOf, jacket: Item) -> None:
    browser: Any = _joined(signed_out)
    browser.raise_request_exception = False
    for path in ("/class/", "/form/", "/guarded/"):
        response = browser.generic(method, path, "sku=jacket", "application/x-www-form-urlencoded")
        assert response.status_code < 500
    assert nothing_happened()
    assert Client(headers={"host": HOST}).post("/buy/", ORDER).status_code == 302


def test_the_examples_do_reach_the_gate(signed_out: SessionOf, jacket: Item) -> None:
    browser = _joined(signed_out)
    answers: list[Callable[[], Any]] = [
        lambda: sent(
            browser, b"sku=jacket&quantity=1", "application/x-www-form-urlencoded", {}, "/buy/"
        ),
        lambda: sent(browser, b'{"text": "a"}', "application/json", {}, "/notes/"),
        lambda: browser.generic("GET", "/search/", QUERY_STRING="q=a"),
    ]
    assert all("Poppy-Operation" in answer() for answer in answers)

"""What counts as the same request, and what its answers give away."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.test.client import encode_multipart

from poppy_operations.models import Operation
from tests.agents import ORDER, SessionOf, reference
from tests.asking import TWO, ask, quiet, recorded
from tests.shop.models import Item
from tests.shop.operations import Behaviour

pytestmark = pytest.mark.django_db
Effects = Callable[[], list[str]]
FORM = "application/x-www-form-urlencoded"
JSON = "application/json"
NOTE = '{"text": "café", "size": 1, "parts": ["a", "b"]}'


def approved_note(
    session: SessionOf, browser: Client, body: str = NOTE, path: str = "/notes/"
) -> str:
    """Approve what a page's script asked for; the reference."""
    response = browser.post(path, body, content_type=JSON)
    assert response.status_code == 403, response.content
    ref = reference(response)[1]
    session.approve(ref)
    return ref


SAME_FORM = {
    "as it was": ("sku=jacket&quantity=1", FORM),
    "other order": ("quantity=1&sku=jacket", FORM),
    "percent-encoded": ("%73ku=%6Aacket&quantity=%31", FORM),
    "space around a number": ("sku=jacket&quantity=+1", FORM),
    "charset named": ("sku=jacket&quantity=1", FORM + "; charset=utf-8"),
    "another CSRF token": ("sku=jacket&quantity=1&csrfmiddlewaretoken=other", FORM),
    "multipart": (encode_multipart("b1", ORDER), "multipart/form-data; boundary=b1"),
    "another boundary": (encode_multipart("zz--9", ORDER), "multipart/form-data; boundary=zz--9"),
}


@pytest.mark.requirement("OPS-6-49")
@pytest.mark.parametrize(("body", "content_type"), SAME_FORM.values(), ids=list(SAME_FORM))
def test_a_form_is_compared_by_what_it_means(
    body: Any, content_type: str, signed_out: SessionOf, jacket: Item, effects: Effects
) -> None:
    browser = signed_out.browser()
    recorded(signed_out, browser)
    assert browser.post("/buy/", body, content_type=content_type).status_code == 302
    assert len(effects()) == 1


SAME_JSON = {
    "other whitespace": '{"text":"café",\n\t"size":1,"parts":["a","b"]}',
    "escapes": '{"\\u0074ext": "caf\\u00e9", "size": 1, "parts": ["a", "\\u0062"]}',
    "other order": '{"parts": ["a", "b"], "size": 1, "text": "café"}',
    "the same number": '{"text": "café", "size": 1.0, "parts": ["a", "b"]}',
    "an ignored member": '{"text": "café", "size": 1, "parts": ["a", "b"], "trace": "x"}',
}


@pytest.mark.requirement("OPS-6-49", "OPS-6-50")
@pytest.mark.parametrize("body", SAME_JSON.values(), ids=list(SAME_JSON))
def test_json_is_compared_by_value(body: str, signed_out: SessionOf, effects: Effects) -> None:
    browser = signed_out.browser()
    approved_note(signed_out, browser)
    response = browser.post("/notes/?utm=mail", body, content_type=JSON + "; charset=utf-8")
    assert response.status_code == 201
    assert effects() == ["note café"]


OTHER_JSON = {
    "another text": '{"text": "cafe", "size": 1, "parts": ["a", "b"]}',
    "another unicode form": '{"text": "cafe\\u0301", "size": 1, "parts": ["a", "b"]}',
    "a text for a number": '{"text": "café", "size": "1", "parts": ["a", "b"]}',
    "true for 1": '{"text": "café", "size": true, "parts": ["a", "b"]}',
    "a list in another order": '{"text": "café", "size": 1, "parts": ["b", "a"]}',
    "a member more": '{"text": "café", "size": 1, "parts": ["a", "b"], "gift": null}',
    "a member less": '{"text": "café", "size": 1}',
    "an ignored name elsewhere": NOTE.replace("}", ', "x": {"trace": 1}}'),
}


@pytest.mark.requirement("OPS-6-50", "OPS-3-24", "OPS-6-37", "OPS-1-05")
@pytest.mark.parametrize("body", OTHER_JSON.values(), ids=list(OTHER_JSON))
def test_whatever_means_something_else_needs_its_own_approval(
    body: str, signed_out: SessionOf, effects: Effects
) -> None:
    browser = signed_out.browser()
    ref = approved_note(signed_out, browser)
    response = browser.post("/notes/", body, content_type=JSON)
    assert response.status_code == 403
    assert reference(response)[1] != ref
    assert effects() == []
    assert signed_out.status(ref) == "approved"


@pytest.mark.requirement("OPS-6-49", "OPS-6-37")
def test_equal_bytes_elsewhere_are_another_request(signed_out: SessionOf, effects: Effects) -> None:
    browser = signed_out.browser()
    ref = approved_note(signed_out, browser, path="/notes/top/")
    elsewhere = [
        browser.post("/notes/", NOTE, content_type=JSON),
        browser.post("/notes/bottom/", NOTE, content_type=JSON),
        browser.post("/notes/top/?a=1", NOTE, content_type=JSON),
        browser.post("/notes/top/", NOTE, content_type=JSON, headers={"host": "other.example"}),
        browser.put("/notes/top/", NOTE, content_type=JSON),
        browser.patch("/notes/top/", NOTE, content_type=JSON),
    ]
    refs = {reference(response)[1] for response in elsewhere}
    assert len(refs | {ref}) == len(elsewhere) + 1
    assert effects() == []
    assert browser.post("/notes/top/", NOTE, content_type=JSON).status_code == 201


@pytest.mark.requirement("OPS-6-50")
def test_an_ignored_path_and_query_parameter_do_not_matter(
    signed_out: SessionOf, effects: Effects
) -> None:
    browser = signed_out.browser()
    approved_note(signed_out, browser, '{"text": "a", "client": {"trace": 1, "v": 2}}')
    other = '{"text": "a", "client": {"trace": 9, "v": 3}}'
    assert browser.post("/notes/", other, content_type=JSON).status_code == 403
    same = '{"text": "a", "client": {"trace": 9, "v": 2}}'
    assert browser.post("/notes/?utm=1&utm=2", same, content_type=JSON).status_code == 201


@pytest.mark.requirement("OPS-6-37")
def test_uploads_are_compared_by_what_they_contain(
    signed_out: SessionOf, jacket: Item, effects: Effects
) -> None:
    def upload(content: bytes, name: str = "a.txt", kind: str = "text/plain") -> dict[str, Any]:
        return {**ORDER, "file": SimpleUploadedFile(name, content, kind)}

    browser = signed_out.browser()
    ref = reference(browser.post("/buy/", upload(b"one")))[1]
    signed_out.approve(ref)
    for other in (upload(b"two"), upload(b"one", "b.txt"), upload(b"one", kind="text/html"), ORDER):
        assert browser.post("/buy/", other).status_code == 403
    assert effects() == []
    assert browser.post("/buy/", upload(b"one")).status_code == 302
    assert len(effects()) == 1


@pytest.mark.requirement("OPS-4-18", "OPS-4-19", "OPS-4-17")
def test_every_kind_of_request_is_refused_with_403_and_one_reference(
    signed_out: SessionOf, jacket: Item, effects: Effects
) -> None:
    browser = signed_out.browser()
    script = {"Accept": "application/json", "Sec-Fetch-Mode": "cors"}
    page = browser.get("/search/?q=a", headers={"Accept": "text/html"})
    form = browser.post("/buy/", ORDER, headers={"Accept": "text/html"})
    fetched = browser.post("/notes/", NOTE, content_type=JSON, headers=script)
    for response in (page, form, fetched):
        assert response.status_code == 403
        assert [name for name, _ in response.items() if name == "Poppy-Operation"] != []
        assert reference(response)[0] == signed_out.sid
        assert "no-store" in response["Cache-Control"]
    assert effects() == []
    for response in (page, form, fetched):
        signed_out.approve(reference(response)[1])
    assert browser.get("/search/?q=a").content == b"found"
    assert browser.post("/notes/", NOTE, content_type=JSON).json() == {"done": True}
    assert effects() == ["search a", "note café"]


@pytest.mark.requirement("OPS-4-32", "OPS-4-33", "OPS-4-36")
@pytest.mark.parametrize(
    "headers",
    [{"Accept": "text/html"}, {"Accept": "application/json"}, {"HX-Request": "true"},
     {"HX-Request": "true", "HX-Boosted": "true"}, {}],
)  # fmt: skip
@pytest.mark.parametrize("debug", [False, True])
def test_no_body_for_a_browser_holds_anything_of_the_operation(
    debug: bool,
    headers: dict[str, str],
    signed_out: SessionOf,
    jacket: Item,
    site: Behaviour,
    settings: Any,
) -> None:
    settings.DEBUG = debug
    browser = signed_out.browser(quiet())
    bodies = []
    first = browser.post("/refund/", ORDER, headers=headers)
    bodies.append(first.content.decode())
    ref = reference(first)[1]
    operation = signed_out.look_up(ref)
    signed_out.approve(ref)
    bodies.append(
        browser.post("/refund/", {**ORDER, "gift": "1"}, headers=headers).content.decode()
    )

    def meanwhile(_: Any) -> None:
        site.before_effect = lambda _: None
        under_way = browser.post("/refund/", ORDER, headers=headers)
        bodies.append(under_way.content.decode())
        raise TimeoutError

    site.before_effect = meanwhile
    bodies.append(browser.post("/refund/", ORDER, headers=headers).content.decode())
    assert len(bodies) == 4
    secrets = [
        operation["operation_id"],
        operation["revision"],
        operation["summary"],
        operation["expires_at"],
        "70.00",
        ref,
        signed_out.sid,
        *(
            revision.ref
            for revision in Operation.objects.get(
                operation_id=operation["operation_id"]
            ).revisions.all()
        ),
    ]
    for body in bodies:
        assert not [secret for secret in secrets if secret in body]
        assert "expires_at" not in body
        if headers.get("Accept") == "application/json":
            assert json.loads(body) == {"error": "approval_required"}


def test_a_page_says_in_debug_which_fields_differ_and_never_their_values(
    signed_out: SessionOf, jacket: Item, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.DEBUG = True
    browser = signed_out.browser()
    recorded(signed_out, browser, "/buy/", {**ORDER, "nonce": "abc-123"})
    caplog.set_level("INFO", "poppy_operations")
    response = browser.post("/buy/", {**ORDER, "nonce": "xyz-789"})
    assert b"nonce" in response.content
    assert b"abc-123" not in response.content
    [record] = [record for record in caplog.records if "other content" in record.getMessage()]
    assert ": nonce (operation_id " in record.getMessage()
    caplog.clear()
    assert ask(browser, "/buy/", TWO)  # other terms: nothing to say
    assert not [record for record in caplog.records if "other content" in record.getMessage()]

"""Two requests of an API are compared by what they mean (check 3)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test.client import encode_multipart

from poppy_operations import Terms
from tests.agents import ORDER, ApiClient, approval_of, operation_in
from tests.shop.orders import ApiBehaviour

pytestmark = pytest.mark.usefixtures("transactions")
Effects = Callable[[], list[str]]
PATHS = ["/api/class/", "/api/plain/"]


@pytest.mark.requirement("OPS-6-49", "OPS-6-50")
@pytest.mark.parametrize("with_content", [True, False])
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "body",
    [
        '{"quantity": 1, "sku": "jacket"}',
        ' {"sku":"jacket",\n"quantity":1}',
        '{"sku": "\\u006aacket", "quantity": 1.0}',
        '{"sku": "jacket", "quantity": 10e-1}',
    ],
)
def test_the_same_values_spelled_otherwise_are_the_same_request(
    body: str,
    path: str,
    with_content: bool,
    agents_api: ApiClient,
    shop: ApiBehaviour,
    effects: Effects,
) -> None:
    shop.with_content = with_content
    operation = agents_api.ask(path=path)

    assert agents_api.approve(operation, path=path, body=body).status_code == 201
    assert len(effects()) == 1


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "body", [{"sku": "jacket"}, {"sku": "jacket", "quantity": "1"}, {"sku": " jacket "}]
)
def test_what_the_serializer_makes_equal_is_equal(
    body: Any, path: str, agents_api: ApiClient, shop: ApiBehaviour, effects: Effects
) -> None:
    operation = agents_api.ask(path=path)
    assert agents_api.approve(operation, path=path, body=body).status_code == 201
    assert len(effects()) == 1

    shop.with_content = False
    operation = agents_api.ask(path=path)
    assert operation_in(agents_api.approve(operation, path=path, body=body))
    assert len(effects()) == 1


@pytest.mark.requirement("OPS-6-20", "OPS-6-50", "OPS-9-02", "OPS-6-37", "OPS-6-46")
@pytest.mark.parametrize("with_content", [True, False])
@pytest.mark.parametrize(
    "change",
    [
        {"body": {**ORDER, "note": "leave it at the door"}},
        {"body": {**ORDER, "quantity": 2}},
        {"body": {**ORDER, "gift": False}},
        {"body": {**ORDER, "nested": {"deep": [1]}}},
        {"path": "/api/class/?note=1"},
        {"path": "/api/class/7/"},
        {"path": "/api/function/"},
        {"method": "PUT"},
        {"headers": {"Host": "other.example"}},
    ],
    ids=["member", "value", "false", "nested", "query", "argument", "view", "method", "host"],
)
def test_what_the_terms_do_not_mention_must_not_ride_along(
    change: dict[str, Any],
    with_content: bool,
    agents_api: ApiClient,
    shop: ApiBehaviour,
    effects: Effects,
) -> None:
    shop.with_content = with_content
    operation = agents_api.ask()
    other = operation_in(agents_api.approve(operation, **change))

    assert other["revision"] != operation["revision"]
    assert effects() == []
    assert agents_api.approve(operation).status_code == 201


@pytest.mark.parametrize(
    "query", ["?a=1&b=2", "?b=2&a=1", "?a=%31&b=2"], ids=["same", "order", "escaped"]
)
def test_a_query_is_compared_by_its_values(query: str, agents_api: ApiClient) -> None:
    operation = agents_api.ask(path="/api/class/?a=1&b=2")

    assert agents_api.approve(operation, path=f"/api/class/{query}").status_code == 201


@pytest.mark.parametrize("query", ["?a=1&a=2", "?a=2&a=1"])
def test_the_order_of_one_fields_values_counts(query: str, agents_api: ApiClient) -> None:
    operation = agents_api.ask(path="/api/class/?a=1&a=2")
    answer = agents_api.approve(operation, path=f"/api/class/{query}")

    assert answer.status_code == (201 if query == "?a=1&a=2" else 403)


@pytest.mark.requirement("OPS-6-50")
def test_the_site_says_what_does_not_matter(agents_api: ApiClient, effects: Effects) -> None:
    path = "/api/ignoring/"
    body = {**ORDER, "note": "n1", "client": {"trace": "t1", "name": "c"}}
    operation = agents_api.ask(path=f"{path}?page=1", body=body)
    named = {**body, "client": {"trace": "t1", "name": "d"}}
    assert operation_in(agents_api.approve(operation, path=path, body=named))

    other = {**ORDER, "note": "n2", "client": {"trace": "t2", "name": "c"}}
    assert agents_api.approve(operation, path=f"{path}?page=2", body=other).status_code == 201
    assert effects() == ["api.transfer 1 jacket"]


@pytest.mark.requirement("OPS-6-49")
@pytest.mark.parametrize("path", ["/api/class/", "/api/function/"])
def test_forms_and_uploads_are_compared_field_by_field(
    path: str, agents_api: ApiClient, effects: Effects
) -> None:
    def form(boundary: str, content: bytes = b"a letter", **fields: str) -> dict[str, Any]:
        upload = SimpleUploadedFile("letter.txt", content, "text/plain")
        data = {"sku": "jacket", "quantity": "1", **fields, "letter": upload}
        return {
            "path": path,
            "body": encode_multipart(boundary, data),
            "content_type": f"multipart/form-data; boundary={boundary}",
        }

    operation = agents_api.ask(**form("one"))
    assert operation_in(agents_api.approve(operation, **form("two", b"another letter")))
    assert operation_in(agents_api.approve(operation, **form("two", note="x")))
    assert effects() == []
    assert agents_api.approve(operation, **form("two")).status_code == 201
    assert len(effects()) == 1


def test_a_body_that_the_view_does_not_look_at_counts_all_the_same(
    agents_api: ApiClient, shop: ApiBehaviour, effects: Effects
) -> None:
    values = {"sku": "jacket", "quantity": 1}
    shop.terms = lambda request: Terms(values)
    shop.allowed = lambda request: None
    xml = {"body": "<order/>", "content_type": "application/xml"}
    operation = agents_api.ask(**xml)
    assert operation_in(
        agents_api.approve(operation, body="<other/>", content_type=xml["content_type"])
    )
    assert effects() == []
    assert agents_api.approve(operation, **xml).status_code == 201


def test_what_the_view_does_to_its_data_has_no_influence(
    agents_api: ApiClient, site: Any, effects: Effects
) -> None:
    operation = agents_api.ask()
    site.before_effect = lambda operation: operation.terms.update(quantity=9)
    with pytest.raises((TypeError, AttributeError)):
        agents_api.approve(operation)
    assert effects() == []


@pytest.mark.parametrize("method", ["PUT", "POST"])
def test_a_form_that_is_put_counts_like_one_that_is_posted(
    method: str, agents_api: ApiClient, shop: ApiBehaviour, effects: Effects
) -> None:
    """Django parses the forms of POST only."""
    shop.terms = lambda request: Terms({"sku": "jacket", "quantity": 1})
    form = {
        "path": "/api/plain/",
        "method": method,
        "content_type": "application/x-www-form-urlencoded",
    }
    operation = agents_api.ask(body="note=1&gift=2", **form)
    assert operation_in(agents_api.approve(operation, body="note=2&gift=2", **form))
    assert effects() == []
    assert agents_api.approve(operation, body="gift=%32&note=1", **form).status_code == 201


def test_the_log_names_the_fields_that_differ_and_never_their_values(
    agents_api: ApiClient, caplog: pytest.LogCaptureFixture
) -> None:
    operation = agents_api.ask()
    agents_api.send(approval_of(operation), body=json.dumps({**ORDER, "note": "a secret"}))

    assert "a secret" not in caplog.text


@pytest.mark.parametrize("path", ["/api/bare/", "/api/function/", "/api/class/"])
@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ("[" * 100_000, "application/json"),
        ("a" * 3_000_000, "image/png"),
        ("{}", "application/json; charset=zlib"),
        ("{}", "image/png; charset=idna"),
    ],
    ids=["nested", "large", "no charset", "no charset either"],
)
def test_content_that_the_view_does_not_look_at_is_no_fault_of_the_server(
    body: str, content_type: str, path: str, agents_api: ApiClient, shop: ApiBehaviour
) -> None:
    shop.terms = lambda request: Terms({"sku": "jacket", "quantity": 1})
    agents_api.session.client.raise_request_exception = False
    request = {"body": body, "content_type": content_type, "path": path}
    answer = agents_api.send(**request)

    assert answer.status_code in {400, 403}
    if answer.status_code == 403:
        assert agents_api.approve(operation_in(answer), **request).status_code == 201

"""What poppy.json says about operations."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from django.urls import resolve

from poppy_operations.advertising import endpoint_url, merge_into, operations_fragment, problems
from poppy_operations.declarations.registry import registry
from poppy_operations.views.endpoint import operations
from tests.configuring import configure

ENDPOINT = "https://shop.example/poppy/operations"
JOIN = "https://shop.example/poppy/join"
DOCUMENT: dict[str, Any] = {
    "version": "1.0",
    "web": {"browser_session_endpoint": JOIN},
    "extensions": {"operations": [{"version": "3", "endpoint": ENDPOINT}]},
}


@pytest.fixture
def nothing_on_the_website(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(registry), "on_website", property(lambda self: False))


def issued_by(settings: Any, issuer: str) -> dict[str, Any]:
    configure(settings, ISSUER=issuer)
    return merge_into({"web": {"browser_session_endpoint": f"{issuer}/poppy/join"}})


@pytest.mark.requirement("OPS-2-01", "OPS-2-02")
def test_the_fragment_names_the_version_and_the_endpoint() -> None:
    assert operations_fragment() == {"operations": [{"version": "3", "endpoint": ENDPOINT}]}
    assert resolve("/poppy/operations").func is operations


@pytest.mark.requirement("OPS-2-04")
def test_without_operations_on_the_website_there_is_no_endpoint(
    nothing_on_the_website: None,
) -> None:
    assert operations_fragment() == {"operations": [{"version": "3"}]}
    assert problems(merge_into({})) == []


def test_the_endpoint_is_on_the_issuers_origin(settings: Any) -> None:
    configure(settings, ISSUER="https://shop.example:8443/eu/")

    assert endpoint_url() == "https://shop.example:8443/poppy/operations"


@pytest.mark.requirement("OPS-2-01")
def test_our_entry_joins_those_of_others() -> None:
    document = {
        "name": "Shop",
        "extensions": {
            "x.example": [{"version": "1"}],
            "operations": [{"version": "2", "at": "/old"}, {"version": "3"}, {"version": 3}],
        },
    }
    before = copy.deepcopy(document)

    merged = merge_into(document)

    assert merged == {
        "name": "Shop",
        "extensions": {
            "x.example": [{"version": "1"}],
            "operations": [
                {"version": "2", "at": "/old"},
                {"version": 3},
                {"version": "3", "endpoint": ENDPOINT},
            ],
        },
    }
    assert document == before
    assert merge_into(merged) == merged
    assert merge_into({})["extensions"] == operations_fragment()


@pytest.mark.parametrize(
    ("document", "what"),
    [
        ({"extensions": []}, "`extensions` is an object"),
        ({"extensions": {"operations": {}}}, "array of objects"),
        ({"extensions": {"operations": ["3"]}}, "array of objects"),
    ],
)
def test_a_document_of_another_shape_is_refused(document: dict[str, Any], what: str) -> None:
    with pytest.raises(TypeError, match=what):
        merge_into(document)


@pytest.mark.requirement("OPS-2-03")
def test_a_good_document_has_no_problems() -> None:
    assert problems(DOCUMENT) == []
    assert problems(merge_into({"web": {"browser_session_endpoint": JOIN}})) == []


@pytest.mark.parametrize(
    ("document", "what"),
    [
        (None, "The document is an object."),
        ({}, "`extensions.operations` is an array"),
        ({"extensions": 1}, "`extensions.operations` is an array"),
        ({"extensions": {"operations": []}}, "none has"),
        ({"extensions": {"operations": [{"version": 3}]}}, "none has"),
        ({"extensions": {"operations": [{"version": "3"}] * 2}}, "2 have"),
        ({"extensions": {"operations": [{"version": "3"}]}}, "`endpoint` is missing"),
    ],
)
def test_a_document_without_our_entry_is_a_problem(document: object, what: str) -> None:
    (problem,) = problems(document)

    assert what in problem


@pytest.mark.requirement("OPS-2-03")
@pytest.mark.parametrize("web", [None, {}, "x", {"browser_session_endpoint": 1}])
def test_an_endpoint_without_the_join_beside_it_is_a_problem(web: Any) -> None:
    (problem,) = problems({**DOCUMENT, "web": web})

    assert "`web.browser_session_endpoint` is missing" in problem


def test_an_endpoint_elsewhere_is_a_problem() -> None:
    document = copy.deepcopy(DOCUMENT)
    document["extensions"]["operations"][0]["endpoint"] = "https://old.example/operations"

    (problem,) = problems(document)

    assert ENDPOINT in problem


def test_an_endpoint_that_is_not_served_is_a_problem(nothing_on_the_website: None) -> None:
    (problem,) = problems(DOCUMENT)

    assert "no action returns operations on the website" in problem


@pytest.mark.requirement("OPS-2-02")
def test_plain_http_is_a_problem(settings: Any) -> None:
    found = problems(issued_by(settings, "http://shop.example"))

    assert len(found) == 2
    assert all("HTTPS" in problem for problem in found)


@pytest.mark.parametrize(
    ("issuer", "debug"),
    [
        ("http://shop.example", True),
        ("http://127.0.0.1:8000", False),
        ("http://localhost:8000", False),
        ("http://[::1]:8000", False),
    ],
)
def test_plain_http_is_for_developing(issuer: str, debug: bool, settings: Any) -> None:
    settings.DEBUG = debug

    assert problems(issued_by(settings, issuer)) == []


@pytest.mark.parametrize("url", ["/poppy/join", "https://[", "ftp://127.0.0.1/", "https:///join"])
def test_a_join_that_is_no_absolute_https_url_is_a_problem(url: str) -> None:
    (problem,) = problems({**DOCUMENT, "web": {"browser_session_endpoint": url}})

    assert repr(url) in problem

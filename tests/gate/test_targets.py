"""Where a request goes: one spelling for each site, and the whole path (check 3)."""

from __future__ import annotations

from typing import Any

import pytest
from django.http import HttpRequest
from django.test import RequestFactory
from django.urls import ResolverMatch

from poppy_operations.doors.http_content import http_content

FACTORY = RequestFactory()


def target(request: HttpRequest) -> str:
    return http_content(request, action="buy", data=request.POST).target_text


def at(host: str, *, secure: bool = False, **more: Any) -> str:
    return target(FACTORY.post("/buy/", secure=secure, headers={"host": host}, **more))


@pytest.fixture(autouse=True)
def every_host(settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["*"]


@pytest.mark.parametrize(
    ("one", "other", "secure"),
    [
        ("shop.example", "SHOP.Example", False),
        ("shop.example", "shop.example.", False),
        ("shop.example", "shop.example:80", False),
        ("shop.example", "shop.example:443", True),
        ("shop.example:8000", "SHOP.example.:08000", False),
        ("[::1]", "[0:0:0:0:0:0:0:1]:80", False),
        ("[2001:db8::a]:8000", "[2001:DB8:0::A]:8000", False),
    ],
)
def test_a_site_is_one_site_however_its_address_is_spelled(
    one: str, other: str, secure: bool
) -> None:
    assert at(one, secure=secure) == at(other, secure=secure)


@pytest.mark.parametrize(
    ("one", "other", "secure"),
    [
        ("shop.example", "other.example", False),
        ("shop.example", "shop.example:8000", False),
        ("shop.example:8000", "shop.example:8001", False),
        ("shop.example", "shop.example:443", False),
        ("shop.example", "shop.example:80", True),
        ("[::1]", "[::2]", False),
    ],
)
@pytest.mark.requirement("OPS-6-20", "OPS-9-02")
def test_another_host_or_port_is_another_site(one: str, other: str, secure: bool) -> None:
    assert at(one, secure=secure) != at(other, secure=secure)


@pytest.mark.parametrize("host", ["[::::1]", "shop.example:99999", "[1:2]"])
def test_an_address_that_is_none_is_compared_as_it_is(host: str) -> None:
    assert at(host) == at(host.upper())
    assert at(host) != at("shop.example")


@pytest.mark.requirement("OPS-6-20", "OPS-9-02")
def test_the_scheme_is_part_of_the_target(settings: Any) -> None:
    assert at("shop.example:8000") != at("shop.example:8000", secure=True)
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    forwarded = at("shop.example", HTTP_X_FORWARDED_PROTO="https")
    assert forwarded == at("shop.example", secure=True, HTTP_X_FORWARDED_PROTO="https")
    assert forwarded != at("shop.example", HTTP_X_FORWARDED_PROTO="http")


def routed(path: str, route: str = "wild/", **options: Any) -> str:
    """The target of a request whose route says the same whatever its path."""
    request = FACTORY.post(path, **options)
    request.resolver_match = ResolverMatch(lambda: None, (), {"user": "alice"}, route=route)
    return target(request)


@pytest.mark.requirement("OPS-6-20", "OPS-9-02")
def test_the_whole_path_is_part_of_the_target_though_its_route_says_the_same() -> None:
    assert routed("/wild/alice/a.txt") == routed("/wild/alice/a.txt")
    assert routed("/wild/alice/a.txt") != routed("/wild/alice/secret/b.txt")
    assert routed("/wild/alice/a") != routed("/wild/alice//a")
    assert routed("/wild/alice/a") != routed("/wild/alice/A")


@pytest.mark.requirement("OPS-6-20")
def test_the_method_is_part_of_the_target() -> None:
    assert target(FACTORY.post("/buy/")) != target(FACTORY.put("/buy/"))


def test_the_path_is_decoded_as_the_site_resolves_it() -> None:
    assert routed("/wild/caf%C3%A9/%61") == routed("/wild/caf%c3%a9/a")
    assert routed("/wild/a%252F") != routed("/wild/a%2F")


def test_where_the_site_is_mounted_is_part_of_the_path() -> None:
    assert routed("/buy/", SCRIPT_NAME="/one") != routed("/buy/", SCRIPT_NAME="/two")


def test_a_route_that_moved_on_is_another_target() -> None:
    assert routed("/wild/alice/a.txt") != routed("/wild/alice/a.txt", "wild/<str:user>/<path:p>")

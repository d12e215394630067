"""An approval performs what it was asked for, where it was asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.test import Client
from django.urls import re_path

from poppy_operations import Action, Terms
from poppy_operations.declarations.registry import registry
from tests.agents import SessionOf, approval_of, operation_in, reference
from tests.shop.models import Effect
from tests.urls import urlpatterns as of_the_shop

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.website.test_targets")]
Effects = Callable[[], list[str]]

fetch = Action("targets.fetch", effects="database")
registry.discard(fetch)  # There only while these tests run.


def terms(request: HttpRequest, **kwargs: str) -> Terms:
    """Whose, which the route says, and nothing of what."""
    return Terms(kwargs)


@fetch.view(terms=terms)
def fetching(request: HttpRequest, **kwargs: str) -> HttpResponseBase:
    """Give it away."""
    Effect.objects.create(kind="fetch", key=request.path)
    return redirect("/done/")


@fetch.api(terms=terms)
def fetching_by_api(request: HttpRequest, **kwargs: str) -> HttpResponseBase:
    """The same for agents."""
    Effect.objects.create(kind="fetch", key=request.path)
    return redirect("/done/")


urlpatterns = [
    *of_the_shop,
    re_path(r"^wild/(?P<user>\w+)/.*$", fetching),
    re_path(r"^either/(?:one|two)/(?P<user>\w+)/$", fetching),
    re_path(r"^api-wild/(?P<user>\w+)/.*$", fetching_by_api),
]


@pytest.fixture(autouse=True)
def declared() -> Any:
    registry.add(fetch)
    yield
    registry.discard(fetch)


@pytest.mark.requirement("OPS-6-20")
@pytest.mark.parametrize(
    ("approved", "performed"),
    [
        ("/wild/alice/a.txt", "/wild/alice/secret/b.txt"),
        ("/either/one/alice/", "/either/two/alice/"),
        ("/wild/alice/a.txt", "/wild/alice/a.txt/"),
    ],
)
def test_what_was_approved_at_one_path_is_not_performed_at_another(
    approved: str, performed: str, signed_out: SessionOf, effects: Effects
) -> None:
    browser = signed_out.browser()
    ref = reference(browser.post(approved))[1]
    signed_out.approve(ref)
    elsewhere = browser.post(performed)
    assert elsewhere.status_code == 403
    assert reference(elsewhere)[1] != ref
    assert effects() == []
    assert browser.post(approved).status_code == 302
    assert effects() == [f"fetch {approved}"]


@pytest.mark.requirement("OPS-6-20")
def test_an_agents_approval_is_not_performed_at_another_path(
    signed_out: SessionOf, effects: Effects
) -> None:
    def send(path: str, approval: Any = None) -> Any:
        return signed_out.client.post(path, headers=signed_out.headers(approval))

    approval = approval_of(operation_in(send("/api-wild/alice/a.txt")))
    other = operation_in(send("/api-wild/alice/b.txt", approval))
    assert other["operation_id"] != approval["operation_id"]
    assert effects() == []
    assert send("/api-wild/alice/a.txt", approval).status_code == 302
    told = send("/api-wild/alice/b.txt", approval)
    assert (told.status_code, told.json()["status"]) == (200, "performed")
    assert len(effects()) == 1


@pytest.mark.requirement("OPS-6-20")
def test_what_was_approved_over_http_is_not_performed_over_https(
    signed_out: SessionOf, effects: Effects, settings: Any
) -> None:
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    browser = signed_out.browser()

    def post(scheme: str) -> Any:
        return browser.post("/wild/alice/a.txt", headers={"x-forwarded-proto": scheme})

    signed_out.approve(reference(post("http"))[1])
    assert post("https").status_code == 403
    assert effects() == []
    assert post("http").status_code == 302


def test_one_site_in_another_spelling_performs_what_was_approved(
    signed_out: SessionOf, effects: Effects
) -> None:
    browser: Client = signed_out.browser()
    signed_out.approve(reference(browser.post("/wild/alice/a.txt"))[1])
    spelled = {"host": "SHOP.example:80"}
    assert browser.post("/wild/alice/a.txt", headers=spelled).status_code == 302
    assert len(effects()) == 1

"""A site below a path of its host, as the server says or ``FORCE_SCRIPT_NAME``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from django.core.handlers.wsgi import get_script_name
from django.http import HttpRequest, JsonResponse
from django.test import Client
from django.urls import path, set_script_prefix

from poppy_operations.advertising import join_url, merge_into, problems
from poppy_operations.models import Join
from tests.agents import AUDIENCE
from tests.configuring import configure
from tests.joins.joining import TYPED, agent_headers, ask_for_ticket
from tests.shop.endings import transfer
from tests.urls import urlpatterns as of_the_site

APP = "/shops/outdoor"


def poppy_json(request: HttpRequest) -> JsonResponse:
    document = merge_into({"web": {"browser_session_endpoint": join_url()}})
    return JsonResponse({**document, "problems": problems(document)})


urlpatterns = [
    *of_the_site,
    path("poppy.json", poppy_json),
]


class ServedClient(Client):
    """A client that tells Django where the site is, as a server's handler does."""

    def request(self, **environ: Any) -> Any:
        set_script_prefix(get_script_name(self._base_environ(**environ)))
        return super().request(**environ)


@pytest.fixture(params=["SCRIPT_NAME", "FORCE_SCRIPT_NAME"])
def a_client(request: pytest.FixtureRequest, settings: Any) -> Iterator[Callable[..., Client]]:
    """Make a client of a server that serves the site below a path."""
    settings.ROOT_URLCONF = "tests.joins.test_below_a_path"
    if request.param == "FORCE_SCRIPT_NAME":
        settings.FORCE_SCRIPT_NAME = APP
        yield ServedClient
    else:
        yield partial(ServedClient, SCRIPT_NAME=APP)
    set_script_prefix("/")


def ticket_url(a_client: Callable[..., Client], body: Any = None) -> str:
    answer = a_client().post(
        "/poppy/join", body or {}, content_type="application/json", headers=agent_headers()
    )
    assert answer.status_code == 200, answer.content
    url: str = answer.json()["url"]
    return url


def test_the_address_of_a_ticket_is_below_the_path(a_client: Callable[..., Client]) -> None:
    assert ticket_url(a_client).startswith(f"http://testserver{APP}/poppy/join/")


@pytest.mark.parametrize(
    ("return_to", "location"),
    [
        (None, f"{APP}/"),
        (f"{APP}/orders/", f"{APP}/orders/"),
        (f"http://testserver{APP}/orders/", f"http://testserver{APP}/orders/"),
        ("/other-app/", "/other-app/"),
    ],
)
def test_a_join_goes_to_a_page_of_the_site(
    a_client: Callable[..., Client], return_to: str | None, location: str
) -> None:
    url = ticket_url(a_client, {"return_to": return_to})
    browser = a_client()
    response = browser.get(url.removeprefix(f"http://testserver{APP}"), headers=TYPED)
    assert (response.status_code, response["Location"]) == (303, location)
    assert browser.get("/whoami/").json()["joined"] is True


def test_a_page_of_another_host_is_replaced_by_the_sites_first(
    a_client: Callable[..., Client],
) -> None:
    url = ticket_url(a_client, {"return_to": f"http://testserver{APP}/orders/"})
    browser = a_client()
    response = browser.get(
        url.removeprefix(f"http://testserver{APP}"), headers=TYPED, HTTP_HOST="shop.example"
    )
    assert response["Location"] == f"{APP}/"


@pytest.mark.parametrize("issuer", [AUDIENCE, f"{AUDIENCE}{APP}", f"{AUDIENCE}/"])
def test_the_documents_addresses_are_below_the_path_once(
    a_client: Callable[..., Client], settings: Any, issuer: str
) -> None:
    configure(settings, AUDIENCE=issuer)
    document = a_client().get("/poppy.json").json()
    (entry,) = document["extensions"]["operations"]
    assert entry["endpoint"] == f"{AUDIENCE}{APP}/poppy/operations"
    assert document["web"]["browser_session_endpoint"] == f"{AUDIENCE}{APP}/poppy/join"
    assert document["problems"] == []
    assert transfer.has_website_door


def test_the_mark_of_a_site_below_a_path_follows_its_session_cookie(
    a_client: Callable[..., Client], settings: Any
) -> None:
    settings.SESSION_COOKIE_PATH = f"{APP}/"
    url = ticket_url(a_client)
    browser = a_client()
    response = browser.get(url.removeprefix(f"http://testserver{APP}"), headers=TYPED)
    assert {cookie["path"] for cookie in response.cookies.values()} == {f"{APP}/"}
    assert response.cookies.keys() == {"sessionid", "sessionid_agent"}


def test_at_the_root_a_join_goes_to_the_root() -> None:
    url = ask_for_ticket().json()["url"]
    response = Client().get(url.removeprefix("http://testserver"), headers=TYPED)
    assert response["Location"] == "/"
    assert Join.objects.get().return_to == ""

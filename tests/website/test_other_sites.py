"""Sites that are set up in another way than the test site."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from tests.agents import ORDER, SessionOf
from tests.asking import ask, recorded
from tests.shop.models import Item

pytestmark = pytest.mark.django_db

COOKIE = "tenant_session"


class TenantSessions(SessionMiddleware):
    """Keeps the Django session under a cookie of its own, as sites with tenants do."""

    def process_request(self, request: HttpRequest) -> None:
        """Read that cookie."""
        request.session = self.SessionStore(request.COOKIES.get(COOKIE))

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """Set that cookie."""
        response = super().process_response(request, response)
        if "sessionid" in response.cookies:
            response.set_cookie(COOKIE, response.cookies.pop("sessionid").value)
        return response


@pytest.fixture
def tenants(settings: Any) -> None:
    """A site whose sessions have a cookie of another name."""
    settings.MIDDLEWARE = [
        f"{__name__}.TenantSessions" if path.endswith(".SessionMiddleware") else path
        for path in settings.MIDDLEWARE
    ]


@pytest.mark.usefixtures("tenants", "jacket")
def test_an_agents_browser_is_known_by_whatever_cookie_the_site_has(
    signed_in: SessionOf, effects: Callable[[], list[str]]
) -> None:
    browser = signed_in.browser()
    path = "/orders/7/exchange/"
    ref, _approval = recorded(signed_in, browser, path)
    assert effects() == []
    assert browser.post(path, ORDER).status_code == 302
    assert signed_in.status(ref) == "performed"


@pytest.mark.usefixtures("tenants", "jacket")
def test_the_login_of_a_join_ends_whatever_cookie_the_site_has(
    signed_in: SessionOf, time_machine: Any
) -> None:
    browser = signed_in.browser()
    key = browser.cookies[COOKIE].value
    assert browser.get("/plain/").content == b"alice"
    time_machine.move_to(timezone.now() + timedelta(hours=2))
    assert browser.get("/plain/").content == b"AnonymousUser"
    assert browser.cookies[COOKIE].value != key


def test_a_site_without_users_joins_browsers_and_performs(
    signed_out: SessionOf, settings: Any, jacket: Item, effects: Callable[[], list[str]]
) -> None:
    settings.MIDDLEWARE = [path for path in settings.MIDDLEWARE if "Authentication" not in path]
    browser = signed_out.browser()
    recorded(signed_out, browser)
    assert browser.post("/buy/", ORDER).status_code == 302
    assert effects() == ["shop.buy 1 jacket"]


@pytest.fixture(params=["UTC", "Europe/Berlin", "Asia/Kathmandu"])
def naive_times(request: Any, settings: Any) -> None:
    """A site that keeps local times."""
    settings.USE_TZ = False
    settings.TIME_ZONE = request.param


@pytest.mark.usefixtures("naive_times", "jacket")
def test_a_site_without_time_zones_performs_and_says_times_in_utc(
    signed_in: SessionOf, time_machine: Any, effects: Callable[[], list[str]]
) -> None:
    time_machine.move_to("2026-10-08T19:05:00+00:00", tick=False)
    browser = signed_in.browser()
    path = "/orders/7/exchange/"
    ref = ask(browser, path)
    operation = signed_in.look_up(ref)
    assert operation["expires_at"] == "2026-10-08T19:20:00Z"
    assert operation["revision"].startswith("1791487200-")
    signed_in.approve(ref)
    time_machine.move_to("2026-10-08T19:20:00+00:00", tick=False)
    assert browser.post(path, ORDER).status_code == 302
    assert signed_in.status(ref) == "performed"
    assert effects() == ["shop.exchange 1 jacket"]


@pytest.mark.usefixtures("naive_times", "jacket")
def test_an_approval_expires_at_the_second_without_time_zones_too(
    signed_in: SessionOf, time_machine: Any, effects: Callable[[], list[str]]
) -> None:
    time_machine.move_to("2026-10-08T19:05:00+00:00", tick=False)
    browser = signed_in.browser()
    path = "/orders/7/exchange/"
    recorded(signed_in, browser, path)
    time_machine.move_to("2026-10-08T19:20:01+00:00", tick=False)
    assert browser.post(path, ORDER).status_code == 403
    assert effects() == []

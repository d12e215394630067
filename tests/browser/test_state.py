"""What a browser is to the site, and when its requests are the Session's."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.contrib.sessions.models import Session as DjangoSession
from django.db import connection
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext

from poppy_operations.browser.state import Browser, browser_of
from poppy_operations.models import Agent, Join
from poppy_operations.sessions.agents import revoke_agent
from tests.agents import AGENT
from tests.joins.joining import SUBMITTED, a_user, join_browser, ticket_path, whoami


def _request_of(client: Client) -> Any:
    request: Any = client.get("/untouched/").wsgi_request
    return request


def test_a_visitor_without_a_cookie_is_not_looked_up() -> None:
    request: Any = RequestFactory().get("/")
    assert browser_of(request) == Browser(marked=False)


def test_a_visitor_costs_the_session_and_no_more(client: Client, alice: Any) -> None:
    client.force_login(alice)
    request = _request_of(client)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert browser_of(request) == Browser(marked=False)
    assert len(queries) == 1


def test_an_agents_browser_costs_one_query_more(client: Client) -> None:
    join_browser(client)
    request = _request_of(client)
    with CaptureQueriesContext(connection) as queries:
        assert browser_of(request).session is not None
        assert browser_of(request).session is not None
    tables = [query["sql"].split(" FROM ")[1].split()[0] for query in queries]
    assert [table.strip('`"') for table in tables] == ["django_session", "poppy_operations_join"]


@pytest.mark.ambiguity("AMB-31")
def test_amb_31_only_the_joins_own_login_or_none_is_the_sessions(alice: Any, bob: Any) -> None:
    by_token, by_none, keeps_login, logs_in_later, other_later = (Client() for _ in range(5))
    join_browser(by_token, alice)
    assert whoami(by_token)["session"] == ["ses_1", str(alice.pk), True]
    join_browser(by_none)
    session = by_none.session
    session["cart"] = "anonymous state is no login"
    session.save()
    assert whoami(by_none)["session"] == ["ses_1", None, True]
    keeps_login.force_login(alice)
    assert keeps_login.post(ticket_path(), headers=SUBMITTED).status_code == 303
    assert whoami(keeps_login)["session"] is None
    join_browser(logs_in_later, alice)
    logs_in_later.get("/in/alice/")
    facts = whoami(logs_in_later)
    assert facts == {"user": "alice", "marked": True, "joined": True, "session": None}
    join_browser(other_later, alice)
    other_later.get("/in/bob/")
    facts = whoami(other_later)
    assert facts == {"user": "bob", "marked": True, "joined": False, "session": None}


def test_a_login_after_a_signed_out_join_is_the_browsers_own(client: Client, alice: Any) -> None:
    join_browser(client)
    client.get("/in/alice/")
    assert whoami(client) == {"user": "alice", "marked": True, "joined": True, "session": None}


def test_another_user_by_other_means_is_not_the_sessions(client: Client, alice: Any) -> None:
    join_browser(client, alice)
    request = _request_of(client)
    request.user = a_user("impersonated")
    assert browser_of(request).session is None


def test_a_login_that_a_view_does_not_look_at_is_the_browsers_own(
    client: Client, alice: Any
) -> None:
    join_browser(client)
    client.get("/in/alice/")
    request = _request_of(client)
    request.user = AnonymousUser()  # as in a REST framework view that authenticates nobody
    assert browser_of(request).session is None


def test_a_login_of_somebody_who_is_gone_is_none(client: Client, alice: Any) -> None:
    join_browser(client)
    client.get("/in/alice/")
    alice.delete()
    assert whoami(client) == {
        "user": "",
        "marked": True,
        "joined": True,
        "session": ["ses_1", None, True],
    }


def test_a_site_without_users_has_signed_out_sessions(client: Client) -> None:
    join_browser(client)
    request = _request_of(client)
    del request.user
    session = browser_of(request).session
    assert session is not None
    assert session.account is None


def test_an_account_that_is_closed_is_no_session(client: Client, alice: Any) -> None:
    join_browser(client, alice)
    alice.is_active = False
    alice.save()
    assert whoami(client) == {"user": "", "marked": True, "joined": True, "session": None}


@pytest.mark.parametrize("with_account", [True, False])
def test_a_copied_session_is_not_joined(client: Client, alice: Any, with_account: bool) -> None:
    join_browser(client, alice if with_account else None)
    row = DjangoSession.objects.get(pk=client.cookies["sessionid"].value)
    copied = "c" * 32
    DjangoSession.objects.create(
        pk=copied, session_data=row.session_data, expire_date=row.expire_date
    )
    copy = Client()
    copy.cookies["sessionid"] = copied
    assert whoami(copy) == {"user": "", "marked": True, "joined": False, "session": None}
    assert whoami(client)["joined"] is True


def test_a_join_is_live_until_its_end(client: Client, time_machine: Any) -> None:
    time_machine.move_to(datetime(2026, 10, 8, 19, 20, tzinfo=UTC), tick=False)
    join_browser(client)
    time_machine.shift(timedelta(seconds=3599))
    assert whoami(client)["joined"] is True
    time_machine.shift(timedelta(seconds=1))
    assert whoami(client) == {"user": "", "marked": True, "joined": False, "session": None}


def test_a_revoked_agents_browser_is_not_joined(client: Client) -> None:
    join_browser(client)
    revoke_agent(AGENT.client_id)
    assert whoami(client) == {"user": "", "marked": True, "joined": False, "session": None}


def test_an_agent_that_is_allowed_again_does_not_get_its_joins_back(client: Client) -> None:
    join_browser(client)
    revoke_agent(AGENT.client_id)
    Agent.objects.update(status=Agent.Status.ALLOWED)
    assert whoami(client)["joined"] is False


def test_a_join_whose_row_is_gone_leaves_the_mark(client: Client, alice: Any) -> None:
    join_browser(client, alice)
    Join.objects.all().delete()
    assert whoami(client) == {"user": "", "marked": True, "joined": False, "session": None}

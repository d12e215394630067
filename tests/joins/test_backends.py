"""The login of a join is made with a backend that knows the user, and no fault loses its ticket."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth import user_logged_in
from django.contrib.auth.backends import BaseBackend
from django.db import OperationalError
from django.test import Client, RequestFactory
from django.utils import timezone

from poppy_operations.browser import joins
from poppy_operations.browser.given_logins import login_backend
from poppy_operations.browser.joins import join_browser as join_by_provider
from poppy_operations.models import Join
from poppy_operations.sessions.session import Session
from tests.agents import AGENT
from tests.joins.joining import TYPED, ask_for_ticket, join_browser, ticket_path, whoami

MODEL = "django.contrib.auth.backends.ModelBackend"
REMOTE = "django.contrib.auth.backends.RemoteUserBackend"
HERE = "tests.joins.test_backends"


class PermissionsOnly:
    """A backend that knows what people may do, and nobody."""

    def has_perm(self, user: Any, permission: str, obj: Any = None) -> bool:
        return False


class PermissionsByBase(BaseBackend):
    """The same, with Django's own base."""


@pytest.mark.parametrize("backend", ["PermissionsOnly", "PermissionsByBase"])
@pytest.mark.parametrize("first", [True, False])
def test_a_backend_that_knows_nobody_does_not_matter(
    settings: Any, client: Client, alice: Any, backend: str, first: bool
) -> None:
    backends = [f"{HERE}.{backend}", MODEL]
    settings.AUTHENTICATION_BACKENDS = backends if first else backends[::-1]
    join_browser(client, alice)
    assert whoami(client)["session"] == ["ses_1", str(alice.pk), True]
    assert client.session["_auth_user_backend"] == MODEL


def test_header_sign_on_gets_the_login_only_where_nothing_else_knows_the_user(
    settings: Any, alice: Any
) -> None:
    settings.AUTHENTICATION_BACKENDS = [REMOTE, MODEL]
    assert login_backend(alice) == MODEL
    settings.AUTHENTICATION_BACKENDS = [REMOTE]
    assert login_backend(alice) == REMOTE


@pytest.mark.parametrize("number", [1, 2])
def test_there_is_no_ticket_where_no_backend_would_know_the_user(
    settings: Any, alice: Any, number: int
) -> None:
    settings.AUTHENTICATION_BACKENDS = [f"{HERE}.PermissionsOnly"] * number
    refused = ask_for_ticket(alice)
    assert (refused.status_code, refused.json()) == (403, {"error": "invalid_session"})
    assert not Join.objects.exists()


def test_a_ticket_is_kept_where_no_backend_knows_the_user_any_more(
    settings: Any, client: Client, alice: Any
) -> None:
    path = ticket_path(alice)
    settings.AUTHENTICATION_BACKENDS = [f"{HERE}.PermissionsOnly"]
    assert client.get(path, headers=TYPED).status_code == 400
    settings.AUTHENTICATION_BACKENDS = [MODEL]
    assert client.get(path, headers=TYPED).status_code == 303


def test_a_providers_join_of_a_user_whom_no_backend_knows_is_none(
    settings: Any, client: Client, alice: Any
) -> None:
    settings.AUTHENTICATION_BACKENDS = [f"{HERE}.PermissionsOnly"]
    request = RequestFactory().get("/")
    request.session = client.session
    session = Session(
        client_id=AGENT.client_id,
        user_id="u1",
        account=str(alice.pk),
        sid="ses_1",
        declared=True,
    )
    assert join_by_provider(request, session, alice, timezone.now()) is False
    assert Join.objects.get().redeemed_at is None
    assert dict(request.session.items()) == {}


# Faults


class Fault(Exception):
    """What a receiver of the site raises."""


@pytest.fixture
def faults() -> Any:
    """How many logins a receiver of the site lets fail."""
    left = [1]

    def fail(**named: Any) -> None:
        if left.pop():
            raise Fault

    user_logged_in.connect(fail)
    yield left
    user_logged_in.disconnect(fail)


def test_a_fault_while_the_login_is_made_loses_no_ticket(alice: Any, faults: list[int]) -> None:
    client = Client(raise_request_exception=False)
    path = ticket_path(alice)
    assert client.get(path, headers=TYPED).status_code == 500
    assert whoami(client)["user"] == ""
    faults.append(0)
    assert client.get(path, headers=TYPED).status_code == 303
    assert whoami(client)["session"] == ["ses_1", str(alice.pk), True]


@pytest.mark.parametrize("with_account", [True, False])
def test_a_database_that_is_in_the_way_later_loses_no_ticket(
    client: Client, alice: Any, with_account: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = ticket_path(alice if with_account else None)
    bind = joins._bind

    def fail(*arguments: Any, **named: Any) -> bool:
        monkeypatch.setattr(joins, "_bind", bind)
        raise OperationalError

    monkeypatch.setattr(joins, "_bind", fail)
    refused = client.get(path, headers=TYPED)
    assert (refused.status_code, refused["Retry-After"]) == (503, "1")
    assert whoami(client) == {"user": "", "marked": False, "joined": False, "session": None}
    assert client.get(path, headers=TYPED).status_code == 303
    assert whoami(client)["joined"] is True


def test_a_fault_leaves_no_login_that_would_be_the_browsers_own(
    client: Client, alice: Any, monkeypatch: pytest.MonkeyPatch, faults: list[int]
) -> None:
    ticket_path(alice)
    request: Any = RequestFactory().get("/")
    request.session = client.session
    with pytest.raises(Fault):
        joins.redeem(request, Join.objects.get(), alice, timezone.now())
    assert "_auth_user_id" not in request.session
    assert not request.user.is_authenticated


def test_a_ticket_that_another_browser_used_meanwhile_stays_used(
    alice: Any, faults: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = ticket_path(alice)
    release = joins._release

    def release_after_a_second_use(join: Join) -> None:
        assert Client().get(path, headers=TYPED).status_code == 400
        release(join)

    monkeypatch.setattr(joins, "_release", release_after_a_second_use)
    client = Client(raise_request_exception=False)
    assert client.get(path, headers=TYPED).status_code == 500
    faults.append(0)
    assert client.get(path, headers=TYPED).status_code == 400
    assert Join.objects.get().ended_because == "ticket used twice"

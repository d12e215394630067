"""django-allauth signs in and out by links, forms and by itself; an agent's browser stays one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from allauth.account.models import EmailAddress, EmailConfirmationHMAC
from django.core import mail
from django.test import Client

from tests.agents import ORDER, SessionOf
from tests.asking import ask, recorded
from tests.packages.browsers import BUY, bought, is_an_agents, whose

LOGIN = "/allauth/login/"
LOGOUT = "/allauth/logout/"
NEW = "a-new-password-1"
NEW_TWICE = {"password1": NEW, "password2": NEW}


@pytest.fixture
def browser(signed_in: SessionOf, bob: Any) -> Client:
    """A browser that is joined for alice."""
    return signed_in.browser()


def log_in(browser: Client, name: str, password: str = "") -> None:
    """Sign in by the package's form."""
    browser.post(LOGIN, {"login": name, "password": password or name})
    assert whose(browser) == name


def address_of(user: Any) -> EmailAddress:
    """An address of the user's that is not confirmed yet."""
    email = f"{user}@shop.example"
    address: EmailAddress = EmailAddress.objects.create(user=user, email=email, primary=True)
    return address


def confirmation_of(address: EmailAddress) -> str:
    """Where the link in the mail to an address leads."""
    return f"/allauth/confirm-email/{EmailConfirmationHMAC.create(address).key}/"


def link_to_a_new_password(user: Any) -> str:
    """Where the link in the mail leads that lets a user choose another password."""
    address = address_of(user)
    Client().post("/allauth/password/reset/", {"email": address.email})
    (message,) = mail.outbox
    (link,) = [word for word in message.body.split() if word.startswith("http")]
    return "/" + link.split("/", 3)[3]


def test_a_visitor_signs_in_and_out_and_buys_at_once(
    visitor: Client, alice: Any, effects: Callable[[], list[str]]
) -> None:
    log_in(visitor, "alice")
    assert visitor.post(BUY, ORDER)["Location"] == "/done/"

    visitor.post(LOGOUT)
    assert whose(visitor) == "AnonymousUser"
    assert visitor.post(BUY, ORDER)["Location"] == "/done/"
    assert effects() == [bought(1), bought(1)]


def test_a_visitor_confirms_an_address_and_buys_at_once(
    visitor: Client, alice: Any, effects: Callable[[], list[str]]
) -> None:
    address = address_of(alice)
    visitor.post(confirmation_of(address))

    address.refresh_from_db()
    assert address.verified
    assert visitor.post(BUY, ORDER)["Location"] == "/done/"
    assert effects() == [bought(1)]


@pytest.mark.parametrize("name", ["alice", "bob"])
def test_a_login_leaves_the_browser_an_agents(
    browser: Client, name: str, effects: Callable[[], list[str]]
) -> None:
    browser.post(LOGOUT)
    log_in(browser, name)

    assert is_an_agents(browser)
    assert effects() == []


def test_a_sign_out_leaves_the_browser_an_agents(
    browser: Client, effects: Callable[[], list[str]]
) -> None:
    browser.post(LOGOUT)

    assert whose(browser) == "AnonymousUser"
    assert is_an_agents(browser)
    assert effects() == []


def test_a_sign_out_of_a_signed_out_browser_leaves_it_an_agents(
    signed_out: SessionOf, effects: Callable[[], list[str]]
) -> None:
    browser = signed_out.browser()
    browser.post(LOGOUT)

    assert is_an_agents(browser)
    assert effects() == []


class TestLinks:
    """Links in mails, which a page can open as well as a person."""

    @pytest.mark.parametrize("name", ["alice", "bob"])
    @pytest.mark.parametrize("on_get", [False, True], ids=["asks first", "at once"])
    def test_a_confirmation_leaves_the_browser_an_agents(
        self,
        browser: Client,
        alice: Any,
        bob: Any,
        name: str,
        on_get: bool,
        settings: Any,
        effects: Callable[[], list[str]],
    ) -> None:
        settings.ACCOUNT_CONFIRM_EMAIL_ON_GET = on_get
        address = address_of({"alice": alice, "bob": bob}[name])
        browser.get(confirmation_of(address))

        assert is_an_agents(browser)
        assert effects() == []

    def test_a_confirmation_for_the_same_account_keeps_the_join(
        self, browser: Client, alice: Any
    ) -> None:
        browser.post(confirmation_of(address_of(alice)))

        assert whose(browser) == "alice"
        assert ask(browser)

    @pytest.mark.parametrize("name", ["alice", "bob"])
    @pytest.mark.parametrize("signs_in", [False, True], ids=["stays out", "signs in"])
    def test_a_reset_password_leaves_the_browser_an_agents(
        self,
        browser: Client,
        alice: Any,
        bob: Any,
        name: str,
        signs_in: bool,
        settings: Any,
        effects: Callable[[], list[str]],
    ) -> None:
        settings.ACCOUNT_LOGIN_ON_PASSWORD_RESET = signs_in
        user = {"alice": alice, "bob": bob}[name]
        form = browser.get(link_to_a_new_password(user))["Location"]
        assert browser.get(form).status_code == 200
        assert is_an_agents(browser)

        assert browser.post(form, NEW_TWICE).status_code == 302
        user.refresh_from_db()
        assert user.check_password(NEW)
        assert is_an_agents(browser)
        assert effects() == []


class TestPasswords:
    """A password that is changed here or elsewhere."""

    def test_a_changed_password_keeps_the_join(
        self, browser: Client, signed_in: SessionOf, effects: Callable[[], list[str]]
    ) -> None:
        recorded(signed_in, browser)
        changed = browser.post("/allauth/password/change/", {"oldpassword": "alice", **NEW_TWICE})
        assert changed.status_code == 302
        assert whose(browser) == "alice"

        assert browser.post(BUY, ORDER)["Location"] == "/done/"
        assert effects() == [bought(1)]
        assert is_an_agents(browser)

    def test_a_changed_password_that_signs_out_leaves_the_browser_an_agents(
        self, browser: Client, settings: Any, effects: Callable[[], list[str]]
    ) -> None:
        settings.ACCOUNT_LOGOUT_ON_PASSWORD_CHANGE = True
        changed = browser.post("/allauth/password/change/", {"oldpassword": "alice", **NEW_TWICE})
        assert changed.status_code == 302

        assert whose(browser) == "AnonymousUser"
        assert is_an_agents(browser)
        assert effects() == []

    def test_a_password_that_is_changed_elsewhere_leaves_the_browser_an_agents(
        self, browser: Client, alice: Any, effects: Callable[[], list[str]]
    ) -> None:
        alice.set_password(NEW)
        alice.save()

        assert whose(browser) == "AnonymousUser"
        assert is_an_agents(browser)
        assert effects() == []


def test_a_new_account_leaves_the_browser_an_agents(
    browser: Client, effects: Callable[[], list[str]]
) -> None:
    browser.post(LOGOUT)
    browser.post("/allauth/signup/", {"username": "carol", **NEW_TWICE})

    assert whose(browser) == "carol"
    assert is_an_agents(browser)
    assert effects() == []


@pytest.mark.parametrize("first", [0, -1], ids=["Django's backend first", "allauth's first"])
def test_a_join_works_beside_the_backends_in_any_order(
    signed_in: SessionOf, settings: Any, first: int
) -> None:
    backends = settings.AUTHENTICATION_BACKENDS
    settings.AUTHENTICATION_BACKENDS = [backends[first], backends[-1 - first]]
    browser = signed_in.browser()

    assert whose(browser) == "alice"
    assert ask(browser)

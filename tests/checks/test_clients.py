"""Access tokens of other packages, whose clients the Company has to know."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.urls import path
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.views import APIView

from poppy_operations import Action, Company, Terms
from poppy_operations.contrib.clients import AmongOtherClients
from poppy_operations.contrib.oauth_toolkit import ToolkitCompany
from poppy_operations.contrib.simplejwt import SimpleJwtCompany
from poppy_operations.rest_framework import PersonalAgentAuthentication
from tests.checks.test_checks import OURS, SESSIONS, _well_configured, found, urlconf
from tests.configuring import configure

__all__ = ["_well_configured", "urlconf"]  # fixtures

paid = Action("clients.paid", effects="database")


def made(name: str, module: str, base: type = BaseAuthentication) -> type:
    """A class of a package that need not be installed."""
    return type(name, (base,), {"__module__": module})


OAuth2Authentication = made("OAuth2Authentication", "oauth2_provider.contrib.rest_framework")
JWTAuthentication = made("JWTAuthentication", "rest_framework_simplejwt.authentication")
Middleware = made("Middleware", "oauth2_provider.middleware", AuthenticationMiddleware)


class OwnAuthentication(JWTAuthentication):  # type: ignore[misc,valid-type]  # made above
    """A class that the site has derived."""


class OfAgents(PersonalAgentAuthentication):
    """The same, of ours."""


def gated(*classes: type) -> Any:
    """A gated view with these authentication classes."""

    class Paying(APIView):
        authentication_classes = classes

        @paid.api(terms=lambda request: Terms({}))
        def post(self, request: Any) -> None:
            """Pay."""

    return path("pay/", Paying.as_view())


def ungated(*classes: type) -> Any:
    """A view without a gate."""

    class Showing(APIView):
        authentication_classes = classes

    return path("show/", Showing.as_view())


@pytest.mark.parametrize(
    ("route", "packages"),
    [
        (gated(OAuth2Authentication), ["django-oauth-toolkit"]),
        (gated(SessionAuthentication, OwnAuthentication), ["simplejwt"]),
        (gated(JWTAuthentication, OAuth2Authentication), ["django-oauth-toolkit", "simplejwt"]),
        (ungated(OfAgents, JWTAuthentication), ["simplejwt"]),
        (ungated(JWTAuthentication), []),
        (gated(SessionAuthentication, PersonalAgentAuthentication), []),
    ],
)
def test_the_default_company_knows_the_clients_of_none(
    route: Any, packages: list[str], urlconf: Callable[..., None]
) -> None:
    urlconf(route)
    said = found("W013")
    assert [one.msg.split(" of ")[1].split(",")[0] for one in said] == packages
    for one in said:
        assert "<locals>.Paying accepts" in one.msg or "<locals>.Showing accepts" in one.msg
        assert "poppy_operations.company.Company does not know" in one.msg
        assert "poppy_operations.contrib." in str(one.hint)


def test_a_package_that_authenticates_by_middleware_is_seen_at_gated_views(
    settings: Any, urlconf: Callable[..., None]
) -> None:
    settings.MIDDLEWARE = [SESSIONS, f"{__name__}.Middleware", "nowhere.middleware", OURS]
    urlconf(ungated())
    assert found("W013") == []
    urlconf(gated())
    assert len(found("W013")) == 1


class Toolkit(ToolkitCompany):
    """A site's Company with the tokens of django-oauth-toolkit."""


class SimpleJwt(SimpleJwtCompany):
    """A site's Company with those of simplejwt."""


class Own(Company):
    """A Company that tells clients itself."""

    def client_of(self, request: Any, credential: object) -> str | None:
        """Nobody's."""
        return None


class OwnAgents(Company):
    """A Company that tells agents itself."""

    def is_agent(self, request: Any) -> bool:
        """Nobody is."""
        return False


class OtherClients(AmongOtherClients):
    """A Company that knows clients by their IDs, once it has one."""


@pytest.mark.parametrize(
    ("company", "packages"),
    [
        ("Toolkit", ["simplejwt"]),
        ("SimpleJwt", ["django-oauth-toolkit"]),
        ("Own", []),
        ("OwnAgents", []),
        ("OtherClients", ["django-oauth-toolkit", "simplejwt"]),
        ("gated", []),
        ("missing", []),
    ],
)
def test_a_company_knows_what_its_client_of_knows(
    company: str, packages: list[str], settings: Any, urlconf: Callable[..., None]
) -> None:
    configure(settings, COMPANY=f"{__name__}.{company}")
    urlconf(gated(OAuth2Authentication, JWTAuthentication))
    assert [one.msg.split(" of ")[1].split(",")[0] for one in found("W013")] == packages

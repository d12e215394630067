"""A site with opaque tokens, whose own authentication takes a token from wherever it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import Any
from urllib.parse import parse_qsl

from django.contrib.auth import get_user_model
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.urls import include, path
from django.views import View
from django.views.decorators.csrf import csrf_exempt
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from poppy_operations import Company, Terms, operation_of
from poppy_operations.decorators import personal_agents
from poppy_operations.rest_framework import HasScope, PersonalAgentAuthentication
from poppy_operations.sessions.refusals import InvalidToken
from poppy_operations.sessions.tokens import AccessToken, TokenVerifier
from tests.shop.models import Effect
from tests.shop.operations import buy
from tests.shop.orders import order


@dataclass(frozen=True)
class Issued:
    """A token that the site has issued, as its own authentication finds it."""

    client_id: str | None
    username: str = "alice"


issued: dict[str, Issued] = {}


class OpaqueTokens(TokenVerifier):
    """Knows the site's tokens."""

    def verify(self, token: str, *, now: Any = None) -> AccessToken:
        """Look the token up."""
        found = issued.get(token)
        if found is None or found.client_id is None:
            message = "The token is not known."
            raise InvalidToken(message)
        return AccessToken(str(_user(found).pk), found.client_id, frozenset(), 2**40)


class NamesClients(Company):
    """Says whose credentials its own authentication accepts; one client is its own."""

    token_verifier = OpaqueTokens
    own_clients = ("mobile-app",)

    def client_of(self, request: HttpRequest, credential: object) -> str | None:
        """Read what the token class gives."""
        if isinstance(credential, Issued):
            return credential.client_id
        return super().client_of(request, credential)


def everywhere(request: Request | HttpRequest) -> Iterator[str]:
    """Every text that some token class of some site would take for a token."""
    header = request.META.get("HTTP_AUTHORIZATION", "")
    as_utf8 = header.encode("latin-1", "replace").decode("utf-8", "ignore")
    yield from re.split(r"[\s,:\"]+", f"{header} {as_utf8}")
    yield from request.GET.getlist("access_token")
    yield from (value for _, value in parse_qsl(request.META.get("QUERY_STRING", "")))
    yield from request.COOKIES.values()
    yield from (request.META.get(f"HTTP_X_{name}", "") for name in ("TOKEN", "AUTHORIZATION"))
    yield from request.META.get("HTTP_X_AUTHORIZATION", "").split()
    if isinstance(request, Request):
        yield from (value for value in request.data.values() if isinstance(value, str))
    else:
        yield from (value for _, values in request.POST.lists() for value in values)


def found_in(request: Request | HttpRequest) -> Issued | None:
    """The token that the request has somewhere."""
    return next((issued[text] for text in everywhere(request) if text in issued), None)


def _user(token: Issued) -> Any:
    return get_user_model().objects.get(username=token.username)


class Everywhere(BaseAuthentication):
    """The site's own token class."""

    def authenticate(self, request: Request) -> tuple[Any, Issued] | None:
        """Give the user and the token."""
        token = found_in(request)
        return None if token is None else (_user(token), token)


def with_token(view: Callable[..., Any]) -> Callable[..., Any]:
    """The site's own decorator for plain views: it leaves no trace at the request."""

    @wraps(view)
    def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if found_in(request) is None:
            return HttpResponse(status=401)
        return view(request, *args, **kwargs)

    return checked


def terms(request: Any) -> Terms:
    """Terms that have nothing of the request."""
    return Terms({"sku": "jacket"})


def happen(request: Any) -> None:
    """Let something happen, by whoever is approved."""
    assert operation_of(request).terms == {"sku": "jacket"}
    Effect.objects.create(kind="tokens", key="jacket")


class Gated(APIView):
    """A view that authenticates by the site's own class alone."""

    authentication_classes: Any = (Everywhere, SessionAuthentication)

    @order.api(terms=terms)
    def post(self, request: Request) -> HttpResponseBase:
        """Let it happen."""
        happen(request)
        return Response({"user": str(request.user)}, 201)

    @order.api(terms=terms)
    def put(self, request: Request) -> HttpResponseBase:
        """Let it happen."""
        happen(request)
        return Response({"user": str(request.user)}, 201)


class Lazily(Gated):
    """The same, where nobody is authenticated before somebody asks."""

    def perform_authentication(self, request: Request) -> None:
        """Leave it to whoever asks."""


class WithAgents(Gated):
    """The same, where agents are authenticated first."""

    authentication_classes = (PersonalAgentAuthentication, Everywhere)


class Scoped(APIView):
    """A view that needs no approval, and a scope of agents."""

    authentication_classes = (Everywhere,)
    permission_classes = (HasScope.of("orders:write"),)

    def post(self, request: Request) -> HttpResponseBase:
        """Let it happen."""
        Effect.objects.create(kind="tokens", key="jacket")
        return Response({"user": str(request.user)}, 201)


class ForAgents(APIView):
    """A view that needs no approval."""

    authentication_classes = (PersonalAgentAuthentication, Everywhere)

    def post(self, request: Request) -> HttpResponseBase:
        """Let it happen."""
        Effect.objects.create(kind="tokens", key="jacket")
        return Response({"user": str(request.user), "data": dict(request.data)}, 201)


def _act(request: HttpRequest) -> HttpResponseBase:
    happen(request)
    return JsonResponse({}, status=201)


@buy.gated
class Form(View):
    """A gated class of the website, which validates first."""

    def post(self, request: HttpRequest) -> HttpResponseBase:
        """Let it happen."""
        return buy.run(request, lambda: terms(request), lambda operation: _act(request))


plain = with_token(personal_agents()(order.api(terms=terms)(_act)))
bare = csrf_exempt(with_token(order.api(terms=terms)(_act)))
page = csrf_exempt(with_token(buy.view(terms=terms)(_act)))
form = csrf_exempt(with_token(Form.as_view()))


@personal_agents(scope="orders:write")
def scoped_plain(request: HttpRequest) -> HttpResponseBase:
    """A plain view that needs no approval."""
    Effect.objects.create(kind="tokens", key="jacket")
    return JsonResponse({}, status=201)


urlpatterns = [
    path("gated/", Gated.as_view()),
    path("lazily/", Lazily.as_view()),
    path("with-agents/", WithAgents.as_view()),
    path("scoped/", Scoped.as_view()),
    path("for-agents/", ForAgents.as_view()),
    path("plain/", plain),
    path("bare/", bare),
    path("page/", page),
    path("form/", form),
    path("scoped-plain/", csrf_exempt(with_token(scoped_plain))),
    path("poppy/", include("poppy_operations.urls")),
]

"""A site that agents' browsers visit, and what the tests of joins do again and again."""

from __future__ import annotations

from typing import Any

from asgiref.sync import SyncToAsync
from django.contrib.auth import alogin, get_user_model, login, update_session_auth_hash
from django.contrib.auth.views import LogoutView
from django.db import connection, connections
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.test import AsyncClient, Client
from django.urls import include, path

from poppy_operations.browser.state import browser_of
from poppy_operations.sessions.agents import add_agent
from poppy_operations.testing.agents import PersonalAgent, TokenIssuer

ISSUER = "https://shop.example"
HOST = {"HTTP_HOST": "shop.example"}
AGENT = PersonalAgent()
TOKENS = TokenIssuer(ISSUER, audience=ISSUER)
SCOPE = "poppy:browser-sign-in"
TYPED = {"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"}
SUBMITTED = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "navigate"}


def prepare(settings: Any, **poppy: Any) -> None:
    """Let the test's site know the agent and the issuer of its tokens."""
    settings.ROOT_URLCONF = "tests.browser.site"
    settings.POPPY_OPERATIONS = {**settings.POPPY_OPERATIONS, "TOKEN_JWKS": TOKENS.jwks, **poppy}
    add_agent(AGENT.client_id, jwks=AGENT.jwks, name="Ada's agent")


def close_connections() -> None:
    """Close those of the thread in which asynchronous code runs its synchronous parts."""
    SyncToAsync.single_thread_executor.submit(connections.close_all).result()


def close_this_threads_connection() -> None:
    """Close it for good: Django keeps those to SQLite's memory open."""
    raw = connection.connection
    if raw is not None:
        raw.close()
        connection.connection = None


def a_user(username: str = "alice", **fields: Any) -> Any:
    return get_user_model().objects.create_user(username, password="demo-password", **fields)


def agent_headers(
    account: Any = None, *, scope: str = SCOPE, agent: PersonalAgent = AGENT, **named: Any
) -> dict[str, str]:
    token = None
    if account is not None:
        pk = str(getattr(account, "pk", account))
        lifetime = named.pop("lifetime", 3600)
        token = TOKENS.access_token(pk, client_id=agent.client_id, scope=scope, lifetime=lifetime)
    return agent.headers(audience=ISSUER, access_token=token, **named)


def ask_for_ticket(account: Any = None, body: Any = None, **named: Any) -> Any:
    """POST to the join's endpoint as the agent does, which has no cookies."""
    return Client().post(
        "/poppy/join",
        data={} if body is None else body,
        content_type="application/json",
        headers=agent_headers(account, **named),
    )


def ticket_path(account: Any = None, body: Any = None, **named: Any) -> str:
    response = ask_for_ticket(account, body, **named)
    assert response.status_code == 200, response.content
    return response.json()["url"].removeprefix("http://testserver")


def join_browser(client: Client, account: Any = None, **named: Any) -> Any:
    """Join the client's browser at once: it has no login of its own."""
    response = client.get(ticket_path(account, **named), headers=TYPED)
    assert response.status_code == 303, response.content
    return response


async def ajoin_browser(client: AsyncClient, path: str) -> Any:
    response = await client.get(path, headers=TYPED)
    assert response.status_code == 303, response.content
    return response


def whoami(client: Client) -> dict[str, Any]:
    """What the site sees: its user, then what its browser is."""
    answer: dict[str, Any] = client.get("/whoami/").json()
    return answer


def _facts(request: HttpRequest, user: Any) -> dict[str, Any]:
    browser = browser_of(request)
    session = browser.session
    return {
        "user": user.get_username(),
        "marked": browser.marked,
        "joined": browser.join is not None,
        "session": None if session is None else [session.sid, session.account, session.declared],
    }


def whoami_view(request: HttpRequest) -> HttpResponse:
    return JsonResponse(_facts(request, request.user))


async def awhoami_view(request: HttpRequest) -> HttpResponse:
    user = await request.auser()
    return JsonResponse({"user": user.get_username()})


def user_view(request: HttpRequest) -> HttpResponse:
    """An ungated view of the account, like most of a site."""
    return HttpResponse(request.user.get_username())


def plain_view(request: HttpRequest) -> HttpResponse:
    return HttpResponse("plain")


def status_view(request: HttpRequest, status: int) -> HttpResponse:
    return HttpResponse(request.user.get_username(), status=status)


def login_view(request: HttpRequest, username: str) -> HttpResponse:
    login(request, get_user_model().objects.get(username=username))
    return HttpResponse("logged in", status=int(request.GET.get("status", 200)))


async def alogin_view(request: HttpRequest, username: str) -> HttpResponse:
    await alogin(request, await get_user_model().objects.aget(username=username))
    return HttpResponse("logged in")


def password_view(request: HttpRequest) -> HttpResponse:
    user: Any = request.user
    user.set_password("another-password")
    user.save()
    update_session_auth_hash(request, user)
    return HttpResponse("changed")


def flush_view(request: HttpRequest) -> HttpResponse:
    request.session.flush()
    return HttpResponse("flushed")


def poppy_view(request: HttpRequest) -> HttpResponse:
    facts: Any = request
    poppy = facts.poppy
    return JsonResponse(
        {
            "sid": poppy.session.sid if poppy.session else None,
            "refusal": type(poppy.refusal).__name__ if poppy.refusal else None,
            "marked": poppy.browser.marked,
        }
    )


urlpatterns = [
    path("accounts/logout/", LogoutView.as_view(next_page="/plain/")),
    path("poppy/", include("poppy_operations.urls")),
    path("whoami/", whoami_view),
    path("awhoami/", awhoami_view),
    path("user/", user_view),
    path("plain/", plain_view),
    path("status/<int:status>/", status_view),
    path("in/<str:username>/", login_view),
    path("ain/<str:username>/", alogin_view),
    path("password/", password_view),
    path("flush/", flush_view),
    path("poppy-facts/", poppy_view),
    path("again/", include("tests.browser.gated")),
]

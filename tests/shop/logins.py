"""Pages that log in and out, and that say what the site sees of an agent's browser."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import alogin, get_user_model, login, update_session_auth_hash
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import include, path

from poppy_operations.browser.state import browser_of


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


def untouched_view(request: HttpRequest) -> HttpResponse:
    """A view that asks for nobody."""
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
    path("whoami/", whoami_view),
    path("awhoami/", awhoami_view),
    path("user/", user_view),
    path("untouched/", untouched_view),
    path("status/<int:status>/", status_view),
    path("in/<str:username>/", login_view),
    path("ain/<str:username>/", alogin_view),
    path("password/", password_view),
    path("flush/", flush_view),
    path("poppy-facts/", poppy_view),
    path("again/", include("tests.shop.gated")),
]

"""Pages on which Django sessions end in every way, with one gated view."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction, sync_to_async
from django.contrib.auth import get_user_model, login, logout
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from rest_framework.decorators import api_view, authentication_classes
from rest_framework.response import Response

from poppy_operations import Action, Terms, operation_of
from poppy_operations.browser.handing_back import hand_back
from tests.shop.models import Effect

transfer = Action("browser.transfer", effects="database")


@csrf_exempt
@transfer.view(terms=lambda request: Terms({"amount": "10.00"}, summary="Transfer 10.00."))
def transferring(request: HttpRequest) -> HttpResponse:
    Effect.objects.create(kind="transfer", key=operation_of(request).terms["amount"])
    return HttpResponse("transferred")


def _alice(request: HttpRequest) -> None:
    backend = "django.contrib.auth.backends.ModelBackend"
    login(request, get_user_model().objects.get(username="alice"), backend=backend)


def _flush(request: HttpRequest) -> None:
    request.session.flush()


def _clear(request: HttpRequest) -> None:
    request.session.clear()


def _delete_keys(request: HttpRequest) -> None:
    for key in list(request.session.keys()):
        del request.session[key]


def _delete_all_but_the_login(request: HttpRequest) -> None:
    for key in list(request.session.keys()):
        if not key.startswith("_auth_user"):
            del request.session[key]


def _log_out_and_in(request: HttpRequest) -> None:
    logout(request)
    _alice(request)


def _another_session(request: HttpRequest) -> None:
    request.session = type(request.session)()


def _read_user(request: HttpRequest) -> None:
    assert request.user is not None
    str(request.user)


ENDINGS: dict[str, Callable[[HttpRequest], None]] = {
    "flush": _flush,
    "clear": _clear,
    "delete-keys": _delete_keys,
    "delete-all-but-the-login": _delete_all_but_the_login,
    "log-out": logout,
    "log-in": _alice,
    "log-out-and-in": _log_out_and_in,
    "another-session": _another_session,
    "read-user": _read_user,
}


def ending(request: HttpRequest, how: str) -> HttpResponse:
    ENDINGS[how](request)
    return HttpResponse("ended", status=int(request.GET.get("status", 200)))


async def aending(request: HttpRequest, how: str) -> HttpResponse:
    if how == "flush":
        await request.session.aflush()
    else:
        await sync_to_async(ENDINGS[how])(request)
    return HttpResponse("ended")


def streaming(request: HttpRequest, how: str) -> HttpResponseBase:
    def parts() -> Iterator[str]:
        yield "to be "
        ENDINGS[how](request)
        yield "ended"

    if "before" in request.GET:
        ENDINGS[how](request)
        return StreamingHttpResponse(["ended"])
    return StreamingHttpResponse(parts())


@api_view(["POST"])
@authentication_classes([])
def api_ending(request: Any, how: str) -> Response:
    ENDINGS[how](request)
    return Response("ended")


@api_view(["POST"])
def signed_in_api_ending(request: Any, how: str) -> Response:
    """As ``api_ending``, after the user was looked for by the session."""
    username = request.user.get_username()
    ENDINGS[how](request)
    return Response(username)


def handing_back(request: HttpRequest) -> HttpResponse:
    """A person shows a passkey; ``login`` says that the site then logs in."""
    if "login" in request.GET:
        _alice(request)
    said = hand_back(request)
    return HttpResponse(str(said), status=int(request.GET.get("status", 200)))


def tidying(request: HttpRequest) -> HttpResponse:
    """A sign-out that leaves nothing in the browser, such as on a shared computer."""
    if "out" in request.GET:
        logout(request)
    response = HttpResponse("tidy", status=int(request.GET.get("status", 200)))
    for name in request.COOKIES:
        response.delete_cookie(name)
    if "clear" in request.GET:
        response.headers["Clear-Site-Data"] = request.GET["clear"]
    return response


def public(request: HttpRequest) -> HttpResponse:
    """A page that says that anybody may keep it, although it shows the user."""
    return HttpResponse(request.user.get_username(), headers={"Cache-Control": "public"})


urlpatterns = [
    path("transfer/", transferring),
    path("end/<str:how>/", ending),
    path("aend/<str:how>/", aending),
    path("stream/<str:how>/", streaming),
    path("api-end/<str:how>/", api_ending),
    path("signed-in-api-end/<str:how>/", signed_in_api_ending),
    path("hand-back/", handing_back),
    path("public/", public),
    path("tidy/", tidying),
]


class Ending:
    """A middleware that ends the session of a request that asks for it."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Any) -> None:
        self.get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Any:
        if iscoroutinefunction(self.get_response):
            return self.acall(request)
        self.before(request)
        response = self.get_response(request)
        self.after(request)
        return response

    async def acall(self, request: HttpRequest) -> Any:
        await sync_to_async(self.before)(request)
        response = await self.get_response(request)
        await sync_to_async(self.after)(request)
        return response

    def before(self, request: HttpRequest) -> None:
        if how := request.headers.get("End-Before"):
            ENDINGS[how](request)

    def after(self, request: HttpRequest) -> None:
        if how := request.headers.get("End-After"):
            ENDINGS[how](request)

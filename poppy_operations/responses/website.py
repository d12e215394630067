"""The forms of a website: pages, fragments for htmx and Turbo, JSON for its own scripts (4, 6, 7).

None of them holds an operation, its terms or its reference; that is in the header alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import patch_vary_headers

from poppy_operations.gate.answers import (
    EXTENSION_REQUIRED,
    ApprovalRequired,
    Declined,
    ErrorAnswer,
    PlainlyPerformed,
    Replay,
    StillPerforming,
    Undeclared,
)
from poppy_operations.protocol import wire
from poppy_operations.protocol.errors import error_body
from poppy_operations.protocol.structured import poppy_operation
from poppy_operations.responses.api import OurAnswer, api_answer
from poppy_operations.responses.bodies import (
    error_response,
    extra_members,
    json_answer,
    not_stored,
    status_of,
)
from poppy_operations.responses.continuing import came_from, continuing_of
from poppy_operations.responses.kinds import VARY, BodyKind, kind_of
from poppy_operations.responses.replays import redirected
from poppy_operations.sessions.credentials import FORMS

PAGE_TARGET = "poppy-operations"  # the id of what our pages and fragments say
# Tells htmx in which place to show an answer. To show a 403 at all, htmx needs htmx.js.
HTMX = {
    BodyKind.BOOSTED: {"HX-Retarget": "body", "HX-Reswap": "innerHTML"},
    BodyKind.FRAGMENT: {"HX-Retarget": "body", "HX-Reswap": "afterbegin"},
}
# The Continue form is posted from the page: without an origin Django would refuse its token.
OWN_ORIGIN_REFERRER = "same-origin"


@dataclass(frozen=True)
class _Shown:
    """One thing to say, as a page and as JSON."""

    template: str
    body: Mapping[str, object]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    context: Mapping[str, Any] = field(default_factory=dict)


def website_answer(answer: OurAnswer, request: HttpRequest) -> HttpResponse:
    """Return an answer as a browser can show it.

    Raises what ``extra_members`` raises, and ``ValueError`` if the site's members would
    overwrite the protocol's.
    """
    kind = kind_of(request)
    match answer:
        case ApprovalRequired():
            return _show(request, kind, _waiting_page(request, kind, answer))
        case StillPerforming():
            headers = {"Retry-After": str(answer.retry_after_s)}
            return _show(
                request, kind, _Shown("performing", {"status": "performing"}, 503, headers)
            )
        case Replay():
            return redirected(answer.performance) or _show(request, kind, _DONE)
        case PlainlyPerformed():
            return _show(request, kind, _DONE)
        case Undeclared():
            status = status_of(EXTENSION_REQUIRED)
            body = error_body(EXTENSION_REQUIRED.code, **EXTENSION_REQUIRED.members)
            return _show(request, kind, _Shown("undeclared", body, status))
        case Declined():
            return api_answer(answer, request)
    return _shown_error(request, kind, answer)


_DONE = _Shown("done", {"status": "performed"})


def _waiting_page(request: HttpRequest, kind: BodyKind, answer: ApprovalRequired) -> _Shown:
    headers = {"Poppy-Operation": poppy_operation(answer.sid, answer.ref)}
    watch_url = reverse("poppy_operations:waiting", args=[answer.watch]) if answer.watch else ""
    if kind is BodyKind.JSON:
        body = wire.website_approval_required(extra_members(request, "website"))
        # For fetch.js. In a header, since a proxy or middleware may put a body of its own here.
        status = {"Link": f'<{watch_url}>; rel="status"'} if watch_url else {}
        return _Shown("waiting", body, 403, {**headers, **status})
    # htmx adds a fragment to the page, which still has the button that was pressed.
    continuing = None if kind is BodyKind.FRAGMENT else continuing_of(request)
    context = {
        "under_way": answer.under_way,
        "continuing": continuing,
        "by_form": request.content_type in FORMS,
        "watch_url": watch_url,
        "differing": answer.differing if settings.DEBUG else (),
    }
    return _Shown("waiting", {}, 403, headers, context)


def _shown_error(request: HttpRequest, kind: BodyKind, answer: ErrorAnswer) -> HttpResponse:
    status = status_of(answer)
    if status not in {429, 503}:
        return error_response(answer)
    body = error_body(answer.code, **answer.members)
    context = {"too_many": status == 429}
    return _show(request, kind, _Shown("later", body, status, answer.headers, context))


def _show(request: HttpRequest, kind: BodyKind, shown: _Shown) -> HttpResponse:
    if kind is BodyKind.JSON:
        response = json_answer(shown.body, shown.status)
    else:
        is_part = kind in {BodyKind.FRAGMENT, BodyKind.FRAME}
        context = {
            "layout": f"poppy_operations/{'fragment' if is_part else 'page'}.html",
            "heading": "h2" if is_part else "h1",
            "is_fragment": kind is BodyKind.FRAGMENT,
            "frame": request.headers.get("Turbo-Frame") if kind is BodyKind.FRAME else None,
            "came_from": "" if is_part else came_from(request),
            **shown.context,
        }
        template = f"poppy_operations/{shown.template}.html"
        response = not_stored(render(request, template, context, status=shown.status))
        response.headers["Referrer-Policy"] = OWN_ORIGIN_REFERRER
    for name, value in {**shown.headers, **_for_htmx(kind)}.items():
        response.headers[name] = value
    patch_vary_headers(response, VARY)
    return response


def _for_htmx(kind: BodyKind) -> Mapping[str, str]:
    where = HTMX.get(kind)
    return {} if where is None else {**where, "HX-Reselect": f"#{PAGE_TARGET}"}

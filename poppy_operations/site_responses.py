"""The responses of the site's own code: what they say, what is stored, how it is given again."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.forms import BaseForm, BaseFormSet, BoundField
from django.forms.utils import ErrorDict, ErrorList
from django.http import HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import resolve_url
from django.template.response import SimpleTemplateResponse
from django.urls import NoReverseMatch

from poppy_operations.conf import conf
from poppy_operations.declarations.arguments import require_response
from poppy_operations.declarations.outcomes import NotPerformed, Verdict
from poppy_operations.logs import log_of
from poppy_operations.protocol.stored_answer import StoredAnswer

# About one response or one connection, or a secret of its recipient (cookies, CSRF tokens).
NOT_STORED = frozenset(
    {
        "cache-control",
        "connection",
        "content-length",
        "date",
        "expires",
        "keep-alive",
        "proxy-authenticate",
        "server",
        "set-cookie",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "x-csrftoken",
    }
)
# How deep a page's context is searched for forms; a wizard's has lists of them, by name.
_DEEPEST = 4
HTML = frozenset({"text/html", "application/xhtml+xml"})


def says_performed(response: object) -> bool:
    """Whether a response means that the action was performed.

    It does if its status is below 400, and it is no redirect to the login page.
    """
    if not isinstance(response, HttpResponseBase):
        return False  # Django tells the author of the view.
    if response.status_code >= 400:
        return False
    location = response.headers.get("Location")
    return location is None or not _is_login(location)


def _is_login(location: str) -> bool:
    try:
        return urlsplit(location).path == urlsplit(str(resolve_url(settings.LOGIN_URL))).path
    except ValueError:
        return False  # Not a URL at all, as in a header that a view wrote by hand.
    except NoReverseMatch:
        return False  # A URL name that this request's urlconf does not have.


def shows_errors(response: object) -> bool:
    """Whether a response is a page that shows the errors of a form or a formset.

    This is known of a ``TemplateResponse`` only: a page from ``render()`` has no context.
    """
    return isinstance(response, SimpleTemplateResponse) and _has_errors(response.context_data)


def _has_errors(value: object, depth: int = _DEEPEST) -> bool:
    if isinstance(value, BoundField):
        value = value.form
    if isinstance(value, BaseForm | BaseFormSet):
        return value.is_bound and not value.is_valid()
    if isinstance(value, ErrorDict | ErrorList):
        return bool(value)
    if isinstance(value, Mapping):
        value = list(value.values())
    if not depth or not isinstance(value, list | tuple):
        return False
    return any(_has_errors(one, depth - 1) for one in value)


def is_page(response: object) -> bool:
    """Whether a response is a page that a browser shows at the URL of its request."""
    if not isinstance(response, HttpResponse) or not 200 <= response.status_code < 300:
        return False
    return _content_type(response) in HTML


def as_sent(response: HttpResponseBase) -> HttpResponseBase:
    """Render a response that Django would render later, so that what is stored is what is sent."""
    render = getattr(response, "render", None)
    return response if render is None or getattr(response, "is_rendered", True) else render()


def stored_answer(
    response: HttpResponseBase, *, with_body: bool, with_html: bool = False
) -> StoredAnswer:
    """What is kept of a response for replays: no cookies, no dates, nothing too large.

    ``with_html`` keeps pages too, for code without a request, and so without a CSRF token in them.
    """
    headers = [
        (name, value) for name, value in response.headers.items() if name.lower() not in NOT_STORED
    ]
    body = _kept_body(response, with_html=with_html) if with_body else None
    return StoredAnswer(response.status_code, headers, body)


def sent_again(answer: StoredAnswer) -> HttpResponse:
    """A response of the stored status, headers and bytes; empty if no bytes were stored."""
    response = HttpResponse(answer.body or b"", status=answer.status)
    del response.headers["Content-Type"]  # It is among the stored ones, if there was one.
    for name, value in answer.headers:
        response.headers[name] = value
    return response


def _kept_body(response: HttpResponseBase, *, with_html: bool) -> bytes | None:
    if not isinstance(response, HttpResponse):
        return None  # A stream or a file: it exists once.
    content = response.content
    if content and _content_type(response) in HTML and not with_html:
        return None  # It may carry a CSRF token.
    return content if len(content) <= conf.stored_body_bytes else None


def _content_type(response: HttpResponse) -> str:
    return response.headers.get("Content-Type", "").partition(";")[0].strip().lower()


def response_of(result: HttpResponseBase | Mapping[str, Any] | None) -> HttpResponseBase:
    """Give the result of ``perform=`` the form of a response."""
    if isinstance(result, HttpResponseBase):
        return result
    return HttpResponse(status=204) if result is None else JsonResponse(dict(result))


class SiteResponses:
    """What the gate asks about the results of a door, if they are Django's responses."""

    def is_answer(self, said: object) -> bool:
        """Whether ``terms`` and ``allowed`` may answer a request with ``said``."""
        return isinstance(said, HttpResponseBase)

    def verdict(self, result: object) -> Verdict:
        """What a response says of the action (AMB-15)."""
        if shows_errors(result):
            return Verdict.NOTHING_HAPPENED
        return Verdict.PERFORMED if says_performed(result) else Verdict.FAILED

    def nothing_happened(self, said: NotPerformed) -> HttpResponseBase:
        """The response if the action says that nothing happened.

        Raises ``TypeError`` if ``said`` holds no response: the action has no effect by then.
        """
        require_response("NotPerformed(…)", said.response)
        own = said.response
        return own if isinstance(own, HttpResponseBase) else HttpResponse(status=409)

    def final(self, result: Any) -> HttpResponseBase:
        """The response as it is sent."""
        return as_sent(result)

    def stored(self, result: HttpResponseBase, *, with_body: bool) -> StoredAnswer:
        """What is kept of a response."""
        return stored_answer(result, with_body=with_body)

    def again(self, answer: StoredAnswer) -> HttpResponse:
        """A response, made again from what was kept of it (7)."""
        return sent_again(answer)


class WorkersResponses(SiteResponses):
    """The results of code without a request: also mappings, and pages without a CSRF token."""

    def nothing_happened(self, said: NotPerformed) -> HttpResponseBase:
        """The response if the action says that nothing happened.

        If ``said`` holds no response, that is logged: a worker has nobody to raise it to.
        """
        try:
            return super().nothing_happened(said)
        except TypeError as error:
            log_of(logging.ERROR, "A worker's NotPerformed has no response.", error=error)
            return super().nothing_happened(NotPerformed())

    def final(self, result: Any) -> HttpResponseBase:
        """The response as it would have been sent."""
        return as_sent(response_of(result))

    def stored(self, result: HttpResponseBase, *, with_body: bool) -> StoredAnswer:
        """What is kept of a response, pages included."""
        return stored_answer(result, with_body=with_body, with_html=True)

"""The form that makes the same request again, for the Continue button (4, "Websites")."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.http import HttpRequest, QueryDict
from django.utils.http import escape_leading_slashes, url_has_allowed_host_and_scheme

from poppy_operations.sessions.credentials import FORMS

CSRF_FIELD = "csrfmiddlewaretoken"
# A form turns single line ends into pairs, and a page cannot hold U+0000.
_NOT_REPEATABLE = re.compile(r"\r(?!\n)|(?<!\r)\n|\x00")


@dataclass(frozen=True)
class Continuing:
    """A form of hidden fields: its method, address and encoding, and its fields as they came.

    The CSRF token is not among the fields; the page has a fresh one.
    """

    method: str
    action: str
    encoding: str
    fields: tuple[tuple[str, str], ...]

    @property
    def posts(self) -> bool:
        """Whether the form needs a CSRF token."""
        return self.method == "post"


def continuing_of(request: HttpRequest) -> Continuing | None:
    """Return the form that repeats a request, or ``None`` if a form cannot do so completely.

    It cannot if there are uploads or fields that ``sensitive_post_parameters`` names, which are not
    echoed, if no form sent the body, or if no form has the method.
    """
    # Two slashes at its beginning would make a host of a path.
    address = escape_leading_slashes(request.get_full_path())
    if request.method == "GET":
        return _continuing_form("get", address.partition("?")[0], "", request.GET)
    if request.method != "POST" or not _is_posted_form(request):
        return None
    posted = request.POST.copy()
    posted.pop(CSRF_FIELD, None)
    if request.FILES or _sensitive(request, posted):
        return None
    return _continuing_form("post", address, request.content_type or "", posted)


def came_from(request: HttpRequest) -> str:
    """Return the page of this site to go back to: the referrer; ``""`` if it is no other page."""
    referrer = request.headers.get("Referer", "")
    is_here = url_has_allowed_host_and_scheme(
        referrer, {request.get_host()}, require_https=request.is_secure()
    )
    # If a waiting page has made the request again, the referrer is the waiting page itself.
    if not is_here or urlsplit(referrer).path == request.path:
        return ""
    return referrer


def _is_posted_form(request: HttpRequest) -> bool:
    if request.content_type not in FORMS:
        return request.META.get("CONTENT_LENGTH") in {None, "", "0"}
    # A body that something else has read leaves no fields behind.
    is_read = bool(request.POST or request.FILES)
    return is_read or request.META.get("CONTENT_LENGTH") in {None, "", "0"}


def _sensitive(request: HttpRequest, posted: QueryDict) -> bool:
    names: str | tuple[str, ...] = getattr(request, "sensitive_post_parameters", ())
    return bool(posted) if names == "__ALL__" else any(name in posted for name in names)


def _continuing_form(
    method: str, action: str, encoding: str, values: QueryDict
) -> Continuing | None:
    fields = tuple((name, value) for name, listed in values.lists() for value in listed)
    if any(_NOT_REPEATABLE.search(text) for field in fields for text in field):
        return None
    return Continuing(method, action, encoding, fields)

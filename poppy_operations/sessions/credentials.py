"""Access tokens in a request, in every place in which a lenient reader finds them.

The three places of RFC 6750 are not read as the RFC says but as servers do: with any white space,
in any case, doubled, and joined by commas. What is read here is judged by ``Company.client_of``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import parse_qsl

from django.http import HttpRequest
from django.utils.datastructures import MultiValueDict

FIELD: Final = "access_token"

# What stands before the scheme may be what some reader takes for white space, such as in UTF-8.
_CREDENTIAL = re.compile(r"(?:\A|,)[^!-~]*[\"']*(?:bearer|dpop)(.*)", re.IGNORECASE | re.DOTALL)
FORMS: Final = frozenset({"application/x-www-form-urlencoded", "multipart/form-data"})
_SCHEMES: Final = frozenset({"bearer", "dpop"})
# What a JWT begins with: '{"' in base64url.
_JWT_BEGINS: Final = "ey"
# Only at the beginning of a run of these characters, so that a long run is looked at once.
_JWT = re.compile(r"(?<![A-Za-z0-9_.-])ey[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")


def accepted_credential(request: HttpRequest) -> object | None:
    """The credential that the site's own authentication has accepted, if it says so.

    Django REST framework keeps it as ``auth`` at Django's request as well, and django-ninja only
    there. ``None``: nothing is known to be accepted, or a cookie or a password was.
    """
    credential: object | None = getattr(request, "auth", None)
    return credential


def shown_tokens(request: HttpRequest) -> list[str]:
    """What looks like an access token in a request, whether it can be read or not."""
    headers = [value for name, value in request.META.items() if name.endswith("AUTHORIZATION")]
    in_headers = [token for value in headers for token in _tokens_of(value)]
    return _distinct([*in_headers, *_tokens_outside_headers(request)])


def tokens_beside(request: HttpRequest, bearer: str | None) -> list[str]:
    """The access tokens in a request other than ``bearer``, the one that its Session speaks of."""
    in_header = _tokens_of(request.META.get("HTTP_AUTHORIZATION", ""))
    tokens = _distinct([*in_header, *_tokens_outside_headers(request)])
    return [token for token in tokens if token != bearer]


def _tokens_outside_headers(request: HttpRequest) -> list[str]:
    tokens = _token_values(_post_fields(request))
    query = request.META.get("QUERY_STRING", "")
    if query or "GET" in vars(request):  # Nobody has asked for it yet: it is what the query says.
        tokens += request.GET.getlist(FIELD)
        # The raw query is read as well: the charset of the content changes how Django reads the
        # query, and not how others do.
        tokens += [value for name, value in parse_qsl(query) if name == FIELD]
    return [token.strip() for token in tokens]


def stray_jwts(request: HttpRequest) -> list[str]:
    """The compact JWTs elsewhere: in cookies, in other headers and parameters, in other schemes."""
    texts = [
        value
        for name, value in request.META.items()
        if isinstance(value, str) and _JWT_BEGINS in value and _is_read(name)
    ]
    return _distinct([jwt for text in texts for jwt in _JWT.findall(text)])


def _is_read(name: str) -> bool:
    return name == "QUERY_STRING" or (name.startswith("HTTP_") and name != "HTTP_REFERER")


def _tokens_of(header: object) -> Iterator[str]:
    """Every text after the first bearer scheme: a reader may take any of them for the token."""
    bearer = _CREDENTIAL.search(header) if isinstance(header, str) else None
    for piece in re.split(r"[\s,]+", bearer[1]) if bearer else ():
        token = piece.strip(":\"'").lstrip("=")
        if token.lower() not in _SCHEMES:
            yield token


def _post_fields(request: HttpRequest) -> object:
    # Where Django REST framework has been asked whom it lets in, the form is its parsers' business:
    # what was read there is what they have read.
    if hasattr(request, "_post") or "POST" in vars(request):
        return request.POST
    # Django finds fields in forms alone; where it would find none, nothing need be read.
    return request.POST if not hasattr(request, "auth") and request.content_type in FORMS else {}


def _token_values(form: object) -> list[str]:
    if isinstance(form, MultiValueDict):
        values: Iterable[object] = form.getlist(FIELD)
    else:
        values = [form.get(FIELD)] if isinstance(form, Mapping) else []
    return [value for value in values if isinstance(value, str)]


def _distinct(tokens: Sequence[str]) -> list[str]:
    return [token for token in dict.fromkeys(tokens) if token] if tokens else []

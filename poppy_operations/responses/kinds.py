"""What kind of body the browser that asked can show (4, "Websites"; AMB-21)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum

from django.http import HttpRequest

VARY = ("Accept", "Cookie", "HX-Boosted", "HX-Request", "Turbo-Frame")
_HTML = frozenset({"text/html", "application/xhtml+xml"})


class BodyKind(Enum):
    """A page; a page that htmx puts in place of another; htmx's fragment; a Turbo frame; JSON."""

    PAGE = "page"
    BOOSTED = "boosted"
    FRAGMENT = "fragment"
    FRAME = "frame"
    JSON = "json"


def kind_of(request: HttpRequest) -> BodyKind:
    """Say what kind of body a website's request wants. A wrong guess does no harm (AMB-21)."""
    if _wants_json(request):
        return BodyKind.JSON
    if request.headers.get("Turbo-Frame"):
        return BodyKind.FRAME
    if request.headers.get("HX-Request") != "true":
        return BodyKind.PAGE
    return BodyKind.BOOSTED if request.headers.get("HX-Boosted") == "true" else BodyKind.FRAGMENT


def _wants_json(request: HttpRequest) -> bool:
    json, html = (
        _preference(request, "application", _is_json),
        _preference(request, "text", _is_html),
    )
    names_html = html is not None and html[1] == _EXACT
    if _is_json(request.content_type or "") and not names_html:
        return True
    return json is not None and (html is None or json > html)


_EXACT, _FAMILY, _ANYTHING = 2, 1, 0


def _preference(
    request: HttpRequest, main_type: str, is_exact: Callable[[str], bool]
) -> tuple[float, int] | None:
    """The quality that the most specific range gives, and how specific the range is."""

    def matching() -> Iterator[tuple[int, float]]:
        for accepted in request.accepted_types:
            name = f"{accepted.main_type}/{accepted.sub_type}"
            if is_exact(name):
                yield _EXACT, accepted.quality
            elif name in {f"{main_type}/*", "*/*"}:
                yield _ANYTHING if name == "*/*" else _FAMILY, accepted.quality

    specificity, quality = max(matching(), default=(None, 0.0))
    return None if specificity is None else (quality, specificity)


def _is_json(name: str) -> bool:
    return name == "application/json" or (
        name.startswith("application/") and name.endswith("+json")
    )


def _is_html(name: str) -> bool:
    return name in _HTML

"""One page that shows where things stand, and a button for each thing that can be done next."""

from __future__ import annotations

import re

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_POST, require_safe

from example_project.demo_agent.companion import Companion, shop_address
from example_project.policy import POLICY

companion = Companion(shop_address())
SCRIPT = re.compile(rb"<script\b.*?</script>", re.DOTALL | re.IGNORECASE)
# What the agent's browser shows is a picture here: nothing in it runs, is sent or leads anywhere.
PICTURE = "; ".join(
    [
        "sandbox",
        "default-src 'none'",
        "style-src 'self'",
        "img-src 'self' data:",
        "frame-ancestors 'self'",
    ]
)


@require_safe
@never_cache
def page(request: HttpRequest) -> HttpResponse:
    """Show the agent: what happened, what waits, what can be done."""
    response = render(request, "demo_agent/agent.html", {"agent": companion})
    response.headers["Content-Security-Policy"] = f"{POLICY}; frame-src 'self'"
    return response


@require_safe
@never_cache
@xframe_options_sameorigin
def browser(request: HttpRequest) -> HttpResponse:
    """Show the page that the agent's browser shows, as it was answered."""
    if companion.browser is None:
        raise Http404
    response = HttpResponse(SCRIPT.sub(b"", companion.browser.answers[-1].body))
    response.headers["Content-Security-Policy"] = PICTURE
    return response


@require_POST
def do(request: HttpRequest, what: str) -> HttpResponse:
    """Do one thing, and show the page again."""
    if not companion.do(what, request.POST.dict()):
        raise Http404
    return redirect("page")

"""One page that shows where things stand, and a button for each thing that can be done next."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from example_project.demo_agent.companion import Companion, shop_address

companion = Companion(shop_address())


@require_safe
@never_cache
def page(request: HttpRequest) -> HttpResponse:
    """Show the agent: what happened, what waits, what can be done."""
    return render(request, "demo_agent/agent.html", {"agent": companion, "shop": companion.shop})


@require_POST
def do(request: HttpRequest, what: str) -> HttpResponse:
    """Do one thing, and show the page again."""
    if what not in Companion.CAN_DO:
        raise Http404
    companion.do(what, request.POST.get("sku", ""))
    return redirect("page")

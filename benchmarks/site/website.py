"""The website: a gated form, and a view with the gate and without for ordinary visitors."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.views.decorators.csrf import csrf_exempt

from benchmarks.site.operations import page_order, take, terms_of, visit
from poppy_operations import Terms, operation_of


def form_terms(request: HttpRequest) -> Terms:
    """Give the terms of a form."""
    return terms_of(request.POST)


@csrf_exempt
@page_order.view(terms=form_terms)
def gated_page(request: HttpRequest) -> HttpResponse:
    """Take the order that was approved."""
    take(operation_of(request).terms)
    return HttpResponseRedirect("/done/")


def trivial_terms(_request: HttpRequest) -> Terms:
    """Give terms that take no work."""
    return Terms({"visit": True})


@csrf_exempt
def bare_visit(_request: HttpRequest) -> HttpResponse:
    """Answer, and do nothing."""
    return HttpResponse("done")


@csrf_exempt
@visit.view(terms=trivial_terms)
def gated_visit(_request: HttpRequest) -> HttpResponse:
    """Answer an ordinary visitor, and do nothing."""
    return HttpResponse("done")


def passed(_request: HttpRequest) -> HttpResponse:
    """Answer a request that only passes the middleware."""
    return HttpResponse("done")


async def apassed(_request: HttpRequest) -> HttpResponse:
    """Do the same, under ASGI."""
    return HttpResponse("done")

"""The API: one order without anything around it, and the same behind the gate."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from benchmarks.site.operations import order, take, terms_of, transfer
from poppy_operations import Terms, operation_of
from poppy_operations.rest_framework import HasScope, PersonalAgentAuthentication

SCOPE = "orders:write"


def data_terms(request: Request, **_arguments: Any) -> Terms:
    """Give the terms of a request of the API."""
    return terms_of(request.data)


class BareOrder(APIView):
    """What everything is compared with: a POST that inserts one row in a transaction."""

    authentication_classes = ()
    permission_classes = ()

    def post(self, request: Request) -> Response:
        """Take the order."""
        with transaction.atomic():
            return Response(take(request.data), status=201)


class GatedOrder(APIView):
    """The same, performed at most once, with effects in the database."""

    authentication_classes = (PersonalAgentAuthentication,)
    permission_classes = (HasScope.of(SCOPE),)

    @order.api(terms=data_terms)
    def post(self, request: Request) -> Response:
        """Take the order that was approved."""
        return Response(take(operation_of(request).terms), status=201)


class GatedTransfer(APIView):
    """The same with effects outside; what it does outside takes no time."""

    authentication_classes = (PersonalAgentAuthentication,)
    permission_classes = (HasScope.of(SCOPE),)

    @transfer.api(terms=data_terms)
    def post(self, request: Request) -> Response:
        """Take the order that was approved."""
        return Response(take(operation_of(request).terms), status=201)

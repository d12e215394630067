"""The test site's URLs, with orders for clients that have a token."""

from __future__ import annotations

from django.http import HttpResponseBase
from django.urls import path
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from rest_framework_simplejwt.authentication import (
    JWTAuthentication,
    JWTStatelessUserAuthentication,
)
from rest_framework_simplejwt.views import token_obtain_pair, token_refresh

from poppy_operations import operation_of
from poppy_operations.rest_framework import HasScope, PersonalAgentAuthentication
from tests.shop import orders
from tests.urls import urlpatterns as plain


class Orders(APIView):
    """Orders by whoever has a token, as the site's authentication alone says."""

    authentication_classes = (JWTAuthentication,)
    permission_classes = (IsAuthenticated,)

    @orders.order.api(terms=orders.order_terms)
    def post(self, request: Request) -> HttpResponseBase:
        """Take the order."""
        return orders.take(operation_of(request))


class AgentsOrders(Orders):
    """The same, and agents are known by their Session."""

    authentication_classes = (
        PersonalAgentAuthentication,
        JWTAuthentication,
    )


class StatelessOrders(Orders):
    """The same, for users that are made of the token alone."""

    authentication_classes = (JWTStatelessUserAuthentication,)


class Looks(APIView):
    """Something that a scope is enough for."""

    authentication_classes = (
        PersonalAgentAuthentication,
        JWTAuthentication,
    )
    permission_classes = (HasScope.of("orders:read"),)

    def post(self, request: Request) -> Response:
        """Say who looks."""
        return Response({"user": str(request.user)})


urlpatterns = [
    path("orders/", Orders.as_view()),
    path("agents-orders/", AgentsOrders.as_view()),
    path("stateless-orders/", StatelessOrders.as_view()),
    path("looks/", Looks.as_view()),
    path("token/", token_obtain_pair),
    path("token/refresh/", token_refresh),
    *plain,
]

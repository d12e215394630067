"""The test site's URLs, with orders for clients that have a token."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponseBase, JsonResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from oauth2_provider.contrib.rest_framework import OAuth2Authentication
from oauth2_provider.decorators import protected_resource
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from poppy_operations import Terms, operation_of
from poppy_operations.rest_framework import HasScope, PersonalAgentAuthentication
from tests.shop import orders
from tests.urls import urlpatterns as plain


class Orders(APIView):
    """Orders by whoever has a token, as the site's authentication alone says."""

    authentication_classes = (OAuth2Authentication,)
    permission_classes = (IsAuthenticated,)

    @orders.order.api(terms=orders.order_terms)
    def post(self, request: Request) -> HttpResponseBase:
        """Take the order."""
        return orders.take(operation_of(request))


class AgentsOrders(Orders):
    """The same, and agents are known by their Session."""

    authentication_classes = (
        PersonalAgentAuthentication,
        OAuth2Authentication,
    )


class Looks(APIView):
    """Something that a scope is enough for."""

    authentication_classes = (
        PersonalAgentAuthentication,
        OAuth2Authentication,
    )
    permission_classes = (HasScope.of("orders:read"),)

    def post(self, request: Request) -> Response:
        """Say who looks."""
        return Response({"user": str(request.user)})


def posted_terms(request: HttpRequest) -> Terms | HttpResponseBase:
    """The terms of an order in a form."""
    return orders.order_terms(FormRequest(request))


class FormRequest:
    """A form's fields where the orders' terms look for JSON."""

    def __init__(self, request: HttpRequest) -> None:
        self.body = JsonResponse(request.POST.dict()).content


@csrf_exempt
@protected_resource(scopes=["orders:write"])
@orders.order.api(terms=posted_terms)
def protected(request: HttpRequest) -> HttpResponseBase:
    """A plain view that the package protects."""
    return orders.take(operation_of(request), orders.created_plainly)


urlpatterns = [
    path("orders/", Orders.as_view()),
    path("agents-orders/", AgentsOrders.as_view()),
    path("protected/", protected),
    path("looks/", Looks.as_view()),
    *plain,
]

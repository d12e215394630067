"""The test site's API: the same order behind every kind of view."""

from __future__ import annotations

from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponseBase
from django.urls import include, path
from django.utils.decorators import method_decorator
from django.views.decorators.csrf import csrf_exempt
from rest_framework import generics, mixins, routers, viewsets
from rest_framework.authentication import SessionAuthentication
from rest_framework.decorators import action, api_view, authentication_classes, permission_classes
from rest_framework.permissions import AllowAny
from rest_framework.renderers import BrowsableAPIRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from poppy_operations import CurrentOperation, Terms, operation_of
from poppy_operations.decorators import personal_agents
from poppy_operations.rest_framework import PersonalAgentAuthentication
from tests.shop import operations as shop
from tests.shop import orders

AGENTS = (PersonalAgentAuthentication, SessionAuthentication)
gated = orders.order.api(terms=orders.order_terms, allowed=orders.allowed, replay=orders.replay)


@api_view(["GET", "POST"])
@authentication_classes(AGENTS)
@gated
def function(request: Request) -> HttpResponseBase:
    """A function view of Django REST framework."""
    if request.method == "GET":
        return Response({"orders": []})
    return orders.take(operation_of(request))


class Agents(APIView):
    """A view that authenticates Personal Agents first, and lets everybody in."""

    authentication_classes = AGENTS


class Class(Agents):
    """The handlers of a class; ``get`` is nobody's business."""

    renderer_classes = (JSONRenderer, BrowsableAPIRenderer)

    def get(self, request: Request, **kwargs: str) -> HttpResponseBase:
        """Show something."""
        return Response({"orders": []})

    @gated
    def post(self, request: Request, **kwargs: str) -> HttpResponseBase:
        """Take the order."""
        return orders.take(operation_of(request))

    @gated
    def put(self, request: Request, **kwargs: str) -> HttpResponseBase:
        """Take it as well."""
        return orders.take(operation_of(request))

    @gated
    def delete(self, request: Request, **kwargs: str) -> HttpResponseBase:
        """Take it, and say nothing."""
        orders.take(operation_of(request))
        return Response(status=204)


class Bound(Agents):
    """``terms``, ``allowed`` and ``replay`` written in the class itself."""

    name = "bound"

    def terms(self, request: Request) -> Terms | HttpResponseBase:
        """Terms that need the view."""
        orders.api.asked_of.append(self.name)
        return orders.order_terms(request)

    def allowed(self, request: Request) -> HttpResponseBase | None:
        """A right that needs the view."""
        orders.api.asked_of.append(self.name)
        return orders.allowed(request)

    def replay(self, request: Request, operation: CurrentOperation) -> HttpResponseBase:
        """A replay that needs the view."""
        orders.api.asked_of.append(self.name)
        return orders.replay(request, operation)

    @orders.order.api(terms=terms, allowed=allowed, replay=replay)
    def post(self, request: Request) -> HttpResponseBase:
        """Take the order."""
        return orders.take(operation_of(request))


@method_decorator(
    orders.order.api(terms=Bound.terms, allowed=Bound.allowed, replay=Bound.replay), name="post"
)
class Decorated(Agents):
    """A handler that is decorated from outside."""

    name = "decorated"

    def post(self, request: Request) -> HttpResponseBase:
        """Take the order."""
        return orders.take(operation_of(request))


class Generic(generics.CreateAPIView[Any]):
    """A generic view."""

    authentication_classes = AGENTS
    serializer_class = orders.OrderRequest

    @gated
    def post(self, request: Request, *args: Any, **kwargs: Any) -> Any:
        """Let the generic view do it."""
        return super().post(request, *args, **kwargs)

    def perform_create(self, serializer: Any) -> None:
        """Take the order where generic views save."""
        orders.take(operation_of(self.request))
        serializer.instance = serializer.validated_data


class ViewSet(mixins.UpdateModelMixin, viewsets.GenericViewSet[Any]):
    """A ViewSet with extra actions, and one gated handler that calls another."""

    authentication_classes = AGENTS
    serializer_class = orders.OrderRequest

    @gated
    def create(self, request: Request) -> HttpResponseBase:
        """Take the order."""
        return orders.take(operation_of(request))

    @gated
    def update(self, request: Request, *args: Any, **kwargs: Any) -> Any:
        """Change the order."""
        return orders.take(operation_of(request))

    @gated
    def partial_update(self, request: Request, *args: Any, **kwargs: Any) -> Any:
        """Change it partly, as ``UpdateModelMixin`` does."""
        return super().partial_update(request, *args, **kwargs)

    @action(detail=True, methods=["post"])
    @gated
    def cancel(self, request: Request, pk: str) -> HttpResponseBase:
        """An extra action."""
        return orders.take(operation_of(request))

    @gated
    @action(detail=True, methods=["post"])
    def refund(self, request: Request, pk: str) -> HttpResponseBase:
        """An extra action, decorated the other way round."""
        return orders.take(operation_of(request))

    @action(detail=False, methods=["post"])
    @orders.extra.api(terms=orders.order_terms)
    def mixed(self, request: Request) -> Any:
        """An action that calls another one, which was not approved."""
        return self.create(request)


@personal_agents()
@gated
def plain(request: HttpRequest) -> HttpResponseBase:
    """A plain Django view that speaks JSON."""
    return orders.take(operation_of(request), orders.created_plainly)


@personal_agents()
@gated
async def aplain(request: HttpRequest) -> HttpResponseBase:
    """The same, async."""
    return await sync_to_async(orders.take)(operation_of(request), orders.created_plainly)


@personal_agents()
@orders.order.api(
    terms=orders.aorder_terms,
    allowed=orders.aallowed,
    replay=orders.areplay,
    methods=["GET", "post"],
)
async def all_async(request: HttpRequest) -> HttpResponseBase:
    """The same, with async functions beside it, and for other methods."""
    return await sync_to_async(orders.take)(operation_of(request), orders.created_plainly)


@csrf_exempt
@gated
def bare(request: HttpRequest) -> HttpResponseBase:
    """A plain Django view that authenticates nobody but by cookie."""
    return orders.take(operation_of(request), orders.created_plainly)


class OneOrder(Agents):
    """Whatever is asked for here is the same action."""

    @orders.one_order.api(terms=orders.one_order_terms)
    def post(self, request: Request) -> HttpResponseBase:
        """Take the order."""
        return orders.take(operation_of(request))


class Transfer(Agents):
    """An external action."""

    @orders.transfer.api(terms=orders.order_terms, replay=orders.replay)
    def post(self, request: Request) -> HttpResponseBase:
        """Reach outside."""
        return orders.take(operation_of(request))


class ByHand(Agents):
    """An action that only a User may approve."""

    @orders.by_hand.api(terms=orders.order_terms)
    def post(self, request: Request) -> HttpResponseBase:
        """Take the order."""
        return orders.take(operation_of(request))


class Judged(Agents):
    """An action whose approvals are judged by a hook that tests set."""

    @orders.judged.api(terms=orders.order_terms)
    def post(self, request: Request) -> HttpResponseBase:
        """Take the order."""
        return orders.take(operation_of(request))


class Both(Agents):
    """An action that the website offers too."""

    @shop.buy.api(terms=orders.order_terms)
    def post(self, request: Request) -> HttpResponseBase:
        """Take the order."""
        return orders.take(operation_of(request))


@api_view(["POST"])
@permission_classes([AllowAny])
@authentication_classes(AGENTS)
@orders.transfer.api(terms=orders.order_terms, ignore=["client.trace", "note", "page"])
def ignoring(request: Request) -> HttpResponseBase:
    """What does not matter is left out of the comparison."""
    return orders.take(operation_of(request))


router = routers.SimpleRouter()
router.register("viewset", ViewSet, basename="viewset")

urlpatterns = [
    path("function/", function),
    path("class/", Class.as_view()),
    path("class/<str:order_id>/", Class.as_view()),
    path("bound/", Bound.as_view()),
    path("decorated/", Decorated.as_view()),
    path("generic/", Generic.as_view()),
    path("plain/", plain),
    path("aplain/", aplain),
    path("all-async/", all_async),
    path("bare/", bare),
    path("one-order/", OneOrder.as_view()),
    path("transfer/", Transfer.as_view()),
    path("by-hand/", ByHand.as_view()),
    path("judged/", Judged.as_view()),
    path("both/", Both.as_view()),
    path("ignoring/", ignoring),
    path("", include(router.urls)),
]

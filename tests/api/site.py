"""The test site's API: the same order behind every kind of view."""

from __future__ import annotations

from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponseBase
from django.urls import include, path
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt
from rest_framework import generics, mixins, routers, viewsets
from rest_framework.authentication import BasicAuthentication, SessionAuthentication
from rest_framework.decorators import action, api_view, authentication_classes, permission_classes
from rest_framework.permissions import AllowAny, IsAuthenticated
from rest_framework.renderers import BrowsableAPIRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

from poppy_operations import CurrentOperation, Terms, operation_of
from poppy_operations.rest_framework import HasScope, PersonalAgentAuthentication
from poppy_operations.views.api import personal_agents
from tests.api import orders
from tests.shop import operations as shop

AGENTS = [PersonalAgentAuthentication, SessionAuthentication]
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

    renderer_classes = [JSONRenderer, BrowsableAPIRenderer]

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


@csrf_exempt
@gated
def bare(request: HttpRequest) -> HttpResponseBase:
    """A plain Django view that authenticates nobody but by cookie."""
    return orders.take(operation_of(request), orders.created_plainly)


@method_decorator(personal_agents(scope="orders:write"), name="dispatch")
class PlainClass(View):
    """A class-based view for agents with a scope."""

    def get(self, request: HttpRequest) -> HttpResponseBase:
        """Say who it is."""
        return orders.JsonResponse({"user": str(request.user)})

    @method_decorator(orders.order.api(terms=lambda self, request: orders.order_terms(request)))
    def post(self, request: HttpRequest) -> HttpResponseBase:
        """Take the order."""
        return orders.take(operation_of(request), orders.created_plainly)


@personal_agents(scope="orders:write")
async def awho(request: HttpRequest) -> HttpResponseBase:
    """Say who it is, with nothing behind the gate."""
    return orders.JsonResponse({"user": str(await request.auser())})


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


class Public(APIView):
    """A view that authenticates nobody."""

    authentication_classes = []

    @gated
    def post(self, request: Request) -> HttpResponseBase:
        """Take the order."""
        return orders.take(operation_of(request))


class SiteUsers(APIView):
    """A view that authenticates its users in its own ways."""

    authentication_classes = [BasicAuthentication, SessionAuthentication]

    @gated
    def post(self, request: Request) -> HttpResponseBase:
        """Take the order."""
        return orders.take(operation_of(request))


class Scoped(Agents):
    """A view for which a token needs a scope."""

    permission_classes = [HasScope.of("orders:write")]

    def get(self, request: Request) -> HttpResponseBase:
        """Say who it is."""
        return Response({"user": str(request.user), "session": getattr(request.auth, "sid", None)})

    @gated
    def post(self, request: Request) -> HttpResponseBase:
        """Take the order."""
        return orders.take(operation_of(request))


class ScopedSiteUsers(Scoped):
    """The same, where the site authenticates in its own ways."""

    authentication_classes = [BasicAuthentication]


class Members(Scoped):
    """A view for those who are signed in."""

    permission_classes = [IsAuthenticated]


class SeldomThrottle(BaseThrottle):
    """Lets nobody through."""

    def allow_request(self, request: Request, view: APIView) -> bool:
        """Refuse."""
        return False

    def wait(self) -> float:
        """Say for how long."""
        return 7


class Throttled(Class):
    """A view that is always asked too often."""

    throttle_classes = [SeldomThrottle]


def catch_all(error: Exception, context: dict[str, Any]) -> Response:
    """An exception handler that knows an answer to everything, with the status of a header."""
    status = int(context["request"].headers.get("X-Status", 500))
    return Response({"caught": type(error).__name__}, status)


class CatchAll(Class):
    """A view whose exceptions never get out."""

    def get_exception_handler(self) -> Any:
        """Catch everything."""
        return catch_all


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
    path("bare/", bare),
    path("plain-class/", PlainClass.as_view()),
    path("awho/", awho),
    path("one-order/", OneOrder.as_view()),
    path("transfer/", Transfer.as_view()),
    path("by-hand/", ByHand.as_view()),
    path("judged/", Judged.as_view()),
    path("both/", Both.as_view()),
    path("public/", Public.as_view()),
    path("site-users/", SiteUsers.as_view()),
    path("scoped/", Scoped.as_view()),
    path("scoped-site-users/", ScopedSiteUsers.as_view()),
    path("members/", Members.as_view()),
    path("throttled/", Throttled.as_view()),
    path("catch-all/", CatchAll.as_view()),
    path("ignoring/", ignoring),
    path("", include(router.urls)),
]

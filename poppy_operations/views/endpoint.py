"""``endpoint``, at which a Personal Agent gets the website's operations and approves them (4, 6).

It ignores cookies and whatever the site tells Django REST framework, its exception handler
included: the protocol alone says what an agent is answered here.
"""

from __future__ import annotations

import json
import logging
from typing import Any, NoReturn, cast

from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import SuspiciousOperation
from django.db import DatabaseError, InterfaceError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseNotAllowed
from django.http.request import RawPostDataException
from rest_framework.parsers import JSONParser
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.views import APIView

from poppy_operations.atomic_requests import never_atomic
from poppy_operations.declarations.registry import registry
from poppy_operations.doors.http_asker import HttpAsker
from poppy_operations.gate.answers import BUSY, EndpointAnswer, OperationStatus, Recorded
from poppy_operations.gate.references import at_endpoint
from poppy_operations.lifecycle.durable import Busy
from poppy_operations.models import instants
from poppy_operations.protocol import wire
from poppy_operations.protocol.interfaces import API
from poppy_operations.responses import respond
from poppy_operations.responses.bodies import json_answer, not_stored

logger = logging.getLogger("poppy_operations")


class OperationsEndpoint(APIView):
    """Answers a reference: the operation, its state, or an approval recorded or declined."""

    authentication_classes = ()
    permission_classes = ()
    throttle_classes = ()
    parser_classes = (JSONParser,)
    renderer_classes = (JSONRenderer,)
    versioning_class = None
    metadata_class = None
    schema = None  # The protocol describes it, and no OpenAPI document of the site.

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer a request, or with 404 if no action is offered on the website (2)."""
        if not registry.on_website:
            raise Http404
        return super().dispatch(request, *args, **kwargs)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Leave out what Django REST framework does first: the gate verifies the Session."""

    def http_method_not_allowed(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:  # type: ignore[override]  # a Django response serves as well
        """Refuse every other method with 405."""
        return not_stored(HttpResponseNotAllowed(["POST"]))

    def handle_exception(self, exc: Exception) -> NoReturn:
        """Let Django see a fault of ours, whatever the site's exception handler would say."""
        raise exc

    def post(self, request: Request) -> HttpResponseBase:
        """Look up a reference, or take the approval in ``Poppy-Approval`` for it."""
        django_request = request._request  # noqa: SLF001  there is no other way to it
        try:
            answer = at_endpoint(
                HttpAsker(django_request), _reference(django_request), instants.now()
            )
        except (Busy, DatabaseError, InterfaceError):
            logger.warning(
                "The database is locked, unreachable or read-only; nothing was recorded.",
                exc_info=True,
            )
            answer = BUSY
        return _endpoint_response(answer, django_request)


def _reference(request: HttpRequest) -> object:
    """The ``ref`` of the body, whatever it is; ``None`` if the body holds none."""
    if request.content_type != "application/json":
        return None
    try:
        body = json.loads(request.body.decode())
    except (SuspiciousOperation, RawPostDataException, OSError, ValueError, RecursionError):
        return None  # Too large, read by something else, cut off, or no JSON.
    return body.get("ref") if isinstance(body, dict) else None


def _endpoint_response(answer: EndpointAnswer, request: HttpRequest) -> HttpResponseBase:
    if isinstance(answer, OperationStatus):
        return json_answer(wire.status(answer.operation_id, cast("wire.Status", answer.status)))
    if isinstance(answer, Recorded):
        response = not_stored(HttpResponse(status=204))
        del response.headers["Content-Type"]
        return response
    return respond(answer, request, API)


operations = never_atomic(
    login_not_required(OperationsEndpoint.as_view(http_method_names=["post"]))
)

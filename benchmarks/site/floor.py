"""The floor: the least that performs at most once, in one view written by hand.

The claim is committed first; the action and its result are a second transaction. It checks all
three signatures, reads the approval's header and makes the digests, in three statements.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any

import http_sf
from django.conf import settings
from django.db import transaction
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from benchmarks.site.models import Claim
from benchmarks.site.operations import take, terms_of
from benchmarks.site.tokens import session_and_token


def approved(request: Request) -> dict[str, Any]:
    """Read the members of the approval in the request's header."""
    header = request.META["HTTP_POPPY_APPROVAL"].encode()
    parsed: Any = http_sf.parse(header, tltype="dictionary")
    return {name: str(item[0]) for name, item in parsed.items()}


def canonical(value: object) -> bytes:
    """Spell a value in one way only."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def terms_digest(data: Any) -> str:
    """Digest the terms of an order."""
    return hashlib.sha256(canonical(dict(terms_of(data).values))).hexdigest()


def content_digest(data: Any) -> str:
    """Digest the content of a request, with a key."""
    key = settings.SECRET_KEY.encode()
    return hmac.new(key, canonical(data), hashlib.sha256).hexdigest()


class FloorOrder(APIView):
    """An order that is performed at most once, with nothing else around it."""

    authentication_classes = ()
    permission_classes = ()

    def post(self, request: Request) -> Response:
        """Claim, then act and store the answer."""
        session_and_token(request, cached=False)
        key = approved(request)["operation_id"]
        claimed = Claim.objects.filter(
            key=key,
            state="open",
            terms_digest=terms_digest(request.data),
            content_digest=content_digest(request.data),
        ).update(state="performing")
        if not claimed:
            return Response(status=409)
        with transaction.atomic():
            answer = take(request.data)
            body = json.dumps(answer).encode()
            Claim.objects.filter(key=key, state="performing").update(
                state="performed", status=201, headers="[]", body=body
            )
        return Response(answer, status=201)

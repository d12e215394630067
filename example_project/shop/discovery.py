"""The document by which Personal Agents find the shop's interfaces (2)."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, JsonResponse
from django.urls import reverse
from django.views.decorators.http import require_safe


@require_safe
def poppy_json(request: HttpRequest) -> JsonResponse:
    """Serve the whole of ``poppy.json``."""
    return JsonResponse(
        {
            "version": "1.0",
            "name": "Stormline",
            "description": "Clothes for bad weather. Orders can be exchanged and refunded.",
            "issuer": settings.ISSUER,
            "web": {
                "url": settings.ISSUER + reverse("home"),
                "browser_session_endpoint": f"{settings.ISSUER}/poppy/join",
            },
            "api": {"url": f"{settings.ISSUER}/api"},
            "extensions": {
                "operations": [{"version": "3", "endpoint": f"{settings.ISSUER}/poppy/operations"}]
            },
        }
    )

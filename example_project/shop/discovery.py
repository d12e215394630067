"""The document by which Personal Agents find the shop's interfaces (2)."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, JsonResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from poppy_operations.advertising import join_url, merge_into


@require_safe
def poppy_json(request: HttpRequest) -> JsonResponse:
    """Serve the whole of ``poppy.json``."""
    document = {
        "version": "1.0",
        "name": "Stormline",
        "description": "Clothes for bad weather. Orders can be exchanged and refunded.",
        "issuer": settings.ISSUER,
        "web": {
            "url": settings.ISSUER + reverse("home"),
            "browser_session_endpoint": join_url(),
        },
        "api": {"url": f"{settings.ISSUER}/api"},
        "mcp": {"url": f"{settings.ISSUER}/mcp"},
    }
    # Where the API is described (RFC 8631).
    described = f'<{settings.ISSUER}{reverse("api-schema")}>; rel="service-desc"'
    return JsonResponse(merge_into(document), headers={"Link": described})

"""The shop under ASGI: its static files included, and its MCP server at ``/mcp``."""

from __future__ import annotations

import os

from django.contrib.staticfiles.handlers import ASGIStaticFilesHandler
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "example_project.settings")

django_application = ASGIStaticFilesHandler(get_asgi_application())

# They need the apps, which are there only now.
from example_project.shop.mcp import mcp_application  # noqa: E402
from poppy_operations.mcp import beside_django  # noqa: E402

application = beside_django(django_application, mcp_application(), path="/mcp")

"""The demo agent's page under ASGI. One process: its state is in memory."""

from __future__ import annotations

import os

from django.contrib.staticfiles.handlers import ASGIStaticFilesHandler
from django.core.asgi import get_asgi_application

os.environ["DJANGO_SETTINGS_MODULE"] = "example_project.demo_agent.settings"

application = ASGIStaticFilesHandler(get_asgi_application())

"""Settings of the demo agent's page. Its state is in memory, and gone when it ends."""

from __future__ import annotations

import secrets
from pathlib import Path

BASE_DIR = Path(__file__).resolve().parent.parent

DEBUG = False
SECRET_KEY = secrets.token_urlsafe(50)
ALLOWED_HOSTS = ["127.0.0.1", "localhost"]
INSTALLED_APPS = ["django.contrib.staticfiles", "example_project.demo_agent"]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "example_project.policy.content_security_policy",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
# Cookies know no ports: the shop has one of Django's usual name.
CSRF_COOKIE_NAME = "demo_agent_csrftoken"
ROOT_URLCONF = "example_project.demo_agent.urls"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {"context_processors": ["django.template.context_processors.request"]},
    }
]
STATIC_URL = "/static/"
# The picture of the agent's browser needs what the shop's pages are drawn with.
STATICFILES_DIRS = [
    BASE_DIR / "shop" / "static",
    BASE_DIR.parent / "poppy_operations" / "static",
]
USE_TZ = True
TIME_ZONE = "UTC"

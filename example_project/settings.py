"""Settings of the demo shop: development over plain HTTP, configured by the environment.

``DATABASE_URL``, ``PORT``, ``POPPY_ISSUER``, ``POPPY_DEMO_LIFETIME`` and ``POPPY_DEMO_VAR`` are
described in the README beside this file. Nothing here is meant for the open internet.
"""

from __future__ import annotations

import hashlib
import os
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from django.core.exceptions import ImproperlyConfigured

from example_project.databases import database_from_url
from example_project.issuer import demo_issuer

BASE_DIR = Path(__file__).resolve().parent.parent
VAR = Path(os.environ.get("POPPY_DEMO_VAR") or BASE_DIR / "var").resolve()
VAR.mkdir(parents=True, exist_ok=True)


def number(name: str, default: int) -> int:
    """Return a whole number of the environment, at least 1."""
    value = os.environ.get(name) or str(default)
    if not value.isascii() or not value.isdigit() or int(value) < 1:
        message = f"{name} is a whole number from 1, not {value!r}."
        raise ImproperlyConfigured(message)
    return int(value)


DEBUG = os.environ.get("DJANGO_DEBUG", "1") == "1"
SECRET_KEY = os.environ.get("DJANGO_SECRET_KEY", "a-key-for-the-demo-which-guards-nothing-real")
PORT = number("PORT", 8000)
ISSUER = (os.environ.get("POPPY_ISSUER") or f"http://127.0.0.1:{PORT}").rstrip("/")
ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]", urlsplit(ISSUER).hostname or "127.0.0.1"]

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "poppy_operations",
    "example_project.shop",
    "example_project.tour",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "example_project.policy.content_security_policy",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "poppy_operations.middleware.PersonalAgentMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "example_project.urls"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

DATABASE_URL = os.environ.get("DATABASE_URL") or ""
DATABASES = {
    "default": database_from_url(
        DATABASE_URL or "sqlite:///" + quote(str(VAR / "shop.sqlite3")), base=BASE_DIR
    )
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
# The payment gateway keeps its own books, outside the shop's database. Each database of the shop
# gets a gateway of its own, so that demos side by side do not see each other's money.
PAYMENTS_FILE = VAR / (
    f"payments-{hashlib.sha256(DATABASE_URL.encode()).hexdigest()[:12]}.sqlite3"
    if DATABASE_URL
    else "payments.sqlite3"
)

USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
STATIC_URL = "/static/"
LOGIN_URL = "/accounts/login/"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/"

REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "poppy_operations.rest_framework.PersonalAgentAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["example_project.shop.parsers.ShallowJSONParser"],
    "DEFAULT_SCHEMA_CLASS": "poppy_operations.rest_framework.schema.AutoSchema",
    # Whatever stands in the query of a request that needs approval is part of what is approved.
    "URL_FORMAT_OVERRIDE": None,
}
SPECTACULAR_SETTINGS: dict[str, Any] = {
    "TITLE": "Stormline",
    "DESCRIPTION": "Clothes for bad weather. What changes something needs approval, where a "
    "Personal Agent asks for it.",
    "VERSION": "1.0",
    "SERVERS": [{"url": ISSUER}],
}

# How long the terms of a demo action can be approved, and how long an attempt counts as alive.
DEMO_LIFETIME = timedelta(seconds=number("POPPY_DEMO_LIFETIME", 900))
DEMO_LEASE = timedelta(seconds=10)

TOKEN_ISSUER = demo_issuer(VAR / "issuer-key.pem", ISSUER)
POPPY_OPERATIONS = {
    "ISSUER": ISSUER,
    "TOKEN_JWKS": TOKEN_ISSUER.jwks,
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{levelname} {name}: {message}", "style": "{"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "loggers": {"poppy_operations": {"handlers": ["console"], "level": "INFO"}},
}

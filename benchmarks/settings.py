"""The site that is measured. The environment says on which database, and where its keys are."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from benchmarks.databases import settings_of
from benchmarks.keys import token_issuer

VENDOR = os.environ.get("BENCHMARK_VENDOR", "sqlite")
FOLDER = Path(os.environ.get("BENCHMARK_FOLDER", "var"))
# What people would take instead; each is measured where it is installed.
PACKAGES = [
    name
    for name in ("drf_idempotency", "rest_framework_idempotency_key", "drf_idempotencykey")
    if find_spec(name) is not None
]

SECRET_KEY = "benchmarks-only"
DEBUG = False
HOST = "shop.example"
ALLOWED_HOSTS = [HOST, "127.0.0.1"]
USE_TZ = True
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "rest_framework",
    "poppy_operations",
    "benchmarks.site",
    *PACKAGES,
]
WITHOUT_US = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
]
MIDDLEWARE = [*WITHOUT_US, "poppy_operations.middleware.PersonalAgentMiddleware"]
ROOT_URLCONF = "benchmarks.site.urls"
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}]
DATABASES = {
    "default": settings_of(VENDOR, os.environ.get("BENCHMARK_NAME", str(FOLDER / "bench.sqlite3")))
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
STATIC_URL = "/static/"
# A refusal is what an ask is answered with, and no news.
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"console": {"class": "logging.StreamHandler"}},
    "loggers": {"django.request": {"level": "ERROR", "handlers": ["console"]}},
}
ISSUER = f"https://{HOST}"
TOKEN_JWKS = token_issuer(FOLDER).jwks
POPPY_OPERATIONS = {
    "ISSUER": ISSUER,
    "TOKEN_JWKS": TOKEN_JWKS,
    "COMPANY": "benchmarks.site.company.BenchmarkCompany",
}
# djangorestframework-idempotency-key has no default for it.
IDEMPOTENCY_KEY_LOCK_TIMEOUT = 60

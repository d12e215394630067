"""A small site with operations, for the tests."""

from __future__ import annotations

from datetime import timedelta

SECRET_KEY = "tests-only"
DEBUG = False
ALLOWED_HOSTS = ["shop.example", "other.example", "testserver", "127.0.0.1"]
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "rest_framework",
    "poppy_operations",
    "tests.shop",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "poppy_operations.middleware.PersonalAgentMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
ROOT_URLCONF = "tests.urls"
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
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": ":memory:",
        "OPTIONS": {"transaction_mode": "IMMEDIATE"},
    }
}
# Django's own tables are made as they are by now, which is quicker than all their migrations.
MIGRATION_MODULES = dict.fromkeys(["admin", "auth", "contenttypes", "sessions"])
LOGIN_URL = "/accounts/login/"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STATIC_URL = "/static/"
POPPY_OPERATIONS = {
    "ISSUER": "https://shop.example",
    "JOIN_LIFETIME": timedelta(hours=1),
}

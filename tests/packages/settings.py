"""The plain test site's settings, from which each package's site starts."""

from __future__ import annotations

from tests.settings import *  # noqa: F403  the same site in all else

# Other packages have migrations that depend on those of Django.
MIGRATION_MODULES: dict[str, None] = {}
# The shop of the tests has an external action that nobody reconciles.
SILENCED_SYSTEM_CHECKS = ["poppy_operations.W005"]
# Django 6.1 wants them named; earlier ones do not read it.
MAILERS = {"default": {"BACKEND": "django.core.mail.backends.locmem.EmailBackend"}}
OURS = "poppy_operations.middleware.PersonalAgentMiddleware"


def before_ours(middleware: list[str], *added: str) -> list[str]:
    """The middleware with more of it just above ours."""
    at = middleware.index(OURS)
    return [*middleware[:at], *added, *middleware[at:]]


def after_ours(middleware: list[str], *added: str) -> list[str]:
    """The middleware with more of it just below ours."""
    at = middleware.index(OURS) + 1
    return [*middleware[:at], *added, *middleware[at:]]

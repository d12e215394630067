"""The Django app."""

from __future__ import annotations

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class PoppyOperationsConfig(AppConfig):
    """Finds the site's actions, and registers system checks and the browser join's receivers."""

    name = "poppy_operations"
    verbose_name = _("Personal Agent operations")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Listen to logins and sign-outs, have the configuration checked, and find the actions."""
        from poppy_operations.browser import receivers  # noqa: F401  needs the models
        from poppy_operations.checks import register_checks
        from poppy_operations.discovery import import_operations

        register_checks()
        import_operations()

"""The Django app."""

from __future__ import annotations

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class PoppyOperationsConfig(AppConfig):
    """Registers the system checks and the signal receivers of the browser join."""

    name = "poppy_operations"
    verbose_name = _("Personal Agent operations")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Listen to Django's logins and sign-outs, and have the site's configuration checked."""
        from poppy_operations.browser import receivers  # noqa: F401  needs the models
        from poppy_operations.checks import register_checks

        register_checks()

"""System checks: what is misconfigured is said before the first request."""

from __future__ import annotations

from django.core.checks import Tags, register

from poppy_operations.checks import (
    characters,
    clients,
    configuration,
    durability,
    gates,
    runs,
    site,
)

CHECKS = (
    configuration.check_settings,
    configuration.check_company,
    site.check_middleware,
    site.check_transactions,
    site.check_urls,
    site.check_sessions,
    site.check_sign_on,
    site.check_database,
    site.check_views,
    site.check_actions,
    gates.check_gates,
    runs.check_runs,
    clients.check_clients,
)
DEPLOYMENT_CHECKS = (configuration.check_deployed_issuer, site.check_https)
DATABASE_CHECKS = (characters.check_characters, durability.check_durability)


def register_checks() -> None:
    """Register every check.

    Those of a deployment run with ``check --deploy``, those that ask a database with
    ``check --database`` and before ``migrate``.
    """
    for check in CHECKS:
        register(check, Tags.security)
    for check in DEPLOYMENT_CHECKS:
        register(check, Tags.security, deploy=True)
    for check in DATABASE_CHECKS:
        register(check, Tags.database)

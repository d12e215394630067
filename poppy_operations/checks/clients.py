"""Checks of whom access tokens of other packages were issued to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from django.conf import settings
from django.core.checks import CheckMessage
from django.utils.module_loading import import_string
from django.views import View

from poppy_operations.checks.configuration import declared, names_company
from poppy_operations.checks.messages import message
from poppy_operations.checks.routes import view_name, views
from poppy_operations.company import Company
from poppy_operations.conf import conf
from poppy_operations.gated_handlers import gated_handler
from poppy_operations.rest_framework.authentication import PersonalAgentAuthentication


class Issuing(NamedTuple):
    """A package that issues access tokens, and the Company that knows their clients."""

    name: str
    package: str
    company: str


PACKAGES = (
    Issuing(
        "django-oauth-toolkit",
        "oauth2_provider",
        "poppy_operations.contrib.oauth_toolkit.ToolkitCompany",
    ),
    Issuing(
        "simplejwt",
        "rest_framework_simplejwt",
        "poppy_operations.contrib.simplejwt.SimpleJwtCompany",
    ),
)


def check_clients(**_named: Any) -> list[CheckMessage]:
    """Check that the Company knows the clients of the tokens that its views accept."""
    company = _company()
    if company is None or company.is_agent is not Company.is_agent:
        return []
    return list(_of_unknown_clients(company))


def _company() -> type[Company] | None:
    found = declared()
    if found is None or not names_company(found):
        return None  # Settings like these have messages of their own.
    try:
        company = import_string(conf.company)
    except ImportError:
        return None
    is_one = isinstance(company, type) and issubclass(company, Company)
    return company if is_one else None


def _of_unknown_clients(company: type[Company]) -> Iterator[CheckMessage]:
    names = list(_authenticating())
    for issuing in PACKAGES:
        view = next((view for view, package in names if package == issuing.package), None)
        if view is not None and not _knows_clients(company, issuing):
            yield message(
                "W013",
                view=view,
                package=issuing.name,
                company=conf.company,
                adapter=issuing.company,
            )


def _knows_clients(company: type[Company], issuing: Issuing) -> bool:
    """Whether ``client_of`` is the site's own, or that of this package's Company."""
    written_in: str = getattr(company.client_of, "__module__", "")
    return not written_in.startswith("poppy_operations.") or issuing.company.startswith(written_in)


def _authenticating() -> Iterator[tuple[str, str]]:
    """Name each view that agents come to, with each package whose classes authenticate there."""
    through_middleware = list(_packages(map(_imported, settings.MIDDLEWARE)))
    for view in views():
        classes = _authentication_classes(view)
        is_gated = any(gated_handler(view, method.upper()) for method in View.http_method_names)
        if is_gated or any(issubclass(one, PersonalAgentAuthentication) for one in classes):
            for package in [*_packages(classes), *through_middleware]:
                yield view_name(view), package


def _authentication_classes(view: Callable[..., Any]) -> list[type]:
    classes = getattr(getattr(view, "cls", None), "authentication_classes", ())
    return [one for one in classes if isinstance(one, type)]


def _imported(path: str) -> object:
    try:
        return import_string(path)
    except ImportError:
        return None  # Django says so itself, when it loads them.


def _packages(classes: Iterable[object]) -> Iterator[str]:
    for one in classes:
        for base in getattr(one, "__mro__", ()):
            yield base.__module__.partition(".")[0]

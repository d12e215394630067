"""Checks of ``POPPY_OPERATIONS`` and of the site's ``Company``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from difflib import get_close_matches
from types import FunctionType
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage
from django.utils.module_loading import import_string

from poppy_operations.advertising import is_secure
from poppy_operations.checks.messages import message
from poppy_operations.company import Company
from poppy_operations.conf import KEYS, conf
from poppy_operations.sessions.tokens import TokenVerifier


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _is_text_or_none(value: object) -> bool:
    return value is None or _is_text(value)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_number(value: object, least: int, most: int | None = None) -> bool:
    if not isinstance(value, int) or isinstance(value, bool):
        return False
    return least <= value and (most is None or value <= most)


def _is_duration(value: object, least: timedelta) -> bool:
    return isinstance(value, timedelta) and value >= least


def _is_key_set(value: object) -> bool:
    if isinstance(value, Mapping):
        return isinstance(value.get("keys"), list | tuple)
    return value is None or (isinstance(value, str) and is_secure(value))


KINDS: Mapping[str, tuple[str, Callable[[object], bool]]] = {
    "COMPANY": ("the dotted path of a class", _is_text),
    "EXTENSION_REQUIRED_STATUS": (
        "an HTTP status from 400 to 499",
        lambda value: _is_number(value, 400, 499),
    ),
    "ISSUER": ("a URL", _is_text),
    "JOIN_LIFETIME": (
        "a timedelta of a second or more",
        lambda value: _is_duration(value, timedelta(seconds=1)),
    ),
    "JOIN_STAFF": ("True or False", _is_flag),
    "JOIN_WITHOUT_FETCH_METADATA": ("True or False", _is_flag),
    "LEEWAY": (
        "a timedelta, zero or more",
        lambda value: _is_duration(value, timedelta(0)),
    ),
    "OPEN_REVISIONS": ("a whole number from 1", lambda value: _is_number(value, 1)),
    "QUEUE": ("the dotted path of a function", _is_text),
    "QUEUE_LEASE": (
        "a timedelta of a minute or more",
        lambda value: _is_duration(value, timedelta(minutes=1)),
    ),
    "RECORD_STATEMENTS": ("True or False", _is_flag),
    "REQUIRE_ATH": ("True or False", _is_flag),
    "STORED_BODY_BYTES": ("a number of bytes, zero or more", lambda value: _is_number(value, 0)),
    "TOKEN_AUDIENCE": ("a string", _is_text_or_none),
    "TOKEN_ISSUER": ("a string", _is_text_or_none),
    "TOKEN_JWKS": ("a key set (a dict with `keys`) or the HTTPS URL of one", _is_key_set),
}


def declared() -> Mapping[str, Any] | None:
    """Give the dict of the settings, or ``None`` where it is something else."""
    found = getattr(settings, "POPPY_OPERATIONS", {})
    return found if isinstance(found, dict) else None


def check_settings(**_named: Any) -> list[CheckMessage]:
    """Check the dict, its keys and the types of its values."""
    found = declared()
    if found is None:
        return [message("E001")]
    return [*_unknown(found), *_ill_typed(found), *_issuer(found)]


def _unknown(found: Mapping[str, Any]) -> Iterator[CheckMessage]:
    for key in sorted(found.keys() - KEYS, key=str):
        near = get_close_matches(str(key).upper(), KEYS, n=1)
        names = ", ".join(sorted(KEYS))
        advice = f"Did you mean {near[0]}?" if near else f"The settings are {names}."
        yield message("E002", key=key, advice=advice)


def _ill_typed(found: Mapping[str, Any]) -> Iterator[CheckMessage]:
    for key in sorted(KEYS & found.keys()):
        kind, is_kind = KINDS[key]
        # A missing issuer has a message of its own.
        if not is_kind(found[key]) and (key != "ISSUER" or found[key]):
            yield message("E003", key=key, kind=kind, type=type(found[key]).__name__)


def _issuer(found: Mapping[str, Any]) -> Iterator[CheckMessage]:
    issuer = found.get("ISSUER")
    if not issuer:
        yield message("E004")
    elif isinstance(issuer, str) and not is_secure(issuer):
        yield message("E005")


def check_deployed_issuer(**_named: Any) -> list[CheckMessage]:
    """Check, for a deployment, that the issuer and with it the endpoint is served by HTTPS."""
    issuer = (declared() or {}).get("ISSUER")
    is_plain = isinstance(issuer, str) and issuer.lower().startswith("http:")
    return [message("E006")] if is_plain else []


def check_company(**_named: Any) -> list[CheckMessage]:
    """Check that the site's ``Company`` can be used as the app uses it."""
    found = declared()
    if found is None or not _is_text(found.get("COMPANY", conf.company)):
        return []
    try:
        company = import_string(conf.company)
    except ImportError as error:
        return [message("E011", error=error)]
    if not inspect.isclass(company) or not issubclass(company, Company):
        return [message("E012")]
    return [*_misfits(company), *_tokens(company)]


def _misfits(company: type[Company]) -> Iterator[CheckMessage]:
    if not _binds(company):
        yield message("E013", company=conf.company, hook="__init__", call="Company()")
        return
    instance = company()
    for name, hook in sorted(vars(Company).items()):
        if isinstance(hook, FunctionType) and getattr(company, name) is not hook:
            parameters = list(inspect.signature(hook).parameters.values())[1:]
            if not _fits(getattr(instance, name), parameters):
                call = f"{name}({', '.join(parameter.name for parameter in parameters)})"
                yield message("E013", company=conf.company, hook=name, call=call)


def _fits(own: object, parameters: list[inspect.Parameter]) -> bool:
    """Whether a hook of the site takes the arguments of ours, with and without the optional."""
    required = [one for one in parameters if one.default is one.empty]
    is_sync = not inspect.iscoroutinefunction(own)
    return is_sync and _binds(own, *parameters) and _binds(own, *required)


def _binds(own: Any, *arguments: object) -> bool:
    try:
        inspect.signature(own).bind(*arguments)
    except (TypeError, ValueError):
        return False
    return True


def _tokens(company: type[Company]) -> Iterator[CheckMessage]:
    is_ours = company.token_verifier is TokenVerifier and company.session_for is Company.session_for
    if is_ours and conf.token_jwks is None:
        yield message("W006")

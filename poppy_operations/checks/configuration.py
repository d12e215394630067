"""Checks of ``POPPY_OPERATIONS`` and of the site's ``Company``."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from types import FunctionType
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage
from django.utils.module_loading import import_string

from poppy_operations.advertising import is_secure
from poppy_operations.checks.messages import message
from poppy_operations.company import Company
from poppy_operations.conf import KEYS, KINDS, conf
from poppy_operations.declarations.callables import is_async, is_generator, takes
from poppy_operations.sessions.tokens import TokenVerifier
from poppy_operations.sessions.verification import SessionVerifier

VERIFIERS: Mapping[str, type] = {
    "session_verifier": SessionVerifier,
    "token_verifier": TokenVerifier,
}


def declared() -> Mapping[str, Any] | None:
    """Give the dict of the settings, or ``None`` if it is something else."""
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
        kind, value = KINDS[key], found[key]
        if not kind.fits(value) or (key == "TOKEN_JWKS" and _is_unusable(value)):
            yield message("E003", key=key, kind=kind.said, type=type(value).__name__)


def _is_unusable(jwks: object) -> bool:
    if isinstance(jwks, Mapping):
        return not isinstance(jwks.get("keys"), list | tuple)
    return isinstance(jwks, str) and not is_secure(jwks)


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


def names_company(found: Mapping[str, Any]) -> bool:
    """Whether the settings may name a ``Company``: by a dotted path, or by none for the default."""
    return "COMPANY" not in found or KINDS["COMPANY"].fits(found["COMPANY"])


def check_company(**_named: Any) -> list[CheckMessage]:
    """Check that the site's ``Company`` can be used as the app uses it."""
    found = declared()
    if found is None or not names_company(found):
        return []
    try:
        company = import_string(conf.company)
    except ImportError as error:
        return [message("E011", error=error)]
    if not inspect.isclass(company) or not issubclass(company, Company):
        return [message("E012")]
    return [
        *_misfits(conf.company, company, Company),
        *_verifiers(company),
        *_misspelt(company),
        *_tokens(company, found),
    ]


def _misfits(name: str, own: type, ours: type) -> Iterator[CheckMessage]:
    if not takes(own):
        yield message("E013", company=name, hook="__init__", call=f"{ours.__name__}()")
        return
    instance = own()
    for hook, method in sorted(vars(ours).items()):
        if isinstance(method, FunctionType) and getattr(own, hook) is not method:
            parameters = list(inspect.signature(method).parameters.values())[1:]
            if not _fits_hook(getattr(instance, hook), parameters):
                call = f"{hook}({', '.join(parameter.name for parameter in parameters)})"
                yield message("E013", company=name, hook=hook, call=call)


def _fits_hook(own: object, parameters: list[inspect.Parameter]) -> bool:
    """Whether a hook of the site takes the arguments of ours, with and without the optional."""
    if not callable(own) or is_async(own) or is_generator(own):
        return False
    required = [one for one in parameters if one.default is one.empty]
    return _takes(own, parameters) and _takes(own, required)


def _takes(own: object, parameters: list[inspect.Parameter]) -> bool:
    named = [one.name for one in parameters if one.kind is one.KEYWORD_ONLY]
    others = [one.name for one in parameters if one.kind is not one.KEYWORD_ONLY]
    return takes(own, *others, **dict.fromkeys(named))


def _verifiers(company: type[Company]) -> Iterator[CheckMessage]:
    for name, ours in VERIFIERS.items():
        own: object = getattr(company, name)
        path = f"{conf.company}.{name}"
        if not inspect.isclass(own) or not issubclass(own, ours):
            yield message("E017", verifier=path, base=f"{ours.__module__}.{ours.__qualname__}")
        elif own is not ours:
            yield from _misfits(path, own, ours)


def _misspelt(company: type[Company]) -> Iterator[CheckMessage]:
    """Name the methods that look like a hook, and that nothing calls."""
    hooks = {name for name in vars(Company) if not name.startswith("_")}
    for name in sorted(set(dir(company)) - set(dir(Company))):
        near = get_close_matches(name, hooks, n=1, cutoff=0.85)
        if near and callable(getattr(company, name)):
            yield message("W010", company=conf.company, name=name, hook=near[0])


def _tokens(company: type[Company], found: Mapping[str, Any]) -> Iterator[CheckMessage]:
    is_ours = company.token_verifier is TokenVerifier and company.session_for is Company.session_for
    if is_ours and found.get("TOKEN_JWKS") is None:
        yield message("W006")

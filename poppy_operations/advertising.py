"""What the Company's ``poppy.json`` says about operations (2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from ipaddress import ip_address
from typing import Any, TypeGuard
from urllib.parse import urlsplit

from django.conf import settings
from django.urls import reverse

from poppy_operations.conf import conf
from poppy_operations.declarations.registry import registry
from poppy_operations.protocol import EXTENSION, VERSION


def operations_fragment() -> dict[str, list[dict[str, str]]]:
    """Return the member ``operations`` of the document's ``extensions``.

    ``endpoint`` is in it if an action returns operations on the website. It is on the origin
    of the issuer, whatever host a request came to.
    """
    entry = {"version": VERSION}
    if registry.on_website:
        entry["endpoint"] = endpoint_url()
    return {EXTENSION: [entry]}


def endpoint_url() -> str:
    """Return the absolute URL of the endpoint."""
    return _on_the_issuers_origin(reverse("poppy_operations:operations"))


def join_url() -> str:
    """Return the absolute URL at which agents get tickets for their browsers."""
    return _on_the_issuers_origin(reverse("poppy_operations:join"))


def _on_the_issuers_origin(path: str) -> str:
    # Without the issuer's own path, such as /shop, which the reversed path already has.
    issuer = urlsplit(conf.issuer)
    return f"{issuer.scheme}://{issuer.netloc}{path}"


def merge_into(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a ``poppy.json`` document with our entry; the one given stays as it is.

    Entries of other versions and other extensions are kept, an earlier entry of this version is
    replaced.

    Raises:
        TypeError: ``extensions`` is no object, or its ``operations`` no array of objects.
    """
    extensions = document.get("extensions", {})
    if not isinstance(extensions, Mapping):
        message = f"`extensions` is an object, not {extensions!r}."
        raise TypeError(message)
    entries = extensions.get(EXTENSION, [])
    if not _is_array_of_objects(entries):
        message = f"`extensions.operations` is an array of objects, not {entries!r}."
        raise TypeError(message)
    foreign = [entry for entry in entries if entry.get("version") != VERSION]
    ours = operations_fragment()[EXTENSION]
    return {**document, "extensions": {**extensions, EXTENSION: [*foreign, *ours]}}


def problems(document: object) -> list[str]:
    """List what a ``poppy.json`` document gets wrong about operations (2).

    There is one sentence for each problem, which names the member; none if all is well.
    """
    if not isinstance(document, Mapping):
        return ["The document is an object."]
    extensions = document.get("extensions")
    entries = extensions.get(EXTENSION) if isinstance(extensions, Mapping) else None
    if not _is_array_of_objects(entries):
        return ["`extensions.operations` is an array of objects; it is missing or something else."]
    ours = [entry for entry in entries if entry.get("version") == VERSION]
    if len(ours) != 1:
        found = "none has" if not ours else f"{len(ours)} have"
        one = f'One object in `extensions.operations` has the `version` "{VERSION}", a string'
        return [f"{one}; {found}."]
    return [*_of_endpoint(ours[0]), *_of_join(ours[0], document)]


def _is_array_of_objects(entries: object) -> TypeGuard[Sequence[Mapping[str, Any]]]:
    return isinstance(entries, list | tuple) and all(isinstance(item, Mapping) for item in entries)


def _of_endpoint(entry: Mapping[str, Any]) -> Iterator[str]:
    if not registry.on_website:
        if "endpoint" in entry:
            yield "`endpoint` is listed, but no action returns operations on the website."
        return
    if "endpoint" not in entry:
        yield "`endpoint` is missing, but an action returns operations on the website."
    elif entry["endpoint"] != endpoint_url():
        yield f"`endpoint` is {entry['endpoint']!r}, but it is served at {endpoint_url()}."
    elif not is_secure(entry["endpoint"]):
        yield "`endpoint` is an HTTPS URL: POPPY_OPERATIONS['ISSUER'], where it comes from, is not."


def _of_join(entry: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[str]:
    if "endpoint" not in entry:
        return
    web = document.get("web")
    join = web.get("browser_session_endpoint") if isinstance(web, Mapping) else None
    if not isinstance(join, str) or not join:
        yield (
            "`web.browser_session_endpoint` is missing beside `endpoint`: only joined browsers get "
            "operations."
        )
    elif not is_secure(join):
        yield f"`web.browser_session_endpoint` is an HTTPS URL, not {join!r}."


def is_secure(url: str) -> bool:
    """Whether agents may send Sessions to a URL: by HTTPS, or by HTTP during development."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return False
    if not host:
        return False
    is_plain = parts.scheme == "http" and (settings.DEBUG or _is_loopback(host))
    return parts.scheme == "https" or is_plain


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False

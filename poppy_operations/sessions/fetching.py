"""Fetching a key set from an address that a stranger chose, and from no other address.

The name is resolved once, every address is checked, and the connection goes to a checked address:
even if the name resolves to another one later, that gains nothing. One deadline covers
resolving, connecting, each byte of the answer and redirects. Proxies in the environment are not
used, since a proxy would resolve the name again.
"""

from __future__ import annotations

import io
import queue
import re
import socket
import ssl
import threading
import time
from functools import cache
from http.client import HTTPConnection, HTTPException, HTTPResponse
from importlib.metadata import PackageNotFoundError, version
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any, Final
from urllib.parse import SplitResult, urljoin, urlsplit

from django.conf import settings

from poppy_operations.models.lengths import URL_LENGTH
from poppy_operations.sessions.unpacking import BadEncoding, unpacked

SECONDS: Final = 5.0
LARGEST_BODY: Final = 100_000
MOST_REDIRECTS: Final = 3
ACCEPTED: Final = "application/jwk-set+json, application/json"

_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_URL = re.compile(r"https?://[!-~]+", re.IGNORECASE)
_NAT64: Final = ip_network("64:ff9b::/96")


class FetchFailed(Exception):
    """The document could not be fetched. The message says why, for the Company's log."""


def checked_url(url: str) -> SplitResult:
    """Split an absolute HTTPS URL; in DEBUG, HTTP too, which ``fetch`` keeps to this machine.

    Raises:
        ValueError: anything else, and URLs with a user name or a fragment.

    """
    if len(url) > URL_LENGTH or _URL.fullmatch(url) is None:
        message = f"The URL is not an absolute HTTPS URL of {URL_LENGTH} printable characters."
        raise ValueError(message)
    parts = urlsplit(url)
    _port(parts)
    if not parts.hostname or parts.username is not None or parts.fragment:
        message = "The URL has no host, or it has a user name or a fragment."
        raise ValueError(message)
    if parts.scheme != "https" and not settings.DEBUG:
        message = "The URL is not an HTTPS URL."
        raise ValueError(message)
    return parts


def fetch(url: str, *, host: str | None = None) -> bytes:
    """Get a document of 100 kB or less in 5 seconds or less, over HTTPS.

    With ``host``, a stranger chose the URL: it has to be on that host, and the host's addresses
    have to be public (in DEBUG, any). Without, the URL is the Company's own setting. Redirects
    stay on the host.

    Raises:
        FetchFailed: whatever went wrong.

    """
    deadline = time.monotonic() + SECONDS
    try:
        parts = checked_url(url)
        if host is not None and parts.hostname != host:
            message = f"The URL is not on the host {host}."
            raise FetchFailed(message)
        return _follow(parts, deadline, public=host is not None and not settings.DEBUG)
    except (OSError, HTTPException, ValueError) as error:
        # The text of any error that is not ours may hold what the other side sent.
        message = f"Fetching failed: {type(error).__name__}."
        raise FetchFailed(message) from error


def _follow(parts: SplitResult, deadline: float, *, public: bool) -> bytes:
    for _ in range(MOST_REDIRECTS + 1):
        answer = _get(parts, deadline, public=public)
        if isinstance(answer, bytes):
            return answer
        target = checked_url(urljoin(parts.geturl(), answer))
        if _origin(target) != _origin(parts):
            message = "The answer is a redirect to another host, port or scheme."
            raise FetchFailed(message)
        parts = target
    message = f"There are more than {MOST_REDIRECTS} redirects."
    raise FetchFailed(message)


def _get(parts: SplitResult, deadline: float, *, public: bool) -> bytes | str:
    """Give the document, or the ``Location`` of a redirect."""
    with _connect(parts, deadline, public=public) as connection:
        client = _Client(parts, _Timed(connection, deadline))
        path = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
        client.request("GET", path, headers=_headers(parts.netloc))
        with client.getresponse() as response:
            location = response.getheader("Location")
            if response.status in _REDIRECTS and location is not None:
                return location
            return _read_body(response)


def _headers(host: str) -> dict[str, str]:
    return {
        "Host": host,
        "User-Agent": user_agent(),
        "Accept": ACCEPTED,
        "Accept-Encoding": "identity",
        "Connection": "close",
    }


@cache
def user_agent() -> str:
    """Who fetches, for the logs of the other side: some servers turn nameless clients away."""
    try:
        return f"poppy-operations/{version('poppy-operations')}"
    except PackageNotFoundError:  # a copy of the package that nobody installed
        return "poppy-operations"


def _read_body(response: HTTPResponse) -> bytes:
    if response.status != 200:
        message = f"The answer has the status {response.status}."
        raise FetchFailed(message)
    body = bytearray()
    while part := response.read1(LARGEST_BODY + 1):
        body += part
        if len(body) > LARGEST_BODY:
            message = f"The document is larger than {LARGEST_BODY} bytes."
            raise FetchFailed(message)
    encodings = ",".join(response.headers.get_all("Content-Encoding", []))
    try:
        return unpacked(bytes(body), encodings, largest=LARGEST_BODY)
    except BadEncoding as error:
        raise FetchFailed(str(error)) from None


def _connect(parts: SplitResult, deadline: float, *, public: bool) -> socket.socket:
    host = parts.hostname or ""
    addresses = _resolve_host(host, _port(parts), deadline)
    for *_, address in addresses:
        # One bad address refuses them all: DNS rebinding shows itself as a mixture.
        if public and not is_public(address[0]):
            message = "The host has an address that is not public."
            raise FetchFailed(message)
        if parts.scheme != "https" and not ip_address(address[0].partition("%")[0]).is_loopback:
            message = "HTTP without TLS is for this machine only."
            raise FetchFailed(message)
    connection = _first_connection(addresses, deadline)
    if parts.scheme != "https":
        return connection
    try:
        connection.settimeout(_remaining(deadline))
        return ssl.create_default_context().wrap_socket(connection, server_hostname=host)
    except BaseException:
        connection.close()
        raise


def _first_connection(addresses: list[Any], deadline: float) -> socket.socket:
    last: OSError = OSError("no address")
    for index, (family, kind, protocol, _, address) in enumerate(addresses):
        connection = socket.socket(family, kind, protocol)
        try:
            # Each address gets a share of the time: a silent one must not use it all up.
            connection.settimeout(_remaining(deadline) / (len(addresses) - index))
            connection.connect(address)
        except OSError as error:
            connection.close()
            last = error
        else:
            return connection
    raise last


def _resolve_host(host: str, port: int, deadline: float) -> list[Any]:
    # The resolver knows no timeout; a thread that is left behind ends when it does.
    answers: queue.SimpleQueue[list[Any] | Exception] = queue.SimpleQueue()

    def ask() -> None:
        try:
            answers.put(list(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)))
        except (OSError, ValueError) as error:
            answers.put(error)

    threading.Thread(target=ask, daemon=True, name="poppy-resolve").start()
    try:
        answer = answers.get(timeout=_remaining(deadline))
    except queue.Empty:
        message = "The host's name was not resolved in time."
        raise FetchFailed(message) from None
    if isinstance(answer, Exception):
        raise answer
    return answer


def is_public(address: str) -> bool:
    """Whether an IP address is one of the public internet. IPv4 mapped to IPv6 counts as IPv4."""
    ip: IPv4Address | IPv6Address = ip_address(address.partition("%")[0])
    if isinstance(ip, IPv6Address):
        if ip.sixtofour is not None or ip.teredo is not None or ip.is_site_local:
            return False
        if ip in _NAT64:
            ip = IPv4Address(int(ip) & 0xFFFFFFFF)
        elif ip.ipv4_mapped is not None:
            ip = ip.ipv4_mapped
    return ip.is_global and not ip.is_multicast and not ip.is_reserved


def _port(parts: SplitResult) -> int:
    return parts.port or (443 if parts.scheme == "https" else 80)


def _origin(parts: SplitResult) -> tuple[str, str | None, int]:
    return parts.scheme, parts.hostname, _port(parts)


def _remaining(deadline: float) -> float:
    remaining = deadline - time.monotonic()
    if remaining <= 0:
        message = "The time for fetching is over."
        raise TimeoutError(message)
    return remaining


class _Client(HTTPConnection):
    """An HTTP client on a connection that is already made."""

    def __init__(self, parts: SplitResult, connection: _Timed) -> None:
        super().__init__(parts.hostname or "", _port(parts))
        self.sock = connection


class _Timed:
    """What http.client needs of a socket, with one deadline for all of it.

    A socket's own timeout begins anew with every byte: an answer of one byte a second would never
    end.
    """

    def __init__(self, connection: socket.socket, deadline: float) -> None:
        self._connection = connection
        self._deadline = deadline

    def sendall(self, content: bytes) -> None:
        self._connection.settimeout(_remaining(self._deadline))
        self._connection.sendall(content)

    def makefile(self, mode: str) -> io.BufferedReader:
        del mode  # http.client reads bytes and nothing else
        return io.BufferedReader(_TimedReader(self._connection, self._deadline))

    def close(self) -> None:
        """Leave the connection to the one who made it."""


class _TimedReader(io.RawIOBase):
    def __init__(self, connection: socket.socket, deadline: float) -> None:
        super().__init__()
        self._connection = connection
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._connection.settimeout(_remaining(self._deadline))
        return self._connection.recv_into(buffer)

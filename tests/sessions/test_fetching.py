from __future__ import annotations

import ipaddress
import socket
import ssl
import threading
import time
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from poppy_operations.sessions import fetching
from poppy_operations.sessions.fetching import (
    LARGEST_BODY,
    MOST_REDIRECTS,
    FetchFailed,
    checked_url,
    fetch,
    is_public,
)
from tests.sessions.conftest import KeyServer


@pytest.fixture
def debug(settings: Any) -> None:
    settings.DEBUG = True


@pytest.fixture
def resolver(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let names resolve to the addresses in this list, port kept; counts nothing."""
    addresses: list[str] = []

    def resolve(host: str, port: int, **_: object) -> list[Any]:
        return [
            (
                socket.AF_INET6 if ":" in address else socket.AF_INET,
                socket.SOCK_STREAM,
                socket.IPPROTO_TCP,
                "",
                (address, port, 0, 0) if ":" in address else (address, port),
            )
            for address in addresses
        ]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return addresses


@pytest.fixture
def no_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> None:
        pytest.fail("A connection was made.")

    monkeypatch.setattr(fetching, "_first_connection", refuse)


# Addresses


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.255.255.254",
        "0.0.0.0",
        "10.0.0.1",
        "100.64.0.1",
        "169.254.169.254",
        "172.16.0.1",
        "192.0.2.1",
        "192.168.1.1",
        "198.18.0.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:169.254.169.254",
        "::127.0.0.1",
        "fe80::1",
        "fe80::1%eth0",
        "fec0::1",
        "fc00::1",
        "fd00:ec2::254",
        "ff02::1",
        "2001:db8::1",
        "2001:0:7f00:1::1",
        "2002:7f00:1::1",
        "64:ff9b::127.0.0.1",
        "64:ff9b::10.0.0.1",
        "64:ff9b:1::1",
    ],
)
def test_an_address_that_is_not_public_is_told(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "address",
    ["93.184.215.14", "2606:2800:21f:cb07::1", "::ffff:93.184.215.14", "64:ff9b::93.184.215.14"],
)
def test_a_public_address_is_told(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "10.0.0.1", "fd00::1", "169.254.169.254"])
@pytest.mark.usefixtures("no_connections")
def test_a_strangers_name_with_a_private_address_is_not_connected_to(
    address: str, resolver: list[str]
) -> None:
    resolver.append(address)
    with pytest.raises(FetchFailed, match="not public"):
        fetch("https://agent.example/jwks", host="agent.example")


@pytest.mark.usefixtures("no_connections")
def test_one_private_address_among_public_ones_is_enough_to_refuse(resolver: list[str]) -> None:
    resolver.extend(["93.184.215.14", "127.0.0.1"])
    with pytest.raises(FetchFailed, match="not public"):
        fetch("https://agent.example/jwks", host="agent.example")


@pytest.mark.parametrize("url", ["https://127.0.0.1/jwks", "https://[::1]/jwks"])
@pytest.mark.usefixtures("no_connections")
def test_a_private_address_without_a_name_is_refused_too(url: str) -> None:
    with pytest.raises(FetchFailed, match="not public"):
        fetch(url, host=url.split("/")[2].strip("[]"))


@pytest.mark.usefixtures("debug")
def test_a_name_is_resolved_once_and_the_checked_address_connected_to(
    key_server: KeyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    key_server.serve({"keys": []})
    asked = []
    original = socket.getaddrinfo

    def resolve(host: str, port: int, **kwargs: Any) -> Any:
        asked.append(host)
        return original("127.0.0.1" if len(asked) == 1 else "203.0.113.1", port, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    url = f"http://agent.example:{key_server.port}/jwks"
    assert fetch(url, host="agent.example") == b'{"keys": []}'
    assert asked == ["agent.example"]
    assert key_server.hosts == [f"agent.example:{key_server.port}"]


def test_the_companys_own_url_may_be_in_a_private_network(
    resolver: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    resolver.append("10.0.0.1")
    connected = []

    def connect(addresses: list[Any], deadline: float) -> None:
        connected.extend(addresses)
        raise ConnectionRefusedError

    monkeypatch.setattr(fetching, "_first_connection", connect)
    with pytest.raises(FetchFailed, match="ConnectionRefusedError"):
        fetch("https://login.shop.example/jwks")
    assert connected[0][-1] == ("10.0.0.1", 443)


@pytest.mark.usefixtures("debug", "no_connections")
def test_even_in_debug_http_goes_to_this_machine_only(resolver: list[str]) -> None:
    resolver.append("10.0.0.1")
    with pytest.raises(FetchFailed, match="this machine"):
        fetch("http://agent.example/jwks", host="agent.example")


# URLs


@pytest.mark.parametrize(
    "url",
    [
        "",
        "https://",
        "https:///jwks",
        "http://agent.example/jwks",
        "ftp://agent.example/jwks",
        "file:///etc/passwd",
        "//agent.example/jwks",
        "https://agent.example/jwks#here",
        "https://agent.example@evil.example/jwks",
        "https://agent.example\\@evil.example/jwks",
        "https://agent.example:port/jwks",
        "https://agent.example:99999/jwks",
        "https://agent.example/a b",
        "https://agent.example/\r\nHost: evil.example",
        "https://agent.example/\x00",
        "https://ägent.example/jwks",
        "https://[::1/jwks",
        "https://agent.example/" + "a" * 500,
    ],
)
def test_a_url_that_is_not_plainly_https_is_refused(url: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  urllib's and ours alike
        checked_url(url)
    with pytest.raises(FetchFailed):
        fetch(url, host="agent.example")


def test_a_url_on_another_host_is_refused() -> None:
    with pytest.raises(FetchFailed, match=r"not on the host agent\.example"):
        fetch("https://evil.example/jwks", host="agent.example")


def test_the_host_is_compared_without_regard_to_case() -> None:
    assert checked_url("HTTPS://Agent.Example/jwks").hostname == "agent.example"


# What the other side may answer


@pytest.mark.usefixtures("debug")
def test_the_query_is_sent_along(key_server: KeyServer) -> None:
    key_server.serve({})
    assert fetch(f"{key_server.url}/jwks?v=1", host="127.0.0.1") == b"{}"
    assert fetch(key_server.url, host="127.0.0.1") == b"{}"
    assert key_server.paths == ["/jwks?v=1", "/"]


@pytest.mark.usefixtures("debug")
@pytest.mark.parametrize("status", [201, 204, 304, 400, 404, 500])
def test_another_status_than_200_is_a_failure(key_server: KeyServer, status: int) -> None:
    key_server.serve(b"", status=status)
    with pytest.raises(FetchFailed, match=str(status)):
        fetch(key_server.url, host="127.0.0.1")


@pytest.mark.usefixtures("debug")
def test_a_document_of_just_the_limit_is_read(key_server: KeyServer) -> None:
    key_server.serve(b" " * LARGEST_BODY)
    assert len(fetch(key_server.url, host="127.0.0.1")) == LARGEST_BODY


@pytest.mark.usefixtures("debug")
def test_a_larger_document_is_refused(key_server: KeyServer) -> None:
    key_server.serve(b" " * (LARGEST_BODY + 1))
    with pytest.raises(FetchFailed, match="larger"):
        fetch(key_server.url, host="127.0.0.1")


@pytest.mark.usefixtures("debug")
def test_a_document_without_end_is_given_up(key_server: KeyServer) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        while True:
            handler.wfile.write(b" " * 10_000)

    key_server.answer = answer
    with pytest.raises(FetchFailed, match="larger"):
        fetch(key_server.url, host="127.0.0.1")


@pytest.mark.usefixtures("debug")
@pytest.mark.parametrize("part", [b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\n\r\n"])
def test_an_answer_that_drips_is_given_up_when_the_time_is_over(
    key_server: KeyServer, part: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "SECONDS", 0.3)
    over = threading.Event()

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(part)
        while not over.wait(0.05):
            handler.wfile.write(b"x")

    key_server.answer = answer
    started = time.monotonic()
    with pytest.raises(FetchFailed, match="TimeoutError"):
        fetch(key_server.url, host="127.0.0.1")
    over.set()
    assert time.monotonic() - started < 2


@pytest.mark.usefixtures("debug")
def test_time_that_is_over_before_the_request_is_a_failure(
    key_server: KeyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "SECONDS", 0.0)
    with pytest.raises(FetchFailed, match="TimeoutError"):
        fetch(key_server.url, host="127.0.0.1")


def test_a_name_that_does_not_resolve_in_time_is_a_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    over = threading.Event()
    monkeypatch.setattr(fetching, "SECONDS", 0.05)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: over.wait(5) and [])
    with pytest.raises(FetchFailed, match="not resolved in time"):
        fetch("https://agent.example/jwks", host="agent.example")
    over.set()


@pytest.mark.parametrize("error", [socket.gaierror, UnicodeError])
def test_a_name_that_does_not_resolve_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def resolve(*args: object, **kwargs: object) -> None:
        raise error

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with pytest.raises(FetchFailed, match=error.__name__):
        fetch("https://agent.example/jwks", host="agent.example")


@pytest.mark.usefixtures("debug")
@pytest.mark.parametrize(
    "answered", [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 200 + b"\r\n"]
)
def test_what_is_no_http_is_a_failure(key_server: KeyServer, answered: bytes) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(answered)

    key_server.answer = answer
    with pytest.raises(FetchFailed):
        fetch(key_server.url, host="127.0.0.1")


@pytest.mark.usefixtures("debug")
def test_the_next_address_is_tried_when_one_refuses(
    key_server: KeyServer, resolver: list[str]
) -> None:
    key_server.serve({})
    resolver.extend(["127.0.0.9", "127.0.0.1"])
    assert fetch(f"http://agent.example:{key_server.port}", host="agent.example") == b"{}"


@pytest.mark.usefixtures("debug", "resolver")
def test_a_name_without_addresses_is_a_failure() -> None:
    with pytest.raises(FetchFailed):
        fetch("http://agent.example", host="agent.example")


# Redirects


@pytest.mark.usefixtures("debug")
def test_a_redirect_on_the_host_is_followed(key_server: KeyServer) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        if handler.path == "/old":
            handler.send_response(301)
            handler.send_header("Location", "/new")
            handler.end_headers()
        else:
            handler.send_response(200)
            handler.end_headers()
            handler.wfile.write(b"{}")

    key_server.answer = answer
    assert fetch(f"{key_server.url}/old", host="127.0.0.1") == b"{}"
    assert key_server.paths == ["/old", "/new"]


@pytest.mark.usefixtures("debug")
@pytest.mark.parametrize(
    "location",
    [
        "http://localhost/jwks",
        "http://169.254.169.254/latest/meta-data",
        "https://127.0.0.1/jwks",
        "http://127.0.0.1:1/jwks",
        "//evil.example/jwks",
        "file:///etc/passwd",
        "http://[",
    ],
)
def test_a_redirect_elsewhere_is_refused(key_server: KeyServer, location: str) -> None:
    key_server.serve(b"", status=302, Location=location)
    with pytest.raises(FetchFailed):
        fetch(key_server.url, host="127.0.0.1")
    assert len(key_server.paths) == 1


@pytest.mark.usefixtures("debug")
def test_redirects_come_to_an_end(key_server: KeyServer) -> None:
    key_server.serve(b"", status=307, Location="/again")
    with pytest.raises(FetchFailed, match="redirects"):
        fetch(key_server.url, host="127.0.0.1")
    assert len(key_server.paths) == MOST_REDIRECTS + 1


@pytest.mark.usefixtures("debug")
def test_a_redirect_to_nowhere_is_a_failure(key_server: KeyServer) -> None:
    key_server.serve(b"", status=302)
    with pytest.raises(FetchFailed, match="302"):
        fetch(key_server.url, host="127.0.0.1")


# TLS


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path / "certificate.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + signed.public_bytes(serialization.Encoding.PEM)
    )
    return path


@pytest.fixture
def tls_server(key_server: KeyServer, certificate: Path) -> KeyServer:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    key_server.server.socket = context.wrap_socket(
        key_server.server.socket, server_side=True, do_handshake_on_connect=False
    )
    key_server.serve({"keys": []})
    return key_server


@pytest.mark.usefixtures("debug")
def test_https_is_spoken_with_a_server_that_shows_its_certificate(
    tls_server: KeyServer, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = ssl.create_default_context(cafile=certificate)
    monkeypatch.setattr(ssl, "create_default_context", lambda: context)
    assert fetch(f"https://127.0.0.1:{tls_server.port}/", host="127.0.0.1") == b'{"keys": []}'


@pytest.mark.usefixtures("debug")
def test_a_certificate_that_nobody_vouches_for_is_refused(tls_server: KeyServer) -> None:
    with pytest.raises(FetchFailed, match="SSLCertVerificationError"):
        fetch(f"https://127.0.0.1:{tls_server.port}/", host="127.0.0.1")
    assert tls_server.paths == []


@pytest.mark.usefixtures("debug")
def test_a_certificate_for_another_name_is_refused(
    tls_server: KeyServer,
    certificate: Path,
    resolver: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    resolver.append("127.0.0.1")
    context = ssl.create_default_context(cafile=certificate)
    monkeypatch.setattr(ssl, "create_default_context", lambda: context)
    with pytest.raises(FetchFailed, match="SSLCertVerificationError"):
        fetch(f"https://agent.example:{tls_server.port}/", host="agent.example")
    assert tls_server.paths == []

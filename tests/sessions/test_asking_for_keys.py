"""What a server of key sets is asked, and the forms in which it may answer."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import pytest

from poppy_operations.sessions import fetching
from poppy_operations.sessions.fetching import (
    LARGEST_BODY,
    FetchFailed,
    fetch,
    user_agent,
)
from poppy_operations.sessions.key_sets import RemoteKeySet
from poppy_operations.sessions.unpacking import BadEncoding, unpacked
from poppy_operations.testing.agents import new_key, public_jwk
from tests.sessions.conftest import KeyServer

DOCUMENT = b'{"keys": []}'
Pack = Callable[[bytes], bytes]


def zipped(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


def raw_deflate(content: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(content) + packer.flush()


@pytest.fixture(autouse=True)
def _debug(settings: Any) -> None:
    settings.DEBUG = True


@pytest.fixture
def asked(key_server: KeyServer) -> list[dict[str, str]]:
    """The headers of each request that the server got, by name in lower case."""
    requests: list[dict[str, str]] = []

    def answer(handler: BaseHTTPRequestHandler) -> None:
        requests.append({name.lower(): value for name, value in handler.headers.items()})
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(DOCUMENT)))
        handler.end_headers()
        handler.wfile.write(DOCUMENT)

    key_server.answer = answer
    return requests


@pytest.fixture
def nameless() -> Iterator[None]:
    """What was found out about the installed package is forgotten before and after."""
    user_agent.cache_clear()
    yield
    user_agent.cache_clear()


def test_a_server_is_told_who_asks_and_what_is_read(
    key_server: KeyServer, asked: list[dict[str, str]]
) -> None:
    fetch(key_server.url, host="127.0.0.1")

    [headers] = asked
    assert headers["user-agent"] == f"poppy-operations/{version('poppy-operations')}"
    assert headers["accept"] == "application/jwk-set+json, application/json"
    assert headers["accept-encoding"] == "identity"


def test_the_token_issuers_server_is_told_the_same(
    key_server: KeyServer, asked: list[dict[str, str]]
) -> None:
    RemoteKeySet(key_server.url).load()

    [headers] = asked
    assert headers["user-agent"].startswith("poppy-operations/")
    assert headers["accept"].startswith("application/jwk-set+json")


@pytest.mark.usefixtures("nameless")
def test_a_copy_that_nobody_installed_has_a_name_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unknown(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(fetching, "version", unknown)
    assert user_agent() == "poppy-operations"


# Packed documents


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [
        ("gzip", gzip.compress),
        ("GZip", gzip.compress),
        ("x-gzip", gzip.compress),
        (" gzip , identity", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", raw_deflate),
        ("identity", bytes),
        ("", bytes),
    ],
)
@pytest.mark.parametrize("document", [DOCUMENT, b" " * LARGEST_BODY])
def test_a_packed_document_is_unpacked(
    encoding: str, pack: Pack, document: bytes, key_server: KeyServer
) -> None:
    key_server.serve(pack(document), **{"Content-Encoding": encoding})

    assert fetch(key_server.url, host="127.0.0.1") == document


def test_a_packed_key_set_has_its_keys(key_server: KeyServer) -> None:
    key_set = {"keys": [public_jwk(new_key("ES256"), "ES256", kid="k1")]}
    packed = gzip.compress(json.dumps(key_set).encode())
    key_server.serve(packed, **{"Content-Encoding": "gzip"})

    assert len(RemoteKeySet(key_server.url).matching(alg="ES256", kid="k1", now=0)) == 1


def test_gzip_may_come_in_several_members() -> None:
    body = gzip.compress(b'{"keys"') + gzip.compress(b": []}")
    assert unpacked(body, "gzip", largest=100) == DOCUMENT


@pytest.mark.parametrize(
    "pack", [gzip.compress, zlib.compress, raw_deflate], ids=["gzip", "zlib", "raw"]
)
@pytest.mark.parametrize("size", [LARGEST_BODY + 1, 50_000_000])
def test_a_document_that_is_too_large_when_unpacked_is_refused(
    pack: Pack, size: int, key_server: KeyServer
) -> None:
    body = pack(b" " * size)
    assert len(body) < LARGEST_BODY
    name = "gzip" if pack is gzip.compress else "deflate"
    key_server.serve(body, **{"Content-Encoding": name})

    with pytest.raises(FetchFailed, match="larger than 100000 bytes when it is unpacked"):
        fetch(key_server.url, host="127.0.0.1")


def test_the_members_of_a_packed_document_share_the_limit() -> None:
    with pytest.raises(BadEncoding, match="larger"):
        unpacked(gzip.compress(b" " * 60) * 2, "gzip", largest=100)


def test_no_more_is_unpacked_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = []
    original = zlib.decompressobj

    class Watched:
        def __init__(self, window: int) -> None:
            self.unpacker = original(window)

        def decompress(self, data: bytes, most: int) -> bytes:
            lengths.append(most)
            return self.unpacker.decompress(data, most)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.unpacker, name)

    monkeypatch.setattr(zlib, "decompressobj", Watched)
    with pytest.raises(BadEncoding):
        unpacked(gzip.compress(b" " * 10_000_000), "gzip", largest=LARGEST_BODY)
    assert lengths == [LARGEST_BODY + 1]
    lengths.clear()
    unpacked(gzip.compress(b" " * 60) + gzip.compress(b" " * 40), "gzip", largest=100)
    assert lengths == [101, 41]


BROKEN: dict[str, tuple[str, bytes]] = {
    "brotli": ("br", DOCUMENT),
    "zstandard": ("zstd", DOCUMENT),
    "compress": ("compress", DOCUMENT),
    "packed twice": ("gzip, gzip", zipped(zipped(DOCUMENT))),
    "packed in two ways": ("deflate, gzip", zipped(zlib.compress(DOCUMENT))),
    "not packed": ("gzip", DOCUMENT),
    "without its end": ("gzip", zipped(DOCUMENT)[:-9]),
    "without its head": ("gzip", zipped(DOCUMENT)[:5]),
    "with something behind it": ("gzip", zipped(DOCUMENT) + b"x"),
    "with another checksum": ("gzip", zipped(DOCUMENT)[:-8] + b"12345678"),
    "not deflated": ("deflate", DOCUMENT),
    "too short": ("deflate", b"x"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_cannot_be_unpacked_is_a_failure(case: str, key_server: KeyServer) -> None:
    encoding, body = BROKEN[case]
    key_server.serve(body, **{"Content-Encoding": encoding})

    with pytest.raises(FetchFailed, match=r"packed|Fetching failed"):
        fetch(key_server.url, host="127.0.0.1")


def test_two_headers_that_name_encodings_are_read_as_one(key_server: KeyServer) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        body = zipped(zipped(DOCUMENT))
        handler.send_response(200)
        handler.send_header("Content-Encoding", "gzip")
        handler.send_header("Content-Encoding", "gzip")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    key_server.answer = answer
    with pytest.raises(FetchFailed, match="not known"):
        fetch(key_server.url, host="127.0.0.1")


def test_an_empty_packed_body_is_an_empty_document() -> None:
    assert unpacked(b"", "gzip", largest=100) == b""


# Where a redirect leads


@pytest.fixture
def another_port() -> Iterator[KeyServer]:
    """Another server on the same host, which has a key set as well."""
    server = KeyServer()
    server.serve(json.loads(DOCUMENT))
    server.thread.start()
    yield server
    server.server.shutdown()
    server.server.server_close()
    server.thread.join()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_another_port_of_the_host_is_not_followed(
    status: int, key_server: KeyServer, another_port: KeyServer
) -> None:
    key_server.serve(b"", status=status, Location=f"{another_port.url}/jwks")

    with pytest.raises(FetchFailed, match="another host, port or scheme"):
        fetch(key_server.url, host="127.0.0.1")
    assert another_port.paths == []


@pytest.mark.parametrize(
    "location",
    [
        "https://agent.example:8443/jwks",
        "http://agent.example/jwks",
        "http://agent.example:443/jwks",
        "https://www.agent.example/jwks",
        "https://agent.example./jwks",
        "https://agent.example@evil.example/jwks",
        "//agent.example:444/jwks",
    ],
)
def test_the_origin_of_a_redirect_is_the_one_that_was_asked(
    location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def get(parts: Any, deadline: float, *, public: bool) -> str:
        asked.append(parts.geturl())
        return location

    monkeypatch.setattr(fetching, "_get", get)
    with pytest.raises(FetchFailed):
        fetch("https://agent.example/jwks", host="agent.example")
    assert asked == ["https://agent.example/jwks"]


def test_the_default_port_may_be_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[str | bytes] = ["https://agent.example:443/keys", DOCUMENT]
    monkeypatch.setattr(fetching, "_get", lambda *args, **kwargs: answers.pop(0))

    assert fetch("https://agent.example/jwks", host="agent.example") == DOCUMENT

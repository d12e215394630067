"""Bodies that a server packed although nobody asked it to, unpacked within bounds."""

from __future__ import annotations

import zlib
from typing import Final

_GZIP: Final = frozenset({"gzip", "x-gzip"})
_WITH_GZIP_HEADER: Final = zlib.MAX_WBITS | 16
_RAW: Final = -zlib.MAX_WBITS


class BadEncoding(Exception):
    """The body cannot be unpacked, or is too large once it is unpacked. The message says why."""


def unpacked(body: bytes, content_encoding: str, *, largest: int) -> bytes:
    """Give the document of a body by its ``Content-Encoding``, if it has ``largest`` bytes or less.

    Raises:
        BadEncoding: another encoding than gzip and deflate, more than one, damaged or too large.

    """
    names = [name.strip().lower() for name in content_encoding.split(",")]
    packed = [name for name in names if name not in ("", "identity")]
    if not packed:
        return body
    if packed == ["deflate"]:
        return _inflated(body, zlib.MAX_WBITS if _has_zlib_header(body) else _RAW, largest)
    if len(packed) == 1 and packed[0] in _GZIP:
        return _inflated(body, _WITH_GZIP_HEADER, largest)
    message = "The document is packed in a way that is not known."
    raise BadEncoding(message)


def _has_zlib_header(body: bytes) -> bool:
    # "deflate" means zlib's format; some servers send it without the header.
    return len(body) > 1 and body[0] & 0x0F == zlib.DEFLATED and (body[0] << 8 | body[1]) % 31 == 0


def _inflated(body: bytes, window: int, largest: int) -> bytes:
    document, rest = bytearray(), body
    while rest:  # gzip may have several members, one after the other
        unpacker = zlib.decompressobj(window)
        try:
            document += unpacker.decompress(rest, largest + 1 - len(document))
        except zlib.error:
            message = "The packed document is damaged."
            raise BadEncoding(message) from None
        if len(document) > largest:
            message = f"The document is larger than {largest} bytes when it is unpacked."
            raise BadEncoding(message)
        if not unpacker.eof:
            message = "The packed document has no end."
            raise BadEncoding(message)
        rest = unpacker.unused_data
    return bytes(document)

"""Packed files: the bytes in a file that gzip, bzip2 or xz has packed, as distributions pack their documents.

Knows the endings of such files, and unpacks no more than a file may hold. Does not know archives of several files, nor
what is inside: the reader of the inner name reads it. Unpacks in the parser's process.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from typing import Protocol

from corrobora.domain.errors import ReadError
from corrobora.domain.evidence import ReadOutcome
from corrobora.domain.limits import LIMITS

ENDINGS = (".gz", ".bz2", ".xz")


class Unpacker(Protocol):
    """What the three modules of the standard library have in common."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


def strip_ending(name: str) -> str:
    """Return the name of the file inside a packed one: "NEWS.md" for "NEWS.md.gz"; another name as it is."""
    ending = next((each for each in ENDINGS if name.lower().endswith(each)), "")
    return name[: len(name) - len(ending)]


def unpack_bytes(name: str, data: bytes) -> bytes:
    """Return what a packed file holds.

    Raises:
        ReadError: `too_large` for more than a file may have, `broken` for damaged data.
    """
    limit = LIMITS.file_max_bytes
    try:
        found, whole = _unpack_pieces(name, data, limit + 1)
    except (zlib.error, lzma.LZMAError, OSError) as error:
        raise ReadError(ReadOutcome.BROKEN, f"It cannot be unpacked ({error}).") from error
    if len(found) > limit:
        raise ReadError(ReadOutcome.TOO_LARGE, f"Unpacked it has more than {limit} bytes, the limit.")
    if not whole:
        raise ReadError(ReadOutcome.BROKEN, "It cannot be unpacked whole: it ends early.")
    return found


def _unpack_pieces(name: str, data: bytes, most: int) -> tuple[bytes, bool]:
    """Return at most so many bytes of the packed pieces that follow each other, and whether the last is whole."""
    found, whole = b"", True
    while data and len(found) < most:
        unpacker = _make_unpacker(name)
        found += unpacker.decompress(data, most - len(found))
        whole = unpacker.eof
        data = unpacker.unused_data.lstrip(b"\0") if whole else b""
    return found, whole


def _make_unpacker(name: str) -> Unpacker:
    if name.lower().endswith(".gz"):
        return zlib.decompressobj(zlib.MAX_WBITS | 16)  # with the head that gzip writes
    return bz2.BZ2Decompressor() if name.lower().endswith(".bz2") else lzma.LZMADecompressor()

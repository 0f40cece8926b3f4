"""Decoding: from bytes to text, or to the reason why they are none.

Knows byte order marks, UTF-8, UTF-16, the declared character set and the usual fall-back, and magic bytes of what is
no text. Does not know formats of text.
"""

from __future__ import annotations

import codecs
import re

from corrobora.domain.errors import ReadError
from corrobora.domain.evidence import ReadOutcome

_MAGIC = (
    (b"%PDF-", "a PDF file"),
    (b"PK\x03\x04", "a ZIP archive or office file"),
    (b"\x89PNG", "a PNG image"),
    (b"GIF8", "a GIF image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"Rar!", "a RAR archive"),
    (b"\x7fELF", "a program"),
    (b"MZ", "a program"),
    (b"SQLite format 3", "a database"),
    (b"\xd0\xcf\x11\xe0", "an old office file"),
    (b"OggS", "audio or video"),
    (b"ID3", "audio"),
    (b"RIFF", "audio, video or an image"),
)
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_REFUSED = frozenset({"utf-7", "utf7", "unicode-1-1-utf-7"})
_BAD_SHARE = 0.05
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")


def decode_text(data: bytes, declared: str = "") -> str:
    """Return the text of `data`, line ends as single line feeds.

    Raises:
        ReadError: `unsupported` for bytes that are no text, or of which more than 5 % cannot be decoded.
    """
    for magic, what in _MAGIC:
        if data.startswith(magic) and (magic != b"MZ" or b"\x00" in data[:512]):
            raise ReadError(ReadOutcome.UNSUPPORTED, f"It is {what}, not text.")
    text = _decode_bytes(data, declared)
    bad = text.count("�") + len(_CONTROL.findall(text))
    if bad > _BAD_SHARE * len(text):
        raise ReadError(ReadOutcome.UNSUPPORTED, f"It is not text: {bad} of {len(text)} characters make no sense.")
    return _CONTROL.sub("", text).replace("\r\n", "\n").replace("\r", "\n")


def _decode_bytes(data: bytes, declared: str) -> str:
    for mark, name in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace")
    if data and b"\x00" in data[:4096]:
        return data.decode(_guess_utf16(data), "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode(_choose_codec(declared), "replace")


def _guess_utf16(data: bytes) -> str:
    """Name the UTF-16 order in which most odd or even bytes are zero; UTF-8 if neither, so that NULs are counted."""
    even, odd = data[0:4096:2].count(0), data[1:4096:2].count(0)
    sampled = len(data[:4096]) // 2
    if odd > 0.3 * sampled and odd > even:
        return "utf-16-le"
    if even > 0.3 * sampled and even > odd:
        return "utf-16-be"
    return "utf-8"


def _choose_codec(declared: str) -> str:
    """Return a usable codec: the declared one unless it is unknown, no text codec, or utf-7."""
    name = declared.strip().strip("\"'").lower()
    if not name or name in _REFUSED or name in {"utf-8", "utf8", "ascii", "us-ascii", "iso-8859-1", "latin-1"}:
        return "cp1252"
    try:
        info = codecs.lookup(name)
    except LookupError:
        return "cp1252"
    return info.name if info.name not in _REFUSED and getattr(info, "_is_text_encoding", True) else "cp1252"

"""Plain text, and source code as text: read, never run.

Knows that a title is the first line if it is short. Does not know markup.
"""

from __future__ import annotations

from corrobora.adapters.readers.decoding import decode_text
from corrobora.domain.parsed import ParsedDocument

_FIRST_LINE_CHARS = 120


def read_text(data: bytes, name: str = "") -> ParsedDocument:
    """Return the text of a file. Raises `ReadError` if the bytes are no text."""
    del name
    lines = [line.rstrip() for line in decode_text(data).split("\n")]
    text = "\n".join(lines).strip("\n")
    first = next((line.strip() for line in lines if line.strip()), "")
    second = text.find("\n")
    stands_alone = second >= 0 and text[second + 1 : second + 2] in {"\n", "=", "-"}
    return ParsedDocument(title=first if stands_alone and len(first) <= _FIRST_LINE_CHARS else "", text=text)

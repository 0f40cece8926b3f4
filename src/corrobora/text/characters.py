"""Characters that no text needs and a terminal or a viewer obeys: escape sequences, control and direction characters.

Knows C0, C1, the overrides and isolates of text direction, and tag characters. Does not know where a text comes from or
goes: readers, storage, reports and the terminal call it at their borders.
"""

from __future__ import annotations

import re

_ESCAPE_SEQUENCES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor movement
    r"|\x1b[\]PX^_][^\x07\x1b\x9c]{0,4096}(?:\x07|\x1b\\|\x9c)"  # titles, hyperlinks, device control
    r"|\x1b[ -/]*[0-~]?"  # the short ones, and a lone ESC
)
_CONTROL_CHARACTERS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 without tab and line feed, DEL, C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff"  # text direction, byte order
    "\U000e0000-\U000e007f]"  # tag characters
)


_JSON_ESCAPE = re.compile(r"(?<!\\)((?:\\\\)*)\\(?:u00(?:0[0-8b-f]|1[\da-f]|7f|[89][\da-f])|[bfr])", re.IGNORECASE)


def sanitize_json(text: str) -> str:
    """Return a JSON document without control and direction characters in its strings, escaped ones included."""
    return sanitize_text(_JSON_ESCAPE.sub(r"\1", text))


def sanitize_text(text: str) -> str:
    """Return `text` without anything a terminal would obey: escape sequences, control and direction characters."""
    if _CONTROL_CHARACTERS.search(text) is None:
        return text
    return _CONTROL_CHARACTERS.sub("", _ESCAPE_SEQUENCES.sub("", text.replace("\r\n", "\n")))

"""Inert: Markdown in which nothing that came from a source or a model is HTML, an image or a link.

Knows the openings that a Markdown viewer acts on, and how to read past what makes them harmless. Does not know reports.
"""

from __future__ import annotations

import re

# `<` before a name, `/`, `!` or `?` opens HTML or an address; `![` an image; `](` a link, `]:` the target of one.
_ACTIVE = re.compile(r"(?<!\\)((?:\\\\)*)(<(?=[A-Za-z/!?])|!(?=\[)|(?<=\])[(:])")
_ESCAPED = re.compile(r"\\(<(?=[A-Za-z/!?])|!(?=\[)|(?<=\]\\)[(:])")


def escape_markdown(markdown: str) -> str:
    r"""Escape what would be HTML, an image or a link; a viewer shows the same characters and acts on none of them.

    Example:
        >>> inert("![x](https://a.example) <b>")
        '\\![x]\\(https://a.example) \\<b>'
    """
    return _ACTIVE.sub(r"\1\\\2", markdown)


def unescape_markdown(markdown: str) -> str:
    """Return the characters that a viewer would show for what `inert` escaped."""
    return _ESCAPED.sub(r"\1", markdown)

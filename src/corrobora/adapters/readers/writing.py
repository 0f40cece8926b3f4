"""Writing readable text: blocks and headings in, one text with exact places out.

Knows that blocks are parted by a blank line and lines of a table by a line break, and where each heading starts.
Does not know any format.
"""

from __future__ import annotations

import re

from corrobora.domain.parsed import Heading, ParsedDocument

_SPACES = re.compile(r"[^\S\n]+")
_TITLE_CHARS = 300


class TextWriter:
    """Collects blocks of readable text."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._headings: list[Heading] = []
        self._tight = False

    def add_block(self, text: str, *, tight: bool = False) -> None:
        """Append a block. `tight` keeps it close to another tight block: list items and table rows."""
        text = fold_spaces(text)
        if not text:
            return
        if self._parts:
            self._append_text("\n" if tight and self._tight else "\n\n")
        self._append_text(text)
        self._tight = tight

    def add_verbatim(self, text: str) -> None:
        """Append a block as it is: program text, where spaces mean something."""
        text = text.strip("\n").rstrip()
        if not text.strip():
            return
        if self._parts:
            self._append_text("\n\n")
        self._append_text(text)
        self._tight = False

    def add_heading(self, text: str, level: int) -> None:
        """Append a heading and note where it starts."""
        text = " ".join(text.split())
        if not text:
            return
        if self._parts:
            self._append_text("\n\n")
        self._headings.append(Heading(self._length, level, text[:_TITLE_CHARS]))
        self._append_text(text)
        self._tight = False

    def _append_text(self, text: str) -> None:
        self._parts.append(text)
        self._length += len(text)

    @property
    def first_heading(self) -> str:
        """The text of the first heading of the highest level, "" if there is none."""
        if not self._headings:
            return ""
        top = min(heading.level for heading in self._headings)
        return next(heading.title for heading in self._headings if heading.level == top)

    def build_parsed(  # noqa: PLR0913 - named parts of one value
        self,
        title: str = "",
        *,
        published: str = "",
        version: str = "",
        publisher: str = "",
        truncated: bool = False,
        note: str = "",
    ) -> ParsedDocument:
        """Return what was written, titled by `title` or the first heading."""
        return ParsedDocument(
            title=" ".join(title.split())[:_TITLE_CHARS] or self.first_heading,
            text="".join(self._parts),
            headings=tuple(self._headings),
            published=published,
            version=version,
            publisher=publisher,
            truncated=truncated,
            note=note,
        )


def fold_spaces(text: str) -> str:
    """Fold runs of spaces, strip every line, drop empty lines."""
    lines = (_SPACES.sub(" ", line).strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line)

"""Parsed documents: the text of a file or page without its markup.

Knows the text, its title, its headings with their positions, and the document's own metadata. Does not know formats or
where the document will be stored.
"""

from __future__ import annotations

from dataclasses import dataclass

from corrobora.domain.evidence import Source


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading that begins in the text at `start`; `level` 1 is the highest."""

    start: int
    level: int
    title: str


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """The readable text of one document. Quotes are literal in `text`; `note` says what was left out, if anything."""

    title: str
    text: str
    headings: tuple[Heading, ...] = ()
    published: str = ""
    version: str = ""
    publisher: str = ""
    truncated: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class IngestItem:
    """One document to store. `path` and `digest` name the file it was read from, if any."""

    source: Source
    text: str
    headings: tuple[Heading, ...] = ()
    path: str | None = None
    digest: str = ""

"""Parsed documents: what a file or page gives once its markup is gone.

Knows readable text, its title, its headings with their places, and what the document says of itself.
Does not know formats, nor where it will be stored.
"""

from __future__ import annotations

from dataclasses import dataclass

from corrobora.domain.evidence import Source


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading that stands in the text at `start`; `level` 1 is the highest."""

    start: int
    level: int
    title: str


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """Readable text of one document. Quotes are literal in `text`; `note` says what was left out, if anything."""

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
    """One document to be stored. `path` and `digest` name the file it was read from, if any."""

    source: Source
    text: str
    headings: tuple[Heading, ...] = ()
    path: str | None = None
    digest: str = ""

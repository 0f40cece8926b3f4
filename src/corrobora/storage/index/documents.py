"""Documents before they are written: cleaned, hashed and cut into passages.

Knows what a database and a terminal can hold. Does not know statements, spaces or postings.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from corrobora.domain.errors import UserError
from corrobora.domain.evidence import Passage, PassageId, Source, SourceId, read_file_name
from corrobora.ports import IngestItem
from corrobora.storage.index.terms import TITLE_WEIGHT, Fields, make_fields
from corrobora.text.passages import PassageSpan, segment_passages
from corrobora.text.tokens import sanitize_text

DocumentKey: TypeAlias = tuple[str, str, str, str]  # address, snapshot, path, digest

_HASHED_CHARS = 1 << 20
_TEXTS = ("title", "url", "version", "published", "publisher")  # of a source
_SURROGATE = re.compile("[\ud800-\udfff]")


class PreparedDocument:
    """A document cleaned, hashed and cut, before any statement is sent."""

    __slots__ = ("cuts", "item", "key", "sha", "source", "text")

    def __init__(self, item: IngestItem) -> None:
        if not item.text.strip():
            raise UserError("library_empty_text", f"The document {item.source.url!r} has no text.")
        self.item = item
        self.text = clean_text(item.text)
        self.sha = _hash_text(self.text)
        given = item.source
        self.source = given if _is_clean(given) else _clean_source(given)
        self.key: DocumentKey = (self.source.url, self.sha, item.path or "", item.digest)
        self.cuts: tuple[PassageSpan, ...] = segment_passages(
            self.text, item.headings if self.text == item.text else ()
        )

    def with_number(self, number: int) -> Source:
        it = self.source  # spelled out, because `replace` takes as long as hashing and splitting a short text
        return Source(
            SourceId(f"S{number}"),
            *(it.title, it.url, self.sha, it.origin or self.sha, it.version, it.published, it.publisher, it.kind),
            primary=it.primary,
            authors=it.authors,
        )

    @property
    def meta(self) -> str:
        source = self.source
        held = {word.lower() for word in source.title.split()}
        words = (word for word in read_file_name(source.url).split() if word.lower() not in held)
        named = " ".join(word for word in words for _ in range(TITLE_WEIGHT))  # may be all that says whose news it is
        return " ".join(part for part in (source.publisher, source.published[:10], source.version, named) if part)

    def iter_fields(self) -> Iterator[Fields]:
        for start, end, heading in self.cuts:
            yield make_fields(self.source.title, self.text[start:end], heading, self.meta)


def clean_text(text: str) -> str:
    """Drop what a terminal would obey and what a database cannot hold: control characters and lone surrogates."""
    text = sanitize_text(text)
    return text if _SURROGATE.search(text) is None else text.encode("utf-8", "replace").decode("utf-8")


def _hash_text(text: str) -> str:
    hashed = hashlib.sha256()
    for at in range(0, len(text), _HASHED_CHARS):  # a long text is not copied as a whole
        hashed.update(text[at : at + _HASHED_CHARS].encode())
    return hashed.hexdigest()


def _is_clean(source: Source) -> bool:
    words = "".join((*(getattr(source, name) for name in _TEXTS), *source.authors))
    return words.isascii() and words.isprintable()


def _clean_source(source: Source) -> Source:
    texts = {name: clean_text(getattr(source, name)) for name in _TEXTS}
    return replace(source, **texts, authors=tuple(map(clean_text, source.authors)))


class StoredDocument(NamedTuple):
    """A stored document. Its source and passages are built on demand, since most are never used."""

    document: PreparedDocument
    number: int  # of the source
    ids: Sequence[int]  # of the passages, in reading order
    cuts: Sequence[PassageSpan]
    new: bool

    @property
    def source(self) -> Source:
        return self.document.with_number(self.number)

    @property
    def passages(self) -> tuple[Passage, ...]:
        source, text = SourceId(f"S{self.number}"), self.document.text
        return tuple(
            Passage(PassageId(f"C{id_}"), source, text[each.start : each.end], *each)
            for id_, each in zip(self.ids, self.cuts, strict=True)
        )

"""Markers of a draft: how writers spell citations such as `[S3:C2]`, and which sentence each belongs to.

Knows loose spellings and the place of a marker in a line. Does not know which markers resolve.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from corrobora.reporting.markdown import MARKER, drop_marks
from corrobora.text.segmentation import split_sentences

_ONE = r"S\d{1,9}\s{0,2}[:：,]?\s{0,2}C\d{1,9}"
_MORE = r"\s{0,2}[,;]\s{0,2}(?:S\d{1,9}\s{0,2}[:：]?\s{0,2})?C\d{1,9}"
_LOOSE = re.compile(rf"(?<!\\)[\[(［]\s*({_ONE}(?:{_MORE}){{0,30}})\s*[\])］]?", re.IGNORECASE)
_PART = re.compile(r"(?:(S\d{1,9})\s{0,2}[:：,]?\s{0,2})?(C\d{1,9})", re.IGNORECASE)


def normalize_markers(text: str) -> str:
    """Write every unambiguous marker in the one form `[S1:C2]`, several in one bracket as several (bad-input M25)."""

    def rewrite_marker(match: re.Match[str]) -> str:
        source, found = "", ""
        for part in _PART.finditer(match.group(1).upper()):
            source = part.group(1) or source  # [S1:C2, C3] means two passages of one source
            found += f"[{source}:{part.group(2)}]"
        return found

    return _LOOSE.sub(rewrite_marker, text)


def iter_cited_sentences(line: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the sentences of a line with the markers that follow or stand in each."""
    pending: tuple[str, list[str]] | None = None
    for span in split_sentences(line):
        piece = line[span.start : span.end]
        cited = [match.group() for match in MARKER.finditer(piece)]
        text = " ".join(drop_marks(piece, MARKER).split())
        leading = _find_leading_markers(piece)
        if pending is not None and leading:
            pending[1].extend(leading)
            cited = cited[len(leading) :]
        if not text.strip(" .,;:-*"):
            if pending is not None:
                pending[1].extend(cited)
            continue
        if pending is not None:
            yield pending
        pending = (text, cited)
    if pending is not None:
        yield pending


def _find_leading_markers(piece: str) -> list[str]:
    """Markers at the start of a piece belong to the sentence before it: "It grew. [S1:C2] Then it fell."."""
    found: list[str] = []
    rest = piece.lstrip()
    while match := MARKER.match(rest):
        found.append(match.group())
        rest = rest[match.end() :].lstrip()
    return found

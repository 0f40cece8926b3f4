"""Snapshots of pages: what was read is stored once, and the passages worth reading are chosen.

Knows the library port and a plain measure of overlap with what was searched for. Does not know how a page was fetched.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from corrobora.adapters.web.urls import host_of
from corrobora.domain.evidence import Document, Hit, Passage, Source, SourceId
from corrobora.domain.limits import LIMITS
from corrobora.domain.parsed import ParsedDocument
from corrobora.policies.grading import is_official
from corrobora.policies.words import stem_text
from corrobora.ports import Library

_SNIPPET_WEIGHT = 0.3  # the snippet shows where the provider found something; the query says what is looked for
_SATURATION = 1.2  # BM25's k1
_OPENING = 3  # passages of a page in which no word of the query occurs


async def store_page(  # noqa: PLR0913 - the parts of one snapshot
    parsed: ParsedDocument, hit: Hit, *, url: str, published: str, library: Library, space: str
) -> Document:
    """Store a page under `url` and return it with the passages worth reading, in reading order."""
    host = host_of(url)
    source = Source(
        id=SourceId(""),
        title=parsed.title or hit.title or url,
        url=url,
        snapshot="",
        version=parsed.version,
        published=published,
        publisher=host,
        kind="web",
        primary=is_official(url),
    )
    stored, passages = await library.store(source, parsed.text, space=space, headings=parsed.headings)
    chosen = select_passages(passages, hit.query, hit.snippet)
    return Document(stored, parsed.text, chosen, truncated=parsed.truncated)


def select_passages(
    passages: Sequence[Passage], query: str, snippet: str, *, most: int = LIMITS.page_passages
) -> tuple[Passage, ...]:
    """Return at most `most` passages that share the rarest words with query and snippet, in reading order.

    A page without such a word is opened at its beginning: it may still be what a title or a link promised.
    """
    if len(passages) <= most and len(passages) <= _OPENING:
        return tuple(passages)
    texts = [Counter(stem_text(f"{passage.heading} {passage.text}")) for passage in passages]
    wanted = dict.fromkeys(stem_text(snippet), _SNIPPET_WEIGHT) | dict.fromkeys(stem_text(query), 1.0)
    spread = Counter(word for text in texts for word in text)
    weights = {
        word: weight * math.log(1 + (len(texts) - spread[word] + 0.5) / (spread[word] + 0.5))
        for word, weight in wanted.items()
        if spread[word]
    }
    scores = [
        sum(weight * text[word] / (text[word] + _SATURATION) for word, weight in weights.items() if text[word])
        for text in texts
    ]
    ranked = sorted((at for at, score in enumerate(scores) if score > 0), key=lambda at: (-scores[at], at))[:most]
    return tuple(passages[at] for at in sorted(ranked)) or tuple(passages[: min(most, _OPENING)])

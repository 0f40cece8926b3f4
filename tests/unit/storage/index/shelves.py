"""Documents for tests of the library, and ways to put them there."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import replace

from corrobora.domain.evidence import Source, SourceId
from corrobora.ports import IngestItem
from corrobora.storage.index.bm25 import K1, LENGTHS, B
from corrobora.storage.index.catalog import Catalog
from corrobora.storage.index.posting_lists import length_codes
from corrobora.storage.index.terms import TITLE_WEIGHT
from corrobora.storage.postgres import Database
from corrobora.text.tokens import split_words, stem_word

WORDS = "king queen rome paris crown war peace river stone bridge ship harbour law court judge gold".split()


def item(number: int, title: str, text: str, *, path: str | None = None, **about: str) -> IngestItem:
    source = Source(SourceId(""), title, about.pop("url", f"doc:{number}"), "")
    return IngestItem(replace(source, **about), text, path=path)


def made(number: int, seed: str = "") -> IngestItem:
    """A document that depends on its number only."""
    digest = hashlib.sha256(f"{seed}{number}".encode()).digest()
    picks = [WORDS[byte % len(WORDS)] for byte in digest]
    return item(number, f"{picks[0]} {picks[1]}", " ".join(picks[2 : 4 + digest[0] % 20]) + f" n{number}.")


async def fill(database: Database, items: Sequence[IngestItem], *, space: str = "lib", batch: int = 1_000) -> Catalog:
    catalog = Catalog(database)
    number = await catalog.open(space)
    for start in range(0, len(items), batch):
        await catalog.store(number, items[start : start + batch])
    return catalog


def bm25(items: Sequence[IngestItem], question: str) -> dict[str, float]:
    """BM25 by the book, over single-passage documents: address to score."""
    import numpy as np

    counts: dict[str, dict[str, int]] = {}
    lengths: dict[str, int] = {}
    for each in items:
        found: dict[str, int] = {}
        for text, weight in ((each.source.title, TITLE_WEIGHT), (each.text, 1)):
            for word in split_words(text):
                lengths[each.source.url] = lengths.get(each.source.url, 0) + 1
                if stem_word(word):
                    found[stem_word(word)] = found.get(stem_word(word), 0) + weight
        counts[each.source.url] = found
    average = sum(lengths.values()) / len(items)
    scores: dict[str, float] = {}
    for term in {stem_word(word) for word in split_words(question) if stem_word(word)}:
        holders = [url for url, found in counts.items() if term in found]
        weight = max(1e-6, math.log((len(items) - len(holders) + 0.5) / (len(holders) + 0.5)))
        for url in holders:
            length = LENGTHS[int(length_codes(np.array([lengths[url]], np.int32))[0])]
            tf = counts[url][term]
            scores[url] = scores.get(url, 0.0) + weight * tf * (K1 + 1) / (tf + K1 * (1 - B + B * length / average))
    return scores

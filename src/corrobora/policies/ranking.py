"""Ranking: what a question says of its sources and dates, how lists are fused, what a link is worth.

Knows pure arithmetic over scores, with weights measured on public data sets and the same for all of them.
Does not know where scores, names and links come from.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from corrobora.policies.mentions import MONTHS
from corrobora.policies.words import split_words

RRF_K = 10
DENSE_WEIGHT = 0.5
SOURCE_BOOST = 2.0
DATE_BOOST = 2.0
LINK_SEEDS = 3
CLAUSE_WEIGHT = 0.5
REPEAT_DAMPING = 0.95

_ISO_DATE = re.compile(r"(?<!\d)(\d{4})-(\d{2})(?:-(\d{2}))?(?!\d)")
_MONTH_FIRST = re.compile(r"(?<![^\W_])([A-Za-z]{3,9})\.? (?:(\d{1,2})(?:st|nd|rd|th)?,? )?(\d{4})(?!\d)")
_DAY_FIRST = re.compile(r"(?<!\d)(\d{1,2})(?:st|nd|rd|th)? (?:of )?([A-Za-z]{3,9})\.?,? (\d{4})(?!\d)")
_TITLE_SEPARATOR = re.compile(r" [|–—-] |: ")


def find_date_prefixes(text: str) -> tuple[str, ...]:
    """Return the days and months that `text` names, as ISO prefixes ("2023-10-07", "2023-10"), sorted."""
    found: list[str] = []
    for year, month, day in _ISO_DATE.findall(text):
        found.append(f"{year}-{month}-{day}" if day else f"{year}-{month}")
    for name, day, year in _MONTH_FIRST.findall(text):
        found += _make_date_prefix(year, name, day)
    for day, name, year in _DAY_FIRST.findall(text):
        found += _make_date_prefix(year, name, day)
    days = [each for each in found if len(each) > 7]  # noqa: PLR2004 - a month whose day is named says nothing new
    return tuple(sorted({each for each in found if each in days or not any(d.startswith(each) for d in days)}))


def _make_date_prefix(year: str, name: str, day: str) -> list[str]:
    month = MONTHS.get(name.lower())
    if month is None:
        return []
    return [f"{year}-{month:02d}-{int(day):02d}" if day else f"{year}-{month:02d}"]


class SourceHints(NamedTuple):
    """What a question says of where and when: its words as one string, and the dates it names."""

    joined: str
    dates: tuple[str, ...]

    @classmethod
    def from_question(cls, question: str) -> SourceHints:
        """Read a question."""
        return cls(f" {' '.join(split_words(question))} ", find_date_prefixes(question))

    def boost_factor(self, publisher: str, published: str) -> float:
        """Return the factor of a source: doubled if the question names it, doubled if it names its date."""
        factor = SOURCE_BOOST if names_publisher(self.joined, publisher) else 1.0
        if published and any(published.startswith(each) for each in self.dates):
            factor *= DATE_BOOST
        return factor


def names_publisher(joined: str, publisher: str) -> bool:
    """True if the question, as " words with spaces ", names the publisher, its first part or its web name."""
    return any(f" {name} " in joined for name in list_publisher_names(publisher))


@lru_cache(maxsize=20_000)
def list_publisher_names(publisher: str) -> tuple[str, ...]:
    """Return the folded names by which a question may name a publisher: the whole, and its first part."""
    names: list[str] = []
    for part in dict.fromkeys((publisher, _TITLE_SEPARATOR.split(publisher, maxsplit=1)[0])):
        name = split_words(part)
        if name[:1] == ["the"] and len(name) > 1:
            name = name[1:]
        if len(" ".join(name)) > 2:  # noqa: PLR2004 - shorter ones stand in any question
            names.append(" ".join(name))
    return tuple(dict.fromkeys(names))


def fuse_rankings(lists: Sequence[tuple[float, Sequence[int]]], *, k: int = RRF_K) -> dict[int, float]:
    """Fuse ranked lists by weighted reciprocal ranks: the sum of weight / (k + rank)."""
    scores: dict[int, float] = {}
    for weight, ids in lists:
        for rank, each in enumerate(ids, start=1):
            scores[each] = scores.get(each, 0.0) + weight / (k + rank)
    return scores


def weighted_share(wanted: Mapping[str, float], text: frozenset[str] | set[str]) -> float:
    """Return which part of the weighted words `wanted` stands in `text`, 0 to 1."""
    total = sum(wanted.values())
    return sum(weight for word, weight in wanted.items() if word in text) / total if total else 0.0


def score_linked_passage(parent: float, sentence: float, target: float) -> float:
    """Score a passage that was reached by a link: the parent's score, damped, less so if something speaks for it.

    `sentence` and `target` are the shares of the question's remaining words in the mentioning sentence and in the
    target. A link never outranks its parent.
    """
    return parent * (0.75 + 0.1 * sentence + 0.1 * target)


def add_clause_scores(
    whole: Sequence[tuple[int, float]], parts: Sequence[tuple[float, Sequence[tuple[int, float]]]]
) -> dict[int, float]:
    """Join the ranking of a question with those of its clauses; each is a list of (id, score), best first.

    Every list counts relative to its best score. A passage gets its score for the whole question plus that for the
    clause it fits best: each document of a multi-hop question answers one clause. A clause weighs by the square root
    of what its words weigh (the first value of each part) against the heaviest.
    """
    scores = {id_: score / whole[0][1] for id_, score in whole}
    heaviest = max((weight for weight, _ in parts), default=0.0)
    best: dict[int, float] = {}
    for weight, ranked in parts:
        if not ranked or heaviest <= 0:
            continue
        factor = math.sqrt(weight / heaviest) / ranked[0][1]
        for id_, score in ranked:
            best[id_] = max(best.get(id_, 0.0), factor * score)
    for id_, score in best.items():
        scores[id_] = scores.get(id_, 0.0) + CLAUSE_WEIGHT * score
    return scores


def damp_repeated_sources(
    ranked: Sequence[tuple[int, float]], publisher: Mapping[int, str], asked: SourceHints
) -> dict[int, float]:
    """Damp the second and later passages of one source if the question names two or more: it wants them all."""
    named = {each: names_publisher(asked.joined, each) for each in set(publisher.values())}
    scores = dict(ranked)
    if sum(named.values()) < 2:  # noqa: PLR2004 - one source has nobody to make room for
        return scores
    seen: dict[str, int] = {}
    for id_, score in ranked:
        name = publisher[id_]
        if named[name]:
            seen[name] = seen.get(name, 0) + 1
            scores[id_] = score * REPEAT_DAMPING ** (seen[name] - 1)
    return scores

"""Selection: which hits of a round are worth reading, and which candidates are copies of one another.

Knows hits, what was read, and how much a round may read. Does not read and does not judge content.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from corrobora.domain.evidence import Hit, SourceId
from corrobora.domain.thread import ThreadState
from corrobora.policies.words import stem_text

FUSION_K = 10
PART_QUERY_WEIGHT = 0.7
COPY_SHARE = 0.8  # share of common terms from which two texts are taken for copies
GIVEN_PROVIDER = "given"  # the provider of a result that nobody searched for: somebody named it
SITE_SUFFIX = "/*"  # the end of a reference that names a whole site, not one page
_SOURCE_ID = re.compile(r"S\d{1,9}")


def select_hits(hits: Sequence[Hit], thread: ThreadState) -> tuple[Hit, ...]:
    """Choose what to read: given sources first, then the best of all queries together; nothing tried before.

    At most `course.reads_per_round` hits (S4: 3 to 5 well-processed results beat 10 skimmed ones). A page is chosen
    once; a passage of a library counts as read if it was read with a neighbour.
    """
    read = thread.read_passages
    tried = {_make_hit_key(reading.hit) for done in thread.rounds for reading in done.readings}
    chosen: dict[str, Hit] = {}
    for hit in (
        *list_given_hits(thread),
        *(each for each in hits if each.provider == GIVEN_PROVIDER),
        *fuse_hits(hits),
    ):
        name = _make_hit_key(hit)
        if name in tried or name in chosen or (hit.passage is not None and hit.passage in read):
            continue
        chosen[name] = hit
        if len(chosen) >= thread.course.reads_per_round:
            break
    return tuple(chosen.values())


def _make_hit_key(hit: Hit) -> str:
    return f"{hit.url}#{hit.passage}" if hit.passage else hit.url


def list_given_hits(thread: ThreadState) -> tuple[Hit, ...]:
    """The sources that a plan, a person or a scout gave to a thread, as results that come before all others.

    Whole sites are none: they are crawled and searched.
    """
    return tuple(_make_given_hit(each, thread.objective) for each in thread.sources if not each.endswith(SITE_SUFFIX))


def list_given_sites(thread: ThreadState) -> tuple[str, ...]:
    """The whole sites among the sources of a thread, by the address where a crawl begins.

    Example:
        A source "https://docs.example/guide/*" is the site that begins at "https://docs.example/guide/".
    """
    return tuple(dict.fromkeys(each.removesuffix("*") for each in thread.sources if each.endswith(SITE_SUFFIX)))


def fuse_hits(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Merge the lists of a round's queries by reciprocal rank: what several queries find comes first.

    The first query of a round states its intent whole and counts full, the others are parts of it. A page that only
    one query finds keeps its rank there (reciprocal rank fusion, Cormack et al. 2009, with k = 10 as in the library).
    """
    lanes: dict[tuple[str, str], int] = {}
    scores: dict[tuple[str, str | None], float] = {}
    first: dict[tuple[str, str | None], Hit] = {}
    for hit in hits:
        rank = lanes[hit.query, hit.provider] = lanes.get((hit.query, hit.provider), 0) + 1
        name = (hit.url, hit.passage)
        weight = 1.0 if hit.query == hits[0].query else PART_QUERY_WEIGHT
        scores[name] = scores.get(name, 0.0) + weight / (FUSION_K + rank)
        first.setdefault(name, hit)
    order = {name: place for place, name in enumerate(first)}
    return tuple(first[name] for name in sorted(first, key=lambda name: (-round(scores[name], 9), order[name])))


def _make_given_hit(reference: str, objective: str) -> Hit:
    """A source named by the plan or by a scout: a stored source, or a page; it is read for the thread's objective."""
    source = SourceId(reference) if _SOURCE_ID.fullmatch(reference) else None
    return Hit(reference, reference, provider=GIVEN_PROVIDER, query=objective, source=source)


def cluster_copies(texts: Sequence[str]) -> tuple[int, ...]:
    """Number the groups of near-copies among short texts: equal numbers are copies of one another."""
    groups: list[frozenset[str]] = []
    numbers: list[int] = []
    for text in texts:
        terms = frozenset(stem_text(text))
        number = next((n for n, known in enumerate(groups) if _term_share(terms, known) >= COPY_SHARE), len(groups))
        if number == len(groups):
            groups.append(terms)
        numbers.append(number)
    return tuple(numbers)


def _term_share(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / len(a | b) if a or b else 1.0

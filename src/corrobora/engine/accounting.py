"""Accounting: every result of every search of a run, in exactly one outcome, from findings and the journal.

Knows rounds and the journaled searches and reads, so that nothing is lost where a part failed, was cut or was repeated.
Does not know how the counts are shown.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from corrobora.domain.evidence import Hit, ReadOutcome, SourceId
from corrobora.domain.thread import Round
from corrobora.engine.codec import decode
from corrobora.engine.reading import FetchResult, make_read_key
from corrobora.engine.session import Session

ResultKey = tuple[str, str | None]  # address and passage: what counts as one result


@dataclass(frozen=True, slots=True)
class ResultCounts:
    """What became of all results. `outcomes` also holds sources that a plan named; `hits` counts results alone."""

    hits: int
    outcomes: tuple[tuple[str, int], ...]
    sources: frozenset[SourceId]


def count_results(rounds: Sequence[Round], run: Session) -> ResultCounts:
    """Put every result in exactly one outcome (DESIGN 10.5).

    A page that one thread read and another left alone was read. What was found but not opened is `cut` if its round was
    cut, or if the run was before any round ended; else it is `skipped`.
    """
    ended: dict[ResultKey, ReadOutcome] = {}
    sources: set[SourceId] = set()
    for reading in (each for r in rounds for each in r.readings if not each.again):
        name = (reading.hit.url, reading.hit.passage)
        if ended.get(name) is not ReadOutcome.READ:
            ended[name] = reading.outcome
        if reading.outcome is ReadOutcome.READ and reading.source is not None:
            sources.add(reading.source)
    cut = {(hit.url, hit.passage) for r in rounds if r.cut for hit in r.hits}
    found = {
        (hit.url, hit.passage): hit for hit in (*_iter_searched_hits(run), *(hit for r in rounds for hit in r.hits))
    }
    for name, hit in found.items():
        if name in ended:
            continue
        fetched = _find_last_fetch(hit, run)
        left = ReadOutcome.CUT if name in cut or not rounds else ReadOutcome.SKIPPED
        ended[name] = fetched.outcome if fetched is not None else left
        if fetched is not None and fetched.source is not None:
            sources.add(fetched.source)
    return ResultCounts(len(found), tuple(sorted(Counter(map(str, ended.values())).items())), frozenset(sources))


def _iter_searched_hits(run: Session) -> Iterator[Hit]:
    for key in run.journal.keys("search/"):
        entry = run.journal.get(key)
        if entry is not None and not key.endswith("!failed"):
            yield from decode(tuple[Hit, ...], entry.out, key=key)


def _find_last_fetch(hit: Hit, run: Session) -> FetchResult | None:
    """The last attempt at a hit, as journaled."""
    key = make_read_key(hit)
    entry = run.journal.get(key)
    last = entry
    for number in itertools.count(2):
        entry = run.journal.get(f"{key}!{number}")
        if entry is None:
            break
        last = entry
    last = run.journal.get(f"{key}!again") or last
    return None if last is None else decode(FetchResult, last.out, key=last.key)

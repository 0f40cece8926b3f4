"""Cited sources: what their stored texts add to a report.

Knows how stored texts are read from a library. Does not know which quote carries a statement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from corrobora.domain.evidence import SourceId
from corrobora.domain.report import Report, iter_threads
from corrobora.policies.grading import find_notice
from corrobora.ports import Library
from corrobora.reporting.evidence import StoredText, build_evidence
from corrobora.reporting.render import CitedSource


async def read_cited_sources(library: Library, sources: Sequence[SourceId]) -> dict[str, CitedSource]:
    """Return the content hashes of stored sources, what each says about its own standing, and their authors."""
    found: dict[str, CitedSource] = {}
    for each in dict.fromkeys(sources):
        source, text = await library.document(each)
        found[each] = CitedSource(source.snapshot, find_notice(source.title, text), source.authors)
    return found


def describe_notices(cited: Mapping[str, CitedSource]) -> list[str]:
    """Say which of the cited sources carry a notice about themselves; an empty list if none does."""
    standing = [each.notice for each in cited.values() if each.notice]
    told = f"{len(standing)} of {len(cited)} cited sources carry a notice about themselves: {'; '.join(standing)}"
    return [told] if standing else []


def list_read_sources(report: Report) -> frozenset[SourceId]:
    """Return the ids of all sources that a run has read."""
    rounds = (done for leaf in iter_threads(report.findings) for done in leaf.rounds)
    read = (reading.source for done in rounds for reading in done.readings if reading.source is not None)
    return frozenset((*read, *(fact.source for fact in report.findings.facts)))


def mark_previous(
    numbers: Mapping[str, int], run: str, previous: Report | None
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return which numbers lead to sources that the previous run had read, and the note that says so."""
    if previous is None:
        return (), ()
    known = list_read_sources(previous)
    ours = tuple(number for marker, number in numbers.items() if SourceId(marker[1:].partition(":")[0]) in known)
    named = f" ({', '.join(f'[{number}]' for number in ours)})" if ours else ""
    told = f"{len(ours)} of {len(numbers)} cited passages{named} stand in sources that it had read"
    rest = "" if len(ours) == len(numbers) else "; the others are new"
    return ours, (f"Follows run {run}: {told}{rest}.",)


async def add_evidence(report: Report, library: Library) -> Report:
    """Return a report with the evidence of every `[n]` of its text, from the stored texts of its sources.

    Raises:
        ReadError: a cited source is not stored.
    """
    sources = dict.fromkeys(each.source for each in report.citations)
    stored = {
        each: StoredText(*await library.document(SourceId(each)), await library.source_passages(SourceId(each)))
        for each in sources
    }
    evidence, passages = build_evidence(report, stored)
    return replace(report, evidence=evidence, passages=passages)

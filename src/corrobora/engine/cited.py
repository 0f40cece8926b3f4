"""Cited sources: what their stored texts add to a report.

Knows how stored texts are read from a library. Does not know which quote carries a statement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from corrobora.domain.evidence import SourceId
from corrobora.domain.report import Report
from corrobora.policies.grading import find_notice
from corrobora.ports import Library
from corrobora.reporting.evidence import StoredText, build_evidence
from corrobora.reporting.render import CitedSource


async def read_cited_sources(library: Library, sources: Sequence[SourceId]) -> dict[str, CitedSource]:
    """Return the content hashes of stored sources, and what each says about its own standing."""
    found: dict[str, CitedSource] = {}
    for each in dict.fromkeys(sources):
        source, text = await library.document(each)
        found[each] = CitedSource(source.snapshot, find_notice(source.title, text))
    return found


def describe_notices(cited: Mapping[str, CitedSource]) -> list[str]:
    """Say which of the cited sources carry a notice about themselves; an empty list if none does."""
    standing = [each.notice for each in cited.values() if each.notice]
    told = f"{len(standing)} of {len(cited)} cited sources carry a notice about themselves: {'; '.join(standing)}"
    return [told] if standing else []


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

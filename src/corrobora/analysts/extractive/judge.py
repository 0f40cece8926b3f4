"""Judge a draft without a model, from what the check by code says of its sentences.

Knows a draft's lines, tables and markers, the sentences that failed, the facts it may use and the question. Works on
any analyst's draft and does not know what is true.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from corrobora.analysts.extractive.contradictions import find_contradictions
from corrobora.analysts.extractive.decompose import split_question
from corrobora.domain.evidence import Contradiction, Fact, Grade, Severity
from corrobora.domain.report import Verdict
from corrobora.roles.review import Reviewing
from corrobora.text.markdown import (
    LEAD,
    MARKER,
    drop_marks,
    is_heading,
    is_row,
    is_rule,
    iter_cited_sentences,
    split_cells,
)
from corrobora.text.phrases import format_count, is_written_by_code
from corrobora.text.questions import asks_to_compare, find_topic_stems
from corrobora.text.tokens import read_inline, stem_text

_PART = 0.4  # share of a part's topic from which the draft speaks to it
_GRADES = {Grade.VERIFIED: 1.0, Grade.PLAUSIBLE: 0.75, Grade.UNVERIFIED: 0.45}
_PRIMARY = 0.9  # what a fact of a primary source is worth at least
_ENOUGH_SOURCES = 5
_LEAD = re.compile(rf"[>\s]*{LEAD.pattern}")


class DraftSentence(NamedTuple):
    """One sentence of a draft, or one cited cell, without its markers."""

    text: str
    markers: tuple[str, ...]


def judge_draft(given: Reviewing) -> Verdict:
    """Score a draft (ANGLES-30): supported share, resolved markers, parts, grades, sources.

    If a change or a difference is asked for, half of completeness is the share of differences cited with both sides.
    """
    sentences = parse_sentences(given.draft.body)
    total, cited = len(sentences), [each for each in sentences if each.markers]
    supported = max(0, len(cited) - len(given.checks))
    markers = {marker for each in cited for marker in each.markers}
    used = [fact for fact in given.facts if fact.marker in markers]
    shares = _measure_parts(given.question, cited, used)
    answered = sum(share >= _PART for share in shares)
    whole = sum(shares) / len(shares) if shares else 0.0
    shown, differing = _count_differences(given, markers)
    differences = f" {shown} of {differing} differences of the sources are told with both sides." if differing else ""
    return Verdict(
        factual_accuracy=_bounded_ratio(supported, total),
        citation_accuracy=_bounded_ratio(supported, len(cited)),
        completeness=round((whole + shown / differing) / 2 if differing else whole, 4) if cited else 0.0,
        source_quality=_bounded_ratio(sum(max(_GRADES[f.grade], f.primary * _PRIMARY) for f in used), len(used)),
        source_diversity=_source_diversity(used),
        rationale=(
            f"{supported} of {format_count(total, 'sentence')} supported by what is cited, "
            f"{total - len(cited)} without a citation; "
            f"{answered} of {format_count(len(shares), 'part')} of the question spoken to.{differences}"
        ),
    )


def parse_sentences(body: str) -> list[DraftSentence]:
    """Return the sentences of a draft in order, without headings, headers of tables, rules and fixed wordings."""
    found: list[DraftSentence] = []
    for line, below in pairwise((*body.splitlines(), "")):
        cited = MARKER.search(line) is not None
        label = line.startswith("**") and line.endswith("**")  # of a group
        fixed = label or is_written_by_code(line)  # a gap may be told in several sentences
        if is_heading(line) or not line.strip("|-: ") or (fixed and not cited):
            continue
        if is_row(line):
            cells = () if is_rule(below) else filter(MARKER.search, split_cells(line))
            said = [(drop_marks(cell, MARKER), [mark.group() for mark in MARKER.finditer(cell)]) for cell in cells]
        else:
            said = list(iter_cited_sentences(_LEAD.sub("", line, count=1)))
        plain = (DraftSentence(read_inline(text), tuple(marks)) for text, marks in said)
        found += [each for each in plain if stem_text(each.text) and not is_written_by_code(each.text)]
    return found


def _measure_parts(question: str, cited: Sequence[DraftSentence], used: Sequence[Fact]) -> list[float]:
    """Return for each part of the question the share of its topic in the best cited sentence.

    Words scattered over a page answer nothing, and words that only name the documents do not count.
    """
    named = frozenset(stem_text(" ".join(f"{fact.title} {fact.version}" for fact in used)))
    said = [stem_text(each.text) for each in cited]
    shares: list[float] = []
    for part in split_question(question):
        whole = frozenset(find_topic_stems(part))
        topic = whole - named or whole
        best = max((len(topic.intersection(each)) for each in said), default=0)
        shares.append(best / len(topic) if topic else 1.0)
    return shares


def _count_differences(given: Reviewing, cited: set[str]) -> tuple[int, int]:
    """Count the differences that a comparison should report: those with both sides cited, and all."""
    if not asks_to_compare(given.question):
        return 0, 0
    markers = {fact.id: fact.marker for fact in given.facts}
    pairs = [each for each in find_contradictions(given.facts) if _is_relevant(each, given.question)]
    return sum({markers[each.a], markers[each.b]} <= cited for each in pairs), len(pairs)


def _is_relevant(found: Contradiction, question: str) -> bool:
    """True for a difference in what is asked for, not merely in wording."""
    return found.severity is not Severity.LOW and bool(set(find_topic_stems(question)) & set(stem_text(found.claim)))


def _bounded_ratio(part: float, whole: int) -> float:
    return round(min(1.0, max(0.0, part / whole)), 4) if whole else 0.0


def _fact_documents(used: Sequence[Fact]) -> dict[str, str]:
    """Map each fact to its document: its address without the fragment, or the first address of its origin."""
    first: dict[str, str] = {}
    found: dict[str, str] = {}
    for fact in sorted(used, key=lambda fact: fact.id):
        address = fact.url.partition("#")[0] or fact.source
        found[fact.id] = first.setdefault(fact.origin or address, address)
    return found


def _source_diversity(used: Sequence[Fact]) -> float:
    """Score half for the number of distinct documents, half for how evenly they are used."""
    if not used:
        return 0.0
    counts = Counter(_fact_documents(used).values())
    even = 1 - max(counts.values()) / len(used) if len(counts) > 1 else 0.0
    return round(0.5 * min(1.0, len(counts) / _ENOUGH_SOURCES) + 0.5 * min(1.0, even * 2), 4)

"""Critique, revise and judge without a model, by checking every cited sentence of a draft.

Knows a draft's lines, headings, lists, tables and markers, the facts it may use and the question. Works on any
analyst's draft and does not know what is true.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from corrobora.analysts.extractive.citing import ITEM, cite_fact, normalize_sentence
from corrobora.analysts.extractive.contradictions import find_contradictions, label_version
from corrobora.analysts.extractive.decompose import split_question
from corrobora.analysts.extractive.fact_selection import rank_facts, select_diverse
from corrobora.domain.evidence import Contradiction, Fact, Grade, Severity
from corrobora.domain.report import Critique, Draft, Verdict
from corrobora.roles.review import Reviewing, Revising
from corrobora.text.markdown import (
    LEAD,
    MARKER,
    drop_empty_sections,
    drop_marks,
    is_heading,
    is_row,
    is_rule,
    iter_cited_sentences,
    split_cells,
)
from corrobora.text.measures import find_quantities
from corrobora.text.phrases import format_count, is_written_by_code
from corrobora.text.questions import asks_to_compare, find_topic_stems
from corrobora.text.tokens import read_inline, stem_text

_SUPPORT = 0.7  # share of a sentence's stems that its quotes must hold
_PART = 0.4  # share of a sub-question's topic that the draft must hold
_GRADES = {Grade.VERIFIED: 1.0, Grade.PLAUSIBLE: 0.75, Grade.UNVERIFIED: 0.45}
_ENOUGH_SOURCES = 5
_ADDED = 3
_LEAD = re.compile(rf"[>\s]*{LEAD.pattern}")
_NUMBERED = re.compile(r"## (\d+)\. ")


@dataclass(frozen=True, slots=True)
class DraftChecks:
    """What the checks found, sentence by sentence."""

    sentences: tuple[DraftSentence, ...]
    uncited: tuple[DraftSentence, ...]
    unknown: tuple[DraftSentence, ...]  # a marker that no fact has
    unsupported: tuple[DraftSentence, ...]
    repeated: tuple[DraftSentence, ...]
    missing: tuple[str, ...]  # parts of the question that nothing speaks to

    @property
    def bad(self) -> tuple[DraftSentence, ...]:
        """The sentences that a revision removes."""
        return (*self.uncited, *self.unknown, *self.unsupported, *self.repeated)


def check_draft(question: str, draft: Draft, facts: Sequence[Fact]) -> DraftChecks:
    """Check every sentence of a draft against its cited facts, and the draft against the parts of the question."""
    by_marker: dict[str, list[Fact]] = {}
    for fact in facts:
        by_marker.setdefault(fact.marker, []).append(fact)
    every = parse_sentences(draft.body)
    uncited = tuple(s for s in every if not s.markers)
    unknown = tuple(s for s in every if s.markers and not any(m in by_marker for m in s.markers))
    unsupported = tuple(s for s in every if s.markers and s not in unknown and not _is_supported(s, by_marker))
    seen: set[tuple[str, ...]] = set()
    repeated: list[DraftSentence] = []
    for one in every:
        key = (*stem_text(one.text), *one.markers)
        if one.cell:  # a comparison sets side by side what the text says as well
            continue
        if key in seen and one not in uncited:
            repeated.append(one)
        seen.add(key)
    return DraftChecks(every, uncited, unknown, unsupported, tuple(repeated), _missing_parts(question, draft, facts))


def _is_supported(sentence: DraftSentence, by_marker: Mapping[str, Sequence[Fact]]) -> bool:
    held = [fact for marker in sentence.markers for fact in by_marker.get(marker, ())]
    quotes = [fact.quote for fact in held]
    said = _strip_label(sentence.text, held) if sentence.cell else sentence.text
    quoted, own = frozenset(stem_text(" ".join(quotes))), stem_text(said)
    if not own or sum(term in quoted for term in own) / len(own) < _SUPPORT:
        return False
    stated = [each for quote in quotes for each in find_quantities(quote)]
    return all(any(own.equals(each) for each in stated) for own in find_quantities(said))


def _strip_label(text: str, facts: Sequence[Fact]) -> str:
    """Return the words of a table cell without its edition label, which is in no quote."""
    labels = (label_version(fact.version, fact.published, fact.title) for fact in facts)
    named = next((name for name in labels if name and text.startswith(f"{name}:")), "")
    return text.removeprefix(f"{named}:").strip("“” ")


def _missing_parts(question: str, draft: Draft, facts: Sequence[Fact]) -> tuple[str, ...]:
    return tuple(part for part, share in _part_shares(question, draft, facts) if share < _PART)


def _part_shares(question: str, draft: Draft, facts: Sequence[Fact]) -> list[tuple[str, float]]:
    """Return each part of the question with the share of its topic in the best cited sentence.

    Words scattered over a page answer nothing, and words that only name the documents do not count.
    """
    cited_sentences = [one for one in parse_sentences(draft.body) if one.markers]
    named = frozenset(
        stem_text(" ".join(f"{fact.title} {fact.version}" for fact in _cited_facts(cited_sentences, facts)))
    )
    said = [stem_text(one.text) for one in cited_sentences]
    found: list[tuple[str, float]] = []
    for part in split_question(question):
        whole = frozenset(find_topic_stems(part))
        topic = whole - named or whole
        best = max((len(topic.intersection(each)) for each in said), default=0)
        found.append((part, best / len(topic) if topic else 1.0))
    return found


def critique_draft(given: Reviewing) -> Critique:
    """List the problems of a draft, most serious first, whatever its sections are called."""
    found = check_draft(given.question, given.draft, given.facts)
    problems = [
        *(_problem_line("no fact has this marker", s) for s in found.unknown),
        *(_problem_line("not supported by its quotes", s) for s in found.unsupported),
        *(_problem_line("without a citation", s) for s in found.uncited),
        *(_problem_line("said twice", s) for s in found.repeated),
        *(f"No sentence speaks to: {part}" for part in found.missing),
    ]
    count = len(given.draft.body.split())
    if count > given.words_max:
        problems.append(f"Too long: {format_count(count, 'word')}, at most {given.words_max}.")
    elif count < given.words_min:
        words = format_count(count, "word")
        problems.append(f"Too short: {words}, at least {given.words_min} where there is evidence.")
    total = len(found.sentences)
    return Critique(
        tuple(problems),
        f"{total - len(set(found.bad))} of {total} sentences stand; {format_count(len(problems), 'problem')}.",
    )


def _problem_line(what: str, sentence: DraftSentence) -> str:
    where = f"Section {sentence.section!r}: " if sentence.section else ""
    return f"{where}{what}: {sentence.text[:300]}"


def revise_draft(given: Revising) -> Draft:
    """Remove refused sentences and add evidence for parts without any; sections keep their names."""
    found = check_draft(given.question, given.draft, given.facts)
    lines = given.draft.body.splitlines()
    gone: dict[int, list[DraftSentence]] = {}
    for sentence in found.bad:
        gone.setdefault(sentence.line, []).append(sentence)
    kept: list[str] = []
    for number, line in enumerate(lines):
        if number not in gone:
            kept.append(line)
        elif not line.lstrip().startswith("|"):
            left = [s for s in found.sentences if s.line == number and s not in gone[number]]
            if left:
                kept.append(_rewrite_line(line, left))
    body = drop_empty_sections(kept).splitlines()
    return Draft(given.draft.title, _add_missing_parts(body, found, given))


def _rewrite_line(line: str, left: Sequence[DraftSentence]) -> str:
    mark = line[: len(line) - len(line.lstrip("-*> \t"))]
    texts = [f"{s.text.rstrip('.!?;: ')} {' '.join(s.markers)}." for s in left]
    return mark + " ".join(texts)


def _add_missing_parts(lines: list[str], found: DraftChecks, given: Revising) -> str:
    """Add what speaks to missing parts: below their headings, or in sections of their own before the conclusion."""
    printed = {normalize_sentence(sentence.text) for sentence in parse_sentences("\n".join(lines))}
    numbers = [int(match.group(1)) for line in lines if (match := _NUMBERED.match(line))]
    rule = ["---", ""] if "---" in lines else []
    added: list[str] = []
    for part in found.missing:
        best = [one for one in rank_facts(part, given.facts) if one.worth > 0]
        written = [cite_fact(one.fact, printed=printed) for one in select_diverse(best, _ADDED)]
        added_lines = [
            f"- {text.removeprefix(ITEM)}"
            for text in written
            if text and not _missing_parts(part, Draft("", text), given.facts)
        ]
        title = part.rstrip(". ")
        heads = (at for at, line in enumerate(lines) if heading_text(line).rstrip("?. ").endswith(part.rstrip("?. ")))
        place = next(heads, 0)
        if place and added_lines:
            lines = [*lines[: place + 1], "", *added_lines, *lines[place + 1 :]]
        elif added_lines:
            number = f"{max(numbers) + 1}. " if numbers else ""
            numbers += [max(numbers) + 1] if numbers else []
            added += ["", f"## {number}{title}", "", *added_lines, "", *rule]
    ending = next((at for at, line in enumerate(lines) if heading_text(line).casefold() == "conclusion"), len(lines))
    if ending == len(lines) and added and rule:
        added = ["", "---", *added[: -len(rule)]]
    return "\n".join([*lines[:ending], *added, *lines[ending:]]).strip() + "\n"


def judge_draft(given: Reviewing) -> Verdict:
    """Score a draft from the checks (ANGLES-30): supported share, resolved markers, parts, grades, sources.

    If a change or a difference is asked for, half of completeness is the share of differences cited with both sides.
    """
    found = check_draft(given.question, given.draft, given.facts)
    cited_sentences = [s for s in found.sentences if s.markers]
    total = len(found.sentences)
    supported = len(cited_sentences) - len(found.unknown) - len(found.unsupported)
    spoken = [share for _, share in _part_shares(given.question, given.draft, given.facts)]
    shown, differing = _count_differences(given, cited_sentences)
    whole = sum(spoken) / len(spoken) if spoken else 0.0
    used = _cited_facts(cited_sentences, given.facts)
    differences = f" {shown} of {differing} differences of the sources are told with both sides." if differing else ""
    return Verdict(
        factual_accuracy=_bounded_ratio(supported, total),
        citation_accuracy=_bounded_ratio(supported, len(cited_sentences)),
        completeness=round((whole + shown / differing) / 2 if differing else whole, 4) if cited_sentences else 0.0,
        source_quality=_bounded_ratio(sum(max(_GRADES[f.grade], 0.9 if f.primary else 0.0) for f in used), len(used)),
        source_diversity=_source_diversity(used),
        rationale=(
            f"{supported} of {total} sentences are supported by what they cite, {len(found.uncited)} cite nothing; "
            f"{len(spoken) - len(found.missing)} of {len(spoken)} parts of the question are spoken to.{differences}"
        ),
    )


def _count_differences(given: Reviewing, cited_sentences: Sequence[DraftSentence]) -> tuple[int, int]:
    """Count the differences a comparison should report, and those with both sides cited."""
    if not asks_to_compare(given.question):
        return 0, 0
    cited = {marker for sentence in cited_sentences for marker in sentence.markers}
    by_id = {fact.id: fact.marker for fact in given.facts}
    pairs = [each for each in find_contradictions(given.facts) if _is_relevant(each, given.question)]
    return sum({by_id[each.a], by_id[each.b]} <= cited for each in pairs), len(pairs)


def _is_relevant(found: Contradiction, question: str) -> bool:
    """True for a difference in what is asked for, not merely in wording."""
    return found.severity is not Severity.LOW and bool(set(find_topic_stems(question)) & set(stem_text(found.claim)))


def _cited_facts(cited_sentences: Sequence[DraftSentence], facts: Sequence[Fact]) -> list[Fact]:
    markers = {marker for sentence in cited_sentences for marker in sentence.markers}
    return [fact for fact in facts if fact.marker in markers]


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


@dataclass(frozen=True, slots=True)
class DraftSentence:
    """One sentence of a draft, or one cited cell: its line, its words without markers, its markers."""

    line: int
    place: int  # in its line: the same words may stand there twice
    text: str
    markers: tuple[str, ...]
    section: str
    cell: bool = False  # it stands in a table, where a comparison repeats what the text says


def heading_text(line: str) -> str:
    """Return the text of a heading line, or ""."""
    return line.lstrip("#").strip() if is_heading(line) else ""


def parse_sentences(body: str) -> tuple[DraftSentence, ...]:
    """Return the sentences of a draft in order, without headings, headers of tables, rules and fixed wordings."""
    found: list[DraftSentence] = []
    section = ""
    lines = body.splitlines()
    for number, line in enumerate(lines):
        section = heading_text(line) or section
        cited = MARKER.search(line) is not None
        fixed = line.startswith("**") and line.endswith("**")  # the label of a group
        fixed = fixed or is_written_by_code(line)  # a gap may be told in several sentences
        if is_heading(line) or not line.strip("|-: ") or (fixed and not cited):
            continue
        if is_row(line):
            cells = () if is_rule("".join(lines[number + 1 : number + 2])) else filter(MARKER.search, split_cells(line))
            said = [(drop_marks(cell, MARKER), [mark.group() for mark in MARKER.finditer(cell)]) for cell in cells]
        else:
            said = list(iter_cited_sentences(line[_LEAD.match(line).end() :]))  # pyright: ignore[reportOptionalMemberAccess] - it matches nothing too
        plain = ((read_inline(text), tuple(marks)) for text, marks in said)
        found += [
            DraftSentence(number, place, text, marks, section, is_row(line))
            for place, (text, marks) in enumerate(plain)
            if stem_text(text) and not is_written_by_code(text)
        ]
    return tuple(found)

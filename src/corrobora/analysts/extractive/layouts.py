"""Layouts: the forms of a report, from selected statements to Markdown with markers.

Knows the four layouts of the profiles and how a statement is cited. Does not choose what is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from corrobora.analysts.extractive.contradictions import label_version, make_version_key
from corrobora.analysts.extractive.selection import fact_text
from corrobora.domain.evidence import Contradiction, Fact, FactId
from corrobora.domain.plan import SubQuestion
from corrobora.text import phrases
from corrobora.text.comparison import SAME_SUBJECT_SHARE, compare_topics, parse_statement
from corrobora.text.layout import skip_item_mark
from corrobora.text.markdown import escape_text
from corrobora.text.quantities import find_quantities
from corrobora.text.segmentation import split_sentences
from corrobora.text.tokens import fold_whitespace

FURTHER = "Further evidence"
_KEY_STATEMENTS = 5
_NEAREST = 3
_POINTS_BACK = re.compile(r"(?i)(?:it|this|these|those|they|he|she|such|its|their|both|however|but|also|in addition)\b")
_ASKS_BACK = re.compile(r"(?i)[^:]{0,80}\b(?:those|these|this|that|it|they|them)\b[^:]{0,80}\?$")
_ENDED = re.compile(r"[.!?…。！？][\"'”’)\]»]*$")
_SPECIAL = re.compile(r"([|])")


@dataclass(frozen=True, slots=True)
class Section:
    """One section with the statements selected for it, best first."""

    title: str
    asked: str
    facts: tuple[Fact, ...]
    note: str = ""
    had_facts: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """Everything a layout may print."""

    title: str
    question: str
    sections: tuple[Section, ...]
    rows: tuple[Contradiction, ...]
    facts: Mapping[FactId, Fact]
    gaps: tuple[str, ...]
    missing: tuple[str, ...]
    enough: bool
    uncovered: tuple[str, ...]
    sub_questions: tuple[SubQuestion, ...]
    words_max: int
    pair_mark: str = "### {}"  # how a pair of differing statements is headed
    compares: bool = False  # the question asks for a change or a difference
    reasons: Mapping[str, str] = field(default_factory=dict[str, str])  # a question, and what was not found of it
    unstated: Mapping[str, str] = field(default_factory=dict[str, str])  # a question, and why no statement answers it
    printed: set[str] = field(default_factory=set[str])  # sentences of the page so far: none stands twice


def cite_fact(fact: Fact, *same: Fact, bold: bool = False, printed: set[str] | None = None) -> str:
    """Write a fact's sentences, each with a marker before its full stop; `same` are facts with the same text.

    Sentences already `printed` are left out, and those written are added to `printed`.
    """
    marker = "".join(dict.fromkeys((fact.marker, *(other.marker for other in same))))
    spans = split_sentences(fact.quote)
    said = [fold_whitespace(fact.quote[skip_item_mark(fact.quote, s.start) : s.end]) for s in spans]
    pieces = [piece for piece in said if any(map(str.isalnum, piece))]
    if len(pieces) > 1 and _ASKS_BACK.match(pieces[0]):
        pieces = pieces[1:]  # it asks of what stands before the quote; what follows says it
    if printed is not None:
        fresh = [piece for piece in pieces if normalize_sentence(piece) not in printed]
        pieces = pieces if fresh and fresh[0] != pieces[0] and _POINTS_BACK.match(fresh[0]) else fresh
        printed.update(normalize_sentence(piece) for piece in pieces)
    return " ".join(_append_marker(piece, marker, bold=bold) for piece in pieces)


def normalize_sentence(sentence: str) -> str:
    """Return a sentence without its final punctuation and with single spaces, for comparison."""
    return " ".join(sentence.split()).rstrip(".!?;:, ")


def _append_marker(sentence: str, marker: str, *, bold: bool = False) -> str:
    """Write a sentence as Markdown with its marker before the full stop, key figures in bold (ANGLES-27)."""
    body = sentence.rstrip(";:, ")
    ended = _ENDED.search(body)
    stop = body[-1] if body[-1] in ".!?" else "" if ended else "."
    text = escape_text(body[:-1] if body[-1] in ".!?" else body)
    figures = dict.fromkeys(quantity.text for quantity in find_quantities(sentence)) if bold else ()
    for figure in map(escape_text, figures):
        text = text.replace(figure, f"**{figure}**", 1)
    return f"{text} {marker}{stop}"


def _list_facts(facts: Iterable[Fact], printed: set[str], *, bold: bool = False) -> list[str]:
    written = (cite_fact(fact, bold=bold, printed=printed) for fact in facts)
    return [f"- {text}" for text in written if text]


def _list_statements(page: Page, facts: Sequence[Fact], *, bold: bool = False, mark: str = "### {}") -> list[str]:
    """List statements, best first, grouped by edition if the page has several.

    The edition of the best statement comes first, or the older one if a change is asked for.
    """
    if not _several_editions(page) or not any(fact.version for fact in facts):
        return _list_facts(facts, page.printed, bold=bold)
    dated = {fact.version: make_version_key(fact.version, fact.published) for fact in facts}
    shared: dict[str, list[Fact]] = {}
    for fact in facts:
        shared.setdefault(fact_text(fact), []).append(fact)
    groups: dict[tuple[str, ...], list[list[Fact]]] = {}
    for same in shared.values():
        editions = tuple(sorted({f.version for f in same}, key=lambda name: (not name, dated[name], name)))
        groups.setdefault(editions, []).append(same)
    names = list(groups)
    if page.compares:
        names.sort(key=lambda names: (len(names), [(not name, dated[name], name) for name in names]))
    lines: list[str] = []
    for editions in names:
        written = [cite_fact(*same, bold=bold, printed=page.printed) for same in groups[editions]]
        named = "; ".join(name or "Other sources" for name in editions)
        if any(written):
            lines += [mark.format(named), "", *(f"- {text}" for text in written if text), ""]
    return lines[:-1]


def _several_editions(page: Page) -> bool:
    return len({fact.version for section in page.sections for fact in section.facts if fact.version}) > 1


def _pair_differences(page: Page) -> list[str]:
    """Write differing statements side by side, each pair under its difference and its editions."""
    if not page.rows:
        return []
    lines = [f"{phrases.SIDE_BY_SIDE}."]
    for row in page.rows:
        first, second = page.facts[row.a], page.facts[row.b]
        editions = " → ".join(label_version(fact.version, fact.published, fact.title) for fact in (first, second))
        differs = (row.difference or row.relation.value).replace(" -> ", " → ")
        lines += [
            "",
            page.pair_mark.format(f"{differs} ({editions})"),
            "",
            f"- {cite_fact(first)}",
            f"- {cite_fact(second)}",
        ]
    return lines


def _difference_table(page: Page) -> list[str]:
    """Write differing statements as a table, as reports by angle do (ANGLES-27)."""
    lines = [f"{phrases.SIDE_BY_SIDE}.", "", "| Difference | Earlier or first | Later or second |", "|---|---|---|"]
    for row in page.rows:
        sides = [page.facts[row.a], page.facts[row.b]]
        cells = [
            f"{_escape_cell(label_version(f.version, f.published, f.title))}: {_escape_cell(cite_fact(f))}"
            for f in sides
        ]
        lines.append(f"| {_escape_cell(row.difference or row.relation.value)} | {' | '.join(cells)} |")
    return lines


def _escape_cell(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text.replace(" -> ", " → "))


def _key_facts(page: Page) -> list[Fact]:
    """Return the best statement of each section, in order."""
    found = [section.facts[0] for section in page.sections if section.facts and section.title != FURTHER]
    if len(found) == 1:
        found = list(page.sections[0].facts[:_NEAREST]) or found
    return list({fact.id: fact for fact in found}.values())[:_KEY_STATEMENTS]


def _state_absence(page: Page) -> list[str]:
    """State that the evidence does not answer the question, and what is missing."""
    lines = [f"{phrases.NO_EVIDENCE} to answer the question."]
    if page.missing:
        lines += ["", f"{phrases.NOT_NAMED}: {', '.join(page.missing[:8])}."]
    near = [fact for section in page.sections for fact in section.facts[:1]][:_NEAREST]
    if near:
        lines += ["", f"{phrases.NEAREST}.", "", *_list_facts(near, page.printed)]
    return lines


def _nearest_statements(page: Page) -> list[str]:
    """State why nothing answers the only question, then the nearest statements."""
    reason = next(iter(page.unstated.values()))
    near = [fact for section in page.sections if section.title != FURTHER for fact in section.facts][:_NEAREST]
    return [f"{reason}. {phrases.NEAR}:", "", *_list_facts(near, page.printed)] if near else [f"{reason}."]


def _list_gaps(page: Page, *, sections: bool = True) -> list[str]:
    """List what was asked and not found; with `sections` False each section states its own gap."""
    unanswered = [section.title for section in page.sections if not section.had_facts and not section.facts]
    unanswered = unanswered if sections else []
    lines = [f"- {phrases.NO_EVIDENCE} for: {asked}" for asked in unanswered]
    told = " ".join(unanswered)
    lines += [
        f"- {phrases.OTHER_GAPS}: {gap}" for gap in page.gaps if gap.split(": ", 1)[-1].rstrip("?. ") not in told
    ][:6]
    lines += [f"- {phrases.NO_COVERAGE}: {name}" for name in page.uncovered]
    return ["## Not found", "", *lines] if lines else []


def _join_blocks(blocks: Iterable[Sequence[str]], between: str = "") -> str:
    texts = ["\n".join(block) for block in blocks if block]
    return (f"\n\n{between}\n\n" if between else "\n\n").join(texts) + "\n"


def layout_by_questions(page: Page) -> str:
    """Key statements, differences side by side, one section for each sub-question, then what was not found."""
    head = [f"# {page.title}"]
    if not page.enough:
        return _join_blocks([head, _state_absence(page), _list_gaps(page)])
    if len(page.sub_questions) < 2 and page.unstated:  # noqa: PLR2004 - one question
        return _join_blocks([head, _nearest_statements(page), _list_gaps(page, sections=False)])
    key = _key_facts(page)
    shown = {fact.id for fact in key}
    blocks: list[Sequence[str]] = [head]
    if _several_editions(page) and key:  # a body opens with text: the names of editions are headings further down
        blocks.append([" ".join(_opening_statement(page, fact) for fact in _pair_counterpart(page, key[0]))])
        key = key[1:]
    first = _list_statements(page, key)
    blocks.append(["## Key statements", "", *first] if first else [])
    if page.rows:
        blocks.append(["## Differences between sources", "", *_pair_differences(page)])
    alone = len([section for section in page.sections if section.title != FURTHER]) == 1
    for section in page.sections:
        body = _list_statements(page, [fact for fact in section.facts if fact.id not in shown])
        title = FURTHER if alone else section.title
        reason = page.unstated.get(section.asked, "")
        if reason and not alone:
            body = [f"{reason}.", "", *body] if body else [f"{reason}. {phrases.ABOVE}."]
        if body:
            blocks.append(
                [f"## {title}", "", *body] if (title != FURTHER or not _has_further_section(blocks)) else ["", *body]
            )
        elif section.facts and not alone and section.title != FURTHER:
            blocks.append([f"## {title}", "", f"{phrases.ABOVE}."])
        elif not section.had_facts:
            none = page.reasons.get(section.asked, f"{phrases.NO_EVIDENCE} for this")
            blocks.append([f"## {title}", "", f"{none}."])
    return _join_blocks([*blocks, _list_gaps(page, sections=False)])


def _pair_counterpart(page: Page, best: Fact) -> list[Fact]:
    """If a change is asked for, return the best statement with its counterpart in another edition, older first."""
    own = next((section.facts for section in page.sections if best in section.facts), ())
    after = own[own.index(best) + 1] if page.compares and best in own[:-1] else best
    if (
        after.version in ("", best.version)
        or compare_topics(parse_statement(fact_text(best)), parse_statement(fact_text(after))) < SAME_SUBJECT_SHARE
    ):
        return [best]
    return sorted((best, after), key=lambda fact: make_version_key(fact.version, fact.published))


def _opening_statement(page: Page, best: Fact) -> str:
    """Write the best statement and the editions that contain it."""
    same = [fact for section in page.sections for fact in section.facts if fact_text(fact) == fact_text(best)]
    same.sort(key=lambda fact: fact.id != best.id)
    names = dict.fromkeys(fact.version for fact in same if fact.version)
    where = f" {phrases.STANDS_IN} {'; '.join(names)}." if names else ""
    return cite_fact(*same, printed=page.printed) + where


def _has_further_section(blocks: Sequence[Sequence[str]]) -> bool:
    return any(block and block[0] == f"## {FURTHER}" for block in blocks)


def layout_by_angles(page: Page) -> str:
    """H1, numbered H2 sections named after the angles, rules between them, a conclusion (ANGLES-27).

    Gaps are listed in a section that code adds to every report.
    """
    if not page.enough:
        return _join_blocks(
            [[f"# {page.title}"], _state_absence(page), ["## Conclusion", "", *_closing_lines(page, ())]]
        )
    closing = [section.facts[1] for section in page.sections if len(section.facts) > 2][:_KEY_STATEMENTS]  # noqa: PLR2004 - enough left
    kept = {fact.id for fact in closing}
    blocks: list[Sequence[str]] = []
    for number, section in enumerate(page.sections, start=1):
        own = [fact for fact in section.facts if fact.id not in kept]
        none = f"{phrases.ELSEWHERE}." if section.had_facts else f"{phrases.NO_COVERAGE}."
        body = _list_statements(page, own, bold=True)
        blocks.append([f"## {number}. {section.title}", "", *(body or [none])])
    if page.rows:
        blocks.append([f"## {len(blocks) + 1}. Differences between sources", "", *_difference_table(page)])
    end = ["## Conclusion", "", *_closing_lines(page, closing)]
    return f"# {page.title}\n\n" + _join_blocks([*blocks, end], "---")


def _closing_lines(page: Page, closing: Sequence[Fact]) -> list[str]:
    """Close with the statements kept for the end, the angles without coverage (ANGLES-23) and a count."""
    lines = _list_facts(closing, page.printed, bold=True)
    lines += [f"- {phrases.NO_COVERAGE}: {name}" for name in page.uncovered]
    return [*lines, *([""] if lines else []), _count_statements(page)]


def _count_statements(page: Page) -> str:
    statements = sum(len(section.facts) for section in page.sections)
    sources = len({fact.source for section in page.sections for fact in section.facts})
    return f"{phrases.COUNTED} {statements} statements of {sources} sources."


def layout_completion(page: Page) -> str:
    """The completion form: the status of each sub-question, then the findings for each."""
    rows = ["| ID | Question | Status | Confidence | Statements |", "|---|---|---|---|---|"]
    for part in page.sub_questions:
        count = sum(part.id in fact.answers for section in page.sections for fact in section.facts)
        grade = part.grade.value if part.grade is not None else "-"
        rows.append(f"| {part.id} | {_escape_cell(part.text)} | {part.standing.value} | {grade} | {count} |")
    blocks: list[Sequence[str]] = [[f"# {page.title}"]]
    if page.sub_questions:
        blocks.append(["## Sub-question status", "", *rows])
    if not page.enough:
        return _join_blocks([*blocks, _state_absence(page)])
    for section in page.sections:
        none = phrases.ABOVE if section.facts else f"{phrases.NO_EVIDENCE} for this"
        body = _list_statements(page, section.facts) or [f"{none}."]
        blocks.append([f"## {section.title}", "", *body])
    return _join_blocks(blocks)


def layout_summary(page: Page) -> str:
    """The summary of a thread: selected statements, differences, what is missing; no headings."""
    found = list({fact.id: fact for section in page.sections for fact in section.facts}.values())
    if not found:
        return f"{phrases.NO_EVIDENCE} for: {page.question}\n"
    blocks: list[Sequence[str]] = [] if page.enough else [[f"{phrases.NO_EVIDENCE} to answer the question."]]
    blocks.append(_list_statements(page, found, mark="**{}**"))
    if page.rows:
        blocks.append(_pair_differences(page))
    missing = [section.title for section in page.sections if not section.had_facts]
    blocks.append([f"- {phrases.NO_EVIDENCE} for: {asked}" for asked in missing])
    return _join_blocks(blocks)

"""Layouts: the forms of a report, from selected statements to Markdown with markers.

Knows the four layouts of the profiles and how a statement is cited. Does not choose what is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from operator import itemgetter

from corrobora.analysts.extractive.citations import CODE, ITEM, cite_fact, normalize_sentence
from corrobora.analysts.extractive.contradictions import label_version, make_version_key
from corrobora.domain.evidence import Contradiction, Fact, FactId
from corrobora.domain.plan import SubQuestion
from corrobora.roles.forms import name_section, shorten_title
from corrobora.text import phrases
from corrobora.text.answers import classify_question, find_place
from corrobora.text.notices import find_order
from corrobora.text.questions import asks_for_several
from corrobora.text.segmentation import split_sentences
from corrobora.text.tokens import escape_text

FURTHER = "Further evidence"
OPENING_WORDS = 120  # of the first paragraph, where one thing is asked
QUOTE_WORDS = 75  # of one statement with what follows it in its quote
_OPENING_STATEMENTS = 6
_PART_WORDS = 60  # of one part of several
_NEAREST = 3
_CLOSING = 5
_PLACE_CHARS = 160  # of title and headings: no more than the list of sources shows
_SPECIAL = re.compile(r"([|])")


@dataclass(frozen=True, slots=True)
class Section:
    """One section with the statements selected for it, best first."""

    title: str
    asked: str
    facts: tuple[Fact, ...]
    had_facts: bool = False
    cores: Mapping[FactId, str] = field(default_factory=dict[FactId, str])  # the sentence of a fact that answers best
    opening: frozenset[FactId] | None = None  # the facts that are worth opening a report with; None: all of them


@dataclass(frozen=True, slots=True)
class Page:
    """Everything a layout may print."""

    title: str
    question: str
    sections: tuple[Section, ...]
    rows: tuple[Contradiction, ...]
    facts: Mapping[FactId, Fact]
    gaps: tuple[str, ...]
    enough: bool
    uncovered: tuple[str, ...]
    sub_questions: tuple[SubQuestion, ...]
    pair_mark: str = "### {}"  # how a pair of differing statements is headed
    compares: bool = False  # the question asks for a change or a difference
    reasons: Mapping[str, str] = field(default_factory=dict[str, str])  # a question, and why nothing answers it
    nearest: tuple[Fact, ...] = ()  # whole passages that were found first for what is open
    printed: set[str] = field(default_factory=set[str])  # sentences of the page so far: none stands twice

    @property
    def several_editions(self) -> bool:
        """True if the statements come from more than one edition."""
        return len({fact.version for section in self.sections for fact in section.facts if fact.version}) > 1


def _list_facts(facts: Iterable[Fact], printed: set[str], *, bold: bool = False) -> list[str]:
    written = (cite_fact(fact, bold=bold, printed=printed) for fact in facts)
    return _list_texts(written)


def _list_texts(texts: Iterable[str]) -> list[str]:
    """Return statements as a list; one that leads in a list of its own is a paragraph above it, as lists are flat."""
    lines: list[str] = []
    for lead, *items in (text.split(ITEM) for text in texts if text):
        if CODE in f"\n\n{lead}":
            lines += [*([""] if lines and lines[-1] else []), lead, *(f"- {item}" for item in items), ""]
        elif lead and items:
            lines += [*([""] if lines and lines[-1] else []), lead, "", *(f"- {item}" for item in items), ""]
        elif items:
            lines += [f"- {item}" for item in items]
        else:
            lines.append(f"- {lead}")
    return lines[:-1] if lines and not lines[-1] else lines


def _list_statements(page: Page, facts: Sequence[Fact], *, bold: bool = False, mark: str = "### {}") -> list[str]:
    """List statements, best first, grouped by edition if the page has several.

    The edition of the best statement comes first, or the older one if a change is asked for.
    """
    if not page.several_editions or not any(fact.version for fact in facts):
        return _list_facts(facts, page.printed, bold=bold)
    dated = {fact.version: make_version_key(fact.version, fact.published) for fact in facts}
    shared: dict[str, list[Fact]] = {}
    for fact in facts:
        shared.setdefault(normalize_sentence(fact.quote), []).append(fact)
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
            lines += [mark.format(named), "", *_list_texts(written), ""]
    return lines[:-1]


def _pair_differences(page: Page) -> list[str]:
    """Write differing statements side by side, each pair under its difference and its editions."""
    if not page.rows:
        return []
    lines = [f"{phrases.SIDE_BY_SIDE}."]
    for row in page.rows:
        first, second = page.facts[row.a], page.facts[row.b]
        editions = " → ".join(label_version(fact.version, fact.published, fact.title) for fact in (first, second))
        named = page.pair_mark.format(f"{_name_difference(row)} ({editions})")
        lines += ["", named, "", f"- {cite_fact(first)}", f"- {cite_fact(second)}"]
    return lines


def _name_difference(row: Contradiction) -> str:
    return (row.difference or row.relation.value).replace(" -> ", " → ")


def _difference_table(page: Page) -> list[str]:
    """Write differing statements as a table, as reports by angle do (ANGLES-27)."""
    lines = [f"{phrases.SIDE_BY_SIDE}.", "", "| Difference | Earlier or first | Later or second |", "|---|---|---|"]
    for row in page.rows:
        cells = [
            f"{_escape_cell(label_version(f.version, f.published, f.title))}: {_escape_cell(cite_fact(f))}"
            for f in (page.facts[row.a], page.facts[row.b])
        ]
        lines.append(f"| {_escape_cell(_name_difference(row))} | {' | '.join(cells)} |")
    return lines


def _escape_cell(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _open_page(page: Page) -> list[str]:
    """Write the opening paragraph: the best statements on each part of the question, in the order asked.

    If a change is asked for, both editions are quoted, the older first; what both say alike is told as unchanged. Where
    the page has several editions, each statement stands below the name of its own.
    """
    sections = [section for section in page.sections if section.title != FURTHER]
    asked = [each for each in map(_drop_orders, sections) if each.facts]
    asked = [section for section in asked if section.asked not in page.reasons] or asked  # no near miss opens a report
    missed = _explain_miss(page, asked)
    near = [f"{missed}. {phrases.NEAR} follow.", ""] if missed else []
    written: list[tuple[str, str]] = []
    for section in asked:
        if page.compares and section.facts[0].version:
            written += _compare_editions(page, section)
        else:
            written += _answer_section(page, section, max(_PART_WORDS, OPENING_WORDS // len(asked)))
    if any(edition for edition, _ in written):
        return [*near, *_list_by_edition(written)]
    texts = [text for _, text in written]
    lines: list[str] = []
    for listed, same in groupby(texts, key=lambda text: "\n" in text or text[:1].islower()):  # an item ends no sentence
        own = list(same)
        lines += [*([""] if lines else []), *(_list_texts(own) if listed else [" ".join(own)])]
    return [*near, *lines]


def _drop_orders(section: Section) -> Section:
    """Return a section without quotes that order the tool that reads them to do something: none opens a report."""
    return replace(section, facts=tuple(fact for fact in section.facts if not find_order(fact.quote)))


def _answer_section(page: Page, section: Section, room: int) -> list[tuple[str, str]]:
    """Return the best statements of a section in so many words, each with its edition if the page has several.

    Else it stands below its heading if that alone gives the release or date asked for.
    """
    written: list[tuple[str, str]] = []
    words = 0
    more = QUOTE_WORDS if asks_for_several(section.asked) else 0  # a list that is asked for is printed whole
    room, most = room + more, QUOTE_WORDS + more
    wanted = classify_question(section.asked)
    best = section.opening if section.opening is not None and not page.compares else {one.id for one in section.facts}
    for fact in [one for one in section.facts if one.id in best][:_OPENING_STATEMENTS]:
        said = set(page.printed)
        text = cite_fact(fact, printed=said, core=section.cores.get(fact.id, ""), room=min(most, room - words))
        if text and (not written or words + len(text.split()) <= room):
            words += len(text.split())
            page.printed.update(said)
            edition = fact.version if page.several_editions else ""
            written.append((edition or find_place(fact.heading, wanted, fact.quote), text))
    return written


def _write_place(named: str) -> str:
    """Return the line above what a place states. It is one sentence: a question among headings loses its mark."""
    starts = [0, *(span.start for span in split_sentences(named)[1:]), len(named)]
    parts = [named[start:end].strip() for start, end in pairwise(starts)]
    said = " ".join([*(part.rstrip(".?!…") for part in parts[:-1]), parts[-1]])
    return f"{phrases.STATED_IN} {said}:"


def _list_by_edition(written: Sequence[tuple[str, str]]) -> list[str]:
    lines: list[str] = []
    for edition, rows in groupby(written, key=itemgetter(0)):
        lines += [_write_place(edition), ""] if edition else []
        lines += [*_list_texts(text for _, text in rows), ""]
    return lines[:-1]


def _explain_miss(page: Page, asked: Sequence[Section]) -> str:
    """Say why nothing that was read answers any part of the question; "" if a part is answered."""
    reasons = [page.reasons.get(section.asked, "") for section in asked]
    if not all(reasons):
        return ""
    return reasons[0] if len(set(reasons)) == 1 else phrases.NO_ANSWER


def _compare_editions(page: Page, section: Section) -> list[tuple[str, str]]:
    """Return the best statement of a section with its counterpart in another edition, each with its edition."""
    best, *others = section.facts
    other = next((fact for fact in others[:1] if fact.version not in ("", best.version)), None)
    if other is None:
        said = cite_fact(best, printed=page.printed, core=section.cores.get(best.id, ""))
        return [(best.version, said)] if said else []
    first, second = sorted((best, other), key=lambda fact: make_version_key(fact.version, fact.published))
    if normalize_sentence(first.quote) == normalize_sentence(second.quote):
        said = cite_fact(first, second, printed=page.printed)
        return [(f"{first.version}, {phrases.UNCHANGED} {second.version}", said)] if said else []
    quoted = [
        (fact.version, cite_fact(fact, printed=page.printed, core=section.cores.get(fact.id, "")))
        for fact in (first, second)
    ]
    return [(edition, text) for edition, text in quoted if text]


def _state_absence(page: Page) -> list[str]:
    """State that the evidence does not answer the question."""
    lines = [f"{phrases.NO_EVIDENCE} to answer the question."]
    near = [fact for section in page.sections for fact in section.facts[:1]][:_NEAREST]
    return [*lines, "", f"{phrases.NEAREST}.", "", *_list_facts(near, page.printed)] if near else lines


def _list_gaps(page: Page) -> list[str]:
    lines = [f"- {phrases.OTHER_GAPS}: {gap}" for gap in page.gaps][:6]
    lines += [f"- {phrases.NO_COVERAGE}: {name}" for name in page.uncovered]
    return ["## Not found", "", *lines] if lines else []


def _join_blocks(blocks: Iterable[Sequence[str]], between: str = "") -> str:
    texts = ["\n".join(block) for block in blocks if block]
    return (f"\n\n{between}\n\n" if between else "\n\n").join(texts) + "\n"


def layout_by_questions(page: Page) -> str:
    """The opening paragraph, differences side by side, one section for each sub-question, then what was not found."""
    head = [f"# {page.title}"]
    if not page.enough:
        return _join_blocks([head, _state_absence(page), _list_gaps(page)])
    blocks: list[Sequence[str]] = [head, _open_page(page)]
    if page.rows:
        blocks.append(["## Differences between sources", "", *_pair_differences(page)])
    blocks.append(_list_nearest(page))
    alone = sum(section.title != FURTHER for section in page.sections) == 1
    told = _explain_miss(page, [section for section in page.sections if section.title != FURTHER])
    for section in page.sections:
        body = _list_statements(page, section.facts)
        missed = page.reasons.get(section.asked, "") if not alone and section.title != FURTHER else ""
        if missed and missed != told:
            body = [f"{missed}.", "", *body]
        elif not (body or missed or section.facts or section.had_facts):
            body = [f"{phrases.NO_EVIDENCE} for this."]
        if body:
            blocks.append([f"## {FURTHER if alone else section.title}", "", *body])
    return _join_blocks([*blocks, _list_gaps(page)])


def _list_nearest(page: Page) -> list[str]:
    """Print the passages that were found first, each whole below its title and headings, which claim nothing."""
    lines: list[str] = []
    for fact in page.nearest:
        whole: set[str] = set()
        said = cite_fact(fact, printed=whole)
        if not whole <= page.printed:  # else all of it stands above
            named = " > ".join(filter(None, (fact.title, name_section(fact.title, fact.heading))))
            lines += [
                "",
                _write_place(escape_text(shorten_title(named, _PLACE_CHARS))),
                "",
                *_list_texts([said]),
            ]
            page.printed.update(whole)
    return [f"## {phrases.NEAR}", *lines] if lines else []


def layout_by_angles(page: Page) -> str:
    """H1, numbered H2 sections named after the angles, rules between them, a conclusion (ANGLES-27).

    Gaps are listed in a section that code adds to every report.
    """
    if not page.enough:
        return _join_blocks(
            [[f"# {page.title}"], _state_absence(page), ["## Conclusion", "", *_closing_lines(page, ())]]
        )
    sections = map(_drop_orders, page.sections)
    closing = [section.facts[1] for section in sections if len(section.facts) > 2][:_CLOSING]  # noqa: PLR2004 - enough left
    kept = {fact.id for fact in closing}
    blocks: list[Sequence[str]] = []
    for number, section in enumerate(page.sections, start=1):
        own = [fact for fact in section.facts if fact.id not in kept]
        none = f"{phrases.ELSEWHERE}." if section.had_facts else f"{phrases.NO_COVERAGE}."
        blocks.append([f"## {number}. {section.title}", "", *(_list_statements(page, own, bold=True) or [none])])
    if page.rows:
        blocks.append([f"## {len(blocks) + 1}. Differences between sources", "", *_difference_table(page)])
    end = ["## Conclusion", "", *_closing_lines(page, closing)]
    return f"# {page.title}\n\n" + _join_blocks([*blocks, end], "---")


def _closing_lines(page: Page, closing: Sequence[Fact]) -> list[str]:
    """Close with the statements kept for the end, the angles without coverage (ANGLES-23) and a count."""
    lines = _list_facts(closing, page.printed, bold=True)
    lines += [f"- {phrases.NO_COVERAGE}: {name}" for name in page.uncovered]
    statements = sum(len(section.facts) for section in page.sections)
    sources = len({fact.source for section in page.sections for fact in section.facts})
    counted = f"{phrases.format_count(statements, 'statement')} of {phrases.format_count(sources, 'source')}"
    return [*lines, *([""] if lines else []), f"{phrases.COUNTED} {counted}."]


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
        blocks.append([f"## {section.title}", "", *(_list_statements(page, section.facts) or [f"{none}."])])
    return _join_blocks(blocks)


def layout_summary(page: Page) -> str:
    """The summary of a thread: selected statements, differences, what is missing; no headings."""
    found = list({fact.id: fact for section in page.sections for fact in section.facts}.values())
    if not found:
        return f"{phrases.NO_EVIDENCE} for: {page.question}\n"
    blocks: list[Sequence[str]] = [] if page.enough else [[f"{phrases.NO_EVIDENCE} to answer the question."]]
    blocks.append(_list_statements(page, found, mark="**{}**"))
    blocks.append(_pair_differences(page))
    missing = [section.title for section in page.sections if not section.had_facts]
    blocks.append([f"- {phrases.NO_EVIDENCE} for: {asked}" for asked in missing])
    return _join_blocks(blocks)

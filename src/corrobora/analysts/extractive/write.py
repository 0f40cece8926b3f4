"""Write without a model: summaries and reports of sentences that stand in the sources.

Knows facts, sub-questions and contradictions. Adds only headings, tables and the fixed wordings of `text.phrases`; if
there is no evidence, it says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from corrobora.analysts.extractive.contradictions import find_contradictions
from corrobora.analysts.extractive.layouts import (
    FURTHER,
    Page,
    Section,
    layout_by_angles,
    layout_by_questions,
    layout_completion,
    layout_summary,
)
from corrobora.analysts.extractive.relevance import find_explained_term
from corrobora.analysts.extractive.selection import RankedFact, fact_text, rank_facts, select_diverse
from corrobora.domain.evidence import Contradiction, Fact, Severity
from corrobora.domain.plan import SubQuestion
from corrobora.domain.report import Draft
from corrobora.policies.selection import check_sufficiency, evidence_texts
from corrobora.roles.synthesize import Material, Part
from corrobora.text import phrases
from corrobora.text.answers import AnswerKind, classify_question
from corrobora.text.comparison import SAME_SUBJECT_SHARE, compare_topics, parse_statement
from corrobora.text.questions import find_topic_stems, read_expectation, weigh_terms
from corrobora.text.tokens import stem_text

_SUMMARY_WORDS = 350
_WHETHER = re.compile(
    r"(?i)\s*(?:is|are|was|were|do|does|did|can|could|may|must|should|shall|will|would|has|have|had)\b"
)
_FACTOID_WORDS = 200
_FACTOID_STATEMENTS = 4
_AS_FULLY = 0.75  # of the share of the topic that the fullest statement holds, where one thing is asked for
_HALF, _MANY = 0.5, 4  # of the words of a topic
_HALF_AS_FULLY = 0.5  # where nothing of the kind that is asked for is said as fully
_STATEMENTS = 60  # at most, in one section
_ROWS = 8
_WEAK, _WEAK_ALONE, _WEAK_BROAD = 0.45, 0.5, 0.3  # of the best; a question for one thing needs less
_FURTHER = 0.6  # of the best statement's worth, for what answers no sub-question
_FURTHER_MOST = 5
_FRESH_SOURCE = 0.2  # of the best worth is enough for a source that a long report has not cited yet (ROUNDS-30)
_COUNTERPART = 0.9  # of a statement's worth has its counterpart in another edition
_ENOUGH, _ENOUGH_BROAD = 8, 14  # statements of one section, unless more words are asked for


@dataclass(frozen=True, slots=True)
class SectionPlan:
    """What belongs in one section, before words are counted."""

    title: str
    asked: str
    facts: tuple[Fact, ...]
    note: str = ""


def write_draft(given: Material) -> Draft:
    """Write a draft in the profile's layout; the `purpose` summary is short.

    Every sentence is a sentence of a quote with its marker, or a fixed wording. It has at most `words_max` words, and
    at least `words_min` if there is enough evidence.
    """
    facts = _collect_facts(given)
    whole = check_sufficiency(given.question, [part.text for part in given.sub_questions], evidence_texts(facts))
    plots = _plan_by_part(given) if given.layout == "angles" else _plan_by_question(given, facts)
    most = min(given.words_max, _SUMMARY_WORDS) if given.purpose == "summary" else given.words_max
    factoid = _is_factoid(given) and not given.words_min
    if factoid:
        most = min(most, _FACTOID_WORDS)
    rows, reasons = _difference_rows(given, facts), _gap_reasons(given)
    differing = frozenset(fact for row in rows for fact in (row.a, row.b))
    orders = [_order_facts(plot, differing, factoid=factoid) for plot in plots]
    if read_expectation(given.question).comparison:
        orders = [_pair_counterparts(order, facts) for order in orders]
    sections = _fill_sections(plots, orders, most, given.words_min, given.sub_questions)
    # Only the layouts `angles` and `completion` have sections of their own for differences and gaps.

    plain_report = given.purpose == "report" and given.layout in ("questions", "words")
    page = Page(
        title=_draft_title(given),
        question=given.question,
        sections=sections,
        rows=() if plain_report else rows,
        facts={fact.id: fact for fact in facts},
        gaps=() if plain_report else tuple(dict.fromkeys(gap.text for gap in given.gaps)),
        missing=whole.missing,
        enough=whole.enough,
        uncovered=() if plain_report else given.uncovered,
        sub_questions=given.sub_questions,
        words_max=most,
        pair_mark="**{}**" if given.purpose == "summary" else "### {}",
        compares=read_expectation(given.question).comparison,
        reasons=reasons,
        unstated=_unstated_reasons(reasons, facts),
    )
    if given.purpose == "summary":
        return Draft(page.title, layout_summary(page))
    match given.layout:
        case "angles":
            return Draft(page.title, layout_by_angles(page))
        case "completion":
            return Draft(page.title, layout_completion(page))
        case _:
            return Draft(page.title, layout_by_questions(page))


def _gap_reasons(given: Material) -> dict[str, str]:
    """Map each sub-question to what was not found, in the words of its first gap."""
    found: dict[str, str] = {}
    for gap in given.gaps:
        part = next((part for part in given.sub_questions if part.id == gap.target), None)
        reason = gap.text.removesuffix(f": {part.text}") if part is not None else ""
        if part is not None and reason != gap.text and phrases.is_near_miss(reason):
            found.setdefault(part.text, reason)
    return found


def _unstated_reasons(reasons: Mapping[str, str], facts: Sequence[Fact]) -> dict[str, str]:
    """Keep the reasons of sub-questions that no statement answers."""
    return {
        asked: reason
        for asked, reason in reasons.items()
        if not reason.startswith(phrases.UNSAID) or _is_barely_said(asked, facts)
    }


def _is_barely_said(asked: str, facts: Sequence[Fact]) -> bool:
    """True if no statement contains half of what is asked, or more than half of many words."""
    most = max((one.share for one in rank_facts(asked, facts)), default=0.0)
    return most < _HALF or (most <= _HALF and len(weigh_terms(asked).topic) >= _MANY)


def _is_factoid(given: Material) -> bool:
    """True for one question about one thing: a number, a date, a name, a place, yes or no."""
    kind = classify_question(given.question)
    if (
        len(given.sub_questions) > 1
        or read_expectation(given.question).comparison
        or find_explained_term(given.question)
    ):
        return False
    listed = kind.kinds & {AnswerKind.LIST, AnswerKind.REASON, AnswerKind.MEANS}
    return not listed and bool(kind.kinds or kind.permission or _WHETHER.match(given.question))


def _collect_facts(given: Material) -> tuple[Fact, ...]:
    found = {fact.id: fact for part in given.parts for fact in part.facts}
    return tuple(sorted(found.values(), key=lambda fact: fact.id))


def _draft_title(given: Material) -> str:
    return " ".join((given.title or given.question).split()).rstrip("?. ").lstrip("¿¡ ")


def _plan_by_question(given: Material, facts: Sequence[Fact]) -> list[SectionPlan]:
    """Plan one section for each sub-question; relevant facts that answer none go last."""
    parts = given.sub_questions or (SubQuestion("sq-1", given.question),)
    plots: list[SectionPlan] = []
    placed: set[str] = set()
    strays = _stray_answers(given, facts)
    for part in parts:
        own = [fact for fact in facts if part.id in fact.answers and (part.id, fact.id) not in strays]
        if not own and len(parts) == 1:
            own = list(facts)
        placed |= {fact.id for fact in own}
        plots.append(SectionPlan(part.text.rstrip("?. ").lstrip("¿¡ "), part.text, tuple(own), part.standing.value))
    order = rank_facts(given.question, facts)
    least = _FURTHER * max((one.worth for one in order), default=0.0)
    rest = tuple(one.fact for one in order if one.fact.id not in placed and one.worth >= least)[:_FURTHER_MOST]
    if rest:
        plots.append(SectionPlan(FURTHER, given.question, rest))
    return plots


def _stray_answers(given: Material, facts: Sequence[Fact]) -> frozenset[tuple[str, str]]:
    """Return answers filed under an open part although nothing read contains the words specific to it."""
    parts = given.sub_questions
    if len(parts) < 2:  # noqa: PLR2004 - one part
        return frozenset()
    topics = {part.id: weigh_terms(part.text).topic for part in parts}
    first, *others = topics.values()
    common = first.intersection(*others)
    held = frozenset(stem_text(" ".join(f"{fact.quote} {fact.heading} {fact.title}" for fact in facts)))
    lacking = {gap.target for gap in given.gaps}
    unsaid = {
        part.id
        for part in parts
        if part.id in lacking and topics[part.id] > common and not (topics[part.id] - common) & held
    }
    return frozenset((part, fact.id) for part in unsaid for fact in facts)


def _plan_by_part(given: Material) -> list[SectionPlan]:
    return [
        SectionPlan(_part_title(part), _part_question(given, part), part.facts, part.failed) for part in given.parts
    ]


def _part_title(part: Part) -> str:
    return part.title or part.angle or part.path


def _part_question(given: Material, part: Part) -> str:
    """Return the sub-questions that a part's facts answer, with its angle."""
    answered = {answer for fact in part.facts for answer in fact.answers}
    own = [asked.text for asked in given.sub_questions if asked.id in answered]
    return f"{' '.join(own) or given.question} {part.title}"


def _fill_sections(
    plots: Sequence[SectionPlan],
    orders: Sequence[tuple[RankedFact, ...]],
    most: int,
    least: int,
    asked: Sequence[SubQuestion],
) -> tuple[Section, ...]:
    """Give every section its share of the words, best statements first; unused words go to the others."""
    bound = _WEAK_ALONE if len(asked) < 2 else _WEAK  # noqa: PLR2004 - one question
    bounds = [(_WEAK_BROAD, _ENOUGH_BROAD) if find_explained_term(plot.asked) else (bound, _ENOUGH) for plot in plots]
    room = max(60, int(most * 0.8) if least < most * 0.8 else most)
    chosen: list[list[RankedFact]] = [[] for _ in plots]
    used: set[str] = set()
    sources: set[str] = set()
    spent = 0
    for turn in range(_STATEMENTS):
        took = False
        for at, order in enumerate(orders):
            if turn >= len(order) or order[turn].fact.id in used:
                continue
            fresh = least > 0 and order[turn].fact.source not in sources and not _is_weak(order, turn, _FRESH_SOURCE)
            if spent >= least and not fresh and (_is_weak(order, turn, bounds[at][0]) or turn >= bounds[at][1]):
                continue
            cost = len(order[turn].fact.quote.split())
            if spent and spent + cost > room:
                continue
            used.add(order[turn].fact.id)
            sources.add(order[turn].fact.source)
            chosen[at].append(order[turn])
            spent += cost
            took = True
        if not took and turn >= max((len(order) for order in orders), default=0):
            break
    _add_unsaid_parts(asked, orders, chosen)
    return tuple(
        Section(plot.title, plot.asked, tuple(one.fact for one in own), plot.note, bool(plot.facts))
        for plot, own in zip(plots, chosen, strict=True)
    )


def _order_facts(plot: SectionPlan, differing: frozenset[str], *, factoid: bool) -> tuple[RankedFact, ...]:
    """Order the statements of a section; for a factoid keep only those that answer it about as fully."""
    order = select_diverse(rank_facts(plot.asked, plot.facts, compared=differing), _STATEMENTS)
    if not factoid or not order:
        return order
    fullest = max(one.share for one in order)
    fitting = any(one.fits for one in order)
    full = [one for one in order if one.share >= _AS_FULLY * fullest and (one.fits or not fitting)]
    if classify_question(plot.asked).quantified:  # a number is the answer, however much else a sentence holds
        full = full or [one for one in order if one.share >= _HALF_AS_FULLY * fullest and one.fits]
    best = order[0]
    if best not in full and (best.fits or not full):  # a better statement of another kind is beside the point
        full.insert(0, best)
    return tuple(full[:_FACTOID_STATEMENTS])


def _pair_counterparts(order: Sequence[RankedFact], facts: Sequence[Fact]) -> tuple[RankedFact, ...]:
    """Follow each statement by its counterpart in another edition: only both together show a change."""
    stated = {fact.id: parse_statement(fact_text(fact)) for fact in (*facts, *(one.fact for one in order))}
    left = {one.fact.id: one for one in order}
    found: list[RankedFact] = []
    for one in order:
        if left.pop(one.fact.id, None) is None:
            continue
        found.append(one)
        alike = [
            (compare_topics(stated[one.fact.id], stated[fact.id]), fact)
            for fact in facts
            if fact.version and one.fact.version and fact.version != one.fact.version
        ]
        nearest, other = max(alike, key=lambda row: row[0], default=(0.0, one.fact))
        if nearest < SAME_SUBJECT_SHARE or any(other.id == each.fact.id for each in found):
            continue
        own = left.pop(other.id, None)
        worth = max(_COUNTERPART * one.worth, own.worth if own is not None else 0.0)
        found.append(replace(own or one, fact=other, worth=worth))
    return tuple(found)


def _add_unsaid_parts(
    asked: Sequence[SubQuestion], orders: Sequence[Sequence[RankedFact]], chosen: Sequence[list[RankedFact]]
) -> None:
    """Add a statement for every sub-question that has evidence and is not yet answered."""
    for part in asked:
        if any(part.id in one.fact.answers for section in chosen for one in section):
            continue
        best = max(
            ((one.worth, -at, one) for at, order in enumerate(orders) for one in order if part.id in one.fact.answers),
            key=lambda row: row[:2],
            default=None,
        )
        if best is not None:
            chosen[-best[1]].append(best[2])


def _is_weak(order: Sequence[RankedFact], turn: int, bound: float) -> bool:
    """True for a statement far below the best one of its section."""
    return turn > 0 and order[turn].worth < bound * max(one.worth for one in order)


def _difference_rows(given: Material, facts: Sequence[Fact]) -> tuple[Contradiction, ...]:
    """Return the contradictions relevant to the question, most relevant first."""
    known = {fact.id for fact in facts}
    every = {one.key: one for one in (*find_contradictions(facts), *given.contradictions)}
    topic = set(find_topic_stems(" ".join((given.question, *(part.text for part in given.sub_questions)))))
    scored = [
        (one.severity is not Severity.LOW, len(topic & set(stem_text(one.claim))), -at, one)
        for at, one in enumerate(every.values())
        if one.a in known and one.b in known
    ]
    return tuple(row[3] for row in sorted(scored, key=lambda row: (-row[0], -row[1], -row[2]))[:_ROWS])

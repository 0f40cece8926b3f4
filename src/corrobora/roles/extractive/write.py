"""Write without a model: summaries, gatherings and reports made of sentences that stand in the sources.

Knows facts, sub-questions and contradictions. Adds headings, tables and the fixed wordings of `policies.phrases`
only; where there is no evidence it says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from corrobora.domain.brief import SubQuestion
from corrobora.domain.evidence import Contradiction, Fact, Severity
from corrobora.domain.report import Draft
from corrobora.policies import phrases
from corrobora.policies.answers import Wants, asked
from corrobora.policies.conflict import ALIKE, likeness, statement
from corrobora.policies.definitions import explained
from corrobora.policies.questions import expectation, topic_stems, weighed
from corrobora.policies.sufficiency import evidence_texts, sufficient
from corrobora.policies.words import stems
from corrobora.roles.extractive.compare import contradictions
from corrobora.roles.extractive.layouts import FURTHER, Page, Section, by_angles, by_questions, completion, summary
from corrobora.roles.extractive.select import Ranked, diverse, ranked, said
from corrobora.roles.synthesize import Material, Part

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
_FRESH_SOURCE = 0.2  # of the best worth is enough for a source that a long report has not cited yet (S3)
_COUNTERPART = 0.9  # of a statement's worth has its counterpart in another edition
_ENOUGH, _ENOUGH_BROAD = 8, 14  # statements of one section, unless more words are asked for


@dataclass(frozen=True, slots=True)
class Plot:
    """What belongs into one section, before words are counted."""

    title: str
    asked: str
    facts: tuple[Fact, ...]
    note: str = ""


def written(given: Material) -> Draft:
    """Write a draft in the profile's layout: `purpose` summary is short; report and gathering follow `layout`.

    Every sentence is a quote's sentence with its marker, or one of the fixed wordings. Words stay within `words_max`,
    and reach `words_min` as far as there is evidence.
    """
    facts = _facts(given)
    whole = sufficient(given.question, [part.text for part in given.sub_questions], evidence_texts(facts))
    plots = _by_part(given) if given.layout == "angles" else _by_question(given, facts)
    most = min(given.words_max, _SUMMARY_WORDS) if given.purpose == "summary" else given.words_max
    factoid = _factoid(given) and not given.words_min
    if factoid:
        most = min(most, _FACTOID_WORDS)
    rows, reasons = _rows(given, facts), _reasons(given)
    differing = frozenset(fact for row in rows for fact in (row.a, row.b))
    orders = [_ordered(plot, differing, factoid=factoid) for plot in plots]
    if expectation(given.question).comparison:
        orders = [_paired(order, facts) for order in orders]
    sections = _filled(plots, orders, most, given.words_min, given.sub_questions)
    # the layouts of S1 and S4 have sections for differences and gaps; in others the engine's own are the only ones
    plain_report = given.purpose == "report" and given.layout in ("questions", "words")
    page = Page(
        title=_title(given),
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
        compares=expectation(given.question).comparison,
        reasons=reasons,
        unstated=_unstated(reasons, facts),
    )
    if given.purpose == "summary":
        return Draft(page.title, summary(page))
    match given.layout:
        case "angles":
            return Draft(page.title, by_angles(page))
        case "completion":
            return Draft(page.title, completion(page))
        case _:
            return Draft(page.title, by_questions(page))


def _reasons(given: Material) -> dict[str, str]:
    """Say for each sub-question what was not found, in the words of its first gap."""
    found: dict[str, str] = {}
    for gap in given.gaps:
        part = next((part for part in given.sub_questions if part.id == gap.target), None)
        reason = gap.text.removesuffix(f": {part.text}") if part is not None else ""
        if part is not None and reason != gap.text and phrases.near_only(reason):
            found.setdefault(part.text, reason)
    return found


def _unstated(reasons: Mapping[str, str], facts: Sequence[Fact]) -> dict[str, str]:
    """Keep the reasons for which no statement answers a sub-question.

    A word that no statement uses may be said by another, and a side of a comparison is no answer: neither tells enough.
    """
    return {
        asked: reason
        for asked, reason in reasons.items()
        if not reason.startswith(phrases.UNSAID) or _hardly_said(asked, facts)
    }


def _hardly_said(asked: str, facts: Sequence[Fact]) -> bool:
    """True if no statement holds half of what is asked, or no more than half of many words."""
    most = max((one.share for one in ranked(asked, facts)), default=0.0)
    return most < _HALF or (most <= _HALF and len(weighed(asked).topic) >= _MANY)


def _factoid(given: Material) -> bool:
    """True for one question that asks for one thing: a number, a date, a name, a place, whether something is so."""
    kind = asked(given.question)
    if len(given.sub_questions) > 1 or expectation(given.question).comparison or explained(given.question):
        return False
    listed = kind.kinds & {Wants.LIST, Wants.REASON, Wants.MEANS}
    return not listed and bool(kind.kinds or kind.permission or _WHETHER.match(given.question))


def _facts(given: Material) -> tuple[Fact, ...]:
    found = {fact.id: fact for part in given.parts for fact in part.facts}
    return tuple(sorted(found.values(), key=lambda fact: fact.id))


def _title(given: Material) -> str:
    return " ".join((given.title or given.question).split()).rstrip("?. ").lstrip("¿¡ ")


def _by_question(given: Material, facts: Sequence[Fact]) -> list[Plot]:
    """One section for each sub-question; what answers none goes last, if it speaks to the question at all."""
    parts = given.sub_questions or (SubQuestion("sq-1", given.question),)
    plots: list[Plot] = []
    placed: set[str] = set()
    strays = _strays(given, facts)
    for part in parts:
        own = [fact for fact in facts if part.id in fact.answers and (part.id, fact.id) not in strays]
        if not own and len(parts) == 1:
            own = list(facts)
        placed |= {fact.id for fact in own}
        plots.append(Plot(part.text.rstrip("?. ").lstrip("¿¡ "), part.text, tuple(own), part.standing.value))
    order = ranked(given.question, facts)
    least = _FURTHER * max((one.worth for one in order), default=0.0)
    rest = tuple(one.fact for one in order if one.fact.id not in placed and one.worth >= least)[:_FURTHER_MOST]
    if rest:
        plots.append(Plot(FURTHER, given.question, rest))
    return plots


def _strays(given: Material, facts: Sequence[Fact]) -> frozenset[tuple[str, str]]:
    """Return what is filed under an open part though nothing read says what sets the part apart: it answers others."""
    parts = given.sub_questions
    if len(parts) < 2:  # noqa: PLR2004 - one part
        return frozenset()
    topics = {part.id: weighed(part.text).topic for part in parts}
    first, *others = topics.values()
    common = first.intersection(*others)
    held = frozenset(stems(" ".join(f"{fact.quote} {fact.heading} {fact.title}" for fact in facts)))
    lacking = {gap.target for gap in given.gaps}
    unsaid = {
        part.id
        for part in parts
        if part.id in lacking and topics[part.id] > common and not (topics[part.id] - common) & held
    }
    return frozenset((part, fact.id) for part in unsaid for fact in facts)


def _by_part(given: Material) -> list[Plot]:
    return [Plot(_part_title(part), _part_asked(given, part), part.facts, part.failed) for part in given.parts]


def _part_title(part: Part) -> str:
    return part.title or part.angle or part.path


def _part_asked(given: Material, part: Part) -> str:
    """A part is asked for the sub-questions that its facts answer, seen from its angle."""
    answered = {answer for fact in part.facts for answer in fact.answers}
    own = [asked.text for asked in given.sub_questions if asked.id in answered]
    return f"{' '.join(own) or given.question} {part.title}"


def _filled(
    plots: Sequence[Plot], orders: Sequence[tuple[Ranked, ...]], most: int, least: int, asked: Sequence[SubQuestion]
) -> tuple[Section, ...]:
    """Give every section its share of the words, best statements first; what one leaves the others may use."""
    bound = _WEAK_ALONE if len(asked) < 2 else _WEAK  # noqa: PLR2004 - one question
    bounds = [(_WEAK_BROAD, _ENOUGH_BROAD) if explained(plot.asked) else (bound, _ENOUGH) for plot in plots]
    room = max(60, int(most * 0.8) if least < most * 0.8 else most)
    chosen: list[list[Ranked]] = [[] for _ in plots]
    used: set[str] = set()
    sources: set[str] = set()
    spent = 0
    for turn in range(_STATEMENTS):
        took = False
        for at, order in enumerate(orders):
            if turn >= len(order) or order[turn].fact.id in used:
                continue
            fresh = least > 0 and order[turn].fact.source not in sources and not _weak(order, turn, _FRESH_SOURCE)
            if spent >= least and not fresh and (_weak(order, turn, bounds[at][0]) or turn >= bounds[at][1]):
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
    _complete(asked, orders, chosen)
    return tuple(
        Section(plot.title, plot.asked, tuple(one.fact for one in own), plot.note, bool(plot.facts))
        for plot, own in zip(plots, chosen, strict=True)
    )


def _ordered(plot: Plot, differing: frozenset[str], *, factoid: bool) -> tuple[Ranked, ...]:
    """Put the statements of a section in order; where one thing is asked for, only what answers it as fully is left."""
    order = diverse(ranked(plot.asked, plot.facts, compared=differing), _STATEMENTS)
    if not factoid or not order:
        return order
    fullest = max(one.share for one in order)
    fitting = any(one.fits for one in order)
    full = [one for one in order if one.share >= _AS_FULLY * fullest and (one.fits or not fitting)]
    if asked(plot.asked).quantified:  # a number is the answer, however much else a sentence holds
        full = full or [one for one in order if one.share >= _HALF_AS_FULLY * fullest and one.fits]
    best = order[0]
    if best not in full and (best.fits or not full):  # a better statement of another kind is beside the point
        full.insert(0, best)
    return tuple(full[:_FACTOID_STATEMENTS])


def _paired(order: Sequence[Ranked], facts: Sequence[Fact]) -> tuple[Ranked, ...]:
    """Let each statement be followed by its counterpart in another edition: only both together show a change."""
    stated = {fact.id: statement(said(fact)) for fact in (*facts, *(one.fact for one in order))}
    left = {one.fact.id: one for one in order}
    found: list[Ranked] = []
    for one in order:
        if left.pop(one.fact.id, None) is None:
            continue
        found.append(one)
        alike = [
            (likeness(stated[one.fact.id], stated[fact.id]), fact)
            for fact in facts
            if fact.version and one.fact.version and fact.version != one.fact.version
        ]
        nearest, other = max(alike, key=lambda row: row[0], default=(0.0, one.fact))
        if nearest < ALIKE or any(other.id == each.fact.id for each in found):
            continue
        own = left.pop(other.id, None)
        worth = max(_COUNTERPART * one.worth, own.worth if own is not None else 0.0)
        found.append(replace(own or one, fact=other, worth=worth))
    return tuple(found)


def _complete(asked: Sequence[SubQuestion], orders: Sequence[Sequence[Ranked]], chosen: Sequence[list[Ranked]]) -> None:
    """Leave no sub-question that has evidence unsaid."""
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


def _weak(order: Sequence[Ranked], turn: int, bound: float) -> bool:
    """A statement far below the best one of its section is not worth its words, unless words are asked for."""
    return turn > 0 and order[turn].worth < bound * max(one.worth for one in order)


def _rows(given: Material, facts: Sequence[Fact]) -> tuple[Contradiction, ...]:
    """Return the contradictions that speak to the question, most to the point first."""
    known = {fact.id for fact in facts}
    every = {frozenset((one.a, one.b)): one for one in (*contradictions(facts), *given.contradictions)}
    topic = set(topic_stems(" ".join((given.question, *(part.text for part in given.sub_questions)))))
    scored = [
        (one.severity is not Severity.LOW, len(topic & set(stems(one.claim))), -at, one)
        for at, one in enumerate(every.values())
        if one.a in known and one.b in known
    ]
    return tuple(row[3] for row in sorted(scored, key=lambda row: (-row[0], -row[1], -row[2]))[:_ROWS])

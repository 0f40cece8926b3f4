"""Write without a model: summaries and reports of sentences that stand in the sources.

Knows facts, sub-questions and contradictions. Adds only headings, tables and the fixed wordings of `text.phrases`; if
there is no evidence, it says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from corrobora.analysts.extractive.citations import measure_text
from corrobora.analysts.extractive.contradictions import find_contradictions
from corrobora.analysts.extractive.fact_selection import RankedFact, rank_facts, select_diverse
from corrobora.analysts.extractive.layouts import (
    FURTHER,
    QUOTE_WORDS,
    Page,
    Section,
    layout_by_angles,
    layout_by_questions,
    layout_completion,
    layout_summary,
)
from corrobora.domain.evidence import Contradiction, Fact, FactId, Severity
from corrobora.domain.plan import SubQuestion
from corrobora.domain.report import Draft
from corrobora.roles.synthesize import PLAIN_LAYOUTS, Material, Part
from corrobora.text import phrases
from corrobora.text.answer_match import check_answer
from corrobora.text.answers import NUMBERS, AnswerKind, classify_question
from corrobora.text.entries import read_row
from corrobora.text.quantities import find_asked_releases, find_releases
from corrobora.text.questions import asks_to_compare, find_topic_stems
from corrobora.text.ranking import jaccard_similarity
from corrobora.text.tokens import fold_whitespace, stem_text
from corrobora.text.vocabulary import Equivalence, collect_equivalences

_SUMMARY_WORDS = 350
_STATEMENTS = 60  # at most, in one section
_ENOUGH = 6  # statements of one section, unless more words are asked for
_WEAK = 0.12  # of the best statement's worth
_OPENS = 0.3  # of the worth of the best statement, from which one opens a report beside it
_OPENS_ANSWERED = 0.6  # the same for a statement of another passage, where the question counts as answered
_ROWS = 8
_ANSWERS = 2.0  # what a statement that passes the answer test counts where something definite is asked for
_DEFINITE = NUMBERS | {AnswerKind.DATE, AnswerKind.CLOCK, AnswerKind.RELEASE}
_LEANS = 0.6  # what a statement counts that refers to what is not quoted with it
_LENGTH = 0.2  # power of the words of a statement by which its worth is divided
_FURTHER_MOST = 3
_DIFFERS = 1.6  # what a pair of editions gains that differ
_COUNTERPART = 0.3  # share of common stems from which a statement of another edition is about the same


@dataclass(frozen=True, slots=True)
class SectionPlan:
    """What belongs in one section, before words are counted."""

    title: str
    asked: str
    facts: tuple[Fact, ...]


def write_draft(given: Material) -> Draft:
    """Write a draft in the profile's layout; the `purpose` summary is short.

    Every sentence is a sentence of a quote with its marker, or a fixed wording. It has at most `words_max` words, and
    at least `words_min` if there is enough evidence.
    """
    compares = any(asks_to_compare(part.text) for part in given.sub_questions or (SubQuestion("", given.question),))
    given = _name_editions(given) if compares else given
    facts = _collect_facts(given)
    plans = _plan_by_part(given) if given.layout == "angles" else _plan_by_question(given, facts)
    rows = _difference_rows(given, facts)
    pairs = collect_equivalences((), (fact.quote for fact in facts))
    answering = [_find_answers(plan, pairs) for plan in plans]
    orders = [
        select_diverse(_rank_part(plan, own, compares=compares), _STATEMENTS, compares=compares)
        for plan, own in zip(plans, answering, strict=True)
    ]
    if compares:
        elsewhere = frozenset[str]().union(*answering)
        differing = frozenset(frozenset((row.a, row.b)) for row in rows)
        orders = [
            _pair_counterparts(order, facts, differing, own, elsewhere)
            for order, own in zip(orders, answering, strict=True)
        ]
    most = min(given.words_max, _SUMMARY_WORDS) if given.purpose == "summary" else given.words_max
    # Only the layouts `angles` and `completion` have sections of their own for differences and gaps.
    plain_report = given.purpose == "report" and given.layout in PLAIN_LAYOUTS
    page = Page(
        title=" ".join((given.title or given.question).split()).rstrip(". "),
        question=given.question,
        sections=_fill_sections(plans, orders, most, given.words_min, _list_answered(given)),
        rows=() if plain_report else rows,
        facts={fact.id: fact for fact in facts},
        gaps=() if plain_report else tuple(dict.fromkeys(gap.text for gap in given.gaps)),
        enough=bool(facts),
        uncovered=() if plain_report else given.uncovered,
        sub_questions=given.sub_questions,
        pair_mark="**{}**" if given.purpose == "summary" else "### {}",
        compares=compares,
        reasons=_near_misses(given),
        nearest=given.nearest,
    )
    layouts = {"angles": layout_by_angles, "completion": layout_completion}
    layout = layout_summary if given.purpose == "summary" else layouts.get(given.layout, layout_by_questions)
    return Draft(page.title, layout(page))


def _find_answers(plan: SectionPlan, pairs: tuple[Equivalence, ...]) -> frozenset[str]:
    return frozenset(
        fact.id
        for fact in plan.facts
        if check_answer(
            plan.asked, fact.quote, f"{fact.title} {fact.place} {fact.version}", fact.published, pairs
        ).passed
    )


def _rank_part(plan: SectionPlan, answering: frozenset[str], *, compares: bool) -> tuple[RankedFact, ...]:
    """Rank the facts of a section for its part of the question.

    Where statements share the room of an opening, each is worth the less the longer it is: of many words, some are
    those of the question by chance. A number on the topic says more than words: there the answer test counts.
    """
    definite = bool(classify_question(plan.asked).kinds & _DEFINITE)
    ends = {(fact.passage, fact.end + gap) for fact in plan.facts for gap in range(3)}
    ranked: list[RankedFact] = []
    for one in rank_facts(plan.asked, plan.facts):
        words, leans = measure_text(one.fact, one.core, QUOTE_WORDS)
        words = 1 if compares and one.fact.version else max(1, words)
        counts = _ANSWERS if definite and one.fact.id in answering else 1.0
        counts *= _LEANS if leans and (one.fact.passage, one.fact.start) not in ends else 1.0
        ranked.append(replace(one, worth=counts * one.worth / words**_LENGTH))
    return tuple(sorted(ranked, key=lambda one: (-one.worth, one.fact.id)))


def _near_misses(given: Material) -> dict[str, str]:
    """Map each sub-question that no statement answers to what the nearest ones lack, in the words of its gap."""
    found: dict[str, str] = {}
    for gap in given.gaps:
        part = next((part for part in given.sub_questions if part.id == gap.target), None)
        if part is not None and phrases.is_near_miss(gap.text):
            found.setdefault(part.text, gap.text.removesuffix(f": {part.text}"))
    return found


def _collect_facts(given: Material) -> tuple[Fact, ...]:
    found = {fact.id: fact for part in given.parts for fact in part.facts}
    return tuple(sorted(found.values(), key=lambda fact: fact.id))


def _name_editions(given: Material) -> Material:
    """Give facts without a version the one of the compared releases that their title names."""
    asked = find_asked_releases(given.question).numbers

    def name(fact: Fact) -> Fact:
        named = [each for each in find_releases(fact.title) if each in asked]
        return replace(fact, version=f"version {named[0]}") if len(named) == 1 and not fact.version else fact

    return replace(given, parts=tuple(replace(part, facts=tuple(map(name, part.facts))) for part in given.parts))


def _plan_by_question(given: Material, facts: Sequence[Fact]) -> list[SectionPlan]:
    """Plan one section for each sub-question; the best facts that answer none go last."""
    parts = given.sub_questions or (SubQuestion("sq-1", given.question),)
    counted = len(parts) > 1 and any(fact.answers for fact in facts)
    plans: list[SectionPlan] = []
    for part in parts:
        own = [fact for fact in facts if part.id in fact.answers] if counted else facts
        plans.append(SectionPlan(part.text.rstrip(". "), part.text, tuple(own)))
    placed = {fact.id for plan in plans for fact in plan.facts}
    order = rank_facts(given.question, facts)
    rest = [one.fact for one in order if one.fact.id not in placed and one.worth >= order[0].worth]
    return [*plans, SectionPlan(FURTHER, given.question, tuple(rest[:_FURTHER_MOST]))] if rest else plans


def _plan_by_part(given: Material) -> list[SectionPlan]:
    return [
        SectionPlan(part.title or part.angle or part.path, _part_question(given, part), part.facts)
        for part in given.parts
    ]


def _part_question(given: Material, part: Part) -> str:
    """Return the sub-questions that a part's facts answer, with its angle."""
    answered = {answer for fact in part.facts for answer in fact.answers}
    own = [asked.text for asked in given.sub_questions if asked.id in answered]
    return f"{' '.join(own) or given.question} {part.title}"


def _list_answered(given: Material) -> frozenset[str]:
    return frozenset(part.text for part in given.sub_questions if part.is_answered)


def _choose_opening(own: Sequence[RankedFact], *, answered: bool) -> frozenset[FactId]:
    """Return the facts that open a report: those near the best in worth, or of the very kind that is asked for.

    Where the question counts as answered, other passages are rarely needed: those that hold more of its topic.
    """
    best = own[0]

    def opens(one: RankedFact) -> bool:
        least = _OPENS_ANSWERED if answered and one.fact.passage != best.fact.passage else _OPENS
        says_more = one.share > best.share if answered else one.fits
        return (one.worth >= least * best.worth or says_more) and not _is_dominated(one, own)

    return frozenset(one.fact.id for one in own if opens(one))


def _is_dominated(one: RankedFact, others: Sequence[RankedFact]) -> bool:
    """True for a row of a table beside another one that holds what it holds of the question, and more."""
    heads = _list_heads(one)
    return bool(heads) and any(one.said < other.said and heads == _list_heads(other) for other in others)


def _list_heads(one: RankedFact) -> list[str]:
    return [head for head, _ in read_row(fold_whitespace(one.core))]


def _fill_sections(
    plans: Sequence[SectionPlan],
    orders: Sequence[Sequence[RankedFact]],
    most: int,
    least: int,
    answered: frozenset[str],
) -> tuple[Section, ...]:
    """Give every section its share of the words, best statements first; each statement stands once.

    Each section begins with its own best statement, though another one has it, too: of a long quote, they print other
    sentences.
    """
    room = max(60, int(most * 0.8) if least < most * 0.8 else most)
    chosen: list[list[RankedFact]] = [[] for _ in plans]
    used: set[str] = set()
    cited: set[str] = set()
    spent = 0
    for turn in range(max(map(len, orders), default=0)):
        for own, order in zip(chosen, orders, strict=True):
            if turn >= len(order) or (turn and order[turn].fact.id in used):
                continue
            fresh = least > 0 and order[turn].fact.source not in cited  # a long report cites many sources (ROUNDS-30)
            weak = (turn >= _ENOUGH and not fresh) or order[turn].worth < _WEAK * order[0].worth
            cost = len(order[turn].fact.quote.split())
            if (weak and spent >= least) or (spent and spent + cost > room):
                continue
            used.add(order[turn].fact.id)
            cited.add(order[turn].fact.source)
            own.append(order[turn])
            spent += cost
    return tuple(
        Section(
            plan.title,
            plan.asked,
            tuple(one.fact for one in own or order[:1]),
            bool(plan.facts),
            {one.fact.id: one.core for one in order},
            _choose_opening(own, answered=plan.asked in answered) if own else None,
        )
        for plan, own, order in zip(plans, chosen, orders, strict=True)
    )


def _pair_counterparts(
    order: Sequence[RankedFact],
    facts: Sequence[Fact],
    differing: frozenset[frozenset[str]],
    answering: frozenset[str],
    elsewhere: frozenset[str],
) -> tuple[RankedFact, ...]:
    """Follow each statement by its counterpart in another edition: only both together show a change.

    Pairs come before statements without a counterpart; among pairs, those that answer the question and differ first.
    A difference whose statements answer another part of the question (`elsewhere`) does not come first here.
    """
    stems = {fact.id: frozenset(stem_text(fact.quote)) for fact in facts}
    ranked_facts = {one.fact.id: one for one in order}
    pairs: list[tuple[tuple[int, float], tuple[RankedFact, ...]]] = []
    for one in order:
        use = 2 if one.fact.id in answering else 0 if one.fact.id in elsewhere else 1
        found = _find_counterpart(one, facts, stems, differing)
        if found is None:
            pairs.append(((min(1, use), 0.0), (one,)))
            continue
        other, differs = found
        match = ranked_facts.get(other.id, replace(one, fact=other, worth=0.0))
        joint = (one.worth + match.worth) / 2
        both = (replace(one, worth=joint), replace(match, worth=joint))
        gains = differs and use > 0
        joint *= _DIFFERS if differs else 1.0
        pairs.append(((use + gains, joint), both))
    ranked = sorted(pairs, key=lambda pair: (pair[0], pair[1][0].worth), reverse=True)
    return tuple({one.fact.id: one for _, pair in ranked for one in pair}.values())


def _find_counterpart(
    one: RankedFact,
    facts: Sequence[Fact],
    stems: Mapping[FactId, frozenset[str]],
    differing: frozenset[frozenset[str]],
) -> tuple[Fact, bool] | None:
    """Return the statement of another edition that is nearest to one, and whether the two differ; None if none is near.

    A statement that differs comes before those that are only near.
    """
    said = frozenset(stem_text(one.core))

    def rank(fact: Fact) -> tuple[bool, float, str]:
        return frozenset((one.fact.id, fact.id)) in differing, jaccard_similarity(said, stems[fact.id]), fact.id

    others = [fact for fact in facts if fact.version and one.fact.version and fact.version != one.fact.version]
    if not others:
        return None
    best = max(others, key=rank)
    differs, near, _ = rank(best)
    return (best, differs) if differs or near >= _COUNTERPART else None


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

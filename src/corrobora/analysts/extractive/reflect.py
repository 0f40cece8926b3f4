"""Reflect without a model: how far the facts cover each sub-question, what is missing, where they differ.

Knows one thread's facts and questions. Does not decide whether to continue: it proposes gaps, and the policies decide.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from corrobora.analysts.extractive.contradictions import filter_contradictions, find_contradictions
from corrobora.analysts.extractive.lines import split_joined_names
from corrobora.analysts.extractive.ranker import is_same_family
from corrobora.analysts.extractive.selection import fact_text, rank_facts
from corrobora.domain.evidence import Fact, FactId
from corrobora.domain.plan import SubQuestion, SubQuestionStatus
from corrobora.domain.thread import Gap, Proposal
from corrobora.policies.selection import check_sufficiency, evidence_texts
from corrobora.roles.reflect import Learned
from corrobora.text.answers import FITS_KIND, AnswerKind, ExpectedAnswer, score_answer_fit
from corrobora.text.answers import classify_question as answer_kind
from corrobora.text.comparison import SAME_SUBJECT_SHARE, Statement, compare_topics, parse_statement
from corrobora.text.mentions import MentionKind, find_mentions, find_names, mentions_name, strip_to_alphanumeric
from corrobora.text.phrases import LEAD, ONE_SIDED, OTHER_SIDE, UNNAMED, UNSAID, UNSTATED
from corrobora.text.quantities import find_asked_releases, find_quantities, is_calendar_name
from corrobora.text.questions import (
    find_anchors,
    find_compared_sides,
    find_counted_stems,
    find_differing_sides,
    find_spellings,
    find_subjects,
    find_topic_stems,
    is_relational,
    read_expectation,
    weigh_terms,
)
from corrobora.text.ranking import split_clauses
from corrobora.text.segmentation import split_sentences
from corrobora.text.tokens import fold_text, split_words, stem_text, stem_word
from corrobora.text.vocabulary import (
    Aliases,
    Equivalence,
    add_aliased_stems,
    find_broader_names,
    find_equivalences,
    find_expansions,
    find_recurring_pairs,
    list_equivalent_terms,
    make_heading_phrase,
    map_aliases,
    map_compounds,
    parse_equivalence,
)

COVERED = 0.6  # share of a sub-question's topic that its evidence must hold
_TERMS = 8
_NAMES = 4
_HEADING_STEMS = 5
_CONSIDERED = 10  # best statements of a sub-question whose counterparts are looked for
_QUERY_CHARS = 300
_NEARLY = 0.6
_TOLD = 4  # words of a question that one gap names
_RICH, _HALF = 3, 0.5  # words of a topic of which one statement must say half
_BY_NAMES = frozenset((AnswerKind.PERSON, AnswerKind.PLACE, AnswerKind.DATE, AnswerKind.CLOCK))
_WHEN = frozenset((AnswerKind.DATE, AnswerKind.CLOCK))
# asks for advice, not for a duty
_FOR_ME = re.compile(r"(?i)\bshould (?:i|we|you|one)\b|^\s*how (?:should|must|shall)\b")
_PLAINLY = re.compile(r"(?i)\b(?:always|never|do not|don['’]t|ha(?:ve|s) to|needs? to)\b")


@dataclass(frozen=True, slots=True)
class Reach:
    """How far the evidence covers one sub-question."""

    part: SubQuestion
    share: float
    facts: int
    missing: tuple[str, ...]  # names of the question that stand in no evidence
    unsaid: tuple[str, ...] = ()  # topic words of the question that stand in no evidence
    lacking: tuple[str, ...] = ()  # kinds of statement that the question wants and no evidence is
    told: bool = False  # a statement of the very kind that is asked for speaks of half of the topic
    apart: tuple[str, ...] = ()  # topic words of the question that no one statement says together

    @property
    def answered(self) -> bool:
        """True if the evidence covers enough of the topic and every name."""
        reached = self.facts > 0 and (self.share >= COVERED or self.told)
        return reached and not (self.missing or self.lacking or self.apart)


def reflect_on_facts(given: Learned) -> Proposal:
    """Return coverage as gaps, contradictions between sources, and what to search next."""
    pairs = _known_equivalences(given)
    parts = given.sub_questions or (SubQuestion("sq-1", given.question),)
    reaches = [measure_reach(part, given.facts, pairs) for part in parts]
    gaps = [gap for one in reaches for gap in _coverage_gaps(one)]
    gaps += _one_sided_gaps(given)
    followed = _names_to_follow(given)
    named = map_aliases(weigh_terms(given.question).topic, pairs)
    told = len(parts) == 1 and any(
        _states_kind(fact, answer_kind(given.question), given.question, named, most=1) for fact in given.facts
    )
    if (
        is_relational(given.question)
        and len(weigh_terms(given.question).topic) > 1
        and followed
        and given.facts
        and not told
    ):
        gaps += [Gap(f"{LEAD}: {name}") for name in followed[:2]]
    whole = check_sufficiency(given.question, [part.text for part in parts], evidence_texts(given.facts))
    if not whole.enough and given.facts:
        known = " ".join(gap.text for gap in gaps)
        gaps += [Gap(f"{UNNAMED}: {name}") for name in whole.missing if name not in known][:3]
    fresh = filter_contradictions(given.question, parts, find_contradictions(given.facts), pairs)
    unpaired = _unpaired_statements(given)
    if unpaired:
        gaps.append(Gap(f"{ONE_SIDED}."))
    terms = _search_terms(given, pairs)
    return Proposal(
        summary=_summarize_coverage(given, reaches, len(fresh)),
        gaps=tuple(dict.fromkeys(gaps)),
        done=not gaps,
        next_topic=_next_topic(given, reaches, followed) if gaps else "",
        reasoning="; ".join(f"{one.part.id}: {one.share:.2f} of its topic in {one.facts} facts" for one in reaches),
        contradictions=fresh,
        answered=tuple(one.part.id for one in reaches if one.answered),
        terms=tuple(dict.fromkeys((*terms[:_TERMS], *unpaired, *followed))),
    )


def measure_reach(part: SubQuestion, facts: Sequence[Fact], pairs: Sequence[Equivalence]) -> Reach:
    """Measure the share of a sub-question's topic words in its facts, other names counted."""
    topic = weigh_terms(part.text).topic
    own = [fact for fact in facts if part.id in fact.answers]
    other_names = {**map_compounds(part.text), **map_aliases(topic, pairs)}
    texts = evidence_texts(own)
    held = frozenset(term for text in texts for term in add_aliased_stems(stem_text(text), other_names))
    held |= frozenset(term for term in topic - held if any(is_same_family(term, each) for each in held))
    share = len(topic & held) / len(topic) if topic else 1.0
    every = [*evidence_texts(facts), *(pair.other for pair in pairs if pair.other.isupper())]
    small, known = strip_to_alphanumeric("\n".join(every)), frozenset(stem_text("\n".join(every)))
    compared = find_compared_sides(part.text)
    missing = tuple(
        name
        for name in find_subjects(part.text)
        if not mentions_name(known, small, name) and not any(name in side for side in compared)
    )
    releases = find_asked_releases(part.text)
    missing += () if any(map(releases.is_named_in, every)) else releases.numbers[:1]
    unsaid = find_spellings(part.text, topic - held)
    kind = answer_kind(part.text)
    told = bool(kind.kinds) and any(_states_kind(fact, kind, part.text, other_names) for fact in own)
    apart_ = () if told or _stated_together(part.text, topic, texts, other_names) else find_spellings(part.text, topic)
    return Reach(part, share, len(own), missing, unsaid, tuple(_unmet_kinds(part.text, own, other_names)), told, apart_)


def _stated_together(question: str, topic: frozenset[str], texts: Sequence[str], other_names: Aliases) -> bool:
    """False if a single-clause question has no statement with half of its topic, headings included."""
    chained = is_relational(question) and answer_kind(question).kinds <= _BY_NAMES
    if len(topic) < _RICH or chained or find_compared_sides(question) or len(split_clauses(question)) > 1:
        return True
    return any(
        len(topic & frozenset(add_aliased_stems(stem_text(text), other_names))) >= _HALF * len(topic) for text in texts
    )


def _unmet_kinds(question: str, facts: Sequence[Fact], other_names: Aliases) -> Iterator[str]:
    """Yield the kinds of statement that the question asks for and none of its facts has."""
    wanted = read_expectation(question)
    texts = [fact.quote for fact in facts]
    asked = frozenset(stem_text(question))
    if wanted.obligation and not answer_kind(question).kinds:  # a kind beside the duty is looked for as one
        bound = {fact.version for fact, text in zip(facts, texts, strict=True) if _states_duty(text)}
        least = 2 if wanted.comparison and len({fact.version for fact in facts}) > 1 else 1
        if len(bound) < least and not _FOR_ME.search(question):
            yield "says what must, should or may be"
    kind = answer_kind(question)
    if wanted.number and not any(find_quantities(text) or score_answer_fit(text, kind) >= _NEARLY for text in texts):
        yield "gives a number"
    if kind.quantified and not any(_states_kind(fact, kind, question, other_names) for fact in facts):
        yield "gives the number that is asked for"
    if _WHEN & kind.kinds and not any(score_answer_fit(text, kind) >= FITS_KIND for text in texts):
        yield "gives a date"
    if wanted.name and not any(not frozenset(stem_text(name)) <= asked for text in texts for name in find_names(text)):
        yield "gives a name"
    if wanted.comparison and len({fact.version or fact.source for fact in facts}) == 1 and not _both(question, facts):
        yield OTHER_SIDE.removeprefix(f"{UNSTATED} ")


def _both(question: str, facts: Sequence[Fact]) -> bool:
    """True if one source covers both sides of a comparison, each in its own statement."""
    compared = [frozenset(stem_text(side)) for side in find_differing_sides(question)]
    texts = [frozenset(stem_text(text)) for text in evidence_texts(facts)]
    own = [one - other for one, other in (compared, compared[::-1])] if len(compared) > 1 else []
    return bool(own) and all(side and any(side <= text for text in texts) for side in own)


def _states_duty(text: str) -> bool:
    """True for a statement of duty, including imperatives with "always" or "never"."""
    return bool(parse_statement(text).duties) or _PLAINLY.search(text) is not None


def _states_kind(fact: Fact, kind: ExpectedAnswer, question: str, other_names: Aliases, *, most: float = 0.5) -> bool:
    """True if one sentence has the kind asked for and, with its headings, the share `most` of the topic."""
    topic = find_counted_stems(question) - kind.counted or find_counted_stems(
        question
    )  # "nine doors" says nothing yet of whose they are
    above = topic & frozenset(add_aliased_stems(stem_text(f"{fact.title} {fact.heading}"), other_names))
    text = fact_text(fact)
    for span in split_sentences(text):
        piece = text[span.start : span.end]
        own = topic & frozenset(add_aliased_stems(stem_text(split_joined_names(piece)), other_names))
        if score_answer_fit(piece, kind) >= FITS_KIND and own and len(own | above) >= most * len(topic):
            return True
    return False


def _known_equivalences(given: Learned) -> list[Equivalence]:
    learned = [pair for term in given.terms if (pair := parse_equivalence(term)) is not None]
    said = [pair for fact in given.facts for pair in find_equivalences(fact.quote)]
    asked = " ".join((given.question, *(part.text for part in given.sub_questions)))
    full = [pair for fact in given.facts for pair in find_expansions(f"{fact.quote} {fact.title}", asked)]
    return list(dict.fromkeys((*learned, *said, *full)))


def _coverage_gaps(one: Reach) -> list[Gap]:
    if one.answered or one.part.standing is SubQuestionStatus.EXHAUSTED:
        return []
    if not one.facts:
        return [Gap(f"No evidence for: {one.part.text}", one.part.id)]
    if one.missing:
        return [Gap(f"{UNNAMED} {name}: {one.part.text}", one.part.id) for name in one.missing[:2]]
    if one.lacking:
        return [Gap(f"{UNSTATED} {one.lacking[0]}: {one.part.text}", one.part.id)]
    if not one.unsaid:
        said = " and ".join(f"“{word}”" for word in one.apart[:_TOLD])
        return [Gap(f"{UNSTATED} speaks of {said} together: {one.part.text}", one.part.id)]
    said = " or ".join(f"“{word}”" for word in one.unsaid[:_TOLD])
    return [Gap(f"{UNSAID} {said}: {one.part.text}", one.part.id)]


def _one_sided_gaps(given: Learned) -> list[Gap]:
    """Return a gap for each side of a comparison without evidence of its own."""
    compared = find_compared_sides(given.question)
    if len(compared) < 2 or not given.facts:  # noqa: PLR2004 - two sides
        return []
    texts = [frozenset(stem_text(text)) for text in evidence_texts(given.facts)]
    gaps: list[Gap] = []
    for side, other in (compared, compared[::-1]):
        own = frozenset(stem_text(side)) - frozenset(stem_text(other))
        if own and not any(own & text for text in texts):
            topic = " ".join(find_topic_stems(given.question)[:4])
            gaps.append(Gap(f"Only one side has evidence, nothing on {side}: {side} {topic}"))
    return gaps


def _unpaired_statements(given: Learned) -> list[str]:
    """Return statements of a comparison without a counterpart: searching for their words finds it."""
    if not read_expectation(given.question).comparison or len({fact.version for fact in given.facts}) < 2:  # noqa: PLR2004 - two
        return []
    stated = {fact.id: parse_statement(fact.quote) for fact in given.facts}
    past = {" ".join(query.split()) for query in given.past_queries}
    found: dict[str, None] = {}
    for part in given.sub_questions or (SubQuestion("", given.question),):
        wanted = read_expectation(part.text)
        own = [one.fact for one in rank_facts(part.text, given.facts) if not part.id or part.id in one.fact.answers]
        own = sorted(own[:_CONSIDERED], key=lambda fact: -stated[fact.id].force) if wanted.obligation else own
        alone = [fact for fact in own[:_CONSIDERED] if not _has_counterpart(fact, given.facts, stated)]
        texts = [f.quote[:_QUERY_CHARS] for f in alone if score_answer_fit(f.quote, answer_kind(part.text)) > 0]
        found |= dict.fromkeys(text for text in texts[:1] if text not in past)
    return list(found)


def _has_counterpart(fact: Fact, facts: Sequence[Fact], stated: Mapping[FactId, Statement]) -> bool:
    mine = stated[fact.id]
    return any(
        other.version != fact.version and compare_topics(mine, stated[other.id]) >= SAME_SUBJECT_SHARE
        for other in facts
    )


def _names_to_follow(given: Learned) -> list[str]:
    """Return names in the evidence that are not in the question: the next hop of a chain, nearest first."""
    asked = set(stem_text(given.question))
    about = [frozenset(stem_text(name)) for name in find_anchors(given.question) or find_subjects(given.question)]
    topic = weigh_terms(given.question).topic
    past = [fold_text(query) for query in given.past_queries]
    worth: dict[str, float] = {}
    for fact in given.facts:
        read = fact.quote
        title = frozenset(stem_text(fact.title))
        titled = any(name and (name <= title or (title and title <= name)) for name in about)
        near = titled or any(name and name <= frozenset(stem_text(read)) for name in about)
        for name, nearness in _rank_mentions(read, topic):
            own = frozenset(stem_text(name))
            if (
                not own
                or own <= asked
                or own <= title
                or is_calendar_name(name)
                or any(fold_text(name) in query for query in past)
            ):
                continue
            if len(own) < 2 and not near:  # noqa: PLR2004 - one word far from the question names too much
                continue
            worth[name] = worth.get(name, 0.0) + (3.0 if titled else 2.0 if near else 0.5) * nearness
    return sorted(worth, key=lambda name: (-worth[name], name))[:_NAMES]


def _rank_mentions(text: str, topic: frozenset[str]) -> Iterator[tuple[str, float]]:
    """Yield the names of a sentence with their nearness to a topic word before them."""
    for mention in find_mentions(text):
        if mention.kind is MentionKind.QUOTED:
            continue
        before = [stem_word(word) for word in split_words(text[max(0, mention.start - 60) : mention.start])][::-1]
        distance = next(
            (at for at, term in enumerate(before[:5]) if term and any(is_same_family(term, each) for each in topic)), 8
        )
        single = 0.4 if " " not in mention.text else 1.0
        yield mention.text, single * 4.0 / (2 + distance)


def _search_terms(given: Learned, pairs: Sequence[Equivalence]) -> list[str]:
    """Return other names of what is asked, then the headings with most facts, then recurring phrases."""
    wanted = weigh_terms(given.question).topic
    about = frozenset(s for name in find_anchors(given.question) for s in stem_text(name))
    found = list_equivalent_terms(wanted, pairs)
    filed = [name for fact in given.facts for name in find_broader_names(fact.quote, wanted | about)]
    standing: Counter[str] = Counter()
    places: set[tuple[str, str]] = set()
    for fact in given.facts:
        spoken = len(wanted & frozenset(stem_text(fact.quote)))
        for name in (make_heading_phrase(part) for part in fact.heading.split(" > ")):
            if 0 < len(stem_text(name)) <= _HEADING_STEMS and not set(stem_text(name)) <= wanted:
                standing[name] += spoken
                places.add((fact.source, name))
    texts = [(name, 2.0) for _, name in sorted(places)] + [(fact.quote, 1.0) for fact in given.facts]
    headings = sorted((name for name, mass in standing.items() if mass), key=lambda name: (-standing[name], name))
    return list(dict.fromkeys((*found, *filed[:2], *find_recurring_pairs(texts, wanted, limit=2), *headings[:3])))


def _next_topic(given: Learned, reaches: Sequence[Reach], followed: Sequence[str]) -> str:
    """Propose the next topic: a name to follow in a chain of names, else what is open."""
    if is_relational(given.question) and followed:
        return followed[0]
    for one in reaches:
        if not one.answered:
            return one.missing[0] if one.missing else one.part.text
    return given.question


def _summarize_coverage(given: Learned, reaches: Sequence[Reach], conflicts: int) -> str:
    answered = sum(one.answered for one in reaches)
    text = f"{len(given.facts)} facts; {answered} of {len(reaches)} sub-questions covered"
    if conflicts:
        text += f"; {conflicts} differences between sources"
    return text + "."

"""Reflect without a model: where the facts of a thread differ, and what to search next.

Knows one thread's facts and questions. Does not judge what is answered: the policies do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from corrobora.analysts.extractive.contradictions import filter_contradictions, find_contradictions
from corrobora.analysts.extractive.fact_selection import rank_facts
from corrobora.domain.evidence import Fact, FactId
from corrobora.domain.plan import SubQuestion
from corrobora.domain.thread import Proposal
from corrobora.roles.synthesize import Learned
from corrobora.text.answer_match import check_answer
from corrobora.text.answers import classify_question, score_answer_fit
from corrobora.text.comparison import SAME_SUBJECT_SHARE, ParsedStatement, compare_topics, parse_statement
from corrobora.text.mentions import MentionKind, find_mentions
from corrobora.text.phrases import format_count
from corrobora.text.quantities import is_calendar_name
from corrobora.text.questions import (
    asks_for_duty,
    asks_to_compare,
    find_anchors,
    find_subjects,
    is_relational,
    weigh_terms,
)
from corrobora.text.tokens import fold_text, is_same_family, split_words, stem_text, stem_word
from corrobora.text.vocabulary import collect_equivalences

_NAMES = 4
_CONSIDERED = 10  # best statements of a sub-question whose counterparts are looked for
_QUERY_CHARS = 300


def reflect_on_facts(given: Learned) -> Proposal:
    """Return contradictions between sources, and what to search next.

    What is answered and what is missing is not judged here: the assessment of the thread tests every statement.
    """
    pairs = collect_equivalences(given.terms, (fact.quote for fact in given.facts))
    parts = given.sub_questions or (SubQuestion("sq-1", given.question),)
    fresh = filter_contradictions(given.question, parts, find_contradictions(given.facts), pairs)
    followed = _names_to_follow(given)
    return Proposal(
        summary=f"{format_count(len(fresh), 'difference')} between sources." if fresh else "",
        next_topic=_next_topic(given, followed),
        reasoning="; ".join(f"{part.id}: {part.standing.value.lower()}" for part in parts),
        contradictions=fresh,
        terms=tuple(dict.fromkeys((*_unpaired_statements(given), *followed))),
    )


def _unpaired_statements(given: Learned) -> list[str]:
    """Return statements of a comparison without a counterpart: searching for their words finds it."""
    if not asks_to_compare(given.question) or len({fact.version for fact in given.facts}) < 2:  # noqa: PLR2004 - two
        return []
    stated = {fact.id: parse_statement(fact.quote) for fact in given.facts}
    past = {" ".join(query.split()) for query in given.past_queries}
    found: dict[str, bool] = {}  # whether it answers its question: the other side of an answer is looked for first
    for part in given.sub_questions or (SubQuestion("", given.question),):
        obliges = asks_for_duty(part.text)
        own = [one.fact for one in rank_facts(part.text, given.facts) if not part.id or part.id in one.fact.answers]
        own = sorted(own[:_CONSIDERED], key=lambda fact: -stated[fact.id].force) if obliges else own
        alone = [fact for fact in own[:_CONSIDERED] if not _has_counterpart(fact, given.facts, stated)]
        kind = classify_question(part.text)
        telling = [f for f in alone if (obliges and stated[f.id].duties) or score_answer_fit(f.quote, kind) > 0]
        texts = [fact.quote[:_QUERY_CHARS] for fact in telling]
        found |= {text: check_answer(part.text, text).passed for text in [t for t in texts if t not in past][:1]}
    return sorted(found, key=lambda text: not found[text])


def _has_counterpart(fact: Fact, facts: Sequence[Fact], stated: Mapping[FactId, ParsedStatement]) -> bool:
    mine = stated[fact.id]
    return any(
        other.version != fact.version
        and bool(stated[other.id].duties) == bool(mine.duties)  # advice without a duty is no other reading of one
        and compare_topics(mine, stated[other.id]) >= SAME_SUBJECT_SHARE
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


def _next_topic(given: Learned, followed: Sequence[str]) -> str:
    """Propose the next topic: a name to follow in a chain of names, else what is open; "" if nothing is."""
    waiting = [part for part in given.sub_questions if not part.is_answered]
    if not waiting and given.sub_questions:
        return ""
    if is_relational(given.question) and followed:
        return followed[0]
    return waiting[0].text if waiting else given.question

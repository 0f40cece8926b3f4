"""Judge without a model: a draft, from what the check by code says of its sentences, and the facts of a thread.

Knows a draft's lines, tables and markers, the sentences that failed, the facts it may use and the question; of a
thread, where its facts differ and what to search next. Works on any analyst's draft and does not know what is true;
what is answered, the policies judge.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from corrobora.analysts.extractive.clarify import split_question
from corrobora.analysts.extractive.contradictions import filter_contradictions, find_contradictions
from corrobora.analysts.extractive.fact_selection import rank_facts
from corrobora.domain.evidence import Fact, FactId, Grade
from corrobora.domain.plan import SubQuestion
from corrobora.domain.report import Verdict
from corrobora.domain.thread import Proposal
from corrobora.roles.review import Reviewing
from corrobora.roles.synthesize import Learned
from corrobora.text.answer_match import check_answer
from corrobora.text.answers import classify_question, score_answer_fit
from corrobora.text.comparison import SAME_SUBJECT_SHARE, ParsedStatement, compare_topics, parse_statement
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
from corrobora.text.mentions import MentionKind, find_mentions
from corrobora.text.phrases import format_count, is_written_by_code
from corrobora.text.quantities import is_calendar_name
from corrobora.text.questions import (
    asks_for_duty,
    asks_to_compare,
    find_anchors,
    find_subjects,
    find_topic_stems,
    is_relational,
    weigh_terms,
)
from corrobora.text.tokens import fold_text, is_same_family, read_inline, split_words, stem_text, stem_word
from corrobora.text.vocabulary import collect_equivalences

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
    """Score a draft (ANGLES-30): supported share, resolved markers, parts, grades, sources."""
    sentences = parse_sentences(given.draft.body)
    total, cited = len(sentences), [each for each in sentences if each.markers]
    supported = max(0, len(cited) - len(given.checks))
    markers = {marker for each in cited for marker in each.markers}
    used = [fact for fact in given.facts if fact.marker in markers]
    shares = _measure_parts(given.question, cited, used)
    answered = sum(share >= _PART for share in shares)
    whole = sum(shares) / len(shares) if shares else 0.0
    return Verdict(
        factual_accuracy=_bounded_ratio(supported, total),
        citation_accuracy=_bounded_ratio(supported, len(cited)),
        completeness=round(whole, 4) if cited else 0.0,
        source_quality=_bounded_ratio(sum(max(_GRADES[f.grade], f.primary * _PRIMARY) for f in used), len(used)),
        source_diversity=_source_diversity(used),
        rationale=(
            f"{supported} of {format_count(total, 'sentence')} supported by what is cited, "
            f"{total - len(cited)} without a citation; "
            f"{answered} of {format_count(len(shares), 'part')} of the question spoken to."
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

"""Assessment: what facts are worth, and which questions and subjects of a thread they cover.

Knows sources, origins and quotes: a grade depends on who says something and who else says it, never on a model's
opinion of its own findings. Does not know who found the facts or whether the thread continues: `stop` decides that.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from urllib.parse import urlsplit

from corrobora.domain.evidence import Contradiction, Fact, FactId, Grade
from corrobora.domain.plan import Coverage, Subject, SubQuestion, SubQuestionStatus
from corrobora.domain.thread import Assessment, Proposal, Round, ThreadState
from corrobora.policies.queries import is_exhausted
from corrobora.policies.selection import find_on_topic_facts
from corrobora.text.questions import weigh_terms
from corrobora.text.tokens import fold_text, split_words, stem_text

GRADE_RANK: Mapping[Grade, int] = MappingProxyType({Grade.UNVERIFIED: 0, Grade.PLAUSIBLE: 1, Grade.VERIFIED: 2})
MIN_AGREEMENT = 0.6  # share of the shorter statement's stems that both must have
MIN_AGREEING_STEMS = 3
COPY_SHARE_ABOVE = 0.9  # statements that share more of their words than this ...
MIN_COPIED_STEMS = 8  # ... and are this long were copied from each other

_OFFICIAL_LABELS = frozenset({"gov", "mil", "edu", "int", "gob", "gouv", "govt"})
_BELOW_COUNTRY = frozenset({"ac", "edu", "gov", "gob", "gouv", "govt", "mil"})  # gov.uk, ac.jp
_STANDARDS = frozenset(
    {"ietf.org", "rfc-editor.org", "w3.org", "iso.org", "iec.ch", "ieee.org", "ecma-international.org", "etsi.org"}
    | {"unicode.org", "itu.int", "oasis-open.org", "europa.eu", "un.org"}
)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_STANCE_WORDS = frozenset("not no never nor cannot without neither none should shall must may".split())


def is_official(url: str) -> bool:
    """True for addresses of governments, universities, treaty bodies and standards bodies, judged by their names."""
    try:
        host = (urlsplit(url).hostname or "").rstrip(".").lower()
    except ValueError:
        return False
    labels = host.split(".")
    if len(labels) < 2:  # noqa: PLR2004 - a name without a dot belongs to nobody
        return False
    below_country = len(labels[-1]) == 2 and labels[-2] in _BELOW_COUNTRY  # noqa: PLR2004 - country codes
    known = any(host == name or host.endswith(f".{name}") for name in _STANDARDS)
    return labels[-1] in _OFFICIAL_LABELS or below_country or known


def identify_witness(fact: Fact) -> str:
    """Name the independent source of a fact: its web host, else the origin of its text (TRUTH-4)."""
    if fact.kind == "web":
        try:
            host = (urlsplit(fact.url).hostname or "").removeprefix("www.")
        except ValueError:
            host = ""
        if host:
            return f"host:{host}"
    return f"origin:{fact.origin or fact.source}"


def grade_facts(facts: Sequence[Fact]) -> tuple[Fact, ...]:
    """Grade all facts of a thread, in order (TRIPLET-23).

    VERIFIED: a primary or official source, or independent agreement with the same numbers and stance. PLAUSIBLE: a
    document given by the user. UNVERIFIED: a single web page of unknown standing. Only facts that share enough stems
    are compared.
    """
    statements = [_QuoteFeatures.from_fact(fact) for fact in facts]
    having: dict[str, list[int]] = {}
    for at, statement in enumerate(statements):
        for stem in statement.stems:
            having.setdefault(stem, []).append(at)
    result: list[Fact] = []
    for at, fact in enumerate(facts):
        found = _grade_by_source(fact)
        if found is not Grade.VERIFIED:
            shared = Counter(other for stem in statements[at].stems for other in having[stem])
            likely = (other for other, count in shared.items() if count >= MIN_AGREEING_STEMS)
            if any(_is_independent(facts[k], fact) and _is_agreement(statements[k], statements[at]) for k in likely):
                found = Grade.VERIFIED
        result.append(fact if fact.grade is found else replace(fact, grade=found))
    return tuple(result)


def sort_by_grade(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    """Sort facts by grade, confidence and relevance; equal facts keep their order."""
    return tuple(sorted(facts, key=lambda fact: (-GRADE_RANK[fact.grade], -fact.confidence, -fact.score)))


def combine_confidence(facts: Iterable[Fact]) -> float:
    """Combine the confidence of facts about one thing into a value in [0, 1] (TREE-18).

    Independent sources add up (one minus the product of doubts); of each source only the most confident fact counts.
    """
    surest: dict[str, float] = {}
    for fact in facts:
        surest[identify_witness(fact)] = max(
            surest.get(identify_witness(fact), 0.0), min(1.0, max(0.0, fact.confidence))
        )
    doubt = 1.0
    for each in surest.values():
        doubt *= 1.0 - each
    return 1.0 - doubt


@dataclass(frozen=True, slots=True)
class _QuoteFeatures:
    """What two facts are compared by: stems, numbers, and words of negation and obligation."""

    stems: frozenset[str]
    numbers: frozenset[str]
    stance: frozenset[str]

    @classmethod
    def from_fact(cls, fact: Fact) -> _QuoteFeatures:
        """Read the quote, not the claim: a claim is a model's wording."""
        return _read_features(fact.quote)


@functools.lru_cache(maxsize=4_096)  # every round compares all facts of its thread again
def _read_features(quote: str) -> _QuoteFeatures:
    stance = frozenset(split_words(quote)) & _STANCE_WORDS
    if "n't" in quote or "n’t" in quote:
        stance |= {"not"}
    return _QuoteFeatures(frozenset(stem_text(quote)), frozenset(_NUMBER.findall(quote)), stance)


def _grade_by_source(fact: Fact) -> Grade:
    """Grade a fact by its source alone."""
    if fact.primary or is_official(fact.url):
        return Grade.VERIFIED
    return Grade.UNVERIFIED if fact.kind == "web" else Grade.PLAUSIBLE


def _is_independent(other: Fact, fact: Fact) -> bool:
    same_origin = bool(fact.origin) and fact.origin == other.origin
    return not same_origin and identify_witness(other) != identify_witness(fact)


def _is_agreement(other: _QuoteFeatures, fact: _QuoteFeatures) -> bool:
    shared = len(other.stems & fact.stems)
    shorter = min(len(other.stems), len(fact.stems))
    if shared < MIN_AGREEING_STEMS or shared < MIN_AGREEMENT * shorter:
        return False
    if not fact.numbers <= other.numbers or other.stance != fact.stance:
        return False
    both = len(other.stems | fact.stems)
    copied = shorter >= MIN_COPIED_STEMS and shared >= COPY_SHARE_ABOVE * both
    return not copied


def choose_forced_subject(thread: ThreadState) -> Subject | None:
    """Return the subject the next round must target: the first without a round of its own, or None.

    A subject is forced past half of the rounds (TRIPLET-16), or earlier if the remaining rounds would not suffice for
    one each, or if no sub-question is open: then nothing else keeps the thread from converging.
    """
    waiting = [subject for subject in thread.subjects if subject.rounds == 0]
    left = thread.course.max_rounds - thread.number
    closed = (SubQuestionStatus.ANSWERED, SubQuestionStatus.EXHAUSTED)
    asked = [question.standing for question in thread.sub_questions]
    idle = bool(thread.rounds and asked) and all(standing in closed for standing in asked)
    due = 2 * thread.number > thread.course.max_rounds or len(waiting) >= left or idle
    return waiting[0] if waiting and due else None


def assess_thread(thread: ThreadState, done: Round, *, contradictions: Iterable[Contradiction] = ()) -> Assessment:
    """Assess a thread after a finished round: graded facts, sub-questions, subjects and contradictions.

    Pure and repeatable: the same thread and round give the same assessment. Nothing found earlier is dropped.
    """
    found = tuple(fact for reading in done.readings for fact in reading.facts)
    facts = grade_facts(merge_facts(thread.facts, found))
    return Assessment(
        facts=facts,
        sub_questions=tuple(_assess_question(each, thread, done, facts, found) for each in thread.sub_questions),
        subjects=tuple(_assess_subject(each, done, facts) for each in thread.subjects),
        contradictions=merge_contradictions(thread.contradictions, tuple(contradictions), facts),
    )


def accept_nearest_facts(thread: ThreadState) -> ThreadState:
    """If no fact of a thread answers anything, let those that share enough of its topic answer.

    The last resort of a thread whose quotes no model has judged: a statement may answer without using the question's
    names. Each fact answers the sub-question it shares most words with; the gaps stay.
    """
    near = frozenset(
        () if any(fact.answers for fact in thread.facts) else find_on_topic_facts(thread.brief.question, thread.facts)
    )
    if not near or not thread.rounds:
        return thread
    topics = [(part.id, weigh_terms(part.text).topic) for part in thread.sub_questions]
    facts = tuple(
        replace(fact, answers=_nearest_question(fact, topics)) if fact.id in near else fact for fact in thread.facts
    )
    done = replace(thread.rounds[-1], cut=True)  # its attempts are counted already
    parts = tuple(_assess_question(part, thread, done, facts, ()) for part in thread.sub_questions)
    return replace(thread, facts=facts, sub_questions=parts)


def _nearest_question(fact: Fact, topics: Sequence[tuple[str, frozenset[str]]]) -> tuple[str, ...]:
    own = frozenset(stem_text(f"{fact.quote} {fact.title} {fact.heading}"))
    best = max(topics, key=lambda topic: len(topic[1] & own), default=None)
    return (best[0],) if best is not None else ()


def merge_proposed_contradictions(thread: ThreadState, proposal: Proposal) -> ThreadState:
    """Add the contradictions of a proposal between facts of this thread; ignore its wishes."""
    merged = merge_contradictions(thread.contradictions, proposal.contradictions, thread.facts)
    return thread if merged == thread.contradictions else replace(thread, contradictions=merged)


def merge_facts(known: Sequence[Fact], found: Sequence[Fact]) -> tuple[Fact, ...]:
    """Merge facts by id, in order of first occurrence; a repeated fact gains answers, subjects and confidence."""
    joined: dict[FactId, Fact] = {}
    for fact in (*known, *found):
        before = joined.get(fact.id)
        joined[fact.id] = fact if before is None else _merge_fact(before, fact)
    return tuple(joined.values())


def merge_contradictions(
    known: Sequence[Contradiction], found: Sequence[Contradiction], facts: Sequence[Fact]
) -> tuple[Contradiction, ...]:
    """Merge contradictions, one for each claim of a pair of known facts; a resolved one stays resolved."""
    ids = {fact.id for fact in facts}
    joined = {each.key: each for each in known}
    for each in found:
        if each.a not in ids or each.b not in ids or each.a == each.b:
            continue
        before = joined.get(each.key)
        if before is None:
            joined[each.key] = each
        elif each.resolved and not before.resolved:
            joined[each.key] = replace(before, resolved=True, scope=each.scope or before.scope)
    return tuple(joined.values())


def _merge_fact(before: Fact, again: Fact) -> Fact:
    return replace(
        before,
        answers=tuple(dict.fromkeys((*before.answers, *again.answers))),
        subjects=tuple(dict.fromkeys((*before.subjects, *again.subjects))),
        confidence=max(before.confidence, again.confidence),
        score=max(before.score, again.score),
    )


def _assess_question(
    asked: SubQuestion, thread: ThreadState, done: Round, facts: Sequence[Fact], found: Sequence[Fact]
) -> SubQuestion:
    """Assess one sub-question. A cut round, or one that did not target it, is no failed attempt."""
    evidence = sort_by_grade(fact for fact in facts if asked.id in fact.answers)
    best = evidence[0] if evidence else None
    grade = best.grade if best is not None else asked.grade
    answered = grade is not None and GRADE_RANK[grade] >= GRADE_RANK[Grade.PLAUSIBLE]
    got = any(asked.id in fact.answers for fact in found)
    failed = asked.id in done.intent.targets and not got and not answered and not done.cut
    attempts = asked.attempts + (1 if failed else 0)
    if answered:
        standing = SubQuestionStatus.ANSWERED
    elif thread.course.exhaust and is_exhausted(replace(asked, attempts=attempts), thread.course.attempts):
        standing = SubQuestionStatus.EXHAUSTED
    else:
        standing = SubQuestionStatus.PARTIAL if best is not None else asked.standing
    return replace(
        asked,
        standing=standing,
        grade=grade,
        finding=_select_claim(evidence, asked.text) or asked.finding,
        evidence=tuple(fact.id for fact in evidence) or asked.evidence,
        attempts=attempts,
    )


def _assess_subject(subject: Subject, done: Round, facts: Sequence[Fact]) -> Subject:
    """Count the round if it was dedicated to the subject and read something; grade what is known of it."""
    dedicated = subject.name in done.intent.subjects and (not done.cut or bool(done.readings))
    about = sort_by_grade(fact for fact in facts if _is_about_subject(fact, subject))
    best = about[0] if about else None
    if best is not None and GRADE_RANK[best.grade] >= GRADE_RANK[Grade.PLAUSIBLE]:
        coverage = Coverage.COVERED
    else:
        coverage = Coverage.PARTIAL if best is not None else subject.coverage
    return replace(
        subject,
        rounds=subject.rounds + (1 if dedicated else 0),
        coverage=coverage,
        finding=_select_claim(about, subject.name) or subject.finding,
    )


def _select_claim(facts: Sequence[Fact], asked: str) -> str:
    """Return the claim to show: among those of the best grade, the one that shares most words with the question."""
    best = [fact.claim for fact in facts if fact.grade is facts[0].grade]
    if len(best) < 2:  # noqa: PLR2004 - a pair
        return "".join(best)
    wanted = frozenset(stem_text(asked))
    return max(best, key=lambda claim: len(wanted.intersection(stem_text(claim))))


def _is_about_subject(fact: Fact, subject: Subject) -> bool:
    if subject.name in fact.subjects:
        return True
    said = f"{fact.quote} {fact.title}"
    folded, spoken = fold_text(said), frozenset(stem_text(said))
    return any(_is_named(name, folded, spoken) for name in (subject.name, *subject.aliases))


def _is_named(name: str, folded: str, spoken: frozenset[str]) -> bool:
    """True if a text contains all words of a name; a name of stop words ("The Who") must occur literally."""
    parts = set(stem_text(name))
    plain = fold_text(name).strip()
    return parts <= spoken if parts else bool(plain) and plain in folded

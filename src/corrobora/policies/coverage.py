"""Coverage: what a thread's facts have answered, and which subject must come next.

Knows sub-questions, subjects, facts and contradictions of one thread. Does not know who found the facts, nor whether
the thread goes on: `stop` does.

Convergence: whether a thread has learned what it was asked.

Knows the formula of TRIPLET-40 over one thread. Does not know who stops the thread: `stop` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from corrobora.domain.evidence import Contradiction, Fact, FactId, Grade
from corrobora.domain.plan import Coverage, Subject, SubQuestion, SubQuestionStatus
from corrobora.domain.thread import Assessment, Proposal, Round, StopReason, ThreadState
from corrobora.policies.grading import GRADE_RANK, grade_facts, sort_by_grade
from corrobora.policies.plateau import PlateauLevel, plateau_level
from corrobora.policies.retry import is_exhausted
from corrobora.policies.selection import find_on_topic_facts
from corrobora.text.questions import weigh_terms
from corrobora.text.tokens import fold_text, stem_text


def choose_forced_subject(thread: ThreadState) -> Subject | None:
    """Return the subject that the next round must target: the first one without a round of its own, or None.

    It is forced past half the budget (TRIPLET-16), and earlier where the rounds that are left would not
    be enough for one each, or where no sub-question is open: then nothing else keeps the thread from converging.
    """
    waiting = [subject for subject in thread.subjects if subject.rounds == 0]
    left = thread.course.max_rounds - thread.number
    closed = (SubQuestionStatus.ANSWERED, SubQuestionStatus.EXHAUSTED)
    asked = [question.standing for question in thread.sub_questions]
    idle = bool(thread.rounds and asked) and all(standing in closed for standing in asked)
    due = 2 * thread.number > thread.course.max_rounds or len(waiting) >= left or idle
    return waiting[0] if waiting and due else None


def assess_thread(thread: ThreadState, done: Round, *, contradictions: Iterable[Contradiction] = ()) -> Assessment:
    """Say where a thread stands after a finished round: its facts graded, its questions, subjects and conflicts.

    Pure and repeatable: the same thread and round give the same standings. Nothing found earlier is ever dropped.
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
    """Where no statement of a thread answers anything, let those answer that hold much of its topic together.

    The last resort of a thread whose quotes no model has judged: a statement that names nothing of what is asked may
    still say it. Each answers the sub-question that it shares most with; the gaps stay.
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
    """Take from a proposal what is data: contradictions between facts of this thread. Its wishes are not heeded."""
    merged = merge_contradictions(thread.contradictions, proposal.contradictions, thread.facts)
    return thread if merged == thread.contradictions else replace(thread, contradictions=merged)


def merge_facts(known: Sequence[Fact], found: Sequence[Fact]) -> tuple[Fact, ...]:
    """Join facts by id, first come first; a fact found again gains what it speaks to and the surest confidence."""
    joined: dict[FactId, Fact] = {}
    for fact in (*known, *found):
        before = joined.get(fact.id)
        joined[fact.id] = fact if before is None else _merge_fact(before, fact)
    return tuple(joined.values())


def merge_contradictions(
    known: Sequence[Contradiction], found: Sequence[Contradiction], facts: Sequence[Fact]
) -> tuple[Contradiction, ...]:
    """Join contradictions, one for each pair of known facts; none is dropped, and a resolved one stays resolved."""
    ids = {fact.id for fact in facts}
    joined: dict[frozenset[str], Contradiction] = {frozenset((each.a, each.b)): each for each in known}
    for each in found:
        if each.a not in ids or each.b not in ids or each.a == each.b:
            continue
        pair = frozenset((each.a, each.b))
        before = joined.get(pair)
        if before is None:
            joined[pair] = each
        elif each.resolved and not before.resolved:
            joined[pair] = replace(before, resolved=True, scope=each.scope or before.scope)
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
    """Grade one sub-question. A cut round and a round that had nothing to do with it are no failed attempts."""
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
    """Count the round if it was dedicated to the subject and looked at something; grade what is known of it."""
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
    """The claim to show for what was asked: of the best grade, the one that shares most words with it."""
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
    """True if all words of a name stand there; a name of stop words only ("The Who") must stand there literally."""
    parts = set(stem_text(name))
    plain = fold_text(name).strip()
    return parts <= spoken if parts else bool(plain) and plain in folded


def meets_criteria(thread: ThreadState) -> bool:
    """Return the first term of the formula.

    All sub-questions ANSWERED with PLAUSIBLE or better, every subject with a round of its own, no open contradiction
    above MEDIUM. A thread that was asked nothing has nothing to meet, so it never converges on its criteria.
    """
    if not thread.sub_questions and not thread.subjects:
        return False
    return (
        all(is_answered(each) for each in thread.sub_questions)
        and all(each.rounds >= 1 for each in thread.subjects)
        and not any(each.blocking for each in thread.contradictions)
    )


def has_converged(thread: ThreadState) -> bool:
    """Return the whole formula of TRIPLET-40: criteria met, or the budget of rounds used, or plateau level 3."""
    return (
        meets_criteria(thread)
        or plateau_level(thread) >= PlateauLevel.STOP
        or thread.plateau_level >= PlateauLevel.STOP
    )


def is_answered(sub_question: SubQuestion) -> bool:
    """True if it is ANSWERED with PLAUSIBLE or better; an UNVERIFIED one never is (TRIPLET-59)."""
    return sub_question.standing is SubQuestionStatus.ANSWERED and sub_question.grade in (
        Grade.PLAUSIBLE,
        Grade.VERIFIED,
    )


def name_completion_reason(stop: StopReason) -> str:
    """Return the word of TRIPLET-43 for the completion report, or our own where it has none (time, money, cancel)."""
    match stop:
        case StopReason.CRITERIA_MET:
            return "CRITERIA_MET"
        case StopReason.ITERATION_CAP:
            return "BUDGET_EXHAUSTED"
        case StopReason.PLATEAU:
            return "PLATEAU_STOPPED"
        case _:
            return stop.value.upper()

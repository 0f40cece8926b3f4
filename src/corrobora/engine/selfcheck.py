"""The self-check: S4's eight points and its forbidden acts, asserted after every round.

Knows what must hold of a thread whose round is over. A broken point is a bug of ours, so it fails the leaf with its
name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from corrobora.domain.brief import SubQuestionStatus
from corrobora.domain.errors import RoleError
from corrobora.domain.evidence import Grade, ReadOutcome
from corrobora.domain.thread import StopRule, ThreadState
from corrobora.policies.convergence import meets_criteria
from corrobora.policies.grading import GRADE_RANK
from corrobora.policies.plateau import signal_level


def check_invariants(thread: ThreadState, rules: Sequence[tuple[str, StopRule]], *, reported: bool) -> ThreadState:
    """Assert S4's self-check after a round; `reported` says that its micro-report was written.

    Raises:
        RoleError: `self_check`, naming the points that do not hold.
    """
    points = (("micro-report written", reported), *_list_invariants(thread, frozenset(name for name, _ in rules)))
    broken = [name for name, holds in points if not holds]
    if broken:
        raise RoleError("self_check", f"The self-check of {thread.last_path} failed: {'; '.join(broken)}.")
    return thread


def _list_invariants(thread: ThreadState, rules: frozenset[str]) -> Iterator[tuple[str, bool]]:
    last = thread.last
    yield "round history appended", last is not None and last.number == thread.number
    yield "decision recorded", last is not None and last.decision is not None
    yield "every fact has an address and a literal quote", all(fact.url and fact.quote for fact in thread.facts)
    yield "every fact was read", _facts_were_read(thread)
    yield "sub-question statuses updated", _statuses_updated(thread)
    yield "subject registry updated", _registry_updated(thread)
    yield "drift detection applied", not thread.course.drift or _drift_applied(thread)
    yield "at most the allowed results read", last is None or _count_reads(thread) <= thread.course.reads_per_round
    yield "a search follows its scope", last is None or not last.hits or bool(last.intent.goal)
    yield "plateau detection performed", not (thread.open and thread.course.escapes) or _plateau_judged(thread)
    yield "convergence evaluated", "converged" not in rules or not meets_criteria(thread) or not thread.open
    yield "a stopped thread says why", thread.open or thread.stop is not None


def _facts_were_read(thread: ThreadState) -> bool:
    read = {fact.id for r in thread.rounds for reading in r.readings for fact in reading.facts}
    read |= {fact.id for fact in thread.recalled}
    return all(fact.id in read for fact in thread.facts)


def _statuses_updated(thread: ThreadState) -> bool:
    """Only facts of PLAUSIBLE or better answer a sub-question, and they always do."""
    enough = {
        answer
        for fact in thread.facts
        if GRADE_RANK[fact.grade] >= GRADE_RANK[Grade.PLAUSIBLE]
        for answer in fact.answers
    }
    return all(
        (question.standing is SubQuestionStatus.ANSWERED) == (question.id in enough)
        for question in thread.sub_questions
    )


def _registry_updated(thread: ThreadState) -> bool:
    """Every targeted subject has its round counted; a round that was cut before it looked at anything is none."""
    looked = [r for r in thread.rounds if not r.cut or r.readings]
    return all(subject.rounds == sum(subject.name in r.intent.subjects for r in looked) for subject in thread.subjects)


def _drift_applied(thread: ThreadState) -> bool:
    fetched = (ReadOutcome.READ, ReadOutcome.DRIFTED)
    last = thread.last
    return last is None or all(r.drift_checked for r in last.readings if r.outcome in fetched and not r.again)


def _plateau_judged(thread: ThreadState) -> bool:
    """The level is that of the signals, as they were before the next escape was taken."""
    used = thread.escapes_used[:-1] if thread.escape is not None else thread.escapes_used
    return thread.plateau_level == signal_level(replace(thread, escapes_used=used))


def _count_reads(thread: ThreadState) -> int:
    last = thread.last
    return 0 if last is None else sum(not reading.again for reading in last.readings)

"""Subjects: how well what a complete answer must cover is covered, and which claim is shown for it.

Knows graded facts and rounds. Does not know questions, and does not decide whether a thread continues.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from corrobora.domain.evidence import Fact, Grade
from corrobora.domain.plan import Coverage, Subject
from corrobora.domain.thread import Round
from corrobora.policies.grading import GRADE_RANK, sort_by_grade
from corrobora.text.tokens import fold_text, stem_text


def assess_subject(subject: Subject, done: Round, facts: Sequence[Fact]) -> Subject:
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
        finding=select_claim(about, subject.name) or subject.finding,
    )


def select_claim(facts: Sequence[Fact], asked: str) -> str:
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

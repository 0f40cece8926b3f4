"""Convergence: the formula (TRIPLET-40), term by term."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.policies.threads import asked, subject, thread

from corrobora.domain.evidence import Contradiction, FactId, Grade, Severity
from corrobora.domain.plan import SubQuestionStatus
from corrobora.domain.thread import StopReason
from corrobora.policies.stop import meets_criteria
from corrobora.reporting.artifacts import name_completion_reason

DONE = asked(1, SubQuestionStatus.ANSWERED, Grade.PLAUSIBLE)
SEEN = subject(rounds=1)


def conflict(severity: Severity, *, resolved: bool = False) -> Contradiction:
    return Contradiction("x", FactId("F1"), FactId("F2"), severity=severity, resolved=resolved)


def test_triplet_40_all_terms_true_converge() -> None:
    assert meets_criteria(thread(sub_questions=(DONE,), subjects=(SEEN,)))


@pytest.mark.parametrize("standing", [SubQuestionStatus.OPEN, SubQuestionStatus.PARTIAL, SubQuestionStatus.EXHAUSTED])
def test_triplet_40_every_sub_question_must_be_answered(standing: SubQuestionStatus) -> None:
    other = asked(2, standing, Grade.VERIFIED)
    assert not meets_criteria(thread(sub_questions=(DONE, other)))


def test_triplet_40_every_subject_needs_a_search_round() -> None:
    assert not meets_criteria(thread(sub_questions=(DONE,), subjects=(SEEN, subject("Bergen", rounds=0))))


@pytest.mark.parametrize(
    ("severity", "resolved", "blocks"),
    [
        (Severity.HIGH, False, True),
        (Severity.HIGH, True, False),
        (Severity.MEDIUM, False, False),
        (Severity.LOW, False, False),
    ],
)
def test_triplet_40_an_open_contradiction_above_medium_blocks(severity: Severity, resolved: bool, blocks: bool) -> None:
    state = replace(thread(sub_questions=(DONE,)), contradictions=(conflict(severity, resolved=resolved),))
    assert meets_criteria(state) is not blocks


def test_a_thread_that_was_asked_nothing_meets_nothing() -> None:
    assert not meets_criteria(thread())
    assert meets_criteria(thread(subjects=(SEEN,)))
    assert meets_criteria(thread(sub_questions=(DONE,)))


def test_triplet_43_words_of_the_completion_report() -> None:
    assert name_completion_reason(StopReason.CRITERIA_MET) == "CRITERIA_MET"
    assert name_completion_reason(StopReason.ITERATION_CAP) == "BUDGET_EXHAUSTED"
    assert name_completion_reason(StopReason.PLATEAU) == "PLATEAU_STOPPED"
    assert name_completion_reason(StopReason.TIME_RESERVE) == "TIME_RESERVE"

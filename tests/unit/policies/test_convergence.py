"""Convergence: S4's formula, term by term."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from tests.unit.policies.threads import any_thread, asked, one_round, subject, thread

from corrobora.domain.brief import Standing
from corrobora.domain.evidence import Contradiction, FactId, Grade, Severity
from corrobora.domain.thread import StopReason
from corrobora.policies.convergence import answered, converged, criteria_met, reason
from corrobora.policies.plateau import Level, plateau_level

DONE = asked(1, Standing.ANSWERED, Grade.PLAUSIBLE)
SEEN = subject(rounds=1)


def conflict(severity: Severity, *, resolved: bool = False) -> Contradiction:
    return Contradiction("x", FactId("F1"), FactId("F2"), severity=severity, resolved=resolved)


def test_s4_phase5_all_terms_true_converge() -> None:
    assert criteria_met(thread(sub_questions=(DONE,), subjects=(SEEN,)))
    assert converged(thread(sub_questions=(DONE,), subjects=(SEEN,)))


@pytest.mark.parametrize("standing", [Standing.OPEN, Standing.PARTIAL, Standing.EXHAUSTED])
def test_s4_phase5_every_sub_question_must_be_answered(standing: Standing) -> None:
    other = asked(2, standing, Grade.VERIFIED)
    assert not criteria_met(thread(sub_questions=(DONE, other)))


@pytest.mark.parametrize(
    ("grade", "good"), [(Grade.VERIFIED, True), (Grade.PLAUSIBLE, True), (Grade.UNVERIFIED, False), (None, False)]
)
def test_s4_forbidden_unverified_never_answers(grade: Grade | None, good: bool) -> None:
    assert answered(asked(1, Standing.ANSWERED, grade)) is good
    assert criteria_met(thread(sub_questions=(asked(1, Standing.ANSWERED, grade),))) is good


def test_s4_phase5_every_subject_needs_a_search_round() -> None:
    assert not criteria_met(thread(sub_questions=(DONE,), subjects=(SEEN, subject("Bergen", rounds=0))))


@pytest.mark.parametrize(
    ("severity", "resolved", "blocks"),
    [
        (Severity.HIGH, False, True),
        (Severity.HIGH, True, False),
        (Severity.MEDIUM, False, False),
        (Severity.LOW, False, False),
    ],
)
def test_s4_phase5_an_open_contradiction_above_medium_blocks(severity: Severity, resolved: bool, blocks: bool) -> None:
    state = replace(thread(sub_questions=(DONE,)), contradictions=(conflict(severity, resolved=resolved),))
    assert criteria_met(state) is not blocks


def test_s4_phase5_budget_exhausted_converges() -> None:
    assert converged(thread(one_round(urls="a"), max_rounds=1, sub_questions=(asked(1),)))
    assert not converged(thread(one_round(urls="a"), max_rounds=2, sub_questions=(asked(1),)))


def test_s4_phase5_plateau_level_3_converges() -> None:
    assert converged(thread(one_round(urls="a"), one_round(urls="a", new=0)))
    assert converged(replace(thread(), plateau_level=3))


def test_a_thread_that_was_asked_nothing_meets_nothing() -> None:
    assert not criteria_met(thread())
    assert criteria_met(thread(subjects=(SEEN,)))
    assert criteria_met(thread(sub_questions=(DONE,)))


def test_s4_phase6_words_of_the_completion_report() -> None:
    assert reason(StopReason.CRITERIA_MET) == "CRITERIA_MET"
    assert reason(StopReason.ITERATION_CAP) == "BUDGET_EXHAUSTED"
    assert reason(StopReason.PLATEAU) == "PLATEAU_STOPPED"
    assert reason(StopReason.TIME_RESERVE) == "TIME_RESERVE"


@given(any_thread())
def test_the_formula_is_the_disjunction_of_its_terms(state) -> None:
    assert converged(state) == (criteria_met(state) or plateau_level(state) is Level.STOP)

"""Self-check: a sound round passes, and each broken point is named."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.policies.threads import decided, fact, one_round, reading, thread

from corrobora.domain.errors import RoleError
from corrobora.domain.evidence import Grade, ReadOutcome
from corrobora.domain.plan import Subject, SubQuestion, SubQuestionStatus
from corrobora.domain.thread import Course, Gap, Phase, StopReason, ThreadState
from corrobora.engine.pursue import check_invariants

FACT = fact(answers=("sq-1",), grade=Grade.PLAUSIBLE)
ANSWERED = SubQuestion("sq-1", "When?", SubQuestionStatus.ANSWERED, Grade.PLAUSIBLE, FACT.claim)
ROUND = one_round(1, "a.md", facts=(FACT,), targets=("sq-1",), subjects=("Ardal",), decision=decided())
COURSE = Course((Phase("SURVEY"),), reads_per_round=1)


def sound() -> ThreadState:
    made = thread(ROUND, sub_questions=(ANSWERED,), subjects=(Subject("Ardal", rounds=1),), facts=(FACT,))
    return replace(made, course=COURSE)


def broken(state: ThreadState, *, reported: bool = True) -> str:
    with pytest.raises(RoleError) as failed:
        check_invariants(state, (), reported=reported)
    assert failed.value.code == "self_check"
    assert "root/round/1" in failed.value.message
    return failed.value.message


def test_triplet_a_sound_round_passes() -> None:
    assert check_invariants(sound(), (), reported=True) == sound()


def test_triplet_a_round_without_its_report_or_its_decision_is_refused() -> None:
    assert "micro-report written" in broken(sound(), reported=False)
    assert "decision recorded" in broken(replace(sound(), rounds=(replace(ROUND, decision=None),)))


def test_triplet_a_fact_that_nobody_read_is_refused() -> None:
    stray = fact("The moon is made of old rope.", source="S9")
    assert "every fact was read" in broken(replace(sound(), facts=(FACT, stray)))
    assert "literal quote" in broken(replace(sound(), facts=(replace(FACT, quote=""),)))


def test_triplet_only_plausible_statements_answer_and_what_is_answered_is_no_gap() -> None:
    for weak in (replace(ANSWERED, grade=Grade.UNVERIFIED), replace(ANSWERED, finding="")):
        assert "sub-question statuses" in broken(replace(sound(), sub_questions=(weak,)))
    last = replace(ROUND, decision=decided(Gap("when it was", "sq-1")))
    assert "sub-question statuses" in broken(replace(sound(), rounds=(last,)))


def test_triplet_subjects_reads_and_drift_are_counted() -> None:
    assert "subject registry" in broken(replace(sound(), subjects=(Subject("Ardal", rounds=2),)))
    more = replace(ROUND, readings=(*ROUND.readings, reading("b.md")))
    assert "at most the allowed results" in broken(replace(sound(), rounds=(more,)))
    checking = replace(sound(), course=replace(COURSE, drift=True))
    assert "drift detection" in broken(checking)
    looked = tuple(replace(each, drift_checked=True) for each in ROUND.readings)
    assert check_invariants(replace(checking, rounds=(replace(ROUND, readings=looked),)), (), reported=True)


def test_a_result_that_could_not_be_read_needs_no_drift_check() -> None:
    lost = replace(ROUND, readings=(reading("a.md", ReadOutcome.NOT_FOUND),))
    state = replace(sound(), rounds=(lost,), facts=(), sub_questions=(), course=replace(COURSE, drift=True))
    assert check_invariants(replace(state, stop=StopReason.GAPS_EMPTY), (), reported=True).stop is StopReason.GAPS_EMPTY

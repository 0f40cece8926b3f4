"""Loop decision: the documents of TIMED-6 and TIMED-23."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.policies.threads import asked, decided, one_round

from corrobora.domain.evidence import Grade
from corrobora.domain.limits import Allowance
from corrobora.domain.plan import SubQuestionStatus
from corrobora.domain.run import write_loop_decision
from corrobora.domain.thread import StopReason
from corrobora.reporting.thread_json import write_phase_state, write_retry_tracking


def test_timed_6_exactly_its_fields() -> None:
    decision = decided("Unanswered aspect 1", "Unanswered aspect 2", iteration=2, remaining=138.0)
    named = replace(decision, proposal=replace(decision.proposal, next_topic="Topic", url="https://example.org"))
    assert write_loop_decision(named) == {
        "iteration": 2,
        "summary": "What was learned",
        "gaps": ["Unanswered aspect 1", "Unanswered aspect 2"],
        "shouldContinue": True,
        "nextSearchTopic": "Topic",
        "urlToSearch": "https://example.org",
        "timeRemainingMinutes": 2.3,
    }


def test_timed_23_what_is_missing_is_null() -> None:
    found = write_loop_decision(decided("gap"))
    assert (found["nextSearchTopic"], found["urlToSearch"], found["timeRemainingMinutes"]) == (None, None, None)


def test_m12_should_continue_is_what_code_decided() -> None:
    assert write_loop_decision(decided("gap", done=False, stop=StopReason.ITERATION_CAP))["shouldContinue"] is False
    assert write_loop_decision(decided("gap", done=True))["shouldContinue"] is True


def test_timed_21_retry_tracking() -> None:
    questions = (
        asked(1, SubQuestionStatus.ANSWERED, Grade.PLAUSIBLE),
        asked(2, SubQuestionStatus.EXHAUSTED, attempts=3),
        asked(3),
        asked(4, SubQuestionStatus.PARTIAL, attempts=1),
    )
    rounds = [one_round(n, targets=("sq-1", "sq-2") if n < 3 else ("sq-2",)) for n in (1, 2, 3)]
    assert write_retry_tracking(questions, rounds) == {
        "subquestions": {
            "sq-1": {"attempts": 2, "status": "complete"},
            "sq-2": {"attempts": 3, "status": "exhausted"},
            "sq-3": {"attempts": 0, "status": "pending"},
            "sq-4": {"attempts": 1, "status": "pending"},
        },
        "total_exhausted": 1,
    }


def test_timed_23_phase_state() -> None:
    rounds = [one_round(1, decision=decided("a", iteration=1)), one_round(2, decision=decided(iteration=2))]
    state = write_phase_state(
        rounds, (asked(1),), max_iterations=3, allowance=Allowance(300.0, 90.0), started_at="2025-11-28T00:00:00Z"
    )
    research = state["research"]
    assert isinstance(research, dict)
    assert research["time_budget"] == {
        "total_minutes": 5.0,
        "synthesis_reserve_minutes": 1.5,
        "started_at": "2025-11-28T00:00:00Z",
    }
    assert research["iteration"] == {"current": 2, "max": 3}
    assert research["gap_analysis"]["loop_decision"]["iteration"] == 2
    assert set(research) == {"time_budget", "iteration", "retry_tracking", "gap_analysis"}


def test_before_the_first_round_there_is_no_decision() -> None:
    state = write_phase_state([], (), max_iterations=3, allowance=Allowance(None, 90.0), started_at="")
    assert state["research"] == {
        "time_budget": {"total_minutes": None, "synthesis_reserve_minutes": 1.5, "started_at": ""},
        "iteration": {"current": 0, "max": 3},
        "retry_tracking": {"subquestions": {}, "total_exhausted": 0},
        "gap_analysis": {"loop_decision": None},
    }


@given(st.lists(st.text(max_size=20), max_size=4), st.none() | st.floats(0, 1e6), st.sampled_from([None, *StopReason]))
def test_every_decision_is_json_and_continues_only_without_a_stop(gaps, remaining, stop) -> None:
    found = write_loop_decision(decided(*gaps, remaining=remaining, stop=stop))
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["shouldContinue"] is (stop is None)

"""Profile `timed`: time, loop decisions, retries, state. Time is virtual: five minutes take milliseconds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.profiles.research import Mixed
from tests.profiles.scripted import Engine, Growing, make_web_run, profile_asked_for
from tests.profiles.timed import LIGHTHOUSE, PAGES, QUESTION, decision, done, endless, never_done

from corrobora.config.profiles import load_profile
from corrobora.domain.errors import UserError
from corrobora.domain.evidence import ReadOutcome
from corrobora.domain.report import Outcome
from corrobora.domain.run import EventType
from corrobora.domain.thread import Proposal, StopReason
from corrobora.policies import derive_allowance

# Functional requirements


@pytest.mark.parametrize(
    ("flags", "total", "reserve"),
    [
        (["--time", "5"], 5, 1.5),
        (["--time", "10"], 10, 1.5),
        (["--time", "2"], 2, 0.6),
        (["--time", "unlimited"], None, 1.5),
        ([], 5, 1.5),
    ],
)
def test_timed_1_3_the_time_flag_sets_the_budget_and_the_reserve(flags: list[str], total: float | None, reserve: float):
    profile = profile_asked_for(LIGHTHOUSE, *flags)
    allowance = derive_allowance(profile)
    assert allowance.seconds == (None if total is None else total * 60)
    assert allowance.reserve_seconds == pytest.approx(reserve * 60)


@pytest.mark.parametrize("given", ["soon", "0", "-1", "nan", "inf", "10081"])
def test_timed_2_a_time_that_is_none_is_refused(given: str):
    with pytest.raises(UserError, match="time"):
        profile_asked_for(LIGHTHOUSE, "--time", given)


def test_timed_4_3_standard_stops_after_three_rounds_and_deep_after_seven_even_if_gaps_remain():
    standard, deep = profile_asked_for(LIGHTHOUSE), profile_asked_for(LIGHTHOUSE, "--deep")
    assert (standard.max_rounds, deep.max_rounds) == (3, 7)
    for profile in (standard, deep):
        engine = Growing({})
        made = make_web_run(
            profile, engine.pages, question=LIGHTHOUSE, engines=[engine], analysts=[Mixed({"reflect": never_done})]
        )
        report = done(made)
        assert made.json("phase_state.json")["research"]["iteration"] == {
            "current": profile.max_rounds,
            "max": profile.max_rounds,
        }
        assert report.stop is StopReason.ITERATION_CAP
        assert report.findings.gaps


def test_timed_6_the_loop_decision_has_exactly_its_fields():
    made, _ = endless()
    done(made)
    found = decision(made)
    assert list(found) == [
        "iteration", "summary", "gaps", "shouldContinue", "nextSearchTopic", "urlToSearch", "timeRemainingMinutes"
    ]  # fmt: skip
    assert (found["iteration"], found["gaps"], found["nextSearchTopic"]) == (3, ["more of 3"], "more")
    decisions = [event.data for event in made.told(EventType.DECISION)]
    assert [each["iteration"] for each in decisions] == [1, 2, 3]
    assert [each["shouldContinue"] for each in decisions] == [True, True, False]


def test_timed_7_no_gaps_end_the_research_whatever_the_model_wishes():
    keen = Mixed({"reflect": Proposal("Done.", (), done=False, next_topic="ships in the fog")})
    made = make_web_run("timed", PAGES, question=LIGHTHOUSE, analysts=[keen])
    assert done(made).stop is StopReason.GAPS_EMPTY
    assert decision(made)["nextSearchTopic"] == "ships in the fog"
    assert decision(made)["shouldContinue"] is False


def test_timed_8_gaps_go_on_although_the_model_would_stop():
    lazy = Mixed({"reflect": lambda given: replace(never_done(given), done=True)})
    engine = Growing({})
    made = make_web_run("timed", engine.pages, question=LIGHTHOUSE, engines=[engine], analysts=[lazy])
    done(made)
    assert len(made.told(EventType.ROUND_FINISHED)) == 3


def test_timed_9_time_below_the_reserve_ends_the_research():
    made, _ = endless(seconds=100.0)
    report = done(made)
    assert report.stop is StopReason.TIME_RESERVE
    assert decision(made)["timeRemainingMinutes"] <= 1.5


def test_timed_14_three_failed_attempts_exhaust_a_sub_question_and_there_is_no_fourth():
    made = make_web_run(
        "timed",
        PAGES,
        question=QUESTION,
        overrides={"deep": "true"},
        escapes=False,
        stop=("all_exhausted", "max_rounds"),
    )
    report = done(made)
    tracked = made.json("phase_state.json")["research"]["retry_tracking"]
    museum = next(q for q in report.findings.sub_questions if "Marrow" in q.text)
    assert tracked["subquestions"][museum.id] == {"attempts": 3, "status": "exhausted"}
    assert tracked["total_exhausted"] == 1
    tried: list[Any] = [e.data["attempts"] for e in made.told(EventType.ROUND_FINISHED)]
    assert [n["attempt_number"] for each in tried for n in each if n["target"] == museum.id] == [1, 2, 3]
    assert report.outcome is Outcome.PARTIAL


def test_timed_15_each_attempt_has_its_fallback_strategy():
    made = make_web_run(
        "timed",
        PAGES,
        question=QUESTION,
        overrides={"deep": "true"},
        escapes=False,
        stop=("all_exhausted", "max_rounds"),
    )
    report = done(made)
    museum = next(q for q in report.findings.sub_questions if "Marrow" in q.text)
    tried = [a for r in report.findings.rounds for a in r.attempts if a.target == museum.id]
    assert [attempt.strategy for attempt in tried] == ["as_asked", "broaden", "synonyms"]
    asked = [tuple(q.text for q in r.intent.queries) for r in report.findings.rounds]
    assert len(set(asked)) == len(asked)


def test_timed_19_a_failed_search_is_tried_again_elsewhere_three_times_in_all():
    engines = [Engine(PAGES, "tavily", down=True), Engine(PAGES, "exa", down=True)]
    profile = load_profile("timed")
    phases = (replace(profile.phases[0], providers=("tavily",), max_queries=1),)
    made = make_web_run(profile, PAGES, question=LIGHTHOUSE, engines=engines, phases=phases, max_rounds=1)
    report = done(made)
    assert [len(each.asked) for each in engines] == [2, 1]
    assert engines[0].asked[0].text == engines[1].asked[0].text != engines[0].asked[1].text
    again = [(e.data["provider"], e.data["attempt_number"], e.data["strategy"]) for e in made.told(EventType.RETRY)]
    assert again == [("exa", 2, "other_provider"), ("tavily", 3, "synonyms")]
    assert report.outcome is Outcome.PROVIDER_DOWN


def test_timed_20_a_failed_search_with_one_provider_is_worded_differently_and_then_found():
    engine = Engine(PAGES, fails={1})
    profile = load_profile("timed")
    made = make_web_run(
        profile, PAGES, question=LIGHTHOUSE, engines=[engine], phases=(replace(profile.phases[0], max_queries=1),)
    )
    report = done(made)
    first, second = engine.asked[:2]
    assert first.text != second.text
    assert [e.data["strategy"] for e in made.told(EventType.RETRY)] == ["broaden"]
    assert "31 metres" in report.markdown


def test_timed_17_an_address_is_tried_three_times_and_then_given_up():
    pages = {**PAGES, "https://keeper.example/k": ReadOutcome.FAILED}
    made = make_web_run("timed", pages, question=LIGHTHOUSE)
    made.engines["tavily"].pages = {
        **PAGES,
        "https://keeper.example/k": "lighthouse Oldby tall keeper",
    }
    report = done(made)
    assert made.reader.tried["https://keeper.example/k"] == 3
    assert "keeper.example/k #RETRY_EXHAUSTED (3 attempts)" in report.markdown


def test_timed_18_an_address_that_fails_twice_is_read_at_the_third_attempt():
    url = "https://coast.gov/oldby"
    made = make_web_run("timed", PAGES, question=LIGHTHOUSE, mended={url: 2})
    report = done(made)
    assert made.reader.tried[url] == 3
    assert any(reading.attempts == 3 for r in report.findings.rounds for reading in r.readings if reading.facts)


def test_timed_22_16_the_tag_is_in_the_methodology():
    made = make_web_run(
        "timed",
        PAGES,
        question=QUESTION,
        overrides={"deep": "true"},
        escapes=False,
        stop=("all_exhausted", "max_rounds"),
    )
    report = done(made)
    section = report.markdown.partition("## Methodology")[2].partition("## Sources")[0]
    assert "#RETRY_EXHAUSTED" in section
    assert [event.data["tag"] for event in made.told(EventType.EXHAUSTED)] == ["#RETRY_EXHAUSTED"]


def test_timed_10_when_every_gap_is_exhausted_the_research_stops():
    question = "Which fee does the Marrow museum charge?"
    made = make_web_run("timed", PAGES, question=question, overrides={"deep": "true"}, escapes=False)
    report = done(made)
    assert report.stop is StopReason.ALL_EXHAUSTED
    assert len(made.told(EventType.ROUND_FINISHED)) == 3


def test_timed_23_the_whole_phase_state_has_its_fields():
    made, _ = endless()
    done(made)
    state = made.json("phase_state.json")
    assert list(state) == ["research"]
    assert {name: list(value) for name, value in state["research"].items()} == {
        "time_budget": ["total_minutes", "synthesis_reserve_minutes", "started_at"],
        "iteration": ["current", "max"],
        "retry_tracking": ["subquestions", "total_exhausted"],
        "gap_analysis": ["loop_decision"],
    }
    assert state["research"]["time_budget"] == {
        "total_minutes": 5.0,
        "synthesis_reserve_minutes": 1.5,
        "started_at": "2026-01-01T00:00:00+00:00",
    }


def test_timed_17_another_result_is_read_in_the_place_of_one_that_could_not_be():
    pages = {**PAGES, "https://a.example/k": ReadOutcome.FAILED}
    made = make_web_run("timed", pages, question=LIGHTHOUSE, reads_per_round=1, max_rounds=1)
    everything = " ".join(map(str, PAGES.values()))
    made.engines["tavily"].pages = {"https://a.example/k": f"{LIGHTHOUSE} {everything}", **PAGES}
    first = done(made).findings.rounds[0]
    assert [reading.outcome for reading in first.readings] == [ReadOutcome.FAILED, ReadOutcome.READ]
    assert len({reading.hit.url for reading in first.readings}) == 2

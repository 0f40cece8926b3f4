"""S2, profile `timed`, requirement by requirement. Time is virtual: five minutes take milliseconds."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.profiles.research import Mixed
from tests.profiles.scripted import Engine, Growing, Lab, lab, profile_asked_for

from corrobora.assembly import Workspace
from corrobora.domain.errors import UserError
from corrobora.domain.events import EventType
from corrobora.domain.evidence import ReadOutcome
from corrobora.domain.report import Draft, Outcome, Report
from corrobora.domain.run import Request, RunStatus
from corrobora.domain.thread import Gap, Proposal, StopReason
from corrobora.policies.form import faults
from corrobora.policies.retry import RA_TAGS
from corrobora.profiles import allowance_of, load_profile
from corrobora.settings import load_settings
from corrobora.testing import run_virtually
from corrobora.testing.web import LoopbackWeb

QUESTION = "How tall is the lighthouse of Oldby, and which fee does the Marrow museum charge?"
PAGES: dict[str, Any] = {
    "https://coast.gov/oldby": "# Lighthouse of Oldby\n\nThe lighthouse of Oldby is 31 metres tall; it is on a rock.",
    "https://towers.example/oldby": "# Towers of the coast\n\nThe lighthouse of Oldby is 31 metres tall, the tallest.",
    "https://boats.example/boats": "# Boats of Oldby\n\nThe boats of Oldby are painted red every spring.",
}
LIGHTHOUSE = "How tall is the lighthouse of Oldby?"


def never_done(given: Any) -> Proposal:
    """A model that always wishes to go on."""
    return Proposal(
        "More is needed.", (Gap(f"more of {given.round}", "sq-1"),), should_continue=True, next_topic="more"
    )


def done(made: Lab) -> Report:
    return run_virtually(made.research())


def decision(made: Lab) -> dict[str, Any]:
    return made.json("phase_state.json")["research"]["gap_analysis"]["loop_decision"]


def endless(**more: Any) -> tuple[Lab, Growing]:
    """A run on a web that never saturates, with an analyst that always wants more."""
    engine = Growing({})
    engine.seconds = more.pop("seconds", 0.0)
    made = lab(
        "timed", engine.pages, question=LIGHTHOUSE, engines=[engine], analysts=[Mixed({"reflect": never_done})], **more
    )
    return made, engine


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
def test_fr1_tr1_the_time_flag_sets_the_budget_and_the_reserve(flags: list[str], total: float | None, reserve: float):
    profile = profile_asked_for(LIGHTHOUSE, *flags)
    allowance = allowance_of(profile)
    assert allowance.seconds == (None if total is None else total * 60)
    assert allowance.reserve_seconds == pytest.approx(reserve * 60)


def test_fr1_a_time_that_is_none_is_refused():
    with pytest.raises(UserError, match="time"):
        profile_asked_for(LIGHTHOUSE, "--time", "soon")


def test_fr2_tr1_standard_stops_after_three_rounds_and_deep_after_seven_even_if_gaps_remain():
    standard, deep = profile_asked_for(LIGHTHOUSE), profile_asked_for(LIGHTHOUSE, "--deep")
    assert (standard.max_rounds, deep.max_rounds) == (3, 7)
    for profile in (standard, deep):
        engine = Growing({})
        made = lab(
            profile, engine.pages, question=LIGHTHOUSE, engines=[engine], analysts=[Mixed({"reflect": never_done})]
        )
        report = done(made)
        assert made.json("phase_state.json")["research"]["iteration"] == {
            "current": profile.max_rounds,
            "max": profile.max_rounds,
        }
        assert report.stop is StopReason.ITERATION_CAP
        assert report.findings.gaps


def test_fr3_the_loop_decision_has_exactly_the_fields_of_the_seed():
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


def test_fr3_no_gaps_end_the_research_whatever_the_model_wishes():
    keen = Mixed({"reflect": Proposal("Done.", (), should_continue=True)})
    made = lab("timed", PAGES, question=LIGHTHOUSE, analysts=[keen])
    assert done(made).stop is StopReason.GAPS_EMPTY
    assert decision(made)["shouldContinue"] is False


def test_fr3_gaps_go_on_although_the_model_would_stop():
    lazy = Mixed({"reflect": lambda given: replace(never_done(given), should_continue=False, done=True)})
    engine = Growing({})
    made = lab("timed", engine.pages, question=LIGHTHOUSE, engines=[engine], analysts=[lazy])
    done(made)
    assert len(made.told(EventType.ROUND_FINISHED)) == 3


def test_fr3_time_below_the_reserve_ends_the_research():
    made, _ = endless(seconds=100.0)
    report = done(made)
    assert report.stop is StopReason.TIME_RESERVE
    assert decision(made)["timeRemainingMinutes"] <= 1.5


def test_fr4_tr2_three_failed_attempts_exhaust_a_sub_question_and_there_is_no_fourth():
    made = lab(
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


def test_tr2_each_attempt_has_its_fallback_strategy():
    made = lab(
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


def test_fr4_a_failed_search_is_tried_again_elsewhere_three_times_in_all():
    engines = [Engine(PAGES, "tavily", down=True), Engine(PAGES, "exa", down=True)]
    profile = load_profile("timed")
    phases = (replace(profile.phases[0], providers=("tavily",), max_queries=1),)
    made = lab(profile, PAGES, question=LIGHTHOUSE, engines=engines, phases=phases, max_rounds=1)
    report = done(made)
    assert [len(each.asked) for each in engines] == [2, 1]
    assert engines[0].asked[0].text == engines[1].asked[0].text != engines[0].asked[1].text
    again = [(e.data["provider"], e.data["attempt_number"], e.data["strategy"]) for e in made.told(EventType.RETRY)]
    assert again == [("exa", 2, "other_provider"), ("tavily", 3, "synonyms")]
    assert report.outcome is Outcome.PROVIDER_DOWN


def test_fr4_a_failed_search_with_one_provider_is_worded_differently_and_then_found():
    engine = Engine(PAGES, fails={1})
    profile = load_profile("timed")
    made = lab(
        profile, PAGES, question=LIGHTHOUSE, engines=[engine], phases=(replace(profile.phases[0], max_queries=1),)
    )
    report = done(made)
    first, second = engine.asked[:2]
    assert first.text != second.text
    assert [e.data["strategy"] for e in made.told(EventType.RETRY)] == ["broaden"]
    assert "31 metres" in report.markdown


def test_fr4_an_address_is_tried_three_times_and_then_given_up():
    pages = {**PAGES, "https://keeper.example/k": ReadOutcome.FAILED}
    made = lab("timed", pages, question=LIGHTHOUSE)
    made.engines["tavily"].pages = {
        **PAGES,
        "https://keeper.example/k": "lighthouse Oldby tall keeper",
    }
    report = done(made)
    assert made.reader.tried["https://keeper.example/k"] == 3
    assert "https://keeper.example/k #RETRY_EXHAUSTED (3 attempts)" in report.markdown


def test_fr4_an_address_that_fails_twice_is_read_at_the_third_attempt():
    url = "https://coast.gov/oldby"
    made = lab("timed", PAGES, question=LIGHTHOUSE, mended={url: 2})
    report = done(made)
    assert made.reader.tried[url] == 3
    assert any(reading.attempts == 3 for r in report.findings.rounds for reading in r.readings if reading.facts)


def test_fr5_tr3_the_tag_is_in_the_vocabulary_and_in_the_methodology():
    assert set(RA_TAGS) >= {"#RETRY_EXHAUSTED", "#PATH_DECISION", "#COMPLETION_DRIVE"}
    made = lab(
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


def test_tr2_when_every_gap_is_exhausted_the_research_stops():
    question = "Which fee does the Marrow museum charge?"
    made = lab("timed", PAGES, question=question, overrides={"deep": "true"}, escapes=False)
    report = done(made)
    assert report.stop is StopReason.ALL_EXHAUSTED
    assert len(made.told(EventType.ROUND_FINISHED)) == 3


def test_tr4_the_whole_phase_state_has_the_fields_of_the_seed():
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


# The seven acceptance criteria


@pytest.mark.parametrize("seconds", [0.0, 20.0, 130.0, math.inf])
def test_ac1_a_question_completes_within_five_minutes_by_default(seconds: float):
    profile = profile_asked_for(LIGHTHOUSE)
    engine = Growing({})
    engine.seconds = seconds
    made = lab(profile, engine.pages, question=LIGHTHOUSE, engines=[engine], analysts=[Mixed({"reflect": never_done})])
    done(made)
    assert made.session.budget.elapsed <= 300
    assert "report.md" in made.files
    researched: Any = made.told(EventType.ROUND_FINISHED)[-1].data["elapsed"]
    assert researched <= 300 - 90 + 1, "the writing time was kept"


def test_ac2_a_budget_of_ten_minutes_is_respected():
    profile = profile_asked_for(LIGHTHOUSE, "--time", "10", "-s", "max_rounds=50", "-s", "escapes=false")
    engine = Growing({})
    engine.seconds = 45.0
    made = lab(profile, engine.pages, question=LIGHTHOUSE, engines=[engine], analysts=[Mixed({"reflect": never_done})])
    report = done(made)
    assert 300 < made.session.budget.elapsed <= 600
    assert report.stop is StopReason.TIME_RESERVE
    assert report.citations


def test_ac3_unlimited_and_deep_use_the_cap_on_rounds_alone():
    profile = profile_asked_for(LIGHTHOUSE, "--time", "unlimited", "--deep")
    engine = Growing({})
    engine.seconds = 3_000.0
    made = lab(profile, engine.pages, question=LIGHTHOUSE, engines=[engine], analysts=[Mixed({"reflect": never_done})])
    report = done(made)
    assert report.stop is StopReason.ITERATION_CAP
    assert made.session.budget.elapsed >= 7 * 3_000
    assert (decision(made)["iteration"], decision(made)["timeRemainingMinutes"]) == (7, None)


def test_ac4_the_loop_decision_is_in_the_phase_state():
    made = lab("timed", PAGES, question=LIGHTHOUSE)
    done(made)
    assert set(json.loads(made.files["phase_state.json"])["research"]["gap_analysis"]["loop_decision"]) >= {"iteration"}


def test_ac5_after_three_failed_attempts_the_tag_is_applied():
    made = lab(
        "timed",
        PAGES,
        question=QUESTION,
        overrides={"deep": "true"},
        escapes=False,
        stop=("all_exhausted", "max_rounds"),
    )
    done(made)
    told = made.told(EventType.EXHAUSTED)
    assert [(event.data["tag"], event.data["attempts"]) for event in told] == [("#RETRY_EXHAUSTED", 3)]
    assert told[0].round == 3


@pytest.mark.parametrize(("seconds", "why"), [(0.0, StopReason.ITERATION_CAP), (150.0, StopReason.TIME_RESERVE)])
def test_ac6_at_the_limit_of_time_or_rounds_it_stops_and_synthesizes(seconds: float, why: StopReason):
    made, engine = endless(seconds=seconds)
    report = done(made)
    assert report.stop is why
    stages = [event.data["stage"] for event in made.told(EventType.STAGE)]
    assert stages[-4:] == ["synthesize", "review", "verify", "deliver"]
    assert report.markdown
    began = [event.seq for event in made.told(EventType.STAGE) if event.data["stage"] == "synthesize"]
    assert all(event.seq < began[0] for event in made.told(EventType.SEARCH))
    assert engine.asked


def test_ac7_the_methodology_names_limits_of_retries_and_of_time():
    made, _ = endless(seconds=150.0)
    assert "Limit hit: " in done(made).markdown.partition("## Methodology")[2]
    assert "time budget" in made.files["report.md"]
    made = lab(
        "timed",
        PAGES,
        question=QUESTION,
        overrides={"deep": "true"},
        escapes=False,
        stop=("all_exhausted", "max_rounds"),
    )
    assert "#RETRY_EXHAUSTED (3 attempts)" in done(made).markdown.partition("## Methodology")[2]


def test_ac7_without_a_limit_there_is_no_such_note():
    made = lab("timed", PAGES, question=LIGHTHOUSE)
    report = done(made)
    assert "Limit hit" not in report.markdown
    assert "#RETRY_EXHAUSTED" not in report.markdown


# Solution overview, 5: format rules


def badly_formed(given: Any) -> Draft:
    marker = given.parts[0].facts[0].marker
    quote = given.parts[0].facts[0].quote.rstrip(".")
    return Draft(
        "Oldby",
        f"## Opening\n\n- {quote} {marker}.\n\n#### Deep\n\n- {quote} {marker}.\n  - {quote} {marker}.\n\n"
        f"## References\n\n- https://invented.example\n\n## Methodology\n\nI searched everything.",
    )


def test_format_rules_hold_whoever_writes():
    made = lab("timed", PAGES, question=LIGHTHOUSE, analysts=[Mixed({"synthesize": badly_formed})])
    body = done(made).markdown.partition("\n\n")[2].partition("\n\n")[2].partition("## Methodology")[0]
    assert faults(body.partition("## Gaps")[0]) == ()
    assert "invented.example" not in body
    assert "searched everything" not in made.files["report.md"]
    assert body.startswith("The lighthouse of Oldby is 31 metres tall")


def test_format_rules_hold_for_reports_without_a_model():
    made = lab("timed", PAGES, question=QUESTION)
    report = done(made)
    body = report.markdown.partition("\n\n")[2].partition("\n\n")[2].partition("## Contradictions")[0]
    assert faults(body.partition("## Gaps")[0].partition("## Methodology")[0]) == ()


# The first criterion once in real time, over real sockets and a real database


async def test_ac1_in_real_time_hanging_searches_leave_the_writing_time(database_url: str, tmp_path: Path):
    """Twelve seconds in all, of which 3.6 are kept for writing; every search hangs, so research is cut at 8.4."""
    env = {"CORROBORA_DATABASE_URL": database_url, "TAVILY_API_KEY": "tvly-test", "CORROBORA_HOME": str(tmp_path)}
    async with LoopbackWeb(api_faults=["hang"] * 50) as web:
        settings = replace(load_settings(env=env, user_file=tmp_path / "none"), provider_urls={"tavily": web.url})
        request = Request(LIGHTHOUSE, "timed", (("minutes", "0.2"),), providers=("tavily",))
        async with Workspace.open(settings) as workspace:
            run = await workspace.submit(request, deferred=False)
            await workspace.run_here(run)
            row = await workspace.runs.get(run)
            keys = await workspace.database.rows("SELECT key FROM journal WHERE run = %s", [run])
            stored = await workspace.runs.artifact(run, "report.md")
            state = await workspace.runs.artifact(run, "phase_state.json")
            on_disk = workspace.folder(run).path("report.md").read_text()
    assert row.status is RunStatus.FAILED, "nobody could look: that is not the same as nothing found"
    assert row.outcome == "provider_down"
    assert row.elapsed_seconds >= 8
    assert any(key.endswith("/cut") for (key,) in keys), "the round was cut, though no search ever came back"
    assert len(web.searches) < 50
    assert stored is not None
    assert on_disk == stored.content.decode()
    assert "time budget" in on_disk
    assert state is not None
    decided = json.loads(state.content)["research"]["gap_analysis"]["loop_decision"]
    assert decided["timeRemainingMinutes"] == pytest.approx(0.06, abs=0.02), "the writing time was kept"

"""Profile `triplet`: plateaus, drift, convergence, completion, errors, the self-check, what is forbidden."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import pytest
from tests.fakes import run_virtually
from tests.profiles.research import Mixed
from tests.profiles.saturation import BUDGET, SUBJECTS, baseline, outcome
from tests.profiles.scripted import Engine, Growing, WebRun
from tests.profiles.triplet import PAGES, asks, done, headings, made, table, thread

from corrobora.config.profiles import load_profile
from corrobora.domain.errors import RoleError
from corrobora.domain.evidence import Contradiction, Grade, Query, ReadOutcome, Severity
from corrobora.domain.plan import SubQuestionStatus
from corrobora.domain.run import EventType
from corrobora.domain.thread import Escape, Intent, Proposal, StopReason, ThreadState
from corrobora.engine.planning import parse_thread_file
from corrobora.engine.pursue import check_invariants
from corrobora.policies.queries import REFORMULATED_SHARE, changed_share
from corrobora.policies.stop import meets_criteria

# Phase 3: plateau and escapes


def repeating(budget: int = 10, **lines: Any) -> WebRun:
    """A thread whose web brings a new fact each round on the same addresses, so that only the addresses repeat."""
    analyst = Mixed({"reflect": Proposal("", ()), **lines})
    return made(budget=budget, analysts=[analyst], stop=("plateau", "max_rounds"))


def test_plateau_level_3_both_signals_in_one_round_stop():
    run = made({"https://fog.example/horn": PAGES["https://fog.example/horn"]}, analysts=[Mixed({"scope": asks})])
    report = done(run)
    assert report.stop is StopReason.PLATEAU
    assert len(report.findings.rounds) == 2
    assert run.told(EventType.PLATEAU)[-1].data == {"level": 3, "url_overlap": 1.0}


def test_plateau_level_2_two_rounds_without_new_facts_force_the_next_phase():
    engine = Growing({}, subject="the ferry of Elsewhere")
    run = made(
        engine.pages, engines=[engine], budget=4, drift=False, analysts=[Mixed({"extract": nothing, "scope": numbered})]
    )
    report = done(run)
    assert [r.new_facts for r in report.findings.rounds[:2]] == [0, 0]
    assert run.told(EventType.PLATEAU)[0].data["level"] == 2
    assert report.findings.rounds[2].phase != report.findings.rounds[1].phase


def nothing(given: Any) -> Any:
    from corrobora.roles.extract import Extraction

    return Extraction(())


def numbered(given: Any) -> Intent:
    words = "alpha bravo comet delta ember frost globe hotel igloo joker kites lemon mango night".split()
    at = given.round * 2 % len(words)
    return Intent("What is open", (Query(f"Oldby {words[at]} {words[at - 1]}"),), ("SQ-1",), ("lighthouse",))


def test_escapes_come_in_order_and_then_the_thread_stops():
    engine = Growing({}, subject="the ferry of Elsewhere")
    run = made(
        engine.pages,
        engines=[engine],
        budget=20,
        drift=False,
        analysts=[Mixed({"extract": nothing, "scope": numbered})],
    )
    report = done(run)
    taken = [event.data["escape"] for event in run.told(EventType.ESCAPE)]
    assert taken == [escape.value for escape in Escape]
    assert report.stop is StopReason.PLATEAU


def test_escape_1_changes_half_of_the_terms_even_if_the_analyst_repeats_itself():
    engine = Growing({}, subject="the ferry of Elsewhere")
    run = made(
        engine.pages, engines=[engine], budget=20, drift=False, analysts=[Mixed({"extract": nothing, "scope": asks})]
    )
    rounds = done(run).findings.rounds
    escaped = next(r for r in rounds if r.escape is Escape.REFORMULATE)
    past = [query.text for r in rounds[: escaped.number - 1] for query in r.intent.queries]
    assert changed_share(escaped.intent.queries[0].text, past) >= REFORMULATED_SHARE


def test_escape_6_asks_for_the_hidden_assumptions_of_the_question():
    engine = Growing({}, subject="the ferry of Elsewhere")
    analyst = Mixed({"extract": nothing, "scope": numbered})
    run = made(engine.pages, engines=[engine], budget=20, drift=False, analysts=[analyst])
    done(run)
    asked = [given for given in analyst.given("scope") if given.escape is Escape.FRACTAL]
    assert "What hidden assumptions underlie the research question 'What is known" in asked[0].next_topic


# Phase 4: drift

DRIFTED = {
    "place": ('places = ["Oldby"]', "# Lighthouse\n\nA lighthouse in Marrow Bay is tall. One in Fenwick Town is not."),
    "time": ("since = 2015\nuntil = 2020", "# Lighthouse in 1850\n\nThe lighthouse of Oldby in 1850 and 1861."),
    "subject": ("", "# Trains\n\nThe railway timetable of the county for commuters."),
    "domain": ('domains = ["navigation"]', "# Lighthouse\n\nThe lighthouse is a novel about a family, and a fine one."),
}  # fmt: skip


@pytest.mark.parametrize("axis", DRIFTED)
def test_drift_each_axis_skips_the_result_and_logs_it(axis: str):
    brief, page = DRIFTED[axis]
    url = "https://drift.example/x"
    everywhere = Engine({url: f"{page}"})
    found = replace_search(everywhere, url)
    run = made({url: page}, brief=brief, budget=1, engines=[found], analysts=[Mixed({"scope": plain})])
    report = done(run)
    assert [event.data["axis"] for event in run.told(EventType.DRIFT)] == [axis]
    assert report.findings.facts == ()
    assert "Skipped for drift" in run.files["micro-report-oldby-towers-round-1.md"]


def plain(given: Any) -> Intent:
    return Intent("What is open", (Query(f"height {given.round}"),), ("SQ-1",))


class Fixed(Engine):
    """Answers every query with the same pages, in this order, as many as the round has not yet asked for."""

    def ranked(self, query: Query, limit: int) -> list[Any]:
        hits = [replace(hit, query=query.text) for url in self.pages for hit in _hit(url, self.name)]
        start = (len(self.asked) - 1) * 5
        return hits[start : start + 5]


def _hit(url: str, name: str) -> list[Any]:
    from corrobora.domain.evidence import Hit

    return [Hit(url, "A page", "", 1.0, name)]


def replace_search(engine: Engine, *urls: str) -> Fixed:
    return Fixed({url: engine.pages[url] for url in urls})


def drifting(count: int) -> dict[str, str]:
    return {
        f"https://d{n}.example/x": f"# Trains {n}\n\nTimetable {n} for commuters of the county." for n in range(count)
    }


def test_drift_three_in_a_row_force_a_reformulation_before_any_plateau():
    pages = drifting(12)
    run = made(pages, engines=[Fixed(pages)], budget=2, analysts=[Mixed({"scope": asks})])
    rounds = done(run).findings.rounds
    assert rounds[0].all_drifted
    assert rounds[1].escape is Escape.REFORMULATE
    assert changed_share(rounds[1].intent.queries[0].text, [rounds[0].intent.queries[0].text]) >= REFORMULATED_SHARE
    assert run.told(EventType.PLATEAU)[0].round == 2, "the last round of the budget, not the drift, is the first level"


# Phase 5: convergence


def test_convergence_answered_subjects_searched_and_no_open_severe_contradiction():
    run = made({**PAGES, "https://fog.gov/horn": PAGES["https://fog.example/horn"]}, budget=9)
    report = done(run)
    assert report.stop is StopReason.CRITERIA_MET
    assert all(q.standing is SubQuestionStatus.ANSWERED for q in report.findings.sub_questions)
    assert all(subject.rounds >= 1 for subject in report.findings.subjects)


def test_convergence_the_formula_term_by_term():
    state = state_after(made({**PAGES, "https://fog.gov/horn": PAGES["https://fog.example/horn"]}, budget=9))
    assert meets_criteria(state)
    unanswered = replace(state.sub_questions[0], standing=SubQuestionStatus.PARTIAL, grade=Grade.UNVERIFIED)
    assert not meets_criteria(replace(state, sub_questions=(unanswered, *state.sub_questions[1:])))
    unsearched = replace(state.subjects[0], rounds=0)
    assert not meets_criteria(replace(state, subjects=(unsearched, *state.subjects[1:])))
    a, b = state.facts[0].id, state.facts[1].id
    severe = Contradiction("height", a, b, severity=Severity.HIGH)
    assert not meets_criteria(replace(state, contradictions=(severe,)))
    assert meets_criteria(replace(state, contradictions=(replace(severe, severity=Severity.MEDIUM),)))
    assert meets_criteria(replace(state, contradictions=(replace(severe, resolved=True),)))


def state_after(run: WebRun) -> ThreadState:
    """The thread of a finished run, rebuilt from its findings."""
    found = done(run).findings
    given = parse_thread_file(thread(9))
    opened = ThreadState.open_thread(given.plan.root, given.brief, load_profile("triplet").course)
    return replace(
        opened, rounds=found.rounds, facts=found.facts, sub_questions=found.sub_questions, subjects=found.subjects,
        contradictions=(), stop=found.stop,
    )  # fmt: skip


# Phase 6: completion report


def test_completion_report_in_its_form():
    run = made()
    report = done(run)
    text = run.files["thread-completion-oldby-towers.md"]
    assert text.startswith("## Thread Completion Report: Oldby Towers")
    assert f"**Rounds executed:** {len(report.findings.rounds)} of 8" in text
    assert re.search(r"\*\*Convergence reason:\*\* (CRITERIA_MET|BUDGET_EXHAUSTED|PLATEAU_STOPPED)\n", text)
    assert f"**Micro-reports generated:** {len(report.findings.rounds)}" in text
    assert "**Strategy phases traversed:** SURVEY" in text
    assert headings(text)[1:] == [
        "Sub-Question Status", "Subject Coverage", "All Sources Consulted", "Open Contradictions", "Gaps Remaining",
        "Plateau History",
    ]  # fmt: skip
    assert table(text, "Sub-Question Status")[1][:4] == [
        "SQ-1", "How tall is the lighthouse of Oldby?", "ANSWERED", "VERIFIED"
    ]  # fmt: skip
    assert table(text, "Plateau History")[0] == [
        "Round",
        "New Facts",
        "Confirming",
        "Saturation",
        "Phase",
        "Escape Used",
    ]


@pytest.mark.parametrize(
    ("reason", "budget", "pages"),
    [
        ("CRITERIA_MET", 9, {**PAGES, "https://fog.gov/horn": PAGES["https://fog.example/horn"]}),
        ("PLATEAU_STOPPED", 9, {"https://fog.example/horn": PAGES["https://fog.example/horn"]}),
        ("BUDGET_EXHAUSTED", 1, PAGES),
    ],
)
def test_completion_report_names_the_reason(reason: str, budget: int, pages: dict[str, Any]):
    run = made(pages, budget=budget)
    done(run)
    assert f"**Convergence reason:** {reason}" in run.files["thread-completion-oldby-towers.md"]


# Error handling, row by row


def test_error_no_results_reformulate_once_then_the_next_phase():
    run = made({}, budget=4, analysts=[Mixed({"scope": asks})])
    rounds = done(run).findings.rounds
    assert [r.escape for r in rounds[:3]] == [None, Escape.REFORMULATE, Escape.SHIFT_SOURCES]
    assert [r.phase for r in rounds[:3]] == ["SURVEY", "SURVEY", "EXTRACT"]
    first, second = (r.intent.queries[0].text for r in rounds[:2])
    assert changed_share(second, [first]) >= REFORMULATED_SHARE


@pytest.mark.parametrize("how", [ReadOutcome.FAILED, ReadOutcome.TIMEOUT, ReadOutcome.NOT_FOUND])
def test_error_a_failed_fetch_is_skipped_once_and_logged(how: ReadOutcome):
    pages = {**PAGES, "https://broken.example/oldby": how}
    run = made(pages, budget=2)
    run.engines["tavily"].pages = {**PAGES, "https://broken.example/oldby": "lighthouse of Oldby tall metres gov"}
    report = done(run)
    assert run.reader.tried["https://broken.example/oldby"] <= 1
    assert report.findings.facts
    broken = [r for x in report.findings.rounds for r in x.readings if r.hit.url == "https://broken.example/oldby"]
    assert [reading.outcome for reading in broken] in ([how], [])


def test_error_irrelevant_content_gives_no_facts():
    pages = {**PAGES, "https://trains.example/t": "# Trains tall metres\n\nThe timetable for commuters of the county."}
    report = done(made(pages, budget=3))
    assert "https://trains.example/t" not in {fact.url for fact in report.findings.facts}


def test_error_a_round_of_drift_is_no_productive_round_for_saturation():
    pages = drifting(12)
    run = made(pages, engines=[Fixed(pages)], budget=3, analysts=[Mixed({"scope": asks})])
    rounds = done(run).findings.rounds
    assert [r.phase for r in rounds] == ["SURVEY"] * 3
    assert "all results drifted" in run.files["micro-report-oldby-towers-round-1.md"]


def test_error_only_unverified_facts_are_flagged_and_answer_nothing():
    run = made(
        {"https://fog.example/horn": PAGES["https://fog.example/horn"]}, budget=1, analysts=[Mixed({"scope": asks})]
    )
    report = done(run)
    assert "All facts of this round are UNVERIFIED" in run.files["micro-report-oldby-towers-round-1.md"]
    assert all(q.standing is not SubQuestionStatus.ANSWERED for q in report.findings.sub_questions)


def test_error_a_contradiction_with_a_known_fact_is_logged_open_with_both_sides():
    known = "The lighthouse of Oldby is 29 metres tall."
    run = made(brief=f'known_facts = ["{known}"]', budget=3)
    report = done(run)
    reports = "".join(text for name, text in run.files.items() if name.startswith("micro-report"))
    row = next(row for row in table(reports, "Contradictions Found") if known in row[1])
    assert "31 metres tall" in row[2]
    assert row[3] == "OPEN"
    assert known in run.files["thread-completion-oldby-towers.md"]
    assert any("31 metres" in fact.quote for fact in report.findings.facts), "the new claim is kept as well"
    assert any(event.data.get("status") == "OPEN" for event in run.told(EventType.CONTRADICTION))


# Self-check: each point is an assertion that fails when it is broken


def checked(state: ThreadState, *, reported: bool = True) -> ThreadState:
    return check_invariants(state, (("converged", lambda *_: None),), reported=reported)


BREAK: dict[str, Any] = {
    "every fact has an address": lambda s: replace(s, facts=(replace(s.facts[0], url=""), *s.facts[1:])),
    "every fact was read": lambda s: replace(s, facts=(replace(s.facts[0], id="F0"), *s.facts[1:])),
    "sub-question statuses": lambda s: replace(
        s, sub_questions=(replace(s.sub_questions[0], grade=Grade.UNVERIFIED), *s.sub_questions[1:])
    ),
    "subject registry": lambda s: replace(s, subjects=(replace(s.subjects[0], rounds=99), *s.subjects[1:])),
    "drift detection": lambda s: replace(s, rounds=(*s.rounds[:-1], unchecked(s.rounds[0], len(s.rounds)))),
    "round history": lambda s: replace(s, rounds=(*s.rounds[:-1], replace(s.rounds[-1], number=99))),
    "plateau detection": lambda s: replace(s, stop=None, plateau_level=2, sub_questions=s.sub_questions),
    "convergence": lambda s: replace(s, stop=None),
    "at most the allowed": lambda s: replace(s, course=replace(s.course, reads_per_round=0)),
}


def unchecked(done_round: Any, number: int) -> Any:
    readings = tuple(replace(reading, drift_checked=False) for reading in done_round.readings)
    return replace(done_round, number=number, readings=readings)


@pytest.mark.parametrize("point", BREAK)
def test_self_check_every_point_is_asserted(point: str):
    state = state_after(made({**PAGES, "https://fog.gov/horn": PAGES["https://fog.example/horn"]}, budget=9))
    first = replace(state, rounds=(*state.rounds[:-1], replace(state.rounds[0], number=state.number)))
    state = first if point == "at most the allowed" else state
    with pytest.raises(RoleError, match=point):
        checked(BREAK[point](state))


def test_self_check_a_missing_micro_report_is_noticed():
    state = state_after(made({**PAGES, "https://fog.gov/horn": PAGES["https://fog.example/horn"]}, budget=9))
    assert checked(state) == state
    with pytest.raises(RoleError, match="micro-report written"):
        checked(state, reported=False)


# FORBIDDEN


def test_forbidden_no_query_is_repeated():
    engine = Growing({})
    run = made(engine.pages, engines=[engine], budget=8, analysts=[Mixed({"scope": asks, "reflect": Proposal("", ())})])
    asked = [(query.text.lower(), query.site) for r in done(run).findings.rounds for query in r.intent.queries]
    assert len(set(asked)) == len(asked)


def test_forbidden_an_invented_quote_never_becomes_a_fact():
    from corrobora.roles.extract import Extraction, Quote

    def invents(given: Any) -> Extraction:
        return Extraction(
            (Quote(given.passages[0].id, "The lighthouse of Oldby is 999 metres tall.", "x", 1.0, ("SQ-1",)),)
        )

    report = done(made(analysts=[Mixed({"extract": invents})], budget=2))
    assert report.findings.facts == ()
    assert report.methodology.dropped_quotes > 0
    assert report.citations == ()
    assert "999" not in report.markdown


# What it must show: saturation


def test_saturation_stops_within_one_round_and_covers_the_subjects_at_half_the_searches():
    fixed = run_virtually(outcome(baseline()))
    found = run_virtually(outcome(load_profile("triplet")))
    half = run_virtually(outcome(load_profile("triplet"), BUDGET // 2))
    assert fixed.searches == BUDGET
    assert found.stop == "plateau"
    assert found.rounds - found.saturated_at <= 1
    assert half.searches <= fixed.searches / 2
    assert half.covered >= math.ceil(0.9 * len(SUBJECTS))


def test_saturation_without_a_model_covers_as_much_as_fixed_rounds_at_less_than_half_the_searches():
    fixed = run_virtually(outcome(baseline(), planned=False))
    found = run_virtually(outcome(load_profile("triplet"), planned=False))
    assert found.searches <= fixed.searches / 2
    assert found.covered >= 0.9 * fixed.covered
    assert found.rounds - found.saturated_at <= 1

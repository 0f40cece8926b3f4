"""Profile `triplet` and `corrobora investigate`: parameters, scope, search, extraction, micro-reports."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.profiles.research import Mixed
from tests.profiles.scripted import Growing, make_web_run
from tests.profiles.triplet import PAGES, asks, done, endless, front_matter, headings, made, table, thread

from corrobora.config.profiles import load_profile
from corrobora.domain.errors import RoleError, UserError
from corrobora.domain.evidence import Grade
from corrobora.domain.plan import Coverage, SubQuestionStatus
from corrobora.domain.run import EventType
from corrobora.domain.thread import Proposal, StopReason, ThreadState
from corrobora.engine.planning import parse_thread_file
from corrobora.engine.search import search_round
from corrobora.policies.grading import group_statements
from corrobora.policies.queries import has_time_words

# Parameters and phase 1


def test_parameters_thread_brief_budget_and_folder_are_given():
    given = parse_thread_file(thread(brief='known_facts = ["It is white."]'))
    assert (given.name, given.round_budget, given.artifact_dir) == ("Oldby Towers", 8, "reports")
    assert [q.id for q in given.brief.sub_questions] == ["SQ-1", "SQ-2"]
    assert {q.standing for q in given.brief.sub_questions} == {SubQuestionStatus.OPEN}
    assert {(s.rounds, s.coverage) for s in given.brief.subjects} == {(0, Coverage.UNCOVERED)}
    assert given.brief.known_facts == ("It is white.",)


def test_parameters_the_budget_is_the_most_rounds():
    run, _ = endless(budget=4)
    assert len(done(run).findings.rounds) == 4


def test_parameters_the_source_strategy_orders_the_phases():
    run, _ = endless(budget=7, strategy='source_strategy = ["VERIFY", "SURVEY"]')
    assert {r.phase for r in done(run).findings.rounds} <= {"VERIFY", "SURVEY"}
    with pytest.raises(UserError, match="source_strategy"):
        done(made(strategy='source_strategy = ["GUESS"]'))


def test_notes_silent_nobody_is_asked_and_no_manager_or_planner_is_called():
    run, analyst = endless(budget=2, human=object())
    done(run)
    assert {name for name, _ in analyst.played} <= {"scope", "extract", "reflect", "summarize", "synthesize"}


# Phase 2, step 1: scope


async def test_scope_a_search_without_a_scope_is_impossible():
    run = made()
    given = parse_thread_file(thread())
    state = ThreadState.open_thread(given.plan.root, given.brief, load_profile("triplet").course)
    with pytest.raises(RoleError, match="before the round was scoped"):
        await search_round(asks(None), state, run.session)
    assert run.engines["tavily"].asked == []


def test_scope_comes_before_every_search():
    run, analyst = endless(budget=5)
    done(run)
    assert len(analyst.given("scope")) == 5
    for number in range(1, 6):
        told = [e.type for e in run.events if e.round == number and e.type in (EventType.THOUGHT, EventType.SEARCH)]
        assert told[0] is EventType.THOUGHT
    assert len(run.engines["tavily"].asked) == 5


def test_scope_is_given_open_questions_uncovered_subjects_saturation_and_phase():
    run, analyst = endless(budget=3)
    done(run)
    first, second = analyst.given("scope")[:2]
    assert ([q.id for q in first.open_questions], first.saturation) == (["SQ-1", "SQ-2"], "FIRST_ROUND")
    assert [s.name for s in first.uncovered] == ["lighthouse", "fog horn"]
    assert second.saturation in ("HIGH", "MEDIUM", "LOW")
    assert first.phase.name == "SURVEY"


def test_source_phases_progress_in_order_and_the_last_one_stays():
    run, _ = endless(budget=12)
    phases = [r.phase for r in done(run).findings.rounds]
    order = ["SURVEY", "EXTRACT", "DIVERSIFY", "VERIFY"]
    assert phases == sorted(phases, key=order.index)
    assert [phases.count(name) for name in order[:3]] == [2, 3, 2]
    assert phases[-1] == "VERIFY"


def test_source_phases_high_saturation_leaves_a_phase_at_once():
    pages = {f"https://a{n}.gov/x": f"# P{n}\n\nThe lighthouse of Oldby: note {n} by hand." for n in range(1)}
    run = made(pages, budget=3, escapes=False, stop=("max_rounds",))
    phases = [r.phase for r in done(run).findings.rounds]
    assert phases[:2] == ["SURVEY", "EXTRACT"]


def test_subject_coverage_is_forced_past_half_the_budget():
    run, _ = endless({"scope": asks}, budget=8)
    report = done(run)
    forced = [(r.number, r.intent.forced) for r in report.findings.rounds if r.intent.forced]
    assert forced[0] == (6, "Subject fog horn has received 0 dedicated search rounds. Forcing coverage.")
    assert any("fog horn" in query.text for query in report.findings.rounds[5].intent.queries)
    assert all(subject.rounds for subject in report.findings.subjects)
    assert "Forcing coverage" in str([event.data for event in run.told(EventType.THOUGHT)])


def test_subject_coverage_leaves_no_subject_without_a_round_where_the_budget_has_one_for_each():
    given = thread(4).replace(
        'subjects = ["lighthouse", "fog horn"]', 'subjects = ["lighthouse", "fog horn", "keeper"]'
    )
    engine = Growing({})
    run = make_web_run(
        "triplet",
        engine.pages,
        engines=[engine],
        analysts=[Mixed({"reflect": Proposal("", ()), "scope": asks})],
        thread_file=given,
        stop=("max_rounds",),
    )
    assert [subject.rounds > 0 for subject in done(run).findings.subjects] == [True, True, True]


# Phase 2, step 2: search


def test_query_rules_disambiguation_terms_and_hints_of_the_phase():
    run, analyst = endless(budget=12)
    report = done(run)
    hints = {"SURVEY": {"gov", "org", "edu"}, "DIVERSIFY": {"reddit.com", "news.ycombinator.com"}}
    for r in report.findings.rounds:
        assert all("oldby" in query.text.lower() for query in r.intent.queries)
        if r.phase in hints and not r.escape:
            query = r.intent.queries[0]
            assert query.site in hints[r.phase] or re.search("experience with|has anyone", query.text)
    phases = {given.phase.name: given.phase.query_hints for given in analyst.given("scope")}
    assert phases["EXTRACT"] == ("records", "data", "registry", "database")
    assert phases["VERIFY"] == ("official",)


def test_query_rules_a_period_is_named_where_it_matters():
    run, analyst = endless(budget=2, brief="since = 1902\nuntil = 1902")
    report = done(run)
    assert all("1902" in query.text for r in report.findings.rounds for query in r.intent.queries)
    assert analyst.given("scope")[0].focus_since == 1902


def test_query_rules_a_span_of_years_is_named_in_every_round():
    run, _ = endless({"scope": asks}, budget=3, brief="since = 1902\nuntil = 1905")
    for r in done(run).findings.rounds:
        assert any("1902 to 1905" in query.text for query in r.intent.queries)


def test_query_rules_latest_is_asked_for_where_now_matters_and_no_period_is_given():
    def make_web_run(question: str) -> Any:
        given = thread(3).replace("What is known of the lighthouse of Oldby and its fog horn?", question)
        engine = Growing({})
        analysts = [Mixed({"reflect": Proposal("", ()), "scope": asks})]
        return made(engine.pages, engines=[engine], analysts=analysts, given=given)

    now = done(make_web_run("Who currently keeps the lighthouse of Oldby?")).findings.rounds
    assert all(any(has_time_words(query.text) for query in r.intent.queries) for r in now)
    ever = done(make_web_run("Who kept the lighthouse of Oldby?")).findings.rounds
    assert not any(has_time_words(query.text) for r in ever for query in r.intent.queries)


def test_reading_prompts_follow_the_phase_and_are_filled():
    run, analyst = endless(budget=12)
    done(run)
    said = {given.guidance.split(" ", 2)[1] + given.guidance[-30:] for given in analyst.given("extract")}
    starts = {given.guidance[:24] for given in analyst.given("extract")}
    assert starts == {
        "Extract the official pro", "Find specific records, e", "Extract practical experi", "Verify whether "
        + analyst.given("extract")[-1].guidance[15:24],
    }  # fmt: skip
    assert said
    assert not any("${" in given.guidance for given in analyst.given("extract"))


def test_search_protocol_at_most_five_results_a_round():
    engine = Growing({})
    engine.per_search = 10
    run = made(engine.pages, engines=[engine], analysts=[Mixed({"reflect": Proposal("", ())})], budget=4)
    rounds = done(run).findings.rounds
    assert [len(r.hits) for r in rounds] == [10] * 4
    assert all(sum(not reading.again for reading in r.readings) <= 5 for r in rounds)


# Phase 2, step 3: extract and record


def test_confidence_official_or_confirmed_is_verified_a_single_page_is_not():
    report = done(made(budget=6))
    grades = {fact.url: fact.grade for fact in report.findings.facts}
    assert grades["https://coast.gov/oldby"] is Grade.VERIFIED
    assert grades["https://fog.example/horn"] is Grade.UNVERIFIED
    assert not report.findings.nearest, "its form has no place for whole passages"


def test_every_fact_has_an_address_and_stands_in_its_source():
    report = done(made())
    assert report.findings.facts
    for fact in report.findings.facts:
        assert fact.url in PAGES
        assert fact.quote in PAGES[fact.url]


def test_state_updates_round_history_counts_new_and_confirming_facts():
    run = made(budget=3, stop=("max_rounds",), escapes=False)
    rounds = done(run).findings.rounds
    assert [r.number for r in rounds] == [1, 2, 3]
    found = {f.id: f for r in rounds for x in r.readings for f in x.facts}
    assert sum(r.new_facts for r in rounds) == len(group_statements(tuple(found.values())))
    assert all(r.intent.queries and r.phase for r in rounds)


def test_micro_report_one_per_round_in_its_form():
    run = made()
    report = done(run)
    names = [name for name in run.files if name.startswith("micro-report")]
    assert names == [f"micro-report-oldby-towers-round-{r.number}.md" for r in report.findings.rounds]
    text = run.files[names[0]]
    head = front_matter(text)
    assert list(head) == [
        "thread", "round", "strategy_phase", "timestamp", "sources_consulted", "new_facts", "confirming_facts",
        "saturation",
    ]  # fmt: skip
    assert (head["thread"], head["round"], head["strategy_phase"]) == ("Oldby Towers", "1", "SURVEY")
    assert head["saturation"] in ("HIGH", "MEDIUM", "LOW")
    assert headings(text) == [
        "Round Summary", "Facts Extracted", "Subject Registry Updates", "Disambiguation Updates",
        "Contradictions Found", "Saturation Assessment", "Next Round Guidance",
    ]  # fmt: skip
    assert table(text, "Facts Extracted")[0] == ["#", "Fact", "Source", "URL", "Confidence", "Notes"]
    assert table(text, "Contradictions Found")[0] == ["Claim", "Source A Says", "Source B Says", "Status"]


def test_disambiguation_evidence_supports_or_eliminates_a_candidate():
    pages = PAGES | {
        "https://coast.gov/oldby": "# Lighthouse of Oldby\n\nThe lighthouse of Oldby is 31 metres tall, "
        "and the lighthouse of Oldby is not to be confused with Newby, which has a lighthouse of its own."
    }
    given = thread(6).replace('disambiguation = ["Oldby"]', 'disambiguation = ["Oldby", "Newby"]')
    run = made(pages, given=given)
    rounds = done(run).findings.rounds
    first = run.files["micro-report-oldby-towers-round-1.md"].partition("## Disambiguation Updates")[2]
    assert re.search(r"^- Oldby: SUPPORTED because \d+ facts? names? it$", first, re.MULTILINE)
    assert re.search(
        r"^- Newby: ELIMINATED because a source says \"not to be confused with newby\"$", first, re.MULTILINE
    )
    assert "Newby" in rounds[0].intent.queries[0].text
    assert not any("Newby" in query.text for r in rounds[1:] for query in r.intent.queries)


def test_micro_report_subjects_show_their_prior_and_new_status():
    run = made()
    report = done(run)
    first = run.files["micro-report-oldby-towers-round-1.md"]
    rows = {row[0]: row[1:3] for row in table(first, "Subject Registry Updates")[1:]}
    assert rows["lighthouse"] == ["UNCOVERED", "COVERED"]
    for r in report.findings.rounds[1:]:
        later = table(run.files[f"micro-report-oldby-towers-round-{r.number}.md"], "Subject Registry Updates")
        assert {row[0]: row[1] for row in later[1:]}["lighthouse"] == "COVERED"


def test_micro_report_guidance_names_phase_reason_focus_and_gaps():
    run, _ = endless(budget=3)
    done(run)
    text = run.files["micro-report-oldby-towers-round-2.md"].partition("## Next Round Guidance")[2]
    assert re.search(r"Strategy phase recommendation: (STAY in SURVEY|ADVANCE to EXTRACT)", text)
    assert all(f"- {name}:" in text for name in ("Reason", "Suggested focus", "Remaining gaps"))


ANYWHERE = 'source_strategy = ["VERIFY"]'  # the phase that restricts no host
TALL = "The lighthouse of Oldby is 31 metres tall."


def test_triplet_23_an_official_page_alone_is_verified_and_an_unknown_one_is_not():
    for url, grade in (("https://coast.gov/oldby", Grade.VERIFIED), ("https://towers.example/oldby", Grade.UNVERIFIED)):
        report = done(made({url: f"# Towers of the coast\n\n{TALL}"}, budget=2, strategy=ANYWHERE))
        assert {fact.grade for fact in report.findings.facts if "31 metres" in fact.quote} == {grade}


def test_triplet_44_59_what_only_an_unknown_page_states_answers_nothing_and_is_a_gap_with_this_reason():
    run = made({"https://towers.example/oldby": f"# Towers of the coast\n\n{TALL}"}, budget=2, strategy=ANYWHERE)
    findings = done(run).findings
    assert findings.failed == ""
    assert findings.stop is not StopReason.ERROR
    tall = next(question for question in findings.sub_questions if question.id == "SQ-1")
    assert tall.standing != "ANSWERED"
    rows = table(run.files["thread-completion-oldby-towers.md"], "Gaps Remaining")
    assert any("How tall" in row[0] and re.search("UNVERIFIED statements? only", row[1]) for row in rows)

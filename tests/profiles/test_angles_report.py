"""Profile `angles`: synthesis, critique, revision, judge, models and stages."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from tests.profiles.angles import angles, lead, plan_of
from tests.profiles.research import QUESTION, make_run

from corrobora.domain.errors import NeedsHuman, RoleError
from corrobora.domain.plan import collect_leaves
from corrobora.domain.report import Critique, Draft, Verdict
from corrobora.domain.run import Request, RunId, Stage
from corrobora.roles.edit import Edit, EditAction
from corrobora.roles.review import Revision, critique, judge
from corrobora.roles.synthesize import summarize, synthesize
from corrobora.storage.journal.events import rewind_run
from corrobora.storage.journal.runs import Runs
from corrobora.storage.postgres import Database

SCORES = ("factual_accuracy", "citation_accuracy", "completeness", "source_quality", "source_diversity")


async def test_angles_27_the_report_has_the_asked_for_form():
    run, _ = await angles(plan_of("background", "limitations-risks", "technical-methods"))
    report = await run.research()
    body = report.markdown.partition("## Contradictions and changes")[0].partition("## Methodology")[0]
    assert re.match(r"# \S", body)
    numbered = re.findall(r"^## (\d+)\. (.+)$", body, re.MULTILINE)
    assert [int(number) for number, _ in numbered] == list(range(1, len(numbered) + 1))
    assert len(numbered) >= 3
    assert "\n---\n" in body
    assert "## Conclusion" in body
    assert body.index("## Conclusion") > body.index(f"## {len(numbered)}. ")
    assert re.search(r"\*\*\d+ (?:months|tonnes)\*\*", body), "key figures are bold"
    compared = (await (await make_run("angles")).research()).markdown.partition("## Methodology")[0]
    assert "| Difference |" in compared.partition("## Contradictions and changes")[0], "comparisons stand in a table"


def test_angles_27_headings_are_specific_to_the_topic():
    titles = [
        each.title for each in collect_leaves(lead("offshore wind turbine maintenance, its cost, accidents").root)
    ]
    assert all("wind" in title for title in titles)


def test_angles_27_synthesis_has_an_instruction_of_its_own():
    assert synthesize.prompt != critique.prompt
    assert (synthesize.tier, summarize.tier) == ("lead", "worker")


async def test_angles_26_27_the_synthesis_gets_topic_summaries_facts_and_uncovered_angles():
    def broken(given: Any) -> Any:
        return RoleError("refusal", "no") if given.path.startswith("root/2/") else None

    run, analyst = await angles(plan_of("background", "limitations-risks"), {"scope": broken})
    await run.research()
    given = next(g for g in analyst.given("synthesize") if g.purpose == "report")
    assert given.layout == "angles"
    assert given.question == QUESTION
    assert [part.angle for part in given.parts] == ["background"]
    assert given.parts[0].summary
    assert given.uncovered == ("Limitations, risks, and failure modes",)


async def test_angles_29_critique_and_revision_take_any_sections():
    marker: list[str] = []

    def draft(given: Any) -> Draft | None:
        if given.purpose != "report":
            return None
        facts = [fact for part in given.parts for fact in part.facts]
        marker.extend(fact.marker for fact in facts)
        lines = [f"{fact.quote.rstrip('.')} {fact.marker}." for fact in facts]
        return Draft("Odd", "## Überraschung\n\n" + lines[0] + "\n\n### Ωmega\n\n" + "\n\n".join(lines[1:]))

    def revised(given: Any) -> Revision:
        assert given.draft.body.startswith("{1.1} ## Überraschung")
        return Revision((Edit(EditAction.REWORD, "1.1", "## Revised heading"),))

    lines = {"synthesize": draft, "critique": Critique(("the heading is odd",)), "revise": revised}
    run, analyst = await angles(plan_of("background", "limitations-risks"), lines)
    report = await run.research()
    assert analyst.given("critique")[0].draft.body.startswith("## Überraschung")
    assert analyst.given("revise")[0].critique.problems == ("the heading is odd",)
    assert "## Revised heading" in report.markdown
    assert "### Ωmega" in report.markdown


async def test_angles_29_a_revision_that_loses_the_citations_is_refused():
    lines = {"critique": Critique(("shorten",)), "revise": Revision(whole=Draft("Empty", "Nothing is cited here."))}
    run, _ = await angles(plan_of("background", "limitations-risks"), lines)
    report = await run.research()
    assert "12 months" in report.markdown


@pytest.mark.parametrize(("diversity", "passed"), [(0.5, True), (0.49, False)])
async def test_angles_30_31_the_judge_scores_five_criteria_in_one_call_and_both_scores_are_stored(
    diversity: float, passed: bool
):
    verdict = Verdict(0.9, 0.8, 0.7, 0.6, diversity)
    run, analyst = await angles(plan_of("background", "limitations-risks"), {"judge": verdict})
    report = await run.research()
    assert len(analyst.given("judge")) == 1
    assert analyst.given("judge")[0].facts, "the judge sees the source chunks"
    stored = json.loads(run.files["verification.json"])
    assert set(stored["judge"]) == {*SCORES, "rationale"}
    assert stored["passed"] is passed
    assert stored["threshold"] == 0.70
    assert 0 <= stored["token_overlap"] <= 1
    whole = json.loads(run.files["report.json"])
    assert whole["verdict"]["source_diversity"] == diversity
    assert whole["overlap_score"] == stored["token_overlap"] == report.overlap_score


def test_angles_30_the_judge_is_not_the_small_model():
    assert judge.tier == "judge"
    assert critique.tier == "fast"


async def test_angles_the_keyless_report_passes_its_own_judge():
    run = await make_run("angles")
    report = await run.research()
    assert report.verdict is not None
    assert report.verdict.overall >= 0.70


@pytest.mark.parametrize("stage", list(Stage))
async def test_angles_1_a_run_pauses_after_each_stage_and_goes_on(stage: Stage):
    run, analyst = await angles(plan_of("background", "limitations-risks"))
    run.session.until = stage
    if stage is Stage.DELIVER:
        assert (await run.research()).markdown
        return
    with pytest.raises(NeedsHuman) as paused:
        await run.research()
    assert paused.value.code == "stage_reached"
    told = [e.data["stage"] for e in run.journal.events if e.type == "stage"]
    assert told[-1] == stage
    again, later = await angles(
        plan_of("background", "limitations-risks"),
        journal=run.journal.next_attempt(),
        library=run.library,
        files=run.files,
    )
    assert "12 months" in (await again.research()).markdown
    played = [(name, given.path) for name, given in analyst.played + later.played]
    assert len(played) == len(set(played)), "no call is made twice"


FORGOTTEN = {
    Stage.CLARIFY: {"root/clarify#1", "root/plan#1", "authorized", "root/1/round/1/scope#1", "root/synthesize#1"},
    Stage.PLAN: {"root/plan#1", "authorized", "root/1/round/1/scope#1", "root/synthesize#1"},
    Stage.INVESTIGATE: {"root/1/round/1/scope#1", "root/synthesize#1"},
    Stage.SYNTHESIZE: {"root/synthesize#1"},
    Stage.REVIEW: set(),
    Stage.VERIFY: set(),
    Stage.DELIVER: set(),
}


LATER = {Stage.REVIEW: {"root/critique/critique#1"}, Stage.VERIFY: {"root/judge/judge#1"}}


@pytest.mark.parametrize("stage", list(Stage))
async def test_angles_1_from_stage_forgets_that_stage_and_what_follows_and_nothing_else(
    database: Database, stage: Stage
):
    runs = Runs(database)
    run = await runs.create(Request("q"), run=RunId("r_rewind"))
    keys = {*FORGOTTEN[Stage.CLARIFY], *LATER[Stage.REVIEW], *LATER[Stage.VERIFY], "deliver/folder/1"}
    for key in keys:
        await database.execute(
            "INSERT INTO journal (run, key, epoch, digest, meta, out) VALUES (%s, %s, 0, '', '{}', '1')", [run, key]
        )
    await rewind_run(database, run, stage)
    left = {row[0] for row in await database.fetch_all("SELECT key FROM journal WHERE run = %s", [run])}
    order = list(Stage)
    gone = FORGOTTEN[stage] | {"deliver/folder/1"}
    gone |= {key for at, own in LATER.items() if order.index(at) >= order.index(stage) for key in own}
    assert left == keys - gone

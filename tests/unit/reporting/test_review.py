"""Review: the monotone gate, the order of critique and revision, and what is shed when time is short."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from tests.fakes import FakeClock
from tests.profiles.research import LibraryRun, Mixed, make_run
from tests.unit.policies.threads import fact

from corrobora.config.profiles import load_profile
from corrobora.domain.evidence import Contradiction
from corrobora.domain.report import Critique, Draft, Findings, Verdict
from corrobora.domain.thread import Gap
from corrobora.engine.research import judge_draft, review_draft
from corrobora.engine.review import REVIEW_SECONDS, choose_revision, find_cited_markers, revise_input, score_overlap
from corrobora.reporting.repair import apply_revision
from corrobora.reporting.verify import check_draft, check_written_draft
from corrobora.roles.edit import Edit, EditAction
from corrobora.roles.review import Reviewing, Revision

FIRST = fact("The harbour of Ardal was opened to steamers in 1874.", passage="C1")
SECOND = fact("The mill of Ardal has two wheels of oak.", passage="C2")
FOUND = Findings("root", "Ardal", facts=(FIRST, SECOND))
BOTH = Draft("Ardal", f"{FIRST.quote} {FIRST.marker} {SECOND.quote} {SECOND.marker}")
ONE = Draft("Ardal", f"{FIRST.quote} {FIRST.marker}")
NONE = Draft("Ardal", "The harbour is old.")
FAIR = Verdict(0.8, 0.8, 0.8, 0.8, 0.8)


def test_m31_a_revision_that_loses_most_citations_is_refused() -> None:
    assert choose_revision(BOTH, ONE, FOUND) is ONE
    assert choose_revision(BOTH, NONE, FOUND) is BOTH
    assert choose_revision(BOTH, Draft("Ardal", "  "), FOUND) is BOTH
    assert choose_revision(NONE, ONE, FOUND) is ONE


def test_invented_markers_count_for_nothing() -> None:
    assert find_cited_markers(Draft("t", f"One {FIRST.marker}, another [S99:C99]."), FOUND) == {FIRST.marker}
    assert choose_revision(ONE, Draft("t", "Invented [S99:C99]."), FOUND) is ONE


def test_angles_the_overlap_score_is_the_mean_over_cited_sentences() -> None:
    assert score_overlap(check_draft(BOTH, FOUND.facts)) == 1.0
    assert score_overlap(check_draft(NONE, FOUND.facts)) is None


async def made(analyst: Mixed, clock: FakeClock | None = None) -> LibraryRun:
    profile = load_profile("angles")
    review = replace(profile.review, critique=True, revise=True, judge=True, min_score=0.7)
    return await make_run(profile, analysts=(analyst,), clock=clock, review=review)


async def test_angles_a_draft_with_problems_is_revised_and_one_without_is_not() -> None:
    strict = Mixed({"critique": Critique(("The opening is missing.",)), "revise": Revision(whole=ONE)})
    assert await review_draft(BOTH, FOUND, (await made(strict)).session) == (ONE, ())
    pleased = Mixed({"critique": Critique(), "revise": Revision(whole=ONE)})
    assert await review_draft(BOTH, FOUND, (await made(pleased)).session) == (BOTH, ())
    assert pleased.given("revise") == []


async def test_angles_the_judge_scores_what_is_delivered_and_code_says_whether_it_passes() -> None:
    run = await made(Mixed({"judge": replace(FAIR, completeness=0.0)}))
    judged = await judge_draft(check_written_draft(BOTH, FOUND), FOUND, run.session)
    assert judged.verdict is not None
    written: dict[str, Any] = json.loads(run.files["verification.json"])
    assert (written["overall"], written["threshold"], written["passed"]) == (0.64, 0.7, False)


async def test_without_time_nothing_is_reviewed_and_the_draft_stays() -> None:
    clock, analyst = FakeClock(), Mixed({"critique": Critique(("x",)), "revise": Revision(whole=ONE), "judge": FAIR})
    run = await make_run("timed", analysts=(analyst,), clock=clock, review=(await made(analyst)).session.profile.review)
    await clock.sleep(run.session.budget.until_deadline - REVIEW_SECONDS / 2)
    assert await review_draft(BOTH, FOUND, run.session) == (BOTH, ())
    judged = await judge_draft(check_written_draft(BOTH, FOUND), FOUND, run.session)
    assert (judged.verdict, judged.why) == (None, "no time was left to judge the report")
    assert analyst.played == []


async def test_angles_30_the_judge_sees_the_contradictions_and_gaps_that_code_adds() -> None:
    pair = Contradiction("claim", FIRST.id, SECOND.id)
    analyst = Mixed({"judge": FAIR})
    run = await made(analyst)
    await judge_draft(
        check_written_draft(BOTH, FOUND),
        replace(FOUND, contradictions=(pair,), gaps=(Gap("Who built it?"),)),
        run.session,
    )
    (given,) = analyst.given("judge")
    assert given.draft.body.startswith(BOTH.body)
    assert f"{FIRST.quote}” {FIRST.marker}" in given.draft.body.partition("## Contradictions and changes")[2]
    assert "Who built it?" in given.draft.body.partition("## Gaps")[2]


def test_the_ids_that_a_reviser_is_shown_are_those_that_are_edited_whatever_facts_it_sees() -> None:
    """A quote tells that two sentences are one, although its fact is not among those that are shown."""
    joins = fact("The gate is closed by the word stop. Go opens it again.", passage="C3")
    found = replace(FOUND, facts=(FIRST, joins))
    draft = Draft("Ardal", f"{joins.quote} {FIRST.marker} {FIRST.quote} {FIRST.marker}")
    false = replace(draft, body=f"{draft.body} It was sold in 1999 {FIRST.marker}.")
    checked = check_draft(false, found.facts)
    reviewed = Reviewing("root/critique", "Ardal?", false, (FIRST,))
    shown = revise_input(reviewed, Critique(("x",)), checked, found)
    assert [each.partition(", because")[0] for each in shown.critique.problems] == ["x", "{0.3} is withheld"]
    assert shown.draft.body.startswith(f"{{0.1}} {joins.quote} {FIRST.marker} {{0.2}} {FIRST.quote}")
    assert shown.places == ("0.1", "0.2", "0.3", "0")
    edit = Edit(EditAction.REWORD, "0.2", f"It is new {FIRST.marker}.")
    assert apply_revision(draft, Revision((edit,)), found.facts).body.endswith(f"again. {FIRST.marker} {edit.text}")


def test_a_reviser_is_shown_the_facts_that_the_problems_concern() -> None:
    """The others carry sentences that passed the check and stay as they are: they were half of its prompt."""
    names = "gate tower bridge barn chapel dairy forge granary kiln school".split()
    facts = tuple(fact(f"The {each} of Ardal was built of oak.", passage=f"C{at}") for at, each in enumerate(names, 3))
    body = " ".join(f"{each.quote} {each.marker}" for each in facts)
    draft = Draft("Ardal", f"{body} {FIRST.quote.replace('1874', '1999')} {FIRST.marker}")
    found = replace(FOUND, facts=(*facts, FIRST))
    critic = Critique((f"The chapel is not told to be old {facts[4].marker}.",))
    reviewed = Reviewing("root/critique", "Ardal?", draft, found.facts)
    shown = revise_input(reviewed, critic, check_draft(draft, found.facts), found).facts
    assert {FIRST, facts[4]} <= set(shown)
    assert len(shown) < len(found.facts)


async def test_a_reviser_that_changes_nothing_leaves_what_is_withheld_to_its_writer() -> None:
    bad = Draft("Ardal", f"{BOTH.body} The harbour of Ardal was opened in 1999 ({FIRST.marker[1:-1]}).")
    idle = Mixed({"critique": Critique(("x",)), "revise": Revision((Edit(EditAction.MOVE, "0.1", after="0.1"),))})
    run = await made(idle)
    assert await review_draft(bad, FOUND, run.session) == (bad, ())
    busy = Mixed({"critique": Critique(("x",)), "revise": Revision((Edit(EditAction.DROP, "0.2"),))})
    run = await made(busy)
    after, told = await review_draft(bad, FOUND, run.session)
    assert SECOND.quote not in after.body
    assert ["1999" in each for each in told] == [True]
    (event,) = [each.data for each in run.journal.events if each.data.get("stage") == "revised"]
    assert {name: event[name] for name in ("edits", "taken", "lost")} == {
        "edits": 1,
        "taken": True,
        "lost": [SECOND.marker],
    }

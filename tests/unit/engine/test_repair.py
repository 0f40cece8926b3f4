"""Repair of what a check withholds: the writer is shown that alone, and the draft cannot get worse by its answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.profiles.research import LibraryRun, Mixed, make_run
from tests.unit.policies.threads import fact

from corrobora.analysts.extractive import ExtractiveAnalyst
from corrobora.domain.report import Draft, Findings
from corrobora.engine.repair import MAX_NEAR_REASON, MAX_NEAR_SHOWN, repair_draft, repair_input
from corrobora.reporting.verify import check_draft
from corrobora.roles.edit import Edit, EditAction
from corrobora.roles.review import Repairing, Revision

TRUE = [fact(f"The {name} of Ardal was built in {1870 + at}.", passage=f"C{at}") for at, name in enumerate("abcdefgh")]
FOUND = Findings("root", "Ardal", facts=tuple(TRUE))
FALSE = f"The a of Ardal was built in 1999 {TRUE[0].marker}."
REST = "\n\n".join(f"## Part {each.passage}\n\n{each.quote} {each.marker}" for each in TRUE[1:])
DRAFT = Draft("Ardal", f"{FALSE}\n\n{REST}")


async def repair_by(answer: Any) -> tuple[LibraryRun, Mixed, str, dict[str, Any]]:
    """Repair the draft by one answer; return also the body and what is told of it."""
    analyst = Mixed({"repair": answer})
    run = await make_run("timed", analysts=(analyst, ExtractiveAnalyst()))
    checked = await repair_draft(DRAFT, FOUND, run.session)
    told = [each.data for each in run.journal.events if each.data.get("stage") == "repaired"]
    return run, analyst, checked.draft.body, dict(told[0])


def reword(text: str) -> Revision:
    return Revision((Edit(EditAction.REWORD if text else EditAction.DROP, "0.1", text),))


async def test_the_writer_is_shown_what_is_withheld_its_section_and_the_nearest_facts() -> None:
    _, analyst, _, _ = await repair_by(Revision())
    [given] = analyst.given("repair")
    assert isinstance(given, Repairing)
    [(name, (reason, text))] = given.failing
    assert (name, text) == ("0.1", FALSE)
    assert "1999" in reason
    assert given.draft.body.startswith(FALSE)
    assert "## Part C1" in given.draft.body
    assert TRUE[1].quote not in given.draft.body
    assert len(given.facts) <= MAX_NEAR_SHOWN + MAX_NEAR_REASON + 1 < len(TRUE)
    assert TRUE[0] in given.facts


async def test_the_writer_is_shown_the_facts_that_say_what_a_model_misses() -> None:
    """It names what no cited quote has: words that the sentence itself may not have."""
    run = await make_run("timed", analysts=(Mixed({}), ExtractiveAnalyst()))
    checked = check_draft(DRAFT, FOUND.facts)
    why = "a model does not find all of it in its sources: the h of Ardal, built in 1877"
    checked = replace(checked, checks=tuple(replace(each, withheld=each.withheld and why) for each in checked.checks))
    assert TRUE[7] in repair_input(checked, DRAFT, FOUND, run.session).facts


async def test_new_words_that_hold_are_taken_and_nothing_else_changes() -> None:
    new = f"{TRUE[0].quote[:-1]} {TRUE[0].marker}."
    _, _, body, told = await repair_by(reword(new))
    assert body == f"{TRUE[0].quote} {TRUE[0].marker}\n\n{REST}"
    assert (told["left"], told["taken"], told["dropped"], told["lost"]) == (0, True, 0, [])


async def test_a_sentence_that_is_taken_out_is_told_with_what_nothing_cites_any_more() -> None:
    _, _, body, told = await repair_by(reword(""))
    assert body == REST
    assert (told["left"], told["taken"], told["dropped"], told["lost"]) == (0, True, 1, [TRUE[0].marker])


@pytest.mark.parametrize(
    "answer",
    [
        reword(f"The a of Ardal was built in 1998 {TRUE[0].marker}."),
        Revision(),
        Revision(whole=Draft("Ardal", f"{TRUE[1].quote} {TRUE[1].marker}")),
    ],
)
async def test_an_answer_that_is_no_better_changes_nothing(answer: Revision) -> None:
    """The third one is a whole text that loses most citations."""
    _, _, body, told = await repair_by(answer)
    assert body.endswith(REST)
    assert "1999 stands in none" in body
    assert (told["taken"], told["lost"]) == (False, ())

"""Edits of a stored report by a model over the wire: retried where they break, and nothing outside them changes."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from bench.model_server.protocols import WireRequest
from bench.model_server.scripted_model import ParsedPrompt, answer_prompt
from bench.model_server.server import ModelServer
from tests.unit.app.conftest import ingest_here
from tests.unit.app.test_followups import GREASE, research

from corrobora.app import Workspace
from corrobora.app.attempts import run_here
from corrobora.app.followups import accept_changes, list_versions, read_changes, read_outline, submit_edit
from corrobora.app.runs import load_report
from corrobora.app.verification import verify_report
from corrobora.domain.errors import UserError
from corrobora.domain.run import RunStatus
from corrobora.engine.edit import MAX_TRIES
from corrobora.reporting.seal import SealStatus
from corrobora.roles.edit import (
    Edit,
    EditAction,
    Editing,
    EditRequest,
    UnusableAnswer,
    WireEdit,
    WireEdits,
    convert_edits,
)


async def markdown(workspace: Workspace, run: str) -> str:
    report = await load_report(workspace, run)
    assert report is not None
    return report.markdown


async def edit(workspace: Workspace, run: str, wanted: EditRequest, accept: str, url: str = "") -> str:
    models = tuple((tier, f"openai-compatible:m@{url}/v1") for tier in ("fast", "judge", "lead", "worker"))
    made = await submit_edit(workspace, run, wanted, accept=accept, models=models if url else ())
    await run_here(workspace, made)
    return made


def propose_edits(asked: list[str], propose: Callable[[int], dict[str, object]]) -> Callable[[WireRequest], str]:
    """Return a model that answers the n-th prompt for edits, which is added to `asked`, by what `propose` returns."""

    def answer(request: WireRequest) -> str:
        if ParsedPrompt.read(request.system, request.user).role != "edit":
            return answer_prompt(request.system, request.user)
        asked.append(request.user)
        return json.dumps(propose(len(asked)))

    return answer


def break_words(tries: int) -> Callable[[WireRequest], str]:
    """Return a model whose first new words say something else than the fact."""
    asked: list[str] = []

    def answer(request: WireRequest) -> str:
        page = ParsedPrompt.read(request.system, request.user)
        said = answer_prompt(request.system, request.user)
        if page.role != "edit":
            return said
        asked.append(request.user)
        filled = json.loads(said)
        for each in filled["edits"] if len(asked) <= tries else ():
            each["text"] = each["text"].replace("14 days", "40 days")
        return json.dumps(filled)

    return answer


async def test_words_that_break_are_asked_for_again_and_the_rest_stays_byte_for_byte(workspace: Workspace) -> None:
    run = await research(workspace)
    target = next(each.id for each in (await read_outline(workspace, run)).pieces if "14 days" in each.text)
    async with ModelServer(break_words(2)) as server:
        made = await edit(workspace, run, EditRequest(feedback=f"Re-word {target} please."), "all", server.url)
        assert len([each for each in server.asked if "# Role: edit" in each.system]) == 3
    found = await read_changes(workspace, made)
    assert [(each["edit"]["target"], each["refused"]) for each in found["changes"]] == [(target, "")]
    before, after = await markdown(workspace, run), await markdown(workspace, made)
    assert "40 days" not in after
    old, new = (
        [line for line in text.split("\n") if line.startswith(("#", "- ", "> ", "["))] for text in (before, after)
    )
    assert [line for line in old if line not in new and "14 days" not in line and "statements" not in line] == []
    assert (await verify_report(workspace, after)).seal is SealStatus.DELIVERED


async def test_a_model_that_always_breaks_its_words_changes_nothing(workspace: Workspace) -> None:
    run = await research(workspace)
    target = next(each.id for each in (await read_outline(workspace, run)).pieces if "14 days" in each.text)
    async with ModelServer(break_words(99)) as server:
        made = await edit(workspace, run, EditRequest(feedback=f"Re-word {target} please."), "all", server.url)
        assert len([each for each in server.asked if "# Role: edit" in each.system]) == MAX_TRIES
    row = await workspace.runs.get(made)
    assert (row.status, row.outcome) == (RunStatus.FAILED, "edit_nothing")
    assert await load_report(workspace, made) is None


def rule_on(words: str, *, carried: bool, drops: bool = False) -> Callable[[WireRequest], str]:
    """Return a model that gives a sentence these words, may drop it as well, and rules on them as `confirm`."""

    def answer(request: WireRequest) -> str:
        page = ParsedPrompt.read(request.system, request.user)
        said = answer_prompt(request.system, request.user)
        if page.role == "confirm":
            labels = [found.group(1) for found, _ in page.all(r"(D\d+):\s*$")]
            missing = "" if carried else "who greases them"
            return json.dumps({"rulings": [{"sentence": x, "carried": carried, "missing": missing} for x in labels]})
        if page.role != "edit":
            return said
        filled = json.loads(said)
        for each in filled["edits"]:
            each["text"] = words
        drop = {"action": "drop", "target": filled["edits"][0]["target"], "text": "", "after": ""}
        return json.dumps({**filled, "edits": filled["edits"] + [drop] * drops})

    return answer


DOUBTED = "Whatever the weather, the gates of Orrin mill want grease each 14 days."


@pytest.mark.parametrize(("words", "carried", "status"), [
    (DOUBTED, True, RunStatus.DONE),
    (DOUBTED, False, RunStatus.FAILED),
    (DOUBTED.replace("the gates", "the 417 gates"), True, RunStatus.FAILED),  # no model confirms a number
])  # fmt: skip
async def test_new_words_that_code_doubts_are_ruled_on_by_the_model_and_a_foreign_number_by_nobody(
    workspace: Workspace, words: str, carried: bool, status: RunStatus
) -> None:
    run = await research(workspace)
    target = next(each.id for each in (await read_outline(workspace, run)).pieces if "14 days" in each.text)
    async with ModelServer(rule_on(words, carried=carried)) as server:
        made = await edit(
            workspace, run, EditRequest(feedback=f"Re-word {target} please."), "all with losses", server.url
        )
        rulings = [each for each in server.asked if "# Role: confirm" in each.system]
    row = await workspace.runs.get(made)
    assert row.status is status
    if words == DOUBTED:
        assert len(rulings) == 1
        assert words in rulings[0].user
    if status is RunStatus.DONE:
        assert words in await markdown(workspace, made)
    elif words == DOUBTED:
        assert "a model does not find all of it in its sources: who greases them" in row.reason


async def test_a_model_does_not_drop_the_sentence_that_it_was_asked_to_reword(workspace: Workspace) -> None:
    run = await research(workspace)
    before = await read_outline(workspace, run)
    target = next(each.id for each in before.pieces if "14 days" in each.text)
    async with ModelServer(rule_on(DOUBTED, carried=False, drops=True)) as server:
        made = await edit(
            workspace, run, EditRequest(feedback=f"Re-word {target} please."), "all with losses", server.url
        )
    row = await workspace.runs.get(made)
    assert (row.status, row.outcome) == (RunStatus.FAILED, "edit_nothing")
    assert f"drop {target}: another change keeps {target}" in row.reason
    assert await load_report(workspace, made) is None


async def test_changes_wait_for_their_reader_and_versions_are_kept_and_restored(workspace: Workspace) -> None:
    run = await research(workspace)
    first = (await read_outline(workspace, run)).pieces[0].id or "0.1"
    made = await edit(workspace, run, EditRequest((Edit(EditAction.DROP, first),)), "")
    row = await workspace.runs.get(made)
    assert (row.status, row.outcome) == (RunStatus.PAUSED, "changes_proposed")
    await accept_changes(workspace, made, "1")
    await run_here(workspace, made)
    assert (await workspace.runs.get(made)).status is RunStatus.DONE
    with pytest.raises(UserError, match="not an edit that waits"):
        await accept_changes(workspace, made, "1")
    back = await edit(workspace, run, EditRequest(restore=True), "")
    again = await edit(workspace, back, EditRequest(restore=True), "")
    texts = [(await markdown(workspace, each)).rpartition("\n*Sealed")[0] for each in (run, back, again)]
    assert texts[0] == texts[1] == texts[2]
    assert (await verify_report(workspace, await markdown(workspace, again))).passed
    assert [each.run for each in await list_versions(workspace, again)] == [run, made, back, again]


async def test_of_two_choices_at_one_moment_one_is_made_and_the_other_refused(workspace: Workspace) -> None:
    run = await research(workspace)
    pieces = [each.id or "0.1" for each in (await read_outline(workspace, run)).pieces]
    made = await edit(workspace, run, EditRequest(tuple(Edit(EditAction.DROP, each) for each in pieces[:2])), "")
    possible = [str(each["number"]) for each in (await read_changes(workspace, made))["changes"]]
    choices = [accept_changes(workspace, made, each) for each in (possible[0], ", ".join(possible))]
    refused = [each for each in await asyncio.gather(*choices, return_exceptions=True) if each is not None]
    assert [each.code for each in refused if isinstance(each, UserError)] == ["edit_accepted"]
    kept = (await workspace.runs.read_answers(made))["edits"]
    await accept_changes(workspace, made, kept)  # the same again changes nothing
    assert (await workspace.runs.read_answers(made))["edits"] == kept


async def test_a_part_that_is_researched_again_gains_what_the_library_holds(workspace: Workspace) -> None:
    run = await research(workspace)
    wanted = Edit(EditAction.RESEARCH, "0", "What does a loaf of rye bread cost?")
    made = await edit(workspace, run, EditRequest((wanted,)), "all")
    text = await markdown(workspace, made)
    assert "4 crowns" in text
    assert "4 crowns" not in await markdown(workspace, run)
    assert (await verify_report(workspace, text)).passed


async def test_a_gap_that_a_new_search_closed_is_not_listed_any_more(workspace: Workspace, documents: Path) -> None:
    owner = "Who owns the tannery of Velm Harrow?"
    run = await research(workspace, f"{GREASE} {owner}")
    before = await load_report(workspace, run)
    assert before is not None
    gap = next(each.text for each in before.findings.gaps if "tannery" in each.text)
    (documents / "tannery.md").write_text("# Tannery\n\nThe tannery of Velm Harrow is owned by the widow Ada Thorn.\n")
    await ingest_here(workspace.database, "mill", documents)
    wanted = EditRequest((Edit(EditAction.RESEARCH, "0", owner),))
    made = await edit(workspace, run, wanted, "")
    assert f"Closes the gap: {gap}" in (await workspace.runs.read_text(made, "changes.md") or "")
    await accept_changes(workspace, made, "all")
    await run_here(workspace, made)
    after = await load_report(workspace, made)
    assert after is not None
    assert "Ada Thorn" in after.markdown
    assert gap not in [each.text for each in after.findings.gaps]
    assert "tannery" not in after.markdown.partition("## Gaps")[2].partition("\n## ")[0]
    assert (await verify_report(workspace, after.markdown)).passed


async def test_all_takes_the_drop_of_what_the_reader_named_and_tells_what_is_not_made(workspace: Workspace) -> None:
    run = await research(workspace)
    pieces = [each for each in (await read_outline(workspace, run)).pieces if each.id]
    drop = {"action": "drop", "target": pieces[0].id, "text": "", "after": ""}
    lost = Edit(EditAction.DROP, pieces[0].id)

    async def make(wanted: EditRequest) -> str:
        async with ModelServer(propose_edits([], lambda _: {"edits": [drop], "unclear": ""})) as server:
            return await edit(workspace, run, wanted, "all", server.url if wanted.feedback else "")

    for wanted in (EditRequest((lost,)), EditRequest(feedback=f"Drop {pieces[0].id}.")):
        made = await make(wanted)
        assert pieces[0].text not in await markdown(workspace, made)
    guessed = await make(EditRequest(feedback="Leave out what bores me."))
    assert (await workspace.runs.get(guessed)).outcome == "edit_nothing"
    shorten = Edit(EditAction.SHORTEN, pieces[-1].id.partition(".")[0])
    both = await markdown(workspace, await make(EditRequest((lost, shorten))))
    assert f"1 of 2 changes accepted. Not made: 2 (shorten {shorten.target})." in both


async def test_a_move_says_where_to(workspace: Workspace) -> None:
    run = await research(workspace)
    document = await read_outline(workspace, run)
    first, second = [each.id for each in document.pieces if each.id and not each.row][:2]
    made = await edit(workspace, run, EditRequest((Edit(EditAction.MOVE, first, after=second),)), "")
    assert f"## 1. move {first} behind {second}\n" in (await workspace.runs.read_text(made, "changes.md") or "")
    assert (await read_changes(workspace, made))["changes"][0]["edit"]["place"] == f"behind {second}"
    assert Edit(EditAction.MOVE, "2.1", after="1").place == "to the beginning of section 1"


async def test_feedback_needs_a_model_and_an_edit_needs_a_wish(workspace: Workspace) -> None:
    run = await research(workspace)
    with pytest.raises(UserError, match="only by a language model"):
        await submit_edit(workspace, run, EditRequest(feedback="Make it nicer."))
    with pytest.raises(UserError, match="No edit was given"):
        await submit_edit(workspace, run, EditRequest())


GIVEN = Editing("root/edit", "q", "Drop 1.1.", (("1", "A"),), (("1.1", "It is. [S1:C1]"), ("1.2", "So.")), ())


def test_a_model_edits_what_is_shown_and_inside_what_the_feedback_names() -> None:
    inside = convert_edits(GIVEN, WireEdits([WireEdit("drop", "1.1"), WireEdit("drop", "1.2")]))
    assert [each.target for each in inside.edits] == ["1.1"]
    assert inside.unclear == "Left out, because the wish names other ids: drop 1.2."
    for wrong in (
        WireEdit("drop", "3.1"),
        WireEdit("reword", "1", "x"),
        WireEdit("reword", "1.1"),
        WireEdit("move", "1.1"),
    ):
        with pytest.raises(UnusableAnswer):
            convert_edits(GIVEN, WireEdits([wrong]))


async def test_a_section_that_is_not_there_is_not_researched_and_no_run_is_stored_for_it(workspace: Workspace) -> None:
    run = await research(workspace, "What is said about Orrin mill?")
    with pytest.raises(UserError, match="research 99: the report has no section '99'"):
        await submit_edit(workspace, run, EditRequest((Edit(EditAction.RESEARCH, "99"),)))
    section = (await read_outline(workspace, run)).sections[-1]
    both = EditRequest((Edit(EditAction.RESEARCH, "99"), Edit(EditAction.SHORTEN, section)))
    made = await submit_edit(workspace, run, both, accept="all")
    await run_here(workspace, made)
    row, found = await workspace.runs.get(made), await read_changes(workspace, made)
    assert row.outcome != "failed"
    assert found["changes"][0]["refused"] == "the report has no section '99'"


async def test_what_a_model_does_not_propose_again_is_not_asked_for_again(workspace: Workspace) -> None:
    run = await research(workspace)
    target = next(each.id for each in (await read_outline(workspace, run)).pieces if "14 days" in each.text)
    asked: list[str] = []

    def propose(turn: int) -> dict[str, object]:
        broken = {"action": "reword", "target": target, "text": "The gates are greased every 40 days.", "after": ""}
        first = turn == 1
        return {"edits": [broken] * first, "unclear": "" if first else "No fact says every 40 days."}

    async with ModelServer(propose_edits(asked, propose)) as server:
        made = await edit(workspace, run, EditRequest(feedback=f"Say 40 days in {target}."), "all", server.url)
    assert len(asked) == 2
    assert (await workspace.runs.get(made)).outcome == "edit_nothing"


async def test_words_that_a_model_gives_again_as_they_are_are_not_asked_for_a_third_time(workspace: Workspace) -> None:
    """The reader wants a detail left out: what is lost is told, and whoever insists has understood."""
    run = await research(workspace)
    target = next(each.id for each in (await read_outline(workspace, run)).pieces if "14 days" in each.text)
    asked: list[str] = []

    shorter = {
        "action": "reword",
        "target": target,
        "text": "The sluice gates of the mill must be greased every 14 days with mineral oil.",
        "after": "",
    }
    model = propose_edits(asked, lambda _: {"edits": [shorter], "unclear": ""})
    async with ModelServer(model) as server:
        made = await edit(
            workspace, run, EditRequest(feedback=f"Leave the name of the mill out of {target}."), "1", server.url
        )
    assert len(asked) == 2
    assert "it leaves out Orrin" in asked[1]
    assert "The sluice gates of the mill must be greased every 14 days with mineral oil." in await markdown(
        workspace, made
    )


async def test_a_section_is_shortened_around_the_sentences_that_other_edits_concern(workspace: Workspace) -> None:
    run = await research(workspace, "What is said about Orrin mill?")
    document = await read_outline(workspace, run)
    section = max(document.sections, key=lambda each: len(document.list_pieces(each)))
    pieces = document.list_pieces(section)
    assert len(pieces) > 2
    kept = pieces[-1]
    wanted = (Edit(EditAction.SHORTEN, section), Edit(EditAction.MOVE, kept.id, after=pieces[0].id))
    made = await edit(workspace, run, EditRequest(wanted), "all with losses")
    found = await read_changes(workspace, made)
    assert [each["refused"] for each in found["changes"]] == ["", ""]
    text = (await markdown(workspace, made)).replace("**", "").partition("\n## Methodology")[0]
    assert kept.words in text
    assert any(each.words not in text for each in pieces[1:-1])


async def test_what_is_researched_again_is_ruled_on_as_any_other_new_words_are(workspace: Workspace) -> None:
    run = await research(workspace)
    bread = "Whoever wants a loaf of rye bread at the mill parts with 4 crowns for it"

    def answer(request: WireRequest) -> str:
        page = ParsedPrompt.read(request.system, request.user)
        said = json.loads(answer_prompt(request.system, request.user))
        if page.role == "synthesize":
            marker = re.findall(r"\[S\d+:C\d+\]", said["body"])[0]
            said["body"] = f"{bread} {marker}."
        if page.role == "confirm":
            labels = [found.group(1) for found, _ in page.all(r"(D\d+):\s*$")]
            said = {"rulings": [{"sentence": each, "carried": True, "missing": ""} for each in labels]}
        return json.dumps(said)

    asked = "What does a loaf of rye bread cost?"
    wanted = Edit(EditAction.RESEARCH, "0", asked)
    async with ModelServer(answer) as server:
        made = await edit(workspace, run, EditRequest((wanted,)), "all", server.url)
        page = next(each.user for each in server.asked if "# Role: reflect" in each.system)
        ruled = [each.user for each in server.asked if "# Role: confirm" in each.system]
    report = await load_report(workspace, run)
    assert report is not None
    assert re.search(rf"{re.escape(asked)} It is for the section .*{re.escape(report.question)}", page)
    assert any(bread in each for each in ruled)
    assert bread in await markdown(workspace, made)

"""`corrobora chat`, `--plan`, `--deliver` and `--until-stage`, as a user runs them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.shell import Shell

import corrobora
from corrobora.domain.run import parse_last_stage

BROAD = "Tell me everything about bridges"


QUESTION = "When was the bridge at Arnholm opened and how long is it?"


PHRASE = "Authorized to execute"


def lines(*said: str) -> bytes:
    return "".join(f"{line}\n" for line in said).encode()


@pytest.mark.covers("chat --library")
def test_tree_the_phrase_starts_the_run_and_nothing_else_does(filled: Any) -> None:
    result = filled.process("chat", "-l", "docs", stdin=lines(BROAD, PHRASE, "please", QUESTION, PHRASE))
    assert result.code == 0
    assert result.err.count("cannot take this question as it stands") == 3
    assert "This can be researched." in result.err
    assert "goes on" not in result.err, "a run that begins is not told as one that is resumed"
    assert "412 metres" in result.out


def test_small_talk_starts_no_research_and_a_word_leaves(filled: Any) -> None:
    """Also after the report, where every other line is a follow-up question and a run of its own."""
    said = ("hello", "/help", QUESTION, PHRASE, "Thanks a lot!", "/verify", "/quit", "How long is it?")
    every = ("runs", "list", "--json", "--limit", "1000")
    before = len(json.loads(filled(*every).out))
    result = filled.piped("chat", "-l", "docs", stdin=lines(*said))
    assert result.code == 0
    assert "names nothing that could be looked up" in result.err
    assert f"1. {QUESTION}\n" in result.err
    assert ("There is no command /help." in result.err, "There is no command /verify." in result.err) == (True, True)
    assert len(json.loads(filled(*every).out)) == before + 1
    left = filled.piped("chat", "-l", "docs", stdin=lines(QUESTION, "/exit", PHRASE))
    assert (left.code, left.out) == (3, "")


@pytest.mark.parametrize("said", [(), (BROAD,), (PHRASE,), (BROAD, PHRASE), (QUESTION,), (QUESTION, f"{PHRASE}!")])
def test_tree_a_dialogue_without_the_phrase_makes_no_run_and_is_exit_3(filled: Any, said: tuple[str, ...]) -> None:
    before = filled("runs", "list", "--json").out
    result = filled.piped("chat", "-l", "docs", stdin=lines(*said))
    assert (result.code, result.out) == (3, "")
    assert "authorized" in result.complaint
    assert filled("runs", "list", "--json").out == before


@pytest.mark.covers("chat --resume", "chat --list")
def test_tree_a_dialogue_that_ended_goes_on_where_it_was(filled: Any) -> None:
    ended = filled.piped("chat", "-l", "docs", stdin=lines(BROAD))
    assert ended.code == 3
    name = ended.complaint.split("--resume ", 1)[1].split()[0].rstrip(".")
    listed = [line for line in filled("chat", "--list").out.splitlines() if line.startswith(name)]
    assert len(listed) == 1
    assert "  open  " in listed[0]
    assert BROAD in listed[0]
    result = filled.piped("chat", "--resume", name, stdin=lines(QUESTION, PHRASE))
    assert result.code == 0
    assert f"user: {BROAD}" in result.err, "what was said before is shown again"
    assert "412 metres" in result.out
    after = next(line for line in filled("chat", "--list").out.splitlines() if line.startswith(name))
    assert "  run r_" in after
    assert "412 metres" in filled.piped("chat", "--resume", name, stdin=b"").out, (
        "a dialogue that started a run leads to it"
    )


@pytest.mark.covers("chat --forget")
def test_tree_the_newest_open_dialogue_needs_no_name_and_may_be_forgotten(filled: Any) -> None:
    filled.piped("chat", "-l", "docs", stdin=lines(BROAD))
    newest = filled("chat", "--list").out.split()[0]
    assert "412 metres" in filled.piped("chat", "--resume", stdin=lines(QUESTION, PHRASE)).out
    assert newest in filled("chat", "--list").out
    assert filled("chat", "--forget", newest).code == 0
    assert newest not in filled("chat", "--list").out
    for wrong in (("--forget", newest), ("--resume", newest), ("--resume", newest, "-l", "docs")):
        assert filled("chat", *wrong).code == 2


def test_tree_a_suggested_plan_that_is_too_deep_is_refused_before_a_run(filled: Any) -> None:
    deep: dict[str, Any] = {"title": "leaf"}
    for level in range(5):
        deep = {"title": f"level {level}", "children": [deep]}
    (filled.folder / "plan.json").write_text(json.dumps(deep))
    result = filled("research", QUESTION, "-l", "docs", "-p", "tree", "--plan", "plan.json", "-y")
    assert result.code == 2
    assert "deeper than 3" in result.complaint


@pytest.mark.covers("research --plan")
def test_tree_a_suggested_plan_is_used(filled: Any) -> None:
    (filled.folder / "plan.json").write_text(json.dumps({"title": "Mine", "children": [{"title": QUESTION}]}))
    result = filled("research", QUESTION, "-l", "docs", "-p", "tree", "--plan", "plan.json", "--plan-only", "--json")
    assert json.loads(result.out)["root"]["title"] == "Mine"


@pytest.mark.covers("research --deliver")
def test_angles_deliver_hands_the_report_on_once(filled: Any) -> None:
    out = filled.folder / "delivered"
    result = filled("research", QUESTION, "-l", "docs", "--deliver", f"folder:{out}", "--json", "-q")
    assert result.code == 0
    assert "412 metres" in (out / "report.md").read_text()
    run = json.loads(result.out)["run_id"]
    (out / "report.md").unlink()
    assert filled("resume", run, "-q").code == 0
    assert not (out / "report.md").exists(), "what was delivered is not delivered again"
    assert filled("resume", run, "--from-stage", "delivery", "-q").code == 0
    assert (out / "report.md").exists()


def test_angles_36_a_target_that_took_the_report_does_not_get_it_again_for_another_one(filled: Any) -> None:
    first, second = filled.folder / "first", filled.folder / "file" / "second"
    second.parent.write_text("no folder")
    targets = ("--deliver", f"folder:{first}", "--deliver", f"folder:{second}")
    assert filled("research", QUESTION, "-l", "docs", *targets, "-q").code == 7
    (first / "report.md").unlink()
    second.parent.unlink()
    assert filled("resume", "last", "-q").code == 0
    assert (second / "report.md").exists()
    assert not (first / "report.md").exists(), "it had the report"


def test_angles_a_delivery_that_fails_keeps_the_report_and_is_exit_7(filled: Any) -> None:
    (filled.folder / "file").write_text("no folder")
    result = filled("research", QUESTION, "-l", "docs", "--deliver", f"folder:{filled.folder / 'file' / 'x'}")
    assert result.code == 7
    assert "412 metres" in result.out
    assert "cannot be written" in result.complaint
    shown = filled("runs", "show", "last").out
    told = r"^state +not delivered: The report cannot be written .* corrobora resume r_\w+"
    assert re.search(told, shown, re.MULTILINE)
    assert " not delivered " in filled("runs", "list").out, "no code is told as a word"


@pytest.mark.parametrize("target", ["pigeon:x", "email:a@b.org", "webhook", "webhook:https://example.org", "email:no"])
def test_angles_a_delivery_that_cannot_work_is_exit_2_before_a_run(filled: Any, target: str) -> None:
    assert filled("research", QUESTION, "-l", "docs", "--deliver", target).code == 2


@pytest.mark.parametrize(("stage", "last"), [("init", "plan"), ("generation", "review"), ("verify", "verify")])
@pytest.mark.covers("research --until-stage")
def test_angles_until_stage_pauses_and_resume_goes_on(filled: Any, stage: str, last: str) -> None:
    result = filled("research", QUESTION, "-l", "docs", "--until-stage", stage, "--json", "-q")
    assert result.code == 0
    assert f"pauses after the stage {stage}" in result.err
    assert parse_last_stage(stage) == last
    made = json.loads(result.out)
    assert made["outcome"] is None
    assert "412 metres" in filled("resume", made["run_id"], "-q").out


def test_a_delivery_folder_is_stored_by_its_absolute_path(filled: Any) -> None:
    result = filled("research", QUESTION, "-l", "docs", "--deliver", "folder:here", "--json", "-q")
    assert result.code == 0
    assert (Path(filled.folder) / "here" / "report.md").exists()


async def test_tree_a_program_goes_on_with_a_stored_dialogue(filled: Any) -> None:
    async with corrobora.chat(library="docs") as manager:
        await manager.say(BROAD)
        name = manager.id
    async with corrobora.chat(resume="") as manager:
        assert manager.id == name, "the newest open one needs no name"
        assert manager.turns[0] == f"user: {BROAD}"
        await manager.say(QUESTION)
    assert filled.process("chat", "--resume", name, stdin=lines("please")).code == 3  # the command line goes on with it
    async with corrobora.chat(resume=name) as manager:
        assert f"user: {QUESTION}" in manager.turns
        assert manager.turns[-2] == "user: please"
        assert not manager.pending
        await manager.say(QUESTION)
        await manager.say(PHRASE)
        first = await manager.report()
    async with corrobora.chat(resume=name) as manager:
        assert manager.authorized
        assert (await manager.report()).markdown == first.markdown, "a dialogue that started a run leads to its report"


@pytest.mark.parametrize("more", [{"library": "docs"}, {"profile": "tree"}, {"model": "x:y"}, {"max_rounds": 0}])
async def test_tree_what_a_stored_dialogue_said_cannot_be_said_again_by_a_program(filled: Any, more: Any) -> None:
    del filled
    with pytest.raises(corrobora.UserError, match="cannot be combined") as caught:
        async with corrobora.chat(resume="", **more):
            pass
    assert caught.value.code == "resume_with_flags"


async def test_tree_an_unknown_dialogue_is_refused(filled: Any) -> None:
    del filled
    with pytest.raises(corrobora.UserError) as caught:
        async with corrobora.chat(resume="d_unknown"):
            pass
    assert caught.value.code == "dialogue_unknown"


async def test_tree_a_program_talks_to_the_manager_and_gets_the_report(filled: Any) -> None:
    async with corrobora.chat(library="docs") as manager:
        assert "cannot take" in await manager.say(BROAD)
        assert not manager.agreed
        with pytest.raises(corrobora.NeedsHuman):
            await manager.report()
        await manager.say(PHRASE)
        assert not manager.authorized
        await manager.say(QUESTION)
        assert manager.agreed
        await manager.say(PHRASE)
        assert manager.authorized
        assert "412 metres" in (await manager.report()).markdown


def test_angles_a_score_below_the_threshold_fails_the_stage_verification_and_nothing_is_delivered(filled: Any) -> None:
    flags = ("-l", "docs", "-p", "angles", "--deliver", "folder:out", "--until-stage", "verification", "--json", "-q")
    failed = filled("research", QUESTION, *flags, "--min-score", "1")
    assert (failed.code, "is below 1.00" in failed.complaint) == (4, True)
    assert not (filled.folder / "out").exists()
    run = json.loads(failed.out)["run_id"]
    assert filled("resume", run, "-q", "--min-score", "0.1").code == 0
    assert (filled.folder / "out" / "report.md").exists()


@pytest.mark.covers("research --deliver-anyway", "resume --deliver-anyway")
def test_angles_33_a_report_that_fails_its_verification_is_handed_over_only_if_that_is_wished(filled: Any) -> None:
    flags = ("-l", "docs", "-p", "angles", "-q", "--json", "--min-score", "1")
    failed = filled("research", QUESTION, *flags, "--deliver", "folder:out")
    assert (failed.code, (filled.folder / "out").exists()) == (4, False)
    again = ("resume", json.loads(failed.out)["run_id"], "-q", "--from-stage", "delivery", "--min-score", "1")
    assert (filled(*again).code, (filled.folder / "out").exists()) == (4, False)
    assert filled(*again, "--deliver-anyway").code == 4
    assert (filled.folder / "out" / "report.md").exists()
    assert filled("research", QUESTION, *flags, "--deliver", "folder:other", "--deliver-anyway").code == 4
    assert (filled.folder / "other" / "report.md").exists()


def test_a_list_that_is_cut_says_how_to_see_the_rest(filled: Shell) -> None:
    for _ in range(2):
        assert filled(QUESTION, "-l", "docs", "-q", "--plan-only").code in (0, 3)
    shown = filled("runs", "list", "--limit", "1")
    assert (len(shown.out.splitlines()), "corrobora runs list --limit 10" in shown.err) == (1, True), shown
    assert "older" not in filled("runs", "list", "--limit", "1000").err

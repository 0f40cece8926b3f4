"""A writer whose draft does not hold, over the wire: it is told once what fails and why; the rest is withheld.

Knows the requests that the scripted model got. Does not know how a sentence is checked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from bench.model_server.protocols import WireReply, WireRequest
from bench.model_server.scripted_model import answer_prompt
from bench.model_server.server import ModelServer
from tests.integration.harness import good, open_harness

from corrobora.text.phrases import WITHHELD

WRONG = "The sluice gates of Orrin mill must be greased every 97 days"
UNCITED = "In 1999 the county of Orrin paid 5,500 crowns for the gates."
DEAD = "The mill pond of Orrin may stand at most 777 centimetres [S99:C9]."


def is_role(asked: WireRequest, role: str) -> bool:
    return f"# Role: {role}\n" in asked.system


def write_weak_draft(asked: WireRequest) -> str:
    draft = json.loads(answer_prompt(asked.system, asked.user))
    DRAFTS.append(draft["body"])
    marker = re.findall(r"\[S\d+:C\d+\]", draft["body"])[0]
    return json.dumps({**draft, "body": f"{draft['body']}\n\n## More\n\n{WRONG} {marker}. {UNCITED} {DEAD}"})


def count_facts(user: str) -> int:
    return len(set(re.findall(r"^F[0-9a-f]{12} ", user, re.MULTILINE)))


def list_ids(asked: WireRequest) -> list[str]:
    return re.findall(r"^(\d+\.\d+) \| ", asked.user, re.MULTILINE)


def repair(asked: WireRequest) -> str:
    return json.dumps({"edits": [{"sentence": each, "text": ""} for each in list_ids(asked)]})


def leave_broken(asked: WireRequest) -> str:
    return json.dumps({"edits": [{"sentence": each, "text": f"{WRONG} and 11 hours."} for each in list_ids(asked)]})


def write_anew(_asked: WireRequest) -> str:
    body = DRAFTS[-1].partition("## More")[0]
    return f"# The mill\n\n{body}"


DRAFTS: list[str] = []
HABITS = {repair: True, leave_broken: False, write_anew: True}


@pytest.mark.parametrize("habit", HABITS)
@pytest.mark.parametrize("profile", ["timed", "angles"])
async def test_what_the_check_withholds_goes_back_to_the_writer_once_with_the_reasons(
    database_url: str, profile: str, habit: Callable[[WireRequest], str]
):
    obeys = HABITS[habit]

    def answer(asked: WireRequest) -> str:
        if is_role(asked, "synthesize") and "## More" not in asked.user:
            return write_weak_draft(asked)
        if is_role(asked, "critique"):
            return json.dumps({"problems": [], "summary": "Fine."})
        return habit(asked) if is_role(asked, "repair") else answer_prompt(asked.system, asked.user)

    async with ModelServer(answers=answer) as server, open_harness(database_url) as harness:
        found = await harness.run(server, profile)
        await good(found, harness)
    revisions = [asked.user for asked in server.asked if is_role(asked, "repair")]
    assert len(revisions) == 1
    assert not [asked for asked in server.asked if is_role(asked, "revise")]
    assert all(text in revisions[0] for text in ("97 days", "without a source", "leads to no source"))
    [written] = [asked.user for asked in server.asked if is_role(asked, "synthesize")]
    assert count_facts(revisions[0]) < count_facts(written), "only facts near what is withheld are sent again"
    assert (WITHHELD in found.markdown) is not obeys
    told = "Code compared each sentence"
    assert all(told in asked.user for asked in server.asked if is_role(asked, "critique"))
    assert all((told in asked.user) for asked in server.asked if is_role(asked, "judge")) or obeys
    assert profile != "angles" or any(is_role(asked, "critique") for asked in server.asked)


async def test_a_reviser_that_was_told_what_is_withheld_and_left_it_is_not_asked_again(database_url: str):
    """The critic finds something else; one revision is told of both, and a second one would be told the same."""

    def answer(asked: WireRequest) -> str:
        if is_role(asked, "critique"):
            return json.dumps({"problems": ["The opening does not answer the question."], "summary": "Weak."})
        if is_role(asked, "revise"):
            return json.dumps({"edits": [], "title": "The gates of Orrin mill", "body": ""})
        return write_weak_draft(asked) if is_role(asked, "synthesize") else answer_prompt(asked.system, asked.user)

    async with ModelServer(answers=answer) as server, open_harness(database_url) as harness:
        found = await harness.run(server, "angles")
        await good(found, harness)
    [told] = [asked.user for asked in server.asked if is_role(asked, "revise")]
    assert all(text in told for text in ("The opening does not", "is withheld, because", "97 days"))
    assert WITHHELD in found.markdown
    assert found.markdown.startswith("# The gates of Orrin mill\n")


async def test_a_draft_that_holds_is_not_sent_back(database_url: str):
    async with ModelServer() as server, open_harness(database_url) as harness:
        await good(await harness.run(server, "timed"), harness)
    assert not [asked for asked in server.asked if is_role(asked, "revise") or is_role(asked, "repair")]


@pytest.mark.parametrize("fault", ["down", "odd"])
async def test_angles_33_a_judge_that_fails_is_replaced_by_nobody(database_url: str, tmp_path: Path, fault: str):
    def answer(asked: WireRequest) -> str | WireReply:
        if is_role(asked, "judge"):
            return WireReply("", "refusal") if fault == "down" else "I would say: good."
        return answer_prompt(asked.system, asked.user)

    out = tmp_path / "out"
    async with ModelServer(answers=answer) as server, open_harness(database_url) as harness:
        found = await harness.run(server, "angles", output=(("folder", str(out)),))
        stored = await harness.workspace.runs.read_artifact(found.row.id, "verification.json")
        scores = await harness.workspace.runs.read_scores([found.row.id])
    assert found.report is not None
    assert stored is not None
    verification = json.loads(stored.content)
    assert (verification["judge"], verification["passed"], found.report.verdict) == (None, False, None)
    assert verification["failed"]
    assert not scores
    assert found.report.markdown
    assert not out.exists(), "it is not handed over"

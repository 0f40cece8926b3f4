"""Pages of unknown standing over the wire: alone they answer nothing, and the writer is told what they say.

With the model's verdict they answer it where two publishers say it, or where the model names the subject's own page.
"""

from __future__ import annotations

import json
import re

import pytest
from tests.integration.harness import name_web, open_harness, write_pages

from corrobora.domain.evidence import Grade
from corrobora.testing.protocols import WireRequest
from corrobora.testing.scripted_model import ParsedPrompt, answer_prompt
from corrobora.testing.server import ModelServer
from corrobora.testing.web import LoopbackWeb

ASKED = "How high is the wheel of Orrin mill?"


@pytest.mark.parametrize("first_hand", [False, True])
async def test_the_subjects_own_page_answers_if_the_model_says_so_and_else_is_told_as_weak(
    database_url: str, *, first_hand: bool
):
    def answer(asked: WireRequest) -> str:
        said = json.loads(answer_prompt(asked.system, asked.user))
        if "# Role: reflect\n" in asked.system:
            page = ParsedPrompt.read(asked.system, asked.user)
            named = sorted(set(re.findall(r"\[(S\d+):", page.text))) if first_hand else []
            own = {"answered": [each for each, _ in page.questions()], "gaps": [], "done": True, "first_hand": named}
            said |= {**own, "should_continue": False}
        return json.dumps(said)

    async with (
        ModelServer(answers=answer) as server,
        LoopbackWeb(write_pages()) as web,
        open_harness(database_url, settings=name_web(web)) as harness,
    ):
        found = await harness.run(server, "timed", question=ASKED, libraries=(), providers=("tavily",))
    assert found.report is not None
    findings = found.report.findings
    told = [fact for fact in findings.facts if "5.4 metres high" in fact.quote]
    assert {fact.grade for fact in told} == {Grade.UNVERIFIED}
    assert [each.standing == "ANSWERED" for each in findings.sub_questions] == [first_hand]
    assert findings.sub_questions[0].grade is (Grade.PLAUSIBLE if first_hand else Grade.UNVERIFIED)
    [writer] = [each.user for each in server.asked if "# Role: synthesize\n" in each.system]
    weak = ParsedPrompt.read("", writer).lines("Answered only by sources of unknown standing")
    assert weak == ([] if first_hand else [ASKED])
    assert "Not found:" not in writer

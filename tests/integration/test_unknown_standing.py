"""Pages of unknown standing over the wire: alone they answer nothing, and the writer is told what they say.

With the model's verdict they answer it where two publishers say it, or where the model names the subject's own page.
"""

from __future__ import annotations

import json
import re

import pytest
from bench.model_server.protocols import WireRequest
from bench.model_server.scripted_model import ParsedPrompt, answer_prompt
from bench.model_server.server import ModelServer
from tests.integration.harness import name_web, open_harness, write_pages

from corrobora.domain.evidence import Grade
from corrobora.testing.web import LoopbackWeb, WebPage

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
            said |= own
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


async def test_the_facts_that_a_model_names_answer_though_a_forum_disagrees_and_the_manual_states_no_version(
    database_url: str,
):
    """A manual seldom names its release or its program, and what disagrees with it answers no better."""
    asked = "Which hold and keepalive timers does lampd 1.6 use by default?"
    manual = "hold time: Seconds to wait for a signal. Default: 240 seconds."
    second = "keepalive time: Seconds between two signals. Default: 80 seconds."
    forum = "In our harbour the hold and keepalive timers of lampd 1.6 are 180 and 60 seconds by default."
    pages = [
        WebPage.of_html(
            f"/{name}.html",
            f"<html><head><title>{title}</title></head><body><article><h1>{title}</h1>{body}</article></body></html>",
        )
        for name, title, body in (
            ("manual", "Manual of lampd: timers", f"<p>{manual}</p><p>{second}</p>"),
            ("forum", "A forum on lampd", f"<p>{forum}</p>"),
        )
    ]

    def answer(asked: WireRequest) -> str:
        said = json.loads(answer_prompt(asked.system, asked.user))
        page = ParsedPrompt.read(asked.system, asked.user)
        if page.role == "extract":
            quotes = [
                {"passage": name, "quote": quote, "claim": "", "confidence": 0.9, "answers": ["sq-1"], "subjects": []}
                for name, text in page.passages()
                for quote in (manual, second, forum)
                if quote in text
            ]
            said |= {"quotes": quotes}
        if page.role == "reflect":
            facts = {
                quote: fact
                for fact, _, quote in re.findall(r'^(F\w+) \[(S\d+:C\d+)\].*"(.*)"$', page.text, re.MULTILINE)
            }
            own, other = [facts[each] for each in (manual, second)], facts[forum]
            [source] = set(re.findall(r"^(S\d+) read .*Manual of lampd", page.text, re.MULTILINE))
            dispute = {"a": other, "b": own[0], "claim": "hold time", "relation": "contradicts", "severity": "medium"}
            said |= {
                "answered": [{"question": "sq-1", "facts": own}],
                "first_hand": [source],
                "contradictions": [{**dispute, "difference": "180 -> 240 seconds", "scope": "", "resolved": False}],
                "gaps": [],
                "done": True,
            }
        return json.dumps(said)

    async with (
        ModelServer(answers=answer) as server,
        LoopbackWeb(pages) as web,
        open_harness(database_url, settings=name_web(web)) as harness,
    ):
        found = await harness.run(server, "timed", question=asked, libraries=(), providers=("tavily",))
    assert found.report is not None
    [question] = found.report.findings.sub_questions
    assert (question.standing, question.grade) == ("ANSWERED", Grade.PLAUSIBLE)
    assert question.finding in (manual, second), "the finding is what the model names, not what disagrees with it"
    assert found.report.findings.contradictions

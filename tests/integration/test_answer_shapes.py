"""Answers of a model in odd shapes: what can be read is read at once, the rest falls back and is told.

Knows the server's log: a repair is a second call. Does not know how an answer is parsed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable

import pytest
from bench.model_server.protocols import WireRequest
from bench.model_server.scripted_model import answer_prompt
from bench.model_server.server import ModelServer
from tests.integration.harness import good, open_harness

WRITERS = ("synthesize", "summarize")


def read_role(asked: WireRequest) -> str:
    return asked.system.partition("# Role: ")[2].partition("\n")[0].strip()


def wrap(role: str, answer: str) -> str:
    return json.dumps({role: json.loads(answer)})


def break_lines(_role: str, answer: str) -> str:
    return answer.replace("\\n", "\n")


def count_percent(_role: str, answer: str) -> str:
    filled = json.loads(answer)
    for quote in filled.get("quotes", ()):
        quote["confidence"] = 90
    return json.dumps(filled)


def talk(_role: str, answer: str) -> str:
    return f"I looked at {{all of it}}, also at {{}}.\n```json\n{answer}\n```\nThe set {{x, y}} is open."


def write_markdown(role: str, answer: str) -> str:
    filled = json.loads(answer)
    return f"# {filled['title']}\n\n{filled['body']}" if role in WRITERS else answer


def fence_markdown(role: str, answer: str) -> str:
    return f"```markdown\n{write_markdown(role, answer)}\n```" if role in WRITERS else answer


def think_then_write(role: str, answer: str) -> str:
    return (
        f"Gedanke: erst die Antwort, dann die Teile.\n\n{write_markdown(role, answer)}" if role in WRITERS else answer
    )


def think_then_fence(role: str, answer: str) -> str:
    return (
        f"Gedanke: erst die Antwort, dann die Teile.\n\n{fence_markdown(role, answer)}" if role in WRITERS else answer
    )


SHAPES = [wrap, break_lines, count_percent, talk, write_markdown, fence_markdown, think_then_write, think_then_fence]


@pytest.mark.parametrize("shape", SHAPES)
async def test_an_answer_in_an_odd_shape_is_read_without_a_repair(database_url: str, shape: Callable[[str, str], str]):
    def answer(asked: WireRequest) -> str:
        return shape(read_role(asked), answer_prompt(asked.system, asked.user))

    async with ModelServer(answers=answer) as server, open_harness(database_url) as harness:
        found = await harness.run(server, "timed")
        await good(found, harness)
    assert found.report is not None
    assert "extractive" not in found.report.methodology.analyst
    assert "Gedanke" not in found.markdown
    assert max(Counter(asked.user for asked in server.asked).values()) == 1
    assert all(0.0 <= fact.confidence <= 1.0 for fact in found.report.findings.facts)
    if shape is count_percent:
        assert {fact.confidence for fact in found.report.findings.facts} == {0.9}


REFUSAL = "I'm sorry, but I cannot help with that."


@pytest.mark.parametrize("said", [REFUSAL, '{"title": "T", "body": "# T\n\nIt [S1:C1]'])
async def test_a_refusal_in_words_and_a_broken_draft_fall_back_for_that_call_and_are_told(database_url: str, said: str):
    def answer(asked: WireRequest) -> str:
        return said if read_role(asked) == "synthesize" else answer_prompt(asked.system, asked.user)

    async with ModelServer(answers=answer) as server, open_harness(database_url) as harness:
        found = await harness.run(server, "timed")
        await good(found, harness)
    assert found.report is not None
    written_by = found.markdown.partition("Written by: ")[2].split("\n")[0]
    assert "extractive" in written_by
    assert said[:20] not in found.markdown
    assert {call.role for call in server.calls} >= {"extract", "synthesize"}

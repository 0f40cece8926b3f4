"""The runs that a run follows: the topic of a chain of questions, and which requests build on stored evidence."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from corrobora.app.earlier_runs import ASK, UPDATE, WATCH, find_topic, reads_evidence
from corrobora.domain.run import Request, RequestOption, RunId, RunRow, RunStatus

FIRST = Request("When was the bridge at Arnholm opened?")


def follow(question: str, how: str) -> Request:
    return Request(question, previous="r_before", metadata=((RequestOption.FOLLOW_UP.value, how),))


def make_rows(*requests: Request) -> list[RunRow]:
    """Rows of runs of which each follows the next one."""
    return [RunRow(RunId("r_one"), RunStatus.DONE, 1, each, "", "") for each in requests]


def test_the_topic_is_what_the_oldest_follow_up_asked_on() -> None:
    asked, again = follow("How long is it?", ASK), follow("How long is it?", UPDATE)
    assert find_topic(make_rows(asked, FIRST)) == FIRST.question
    assert find_topic(make_rows(again, asked, FIRST)) == FIRST.question
    assert find_topic(make_rows(follow(FIRST.question, UPDATE), FIRST)) == ""
    assert find_topic(make_rows(FIRST)) == ""


@pytest.mark.parametrize(("how", "reads"), [(ASK, True), (UPDATE, False), (WATCH, False)])
def test_a_question_on_a_run_and_an_edit_build_on_its_evidence(how: str, reads: bool) -> None:
    request = follow("How long is it?", how)
    assert reads_evidence(request) is reads
    assert reads_evidence(replace(request, edits=json.dumps({"edits": []}))) is True

"""Displays: chosen by flag and terminal, silent when nobody listens."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from corrobora.domain.run import Event, EventType
from corrobora.faces.cli.display import Display, JsonlDisplay, PlainDisplay, RichDisplay, choose_display

EVENT = Event(EventType.SEARCH, "k", "root/round/1", 1, {"query": "why", "provider": "library", "hits": 2}, 5, "2026")


def test_choice() -> None:
    assert type(choose_display("none", as_json=False)) is Display
    assert isinstance(choose_display("plain", as_json=False), PlainDisplay)
    assert isinstance(choose_display("jsonl", as_json=False), JsonlDisplay)
    assert isinstance(choose_display("auto", as_json=False), PlainDisplay)  # stderr of a test is no terminal
    assert not isinstance(choose_display("rich", as_json=False, env={"TERM": "dumb"}), RichDisplay)


def test_jsonl_envelope() -> None:
    out = io.StringIO()
    display = JsonlDisplay(out)
    display.launch("r_1", "/x")
    display.show(EVENT)
    display.close(0)
    launch, search, done = map(json.loads, out.getvalue().splitlines())
    assert launch == {"event": "launch", "run_id": "r_1", "artifacts": "/x"}
    assert (search["seq"], search["type"], search["node"], search["round"]) == (5, "search", "root/round/1", 1)
    assert search["data"] == dict(EVENT.data)
    assert done == {"event": "done", "run_id": "r_1", "exit": 0}


def test_a_line_names_its_round_only_where_one_begins_or_ends(capsys: pytest.CaptureFixture[str]) -> None:
    over = Event(EventType.ROUND_FINISHED, "k", "root/round/2", 2, {"new_facts": 1, "gaps": ["x"]}, 6, "2026")
    hard = {"claim": "It takes 35 minutes.", "difference": "35 -> 38 minutes"}
    for each in (EVENT, over, Event(EventType.CONTRADICTION, "k", "root", 1, hard, 7, "2026")):
        PlainDisplay().show(each)
    assert capsys.readouterr().err.splitlines() == [
        "⌕ library: why (2 hits)",
        "○ round 2 over: 1 new fact, 1 gap",
        "⚡ contradiction, 35 → 38 minutes: It takes 35 minutes.",
    ]


def test_a_repeated_call_says_so_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    data = {"role": "reflect", "why": "process_ended", "attempt_number": 1}
    PlainDisplay().show(Event(EventType.RETRY, "k", "root", None, data, 5, "2026-01-01T00:00:00+00:00"))
    assert "a call was sent again (reflect): it was in flight when its process ended" in capsys.readouterr().err


def test_a_closed_stream_is_silence() -> None:
    out = io.StringIO()
    out.close()
    JsonlDisplay(out).show(EVENT)


def test_a_search_engine_that_is_down_is_told_once(filled: Any) -> None:
    filled.setenv(CORROBORA_SOURCES_SEARXNG_URL="http://127.0.0.1:9")
    found = filled(
        "When was the bridge at Arnholm opened, and who paints the Velmora lighthouse?",
        *("-l", "docs", "--provider", "searxng", "-p", "rounds", "--display", "plain"),
    )
    assert "! searxng: its last searches failed, so it is not asked again" in found.err
    assert found.err.count("! searxng failed") == 1

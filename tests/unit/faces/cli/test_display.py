"""Displays: chosen by flag and terminal, silent when nobody listens."""

from __future__ import annotations

import io
import json

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


def test_a_repeated_call_says_so_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    data = {"role": "reflect", "why": "process_ended", "attempt_number": 1}
    PlainDisplay().show(Event(EventType.RETRY, "k", "root", None, data, 5, "2026-01-01T00:00:00+00:00"))
    assert "a call was sent again (reflect): it was in flight when its process ended" in capsys.readouterr().err


def test_a_closed_stream_is_silence() -> None:
    out = io.StringIO()
    out.close()
    JsonlDisplay(out).show(EVENT)

"""The estimate before a run, through the command: printed, asked for above a limit, said where no price is known."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.model_server.server import ModelServer

QUESTION = "When was the bridge at Arnholm opened?"


@pytest.fixture
def model() -> Iterator[str]:
    """A scripted model provider on loopback, in a thread of its own; its address as a model is written."""
    loop = asyncio.new_event_loop()
    server = ModelServer()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(10)
    yield f"openai-compatible:scripted@{server.url}/v1"
    asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def write_config(folder: Path, *, output: float, ask_above: float | None = None) -> None:
    lines = [] if ask_above is None else ["[limits]", f"ask_above_usd = {ask_above}"]
    lines += ['[models.prices."openai-compatible:scripted"]', "input = 1.0", f"output = {output}"]
    file = folder / "user" / "corrobora" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(lines))


def ask(shell: Any, model: str, *flags: str) -> Any:
    return shell(QUESTION, "-l", "docs", "-m", model, "-s", "max_rounds=1", *flags)


@pytest.mark.covers("setting limits.ask_above_usd")
def test_budget_7_an_estimate_above_the_limit_waits_for_a_yes_and_the_plan_is_saved(filled: Any, model: str) -> None:
    write_config(filled.folder, output=2_000.0)
    result = ask(filled, model, "--display", "plain", "--json")
    assert result.code == 3
    assert "Estimate: " in result.complaint
    assert "corrobora authorize r_" in result.complaint
    assert " minutes; based on " in result.err
    document = json.loads(result.out)
    assert document["estimate"]["needs_yes"]
    assert document["estimate"]["high"]["dollars"] > 1.0
    run = document["run_id"]
    assert filled("authorize", run, "--words", "yes", "-q").code == 0


@pytest.mark.covers("research --model")
def test_budget_7_yes_or_a_higher_limit_starts_the_run(filled: Any, model: str) -> None:
    write_config(filled.folder, output=2_000.0)
    assert ask(filled, model, "--yes", "-q").code == 0
    write_config(filled.folder, output=2_000.0, ask_above=1e5)
    result = ask(filled, model, "--display", "plain")
    assert result.code == 0
    assert "; estimate: " in result.err


def test_budget_7_the_plan_alone_has_the_estimate(filled: Any, model: str) -> None:
    write_config(filled.folder, output=10.0)
    result = ask(filled, model, "--plan-only", "--json")
    assert result.code == 0
    assert json.loads(result.out)["estimate"]["low"]["dollars"] > 0
    assert "corrobora: Estimate: " in result.err


def test_budget_7_an_unknown_price_is_named_and_a_free_run_has_no_estimate(filled: Any, model: str) -> None:
    result = ask(filled, model, "--display", "plain")
    assert result.code == 0
    assert "dollars unknown (no price for " in result.err or "estimate" not in result.err  # loopback may be free
    assert "estimate" not in filled(QUESTION, "-l", "docs", "--display", "plain").err

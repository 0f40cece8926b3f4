"""Options of single commands that no other test runs to their effect."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from bench.model_server.server import ModelServer
from tests.paths.catalog import commands_with
from tests.paths.conftest import Serve
from tests.paths.starts import CLEAR, PHRASE, THREAD
from tests.plugins.shell import Shell

from corrobora.app.library_changes import TICK_SECONDS
from corrobora.testing.web import LoopbackWeb, WebPage


@pytest.mark.parametrize("command", commands_with("--config"))
@pytest.mark.covers("every --config", "every --verbose", "every --no-color")
def test_the_flags_that_every_command_has_take_effect(shell: Shell, command: str) -> None:
    """A mistake in the file that is named is found, with its traceback; its values count, as the next test shows."""
    shell.setenv(NO_COLOR="")
    (shell.folder / "mine.toml").write_text("profile = \n")
    (shell.folder / "thread.toml").write_text(THREAD)
    arguments = {
        "ask": ["r_1", CLEAR], "update": ["r_1"], "watch": ["r_1"],
        "authorize": ["r_1"], "cancel": ["r_1"], "edit": ["r_1", "--outline"], "export": ["r_1"], "plot": ["r_1"],
        "investigate": ["thread.toml"],
        "library add": ["docs", "."], "library rename": ["docs", "papers"], "library rm": ["docs"],
        "library refresh": ["docs"], "library search": ["docs", CLEAR],
        "library show": ["docs"], "profiles show": ["timed"], "research": [CLEAR], "resume": ["r_1"],
        "runs compare": ["r_1", "r_2"],
        "runs rm": ["r_1"], "runs show": ["r_1"],
        "schedule add": ["weekly", CLEAR, "--cron", "weekly"],
        "schedule rm": ["weekly"], "source": ["S1"], "steer": ["r_1", "north"], "verify": ["r_1"],
    }  # fmt: skip
    result = shell(*command.split(), *arguments.get(command, []), "--config", "mine.toml")
    assert "Traceback" not in result.err
    assert not os.environ["NO_COLOR"]
    again = shell(*command.split(), *arguments.get(command, []), "--config", "mine.toml", "--verbose", "--no-color")
    assert "Traceback" in again.err
    assert os.environ["NO_COLOR"]
    assert (result.code, "mine.toml" in result.complaint, "line 1" in result.complaint) == (2, True, True)


@pytest.mark.covers("setting sources.libraries", "setting display")
def test_the_values_of_the_file_that_is_named_count(filled: Shell) -> None:
    (filled.folder / "mine.toml").write_text('profile = "rounds"\ndisplay = "jsonl"\n[sources]\nlibraries = ["docs"]\n')
    assert filled("trust", "mine.toml", "--yes").code == 0
    (filled.folder / "corrobora.toml").write_text('profile = "nowhere"\n')
    lines = filled(CLEAR, "--config", "mine.toml").out.splitlines()
    assert json.loads(lines[1])["data"]["profile"]["name"] == "rounds"


@pytest.mark.covers("research --accept-unknown-price", "setting limits.accept_unknown_price")
@pytest.mark.covers("research --max-cost", "setting limits.usd", "research --max-tokens", "setting limits.tokens")
def test_limits_of_what_a_model_may_cost(filled: Shell, serve: Any) -> None:
    server = serve(ModelServer())
    run = (CLEAR, "-l", "docs", "-m", f"openai-compatible:m@{server.url}/v1", "-s", "max_rounds=1", "--json", "-q")
    free = json.loads(filled(*run).out)
    asked = len(server.asked)
    assert "tokens" not in str(free["methodology"]["limits_hit"])
    few = json.loads(filled(*run, "--max-tokens", "2000").out)
    assert "tokens" in str(few["methodology"]["limits_hit"])
    assert len(server.asked) - asked < asked
    user = filled.folder / "user" / "corrobora" / "config.toml"
    user.parent.mkdir(parents=True)
    user.write_text('[models.endpoints.lan]\nbase_url = "http://127.0.0.2:9/v1"\n')  # not known to be free
    unpriced = (CLEAR, "-l", "docs", "-m", "lan:m", "--max-cost", "0.01", "--until-stage", "clarify")
    assert "lan:m" in filled(*unpriced, "-q").complaint
    accepted = filled(*unpriced, "-q", "--accept-unknown-price", "-t", "0.03")  # nobody answers there
    assert "127.0.0.2:9" in accepted.err
    prices = '[models.prices."lan:m"]\ninput = 900\noutput = 900\n'
    user.write_text(f'[models.endpoints.lan]\nbase_url = "{server.url}/v1"\n{prices}')
    dear = filled(*run[:4], "lan:m", *run[5:], "--max-cost", "0.01", "--yes")
    assert "money" in str(json.loads(dear.out)["methodology"]["limits_hit"])


@pytest.mark.covers("chat --provider", "chat --profile", "chat --model", "chat -s", "chat --plan")
def test_a_dialogue_is_researched_as_its_flags_say(filled: Shell) -> None:
    assert "TAVILY_API_KEY" in filled.at_terminal("chat", CLEAR, "--provider", "tavily", typed=PHRASE).err
    assert "nobody" in filled.at_terminal("chat", CLEAR, "-l", "docs", "--model", "nobody:x", typed=PHRASE).err
    (filled.folder / "plan.json").write_text(json.dumps({"title": "Mine", "children": [{"title": CLEAR}]}))
    flags = ("--profile", "angles", "-s", "max_rounds=1", "--plan", "plan.json", "--display", "jsonl")
    result = filled.at_terminal("chat", CLEAR, "-l", "docs", *flags, "--artifacts", "files", typed=f"{PHRASE}\n")
    profile = json.loads(result.out.splitlines()[1])["data"]["profile"]
    assert (profile["name"], profile["max_rounds"]) == ("angles", 1)
    assert json.loads((filled.folder / "files" / "plan.json").read_text())["root"]["title"] == "Mine"


@pytest.mark.covers("investigate --profile", "investigate -s", "investigate --provider", "investigate --library")
def test_a_thread_is_investigated_as_its_flags_say(filled: Shell) -> None:
    (filled.folder / "thread.toml").write_text(THREAD)
    assert "TAVILY_API_KEY" in filled("investigate", "thread.toml", "--provider", "tavily").complaint
    flags = ("--library", "docs", "--profile", "timed", "-s", "reads_per_round=1", "--display", "jsonl")
    events = [json.loads(line) for line in filled("investigate", "thread.toml", *flags).out.splitlines()]
    profile = events[1]["data"]["profile"]
    assert (profile["name"], profile["reads_per_round"]) == ("timed", 1)


@pytest.mark.covers("resume --until-stage")
def test_a_run_that_goes_on_pauses_after_the_stage(filled: Shell) -> None:
    run = json.loads(filled(CLEAR, "-l", "docs", "--until-stage", "plan", "-q", "--json").out)["run_id"]
    paused = filled("resume", run, "--until-stage", "verify", "-q")
    assert (paused.code, paused.out, "after the stage verify" in paused.err) == (0, "", True)
    assert "412 metres" in filled("resume", run, "-q").out


@pytest.mark.covers("schedule add --provider", "schedule add --profile", "schedule add --model", "schedule add -s")
@pytest.mark.covers("schedule add --deliver", "schedule add --library", "schedule add --cron", "schedule list --json")
def test_a_schedule_keeps_how_its_runs_are_made(filled: Shell) -> None:
    filled.setenv(TAVILY_API_KEY="k", OPENAI_API_KEY="k")
    flags = ("--library", "docs", "--provider", "tavily", "--profile", "rounds", "--model", "judge=openai:m")
    more = ("-s", "max_rounds=1", "--deliver", "folder:here", "--cron", "0 7 * * *")
    assert filled("schedule", "add", "mine", CLEAR, *flags, *more).code == 0
    (row,) = [each for each in json.loads(filled("schedule", "list", "--json").out) if each["id"] == "mine"]
    asked = row["request"]
    assert row["cron"] == "0 7 * * *"
    assert (asked["libraries"], asked["providers"], asked["profile"]) == (["docs"], ["tavily"], "rounds")
    assert (asked["models"], asked["overrides"]) == ([["judge", "openai:m"]], [["max_rounds", "1"]])
    assert asked["output"] == [["folder", str(filled.folder / "here")]]
    assert filled("schedule", "rm", "mine").code == 0


@pytest.mark.covers("library add --quiet", "library add --json", "library list --json", "library show --json")
@pytest.mark.covers("library search --limit", "library search --json", "library refresh --quiet")
@pytest.mark.covers("library refresh --json")
def test_libraries_for_programs(folder: Shell) -> None:
    (folder.folder / "papers" / "rivers.md").write_text("# Rivers\n\nThe rivers of the north hold perch and trout.\n")
    time.sleep(2 * TICK_SECONDS)  # else broken.pdf counts as written while the folder was read
    loud = folder("library", "add", "loud", "papers")
    twice = folder("library", "add", "again", "papers")
    assert (twice.code, "stored as the library loud already" in twice.complaint) == (2, True)
    (folder.folder / "more").mkdir()
    (folder.folder / "more" / "seas.md").write_text("# Seas\n\nThe seas of the north hold cod and herring.\n")
    added = folder("library", "add", "lakes", "papers", "more", "--quiet", "--json")
    assert "library  lakes: 2 read" not in added.err or "skipped" in added.err
    assert "library  loud: 2 read" in loud.err
    assert json.loads(added.out)["added"] == 3
    assert {row["name"] for row in json.loads(folder("library", "list", "--json").out)} == {"lakes", "loud"}
    assert "is also stored as loud" in added.err
    shown = json.loads(folder("library", "show", "lakes", "--json").out)
    assert {Path(file).name for file in shown["files"]} == {"lakes.md", "rivers.md", "seas.md"}
    (folder.folder / "papers" / "ponds.md").write_text("# Ponds\n\nThe ponds of the south hold carp.\n")
    asked = folder("What do the ponds of the south hold?", "-l", "loud")
    assert "library  loud: 1 new; read them with: corrobora library add loud" in asked.err
    assert "library  loud: 1 read, 2 unchanged" in folder("library", "refresh", "loud").err
    (folder.folder / "bays").mkdir()
    (folder.folder / "bays" / "bay.md").write_text("# Bay\n\nThe bay of the east is shallow.\n")
    folder("library", "add", "bays", "bays")
    assert "library  bays: 0 read, 1 unchanged" in folder("library", "refresh", "bays").err
    quiet = folder("library", "refresh", "bays", "--quiet", "--json")
    assert (quiet.err, [(each["library"], each["unchanged"]) for each in json.loads(quiet.out)]) == ("", [("bays", 1)])
    assert folder("library", "rm", "bays").code == 0
    assert "carp" in folder("What do the ponds of the south hold?", "-l", "./papers").out
    assert len(json.loads(folder("library", "list", "--json").out)) == 2, "the folder is not stored once more"
    (folder.folder / "papers" / "ponds.md").unlink()
    search = ("library", "search", "lakes", "Where do perch live?", "--json")
    assert [len(json.loads(folder(*search, *limit).out)) for limit in ((), ("--limit", "1"))] == [2, 1]


@pytest.mark.covers("export --force", "export --follow-symlinks", "runs show --json", "profiles list --json")
def test_exports_and_lists_for_programs(finished: tuple[Shell, str]) -> None:
    shell, run = finished
    real, link = shell.folder / "real.md", shell.folder / "out.md"
    real.write_text("before")
    link.symlink_to(real)
    assert shell("export", run, "-f", "md", "-o", "real.md").code == 2
    assert shell("export", run, "-f", "md", "-o", "out.md", "--force").code == 2
    assert real.read_text() == "before"
    assert shell("export", run, "-f", "md", "-o", "out.md", "--force", "--follow-symlinks").code == 0
    assert real.read_text().startswith("# ")
    assert json.loads(shell("runs", "show", run, "--json").out)["id"] == run
    assert {"timed", "tree"} <= set(json.loads(shell("profiles", "list", "--json").out))


@pytest.mark.covers("verify --fetch")
def test_cited_pages_are_requested_only_where_it_is_asked_for(served: Shell, serve: Serve[LoopbackWeb]) -> None:
    page = "<html><title>Tides</title><p>The tide of Ardal rises by 4 metres twice a day in every month.</p></html>"
    web = serve(LoopbackWeb([WebPage.of_html("/tides.html", page)]))
    served.setenv(CORROBORA_SOURCES_ALLOWED_ENDPOINTS=f"127.0.0.1:{web.port}")
    (served.folder / "theirs.md").write_text(
        "The tide of Ardal rises by 4 metres twice a day in every month [1]. The tide of Ardal rises by 9 metres [1]. "
        "Nobody knows tin [2].\n\n"
        f"[1] Tides {web.url}/tides.html\n[2] Tin {web.url}/gone.html\n"
    )
    assert served("verify", "theirs.md").code == 6
    assert not web.requests
    result = served("verify", "theirs.md", "--fetch", "--json")
    counts = json.loads(result.out)
    assert (result.code, counts["carried"], counts["checkable"], counts["not_checkable"]) == (5, 1, 2, 1)
    assert any(request.path == "/tides.html" for request in web.requests)
    served.setenv(CORROBORA_OFFLINE="true")
    assert served("verify", "theirs.md", "--fetch").code == 2

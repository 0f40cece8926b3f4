"""Flags that every command takes which starts a run of its own: `chat`, `demo`, `ask`, `edit` and the others."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from tests.paths.starts import CLEAR, PHRASE, THREAD
from tests.plugins.shell import Shell

from corrobora.faces.cli.new_run import demo
from corrobora.faces.cli.request import FOLLOWING_RUN, NEW_RUN, research

LIMITS = (
    "--time", "2m", "--deep", "--max-rounds", "2", "--angles", "2", "--max-cost", "3", "--accept-unknown-price",
    "--max-tokens", "70000", "--max-searches", "4", "--language", "de",
)  # fmt: skip
EGRESS = ("--allow-egress", "--show-queries")
OF_PROFILE = {"minutes": "2.0", "deep": "true", "max_rounds": "2", "split": '"angles"', "max_leaves": "2"}
BESIDE = {
    "max_usd": "3.0", "accept_unknown_price": "yes", "max_tokens": "70000", "max_searches": "4", "language": "de",
}  # fmt: skip
FOLLOWING: Mapping[str, Callable[[str], tuple[str, ...]]] = {
    "ask": lambda run: ("ask", run, CLEAR, "-q", "--json"),
    "update": lambda run: ("update", run, "-q", "--json"),
    "edit": lambda run: ("edit", run, "--drop", "1.1", "--accept-losses", "-q", "--json"),
}


def read_request(shell: Shell, run: str) -> dict[str, Any]:
    return json.loads(shell("runs", "show", run, "--json").out)["request"]


def assert_taken(request: Mapping[str, Any], *, egress: bool = True) -> None:
    """The last override of a field counts."""
    assert dict(request["overrides"]).items() >= OF_PROFILE.items()
    of_egress = {"allow_egress": "yes", "show_queries": "yes"} if egress else {}
    assert dict(request["metadata"]).items() >= {**BESIDE, **of_egress}.items()


def add_ponds(shell: Shell) -> None:
    (shell.folder / "ponds").mkdir()
    (shell.folder / "ponds" / "one.md").write_text("The ponds of the south hold carp.\n")
    assert shell("library", "add", "ponds", "ponds").code == 0


@pytest.mark.parametrize("command", FOLLOWING)
@pytest.mark.covers(
    "ask --time", "ask --deep", "ask --max-rounds", "ask --angles", "ask --max-cost", "ask --accept-unknown-price",
    "ask --max-tokens", "ask --max-searches", "ask --language", "ask --allow-egress", "ask --show-queries",
    "update --time", "update --deep", "update --max-rounds", "update --angles", "update --max-cost",
    "update --accept-unknown-price", "update --max-tokens", "update --max-searches", "update --language",
    "update --allow-egress", "update --show-queries",
    "edit --time", "edit --deep", "edit --max-rounds", "edit --angles", "edit --max-cost",
    "edit --accept-unknown-price", "edit --max-tokens", "edit --max-searches", "edit --language",
    "edit --allow-egress", "edit --show-queries", "edit -s",
)  # fmt: skip
def test_a_run_that_follows_another_one_takes_limits_of_its_own(finished: tuple[Shell, str], command: str) -> None:
    shell, run = finished
    before = read_request(shell, run)
    made = json.loads(shell(*FOLLOWING[command](run), *LIMITS, *EGRESS, "-s", "reads_per_round=3").out)["run_id"]
    after = read_request(shell, made)
    assert_taken(after)
    assert dict(after["overrides"])["reads_per_round"] == "3"
    assert (after["previous"], after["profile"], after["libraries"]) == (run, before["profile"], before["libraries"])
    bare = json.loads(shell(*FOLLOWING[command](run)).out)["run_id"]
    assert dict(read_request(shell, bare)["metadata"]).items() >= dict(before["metadata"]).items(), "as it was"


@pytest.mark.covers(
    "watch --time", "watch --deep", "watch --max-rounds", "watch --angles", "watch --max-cost",
    "watch --accept-unknown-price", "watch --max-tokens", "watch --max-searches", "watch --language",
    "watch --allow-egress", "watch --show-queries", "watch -s", "watch --model",
    "schedule add --time", "schedule add --deep", "schedule add --max-rounds", "schedule add --angles",
    "schedule add --max-cost", "schedule add --accept-unknown-price", "schedule add --max-tokens",
    "schedule add --max-searches", "schedule add --language", "schedule add --allow-egress",
    "schedule add --show-queries", "schedule add --offline", "schedule add --refresh",
)  # fmt: skip
def test_runs_of_a_schedule_take_them(finished: tuple[Shell, str]) -> None:
    shell, run = finished
    add_ponds(shell)
    (shell.folder / "ponds" / "one.md").write_text("The ponds of the south hold pike.\n")
    flags = (*LIMITS, *EGRESS, "-s", "reads_per_round=3")
    assert shell("watch", run, "--name", "w", "--deliver", "folder:news", *flags).code == 0
    added = shell("schedule", "add", "s", CLEAR, "--cron", "daily", "-l", "ponds", "--offline", "--refresh", *flags)
    assert added.code == 0
    assert "read them with" not in added.err, "the changed file was read"
    stored = {each["id"]: each["request"] for each in json.loads(shell("schedule", "list", "--json").out)}
    for name in ("w", "s"):
        assert_taken(stored[name])
        assert dict(stored[name]["overrides"])["reads_per_round"] == "3"
        assert shell("schedule", "rm", name).code == 0
    assert (
        "--offline"
        in shell("schedule", "add", "s", CLEAR, "--cron", "daily", "--offline", "--provider", "tavily").complaint
    )
    named = ("--name", "m", "--deliver", "folder:news", "--model", "openai-compatible:m@http://127.0.0.1:9/v1")
    assert shell("watch", run, *named).code == 0
    (stored_model,) = [each for each in json.loads(shell("schedule", "list", "--json").out) if each["id"] == "m"]
    assert ["lead", "openai-compatible:m@http://127.0.0.1:9/v1"] in stored_model["request"]["models"]


@pytest.mark.covers(
    "chat --time", "chat --deep", "chat --max-rounds", "chat --angles", "chat --max-cost",
    "chat --accept-unknown-price", "chat --max-tokens", "chat --max-searches", "chat --language",
    "chat --allow-egress", "chat --show-queries", "chat --offline", "chat --refresh",
    "investigate --time", "investigate --deep", "investigate --max-rounds", "investigate --angles",
    "investigate --max-cost", "investigate --accept-unknown-price", "investigate --max-tokens",
    "investigate --max-searches", "investigate --language", "investigate --allow-egress",
    "investigate --show-queries", "investigate --offline", "investigate --refresh",
)  # fmt: skip
def test_dialogues_and_threads_take_what_research_takes(filled: Shell) -> None:
    (filled.folder / "thread.toml").write_text(THREAD)
    clash = ("--offline", "--provider", "tavily")
    assert "--offline" in filled("investigate", "thread.toml", *clash).complaint
    assert "--offline" in filled.at_terminal("chat", CLEAR, *clash, typed=f"{PHRASE}\n").err
    add_ponds(filled)
    flags = ("-l", "docs", "-l", "ponds", "--refresh", "--display", "plain", *LIMITS, *EGRESS)
    for number, start in enumerate(
        (
            lambda: filled("investigate", "thread.toml", *flags),
            lambda: filled.at_terminal("chat", CLEAR, *flags, typed=f"{PHRASE}\n"),
        )
    ):
        (filled.folder / "ponds" / "one.md").write_text(f"The ponds of the south hold {number} pike.\n")
        assert "read them with" not in start().err, "the changed file was read"
        newest = json.loads(filled("runs", "list", "--json", "--limit", "1").out)[0]["id"]
        assert_taken(read_request(filled, newest))
    open_one = filled.piped("chat", "-l", "docs", stdin=b"Tell me everything about bridges\n").complaint
    name = open_one.split("--resume ", 1)[1].split()[0].rstrip(".")
    assert "max-cost cannot be given" in filled("chat", "--resume", name, "--max-cost", "2").complaint


@pytest.mark.covers(
    "demo --profile", "demo --time", "demo --deep", "demo --max-rounds", "demo --angles", "demo --max-cost",
    "demo --accept-unknown-price", "demo --max-tokens", "demo --max-searches", "demo --language", "demo -s",
    "demo --model",
)  # fmt: skip
def test_the_demo_takes_method_limits_and_model(filled: Shell) -> None:
    assert filled("demo", "-q", "--profile", "rounds", "-s", "reads_per_round=1", *LIMITS).code == 0
    request = json.loads(filled("runs", "show", "last", "--json").out)["request"]
    assert_taken(request, egress=False)
    assert (request["profile"], request["libraries"]) == ("rounds", ["demo"])
    assert "nobody" in filled("demo", "--model", "nobody:x").complaint


def test_a_model_that_is_named_for_a_follow_up_and_never_answers_ends_it(finished: tuple[Shell, str]) -> None:
    """As in `research`: a report that the extractive analyst writes is not what was asked for."""
    shell, run = finished
    result = shell("ask", run, CLEAR, "-q", "--model", "openai-compatible:m@http://127.0.0.1:9/v1")
    assert (result.code, result.out) == (7, "")


def test_every_flag_of_a_new_run_is_known_to_the_others() -> None:
    """A setting that gets a flag is a flag of all of them, unless it says where to search."""
    own = {each.name for each in demo.params}
    elsewhere = {"library", "provider", "offline", "refresh", "allow_egress", "show_queries"}
    new = {each.name for each in research.params} - {
        "question", "question_file", "source", "plan", "plan_only", "yes", "from_stage", "until_stage", "deliver",
        "deliver_anyway", "run_id",
    }  # fmt: skip
    assert new - own == elsewhere
    assert set(NEW_RUN) - set(FOLLOWING_RUN) == {"profile", "libraries", "providers", "offline", "refresh"}

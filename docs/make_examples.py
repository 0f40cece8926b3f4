"""Make the examples anew: one run of each profile over the shipped documents, kept with the command that made it.

Knows the commands and what of a run's files is kept. Does not know what a report should say: read them.
Run it as `python -m docs.make_examples [NAME ...]`; it needs no key and no network.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from bench.model_server.server import ModelServer

EXAMPLES = Path(__file__).resolve().parent / "examples"
QUESTION = (
    "How did NIST guidance on password rotation, composition rules and length change between SP 800-63-3 and the draft "
    "of SP 800-63-4?"
)
PORT = 8099
MODEL = f"openai-compatible:scripted-large@http://127.0.0.1:{PORT}/v1"
LEFT_OUT = ("report.json",)
MOST_BYTES = 300_000  # of the files of all sub-agents of a run
KEPT = ("THREAD.toml",)  # written by hand


@dataclass(frozen=True, slots=True)
class Example:
    """One run: the words of its command, and what is to be known about it."""

    name: str
    about: str
    words: tuple[str, ...]
    model: bool = False

    @property
    def command(self) -> str:
        """The command as it is typed in a folder of one's own."""
        return shlex.join(("corrobora", *self.words))


def _research(name: str, about: str, *more: str) -> Example:
    words = ("research", QUESTION, "--library", "demo", *more, "--yes", "--artifacts", name, "-o", f"{name}.md")
    return Example(name, about, words, model="--model" in more)


RUNS = (
    _research("timed", "Sub-questions one by one under a time budget; the default.", "--profile", "timed"),
    _research("rounds", "Three rounds in turn, then a long report.", "--profile", "rounds"),
    _research("angles", "A lead and a sub-agent for each angle; critique, judge.", "--profile", "angles"),
    _research("tree", "A tree of executors; `--yes` stands for the person's words.", "--profile", "tree"),
    _research("full", "All of it: scout, tree, saturation, critique, judge.", "--profile", "full"),
    Example(
        "triplet",
        "One given thread, by saturation. `THREAD.toml` beside this page is the thread.",
        ("investigate", "THREAD.toml", "--library", "demo", "--artifacts", "triplet", "-o", "triplet.md"),
    ),
    _research(
        "angles-model",
        "Angles with a model over the wire: a scripted server that answers with words of the prompt itself.",
        "--profile",
        "angles",
        "--model",
        MODEL,
    ),
)


def main(names: Sequence[str]) -> int:
    """Make the named examples, or all of them."""
    with tempfile.TemporaryDirectory() as folder:
        for example in RUNS:
            if not names or example.name in names:
                asyncio.run(_make(example, Path(folder)))
    total = sum(file.stat().st_size for file in EXAMPLES.rglob("*") if file.is_file())
    print(f"{total / 1e6:.2f} MB in {EXAMPLES.name}/")
    return 0


async def _make(example: Example, folder: Path) -> None:
    target = EXAMPLES / example.name
    target.mkdir(parents=True, exist_ok=True)
    for name in KEPT:
        if (target / name).is_file():
            shutil.copy(target / name, folder / name)
    async with AsyncExitStack() as stack:
        if example.model:
            await stack.enter_async_context(ModelServer(port=PORT))
        code = await asyncio.to_thread(_run, example, folder)
    notes = _keep(folder / example.name, target)
    (target / "COMMAND.md").write_text(_page(example, code, notes), encoding="utf-8")
    print(f"{example.name}: exit {code}")


def _run(example: Example, folder: Path) -> int:
    """Run the command in an empty environment; its data lie in ./home. Returns its exit code."""
    env = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR", "PYTHONPATH") if name in os.environ}
    env |= {"CORROBORA_HOME": "./home", "HOME": str(folder)}
    asks = ("--no-input",) if example.words[0] == "research" else ()
    command = [sys.executable, "-m", "corrobora", *example.words, *asks, "--display", "none"]
    done = subprocess.run(command, cwd=folder, env=env, check=False)  # noqa: S603 - our own words
    if not (folder / example.name / "report.md").is_file():
        message = f"{example.name} wrote no report (exit {done.returncode})"
        raise SystemExit(message)
    return done.returncode


def _keep(made: Path, target: Path) -> list[str]:
    """Copy what a run wrote into its example, in place of what was there; return what was left out."""
    for old in target.iterdir():
        if old.name not in KEPT:
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    notes = ["`report.json` holds the report and all findings as values and is left out: it is large."]
    shutil.copytree(made, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*LEFT_OUT))
    agents = sorted((target / "subagents").glob("*.json"))
    if sum(file.stat().st_size for file in agents) > MOST_BYTES:
        for file in agents:
            found = json.loads(file.read_text(encoding="utf-8"))
            found.pop("findings", None)
            file.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        notes.append("The part `findings` of each file in `subagents/` is left out: all facts and rounds as values.")
    return notes


def _page(example: Example, code: int, notes: Sequence[str]) -> str:
    first = ["export CORROBORA_HOME=./home"]
    if example.model:
        first.append(f"python -m bench.model_server.server --port {PORT} &")
    return "\n".join(
        (
            f"# {example.name}",
            "",
            example.about,
            "",
            "```text",
            *first,
            example.command,
            "```",
            "",
            f"It ended with exit code {code}. The report: `report.md`, and as one page `report.html`.",
            *notes,
            "",
        )
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

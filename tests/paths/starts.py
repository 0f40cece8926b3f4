"""How each command that prints a report is called, so that what all of them share is tested with all of them.

Knows a question of which the library `docs` answers one half, and which a judge therefore does not give full marks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from tests.plugins.shell import Shell

PHRASE = "Authorized to execute"
QUESTION = "When was the bridge at Arnholm opened, and who paints the Velmora lighthouse today?"
CLEAR = "When was the bridge at Arnholm opened and how long is it?"
THREAD = """
round_budget = 1
[thread]
name = "Arnholm Bridge"
sub_questions = ["When was the bridge at Arnholm opened?", "Who paints the Velmora lighthouse today?"]
subjects = ["bridge", "lighthouse"]
[brief]
question = "What is known of the bridge at Arnholm?"
"""
JUDGED = ("-l", "docs", "-p", "angles")
Start = Callable[[Shell], tuple[str, ...]]


def _investigate(shell: Shell) -> tuple[str, ...]:
    (shell.folder / "thread.toml").write_text(THREAD)
    return ("investigate", "thread.toml", *JUDGED)


def _demo(shell: Shell) -> tuple[str, ...]:
    shell.setenv(CORROBORA_PROFILE="angles", CORROBORA_MAX_ROUNDS="1", CORROBORA_LIMITS_SEARCHES="1")
    return ("demo",)


def _resume(shell: Shell) -> tuple[str, ...]:
    return ("resume", json.loads(shell("research", QUESTION, *JUDGED, "-q", "--json").out)["run_id"])


def _chat(shell: Shell) -> tuple[str, ...]:
    """Go on with a dialogue that has started a run."""
    shell.at_terminal("chat", QUESTION, *JUDGED, "-q", typed=f"{PHRASE}\n")
    return ("chat", "--resume", shell("chat", "--list").out.split()[0])


def waiting_run(shell: Shell) -> str:
    """Return the id of a run whose plan waits for a person."""
    asked = (
        "research",
        QUESTION,
        *JUDGED,
        "-s",
        "authorize=human",
        "-s",
        f"phrase={PHRASE}",
        "--no-input",
        "-q",
        "--json",
    )
    return json.loads(shell(*asked).out)["run_id"]


def _authorize(shell: Shell) -> tuple[str, ...]:
    return ("authorize", waiting_run(shell), "--words", PHRASE)


def _ask(shell: Shell) -> tuple[str, ...]:
    return ("ask", _resume(shell)[1], QUESTION)


def _update(shell: Shell) -> tuple[str, ...]:
    return ("update", _resume(shell)[1])


STARTS: Mapping[str, Start] = {
    "ask": _ask,
    "authorize": _authorize,
    "chat": _chat,
    "demo": _demo,
    "investigate": _investigate,
    "research": lambda _: ("research", QUESTION, *JUDGED),
    "resume": _resume,
    "update": _update,
}

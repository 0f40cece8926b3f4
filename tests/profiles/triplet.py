"""One given thread on a scripted web, for the acceptance tests of `triplet`: its pages, its file, its tables."""

from __future__ import annotations

import re
from typing import Any

from tests.fakes import run_virtually
from tests.profiles.research import Mixed
from tests.profiles.scripted import Growing, WebRun, make_web_run

from corrobora.domain.evidence import Query
from corrobora.domain.report import Report
from corrobora.domain.thread import Intent, Proposal

PAGES: dict[str, Any] = {
    "https://coast.gov/oldby": "# Lighthouse of Oldby\n\nThe lighthouse of Oldby is 31 metres tall.",
    "https://towers.example/oldby": "# Towers of the coast\n\nThe lighthouse of Oldby is 31 metres tall, the tallest.",
    "https://fog.example/horn": "# Fog horn of Oldby\n\nThe fog horn sounds every 40 seconds in thick weather.",
}
THREAD = """
round_budget = {budget}
artifact_dir = "reports"
[thread]
name = "Oldby Towers"
sub_questions = [
    {{ id = "SQ-1", question = "How tall is the lighthouse of Oldby?" }},
    "How often does the fog horn sound?",
]
subjects = ["lighthouse", "fog horn"]
{strategy}
[brief]
question = "What is known of the lighthouse of Oldby and its fog horn?"
disambiguation = ["Oldby"]
{brief}
"""


def thread(budget: int = 8, *, brief: str = "", strategy: str = "") -> str:
    return THREAD.format(budget=budget, brief=brief, strategy=strategy)


def made(pages: Any = None, *, budget: int = 8, brief: str = "", strategy: str = "", **more: Any) -> WebRun:
    given = more.pop("given", "") or thread(budget, brief=brief, strategy=strategy)
    return make_web_run(more.pop("profile", "triplet"), PAGES if pages is None else pages, thread_file=given, **more)


def done(run: WebRun) -> Report:
    return run_virtually(run.research())


def endless(lines: dict[str, Any] | None = None, **more: Any) -> tuple[WebRun, Mixed]:
    """A thread on a web that never ends, whose analyst is never done."""
    engine, analyst = Growing({}), Mixed({"reflect": Proposal("", ()), **(lines or {})})
    return made(engine.pages, engines=[engine], analysts=[analyst], **more), analyst


def asks(given: Any) -> Intent:
    """An analyst that always asks the same."""
    return Intent("What is open", (Query("lighthouse of Oldby tall metres"),), ("SQ-1",), ("lighthouse",))


def front_matter(text: str) -> dict[str, str]:
    _, head, _ = text.split("---\n", 2)
    return dict(line.split(": ", 1) for line in head.splitlines())


def headings(text: str) -> list[str]:
    return re.findall(r"^#{2,3} (.+)$", text, re.MULTILINE)


def table(text: str, heading: str) -> list[list[str]]:
    rows = re.findall(r"^\|(.+)\|$", text.partition(f" {heading}\n")[2].partition("\n#")[0], re.MULTILINE)
    return [[cell.strip() for cell in row.split(" | ")] for row in rows if not set(row) <= set("-|")]

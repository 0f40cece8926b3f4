"""Whole runs through a workspace, over the wire: a database, a library of own documents, a scripted model provider.

Knows the parts and how to take a run's report, row and exit code from them. Does not know faults: tests hand them in.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from bench.model_server.server import ModelServer
from tests.plugins.reading import ingest_here

from corrobora.adapters.pacing import SystemClock
from corrobora.app import Workspace
from corrobora.app.attempts import execute_run
from corrobora.app.runs import submit_run
from corrobora.app.verification import verify_report
from corrobora.app.wiring import WebAccess
from corrobora.config import load_settings
from corrobora.domain.limits import LIMITS
from corrobora.domain.report import Report
from corrobora.domain.run import Request, RunId, RunRow
from corrobora.engine.session.journal import decode
from corrobora.faces.cli.report import run_exit
from corrobora.reporting.recheck import RecheckResult
from corrobora.reporting.references import CitationStatus
from corrobora.testing.web import LoopbackWeb, WebPage

LIBRARY = "mills"
QUESTION = "How often must the sluice gates of Orrin mill be greased, and how high may the mill pond stand?"
DOCUMENTS = {
    "rules-2014.md": """# Rules of the Orrin tide mill, 2014

## Sluice gates

The sluice gates of Orrin mill should be greased every 30 days with animal fat. A gate that sticks shall be reported to
the miller on the same day. The gates need not be opened on public holidays.

## Mill pond

The mill pond of Orrin may stand at most 240 centimetres above the sill. Above 240 centimetres the spill way opens by
itself, and the miller notes the hour in the log.
""",
    "rules-2021.md": """# Rules of the Orrin tide mill, 2021

## Sluice gates

The sluice gates of Orrin mill must be greased every 14 days with mineral oil. Animal fat must not be used, because it
draws rats. A gate that sticks shall be reported to the miller within one hour.

## Mill pond

The mill pond of Orrin may stand at most 210 centimetres above the sill. The lower level protects the cellar of the
mill house, which was flooded in 2018.
""",
    "flood.md": """# The flood of 2018

In March 2018 the mill pond of Orrin stood 251 centimetres above the sill for nine hours. The cellar of the mill house
was flooded, and 14 sacks of flour were lost. The inspector found that two sluice gates had not been greased for
61 days.

The inspector of the county asked for a lower mill pond and for shorter intervals of greasing at Orrin mill.
""",
    "history.md": """# History of Orrin mill

Orrin mill was built in 1781 and ground barley and oats. Its wheel is 5.4 metres high. The mill stood idle from 1931 to
1968. The sluice gates of Orrin mill were made of oak until 1972, when gates of larch took their place.
""",
    "grease.md": """# Grease for wooden gates

Mineral oil keeps larch gates dry for about three weeks. Sluice gates that are greased every 14 days stick four times
less often than gates greased every 30 days. The trial at Orrin mill lasted 18 months and looked at 6 gates.
""",
    "geese.md": """# Geese on the pond

About 40 geese live on the mill pond of Orrin in winter. They leave the pond in April. Feeding them is not allowed.
""",
    "bread.md": """# Bread of the village

The bakery sells rye bread on Tuesdays. A loaf weighs 1.2 kilograms and costs 4 crowns.
""",
}  # fmt: skip - the documents as they are
THREAD = f"""
round_budget = 4

[thread]
name = "Sluice gates"
subjects = ["sluice gates", "mill pond"]

[[thread.sub_questions]]
question = "How often must the sluice gates of Orrin mill be greased?"

[[thread.sub_questions]]
question = "How high may the mill pond of Orrin stand?"

[brief]
question = "{QUESTION}"
"""
PROTOCOLS: dict[str, Callable[[ModelServer], str]] = {
    "openai": lambda server: f"openai-compatible:scripted-large@{server.url}/v1",
    "anthropic": lambda server: f"anthropic:scripted-large@{server.url}",
}
_PASSAGE = re.compile(r"^Passage (C\d+)", re.MULTILINE)


@dataclass
class Ended:
    """A run that ended: its row, its report (None if there is none), and the exit code of the command."""

    row: RunRow
    report: Report | None
    code: int

    @property
    def markdown(self) -> str:
        return self.report.markdown if self.report else ""


class HurriedClock(SystemClock):
    """The clock of the machine, by which whoever pauses before another attempt waits a tenth of the time."""

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds / 10)


@dataclass
class Harness:
    """A workspace with one library."""

    workspace: Workspace

    async def run(
        self, server: ModelServer | None, profile: str = "timed", *, protocol: str = "openai", **request: Any
    ) -> Ended:
        """Research the question through the workspace, as a worker does, and say how it ended."""
        return await self.work(await self.submit(server, profile, protocol=protocol, **request))

    async def submit(
        self, server: ModelServer | None, profile: str = "timed", *, protocol: str = "openai", **request: Any
    ) -> RunId:
        """Store a run of the question."""
        models = (("worker", PROTOCOLS[protocol](server)),) if server else ()
        fields: dict[str, Any] = {"libraries": (LIBRARY,), "authorized": "policy", "models": models, **request}
        if profile == "triplet":
            fields.setdefault("thread_file", THREAD)
        question = fields.pop("question", QUESTION)
        return await submit_run(self.workspace, Request(question, profile, **fields), deferred=False)

    async def work(self, run: RunId) -> Ended:
        """Make one attempt at a run."""
        epoch = await self.workspace.runs.claim(run, "test")
        assert epoch is not None
        await execute_run(self.workspace, run, epoch)
        return await self.ended(run)

    async def ended(self, run: str) -> Ended:
        row = await self.workspace.runs.get(run)
        stored = await self.workspace.runs.read_artifact(run, "report.json")
        text = "{}" if stored is None else stored.content.decode()
        report = decode(Report, text, key=run) if stored is not None else None
        return Ended(row, report, run_exit(row, json.loads(text), min_score=None, strict=False).code)

    async def recheck(self, markdown: str) -> RecheckResult:
        return await verify_report(self.workspace, markdown)


@asynccontextmanager
async def open_harness(
    url: str,
    documents: Mapping[str, str | bytes] = DOCUMENTS,
    settings: Mapping[str, str] | None = None,
    **options: Any,
) -> AsyncGenerator[Harness]:
    """Open a workspace on a fresh database and fill its library. `settings` are variables of the environment."""
    with tempfile.TemporaryDirectory(prefix="corrobora-wire-") as folder:
        home = Path(folder)
        env = {"CORROBORA_HOME": folder, "CORROBORA_DATABASE_URL": url, **(settings or {})}
        found = load_settings(env=env, folder=home, user_file=home / "none.toml")
        texts = home / "documents"
        texts.mkdir()
        for name, text in documents.items():
            (texts / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        options.setdefault("web", partial(WebAccess, limits=replace(LIMITS, host_pause_seconds=0.05)))
        async with Workspace.open(found, **options) as workspace:
            workspace.wiring.clock = HurriedClock()
            await ingest_here(workspace.database, LIBRARY, texts)
            yield Harness(workspace)


def write_pages(*, markdown: bool = False) -> list[WebPage]:
    """The documents as pages, one for each of their paragraphs; in Markdown they cost a parser little."""
    parts = [
        (name.partition(".")[0], number, text.partition("\n")[0].lstrip("# "), part.strip())
        for name, text in DOCUMENTS.items()
        for number, part in enumerate(text.split("\n\n"))
        if not part.startswith("#")
    ]
    return [(_write_markdown if markdown else _write_html)(f"/p/{name}-{at}", *said) for name, at, *said in parts]


def _write_markdown(path: str, title: str, text: str) -> WebPage:
    whole = f"# {title}\n\n{text}"
    return WebPage(f"{path}.md", whole.encode(), "text/markdown", title, whole)


def _write_html(path: str, title: str, text: str) -> WebPage:
    body = f"<h1>{title}</h1><p>{text}</p><p>{'Tickets are sold at the door. ' * 3}</p>"
    head = f"<head><title>{title}, {path}</title></head>"
    return WebPage.of_html(f"{path}.html", f"<html>{head}<body><article>{body}</article></body></html>")


def name_web(web: LoopbackWeb) -> dict[str, str]:
    """The settings, as variables, of an operator whose search provider and pages are on loopback."""
    return {
        "TAVILY_API_KEY": "tvly-test",
        "CORROBORA_SOURCES_TAVILY_URL": web.url,
        "CORROBORA_SOURCES_TAVILY_RATE": "1000",
        "CORROBORA_SOURCES_ALLOWED_ENDPOINTS": ",".join(f"{host}:{web.port}" for host in web.hosts),
    }


def passages_sent(server: ModelServer) -> Counter[str]:
    """How often each passage stood in a first request of the role extract."""
    asked = [each.user for each in server.asked if "# Role: extract\n" in each.system and not each.turns]
    return Counter(name for user in asked for name in _PASSAGE.findall(user))


def bodies(server: ModelServer) -> list[str]:
    """The requests as sent, sorted."""
    return sorted(json.dumps(each.body, sort_keys=True) for each in server.asked)


async def good(found: Ended, harness: Harness) -> RecheckResult:
    """A report with a body, every citation of which holds when it is checked again offline."""
    assert found.report is not None, found.row
    assert found.code == 0, found.row
    assert found.report.outcome in ("complete", "partial", "limit_reached"), found.report.reason
    assert found.report.citations
    checked = await harness.recheck(found.markdown)
    fates = Counter(each for statement in checked.statements for each in statement.found)
    assert set(fates) == {CitationStatus.VERIFIED}, fates
    assert checked.cited
    return checked

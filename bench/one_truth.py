"""One truth: many runs of all profiles, through the workspace, whose artifacts must never disagree about one thing.

Run it as `python -m bench.one_truth [--runs 200] [--seed 1]`. Drawn at random: profile, question (answerable, in part,
absent), real documents in a library or on a loopback web, outages of search, pages and model, models that answer
rightly or wrongly, deadlines and small budgets. An independent checker (`bench.agreement`) reads the artifacts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from bench.agreement import Ended, Found, find_disagreements
from bench.model_server.faults import Fault
from bench.model_server.protocols import WireRequest
from bench.model_server.server import ModelServer, answer_from_prompt
from corrobora.app import Workspace
from corrobora.app.attempts import execute_run
from corrobora.app.libraries import ingest_files
from corrobora.app.runs import submit_run
from corrobora.app.wiring import WebAccess
from corrobora.config import load_settings
from corrobora.data import demo_documents
from corrobora.domain.limits import LIMITS
from corrobora.domain.run import Request, RequestOption
from corrobora.faces.cli.report import run_exit
from corrobora.testing.web import LoopbackWeb

PROFILES = ("timed", "rounds", "angles", "tree", "triplet", "full")
QUESTIONS = (
    "How long must a memorized secret be, and how many failed attempts does a verifier allow?",
    "Which authenticators resist phishing?",
    "What does the standard require of salts for stored memorized secrets?",
    "How long must a memorized secret be, and which river floods the harbour of Brenhaven?",
    "Which enzyme splits lactose in the gut of calves?",
    "How many cranes stood in the harbour of Brenhaven in 1931?",
    "What changed for password composition rules between SP 800-63-3 and the draft of SP 800-63-4?",
    "What should a session identifier look like?",
)
MODELS = ("", "", "right", "eager", "never", "silent", "down", "broken")
WEB_FAULTS = ("", "", "pages", "half", "search", "some")
LIMITS_OF_RUNS = ("", "", "", "searches", "calls", "seconds")


@dataclass(frozen=True, slots=True)
class Case:
    """One run to make."""

    profile: str
    question: str
    source: str  # library or web
    fault: str = ""  # of the web
    model: str = ""
    limit: str = ""

    def __str__(self) -> str:
        parts = (self.source, self.fault, self.model and f"model {self.model}", self.limit)
        return f"{self.profile}, {', '.join(part for part in parts if part)}: {self.question}"


@dataclass(frozen=True, slots=True)
class Place:
    """Where runs are made: the data folder, the documents, and the settings as variables."""

    home: Path
    documents: Path
    env: Mapping[str, str]


def draw_cases(count: int, seed: int) -> list[Case]:
    """Draw runs; every profile comes equally often."""
    draw = random.Random(seed)
    cases: list[Case] = []
    for number in range(count):
        source = draw.choice(("library", "library", "web"))
        fault = draw.choice(WEB_FAULTS) if source == "web" else ""
        asked = (draw.choice(QUESTIONS), source, fault, draw.choice(MODELS), draw.choice(LIMITS_OF_RUNS))
        cases.append(Case(PROFILES[number % len(PROFILES)], *asked))
    return cases


def answer_eagerly(asked: WireRequest) -> str:
    """Answer as the obedient reader, and count every question as answered at once."""
    return _change_answer(asked, lambda said: {**said, "answered": _list_questions(asked), "gaps": [], "done": True})


def answer_never(asked: WireRequest) -> str:
    """Answer as the obedient reader, and count nothing as answered."""

    def deny(said: Mapping[str, object]) -> Mapping[str, object]:
        gaps = [{"text": "Nothing is known of this.", "target": each} for each in _list_questions(asked)]
        return {**said, "answered": [], "gaps": gaps, "done": False}

    return _change_answer(asked, deny)


def answer_silently(asked: WireRequest) -> str:
    """Answer as the obedient reader, but find no quote in any source."""
    if "# Role: extract\n" in asked.system:
        return '{"quotes": [], "summary": ""}'
    return answer_from_prompt(asked)


def _change_answer(asked: WireRequest, change: Callable[[Mapping[str, object]], Mapping[str, object]]) -> str:
    said = answer_from_prompt(asked)
    return json.dumps(change(json.loads(said))) if "# Role: reflect\n" in asked.system else said


def _list_questions(asked: WireRequest) -> list[str]:
    return sorted({word.strip(".,:|") for word in asked.user.split() if word.startswith("sq-")})


ANSWERS = {"eager": answer_eagerly, "never": answer_never, "silent": answer_silently}
MODEL_FAULTS = {"down": [Fault("500", p=1.0)], "broken": [Fault("bad-json", p=0.5), Fault("wrong-citations", p=0.5)]}


def _open_web(folder: Path, fault: str) -> LoopbackWeb:
    pages = {"pages": {"/*": "500"}, "half": {"/n*": "500", "/o*": "404"}}.get(fault, {})
    searches = {"search": ["503"] * 500, "some": ["", "503", "none", "429"] * 50}.get(fault, [])
    return LoopbackWeb.of_folder(folder, faults=pages, api_faults=searches)


def _build_request(case: Case, target: str) -> Request:
    overrides = {"calls": (), "seconds": (("minutes", "0.02"), ("reserve_minutes", "0.005"))}.get(case.limit, ())
    options = {"searches": {RequestOption.MAX_SEARCHES: "2"}, "calls": {RequestOption.MAX_TOKENS: "3000"}}
    return Request(
        case.question,
        case.profile,
        overrides=overrides,
        libraries=("demo",) if case.source == "library" else (),
        providers=("tavily",) if case.source == "web" else (),
        models=(("worker", f"openai-compatible:scripted-large@{target}/v1"),) if case.model else (),
        authorized="policy",
        metadata=tuple((str(name), text) for name, text in options.get(case.limit, {}).items()),
    )


async def make_run(case: Case, place: Place) -> Ended:
    """Make one run and read what it left."""
    async with AsyncExitStack() as stack:
        env = {**place.env, "TAVILY_API_KEY": "t"}
        target = ""
        if case.source == "web":
            web = await stack.enter_async_context(_open_web(place.documents, case.fault))
            env |= {"CORROBORA_SOURCES_TAVILY_URL": web.url}
            env |= {"CORROBORA_SOURCES_ALLOWED_ENDPOINTS": f"127.0.0.1:{web.port}"}
        if case.model:
            said = ANSWERS.get(case.model, answer_from_prompt)
            server = ModelServer(said, faults=MODEL_FAULTS.get(case.model, ()))
            target = (await stack.enter_async_context(server)).url
        settings = load_settings(env=env, folder=place.home, user_file=place.home / "none.toml")
        quick = partial(WebAccess, limits=replace(LIMITS, host_pause_seconds=0.0))
        workspace = await stack.enter_async_context(Workspace.open(settings, web=quick))
        run = await submit_run(workspace, _build_request(case, target), deferred=False)
        epoch = await workspace.runs.claim(run, "bench")
        assert epoch is not None
        await execute_run(workspace, run, epoch)
        row = await workspace.runs.get(run)
        files: dict[str, str] = {}
        for name in await workspace.runs.list_artifacts(run):
            stored = await workspace.runs.read_artifact(run, name)
            files[name] = stored.content.decode() if stored is not None else ""
    report = json.loads(files.get("report.json", "{}"))
    codes = [int(run_exit(row, report, min_score=None, strict=strict).code) for strict in (False, True)]
    return Ended(files, row.outcome, row.status, codes[0], codes[1])


@asynccontextmanager
async def open_place(database: str = "") -> AsyncGenerator[Place]:
    """A data folder with the demo documents in a library; the database is its own unless one is named."""
    with tempfile.TemporaryDirectory(prefix="corrobora-truth-") as folder:
        home = Path(folder)
        env = {"CORROBORA_HOME": folder} | ({"CORROBORA_DATABASE_URL": database} if database else {})
        documents = demo_documents(home)
        async with Workspace.open(load_settings(env=env, folder=home, user_file=home / "none.toml")) as workspace:
            await ingest_files(workspace.database, "demo", (documents,), lambda *_: None)
            yield Place(home, documents, env)


async def main(count: int, seed: int, *, verbose: bool) -> int:
    """Print runs, how they ended, and disagreements by kind; return 1 if there is one."""
    ended: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    examples: dict[str, str] = {}
    async with open_place() as place:
        for number, case in enumerate(draw_cases(count, seed), 1):
            run = await make_run(case, place)
            found: list[Found] = find_disagreements(run)
            ended[f"{run.outcome}, exit {run.code}, strict {run.strict}"] += 1
            for kind, what in found:
                kinds[kind] += 1
                examples.setdefault(kind, f"{case}\n      {what}")
                if verbose:
                    print(f"{number:4} {kind}: {case}\n      {what}", file=sys.stderr, flush=True)
    print(f"{count} runs: {', '.join(f'{n} {name}' for name, n in ended.most_common())}")
    print(f"{kinds.total()} disagreements in {len(kinds)} kinds")
    for kind, n in kinds.most_common():
        print(f"{n:4} {kind}, such as {examples[kind]}")
    return 1 if kinds else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args()
    raise SystemExit(asyncio.run(main(given.runs, given.seed, verbose=given.verbose)))

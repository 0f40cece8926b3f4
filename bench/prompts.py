"""What a model is sent in whole runs: tokens for each source read, the share that repeats earlier prompts, calls.

Every profile researches one question over the demo library and over a loopback web of the same documents, with the
scripted model, which obeys the schema and finds a gap after every round, so that all rounds are used. Prints for each
run, and with `--roles` for each role (with the largest parts of its prompts): calls; input tokens of a call (four
characters each; schema, system text and user's text, in the order in which providers read them); the share of these
characters that repeats the beginning of an earlier prompt of the run, of all and of what is no text of a source,
since no such text is sent twice; the share of all in lines that an earlier prompt of the role had, which is the most
that could repeat; characters of an answer. The
effective tokens are what a user pays for: a repeated beginning of at least 1,024 tokens, the least that providers keep,
counts a tenth. Facts are distinct quotes in the findings.
Run: python -m bench.prompts [PROFILE ...] [--place library] [--roles]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import subprocess
import tempfile
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.engine_calls import COMMAND, environment
from bench.model_server.protocols import WireRequest
from bench.model_server.scripted_model import ParsedPrompt, answer_prompt
from bench.model_server.server import ModelServer
from corrobora.app import Workspace
from corrobora.app.attempts import run_here
from corrobora.app.libraries import ingest_files
from corrobora.app.runs import load_report, submit_run
from corrobora.config import load_settings
from corrobora.data import demo_documents
from corrobora.domain.report import Report, iter_threads
from corrobora.domain.run import Request
from corrobora.policies.intake import CANONICAL_ANGLES
from corrobora.testing.web import LoopbackWeb

PROFILES = ("timed", "angles", "rounds", "tree", "triplet", "full")
QUESTION = (
    "How did NIST guidance on password rotation, composition rules and length change between SP 800-63-3 and the "
    "draft of SP 800-63-4?"
)
HOSTS = tuple(f"127.0.0.{number}" for number in range(1, 13))  # of one host a run reads 20 pages at most
TOPICS = ("draft", "hashing", "phishing", "federation", "entropy", "usability", "history")
ASKED = ("password rotation", "composition rules", "password length")
SOURCE_GOAL, PREFIX_GOAL, CALLS_GOAL = 5_000, 0.5, {"angles": 60}
THREAD = "\n".join(
    (
        "round_budget = 4",
        '[thread]\nname = "Passwords"',
        f"subjects = {json.dumps(ASKED)}",
        *(f'[[thread.sub_questions]]\nquestion = "How did guidance on {each} change?"' for each in ASKED),
        f'[brief]\nquestion = "{QUESTION}"',
    )
)
_CHARACTERS_PER_TOKEN, MOST_PARTS = 4, 8
CACHED_PRICE, CACHED_TOKENS = 0.1, 1_024  # of what a provider's cache holds; the shortest beginning that it keeps


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt as it was sent, and what came back."""

    role: str
    text: str
    repeated: int  # characters at its beginning that an earlier prompt began with
    known: int  # characters of its lines that an earlier prompt of the role had, anywhere
    source: int  # characters of sources
    answer: int  # characters
    parts: Mapping[str, int]  # characters of its schema, its rules, and of what follows each line of its own words

    @property
    def paid(self) -> float:
        """Characters at the full price, those at the price of a cache counted as a part of one."""
        held = self.repeated if self.repeated >= CACHED_TOKENS * _CHARACTERS_PER_TOKEN else 0
        return len(self.text) - (1 - CACHED_PRICE) * held


def answer_unsatisfied(asked: WireRequest) -> str:
    """Answer with words of the prompt; a plan has every angle, and no round is enough."""
    page = ParsedPrompt.read(asked.system, asked.user)
    said = json.loads(answer_prompt(asked.system, asked.user))
    if page.role == "plan" and "Split: angles" in page.text:
        first = said["tasks"][0]
        said |= {"tier": "complex", "tasks": [make_task(first, at) for at in range(len(CANONICAL_ANGLES))]}
    if page.role == "reflect":
        number = len(page.past_queries())
        gap = f"{ASKED[number % 3]} {('verifiers', 'usability', 'blocklist', 'threats', 'entropy')[number % 5]}"
        said |= {"answered": [], "done": False, "gaps": [{"text": gap}], "next_topic": gap}
        if said["next"]:
            said["next"] |= {"goal": gap, "queries": [{"text": gap}, *said["next"]["queries"]]}
    return json.dumps(said, ensure_ascii=False)


def make_task(first: Mapping[str, object], at: int) -> dict[str, object]:
    """Return the task of one angle; each asks for something of its own."""
    angle = CANONICAL_ANGLES[at]
    words = f"{TOPICS[at]} {ASKED[at % 3]}"
    own = {"key": angle.slug, "angle": angle.slug, "title": angle.title, "objective": words, "queries": [words]}
    return {**first, **own, "sub_questions": [f"What is said of {words}?"]}


def list_prompts(asked: Sequence[WireRequest], answers: Sequence[str]) -> list[Prompt]:
    """Measure prompts in the order in which they were sent."""
    found: list[Prompt] = []
    lines: dict[str, set[str]] = defaultdict(set)
    for each, answer in zip(asked, answers, strict=True):
        form = each.body.get("response_format", {}).get("json_schema", {}).get("schema", {})
        text = f"{json.dumps(form)}\n{each.system}\n{each.user}"
        role = each.system.partition("# Role: ")[2].partition("\n")[0]
        repeated = max((measure_shared(text, other.text) for other in found), default=0)
        source = sum(len(passage) for _, passage in ParsedPrompt.read(each.system, each.user).passages())
        own = text.splitlines(keepends=True)
        known = sum(len(line) for line in own if line in lines[role])
        lines[role].update(own)
        parts = {"schema": len(json.dumps(form)), "rules": len(each.system), **split_parts(each.user)}
        found.append(Prompt(role, text, repeated, known, source, len(answer), parts))
    return found


def split_parts(user: str) -> Counter[str]:
    """Count the characters of a prompt's material by the words before it, numbers and ids left out."""
    parts, label, inside = Counter[str](), "", False
    for line in user.splitlines(keepends=True):
        words = line.partition("<data-")[0].strip()
        label = label if inside or not words else re.sub(r"[A-Z]*\w*\d\w*", "#", words)[:50]
        parts[label] += len(line)
        inside = (inside or line.rstrip().endswith(">")) and "</data-" not in line
    return parts


def measure_shared(one: str, other: str) -> int:
    """Return how many characters two texts begin with alike."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def measure_repeated(prompts: Sequence[Prompt]) -> float:
    """Return the share of all characters, but those of sources, that repeats an earlier beginning."""
    return sum(each.repeated for each in prompts) / sum(len(each.text) - each.source for each in prompts)


def describe_prompts(prompts: Sequence[Prompt]) -> str:
    """Return calls, tokens of a call, the repeated shares and the length of answers as a line."""
    size, count = sum(len(each.text) for each in prompts), len(prompts)
    tokens, answer = size // _CHARACTERS_PER_TOKEN // count, sum(each.answer for each in prompts) // count
    shared = f"{sum(each.repeated for each in prompts) / size:>4.0%} / {measure_repeated(prompts):>4.0%} repeated"
    paid = round(sum(each.paid for each in prompts)) // _CHARACTERS_PER_TOKEN // count
    bound = f"{sum(each.known for each in prompts) / size:>4.0%} could be"
    return f"{count:>3} calls {tokens:>6} tokens in, {paid:>5} effective  {shared}, {bound}  {answer:>5} characters out"


async def research_place(workspace: Workspace, server: ModelServer, profile: str, place: str) -> Report:
    """Run a profile over the library or the loopback web; what the server was asked before is forgotten."""
    server.asked.clear()
    request = Request(
        QUESTION,
        profile,
        authorized="policy",
        models=(("worker", f"openai-compatible:scripted-large@{server.url}/v1"),),
        thread_file=THREAD if profile == "triplet" else "",
        overrides=(("minutes", "unlimited"),),
        libraries=("demo",) if place == "library" else (),
        providers=("tavily",) if place == "web" else (),
    )
    run = await submit_run(workspace, request, deferred=False)
    await run_here(workspace, run)
    report = await load_report(workspace, run)
    assert report is not None, (await workspace.runs.get(run)).reason
    return report


async def measure(workspace: Workspace, server: ModelServer, profile: str, place: str, *, roles: bool) -> None:
    """Run a profile and print its figures, and which of the goals they miss."""
    report = await research_place(workspace, server, profile, place)
    prompts = list_prompts(server.asked, [answer_unsatisfied(each) for each in server.asked])
    read, tokens = report.methodology.sources_read, sum(len(each.text) for each in prompts) // _CHARACTERS_PER_TOKEN
    own = sum(each.source for each in prompts) // _CHARACTERS_PER_TOKEN // read
    paid = round(sum(each.paid for each in prompts)) // _CHARACTERS_PER_TOKEN // read
    quotes = {fact.quote: bool(fact.answers) for found in iter_threads(report.findings) for fact in found.facts}
    facts = f"{len(quotes)} facts, {sum(quotes.values())} that answer"
    told = f"{tokens // read:>6} tokens a source, {own} of them its text, {paid} effective ({read} read, {facts})"
    few = len(prompts) <= CALLS_GOAL.get(profile, len(prompts))
    goals = {
        "tokens": tokens // read <= SOURCE_GOAL,
        "repeated": measure_repeated(prompts) >= PREFIX_GOAL,
        "calls": few,
    }
    missed = ", ".join(name for name, reached in goals.items() if not reached)
    print(f"{profile:<8}{place:<8}{told}  {describe_prompts(prompts)}  missed: {missed or '-'}", flush=True)
    by_role: dict[str, list[Prompt]] = defaultdict(list)
    for each in prompts:
        by_role[each.role].append(each)
    for role, some in by_role.items() if roles else ():
        print(f"    {role:<12} {describe_prompts(some)}")
        parts = sum((Counter(each.parts) for each in some), Counter[str]())
        for part, size in parts.most_common(MOST_PARTS):
            print(f"        {size // _CHARACTERS_PER_TOKEN:>7} tokens: {part}")


@asynccontextmanager
async def open_places(home: Path) -> AsyncGenerator[tuple[Workspace, ModelServer]]:
    """Open a workspace with the demo library, a loopback web of its documents, and the scripted model."""
    documents = demo_documents(home)
    async with (
        ModelServer(answers=answer_unsatisfied) as server,
        LoopbackWeb.of_folder(documents, key="web", hosts=HOSTS) as web,
    ):
        env = {
            "CORROBORA_HOME": str(home),
            "CORROBORA_SOURCES_TAVILY_URL": web.url,
            "CORROBORA_SOURCES_ALLOWED_ENDPOINTS": ",".join(f"{host}:{web.port}" for host in HOSTS),
            "TAVILY_API_KEY": web.key,
        }
        settings = load_settings(env=env, folder=home, user_file=home / "none.toml")
        async with Workspace.open(settings) as workspace:
            await ingest_files(workspace.database, "demo", (documents,), lambda *_: None)
            yield workspace, server


async def measure_all(home: Path, profiles: Sequence[str], places: Sequence[str], *, roles: bool) -> None:
    """Run every profile over every place."""
    async with open_places(home) as (workspace, server):
        for profile in profiles:
            for place in places:
                await measure(workspace, server, profile, place, roles=roles)


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("profiles", nargs="*", default=PROFILES, metavar="PROFILE")
    parser.add_argument("--place", action="append", choices=("library", "web"))
    parser.add_argument("--roles", action="store_true", help="print each role and its largest parts, too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="corrobora-prompts-") as folder:
        home = Path(folder)
        try:
            asyncio.run(measure_all(home, options.profiles, options.place or ("library", "web"), roles=options.roles))
        finally:
            subprocess.run([*COMMAND, "db", "stop"], env=environment(home), check=False, capture_output=True)
    print(f"goals: {SOURCE_GOAL:,} tokens a source, {PREFIX_GOAL:.0%} repeated, {CALLS_GOAL['angles']} calls of angles")


if __name__ == "__main__":
    main()

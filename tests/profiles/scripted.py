"""A scripted web for acceptance tests: pages, search engines with delays and failures, and the real engine over it.

Everything is in memory; on `run_virtually` a run of an hour takes milliseconds and every time-out is real.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.fakes import LoopTime, MemoryFiles, MemoryJournal, MemoryLibrary
from tests.profiles.over_wire import OverWire

from corrobora.analysts.extractive import ExtractiveAnalyst
from corrobora.config import load_settings
from corrobora.config.profiles import load_profile
from corrobora.domain.errors import ProviderError, ReadError
from corrobora.domain.evidence import Document, Hit, Query, ReadOutcome, Source, SourceId
from corrobora.domain.plan import Brief, Plan
from corrobora.domain.report import Report
from corrobora.domain.run import Event, EventType, Request, RunId
from corrobora.engine.research import research
from corrobora.engine.session import RunPorts, Session
from corrobora.engine.session.budget import Budget
from corrobora.faces.cli import request as command
from corrobora.faces.request import Question
from corrobora.policies import Profile, derive_allowance, resolve_advance, resolve_rules
from corrobora.ports import Analyst, Clock
from corrobora.reporting.thread_json import render_round_files
from corrobora.text.tokens import stem_text

Pages = Mapping[str, "str | ReadOutcome"]


@dataclass
class Engine:
    """A search engine over pages by rare shared words. `seconds` is how long an answer takes, `inf` hangs."""

    pages: Pages
    name: str = "tavily"
    seconds: float = 0.0
    down: bool = False
    fails: set[int] = field(default_factory=set)  # numbers of the searches that fail, from 1
    asked: list[Query] = field(default_factory=list)
    at: list[float] = field(default_factory=list)
    busy: int = 0
    most_busy: int = 0

    async def search(self, query: Query, /, *, limit: int) -> Sequence[Hit]:
        self.asked.append(query)
        self.at.append(asyncio.get_running_loop().time())
        number = len(self.asked)
        self.busy += 1
        self.most_busy = max(self.most_busy, self.busy)
        try:
            await (asyncio.Event().wait() if math.isinf(self.seconds) else asyncio.sleep(self.seconds))
        finally:
            self.busy -= 1
        if self.down or number in self.fails:
            raise ProviderError("search_refused", f"{self.name} refused.", provider=self.name)
        return self.ranked(query, limit)

    def ranked(self, query: Query, limit: int) -> list[Hit]:
        texts = {url: text if isinstance(text, str) else f"unreadable {url}" for url, text in self.pages.items()}
        if query.site:
            texts = {url: text for url, text in texts.items() if query.site in url.split("/")[2]}
        wanted = set(stem_text(query.text))
        words = {url: set(stem_text(text)) for url, text in texts.items()}
        seen = Counter(word for own in words.values() for word in own & wanted)
        score = {u: sum(math.log(1 + len(words) / seen[w]) for w in own & wanted) for u, own in words.items()}
        best = sorted((u for u in score if score[u]), key=lambda u: (-score[u], u))[:limit]
        return [Hit(u, _title(texts[u]), texts[u][:200], score[u], self.name, query.text) for u in best]


@dataclass
class PageReader:
    """Reads pages into the library; an outcome in place of a text makes reading end in it. `tried` counts requests."""

    pages: Pages
    library: MemoryLibrary
    seconds: float = 0.0
    tried: Counter[str] = field(default_factory=Counter)
    mended: Mapping[str, int] = field(default_factory=dict)  # URL -> how often it fails before it can be read

    def accepts(self, hit: Hit) -> bool:
        return hit.url.startswith("http")

    async def read(self, hit: Hit) -> Document:
        self.tried[hit.url] += 1
        await asyncio.sleep(self.seconds)
        page = self.pages.get(hit.url, ReadOutcome.NOT_FOUND)
        if self.tried[hit.url] <= self.mended.get(hit.url, 0):
            page = ReadOutcome.FAILED
        if isinstance(page, ReadOutcome):
            raise ReadError(page.value, f"{hit.url}: {page.value}.")
        source, passages = await self.library.store(
            Source(SourceId(""), _title(page), hit.url, "", kind="web"), page, space="web"
        )
        return Document(source, page, tuple(passages))


def _title(text: str) -> str:
    return text.strip().partition("\n")[0].lstrip("# ")[:100]


class Agreeing:
    """A person who agrees to every plan and has nothing to add."""

    async def authorize(self, plan: Plan) -> bool:
        return bool(plan.root.path)

    async def between_rounds(self, path: str, number: int) -> str:
        return ""

    async def before_searches(self, path: str, number: int, queries: Sequence[str]) -> str:
        return ""


@dataclass
class WebRun:
    """One run with its parts in reach."""

    session: Session
    engines: Mapping[str, Engine]
    reader: PageReader
    journal: MemoryJournal
    files: dict[str, str]

    async def research(self) -> Report:
        return await research(Brief(self.session.request.question), self.session)

    @property
    def library(self) -> MemoryLibrary:
        return self.reader.library

    @property
    def events(self) -> list[Event]:
        return self.journal.events

    def told(self, kind: EventType) -> list[Event]:
        return [event for event in self.events if event.type is kind]

    def json(self, name: str) -> Any:
        return json.loads(self.files[name])


def make_web_run(
    profile: str | Profile,
    pages: Pages,
    *,
    question: str = "",
    engines: Sequence[Engine] = (),
    analysts: Sequence[Analyst] = (),
    thread_file: str = "",
    overrides: Mapping[str, str] | None = None,
    clock: Clock | None = None,
    human: Any = None,
    journal: MemoryJournal | None = None,
    library: MemoryLibrary | None = None,
    mended: Mapping[str, int] | None = None,
    read_seconds: float = 0.0,
    wire: bool = True,
    in_turn: bool = False,
    **fields: Any,
) -> WebRun:
    """Set up a run over a scripted web. `overrides` are fields as flags set them, `fields` replace loaded ones.

    Analysts answer over the wire; without `wire` they may give what no schema allows.
    """
    given = tuple((overrides or {}).items())
    chosen = load_profile(profile, given) if isinstance(profile, str) else profile
    chosen = replace(chosen, **fields) if fields else chosen
    library, journal, clock = library or MemoryLibrary(), journal or MemoryJournal(), clock or LoopTime()
    known = {each.name: each for each in engines or (Engine(pages),)}
    reader = PageReader(pages, library, read_seconds, mended=mended or {})
    files = MemoryFiles(journal)
    played = tuple(analysts) or (ExtractiveAnalyst(),)

    session = Session(
        run=RunId(journal.run),
        request=Request(question, chosen.name, given, thread_file=thread_file),
        profile=chosen,
        stop=resolve_rules(chosen),
        advance=resolve_advance(chosen),
        outside=RunPorts(
            analysts=tuple(map(OverWire, played)) if wire else played,
            searches=known,
            readers=(reader,),
            library=library,
            journal=journal,
            clock=clock,
            human=human or Agreeing(),
            write=files.write,
            seal=files.seal,
            read=files.read,
            render_round=render_round_files,
        ),
        budget=Budget(derive_allowance(chosen), clock, in_turn=in_turn),
        started_at=clock.utc_time() if not isinstance(clock, LoopTime) else "2026-01-01T00:00:00+00:00",
    )
    return WebRun(session, known, reader, journal, files.texts)


@dataclass
class Growing(Engine):
    """A web that never ends: each search finds new pages about the subject, so that nothing saturates."""

    pages: dict[str, str] = field(default_factory=dict)
    subject: str = "the lighthouse of Oldby"
    per_search: int = 3

    def ranked(self, query: Query, limit: int) -> list[Hit]:
        found: list[Hit] = []
        for n in range(min(limit, self.per_search)):
            number = len(self.pages) + 1
            url = f"https://site{number}.example/{self.name}/{len(self.asked)}-{n}"
            seen = f"{self.subject} was seen by witness {number} on the {number}th day of watch"
            text = f"# Note {number}\n\nNote {number}: {seen}."
            self.pages[url] = text
            found.append(Hit(url, f"Note {number}", text[:200], 1.0 / (n + 1), self.name, query.text))
        return found


def asked_for(*args: str, env: Mapping[str, str] | None = None) -> Request:
    """Return the request that a command line makes, as it would be stored."""
    context = command.research.make_context("research", [*args, "--library", "docs"])
    flags: Any = context.params
    settings = load_settings(command.run_settings(flags), env=dict(env or {}), user_file=Path("/nonexistent"))
    question = Question(args[0]) if args else Question("")
    return command.read_request(flags, settings, question)


def profile_asked_for(*args: str, env: Mapping[str, str] | None = None) -> Profile:
    """Return the profile that a command line resolves to."""
    request = asked_for(*args, env=env)
    return load_profile(request.profile, request.overrides)

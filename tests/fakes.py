"""Fakes for tests: a clock, an event loop in virtual time, a journal and a library in memory.

Know the ports that they stand for. A run of an hour takes milliseconds, and nothing survives the process. Real sockets
and threads do not belong into virtual time; search ranks by rare shared words, which is enough for tests.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import heapq
import math
import re
import selectors
from collections import Counter
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, TypeVar

from corrobora.domain.errors import ReadError, Stale
from corrobora.domain.evidence import Document, Fact, FactId, Hit, Insight, Passage, PassageId, Query, Source, SourceId
from corrobora.domain.run import SEALED, Event
from corrobora.ports import Entry, Heading, Journal
from corrobora.text.tokens import stem_text

_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


class FakeClock:
    """A `Clock`. With `auto` (the default) a sleep moves the time at once; else `advance` wakes the sleepers."""

    def __init__(self, start: float = 0.0, *, auto: bool = True) -> None:
        self._now = start
        self._auto = auto
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = count()
        self.slept: list[float] = []

    def now(self) -> float:
        return self._now

    def utc_time(self) -> str:
        """A time of day that fits `now`, counted from the first of January 2026."""
        return (_EPOCH + timedelta(seconds=self._now)).isoformat()

    async def sleep(self, seconds: float) -> None:
        """Sleep on this clock. Other tasks get their turn first."""
        self.slept.append(seconds)
        if self._auto:
            await asyncio.sleep(0)
            self._now += max(0.0, seconds)
            return
        wake: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now + max(0.0, seconds), next(self._order), wake))
        await wake

    async def advance(self, seconds: float) -> None:
        """Let time pass: wake every sleeper whose hour comes, in order, and let it run."""
        end = self._now + seconds
        await asyncio.sleep(0)
        while self._sleepers and self._sleepers[0][0] <= end:
            at, _, wake = heapq.heappop(self._sleepers)
            self._now = max(self._now, at)
            if not wake.done():
                wake.set_result(None)
            for _ in range(5):  # what the sleeper does next may start another sleep before `end`
                await asyncio.sleep(0)
        self._now = end


T = TypeVar("T")


class _JumpingSelector(selectors.DefaultSelector):
    """Never waits: where a loop would wait for its next timer, the clock jumps there."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready; if nothing is, let the time pass at once."""
        ready = super().select(0)
        if not ready and timeout is not None and timeout > 0:
            self.now += timeout
        elif not ready and timeout is None:
            return super().select(None)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop on virtual time, which starts at 0."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        """Seconds of virtual time."""
        return self._jumping.now


class LoopTime:
    """A `Clock` that reads the running loop; outside of one its time stands still."""

    def __init__(self) -> None:
        self._last = 0.0

    def now(self) -> float:
        """Seconds of the loop's time; before a loop runs 0, after it the last that was read."""
        with contextlib.suppress(RuntimeError):
            self._last = asyncio.get_running_loop().time()
        return self._last

    def utc_time(self) -> str:
        """A time of day that fits `now`, counted from the first of January 2026."""
        return (_EPOCH + timedelta(seconds=self.now())).isoformat()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def run_virtually(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on a loop of its own, in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)


@dataclass(slots=True)
class MemoryJournal:
    """A `Journal`. `again()` opens the next attempt over the same entries and makes this one stale."""

    run: str = "r_memory"
    epoch: int = 1
    entries: dict[str, Entry] = field(default_factory=dict[str, Entry])
    events: list[Event] = field(default_factory=list[Event])
    begun: set[str] = field(default_factory=set[str])
    _stale: bool = False
    _uncertain: tuple[str, ...] = ()

    def next_attempt(self) -> MemoryJournal:
        """Start the next attempt, as another worker would after this one died, at the latest before its report."""
        self._stale = True
        self.entries.pop(SEALED, None)
        left = tuple(sorted(self.begun - self.entries.keys()))
        return MemoryJournal(self.run, self.epoch + 1, self.entries, self.events, self.begun, _uncertain=left)

    def get(self, key: str) -> Entry | None:
        return self.entries.get(key)

    def keys(self, prefix: str = "") -> Sequence[str]:
        return sorted(key for key in self.entries if key.startswith(prefix))

    def begin(self, key: str) -> None:
        """Note that a call is about to be sent. Raises `Stale`."""
        self._check_stale()
        self.begun.add(key)

    async def put(self, entry: Entry, *, wait: bool = True) -> Entry:
        """Keep the first answer of a key and return it; a stale attempt's answer is kept if the key is free."""
        kept = self.entries.setdefault(entry.key, entry)
        self._check_stale()
        return kept

    def emit(self, event: Event) -> None:
        """Append an event once. Raises `Stale`."""
        self._check_stale()
        if all(known.key != event.key for known in self.events):
            self.events.append(replace(event, seq=len(self.events) + 1))

    async def flush(self) -> None:
        """Raise `Stale` if a newer attempt owns the run."""
        self._check_stale()

    def uncertain_keys(self) -> Sequence[str]:
        return tuple(key for key in self._uncertain if key not in self.entries)

    def _check_stale(self) -> None:
        if self._stale:
            raise Stale


@dataclass(slots=True)
class MemoryFiles:
    """The files of a run, and the report that is sealed with its journal: `RunPorts.write`, `seal` and `read`."""

    journal: Journal
    texts: dict[str, str] = field(default_factory=dict[str, str])

    async def write(self, texts: Mapping[str, str]) -> None:
        for name, text in texts.items():
            self.texts[name] = text

    async def seal(self, texts: Mapping[str, str], entry: Entry) -> Entry:
        """Keep the files of the first report."""
        first = self.journal.get(entry.key)
        if first is None:
            await self.write(texts)
        return first or await self.journal.put(entry)

    async def read(self, name: str) -> str | None:
        return self.texts.get(name)


_PARAGRAPH = re.compile(r"\n[ \t]*\n")
_PASSAGE_CHARS = 1_200


@dataclass(slots=True)
class MemoryLibrary:
    """A `Library`, `SearchProvider` and `Reader` over documents in memory.

    Example:
        library = await MemoryLibrary.of({"valves.md": "# Valves ..."})
    """

    name: str = "library"
    asked: list[Query] = field(default_factory=list[Query])
    _sources: dict[SourceId, tuple[Source, str]] = field(default_factory=dict[SourceId, tuple[Source, str]])
    _passages: dict[PassageId, Passage] = field(default_factory=dict[PassageId, Passage])
    _words: dict[PassageId, frozenset[str]] = field(default_factory=dict[PassageId, frozenset[str]])
    _facts: dict[FactId, Fact] = field(default_factory=dict[FactId, Fact])
    _insights: dict[tuple[str, str, str], Insight] = field(default_factory=dict[tuple[str, str, str], Insight])

    @classmethod
    async def of(cls, documents: Mapping[str, str]) -> MemoryLibrary:
        """Return a library that holds these documents (path -> text)."""
        library = cls()
        for path, text in documents.items():
            title = text.strip().partition("\n")[0].lstrip("# ")[:120] or path
            await library.store(Source(SourceId(""), title, path, ""), text, space="memory")
        return library

    async def store(
        self,
        source: Source,
        text: str,
        *,
        space: str,
        headings: Sequence[Heading] = (),
    ) -> tuple[Source, Sequence[Passage]]:
        """Store a document once, by the hash of its text; a passage is under the last heading before it."""
        digest = hashlib.sha256(text.encode()).hexdigest()
        known = next((each for each, _ in self._sources.values() if each.snapshot == digest), None)
        if known is not None:
            return known, [p for p in self._passages.values() if p.source == known.id]
        id_ = SourceId(f"S{len(self._sources) + 1}")
        stored = replace(source, id=id_, snapshot=digest, origin=source.origin or digest)
        self._sources[id_] = (stored, text)
        added: list[Passage] = []
        for start, end in _paragraph_spans(text):
            above = [heading.title for heading in headings if heading.start <= start]
            added.append(self._add_passage(id_, start, text[start:end], above[-1] if above else ""))
        return stored, added

    def _add_passage(self, source: SourceId, start: int, text: str, heading: str) -> Passage:
        id_ = PassageId(f"C{len(self._passages) + 1}")
        passage = Passage(id_, source, text, start, start + len(text), heading)
        self._passages[id_] = passage
        self._words[id_] = frozenset(stem_text(f"{self._sources[source][0].title} {heading} {text}"))
        return passage

    async def hybrid_search(self, text: str, *, limit: int = 10) -> Sequence[Hit]:
        """Return the passages that share most rare words with `text`, best first."""
        wanted = set(stem_text(text))
        seen = Counter(word for words in self._words.values() for word in words & wanted)
        total = len(self._words) + 1
        scores = {
            id_: sum(math.log(total / seen[word]) + 0.1 for word in words & wanted)
            for id_, words in self._words.items()
            if words & wanted
        }
        best = sorted(scores, key=lambda id_: (-scores[id_], int(id_[1:])))[:limit]
        return [self._build_hit(self._passages[id_], scores[id_], text) for id_ in best]

    def _build_hit(self, passage: Passage, score: float, query: str) -> Hit:
        source = self._sources[passage.source][0]
        return Hit(
            source.url,
            source.title,
            passage.text[:200],
            score,
            self.name,
            query,
            source.published,
            source.id,
            passage.id,
        )

    async def search(self, query: Query, /, *, limit: int) -> Sequence[Hit]:
        """Search as `hybrid_search` does, as a provider."""
        self.asked.append(query)
        return await self.hybrid_search(query.text, limit=limit)

    def accepts(self, hit: Hit) -> bool:
        return hit.source in self._sources

    async def read(self, hit: Hit) -> Document:
        """Return the document of a hit with its passage. Raises `ReadError` `not_found`."""
        if hit.source is None:
            raise ReadError("not_found", f"{hit.url} is not stored.")
        source, text = await self.document(hit.source)
        wanted = [hit.passage] if hit.passage else [p.id for p in self._passages.values() if p.source == source.id]
        return Document(source, text, tuple(await self.passages(wanted)))

    async def document(self, source: SourceId) -> tuple[Source, str]:
        """Return a source and its text. Raises `ReadError` `not_found`."""
        if source not in self._sources:
            raise ReadError("not_found", f"The source {source} is not stored.")
        return self._sources[source]

    async def passages(self, ids: Sequence[PassageId]) -> Sequence[Passage]:
        return [self._passages[id_] for id_ in ids if id_ in self._passages]

    async def describe(self) -> str:
        """Say what is stored."""
        return f"{len(self._sources)} documents: {'; '.join(source.title for source, _ in self._sources.values())}"

    async def source_passages(self, source: SourceId) -> Sequence[Passage]:
        return [each for each in self._passages.values() if each.source == source]

    async def remember(self, facts: Sequence[Fact], *, run: str) -> int:
        """Keep facts once, by id; return how many were new."""
        fresh = {fact.id: fact for fact in facts if fact.id not in self._facts}
        self._facts |= fresh
        return len(fresh)

    async def recall(self, text: str, *, limit: int = 20) -> Sequence[Fact]:
        wanted = set(stem_text(text))
        ranked = sorted(self._facts.values(), key=lambda fact: (-len(wanted & set(stem_text(fact.quote))), fact.id))
        return [fact for fact in ranked if wanted & set(stem_text(fact.quote))][:limit]

    async def remember_insights(self, insights: Sequence[Insight], *, run: str) -> int:
        """Keep insights once, by source, kind and text; return how many were new."""
        fresh = {(each.source, each.kind, each.text): each for each in insights}
        fresh = {name: each for name, each in fresh.items() if name not in self._insights}
        self._insights |= fresh
        return len(fresh)

    async def recall_insights(self, text: str, *, limit: int = 20) -> Sequence[Insight]:
        wanted = set(stem_text(text))
        shared = {
            name: len(wanted & set(stem_text(f"{each.text} {each.why}"))) for name, each in self._insights.items()
        }
        ranked = sorted((name for name in shared if shared[name]), key=lambda name: (-shared[name], name))
        return [self._insights[name] for name in ranked][:limit]


def _paragraph_spans(text: str) -> list[tuple[int, int]]:
    """Cut at blank lines, and long paragraphs at a fixed length."""
    spans: list[tuple[int, int]] = []
    start = 0
    for border in (*(match.start() for match in _PARAGRAPH.finditer(text)), len(text)):
        begin, end = start, border
        while begin < end and text[begin].isspace():
            begin += 1
        spans += [(at, min(at + _PASSAGE_CHARS, end)) for at in range(begin, end, _PASSAGE_CHARS)]
        start = border
    return spans

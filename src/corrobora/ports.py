"""The ports: what the method needs from the outside, as Protocols.

Knows signatures and promises. Does not know any adapter. Implement one of these to plug in a search engine, a reader,
a library, a model; `corrobora.testing` ships scripted ones and the conformance suites.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, runtime_checkable

from corrobora.domain.documents import Heading
from corrobora.domain.evidence import Document, Fact, Hit, Insight, Passage, PassageId, Query, Source, SourceId
from corrobora.domain.limits import Usage
from corrobora.domain.plan import Plan
from corrobora.domain.run import Event

I = TypeVar("I")  # noqa: E741 - input of a role, the letter of the design
O = TypeVar("O")  # noqa: E741 - output of a role


@dataclass(frozen=True, slots=True)
class Role(Generic[I, O]):
    """A typed function played by an analyst. `prompt` names the file `roles/prompts/NAME.md`."""

    name: str
    takes: type[I]
    gives: type[O]
    prompt: str
    tier: str = "worker"  # lead | worker | fast | judge: which model plays it

    def __hash__(self) -> int:
        return hash((self.name, self.prompt))


@dataclass(frozen=True, slots=True)
class Answer(Generic[O]):
    """What an analyst answered: the value, what it cost, who really answered."""

    value: O
    usage: Usage = Usage()
    model: str = ""
    analyst: str = ""


@runtime_checkable
class Analyst(Protocol):
    """Plays roles. Raises `ProviderError` (retryable or not) or `RoleError`; never returns a guess for a failure."""

    name: str

    def identity(self, role: Role[I, O]) -> str:
        """Name model and prompt version for `role`: part of the journal key, so that answers never mix."""
        ...

    async def play(self, role: Role[I, O], given: I) -> Answer[O]:
        """Play `role` once."""
        ...


@runtime_checkable
class SearchProvider(Protocol):
    """Turns a query into hits. An empty list means the provider answered "nothing"; a failure is a `ProviderError`."""

    name: str

    async def search(self, query: Query, /, *, limit: int) -> Sequence[Hit]:
        """Return at most `limit` hits, best first."""
        ...


@runtime_checkable
class Reader(Protocol):
    """Turns a hit into a stored document, or raises `ReadError` with an outcome of the closed set."""

    def accepts(self, hit: Hit) -> bool:
        """True if this reader can read the hit."""
        ...

    async def read(self, hit: Hit) -> Document:
        """Read, store the snapshot, return it with the passages around the hit."""
        ...


@runtime_checkable
class Crawler(Protocol):
    """A reader that can take a whole site: every page is stored like one that was read."""

    async def crawl(self, url: str, *, limit: int) -> Sequence[Hit]:
        """Store at most `limit` pages reached from `url` on its own site; return them as hits on stored sources.

        Raises `ReadError` for an address that may not be asked for, `ProviderError` if nobody could crawl.
        """
        ...


class Library(Protocol):
    """Stored sources, passages and facts, and the search over them."""

    async def hybrid_search(self, text: str, *, limit: int = 10) -> Sequence[Hit]:
        """Search the spaces this library was opened with: BM25, title links, boosts, vectors if there are any.

        Requirement: ANGLES-13.
        """
        ...

    async def document(self, source: SourceId) -> tuple[Source, str]:
        """Return a source and the whole text of its snapshot. Raises `ReadError` if it is not stored."""
        ...

    async def passages(self, ids: Sequence[PassageId]) -> Sequence[Passage]:
        """Return the passages that exist, in the order asked for."""
        ...

    async def source_passages(self, source: SourceId) -> Sequence[Passage]:
        """Return all passages of a source in reading order; empty if it is not stored."""
        ...

    async def neighbour_passages(self, passage: PassageId, *, before: int = 1, after: int = 1) -> Sequence[Passage]:
        """Return the passage with its neighbours in the same source, in reading order."""
        ...

    async def store(
        self, source: Source, text: str, *, space: str, headings: Sequence[Heading] = ()
    ) -> tuple[Source, Sequence[Passage]]:
        """Store a document once (content-addressed) and return it with its number and its passages."""
        ...

    async def remember(self, facts: Sequence[Fact], /, *, run: str) -> int:
        """Keep facts for re-use across runs; near-duplicates are merged. Returns how many were new (TREE-31)."""
        ...

    async def recall(self, text: str, *, limit: int = 20) -> Sequence[Fact]:
        """Return stored facts that speak to `text`, best first (TREE-31)."""
        ...

    async def remember_insights(self, insights: Sequence[Insight], /, *, run: str) -> int:
        """Keep what sources told beside what was asked; the same of one source once. Returns how many were new."""
        ...

    async def recall_insights(self, text: str, *, limit: int = 20) -> Sequence[Insight]:
        """Return stored insights that share words with `text`, best first (TREE-31)."""
        ...


class FactStore(Protocol):
    """The knowledge base: facts with citation and confidence, kept over runs. A `Library` is one (TREE-31)."""

    async def remember(self, facts: Sequence[Fact], /, *, run: str) -> int:
        """Keep facts; near-duplicates of one origin are merged. Returns how many were new."""
        ...

    async def recall(self, text: str, *, limit: int = 20) -> Sequence[Fact]:
        """Return stored facts that speak to `text`, best first."""
        ...

    async def remember_insights(self, insights: Sequence[Insight], /, *, run: str) -> int:
        """Keep insights, the same of one source once; the surer one stays. Returns how many were new."""
        ...

    async def recall_insights(self, text: str, *, limit: int = 20) -> Sequence[Insight]:
        """Return stored insights that share words with `text`, best first."""
        ...


class Embedder(Protocol):
    """Turns texts into unit vectors."""

    name: str
    dimensions: int

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return one vector for each text."""
        ...


@dataclass(frozen=True, slots=True)
class Entry:
    """One answered call in the journal. `out` is JSON text; `meta` is small JSON (usage, model, seconds)."""

    key: str
    out: str
    meta: str = "{}"


class Journal(Protocol):
    """The durable memory of one attempt at one run: what was asked, answered and told."""

    run: str
    epoch: int

    def get(self, key: str) -> Entry | None:
        """Return the committed answer for `key`, if there is one. Never waits."""
        ...

    def keys(self, prefix: str = "") -> Sequence[str]:
        """Return the committed keys that start with `prefix`, sorted."""
        ...

    def begin(self, key: str) -> None:
        """Note that a paid call is about to be sent; unanswered ones are shown as "uncertain" after a crash."""
        ...

    async def put(self, entry: Entry) -> Entry:
        """Commit an answer and return the one that counts: the first committed for its key. Raises `Stale`."""
        ...

    def emit(self, event: Event) -> None:
        """Append an event; one with a key that was told before is dropped. Written soon, in order, without gaps."""
        ...

    async def flush(self) -> None:
        """Wait until all that was told or begun is committed. Raises `Stale`."""
        ...

    def uncertain_keys(self) -> Sequence[str]:
        """Keys that an earlier attempt began and nobody answered."""
        ...


class Clock(Protocol):
    """Time, injected."""

    def now(self) -> float:
        """Monotonic seconds."""
        ...

    def utc_time(self) -> str:
        """ISO 8601 time in UTC, for people; never used for a decision."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class Limiter(Protocol):
    """A rate limit that every worker shares: one per provider, held outside the process."""

    async def acquire(self) -> None:
        """Wait until one more call may begin."""
        ...


class Human(Protocol):
    """The person behind a run, if there is one."""

    async def authorize(self, plan: Plan) -> bool:
        """Return True if the plan may run. Raises `NeedsHuman` if nobody can be asked now."""
        ...

    async def between_rounds(self, path: str, number: int) -> str:
        """Return a hint for the next round, "" to go on (ROUNDS-25). Raises `NeedsHuman` to pause."""
        ...


class Delivery(Protocol):
    """Hands a finished report on. Raises `ProviderError`; a second call with the same `delivery` is a repetition."""

    name: str

    async def send(self, title: str, files: Mapping[str, bytes], *, delivery: str) -> None:
        """Deliver the files of a report, once for each `delivery`."""
        ...


Perform = Callable[[], Awaitable[str]]
Settings = Mapping[str, object]

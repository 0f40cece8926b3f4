"""The ports: what the method needs from outside, as Protocols, and the documents that readers and libraries pass on.

Knows signatures and what they promise. Does not know any adapter. Implement a port to plug in a search engine, reader,
library or model; `corrobora.testing` ships scripted implementations and conformance suites. A parsed document is the
text of a file or page without its markup, whatever its format was and wherever it will be stored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from corrobora.domain.errors import ProviderError
from corrobora.domain.evidence import Document, Fact, Hit, Insight, Passage, PassageId, Query, Source, SourceId
from corrobora.domain.limits import Usage
from corrobora.domain.plan import Plan
from corrobora.domain.run import Event


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading that begins in the text at `start`; `level` 1 is the highest."""

    start: int
    level: int
    title: str


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """The readable text of one document. Quotes are literal in `text`; `note` says what was left out, if anything."""

    title: str
    text: str
    headings: tuple[Heading, ...] = ()
    published: str = ""
    version: str = ""
    publisher: str = ""
    truncated: bool = False
    note: str = ""
    authors: tuple[str, ...] = ()  # as `text.authors` writes names


@dataclass(frozen=True, slots=True)
class IngestItem:
    """One document to store. `path` and `digest` name the file it was read from, if any."""

    source: Source
    text: str
    headings: tuple[Heading, ...] = ()
    path: str | None = None
    digest: str = ""


I = TypeVar("I")  # noqa: E741 - input of a role, the letter of the design
O = TypeVar("O")  # noqa: E741 - output of a role


@dataclass(frozen=True, slots=True)
class Role(Generic[I, O]):
    """A typed function played by an analyst. `prompt` names the file `prompts/NAME.md` in `package`.

    A language model fills in a value of type `wire`, by default the output itself; `convert` makes the output of it and
    of the input, and raises `ValueError` with what the model must correct. `example` makes a full input for tests.
    """

    name: str
    takes: type[I]
    gives: type[O]
    prompt: str
    tier: str = "worker"  # lead | worker | fast | judge: which model plays it
    wire: type[Any] | None = None
    convert: Callable[[I, Any], O] | None = None
    example: Callable[[], I] | None = None
    package: str = "corrobora.roles"

    def __hash__(self) -> int:
        return hash((self.name, self.prompt))


@dataclass(frozen=True, slots=True)
class Answer(Generic[O]):
    """An analyst's answer: the value, its cost, and who answered."""

    value: O
    usage: Usage = Usage()
    model: str = ""
    analyst: str = ""


@runtime_checkable
class Analyst(Protocol):
    """Plays roles. Raises `ProviderError` or `RoleError`; never returns a guess instead of an error."""

    name: str

    def identity(self, role: Role[I, O]) -> str:
        """Name the model and prompt version for `role`: part of the journal key, so that answers never mix."""
        ...

    async def play(self, role: Role[I, O], given: I) -> Answer[O]:
        """Play `role` once."""
        ...


@runtime_checkable
class PromptMeter(Protocol):
    """An analyst that can tell before it plays a role how long its prompt is."""

    def measure_prompt(self, role: Role[I, O], given: I) -> int:
        """Return the characters that it would send for `given`, beside what is the same for every call of the role."""
        ...


CALL_SCOPE = "one call"  # of `LimitReached`: what is left of a limit is too little for any answer


class CallBook(Protocol):
    """Where a paid call is booked before it is sent, and corrected when its end is known.

    `refusals` are errors of this run that no second try mends, since the last answer of each model, by its name.
    """

    @property
    def refusals(self) -> dict[str, list[ProviderError]]: ...

    async def reserve(self, most: Usage, prompt: int) -> Usage:
        """Book what a call may cost at most, and return what it may take: less where a limit is near.

        `prompt` is a hash of what is sent: the same prompt is sent a bounded number of times only. Waits for calls in
        flight where only they leave too little. Raises `LimitReached` if nothing may be spent, or sent again.
        """
        ...

    def settle(self, most: Usage, cost: Usage, failure: str | None = None) -> None:
        """Replace a reservation by what is known now.

        `failure` is the code of what went wrong, "" after an answer, None for a call that was given up.
        """
        ...


open_book: ContextVar[CallBook | None] = ContextVar("open_book", default=None)  # of the task that plays a role


@runtime_checkable
class SearchProvider(Protocol):
    """Turns a query into hits. An empty list means "nothing found"; a failure raises `ProviderError`."""

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
        """Read the hit, store the snapshot, and return it with the passages around the hit."""
        ...


@runtime_checkable
class Crawler(Protocol):
    """A reader that can crawl a whole site; every page is stored like a page that was read."""

    async def crawl(self, url: str, *, limit: int) -> Sequence[Hit]:
        """Store at most `limit` pages reached from `url` on its own site; return them as hits on stored sources.

        Raises `ReadError` for an address that may not be requested, `ProviderError` if no crawler succeeded.
        """
        ...


@runtime_checkable
class QuestionRater(Protocol):
    """A provider that can tell how likely what it searches answers a question."""

    async def rate_question(self, text: str) -> float | None:
        """Return how likely a question is answered, 0 to 1; None if that cannot be estimated."""
        ...


@runtime_checkable
class WordFinder(Protocol):
    """A library that can tell which words stand in it."""

    async def find_words(self, words: Sequence[str]) -> frozenset[str]:
        """Return those of the words that stand in a text, heading, title or address, in any form."""
        ...


class FactStore(Protocol):
    """The knowledge base: facts with citation and confidence, kept across runs (TREE-31)."""

    async def remember(self, facts: Sequence[Fact], /, *, run: str) -> int:
        """Keep facts for other runs; near-duplicates of one origin are merged. Returns how many were new."""
        ...

    async def recall(self, text: str, *, limit: int = 20) -> Sequence[Fact]:
        """Return stored facts relevant to `text`, best first."""
        ...

    async def remember_insights(self, insights: Sequence[Insight], /, *, run: str) -> int:
        """Keep insights, each once per source, with the higher confidence. Returns how many were new."""
        ...

    async def recall_insights(self, text: str, *, limit: int = 20) -> Sequence[Insight]:
        """Return stored insights that share words with `text`, best first."""
        ...


class Library(FactStore, Protocol):
    """Stored sources, passages and facts, and the search over them."""

    async def hybrid_search(self, text: str, *, limit: int = 10) -> Sequence[Hit]:
        """Search the spaces of this library by BM25, title links, boosts and, if any, vectors (ANGLES-13)."""
        ...

    async def describe(self) -> str:
        """Say in a few words what is stored: how many documents, and the titles of some of them."""
        ...

    async def document(self, source: SourceId) -> tuple[Source, str]:
        """Return a source and the whole text of its snapshot. Raises `ReadError` if it is not stored."""
        ...

    async def passages(self, ids: Sequence[PassageId]) -> Sequence[Passage]:
        """Return the passages that exist, in the order of `ids`."""
        ...

    async def source_passages(self, source: SourceId) -> Sequence[Passage]:
        """Return all passages of a source in reading order; empty if it is not stored."""
        ...

    async def store(
        self, source: Source, text: str, *, space: str, headings: Sequence[Heading] = ()
    ) -> tuple[Source, Sequence[Passage]]:
        """Store a document once (content-addressed); return it with its number and its passages."""
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
    """The durable memory of one attempt at one run: calls, answers and events."""

    run: str
    epoch: int

    def get(self, key: str) -> Entry | None:
        """Return the committed answer for `key`, if there is one. Never waits."""
        ...

    def keys(self, prefix: str = "") -> Sequence[str]:
        """Return the committed keys that start with `prefix`, sorted."""
        ...

    def begin(self, key: str) -> None:
        """Note that a paid call is about to be sent; unanswered calls are listed as uncertain after a crash."""
        ...

    async def put(self, entry: Entry, *, wait: bool = True) -> Entry:
        """Commit an answer and return the one that counts: the first committed for its key. Raises `Stale`.

        Without `wait`, for what was not paid for, it counts at once; it is committed soon, and before whatever is put
        after it.
        """
        ...

    def emit(self, event: Event) -> None:
        """Append an event unless its key was emitted before. Events are written soon, in order, without gaps."""
        ...

    async def flush(self) -> None:
        """Wait until all events and begun calls are committed. Raises `Stale`."""
        ...

    def uncertain_keys(self) -> Sequence[str]:
        """Return the keys that an earlier attempt began and nobody answered."""
        ...


class Clock(Protocol):
    """An injected clock."""

    def now(self) -> float:
        """Return monotonic seconds."""
        ...

    def utc_time(self) -> str:
        """Return the ISO 8601 time in UTC, for people; never used for a decision."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class Limiter(Protocol):
    """A rate limit shared by all workers: one for each provider, held outside the process."""

    async def acquire(self) -> None:
        """Wait until another call may begin."""
        ...


class Human(Protocol):
    """The person behind a run, if there is one."""

    async def authorize(self, plan: Plan) -> bool:
        """Return True if the plan may run. Raises `NeedsHuman` if nobody can be asked now."""
        ...

    async def between_rounds(self, path: str, number: int) -> str:
        """Return a hint for the next round, "" to go on (ROUNDS-25). Raises `NeedsHuman` to pause."""
        ...

    async def before_searches(self, path: str, number: int, queries: Sequence[str]) -> str:
        """Return "" once the queries of a round may be sent to the web. Raises `NeedsHuman` to show them first."""
        ...


class Delivery(Protocol):
    """Delivers a finished report. Raises `ProviderError`; a second call with the same `delivery` is a repetition."""

    name: str

    async def send(self, title: str, files: Mapping[str, bytes], *, delivery: str) -> None:
        """Deliver the files of a report, once for each `delivery`."""
        ...


Settings = Mapping[str, object]

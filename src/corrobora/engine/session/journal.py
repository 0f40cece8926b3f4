"""What the session journals: values as JSON text, the digests in keys, and what is rebuilt from the entries.

Knows the types of domain and roles, what a cut round keeps, which passage was sent to an analyst, so that none is sent
twice in a run, which documents share a call, and what calls cost that were not answered. Revives values only, never
objects; does not know how anything was gathered.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from pydantic import TypeAdapter, ValidationError

from corrobora.domain.errors import JournalError, LimitReached
from corrobora.domain.evidence import Hit, Passage, Reading, Source
from corrobora.domain.limits import Usage
from corrobora.domain.report import RoleSpend
from corrobora.domain.thread import Intent
from corrobora.policies.selection import READ_CHARS
from corrobora.ports import Entry, Journal
from corrobora.roles.extract import Extraction

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CallMeta:
    """What is known of a journaled call beside its answer: cost, who played it, and the working time it ended at."""

    elapsed: float = 0.0
    usage: Usage | None = None
    role: str = ""
    analyst: str = ""
    model: str = ""
    fallback: str = ""  # why an earlier analyst of the chain did not answer
    provider: str = ""
    searches: int = 0
    seconds: float = 0.0  # from before it was sent until it was answered


async def time_call(
    perform: Callable[[], Awaitable[tuple[str, CallMeta]]], now: Callable[[], float]
) -> tuple[str, CallMeta]:
    """Perform a call and note when it ended and how long it took, in seconds of working time."""
    began = now()
    out, meta = await perform()
    ended = now()
    return out, replace(meta, elapsed=round(ended, 3), seconds=round(ended - began, 3))


ANY_TASK = "any"
AGAIN = "*"  # in a key: before the task that a passage was read again for
MOST_SENDS = 24  # of one prompt: an outage is probed every two seconds for three quarters of a minute


@functools.cache
def get_type_adapter(kind: type[T]) -> TypeAdapter[T]:
    """Return the validator of a type, built once."""
    return TypeAdapter(kind)


def encode(kind: type[T], value: T) -> str:
    """Return `value` as JSON text with a stable order of fields."""
    return get_type_adapter(kind).dump_json(value).decode()


def decode(kind: type[T], text: str, *, key: str) -> T:
    """Return the value in `text`.

    Raises:
        JournalError: `journal_damaged`, if the text is not a value of this type.
    """
    try:
        return get_type_adapter(kind).validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        raise JournalError(
            "journal_damaged",
            f"The journal entry {key} does not hold a {kind.__name__} ({first['msg']}).",
            next_step="Start a new run, or remove this one with: corrobora runs rm RUN",
        ) from error


def hash_parts(*parts: str) -> str:
    """Return 16 hex digits that name the parts; part of a journal key."""
    joined = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(joined).hexdigest()[:16]


def decode_meta(entry: Entry) -> CallMeta:
    """Return the meta of an entry. Raises `JournalError` if it is damaged."""
    return decode(CallMeta, entry.meta, key=entry.key)


@dataclass(frozen=True, slots=True)
class SearchResults:
    """What one round's searches gave: hits in the order of the queries, and the failures."""

    hits: tuple[Hit, ...]
    failures: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()  # that were asked, in order


class RoundBuffer:
    """The scratch of one round: what was gathered before it ended or was cut."""

    def __init__(self) -> None:
        self.intent: Intent | None = None
        self.searched: SearchResults = SearchResults(())
        self.readings: list[Reading] = []
        self.cut = False

    @property
    def keys(self) -> list[str]:
        """Names of what was gathered, for the record of a cut round."""
        names = [f"read:{reading.hit.url}#{reading.hit.passage}" for reading in self.readings]
        return names + (["searched"] if self.searched.hits or self.searched.failures else [])

    def keep_recorded(self, names: frozenset[str]) -> None:
        """Keep only what a cut round had gathered."""
        self.readings = [r for r in self.readings if f"read:{r.hit.url}#{r.hit.passage}" in names]
        if "searched" not in names:
            self.searched = SearchResults(())


@dataclass(slots=True, eq=False)
class PassageClaim:
    """One extraction, under way or done. `answer` stays None where its owner was cut."""

    done: asyncio.Event = field(default_factory=asyncio.Event)
    answer: Extraction | None = None

    def settle(self, answer: Extraction | None) -> None:
        """Give the answer to all who wait."""
        self.answer = answer
        self.done.set()


class PassageClaims:
    """All claims of a run, by task and passage: what was read for one task is read again for another one.

    Runs stored before tasks had names of their own read every passage for `ANY_TASK`.
    """

    def __init__(self) -> None:
        self._by_passage: dict[tuple[str, str], PassageClaim] = {}

    @classmethod
    def from_journal(cls, journal: Journal) -> PassageClaims:
        """Rebuild the claims of earlier attempts; one that was never answered does not count."""
        claims = cls()
        # last what was read alone again
        for key in sorted(journal.keys("extract/"), key=lambda each: -each.count("+")):
            if (entry := journal.get(key)) is None:
                continue
            _, task, _, passages, _ = key.split("/", 4)
            claim = PassageClaim()
            claim.settle(decode(Extraction, entry.out, key=key))
            for name in passages.split("+"):
                passage, _, own = name.partition(AGAIN)
                claims._by_passage[own or task, passage] = claim
        return claims

    def split_claimed(
        self, task: str, passages: Sequence[Passage]
    ) -> tuple[tuple[Passage, ...], tuple[PassageClaim, ...]]:
        """Split passages into the free ones and the claims that cover the others."""
        claims = {p.id: self._find_claim(task, p) for p in passages}
        free = tuple(p for p in passages if claims[p.id] is None)
        return free, tuple(dict.fromkeys(claim for claim in claims.values() if claim is not None))

    def list_free(self, task: str, passages: Sequence[Passage]) -> tuple[Passage, ...]:
        """Return the passages that nobody reads or has read for this task."""
        return self.split_claimed(task, passages)[0]

    def claim_passages(self, passages: Iterable[tuple[str, Passage]]) -> PassageClaim:
        """Claim passages, each with the task that it is read for."""
        claim = PassageClaim()
        self._by_passage |= {(task, passage.id): claim for task, passage in passages}
        return claim

    def release(self, passages: Iterable[tuple[str, Passage]]) -> None:
        """Give passages back that were claimed and not sent to the end."""
        for task, passage in passages:
            self._by_passage.pop((task, passage.id), None)

    def find_extractions(self, task: str, passages: Sequence[Passage]) -> tuple[Extraction, ...]:
        """Return the extractions of these passages, in the order of the passages, each once."""
        claims = dict.fromkeys(claim for p in passages if (claim := self._find_claim(task, p)) is not None)
        return tuple(claim.answer for claim in claims if claim.answer is not None)

    def _find_claim(self, task: str, passage: Passage) -> PassageClaim | None:
        return self._by_passage.get((task, passage.id)) or self._by_passage.get((ANY_TASK, passage.id))


@dataclass(frozen=True, slots=True)
class ReadPart:
    """What is read of one document: passages, and the first one of each section, or of its part, that is left out."""

    source: Source
    passages: tuple[Passage, ...]
    elsewhere: tuple[Passage, ...] = ()
    missing: tuple[str, ...] = ()  # what it is read again for


def join_parts(parts: Sequence[ReadPart]) -> list[ReadPart]:
    """Join what is read of one document in one call, in reading order; its other sections are listed once."""
    joined: dict[str, ReadPart] = {}
    for part in parts:
        if (before := joined.get(part.source.id)) is not None:
            passages = {each.id: each for each in (*before.passages, *part.passages)}
            others = {each.id: each for each in (*before.elsewhere, *part.elsewhere) if each.id not in passages}
            part = replace(  # noqa: PLW2901 - the joined one takes its place
                part,
                passages=tuple(sorted(passages.values(), key=lambda each: each.start)),
                elsewhere=tuple(sorted(others.values(), key=lambda each: each.start)),
            )
        joined[part.source.id] = part
    return list(joined.values())


@dataclass(slots=True, eq=False)
class ReadBatch:
    """What a round opens, until all that can be read is there: then those documents that fit share a call."""

    waiting: int
    list_free: Callable[[ReadPart], Sequence[Passage]]  # what no sibling reads
    topic: tuple[str, ...] = ()  # stems of the run's question
    pages: bool = False  # of the web share calls, too; else each is read alone, or in several of its sections
    parts: dict[int, ReadPart] = field(default_factory=dict[int, ReadPart])
    calls: list[list[int]] | None = None  # places of the documents that share a call
    full: asyncio.Event = field(default_factory=asyncio.Event)

    def put(self, place: int, part: ReadPart | None) -> None:
        """Take in what is read of a document; None if it is not read after all."""
        if part is not None:
            self.parts[place] = part
        self.waiting -= 1
        if self.waiting <= 0:
            self.full.set()

    def list_neighbours(self, place: int) -> tuple[ReadPart, ...]:
        """Return the documents that share a call with the one at this place, it included.

        What is being read for a sibling takes no room. Those that name more of the run's question come first, not those
        that one task found first: whichever task sends them, its prompt is the same.
        """
        if self.calls is None:
            self.calls = self._share_calls()
        call = next(call for call in self.calls if place in call)
        return tuple(sorted((self.parts[each] for each in call), key=self._rank))

    def _share_calls(self) -> list[list[int]]:
        calls: list[list[int]] = []
        room: list[int] = []
        owners: list[str] = []
        for each in sorted(self.parts):
            part = self.parts[each]
            size = sum(len(passage.text) for passage in self.list_free(part))
            owner = part.source.id if part.source.kind == "web" and not self.pages else ""
            fits = (at for at, left in enumerate(room) if size <= left and owners[at] == owner)
            at = next((at for at in fits if not any(self._is_other(part, each) for each in calls[at])), len(calls))
            if at == len(calls):
                calls.append([])
                room.append(READ_CHARS)
                owners.append(owner)
            calls[at].append(each)
            room[at] -= size
        return calls

    def _is_other(self, part: ReadPart, place: int) -> bool:
        """True where the same document is read for something else: an answer has each document once."""
        return self.parts[place].source.id == part.source.id and self.parts[place].missing != part.missing

    def _rank(self, part: ReadPart) -> tuple[int, str]:
        text = " ".join(passage.text for passage in part.passages).casefold()
        return -sum(stem in text for stem in self.topic), part.source.url


class CallLedger(Protocol):
    """Where calls are booked: the budget of the run."""

    async def reserve_call(self, most: Usage) -> Usage: ...
    def settle_call(self, most: Usage, cost: Usage) -> None: ...
    def add_usage(self, usage: Usage) -> None: ...


@dataclass(slots=True, eq=False)
class Bill:
    """The calls of one play of a role, as `ports.CallBook`: booked when sent, whatever becomes of their answers.

    `write` stores what was spent without an answer that can be journaled: a resumed run counts it as well. `tell` is
    called with the number of a sending when a prompt is sent again.
    """

    budget: CallLedger
    write: Callable[[Usage], None]
    tell: Callable[[int], None]
    sent: Counter[int] = field(default_factory=Counter[int])
    unwritten: Usage = field(default_factory=Usage)
    booked: bool = False  # since the last analyst was asked
    failure: str = ""  # code of what went wrong last, until there is an answer

    async def reserve(self, most: Usage, prompt: int) -> Usage:
        """Book a call that is about to be sent; what was spent on those before it has no answer and is written."""
        self.write_lost()
        if self.sent[prompt] >= MOST_SENDS:
            raise LimitReached("sends", value=self.sent[prompt] + 1, limit=MOST_SENDS, scope="one prompt")
        granted = await self.budget.reserve_call(most)
        self.sent[prompt] += 1
        if self.sent[prompt] > 1:
            self.tell(self.sent[prompt])
        return granted

    def settle(self, most: Usage, cost: Usage, failure: str | None = None) -> None:
        """Replace the reservation of a call by its cost."""
        self.booked = True
        self.failure = self.failure if failure is None else failure
        self.budget.settle_call(most, cost)
        self.unwritten += cost

    def add_unbooked(self, cost: Usage) -> None:
        """Add what an analyst says that it spent, if it booked no call itself; the next one begins."""
        if not self.booked:
            self.budget.add_usage(cost)
            self.unwritten += cost
        self.booked = False

    def take_cost(self) -> Usage:
        """Return what is to be journaled with the answer."""
        cost, self.unwritten = self.unwritten, Usage()
        return cost

    def write_lost(self) -> None:
        """Write what was spent without an answer."""
        if self.unwritten != Usage():
            self.write(self.take_cost())


def name_task(*wanted: str) -> str:
    """Name a task after all that its prompt says of it."""
    return hash_parts(*wanted) if any(wanted) else ANY_TASK


def sum_earlier_seconds(journal: Journal) -> float:
    """Working time of earlier attempts, as the journal last saw it."""
    entries = (journal.get(key) for key in journal.keys())  # noqa: SIM118 - a port, not a dict
    return max((decode_meta(entry).elapsed for entry in entries if entry is not None), default=0.0)


def measure_part(journal: Journal, start: str, end: float) -> float:
    """Return the working time from the first answered call whose key begins with `start` until `end`, 0 without one."""
    metas = [decode_meta(entry) for key in journal.keys(start) if (entry := journal.get(key)) is not None]
    began = min((each.elapsed - each.seconds for each in metas if each.elapsed), default=end)
    return round(max(0.0, end - began), 3)


def name_bill(key: str) -> str:
    """Return what the keys of costs begin with that a call had without an answer; with "", those of all calls."""
    return f"bill/{key}/" if key else "bill/"


def sum_usage(journal: Journal, *keys: str) -> Usage:
    """Return what the calls cost whose keys begin with one of these; what was never answered is counted, too."""
    found = (journal.get(key) for start in keys for key in journal.keys(start))
    return sum((decode_meta(entry).usage or Usage() for entry in found if entry is not None), Usage())


def find_fallback(journal: Journal) -> str:
    """Return why the last analyst did the first task of another one, "" if it did none."""
    found = (journal.get(key) for key in journal.keys())  # noqa: SIM118 - a port, not a dict
    return next((meta.fallback for entry in found if entry and (meta := decode_meta(entry)).fallback), "")


def sum_searches(journal: Journal) -> int:
    """Return how many searches the calls made, those of a stage that was run again included."""
    found = (journal.get(key) for key in journal.keys())  # noqa: SIM118 - a port, not a dict
    return sum(decode_meta(entry).searches for entry in found if entry is not None)


def sum_spend(journal: Journal) -> tuple[RoleSpend, ...]:
    """Return what each role did and cost, the roles in alphabetical order."""
    found: dict[str, RoleSpend] = {}
    for entry in (journal.get(key) for key in journal.keys()):  # noqa: SIM118 - a port, not a dict
        meta = CallMeta() if entry is None else decode_meta(entry)
        if meta.role and meta.usage is not None:
            before = found.get(meta.role, RoleSpend(meta.role, 0, Usage()))
            found[meta.role] = RoleSpend(meta.role, before.answers + 1, before.usage + meta.usage)
    return tuple(found[role] for role in sorted(found))


def list_uncertain(journal: Journal) -> Sequence[str]:
    """Return the calls that were in flight when a process died; what they cost is not known."""
    return [key for key in journal.uncertain_keys() if not journal.keys(name_bill(key))]

"""What the session journals: values as JSON text, the digests in keys, and what is summed up from the entries.

Knows what is noted of a call beside its answer, what a cut round keeps, and how calls that were not answered are
billed. Revives values only, never objects; does not know how anything was gathered.
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from corrobora.domain.errors import JournalError, LimitReached, ProviderError
from corrobora.domain.evidence import Hit, Reading
from corrobora.domain.limits import Usage
from corrobora.domain.report import RoleSpend
from corrobora.domain.thread import Intent
from corrobora.ports import Entry, Journal

T = TypeVar("T")
CALL_TOKENS = 2_000  # what a call may take beside its input: instructions, form and answer
FAILED = "!failed"  # ends the key of the entry that says why a call failed


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


MOST_SENDS = 24  # of one prompt: an outage is probed every two seconds for three quarters of a minute


@functools.cache
def get_type_adapter(kind: type[T]) -> TypeAdapter[T]:
    """Return the validator of a type, built once."""
    return TypeAdapter(kind)


def encode(kind: type[T], value: T) -> str:
    """Return `value` as JSON text with a stable order of fields."""
    return get_type_adapter(kind).dump_json(value).decode()


def encode_input(value: object) -> str:
    """Return what `encode` would, of a value that nobody reads back: making a serializer of its type takes 5 ms."""
    return to_json(value, inf_nan_mode="null").decode()


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


def format_json(value: object) -> str:
    """Return `value` as the text of a JSON file."""
    return to_json(value, indent=2, fallback=str).decode() + "\n"


def decode_meta(entry: Entry) -> CallMeta:
    """Return the meta of an entry. Raises `JournalError` if it is damaged."""
    return decode(CallMeta, entry.meta, key=entry.key)


def iter_entries(journal: Journal, start: str = "") -> Iterator[Entry]:
    """Yield the answered calls whose keys begin with `start`, in the order of their keys."""
    for key in journal.keys(start):
        if (entry := journal.get(key)) is not None:
            yield entry


def iter_metas(journal: Journal, start: str = "") -> Iterator[CallMeta]:
    """Yield what is known of these calls beside their answers. Raises `JournalError` if one is damaged."""
    return map(decode_meta, iter_entries(journal, start))


@dataclass(frozen=True, slots=True)
class SearchResults:
    """What one round's searches gave: hits in the order of the queries, and the failures."""

    hits: tuple[Hit, ...]
    failures: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()  # that were asked, in order


class NotReplayed(TimeoutError):
    """A call of a cut round that was not answered when the round was cut: it is not made again."""


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


class CallLedger(Protocol):
    """Where calls are booked: the budget of the run, which opens bills and so must not be imported here."""

    refusals: dict[str, list[ProviderError]]

    async def reserve_call(self, most: Usage) -> Usage: ...
    def settle_call(self, most: Usage, cost: Usage) -> None: ...
    def add_usage(self, usage: Usage) -> None: ...


@dataclass(slots=True)
class UsageLedger:
    """What the calls of one part of a run cost, whoever paid for them; an answer from the journal counts too.

    With `tokens` or `ends` it is a limit as well: a model is asked only for what is still left of it.
    """

    usage: Usage = field(default_factory=Usage)
    tokens: int | None = None
    ends: float = math.inf  # on the clock of the run
    reserved: int = 0  # tokens of calls that are not answered yet
    kept: int = 0  # tokens that reading leaves to who judges what was read
    refused: bool = False  # some call, for want of tokens
    calls: int = 0  # in flight

    @property
    def used(self) -> int:
        return self.usage.input_tokens + self.usage.output_tokens

    def find_lack(self, tokens: int, *, reading: bool) -> int:
        """Return how many tokens it has too few for a call, beside those in flight; 0 or less if it has them."""
        return 0 if self.tokens is None else self.used + self.reserved + tokens - self.tokens + self.kept * reading

    @property
    def is_spent(self) -> bool:
        """True if a call was refused, and hardly any other could be paid."""
        most = math.inf if self.tokens is None else self.tokens - self.kept
        return self.refused and self.used + 2 * CALL_TOKENS > most


@dataclass(slots=True, eq=False)
class Bill:
    """The calls of one play of a role, as `ports.CallBook`: booked when sent, however they end.

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

    @property
    def refusals(self) -> dict[str, list[ProviderError]]:
        return self.budget.refusals

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


def sum_earlier_seconds(journal: Journal) -> float:
    """Working time of earlier attempts, as the journal last saw it."""
    return max((meta.elapsed for meta in iter_metas(journal)), default=0.0)


def measure_part(journal: Journal, start: str, end: float) -> float:
    """Return the working time from the first answered call whose key begins with `start` until `end`, 0 without one."""
    began = min((each.elapsed - each.seconds for each in iter_metas(journal, start) if each.elapsed), default=end)
    return round(max(0.0, end - began), 3)


def name_bill(key: str) -> str:
    """Return what the keys of costs begin with that a call had without an answer; with "", those of all calls."""
    return f"bill/{key}/" if key else "bill/"


def sum_usage(journal: Journal, *keys: str) -> Usage:
    """Return what the calls cost whose keys begin with one of these; what was never answered is counted, too."""
    return sum((meta.usage or Usage() for start in keys for meta in iter_metas(journal, start)), Usage())


def find_fallback(journal: Journal) -> str:
    """Return why the last analyst did the first task of another one, "" if it did none."""
    return next((meta.fallback for meta in iter_metas(journal) if meta.fallback), "")


def sum_searches(journal: Journal) -> int:
    """Return how many searches the calls made, those of a stage that was run again included."""
    return sum(meta.searches for meta in iter_metas(journal))


def sum_spend(journal: Journal) -> tuple[RoleSpend, ...]:
    """Return what each role did and cost, the roles in alphabetical order."""
    found: dict[str, RoleSpend] = {}
    for meta in iter_metas(journal):
        if meta.role and meta.usage is not None:
            before = found.get(meta.role, RoleSpend(meta.role, 0, Usage()))
            found[meta.role] = RoleSpend(meta.role, before.answers + 1, before.usage + meta.usage)
    return tuple(found[role] for role in sorted(found))


def list_uncertain(journal: Journal) -> Sequence[str]:
    """Return the calls that were in flight when a process died; what they cost is not known."""
    return [key for key in journal.uncertain_keys() if not journal.keys(name_bill(key))]

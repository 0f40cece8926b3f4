"""Who reads what: passages that are claimed, so that none is sent twice in a run, and documents that share a call.

Knows tasks, passages and the size of a call. Does not know how a document is loaded or what is extracted from it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from corrobora.domain.evidence import Passage, PassageId, Source
from corrobora.domain.plan import Subject
from corrobora.engine.session.journal import decode, hash_parts, iter_entries
from corrobora.policies.selection import CALL_CHARS
from corrobora.ports import Journal
from corrobora.roles.extract import Extraction

ANY_TASK = "any"
AGAIN = "*"  # in a key: before the task that a passage was read again for


def name_task(*wanted: str) -> str:
    """Name a task after all that its prompt says of it."""
    return hash_parts(*wanted) if any(wanted) else ANY_TASK


@dataclass(slots=True, eq=False)
class PassageClaim:
    """One extraction, under way or done. `answer` stays None where its owner was cut."""

    done: asyncio.Event = field(default_factory=asyncio.Event)
    answer: Extraction | None = None

    def settle(self, answer: Extraction | None) -> None:
        self.answer = answer
        self.done.set()


class PassageClaims:
    """All claims of a run, by task and passage: what was read for one task is read again for another one.

    Runs stored before tasks had names of their own read every passage for `ANY_TASK`.
    """

    def __init__(self) -> None:
        self._by_passage: dict[tuple[str, str], PassageClaim] = {}
        self._batches: dict[str, ReadBatch] = {}
        self.barren: set[PassageId] = set()  # scanned by scouts, of sources that gave nothing and were left out
        self.expected: dict[str, ReadBatch] = {}  # in which a thread that searches will read

    @classmethod
    def from_journal(cls, journal: Journal) -> PassageClaims:
        """Rebuild the claims of earlier attempts; one that was never answered does not count."""
        claims = cls()
        # last what was read alone again
        for entry in sorted(iter_entries(journal, "extract/"), key=lambda each: -each.key.count("+")):
            _, task, _, passages, _ = entry.key.split("/", 4)
            claim = PassageClaim()
            claim.settle(decode(Extraction, entry.out, key=entry.key))
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

    def find_open_batch(self, key: str, own: ReadBatch) -> ReadBatch:
        """Return the batch of this reading task that still waits for documents, else one's own."""
        known = self._batches.get(key)
        batch = self._batches[key] = own if known is None or known.full.is_set() else known
        return batch

    def _find_claim(self, task: str, passage: Passage) -> PassageClaim | None:
        return self._by_passage.get((task, passage.id)) or self._by_passage.get((ANY_TASK, passage.id))


@dataclass(frozen=True, slots=True)
class ReadPart:
    """What is read of one document: passages, and the first one of each section, or of its part, that is left out."""

    source: Source
    passages: tuple[Passage, ...]
    elsewhere: tuple[Passage, ...] = ()
    missing: tuple[str, ...] = ()  # what it is read again for
    wanted: tuple[str, ...] = ()  # what the thread that opened it misses


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
                missing=tuple(dict.fromkeys((*before.missing, *part.missing))),
            )
        joined[part.source.id] = part
    return list(joined.values())


@dataclass(slots=True, eq=False)
class ReadBatch:
    """What a round opens, or siblings at the same time: once all that can be read is there, what fits shares a call."""

    list_free: Callable[[ReadPart], Sequence[Passage]]  # what no sibling reads
    topic: tuple[str, ...] = ()  # stems of the run's question
    pages: bool = False  # of the web share calls, too; else each is read alone, or in several of its sections
    parts: dict[int, ReadPart] = field(default_factory=dict[int, ReadPart])
    places: int = 0  # that were given to documents
    waiting: set[int | str] = field(default_factory=set[int | str])  # places, and threads that still search
    neighbours: dict[int, tuple[ReadPart, ...]] | None = None  # by place: the documents that share its call
    full: asyncio.Event = field(default_factory=asyncio.Event)

    def join(self, count: int, thread: str) -> int:
        """Return the first of the places of what a thread opens now."""
        first, self.places = self.places, self.places + count
        self.waiting |= set(range(first, self.places))
        self.stop_waiting(thread)
        return first

    def put(self, place: int, part: ReadPart | None) -> None:
        """Take in what is read of a document; None if it is not read after all."""
        if part is not None:
            self.parts[place] = part
        self.stop_waiting(place)

    def stop_waiting(self, *ended: int | str) -> None:
        """Go on without these threads and places."""
        self.waiting -= set(ended)
        if not self.waiting:
            self.full.set()

    def list_neighbours(self, place: int) -> tuple[ReadPart, ...]:
        """Return the documents that share a call with the one at this place, it included.

        What is being read for a sibling takes no room. Those that name more of the run's question come first, not those
        that one task found first: whichever task sends them, its prompt is the same.
        """
        if self.neighbours is None:
            calls = [
                (call, sorted((self.parts[each] for each in call), key=self._rank)) for call in self._share_calls()
            ]
            self.neighbours = {each: tuple(parts) for call, parts in calls for each in call}
        return self.neighbours[place]

    def _share_calls(self) -> list[list[int]]:
        calls: list[list[int]] = []
        room: list[int] = []
        owners: list[str] = []
        placed: set[tuple[str, tuple[str, ...]]] = set()  # passages, and why they are read again
        free = {at: self.list_free(part) for at, part in self.parts.items()}
        sizes = {at: sum(len(passage.text) for passage in passages) for at, passages in free.items()}
        for each in sorted(self.parts, key=lambda at: (-sizes[at], at)):  # the largest first: small ones fill the gaps
            part = self.parts[each]
            new = [passage for passage in free[each] if (passage.id, part.missing) not in placed]
            size = sum(len(passage.text) for passage in new)
            owner = part.source.id if part.source.kind == "web" and not self.pages else ""
            own = [
                at for at, call in enumerate(calls) if any(self.parts[it].source.id == part.source.id for it in call)
            ]
            fits = (at for at in (*own, *range(len(calls))) if size <= room[at] and owners[at] == owner)
            at = next(fits, len(calls))
            if at == len(calls):
                calls.append([])
                room.append(CALL_CHARS)
                owners.append(owner)
            calls[at].append(each)
            room[at] -= size
            placed |= {(passage.id, part.missing) for passage in new}
        return calls

    def _rank(self, part: ReadPart) -> tuple[int, str]:
        text = " ".join(passage.text for passage in part.passages).casefold()
        return -sum(stem in text for stem in self.topic), part.source.url


@dataclass(slots=True, eq=False)
class ReadingTurn:
    """The place of a hit among those that share their passages, or a call: who claims first reads them.

    `subjects` are those of which its document must name one.
    """

    before: tuple[asyncio.Event, ...] = ()
    place: int = 0
    batch: ReadBatch | None = None
    subjects: tuple[Subject, ...] = ()
    own: asyncio.Event = field(default_factory=asyncio.Event)

    async def wait_turn(self, part: ReadPart) -> tuple[ReadPart, ...]:
        """Wait until all before have claimed or ended, and return what is read together with a document.

        Whoever comes next runs only after this task waits again.
        """
        for each in self.before:
            await each.wait()
        self.own.set()
        if (batch := self.batch) is None:
            return (part,)
        self.batch = None
        batch.put(self.place, part)
        await batch.full.wait()
        return batch.list_neighbours(self.place)

    def leave(self) -> None:
        """Let those who wait go on without this hit."""
        self.own.set()
        if self.batch is not None:
            self.batch.put(self.place, None)

"""Claims: which passage was sent to an analyst, so that no page is sent twice in a run.

Knows passages by name and the extraction that covers them; is rebuilt from the journal, whose keys list the passages.
Does not know documents or threads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from corrobora.domain.evidence import Passage
from corrobora.engine.codec import decode, hash_parts
from corrobora.ports import Journal
from corrobora.roles.extract import Extraction


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
    """All claims of a run, by task and passage. A different task spec is a different task."""

    def __init__(self) -> None:
        self._by_passage: dict[tuple[str, str], PassageClaim] = {}

    @classmethod
    def from_journal(cls, journal: Journal) -> PassageClaims:
        """Rebuild the claims of earlier attempts; one that was never answered does not count."""
        claims = cls()
        for key in journal.keys("extract/"):
            entry = journal.get(key)
            if entry is None:
                continue
            _, task, _, passages, _ = key.split("/", 4)
            claim = PassageClaim()
            claim.settle(decode(Extraction, entry.out, key=key))
            claims._register_claim(task, passages.split("+"), claim)
        return claims

    def split_claimed(
        self, task: str, passages: Sequence[Passage]
    ) -> tuple[tuple[Passage, ...], tuple[PassageClaim, ...]]:
        """Split passages into the free ones and the claims that cover the others."""
        free = tuple(p for p in passages if (task, p.id) not in self._by_passage)
        held = dict.fromkeys(self._by_passage[task, p.id] for p in passages if (task, p.id) in self._by_passage)
        return free, tuple(held)

    def claim_passages(self, task: str, passages: Sequence[Passage]) -> PassageClaim:
        """Claim free passages."""
        claim = PassageClaim()
        self._register_claim(task, [p.id for p in passages], claim)
        return claim

    def release(self, task: str, passages: Sequence[Passage]) -> None:
        """Give passages back that were claimed and not sent to the end."""
        for passage in passages:
            self._by_passage.pop((task, passage.id), None)

    def find_extractions(self, task: str, passages: Sequence[Passage]) -> tuple[Extraction, ...]:
        """Return the extractions of these passages, in the order of the passages, each once."""
        claims = dict.fromkeys(c for p in passages if (c := self._by_passage.get((task, p.id))) is not None)
        return tuple(claim.answer for claim in claims if claim.answer is not None)

    def _register_claim(self, task: str, passages: Iterable[str], claim: PassageClaim) -> None:
        for passage in passages:
            self._by_passage[task, passage] = claim


def name_task(spec: str) -> str:
    """Name a task after its spec: `any` without one."""
    return hash_parts(spec) if spec else "any"

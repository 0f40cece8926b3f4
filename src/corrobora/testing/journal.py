"""A journal without a database: the same promises while the process lives, and a copy of itself for a second attempt.

Knows keys, first answers, epochs and events. Does not survive the process: use the real one for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from corrobora.domain.errors import Stale
from corrobora.domain.events import Event
from corrobora.ports import Entry


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
        """Start the next attempt, as another worker would after this one died."""
        self._stale = True
        left = tuple(sorted(self.begun - self.entries.keys()))
        return MemoryJournal(self.run, self.epoch + 1, self.entries, self.events, self.begun, _uncertain=left)

    def get(self, key: str) -> Entry | None:
        """Return the answer of `key`, if there is one."""
        return self.entries.get(key)

    def keys(self, prefix: str = "") -> Sequence[str]:
        """Return the answered keys that start with `prefix`, sorted."""
        return sorted(key for key in self.entries if key.startswith(prefix))

    def begin(self, key: str) -> None:
        """Note that a call is about to be sent. Raises `Stale`."""
        self._check_stale()
        self.begun.add(key)

    async def put(self, entry: Entry) -> Entry:
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
        """Keys that an earlier attempt began and nobody answered."""
        return tuple(key for key in self._uncertain if key not in self.entries)

    def _check_stale(self) -> None:
        if self._stale:
            raise Stale

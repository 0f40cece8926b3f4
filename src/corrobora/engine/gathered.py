"""What one round gathers, before it is folded into the thread: its intent, its searches, its readings.

Knows what a cut round keeps. Does not know how anything was gathered.
"""

from __future__ import annotations

from dataclasses import dataclass

from corrobora.domain.evidence import Hit, Reading
from corrobora.domain.thread import Intent


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

"""How a field of a value is declared once: its range, words and meaning stand in its annotation.

Knows the marks beside those of `annotated_types`. Does not check values: whoever reads text into a value does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated

from annotated_types import GroupedMetadata, Gt, Le, MaxLen, Predicate

MAX_MINUTES = 10_080.0  # one week
UNLIMITED = "unlimited"
Text = Annotated[str, MaxLen(2_000)]


@dataclass(frozen=True, slots=True)
class OneOf(GroupedMetadata):
    """The words that a text may be, taken from the table that gives them their meaning.

    `find` returns the meaning of a further word that an installed package adds, None if there is none.
    """

    words: tuple[str, ...]
    find: Callable[[str], object] | None = None

    @classmethod
    def from_table(cls, table: Mapping[str, object]) -> OneOf:
        """Return the names in a table as words."""
        return cls(tuple(table))

    def __iter__(self) -> Iterator[object]:
        """Yield the check for libraries that read `annotated_types`."""
        yield Predicate(self._has_word)

    def _has_word(self, text: str) -> bool:
        return text in self.words or (self.find is not None and self.find(text) is not None)


@dataclass(frozen=True, slots=True)
class NoneWord:
    """The word that people write for None, where None has a meaning: no limit."""

    word: str


Minutes = Annotated[Annotated[float, Gt(0), Le(MAX_MINUTES)] | None, NoneWord(UNLIMITED)]

"""Edits of a report: what a reader asks for, as typed values, and what became of each.

Knows the kinds of edits and what an edit may lose. Does not know how a report is laid out or how an edit is made.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class EditAction(StrEnum):
    """What an edit does. Everything that it does not name stays byte for byte."""

    ADD = "add"  # a statement, behind a sentence or at the end of a section
    DROP = "drop"  # a sentence, a row of a table or a whole section
    REWORD = "reword"  # a sentence
    MOVE = "move"  # a sentence or a section, behind another one
    SHORTEN = "shorten"  # a section, to half of its words at most
    RESEARCH = "research"  # what a section is about, again; what is found is added to it


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit. `target` is the id of a sentence ("2.3") or of a section ("2"; "0" is the opening)."""

    action: EditAction
    target: str
    text: str = ""  # the new words of `add` and `reword`; the question of `research`, "" for that of the section
    after: str = ""  # where `move` puts its target: behind this sentence or section


@dataclass(frozen=True, slots=True)
class EditRequest:
    """What a reader wants of a report: edits that are spelled out, and feedback that a model turns into edits."""

    edits: tuple[Edit, ...] = ()
    feedback: str = ""
    restore: bool = False  # no edit: the earlier version that is named as the previous run, as it was


@dataclass(frozen=True, slots=True)
class Loss:
    """What the report no longer says after an edit."""

    kind: str  # statement | citation | detail: a number, name or negation | words: what a cut sentence, or source, said
    text: str


@dataclass(frozen=True, slots=True)
class Change:
    """One edit as a reader decides on it: the lines it takes out and puts in, and what is lost by it."""

    number: int
    edit: Edit
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    losses: tuple[Loss, ...] = ()
    refused: str = ""  # why it is not made, and the old text stays; "" if it may be accepted
    parts: tuple[Edit, ...] = ()  # the plain edits that make it: drops of a shortened section, added statements


@dataclass(frozen=True, slots=True)
class Proposed:
    """The changes that wait for a reader."""

    changes: tuple[Change, ...] = ()
    together: tuple[Loss, ...] = ()  # what all of them lose together, and none of them alone
    unclear: str = ""  # what the reader wants that is no edit

    @property
    def possible(self) -> tuple[Change, ...]:
        """The changes that may be accepted."""
        return tuple(each for each in self.changes if not each.refused)


def choose_changes(proposed: Proposed, said: str) -> tuple[Change, ...]:
    """Return the changes that a reader accepts: "all", "all with losses", "none", or numbers such as "1,3".

    "all" takes those that lose nothing: what is lost must be accepted by its number or by "all with losses".

    Raises:
        ValueError: the words are none of these, or no change with this number may be accepted.
    """
    words = " ".join(said.split()).lower()
    if words in ("all", "all with losses"):
        return tuple(each for each in proposed.possible if not each.losses or words != "all")
    if words in ("none", ""):
        return ()
    known = {each.number: each for each in proposed.possible}
    chosen: dict[int, Change] = {}
    for part in words.replace(",", " ").split():
        if not part.isdecimal() or int(part) not in known:
            message = f"{part!r} is no change that may be accepted; these may: {', '.join(map(str, known)) or 'none'}"
            raise ValueError(message)
        chosen[int(part)] = known[int(part)]
    return tuple(chosen[number] for number in sorted(chosen))

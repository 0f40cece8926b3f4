"""Edit: from what a reader says of a report to typed edits of its sentences and sections.

Knows the kinds of edits and what one may lose, the report as sentences with ids, and facts by their markers. Proposes
edits and the words inside them; code checks each, applies it and keeps every byte outside of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from corrobora.domain.evidence import Fact
from corrobora.ports import Role
from corrobora.roles.forms import FACTS, QUESTION, STRICT, UnusableAnswer, choose_from


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

    @property
    def place(self) -> str:
        """Where `move` puts its target, in words; "" for all else."""
        first = "." in self.target and "." not in self.after
        return (f"to the beginning of section {self.after}" if first else f"behind {self.after}") if self.after else ""


_ORDER = (EditAction.REWORD, EditAction.ADD, EditAction.MOVE, EditAction.DROP)  # no place vanishes before it is used


def order_edits(edits: Sequence[Edit]) -> list[Edit]:
    """Return plain edits in the order in which they can be applied one by one.

    Each of several that go behind one place is applied directly behind it: the last one first, so that they stand there
    as they were listed.
    """
    places = [(edit.action, edit.after or edit.target) for edit in edits]

    def rank(at: int) -> tuple[int, int, int]:
        edit = edits[at]
        stacks = edit.action is EditAction.MOVE or (edit.action is EditAction.ADD and "." in edit.target)
        return _ORDER.index(edit.action), places.index(places[at]) if stacks else at, -at

    return [edits[at] for at in sorted(range(len(edits)), key=rank)]


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
    asked: bool = False  # a drop of what the reader named: that it is lost is what was wanted
    closes: tuple[str, ...] = ()  # gaps of the report that a new search closed


_AROUND = 8  # words beside a difference that are shown with it


def cut_common_words(before: Sequence[str], after: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Return the lines of a change as a reader compares them: of one line for one, the words around the difference.

    Example:
        >>> cut_common_words(["It is " + "very " * 9 + "old."], ["It is " + "very " * 9 + "new."])[1]
        ['… very very very very very very very very new.']
    """
    if len(before) != 1 or len(after) != 1:
        return before, after
    old, new = before[0].split(), after[0].split()
    start = _count_common(old, new)
    end = _count_common(old[start:][::-1], new[start:][::-1])
    first, last = max(0, start - _AROUND), max(0, end - _AROUND)

    def cut(words: Sequence[str]) -> list[str]:
        kept = words[first : len(words) - last]
        return [" ".join((*["…"] * (first > 0), *kept, *["…"] * (last > 0)))]

    return cut(old), cut(new)


def _count_common(one: Sequence[str], other: Sequence[str]) -> int:
    """Count the words with which both begin."""
    most = min(len(one), len(other))
    return next((at for at in range(most) if one[at] != other[at]), most)


@dataclass(frozen=True, slots=True)
class Proposed:
    """The changes that wait for a reader."""

    changes: tuple[Change, ...] = ()
    together: tuple[Loss, ...] = ()  # what all of them lose together, and none of them alone
    unclear: str = ""  # what the reader wants that is no edit

    @property
    def possible(self) -> tuple[Change, ...]:
        return tuple(each for each in self.changes if not each.refused)


def choose_changes(proposed: Proposed, said: str) -> tuple[Change, ...]:
    """Return the changes that a reader accepts: "all", "all with losses", "none", or numbers such as "1,3".

    "all" takes those that lose nothing but what the reader named to be dropped: what else is lost must be accepted by
    its number or by "all with losses".

    Raises:
        ValueError: the words are none of these, or no change with this number may be accepted.
    """
    words = " ".join(said.split()).lower()
    if words in ("all", "all with losses"):
        return tuple(each for each in proposed.possible if not each.losses or each.asked or words != "all")
    if words in ("none", ""):
        return ()
    known = {each.number: each for each in proposed.possible}
    chosen: dict[int, Change] = {}
    for part in words.replace(",", " ").split():
        if not part.isdecimal() or int(part) not in known:
            message = (
                f"{part!r} is not a change that may be accepted; these are: {', '.join(map(str, known)) or 'none'}"
            )
            raise ValueError(message)
        chosen[int(part)] = known[int(part)]
    return tuple(chosen[number] for number in sorted(chosen))


_ID = re.compile(r"(?<![\d.])\d{1,3}(?:\.\d{1,3})?(?![\d.]*\d)")


@dataclass(frozen=True, slots=True)
class Editing:
    """A report with what its reader wants. Sentences and sections are pairs of id and text."""

    path: str
    question: str
    feedback: str
    sections: tuple[tuple[str, str], ...]
    sentences: tuple[tuple[str, str], ...]
    facts: tuple[Fact, ...]
    refused: tuple[str, ...] = ()  # edits of an answer before this one that code refused, each with the reason

    @property
    def targets(self) -> tuple[str, ...]:
        return (*(name for name, _ in self.sections), *(name for name, _ in self.sentences))

    @property
    def places(self) -> tuple[str, ...]:
        """Where something may be moved to, or nowhere."""
        return (*self.targets, "")

    @property
    def named(self) -> frozenset[str]:
        """The ids that the feedback itself names: then no edit may concern anything else."""
        known = {name for name, _ in self.sentences}
        return frozenset(each for each in _ID.findall(self.feedback) if each in known)


@dataclass(frozen=True, slots=True)
class Edits:
    """What a reader's words come to, and what of them is no edit."""

    edits: tuple[Edit, ...] = ()
    unclear: str = ""


@dataclass(frozen=True, slots=True)
class WireEdit:
    """One edit."""

    __pydantic_config__ = STRICT
    action: Literal["add", "drop", "reword", "move", "shorten", "research"]
    target: Annotated[str, choose_from("targets")]
    text: Annotated[str, Field(description="The whole new sentence with its markers, for add and reword.")] = ""
    after: Annotated[str, choose_from("places")] = ""


@dataclass(frozen=True, slots=True)
class WireEdits:
    """The edits that the feedback asks for, and no others."""

    __pydantic_config__ = STRICT
    edits: list[WireEdit]
    unclear: Annotated[str, Field(description="What of the feedback these edits cannot do, and why; else empty.")] = (
        field(default="")
    )


def convert_edits(given: Editing, filled: WireEdits) -> Edits:
    """Take edits of ids that were shown, inside what the feedback names."""
    known, sentences = set(given.targets), {name for name, _ in given.sentences}
    made, left = list[Edit](), list[str]()
    for each in filled.edits:
        target, after = each.target.strip(), each.after.strip()
        if target not in known or (after and after not in known):
            wrong = target if target not in known else after
            raise UnusableAnswer(f"There is no sentence or section {wrong!r}; the ids are shown before each text.")
        if each.action == "reword" and target not in sentences:
            raise UnusableAnswer(f"`reword` needs the id of a sentence, not of the section {target!r}.")
        if each.action in ("add", "reword") and not each.text.strip():
            raise UnusableAnswer(f"`{each.action}` of {target} needs `text`.")
        if each.action == "move" and not after:
            raise UnusableAnswer(f"`move` of {target} needs `after`.")
        if given.named and not _is_named(each.action, target, given.named):
            left.append(f"{each.action} {target}")
            continue
        text = " ".join(each.text.split()) if each.action in ("add", "reword", "research") else ""
        made.append(Edit(EditAction(each.action), target, text, after if each.action == "move" else ""))
    unclear = [" ".join(filled.unclear.split())]
    unclear += [f"Left out, because the wish names other ids: {', '.join(left)}."] if left and not given.refused else []
    return Edits(tuple(dict.fromkeys(made)), " ".join(filter(None, unclear)))


def _is_named(action: str, target: str, named: frozenset[str]) -> bool:
    """True for an id that the feedback names, and for what only adds to the section in which one of them stands."""
    return target in named or (action in ("add", "research") and target in {each.partition(".")[0] for each in named})


def _make_example() -> Editing:
    sentences = (
        ("0.1", "It moves 12.5 litres a minute. [S3:C7]"),
        ("1.1", "Operators shall not exceed 4 bar. [S3:C7]"),
    )
    sections = (("0", "the opening"), ("1", "Limits"))
    return Editing(
        "root/edit",
        QUESTION,
        "Say 1.1 in simpler words.",
        sections,
        sentences,
        FACTS,
        ("reword 1.1: it would be withheld: the number 5 is in no quote",),
    )


propose_edits: Role[Editing, Edits] = Role(
    "edit", Editing, Edits, "edit", tier="lead", wire=WireEdits, convert=convert_edits, example=_make_example
)

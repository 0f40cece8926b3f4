"""Review of a draft: what is wrong with it, its scores, a better draft, and rulings on its doubtful sentences.

Critique, judge and revise know a draft and the facts behind it, whatever its sections are called; they find no new
facts. Repair knows the sentences that a check withholds, and changes no others. Both mend by edits of ids. A verdict
may lower a status, never raise one; thresholds are kept elsewhere. Confirm knows single sentences with their quotes,
not the draft, the question or the sources: code withholds what it knows to be false, whatever is ruled.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from corrobora.domain.evidence import Fact
from corrobora.domain.report import Critique, Draft, Verdict
from corrobora.ports import Role
from corrobora.roles.edit import Edit, EditAction
from corrobora.roles.forms import CHECKS, DRAFT, FACTS, QUESTION, Score, UnusableAnswer, choose_from, clean_texts
from corrobora.roles.synthesize import WireDraft, convert_draft


@dataclass(frozen=True, slots=True)
class Reviewing:
    """A draft with the question and the facts it may use."""

    path: str
    question: str
    draft: Draft
    facts: tuple[Fact, ...]
    words_min: int = 0
    words_max: int = 1_500
    checks: tuple[str, ...] = ()  # sentences that code did not pass, each with its reason
    read: int = 0  # documents that were read, could not be read, and were found and not opened
    failed: int = 0
    unread: int = 0


@dataclass(frozen=True, slots=True)
class WireCritique:
    """What is wrong with a draft, most serious first."""

    problems: list[str]
    summary: str


critique: Role[Reviewing, Critique] = Role(
    "critique",
    Reviewing,
    Critique,
    "critique",
    tier="fast",
    wire=WireCritique,
    convert=lambda _given, filled: Critique(clean_texts(filled.problems), filled.summary),
    example=lambda: Reviewing("root", QUESTION, DRAFT, FACTS, 100, checks=CHECKS),
)


@dataclass(frozen=True, slots=True)
class WireVerdict:
    """Five scores and why."""

    factual_accuracy: Score
    citation_accuracy: Score
    completeness: Score
    source_quality: Score
    source_diversity: Score
    rationale: str


judge: Role[Reviewing, Verdict] = Role(
    "judge",
    Reviewing,
    Verdict,
    "judge",
    tier="judge",
    wire=WireVerdict,
    convert=lambda _given, filled: Verdict(**asdict(filled)),  # whether the scores pass is computed elsewhere
    example=lambda: Reviewing("root", QUESTION, DRAFT, FACTS, checks=CHECKS),
)


OPENING = "0"  # the id of what stands before the first section
_SHOWN_ID = re.compile(r"(?<![\w^\\{}])\{(\d{1,4}\.\d{1,4})\} ")  # x^{0.1} is none


@dataclass(frozen=True, slots=True)
class Revising:
    """A draft to be revised after a critique. Its body shows an id such as {2.3} before each sentence."""

    path: str
    question: str
    draft: Draft
    critique: Critique
    facts: tuple[Fact, ...]
    words_min: int = 0
    words_max: int = 1_500
    places: tuple[str, ...] = (OPENING,)  # the ids of sentences, rows, headings, blocks of code and sections
    read: int = 0  # documents that were read, could not be read, and were found and not opened
    failed: int = 0
    unread: int = 0

    def drop_ids(self, text: str) -> str:
        """Return a text without the ids that were shown in the draft and that a model copied."""
        return _SHOWN_ID.sub(lambda found: "" if found[1] in self.places else found[0], f"{text} ").strip()


@dataclass(frozen=True, slots=True)
class Revision:
    """Edits of a draft, or the whole text anew if the model gave that instead."""

    edits: tuple[Edit, ...] = ()
    whole: Draft | None = None
    title: str = ""  # in place of the draft's; "" keeps it


@dataclass(frozen=True, slots=True)
class WireDraftEdit:
    """One edit of the draft."""

    action: Literal["reword", "drop", "add", "move"]
    target: Annotated[str, choose_from("places")]
    text: Annotated[str, Field(description="The new words with their markers, for reword and add.")] = ""
    after: Annotated[str, Field(description="For move: the id behind which the target goes.")] = ""


@dataclass(frozen=True, slots=True)
class WireRevision:
    """The edits that the review calls for."""

    edits: list[WireDraftEdit] | None = None
    title: Annotated[str, Field(description="A new title; empty if it stays.")] = ""
    body: Annotated[str, Field(description="Empty: what no edit names stays.")] = ""


_WRITTEN = ("reword", "add")


def convert_revision(given: Revising, filled: WireRevision) -> Revision:
    """Take edits of ids that were shown; without any, a whole text if it was written anew."""
    made = list(dict.fromkeys(each for change in filled.edits or () if (each := _make_edit(given, change)) is not None))
    reworded = {each.target for each in made if each.action is EditAction.REWORD}
    made = tuple(each for each in made if each.action is not EditAction.DROP or each.target not in reworded)
    title = " ".join(filled.title.split()).lstrip("# ")
    if made or (not filled.edits and filled.edits is not None and not filled.body.strip()):
        return Revision(made, title=title)
    if not filled.body.strip():
        raise UnusableAnswer(f"`edits` names nothing of the draft; its ids are: {', '.join(given.places)}.")
    body = given.drop_ids(filled.body)
    return Revision(whole=convert_draft(given, WireDraft(title or given.draft.title or given.question, body)))


def _make_edit(given: Revising, filled: WireDraftEdit) -> Edit | None:
    target, after = (each.strip().strip("{}") for each in (filled.target, filled.after))
    text = given.drop_ids(filled.text) if filled.action in _WRITTEN else ""
    if target not in given.places or (filled.action in _WRITTEN) is not bool(text):
        return None
    if filled.action == "reword" and "." not in target:
        return None
    if filled.action == "move" and after not in given.places:
        return None
    return Edit(EditAction(filled.action), target, text, after if filled.action == "move" else "")


revise: Role[Revising, Revision] = Role(
    "revise",
    Revising,
    Revision,
    "revise",
    tier="lead",
    wire=WireRevision,
    convert=convert_revision,
    example=lambda: Revising(
        "root",
        QUESTION,
        replace(DRAFT, body=f"{{0.1}} {DRAFT.body}"),
        Critique(("units",), "good"),
        FACTS,
        100,
        1_500,
        ("0.1", OPENING),
    ),
)


Failing: TypeAlias = tuple[str, tuple[str, str]]  # id; why it is withheld, and its text


@dataclass(frozen=True, slots=True)
class Repairing:
    """What of a draft is withheld: sentences, rows, headings or blocks of code, and the facts that may help.

    The draft has only the paragraphs in which they stand, and all headings.
    """

    path: str
    question: str
    draft: Draft
    failing: tuple[Failing, ...]
    facts: tuple[Fact, ...]
    read: int = 0  # documents that were read, could not be read, and were found and not opened
    failed: int = 0
    unread: int = 0

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.failing)


@dataclass(frozen=True, slots=True)
class WireNewWords:
    """New words for one sentence."""

    sentence: Annotated[str, choose_from("ids")]
    text: Annotated[str, Field(description="The whole new sentence with its markers; empty to take it out.")]


@dataclass(frozen=True, slots=True)
class WireRepair:
    """New words for the sentences that are withheld."""

    edits: list[WireNewWords] | None = None
    body: Annotated[str, Field(description="Empty: what no edit names stays.")] = ""  # some give the whole text anew


def convert_repair(given: Repairing, filled: WireRepair) -> Revision:
    """Take new words for sentences that were shown; without any, a whole text if it was written anew."""
    said = {each.sentence.strip(): each.text.strip() for each in filled.edits or ()}
    actions = {name: EditAction.REWORD if text else EditAction.DROP for name, text in said.items()}
    edits = tuple(Edit(actions[name], name, text) for name, text in said.items() if name in given.ids)
    if edits or (filled.edits == [] and not filled.body.strip()):
        return Revision(edits)
    if not filled.body.strip():
        raise UnusableAnswer(f"`edits` names no sentence that is listed; these are: {', '.join(given.ids)}.")
    return Revision(whole=convert_draft(given, WireDraft(given.draft.title or given.question, filled.body)))


repair: Role[Repairing, Revision] = Role(
    "repair",
    Repairing,
    Revision,
    "repair",
    tier="lead",
    wire=WireRepair,
    convert=convert_repair,
    example=lambda: Repairing(
        "root/repair", QUESTION, DRAFT, (("0.1", ("the number 15 is in no quote", DRAFT.body)),), FACTS
    ),
)


@dataclass(frozen=True, slots=True)
class Doubt:
    """One sentence that code could not decide: what it cites, and why code doubts it."""

    sentence: str
    quotes: tuple[tuple[str, str, str], ...]  # source with its version, the words before the quote if needed, quote
    reasons: tuple[str, ...] = ()
    key: tuple[str, tuple[str, ...]] = ("", ())  # what the ruling is kept under: not shown
    row: str = ""  # of a cell of a table: its row, each cell after its header, with an arrow before the cell


@dataclass(frozen=True, slots=True)
class Confirming:
    """Sentences of one draft."""

    path: str
    doubts: tuple[Doubt, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the sentences, as they are shown."""
        return tuple(f"D{number}" for number, _ in enumerate(self.doubts, start=1))


@dataclass(frozen=True, slots=True)
class Rulings:
    """For each doubt, in order: "" if its quotes carry it, what they do not carry, or None without a ruling."""

    reasons: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class WireRuling:
    """Whether the quotes of one sentence carry all of it."""

    sentence: Annotated[str, choose_from("labels")]
    missing: Annotated[str, Field(description="What the quotes do not carry; empty if they carry all of it.")]
    carried: bool


@dataclass(frozen=True, slots=True)
class WireRulings:
    """One ruling for each sentence."""

    rulings: list[WireRuling]


def convert_rulings(given: Confirming, filled: WireRulings) -> Rulings:
    """Put the rulings in the order of the doubts; one that contradicts itself is none."""
    ruled: dict[str, str] = {}
    for each in filled.rulings:
        missing = " ".join(each.missing.split())
        if each.carried != bool(missing):
            ruled[each.sentence.strip()] = missing
    return Rulings(tuple(ruled.get(label) for label in given.labels))


confirm: Role[Confirming, Rulings] = Role(
    "confirm",
    Confirming,
    Rulings,
    "confirm",
    tier="judge",
    wire=WireRulings,
    convert=convert_rulings,
    example=lambda: Confirming(
        "root/confirm",
        (
            Doubt(
                "It pumps 12.5 litres each minute.",
                (("Pump manual, Edition 2", "(… The pump is red.)", "It moves 12.5 litres a minute."),),
                ("the pump",),
                row="→ Flow: 12.5 litres; Pressure: 4 bar",
            ),
        ),
    ),
)

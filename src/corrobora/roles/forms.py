"""What several roles share: field types, cleaning of what a model filled in, and the imaginary pump of their examples.

Knows domain values, texts, names of subjects and addresses. Does not know any role.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field

from corrobora.domain.evidence import Contradiction, Document, Fact, Passage, PassageId, Source, SourceId
from corrobora.domain.limits import LIMITS
from corrobora.domain.plan import Brief, Focus, Node, Subject, SubQuestion
from corrobora.domain.record import PastRound, QueryYield, Record, SourceYield
from corrobora.domain.report import Draft
from corrobora.domain.thread import Gap

_PERCENT_FROM, _PERCENT = 10, 100  # 8 may be of ten: it is refused


def _read_percent(value: Any) -> Any:
    """Read 90 as .9; what may mean something else is left to be refused."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value / _PERCENT if is_number and _PERCENT_FROM < value <= _PERCENT else value


Score = Annotated[float, Field(ge=0.0, le=1.0), BeforeValidator(_read_percent)]
CHOICES = "x-choices"  # in a schema: the fields of the input whose ids or names are all that may be filled in


def choose_from(*fields: str) -> Any:
    """Return the mark of a form's text that is one of the ids or names in these fields of the role's input."""
    return Field(json_schema_extra={CHOICES: list(fields)})


Ids = Annotated[list[Annotated[str, choose_from("sub_questions")]], Field(description="Ids exactly as shown.")]
Names = Annotated[list[Annotated[str, choose_from("subjects")]], Field(description="Names exactly as shown.")]


def list_choices(given: object, fields: Iterable[str]) -> list[str]:
    """Return the ids or names in these fields of a role's input, each once; what the input does not have is none."""
    found = (each for name in fields for each in getattr(given, name, ()))
    return list(
        dict.fromkeys(each if isinstance(each, str) else getattr(each, "id", "") or each.name for each in found)
    )


_URL = re.compile(r"https?://[^\s<>\"'\])}]{1,2000}")


STRICT = ConfigDict(extra="forbid")  # of a form whose fields take effect: one that is unknown is refused, not dropped


class UnusableAnswer(ValueError):
    """What a model filled in breaks a rule; the message goes into the one repair call."""


def clean_texts(values: Iterable[str]) -> tuple[str, ...]:
    """Fold white space and drop empty texts."""
    return tuple(text for value in values if (text := " ".join(value.split())))


def drop_duplicates(values: Iterable[str]) -> tuple[str, ...]:
    """Return each value once, in the order of its first occurrence."""
    return tuple(dict.fromkeys(values))


def clean_query(text: str) -> str:
    """Return a query without addresses: a model names no place to go to."""
    return " ".join(_URL.sub(" ", text).split())[: LIMITS.query_max_chars]


def match_subjects(names: Iterable[str], subjects: Sequence[Subject]) -> tuple[str, ...]:
    """Give subjects their own names, whatever alias or case the model used; unknown names are dropped."""
    known = {alias.casefold(): s.name for s in reversed(subjects) for alias in (*s.aliases, s.name)}
    return drop_duplicates(known[name.strip().casefold()] for name in names if name.strip().casefold() in known)


QUESTION = "How does the pump work?"
TEXT = "The pump moves 12.5 litres a minute. Operators shall not exceed 4 bar.\n\nIt was changed in 2017."
SOURCE = Source(SourceId("S3"), "Pump manual", "manual.md", "0" * 64, version="Edition 2", published="2017-06")
PASSAGES = (
    Passage(PassageId("C7"), SourceId("S3"), TEXT, 0, len(TEXT), heading="Limits"),
    Passage(PassageId("C8"), SourceId("S3"), "It was changed in 2017.", 72, len(TEXT)),
)
DOCUMENT = Document(SOURCE, TEXT, PASSAGES)
QUESTIONS = (
    SubQuestion("sq-1", "How much does the pump move?"),
    SubQuestion("sq-2", "Which pressure is allowed?", finding="at most 4 bar"),
)
SUBJECTS = (Subject("Pump", aliases=("P-1",)), Subject("Valve"))


def make_fact(quote: str, *, answers: tuple[str, ...] = ("sq-1",)) -> Fact:
    """Return a fact of the imaginary manual."""
    found = Fact.from_quote(DOCUMENT, PASSAGES[0], quote, claim=f"It is said: {quote}", answers=answers)
    assert found is not None
    return found


FACTS = (
    make_fact("The pump moves 12.5 litres a minute."),
    make_fact("Operators shall not exceed 4 bar.", answers=("sq-2",)),
)
CONFLICT = Contradiction("pressure", FACTS[0].id, FACTS[1].id, difference="4 -> 5 bar", scope="by edition")
BRIEF = Brief(
    "How does the pump work, and what are its limits?",
    QUESTIONS,
    SUBJECTS,
    ("industrial pump",),
    ("It is blue.",),
    Focus(since=2010, until=2020),
    '{"root": []}',
)
NODE = Node(
    "root/1",
    "Pump",
    "Find its limits",
    (Node("root/1/1", "Flow", "Find the flow"), Node("root/1/2", "Pressure", "Find the pressure")),
)
RECORD = Record(
    "2026-03-01",
    "the library pumps: 3 documents",
    FACTS[:1],
    (
        PastRound(
            1,
            "orient",
            "How the pump works",
            (QueryYield("pump flow", 8, 2, 1),),
            (SourceYield("S3", "Pump manual", "example.org", "read", 1, ("names Valve manual: for the pressure",)),),
            FACTS[1:],
            "The pump moves water.",
            ("date of the change",),
        ),
    ),
)
GAPS = (Gap("date of the change", "sq-2"),)
DRAFT = Draft("The pump", "It moves 12.5 litres a minute [S3:C7]. It shall not exceed 4 bar [S3:C7].")
CHECKS = ("Withheld, because the number 15 is in no quote: It moves 15 litres a minute.",)

"""What several roles share: field types, the facts that they are shown, cleaning of what a model filled in, quoting.

Knows domain values, texts, names of subjects and addresses, invisible characters, our own markers, and delimiters that
a text cannot contain: so text that nobody vouches for enters a prompt, and a model's quote finds its way back to the
source. Does not know any role or model. A delimiter is a mitigation, not a proof: what a role may cause is decided by
code, whatever it read.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import count
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field

from corrobora.domain.evidence import (
    LOOK_ALIKES,
    Contradiction,
    Document,
    Fact,
    Grade,
    Passage,
    PassageId,
    Source,
    SourceId,
)
from corrobora.domain.limits import LIMITS
from corrobora.domain.plan import Brief, Focus, Node, PastRound, QueryYield, Record, SourceYield, Subject, SubQuestion
from corrobora.domain.report import Draft
from corrobora.domain.thread import Gap
from corrobora.text.tokens import CODE_GAP

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


_TITLE_CHARS = 160


def shorten_title(text: str, limit: int = _TITLE_CHARS) -> str:
    """Return a text as a title on one line, cut to `limit` characters and a sign, after a word if there is one near."""
    line = " ".join(text.split())
    if len(line) > limit:
        cut = line.rfind(" ", limit // 2, limit)
        return f"{line[: cut if cut > 0 else limit].rstrip(' ,;:')} …"
    return line.rstrip(" ,;:")


_WORD = re.compile(r"[^\W_]+")


def name_section(title: str, heading: str) -> str:
    """Return the headings above a passage, without those that its title says already, also if that is cut short."""
    said = f" {' '.join(_WORD.findall(title.casefold()))} "
    path = heading.split(" > ")
    while path and (first := f" {' '.join(_WORD.findall(path[0].casefold()))} "):
        if first not in said and not (title.endswith(" …") and first.startswith(said)):
            break
        del path[0]
    return " > ".join(path)


def name_origin(publisher: str, host: str) -> tuple[str, str]:
    """Return who published a source and at which host; a publisher that is only the host is not named twice."""
    shown = host.removeprefix("www.")
    return ("" if publisher.removeprefix("www.") == shown.partition(":")[0] else publisher), shown


_PLACE_CHARS = 100


def name_place(address: str) -> str:
    """Return host and path of an address, or the path of a file: what tells two sources of one title apart."""
    place = (address.partition("://")[2] or address).removeprefix("www.")
    return place if len(place) <= _PLACE_CHARS else f"…{place[1 - _PLACE_CHARS :]}"


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
            3,
            others=FACTS[:1],
        ),
    ),
)
GAPS = (Gap("date of the change", "sq-2"),)
DRAFT = Draft("The pump", "It moves 12.5 litres a minute [S3:C7]. It shall not exceed 4 bar [S3:C7].")
CHECKS = ("Withheld, because the number 15 is in no quote: It moves 15 litres a minute.",)


_INVISIBLE = (
    "\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_BREAKS = "\r\x0b\x0c\x1c-\x1f\x85\u2028\u2029"
_DIRTY = re.compile(f"[{_INVISIBLE}{_BREAKS}]")
_HIDDEN = re.compile(f"[{_INVISIBLE}]")
_BREAK = re.compile(f"\r\n|[{_BREAKS}]")
_MARKER = re.compile(r"[\[\u3010\uff3b]S\d{1,12}:C\d{1,12}[\]\u3011\uff3d]")
_TAG = re.compile(r"</?data-", re.IGNORECASE)
_IDENT = re.compile(r"[\w.:/@+,() ~\-\[\]]{0,200}\Z")  # ~: the second iteration of root/1 is root/1~2

_KEY = b"corrobora: text that nobody vouches for"  # public: what a text cannot do is contain the hash of itself
_CODE_BYTES = 3


class Shown(str):
    """Text that may stand in a prompt: made by `quote_text`, `show_identifier` or `quote_rows` only."""

    __slots__ = ()


def clean_text(text: str, *, markers: bool = False) -> str:
    """Drop what a reader cannot see and what only our code may write: citation markers and data tags.

    Invisible: controls, bidirectional overrides, zero-width and tag characters, variation selectors, lone surrogates,
    and the marks of lines of code.
    With `markers`, `[S3:C2]` stays: for drafts, whose markers are checked by code.
    """
    if not text.isascii() or _DIRTY.search(text):
        text = _HIDDEN.sub("", _BREAK.sub("\n", text)).replace(f"\n{CODE_GAP}", "\n")
    if "<" in text:
        text = _TAG.sub("data ", text)
    return text if markers or ":C" not in text else _MARKER.sub("", text)


def quote_text(text: str, *, markers: bool = False) -> Shown:
    """Wrap one text as data between tags that carry a code; the code does not occur in the text.

    The code is a keyed hash of the text: no clock and no chance, so that equal prompts are equal bytes everywhere, and
    a change in one text changes no other part of the prompt (providers cache prompts by their beginning).
    """
    inside = clean_text(text, markers=markers).strip()
    code = make_delimiter(inside)
    space = "\n" if "\n" in inside else ""
    return Shown(f"<data-{code}>{space}{inside}{space}</data-{code}>")


def quote_rows(lines: Iterable[tuple[str, Sequence[str]]], *, markers: bool = False) -> Shown:
    """Wrap many short texts as one block of data, one line each: a label written by code, then the texts.

    Line ends inside a text are folded, so that no text can start a line of its own.
    """
    shown: list[str] = []
    for label, texts in lines:
        parts = [" ".join(clean_text(text, markers=markers).split()) for text in texts]
        shown.append(" | ".join(part for part in (show_identifier(label), *parts) if part))
    inside = "\n".join(shown)
    code = make_delimiter(inside)
    return Shown(f"<data-{code}>\n{inside}\n</data-{code}>") if inside else Shown("(none)")


def show_identifier(name: object) -> Shown:
    """Show an id, a number or a word of a closed set as it is. Raises `ValueError` for anything that could be prose."""
    text = f"{name:g}" if isinstance(name, float) else str(name)
    if not _IDENT.match(text):
        message = f"not an id: {text[:40]!r}"
        raise ValueError(message)
    return Shown(text)


def make_delimiter(text: str) -> str:
    """Return a code of six hex digits that does not occur in `text`: a keyed hash of it."""
    data = text.encode("utf-8", "surrogatepass")
    seeds = (data + number.to_bytes(4, "big") if number else data for number in count())
    codes = (hashlib.blake2b(seed, key=_KEY, digest_size=_CODE_BYTES).hexdigest() for seed in seeds)
    return next(code for code in codes if code not in text)


_SAME = {**LOOK_ALIKES, "\u2026": "..."}
_GAP = re.compile(r" ?(?:\.\.\.|\[\.\.\.\]) ?")
_LED_IN = re.compile(r":[ \t]*\n\n")
_MAX_QUOTE = 4_000  # characters; the engine refuses longer quotes anyway
_MAX_SPLICE = 400  # characters between the parts of a quote with "..." in it
_MIN_PART = 10


def find_literal(quoted: str, text: str) -> str | None:
    """Return the characters of `text` that `quoted` stands for, exactly as they stand there, or None.

    Folds white space, typographic quotes and dashes and invisible characters; never letters, digits, superscripts or
    case. A quote with "..." must match part by part, in order, inside one paragraph and at one place, and gives the
    whole span.
    """
    plain = quoted.strip()
    if not plain or len(plain) > _MAX_QUOTE:
        return None
    if plain in text:
        return plain
    folded, offsets = _fold(text)
    small = _fold(plain)[0].strip()
    if not small:
        return None
    at = folded.find(small)
    found = (at, at + len(small)) if at >= 0 else _span([part for part in _GAP.split(small) if part], folded)
    if found is None:
        return None
    span = text[offsets[found[0]] : offsets[found[1] - 1] + 1]
    broken = "\n\n" in _LED_IN.sub(":", span)  # a list belongs to the line that leads it in
    return span if not broken or "\n\n" in plain or len(span) <= len(plain) else None


def _span(parts: Sequence[str], folded: str) -> tuple[int, int] | None:
    """Find the only place where the parts stand one after another; each must be long enough to mean something."""
    if len(parts) < 2 or min(map(len, parts)) < _MIN_PART:  # noqa: PLR2004 - a gap has two sides
        return None
    spans: dict[int, int] = {}  # by its end the start of the shortest one
    for found in re.finditer(re.escape(parts[0]), folded):
        end = found.end()
        for part in parts[1:]:
            at = folded.find(part, end, end + _MAX_SPLICE + len(part))
            if at < 0:
                break
            end = at + len(part)
        else:
            spans[end] = found.start()
    return next(((start, end) for end, start in spans.items()), None) if len(spans) == 1 else None


def _fold(text: str) -> tuple[str, list[int]]:
    """Return the text with look-alikes folded, and for each of its characters the offset in the original."""
    letters: list[str] = []
    offsets: list[int] = []
    for at, letter in enumerate(text):
        if letter.isspace() or _BREAK.match(letter):
            if not letters or letters[-1] == " ":
                continue
            letters.append(" ")
        elif not letter.isascii() and _HIDDEN.match(letter):
            continue
        else:
            same = _SAME.get(letter, letter)
            letters.append(same)
            offsets.extend([at] * (len(same) - 1))
        offsets.append(at)
    return "".join(letters), offsets


def select_best_facts(
    facts: Sequence[Fact], limit: int, conflicts: Sequence[Contradiction] = (), summary: str = ""
) -> tuple[Fact, ...]:
    """The best facts: answering ones, better grades, higher confidence; ties by what they say.

    Ids follow the order in which pages arrived, which a resumed run need not repeat. Where not all are shown, both
    sides of each of the `conflicts` and what the `summary` cites are, and each sub-question and each source has its
    best ones among them: no long document and no easy question hides the others.
    """
    grades = {Grade.VERIFIED: 0, Grade.PLAUSIBLE: 1, Grade.UNVERIFIED: 2}
    ranked = sorted(
        facts, key=lambda f: (not f.answers, grades[f.grade], -f.score, -f.confidence, f.quote, f.url, f.id)
    )
    if len(ranked) <= limit:
        return tuple(ranked)
    seen: Counter[tuple[str, str]] = Counter()
    turn: dict[str, int] = {}
    for fact in ranked:
        turn[fact.id] = min((seen[answer, fact.source] for answer in fact.answers), default=len(ranked))
        seen.update((answer, fact.source) for answer in fact.answers)
    held: Counter[str] = Counter()  # what one long page answers has as many facts shown as any other question
    for fact in sorted(ranked, key=lambda fact: turn[fact.id]):
        turn[fact.id] = min((held[answer] for answer in fact.answers), default=len(ranked))
        held.update(fact.answers)
    turn |= dict.fromkeys((side for one in conflicts for side in (one.a, one.b)), -1)
    turn |= dict.fromkeys((fact.id for fact in facts if fact.marker in summary), -1)
    kept = {fact.id for fact in sorted(ranked, key=lambda fact: turn[fact.id])[:limit]}  # stable: best first in a turn
    return tuple(fact for fact in ranked if fact.id in kept)

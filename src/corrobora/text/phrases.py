"""Phrases: every sentence that code writes into a report, the words for its codes, and their translations (frames).

Knows fixed wordings about the report and the search, never about the world: a sentence of an extractive report is
either one of these or stands in a source. Knows every code that a report, a line of progress or an error may have to
name: outcomes, reasons to stop, states of runs, fates of documents. Knows the files
of translations, and what one may hold. Does not know where any of it is shown.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import resources
from typing import cast

from corrobora.domain.errors import UserError
from corrobora.domain.limits import read_table
from corrobora.domain.thread import StopReason

NO_EVIDENCE = "No sufficient evidence was found"
NEAREST = "The nearest statements that were read follow; they do not answer the question"
NEAR = "Passages near the question"
PARTLY = "Only a part of this is covered by what was read"
ABOVE = "What was found on this stands under the key statements above"
SIDE_BY_SIDE = "The sources differ here; both statements stand side by side"
ELSEWHERE = "What was found on this stands in the other sections"
NO_COVERAGE = "No coverage: this part of the research failed or found nothing"
COUNTED = "This report quotes"
OTHER_GAPS = "Still open"
STATED_IN = "Stated in"
UNCHANGED = "and unchanged in"
GAP = "No sufficient evidence"
UNNAMED = "No statement that was read names"
UNSTATED = "No statement that was read"
OTHER_SIDE = f"{UNSTATED} speaks of the second side of the comparison"
NOTHING_FOUND = f"{UNSTATED} speaks of this"
UNLIKELY = f"{UNSTATED} is likely to answer this"
NO_ANSWER = f"{UNSTATED} clearly answers this"
UNKNOWN_STANDING = "Only a source of unknown standing states this"
CONFIRMED = "code doubts it, and a model finds it in its sources"
NOT_CONFIRMED = "code doubts it, and a model does not find all of it in its sources"
REFUSED = "its words stand in its sources, and a model does not find all of it there"
CLAIMS_UNCITED = "it cites nothing, and a model finds a claim in it"
CLAIMED = "The model counts this as answered, and no single statement that was read gives the answer"
UNCERTAIN = "Statements that were read fit this, and words alone do not tell whether they answer it"
DISPUTED = "Statements that were read contradict each other on this, and nothing that was read settles it"
DOUBTED = "A statement fits this question, and the model does not count it as answered"
TELLS_RESEARCH = "it cites nothing and may tell of the research alone"
FAILED = "Not covered, because it failed"

CONFLICTS = "Contradictions and changes"
ACCOUNT = "Account of checking"
NOTICE = "Notice in this source"
AUTHORS = "Authors of this source"
ORDER_QUOTED = "A quote below orders the tool that reads it, and was not followed"
WITHHELD = "[One sentence withheld"
WITHHELD_CELL = "[One cell withheld"
LABELS = ("partly supported", "unclear", "not supported")  # behind a sentence that code could not confirm
ORDER = "an order to the tool that reads it"
ALL_LABELS = (*LABELS, ORDER)

OPENINGS = (
    *(NO_EVIDENCE, NEAREST, PARTLY, ABOVE, ELSEWHERE, SIDE_BY_SIDE, NO_COVERAGE, COUNTED, OTHER_GAPS),
    *(STATED_IN, GAP, FAILED, UNNAMED, UNSTATED, NEAR, UNKNOWN_STANDING, CLAIMED, DOUBTED, DISPUTED),
    UNCERTAIN,
    *(WITHHELD, WITHHELD_CELL, NOTICE, AUTHORS, ORDER_QUOTED),
)


def format_count(n: int, one: str, many: str = "") -> str:
    """Return a number with its noun.

    Example:
        >>> format_count(1, "round"), format_count(2, "search", "searches")
        ('1 round', '2 searches')
    """
    return f"{n} {one if n == 1 else many or f'{one}s'}"


def is_written_by_code(sentence: str) -> bool:
    """True if the sentence begins with a fixed wording: it claims nothing about the world."""
    return sentence.lstrip(" -*_>#|").startswith(OPENINGS)


def is_near_miss(gap: str) -> bool:
    """True if a gap says that the evidence is close to the question but does not answer it."""
    return gap.startswith((UNNAMED, UNSTATED)) and not gap.startswith(OTHER_SIDE)


def describe_code(code: object) -> str:
    """Return a stored code in words; one without words of its own with spaces for underscores, a sentence as it is.

    Example:
        >>> describe_code("iteration_cap"), describe_code("too_large")
        ('all rounds were used', 'too large')
    """
    text = str(code)
    return read_table("codes.toml").get(text, text if " " in text else text.replace("_", " "))


def describe_stop(code: object) -> str:
    """Return in words why research stopped: a person who ends it early has not cancelled the run."""
    return "it was ended early" if code == StopReason.CANCELLED else describe_code(code)


_SLOT = re.compile(r"\{([A-Za-z]+\d?)\}")
_TAG = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8}){0,3}\Z")
_MOST_CHARS = 2_000  # of a text that is translated; what is longer is content
_NUMBER = r"-?\$?\d[\d.,]*"
_SHIPPED = ("de",)
_NAME = re.compile(r"[^\W\d_][\w ()-]{0,40}\Z")


@dataclass(frozen=True)
class Frame:
    """The texts of one language; `texts` maps an English template to its translation.

    In a template `{n}`, `{n2}` stand for numbers, `{name}` for text that stays, `{NAME}` for text that is translated in
    its turn. A text without translation stays English.

    Example:
        >>> find_frame("de").translate("3 rounds")
        '3 Runden'
    """

    tag: str = "en"
    name: str = "English"
    own_name: str = "English"
    texts: Mapping[str, str] = field(default_factory=dict[str, str])

    def translate(self, text: str) -> str:
        """Return a text of code in this language."""
        return self._find(text, 0) or text

    def restore(self, text: str) -> str:
        """Return what the English text was; one that only begins with a fixed wording gets its English beginning."""
        plain = self._reversed.translate(text)
        if plain != text:
            return plain
        return next((f"{ours}{text[len(own) :]}" for own, ours in self._openings if text.startswith(own)), text)

    def can_translate(self, text: str) -> bool:
        """True if a text of code has a translation, or needs none."""
        return not self.texts or self._find(text, 0) is not None

    @property
    def language(self) -> str:
        """The language as a model is told it."""
        return f"{self.name} ({self.tag})" if self.name != self.tag else self.tag

    @cached_property
    def _reversed(self) -> Frame:
        return Frame(texts={own: english for english, own in reversed(list(self.texts.items()))})

    @cached_property
    def _openings(self) -> Sequence[tuple[str, str]]:
        """The beginnings of this language for the fixed wordings, the longest first, each with the English one."""
        found = {
            own[: _find_slot(own)]: english[: _find_slot(english)]
            for english, own in self.texts.items()
            if english.startswith(OPENINGS)
        }
        return sorted(found.items(), key=lambda each: -len(each[0]))

    @cached_property
    def _patterns(self) -> Sequence[tuple[re.Pattern[str], str]]:
        """The templates with slots as patterns, those with most fixed letters first."""
        open_ones = [each for each in self.texts.items() if _SLOT.search(each[0])]
        open_ones.sort(key=lambda each: -len(_SLOT.sub("", each[0])))
        return [(_compile(english), own) for english, own in open_ones]

    def _find(self, text: str, depth: int) -> str | None:
        if not self.texts or not text.strip() or len(text) > _MOST_CHARS or depth > 8:  # noqa: PLR2004 - nested slots
            return None
        if (own := self.texts.get(text)) is not None:
            return own
        for pattern, template in self._patterns:
            if (match := pattern.fullmatch(text)) is not None:
                parts = {
                    name: (self._find(part, depth + 1) or part) if name.isupper() else part
                    for name, part in match.groupdict().items()
                }
                return _SLOT.sub(lambda slot, parts=parts: parts.get(slot[1], slot[0]), template)
        return self._find_parts(text, depth)

    def _find_parts(self, text: str, depth: int) -> str | None:
        """Translate a sentence without its stop, one that begins with a capital only there, or each part of a list."""
        if text.endswith(".") and (own := self._find(text[:-1], depth + 1)) is not None:
            return f"{own}."
        if text[0].isupper() and (own := self.texts.get(text[0].lower() + text[1:])) is not None:
            return own[0].upper() + own[1:]
        parts = text.split("; ")
        found = [self._find(part, depth + 1) for part in parts] if len(parts) > 1 else []
        if not any(found):
            return None
        return "; ".join(own or part for own, part in zip(found, parts, strict=True))


ENGLISH = Frame()


def _find_slot(template: str) -> int:
    match = _SLOT.search(template)
    return match.start() if match else len(template)


def _compile(template: str) -> re.Pattern[str]:
    at, made = 0, ""
    for slot in _SLOT.finditer(template):
        number = slot[1].rstrip("0123456789") == "n"
        made += re.escape(template[at : slot.start()]) + f"(?P<{slot[1]}>{_NUMBER if number else '.+?'})"
        at = slot.end()
    return re.compile(made + re.escape(template[at:]), re.DOTALL)


@cache
def list_frames() -> tuple[Frame, ...]:
    """Return the languages that ship with the package, English first."""
    folder = resources.files("corrobora.data").joinpath("languages")
    read = [tomllib.loads(folder.joinpath(f"{tag}.toml").read_text("utf-8")) for tag in _SHIPPED]
    return ENGLISH, *(Frame(each["tag"], each["name"], each["own_name"], each["texts"]) for each in read)


def find_frame(tag: str, translation: str = "") -> Frame:
    """Return the frame of a stored run: its translation, else what ships for the language, else English texts.

    `translation` is what `dump_frame` returned.
    """
    if translation:
        return Frame(**json.loads(translation))
    main = tag.lower().partition("-")[0]
    shipped = next((each for each in list_frames() if each.tag == main), None)
    if shipped is None:
        return Frame(tag, tag, tag) if tag else ENGLISH
    return Frame(tag, shipped.name, shipped.own_name, shipped.texts)


def dump_frame(frame: Frame) -> str:
    """Return a translation of a person as text, to be stored with a run."""
    fields = {"tag": frame.tag, "name": frame.name, "own_name": frame.own_name, "texts": dict(frame.texts)}
    return json.dumps(fields, ensure_ascii=False)


def is_language_tag(text: str) -> bool:
    """True for a tag of a language, such as `de` or `pt-BR`."""
    return _TAG.match(text) is not None


def parse_frame(text: str, where: str) -> Frame:
    """Read a file of translations: `tag`, `name`, `own_name` and the table `texts`.

    Raises:
        UserError: `language_file`: it is no TOML, a field is missing, or a translation has other slots than its text.
    """
    try:
        fields = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _file_error(where, f"is no TOML: {error}") from None
    tag, name, own_name = (str(fields.get(each, "")) for each in ("tag", "name", "own_name"))
    if not is_language_tag(tag) or not _NAME.match(name):
        raise _file_error(where, "needs a tag of a language, such as 'fr', and its English name")
    given = fields.get("texts")
    if not isinstance(given, dict):
        raise _file_error(where, "needs a table [texts]")
    texts = {str(english): str(own) for english, own in cast("dict[str, object]", given).items()}
    known = list_frames()[1].texts
    for english, own in texts.items():
        if english not in known:
            raise _file_error(where, f"translates {english[:80]!r}, which is not a text of a report")
        if not own.strip() or "\n" in own or sorted(_SLOT.findall(english)) != sorted(_SLOT.findall(own)):
            raise _file_error(where, f"must give {english[:80]!r} in one line with the same words in braces")
    return Frame(tag, name, own_name or name, texts)


def _file_error(where: str, problem: str) -> UserError:
    return UserError(
        "language_file",
        f"The translation {where!r} {problem}.",
        next_step="See docs/guides/languages.md and the German file that ships with the package.",
    )

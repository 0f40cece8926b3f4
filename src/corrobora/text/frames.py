"""Frames: the texts that code writes around the content of a report, in the language that a report is asked for in.

Knows the files of translations that ship with the package, how an English text of code becomes one of another language
and is read back, and what such a file may hold. Does not know reports: what is content stays as it is.
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
from corrobora.text import phrases

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
            if english.startswith(phrases.OPENINGS)
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

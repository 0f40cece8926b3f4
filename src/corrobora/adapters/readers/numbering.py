"""The numbers of a DOCX file: what stands before the paragraphs of its lists and its numbered headings.

Knows the levels of lists, what they look like, where they start, and that styles may number. A label is counted as a
word processor counts it; one of a form that is not known is a dash. Does not know paragraphs or text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple
from xml.etree import ElementTree as ET

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_DASH = "-"
_PLACE = re.compile(r"%([1-9])")
_LEVELS = 9
_ROMAN = tuple(
    zip((1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1), "m cm d cd c xc l xl x ix v iv i".split(), strict=True)
)


class _Level(NamedTuple):
    """A level of a list: its form, what stands around the number, where it starts and whether it is all in digits."""

    form: str = "bullet"
    text: str = ""
    start: int = 1
    legal: bool = False


class ListNumbers:
    """Counts the paragraphs of the lists of one document."""

    def __init__(self, numbering: ET.Element | None, styles: ET.Element | None) -> None:
        self._shared: dict[str, str] = {}  # list to the definition whose counts it shares
        self._levels: dict[str, dict[int, _Level]] = {}
        self._counts: dict[str, dict[int, int]] = {}
        self._styled = {style.get(f"{_W}styleId"): style for style in _find_all(styles, "style")}
        forms = {each.get(f"{_W}abstractNumId"): each for each in _find_all(numbering, "abstractNum")}
        for each in _find_all(numbering, "num"):
            name, shared = each.get(f"{_W}numId") or "", _value(each, "abstractNumId")
            changed = each.findall(f"{_W}lvlOverride")
            self._shared[name] = name if changed else f"={shared}"
            levels = _read_levels(forms.get(shared))
            for change in changed:
                levels |= _read_levels(change)
                start, at = _value(change, "startOverride"), _read_number(change.get(f"{_W}ilvl"))
                levels[at] = levels.get(at, _Level())._replace(**({"start": _read_number(start)} if start else {}))
            self._levels[name] = levels

    def count_label(self, paragraph: ET.Element) -> str | None:
        """Count a paragraph and return what stands before it: "2.1", "b)", "-" for a bullet; None outside lists."""
        name, at = self._find_list(paragraph)
        if name is None or name == "0":
            return None
        levels = self._levels.get(name, {})
        level = levels.get(at, _Level())
        counts = self._counts.setdefault(self._shared.get(name, name), {})
        counts[at] = counts.get(at, level.start - 1) + 1
        for below in [each for each in counts if each > at]:
            del counts[below]
        if level.form in ("bullet", "none") or not _PLACE.search(level.text):
            return _DASH if level.form == "bullet" else level.text

        def write(place: re.Match[str]) -> str:
            of = int(place[1]) - 1
            own = levels.get(of, _Level())
            form = "decimal" if level.legal else own.form
            return _write_number(counts.setdefault(of, own.start), form)

        return _PLACE.sub(write, level.text)

    def _find_list(self, paragraph: ET.Element) -> tuple[str | None, int]:
        """Return the list and the level of a paragraph: its own, or those of its style or of what it is based on."""
        own = paragraph.find(f"{_W}pPr")
        name = level = ""
        listed = False
        style = _value(own, "pStyle") if own is not None else ""
        for _ in range(_LEVELS + 1):
            told = own.find(f"{_W}numPr") if own is not None else None
            listed = listed or told is not None
            name, level = name or _value(told, "numId"), level or _value(told, "ilvl")
            based = self._styled.get(style)
            if name or based is None:
                break
            own, style = based.find(f"{_W}pPr"), _value(based, "basedOn")
        return name or (_DASH if listed else None), min(_read_number(level), _LEVELS - 1)


def _read_levels(definition: ET.Element | None) -> dict[int, _Level]:
    return {
        _read_number(each.get(f"{_W}ilvl")): _Level(
            _value(each, "numFmt") or "decimal",
            _value(each, "lvlText"),
            _read_number(_value(each, "start") or "0"),
            each.find(f"{_W}isLgl") is not None,
        )
        for each in _find_all(definition, "lvl")
    }


def _write_number(number: int, form: str) -> str:
    """Write a number in the form of a list; one that is not known is written in digits."""
    if form in ("lowerLetter", "upperLetter") and number > 0:
        letters = chr(ord("a") + (number - 1) % 26) * min(1 + (number - 1) // 26, 9)
        return letters if form == "lowerLetter" else letters.upper()
    if form in ("lowerRoman", "upperRoman") and 0 < number < 4000:  # noqa: PLR2004 - no larger ones are written
        written = ""
        for worth, sign in _ROMAN:
            written += sign * (number // worth)
            number %= worth
        return written if form == "lowerRoman" else written.upper()
    return f"{number:02}" if form == "decimalZero" else str(number)


def _find_all(element: ET.Element | None, tag: str) -> Iterable[ET.Element]:
    return element.findall(f"{_W}{tag}") if element is not None else ()


def _value(element: ET.Element | None, tag: str) -> str:
    found = element.find(f"{_W}{tag}") if element is not None else None
    return (found.get(f"{_W}val") or "") if found is not None else ""


def _read_number(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 9 else 0  # noqa: PLR2004

"""Markup of a page: what may hide, add or replace words that its text does not show.

Knows which elements and attributes only set text, and how two pages differ in their markup. Does not read the text: a
page may hold every word of a report and show others, by a style sheet, a hidden element or a script.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from html.parser import HTMLParser
from importlib.resources import files
from typing import NamedTuple

from corrobora.reporting.html_reader import html_to_markdown
from corrobora.reporting.seal import fold_layout, strip_seal

_PLAIN = frozenset(  # elements that show their text as it stands
    """html head title meta body main article section header footer div span p a ul ol li dl dt dd em strong b i u code
    pre blockquote cite q table caption thead tbody tfoot tr td th colgroup col hr br h1 h2 h3 h4 h5 h6 mark sup sub
    small nav""".split()
)
_QUIET = frozenset(  # attributes that change nothing that is shown
    """id href title lang charset name content alt colspan rowspan scope start rel target align data-label xmlns
    xml:lang""".split()
)
_OURS = frozenset("style button details summary svg text rect line path polyline polygon circle g desc".split())
_OUR_ATTRIBUTES = frozenset(  # of our tables, plots and the notes that a number opens
    """type role tabindex aria-label aria-labelledby popovertarget popovertargetaction interestfor viewbox x y x1
    y1 x2 y2 cx cy r d points width height fill fill-opacity stroke stroke-opacity stroke-width stroke-dasharray
    text-anchor font-size font-family font-weight transform""".split()
)


class MarkupPart(NamedTuple):
    """One element with its attributes, or the text of a style sheet, script or title, and its line."""

    text: str
    line: int
    shown: bool = True  # it only sets text
    ours: bool = False  # our own pages have it, where its text cannot be another one


def list_markup(page: str) -> list[MarkupPart]:
    """Return the elements of a page in order; comments, white space and the order of attributes do not count."""
    reader = _MarkupReader()
    reader.feed(page)
    reader.close()
    return reader.parts


def find_hiding(page: str) -> list[MarkupPart]:
    """Return what of a page may show other words than its text; what our own pages are made of may not."""
    ours = _is_ours(page)
    return [part for part in list_markup(page) if not (part.shown or (ours and part.ours))]


def _is_ours(page: str) -> bool:
    return '<section id="s' in page and '<main class="report">' in page


def compare_markup(page: str, stored: str) -> list[tuple[MarkupPart, bool]]:
    """Return the elements that a page has beside those of the stored one, with True, and those it lacks.

    The order of elements that hold no text of a report is compared by its seal; here they are counted.
    """
    ours, theirs = list_markup(page), list_markup(stored)
    counts = Counter(part.text for part in ours)
    counts.subtract(Counter(part.text for part in theirs))
    found: list[tuple[MarkupPart, bool]] = []
    for parts, added in ((ours, True), (theirs, False)):
        for part in parts:
            if (counts[part.text] > 0) if added else (counts[part.text] < 0):
                counts[part.text] -= 1 if added else -1
                found.append((part, added))
    if not found and [part.text for part in ours] != [part.text for part in theirs]:
        moved = next(one for one, other in zip(ours, theirs, strict=True) if one.text != other.text)
        found.append((moved, True))
    return found


_CELL_END = re.compile(r"(?<!\\)\|")  # a bar behind a backslash is text
_FULL_STOPS = re.compile(r"(?<=[.!?])\.+")
_NOTES, _PLOTS = '<section id="evidence">', re.compile(r'(?s)<details id="plots">.*?</details>')


def find_foreign_text(page: str, markdown: str, quoted: Sequence[str]) -> str:
    """Return a piece of our page that neither its Markdown nor its sources hold, or that the page lacks; "" if none.

    Pictures and the labels of the notes, which follow the report, are not compared.
    """
    head, _, tail = _PLOTS.sub("", page, count=1).partition(_NOTES)
    told, shown = _squeeze(strip_seal(markdown)), strip_seal(html_to_markdown(head))
    texts = [told, *map(_squeeze, quoted)]
    for piece in shown.split("\n"):
        if any(_squeeze(part) not in told for part in _CELL_END.split(piece)):
            return piece
    for quote in re.findall(r"(?s)<blockquote\b.*?</blockquote>", tail):
        plain = _squeeze(html_to_markdown(quote)).strip("….")
        if not any(plain in text for text in texts):
            return quote
    missing = (line for line in strip_seal(markdown).split("\n") if _squeeze(line) not in _squeeze(shown))
    return next(missing, "")


@lru_cache(maxsize=1)
def _read_styles() -> frozenset[str]:
    """Return the digests of the style sheets that pages were ever delivered with."""
    lines = (files("corrobora.reporting") / "styles.txt").read_text(encoding="ascii").splitlines()
    return frozenset(line for line in lines if not line.startswith("#"))


def _squeeze(text: str) -> str:
    """Fold layout and white space, and the full stop that only one of two forms has after a title that ends in one."""
    return _FULL_STOPS.sub("", "".join(fold_layout(text).split())).lstrip(".")


class _MarkupReader(HTMLParser):
    """Collects the elements of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[MarkupPart] = []
        self._raw = ""  # an element whose text is no text of the page
        self._link = (0, "")  # the place of the last link among the parts, and where it leads
        self._shown = ""  # its text

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element with its attributes."""
        given = {name: " ".join((value or "").split()) for name, value in attrs}
        self._raw = tag if tag in ("style", "script", "title", "template", "noscript") else self._raw
        if tag == "meta" and ("charset" in given or given.get("http-equiv", "").lower() == "content-type"):
            return  # a browser writes its own when it saves a page
        if tag == "a":
            self._link, self._shown = (len(self.parts), given.get("href", "")), ""
        names = "".join(f' {name}="{given[name]}"' for name in sorted(given))
        quiet = all(name in _QUIET or (name == "class" and tag != "html") for name in given)
        known = tag in _PLAIN | _OURS and all(
            name in _QUIET | _OUR_ATTRIBUTES
            or (name == "class" and tag != "html")
            or (name == "popover" and tag == "div" and "ev" in given.get("class", "").split())
            for name in given
        )
        known = known or (tag == "meta" and given.get("http-equiv", "").lower() == "content-security-policy")
        self.parts.append(MarkupPart(f"<{tag}{names}>", self.getpos()[0], tag in _PLAIN and quiet, known))

    def handle_endtag(self, tag: str) -> None:
        """Leave an element, whose end shows what stands inside of it."""
        self._raw = "" if tag == self._raw else self._raw
        at, address = self._link
        told = self._shown.strip().rstrip("…/")
        if tag == "a" and re.fullmatch(r"https?://\S+", told) and not address.startswith(told):
            self.parts[at] = self.parts[at]._replace(shown=False, ours=False)  # it leads elsewhere
        self.parts.append(MarkupPart(f"</{tag}>", self.getpos()[0]))

    def handle_data(self, data: str) -> None:
        """Note the text of a style sheet, script or title, and of a link."""
        self._shown += data
        if self._raw and (text := re.sub(r"\s+", " ", data).strip()):
            shown = self._raw == "title"
            ours = self._raw == "style" and sha256(text.encode("utf-8", "replace")).hexdigest() in _read_styles()
            self.parts.append(MarkupPart(f"{self._raw}: {text}", self.getpos()[0], shown, ours))

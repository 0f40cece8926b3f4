"""Pages of HTML: read as Markdown, and what of their markup may hide, add or replace words that the text does not show.

Knows the elements of our own page and of plain ones of others, which elements and attributes only set text, and how two
pages differ in their markup. What our page tells of each number a second time, inside its notes, is read as a section
of its own. Does not know which citations resolve.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from hashlib import sha256
from html import unescape
from html.parser import HTMLParser
from importlib.resources import files
from typing import NamedTuple

from corrobora.text.tags import normalize_tags

EVIDENCE = "Evidence of each number"  # the heading of the notes of our page
PLOTS = "Plots of the run"  # the heading of its pictures
_BLOCKS = frozenset("h1 h2 h3 h4 h5 h6 p li tr blockquote section main div pre hr".split())
_HIDDEN = frozenset(("head", "style", "script", "nav", "template"))
_START = {"li": "- ", **{f"h{level}": "#" * level + " " for level in range(1, 7)}}
_MARKS = {"code": "`", "strong": "**", "b": "**"}
_CITING = frozenset(("a", "button"))
_NUMBER = re.compile(r"\[(\^?\d{1,5})\]")
_SOURCE_TITLE = re.compile(r"\[\d{1,5}\] ")
_SIGNS = r"[\\*`&<~|_!\]]"  # one of which is in everything that `_SIGN` finds
_MAY_ACT = re.compile(_SIGNS)
_WORD = re.compile(rf"(?<!\S)\S*{_SIGNS}\S*")
_ADDRESS = re.compile(r"\(?\w+://[^\s<>`]+")
_SIGN = re.compile(r"[\\*`&<~|]|(?<![^\W_])_|_(?![^\W_])|!(?=\[)|(?<=\])[(:]")
_OPENING = re.compile(r"^[#>+-]|(?<=^\d)[.)](?=\s)")  # of a heading, a quotation, an item
_TAG = re.compile(r"""<(/?)([a-z][a-z\d]*)((?:\s+[\w:-]+(?:="[^"]*")?)*+)\s*(/?)>""")  # as our own pages write it


def is_html(text: str) -> bool:
    """True for a page of HTML."""
    return text.lstrip("\ufeff \r\n\t")[:200].lower().startswith(("<!doctype html", "<html"))


def html_to_markdown(page: str, *, normal: bool = False) -> str:
    """Return what a page shows as Markdown: headings, paragraphs, items, rows, quotes and the list of sources.

    A page that code has just written is `normal`: a browser and Python's parser read it alike.
    """
    page = page if normal else normalize_tags(page)
    reader = _PageReader(ours=_is_ours(page))
    if not (normal and _feed_tags(page, reader)):
        reader.feed(page)
        reader.close()
    return "\n\n".join(reader.finish())


def _feed_tags(page: str, reader: _PageReader) -> bool:
    """Feed a page as Python's parser does, at a fraction of its cost; False if a "<" of it begins no plain tag."""
    done = max(page.find("<html"), 0)  # behind the declaration of what it is
    tags = list(_TAG.finditer(page, done))
    if len(tags) != page.count("<", done):
        return False
    for tag in tags:
        if done < tag.start():
            reader.handle_data(unescape(page[done : tag.start()]))
        done = tag.end()
        ends, name, given, closed = tag.groups()
        if not ends:
            reader.handle_starttag(name, [("id", "evidence")] if ' id="evidence"' in given else [])
        if ends or closed:
            reader.handle_endtag(name)
    return True


def _is_ours(page: str) -> bool:
    """True for a page with the parts of our own reports."""
    return '<section id="s' in page and '<main class="report">' in page


def _escape_word(match: re.Match[str]) -> str:
    """Escape the signs of a word that Markdown would act on; an address stays as it is."""
    return match.group() if _ADDRESS.fullmatch(match.group()) else _SIGN.sub(r"\\\g<0>", match.group())


class _PageReader(HTMLParser):
    """Collects one line of Markdown for each block of a page.

    On a page of `ours` every citation is a button or a link: a number in brackets in the text is the source's own.
    """

    def __init__(self, *, ours: bool = False) -> None:
        super().__init__(convert_charrefs=True)
        self._ours = ours
        self._cites = 0  # buttons and links that are open
        self._code = False
        self._cell = False  # a word processor puts paragraphs into cells
        self._lines: list[str] = []
        self._text = ""
        self._hidden = 0
        self._picture = False  # a title is the name of a picture there, and nothing that is shown elsewhere
        self._evidence = False  # in the notes: they are read as items, for the seal, and are no quotes of a source
        self._quoted = 0
        self._rows = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open a block, a cell or a hidden part."""
        self._picture = self._picture or tag == "svg"
        if self._hides(tag):
            self._hidden += 1
        self._cell = tag in ("td", "th") or (self._cell and tag != "tr")
        if tag in _BLOCKS and not self._cell:
            self._flush()
        self._quoted += tag == "blockquote"
        self._cites += tag in _CITING
        self._evidence = self._evidence or (tag == "section" and ("id", "evidence") in attrs)
        self._code = self._code or tag == "code"
        if tag in _START:
            self._text = _START[tag]
        elif tag in ("td", "th"):
            self._text += "| "
        elif tag in _MARKS:
            self._text += _MARKS[tag]
        elif tag == "br":
            self._text += " "
        elif tag == "table":
            self._rows = 0

    def handle_endtag(self, tag: str) -> None:
        """Close a block, a cell or a hidden part."""
        if self._hides(tag):
            self._hidden = max(0, self._hidden - 1)
        self._picture = self._picture and tag != "svg"
        if tag in ("td", "th"):
            self._text += " "
            self._cell = False
        elif tag in _MARKS:
            self._text += _MARKS[tag]
        elif tag == "tr":
            self._end_row()
        elif tag in _BLOCKS and not self._cell:
            self._flush()
        self._code = self._code and tag != "code"
        self._quoted -= tag == "blockquote" and self._quoted > 0
        self._cites -= tag in _CITING and self._cites > 0

    def handle_data(self, data: str) -> None:
        """Collect text, its signs escaped: a page shows them, so they are no Markdown."""
        if not self._hidden:
            said = data
            if not self._code and _MAY_ACT.search(data) is not None:
                said = _WORD.sub(_escape_word, data)
                if self._ours and not self._cites and not self._text.startswith("#"):
                    said = _NUMBER.sub(r"\\[\1\\]", said)
            self._text += said if self._text else _OPENING.sub(r"\\\g<0>", said.lstrip())

    def _hides(self, tag: str) -> bool:
        return tag in _HIDDEN or (tag == "title" and not self._picture)

    def _end_row(self) -> None:
        cells = " ".join(self._text.split())
        self._text = f"{cells} |" if cells else ""
        self._flush()
        self._rows += 1
        if self._rows == 1 and cells:
            self._lines[-1] += "\n" + "|" + "---|" * cells.count("| ")

    def _flush(self) -> None:
        line, self._text = " ".join(self._text.split()), ""
        if not line or line in _START.values():
            return
        if self._evidence and not line.startswith("#") and not line.startswith("Sealed:"):
            line = f"- {line}"
        self._lines.append(f"> {line}" if self._quoted and not self._evidence else line)

    def finish(self) -> list[str]:
        self._flush()
        return _join_sources(self._lines)


def _join_sources(lines: list[str]) -> list[str]:
    """Write "### [n] title", details, address, quotes and mark as one reference with its quotes below."""
    found: list[str] = []
    head: list[str] = []
    below: list[str] = []
    for line in lines:
        title = line.removeprefix("### ")
        if line.startswith("### ") and _SOURCE_TITLE.match(title):
            number, _, name = title.partition(" ")
            head, below = [f"{number} **{name}**"], []
        elif head and line.startswith("`") and "sha256:" in line:
            source, _, digest = line.strip("`").partition(" ")
            found += [f"{_join_head(head)} `{source}` `{digest}`", *below]
            head = []
        elif head and line.startswith((">", "**")):  # a quote, or a notice below its bold label
            below.append(line)
        elif head:
            head.append(line)
        else:
            found.append(line)
    return found


def _join_head(parts: list[str]) -> str:
    title, *details, address = parts if len(parts) > 1 else [*parts, ""]
    comma = "," if details and not details[0].startswith("(") else ""
    return " ".join([f"{title}{comma}", *details]) + f". {address}"


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
    reader.feed(normalize_tags(page))
    reader.close()
    return reader.parts


def find_hiding(page: str) -> list[MarkupPart]:
    """Return what of a page may show other words than its text; what our own pages are made of may not."""
    ours = _is_ours(page)
    return [part for part in list_markup(page) if not (part.shown or (ours and part.ours))]


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


@lru_cache(maxsize=1)
def _read_styles() -> frozenset[str]:
    """Return the digests of the style sheets that pages were ever delivered with."""
    lines = (files("corrobora.reporting") / "styles.txt").read_text(encoding="ascii").splitlines()
    return frozenset(line for line in lines if not line.startswith("#"))


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
        shown = self._shown.strip().rstrip("…/")
        if tag == "a" and re.fullmatch(r"https?://\S+", shown) and not address.startswith(shown):
            self.parts[at] = self.parts[at]._replace(shown=False, ours=False)  # it leads elsewhere
        self.parts.append(MarkupPart(f"</{tag}>", self.getpos()[0]))

    def handle_data(self, data: str) -> None:
        """Note the text of a style sheet, script or title, and of a link."""
        self._shown += data
        if self._raw and (text := re.sub(r"\s+", " ", data).strip()):
            shown = self._raw == "title"
            ours = self._raw == "style" and sha256(text.encode("utf-8", "replace")).hexdigest() in _read_styles()
            self.parts.append(MarkupPart(f"{self._raw}: {text}", self.getpos()[0], shown, ours))

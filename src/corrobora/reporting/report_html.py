"""Reading of a report's HTML page back as Markdown, so that one check reads both.

Knows the elements of our own page and plain ones of others. Does not know what a citation means.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser

from corrobora.text import phrases

_BLOCKS = frozenset("h1 h2 h3 h4 h5 h6 p li tr blockquote section main div pre hr".split())
_HIDDEN = frozenset(("head", "style", "script", "nav", "template"))
_START = {"li": "- ", **{f"h{level}": "#" * level + " " for level in range(1, 7)}}
_SOURCE_TITLE = re.compile(r"\[\d{1,5}\] ")


def is_html(text: str) -> bool:
    """True for a page of HTML."""
    return text.lstrip("\ufeff \r\n\t")[:200].lower().startswith(("<!doctype html", "<html"))


def html_to_markdown(page: str) -> str:
    """Return what a page shows as Markdown: headings, paragraphs, items, rows, quotes and the list of sources."""
    reader = _PageReader()
    reader.feed(page)
    reader.close()
    return "\n\n".join(reader.finish())


class _PageReader(HTMLParser):
    """Collects one line of Markdown for each block of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._lines: list[str] = []
        self._text = ""
        self._hidden = 0
        self._quoted = 0
        self._rows = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - the parser's
        """Open a block, a cell or a hidden part."""
        if tag in _HIDDEN:
            self._hidden += 1
        if tag in _BLOCKS:
            self._flush()
        self._quoted += tag == "blockquote"
        if tag in _START:
            self._text = _START[tag]
        elif tag in ("td", "th"):
            self._text += "| "
        elif tag == "code":
            self._text += "`"
        elif tag == "br":
            self._text += " "
        elif tag == "table":
            self._rows = 0

    def handle_endtag(self, tag: str) -> None:
        """Close a block, a cell or a hidden part."""
        if tag in _HIDDEN:
            self._hidden = max(0, self._hidden - 1)
        if tag in ("td", "th"):
            self._text += " "
        elif tag == "code":
            self._text += "`"
        elif tag == "tr":
            self._end_row()
        elif tag in _BLOCKS:
            self._flush()
        self._quoted -= tag == "blockquote" and self._quoted > 0

    def handle_data(self, data: str) -> None:
        """Collect text."""
        if not self._hidden:
            self._text += data

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
        self._lines.append(f"> {line}" if self._quoted else line)

    def finish(self) -> list[str]:
        """Return the lines, each source in one line as in Markdown."""
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
        elif head and line.startswith((">", phrases.NOTICE)):
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

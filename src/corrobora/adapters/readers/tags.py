"""Tags: readable text from HTML without judging what is content.

Knows blocks, headings, lists, tables as rows "a | b", and what is never text (script, style). Has no recursion, so no
depth of nesting loses text: it is the second parser. Does not know menus from articles.
"""

from __future__ import annotations

from html.parser import HTMLParser

from corrobora.adapters.readers.writing import TextWriter, fold_spaces

_SILENT = frozenset("script style template noscript svg math head iframe object canvas select".split())
_BLOCKS = frozenset(
    "p div section article main aside header footer nav ul ol dl dt dd blockquote figure figcaption form fieldset "
    "address details summary table thead tbody tfoot caption center body html".split()
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}


class TagTextParser(HTMLParser):
    """Feed it HTML; it writes into a `Writer`."""

    def __init__(self, writer: TextWriter) -> None:
        super().__init__(convert_charrefs=True)
        self._writer = writer
        self._text: list[str] = []
        self._cells: list[str] | None = None
        self._silent = 0
        self._heading = 0
        self._item = False
        self._in_title = False
        self._pre = 0
        self.title = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open a block, a row, a cell, a heading or something silent."""
        del attrs
        if tag == "title":
            self._in_title = True
        elif tag in _SILENT:
            self._silent += 1
        elif tag == "br":
            self._text.append("\n" if self._cells is None else " ")
        elif tag == "tr":
            if self._cells is not None:  # the row before was never closed
                self._end_row()
            self._flush_text()
            self._cells = []
        elif tag in {"td", "th"}:
            self._end_cell()
        elif tag in _HEADINGS:
            self._flush_text()
            self._heading = _HEADINGS[tag]
        elif tag == "li":
            self._flush_text()
            self._item = True
        elif tag in _BLOCKS or tag == "pre":
            self._flush_text()
            self._pre += tag == "pre"

    def handle_endtag(self, tag: str) -> None:
        """Write what the tag closes."""
        if tag == "title":
            self._in_title = False
        elif tag in _SILENT:
            self._silent = max(0, self._silent - 1)
        elif tag in {"td", "th"}:
            self._end_cell()
        elif tag == "tr" or (tag == "table" and self._cells is not None):
            self._end_row()
        elif tag in _HEADINGS or tag == "li" or tag in _BLOCKS or tag == "pre":
            self._flush_text()
            self._heading, self._item = 0, False
            self._pre = max(0, self._pre - (tag == "pre"))

    def handle_data(self, data: str) -> None:
        """Collect text that is shown."""
        if self._in_title:
            self.title += data
        elif not self._silent:
            self._text.append(data)

    def _end_cell(self) -> None:
        if self._cells is None:
            return
        text = " ".join("".join(self._text).split())
        self._text.clear()
        if text:
            self._cells.append(text)

    def _end_row(self) -> None:
        self._end_cell()
        cells, self._cells = self._cells or [], None
        self._writer.add_block(" | ".join(cells), tight=True)

    def _flush_text(self) -> None:
        if self._cells is not None:
            self._text.append(" ")
            return
        raw = "".join(self._text)
        self._text.clear()
        if not raw.strip():
            return
        if self._heading:
            self._writer.add_heading(raw, self._heading)
        elif self._pre:
            self._writer.add_verbatim(raw)
        elif self._item:
            self._writer.add_block("- " + " ".join(raw.split()), tight=True)
        else:
            self._writer.add_block(_join_lines(raw))

    def close(self) -> None:
        """End the input and write what is left."""
        super().close()
        if self._cells is not None:
            self._end_row()
        self._flush_text()


def _join_lines(raw: str) -> str:
    """Join the wrapped lines of a paragraph; a line break written as such cannot be told apart and is joined too."""
    return " ".join(raw.split())


def read_tags(html: str, writer: TextWriter | None = None) -> tuple[TextWriter, str]:
    """Write the text of `html`; return the writer and the document's title."""
    writer = writer or TextWriter()
    reader = TagTextParser(writer)
    reader.feed(html)
    reader.close()
    return writer, fold_spaces(reader.title)

"""HTML: the readable article of a page, with its headings, tables, title, date and site.

Knows which pages are too hostile for a tree, and a second parser without recursion for those, which writes all text of
a page that is not script or style. Does not know the network: links, scripts, redirects and `base` inside a page are
never followed. Runs in the parser's process.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from typing import NamedTuple, Protocol, cast

from corrobora.adapters.readers import TextWriter, decode_text, fold_spaces
from corrobora.domain.errors import ReadError
from corrobora.domain.evidence import ReadOutcome
from corrobora.ports import ParsedDocument
from corrobora.text.tokens import split_words

_SILENT = frozenset("script style template noscript svg math head iframe object canvas select".split())
_BLOCKS = frozenset(
    "p div section article main aside header footer nav ul ol dl dt dd blockquote figure figcaption form fieldset "
    "address details summary table thead tbody tfoot caption center body html".split()
)
_ARTICLE_BLOCKS = frozenset({"p", "list", "head", "table", "div", "quote"})
_HEADINGS = {f"h{level}": level for level in range(1, 7)}


class TagTextParser(HTMLParser):
    """Writes the text of the HTML that it is fed into a `TextWriter`."""

    def __init__(self, writer: TextWriter) -> None:
        super().__init__(convert_charrefs=True)
        self._writer = writer
        self._text: list[str] = []
        self._cells: list[str] | None = None
        self._rows: list[list[str]] = []
        self._head: list[str] = []
        self._heads = False  # every cell of the row so far is a head
        self._silent = 0
        self._heading = 0
        self._item = False
        self._in_title = False
        self._in_cell = False
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
            self._cells, self._heads = [], True
        elif tag in {"td", "th"}:
            self._end_cell()
            self._heads = self._heads and tag == "th"
            self._in_cell = True
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
        elif tag == "tr":
            self._end_row()
        elif tag == "table":
            self._end_table()
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
        if self._in_cell or text:
            self._cells.append(text)
        self._in_cell = False

    def _end_row(self) -> None:
        self._end_cell()
        cells, self._cells = self._cells or [], None
        if self._heads and len(cells) > 1 and not self._head and not self._rows:
            self._head = cells
        elif cells:
            self._rows.append(cells)

    def _end_table(self) -> None:
        if self._cells is not None:
            self._end_row()
        rows, head, self._rows, self._head = self._rows, self._head, [], []
        self._writer.add_rows(rows, head)

    def _flush_text(self) -> None:
        if self._cells is not None:
            self._text.append(" ")
            return
        raw = "".join(self._text)
        self._text.clear()
        if not raw.strip():
            return
        if self._rows or self._head:
            self._end_table()
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
        self._end_table()
        self._flush_text()


def _join_lines(raw: str) -> str:
    """Join the wrapped lines of a paragraph; a line break written as such cannot be told apart and is joined too."""
    return " ".join(raw.split())


_KNOWN = frozenset(
    "a abbr acronym address area article aside audio b base basefont bdi bdo big blockquote body br button canvas "
    "caption center cite code col colgroup data datalist dd del details dfn dialog dir div dl dt em embed fieldset "
    "figcaption figure font footer form frame frameset g h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe img "
    "input ins kbd label legend li link main map mark menu meta meter nav noscript object ol optgroup option output p "
    "param path picture pre progress q rp rt ruby s samp script search section select slot small source span strike "
    "strong style sub summary sup svg table tbody td template textarea tfoot th thead time title tr track tt u ul var "
    "video wbr".split()
)


def is_element(markup: str) -> bool:
    """True for a tag of HTML or a comment; `<name>` in running text is none, whatever a parser takes it for."""
    name = _TAG.match(markup)
    return name is None or name[2].lower() in _KNOWN or "-" in name[2]


def read_tags(html: str, writer: TextWriter | None = None) -> tuple[TextWriter, str]:
    """Write the text of `html`; return the writer and the document's title."""
    writer = writer or TextWriter()
    reader = TagTextParser(writer)
    reader.feed(html)
    reader.close()
    return writer, fold_spaces(reader.title)


MAX_TAGS = 200_000
MAX_ATTRIBUTES = 1_000
MAX_DEPTH = 250
_MAX_TREE_LINKS = 20_000  # the article finder needs 12 s for 200,000 links
_VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9:-]{0,40})")
_META = re.compile(rb"<meta[^>]{0,300}?charset=[\"']?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
# The extensive search compiles the date formats of all languages (0.3 s of CPU) and guesses. With and without it the
# same date was found on each of 99 news pages; without their metadata it found 99 dates, 28 of them wrong, instead of
# 64 dates, 10 of them wrong.
_DATES = {"original_date": True, "extensive_search": False}
_DATA_URI = re.compile(r"data:[a-z]{1,20}/[^\s\"'<>]{100,}", re.IGNORECASE)
_PLACEHOLDER_PHRASES = (
    "just a moment|verify you are human|are you a robot|checking your browser|enable javascript and cookies|"
    "access denied|page not found|404 not found|subscribe to continue reading|sign in to continue|"
    "log in to continue|please enable javascript|unusual traffic from your"
).split("|")
_PLACEHOLDER_CHARS = 1_500


class _Element(Protocol):
    tag: object
    text: str | None
    tail: str | None

    def get(self, key: str, default: str = "") -> str: ...

    def __iter__(self) -> Iterator[_Element]: ...

    def itertext(self) -> Iterator[str]: ...

    def iter(self, *tags: str) -> Iterator[_Element]: ...

    def iterancestors(self) -> Iterator[_Element]: ...

    def findtext(self, path: str) -> str | None: ...

    def drop_tag(self) -> None: ...

    def drop_tree(self) -> None: ...


def read_html(data: bytes, charset: str = "") -> ParsedDocument:
    """Return the article of a page. `charset` is the one of the HTTP header, if there was one.

    Raises:
        ReadError: `unsupported` for bytes that are no text, `empty` if there is nothing to read, `not_content` for a
            login, challenge or error page, `too_large` for a page with more tags than any reader should meet.
    """
    match = _META.search(data[:4096])
    html = decode_text(data, charset or (match[1].decode("ascii") if match else ""))
    shape = measure_shape(html)
    if shape.tags > MAX_TAGS:
        raise ReadError(ReadOutcome.TOO_LARGE, f"The page has more than {MAX_TAGS} tags.")
    html = _DATA_URI.sub("", html) if "data:" in html else html
    parsed = _extract_article(html) if shape.safe else None
    if parsed is None or not parsed.text:
        writer, title = read_tags(html)
        parsed = writer.build_parsed(title, note="read without telling the article from its surroundings")
    if not parsed.text.strip():
        raise ReadError(ReadOutcome.EMPTY, "The page has no readable text.")
    if is_placeholder(parsed):
        raise ReadError(ReadOutcome.NOT_CONTENT, "The page is a login, challenge or error page, not content.")
    return parsed


class PageShape(NamedTuple):
    """What one linear scan tells of a page."""

    tags: int
    attributes: int
    depth: int
    links: int

    @property
    def safe(self) -> bool:
        """True if a tree builder neither hangs on the page nor drops text of it."""
        return self.attributes <= MAX_ATTRIBUTES and self.depth <= MAX_DEPTH and self.links <= _MAX_TREE_LINKS


def measure_shape(html: str) -> PageShape:
    """Count tags, links, the attributes of the richest tag and the depth of nesting, in one pass."""
    tags = attributes = depth = deepest = links = 0
    last = -1
    for match in _TAG.finditer(html):
        tags += 1
        name = match[2].lower()
        if match[1]:
            depth -= depth > 0
        elif name not in _VOID:
            depth += 1
            deepest = max(deepest, depth)
        links += name == "a" and not match[1]
        if last >= 0:
            attributes = max(attributes, html.count("=", last, match.start()))
        last = match.end()
        if tags > MAX_TAGS:
            break
    if last >= 0:
        attributes = max(attributes, html.count("=", last, min(len(html), last + 100_000)))
    return PageShape(tags, attributes, deepest, links)


def _trim_date(date: str, html: str) -> str:
    """Return the date, or only its year if its day is written nowhere in the page.

    The extractor completes "January 2024" by the current day; a report would print a day that nobody stated.
    """
    if not date:
        return ""
    year, month, day = (int(part) for part in date.split("-"))
    numbers = rf"{year}[-/.]?0?{month}[-/.]?0?{day}|0?{day}[-/.]0?{month}[-/.]|0?{month}[-/.]0?{day}[-/.]"
    words = rf"0?{day}(?:st|nd|rd|th)?[.,]?\s(?:\w\w\s)?[^\W\d_]{{3,12}}|[^\W\d_]{{3,12}}\.?\s0?{day}"
    return date if re.search(rf"(?<!\d)(?:{numbers}|{words})(?!\d)", html) else str(year)


def _list_titles(tree: _Element) -> list[str]:
    """Return the titles that a page declares: of its head, and for those who share it."""
    shared = (each.get("content") for each in tree.iter("meta") if each.get("property") == "og:title")
    return [fold_spaces(title) for title in (tree.findtext(".//title"), *shared) if title and title.strip()]


def _choose_title(found: str, declared: Sequence[str]) -> str:
    """Return the title that the extractor found, or the declared one if no declared title contains it.

    The extractor guesses from headings and class names, and may name a page after the heading of a help window.
    """
    words = " ".join(split_words(found))
    return found if not declared or any(words in " ".join(split_words(each)) for each in declared) else declared[0]


def _extract_article(html: str) -> ParsedDocument | None:
    """Find the article with trafilatura; None if it finds none."""
    from trafilatura import bare_extraction, load_html  # noqa: PLC0415 - 1 s of CPU that only HTML pays

    tree = load_html(html)
    if tree is None:
        return None
    titles = _list_titles(page := cast("_Element", tree))
    _free_headings(page)
    found = bare_extraction(
        tree, favor_precision=True, include_comments=False, with_metadata=True, date_extraction_params=_DATES
    )
    body = getattr(found, "body", None)
    if found is None or body is None:
        return None
    writer = TextWriter()
    _ArticleWriter(writer).write_body(cast("_Element", body))
    meta = cast("dict[str, str | None]", found if isinstance(found, dict) else found.as_dict())
    return writer.build_parsed(
        _choose_title(meta.get("title") or "", titles),
        published=_trim_date(meta.get("date") or "", html),
        publisher=meta.get("sitename") or meta.get("hostname") or "",
    )


def _free_headings(tree: _Element) -> None:
    """Take buttons, permalink signs and the links around words out of the headings.

    The extractor takes a heading that is a link for navigation and drops it; generators of documentation make every
    heading one.
    """
    for part in [*tree.iter("a", "button")]:
        if any(each.tag in _HEADINGS for each in part.iterancestors()):
            named = part.tag == "a" and re.search(r"\w", _element_text(part))
            part.drop_tag() if named else part.drop_tree()


class _ArticleWriter:
    """Walks the article's elements."""

    def __init__(self, writer: TextWriter) -> None:
        self._writer = writer

    def write_body(self, body: _Element) -> None:
        stack: list[_Element] = list(body)[::-1]
        if body.text and body.text.strip():
            self._writer.add_block(body.text)
        while stack:
            element = stack.pop()
            match element.tag:
                case "head":
                    level = element.get("rend", "h2")[1:]
                    self._writer.add_heading(_element_text(element), int(level) if level.isdigit() else 2)
                case "table":
                    self._write_table(element)
                case "list":
                    stack.extend(list(element)[::-1])
                case "item":
                    self._writer.add_block(f"- {_element_text(element)}", tight=True)
                case "code":
                    self._writer.add_verbatim("".join(element.itertext()))
                case "div" | "quote" if any(child.tag in _ARTICLE_BLOCKS for child in element):
                    self._writer.add_block(element.text or "")
                    stack.extend(list(element)[::-1])
                case _:
                    self._writer.add_block(_element_text(element))
            if element.tail and element.tail.strip():
                self._writer.add_block(element.tail)

    def _write_table(self, table: _Element) -> None:
        rows = [list(row) for row in table]
        heads = bool(rows) and len(rows[0]) > 1 and all(cell.get("role") == "head" for cell in rows[0])
        cells = [
            [_element_text(cell) for cell in row] or [_element_text(each)]
            for row, each in zip(rows, table, strict=True)
        ]
        self._writer.add_rows(cells[heads:], cells[0] if heads else ())


def _element_text(element: _Element) -> str:
    return " ".join("".join(element.itertext()).split())


def is_placeholder(parsed: ParsedDocument) -> bool:
    """True for a short page that says it is not the content: a challenge, a login, an error."""
    if len(parsed.text) > _PLACEHOLDER_CHARS:
        return False
    said = f"{parsed.title}\n{parsed.text}".lower()
    return any(wall in said for wall in _PLACEHOLDER_PHRASES)

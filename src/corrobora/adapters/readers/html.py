"""HTML: the readable article of a page, with its headings, tables, title, date and site.

Knows which pages are too hostile for a tree, and a second parser without recursion for those, which writes all text of
a page that is not script or style. Does not know the network: links, scripts, redirects and `base` inside a page are
never followed. Runs in the parser's process.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import NamedTuple

from corrobora.adapters.readers import TextWriter, decode_text, fold_spaces
from corrobora.adapters.readers.article import extract_article
from corrobora.adapters.readers.article_text import HEADINGS
from corrobora.adapters.readers.declared import is_hidden
from corrobora.domain.errors import ReadError
from corrobora.domain.evidence import ReadOutcome
from corrobora.ports import ParsedDocument
from corrobora.text.tags import drop_control_references, escape_unfinished_tags

_SILENT = frozenset("script style template noscript svg math head iframe object canvas select".split())
_VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
_UNCLOSED = frozenset("p li dt dd tr td th option".split())  # the next one closes it: it adds no depth of its own
_BLOCKS = frozenset(
    "p div section article main aside header footer nav ul ol dl dt dd blockquote figure figcaption form fieldset "
    "address details summary table thead tbody tfoot caption center body html".split()
)


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
        self._unseen: list[str] = []  # an element that the page does not show, and those of the same name in it
        self.title = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open an element, unless the page does not show it."""
        if self._unseen and tag in _UNCLOSED and tag == self._unseen[-1]:
            self._unseen.pop()
        hides = not self._unseen and tag not in _VOID and is_hidden(dict(attrs))
        if hides or tag in self._unseen[:1]:
            self._unseen.append(tag)
        elif not self._unseen:
            self._open_element(tag)

    def _open_element(self, tag: str) -> None:
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
        elif tag in HEADINGS:
            self._flush_text()
            self._heading = HEADINGS[tag]
        elif tag == "li":
            self._flush_text()
            self._item = True
        elif tag in _BLOCKS or tag == "pre":
            self._flush_text()
            self._pre += tag == "pre"

    def handle_endtag(self, tag: str) -> None:
        """Write what the tag closes."""
        if self._unseen:
            if tag == self._unseen[-1]:
                self._unseen.pop()
        elif tag == "title":
            self._in_title = False
        elif tag in _SILENT:
            self._silent = max(0, self._silent - 1)
        elif tag in {"td", "th"}:
            self._end_cell()
        elif tag == "tr":
            self._end_row()
        elif tag == "table":
            self._end_table()
        elif tag in HEADINGS or tag == "li" or tag in _BLOCKS or tag == "pre":
            self._flush_text()
            self._heading, self._item = 0, False
            self._pre = max(0, self._pre - (tag == "pre"))

    def handle_data(self, data: str) -> None:
        """Collect text that is shown."""
        if self._unseen:
            return
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
    reader.feed(escape_unfinished_tags(html))
    reader.close()
    return writer, fold_spaces(reader.title)


MAX_TAGS = 200_000
MAX_ATTRIBUTES = 1_000
MAX_DEPTH = 250
_MAX_TREE_LINKS = 20_000  # the article finder needs 12 s for 200,000 links
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9:-]{0,40})")
_OWN_SET = re.compile(
    rb"<(?:meta[^>]{0,300}?charset|\?xml[^>]{0,100}?encoding)\s{0,9}=\s{0,9}[\"']?([A-Za-z0-9_.:-]{1,40})",
    re.IGNORECASE,
)
_DATA_URI = re.compile(r"data:[a-z]{1,20}/[^\s\"'<>]{100,}", re.IGNORECASE)
_PLACEHOLDER_PHRASES = (
    "just a moment|verify you are human|verifying you are human|are you a robot|not a robot|checking your browser|"
    "enable javascript and cookies|please enable javascript|need to enable javascript|javascript aktivieren|"
    "aktivieren sie javascript|unusual traffic from your|access denied|zugriff verweigert|accès refusé|"
    "page not found|404 not found|can't find that page|page you are looking for|seite nicht gefunden|"
    "seite wurde nicht gefunden|page introuvable|página no encontrada|pagina non trovata|"
    "subscribe to continue reading|sign in to continue|log in to continue|before you continue to|"
    "melden sie sich an, um|verwendung von cookies zu|does not support frames|this domain is for sale|"
    "we'll be back soon|network and the origin web server|welcome to nginx!"
).split("|")
_PLACEHOLDER_CHARS = 1_500
_FEW_CHARS, _FEW_WORDS = 300, 8
_SHELL_WORDS = 50  # of a page that waits for its scripts
_LOOKED_AT = 100_000  # characters of markup
_PASSWORD = re.compile(r"<input\b[^>]{0,500}?\btype\s{0,9}=\s{0,9}[\"']?password\b", re.IGNORECASE)
_FORWARD = re.compile(
    r"<meta\b[^>]{0,200}?\bhttp-equiv\s{0,9}=\s{0,9}[\"']?refresh\b[^>]{0,200}?\burl\s{0,9}=", re.IGNORECASE
)


def find_own_set(data: bytes) -> str:
    """Return the character set that a page or an XML document states of itself, "" for none."""
    match = _OWN_SET.search(data[:4096])
    return match[1].decode("ascii") if match else ""


def read_html(data: bytes, charset: str = "") -> ParsedDocument:
    """Return the article of a page. `charset` is the one of the HTTP header, if there was one.

    Raises:
        ReadError: `unsupported` for bytes that are no text, `empty` if there is nothing to read, `not_content` for a
            login, challenge or error page, `too_large` for a page with more tags than any reader should meet.
    """
    html = decode_text(data, charset, find_own_set(data))
    shape = measure_shape(html)
    if shape.tags > MAX_TAGS:
        raise ReadError(ReadOutcome.TOO_LARGE, f"The page has more than {MAX_TAGS} tags.")
    html = drop_control_references(_DATA_URI.sub("", html) if "data:" in html else html)
    parsed = extract_article(html) if shape.safe else None
    if parsed is None or not parsed.text:
        writer, title = read_tags(html)
        parsed = writer.build_parsed(title, note="read without telling the article from its surroundings")
    if not parsed.text.strip():
        raise ReadError(ReadOutcome.EMPTY, "The page has no readable text.")
    if is_placeholder(parsed):
        raise ReadError(ReadOutcome.NOT_CONTENT, "The page is a login, challenge or error page, not content.")
    if why := _explain_emptiness(parsed.text, html):
        raise ReadError(ReadOutcome.NOT_CONTENT, why)
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
    """Count tags, links, the depth of nesting and, if they can be too many, the attributes of the richest tag."""
    tags = attributes = depth = deepest = links = 0
    last = -1
    rich = html.count("=") > MAX_ATTRIBUTES  # else no tag is
    for match in _TAG.finditer(html):
        tags += 1
        name = match[2].lower()
        if name in _UNCLOSED:
            pass
        elif match[1]:
            depth -= depth > 0
        elif name not in _VOID:
            depth += 1
            deepest = max(deepest, depth)
        links += name == "a" and not match[1]
        if rich and last >= 0:
            attributes = max(attributes, html.count("=", last, match.start()))
        last = match.end()
        if tags > MAX_TAGS:
            break
    if last >= 0:
        attributes = max(attributes, html.count("=", last, min(len(html), last + 100_000)))
    return PageShape(tags, attributes, deepest, links)


def is_placeholder(parsed: ParsedDocument) -> bool:
    """True for a short page that says it is not the content: a challenge, a login, an error."""
    if len(parsed.text) > _PLACEHOLDER_CHARS:
        return False
    said = f"{parsed.title}\n{parsed.text}".lower()
    return any(wall in said for wall in _PLACEHOLDER_PHRASES)


def _explain_emptiness(text: str, html: str) -> str:
    """Say why a page with hardly a text is none, by what else is in it; "" for one that may be content."""
    if len(text) > _FEW_CHARS:
        return ""
    html = html[:_LOOKED_AT]
    if _FORWARD.search(html):
        return "The page only leads to another address, which is not followed."
    if _PASSWORD.search(html):
        return "The page asks for a password and shows nothing else."
    if "<script" in html and len(text.split()) < _FEW_WORDS:
        if len(read_tags(html)[0].build_parsed().text.split()) > _SHELL_WORDS:
            return "The page has hardly any text but what surrounds it, such as headings and links."
        return "The page shows its text only in a browser that runs scripts."
    return ""

"""The article of an HTML page: its text without what surrounds it, under the headings of the page.

The extractor finds the text, and loses most headings of program documentation: it takes a heading that is a link for
navigation, and some of its ways keep none. They are put back from the page. Runs in the parser's process.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from copy import deepcopy
from itertools import chain, islice
from typing import Any, NamedTuple

from corrobora.adapters.readers import TextWriter
from corrobora.adapters.readers.declared import (
    DeclaredMetadata,
    Element,
    drop_quoted_dates,
    list_titles,
    prepare_page,
    read_declared,
    trim_date,
)
from corrobora.ports import ParsedDocument
from corrobora.text.tokens import split_words

HEADINGS = {f"h{level}": level for level in range(1, 7)}
_PAGE_BLOCKS = frozenset("div p section article ul ol li dl dt dd table tr td th br".split())
_BLOCKS = frozenset({"p", "list", "head", "table", "div", "quote"})
_INLINE = frozenset({"a", "b", "code", "em", "i", "span", "strong"})
_SPACED = _BLOCKS | {"item", "row", "cell", "lb", "li", "ul", "ol", "br", "td", "tr"}
_SILENT = frozenset({"script", "style", "template", "noscript", "svg", "head"})
_HOST = re.compile(r"https?://(?:www\.|w[0-9]+\.)?([^/]+)")
_CLAIM = re.compile(r"(?i)\(?(?:copyright|©|\(c\)\s)")  # says who owns a page, in place of its name
_EDGE = "\ue000"  # of private use
_WORD = re.compile(r"\w+")
_SIGN = re.compile("[¶§#🔗∞\ue001-\uf8ff]")  # of a permalink; the last ones are drawn by a font of icons
_NEAR = 20  # elements within a block among which its first text is looked for
_TRIES = 200  # headings among which one is looked for
_PROBE = 60  # letters by which a block is found in its page
_REACH = 200_000  # letters behind the last block found in which the next one is looked for
_LEAST_SHARE = 0.5  # of the paragraphs of a page, below which an article is looked for in another way
_LEADS = frozenset({*HEADINGS, "p"})  # above a list that belongs to a text
_ASIDE = frozenset({"nav", "header", "footer", "aside", "form"})
_MENU = re.compile(
    r"(?i)(?<![a-z])(?:nav|menu|toc|breadcrumb|footer|header|sidebar|related|share|social|tags?(?![a-z]))"
)
_PROSE_CHARS = 80  # of a paragraph that makes its surroundings a text
_FEWEST = 12  # letters of a block that is looked for
# The extensive search compiles the date formats of all languages (0.3 s of CPU) and guesses. With and without it the
# same date was found on each of 99 news pages; without their metadata it found 99 dates, 28 of them wrong, instead of
# 64 dates, 10 of them wrong.
_DATES: dict[str, Any] = {"original_date": True, "extensive_search": False}


def _choose_title(found: str, declared: Sequence[str], text: str) -> str:
    """Return the title that the extractor found, or the declared one if no declared title contains it.

    The extractor guesses from headings and class names, and may name a page after the heading of a help window. Of
    "Pump manual - valve(8)" it takes the first half, which may be the name of the site: a half that the `text` of the
    page does not say is not its name.
    """
    words = " ".join(split_words(found))
    whole = next((each for each in declared if words in " ".join(split_words(each))), None)
    if not declared or (whole is not None and (found in text or words in " ".join(split_words(text)))):
        return found
    return declared[0] if whole is None else whole


def _choose_site(found: str, title: str, declared: Sequence[str]) -> str:
    """Return the site that the extractor found, or all that a declared title says of it behind the page's own title.

    Of "Security — Borg - Deduplicating Archiver 1.2.4 documentation" the extractor takes what stands behind the last
    dash, nothing of "BGP — FRR latest documentation", and the own title of "11. Lease Expiration — Kea 2.2.0 manual".
    """
    own = title.strip("¶ ")
    behind = next((each[len(own) :].strip(" ¶-–—|·:»") for each in declared if own and each.startswith(own)), "")
    return behind if not found or behind.endswith(found) or (behind and found in own) else found


def extract_article(html: str) -> ParsedDocument | None:
    """Find the article with trafilatura; None if it finds none."""
    from trafilatura import load_html  # noqa: PLC0415 - 1 s of CPU that only HTML pays

    page: Element = load_html(html)
    if page is None:
        return None
    titles = list_titles(page)
    _held = list(page.iter())  # lxml makes an element anew each time that it is met and nothing holds it
    prepare_page(page)
    said = " ".join(chain.from_iterable(each.itertext() for each in page.iter("body")))
    _free_headings(page)
    _free_listed_links(page)
    _keep_spaces(page)
    outline = Outline(page)
    body = _extract_body(page)
    if body is None:
        return None
    writer = TextWriter()
    _ArticleWriter(writer, outline).write_body(body)
    declared = read_declared(page)
    known = _read_metadata(page, declared)
    title = _choose_title(known.title, titles, said)
    return writer.build_parsed(
        title,
        published=trim_date(known.date, html),
        publisher=_choose_site(known.site, title, titles),
        authors=declared.authors,
    )


class _Metadata(NamedTuple):
    title: str
    date: str
    site: str


def _read_metadata(page: Element, declared: DeclaredMetadata) -> _Metadata:
    """Read title, date and site: what the page declares of its article, else by the extractor's parts for these.

    It would look for author, licence, categories and tags as well, in two fifths of the time of a page.
    """
    from htmldate import find_date  # noqa: PLC0415 - 1 s of CPU that only HTML pays
    from trafilatura import metadata  # noqa: PLC0415

    found = metadata.examine_meta(page)
    found.title = found.title or declared.title or metadata.extract_title(page)
    found.url = found.url or metadata.extract_url(page)
    found.sitename = (found.sitename or declared.publisher or metadata.extract_sitename(page) or "").lstrip("@")
    found.clean_and_trim()
    site = found.sitename or ""
    site = "" if _CLAIM.match(site) else site
    if site and "." not in site and not site[0].isupper():
        site = site.title()
    host = _HOST.match(found.url or "")
    drop_quoted_dates(page)
    date = declared.published or find_date(page, url=found.url, **_DATES) or declared.modified
    return _Metadata(found.title or "", date, site or (host[1] if host else ""))


def _extract_body(tree: Element) -> Element | None:
    """Find the body of an article.

    It is looked for generously: otherwise the extractor drops lists and definitions. But so it takes only the first of
    several articles, and is asked again where it leaves most paragraphs of a page out.
    """
    from trafilatura import bare_extraction  # noqa: PLC0415 - 1 s of CPU that only HTML pays

    written = sum(len(piece) for each in tree.iter("p") for piece in each.itertext())
    best: Element | None = None
    most = -1
    for generous in (True, False):
        if most < _LEAST_SHARE * written:
            # any output format but its own keeps the extractor from writing the text a second time
            found = bare_extraction(deepcopy(tree), include_comments=False, favor_recall=generous, output_format="txt")
            body: Element | None = getattr(found, "body", None)
            size = -1 if body is None else sum(map(len, body.itertext()))
            if size > most:
                best, most = body, size
    return best


def _free_headings(tree: Element) -> None:
    """Take buttons and the links around words out of the headings, and permalink signs out of the whole page.

    Generators of documentation make every heading a link, and put a sign behind each term that they define.
    """
    signs = (link for link in tree.iter("a") if _SIGN.fullmatch(_element_text(link)))
    parts = (part for heading in tree.iter(*HEADINGS) for part in heading.iter("a", "button"))
    for part in dict.fromkeys([*signs, *parts]):
        named = part.tag == "a" and re.search(r"\w", _element_text(part))
        part.drop_tag() if named else part.drop_tree()


def _free_listed_links(tree: Element) -> None:
    """Take the links around the words of a list away where it follows a heading or words of a text, as no menu does.

    The extractor leaves out what consists of links, and with a list the sentence that leads in it.
    """
    for each in list(tree.iter("ul", "ol", "dl")):
        around: list[Element] = list(islice(each.iterancestors(), _NEAR))
        lead = next(each.itersiblings(preceding=True), None)
        led = lead is not None and lead.tag in _LEADS and _is_text(lead)
        if led and any(map(_has_prose, around[:2])) and not any(map(_is_menu, (each, *around))):
            for link in list(each.iter("a")):
                link.drop_tag()


def _is_text(element: Element) -> bool:
    """True for words of which not all are links."""
    return sum(map(len, element.itertext())) > sum(len(each) for link in element.iter("a") for each in link.itertext())


def _has_prose(element: Element) -> bool:
    return any(each.tag == "p" and _is_text(each) and len("".join(each.itertext())) >= _PROSE_CHARS for each in element)


def _is_menu(element: Element) -> bool:
    named = " ".join(element.get(each) or "" for each in ("class", "id", "role"))
    return element.tag in _ASIDE or _MENU.search(named) is not None


def _keep_spaces(tree: Element) -> None:
    """Put a sign where white space or the edge of a block parts words: the extractor trims pieces and joins them."""
    for element in tree.iter():
        if isinstance(element.tag, str) and element.tag not in _SILENT:
            block = element.tag in _PAGE_BLOCKS
            if block and not (element.text and element.text.strip()):
                inner = next((each for each in islice(element.iter(), _NEAR) if each.text and each.text.strip()), None)
                if inner is not None and inner.tag in _INLINE:
                    inner.text = _mark_edges(inner.text, opens=True)
            element.text = _mark_edges(element.text, opens=block)
            element.tail = _mark_edges(element.tail, opens=block)


def _mark_edges(text: str | None, *, opens: bool) -> str | None:
    if not text or not text.strip():
        return text
    opens = (opens or text[0].isspace()) and text[0] != _EDGE
    return f"{_EDGE * opens}{text}{_EDGE * text[-1].isspace()}"


class _Mark(NamedTuple):
    place: int
    level: int
    title: str


class Outline:
    """The headings of a page, each given out before the first block of text that it stands above."""

    def __init__(self, tree: Element) -> None:
        pieces: list[str] = []
        self._length = 0
        self._marks: list[_Mark] = []
        stack: list[tuple[Element, bool]] = [(tree, False)]
        while stack:
            element, ends = stack.pop()
            readable = isinstance(element.tag, str) and element.tag not in _SILENT  # a comment's tag is a function
            if not ends:
                stack.append((element, True))
                if readable:
                    stack += [(child, False) for child in element][::-1]
                    self._mark_heading(element)
            if (text := element.tail if ends else element.text if readable else None) and not text.isspace():
                pieces.append(letters := _take_letters(text))
                self._length += len(letters)
        self._letters = "".join(pieces)
        self._next = self._cursor = 0

    def _mark_heading(self, element: Element) -> None:
        level = HEADINGS.get(str(element.tag))
        if level is not None and (title := _element_text(element)):
            self._marks.append(_Mark(self._length, level, title))

    def take_headings(self, block: str) -> list[_Mark]:
        """Return the headings above a block that were not given out, outer ones first; none if its place is unclear."""
        said = _take_letters(block)
        place = -1
        if len(said) >= _FEWEST:
            place = self._letters.find(said[:_PROBE], self._cursor, self._cursor + _REACH)
        elif said and self._letters.startswith(said, at := self._skip_headings()):
            place = at  # a few letters say where they stand only if they come next
        if place < 0:
            return []
        self._cursor = place + len(said)
        end = self._next
        while end < len(self._marks) and self._marks[end].place <= place:
            end += 1
        return self._take_until(end)

    def _skip_headings(self) -> int:
        """Return where the next text stands that is no heading."""
        place = self._cursor
        for mark in self._marks[self._next : self._next + _TRIES]:
            if mark.place > place:
                break
            place = mark.place + len(_take_letters(mark.title))
        return place

    def take_heading(self, title: str, level: int) -> list[_Mark]:
        """Return a heading that the extractor kept, after those above it; itself as it is if the page has none such."""
        for at in range(self._next, min(len(self._marks), self._next + _TRIES)):
            if self._marks[at].title == title:
                return self._take_until(at + 1)
        return [_Mark(-1, level, title)]

    def _take_until(self, end: int) -> list[_Mark]:
        above: list[_Mark] = []
        for mark in self._marks[self._next : end]:
            while above and above[-1].level >= mark.level:
                above.pop()
            above.append(mark)
        self._next = end
        return above


def _take_letters(text: str) -> str:
    """Return the letters and digits of a text: how a page or the extractor cuts it into words does not matter."""
    return "".join(_WORD.findall(text)).lower()


class _ArticleWriter:
    """Walks the article's elements."""

    def __init__(self, writer: TextWriter, outline: Outline) -> None:
        self._writer, self._outline = writer, outline
        self._terms: list[str] = []  # of a list of definitions, until their definition

    def write_body(self, body: Element) -> None:
        stack: list[Element] = list(body)[::-1]
        self._add_block(body.text)
        while stack:
            element = stack.pop()
            match element.tag:
                case "head":
                    level = HEADINGS.get(element.get("rend"), 2)
                    self._add_headings(self._outline.take_heading(_element_text(element), level))
                case "table":
                    self._write_table(element)
                case "list":
                    for item in element:
                        self._write_item(item)
                    self._end_terms()
                case "code":
                    self._add_headings(self._outline.take_headings(_element_text(element)))
                    self._writer.add_verbatim("".join(element.itertext()).replace(_EDGE, ""))
                case "quote" if [child.tag for child in element] == ["code"] and not (element.text or "").strip():
                    stack.extend(element)  # a block of code
                case "div" | "quote" if any(child.tag in _BLOCKS for child in element):
                    self._add_block(element.text)
                    stack.extend(list(element)[::-1])
                case _:
                    self._add_block(_element_text(element))
            self._add_block(element.tail)

    def _write_item(self, item: Element, depth: int = 0) -> None:
        """Write an item of a list, and a definition on one line with its terms: "-p: parse the file".

        The items of a list inside it follow on lines of their own, indented.
        """
        nested = [child for child in item if child.tag == "list"]
        after = " ".join(filter(None, (child.tail for child in nested)))
        for child in nested:
            item.remove(child)
        item.tail, last = None, item.tail
        text, kind = " ".join(f"{_element_text(item)} {after}".split()), item.get("rend", "")[:2]
        if kind == "dt":
            self._terms += [term] if (term := text.rstrip(":：,，、 ")) else []
        elif kind == "dd" and text and self._terms:
            terms, self._terms = ", ".join(self._terms), []
            self._add_block(f"{terms}{'' if terms[-1] in '.!?。！？' else ':'} {text}", bullet="- ")
        else:
            self._end_terms()
            self._add_block(text, bullet="- ", depth=depth)
        for each in (each for child in nested for each in child):
            self._write_item(each, depth + 1)
        self._add_block(last)

    def _end_terms(self) -> None:
        """Write terms without a definition."""
        terms, self._terms = self._terms, []
        for term in terms:
            self._add_block(term, bullet="- ")

    def _add_headings(self, marks: Sequence[_Mark]) -> None:
        for mark in marks:
            self._writer.add_heading(mark.title, mark.level)

    def _add_block(self, text: str | None, bullet: str = "", depth: int = 0) -> None:
        marks = self._outline.take_headings(text) if text and text.strip() else []
        self._add_headings(marks)
        if text and text.strip() and not (marks and _take_letters(text) == _take_letters(marks[-1].title)):
            self._writer.add_block(bullet + text.replace(_EDGE, " ").lstrip(), tight=bool(bullet), depth=depth)

    def _write_table(self, table: Element) -> None:
        rows = [list(row) for row in table]
        heads = bool(rows) and len(rows[0]) > 1 and all(cell.get("role") == "head" for cell in rows[0])
        cells = [
            [_element_text(cell) for cell in row] or [_element_text(each)]
            for row, each in zip(rows, table, strict=True)
        ]
        self._add_headings(self._outline.take_headings(" ".join(" ".join(row) for row in cells[:2])))
        self._writer.add_rows(cells[heads:], cells[0] if heads else ())


def _element_text(element: Element) -> str:
    return " ".join("".join(_list_pieces(element)).replace(_EDGE, " ").split())


def _list_pieces(element: Element) -> Iterator[str]:
    """Return the pieces of an element's text, with a space around every block, so that words do not stick together."""
    yield element.text or ""
    for child in element:
        space = " " if child.tag in _SPACED else ""
        yield space
        yield from _list_pieces(child)
        yield space
        yield child.tail or ""

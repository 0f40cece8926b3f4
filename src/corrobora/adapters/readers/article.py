"""The article of an HTML page: its text without what surrounds it, under the headings of the page.

The extractor finds the text, and loses most headings of program documentation: it takes a heading that is a link for
navigation, and some of its ways keep none. They are put back from the page. Runs in the parser's process.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Sequence
from copy import deepcopy
from importlib import import_module
from itertools import chain, islice
from typing import Any, NamedTuple

from corrobora.adapters.readers import TextWriter, fold_spaces
from corrobora.adapters.readers.article_text import (
    EDGE,
    HEADINGS,
    REPEATS,
    SILENT,
    ArticleWriter,
    Outline,
    read_element,
)
from corrobora.adapters.readers.declared import (
    DeclaredMetadata,
    Element,
    drop_quoted_dates,
    list_titles,
    prepare_page,
    read_declared,
    trim_date,
)
from corrobora.adapters.readers.page_links import free_links
from corrobora.domain.errors import ReadError
from corrobora.domain.evidence import ReadOutcome
from corrobora.ports import ParsedDocument
from corrobora.text.tokens import split_words

_PAGE_BLOCKS = frozenset("div p section article ul ol li dl dt dd table tr td th br".split())
_INLINE = frozenset({"a", "b", "code", "em", "i", "span", "strong"})
# What marks words within a text. The extractor moves or loses the text of some that stand in others; it needs links and
# spans, by which it tells the article from its surroundings.
_MARKS = frozenset(
    "abbr acronym b bdi bdo big cite data del dfn em font i ins kbd mark q rp rt ruby s samp small strike strong "
    "sub sup tt u var wbr".split()
)
# Where a label or a time is part of a text: elsewhere, it belongs to a form or to what surrounds the article.
_TEXTS = frozenset("p li dd dt td th blockquote figcaption a span code h1 h2 h3 h4 h5 h6".split()) | _MARKS
_SHORT_CHARS = 500  # of a block that a page may say twice and mean it
_TEXT_BLOCKS = ("p", "li", "dd", "dt", "td", "pre", "blockquote", "div")
_HOST = re.compile(r"https?://(?:www\.|w[0-9]+\.)?([^/]+)")
_CLAIM = re.compile(r"(?i)\(?(?:copyright|©|\(c\)\s)")  # says who owns a page, in place of its name
_SIGN = re.compile("[¶§#🔗∞\ue001-\uf8ff]")  # of a permalink; the last ones are drawn by a font of icons
_NEAR = 20  # elements within a block among which its first text is looked for
_LEAST_SHARE = 0.5  # of the paragraphs of a page, below which an article is looked for in another way
# The extensive search compiles the date formats of all languages (0.3 s of CPU) and guesses. With and without it the
# same date was found on each of 99 news pages; without their metadata it found 99 dates, 28 of them wrong, instead of
# 64 dates, 10 of them wrong.
_DATES: dict[str, Any] = {"original_date": True, "extensive_search": False}


def _list_linked_headings(page: Element) -> frozenset[str]:
    """Return the chief headings that are one link to another page: the name of a site, above each of its pages."""
    found: set[str] = set()
    for head in page.iter("h1"):
        said = fold_spaces(head.text_content())
        links = [link for link in head.iter("a") if fold_spaces(link.text_content()) == said]
        found |= {said for link in links if not (link.get("href") or "#").startswith("#")}
    return frozenset(found)


def _choose_title(found: str, declared: Sequence[str], text: str, linked: Container[str] = ()) -> str:
    """Return the title that the extractor found, or the declared one if no declared title contains it.

    The extractor guesses from headings and class names, and may name a page after the heading of a help window. Of
    "Pump manual - valve(8)" it takes the first half, which may be the name of the site: a half that the `text` of the
    page does not say is not its name. Nor is a heading that is a link, if the declared title ends with it.
    """
    named = (re.match(rf"(.+?)\s[-–—|·»]\s{re.escape(found)}(?!\w)", each) for each in declared if found in linked)
    if (own := next(filter(None, named), None)) is not None:
        return own[1]
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
    """Find the article with trafilatura; None if it finds none. Raises `ReadError` `not_content` if it has no text."""
    from trafilatura import load_html  # noqa: PLC0415 - 1 s of CPU that only HTML pays

    page: Element = load_html(html)
    if page is None:
        return None
    titles, linked = list_titles(page), _list_linked_headings(page)
    _held = list(page.iter())  # lxml makes an element anew each time that it is met and nothing holds it
    prepare_page(page)
    said = " ".join(chain.from_iterable(each.itertext() for each in page.iter("body")))
    _free_headings(page)
    if free_links(page):
        raise ReadError(ReadOutcome.NOT_CONTENT, "The page has no text but headings and links.")
    _keep_spaces(page)
    outline = Outline(page)
    body = _extract_body(page)
    if body is None:
        return None
    writer = TextWriter()
    ArticleWriter(writer, outline).write_body(body)
    declared = read_declared(page)
    known = _read_metadata(page, declared)
    title = _choose_title(known.title, titles, said, linked)
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
            page = deepcopy(tree)
            _flatten_marks(page)
            _tell_repeats_apart(page)
            # any output format but its own keeps the extractor from writing the text a second time
            found = bare_extraction(page, include_comments=False, favor_recall=generous, output_format="txt")
            body: Element | None = getattr(found, "body", None)
            size = -1 if body is None else sum(map(len, body.itertext()))
            if size > most:
                best, most = body, size
    return best


def _flatten_marks(tree: Element) -> None:
    """Make the words that are marked within a text a part of that text; code of several lines stays a block."""
    for each in tree.iter("code", "label", "q", "time"):
        around = each.getparent()
        if each.tag == "q":
            each.text, each.tail = f"“{each.text or ''}", f"”{each.tail or ''}"
        elif each.tag == "code":
            block = around is None or around.tag == "pre" or "\n" in each.text_content().strip()
            each.tag = "code" if block else "b"
        elif around is not None and around.tag in _TEXTS:
            each.tag = "b"
    import_module("lxml.etree").strip_tags(tree, *_MARKS)  # it has no types


def _tell_repeats_apart(tree: Element) -> None:
    """Put a number of signs behind the text of each short block that says the same as an earlier one."""
    said: Counter[int] = Counter()
    for each in tree.iter(*_TEXT_BLOCKS):
        if any(child.tag in _TEXT_BLOCKS for child in each) or len(each.text or "") > _SHORT_CHARS:
            continue
        text = " ".join(each.text_content().split())
        if text and (number := said[hash(text)]):
            signs = "".join(REPEATS[int(digit)] for digit in f"{number:b}")
            if len(each):
                each[-1].tail = f"{each[-1].tail or ''}{signs}"
            else:
                each.text = f"{each.text}{signs}"
        said[hash(text)] += 1


def _free_headings(tree: Element) -> None:
    """Take buttons and the links around words out of the headings, and permalink signs out of the whole page.

    Generators of documentation make every heading a link, and put a sign behind each term that they define.
    """
    signs = (link for link in tree.iter("a") if _SIGN.fullmatch(read_element(link)))
    parts = (part for heading in tree.iter(*HEADINGS) for part in heading.iter("a", "button"))
    for part in dict.fromkeys([*signs, *parts]):
        named = part.tag == "a" and re.search(r"\w", read_element(part))
        part.drop_tag() if named else part.drop_tree()


def _keep_spaces(tree: Element) -> None:
    """Put a sign where white space or the edge of a block parts words: the extractor trims pieces and joins them."""
    for element in tree.iter():
        if isinstance(element.tag, str) and element.tag not in SILENT:
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
    opens = (opens or text[0].isspace()) and text[0] != EDGE
    return f"{EDGE * opens}{text}{EDGE * text[-1].isspace()}"

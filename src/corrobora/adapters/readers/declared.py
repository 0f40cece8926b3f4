"""What a page says of itself: schema.org in JSON-LD, the meta tags of scholarly publishers, and its own dates.

Title, authors, dates and publisher are the page's own word: they name it, and no grade rests on them. What it declares
may be hostile: size, number and depth are bounded, and what is no JSON or has another shape is left out. Knows also
where pages mark dates, and headings of releases. Runs in the parser's process.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, takewhile
from typing import Any, NamedTuple, TypeAlias, cast

from corrobora.adapters.readers import fold_spaces
from corrobora.adapters.readers.notes import drop_line_numbers, level_box_titles, set_notes_apart
from corrobora.ports import Heading
from corrobora.text.authors import clean_authors, name_group, name_person, read_byline
from corrobora.text.quantities import find_dates

Element: TypeAlias = Any  # of lxml, which has no types
_MOST_BLOCKS, _BLOCK_CHARS, _MOST_NODES = 20, 200_000, 5_000
_ARTICLE = re.compile(r"(?:^|[/:#])(?:\w*Article|BlogPosting|Report|ScholarlyWork|Thesis|Book|Chapter|CreativeWork)$")
_GROUP = re.compile(r"(?:^|[/:#])(?:\w*Organization|Corporation|\w*University|Library|Periodical)$")
_DATE = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?(?![\d-])")
_CITED = ("citation_author", "dc.creator", "dcterms.creator", "bepress_citation_author")  # a name in each
_BYLINES = ("author", "parsely-author", "sailthru.author", "article:author")  # one field may hold several
_MOST_CHARS = 300


class DeclaredMetadata(NamedTuple):
    """What a page says of itself; "" and () are unknown. Dates are ISO dates, months or years."""

    title: str = ""
    authors: tuple[str, ...] = ()
    published: str = ""
    modified: str = ""
    publisher: str = ""


def read_declared(tree: Element) -> DeclaredMetadata:
    """Return what the JSON-LD of a page declares of its article, with the authors of its meta tags before those."""
    found = _read_article(_load_blocks(tree))
    cited, bylines = list[str](), list[str]()
    for each in tree.iter("meta"):
        name, content = str(each.get("name") or each.get("property") or "").lower(), str(each.get("content") or "")
        if content and len(content) <= 10 * _MOST_CHARS:
            cited += [name_person(content)] if name in _CITED else []
            bylines += read_byline(content) if name in _BYLINES else []
    named = clean_authors(cited) or found.authors or clean_authors(bylines)
    return found._replace(authors=named)


def _load_blocks(tree: Element) -> Iterator[object]:
    """Yield the values of the blocks of JSON-LD that may be read."""
    blocks = (each for each in tree.iter("script") if "ld+json" in str(each.get("type") or "").lower())
    for at, each in enumerate(blocks):
        text = str(each.text or "")
        if at >= _MOST_BLOCKS or len(text) > _BLOCK_CHARS:
            continue
        try:
            yield json.loads(text.strip().removeprefix("<![CDATA[").removesuffix("]]>"), strict=False)
        except (ValueError, RecursionError):
            continue


def _read_article(blocks: Iterator[object]) -> DeclaredMetadata:
    """Return what the first article declares; persons may be named in another place of the graph by their id."""
    nodes = list(_iter_nodes(list(blocks)))
    by_id = {str(node["@id"]): node for node in nodes if isinstance(node.get("@id"), str) and len(node) > 1}
    article = next((node for node in nodes if any(_ARTICLE.search(kind) for kind in _list_kinds(node))), None)
    if article is None:
        return DeclaredMetadata()
    writers = _list_values(article.get("author")) or _list_values(article.get("creator"))
    return DeclaredMetadata(
        _read_text(article.get("headline")) or _read_text(article.get("name")),
        clean_authors(name for each in writers[:_MOST_CHARS] for name in _name_writer(each, by_id)),
        _read_date(article.get("datePublished")) or _read_date(article.get("dateCreated")),
        _read_date(article.get("dateModified")),
        next(filter(None, (_name_of(each, by_id) for each in _list_values(article.get("publisher")))), ""),
    )


def _iter_nodes(value: object) -> Iterator[Mapping[str, object]]:
    """Yield the objects in a value, outer ones first, at most as many as any honest page has."""
    waiting, seen = [value], 0
    while waiting and seen < _MOST_NODES:
        each = waiting.pop(0) if len(waiting) < _MOST_NODES else waiting.pop()
        seen += 1
        if isinstance(each, dict):
            node = cast("dict[str, object]", each)
            yield node
            waiting += [part for part in node.values() if isinstance(part, dict | list)]
        elif isinstance(each, list):
            waiting += [part for part in cast("list[object]", each)[:_MOST_NODES] if isinstance(part, dict | list)]


def _list_kinds(node: Mapping[str, object]) -> list[str]:
    return [each[:_MOST_CHARS] for each in _list_values(node.get("@type")) if isinstance(each, str)]


def _list_values(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else [] if value is None else [value]


def _resolve(value: object, by_id: Mapping[str, Mapping[str, object]]) -> object:
    if isinstance(value, dict) and len(cast("dict[str, object]", value)) == 1:
        return by_id.get(str(cast("dict[str, object]", value).get("@id")), cast("dict[str, object]", value))
    return cast("object", value)


def _name_writer(value: object, by_id: Mapping[str, Mapping[str, object]]) -> list[str]:
    resolved = _resolve(value, by_id)
    if isinstance(resolved, str):
        return read_byline(resolved[: 10 * _MOST_CHARS])
    if not isinstance(resolved, dict):
        return []
    node = cast("dict[str, object]", resolved)
    family, given = _read_text(node.get("familyName")), _read_text(node.get("givenName"))
    if family and given:
        return [name_person(f"{family}, {given}")]
    names = [_read_text(each) for each in _list_values(node.get("name"))]
    if any(_GROUP.search(kind) for kind in _list_kinds(node)):
        return [name_group(name) for name in names]
    return [each for name in names for each in ([name_person(name)] if name.count(",") <= 1 else read_byline(name))]


def _name_of(value: object, by_id: Mapping[str, Mapping[str, object]]) -> str:
    resolved = _resolve(value, by_id)
    return _read_text(cast("dict[str, object]", resolved).get("name") if isinstance(resolved, dict) else resolved)


def _read_text(value: object) -> str:
    return " ".join(value[: 4 * _MOST_CHARS].split())[:_MOST_CHARS] if isinstance(value, str) else ""


def _read_date(value: object) -> str:
    """Return the date at the begin of a text: a day, a month or a year; "" for an impossible one."""
    found = _DATE.match(value.strip()[:40]) if isinstance(value, str) else None
    if found is None:
        return ""
    year, month, day = found.groups()
    if int(year) < 1 or not 1 <= int(month or 1) <= 12 or not 1 <= int(day or 1) <= 31:  # noqa: PLR2004 - of a calendar
        return ""
    return "-".join(filter(None, (year, month, day)))


_NUMBER = re.compile(r"(?<![\d.])\d{1,2}\.\d{1,2}\.\d\d(?!\d)")  # of a release or chapter, which is no day
_ISO_DATE = re.compile(rf"(?<!\d)\d{{4}}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?|{_NUMBER.pattern}")
_DATED = frozenset({"head", "script", "time", "abbr", "footer", "address"})  # where a date is one of the page
_CLAIMED = frozenset({"footer", "div", "p", "small", "span", "address"})  # where copyright is claimed
_TEXTS = "//text()[not(parent::script or parent::style)]"
_MAYBE = re.compile(r"\d\s?[-–—.]")  # begins with what `re` finds fast
_MARKED = re.compile(
    r"(?i)(?<![a-z])(?:date|time|publi|post(?:ed)?-?(?:on|info|meta)|byline|updated|created|modified|meta)"
)
_SPAN = re.compile(r"(?<!\d)(?:19|20)\d\d\s?[-–—]\s?(?:(?:19|20)\d\d|present|now|today)(?!\d)")
_RELEASE = re.compile(r"(?i)(?:^|\W)(?:(?:version|release)\s+|v)?\d{1,4}(?:\.\d{1,4})+")
_LEAST_RELEASES = 2  # headings that name a release and its day make a change log


def trim_date(date: str, html: str) -> str:
    """Return the date, or only its year if its day is written nowhere in the page.

    The extractor completes "January 2024" by the current day; a report would print a day that nobody stated.
    """
    if date.count("-") < 2:  # noqa: PLR2004 - no day
        return date
    year, month, day = (int(part) for part in date.split("-"))
    numbers = rf"{year}[-/.]?0?{month}[-/.]?0?{day}|0?{day}[-/.]0?{month}[-/.]|0?{month}[-/.]0?{day}[-/.]"
    nth = rf"0?{day}(?:st|nd|rd|th)?[.,]?"
    words = rf"(?:{nth}\s(?:\w\w\s)?[^\W\d_]{{3,12}}[.,]?|[^\W\d_]{{3,12}}\.?\s{nth})\s(?:\w\w\s)?{year}"
    return date if re.search(rf"(?<!\d)(?:{numbers}|{words})(?!\d)", html) else str(year)


def drop_quoted_dates(tree: Element) -> None:
    """Take dates out of the text of a page, except where it is marked as a date: there they belong to examples.

    The extractor would date a manual by the first time stamp that one of its listings shows, and a page by the middle
    of the years for which its copyright is claimed.
    """
    for text in filter(_MAYBE.search, tree.xpath(_TEXTS)):
        holder = text.getparent() if text.is_text else text.getparent().getparent()
        plain = _SPAN.sub("", text) if holder.tag in _CLAIMED else text
        if holder.tag == "title":
            plain = _NUMBER.sub("", plain)
        elif _ISO_DATE.search(plain) and not any(map(_is_dated, (holder, *holder.iterancestors()))):
            plain = _ISO_DATE.sub("", plain)
        if plain != text:
            setattr(text.getparent(), "text" if text.is_text else "tail", plain)


def _is_dated(element: Element) -> bool:
    """True for a place where a date is one of the page."""
    named = _MARKED.search(f"{element.get('class') or ''} {element.get('id') or ''}")
    return element.tag in _DATED or named is not None


def date_by_releases(headings: Sequence[Heading], published: str = "") -> str:
    """Return when a document was published: a change log is at least as new as its newest release.

    Example:
        >>> log = [Heading(0, 2, "Version 1.2.4 (2023-03-24)"), Heading(9, 2, "Version 1.2.3 (2022-12-24)")]
        >>> date_by_releases(log, "2018-01-01")
        '2023-03-24'
    """
    days: list[str] = []
    for heading in headings:
        dates, rest = find_dates(heading.title)
        if _RELEASE.search(rest):
            days += [f"{d.year}-{d.month:02d}-{d.day:02d}" for d in dates if d.year and d.month and d.day]
    return max([published, *days]) if len(days) >= _LEAST_RELEASES else published


_BLOCKS = frozenset(
    "address article aside blockquote center dd details div dl dt fieldset figure footer form h1 h2 h3 h4 h5 h6 header "
    "hr li main nav ol p pre section table tbody td tfoot th thead tr ul".split()
)
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_LEADS = frozenset({*_HEADINGS, "pre", "ul", "ol", "dl", "table", "hr"})
_MARKUP = frozenset("b code em font i strong tt".split())
_AROUND_PAGE = frozenset({"next", "prev", "previous", "up"})  # relations of a link in HTML, and in older manuals
_MOST_LINKS, _NEAR, _LETTER = 500, 8, re.compile(r"\w")
_TWICE = re.compile(r"(?s)^(.{4,}?) ?[:|–—-] \1$")  # a page that is named after the work that it opens
_UNSEEN = re.compile(
    r"(?i)(?<![a-z-])(?:display\s*:\s*none|visibility\s*:\s*hidden|opacity\s*:\s*0(?:\.0*)?\s*(?:;|$|!))"
)


def is_hidden(attributes: Mapping[str, str | None]) -> bool:
    """True for an element that a page says not to show: a quote of it would be in no page that a person opens."""
    return "hidden" in attributes or _UNSEEN.search(attributes.get("style") or "") is not None


def prepare_page(page: Element) -> None:
    """Remove what the page does not show and ids that mislead extractors of articles; make bare text a paragraph."""
    _drop_hidden(page)
    _drop_page_links(page)
    set_notes_apart(page)
    level_box_titles(page)
    drop_line_numbers(page)
    _flatten_samples(page)
    _free_columns(page)
    _free_questions(page)
    _drop_section_names(page)
    _drop_anchors(page)
    _wrap_bare_text(page)


def _drop_hidden(page: Element) -> None:
    """Remove what the page does not show; the text behind it stays."""
    for each in [each for each in page.iter() if isinstance(each.tag, str) and is_hidden(each.attrib)]:
        if each.getparent() is not None:
            each.drop_tree()


def _drop_page_links(page: Element) -> None:
    """Remove blocks that are said to navigate, and those of links of which one leads to the next or the upper page."""
    for each in [each for each in page.iter() if each.tag == "nav" or each.get("role") == "navigation"]:
        if each.getparent() is not None and not any(map(_says_more, each.iter("p"))):
            each.drop_tree()
    around = (each for each in page.iter("a") if _AROUND_PAGE.intersection(str(each.get("rel") or "").lower().split()))
    for link in list(islice(around, _MOST_LINKS)):
        widest = None
        for each in islice(link.iterancestors(), _NEAR):
            inside: list[Element] = list(islice(each.iter(), _MOST_CHARS))
            if len(inside) == _MOST_CHARS or each.tag in ("body", "html", "p", *_HEADINGS) or _says_more(each):
                break
            widest = each
        if widest is not None and widest.getparent() is not None:
            widest.drop_tree()


def _says_more(element: Element) -> bool:
    """True for an element with words outside of links."""
    linked = sum(len(_LETTER.findall(link.text_content())) for link in element.iter("a"))
    return len(_LETTER.findall(element.text_content())) > linked


def _flatten_samples(page: Element) -> None:
    """Make the text of each sample one piece: the extractor keeps the lines of such, and of no highlighted one."""
    for each in list(page.iter("pre")):
        if (said := each.text_content()).strip():
            tail, level = each.tail, [child.tag for child in each]
            if level != ["code"]:
                each.clear()
                each.tail = tail
                span = each.makeelement("span")
                span.text = said
                each.append(span)


def _free_columns(page: Element) -> None:
    """Take lists out of a table of one row that only sets them side by side."""
    for table in list(page.iter("table")):
        rows: list[Element] = list(islice(table.iter("tr"), 2))
        cells: list[Element] = list(islice(table.iter("td", "th"), _MOST_LINKS))
        if len(rows) == 1 and cells and all(map(_holds_list, cells)):
            for each in cells:
                each.tag = "div"
            for each in list(table.iter("tr", "tbody", "table"))[::-1]:
                each.drop_tag()


def _free_questions(page: Element) -> None:
    """Make headings of the questions that DocBook sets in rows of a table, above their answers; an author is none."""
    for each in page.xpath("//*[self::h1 or self::h2 or self::h3 or self::h4][@class='author']"):
        each.tag = "p"
    for table in page.xpath("//table[.//tr[@class='question']]"):
        for row in table.xpath(".//tr[@class='question' or @class='answer']"):
            cells: list[Element] = row.xpath("./td")
            if row.get("class") == "question" and cells:
                title, tail = " ".join(cells[-1].text_content().split()), row.tail
                row.clear()
                row.tag, row.text, row.tail = "h4", title, tail
            else:
                row.tag = "div"
                for cell in cells:
                    cell.tag = "div"
        for each in [*table.iter("tbody"), *table.iter("colgroup")]:
            each.drop_tag()
        table.tag = "div"


def _holds_list(element: Element) -> bool:
    return any(element.find(f".//{tag}") is not None for tag in ("ul", "ol", "dl"))


def _drop_section_names(page: Element) -> None:
    """Remove ids that only repeat the heading of their section, as generators of documentation write them.

    Extractors take "new-attributes-or-tags" for a list of tags, "sharing-disks" for buttons, and drop the section.
    """
    for heading in page.iter(*_HEADINGS):
        words = re.findall(r"[a-z0-9]+", "".join(heading.itertext()).casefold())
        for each in (heading, heading.getparent()):
            if each is not None and words and re.findall(r"[a-z0-9]+", (each.get("id") or "").casefold()) == words:
                del each.attrib["id"]


def _drop_anchors(page: Element) -> None:
    """Take out the places that links lead to: one that is never closed holds the rest of its page, in wrong order."""
    for each in [each for each in page.iter("a") if each.get("href") is None]:
        around = each.getparent()
        each.drop_tag()
        if around is not None and around.tag == "p":
            inside: list[Element] = list(around)
            first = next((at for at, child in enumerate(inside) if child.tag in _BLOCKS), len(inside))
            for child in reversed(inside[first:]):
                around.addnext(child)


def _wrap_bare_text(page: Element) -> None:
    """Make a paragraph of the words that stand bare behind a block, as in older pages: extractors drop them.

    Those under a heading or a list may begin with a marked one, such as "<b>Default:</b> 3".
    """
    for block in list(page.iter(*_BLOCKS)):
        behind: Iterator[Element] = block.itersiblings()
        words = list(takewhile(lambda each: each.tag not in _BLOCKS, behind))
        headed = block.tag in _LEADS and any(each.tag in _MARKUP and _says_more(each) for each in words)
        if block.getparent() is not None and (headed or (block.tail and block.tail.strip())):
            paragraph = block.makeelement("p")
            paragraph.text, block.tail = block.tail, None
            block.addnext(paragraph)
            paragraph.extend(words)


def list_titles(tree: Element) -> list[str]:
    """Return the titles that a page declares: of its head, and for those who share it."""
    shared = (each.get("content") for each in tree.iter("meta") if each.get("property") == "og:title")
    titles = (fold_spaces(title) for title in (tree.findtext(".//title"), *shared) if title and title.strip())
    return [_TWICE.sub(r"\1", title) for title in titles]

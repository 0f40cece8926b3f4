"""Links of a page: those that are part of a text, and lists of links that only lead elsewhere.

An extractor of articles leaves out what consists of links. In a text this may be all that it says: the functions that
are gone, with what takes their place. Knows what leads in a list, what is called a menu or a table of contents, and
where the main part of a page begins. Runs in the parser's process, before the article is extracted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import chain, islice, takewhile

from corrobora.adapters.readers.article_text import HEADINGS
from corrobora.adapters.readers.declared import Element

_NEAR = 20  # elements around a list in which its surroundings are looked for
_LISTS = ("ul", "ol", "dl")
_LEADS = frozenset({*HEADINGS, "p"})  # above a list that belongs to a text
_LEADS_IN = (":", "：")  # ends words that lead to what follows
_ASIDE = frozenset({"nav", "header", "footer", "aside", "form"})
_MAIN = frozenset({"main", "article"})
_MENU = re.compile(
    r"(?i)(?<![a-z])(?:nav|menu|toc|breadcrumb|footer|header|sidebar|related|share|social|tags?(?![a-z]))"
)
_CONTENTS = re.compile(r"(?i)(?<![a-z])(?:toc|contents(?![\w-]))")  # what lists the parts of a work or of a page
_PROSE_CHARS = 80  # of a paragraph that makes its surroundings a text
_WRAPPERS = 3  # elements around a list of which one may be called a table of contents
_CAPTION_WORDS = 8
_SHORT_LETTERS = 100
_LEAST_LINKS = 3  # in a list that repeats the headings of its page


def free_links(page: Element) -> bool:
    """Take the links around the words of lists and tables of a text away, and leave tables of contents out.

    Return True if the main part of the page has nothing else to say.
    """
    contents = [each for each in page.iter(*_LISTS) if _lists_contents(each)]
    for each in contents:
        if each.getparent() is not None:
            _drop_contents(each)
    for each in list(page.iter(*_LISTS, "table")):
        if _is_of_text(each):
            for link in list(each.iter("a")):
                link.drop_tag()
    main = next((each for each in page.iter() if _is_main(each)), None)
    return main is not None and not _says_anything(main, short=not contents)


def _says_anything(main: Element, *, short: bool) -> bool:
    """True for words outside of headings and links; also for many links, unless a table of contents was left out."""
    named: Iterator[Element] = main.iter("a", *HEADINGS)
    known = sum(_count_letters(_says(each)) for each in named if not _is_in_heading(each))
    said = _count_letters(_says(main))
    return said > known or (short and said > _SHORT_LETTERS)


def _is_in_heading(element: Element) -> bool:
    parent = element.getparent()
    return element.tag == "a" and parent is not None and parent.tag in HEADINGS


def _is_of_text(element: Element) -> bool:
    """True for a list that follows a heading or words of a text, as no menu does, and for a table that has heads.

    In the main part of a page, words that end in a colon are enough; elsewhere a text must stand beside the list.
    """
    around = list(_list_around(element))
    if any(map(_is_menu, (element, *around))):
        return False
    if element.tag == "table":
        return element.find(".//th") is not None and element.find(".//table") is None
    lead = _find_lead(element)
    if lead is None or not _is_text(lead):
        return False
    return (lead.tag == "p" and _says(lead).endswith(_LEADS_IN)) or any(map(_has_prose, around[:2]))


def _list_around(element: Element) -> Iterator[Element]:
    """Yield what stands around an element, up to the main part of its page: what that stands in says nothing of it."""
    around: Iterator[Element] = element.iterancestors()
    return takewhile(lambda each: not _is_main(each), islice(around, _NEAR))


def _is_main(element: Element) -> bool:
    named = element.get("role") == "main" or element.get("itemprop") == "articleBody"
    return element.tag in _MAIN or named


def _find_lead(element: Element) -> Element | None:
    """Return the heading or the paragraph that stands right above an element, or above what is wrapped around it."""
    around: Iterator[Element] = element.iterancestors()
    for each in chain((element,), islice(around, _WRAPPERS)):
        before = next((other for other in each.itersiblings(preceding=True) if isinstance(other.tag, str)), None)
        if before is not None:
            return before if before.tag in _LEADS else None
        parent = each.getparent()
        if parent is None or parent.tag not in ("div", "figure") or (parent.text and parent.text.strip()):
            break
    return None


def _lists_contents(element: Element) -> bool:
    """True for a list of nothing but links that is called a table of contents, or leads to places of its own page."""
    links: list[Element] = [each for each in element.iter("a") if _says(each)]
    if not links or _is_text(element, str.isalpha):  # the numbers of parts and pages say nothing else
        return False
    around: Iterator[Element] = element.iterancestors()
    if any(map(_is_contents, (element, *islice(around, _WRAPPERS)))):
        return True
    lead = _find_lead(element)
    led = lead is not None and lead.tag == "p" and _says(lead).endswith(_LEADS_IN)
    return len(links) >= _LEAST_LINKS and not led and all((each.get("href") or "").startswith("#") for each in links)


def _is_contents(element: Element) -> bool:
    """True for what is called a table of contents and says hardly more than its links."""
    if _CONTENTS.search(f"{element.get('class') or ''} {element.get('id') or ''}") is None:
        return False
    linked = sum(len(_says(link).split()) for link in element.iter("a"))
    return len(_says(element).split()) <= linked + _CAPTION_WORDS


def _drop_contents(element: Element) -> None:
    """Remove a table of contents with what is wrapped around it, and its caption."""
    around: Iterator[Element] = element.iterancestors()
    for each in list(islice(around, _WRAPPERS)):
        others = [child for child in each if child is not element]
        if each.tag != "div" or _has_text(each) or not all(child.tag == "p" and _is_caption(child) for child in others):
            break
        element = each
    element.drop_tree()


def _has_text(element: Element) -> bool:
    """True for an element with words of its own between those that it holds."""
    return any(piece and piece.strip() for piece in (element.text, *(child.tail for child in element)))


def _is_caption(element: Element) -> bool:
    return len(_says(element).split()) <= _CAPTION_WORDS


def _says(element: Element) -> str:
    return "".join(element.itertext()).strip()


def _is_text(element: Element, counts: Callable[[str], bool] = str.isalnum) -> bool:
    """True for words of which not all are links."""
    linked = chain.from_iterable(link.itertext() for link in element.iter("a"))
    return sum(_count_letters(each, counts) for each in element.itertext()) > sum(
        _count_letters(each, counts) for each in linked
    )


def _count_letters(text: str, counts: Callable[[str], bool] = str.isalnum) -> int:
    return sum(map(counts, text))


def _has_prose(element: Element) -> bool:
    return any(each.tag == "p" and _is_text(each) and len("".join(each.itertext())) >= _PROSE_CHARS for each in element)


def _is_menu(element: Element) -> bool:
    named = " ".join(element.get(each) or "" for each in ("class", "id", "role"))
    return element.tag in _ASIDE or _MENU.search(named) is not None

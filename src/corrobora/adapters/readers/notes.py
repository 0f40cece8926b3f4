"""What an HTML page sets beside its text: footnotes with their marks, boxes, and the numbers of the lines of a listing.

Knows how generators of documentation mark a footnote or a box and how they count lines. Does not know what a note says.
Runs in the parser's process.
"""

from __future__ import annotations

import re
from collections.abc import Container
from itertools import islice
from typing import Any, TypeAlias

Element: TypeAlias = Any  # of lxml, which has no types
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_NAMED = re.compile(r"(?i)foot-?note|note-?ref")
_MARK = re.compile(r"[\[(]?(?:\d{1,3}|[a-z]|[*†‡§¶]{1,3})[\])]?")
_NEAR = 8  # elements in or beside one among which something is looked for
_BACK_CHARS = 4  # of a link from a note to its mark
_BLOCKS = frozenset("dl ol ul aside div p table".split())  # a footnote, or a list of them
_AROUND_MARK = frozenset("span sup dt b strong".split())
_WORD = re.compile(r"\w")
_NUMBERS_LINES = re.compile(r"(?i)(?<![a-z])line-?no")
_MOST_DIGITS = 7
_BOXES = frozenset("admonition attention callout caution danger hint important note tip warning".split())


def set_notes_apart(page: Element) -> None:
    """Take the marks of footnotes out of sentences and labels, and put the notes under a heading of their own."""
    places = {name: each for each in page.iter() for name in _list_names(each)}
    links = [(link, str(link.get("href") or "")[1:]) for link in page.iter("a")]
    marks: dict[Element, None] = {}
    notes: dict[Element, None] = {}
    returns: set[str] = set()  # where a note links back to
    for link, goal in links:
        if goal not in returns and _is_mark(link) and (target := places.get(goal)) is not None:
            marks[link] = None
            returns |= {*_list_names(link), *_list_names(link.getparent())}
            note = next((each for each in (target, *target.iterancestors()) if each.tag in _BLOCKS), target)
            notes |= {} if any(each is note for each in link.iterancestors()) else {note: None}
    for link, goal in links:
        if link in marks or (goal in returns and len(link.text_content().strip()) <= _BACK_CHARS):
            _drop_mark(link)
    for note in notes:
        note.tag = "div" if note.tag == "aside" else note.tag  # an extractor takes it for no part of the article
        if note.getprevious() not in notes and note.getparent() is not None and not _goes_on(note, notes):
            level = next((each.tag for each in note.getparent() if each.tag in _HEADINGS[1:]), "h2")
            heading = note.makeelement(level)
            heading.text = "Footnotes"
            note.addprevious(heading)


def _list_names(element: Element) -> list[str]:
    return [name for name in (element.get("id"), element.get("name")) if name]


def _is_mark(link: Element) -> bool:
    """True for a link that HTML says to lead to a note, and that shows no more than its number or sign."""
    near = (link, link.getparent(), *link)
    said = " ".join(str(each.get(name)) for each in (link, *link) for name in ("class", "role", "epub:type"))
    named = _NAMED.search(said) is not None or any(each.tag == "sup" for each in near)
    return named and _MARK.fullmatch(link.text_content().strip()) is not None


def _drop_mark(link: Element) -> None:
    """Remove a link with the brackets around it, and the space before a sign of punctuation."""
    words, around = _WORD.findall(link.text_content()), link.getparent()
    while around.tag in _AROUND_MARK and len(around) < _NEAR and _WORD.findall(around.text_content()) == words:
        link, around = around, around.getparent()
    before = link.getprevious()
    holder, name = (around, "text") if before is None else (before, "tail")
    if (link.tail or "").startswith((".", ",", ";", ":", "!", "?", ")")):
        setattr(holder, name, (getattr(holder, name) or "").rstrip())
    link.drop_tree()


def _goes_on(note: Element, notes: Container[Element]) -> bool:
    """True if a heading stands right above a note, or a text without one follows below."""
    after = next((each for each in note.itersiblings() if each not in notes), None)
    above = note
    while above.getprevious() is None and above.getparent() is not None and above.tag != "body":
        above = above.getparent()
    above = above.getprevious()
    said = above.text_content().strip() if above is not None else ""
    headings: list[Element] = [] if above is None else [*islice(above.iter(*_HEADINGS), 1)]
    headed = any(each.text_content().strip() == said for each in headings)
    bare = after is not None and _WORD.search(after.text_content()) and next(after.iter(*_HEADINGS), None) is None
    return headed or bool(bare)


def level_box_titles(page: Element) -> None:
    """Let the title of a box, such as "Warning", be no heading: what follows the box belongs to the section around it.

    The box of a generator of documentation stands amid a section, often in an item of a list.
    """
    for heading in list(page.iter(*_HEADINGS)):
        box: Element = heading.getparent()
        if box is None:
            continue
        named = not _BOXES.isdisjoint(str(box.get("class") or "").lower().split()) or box.get("role") == "note"
        if named and sum(1 for _ in islice(box.iter(*_HEADINGS), 2)) == 1:
            heading.tag = "p"


def drop_line_numbers(page: Element) -> None:
    """Let a listing stand without the numbers of its lines, within it or in the cell of a table beside it."""
    for each in list(page.iter("pre")):
        for number in [part for part in each.iter("span") if _NUMBERS_LINES.search(part.get("class") or "")]:
            number.drop_tree()
        counted, cell = each.text_content().split(), next(each.iterancestors("td"), None)
        if cell is None or not counted or not all(one.isdecimal() and len(one) <= _MOST_DIGITS for one in counted):
            continue
        beside = [code for other in islice(cell.itersiblings("td"), _NEAR) for code in other.iter("pre")]
        first = int(counted[0])
        if len(beside) == 1 and [*map(int, counted)] == [*range(first, first + len(counted))]:
            table = next(cell.iterancestors("table"))
            beside[0].tail = table.tail
            table.getparent().replace(table, beside[0])

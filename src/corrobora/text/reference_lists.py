"""Lists of references in a text: entries that name a work, which state nothing of what the text is about.

Knows the forms of entries (names with initials, a year, a volume with pages) and the headings of such lists. Does not
know any journal, publisher or person.
"""

from __future__ import annotations

import re

from corrobora.text.tokens import split_words
from corrobora.text.vocabulary import function_word_share

_YEAR = r"(?:1[89]|20)\d\d[a-z]?"
_PART = r"[^\W\d_][\w'’´`¨-]*"  # of a name; an accent may be set apart
_INITIALS = r"[A-Z]\.(?:[ -]?[A-Z]\.)*"
_NAMES_FIRST = re.compile(  # "Lund G, van de Brandt OA (2002).", "Lund, G., & Brandt, O. (2002)."
    rf"({_PART}[^()\n“\"]{{0,400}}?),? ?(?:\(eds?\.\),? )?\({_YEAR}\)\s*[.,:“\"]"
)
_ENDS_NAMES = re.compile(r"(?: [A-Z]{1,4}| et al)\Z|[A-Z]\.\Z|Team\Z")
_INITIALS_FIRST = re.compile(  # "G. Lund and O. A. Brandt. Bells of the north. ..., 1993."
    rf"{_INITIALS}\s{_PART}(?: {_PART})?(?:,? (?:and |& )?{_INITIALS}\s{_PART}(?: {_PART})?){{0,20}}\.\s(?=[^a-z])"
)
_KEY_FIRST = re.compile(r"\[(?:[A-Za-z][^\]\n]{0,29}|\d{1,3})\]\s+[^\W\d_]")
_VOLUME = re.compile(
    r"\d{1,4} ?\(\d{1,3}\)[,:] ?\d|, \d{1,4}, \d{1,5} ?[–-] ?\d|"
    rf"\d:\d{{2,6}}[–-]?\d*, {_YEAR}|\bpp\. ?\d+ ?[–-]|\bdoi: ?10\.|\bIS[BS]N "
)
_DATED = re.compile(rf"\b{_YEAR}\b|://")
_HEADING = re.compile(
    r"(?i)(?:[\dA-Z]{1,3}\.?\s+)?(?:(?:normative|informative|selected|cited) )?"
    r"(?:references|bibliography|literature(?: cited)?|works cited|literatur(?:verzeichnis)?|r[ée]f[ée]rences|"
    r"bibliographie|bibliograf[íi]a|referencias):?"
)
_MARK = re.compile(r"(?:[-*•]|\d{1,3}[.)]|\[[^\]\n]{1,30}\])\s+")
_BLOCK = re.compile(r"\S[^\n]*(?:\n[^\S\n]*\S[^\n]*)*")
_MOST_CHARS, _HEADING_CHARS = 2_000, 60
_FEW_WORDS = 0.3  # share of function words: a sentence with the pages of a work has more


def find_references(text: str, heading: str = "") -> list[tuple[int, int]]:
    r"""Return where the blocks of a text begin and end that are entries of a list of references.

    `heading` is the one above the text. Where a list is headed as one, any block with a year or an address is an entry.

    Example:
        >>> find_references("It rings.\n\nLund G (2002). Bells. Ropes, 9(1), 3-8.")
        [(11, 50)]
    """
    found: list[tuple[int, int]] = []
    listed = _HEADING.fullmatch(heading.strip()) is not None
    for match in _BLOCK.finditer(text):
        block = match[0]
        if len(block) <= _HEADING_CHARS and block[-1].isalpha() and not _DATED.search(block):
            listed = _HEADING.fullmatch(block) is not None
        elif len(block) <= _MOST_CHARS and (is_reference(block) or (listed and _DATED.search(block))):
            found.append(match.span())
    return found


def is_reference(block: str) -> bool:
    """True for a block with the form of an entry in a list of references."""
    mark = _MARK.match(block)
    start = mark.end() if mark else 0
    named = _NAMES_FIRST.match(block, start)
    if named and _ENDS_NAMES.search(named[1].rstrip(" ,")):
        words = named[1].split()
        return 2 * sum(word[0].islower() for word in words) <= len(words)
    dated = _DATED.search(block) is not None
    if dated and _INITIALS_FIRST.match(block, start):
        return True
    formed = _VOLUME.search(block) or (dated and _KEY_FIRST.match(block))
    return bool(formed) and function_word_share(split_words(block)) < _FEW_WORDS

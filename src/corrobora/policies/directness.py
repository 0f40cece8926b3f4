"""Directness: how plainly one sentence says what is asked, beside how many of its words it holds.

Knows how close together the words stand, how long the sentence is, and which sentences are told for another's sake:
examples, asides, pointers. Does not know subjects, and never refuses a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from corrobora.policies.relevance import is_same_family

_FAMILY_PREFIX = 5  # letters that words of one family share at least
_CLOSE = 0.5  # what a sentence gains that says all its words of the question side by side
_USUAL = 28  # stems from which a sentence is long
_ASIDE = re.compile(
    r"(?i)^[\s\"'“‘*-]*(?:\(|(?:for|an?|the (?:above|following)|in (?:the|this)(?: (?:above|following))?) example\b|"
    r"e\.g\.|see\b|(?:as )?(?:shown|noted|described|discussed|mentioned) (?:above|below|in)\b|note that\b|"
    r"(?:this|the (?:next|following|previous)) (?:section|chapter|appendix|annex|document|table|figure|page|article)\b|"
    r"for (?:more|further|other|additional|full|details)\b.{0,90}?\b(?:see|consult|read|refer|visit|go|please)\b)"
)
_ELSEWHERE = re.compile(
    r"(?i)\b(?:can be found|(?:is|are) (?:found|given|described|discussed|provided|explained|listed)(?: in detail)?) "
    r"(?:in|at|on|under|below|above)\b|\bplease (?:see|refer|consult|visit|read)\b"
)
_OPENS_BACK = re.compile(
    r"(?i)^[\s\"'“‘*-]*(?:it|they|he|she|this|these|those|its|their|both|such|however|but|also|therefore|thus|"
    r"hence|then|in addition|additionally|moreover|furthermore|otherwise|instead|yes|no)\b"
)
_FOR_ANOTHER, _POINTING, _LEFT_OPEN = 0.6, 0.85, 0.6


def score_proximity(said: Sequence[str], topic: Collection[str]) -> float:
    """Return a factor from 1.0 on for stems that hold words of a topic: most where these stand side by side.

    Example:
        >>> close_together(("oil", "pump", "chang"), {"oil", "pump"}), close_together(("oil", "chang"), {"oil", "pump"})
        (1.5, 1.0)
    """
    opens = {term[:_FAMILY_PREFIX]: term for term in topic}
    held = [each if each in topic else _find_family_word(each, opens) for each in said]
    wanted = len({term for term in held if term})
    if wanted < 2:  # noqa: PLR2004 - one word is close to nothing
        return 1.0
    last: dict[str, int] = {}
    shortest = len(held)
    for at, term in enumerate(held):
        if not term:
            continue
        last[term] = at
        if len(last) == wanted:
            shortest = min(shortest, at - min(last.values()) + 1)
    return 1 + _CLOSE * (wanted / shortest) * (wanted / len(topic))


def _find_family_word(each: str, opens: Mapping[str, str]) -> str:
    """Return the topic word of one family with a stem, "" if there is none."""
    term = opens.get(each[:_FAMILY_PREFIX], "")
    return term if term and is_same_family(term, each) else ""


def score_brevity(said: Sequence[str]) -> float:
    """Return a factor up to 1.0: less for a sentence so long that what is asked is only a part of it."""
    return min(1.0, (_USUAL / max(1, len(said))) ** 0.5)


def score_standalone(text: str) -> float:
    """Return a factor up to 1.0: less for what is told for another sentence's sake or cannot be understood alone.

    Example:
        >>> by_itself("Oil cools the pump."), by_itself("(See below.)"), by_itself("It cools."), by_itself("Such as:")
        (1.0, 0.6, 0.85, 0.6)
    """
    if text.rstrip().endswith(":"):
        return _LEFT_OPEN
    if _ASIDE.match(text) or _ELSEWHERE.search(text):
        return _FOR_ANOTHER
    return _POINTING if _OPENS_BACK.match(text) else 1.0

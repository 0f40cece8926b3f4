"""Claims: what makes a sentence need a source: a number, a date, a name or an obligation.

Knows the forms of these words. Does not know whether a claim is true, or what a reader takes for granted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from corrobora.text.mentions import MentionKind, find_mentions
from corrobora.text.quantities import find_quantities

_DIGITS = re.compile(r"(?<![\w.])[$€£]?\d[\d.,:/–-]*(?:\s?%)?(?![\w])|\d+(?:st|nd|rd|th)\b")
_OBLIGATION = re.compile(
    r"\b(?:shall|must|may (?:not|never)|should|required to|obliged to|prohibited|forbidden|mandatory|recommended)\b"
    r"(?: not\b)?",
    re.IGNORECASE,
)

_LEFT_OPEN = re.compile(  # said of the reading: whatever else is not found, opened or settled is a claim
    r"(?i)\b(?:(?:not|nowhere|never) (?:to )?(?:be )?found (?:in|among) (?:what\b(?! year)|(?:any of )?"
    r"(?:the|these|those|its|our|all|any)(?: [\w-]+){0,2} (?:documents?|sources?|materials?|pages?|texts?)\b(?! of\b))|"
    r"(?:is|are|was|were) not answered\b|remains? unanswered\b)"
)


def find_claim_words(sentence: str, known: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the words for which a sentence needs a source; none for connecting prose.

    A sentence that ends with a colon introduces what follows. `known` are texts about the report itself, such as the
    question, its gaps and the editions of its sources: a sentence that repeats one of them claims nothing, nor does one
    that says in its own words that a question is not answered or that its answer was not found in what was read.

    Example:
        >>> find_claim_words("The mill was built in 1874."), find_claim_words("Both sides agree on this.")
        (('1874',), ())
    """
    said = sentence.strip(" *_#>-.?!")
    if not said or said.endswith(":") or any(said in each for each in known):
        return ()
    found = [match.group().strip(".,:") for match in _DIGITS.finditer(sentence)]
    found += [each.text for each in find_quantities(sentence)]
    found += [match.group() for match in _OBLIGATION.finditer(sentence)]
    for each in find_mentions(sentence):
        opens = not any(letter.isalnum() for letter in sentence[: each.start]) and " " not in each.text
        if each.kind is not MentionKind.QUOTED and not (opens and each.kind is MentionKind.NAME):
            found.append(each.text)
    words = tuple(dict.fromkeys(word for word in found if not any(word != other and word in other for other in found)))
    telling = [part for word in words for part in word.split() if not part[0].islower()]
    if _LEFT_OPEN.search(sentence) and any(all(part in each for part in telling) for each in known):
        return ()
    return words

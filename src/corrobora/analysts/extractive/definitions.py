"""Definitions: which term a question wants explained, and which sentences say what it is or does.

Knows the forms of such questions and sentences in five languages. Does not know any subject.
"""

from __future__ import annotations

import re
from functools import lru_cache

from corrobora.text.tokens import STOP_WORDS, fold_text, stem_text, stem_word

_EXPLANATION_QUESTIONS = tuple(
    re.compile(pattern)
    for pattern in (
        r"^what (?:is|are)(?: meant by)? (?:an? |the )?([\w .'/-]{2,60}?)\W*$",
        r"^what (?:does|do) (?:an? |the )?([\w .'/-]{2,60}?) (?:mean|stand for|do|say)\W*$",
        r"^(?:explain|describe|define)(?: to me)? (?:what (?:is|are) )?(?:an? |the )?([\w .'/-]{2,60}?)\W*$",
        r"^(?:please )?tell me about (?:the history of )?(?:an? |the )?([\w .'/-]{2,60}?)\W*$",
        r"\b(?:say|said|written|stated|known|learn|found|find) (?:about|on) (?:an? |the )?([\w .'/-]{2,60}?)\W*$",
        r"^was (?:ist|sind|bedeutet|heisst|heißt)(?: (?:ein|eine|der|die|das))? ([\w .'/-]{2,60}?)\W*$",
        r"^qu['’]?est-ce (?:que c['’]est )?(?:que |qu['’])(?:une? |les? |la |l['’]|des )?([\w .'/-]{2,60}?)\W*$",
        r"^\W*que (?:es|son|significa)(?: (?:el|la|los|las|una?|unos|unas))? ([\w .'/-]{2,60}?)\W*$",
        r"^(?:give|write) (?:me )?an? (?:overview|summary) (?:of|on|about) (?:an? |the )?([\w .'/-]{2,60}?)\W*$",
    )
)
_PART_OF = re.compile(r" (?:of|for|between|in|on|with|to|from|by|at|and|or) ")  # it asks for something of the thing
_WORD = re.compile(r"[\w'’-]+")
_STATES_WHAT_IT_IS = re.compile(
    r"(?i)^[\s,]*(?:\([^()]{1,60}\)[\s,]*)?(?:(?:is|are|was|were) (?:an?|the|any|one|both|defined|when|where|how|"
    r"what)\b|(?:ist|sind|war) (?:eine?|der|die|das)\b|(?:est|sont|etait|était) (?:une?|les?|la|des|l['’])|"
    r"(?:es|son|era) (?:una?|el|la|los|las)\b|means\b|bedeutet\b|bezeichnet\b|signifie\b|désigne\b|significa\b|"
    r"refers? to\b|stands? for\b|denotes?\b|describes?\b|consists? of\b|:\s)"
)
_STATES_WHAT_IT_DOES = re.compile(
    r"(?i)^[\s,]*(?:\([^()]{1,60}\)[\s,]*)?(?:(?!is\b|was\b|has\b|does\b)[a-z]{2,}(?<!s)s|exist|allow|help|protect|"
    r"prevent|serve|ensure|enable|provide)\b (?!of\b|and\b|or\b|in\b)"
)
_CALLED = re.compile(
    r"(?i)\b(?:called|known as|termed|named|referred to as|defined as|bekannt als|bezeichnet als|appelée?s?|"
    r"sous le nom de|conocid[oa]s? como|llamad[oa]s?|denominad[oa]s?)\s+(?:an?\s+|the\s+)?[\"'“‘«*]?$"
)
_WHICH = re.compile(r"(?i)^[\"'”’»*]?,?\s+(?:which|that|who)\s+(?:is|are|was|were|has|have|holds?|contains?)\b")
_BELONGING = re.compile(  # "the use of a kiln is a craft" tells of the use
    r"(?i)\b(?:of|for|in|on|with|from|by|to|at|de|del|en|con|von|vom|mit|für|im|du|des|dans|avec|pour)\s+"
    r"(?:(?:an?|the|this|el|la|los|las|una?|le|les|une|der|die|das|dem|den|eine[mnrs]?|ein)\s+)?$"
)
_MOST_STEMS = 4
_MAX_TERM_OFFSET = 200  # characters in which the thing must be named


@lru_cache(maxsize=1_000)
def find_explained_term(question: str) -> frozenset[str]:
    """Return the stems of the term a question wants explained ("What does HSTS do?"), or nothing."""
    folded = " ".join(fold_text(question).split())
    for pattern in _EXPLANATION_QUESTIONS:
        match = pattern.search(folded)
        if match is not None:
            own = frozenset(stem_text(match.group(1)))
            return own if len(own) <= _MOST_STEMS and _PART_OF.search(match.group(1)) is None else frozenset()
    return frozenset()


def score_explanation(text: str, thing: frozenset[str]) -> float:
    """Return how well a sentence explains a term: 1.0 if it says what it is, 0.6 what it does, else 0.0."""
    if not thing:
        return 0.0
    best = 0.0
    recent: list[tuple[str, int]] = []
    for match in _WORD.finditer(text[:_MAX_TERM_OFFSET]):
        word = fold_text(match.group())
        recent.append(("" if word in STOP_WORDS else stem_word(word), match.start()))
        span = [(term, start) for term, start in recent[-len(thing) - 1 :] if term]
        if recent[-1][0] in thing and thing <= {term for term, _ in span}:
            first = min(start for term, start in span if term in thing)
            after = text[match.end() : match.end() + 80]
            named = len(thing) == 1 and _CALLED.search(text[:first]) is not None
            telling = 0.6 if _STATES_WHAT_IT_DOES.match(after) or _WHICH.match(after) or named else 0.0
            is_it = _STATES_WHAT_IT_IS.match(after) is not None and _BELONGING.search(text[:first]) is None
            best = max(best, 1.0 if is_it else telling)
    return best

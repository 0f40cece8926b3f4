"""Relevance: how well a sentence matches a question, explains a term, or gives an extreme value.

Knows stems and their rarity, neighbours, headings, word distance, the forms of definitions, and superlatives over table
rows. Does not know any index: all statistics come from the text at hand, so the same text is always ranked the same.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from corrobora.text.tokens import STOP_WORDS, fold_text, split_words, stem_text, stem_word

_FAMILY, _ENDING = 5, 3  # letters that words of one family share at least, and letters in which they may differ
_HEADING_SHARE = 0.35
_NEIGHBOUR_SHARE = 0.25
_TITLE_SHARE = 0.6
_SATURATION = 0.5  # a word said twice in one sentence says little more
_LENGTH = 22.0  # stems of a usual sentence


@dataclass(frozen=True, slots=True)
class SentenceTerms:
    """A sentence to rank: its stems, those of the headings above it, and its paragraph number."""

    stems: tuple[str, ...]
    heading: frozenset[str] = frozenset()
    paragraph: int = 0


@dataclass(frozen=True, slots=True)
class RelevanceScore:
    """`total` ranks; `coverage` is the question's weight in the sentence or its headings, `own` in the sentence."""

    total: float
    coverage: float
    own: float  # share held by the sentence itself


def is_same_family(one: str, other: str) -> bool:
    """True if two stems belong to one word family: "direct" and "director", "nation" and "national"."""
    if one == other:
        return True
    short, long = sorted((one, other), key=len)
    return len(short) >= _FAMILY and long.startswith(short) and len(long) - len(short) <= _ENDING


def compute_rarity(texts: Iterable[Iterable[str]]) -> dict[str, float]:
    """Return the inverse document frequency of each stem of `texts`, always above 0."""
    count: Counter[str] = Counter()
    total = 0
    for text in texts:
        total += 1
        count.update(set(text))
    return {term: math.log(1 + (total - n + 0.5) / (n + 0.5)) + 0.3 for term, n in count.items()}


def weigh_by_rarity(wanted: Mapping[str, float], rare: Mapping[str, float]) -> dict[str, float]:
    """Multiply each wanted stem by its damped rarity; a stem that is nowhere counts as a common one."""
    top = max(rare.values(), default=1.0)
    return {term: weight * (0.5 + 0.5 * rare.get(term, 0.5 * top) / top) for term, weight in wanted.items()}


def damp_title_terms(weights: Mapping[str, float], title: Collection[str]) -> dict[str, float]:
    """Lower the weight of stems in the title of a source, unless the title contains all of them."""
    held = {term for term in weights if term in title}
    if len(held) == len(weights):
        return dict(weights)
    return {term: weight * (_TITLE_SHARE if term in held else 1.0) for term, weight in weights.items()}


def score_sentences(units: Sequence[SentenceTerms], weights: Mapping[str, float]) -> tuple[RelevanceScore, ...]:
    """Score every unit against weighted stems: BM25-like saturation, headings and neighbours of the paragraph."""
    mass = sum(weights.values()) or 1.0
    own = [_score_own_terms(unit, weights) for unit in units]
    scores: list[RelevanceScore] = []
    for at, unit in enumerate(units):
        mine = set(unit.stems)
        held = sum(weight for term, weight in weights.items() if term in mine)
        above = sum(weight for term, weight in weights.items() if term in unit.heading and term not in mine)
        around = max(
            (
                own[near]
                for near in (at - 1, at + 1)
                if 0 <= near < len(units) and units[near].paragraph == unit.paragraph
            ),
            default=0.0,
        )
        total = own[at] + _HEADING_SHARE * above + _NEIGHBOUR_SHARE * around
        scores.append(RelevanceScore(total / mass, (held + above) / mass, held / mass))
    return tuple(scores)


def _score_own_terms(unit: SentenceTerms, weights: Mapping[str, float]) -> float:
    norm = 0.5 + 0.5 * len(unit.stems) / _LENGTH
    counts = Counter(unit.stems)
    top = 1 + _SATURATION
    return sum(w * counts[t] * top / (counts[t] + _SATURATION * norm) for t, w in weights.items() if counts[t])


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
    """Return a factor from 1.0: highest if the words of a topic stand side by side."""
    opens = {term[:_FAMILY]: term for term in topic}
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
    """Return the topic word of the same family as a stem, or ""."""
    term = opens.get(each[:_FAMILY], "")
    return term if term and is_same_family(term, each) else ""


def score_brevity(said: Sequence[str]) -> float:
    """Return a factor up to 1.0: lower for long sentences."""
    return min(1.0, (_USUAL / max(1, len(said))) ** 0.5)


def score_standalone(text: str) -> float:
    """Return a factor up to 1.0: lower for asides, pointers and sentences that refer back."""
    if text.rstrip().endswith(":"):
        return _LEFT_OPEN
    if _ASIDE.match(text) or _ELSEWHERE.search(text):
        return _FOR_ANOTHER
    return _POINTING if _OPENS_BACK.match(text) else 1.0


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


_ADJECTIVE_NOUNS = {  # of the adjective in a question whose column is named otherwise
    "high": "height elevation altitude",
    "tall": "height",
    "low": "height level",
    "long": "length duration",
    "short": "length duration",
    "wide": "width",
    "deep": "depth",
    "heavy": "weight mass",
    "light": "weight mass",
    "old": "age year date built founded opened",
    "young": "age year date built founded opened",
    "new": "year date built founded opened",
    "late": "year date built founded opened",
    "early": "year date built founded opened",
    "fast": "speed time",
    "slow": "speed time",
    "strong": "strength power",
    "large": "size area volume capacity",
    "big": "size area volume capacity",
    "small": "size area volume capacity",
    "expensive": "price cost fee",
    "cheap": "price cost fee",
    "hot": "temperature",
    "cold": "temperature",
}
_LEAST_WORDS = frozenset(
    "least fewest smallest lowest shortest cheapest lightest slowest coldest earliest youngest".split()
)
_AGE_WORDS = frozenset("oldest youngest".split())
_SUPERLATIVE = re.compile(r"\b(?:(most|least)(?: (expensive))?|([a-z]{2,9}est|best|worst))\b")
_NO_SUPERLATIVE = frozenset("test rest nest west forest interest request harvest guest quest honest modest".split())
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
_YEARS = (1000, 2100)


@dataclass(frozen=True, slots=True)
class Extreme:
    """The highest (`sign` 1) or lowest (-1) value of a column headed by one of these words."""

    sign: int
    heads: frozenset[str]
    aged: bool = False  # the oldest is of the most years, or of the first year


@lru_cache(maxsize=1_000)
def find_extreme(question: str) -> Extreme | None:
    """Return the extreme a question asks for ("the fewest doors"), or None."""
    said = " ".join(split_words(question))
    for match in _SUPERLATIVE.finditer(said):
        degree, adjective, ending = match.groups()
        word = degree or ending
        if word in _NO_SUPERLATIVE:
            continue
        base = adjective or _base_adjective(word)
        after = [stem_word(each) for each in said[match.end() :].split()[:3]]
        heads = frozenset(each for each in after if each) | frozenset(
            map(stem_word, _ADJECTIVE_NOUNS.get(base, "").split())
        )
        if heads:
            return Extreme(-1 if word in _LEAST_WORDS or (degree == "least") else 1, heads, word in _AGE_WORDS)
    return None


def read_value(row: str, wanted: Extreme) -> float | None:
    """Return the number in the requested column of a row "Head: cell; Head: cell", or None."""
    for cell in row.rstrip(".").split("; "):
        head, colon, text = cell.rpartition(": ")
        number = _NUMBER.search(text)
        if colon and number is not None and wanted.heads & frozenset(stem_text(head)):
            return float(number.group().replace(",", ""))
    return None


def find_foremost_rows(rows: Sequence[str], wanted: Extreme) -> frozenset[int]:
    """Return the positions of the rows with the extreme; empty if fewer than two rows have a number."""
    found = {at: number for at, row in enumerate(rows) if (number := read_value(row, wanted)) is not None}
    if len(found) < 2:  # noqa: PLR2004 - nothing to compare
        return frozenset()
    sign = wanted.sign
    if wanted.aged and all(_YEARS[0] <= number <= _YEARS[1] for number in found.values()):
        sign = -sign
    best = max(sign * number for number in found.values())
    return frozenset(at for at, number in found.items() if sign * number == best)


def _base_adjective(word: str) -> str:
    """Return the adjective of a superlative: "high" for "highest", "heavy" for "heaviest"."""
    root = fold_text(word).removesuffix("est")
    for base in (root, f"{root}e", root[:-1], f"{root[:-1]}y"):
        if base in _ADJECTIVE_NOUNS:
            return base
    return root

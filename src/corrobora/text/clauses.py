"""Clauses: the parts of a sentence that claim something, with what decides whether a restatement says the same.

Knows words of obligation, negation, quantity, strength of relation, condition, attribution, population and direction,
each with the word it governs. Does not know any evidence and does not compare.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

from corrobora.domain.evidence import fold_typography
from corrobora.domain.limits import read_table
from corrobora.text.tokens import split_words, stem_word
from corrobora.text.vocabulary import is_english


class Shade(NamedTuple):
    """A word that shades a claim: its family ("quantifier"), its class ("all"), the stem it governs, its text."""

    family: str
    kind: str
    governs: str
    text: str


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause or sentence, parsed for comparison; made by `parse_clause`."""

    text: str
    stems: frozenset[str]
    terms: frozenset[str]  # the stems and the words without a stem, such as "before"
    duties: tuple[Shade, ...]
    negated: frozenset[str]  # stems that a negating word governs
    negations: int
    shades: tuple[Shade, ...]

    def kinds(self, family: str) -> frozenset[str]:
        """The classes of one family that occur."""
        return frozenset(shade.kind for shade in self.shades if shade.family == family)


def _list_words(words: str) -> str:
    """Return the alternatives of a table: patterns apart by spaces, "_" for white space."""
    return "|".join(word.replace("_", r"\s+") for word in words.split())


_TABLES: dict[str, dict[str, Any]] = read_table("claims.toml")
_BE = r"(?:(?:is|are|was|were|be|been|being|'s|'re)\s+)?"
_NO = r"(?:no|nothing)\s+(?:(?!(?:and|but|it|you|we|they)\s)[\w/.-]+\s+){0,4}?"  # "no key and should": two predicates
_DUTY = re.compile(
    r"\b(?:"
    + "|".join(
        f"(?P<{name}>{_list_words(words).replace('NO', _NO).replace('BE', _BE)})"
        for name, words in _TABLES["duties"].items()
    )
    + r")(?!\w)"
)
_DUTY_HINTS = (  # one of them stands in every match: looked for first, because the pattern is slow
    "shall must may can should ought need requir have has had permit allow forbi prohibit bann bans barred free "
    "optional voluntary mandatory compuls oblig bound recommend advis encourag discourag accept necessar"
).split()
_NEGATION = re.compile(
    r"\b(?:"
    + _list_words(_TABLES["negation"]["english"])
    + "|(?P<foreign>"
    + _list_words(_TABLES["negation"]["foreign"])
    + r"))(?!\w)"
)
_KEPT_FROM = re.compile(  # "keeps a boat from sinking" denies that it sinks; "from existing files" tells where from
    r"\b(?:keep(?:s|ing)?|kept)\s(?:[^\s,;:.]+\s){1,8}?from\s(?:being\s+|ever\s+)?"
    r"(?=[a-z]+ing\b|(?<=being\s)[a-z])(?!(?:exist|miss|remain|follow|incom|outgo|pend|ongo|begin)ing\b)"
)
_DENYING_OBJECTS = ("nothing", "nobody", "none")  # they may deny the verb before them: "shares nothing"
_ABSENCE = re.compile(r"without|lack|absence|free|instead|rather|ohne|sans|sin\b")
_SHADES = re.compile(
    r"(?<![\w-])(?:"
    + "|".join(
        f"(?P<{f}_{k}>{_list_words(words)})" for f, kinds in _TABLES["families"].items() for k, words in kinds.items()
    )
    + r")(?![\w-])"
)
_OPPOSED: dict[str, str] = _TABLES["opposites"]
_RISING, _FALLING = (f"{_OPPOSED[a]} {_OPPOSED[b]}".split() for a, b in (("more", "rises"), ("less", "falls")))
OPPOSITES: dict[str, frozenset[str]] = {}
for _pair in (*map(str.split, _OPPOSED["pairs"].split("|")), *product(_RISING, _FALLING)):
    _terms = [stem_word(word) or word for word in _pair]
    for _one, _other in (_terms, _terms[::-1]):
        OPPOSITES[_one] = OPPOSITES.get(_one, frozenset()) | {_other}
SUPERLATIVES = frozenset(
    stem_word(word) or word for word in _OPPOSED["pairs"].split() if word.endswith(("est", "worst")) and word != "west"
)
_THAN = r"\b[^.,;]{0,60}?\bthan\b"
_ORDER = re.compile(
    rf"(?i)\b(?:(?P<more>(?:more|greater|higher|larger|longer|later|older|stronger|faster|wider|better){_THAN}"
    r"|as (?!well|long|soon|far|many|much)[a-z]+(?: an? [a-z]+)? as\b"
    r"|after\b|above\b|exceed(?:s|ed)?\b|instead of\b|rather than\b)"
    rf"|(?P<less>(?:less|fewer|lower|smaller|shorter|earlier|younger|weaker|slower|narrower|worse){_THAN}"
    r"|before\b|below\b))"
)
_STOP = re.compile(r"[,;:.]\s")
SEGMENT = re.compile(r"[,;:]\s|\s(?:and|but|then|while|whereas|although|when|which|before|after)\s")
_BORDER = re.compile(
    r"(?i);\s+|\s[—–]\s|(?:,|(?<!\s))\s+(?=(?:but|whereas|while|although|though|because)\s)"
    r"|,\s+(?=(?:and|so|which|who|or|yet)\s)|(?<!\s)\s+(?=and\s)"
    r"|(?:,|(?<!\s))\s+(?=nor\s+(?:is|are|was|were|does|do|did|has|have|had|can|could|will|would|may|must|shall|should)\s)"
)
_FINITE = frozenset(
    "is are was were has have had will would can may must shall should does did do cannot could might isn't aren't "
    "wasn't".split()
)
_MIN_WORDS = 3
_ADVERBS = frozenset(
    "able yet ever also still already even be been being have has had to do does did only always".split()
)


def split_statement(sentence: str) -> tuple[str, ...]:
    """Split a sentence into its clauses, in order; "and" parts two clauses only if a verb follows it."""
    found: list[str] = []
    begin = 0
    for match in _BORDER.finditer(sentence):
        left = sentence[begin : match.start()].split(maxsplit=_MIN_WORDS)
        right = sentence[match.end() :].split(maxsplit=7)
        if len(left) < _MIN_WORDS or len(right) <= _MIN_WORDS:
            continue
        opening = [word.lower() for word in right[1:7]]
        joined = right[0].lower() in ("and", "or")
        if not joined or any(word in _FINITE or word.endswith("ed") for word in opening):
            found.append(sentence[begin : match.start()].strip())
            begin = match.end()
    found.append(sentence[begin:].strip())
    return tuple(found)


@lru_cache(maxsize=8_000)  # every sentence is compared with the same quotes
def parse_clause(text: str) -> Clause:
    """Parse a clause or a whole sentence."""
    low = text.lower() if len(text.lower()) == len(text) else text  # as long, so that places are the same
    duties: list[Shade] = []
    for match in _DUTY.finditer(low) if any(hint in low for hint in _DUTY_HINTS) else ():
        said = text[match.start() : match.end()]
        verb = bool(duties) and text[: match.start()].rstrip().endswith(duties[-1].text)  # "shall not require"
        if not verb and (said != "May" or match.start() == 0):  # the month
            duties.append(Shade("duty", match.lastgroup or "", _find_governed(text, match), said))
    negated: set[str] = set()
    negations = 0
    for match in _NEGATION.finditer(low):
        if match["foreign"] and is_english(text):  # "sin" and "sans" are English words, too
            continue
        negations += match.group() != "nor" or "neither" not in low[: match.start()]  # "neither A nor B" denies once
        if not _ABSENCE.match(match.group()):  # "lacking" and "without" govern a noun, for which there are other words
            negated.add(_find_governed(text, match))
        if match.group() in _DENYING_OBJECTS and (before := split_words(text[: match.start()])):
            negated.add(stem_word(before[-1]))
    for match in _KEPT_FROM.finditer(low):
        negations += 1
        negated.add(_find_governed(text, match))
    shades: list[Shade] = []
    for match in _SHADES.finditer(low):
        family, kind = (match.lastgroup or "_").split("_")
        said = text[match.start() : match.end()]
        if said != "May":
            shades.append(Shade(family, kind, _find_governed(text, match), said))
    words = split_words(text)
    stems = frozenset(stem for word in words if (stem := stem_word(word)))
    return Clause(
        text,
        stems,
        frozenset(stem_word(word) or word for word in words),
        tuple(duties),
        frozenset(negated - {""}),
        negations,
        tuple(shades),
    )


def find_word(clause: Clause, stem: str) -> str:
    """Return the word of a clause that has a stem, for display."""
    words = re.findall(r"[^\W_]+", clause.text)
    return next((word for word in words if stem in (word.lower(), stem_word(word.lower()))), stem)


def _find_governed(text: str, match: re.Match[str]) -> str:
    """Return the stem of the first content word after a match, or before it at the end of a clause."""
    for word in split_words(text[match.end() : match.end() + 60].split(",", 1)[0]):
        stem = stem_word(word)
        if stem and word not in _ADVERBS and not word.endswith("ly") and not word.isdigit():
            return stem
    for word in reversed(split_words(text[max(0, match.start() - 60) : match.start()])):
        if stem := stem_word(word):
            return stem
    return ""


def find_opposites(terms: frozenset[str], others: frozenset[str]) -> tuple[tuple[str, str], ...]:
    """Return the pairs of opposite terms, one on each side only, such as ("higher", "lower")."""
    return tuple(
        (one, other)
        for one in sorted(terms - others)
        for other in sorted(OPPOSITES.get(one, frozenset()) & (others - terms))
    )


SAME_ORDER = "="


def compare_order(text: str, other: str) -> str:
    """Return the word of a text that orders two things otherwise than another text does; "" if none can be told.

    `SAME_ORDER` stands for the same order in other words.

    "The inner one froze later than the outer one" is said of "The outer one froze before the inner one" as well.
    """
    mine, theirs = _find_order(text), _find_order(other)
    if mine is None or theirs is None:
        return ""
    (left, right, sign, word), (left2, right2, sign2, _) = mine, theirs
    crossed = bool(left & right2 and right & left2)
    straight = bool(left & left2 and right & right2)
    if not (crossed or straight):
        return ""
    return word if (sign == sign2) == crossed else SAME_ORDER


def _find_order(text: str) -> tuple[frozenset[str], frozenset[str], str, str] | None:
    """Return the stems that stand on one side only of the first comparison of two things, its direction and words."""
    found = _ORDER.search(text)
    if found is None:
        return None
    left, right = (
        frozenset(stem for word in split_words(side) if (stem := stem_word(word)))
        for side in (_STOP.split(text[: found.start()])[-1], _STOP.split(text[found.end() :])[0])
    )
    return left - right, right - left, found.lastgroup or "", found.group().split()[0]


def find_nearest_segment(clause: Clause, unit: Clause) -> Clause:
    """Return the part of a long sentence, between its commas and conjunctions, that shares most with a clause.

    A number or year says more than a word where it is the same.
    """
    parts = [parse_clause(part) for part in SEGMENT.split(unit.text) if part]

    def _count_shared(part: Clause) -> int:
        return sum(1 + word.isdigit() for word in part.terms & clause.terms)

    return max(parts, key=_count_shared, default=unit)


def fold_words(text: str) -> tuple[str, ...]:
    """Return words and signs in order for alignment, in lower case; the full stop at the end is left out."""
    return tuple(_PIECE.findall(fold_typography(text.lower()).rstrip(" .!?\"'")))


_PIECE = re.compile(r"[^\W_]+(?:['.,-][^\W_]+)*|[^\w\s,;:.!?()'\"-]|_")

"""Decomposition: the questions that one question holds.

Knows English clauses, conjunctions and lists of topics. Does not know what the topics are: a part is a piece of the
question, made readable alone.

Superlatives: which row of a table has the most or the least of what a question asks for.

Knows English superlatives, the nouns of their adjectives, and numbers in cells. Does not know tables: it is given rows
that are told by the heads of their columns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from corrobora.text.questions import find_alternatives, find_topic_stems
from corrobora.text.segmentation import split_sentences
from corrobora.text.tokens import STOP_WORDS, fold_text, split_words, stem_text, stem_word

_WH = "who|whom|whose|what|which|when|where|why|how"
_AUX = "is|are|was|were|do|does|did|has|have|had|can|could|should|will|would|shall|may|might|must"
_CLAUSE = re.compile(
    rf"(?i)[,;]?\s+(?:and|but|or)\s+(?=(?:(?:in|on|at|by|for|from|to|under|with|of|since|until|through)\s+)?(?:{_WH})\b)"
    rf"|[,;]\s*(?:(?:and|but|or)\s+)?(?=(?:(?:in|under|by|for|with)\s+)?(?:{_WH})\s+(?:\w+\s+){{0,4}}?(?:{_AUX})\b)"
)
_CONTRAST = re.compile(
    r"(?i)[,;]\s+(?:while|whereas|but|yet)\s+|;\s+(?:and\s+)?|,\s+and\s+(?:then\s+)?(?=(?:do|does|did|is|are|was|were|has|have)\s)"
)
_WH_LIST = re.compile(rf"(?i)^((?:{_WH})(?:\s*,\s*(?:{_WH}))*\s*,?\s+(?:and|or)\s+(?:{_WH}))\s+(?=(?:{_AUX})\b)")
_BARE_QUESTION_WORD = re.compile(rf"(?i)^(?:(?:in|on|at|by|for|from|to|under|with|of|since|until)\s+)?(?:{_WH})\s*\??$")
_QUESTION_CLAUSE = re.compile(rf"(?i)^(?:when|where|why|how)\s+((?:{_AUX})\s.+)$")
_ANAPHOR = re.compile(r"(?i)\b(that|this|it|they|them|those|these|its|their|he|she|his|her)\b")
_ADJECTIVE = (
    "able",
    "ible",
    "al",
    "ic",
    "ive",
    "ous",
    "ful",
    "less",
    "ed",
    "ing",
    "ar",
    "ary",
    "ant",
    "ent",
    "ern",
    "ish",
)
_BASE_VERBS = frozenset(
    "change differ compare evolve vary develop work happen affect influence improve help cause matter relate "
    "mean require "
    "need grow fall rise increase decrease perform behave apply look come go become interact contribute begin "
    "start end".split()
)
_LIST_BREAK = (
    STOP_WORDS | frozenset("vs versus via per like using regarding concerning about including".split()) | _BASE_VERBS
)
_MIN_STEMS_OF_CLAUSE = 3


def split_question(question: str, *, limit: int = 7) -> tuple[str, ...]:
    """Split a question into the questions it holds, each readable alone; at least one, at most `limit`.

    Several sentences, ", and under which conditions", "who and when", contrasted clauses, and lists of topics
    ("rotation, composition rules and length") each give a part. A part that points back ("that") names what it means.
    """
    found: list[str] = []
    asked = _split_by_sentence(question)
    context = [s for s in asked if not s.endswith("?")] if any(s.endswith("?") for s in asked) else []
    for sentence in (s for s in asked if s not in context):
        for clause in _split_by_clause(sentence):
            pieces = _split_topic_list(clause)
            found += [_add_topic(piece, found[0] if found else "") for piece in pieces]
    if context and found:
        lead = " ".join(context)
        found = [part if len(stem_text(part)) > _MIN_STEMS_OF_CLAUSE else f"{part} ({lead})" for part in found]
    distinct: dict[tuple[str, ...], str] = {}
    for part in found:
        if stem_text(part):
            distinct.setdefault(tuple(split_words(part)), part)
    return tuple(distinct.values())[:limit] or (question.strip(),)


def _split_by_sentence(question: str) -> list[str]:
    text = question.strip()
    return [text[s.start : s.end] for s in split_sentences(text)]


def _split_by_clause(sentence: str) -> list[str]:
    several = _WH_LIST.match(sentence)
    if several is not None:
        rest = sentence[several.end() :]
        return [f"{wh[0].upper()}{wh[1:].lower()} {rest}" for wh in re.findall(rf"(?i)\b(?:{_WH})\b", several.group(1))]
    pieces = [piece.strip(" ,;") for piece in _CLAUSE.split(sentence) if piece.strip(" ,;?")]
    if not pieces:
        return [sentence]
    main, rest = pieces[0], pieces[1:]
    if not stem_text(main):
        return [sentence]
    found = _split_contrast(main if main.endswith("?") or not rest else f"{main}?")
    for piece in rest:
        found.append(_complete_fragment(piece, main))
    return found


def _split_contrast(sentence: str) -> list[str]:
    pieces = [piece.strip(" ,;") for piece in _CONTRAST.split(sentence)]
    if len(pieces) < 2 or any(len(set(stem_text(piece))) < _MIN_STEMS_OF_CLAUSE for piece in pieces):  # noqa: PLR2004 - nothing to split
        return [sentence]
    return [piece if piece.endswith("?") else f"{piece}?" for piece in pieces]


def _complete_fragment(fragment: str, main: str) -> str:
    """Make "under which conditions?" a question of its own by what the main clause asks."""
    ending = fragment if fragment.endswith("?") else f"{fragment}?"
    opened = ending[0].upper() + ending[1:]
    if len(set(stem_text(fragment))) >= _MIN_STEMS_OF_CLAUSE or re.search(rf"(?i)\b(?:{_AUX})\b", fragment):
        return opened
    body = main.rstrip("?. ")
    if re.match(rf"(?i)(?:{_AUX})\b", body):
        return f"{opened.rstrip('?')} {body[0].lower()}{body[1:]}?"
    if _BARE_QUESTION_WORD.match(fragment) and (
        asked := _QUESTION_CLAUSE.match(body)
    ):  # "When was it built, and by whom?"
        return f"{opened.rstrip('? ')} {asked.group(1)}?"
    return f"{opened} ({body})"


def _add_topic(part: str, first: str) -> str:
    """Let a part that points back name its topic: "Did it change that? (topic of the first part)"."""
    if not first or _ANAPHOR.search(part) is None:
        return part
    topic = _topic_phrase(first)
    own = set(find_topic_stems(part))
    if not topic or set(stem_text(topic)) <= own:
        return part
    return f"{part.rstrip('?. ')} ({topic})?"


def _topic_phrase(question: str) -> str:
    """Return a question without its opening question words: "SMS acceptable as a second factor"."""
    body = question.strip().rstrip("?. ")
    return re.sub(
        rf"(?i)^(?:(?:in|on|under|by|for|with|at|to)\s+)?(?:(?:{_WH}|{_AUX}|be|been|many|much)\s+){{1,4}}", "", body
    )


def _split_topic_list(clause: str) -> list[str]:
    """Spread a list of topics over several questions; a clause without one comes back as it is."""
    if find_alternatives(clause):
        return [clause]
    tokens = [(match.group(), match.start(), match.end()) for match in re.finditer(r"[^\s,;?]+", clause)]
    for at in range(2, len(tokens)):
        if fold_text(tokens[at][0]) not in ("and", "or") or "between" in fold_text(
            clause[max(0, tokens[at][1] - 90) : tokens[at][1]]
        ):
            continue
        items = _read_list(clause, tokens, at)
        if items is not None:
            return items
    return [clause]


def _read_list(clause: str, tokens: list[tuple[str, int, int]], conjunction: int) -> list[str] | None:
    """Read the list around a conjunction with at least one comma before it; None if it is no list of topics."""
    last = _find_run_end(tokens, conjunction + 1, 1)
    if last < conjunction + 1:
        return None
    while last > conjunction + 1 and (fold_text(tokens[last][0]) in _BASE_VERBS):
        last -= 1
    spans = [(conjunction + 1, last)]
    at = conjunction - 1
    while at >= 0:
        first = _find_topic_start(clause, tokens, at)
        if first > at:
            break
        spans.insert(0, (first, at))
        if first == 0 or "," not in clause[tokens[first - 1][2] : tokens[first][1]]:
            break
        at = first - 1
    if len(spans) < 3 and not _is_topic_pair(clause, tokens, spans):  # noqa: PLR2004 - "A, B and C"
        return None
    items = [clause[tokens[a][1] : tokens[b][2]] for a, b in spans]
    if any(len(item.split()) > 6 or not stem_text(item) for item in items):  # noqa: PLR2004 - a clause, not a topic
        return None
    head, tail = clause[: tokens[spans[0][0]][1]], clause[tokens[last][2] :]
    if not stem_text(head + tail) and not re.search(rf"(?i)\b(?:{_WH}|{_AUX})\b", head):
        return None
    return [f"{head}{item}{tail}" for item in _repeat_modifier(items)]


def _is_topic_pair(clause: str, tokens: list[tuple[str, int, int]], spans: list[tuple[int, int]]) -> bool:
    """Split two topics only after a preposition that opens a topic ("on X and Y"), never names or pairs of verbs."""
    if len(spans) != 2 or spans[0][0] == 0:  # noqa: PLR2004 - a pair
        return False
    if fold_text(tokens[spans[0][0] - 1][0]) not in ("on", "about", "regarding", "concerning"):
        return False
    return all(not clause[tokens[a][1]].isupper() for a, _ in spans)


def _find_run_end(tokens: list[tuple[str, int, int]], at: int, step: int) -> int:
    while 0 <= at < len(tokens) and fold_text(tokens[at][0]) not in _LIST_BREAK:
        at += step
    if step > 0 and at < len(tokens) and fold_text(tokens[at][0]) in _BASE_VERBS:
        at += 0
    return at - step


def _find_topic_start(clause: str, tokens: list[tuple[str, int, int]], at: int) -> int:
    """Return the first token of the topic that ends at `at`: up to a comma or a function word."""
    first = at + 1
    while first > 0 and fold_text(tokens[first - 1][0]) not in _LIST_BREAK:
        if first <= at and "," in clause[tokens[first - 1][2] : tokens[first][1]]:
            break
        first -= 1
    return first


def _repeat_modifier(items: list[str]) -> list[str]:
    """Give the first topic's noun to a bare last one: "password rotation, composition rules and length"."""
    first = items[0].split()
    if len(first) < 2 or len(items[-1].split()) > 1:  # noqa: PLR2004 - modifier and head
        return items
    modifier = first[0]
    folded = fold_text(modifier)
    if folded.endswith(_ADJECTIVE) or not folded.islower() or modifier[0].isupper():
        return items
    return [items[0], *(item if folded in fold_text(item) else f"{modifier} {item}" for item in items[1:])]


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
    """The most (`sign` 1) or the least (-1) of a column that is headed by one of these words."""

    sign: int
    heads: frozenset[str]
    aged: bool = False  # the oldest is of the most years, or of the first year


@lru_cache(maxsize=1_000)
def find_extreme(question: str) -> Extreme | None:
    """Return what extreme a question asks for, None if it asks for none.

    Example:
        >>> found = extreme("Which hall has the fewest doors?")
        >>> found.sign, sorted(found.heads)
        (-1, ['door'])
    """
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
    """Return the number of a row, told as "Head: cell; Head: cell", in the column that is asked for; None without.

    Example:
        >>> value("Hall: Arden; Doors: 12", extreme("Which hall has the fewest doors?"))
        12.0
    """
    for cell in row.rstrip(".").split("; "):
        head, colon, text = cell.rpartition(": ")
        number = _NUMBER.search(text)
        if colon and number is not None and wanted.heads & frozenset(stem_text(head)):
            return float(number.group().replace(",", ""))
    return None


def find_foremost_rows(rows: Sequence[str], wanted: Extreme) -> frozenset[int]:
    """Return the places of the rows that have the extreme; nothing if fewer than two rows have a number there."""
    found = {at: number for at, row in enumerate(rows) if (number := read_value(row, wanted)) is not None}
    if len(found) < 2:  # noqa: PLR2004 - nothing to compare
        return frozenset()
    sign = wanted.sign
    if wanted.aged and all(_YEARS[0] <= number <= _YEARS[1] for number in found.values()):
        sign = -sign
    best = max(sign * number for number in found.values())
    return frozenset(at for at, number in found.items() if sign * number == best)


def _base_adjective(word: str) -> str:
    """Return the adjective of a superlative: "highest" is of "high", "biggest" of "big", "heaviest" of "heavy"."""
    root = fold_text(word).removesuffix("est")
    for base in (root, f"{root}e", root[:-1], f"{root[:-1]}y"):
        if base in _ADJECTIVE_NOUNS:
            return base
    return root

"""Alignment: a sentence that nearly copies one of its evidence, word by word.

Knows which words were changed, moved, put in or left out, and where two sentences were joined or a slice cuts off a
condition or negation. Does not know whether a change matters: every change of a content word leaves the sentence open.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from rapidfuzz.distance import Indel

from corrobora.text.clauses import Clause, fold_words, parse_clause
from corrobora.text.measures import find_measures, find_unit
from corrobora.text.segmentation import split_sentences
from corrobora.text.tokens import stem_word
from corrobora.text.typed import Problem

NEAR_COPY = 0.8  # share of a sentence's words, in order, in one sentence of the evidence
_IN_ORDER = 0.5  # share in order from which a sentence is compared word by word
_WHOLE = 0.9  # share of a sentence from which it was copied as a whole
_PASSIVE = re.compile(r"\b(?:is|are|was|were|be|been|being)(?: [\w-]+){1,3} by\b")
_RUN = 4  # words in a row that were copied
_RELATIONS = frozenset(
    "and or but nor before after from to until since with without by above below over under between during than not no "
    "only all some most any every each never if unless when except in out on off up down more less per within beyond "
    "first last must shall should may can could might will would cannot".split()
)
_OPENERS = frozenset("in on at by for from during after before since until with without under over as of to".split())


@dataclass(frozen=True, slots=True)
class Copy:
    """How near a sentence is to a copy, and what it changed."""

    nearness: float
    problems: tuple[Problem, ...] = ()


def find_slice(sentence: str, quote: str) -> tuple[str, str] | None:
    """Return what stands before and after an exact slice in its sentence of the quote, or None if it is no slice.

    White space, and the full stop at the end of the slice, may differ; nothing else.
    """
    wanted, text = " ".join(sentence.split()).rstrip(".!?"), " ".join(quote.split())
    at = text.find(wanted) if wanted else -1
    while at >= 0:
        end = at + len(wanted)
        if _begins(text, at) and _ends(text, end):
            spans = split_sentences(text)
            head = next((text[span.start : at] for span in spans if span.start <= at < span.end), "")
            tail = next((text[end : span.end] for span in spans if span.start < end < span.end), "")
            return head.strip(), tail.strip()
        at = text.find(wanted, at + 1)
    return None


def _begins(text: str, at: int) -> bool:
    """True if a slice may begin at `at`: after white space or what opens something, never inside a word or number."""
    return at == 0 or text[at - 1].isspace() or text[at].isspace() or text[at - 1] in '([{"“‘«—–'


def _ends(text: str, at: int) -> bool:
    """True if a slice may end at `at`: before white space, or before punctuation after which nothing goes on."""
    if at >= len(text) or text[at].isspace() or text[at - 1].isspace():
        return True
    return text[at] in ".,;:!?)]}\"”’»'—–" and not text[at + 1 : at + 2].isalnum()


def find_cut(head: str, tail: str) -> Problem | None:
    """Say what a slice cuts off if that decides its meaning: a condition, negation, hedge, quantifier or speaker."""
    for part in (head, tail):
        parsed = parse_clause(part)
        if parsed.negations and part is head:
            return Problem("it cuts off a negation of its sentence", "")
        denied = [duty for duty in parsed.duties if duty.kind in ("forbidden", "discouraged", "needless")]
        for shade in (*parsed.shades, *denied):
            if part is head or shade.family == "condition" or shade.kind in ("only", "said"):
                return Problem(f"it cuts off “{shade.text}” of its sentence", "")
    return None


def align_copy(sentence: str, units: Sequence[str]) -> Copy:
    """Compare a sentence with the sentence of its evidence that holds most of its words."""
    words = _fold_copy(sentence)
    best, nearest = (0.0, 0.0), ()
    runs: dict[int, set[int]] = {}
    whole = True
    for number, unit in enumerate(units):
        theirs = _fold_copy(unit)
        blocks = [op for op in Indel.opcodes(words, theirs) if op.tag == "equal"]
        copied = [op for op in blocks if op.src_end - op.src_start >= _RUN]
        if copied:
            runs[number] = {at for op in copied for at in range(op.src_start, op.src_end)}
            whole &= sum(op.dest_end - op.dest_start for op in blocks) >= _WHOLE * len(theirs)
        held = (Counter(words) & Counter(theirs)).total() / max(1, len(words))
        share = (held, sum(op.src_end - op.src_start for op in blocks) / max(1, len(words)) - len(theirs) / 1e6)
        if share > best:
            best, nearest = share, theirs
    if best[0] >= NEAR_COPY and best[1] >= _IN_ORDER:
        return Copy(best[0], tuple(_find_changes(words, nearest)))
    joined = len(runs) > 1 and not whole and len(set[int]().union(*runs.values())) >= NEAR_COPY * len(words)
    return Copy(best[1], (Problem("it joins parts of two sentences", ""),) if joined else ())


@lru_cache(maxsize=4_000)  # every sentence is compared with the same quotes
def _fold_copy(text: str) -> tuple[str, ...]:
    return tuple("must" if word == "shall" else word for word in fold_words(text))


def _find_changes(words: Sequence[str], theirs: Sequence[str]) -> Iterator[Problem]:
    turned = _is_passive(words) != _is_passive(theirs)
    moved = False
    for op in Indel.opcodes(words, theirs):
        own, other = words[op.src_start : op.src_end], theirs[op.dest_start : op.dest_end]
        if op.tag in ("delete", "replace"):
            changed = [word for word in own if _matters(word, other)]
            if turned and changed and set(changed) - {"by"} <= set(theirs):
                moved = True
            elif changed and not _is_moved_adjunct(own, theirs):
                yield Problem(f"its sources do not say “{' '.join(changed)}” here", " ".join(changed))
        if op.tag in ("insert", "replace"):
            parsed = parse_clause(" ".join(other))
            said = {shade[:2] for shade in _list_shades(parse_clause(" ".join(words)))}
            left = [text for *kind, text in _list_shades(parsed) if tuple(kind) not in said]
            left += ["not"] if parsed.negations else []
            if left:
                yield Problem(f"it leaves out “{left[0]}”", left[0])
    if turned and not moved:
        yield Problem("who does it and to whom differ", "by" if "by" in words else "")


def _is_passive(words: Sequence[str]) -> bool:
    return _PASSIVE.search(" ".join(words)) is not None


def _matters(word: str, near: Sequence[str]) -> bool:
    """True if a word that a copy puts in may change its meaning.

    No function word does, no other form of a word there, none of the same class ("must" for "shall"), and no number or
    unit, which are compared by their amounts.
    """
    if find_measures(word) or find_unit(word) or word in near:
        return False
    own, other = parse_clause(word), parse_clause(" ".join(near))
    if {shade[:2] for shade in _list_shades(own)} & {shade[:2] for shade in _list_shades(other)}:
        return False
    stem = stem_word(word)
    return word in _RELATIONS or (bool(stem or not word.isalpha()) and stem not in other.stems)


def _list_shades(clause: Clause) -> list[tuple[str, str, str]]:
    return [(shade.family, shade.kind, shade.text) for shade in (*clause.shades, *clause.duties)]


def _is_moved_adjunct(own: Sequence[str], theirs: Sequence[str]) -> bool:
    """True for words such as "in March 2021" that stand elsewhere in the same sentence in the same order."""
    if own[0] not in _OPENERS or len(own) < 2:  # noqa: PLR2004 - a preposition and its noun
        return False
    return any(tuple(theirs[at : at + len(own)]) == tuple(own) for at in range(len(theirs)))

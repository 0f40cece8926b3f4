"""Rewording: another query for the same want, made from words alone.

Knows terms of queries and how much of one must change. Does not know synonyms or meaning: what it adds are words that
were learned elsewhere, handed in by the caller, and at the last plain words of question.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from corrobora.policies.overlap import extract_terms, is_near_duplicate, is_reformulated
from corrobora.policies.retry import Strategy
from corrobora.policies.words import STOP_WORDS, fold_text, stem_text

GENERIC_WORDS = (
    "explained meaning background causes effects examples figures records dates people places rules changes origin "
    "purpose methods results problems reasons comparison timeline account description statement source survey review "
    "guide summary report notes archive practice study experience answer"
).split()


def reword_query(query: str, past: Iterable[str], learned: Iterable[str] = ()) -> str:
    """Return a query of which at least half of the terms stand in no past query (S4, escape 1).

    The longest words of `query` stay, learned words come first among the new ones. The query is returned as it is if it
    is new enough, or if no word is left that was not asked before.
    """
    before = tuple(past)
    if is_reformulated(query, before):
        return query
    used = extract_terms(query).union(*(extract_terms(each) for each in before))
    fresh: dict[frozenset[str], str] = {}
    for word in (*(word for phrase in learned for word in split_content_words(phrase)), *GENERIC_WORDS):
        own = extract_terms(word)
        if own and not own & used:
            fresh.setdefault(own, word)
    own = sorted(split_content_words(query), key=lambda word: (-len(word), word))
    for size in range(min(len(own), 3, len(fresh)), 0, -1):
        kept = [word for word in split_content_words(query) if word in own[:size]]
        text = " ".join((*kept, *list(fresh.values())[:size]))
        if is_reformulated(text, before):
            return text
    return query


def make_fallback_query(question: str, strategy: Strategy, learned: Sequence[str] = ()) -> str:
    """Return the query of a coming attempt at a sub-question, as its strategy says (S2 TR-2).

    `broaden` asks with the few longest words, `synonyms` with the words that sources use; the others ask as asked.
    """
    words = split_content_words(question)
    match strategy:
        case "broaden":
            longest = sorted(words, key=lambda word: (-len(word), words.index(word)))[: max(1, len(words) // 2)]
            return " ".join(word for word in words if word in longest) or question
        case "synonyms":
            said = frozenset(stem_text(question))
            other = [term for term in learned if not frozenset(stem_text(term)) <= said][:2]
            return " ".join((*words[:3], *other)) if other else reword_query(" ".join(words), [question])
        case _:
            return question


def add_query(queries: Sequence[str], extra: str, past: Sequence[str], *, most: int) -> tuple[str, ...]:
    """Add a query to those of a round, in place of the last one if there is no room; none that was asked before."""
    if not extra.strip() or any(is_near_duplicate(extra, each) for each in (*queries, *past)):
        return tuple(queries)
    return (*queries[: max(1, most - 1)], extra)


def split_content_words(text: str) -> list[str]:
    """Return the words of a text that say something, as they stand, each once."""
    kept: dict[str, None] = {}
    for raw in text.split():
        word = raw.strip("?.,;:!()\"'“”‘’[]")
        if word and fold_text(word) not in STOP_WORDS and stem_text(word):
            kept[word] = None
    return list(kept)

"""Overlap: how alike two texts are by their terms.

Knows stems of queries, task descriptions and sentences. Does not know meaning: a shared word is only a shared word.

Rewording: another query for the same want, made from words alone.

Knows terms of queries and how much of one must change. Does not know synonyms or meaning: what it adds are words that
were learned elsewhere, handed in by the caller, and at the last plain words of question.

Currency: whether the time of an answer matters, and the words of time that a query must then hold.

Knows questions, a period in years, and English words of recency. Does not know the clock: "latest" stands for today.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from corrobora.domain.plan import Node
from corrobora.policies.retry import Strategy
from corrobora.text.mentions import find_years
from corrobora.text.tokens import STOP_WORDS, fold_text, stem_text

DUPLICATE_SHARE = 0.8  # shared terms over all terms
REFORMULATED_SHARE = 0.5  # TRIPLET-32


def extract_terms(text: str) -> frozenset[str]:
    """Return the stems of a text; of a text that has none (only stop words), its folded self."""
    found = frozenset(stem_text(text))
    return found or frozenset({fold_text(text).strip()} - {""})


def compare_terms(one: str, other: str) -> float:
    """Return shared terms over all terms, in [0, 1]; symmetric, and 1 for equal texts."""
    a, b = extract_terms(one), extract_terms(other)
    return len(a & b) / len(a | b) if a or b else 1.0


def is_near_duplicate(one: str, other: str) -> bool:
    """True if two queries would find the same."""
    return compare_terms(one, other) >= DUPLICATE_SHARE


def changed_share(query: str, past: Iterable[str]) -> float:
    """Return the least share of a query's terms that are new against any one past query; 1.0 without a past."""
    now = extract_terms(query)
    if not now:
        return 0.0
    return min((len(now - extract_terms(each)) / len(now) for each in past), default=1.0)


def is_reformulated(query: str, past: Iterable[str]) -> bool:
    """True if at least half of the terms changed against every past query (TRIPLET-32)."""
    return changed_share(query, past) >= REFORMULATED_SHARE


def select_fresh_queries(queries: Iterable[str], past: Iterable[str]) -> tuple[str, ...]:
    """Return the queries that are no near-duplicates of past ones or of one another, in order."""
    seen = list(past)
    kept: list[str] = []
    for query in queries:
        if extract_terms(query) and not any(is_near_duplicate(query, each) for each in seen):
            kept.append(query)
            seen.append(query)
    return tuple(kept)


def find_duplicate_queries(tasks: Sequence[Node]) -> tuple[tuple[str, str, str], ...]:
    """Return (query, path, other path) for each query that two tasks share (ANGLES-7: must be empty)."""
    found: list[tuple[str, str, str]] = []
    for at, task in enumerate(tasks):
        for other in tasks[at + 1 :]:
            found.extend(
                (query, task.path, other.path)
                for query in task.queries
                if any(is_near_duplicate(query, each) for each in other.queries)
            )
    return tuple(found)


def find_overlapping_tasks(tasks: Sequence[Node]) -> tuple[tuple[str, str], ...]:
    """Return the pairs of tasks whose objectives are near-duplicates (ANGLES-7)."""
    return tuple(
        (task.path, other.path)
        for at, task in enumerate(tasks)
        for other in tasks[at + 1 :]
        if is_near_duplicate(task.objective, other.objective)
    )


GENERIC_WORDS = (
    "explained meaning background causes effects examples figures records dates people places rules changes origin "
    "purpose methods results problems reasons comparison timeline account description statement source survey review "
    "guide summary report notes archive practice study experience answer"
).split()


def reword_query(query: str, past: Iterable[str], learned: Iterable[str] = ()) -> str:
    """Return a query of which at least half of the terms stand in no past query (TRIPLET-32).

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
    """Return the query of a coming attempt at a sub-question, as its strategy says (TIMED-15).

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


LATEST = "latest"
_CURRENT = re.compile(
    r"(?i)\b(?:latest|newest|most recent|recent(?:ly)?|current(?:ly)?|now(?:adays)?|today'?s?|"
    r"at present|presently|at the moment|as of now|so far|up[- ]to[- ]date|state[- ]of[- ]the[- ]art|"
    r"this (?:year|month|week)|these days|upcoming|ongoing|in force)\b"
)


def asks_about_present(question: str) -> bool:
    """True if a question asks for what holds at present, and names no year of its own."""
    return _CURRENT.search(question) is not None and not find_years(question)


def choose_time_words(question: str, since: int | None, until: int | None) -> str:
    """Return the words of time that a query for this question needs, "" if time does not matter (TRIPLET-18).

    Example:
        >>> temporal("Who runs the ferry?", 2019, 2019), temporal("Who runs the ferry?", 2019, None)
        ('2019', 'since 2019')
        >>> temporal("Who runs the ferry?", 2019, 2021), temporal("Who runs the ferry today?", None, None)
        ('2019 to 2021', 'latest')
    """
    if since is not None and until is not None:
        return str(since) if since == until else f"{since} to {until}"
    if since is not None or until is not None:
        return f"since {since}" if until is None else f"until {until}"
    return LATEST if asks_about_present(question) else ""


def has_time_words(query: str) -> bool:
    """True if a query holds a word of time already."""
    return bool(find_years(query)) or _CURRENT.search(query) is not None

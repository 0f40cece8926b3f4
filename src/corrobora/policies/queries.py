"""Overlap: how alike two texts are by their terms.

Knows stems of queries, task descriptions and sentences. Does not know meaning: a shared word is only a shared word.

Rewording: another query for the same want, made from words alone.

Knows terms of queries and how much of one must change. Does not know synonyms or meaning: what it adds are words that
were learned elsewhere, handed in by the caller, and at the last plain words of question.

Currency: whether the time of an answer matters, and the words of time that a query must then hold.

Knows questions, a period in years, and English words of recency. Does not know the clock: "latest" stands for today.

The rules of a round: which queries it asks, whatever an analyst proposed. `bind_intent` lists them in their order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from corrobora.domain.evidence import Query
from corrobora.domain.limits import LIMITS
from corrobora.domain.plan import Node
from corrobora.domain.thread import Escape, Intent, ScopeInput, ThreadState
from corrobora.policies.drift import must_reformulate
from corrobora.policies.retry import Strategy, choose_strategy
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


Queries = tuple[Query, ...]


def bind_intent(intent: Intent, given: ScopeInput, thread: ThreadState) -> Intent:
    """Return the analyst's intent with the queries that the rules allow and demand, applied in this order."""
    queries = cover_subject(intent.queries, given.forced_subject, intent.goal)
    queries = _replace_repeated(queries, given, thread)
    queries = _add_steering(queries, thread.steer)
    queries = fit_query_count(queries, given, intent.goal)
    queries = _retry_failed_question(queries, intent, given, thread)
    queries = _add_date(queries, given)
    if not given.forced_subject:
        return replace(intent, queries=queries)
    log = f"Subject {given.forced_subject} has received 0 dedicated search rounds. Forcing coverage."
    subjects = tuple(dict.fromkeys((given.forced_subject, *intent.subjects)))
    return replace(intent, queries=queries, subjects=subjects, forced=log)


def must_rescope(intent: Intent, given: ScopeInput, thread: ThreadState) -> bool:
    """True if half of the terms must change and no query of the intent does so.

    They must change where the escape says so, or after three results in a row that drifted (TRIPLET-32, TRIPLET-39).
    """
    changes = thread.escape is Escape.REFORMULATE or must_reformulate(thread)
    return changes and not any(is_reformulated(query.text, given.past_queries) for query in intent.queries)


def ensure_changed_query(intent: Intent, given: ScopeInput) -> Intent:
    """Put the query that changed enough first; if none did, change the first one by code."""
    new = tuple(query for query in intent.queries if is_reformulated(query.text, given.past_queries))
    if new:
        return replace(intent, queries=(*new, *(query for query in intent.queries if query not in new)))
    if not intent.queries:
        return intent
    learned = (*given.terms, *(part.text for part in given.open_questions), given.phase.goal)
    first = replace(intent.queries[0], text=reword_query(intent.queries[0].text, given.past_queries, learned))
    return replace(intent, queries=(first, *intent.queries[1:]), reasoning=f"{intent.reasoning} Reworded by code.")


def cover_subject(queries: Queries, name: str, goal: str) -> Queries:
    """Aim at a subject that has had no round past half of the budget, whatever the analyst chose (TRIPLET-16)."""
    if not name or _asks_for(queries, name):
        return queries
    first = queries[0] if queries else Query("", intent=goal)
    return (replace(first, text=f"{name} {first.text}".strip()), *queries[1:])


def _asks_for(queries: Queries, wanted: str) -> bool:
    stems = set(stem_text(wanted))
    return any(stems <= set(stem_text(query.text)) for query in queries)


def _replace_repeated(queries: Queries, given: ScopeInput, thread: ThreadState) -> Queries:
    """Never ask the same thing of the same place twice (TRIPLET-58); if nothing is left, reword the first query."""
    asked = {(fold_text(query.text), query.site) for done in thread.rounds for query in done.intent.queries}
    fresh = tuple(query for query in queries if (fold_text(query.text), query.site) not in asked)
    if fresh or not queries:
        return fresh
    return (replace(queries[0], text=reword_query(queries[0].text, given.past_queries, given.terms)),)


def _add_steering(queries: Queries, hint: str) -> Queries:
    """Ask what a person asked for between the rounds (ROUNDS-25), if the analyst did not."""
    if not stem_text(hint) or _asks_for(queries, hint):
        return queries
    return (Query(hint, intent="asked for by a person"), *queries)


def fit_query_count(queries: Queries, given: ScopeInput, goal: str) -> Queries:
    """Keep the number of queries within the phase: surplus ones are dropped, missing ones are added.

    Gaps come first, then open questions and what the planner suggested; where all of it was asked before, in new words.
    """
    found = list(queries[: max(1, given.phase.max_queries)])
    wanted = (
        *(gap.text.split(": ", 1)[-1] for gap in given.gaps),
        *(part.text for part in given.open_questions),
        *given.suggested,
        given.question,
    )
    while len(found) < given.phase.min_queries:
        past = (*given.past_queries, *(query.text for query in found))
        fresh = select_fresh_queries(wanted, past) or (
            reword_query(wanted[len(found) % len(wanted)], past, given.terms),
        )
        found.append(Query(fresh[0], intent=goal))
    return tuple(found)


def _retry_failed_question(queries: Queries, intent: Intent, given: ScopeInput, thread: ThreadState) -> Queries:
    """Ask for a sub-question that failed before by the fallback strategy of its attempt (TIMED-15)."""
    if thread.escape is not None or not thread.course.exhaust:
        return queries
    failed = next((q for q in thread.sub_questions if q.id in intent.targets and q.attempts), None)
    if failed is None:
        return queries
    extra = make_fallback_query(failed.text, choose_strategy(failed.attempts), given.terms)
    texts = add_query([query.text for query in queries], extra, thread.past_queries, most=given.phase.max_queries)
    known = {query.text: query for query in queries}
    return tuple(known.get(text) or Query(text, intent=failed.text) for text in texts)


def _add_date(queries: Queries, given: ScopeInput) -> Queries:
    """Name the time where it matters (TRIPLET-18): a period that is given, or "latest" where now is asked for.

    One query of a round does; the others may look for what has no date.
    """
    asked = " ".join((given.question, given.objective, *(part.text for part in given.open_questions)))
    words = choose_time_words(asked, given.focus_since, given.focus_until)
    if not words or not queries or any(has_time_words(query.text) for query in queries):
        return queries
    last = queries[-1]
    text = f"{last.text[: LIMITS.query_max_chars - len(words) - 1]} {words}"
    if is_reformulated(last.text, given.past_queries) and not is_reformulated(text, given.past_queries):
        return queries  # an escape that must change half of the terms comes first
    return (*queries[:-1], replace(last, text=text))

"""Queries: how the next query is worded, which provider answers it, and when a failed call is sent again.

Knows terms of queries, English words of recency, attempts, provider names and waiting times as values. Does not know
synonyms (new words are passed in), the clock ("latest" stands for today), random numbers or how to wait.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import count
from typing import Literal

from corrobora.domain.limits import LIMITS
from corrobora.domain.plan import SubQuestion
from corrobora.domain.thread import Phase, Proposal, ThreadState
from corrobora.text.quantities import find_years
from corrobora.text.questions import split_content_words
from corrobora.text.ranking import jaccard_similarity
from corrobora.text.tokens import fold_text, stem_text

DUPLICATE_SHARE = 0.8  # shared terms over all terms
REFORMULATED_SHARE = 0.5  # TRIPLET-32
MAX_THREAD_QUESTIONS = 7  # sub-questions that one thread can follow


def extract_terms(text: str) -> frozenset[str]:
    """Return the stems of a text; for a text of stop words only, its folded self."""
    found = frozenset(stem_text(text))
    return found or frozenset({fold_text(text).strip()} - {""})


def query_core(text: str) -> frozenset[str]:
    """Return what makes two queries the same search: their terms in any order, without words such as "latest"."""
    return frozenset(stem_text(_CURRENT.sub(" ", text))) or extract_terms(text)


def list_rewordings(query: str, angle: str) -> tuple[str, ...]:
    """Return a query and other wordings of it for one angle, to be taken in turn where another agent has asked it."""
    own = " ".join(dict.fromkeys((*query.split(), *angle.replace("-", " ").split())))
    return tuple(dict.fromkeys((query, own, *(f"{own} {word}" for word in GENERIC_WORDS))))


def compare_terms(one: str, other: str) -> float:
    """Return the Jaccard similarity of the terms of two texts; 1.0 for equal texts."""
    a, b = extract_terms(one), extract_terms(other)
    return jaccard_similarity(a, b) if a or b else 1.0


def is_near_duplicate(one: str, other: str) -> bool:
    """True if two queries would find the same."""
    return compare_terms(one, other) >= DUPLICATE_SHARE


def changed_share(query: str, past: Iterable[str]) -> float:
    """Return the smallest share of a query's terms that is new against any one past query; 1.0 without a past."""
    now = extract_terms(query)
    if not now:
        return 0.0
    return min((len(now - extract_terms(each)) / len(now) for each in past), default=1.0)


def is_reformulated(query: str, past: Iterable[str]) -> bool:
    """True if at least half of the terms changed against every past query (TRIPLET-32)."""
    return changed_share(query, past) >= REFORMULATED_SHARE


def select_fresh_queries(
    queries: Iterable[str], past: Iterable[str], *, share: float = DUPLICATE_SHARE
) -> tuple[str, ...]:
    """Return the queries that share fewer terms with each past one and with each other, in order."""
    seen = list(past)
    kept: list[str] = []
    for query in queries:
        if extract_terms(query) and not any(compare_terms(query, each) >= share for each in seen):
            kept.append(query)
            seen.append(query)
    return tuple(kept)


GENERIC_WORDS = (
    "explained meaning background causes effects examples figures records dates people places rules changes origin "
    "purpose methods results problems reasons comparison timeline account description statement source survey review "
    "guide summary report notes archive practice study experience answer"
).split()


def reword_query(query: str, past: Iterable[str], learned: Iterable[str] = ()) -> str:
    """Return a query of which at least half of the terms are new against every past query (TRIPLET-32).

    The longest words of `query` stay, and learned words come first among the new ones. The query is returned unchanged
    if it is new enough or if no unused word is left.
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
    """Return the query for the next attempt at a sub-question according to its strategy (TIMED-15).

    `broaden` uses the few longest words, `synonyms` the words of the sources; other strategies keep the question.
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
    """Add a query to those of a round, replacing the last one if there is no room; skip one that was asked before."""
    if not extra.strip() or any(is_near_duplicate(extra, each) for each in (*queries, *past)):
        return tuple(queries)
    return (*queries[: max(1, most - 1)], extra)


LATEST = "latest"
_CURRENT = re.compile(
    r"(?i)\b(?:latest|newest|most recent|recent(?:ly)?|current(?:ly)?|now(?:adays)?|today'?s?|"
    r"at present|presently|at the moment|as of now|so far|up[- ]to[- ]date|state[- ]of[- ]the[- ]art|"
    r"this (?:year|month|week)|these days|upcoming|ongoing|in force)\b"
)


def asks_about_present(question: str) -> bool:
    """True if a question asks about the present and names no year."""
    return _CURRENT.search(question) is not None and not find_years(question)


def choose_time_words(question: str, since: int | None, until: int | None) -> str:
    """Return the time words a query for this question needs, "" if time does not matter (TRIPLET-18).

    A period gives "2019", "2019 to 2021", "since 2019" or "until 2019"; a question about the present gives "latest".
    """
    if since is not None and until is not None:
        return str(since) if since == until else f"{since} to {until}"
    if since is not None or until is not None:
        return f"since {since}" if until is None else f"until {until}"
    return LATEST if asks_about_present(question) else ""


def has_time_words(query: str) -> bool:
    """True if a query already contains a year or a word of recency."""
    return bool(find_years(query)) or _CURRENT.search(query) is not None


MAX_SENDS = 3  # of one call, by the transport; not to be confused with attempts at a sub-question
BASE_SECONDS = 0.5

RETRY_EXHAUSTED = "#RETRY_EXHAUSTED"
PATH_DECISION = "#PATH_DECISION"  # a way was chosen, with the reason
COMPLETION_DRIVE = "#COMPLETION_DRIVE"  # an assumption was made to finish, with its risk

Strategy = Literal["as_asked", "broaden", "synonyms", "other_provider"]
FALLBACK_STRATEGIES: tuple[Strategy, ...] = ("as_asked", "broaden", "synonyms", "other_provider")


def compute_backoff(attempt: int, retry_after: float | None, remaining: float, *, jitter: float) -> float | None:
    """Return the seconds to wait before a call is sent again, or None to give up.

    `attempt` counts how often it was sent, `remaining` is the time left (`inf` without a limit), and `jitter` is a
    random number in [0, 1] drawn by the caller. A provider's request is honoured up to a minute; a negative one or one
    that is not a number is ignored (bad-input S15). A wait that leaves no time for the answer means giving up.
    """
    if attempt >= MAX_SENDS:
        return None
    share = min(1.0, max(0.0, jitter))
    own = min(LIMITS.retry_after_max_seconds, BASE_SECONDS * 2.0 ** max(0, attempt)) * (0.5 + 0.5 * share)
    asked = retry_after is not None and math.isfinite(retry_after) and retry_after >= 0
    wait = min(retry_after, LIMITS.retry_after_max_seconds) if asked and retry_after is not None else own
    return wait if wait < remaining else None


def attempt_number(sub_question: SubQuestion) -> int:
    """Return the number of the next attempt, from 1, as a sub-agent reports it (TIMED-16)."""
    return sub_question.attempts + 1


def is_exhausted(sub_question: SubQuestion, attempts: int) -> bool:
    """True if a sub-question has failed as often as the profile allows (TIMED-14: 3)."""
    return sub_question.attempts >= attempts


def choose_strategy(failed_attempts: int) -> Strategy:
    """Return what the next attempt does differently after so many failures (TIMED-15)."""
    return FALLBACK_STRATEGIES[min(max(0, failed_attempts), len(FALLBACK_STRATEGIES) - 1)]


LIBRARY_PROVIDER = "library"  # the provider name of the user's own documents
EVIDENCE_PROVIDER = "evidence"  # of what the run that a follow-up asks about has read


def choose_providers(phase: Phase, query_index: int, available: tuple[str, ...]) -> tuple[str, ...]:
    """Return the providers that answer one query of a phase, in order.

    `all` asks each provider, `alternate` one in turn by the query's index (ROUNDS-13), `fixed` the first of the phase's
    order that the run has. If the run lacks all of a phase's providers, it uses those it has: a missing key must not
    end the research (ROUNDS-12). The user's library is always asked as well, or passing one would have no effect.
    """
    order = _order_providers(phase, available)
    if not order:
        return ()
    beside = (LIBRARY_PROVIDER,) if LIBRARY_PROVIDER in available and LIBRARY_PROVIDER not in order else ()
    match phase.rotation:
        case "alternate":
            return (order[query_index % len(order)], *beside)
        case "fixed":
            return (*order[:1], *beside)
        case _:
            return (*order, *beside)


def list_other_providers(phase: Phase, used: tuple[str, ...], available: tuple[str, ...]) -> tuple[str, ...]:
    """Return the providers a failed query may still be sent to, the phase's own first (TIMED-19)."""
    order = tuple(dict.fromkeys((*_order_providers(phase, available), *available)))
    return tuple(name for name in order if name not in used)


def _order_providers(phase: Phase, available: tuple[str, ...]) -> tuple[str, ...]:
    wanted = tuple(name for name in phase.providers if name in available)
    return wanted or available


def list_unasked_queries(thread: ThreadState) -> tuple[str, ...]:
    """Return what the planner suggests and no round has asked, with or without terms that code adds."""
    asked = [frozenset(stem_text(query)) for query in thread.past_queries]
    return tuple(each for each in thread.suggested if not any(frozenset(stem_text(each)) <= past for past in asked))


def take_new_questions(thread: ThreadState, proposal: Proposal) -> ThreadState:
    """Add the sub-questions that an analyst found necessary, if a round is left and the thread has room for them."""
    known = {fold_text(each.text) for each in thread.sub_questions}
    fresh = [text for text in proposal.new_sub_questions if fold_text(text) not in known]
    if thread.number >= thread.course.max_rounds or not thread.sub_questions:
        return thread
    room = max(0, MAX_THREAD_QUESTIONS - len(thread.sub_questions))
    ids = (f"{thread.path.replace('root', 'new').replace('/', '-')}-{thread.number}.{at}" for at in count(1))
    added = tuple(SubQuestion(name, text) for name, text in zip(ids, fresh[:room], strict=False))
    return replace(thread, sub_questions=(*thread.sub_questions, *added))

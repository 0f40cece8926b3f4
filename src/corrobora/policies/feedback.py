"""Feedback: the names on which the best passages of several clauses agree.

"Which company pays to be the default, and is sued by a publisher?" speaks of one thing that it does not name. What
fits one clause best often names it, and so does what fits another: that name leads to passages that say the rest in
words of their own. Knows clauses, scores and capital letters. Does not know any index, nor who is meant.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from corrobora.policies.words import stem_text

# The response is flat around these (weight 0.2 to 0.4, two to four passages a clause): folds of all the public sets
# together chose these, and each set alone would have been served as well by the choice of the others.
MIN_FEEDBACK_CLAUSES = 3  # a question of fewer is mostly one that says what it is about; looking costs time
PASSAGES_PER_CLAUSE = 3  # passages that are looked at: the best of each clause ...
PASSAGES_OF_QUESTION = 3  # ... and the best of the question
MAX_FEEDBACK_NAMES = 6
FEEDBACK_WEIGHT = 0.2  # of the best score

_INNER_NAME = re.compile(r"(?<![.!?:] )(?<!^)\b[A-Z][\w'’-]+")  # a capital that does not open a sentence


class ScoredPassage(NamedTuple):
    """A passage that was looked at: whose it is, which clauses it fits best, its score, its text with the title."""

    document: str
    clauses: frozenset[int]
    score: float
    text: str


def select_feedback_passages(
    scores: Mapping[int, float], clauses: Sequence[Sequence[tuple[int, float]]]
) -> dict[int, frozenset[int]]:
    """Return the passages to look at with the clauses that each fits best, given the rankings of the clauses."""
    found: dict[int, frozenset[int]] = {}
    for number, ranked in enumerate(clauses):
        for id_, _ in ranked[:PASSAGES_PER_CLAUSE]:
            found[id_] = found.get(id_, frozenset[int]()) | {number}
    best = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:PASSAGES_OF_QUESTION]
    return {**dict.fromkeys((id_ for id_, _ in best), frozenset[int]()), **found}


def find_agreed_names(passages: Sequence[ScoredPassage], question: str) -> dict[str, float]:
    """Return the stems of the names on which passages agree, with their weights; at most six.

    Two clauses and two documents must agree on a name, and the question must not say it itself.
    """
    asked = frozenset(stem_text(question))
    best = max((passage.score for passage in passages), default=0.0)
    weights: dict[str, float] = {}
    clauses: dict[str, set[int]] = {}
    documents: dict[str, set[str]] = {}
    for passage in passages:
        for name in sorted(frozenset(stem_text(" ".join(_INNER_NAME.findall(passage.text)))) - asked):
            weights[name] = weights.get(name, 0.0) + (passage.score / best if best else 0.0)
            clauses.setdefault(name, set()).update(passage.clauses)
            documents.setdefault(name, set()).add(passage.document)
    shared = [name for name in weights if len(clauses[name]) > 1 and len(documents[name]) > 1]
    return {
        name: weights[name] for name in sorted(shared, key=lambda name: (-weights[name], name))[:MAX_FEEDBACK_NAMES]
    }


def apply_feedback(scores: Mapping[int, float], spoken: Mapping[int, float]) -> dict[int, float]:
    """Add to candidates what they say of the agreed names (`spoken`); nothing else becomes a candidate."""
    most = max((spoken.get(id_, 0.0) for id_ in scores), default=0.0)
    if most <= 0:
        return dict(scores)
    part = FEEDBACK_WEIGHT * max(scores.values())
    return {id_: score + part * (spoken.get(id_, 0.0) / most) for id_, score in scores.items()}

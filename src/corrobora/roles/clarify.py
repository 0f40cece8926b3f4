"""Clarify: from a question as asked to a brief that can be researched, or a refusal with reasons (TREE-2).

Knows one question and the dialogue so far. Does not know sources; never starts a run.
"""

from __future__ import annotations

from dataclasses import dataclass

from corrobora.domain.plan import Brief
from corrobora.ports import Role


@dataclass(frozen=True, slots=True)
class Asking:
    """A question with what was said about it so far."""

    path: str
    brief: Brief
    dialogue: tuple[str, ...] = ()  # "user: ..." and "manager: ..." in turn
    max_sub_questions: int = 7


@dataclass(frozen=True, slots=True)
class Scoping:
    """The clarified question. With `feasible` False nothing is planned: `reasons` and `narrower` go to the user.

    `queries` holds one feasible query, or the two or more sub-queries into which the question was split.
    """

    feasible: bool
    queries: tuple[Brief, ...]
    reasons: tuple[str, ...] = ()
    narrower: tuple[str, ...] = ()  # narrower questions to offer
    questions: tuple[str, ...] = ()  # what to ask the user back
    complexity_hint: str = ""  # simple | moderate | complex, by a heuristic, only a hint (ANGLES-4)


clarify: Role[Asking, Scoping] = Role("clarify", Asking, Scoping, "clarify", tier="lead")

"""The extractive analyst: all roles without a model, by classical retrieval and text analysis.

It knows which function plays which role. It does not know any model, journal, file, clock or network: the same input
always gives the same output, and every sentence of its reports stands in a source.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar, cast

from corrobora.analysts.extractive.clarify import clarify_question
from corrobora.analysts.extractive.extract import extract_quotes
from corrobora.analysts.extractive.judge import judge_draft, reflect_on_facts
from corrobora.analysts.extractive.plan import make_plan, refine_plan
from corrobora.analysts.extractive.scope import scope_round, shortlist_candidates
from corrobora.analysts.extractive.write import write_draft
from corrobora.domain.errors import RoleError
from corrobora.domain.report import Critique
from corrobora.domain.thread import ScopeInput
from corrobora.ports import Answer, Role
from corrobora.roles.clarify import Asking
from corrobora.roles.edit import Editing, Edits
from corrobora.roles.extract import Excerpt
from corrobora.roles.plan import Planning
from corrobora.roles.refine import Shortfall
from corrobora.roles.review import Confirming, Repairing, Reviewing, Revising, Revision, Rulings
from corrobora.roles.scope import Sweep
from corrobora.roles.synthesize import Learned, Material
from corrobora.text.tokens import tokenizer_fingerprint

I = TypeVar("I")  # noqa: E741 - input of a role, the letter of the design
O = TypeVar("O")  # noqa: E741 - output of a role

__all__ = ["ExtractiveAnalyst"]

VERSION = 26  # raise it when an answer changes: it is part of every journal key


class ExtractiveAnalyst:
    """The analyst without a model: the default, the baseline of benchmarks, the last fallback (ENGINE-3)."""

    name = "extractive"

    def identity(self, role: Role[I, O]) -> str:
        """Name this analyst's version and its tokenizer for the journal key."""
        return f"{self.name}-{VERSION}/{role.prompt}/{tokenizer_fingerprint()}"

    async def play(self, role: Role[I, O], given: I) -> Answer[O]:
        """Play `role` at once. Raises `RoleError` if the input is none of the roles' inputs."""
        return Answer(cast("O", _play_role(role.name, given)), analyst=self.name)


def _play_role(role: str, given: object) -> object:  # noqa: C901, PLR0911, PLR0912 - one case and one return for each role
    """Return the role's output. Two roles share the input `Reviewing`: the name tells them apart."""
    match given:
        case Asking():
            return clarify_question(given)
        case Planning():
            return make_plan(given)
        case Shortfall():
            return refine_plan(given)
        case ScopeInput():
            return scope_round(given)
        case Sweep():
            return shortlist_candidates(given)
        case Excerpt():
            parts = [replace(extract_quotes(each), source=each.source) for each in given.documents]
            return replace(parts[0], beside=tuple(parts[1:]))
        case Learned():
            return reflect_on_facts(given)
        case Material():
            return write_draft(given)
        case Confirming():
            return Rulings((None,) * len(given.doubts))  # code could not decide: nor can the same code here
        case Editing():
            return Edits((), "no language model gave an answer that could be used")
        case Reviewing():
            return judge_draft(given) if role == "judge" else Critique((), "no language model criticizes the draft")
        case Revising() | Repairing():
            return Revision()  # it says what its quotes say
        case _:
            raise RoleError(
                "role_unknown",
                f"extractive analyst: role {role!r} was given {type(given).__name__}; "
                "it plays the roles of corrobora.roles only.",
            )

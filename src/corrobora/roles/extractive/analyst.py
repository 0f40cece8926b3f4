"""ExtractiveAnalyst: plays every role by pure functions of its input.

Knows which function plays which role. Does not know sessions, journals or models; it costs nothing and never waits.
"""

from __future__ import annotations

from typing import TypeVar, cast

from corrobora.domain.errors import RoleError
from corrobora.domain.thread import Needs
from corrobora.policies.words import fingerprint
from corrobora.ports import Answer, Role
from corrobora.roles.clarify import Asking
from corrobora.roles.critique import Reviewing
from corrobora.roles.extract import Excerpt
from corrobora.roles.extractive.clarify import clarified
from corrobora.roles.extractive.extract import extracted
from corrobora.roles.extractive.plan import planned, refined
from corrobora.roles.extractive.reflect import reflected
from corrobora.roles.extractive.review import criticized, judged, revised
from corrobora.roles.extractive.scope import scoped
from corrobora.roles.extractive.scout import shortlisted
from corrobora.roles.extractive.write import written
from corrobora.roles.plan import Planning
from corrobora.roles.refine import Shortfall
from corrobora.roles.reflect import Learned
from corrobora.roles.revise import Revising
from corrobora.roles.scout import Sweep
from corrobora.roles.synthesize import Material

I = TypeVar("I")  # noqa: E741 - input of a role, the letter of the design
O = TypeVar("O")  # noqa: E741 - output of a role

VERSION = 2  # raise it when an answer changes: it is part of every journal key


class ExtractiveAnalyst:
    """The analyst without a model: the keyless default, the baseline of benchmarks, the last fall-back (DESIGN 3)."""

    name = "extractive"

    def identity(self, role: Role[I, O]) -> str:
        """Name this analyst's version and its tokenizer for the journal key."""
        return f"{self.name}-{VERSION}/{role.prompt}/{fingerprint()}"

    async def play(self, role: Role[I, O], given: I) -> Answer[O]:
        """Play `role` at once. Raises `RoleError` if the input is none of the ten roles' inputs."""
        return Answer(cast("O", _value(role.name, given)), analyst=self.name)


def _value(role: str, given: object) -> object:  # noqa: C901, PLR0911 - one case and one return for each role
    """Return the role's output. Two roles share the input `Reviewing`: the name tells them apart."""
    match given:
        case Asking():
            return clarified(given)
        case Planning():
            return planned(given)
        case Shortfall():
            return refined(given)
        case Needs():
            return scoped(given)
        case Sweep():
            return shortlisted(given)
        case Excerpt():
            return extracted(given)
        case Learned():
            return reflected(given)
        case Material():
            return written(given)
        case Reviewing():
            return judged(given) if role == "judge" else criticized(given)
        case Revising():
            return revised(given)
        case _:
            raise RoleError(
                "role_unknown",
                f"extractive analyst: role {role!r} was given {type(given).__name__}; "
                "it plays the ten roles of corrobora.roles only.",
            )

"""The chain: analysts in order of preference, as one analyst.

Knows whose turn it is after a failure that no second try mends. Does not retry, and does not hide who answered: the
answer names its analyst and carries what the failed ones cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from corrobora.domain.errors import CorroboraError, ProviderError, RoleError
from corrobora.domain.limits import Usage
from corrobora.ports import Analyst, Answer, Role

I = TypeVar("I")  # noqa: E741 - input of a role, the letter of the design
O = TypeVar("O")  # noqa: E741 - output of a role


class FallbackChain:
    """Tries analysts in order: falls on permanent errors and unusable output, hands retryable ones to the caller.

    Put an analyst that needs no model last, and the chain always answers. With `impatient` retryable errors fall, too:
    for callers that do not retry.
    """

    def __init__(self, analysts: Sequence[Analyst], *, name: str = "", impatient: bool = False) -> None:
        if not analysts:
            message = "a chain needs at least one analyst"
            raise ValueError(message)
        self._analysts = tuple(analysts)
        self._impatient = impatient
        self.name = name or " > ".join(analyst.name for analyst in analysts)

    def identity(self, role: Role[I, O]) -> str:
        """Name every analyst that may answer: two chains never share answers by accident."""
        return " > ".join(analyst.identity(role) for analyst in self._analysts)

    async def play(self, role: Role[I, O], given: I) -> Answer[O]:
        """Play `role` with the first analyst that can. Raises what the last one raised, with the cost of all."""
        spent = Usage()
        for analyst in self._analysts[:-1]:
            try:
                answer = await analyst.play(role, given)
            except (ProviderError, RoleError) as error:
                if self._waits(error):
                    error.usage += spent
                    raise
                spent += error.usage
                continue
            return replace(answer, usage=answer.usage + spent)
        try:
            answer = await self._analysts[-1].play(role, given)
        except CorroboraError as error:
            error.usage += spent
            raise
        return replace(answer, usage=answer.usage + spent)

    def _waits(self, error: CorroboraError) -> bool:
        return isinstance(error, ProviderError) and error.retryable and not self._impatient

"""A scripted analyst: plays roles from a table or a function, and remembers what it was asked.

Knows roles by name. Does not know models. Use it to test a profile, a policy or an engine without any model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from corrobora.domain.errors import RoleError
from corrobora.domain.limits import Usage
from corrobora.ports import Answer, Role

I = TypeVar("I")  # noqa: E741 - input of a role, the letter of the design
O = TypeVar("O")  # noqa: E741 - output of a role

ScriptLine = object | Exception | Callable[[Any], object]  # a value, an error to raise, or a function of the input


@dataclass(slots=True)
class ScriptedAnalyst:
    """Plays `script`: prompt name (`extract`, `refine`, ...) -> a line, or a list of lines played one after the other.

    A line is the role's output, an exception to raise, or a function of the role's input that returns either. The last
    line of a list repeats. A role without a line raises `RoleError` `not_scripted`. `played` lists what was asked.

    Example:
        analyst = ScriptedAnalyst({"critique": Critique(), "judge": [RoleError("refusal", "no"), verdict]})
    """

    script: Mapping[str, ScriptLine | Sequence[ScriptLine]]
    name: str = "scripted"
    usage: Usage = Usage(calls=1)
    played: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])
    _turns: dict[str, int] = field(default_factory=dict[str, int])

    def identity(self, role: Role[I, O]) -> str:
        """Name the script and the role."""
        return f"{self.name}/{role.prompt}"

    async def play(self, role: Role[I, O], given: I) -> Answer[O]:
        """Play the next line of the role."""
        self.played.append((role.prompt, given))
        if role.prompt not in self.script:
            raise RoleError("not_scripted", f"The script has no line for {role.prompt}.")
        line = self._next_line(role.prompt, self.script[role.prompt])
        value = line(given) if callable(line) and not isinstance(line, type) else line
        if isinstance(value, Exception):
            raise value
        return Answer(cast("O", value), self.usage, self.name, self.name)

    def _next_line(self, role: str, lines: ScriptLine | Sequence[ScriptLine]) -> Any:
        if not isinstance(lines, list | tuple):
            return lines
        rows = cast("Sequence[ScriptLine]", lines)
        turn = self._turns.get(role, 0)
        self._turns[role] = turn + 1
        return rows[min(turn, len(rows) - 1)]

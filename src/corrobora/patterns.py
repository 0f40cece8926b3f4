"""Regular expressions that are compiled when they are first used. Stands for the module `re` in all of the program.

Compiling all patterns took a quarter of what importing the program costs, and a command uses a third of them.
"""

from __future__ import annotations

import re
from functools import cached_property
from re import (
    ASCII,
    DOTALL,
    IGNORECASE,
    MULTILINE,
    VERBOSE,
    Match,
    Pattern,
    escape,
    findall,
    finditer,
    fullmatch,
    match,
    search,
    split,
    sub,
)
from typing import Any, AnyStr, Generic, cast

__all__ = ["ASCII", "DOTALL", "IGNORECASE", "MULTILINE", "VERBOSE", "Match", "Pattern", "compile", "escape"]
__all__ += ["findall", "finditer", "fullmatch", "match", "search", "split", "sub"]


class _Later(Generic[AnyStr]):
    """A pattern that gets each attribute of a compiled one when it is first asked for."""

    def __init__(self, pattern: AnyStr, flags: int) -> None:
        self.pattern = pattern
        self._given = flags

    @cached_property
    def _compiled(self) -> Pattern[AnyStr]:
        return re.compile(self.pattern, self._given)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = self.__dict__[name] = getattr(self._compiled, name)
        return value


def compile(pattern: AnyStr, flags: int = 0) -> Pattern[AnyStr]:  # noqa: A001 - the name that it has in `re`
    """Return a pattern that is compiled later. One that is broken is told then: a test uses all of them."""
    return cast("Pattern[AnyStr]", _Later(pattern, flags))

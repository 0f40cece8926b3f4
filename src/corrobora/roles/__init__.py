"""The roles: typed functions that an analyst plays.

A file holds one role, or a few that share their input: the input, the output, the form that a language model fills in,
how the form becomes the output, an example input, and the `Role` value itself; its prompt lies in `prompts/`. Knows
types and prompts. Does not know who plays a role, nor when.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from typing import Any, cast

from corrobora.ports import Role


@functools.cache
def find_roles() -> tuple[Role[Any, Any], ...]:
    """Return the roles that the modules of this package define, by module."""
    names = sorted(each.name for each in pkgutil.iter_modules(__path__) if not each.ispkg)
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    values: list[object] = [value for module in modules for value in vars(module).values()]
    roles = cast("list[Role[Any, Any]]", [value for value in values if isinstance(value, Role)])
    return tuple({role.prompt: role for role in roles}.values())

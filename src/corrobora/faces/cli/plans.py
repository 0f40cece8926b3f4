"""The plan gate on a terminal: the plan as text, and the words of the person.

Knows how a plan is shown and asked about. Does not decide: only the words typed here, or `corrobora authorize`, count.
"""

from __future__ import annotations

import contextlib
import select
import sys
from collections.abc import Iterator, Mapping
from typing import cast

from corrobora.domain.events import Event
from corrobora.faces.cli.screen import text_field
from corrobora.faces.cli.terminal import one_line, write_stderr

_MAX_NODES = 80
_STEP_SECONDS = 0.2


def plan_lines(data: Mapping[str, object]) -> list[str]:
    """Return a plan, as its event tells it, as indented lines."""
    nested = data.get("plan")
    plan = cast("Mapping[str, object]", nested) if isinstance(nested, Mapping) else data
    root = plan.get("root")
    if not isinstance(root, Mapping):
        return []
    lines = list(_node_lines(cast("Mapping[str, object]", root), 0))
    hidden = len(lines) - _MAX_NODES
    return lines if hidden <= 0 else [*lines[:_MAX_NODES], f"  and {hidden} more lines"]


def _node_lines(node: Mapping[str, object], depth: int) -> Iterator[str]:
    mark = "▣" if node.get("children") else "•"
    yield "  " * depth + f"{mark} {one_line(text_field(node, 'title', 'objective'), 120)}"
    for question in _child_objects(node, "sub_questions"):
        yield "  " * (depth + 1) + f"? {one_line(text_field(question, 'text'), 120)}"
    for child in _child_objects(node, "children"):
        yield from _node_lines(child, depth + 1)


def _child_objects(node: Mapping[str, object], name: str) -> list[Mapping[str, object]]:
    value = node.get(name)
    if not isinstance(value, (list, tuple)):
        return []
    return [cast("Mapping[str, object]", item) for item in cast("list[object]", value) if isinstance(item, Mapping)]


def _read_typed_line() -> str:
    """Return a line from the terminal.

    Waited for in steps: a Ctrl-C that comes in the moment before a read blocks is otherwise seen only after the read.
    """
    with contextlib.suppress(OSError, ValueError):  # where a terminal cannot be waited for
        while not select.select([sys.stdin], [], [], _STEP_SECONDS)[0]:
            pass
    return sys.stdin.readline()


def ask_authorization(event: Event | None, phrase: str) -> str:
    """Show the plan on stderr and return what the person typed: the phrase authorizes, anything else does not.

    An empty line, `q`, Ctrl-C or the end of the input leaves the plan waiting.
    """
    data: Mapping[str, object] = event.data if event is not None else {}
    for line in plan_lines(data):
        write_stderr(line)
    write_stderr(f'Type "{phrase}" to run this plan; an empty line leaves it waiting.')
    while True:
        try:
            typed = _read_typed_line()
        except KeyboardInterrupt:
            return ""
        given = typed.strip()
        if not typed or given in ("", "q", "quit"):
            return ""
        if given.casefold() == phrase.casefold():
            return given
        write_stderr(f'Not authorized. Type exactly "{phrase}", or an empty line.')

"""A count and its noun: "1 source", "2 sources", and through one function everywhere."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from corrobora.text.phrases import format_count

SRC = Path(__file__).resolve().parents[3] / "src" / "corrobora"


def test_one_is_singular_and_nothing_is_plural() -> None:
    assert [format_count(n, "search", "searches") for n in (0, 1, 2)] == ["0 searches", "1 search", "2 searches"]


# Counts that are never one, with the reason.
NEVER_ONE = {
    ("analysts/extractive/clarify.py", "len(texts)"): "more than the limit of parts",
    ("app/dialogues.py", "many"): "one query is told in other words",
    ("app/libraries.py", "run[0]"): "a name before a verb",
    ("app/models.py", "reader"): "a name before a verb",
}
READ_BY_MODELS = ("roles", "testing", "analysts/language_model")  # prompts and scripted answers, seen by no person


def _list_counted_nouns() -> str:
    """Return a pattern of every noun that some text is known to count, in the plural."""
    found: set[str] = set()
    for tree in map(_parse_source, sorted(SRC.rglob("*.py"))):
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            nouns = [str(arg.value) for arg in call.args[1:] if isinstance(arg, ast.Constant)]
            if nouns and ast.unparse(call.func).endswith("format_count"):
                words = (nouns[1] if len(nouns) > 1 else f"{nouns[0]}s").split()
                found |= {word for word in words if len(word) > 3 and word.endswith("s")}
    return "|".join(sorted(found))


@cache
def _parse_source(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def _iter_bare_counts(tree: ast.Module, counted: re.Pattern[str]) -> Iterator[str]:
    """Yield each value of a text before a noun in the plural; "3 of 4 sources" may stay, and what is a setting."""
    for text in (node.values for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)):
        for before, value, after in zip([None, *text], text, text[1:], strict=False):
            if not (isinstance(value, ast.FormattedValue) and isinstance(after, ast.Constant)) or value.format_spec:
                continue
            name = ast.unparse(value.value)
            share = isinstance(before, ast.Constant) and str(before.value).endswith((" of ", "more than "))
            fixed = name.rsplit(".", 1)[-1].isupper() or "limits." in name or name.startswith("format_count")
            if counted.match(str(after.value)) and not share and not fixed:
                yield name


def test_a_count_stands_with_its_noun_through_one_function() -> None:
    counted = re.compile(rf" (?:(?:more|new|other|different|confirming|[A-Z]{{3,}}) )?(?:{_list_counted_nouns()})\b")
    bare = [
        (name, value)
        for path in sorted(SRC.rglob("*.py"))
        if not (name := str(path.relative_to(SRC))).startswith(READ_BY_MODELS)
        for value in _iter_bare_counts(_parse_source(path), counted)
    ]
    assert not set(bare) - set(NEVER_ONE), "a count of one would read '1 sources': use phrases.format_count"
    assert not set(NEVER_ONE) - set(bare), "these exceptions are not needed any more"

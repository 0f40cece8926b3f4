"""JSON: values below the names of what holds them, and notebooks as their reader sees them; strings say what they mean.

Knows JSON, JSON Lines and the cells of Jupyter notebooks. A value is written once, its escapes resolved; brackets and
quotation marks are left out. What is no JSON is read as plain text. Does not know schemas. Runs in the parser's
process.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from corrobora.adapters.readers import TextWriter, decode_text, read_text
from corrobora.adapters.readers.markup import write_markdown
from corrobora.domain.limits import LIMITS
from corrobora.ports import ParsedDocument

_LEVELS = 6  # of headings
_NAMES = ("title", "name", "id", "key")  # by which an object in a list is called

Object = Mapping[str, object]


def read_json(data: bytes, charset: str = "") -> ParsedDocument:
    """Return the values of a JSON document, of JSON Lines or of a notebook. Raises `ReadError` if it is no text."""
    text = decode_text(data, charset)
    writer = TextWriter()
    try:
        value = _load_json(text)
        about = _as_object(value)
        if "nbformat" in about and _as_list(about.get("cells")):
            _write_notebook(about, writer)
            return writer.build_parsed()
        _write_value(value, "", writer, 1)
    except (ValueError, RecursionError):
        return read_text(data, charset)
    title = about.get("title")
    return replace(writer.build_parsed(), title=" ".join(title.split()) if isinstance(title, str) else "")


def _load_json(text: str) -> object:
    try:
        return json.loads(text, strict=False)
    except ValueError:
        lines: list[object] = [json.loads(line, strict=False) for line in text.split("\n") if line.strip()]
        if not all(map(_holds_others, lines)):
            raise
        return lines


def _as_object(value: object) -> Object:
    return cast("Object", value) if isinstance(value, dict) else {}


def _as_list(value: object) -> Sequence[object]:
    return cast("Sequence[object]", value) if isinstance(value, list) else ()


def _holds_others(value: object) -> bool:
    return isinstance(value, dict | list)


def _write_value(value: object, name: str, writer: TextWriter, depth: int) -> None:
    """Write a value; what an object or a list holds stands below its name, plain values first."""
    if depth > LIMITS.json_max_depth or not _holds_others(value):
        said = json.dumps(value, ensure_ascii=False) if _holds_others(value) else _plain_text(value)
        writer.add_block(f"{name}: {said}" if name and said else said, tight=bool(name))
        return
    if name:
        writer.add_heading(name, min(depth - 1, _LEVELS))
    known, held = _as_object(value), _as_list(value)
    for key in sorted(known, key=lambda key: _holds_others(known[key])):
        _write_value(known[key], key, writer, depth + 1)
    rows = list(map(_as_object, held)) if all(isinstance(each, dict) for each in held) else []
    if len(rows) == len(held) and not any(_holds_others(each) for row in rows for each in row.values()):
        heads = list(dict.fromkeys(key for row in rows for key in row))
        writer.add_rows([[_plain_text(row.get(head)) for head in heads] for row in rows], heads)
        return
    for at, each in enumerate(held, start=1):
        if _holds_others(each):
            _write_value(each, _name_object(_as_object(each)) or f"{name} {at}".strip(), writer, depth + 1)
        else:
            writer.add_block(f"- {_plain_text(each)}", tight=True)


def _name_object(known: Object) -> str:
    names = (known.get(key) for key in _NAMES)
    return next((name for name in names if isinstance(name, str) and name.strip()), "")


def _plain_text(value: object) -> str:
    if isinstance(value, str):
        return "\n".join(value.splitlines())
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _write_notebook(notebook: Object, writer: TextWriter) -> None:
    """Write the cells of a notebook: Markdown as such, code and what it printed as they are."""
    for cell in map(_as_object, _as_list(notebook.get("cells"))):
        source = _join_lines(cell.get("source"))
        if cell.get("cell_type") == "markdown":
            write_markdown(source, writer)
            continue
        writer.add_verbatim(source)
        for output in map(_as_object, _as_list(cell.get("outputs"))):
            writer.add_verbatim(_join_lines(output.get("text") or _as_object(output.get("data")).get("text/plain")))


def _join_lines(value: object) -> str:
    """Return a text that is written as one string or as a list of lines."""
    return _plain_text("".join(each for each in _as_list(value) or (value,) if isinstance(each, str)))

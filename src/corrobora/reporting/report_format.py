"""Form: the format rules of a report, kept by code whoever wrote it (TIMED-33).

Knows lines of Markdown: headings, lists, rules. Does not know what is said, and never changes a word of a sentence.
"""

from __future__ import annotations

import re

_HEADING = re.compile(r"^(#{1,6})\s+(.*\S)\s*$")
_ITEM = re.compile(r"^(\s*)(?:[-*+]|\d{1,3}[.)])\s+(.*)$")
_SOURCE_LIST = re.compile(
    r"(?i)^(?:references?|sources?|bibliography|works cited|citations|further reading|methodology|methods?)\W*$"
)
_FENCE = "```"


def format_report_body(body: str) -> str:
    """Return the body by the rules of form.

    It opens with text and not with a heading; sections are `##`, parts of them `###`; lists are flat; a list of
    one item is a sentence; there is no list of sources and no section on methods of the writer's own, because code
    adds them.
    """
    lines = _flatten_lists(_normalize_headings(_drop_source_lists(body.strip().split("\n"))))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(_open_with_text(lines))).strip()


def find_format_faults(body: str) -> tuple[str, ...]:
    """Name the rules of form that a body breaks; empty for every body that `formed` returned."""
    lines = [line for line in body.split("\n") if line.strip()]
    heads = [match for line in lines if (match := _HEADING.match(line))]
    found = {
        "it opens with a heading": bool(lines) and _HEADING.match(lines[0]) is not None,
        "a heading is not of level 2 or 3": any(len(match[1]) not in (2, 3) for match in heads),
        "it lists sources or methods itself": any(_SOURCE_LIST.match(match[2]) for match in heads),
        "a list is nested": any(match[1] for line in lines if (match := _ITEM.match(line))),
    }
    return tuple(name for name, broken in found.items() if broken)


def _drop_source_lists(lines: list[str]) -> list[str]:
    kept: list[str] = []
    inside = 0  # level of the heading whose section is dropped
    for line in lines:
        match = _HEADING.match(line)
        if match is not None:
            if inside and len(match[1]) > inside:
                continue
            inside = len(match[1]) if _SOURCE_LIST.match(match[2]) else 0
        if not inside:
            kept.append(line)
    return kept


def _normalize_headings(lines: list[str]) -> list[str]:
    return [
        f"{'##' if len(match[1]) <= 2 else '###'} {match[2]}" if (match := _HEADING.match(line)) else line  # noqa: PLR2004 - levels
        for line in lines
    ]


def _flatten_lists(lines: list[str]) -> list[str]:
    """Take the indent from list items, and the bullet from an item that stands alone; fences are not touched."""
    kept: list[str] = []
    fenced = False
    for line in lines:
        fenced ^= line.lstrip().startswith(_FENCE)
        kept.append(line.lstrip() if not fenced and _ITEM.match(line) else line)
    alone = [
        n
        for n in range(len(kept))
        if _is_list_item(kept, n) and not _is_list_item(kept, n - 1) and not _is_list_item(kept, n + 1)
    ]
    return [_ITEM.sub(r"\2", line) if n in alone else line for n, line in enumerate(kept)]


def _is_list_item(lines: list[str], at: int) -> bool:
    return 0 <= at < len(lines) and _ITEM.match(lines[at]) is not None


def _open_with_text(lines: list[str]) -> list[str]:
    """Let the body open with its first statements as a paragraph, without a heading above them."""
    at = next((n for n, line in enumerate(lines) if line.strip()), len(lines))
    if at == len(lines) or _HEADING.match(lines[at]) is None:
        return lines
    end = next((n for n in range(at + 1, len(lines)) if _HEADING.match(lines[n])), len(lines))
    opening = [line for line in lines[at + 1 : end] if line.strip()]
    if not opening:  # a heading with parts of its own: it becomes a line of text
        name = _HEADING.match(lines[at])
        return [f"**{name[2] if name else ''}**", "", *lines[at + 1 :]]
    if not all(_ITEM.match(line) for line in opening):
        return [*lines[at + 1 :]]
    said = [match[2] for line in opening if (match := _ITEM.match(line))]
    return [" ".join(said), "", *lines[end:]]

"""Drafts: the cited sentences of a Markdown draft, wherever they stand in it.

Knows lines, headings, lists, tables and markers. Does not know what is true; works on any analyst's draft.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from corrobora.policies.markup import strip_markup
from corrobora.policies.phrases import is_written_by_code
from corrobora.policies.sentences import split_sentences
from corrobora.policies.words import stem_text

MARKER = re.compile(r"\[(S\d+:C\d+)\]")
_WITH_SPACE = re.compile(r"\s?\[S\d+:C\d+\]")
_MARKERS_AFTER = re.compile(r"([.!?][\"'”’)]?)((?:\s?\[S\d+:C\d+\])+)")
_RULE = re.compile(r"^\s*(?:-{3,}|\|[\s:|-]+\|)\s*$")


@dataclass(frozen=True, slots=True)
class DraftSentence:
    """One sentence of a draft: its line, its words without markers, its markers."""

    line: int
    start: int  # in its line
    end: int
    text: str
    markers: tuple[str, ...]
    section: str
    cell: bool = False  # it stands in a table, where a comparison repeats what the text says


def heading_text(line: str) -> str:
    """Return the text of a heading line, "" for any other line."""
    return line.lstrip("#").strip() if line.startswith("#") else ""


def parse_sentences(body: str) -> tuple[DraftSentence, ...]:
    """Return the sentences of a draft in order; headings, rules and code's own wordings are none."""
    found: list[DraftSentence] = []
    section = ""
    table = False
    for number, line in enumerate(body.splitlines()):
        if heading_text(line):
            section = heading_text(line)
            continue
        if not line.strip() or _RULE.match(line):
            table = table and bool(line.strip())
            continue
        if line.startswith("**") and line.endswith("**") and not MARKER.search(line):
            continue  # the label of a group
        if is_written_by_code(line) and not MARKER.search(line):
            continue  # a gap may be told in several sentences
        if line.lstrip().startswith("|"):
            if table:
                found += _parse_cells(line, number, section)
            table = True
            continue
        table = False
        found += _split_sentences(line, number, section, 0)
    return tuple(found)


def _parse_cells(line: str, number: int, section: str) -> list[DraftSentence]:
    found: list[DraftSentence] = []
    at = 0
    for cell in re.split(r"(?<!\\)\|", line):
        if MARKER.search(cell):
            said = [replace(one, cell=True) for one in _split_sentences(cell, number, section, at)]
            ends = not any(one.markers for one in said[:-1])  # a cell that cites only at its end cites for all of it
            found += [replace(one, markers=tuple(MARKER.findall(cell))) for one in said] if ends else said
        at += len(cell) + 1
    return found


def _split_sentences(text: str, number: int, section: str, shift: int) -> list[DraftSentence]:
    """Split a line; markers after the full stop belong to the sentence before it, so they are read inside it."""
    moved = _MARKERS_AFTER.sub(lambda m: f"{m.group(2)}{m.group(1)}", text)
    found: list[DraftSentence] = []
    for span in split_sentences(moved):
        piece = moved[span.start : span.end]
        words = strip_markup(_WITH_SPACE.sub("", piece))
        if not stem_text(words) or is_written_by_code(words):
            continue
        found.append(
            DraftSentence(number, shift + span.start, shift + span.end, words, tuple(MARKER.findall(piece)), section)
        )
    return found

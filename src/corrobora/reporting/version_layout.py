"""The layout of an edited report: the sections of code written anew, all else as it stands.

Knows which sections code writes and how each is written. Does not know edits.
"""

from __future__ import annotations

import re

from corrobora.domain.report import Report
from corrobora.reporting.edits import Document
from corrobora.reporting.markdown import escape_markdown, is_heading
from corrobora.reporting.render import render_account, render_methodology, render_sources, render_status
from corrobora.text import phrases
from corrobora.text.frames import find_frame
from corrobora.text.tokens import sanitize_text


def lay_out_version(report: Report, document: Document) -> str:
    """Return the Markdown of a version: the sections of code anew, all else as it stands."""
    frame = find_frame(report.language, report.translation)
    status = re.compile(r"(?m)^\*(?!\*).*\*$")  # the first line in italics
    head = status.sub(lambda _: f"*{_escape_text(render_status(report, frame))}*", document.head, count=1)
    methodology, account, sources = (
        f"## {frame.translate(title)}" for title in ("Methodology", phrases.ACCOUNT, "Sources")
    )
    anew = {
        methodology: _add_note(_find_section(document.tail, methodology), render_methodology(report, frame)),
        account: render_account(report, frame),
        sources: render_sources(report.citations, frame),
    }
    blocks = [document.tail.partition("\n## ")[0]]
    for section in _split_sections(document.tail):
        title = section.partition("\n")[0]
        text = _escape_text(anew[title]) if title in anew else section.rstrip("\n")
        blocks += [f"\n{text}\n"] if text else []
    return f"{head}{document.body}{''.join(blocks)}".rstrip("\n") + "\n"


def _split_sections(tail: str) -> list[str]:
    lines = tail.split("\n")
    starts = [at for at, line in enumerate(lines) if line.startswith("## ") and is_heading(line)]
    return ["\n".join(lines[start:end]) for start, end in zip(starts, [*starts[1:], len(lines)], strict=True)]


def _find_section(tail: str, title: str) -> str:
    return next((each for each in _split_sections(tail) if each.partition("\n")[0] == title), "")


def _add_note(old: str, new: str) -> str:
    """Return the methodology as it stands, with the last line of the new one: the note on this version."""
    return f"{old.rstrip()}\n{new.rstrip().rpartition(chr(10))[2]}" if old else ""


def _escape_text(text: str) -> str:
    return sanitize_text(escape_markdown(text))

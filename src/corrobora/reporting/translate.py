"""Translation of what code wrote into the body of a report, and the language that a run was asked for.

Knows how to tell lines of code from those of a writer. Does not know how the sections that code adds are laid out.
"""

from __future__ import annotations

import re

from corrobora.domain.run import Request, RequestOption
from corrobora.reporting.markdown import is_row, is_rule, split_cells
from corrobora.text import phrases
from corrobora.text.frames import Frame, find_frame

_NOTE = re.compile(r"\*(\[One (?:sentence|cell) withheld): (.*?)\.\]\*")
_LABEL = re.compile(rf"\*\(({'|'.join(phrases.LABELS)})\)\*")
_LEADING = re.compile(r"(?:#{1,6}\s(?:\d+\.\s)?|[-*]\s)?(?:\*\*)?")
_NUMBERED = re.compile(r"\[\d{1,5}\]")


def read_frame(request: Request) -> Frame:
    """Return the texts of code for the language that a report was asked for in."""
    tag, translation = (request.get_option(name) for name in (RequestOption.LANGUAGE, RequestOption.TRANSLATION))
    return find_frame(tag, translation)


def translate_body(body: str, frame: Frame) -> str:
    """Return a checked body with the texts of code in the language of the frame; sentences of the writer stay.

    Of code are headings, cells, lines without a citation that begin with a fixed wording, labels behind sentences, and
    the notes in the place of withheld ones.
    """
    return "\n".join(_translate_line(line, frame) for line in body.split("\n")) if frame.texts else body


def _translate_line(line: str, frame: Frame) -> str:
    say = frame.translate
    if not line.strip() or line.startswith(">"):
        return line
    line = _LABEL.sub(lambda label: f"*({say(label[1])})*", line)
    line = _NOTE.sub(lambda note: f"*{say(note[1])}: {say(note[2])}.]*", line)
    if _NUMBERED.search(line):
        return line
    if is_row(line):
        return line if is_rule(line) else f"| {' | '.join(frame.texts.get(cell, cell) for cell in _split_row(line))} |"
    lead = _LEADING.match(line)
    start = lead.end() if lead else 0
    text, bold = line[start:].removesuffix("**"), "**" if line[start:].endswith("**") else ""
    fixed = line.startswith("#") or text in frame.texts or phrases.is_written_by_code(text)
    return f"{line[:start]}{say(text)}{bold}" if fixed and not text.startswith("[") else line


def _split_row(line: str) -> list[str]:
    return [cell.replace("|", "\\|") for cell in split_cells(line)]

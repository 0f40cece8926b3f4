"""The form of a delivered report: the format rules for every writer's text (TIMED-33), its files and its language.

Knows lines of Markdown, headings and lists, and never changes a word of a sentence. Takes keys and unstated addresses
out of what a writer wrote. Does not know the content.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from corrobora.domain.report import Findings, SentenceCheck, Support
from corrobora.domain.run import Request, RequestOption
from corrobora.text import phrases
from corrobora.text.markdown import MARKER, is_row, is_rule, join_cells, split_cells, split_lines
from corrobora.text.notices import find_order
from corrobora.text.phrases import Frame, find_frame
from corrobora.text.tokens import read_inline

REPORT_FILES = {"md": "report.md", "html": "report.html", "json": "report.json"}  # formats, and where a run has them
_HEADING = re.compile(r"^(#{1,6})\s+(.*\S)\s*$")
_ITEM = re.compile(r"^(\s*)(?:[-*+]|\d{1,3}[.)])\s+(.*)$")
_SOURCE_LIST = re.compile(
    r"(?i)^(?:references?|sources?|bibliography|works cited|citations|further reading|methodology|methods?)\W*$"
)


def format_report_body(body: str) -> str:
    """Return the body in the prescribed format.

    It begins with text, not with a heading. Sections are `##` and their parts `###`. Lists are flat, and a list of one
    item becomes a sentence. The writer's own lists of sources and sections on methods are dropped: code adds them.
    """
    lines = _flatten_lists(_normalize_headings(_drop_source_lists(split_lines(body.strip()))))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(_open_with_text(lines))).strip()


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
    """Remove the indent of list items and the bullet of a single item; code stays as it is."""
    kept = [line.lstrip() if _ITEM.match(line) else line for line in lines]
    alone = [
        n
        for n in range(len(kept))
        if _is_list_item(kept, n) and not _is_list_item(kept, n - 1) and not _is_list_item(kept, n + 1)
    ]
    return [_ITEM.sub(r"\2", line) if n in alone else line for n, line in enumerate(kept)]


def _is_list_item(lines: list[str], at: int) -> bool:
    return 0 <= at < len(lines) and _ITEM.match(lines[at]) is not None


def _open_with_text(lines: list[str]) -> list[str]:
    """Let the body begin with its first statements as a paragraph, without a heading above them."""
    at = next((n for n, line in enumerate(lines) if line.strip()), len(lines))
    if at == len(lines) or _HEADING.match(lines[at]) is None:
        return lines
    end = next((n for n in range(at + 1, len(lines)) if _HEADING.match(lines[n])), len(lines))
    opening = [line for line in lines[at + 1 : end] if line.strip()]
    if not opening:  # the heading has parts of its own: it becomes a line of text
        name = _HEADING.match(lines[at])
        return [f"**{name[2] if name else ''}**", "", *lines[at + 1 :]]
    if not all(_ITEM.match(line) for line in opening):
        return [*lines[at + 1 :]]
    said = [match[2] for line in opening if (match := _ITEM.match(line))]
    return [" ".join(said), "", *lines[end:]]


_URL = re.compile(r"\b(?:https?|ftp)://[^\s)>\]]{1,2083}|\bwww\.[^\s)>\]]{1,300}")
SECRET = re.compile(  # what keys of common services and private keys look like
    r"\b(?:sk-[A-Za-z0-9_-]{20,400}|tvly-[A-Za-z0-9_-]{16,400}|gh[pousr]_[A-Za-z0-9]{30,400}|xox[baprs]-[A-Za-z0-9-]{10,400}"
    r"|AKIA[0-9A-Z]{16})|-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----"
)
_LINK = re.compile(r"(?<!\\)!?\[([^\]\n]{0,300})\]\((?:[^()\s]{0,2083})\)")


def strip_addresses(text: str, stated: Sequence[str]) -> tuple[str, int]:
    """Drop links, and addresses that stand in none of the texts `stated`; return how many went."""
    plain, gone = _LINK.subn(r"\1", text)
    for url in sorted(set(_URL.findall(plain)), key=len, reverse=True):
        said = read_inline(url).rstrip(".,;:!?")
        if not any(said in each for each in stated):
            gone += plain.count(url)
            plain = plain.replace(url, "")
    return plain, gone


def strip_findings(found: Findings, question: str) -> Findings:
    """Return findings whose gaps and contradictions hold no key, and no address that no quote and no person stated.

    A link in the text of a quote stays as its source writes it: only renderers escape.
    """
    stated = (question, *(fact.quote for fact in found.facts))

    def strip(text: str) -> str:
        quoted = any(text in each for each in stated)
        return SECRET.sub("[removed]", text) if quoted else strip_line(text, stated)

    gaps = tuple(replace(gap, text=strip(gap.text)) for gap in found.gaps)
    pairs = tuple(replace(c, claim=strip(c.claim), difference=strip(c.difference)) for c in found.contradictions)
    return replace(found, gaps=gaps, contradictions=pairs)


def strip_line(text: str, stated: Sequence[str]) -> str:
    """Return a line of a writer, such as a title, without keys, unstated addresses and citations: none is checked."""
    plain, gone = strip_addresses(_CITES.sub("", SECRET.sub("[removed]", text)), stated)
    return " ".join(plain.split()) if gone else plain


_NOTE = re.compile(r"\*(\[One (?:sentence|cell) withheld): (.*?)\.\]\*")
_LABEL = re.compile(rf"\*\(({'|'.join(phrases.ALL_LABELS)})\)\*")
_LEADING = re.compile(r"(?:#{1,6}\s(?:\d+\.\s)?|[-*]\s)?(?:\*\*)?")
_NUMBERED = re.compile(r"\[\d{1,5}\]")
_CITES = re.compile(r"\s?\[(?:S\d{1,12}:C\d{1,12}|\^?\d{1,5})\]")


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
        return line if is_rule(line) else join_cells(frame.texts.get(cell, cell) for cell in split_cells(line))
    lead = _LEADING.match(line)
    start = lead.end() if lead else 0
    text, bold = line[start:].removesuffix("**"), "**" if line[start:].endswith("**") else ""
    fixed = line.startswith("#") or text in frame.texts or phrases.is_written_by_code(text)
    return f"{line[:start]}{say(text)}{bold}" if fixed and not text.startswith("[") else line


_LABELS: dict[Support, str] = dict(
    zip((Support.PARTLY, Support.UNCLEAR, Support.UNSUPPORTED), phrases.LABELS, strict=True)
)


def print_sentence(text: str, check: SentenceCheck, markers: Sequence[str]) -> str:
    """Return a checked sentence as it is printed: with its citations and label, or the note in its place."""
    if check.withheld:
        return f"*{phrases.WITHHELD}: {check.withheld}.]*"
    return f"{text} {''.join(markers)}".rstrip() + format_labels(check)


def format_labels(check: SentenceCheck) -> str:
    """Return what stands behind a printed sentence: what code could not confirm, and whom a quoted order addresses."""
    labels = [_LABELS[check.support]] if check.support in _LABELS else []
    labels += [phrases.ORDER] if check.facts and find_order(check.sentence) else []
    return "".join(f" *({label})*" for label in labels)


def mark_cell(line: str, check: SentenceCheck, place: int) -> str:
    """Return a row with a note in place of a withheld cell, or of all cells that state it, or a label behind them."""
    cells = split_cells(line)
    bare = [at for at, cell in enumerate(cells) if cell and not MARKER.search(cell)]
    own = [place] if place >= 0 else [at for at in bare[1:] if " ".join(cells[at].split()) == check.sentence]
    for at in own[:1] or bare[1:] or bare:
        note = f"*{phrases.WITHHELD_CELL}: {check.withheld}.]*"
        cells[at] = note if check.withheld else cells[at] + format_labels(check)
    return join_cells(cells)


def compile_labels(*frames: Frame) -> re.Pattern[str]:
    """Return the pattern of the labels that code writes behind sentences, in the languages of some frames."""
    return _compile_labels(tuple(frame.translate(label) for frame in frames for label in phrases.ALL_LABELS))


@cache
def _compile_labels(labels: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"\s*\*?\((?:{'|'.join(map(re.escape, labels))})\)\*?")

"""The seal of a report: a digest in the file by which anybody sees whether it is the one that was delivered.

Knows how a text is folded, so that line ends, hard wraps and quotation marks break no seal, and how two readings of a
report differ. Does not know where runs are stored: a digest in a file can be recomputed, only the stored report counts.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from enum import StrEnum
from hashlib import sha256
from itertools import pairwise
from typing import NamedTuple

from pydantic_core import from_json, to_json

from corrobora.domain.evidence import fold_typography
from corrobora.reporting.html_reader import html_to_markdown
from corrobora.reporting.report_parser import Block, split_blocks
from corrobora.text.markdown import is_heading, is_row
from corrobora.text.segmentation import split_sentences

_WORDS = {"en": ("Sealed", "run"), "de": ("Versiegelt", "Lauf")}  # in any other language the line is English
_LINE = re.compile(
    r"(?:\*Sealed|Sealed|\*Versiegelt|Versiegelt):\s+(?:run|Lauf)\s+"
    r"`?([a-z0-9_-]{1,64})`?,\s+`?sha256:\s*([0-9a-f]{64})`?\.?\*?"
)
_DIGEST, _NEAR = "sha256:", 120  # what each seal holds, and where it begins before that
# Each alternative begins with a letter of its own and looks behind after it: so `re` skips whatever is none of these.
_LAYOUT = re.compile(  # what a formatter may change: marks of headings, quotes, lists, bold, tables
    r"#(?<!\S#)#{0,5}(?=\s|$)|-(?<!\S-)(?=\s|$)|\+(?<!\S\+)(?=\s|$)|>(?<!\S>)(?=\s|$)|\*(?<!\S\*)(?=\s|$)"
    r"|\*(?<!\w\*)[*_]{0,2}(?=\S)|_(?<!\w_)[*_]{0,2}(?=\S)|\*(?<=\S\*)[*_]{0,2}(?!\w)|_(?<=\S_)[*_]{0,2}(?!\w)"
    r"|\||--+|==+"
)
_SIGN = re.compile(r"(?<!\S)(\\?)(#{1,6}|[>+*-])(?=\s|$)|(\\?)(\||-{2,}|={2,})")
_BEGIN = re.compile(r"\s*(?:(?:[#>*+-]+|\d{1,3}[.)])(?:\s+|$))*")
_RULE = re.compile(r"[-=_*|:+> ]*")  # a line or row of dashes
_SHOWN = 40  # characters from a sign on, in a message
_MARKS = re.compile(r"(?:\[\d{1,4}\]\s*)+")
_ESCAPE = re.compile(r"\\(?=[^\w\s]|_)")
_APART = re.compile(r" (?!(?<=\w )\w)")  # a space that parts no two words


class SealStatus(StrEnum):
    """What the seal of a file says about it."""

    DELIVERED = "delivered"  # the file is the stored report, white space and layout apart
    CHANGED = "changed"  # it differs from the stored report
    UNKNOWN = "unknown_here"  # the digest fits, but the run is not stored here: the status and gaps are not checkable
    BROKEN = "broken"  # the digest does not fit the file
    NONE = "none"  # the file has no seal, and no stored report is like it


@dataclass(frozen=True, slots=True)
class Seal:
    """The run that a file names, and the digest that it carries."""

    run: str
    digest: str


@dataclass(frozen=True, slots=True)
class TextChange:
    """One piece of text in which a file differs from the stored report: added in `line`, or left out near it."""

    line: int
    text: str
    added: bool


def fold_layout(text: str) -> str:
    """Fold what re-formatting changes: white space, marks of layout and code, the shape of quotation marks, dashes."""
    plain = _LAYOUT.sub(" ", fold_typography(_ESCAPE.sub("", text).replace("`", "")))
    return _APART.sub("", " ".join(plain.split())).replace("\x00", " ")


def strip_seal(text: str) -> str:
    """Return a text without its seal."""
    return _LINE.sub("", text) if _DIGEST in text else text


def compute_digest(text: str) -> str:
    """Return the digest of a report's text, without its seal and without layout."""
    return sha256(fold_layout(strip_seal(text)).encode("utf-8", "surrogatepass")).hexdigest()


def format_seal(run: str, text: str, tag: str = "en") -> str:
    """Return the line that seals a text, in the language of a tag if it has one there."""
    sealed, named = _WORDS.get(tag.partition("-")[0].lower(), _WORDS["en"])
    return f"*{sealed}: {named} `{run}`, `sha256:{compute_digest(text)}`.*"


def find_seal(text: str) -> Seal | None:
    """Return the last seal of a text, None if it has none."""
    at = text.rfind(_DIGEST)
    found = at >= 0 and (list(_LINE.finditer(text, max(0, at - _NEAR))) or list(_LINE.finditer(text)))
    return Seal(found[-1].group(1), found[-1].group(2)) if found else None


def seal_files(files: Mapping[str, str], run: str) -> tuple[dict[str, str], str]:
    """Return the files of a run with its report sealed in each format, and the seal of its JSON.

    Markdown and HTML get a last line, the JSON a field.
    """
    markdown, page, fields = files["report.md"], files["report.html"], from_json(files["report.json"])
    tag = fields["language"]
    markdown = f"{markdown.rstrip()}\n\n{format_seal(run, markdown, tag)}\n"
    shown = format_seal(run, html_to_markdown(page, normal=True), tag).replace("`", "").strip("*")
    fields = {**fields, "markdown": markdown, "seal": ""}
    compact = json.dumps(fields, sort_keys=True, ensure_ascii=False, separators=(",", ":"))  # to be folded: no spaces
    seal = format_seal(run, compact).strip("*")
    sealed = {
        "report.md": markdown,
        "report.html": page.replace("</main>", f'<p class="meta">{shown}</p>\n</main>'),
        "report.json": to_json({**fields, "seal": seal}).decode(),
    }
    return {**files, **sealed}, seal


def read_digest(name: str, text: str) -> str:
    """Return the digest that seals a report's file, "" for any other file."""
    seal = find_seal(text) if name.startswith("report.") else None
    return seal.digest if seal else ""


def canonical_json(fields: dict[str, object]) -> str:
    """Return the fields of a stored report as one text, without its seal."""
    return json.dumps({**fields, "seal": ""}, sort_keys=True, ensure_ascii=False)


def check_seal(text: str, stored: str | None) -> tuple[SealStatus, tuple[TextChange, ...]]:
    """Say whether a text is the stored one, and where it differs; without a stored one, whether its seal fits."""
    if stored is not None:
        if compute_digest(text) == compute_digest(stored):
            moved = _find_moved(strip_seal(text), strip_seal(stored))
            return (SealStatus.CHANGED if moved else SealStatus.DELIVERED), moved
        changes = find_changes(text, stored)
        return (SealStatus.CHANGED if changes else SealStatus.DELIVERED), changes
    seal = find_seal(text)
    if seal is None:
        return SealStatus.NONE, ()
    return (SealStatus.UNKNOWN if seal.digest == compute_digest(text) else SealStatus.BROKEN), ()


class _Signs(NamedTuple):
    """The signs of a text that `fold_layout` drops, each with the letters and digits before it, which layout keeps."""

    inner: dict[tuple[int, str], TextChange]  # within a line: text
    outer: dict[tuple[int, str], TextChange]  # at the begin of a line: layout, or text where the line was wrapped
    bars: Counter[int]  # of tables and of text
    cells: set[int]  # bars in rows of tables
    escaped: set[int]  # bars that are text


def _list_signs(text: str) -> _Signs:
    found = _Signs({}, {}, Counter(), set(), set())
    count = 0
    for number, given in enumerate(fold_typography(text).splitlines(), start=1):
        line = given.rstrip("# ") if given.startswith("#") else given  # "## Sources ##"
        begin = len(line) if _RULE.fullmatch(line) else _BEGIN.match(line).end()  # pyright: ignore[reportOptionalMemberAccess] - it matches nothing too
        at = 0
        for match in _SIGN.finditer(line):
            escape, sign = match[1] or match[3], match[2] or match[4]
            count, at = count + _count_letters(line[at : match.start()]), match.start()
            if sign == "|":
                found.bars[count] += 1
                held = found.escaped if escape else found.cells
                held |= {count} if escape or line.startswith("|", begin) else set()
                continue
            held = found.inner if escape or at >= begin else found.outer
            key = count, sign if sign[0] == "#" else sign[:2]
            held.setdefault(key, TextChange(number, line[at : at + _SHOWN].strip(), added=True))
        count += _count_letters(line[at:])
    return found


def _count_letters(text: str) -> int:
    return sum(map(str.isalnum, text))


def _find_moved(text: str, stored: str) -> tuple[TextChange, ...]:
    """Return what the marks of layout alone say otherwise: other cells of a table, "> 8" for "8", "5" for "- 5".

    A mark at the begin of a line may be layout, or a sign of the text where a program wrapped the line before it; "--"
    is no mark of layout with words behind it.
    """
    ours, theirs = _list_signs(text), _list_signs(stored)
    text_signs = {*theirs.inner, *(key for key in theirs.outer if key[1] in ("--", "=="))}
    found = [change for key, change in ours.inner.items() if key not in text_signs]
    lost = (key for key in theirs.inner if key not in ours.inner and key not in ours.outer)
    found += [replace(theirs.inner[key], line=1, added=False) for key in lost]
    joined = (ours.escaped - theirs.escaped) & theirs.cells or theirs.escaped - ours.escaped
    if joined or ours.bars != theirs.bars:
        found.append(TextChange(1, "the cells of a table", added=True))
    return tuple(found)


def find_changes(text: str, stored: str) -> tuple[TextChange, ...]:
    """Return the pieces that were added to a stored report, in the file's order, and those that are missing."""
    ours, theirs = _list_pieces(strip_seal(text)), _list_pieces(strip_seal(stored))
    matcher = SequenceMatcher(None, [p.folded for p in theirs], [p.folded for p in ours], autojunk=False)
    found: list[TextChange] = []
    for kind, low, high, start, end in matcher.get_opcodes():
        if kind == "equal" or "".join(p.folded for p in theirs[low:high]) == "".join(p.folded for p in ours[start:end]):
            continue
        found += [TextChange(piece.line, piece.text, added=True) for piece in ours[start:end]]
        if kind == "delete":
            near = ours[start - 1].line if start else 1
            found += [TextChange(near, piece.text, added=False) for piece in theirs[low:high]]
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Piece:
    line: int
    text: str
    folded: str


def _list_pieces(text: str) -> list[_Piece]:
    """Split a report into sentences and rows; pieces of layout alone are left out."""
    pieces: list[_Piece] = []
    for block in split_blocks(text):
        pieces += [piece for piece in _split_pieces(block) if piece.folded]
    return pieces


def _split_pieces(block: Block) -> list[_Piece]:
    if is_row(block.text) or is_heading(block.text):
        return [_Piece(block.line, block.text, fold_layout(block.text))]
    marks = {match.start(): match.end() for match in _MARKS.finditer(block.text)}  # they end the sentence before them
    cuts = [marks.get(span.start, span.start) for span in split_sentences(block.text)][1:]
    ends = pairwise((0, *cuts, len(block.text)))
    parts = [(block.line_at(start), block.text[start:end].strip()) for start, end in ends]
    return [_Piece(line, part, fold_layout(part)) for line, part in parts]

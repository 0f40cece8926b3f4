"""Markdown: escaping of active content, tables, and sentences with their citations.

Knows what a Markdown viewer acts on, how cells are written, and how loosely writers spell citations. Does not know
which citations resolve or what a report consists of.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple

from corrobora.domain.evidence import fold_typography
from corrobora.text.phrases import SIDE_BY_SIDE
from corrobora.text.segmentation import split_sentences
from corrobora.text.support import find_numbers
from corrobora.text.tokens import load_parser, read_inline, sanitize_text, stem_text

FENCE = "```"  # opens and closes a block of code
MARKER = re.compile(r"\[(S\d{1,9}):(C\d{1,9})\]")  # how a draft cites: source and passage
# `<` before a name, `/`, `!` or `?` opens HTML or an address; `![` an image; `](` a link, `]:` the target of one.
_ACTIVE = re.compile(r"(?<!\\)((?:\\\\)*)(<(?=[A-Za-z/!?])|!(?=\[)|(?<=\])[(:])")
_ESCAPED = re.compile(r"\\(<(?=[A-Za-z/!?])|!(?=\[)|(?<=\]\\)[(:])")


def escape_markdown(markdown: str) -> str:
    r"""Escape what a viewer would take for HTML, an image or a link; it shows the same characters.

    In a block of code nothing is, and a backslash would be shown.

    Example:
        >>> escape_markdown("![x](https://a.example) <b>")
        '\\![x]\\(https://a.example) \\<b>'
    """
    escaped = _ACTIVE.sub(r"\1\\\2", markdown)
    return _restore_code(escaped, markdown) if FENCE in markdown and escaped != markdown else escaped


def _restore_code(escaped: str, markdown: str) -> str:
    """Return escaped text with its closed blocks of code as they were written; a viewer sees the same blocks."""
    lines, written = escaped.split("\n"), markdown.split("\n")
    if sanitize_text(markdown) != markdown:  # a viewer counts other lines, or is shown other marks
        return escaped
    for token in load_parser().parse(escaped):
        first, last = token.map if token.type == "fence" and token.level == 0 and token.map else (0, 0)
        if last - first > 1 and token.markup.startswith(FENCE) and lines[last - 1].strip() == token.markup:
            lines[first + 1 : last] = written[first + 1 : last]
    return "\n".join(lines)


def unescape_markdown(markdown: str) -> str:
    """Return the characters that a viewer would show for what `escape_markdown` escaped."""
    return _ESCAPED.sub(r"\1", markdown)


BAR = "\\|"  # one that is text, inside a cell
_BAR = re.compile(r"(?<!\\)\|")
_QUOTED = re.compile(r"^((?:.{1,300}?: )?)[“\"«„](.{1,4000})[”\"»“]$", re.DOTALL)
_LABEL_CHARS = 160
SHORT_CELL = 3  # content words; a shorter cell is read together with the others of its row


LEAD = re.compile(r"\s*(?:(?:[-*+]|\d{1,3}[.)])\s+)?")  # what stands before the sentences of a line
_HEADING = re.compile(r"#{1,6}(?:\s|$)")


def is_heading(line: str) -> bool:
    """True for a heading; "#12 is fixed" is none."""
    return _HEADING.match(line) is not None


def is_row(line: str) -> bool:
    """True for a row of a table, including the one of dashes below the header."""
    return line.strip().startswith("|")


def is_rule(line: str) -> bool:
    """True for the row of dashes below the header of a table."""
    return is_row(line) and "-" in line and set(line.strip()) <= set("|-: ")


def split_cells(line: str) -> list[str]:
    """Return the cells of a row as a viewer shows them."""
    return [cell.replace(BAR, "|").strip() for cell in _BAR.split(line.strip().strip("|"))]


def join_cells(cells: Iterable[str]) -> str:
    """Return cells as a row of a table; a bar inside of one is escaped."""
    return f"| {' | '.join(cell.replace('|', BAR) for cell in cells)} |"


def iter_row_statements(line: str, mark: re.Pattern[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the statements of a row, each with the marks that support it."""
    yield from ((text, marks) for text, marks, _ in iter_cell_statements(line, mark))


def iter_cell_statements(line: str, mark: re.Pattern[str]) -> Iterator[tuple[str, tuple[str, ...], int]]:
    """Yield the statements of a row, each with the marks that support it and the place of its cell, -1 for several.

    A cell with text and marks is one statement. A cell of marks alone supports the cells without marks. In a row
    without such a cell, cells without marks are labels and state nothing that was cited.
    """
    cells = split_cells(line)
    found = [
        (" ".join(drop_marks(cell, mark).split()), tuple(m.group() for m in mark.finditer(cell))) for cell in cells
    ]
    bare = " ".join(text for text, marks in found if text and not marks)
    shared = tuple(each for text, marks in found if marks and not _has_words(text) for each in marks)
    for place, (text, marks) in enumerate(found):
        if marks and _has_words(text):
            short = len(set(stem_text(text))) < SHORT_CELL and not find_numbers(text)
            yield (f"{bare} {text}".strip() if short else text), marks, place
    if shared and bare:
        yield bare, shared, -1


def describe_cell(header: Sequence[str], line: str, place: int, mark: re.Pattern[str]) -> str:
    """Return a row as text, each cell behind its header, and the cell at a place behind an arrow."""
    cells = [" ".join(mark.sub("", cell).split()) for cell in split_cells(line)]
    labelled = [
        f"{'→ ' if at == place else ''}{f'{name}: ' if name else ''}{cell}"
        for at, (name, cell) in enumerate(zip_longest(header, cells, fillvalue=""))
        if cell
    ]
    return "; ".join(labelled)


def strip_source_label(text: str, labels: Sequence[str]) -> str:
    """Return what a cell says, without the label of its source in front of it ("Revision 3 (2017): ...").

    A prefix is no label if it holds a number that neither title nor version of the cited sources has.
    """
    known = find_numbers(" ".join(labels))
    quoted = _QUOTED.match(text)
    if quoted is not None and find_numbers(quoted[1]) <= known:
        return _drop_cut_word(quoted[2])
    head, colon, rest = text.partition(": ")
    if colon and rest.strip() and len(head) <= _LABEL_CHARS and find_numbers(head) and find_numbers(head) <= known:
        return _drop_cut_word(rest)
    return _drop_cut_word(text)


def _drop_cut_word(text: str) -> str:
    """Drop the incomplete word at the end of a shortened quote."""
    text = text.strip()
    return text[:-1].rpartition(" ")[0] or text if text.endswith("…") else text


def drop_marks(text: str, mark: re.Pattern[str]) -> str:
    """Return a text without its citations and the space before each; no other character is changed."""
    return re.sub(
        rf"\s*(?:{mark.pattern})", lambda found: " " if text[found.end() : found.end() + 1].isalnum() else "", text
    )


def _has_words(text: str) -> bool:
    return any(char.isalnum() for char in text)


def format_cell(text: str, limit: int = 300) -> str:
    """Return text for a cell of a Markdown table, on one line and at most `limit` characters long."""
    flat = " ".join(text.split()).replace("|", BAR)
    return flat if len(flat) <= limit else f"{flat[: limit - 1]}…"


def format_table(header: Sequence[str], rows: Sequence[Sequence[object]], *, limit: int = 300) -> str:
    """Return a Markdown table, with a row of dashes if there are no rows."""
    lines = [f"| {' | '.join(header)} |", f"|{'|'.join('---' for _ in header)}|"]
    lines += [f"| {' | '.join(format_cell(str(value), limit) for value in row)} |" for row in rows]
    if not rows:
        lines.append(f"| {' | '.join('-' for _ in header)} |")
    return "\n".join(lines)


_ONE = r"S\d{1,9}\s{0,2}[:：,]?\s{0,2}C\d{1,9}"
_MORE = r"\s{0,2}[,;]\s{0,2}(?:S\d{1,9}\s{0,2}[:：]?\s{0,2})?C\d{1,9}"
_LOOSE = re.compile(rf"(?<!\\)[\[(［]\s*({_ONE}(?:{_MORE}){{0,30}})\s*[\])］]?", re.IGNORECASE)
_PART = re.compile(r"(?:(S\d{1,9})\s{0,2}[:：,]?\s{0,2})?(C\d{1,9})", re.IGNORECASE)

_POINTS = (  # what a mark behind it is the object of
    r"\b(?:see(?: also)?|siehe|according to|laut|(?:described|explained|documented|listed|given|shown|stated|told|"
    r"found|defined|detailed|discussed|covered|specified|beschrieben|erklärt|aufgeführt|dokumentiert)"
    r" (?:in|by|at|under))"
)
_SAYS = r"\s(?:says?|states?|describes?|explains?|lists?|gives?|adds?|warns?|shows?|notes?|names?|defines?)\b"
_NOUN_MARK = re.compile(
    rf"(?im)(?:(?<=^)|(?<=[.!?:,;] )|(?P<points>{_POINTS} ))(?P<mark>{MARKER.pattern})(?(points)|(?={_SAYS}))"
)

_STOP_AFTER = re.compile(r"([.!?])\s(?=[^\W\d_A-Z])")  # before a small letter
_SEAM = 3  # words on each side of a border that a quote must have


def normalize_markers(text: str, titles: Mapping[str, str] | None = None) -> str:
    """Write every unambiguous marker in the one form `[S1:C2]`, several in one bracket as several (bad-input M25).

    A sentence is read without its markers: one that is a noun, as in "see [S1:C2]", gets the title of its source before
    it, if `titles` has one for it.
    """

    def rewrite_marker(match: re.Match[str]) -> str:
        source, found = "", ""
        for part in _PART.finditer(match.group(1).upper()):
            source = part.group(1) or source  # [S1:C2, C3] means two passages of one source
            found += f"[{source}:{part.group(2)}]"
        return found

    def name_source(found: re.Match[str]) -> str:
        title = re.sub(r"[\[\]|*_`<>“”]", "", titles.get(found["mark"], "")) if titles else ""
        return f"{found['points'] or ''}“{title}” {found['mark']}" if title.strip() else found.group()

    marked = _LOOSE.sub(rewrite_marker, text)
    return _NOUN_MARK.sub(name_source, marked) if titles else marked


class CitedSentence(NamedTuple):
    """A sentence without its marks, where it begins in its text, and the marks that support it."""

    text: str
    start: int
    marks: tuple[re.Match[str], ...]


def split_cited_sentences(text: str, mark: re.Pattern[str], quoted: str = "") -> list[CitedSentence]:
    """Split a paragraph into sentences with their marks.

    A mark inside a sentence belongs to it, one after its full stop as well: "It grew. [1] Then it fell. [2]". In a text
    that begins with a mark, marks belong to the sentence that follows them. A full stop before a mark ends a sentence
    also where a small letter follows, as after a copied line of a manual. A sentence without a mark that goes on as the
    quotes `told` do is one with the next.
    """
    marks = list(mark.finditer(text))
    spans = split_sentences(_hide_marks(text, marks))
    if not spans:
        return []
    begins, cuts = [span.start for span in spans], [each.start() for each in marks]
    leads = bool(marks) and not text[: marks[0].start()].strip()
    held: list[list[re.Match[str]]] = [[] for _ in spans]
    for each in marks:
        before = bisect_right(begins, each.start()) - 1
        outside = before < 0 or each.start() >= spans[before].end
        held[min(max(before + (outside and leads), 0), len(spans) - 1)].append(each)
    starts = [max(begin, marks[at - 1].end() if (at := bisect_left(cuts, begin)) else 0) for begin in begins]
    found: list[CitedSentence] = []
    for start, end, own in zip(starts, [*starts[1:], len(text)], held, strict=True):
        plain = " ".join(drop_marks(text[start:end], mark).split())
        if found and not any(letter.isalnum() for letter in plain):
            found[-1] = found[-1]._replace(marks=(*found[-1].marks, *own))
        elif found and not found[-1].marks and goes_on(found[-1].text, plain, quoted):
            found[-1] = found[-1]._replace(text=f"{found[-1].text} {plain}", marks=tuple(own))
        elif own or plain:
            found.append(CitedSentence(plain, start, tuple(own)))
    return found


def goes_on(before: str, after: str, quoted: str) -> bool:
    """True if the last words of one text and the first ones of another stand together in quotes (see `fold_quotes`)."""
    for end, begin in zip(_fold_readings(before[-80:]), _fold_readings(after[:80]), strict=True) if quoted else ():
        words = (*end.split()[-_SEAM:], *begin.rstrip(".!? ").split()[:_SEAM])
        if end and begin and " ".join(words) in quoted:
            return True
    return False


def fold_quotes(quotes: Iterable[str]) -> str:
    """Return quotes as one text in which wrapped and re-formatted lines are found."""
    return "\n".join(dict.fromkeys(reading for quote in quotes for reading in _fold_readings(quote)))


def _fold_readings(text: str) -> tuple[str, str]:
    """Return a text as a viewer shows it and as it is written, each with plain signs and single spaces."""
    one, other = (" ".join(fold_typography(each).split()) for each in (read_inline(text), text))
    return one, other


def _hide_marks(text: str, marks: Sequence[re.Match[str]]) -> str:
    """Blank the marks of a text, which keeps its length; where a mark and a full stop meet, a capital follows them."""
    shown = list(text)
    for each in marks:
        shown[each.start() : each.end()] = " " * len(each.group())
    begins = [each.start() for each in marks]
    for each, following in zip(marks, [*begins[1:], len(text)], strict=False):
        if following < len(text) and not text[each.end() : following].strip():
            continue  # a run of marks is one: the last of them decides
        if (after := _STOP_AFTER.match(text, each.end())) is not None:
            shown[each.end() - 1 : after.end()] = [*after.group(1), " ", "X"]
            continue
        before = "".join(shown[max(0, each.start() - 80) : each.start()]).rstrip().rstrip("\"'”’)]»*_")
        rest = "".join(shown[each.end() : each.end() + 80]).lstrip("\"'“‘([«*_ ")
        if before.endswith((".", "!", "?", "…")) and rest[:1].isalnum():
            shown[each.end() - 1] = "X" if rest[0].islower() else "A"  # only "A" may open a sentence after "etc."
    return "".join(shown)


def iter_cited_sentences(line: str, quoted: str = "") -> Iterator[tuple[str, list[str]]]:
    """Yield the sentences of a line of a draft with the markers of each; `told` are the quotes it may go on from."""
    for each in split_cited_sentences(line, MARKER, quoted):
        yield each.text, [mark.group() for mark in each.marks]


_FENCE = re.compile(r"\s*```[\w+-]{0,20}\s*")


def split_lines(text: str) -> list[str]:
    """Split a text into its lines; a block of code with its fences is one of them, as no line of it is a heading."""
    found: list[list[str]] = []
    fenced = False
    for line in text.split("\n"):
        if fenced:
            found[-1].append(line)
        else:
            found.append([line])
        fenced ^= _FENCE.fullmatch(line) is not None
    return ["\n".join(each) for each in found]


def drop_empty_sections(lines: Sequence[str]) -> str:
    """Drop headings whose sections became empty, also one below another, and runs of blank lines; the title stays."""
    kept: list[str] = []
    below = ""  # the next line that is kept and neither blank nor a rule
    for line in reversed(_drop_empty_tables(lines)):
        level = len(line) - len(line.lstrip("#"))
        if level > 1 and (not below or 0 < len(below) - len(below.lstrip("#")) <= level):
            continue
        if line.startswith(SIDE_BY_SIDE) and not is_row(below):
            continue
        if line.strip() or (kept and kept[-1].strip()):
            kept.append(line)
        below = line if line.strip(" -") else below
    return "\n".join(reversed(kept)).strip()


def _drop_empty_tables(lines: Sequence[str]) -> list[str]:
    """Drop the heads of tables that have no row left."""
    kept: list[str] = []
    for line, following in zip(lines, [*lines[1:], ""], strict=False):  # of no lines, none follows
        if line.startswith("|") and set(line.strip()) <= set("|-: ") and not following.startswith("|"):
            while kept and kept[-1].startswith("|"):
                kept.pop()
            continue
        kept.append(line)
    return kept

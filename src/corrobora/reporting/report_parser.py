"""Parsing of a cited report, ours or another tool's: its blocks, references and statements.

Knows Markdown as people and programs re-format it (line ends, hard wraps, blank lines, bold), and the common forms of
citations. Does not know what is stored and checks nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from corrobora.domain.evidence import fold_typography
from corrobora.reporting.html_reader import EVIDENCE, PLOTS
from corrobora.reporting.report_format import compile_labels
from corrobora.text import phrases
from corrobora.text.markdown import (
    fold_quotes,
    goes_on,
    is_heading,
    is_row,
    is_rule,
    iter_row_statements,
    split_cells,
    split_cited_sentences,
)
from corrobora.text.phrases import ENGLISH, Frame, list_frames
from corrobora.text.tokens import read_inline

_OURS = re.compile(r"^\\?\[(\d{1,5})\\?\] (.{0,4400})(?<=\s)`?(S\d{1,9}):(C\d{1,9})`? `?sha256:([0-9a-f]{64})`?")
_OURS_START = re.compile(r"\\?\[\d{1,5}\\?\] ")
_TITLE = re.compile(r"\*\*(.{0,400}?)\*\*")
_SNAPSHOT = re.compile(r"\bS\d{1,9}:C\d{1,9}`? `?sha256:[0-9a-f]{64}")
_LISTED = re.compile(r"^\s{0,8}(?:[-*]\s{0,4})?(?:\\?\[\^?(\d{1,5})\\?\]:?|(\d{1,5})[.)])\s{1,8}(.{1,4000})$")
_URL = re.compile(r"https?://[^\s)>\]\"']{1,2083}")
_LINKED = re.compile(r"\[([^\]\n]{1,300})\]\(([^()\s]{1,2083})\)\.?")  # a title with the name of its file
_INLINE = re.compile(r"\[([^\]\n]{0,300})\]\((https?://[^()\s]{1,2083})\)")
_MARK = re.compile(r"\\?\[\^?(\d{1,5}(?:\s{0,2},\s{0,2}\d{1,5}){0,9})\\?\](?!\(|:)")  # a formatter escapes them
_FALSE_MARK = "[0]"  # no reference has this number
_CITED = re.compile(f"{_INLINE.pattern}|{_MARK.pattern}")
_WRITTEN = re.compile(r"(?<!\\)\[\d{1,5}\](?!\(|:)")
_ESCAPED = re.compile(r"\\\[\^?\d{1,5}\\\]")
_QUOTATION = re.compile(r"“(?:[^”|\\]|\\.)*”")  # in a row of ours: what it quotes cites nothing
_SIDE = re.compile(r"(?<=\| )(?:[^|\\]|\\.)*”")  # of a conflict: the title of its source, and the quote
_ITEM = re.compile(r"(?:[-*+]|\d{1,3}[.)])\s")
_QUOTE = re.compile(r"^(?:>(?:\s+|$))+")
_LEAD = re.compile(r"[#>\s]+")
_LISTS = ("sources", "references", "bibliography")
_CODE_SECTIONS = ("methodology", *_LISTS, "gaps", phrases.ACCOUNT.lower())
_OWN_SECTIONS = ("methodology", "gaps", phrases.ACCOUNT.lower(), EVIDENCE.lower(), PLOTS.lower())
_MOST_BLOCK_CHARS = 12_000  # of one that lines are joined to: its cost grows with the square of its length
_STATUS_PLACE = 2  # the status stands below the title
_BRACKET = "\ue000"  # stands for one that opens no citation
_UNDERLINE = re.compile(r"={3,}|-{3,}")  # of the heading above
_REACH = 120  # characters beside a citation mark in which the words beside it are looked for
_SPACES = str.maketrans(dict.fromkeys("\u00a0\u2007\u202f\t\u000b\u000c", " "))


@dataclass(frozen=True, slots=True)
class Block:
    """A heading, paragraph, list item, row, quote or reference on one line; `line` is where it began, from 1.

    `starts` holds, for each line it was joined from, the offset in `text` and the number of the line.
    """

    text: str
    line: int
    starts: tuple[tuple[int, int], ...] = ()
    code: bool = False  # fenced code, with its lines

    def line_at(self, offset: int) -> int:
        """Return the line of the file that the character at `offset` stood in."""
        return max((number for start, number in self.starts if start <= offset), default=self.line)

    def append_line(self, line: str, number: int, gap: str = " ") -> Block:
        """Return the block with a further line of the file, which had this number."""
        return replace(self, text=f"{self.text}{gap}{line}", starts=(*self.starts, (len(self.text) + 1, number)))


@dataclass(frozen=True, slots=True)
class Reference:
    """One entry of a list of sources."""

    number: int
    title: str
    url: str = ""
    snapshot: str = ""
    quotes: tuple[str, ...] = ()
    label: str = ""  # title, version, date and heading as listed
    source: str = ""  # of our own reports, as the passage
    passage: str = ""  # of our own reports: several passages of one document are several references
    line: int = 0
    authors: str = ""  # of our own reports, as their line lists them


@dataclass(frozen=True, slots=True)
class CitedText:
    """One sentence of the body, or what one cell of a table says, with the numbers and addresses it cites."""

    text: str
    numbers: tuple[int, ...] = ()
    urls: tuple[str, ...] = ()
    cell: bool = False
    line: int = 0


@dataclass(frozen=True, slots=True)
class ParsedReport:
    """A report in parts: the blocks of its body, without what code wrote about the run, and its references."""

    body: tuple[Block, ...]
    references: Mapping[int, Reference]
    ours: bool
    told: int = 0  # number of lines about the run itself (status, gaps, account), which only the stored run proves
    conflicts: tuple[Block, ...] = ()  # the rows of our table of contradictions
    frame: Frame = ENGLISH  # the language of what code wrote
    numbers: frozenset[str] = frozenset()  # of the title and of what the references say
    editions: frozenset[str] = frozenset()  # words with digits of what the references say of their sources


def detect_frame(text: str, others: Sequence[Frame] = ()) -> Frame:
    """Return the language of what code wrote around a report, by its headings: one of `others`, or one that ships."""
    for frame in (*others, *list_frames()):
        names = {frame.translate(name) for name in ("Sources", "Methodology")} - {"Sources", "Methodology"}
        if names and re.search(rf"(?m)^[#>*\s]{{0,12}}(?:{'|'.join(map(re.escape, names))})[*#\s]{{0,8}}$", text):
            return frame
    return ENGLISH


def _read_section(heading: str, frame: Frame) -> str:
    """Return the English name of a section in small letters; a heading of the writer stays as it is."""
    name = heading.strip("# *")
    return frame.restore(name).lower() if frame.texts else name.lower()


def split_blocks(text: str, frame: Frame | None = None) -> list[Block]:
    """Join the lines of a Markdown text to blocks, so that line ends and hard wraps do not matter.

    What looks like a list item or a heading, but goes on as a quote of the report does, is a wrapped line.
    """
    frame = frame or detect_frame(text)
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").translate(_SPACES)
    lines = [line.strip() for line in plain.split("\n")]
    if _SNAPSHOT.search(" ".join(lines)) is None:
        return _join_lines(lines, None, frame)
    quotes = (block.text for block in _join_lines(lines, "", frame) if block.text.startswith(">"))
    return _join_lines(lines, fold_quotes(map(_strip_quote, quotes)), frame)


def _join_lines(lines: Sequence[str], quoted: str | None, frame: Frame) -> list[Block]:
    """Join lines to blocks; `quoted` is the folded text of all quotes of our report, None if it is not ours."""
    blocks: list[Block] = []
    # Some programs wrap quotes without repeating the mark; in their output a ">" at the start of a line is quoted text.
    unmarked = any(one.startswith(">") and other and not other.startswith(">") for one, other in pairwise(lines))
    section = ""
    fenced = False
    ended = True  # the next line begins a block
    for number, (line, below) in enumerate(zip(lines, (*lines[1:], ""), strict=True), 1):
        if line.startswith("```"):
            fenced, ended = not fenced, True
        elif fenced and not ended:
            blocks[-1] = blocks[-1].append_line(line, number, "\n")
            ended = len(blocks[-1].text) > _MOST_BLOCK_CHARS
        elif fenced:
            blocks.append(Block(line, number, ((0, number),), code=True))
            ended = False
        elif not line or (line == ">" and (not below or below.startswith(">"))):
            ended = True
        else:
            last = None if ended or len(blocks[-1].text) > _MOST_BLOCK_CHARS else blocks[-1]
            ended = False
            if last is not None and len(last.starts) == 1 and last.text[0].isalnum() and _UNDERLINE.fullmatch(line):
                blocks[-1] = replace(last, text=f"## {last.text}")
                section = _read_section(last.text, frame)
            elif last is not None and _continues(last.text, line, quoted, listing=section in _CODE_SECTIONS):
                marked = last.text.startswith(">") and not unmarked
                blocks[-1] = last.append_line(_strip_quote(line) if marked else line, number)
            else:
                blocks.append(Block(line, number, ((0, number),)))
            section = _read_section(line, frame) if is_heading(line) else section
    return blocks


def _strip_quote(line: str) -> str:
    return _QUOTE.sub("", line, count=1)


def _continues(block: str, line: str, quoted: str | None, *, listing: bool) -> bool:
    """True if a line belongs to the block above it, as in CommonMark, also where a row or heading was wrapped."""
    ours = quoted is not None
    if listing and _OURS_START.match(block) and not _SNAPSHOT.search(block):
        return ours or (_URL.search(block) is None and line.lstrip("<").startswith("http"))
    if is_row(block):
        return not line.startswith("|") if block.endswith("|") and len(block) > 1 else True
    if listing and _OURS_START.match(line):
        return False
    if block.startswith(">") or (quoted and goes_on(_MARK.split(block)[-1], _MARK.split(line)[0], quoted)):
        return True
    if is_heading(line) or line.startswith(("|", "```")) or set(line) <= set("-=_*"):
        return False
    if is_heading(block):
        return ours  # below a heading of ours stands a blank line
    if line.startswith(">") or (_LISTED.match(line) and (listing or (not ours and _URL.search(line)))):
        return False
    return not _ITEM.match(line) or (line[0].isdigit() and not _follows_number(block, line))


def _follows_number(block: str, line: str) -> bool:
    """True if a line that begins with a number is the next item of a list, and no line that was wrapped there."""
    number, before = int(re.match(r"\d+", line).group()), re.match(r"(\d{1,3})[.)]\s", block)  # pyright: ignore[reportOptionalMemberAccess]
    return number == 1 or (before is not None and number - int(before.group(1)) in (0, 1))


def parse_report(text: str, frames: Sequence[Frame] = ()) -> ParsedReport:
    """Split a report into its body and its references, in our form or in a common foreign one.

    `frames` are languages beside those that ship with the package.
    """
    frame = detect_frame(text, frames)
    body: list[Block] = []
    conflicts: list[Block] = []
    references: dict[int, Reference] = {}
    current = about_run = 0
    section, authors = "", f"**{frame.translate(phrases.AUTHORS)}:**"
    blocks = split_blocks(text, frame)
    ours = any(_OURS.match(block.text) for block in blocks)
    for block in blocks:
        if is_heading(block.text) and not block.code:
            section, current = _read_section(block.text, frame), 0
        listing = section in _LISTS
        found = _parse_own_reference(block) or (None if ours else _parse_foreign_reference(block, listing=listing))
        if found is not None:
            current = found.number if found.snapshot else 0
            if found.snapshot or found.number not in references:
                references[found.number] = found
        elif current and block.text.startswith(">"):
            held = references[current]
            references[current] = replace(held, quotes=(*held.quotes, _strip_quote(block.text)))
        elif current and block.text.startswith(authors):
            references[current] = replace(references[current], authors=block.text.removeprefix(authors).strip())
        elif section not in (_OWN_SECTIONS if ours else _CODE_SECTIONS):
            body.append(block)
            conflicts += [block] if ours and section == phrases.CONFLICTS.lower() and is_row(block.text) else []
        elif section in _OWN_SECTIONS:
            about_run += not is_heading(block.text)
    about_run += sum(_is_status(number, block, frame) for number, block in enumerate(body))
    labels = [each.label for each in references.values()]
    quotes = (quote for each in references.values() for quote in each.quotes)
    return ParsedReport(
        tuple(body),
        references,
        ours,
        about_run if ours else 0,
        tuple(conflicts[2:]),
        frame,
        frozenset(re.findall(r"\d+", " ".join((*(block.text for block in body[:1]), *labels, *quotes)))),
        frozenset(re.findall(r"\w*\d\w*", " ".join(labels))),
    )


def _is_status(number: int, block: Block, frame: Frame) -> bool:
    begins = frame.translate("Status: x.").partition("x")[0].strip()
    return number <= _STATUS_PLACE and block.text.lstrip("*_").startswith(begins)


def _parse_own_reference(block: Block) -> Reference | None:
    match = _OURS.match(block.text)
    if match is None or block.code:
        return None
    number, rest, source, passage, snapshot = match.groups()
    head, _, url = rest.rstrip().rpartition(" ")
    bold = _TITLE.match(head)
    title, label = (bold.group(1), f"{bold.group(1)}{head[bold.end() :]}") if bold else (head, head)
    place = (url if "://" in url else read_inline(url), snapshot, (), read_inline(label), source, passage, block.line)
    return Reference(int(number), read_inline(title), *place)


def _parse_foreign_reference(block: Block, *, listing: bool) -> Reference | None:
    """Return the reference of a numbered line with an address; in a list of sources a title or file name will do."""
    listed = _LISTED.match(block.text)
    found = _URL.search(block.text)
    if block.code or listed is None or not (found or listing) or _MARK.search(listed.group(3)):
        return None
    number, linked = int(listed.group(1) or listed.group(2)), _LINKED.fullmatch(listed.group(3))
    if found is None and linked is not None:
        return Reference(number, _clean_title(linked.group(1)), linked.group(2), line=block.line)
    return Reference(number, _clean_title(listed[3]), found.group().rstrip(".,;") if found else "", line=block.line)


def _clean_title(rest: str) -> str:
    return _URL.sub("", rest).strip(" -–—:.[]()<>*\"'")[:200]


def find_statements(parsed: ParsedReport) -> list[CitedText]:
    """Return the sentences of the body with what they cite, without headings, headers of tables and quotations.

    Fixed wordings in our reports speak of the report itself. Without a citation they are left out, because they would
    lower the coverage of a report that cites everything it claims.
    """
    quotes = fold_quotes(quote for each in parsed.references.values() for quote in each.quotes)
    found: list[CitedText] = []
    conflicts = {block.line for block in parsed.conflicts}
    body = _hide_numbers_of_sources(parsed.body) if parsed.ours else parsed.body
    for number, block in enumerate(body):
        line = block.text
        quiet = is_quiet_heading(block, parsed) or _is_status(number, block, parsed.frame)
        quiet = quiet or (not parsed.ours and line.startswith(">"))  # ours quote below their references only
        if block.code or quiet or set(line) <= set("|-: *_="):
            found += [CitedText(line, line=block.line)] if block.code and parsed.ours else []
            continue
        if is_row(line):
            head = number + 1 < len(body) and is_rule(body[number + 1].text)
            quoted = _SIDE if block.line in conflicts else _QUOTATION
            plain = _MARK.sub(_check_mark, quoted.sub(_hide_brackets, line)) if parsed.ours else line
            cells = () if head else _parse_cells(plain, parsed.frame)
            found += [replace(said, text=said.text.replace(_BRACKET, "["), line=block.line) for said in cells]
            continue
        if found and not any(map(str.isalnum, _MARK.sub("", line))):  # belongs to the sentence above, or to code
            last, marks = found.pop(), _parse_piece("", _MARK.finditer(line))
            last = replace(last, numbers=last.numbers + marks.numbers, urls=last.urls + marks.urls)
            said = last.text.split("\n") if len(last.numbers) > 1 else [last.text]  # of several quotes each has a part
            found += [replace(last, text=" ".join(each.split())) for each in said if any(map(str.isalpha, each))]
            continue
        found += [said for said in _split_block(block, quotes, parsed) if any(map(str.isalpha, said.text))]
    return [said for said in found if said.numbers or said.urls or not (parsed.ours and _is_fixed(said.text, parsed))]


def _hide_numbers_of_sources(body: Sequence[Block]) -> Sequence[Block]:
    """Hide escaped numbers, unless all are: code escapes those of sources, a formatter those of citations, too."""
    if not any(_WRITTEN.search(block.text) for block in body):
        return body
    return [replace(block, text=_ESCAPED.sub(_hide_brackets, block.text)) for block in body]


def _check_mark(mark: re.Match[str]) -> str:
    """Return a mark if code may have written it so; in other digits, or as a footnote, it cites nothing."""
    return mark.group() if mark.group().isascii() and "^" not in mark.group() else _FALSE_MARK


def _is_fixed(text: str, parsed: ParsedReport) -> bool:
    """True for a wording of code that claims nothing; one on editions may name only those of the references."""
    text = parsed.frame.restore(text)
    if not text.startswith(phrases.STATED_IN):
        return phrases.is_written_by_code(text)
    editions = text.removeprefix(phrases.STATED_IN).rstrip(".: ").replace(phrases.UNCHANGED, ",")
    return parsed.editions.issuperset(re.findall(r"\w*\d\w*", editions))


def is_quiet_heading(block: Block, parsed: ParsedReport) -> bool:
    """True for a heading that only says what is asked; in our reports its numbers stand in the title or a source."""
    numbered = parsed.ours and block.text.startswith("##")
    return parsed.numbers.issuperset(re.findall(r"\d+", block.text)) if numbered else is_heading(block.text)


def _hide_brackets(match: re.Match[str]) -> str:
    return match.group().replace("[", _BRACKET)


def _split_block(block: Block, quotes: str, parsed: ParsedReport) -> list[CitedText]:
    """Return the sentences of one block with what they cite; labels that code wrote behind them are left out.

    A number in brackets that the `quotes` hold beside the same words is no citation.
    """
    item = _ITEM.match(block.text) or _LEAD.match(block.text)
    start = item.end() if item else 0
    text = compile_labels(parsed.frame).sub(lambda label: " " * len(label.group()), block.text[start:])

    def hide_quoted(mark: re.Match[str]) -> str:
        begin, end = mark.span()  # two words beside a mark are within reach of it, however long its paragraph is
        before = _MARK.split(text[max(0, begin - _REACH) : begin])[-1].split()[-2:]
        after = _MARK.split(text[end : end + _REACH], maxsplit=1)[0].split()[:2]
        glued = mark.start() > 0 and not text[mark.start() - 1].isspace()
        joined = "" if text[end : end + 1].strip() else " "  # a full stop follows without a space
        around = f"{' '.join((*before, mark.group()))}{joined}{' '.join(after)}".strip()
        near = f"{before[-1]}{mark.group()}" if before and glued else around
        quoted = mark.group().replace("\\", "") in quotes and (glued or after)  # first what costs little
        quoted = quoted and fold_typography(read_inline(near)) in quotes
        return _hide_brackets(mark) if quoted else _check_mark(mark) if parsed.ours else mark.group()

    return [
        replace(_parse_piece(each.text.replace(_BRACKET, "["), each.marks), line=block.line_at(start + each.start))
        for each in split_cited_sentences(_MARK.sub(hide_quoted, text), _MARK, quotes)
    ]


def _parse_piece(text: str, marks: Iterable[re.Match[str]]) -> CitedText:
    numbers = tuple(int(n) for mark in marks for n in mark.group(1).split(","))
    return CitedText(_INLINE.sub(r"\1", text), numbers, tuple(match.group(2) for match in _INLINE.finditer(text)))


def _parse_cells(row: str, frame: Frame) -> list[CitedText]:
    """Return the statements of a row, each with its citations; a row without citations is one statement."""
    row = compile_labels(frame).sub("", row)
    cited = list(iter_row_statements(row, _CITED)) or [(" ".join(" ".join(split_cells(row)).split()), ())]
    found: list[CitedText] = []
    for text, marks in cited:
        said = _parse_piece(" ".join(marks), _MARK.finditer(" ".join(marks)))
        found.append(replace(said, text=text, cell=bool(marks)))
    return found

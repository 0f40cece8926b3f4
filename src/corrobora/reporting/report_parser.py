"""Parsing of a cited report, Markdown or HTML, ours or another tool's: its blocks, references and statements.

Knows Markdown as people and programs re-format it (line ends, hard wraps, blank lines, bold), the elements of our own
page and plain ones of others, and the common forms of citations. Does not know what is stored and checks nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from html.parser import HTMLParser

from corrobora.reporting.markdown import is_row, is_rule, iter_row_statements, unescape_markdown
from corrobora.text import phrases
from corrobora.text.segmentation import split_sentences

_OURS = re.compile(r"^\[(\d{1,5})\] \*\*(.{0,400}?)\*\*(.{0,4000})`(S\d{1,9}):(C\d{1,9})` `sha256:([0-9a-f]{64})`")
_OURS_START = re.compile(r"\[\d{1,5}\] \*\*")
_SNAPSHOT = re.compile(r"`sha256:[0-9a-f]{64}`")
_LISTED = re.compile(r"^\s{0,8}(?:[-*]\s{0,4})?(?:\[\^?(\d{1,5})\]:?|(\d{1,5})[.)])\s{1,8}(.{1,4000})$")
_URL = re.compile(r"https?://[^\s)>\]\"']{1,2083}")
_INLINE = re.compile(r"\[([^\]\n]{0,300})\]\((https?://[^()\s]{1,2083})\)")
_MARK = re.compile(r"\[\^?(\d{1,5}(?:\s{0,2},\s{0,2}\d{1,5}){0,9})\](?!\(|:)")
_LEADING = re.compile(rf"(?:\s{{0,4}}{_MARK.pattern})+")
_CITED = re.compile(f"{_INLINE.pattern}|{_MARK.pattern}")
_ITEM = re.compile(r"(?:[-*+]|\d{1,3}[.)])\s")
_LEAD = re.compile(r"[#>\s]+")
_LABEL = re.compile(rf"\s*\*?\((?:{'|'.join(map(re.escape, phrases.LABELS))})\)\*?")
_CODE_SECTIONS = ("methodology", "sources", "references", "gaps", "bibliography", phrases.ACCOUNT.lower())
_OWN_SECTIONS = ("methodology", "gaps", phrases.ACCOUNT.lower())
_STATUS_PLACE = 2  # the status stands below the title
_SPACES = str.maketrans(dict.fromkeys("\u00a0\u2007\u202f\t\u000b\u000c", " "))


@dataclass(frozen=True, slots=True)
class Block:
    """A heading, paragraph, list item, row, quote or reference on one line; `line` is where it began, from 1.

    `starts` holds, for each line it was joined from, the offset in `text` and the number of the line.
    """

    text: str
    line: int
    starts: tuple[tuple[int, int], ...] = ()
    code: bool = False  # a line of fenced code

    def line_at(self, offset: int) -> int:
        """Return the line of the file that the character at `offset` stood in."""
        return max((number for start, number in self.starts if start <= offset), default=self.line)


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
    told: int = 0  # lines about the run itself (status, gaps, account, methodology), which only the stored run proves


def split_blocks(text: str) -> list[Block]:
    """Join the lines of a Markdown text to blocks, so that line ends and hard wraps do not matter."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").translate(_SPACES).split("\n")
    ours = _SNAPSHOT.search(text) is not None
    blocks: list[Block] = []
    fenced = after_blank = False
    section = ""
    for number, raw in enumerate(lines, 1):
        line = raw.strip()
        if line.startswith("```") or fenced or not line or line == ">":
            blocks += [Block(line, number, code=True)] if fenced and line and not line.startswith("```") else []
            fenced ^= line.startswith("```")
            after_blank = True
            continue
        joined = blocks[-1] if blocks and not after_blank else None
        if joined is not None and _continues(joined.text, line, ours=ours, listing=section in _CODE_SECTIONS):
            said = line.lstrip("> ") if joined.text.startswith(">") else line
            start = len(joined.text) + 1
            blocks[-1] = replace(joined, text=f"{joined.text} {said}", starts=(*joined.starts, (start, number)))
        else:
            blocks.append(Block(line, number, ((0, number),)))
        section = line.strip("# *").lower() if line.startswith("#") else section
        after_blank = False
    return blocks


def _continues(block: str, line: str, *, ours: bool, listing: bool) -> bool:
    """True if a line belongs to the block above it, as in CommonMark, also where a row or heading was wrapped."""
    if _OURS_START.match(block) and not _SNAPSHOT.search(block):
        return ours
    if is_row(block):
        return not line.startswith("|") if block.endswith("|") and len(block) > 1 else True
    if line.startswith(("#", "|", "```")) or set(line) <= set("-=_*") or _OURS_START.match(line):
        return False
    if block.startswith("#"):
        return ours  # below a heading of ours stands a blank line
    if block.startswith(">"):
        return True
    if line.startswith(">") or (_LISTED.match(line) and (listing or (not ours and _URL.search(line)))):
        return False
    return not _ITEM.match(line) or (line[0].isdigit() and not _ITEM.match(block) and not line.startswith(("1.", "1)")))


def parse_report(text: str) -> ParsedReport:
    """Split a report into its body and its references, in our form or in a common foreign one."""
    body: list[Block] = []
    references: dict[int, Reference] = {}
    current = told = 0
    section = ""
    blocks = split_blocks(text)
    ours = any(_OURS.match(block.text) for block in blocks)
    for block in blocks:
        if block.text.startswith("#"):
            section, current = block.text.strip("# *").lower(), 0
        found = _parse_own_reference(block) or (None if ours else _parse_foreign_reference(block))
        if found is not None:
            current = found.number if found.snapshot else 0
            if found.snapshot or found.number not in references:
                references[found.number] = found
        elif current and block.text.startswith(">"):
            held = references[current]
            references[current] = replace(held, quotes=(*held.quotes, block.text.lstrip("> ")))
        elif section not in (_OWN_SECTIONS if ours else _CODE_SECTIONS):
            body.append(block)
        elif section in _OWN_SECTIONS:
            told += not block.text.startswith("#")
    told += sum(_is_status(number, block) for number, block in enumerate(body))
    return ParsedReport(tuple(body), references, ours, told if ours else 0)


def _is_status(number: int, block: Block) -> bool:
    return number <= _STATUS_PLACE and block.text.lstrip("*_").startswith("Status:")


def _parse_own_reference(block: Block) -> Reference | None:
    match = _OURS.match(block.text)
    if match is None:
        return None
    number, title, rest, source, passage, snapshot = match.groups()
    head, _, url = rest.rstrip().rpartition(" ")
    label = f"{title}{head}"
    return Reference(int(number), title, url, snapshot, (), label, source, passage, block.line)


def _parse_foreign_reference(block: Block) -> Reference | None:
    listed = _LISTED.match(block.text)
    found = _URL.search(block.text)
    if listed is None or found is None or _MARK.search(listed.group(3)):
        return None
    number = int(listed.group(1) or listed.group(2))
    return Reference(number, _clean_title(listed.group(3)), found.group().rstrip(".,;"), line=block.line)


def _clean_title(rest: str) -> str:
    return _URL.sub("", rest).strip(" -–—:.[]()<>*\"'")[:200]


def find_statements(parsed: ParsedReport) -> list[CitedText]:
    """Return the sentences of the body with what they cite, without headings, headers of tables and quotations.

    Fixed wordings in our reports speak of the report itself. Without a citation they are left out, because they would
    lower the coverage of a report that cites everything it claims.
    """
    found: list[CitedText] = []
    for number, block in enumerate(parsed.body):
        line = block.text
        silent = is_quiet_heading(block, parsed) or (
            line.startswith(">") and not parsed.ours
        )  # ours quote below their references only
        skipped = _is_status(number, block) or silent or set(line) <= set("|-: *_=")
        if skipped or (block.code and not parsed.ours):
            continue
        if is_row(line):
            head = number + 1 < len(parsed.body) and is_rule(parsed.body[number + 1].text)
            found += [] if head else [replace(said, line=block.line) for said in _parse_cells(line)]
            continue
        for said in _split_block(block):
            if any(c.isalpha() for c in said.text):
                found.append(said)
            elif found:  # a line of marks alone belongs to the sentence above
                found[-1] = _add_marks(found[-1], said)
    return [said for said in found if said.numbers or said.urls or not (parsed.ours and _is_fixed(said.text, parsed))]


def _is_fixed(text: str, parsed: ParsedReport) -> bool:
    """True for a wording of code that claims nothing; one on editions may name only those of the references."""
    if not text.startswith(phrases.STANDS_IN):
        return phrases.is_written_by_code(text)
    editions = text.removeprefix(phrases.STANDS_IN).rstrip(". ").replace(phrases.UNCHANGED, ",")
    labels = " ".join(each.label for each in parsed.references.values())
    return set(re.findall(r"\w*\d\w*", editions)) <= set(re.findall(r"\w*\d\w*", labels))


def is_quiet_heading(block: Block, parsed: ParsedReport) -> bool:
    """True for a heading that only says what is asked; in our reports its numbers stand in the title or a source."""
    if not parsed.ours or not block.text.startswith("##"):
        return block.text.startswith("#")
    own = parsed.body[0].text, *(f"{each.label} {' '.join(each.quotes)}" for each in parsed.references.values())
    return set(re.findall(r"\d+", block.text)) <= set(re.findall(r"\d+", " ".join(own)))


def _split_block(block: Block) -> list[CitedText]:
    """Return the sentences of one block. Marks after a full stop belong to the sentence before them.

    If the block itself begins with a mark, its marks belong to the sentences that follow them.
    """
    found: list[CitedText] = []
    item = _ITEM.match(block.text) or _LEAD.match(block.text)
    start = item.end() if item else 0
    text = block.text[start:]
    spans = split_sentences(text)
    pieces = [text[span.start : span.end] for span in spans]
    after = not _LEADING.match(pieces[0]) if pieces else False
    for span, piece in zip(spans, pieces, strict=True):
        lead = _LEADING.match(piece) if after else None
        if lead is not None and found:
            found[-1] = _add_marks(found[-1], _parse_piece(lead.group()))
        said = _parse_piece(piece[lead.end() :] if lead is not None else piece)
        if found and not any(c.isalpha() for c in said.text):
            found[-1] = _add_marks(found[-1], said)
        else:
            found.append(replace(said, line=block.line_at(start + span.start)))
    return found


def _add_marks(said: CitedText, marks: CitedText) -> CitedText:
    return replace(said, numbers=said.numbers + marks.numbers, urls=said.urls + marks.urls)


def _parse_piece(piece: str) -> CitedText:
    numbers = tuple(int(n) for match in _MARK.finditer(piece) for n in match.group(1).split(","))
    urls = tuple(match.group(2) for match in _INLINE.finditer(piece))
    text = unescape_markdown(_INLINE.sub(r"\1", _MARK.sub("", _LABEL.sub("", piece))))
    text = re.sub(r"\s+([.,;:!?])(?=\s|$)", r"\1", " ".join(text.replace("|", " ").split()))
    return CitedText(text, numbers, urls)


def _parse_cells(row: str) -> list[CitedText]:
    """Return the statements of a row, each with its citations; a row without citations is one statement."""
    found = list(iter_row_statements(row, _CITED))
    if not found:
        return [_parse_piece(row.strip("| "))]
    cited = [(text, _parse_piece(" ".join(marks))) for text, marks in found]
    return [
        CitedText(unescape_markdown(_LABEL.sub("", text)), marks.numbers, marks.urls, cell=True)
        for text, marks in cited
    ]


_BLOCKS = frozenset("h1 h2 h3 h4 h5 h6 p li tr blockquote section main div pre hr".split())
_HIDDEN = frozenset(("head", "style", "script", "nav", "template"))
_START = {"li": "- ", **{f"h{level}": "#" * level + " " for level in range(1, 7)}}
_SOURCE_TITLE = re.compile(r"\[\d{1,5}\] ")


def is_html(text: str) -> bool:
    """True for a page of HTML."""
    return text.lstrip("\ufeff \r\n\t")[:200].lower().startswith(("<!doctype html", "<html"))


def html_to_markdown(page: str) -> str:
    """Return what a page shows as Markdown: headings, paragraphs, items, rows, quotes and the list of sources."""
    reader = _PageReader()
    reader.feed(page)
    reader.close()
    return "\n\n".join(reader.finish())


class _PageReader(HTMLParser):
    """Collects one line of Markdown for each block of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._lines: list[str] = []
        self._text = ""
        self._hidden = 0
        self._quoted = 0
        self._rows = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - the parser's
        """Open a block, a cell or a hidden part."""
        if tag in _HIDDEN:
            self._hidden += 1
        if tag in _BLOCKS:
            self._flush()
        self._quoted += tag == "blockquote"
        if tag in _START:
            self._text = _START[tag]
        elif tag in ("td", "th"):
            self._text += "| "
        elif tag == "code":
            self._text += "`"
        elif tag == "br":
            self._text += " "
        elif tag == "table":
            self._rows = 0

    def handle_endtag(self, tag: str) -> None:
        """Close a block, a cell or a hidden part."""
        if tag in _HIDDEN:
            self._hidden = max(0, self._hidden - 1)
        if tag in ("td", "th"):
            self._text += " "
        elif tag == "code":
            self._text += "`"
        elif tag == "tr":
            self._end_row()
        elif tag in _BLOCKS:
            self._flush()
        self._quoted -= tag == "blockquote" and self._quoted > 0

    def handle_data(self, data: str) -> None:
        """Collect text."""
        if not self._hidden:
            self._text += data

    def _end_row(self) -> None:
        cells = " ".join(self._text.split())
        self._text = f"{cells} |" if cells else ""
        self._flush()
        self._rows += 1
        if self._rows == 1 and cells:
            self._lines[-1] += "\n" + "|" + "---|" * cells.count("| ")

    def _flush(self) -> None:
        line, self._text = " ".join(self._text.split()), ""
        if not line or line in _START.values():
            return
        self._lines.append(f"> {line}" if self._quoted else line)

    def finish(self) -> list[str]:
        """Return the lines, each source in one line as in Markdown."""
        self._flush()
        return _join_sources(self._lines)


def _join_sources(lines: list[str]) -> list[str]:
    """Write "### [n] title", details, address, quotes and mark as one reference with its quotes below."""
    found: list[str] = []
    head: list[str] = []
    below: list[str] = []
    for line in lines:
        title = line.removeprefix("### ")
        if line.startswith("### ") and _SOURCE_TITLE.match(title):
            number, _, name = title.partition(" ")
            head, below = [f"{number} **{name}**"], []
        elif head and line.startswith("`") and "sha256:" in line:
            source, _, digest = line.strip("`").partition(" ")
            found += [f"{_join_head(head)} `{source}` `{digest}`", *below]
            head = []
        elif head and line.startswith((">", phrases.NOTICE)):
            below.append(line)
        elif head:
            head.append(line)
        else:
            found.append(line)
    return found


def _join_head(parts: list[str]) -> str:
    title, *details, address = parts if len(parts) > 1 else [*parts, ""]
    comma = "," if details and not details[0].startswith("(") else ""
    return " ".join([f"{title}{comma}", *details]) + f". {address}"

"""A second check of any cited Markdown against the stored sources, without a network or a model.

Knows how citations are written in our reports, which carry their quotes, and in common foreign forms, which are looked
up by address. Does not know where the sources are stored: it is given two lookups.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from corrobora.domain.evidence import locate_quote
from corrobora.domain.report import Support
from corrobora.reporting.markdown import is_row, is_rule, iter_row_statements, strip_source_label, unescape_markdown
from corrobora.text.phrases import is_written_by_code
from corrobora.text.segmentation import split_sentences
from corrobora.text.support import Evidence, check_support, token_overlap

Lookup = Callable[[str], Awaitable[str | None]]

_OURS = re.compile(r"^\[(\d{1,5})\] \*\*(.{0,400}?)\*\*.{0,4000}`(S\d{1,9}):(C\d{1,9})` `sha256:([0-9a-f]{64})`$")
_LISTED = re.compile(r"^\s{0,8}(?:[-*]\s{0,4})?(?:\[\^?(\d{1,5})\]:?|(\d{1,5})[.)])\s{1,8}(.{1,4000})$")
_URL = re.compile(r"https?://[^\s)>\]\"']{1,2083}")
_INLINE = re.compile(r"\[([^\]\n]{0,300})\]\((https?://[^()\s]{1,2083})\)")
_MARK = re.compile(r"\[\^?(\d{1,5}(?:\s{0,2},\s{0,2}\d{1,5}){0,9})\](?!\(|:)")
_LEADING = re.compile(rf"(?:\s{{0,4}}{_MARK.pattern})+")
_CITED = re.compile(f"{_INLINE.pattern}|{_MARK.pattern}")
_WINDOW = 3  # sentences of a page that may support a statement together
_CODE_SECTIONS = ("methodology", "sources", "references", "gaps", "bibliography")


class CitationStatus(StrEnum):
    """The result of checking one citation."""

    VERIFIED = "verified"  # the quote stands in the stored snapshot
    SAID = "said"  # no quote was given, but the stored page says it
    NOT_SAID = "not_said"  # the stored page does not say it
    QUOTE_MISSING = "quote_missing"  # the snapshot is stored and does not hold the quote
    CHANGED = "changed"  # the stored text does not have the hash that was cited
    NOT_STORED = "not_stored"  # cannot be checked offline
    DANGLING = "dangling"  # a number that no reference explains


@dataclass(frozen=True, slots=True)
class Reference:
    """One entry of a list of sources."""

    number: int
    title: str
    url: str = ""
    snapshot: str = ""
    quotes: tuple[str, ...] = ()
    label: str = ""  # title, version, date and heading as listed
    passage: str = ""  # of our own reports: several passages of one document are several references


@dataclass(frozen=True, slots=True)
class CitedText:
    """One sentence of the body, or what one cell of a table says, with the numbers and addresses it cites."""

    text: str
    numbers: tuple[int, ...] = ()
    urls: tuple[str, ...] = ()
    cell: bool = False


@dataclass(frozen=True, slots=True)
class CheckedStatement:
    """One sentence of the body with the results of its citations."""

    text: str
    cited: tuple[str, ...]
    found: tuple[CitationStatus, ...]
    support: Support
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RecheckResult:
    """The result: each statement, and the counts that make a rate honest (TRUTH-7)."""

    statements: tuple[CheckedStatement, ...]
    references: tuple[Reference, ...]
    never_cited: tuple[int, ...]
    duplicates: int

    @property
    def cited(self) -> int:
        """Statements with at least one citation."""
        return sum(bool(s.cited) for s in self.statements)

    @property
    def coverage(self) -> float:
        """Share of statements that carry a citation; 0.0 where there are none."""
        return self.cited / len(self.statements) if self.statements else 0.0

    @property
    def checkable(self) -> int:
        """Cited statements of which at least one source is stored."""
        blind = (CitationStatus.NOT_STORED, CitationStatus.DANGLING)
        return sum(any(f not in blind for f in s.found) for s in self.statements if s.cited)

    @property
    def carried(self) -> int:
        """The number of cited statements that a stored source supports."""
        good = (Support.SUPPORTED, Support.PARTLY)
        return sum(
            s.support in good and any(f in (CitationStatus.VERIFIED, CitationStatus.SAID) for f in s.found)
            for s in self.statements
        )

    def count_status(self, found: CitationStatus) -> int:
        """Count the citations with this status."""
        return sum(each is found for s in self.statements for each in s.found)


async def recheck_report(text: str, *, by_hash: Lookup, by_url: Lookup) -> RecheckResult:
    """Check every citation of a Markdown text against what is stored."""
    body, references = parse_report(text)
    statements: list[CheckedStatement] = []
    ours = any(reference.snapshot for reference in references.values())
    for said in _find_statements(body, ours=ours):
        fates: list[CitationStatus] = []
        evidence: list[str] = []
        cited_sources = [*(references.get(n) for n in said.numbers), *(Reference(0, "", url) for url in said.urls)]
        labels = [reference.label or reference.title for reference in cited_sources if reference is not None]
        sentence = strip_source_label(said.text, labels) if said.cell else said.text
        for reference in cited_sources:
            fate, carrying = await _check_reference(sentence, reference, by_hash, by_url)
            fates.append(fate)
            evidence += carrying
        result = check_support(sentence, [Evidence(quote) for quote in evidence])
        cited = (*map(str, said.numbers), *said.urls)
        status = Support.UNSUPPORTED if cited and not evidence else result.support
        statements.append(CheckedStatement(said.text, cited, tuple(fates), status, result.reasons))
    used = {int(c) for s in statements for c in s.cited if c.isdigit()}
    never = tuple(n for n in references if n not in used)
    addresses = [(r.url, r.passage) for r in references.values() if r.url]
    return RecheckResult(tuple(statements), tuple(references.values()), never, len(addresses) - len(set(addresses)))


def parse_report(text: str) -> tuple[str, Mapping[int, Reference]]:
    """Split a report into its body and its references, in our form or in a common foreign one."""
    body: list[str] = []
    references: dict[int, Reference] = {}
    quotes: dict[int, list[str]] = {}
    current = 0
    section = ""
    for line in text.split("\n"):
        if line.startswith("#"):
            section = line.strip("# \t").lower()
        ours = _OURS.match(line)
        if ours is not None:
            current = int(ours.group(1))
            label = _URL.sub("", line.partition("] ")[2].partition("`")[0])
            title, url, passage = ours.group(2), _find_url(line), ours.group(4)
            references[current] = Reference(current, title, url, ours.group(5), label=label, passage=passage)
            continue
        if current and line.startswith(">"):
            if line[1:].strip():
                quotes.setdefault(current, []).append(line[1:].strip())
            continue
        listed = _LISTED.match(line)
        if listed is not None and _URL.search(line) is not None and not _MARK.search(listed.group(3)):
            number = int(listed.group(1) or listed.group(2))
            references.setdefault(number, Reference(number, _clean_title(listed.group(3)), _find_url(line)))
            continue
        if section not in _CODE_SECTIONS:
            body.append(line)
    whole = {n: replace(r, quotes=tuple(quotes.get(n, ()))) for n, r in references.items()}
    return "\n".join(body), whole


def _find_url(line: str) -> str:
    found = _URL.search(line)
    return found.group().rstrip(".,;") if found else ""


def _clean_title(rest: str) -> str:
    return _URL.sub("", rest).strip(" -–—:.[]()<>*\"'")[:200]


def _find_statements(body: str, *, ours: bool) -> list[CitedText]:
    """Return the sentences of the body with what they cite, without headings, headers of tables and code.

    Fixed wordings in our reports speak of the report itself. Without a citation they are left out, because they would
    lower the coverage of a report that cites everything it claims.
    """
    found: list[CitedText] = []
    lines = body.split("\n")
    for number, line in enumerate(lines):
        stripped = line.strip()
        if not stripped or stripped.startswith(("#", "```", ">", "*Status:")) or set(stripped) <= set("|-: *_="):
            continue
        if is_row(line):
            head = number + 1 < len(lines) and is_rule(lines[number + 1])
            found += [] if head else _parse_cells(stripped)
            continue
        for said in _split_line(stripped):
            if any(c.isalpha() for c in said.text):
                found.append(said)
            elif found:  # a line of marks alone belongs to the sentence above
                found[-1] = _add_marks(found[-1], said)
    return [said for said in found if said.numbers or said.urls or not (ours and is_written_by_code(said.text))]


def _split_line(line: str) -> list[CitedText]:
    """Return the sentences of one line. Marks after a full stop belong to the sentence before them.

    If the line itself begins with a mark, its marks belong to the sentences that follow them.
    """
    found: list[CitedText] = []
    pieces = [line[span.start : span.end] for span in split_sentences(line)]
    after = not _LEADING.match(pieces[0]) if pieces else False
    for piece in pieces:
        lead = _LEADING.match(piece) if after else None
        if lead is not None and found:
            found[-1] = _add_marks(found[-1], _parse_piece(lead.group()))
        said = _parse_piece(piece[lead.end() :] if lead is not None else piece)
        if found and not any(c.isalpha() for c in said.text):
            found[-1] = _add_marks(found[-1], said)
        else:
            found.append(said)
    return found


def _add_marks(said: CitedText, marks: CitedText) -> CitedText:
    return replace(said, numbers=said.numbers + marks.numbers, urls=said.urls + marks.urls)


def _parse_piece(piece: str) -> CitedText:
    numbers = tuple(int(n) for match in _MARK.finditer(piece) for n in match.group(1).split(","))
    urls = tuple(match.group(2) for match in _INLINE.finditer(piece))
    text = unescape_markdown(_INLINE.sub(r"\1", _MARK.sub("", piece)))
    return CitedText(" ".join(text.replace("|", " ").split()).strip("-* "), numbers, urls)


def _parse_cells(row: str) -> list[CitedText]:
    """Return the statements of a row, each with its citations; a row without citations is one statement."""
    found = list(iter_row_statements(row, _CITED))
    if not found:
        return [_parse_piece(row)]
    cited = [(text, _parse_piece(" ".join(marks))) for text, marks in found]
    return [CitedText(unescape_markdown(text), marks.numbers, marks.urls, cell=True) for text, marks in cited]


async def _check_reference(
    sentence: str, reference: Reference | None, by_hash: Lookup, by_url: Lookup
) -> tuple[CitationStatus, Sequence[str]]:
    """Return the status of one citation and the stored text that supports it."""
    if reference is None:
        return CitationStatus.DANGLING, ()
    if reference.snapshot:
        return await _check_snapshot(reference, by_hash)
    stored = await by_url(reference.url) if reference.url else None
    if stored is None:
        return CitationStatus.NOT_STORED, ()
    window = find_best_window(sentence, stored)
    said = check_support(sentence, [Evidence(window)]).support in (Support.SUPPORTED, Support.PARTLY)
    return (CitationStatus.SAID if said else CitationStatus.NOT_SAID), (window,)


async def _check_snapshot(reference: Reference, by_hash: Lookup) -> tuple[CitationStatus, Sequence[str]]:
    stored = await by_hash(reference.snapshot)
    if stored is None:
        return CitationStatus.NOT_STORED, ()
    if hashlib.sha256(stored.encode("utf-8", "surrogatepass")).hexdigest() != reference.snapshot:
        return CitationStatus.CHANGED, ()
    readings = ([quote, unescape_markdown(quote)] for quote in reference.quotes)  # as stored, or as a viewer shows it
    standing = [next((each for each in pair if locate_quote(each, stored) is not None), "") for pair in readings]
    standing = [quote for quote in standing if quote]
    if len(standing) < len(reference.quotes) or not reference.quotes:
        return CitationStatus.QUOTE_MISSING, standing
    return CitationStatus.VERIFIED, standing


def find_best_window(sentence: str, text: str) -> str:
    """Return the few consecutive sentences of a page that have most words in common with a statement."""
    spans = split_sentences(text)
    windows = [text[spans[i].start : spans[min(i + _WINDOW, len(spans)) - 1].end] for i in range(len(spans))]
    return max(windows, key=lambda window: token_overlap(sentence, window), default="")

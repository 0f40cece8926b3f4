"""Evidence of a delivered report: for every `[n]` of its text the quotes of this statement, inside their passage.

A reference may hold several quotes of one passage; a marker leads to those that carry the statement in front of it.
Knows where a text cites, and the report, its facts and the stored texts that it is given. Does not know where texts are
stored.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from corrobora.domain.evidence import Document, Fact, locate_quote
from corrobora.domain.report import Citation, CitedPassage, CitedQuote, MarkerEvidence, Report, SentenceCheck, Support
from corrobora.reporting.report_format import compile_labels
from corrobora.reporting.seal import strip_seal
from corrobora.reporting.verify import is_copied, make_evidence
from corrobora.text import phrases
from corrobora.text.derivations import DerivationKind
from corrobora.text.markdown import (
    drop_marks,
    iter_row_statements,
    join_cells,
    split_cited_sentences,
    strip_source_label,
)
from corrobora.text.phrases import ENGLISH, Frame, find_frame, list_frames
from corrobora.text.support import check_support
from corrobora.text.tokens import stem_text, token_overlap

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token

NUMBER = re.compile(r"\[(\d{1,5})\]")
_BRACKET = "\ue000"  # stands for one that opens no citation


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One `[n]` that leads to a reference, and the statement that cites it, as a viewer shows it."""

    number: int
    sentence: str


@cache
def make_parser() -> MarkdownIt:
    """Return the parser of reports: CommonMark with tables, without HTML and images.

    A bracket that is escaped in the report stays a token of its own: a source's own "[1]" is no citation of the report.
    """
    from markdown_it import MarkdownIt  # noqa: PLC0415 - only a delivery or a page needs it, and the import is slow

    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    parser.core.ruler.at("text_join", _join_texts)
    return parser


def _join_texts(state: StateCore) -> None:
    """Join neighbouring texts, as the parser's own rule does, but none with an escaped bracket."""
    for block in state.tokens:
        joined: list[Token] = []
        for child in block.children or ():
            bracket = child.type == "text_special" and child.content in "[]"
            child.type = "text" if child.type == "text_special" and not bracket else child.type
            if child.type == "text" and joined and joined[-1].type == "text":
                joined[-1].content += child.content
            else:
                joined.append(child)
        for child in joined:
            child.type = "text" if child.type == "text_special" else child.type
        block.children = joined if block.children else block.children


def split_sources(markdown: str, cited: Sequence[Citation], frame: Frame = ENGLISH) -> tuple[str, bool]:
    """Cut off the list of sources, which is written again from the citations; False if it is not ours."""
    body, found, rest = markdown.rpartition(f"\n## {frame.translate('Sources')}\n")
    labels = tuple(f"**{frame.translate(each)}:**" for each in (phrases.NOTICE, phrases.AUTHORS, phrases.ORDER_QUOTED))
    listed = all(not line or line.startswith((">", "[", *labels)) for line in rest.split("\n"))
    return (body, True) if found and cited and listed else (markdown, False)


def find_marks(children: Sequence[Token], numbers: Container[int]) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield the citations of one block, none in links or code: the index of the token of each, and its place."""
    inside = 0
    for at, child in enumerate(children):
        inside += {"link_open": 1, "link_close": -1}.get(child.type, 0)
        if child.type == "text" and not inside:
            yield from ((at, mark) for mark in NUMBER.finditer(child.content) if int(mark.group(1)) in numbers)


def list_occurrences(tokens: Sequence[Token], numbers: Container[int]) -> list[Occurrence]:
    """Return every citation of the text in order, each with its statement."""
    found: list[Occurrence] = []
    cells: list[str] | None = None
    code = ""  # of the block above
    for token in tokens:
        match token.type:
            case "fence":
                code = " ".join(token.content.replace("[", _BRACKET).split())
            case "tr_open":
                cells = []
            case "tr_close":
                found += _read_row(cells or ())
                cells = None
            case "inline":
                text = _show_text(token.children or [], numbers)
                if cells is None:  # a line of marks alone cites what the code above it says
                    found += _read_sentences(f"{code} {text}" if code and not NUMBER.sub("", text).strip() else text)
                    code = ""
                else:
                    cells.append(text)
            case _:
                pass
    return found


def _show_text(children: Sequence[Token], numbers: Container[int]) -> str:
    """Return a block as shown, in which only citations are still numbers in brackets."""
    cited = {(at, mark.start()) for at, mark in find_marks(children, numbers)}
    shown: list[str] = []
    for at, child in enumerate(children):
        if child.type in ("text", "code_inline"):
            letters = list(child.content)
            for place, letter in enumerate(letters):
                if letter == "[" and (at, place) not in cited:
                    letters[place] = _BRACKET
            shown.append("".join(letters))
        elif child.type in ("softbreak", "hardbreak"):
            shown.append(" ")
    return compile_labels(*list_frames()).sub(lambda label: " " * len(label.group()), "".join(shown))


def _read_sentences(text: str) -> list[Occurrence]:
    sentences = {mark.start(): said.text for said in split_cited_sentences(text, NUMBER) for mark in said.marks}
    return [_make_occurrence(mark.group(), sentences.get(mark.start(), "")) for mark in NUMBER.finditer(text)]


def _read_row(cells: Sequence[str]) -> list[Occurrence]:
    """Return the citations of a row: of a cell with words it is the statement, of numbers alone what the others say."""
    said = [text for text, _ in iter_row_statements(join_cells(cells), NUMBER)]
    found: list[Occurrence] = []
    for cell in cells:
        marks = NUMBER.findall(cell)
        if marks and any(letter.isalnum() for letter in drop_marks(cell, NUMBER)):
            own = said.pop(0) if said else cell
            found += [_make_occurrence(mark, own) for mark in marks]
        else:
            found += [_make_occurrence(mark, "") for mark in marks]
    return [_make_occurrence(str(each.number), each.sentence or " ".join(said)) for each in found]


def _make_occurrence(mark: str, sentence: str) -> Occurrence:
    return Occurrence(int(mark.strip("[]")), " ".join(sentence.replace(_BRACKET, "[").split()))


_PAGE = re.compile(r"pp?\. (\d{1,6})(?:–\d{1,6})?")  # the heading that readers give the pages of a document
_AROUND = 400  # characters shown around a quote whose passage is no longer stored


def cite_span(stored: Document, passage: str, heading: str, start: int, end: int) -> CitedPassage:
    """Return characters `start` to `end` of a stored document as a passage, with what its source says of itself."""
    source = stored.source
    return CitedPassage(
        source=source.id,
        passage=passage,
        snapshot=source.snapshot,
        start=start,
        end=end,
        text=stored.text[start:end],
        title=source.title,
        url=source.url,
        heading=heading,
        page=read_page(heading),
        version=source.version,
        published=source.published,
        publisher=source.publisher,
    )


def read_page(heading: str) -> int | None:
    """Return the number of the page that a heading names, the first of several, None if it names none.

    Example:
        >>> read_page("p. 12"), read_page("pp. 12–13"), read_page("Scope")
        (12, 12, None)
    """
    found = _PAGE.fullmatch(heading.strip())
    return int(found[1]) if found else None


def build_evidence(
    report: Report, stored: Mapping[str, Document]
) -> tuple[tuple[MarkerEvidence, ...], tuple[CitedPassage, ...]]:
    """Return the evidence of every `[n]` of a report's text in order, and the passages that hold the quotes.

    `stored` has the cited sources by id. A quote that no longer stands in its stored text is left out.
    """
    frame = find_frame(report.language, report.translation)
    body, _ = split_sources(strip_seal(report.markdown).rstrip(), report.citations, frame)
    markers = {each.number: f"[{each.source}:{each.passage}]" for each in report.citations}
    facts: dict[str, list[Fact]] = {}
    for fact in report.findings.citable:
        facts.setdefault(fact.marker, []).append(fact)
    checks = {fold_letters(check.sentence): check for check in reversed(report.checks) if not check.withheld}
    passages: dict[tuple[str, str, int, int], CitedPassage] = {}
    found: list[MarkerEvidence] = []
    for place, each in enumerate(list_occurrences(make_parser().parse(body), markers), 1):
        chosen = select_quotes(each.sentence, facts.get(markers[each.number], ()))
        support, follows = _judge(each.sentence, checks, chosen)
        quotes: list[CitedQuote] = []
        for fact in chosen:
            cited = _cite(fact, stored.get(fact.source))
            if cited is not None:
                quote, passage = cited
                passages.setdefault((passage.source, passage.passage, passage.start, passage.end), passage)
                quotes.append(quote)
        found.append(MarkerEvidence(place, each.number, each.sentence, support, follows, tuple(quotes)))
    return tuple(found), tuple(passages.values())


def select_quotes(sentence: str, facts: Sequence[Fact]) -> tuple[Fact, ...]:
    """Return those facts of one passage that carry a sentence, the one that says most of it first.

    A copied sentence has the quote that it was copied from. Any other has the quote that carries it alone, or, if none
    does, the fewest that together hold its words.
    """
    if len(facts) <= 1:
        return tuple(facts)
    labels = [label for fact in facts for label in (fact.title, fact.version, fact.published)]
    said = strip_source_label(sentence, labels)
    for reading in dict.fromkeys((sentence, said)):
        copied = [fact for fact in facts if is_copied(reading, [fact.quote])]
        if copied:
            return (min(copied, key=lambda fact: len(fact.quote)),)
    ranked = sorted(facts, key=lambda fact: token_overlap(said, fact.quote), reverse=True)
    carrying = [each for each in ranked if check_support(said, [make_evidence(each)]).support is Support.SUPPORTED]
    if carrying:
        return (carrying[0],)
    chosen, lacking = [ranked[0]], set(stem_text(said)) - set(stem_text(ranked[0].quote))
    for fact in ranked[1:]:
        if lacking & set(stem_text(fact.quote)):
            chosen.append(fact)
            lacking -= set(stem_text(fact.quote))
    return tuple(chosen)


def _judge(sentence: str, checks: Mapping[str, SentenceCheck], chosen: Sequence[Fact]) -> tuple[Support, str]:
    """Return the verdict of a sentence and how it follows; what code laid out is checked against its quotes here."""
    check = checks.get(fold_letters(sentence))
    if check is not None:
        return check.support, check.follows
    said = strip_source_label(sentence, [label for fact in chosen for label in (fact.title, fact.version)])
    copied = is_copied(said, [fact.quote for fact in chosen])
    support = Support.SUPPORTED if copied else check_support(said, list(map(make_evidence, chosen))).support
    return support, str(DerivationKind.QUOTE if copied else DerivationKind.RESTATEMENT)


def fold_letters(text: str) -> str:
    """Return the letters and digits of a text, in small letters."""
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def _cite(fact: Fact, stored: Document | None) -> tuple[CitedQuote, CitedPassage] | None:
    """Return a fact's quote at its place in the stored text, and the passage around it; None if it stands nowhere."""
    if stored is None:
        return None
    start, end = fact.start, fact.end
    if stored.text[start:end] != fact.quote:
        place = locate_quote(fact.quote, stored.text)
        if place is None:
            return None
        start, end = place
    passage = _find_passage(fact, stored, start, end)
    source = stored.source
    quote = CitedQuote(
        fact.id, source.id, passage.passage, source.snapshot, start=start, end=end, text=stored.text[start:end]
    )
    return quote, passage


def _find_passage(fact: Fact, stored: Document, start: int, end: int) -> CitedPassage:
    """Return the stored passage of a quote; one that goes on in the next passage has both."""
    held = [each for each in stored.passages if each.start < end and each.end > start]
    own = next((each for each in held if each.id == fact.passage), held[0] if held else None)
    if own is not None and own.start <= start and end <= own.end:
        held = [own]
    low = min(start, held[0].start) if held else max(0, start - _AROUND)
    high = max(end, held[-1].end) if held else min(len(stored.text), end + _AROUND)
    passage, heading = (own.id, own.heading) if own is not None else (fact.passage, fact.heading)
    return cite_span(stored, passage, heading, low, high)

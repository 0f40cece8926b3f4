"""References of a report: what each leads to, and whether it tells of its source what the stored record says.

Knows titles, authors, editions, dates, headings, addresses, passages and quotes. Does not know where sources lie:
they are given by lookups.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from itertools import islice
from operator import itemgetter

from corrobora.domain.evidence import Source, locate_quote
from corrobora.domain.report import Citation
from corrobora.reporting.bibliography import cut_title, format_source_head
from corrobora.reporting.report_parser import ParsedReport, Reference
from corrobora.reporting.seal import fold_layout
from corrobora.text.authors import join_authors
from corrobora.text.markdown import unescape_markdown
from corrobora.text.notices import find_notice
from corrobora.text.segmentation import split_sentences
from corrobora.text.support import Evidence
from corrobora.text.tokens import is_table_row, read_inline, stem_text
from corrobora.text.vocabulary import weigh_stem

_MOST_PLACES = 50


class CitationStatus(StrEnum):
    """The result of checking one citation."""

    VERIFIED = "verified"  # the quote stands in the stored snapshot
    SAID = "said"  # no quote was given, but the stored page says it
    NOT_SAID = "not_said"  # the stored page does not say it
    QUOTE_MISSING = "quote_missing"  # the snapshot is stored and does not hold the quote
    MISLABELLED = "mislabelled"  # title, edition, date or address are not those of the stored source
    CHANGED = "changed"  # the stored text does not have the hash that was cited
    NOT_STORED = "not_stored"  # could not be looked at
    DANGLING = "dangling"  # a number that no reference explains


BLIND = (CitationStatus.NOT_STORED,)
GOOD = (CitationStatus.VERIFIED, CitationStatus.SAID)


@dataclass(frozen=True, slots=True)
class StoredSource:
    """A stored source as its own record has it, with the passage of a cited quote and the heading above it."""

    source: Source
    heading: str | None = None
    passage: str = ""


@dataclass(frozen=True, slots=True)
class SourcePage:
    """The whole text of a source, with what it says about itself and where each section begins, by its headings."""

    text: str
    title: str = ""
    version: str = ""
    published: str = ""
    sections: tuple[tuple[int, str], ...] = ()  # where the section begins, and its path of headings


async def _no_sources(_: Reference, __: Sequence[tuple[int, int]]) -> Sequence[StoredSource]:
    return ()


# with the places of its quotes, which may begin in one passage and end in the next
SourceLookup = Callable[[Reference, Sequence[tuple[int, int]]], Awaitable[Sequence[StoredSource]]]
TextLookup = Callable[[str], Awaitable[str | None]]


@dataclass(frozen=True, slots=True)
class Lookups:
    """Where the check may look: texts by hash, pages for a reference, and what is known of a cited source."""

    by_hash: TextLookup
    by_reference: Callable[[Reference], Awaitable[SourcePage | None]]
    sources: SourceLookup = _no_sources


@dataclass(frozen=True, slots=True)
class CheckedReference:
    """What one reference leads to: its status, the text that may support a statement, and what is wrong with it."""

    status: CitationStatus
    evidence: tuple[Evidence, ...] = ()
    source: str = ""
    url: str = ""
    page: SourcePage | None = None  # where no quote was given
    problem: str = ""
    notice: str = ""  # a retraction or correction that the source states about itself
    known: tuple[StoredSource, ...] = ()  # what is stored of it


def find_misplaced(parsed: ParsedReport, checked: Mapping[int, CheckedReference]) -> dict[int, str]:
    """Return the references that name another source or passage than the one that holds their quote.

    A library elsewhere has other numbers, so nothing is said unless a reference of the same report has those of here.
    """
    named = {number: (each.source, each.passage) for number, each in parsed.references.items()}
    held = {number: {(each.source.id, each.passage) for each in found.known} for number, found in checked.items()}
    wrong = [number for number, each in named.items() if held.get(number) and each not in held[number]]
    if not any(each in held.get(number, ()) for number, each in named.items()):
        return {}
    return {number: f"its quote stands in {':'.join(min(held[number]))}" for number in wrong}


async def check_reference(reference: Reference, lookups: Lookups) -> CheckedReference:
    """Return the status of one reference and the stored text that it leads to."""
    if reference.snapshot:
        return await _check_snapshot(reference, lookups)
    page = await lookups.by_reference(reference)
    if page is None:
        return CheckedReference(CitationStatus.NOT_STORED)
    return CheckedReference(
        CitationStatus.SAID, url=reference.url, page=page, notice=find_notice(reference.title, page.text)
    )


async def _check_snapshot(reference: Reference, lookups: Lookups) -> CheckedReference:
    stored = await lookups.by_hash(reference.snapshot)
    if stored is None:
        return CheckedReference(CitationStatus.NOT_STORED)
    if hashlib.sha256(stored.encode("utf-8", "surrogatepass")).hexdigest() != reference.snapshot:
        return CheckedReference(CitationStatus.CHANGED, problem="the stored text does not have this hash")
    quotes = _find_standing(reference.quotes, stored)
    known = await lookups.sources(reference, [place for quote in quotes for place in _list_places(quote, stored)])
    problem = _find_mislabel(reference, known)
    meta = known[0].source if known else None
    evidence = tuple(
        Evidence(
            quote,
            meta.title if meta else reference.title,
            meta.version if meta else "",
            meta.published if meta else "",
            (known[0].heading if known else None) or "",
        )
        for quote in quotes
    )
    notice = find_notice(reference.title, stored)
    if len(quotes) < len(reference.quotes) or not reference.quotes:
        lost = "a quote is not in the stored text" if reference.quotes else "no quote is given"
        return CheckedReference(CitationStatus.QUOTE_MISSING, evidence, problem=lost, notice=notice)
    status = CitationStatus.MISLABELLED if problem else CitationStatus.VERIFIED
    return CheckedReference(
        status, evidence, reference.source, reference.url, problem=problem, notice=notice, known=tuple(known)
    )


def _find_standing(quotes: Sequence[str], stored: str) -> list[str]:
    """Return the quotes that stand in a text as they stand there, found as written or as a viewer shows them."""
    readings = ((quote, unescape_markdown(quote), read_inline(quote)) for quote in quotes)
    places = (next(filter(None, (locate_quote(each, stored) for each in three)), None) for three in readings)
    return [stored[place[0] : place[1]] for place in places if place]


def _list_places(quote: str, stored: str) -> list[tuple[int, int]]:
    """Return where a quote stands in a text, white space apart, at most fifty places."""
    pattern = re.compile(r"\s+".join(map(re.escape, quote.split())))
    return [match.span() for match in islice(pattern.finditer(stored), _MOST_PLACES)]


def _find_mislabel(reference: Reference, known: Sequence[StoredSource]) -> str:
    """Say what a reference states differently from the stored source; "" if it agrees, or nothing is known of it.

    The same text may be stored under several titles and addresses: one record must fit. In another library the files
    have other paths, so the address is compared only where the source has the id that the reference names.
    """
    if not known:
        return ""
    bare = replace(reference, label=reference.label.removesuffix("."))  # a title may end in a sign of layout
    problems = [_compare_label(said, each) for each in known for said in (reference, bare)]
    return min(problems, key=len)


def _compare_label(reference: Reference, stored: StoredSource) -> str:
    source = stored.source
    same = source.id == reference.source
    reference = _join_address(reference, source.url)
    said = fold_layout(reference.label)
    cited = Citation(0, "", "", cut_title(source.title), "", "", (), source.version, source.published)
    title = fold_layout(format_source_head(replace(cited, version="", published="")))
    edition = fold_layout(format_source_head(cited))
    if not said.startswith(title):
        return f"the stored source has the title “{source.title}”"
    if not said.startswith(edition) or (edition == title and said[len(title) :].startswith("(")):
        label = ", ".join(each for each in (source.version, source.published) if each)
        return f"the stored source says of itself: {label}" if label else "the stored source states no edition or date"
    if stored.heading is not None and said.rstrip(".") not in _list_heads(cited, stored.heading):
        return f"the passage stands below “{stored.heading}”"
    if not _is_address(reference.url, source.url, same=same):
        return f"the stored source has the address {source.url}"
    return _compare_authors(reference.authors, source.authors)


def _compare_authors(printed: str, authors: Sequence[str]) -> str:
    """Say what a line of authors tells otherwise; a reference without one claims nothing."""
    listed = join_authors(authors)
    if not printed or fold_layout(read_inline(printed)) == fold_layout(listed):
        return ""
    return f"the stored source names as its authors: {listed}" if listed else "the stored source names no author"


def _join_address(reference: Reference, url: str) -> Reference:
    """Return a reference with its whole address: the name of a file may hold spaces, where a line is parted."""
    whole_label = f"{reference.label} {reference.url}"
    for whole in (url, url.rpartition("/")[2]):
        if " " in whole and whole_label.endswith(f" {whole}"):
            return replace(reference, label=whole_label[: -len(whole)].rstrip(), url=whole)
    return reference


def _is_address(given: str, stored: str, *, same: bool) -> bool:
    """True if two addresses may be one source: a library elsewhere has the same file in another folder."""
    if same or "://" in given + stored:
        return fold_layout(given) == fold_layout(stored)
    return fold_layout(given.rpartition("/")[2]) == fold_layout(stored.rpartition("/")[2])


def _list_heads(cited: Citation, heading: str) -> set[str]:
    """Return what a reference may say of a source, folded: earlier reports repeat the title in the headings."""
    now = format_source_head(replace(cited, heading=heading))
    earlier = f"{format_source_head(cited)}{f', {heading[:_HEADING_CHARS]}' if heading else ''}"
    return {fold_layout(each).rstrip(".") for each in (now, earlier)}


_HEADING = re.compile(  # a line without punctuation, or a version: "3.4.0 (2024-04-02)"
    r"(?:\A|(?<=\n\n))((?![-*•|\d])[^\n.:;,!?|]{1,80}|\[?v?\d+(?:\.\d+)+\]?[^\n.:;,!?|]{0,60})(?=\n\n)"
)
_HEADING_CHARS = 160  # of the headings in a reference of an earlier report
_WINDOW = 3  # sentences of a page that may support a statement together
_OPENING = 300  # characters below the heading above all others in which a page says what it is
_LONG = 1000  # stems: no sentence has as many
_WINDOWS = 3  # places of a page that something may be computed from


@lru_cache(maxsize=64)  # a sentence is compared with its pages, and computed from them
def find_best_windows(sentence: str, page: SourcePage) -> tuple[Evidence, ...]:
    """Return the places of a page that share most with a statement, the best first: a few consecutive sentences each.

    The headings above a place count as well: of several settings one has the default that stands below it.
    """
    weights = {stem: weigh_stem(stem) for stem in sorted(frozenset(stem_text(sentence)))}

    def weigh(stems: frozenset[str]) -> float:
        return sum(weight for stem, weight in weights.items() if stem in stems)

    def rank(place: tuple[frozenset[str], Sequence[frozenset[str]], Evidence]) -> tuple[float, float]:
        """Of two places with the same words, the one that has them in one sentence, and in a shorter one."""
        return -weigh(place[0]), min(len(stems) / _LONG - weigh(stems) for stems in place[1])

    places = sorted(_list_windows(page), key=rank)
    chosen: list[Evidence] = []
    for _, _, each in places:
        if len(chosen) < _WINDOWS and not any(each.quote in one.quote or one.quote in each.quote for one in chosen):
            chosen.append(each)
    return tuple(chosen)


@lru_cache(maxsize=16)
def _list_windows(page: SourcePage) -> list[tuple[frozenset[str], Sequence[frozenset[str]], Evidence]]:
    """Return the places of a page, none of which reaches beyond a heading.

    Each comes with the stems of it and its headings, and with those of each of its sentences.

    What stands before a table or list belongs to each of its lines.
    """
    found: list[tuple[int, frozenset[str], Sequence[frozenset[str]], Evidence]] = []
    heads = list(_iterate_headings(page))
    above_all = all(path.startswith(heads[0][1]) for _, path in heads)
    lines = page.text[: _OPENING * above_all].split("\n")[:-1]
    opening = "\n".join(line for line in lines if not is_table_row(line))  # a row tells of one thing, not of the page
    for (begin, heading), (stop, _) in zip(heads, (*heads[1:], (len(page.text), "")), strict=True):
        page_evidence = Evidence("", page.title, page.version, page.published, heading, opening=opening)
        above = frozenset(stem_text(heading))
        first, _, rest = (part := page.text[begin:stop]).partition("\n")
        if first.strip() and heading.endswith(first.strip()):  # a place of its own
            part = rest
            found.append((0, above, (above,), replace(page_evidence, quote=first.strip())))
        spans = split_sentences(part)
        stems = [frozenset(stem_text(part[span.start : span.end])) for span in spans]
        lead = ""
        for at, span in enumerate(spans):
            said = part[span.start : span.end]
            lead = lead if is_table_row(said) else said
            window = part[span.start : spans[min(at + _WINDOW, len(spans)) - 1].end]
            evidence = replace(page_evidence, quote=window, before="" if lead == said else lead)
            found.append((at, above.union(*stems[at : at + _WINDOW]), stems[at : at + _WINDOW], evidence))
    return [each[1:] for each in sorted(found, key=itemgetter(0))]


def _iterate_headings(page: SourcePage) -> Iterator[tuple[int, str]]:
    """Yield where each section begins, with its headings; a line that stands alone is one below those of the reader."""
    heads = page.sections if page.sections[:1] and not page.sections[0][0] else ((0, ""), *page.sections)
    for (begin, path), (stop, _) in zip(heads, (*heads[1:], (len(page.text), "")), strict=True):
        yield begin, path
        for match in _HEADING.finditer(page.text, begin, stop):
            if match[1] not in path:
                yield match.start(), f"{path} > {match[1]}" if path else match[1]

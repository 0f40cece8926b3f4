"""A second check of a cited report against the stored sources, sentence by sentence, without a model.

Knows what a citation may lead to, what our own references must say about their sources, and when a report passes. Does
not know where the sources are stored or fetched: it is given lookups.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from urllib.parse import urlsplit

from corrobora.domain.evidence import Source, locate_quote
from corrobora.domain.report import Citation, Support
from corrobora.reporting.markdown import strip_source_label, unescape_markdown
from corrobora.reporting.render import format_source_head
from corrobora.reporting.report_parser import (
    CitedText,
    ParsedReport,
    Reference,
    find_statements,
    is_quiet_heading,
    parse_report,
)
from corrobora.reporting.seal import Change, SealStatus, fold_layout, strip_seal
from corrobora.text.claim_words import find_claim_words
from corrobora.text.derivations import DerivationKind, check_derivation
from corrobora.text.markdown import read_inline
from corrobora.text.notices import find_notice
from corrobora.text.operands import CitedEvidence
from corrobora.text.segmentation import split_sentences
from corrobora.text.support import Evidence, SupportCheck, check_support
from corrobora.text.tokens import token_overlap

_WINDOW = 3  # sentences of a page that may support a statement together


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
_GOOD = (CitationStatus.VERIFIED, CitationStatus.SAID)


@dataclass(frozen=True, slots=True)
class StoredSource:
    """A stored source as its own record has it, with the heading above the cited passage if that is known."""

    source: Source
    heading: str | None = None


async def _no_sources(_: Reference) -> Sequence[StoredSource]:
    return ()


TextLookup = Callable[[str], Awaitable[str | None]]


@dataclass(frozen=True, slots=True)
class Lookups:
    """Where the check may look: texts by hash, pages for a reference, and what is known of a cited source."""

    by_hash: TextLookup
    by_reference: Callable[[Reference], Awaitable[str | None]]
    sources: Callable[[Reference], Awaitable[Sequence[StoredSource]]] = _no_sources


@dataclass(frozen=True, slots=True)
class CheckedReference:
    """What one reference leads to: its status, the text that may support a statement, and what is wrong with it."""

    status: CitationStatus
    evidence: tuple[Evidence, ...] = ()
    source: str = ""
    url: str = ""
    page: str = ""  # the whole text, where no quote was given
    problem: str = ""
    notice: str = ""  # a retraction or correction that the source states about itself


@dataclass(frozen=True, slots=True)
class CheckedStatement:
    """One sentence of the body with the results of its citations."""

    text: str
    cited: tuple[str, ...]
    found: tuple[CitationStatus, ...]
    support: Support
    reasons: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()
    line: int = 0

    @property
    def carried(self) -> bool:
        """True if every citation that could be looked at holds, and what they say supports the sentence."""
        seen = [each for each in self.found if each not in BLIND]
        return self.support is Support.SUPPORTED and bool(seen) and all(each in _GOOD for each in seen)


@dataclass(frozen=True, slots=True)
class RecheckResult:
    """The result: each statement, and the counts that make a rate honest (TRUTH-7)."""

    statements: tuple[CheckedStatement, ...]
    references: tuple[Reference, ...]
    never_cited: tuple[int, ...]
    duplicates: int
    ours: bool = False
    problems: Mapping[int, str] = field(default_factory=dict[int, str])  # by the number of a reference
    notices: Mapping[int, str] = field(default_factory=dict[int, str])  # as above
    seal: SealStatus = SealStatus.NONE
    run: str = ""  # whose stored report the file was compared with
    changes: tuple[Change, ...] = ()
    told: int = 0  # lines about the run itself: status, gaps, account, methodology

    @property
    def not_compared(self) -> int:
        """Lines about the run itself that nothing here can confirm, because the run is not stored here."""
        return 0 if self.run else self.told

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
        """Cited statements of which at least one source could be looked at, or which cite nothing that exists."""
        return sum(bool(s.cited) and s.support is not Support.NOT_CHECKABLE for s in self.statements)

    @property
    def not_checkable(self) -> int:
        """Cited statements none of whose sources could be looked at: nothing is known about them."""
        return self.cited - self.checkable

    @property
    def carried(self) -> int:
        """The number of cited statements that their sources support."""
        return sum(s.carried for s in self.statements)

    @property
    def failed(self) -> tuple[CheckedStatement, ...]:
        """Statements that were checked and are not carried; of our own reports also claims without a citation.

        Where the delivered report is known, what was added to it is in `changes`.
        """
        alone = self.ours and not self.run
        return tuple(
            s
            for s in self.statements
            if not s.carried
            and s.support is not Support.NOT_CHECKABLE
            and (s.cited or (alone and s.support is not Support.UNCITED))
        )

    @property
    def passed(self) -> bool:
        """True if all that can be checked holds: statements, references and the seal."""
        broken = self.seal in (SealStatus.CHANGED, SealStatus.BROKEN)
        return not (self.failed or self.problems or self.changes or broken)

    def count_status(self, found: CitationStatus) -> int:
        """Count the citations with this status."""
        return sum(each is found for s in self.statements for each in s.found)


async def recheck_report(text: str, lookups: Lookups) -> RecheckResult:
    """Check every citation of a Markdown text against what can be looked at."""
    parsed = parse_report(strip_seal(text))
    checked = {number: await _check_reference(each, lookups) for number, each in parsed.references.items()}
    statements = [await _check_statement(said, checked, parsed, lookups) for said in find_statements(parsed)]
    used = {int(c) for s in statements for c in s.cited if c.isdigit()}
    references = tuple(parsed.references.values())
    addresses = [(r.url, r.passage) for r in references if r.url]
    return RecheckResult(
        tuple(statements),
        references,
        tuple(n for n in parsed.references if n not in used),
        len(addresses) - len(set(addresses)),
        ours=parsed.ours,
        told=parsed.told,
        problems={number: each.problem for number, each in checked.items() if each.problem},
        notices={number: each.notice for number, each in checked.items() if each.notice},
    )


async def _check_statement(
    said: CitedText, checked: Mapping[int, CheckedReference], parsed: ParsedReport, lookups: Lookups
) -> CheckedStatement:
    dangling = CheckedReference(CitationStatus.DANGLING)
    found = [checked.get(number, dangling) for number in said.numbers]
    found += [await _check_reference(Reference(0, "", url), lookups) for url in said.urls]
    labels = [parsed.references[n].label or parsed.references[n].title for n in said.numbers if n in parsed.references]
    cited = (*map(str, said.numbers), *said.urls)
    fates, best = tuple(each.status for each in found), SupportCheck(Support.UNCITED, 0.0)
    for sentence in dict.fromkeys(_iter_readings(said, labels)):
        evidence: list[Evidence] = []
        fates = tuple(_settle_status(sentence, each, evidence) for each in found)
        best = check_support(sentence, evidence)
        if best.support in (Support.SUPPORTED, Support.UNCITED):
            break
    support, reasons, failing = best.support, best.reasons, best.failing
    if support is not Support.SUPPORTED:
        support, reasons = _derive(said.text, found, support, reasons)
    if not cited and (claimed := find_claim_words(said.text, _list_labels(parsed))):
        support, reasons, failing = Support.UNSUPPORTED, ("a claim without a source",), claimed
    elif cited and best.support is Support.UNCITED:
        blind = bool(fates) and all(each in BLIND for each in fates)
        support = Support.NOT_CHECKABLE if blind else Support.UNSUPPORTED
    return CheckedStatement(unescape_markdown(said.text), cited, fates, support, reasons, failing, said.line)


def _derive(
    text: str, found: Sequence[CheckedReference], support: Support, reasons: tuple[str, ...]
) -> tuple[Support, tuple[str, ...]]:
    """Execute the derivation that a sentence claims; one that needs the reading set of the run cannot be checked."""
    cited = [CitedEvidence(piece, each.source, urlsplit(each.url).netloc) for each in found for piece in each.evidence]
    derived = check_derivation(read_inline(text), cited)
    if derived.holds is None:
        needs_reading = derived.kind in (DerivationKind.ABSENCE, DerivationKind.COUNT)
        return (Support.NOT_CHECKABLE, (derived.reason,)) if needs_reading else (support, reasons)
    if derived.holds:
        return Support.SUPPORTED, derived.steps
    return (Support.CONTRADICTED if derived.withholds else Support.UNCLEAR), (derived.reason, *reasons)


def _list_labels(parsed: ParsedReport) -> list[str]:
    """Return the texts about the report itself: its headings, and what its references say of their sources."""
    headings = [block.text.strip("# *") for block in parsed.body if is_quiet_heading(block, parsed)]
    return headings + [each.label for each in parsed.references.values()]


def _iter_readings(said: CitedText, labels: Sequence[str]) -> Iterator[str]:
    """Yield a sentence as a viewer shows it, then as it is written: a tool may write a source's signs unescaped."""
    for text in (read_inline(said.text), unescape_markdown(said.text), said.text):
        yield strip_source_label(text, labels) if said.cell else text


def _settle_status(sentence: str, found: CheckedReference, evidence: list[Evidence]) -> CitationStatus:
    """Return the status for this sentence and collect what may support it: quotes, or the best part of a page."""
    evidence += found.evidence
    if found.status is not CitationStatus.SAID:
        return found.status
    window = Evidence(find_best_window(sentence, found.page))
    evidence.append(window)
    carried = check_support(sentence, [window]).support is Support.SUPPORTED
    return CitationStatus.SAID if carried else CitationStatus.NOT_SAID


async def _check_reference(reference: Reference, lookups: Lookups) -> CheckedReference:
    """Return the status of one reference and the stored text that it leads to."""
    if reference.snapshot:
        return await _check_snapshot(reference, lookups)
    page = await lookups.by_reference(reference)
    if page is None:
        return CheckedReference(CitationStatus.NOT_STORED)
    return CheckedReference(
        CitationStatus.SAID, url=reference.url, page=page, notice=find_notice(reference.title, page)
    )


async def _check_snapshot(reference: Reference, lookups: Lookups) -> CheckedReference:
    stored = await lookups.by_hash(reference.snapshot)
    if stored is None:
        return CheckedReference(CitationStatus.NOT_STORED)
    if hashlib.sha256(stored.encode("utf-8", "surrogatepass")).hexdigest() != reference.snapshot:
        return CheckedReference(CitationStatus.CHANGED, problem="the stored text does not have this hash")
    known = await lookups.sources(reference)
    problem = _find_mislabel(reference, known)
    meta = known[0].source if known else None
    quotes = _find_standing(reference.quotes, stored)
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
        lost = "a quote does not stand in the stored text" if reference.quotes else "no quote is given"
        return CheckedReference(CitationStatus.QUOTE_MISSING, evidence, problem=lost, notice=notice)
    status = CitationStatus.MISLABELLED if problem else CitationStatus.VERIFIED
    return CheckedReference(status, evidence, reference.source, reference.url, problem=problem, notice=notice)


def _find_standing(quotes: Sequence[str], stored: str) -> list[str]:
    """Return the quotes that stand in a text as they stand there, found as written or as a viewer shows them."""
    readings = ((quote, unescape_markdown(quote), read_inline(quote)) for quote in quotes)
    places = (next(filter(None, (locate_quote(each, stored) for each in three)), None) for three in readings)
    return [stored[place[0] : place[1]] for place in places if place]


def _find_mislabel(reference: Reference, known: Sequence[StoredSource]) -> str:
    """Say what a reference tells otherwise than the stored source; "" if it agrees, or nothing is known of it.

    The same text may be stored under several titles and addresses: one record must fit. In another library the files
    have other paths, so the address is compared only where the source has the id that the reference names.
    """
    if not known:
        return ""
    problems = [_compare_label(reference, each) for each in known]
    return min(problems, key=len)


def _compare_label(reference: Reference, stored: StoredSource) -> str:
    source = stored.source
    same = source.id == reference.source
    said = fold_layout(reference.label)
    cited = Citation(0, "", "", source.title, "", "", (), source.version, source.published)
    title = fold_layout(format_source_head(replace(cited, version="", published="")))
    edition = fold_layout(format_source_head(cited))
    heading = format_source_head(cited if stored.heading is None else _with_heading(cited, stored.heading))
    if not said.startswith(title):
        return f"the stored source has the title “{source.title}”"
    if not said.startswith(edition) or (edition == title and said[len(title) :].startswith("(")):
        told = ", ".join(each for each in (source.version, source.published) if each)
        return f"the stored source says of itself: {told}" if told else "the stored source states no edition or date"
    if same and stored.heading is not None and said.rstrip(".") != fold_layout(heading).rstrip("."):
        return f"the passage stands below “{stored.heading}”"
    if not _is_address(reference.url, source.url, same=same):
        return f"the stored source has the address {source.url}"
    return ""


def _is_address(given: str, stored: str, *, same: bool) -> bool:
    """True if two addresses may be one source: a library elsewhere has the same file in another folder."""
    if same or "://" in given + stored:
        return fold_layout(given) == fold_layout(stored)
    return fold_layout(given.rpartition("/")[2]) == fold_layout(stored.rpartition("/")[2])


def _with_heading(cited: Citation, heading: str) -> Citation:
    return Citation(0, "", "", cited.title, "", "", (), cited.version, cited.published, heading)


def find_best_window(sentence: str, text: str) -> str:
    """Return the few consecutive sentences of a page that have most words in common with a statement."""
    spans = split_sentences(text)
    windows = [text[spans[i].start : spans[min(i + _WINDOW, len(spans)) - 1].end] for i in range(len(spans))]
    return max(windows, key=lambda window: token_overlap(sentence, window), default="")

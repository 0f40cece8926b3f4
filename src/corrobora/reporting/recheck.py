"""A second check of a cited report against the stored sources, sentence by sentence, without a model.

Knows what a citation may lead to, what our own references must say about their sources, when a report passes, and how
SARIF 2.1.0 shows a finding beside its line in editors and pipelines. Does not know where the sources are stored or
fetched: it is given lookups.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from urllib.parse import urlsplit

from corrobora.domain.report import SentenceCheck, Support
from corrobora.reporting.bibliography import name_side
from corrobora.reporting.evidence import fold_letters
from corrobora.reporting.references import (
    BLIND,
    GOOD,
    CheckedReference,
    CitationStatus,
    Lookups,
    check_reference,
    find_best_windows,
    find_misplaced,
)
from corrobora.reporting.report_parser import (
    CitedText,
    ParsedReport,
    Reference,
    find_statements,
    is_quiet_heading,
    parse_report,
)
from corrobora.reporting.seal import SealStatus, TextChange, fold_layout, strip_seal
from corrobora.reporting.verify import RULED
from corrobora.text.claims import CitedEvidence
from corrobora.text.comparison import find_differences
from corrobora.text.derivations import DerivationKind, check_derivation
from corrobora.text.markdown import split_cells, strip_source_label, unescape_markdown
from corrobora.text.mentions import find_claim_words
from corrobora.text.phrases import CONFIRMED, Frame
from corrobora.text.support import Evidence, SupportCheck, check_support
from corrobora.text.tokens import read_inline, stem_text

_MOST_LABELS = 2_000
_MOST_CHARS, _MOST_CITATIONS = 8_000, 100  # of one statement: what it costs to check grows faster than it does
_SIDE = re.compile(r"(.{1,400}?): [“\"«„](.{1,4000})[”\"»“] \\?\[(\d{1,5})\\?\]")


class CheckVerdict(StrEnum):
    """What a check says of a report as a whole."""

    PASSED = "passed"
    FAILED = "failed"
    BELOW_MIN_SCORE = "below_min_score"
    NOTHING_CHECKABLE = "nothing_checkable"  # no citation, or none whose source could be looked at
    SOURCE_NOT_STORED = "source_not_stored"  # a report of ours cites what nothing here says exists
    PARTLY_CHECKED = "partly_checked"  # only with `strict`


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
    judged_by: str = ""  # the model of the run on whose word it counts as supported; "" if code finds it so

    @property
    def carried(self) -> bool:
        """True if every citation that could be looked at holds, and what they say supports the sentence."""
        seen = [each for each in self.found if each not in BLIND]
        return self.support is Support.SUPPORTED and bool(seen) and all(each in GOOD for each in seen)


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
    changes: tuple[TextChange, ...] = ()
    told: int = 0  # lines about the run itself: status, gaps, account, methodology
    conflicts: tuple[CheckedStatement, ...] = ()  # what is wrong in our table of contradictions
    misplaced: Mapping[int, str] = field(default_factory=dict[int, str])  # references whose passage is another one here

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
    def judges(self) -> Mapping[str, int]:
        """How many statements count as supported on the word of each model of the run."""
        return Counter(s.judged_by for s in self.statements if s.judged_by)

    @property
    def failed(self) -> tuple[CheckedStatement, ...]:
        """Statements that were checked and are not supported; of our own reports also claims without a citation.

        Where the delivered report is known, what was added to it is in `changes`.
        """
        alone = self.ours and not self.run
        return self.conflicts + tuple(
            s
            for s in self.statements
            if not s.carried
            and s.support is not Support.NOT_CHECKABLE
            and (s.cited or (alone and s.support is not Support.UNCITED))
        )

    def judge(self, *, min_score: float | None = None, strict: bool = False, broken: bool = False) -> CheckVerdict:
        """Return the verdict that every face shows.

        `min_score` and `strict` ask for more than that nothing fails; `broken` says that its bundle does not hold.
        """
        broken = broken or self.seal in (SealStatus.CHANGED, SealStatus.BROKEN)
        holds = not (self.failed or self.problems or self.changes or broken)
        share = self.carried / self.checkable if self.checkable else 0.0
        if holds and not self.checkable:
            return CheckVerdict.NOTHING_CHECKABLE
        if holds and self.ours and not self.run and self.count_status(CitationStatus.NOT_STORED):
            return CheckVerdict.SOURCE_NOT_STORED
        if min_score is not None and share < min_score:
            return CheckVerdict.BELOW_MIN_SCORE
        if not holds:
            return CheckVerdict.FAILED
        return CheckVerdict.PARTLY_CHECKED if strict and self.not_checkable + self.not_compared else CheckVerdict.PASSED

    @property
    def passed(self) -> bool:
        """True if something could be checked and all of it holds: statements, references and the seal."""
        return self.judge() is CheckVerdict.PASSED

    def count_status(self, found: CitationStatus) -> int:
        return sum(each is found for s in self.statements for each in s.found)


async def recheck_report(text: str, lookups: Lookups, frames: Sequence[Frame] = ()) -> RecheckResult:
    """Check every citation of a Markdown text against what can be looked at.

    `frames` are the languages that code may have written it in, beside those that ship with the package.
    """
    parsed = parse_report(strip_seal(text), frames)
    checked = {number: await check_reference(each, lookups) for number, each in parsed.references.items()}
    labels = _list_labels(parsed)
    statements = [await _check_statement(said, checked, parsed, labels, lookups) for said in find_statements(parsed)]
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
        misplaced=find_misplaced(parsed, checked),
        conflicts=tuple(_check_conflicts(parsed, checked)),
    )


def credit_rulings(result: RecheckResult, checks: Sequence[SentenceCheck], model: str) -> RecheckResult:
    """Count as supported what code leaves open and the model of the run found in its sources.

    Only for a file that is the delivered report: `checks` are those stored with it. What code finds contradicted stays
    so, and a text that stands there several times counts only if all its checks passed.
    """
    ruled: dict[str, bool] = {}
    confirmed = {fold_letters(each.sentence) for each in checks if CONFIRMED in each.reasons}
    for each in checks:
        key = fold_letters(each.sentence)
        ruled[key] = ruled.get(key, key in confirmed) and each.support is Support.SUPPORTED
    return replace(
        result,
        statements=tuple(
            replace(each, support=Support.SUPPORTED, reasons=(), failing=(), judged_by=model)
            if each.support in RULED and ruled.get(fold_letters(each.text))
            else each
            for each in result.statements
        ),
    )


def _check_conflicts(parsed: ParsedReport, checked: Mapping[int, CheckedReference]) -> list[CheckedStatement]:
    """Check what the table of contradictions says of its two sides: their labels, their quotes and the difference."""
    found: list[CheckedStatement] = []
    for block in parsed.conflicts:
        difference, *sides = split_cells(block.text)[:3]
        parts = [_SIDE.fullmatch(side) for side in sides]
        for side, part in zip(sides, parts, strict=True):
            held = checked.get(int(part.group(3))) if part else None
            if part is not None and held is not None and (why := _find_side_problem(part, held)):
                found.append(_fail(side, part.group(3), held, why, block.line))
        quotes = [read_inline(part.group(2)) for part in parts if part]
        differences = {each.text for each in find_differences(*quotes)} if len(quotes) == 2 else set[str]()  # noqa: PLR2004 - sides
        if differences and " -> " in difference and difference not in differences:
            why = ("its quotes differ otherwise",)
            found.append(CheckedStatement(difference, (), (), Support.UNSUPPORTED, why, (), block.line))
    return found


def _fail(text: str, number: str, held: CheckedReference, why: str, line: int) -> CheckedStatement:
    return CheckedStatement(text, (number,), (held.status,), Support.UNSUPPORTED, (why,), (), line)


def _find_side_problem(part: re.Match[str], held: CheckedReference) -> str:
    """Say what is wrong with one side of a contradiction; "" if it agrees with its source or nothing is stored."""
    label, quote = fold_layout(part.group(1)), fold_layout(read_inline(part.group(2)).removesuffix("…"))
    names = [(each.source.title, each.source.version, each.source.published) for each in held.known]
    labels = {fold_layout(name) for each in names for name in (*each, name_side(*each)) if name}
    if labels and label not in labels:
        return "its source has another title and edition"
    if held.evidence and not any(quote in fold_layout(each.quote) for each in held.evidence):
        return "the quote is not there"
    return ""


async def _check_statement(
    said: CitedText,
    checked: Mapping[int, CheckedReference],
    parsed: ParsedReport,
    known: Sequence[str],
    lookups: Lookups,
) -> CheckedStatement:
    if len(said.text) > _MOST_CHARS or len(said.numbers) + len(said.urls) > _MOST_CITATIONS:
        why = ("it is too long, or cites too much, to be checked",)
        return CheckedStatement(said.text[:_MOST_CHARS], (), (), Support.UNCLEAR, why, (), said.line)
    dangling = CheckedReference(CitationStatus.DANGLING)
    found = [checked.get(number, dangling) for number in said.numbers]
    found += [await check_reference(Reference(0, "", url), lookups) for url in said.urls]
    labels = [parsed.references[n].label or parsed.references[n].title for n in said.numbers if n in parsed.references]
    cited = (*map(str, said.numbers), *said.urls)
    statuses, best = tuple(each.status for each in found), SupportCheck(Support.UNCITED, 0.0)
    for sentence in dict.fromkeys(_iter_readings(said, labels)):
        evidence: list[Evidence] = []
        statuses = tuple(_settle_status(sentence, each, evidence) for each in found)
        best = check_support(sentence, evidence)
        if best.support in (Support.SUPPORTED, Support.UNCITED):
            break
    support, reasons, failing = best.support, best.reasons, best.failing
    if support is not Support.SUPPORTED:
        support, reasons = _derive(said.text, found, support, reasons)
    absence = support is Support.NOT_CHECKABLE  # only the run knows what was read
    if not cited and not absence and (claimed := find_claim_words(said.text, known)):
        support, reasons, failing = Support.UNSUPPORTED, ("a claim without a source",), claimed
    elif cited and best.support is Support.UNCITED:
        blind = bool(statuses) and all(each in BLIND for each in statuses)
        support = Support.NOT_CHECKABLE if blind else Support.UNSUPPORTED
    return CheckedStatement(unescape_markdown(said.text), cited, statuses, support, reasons, failing, said.line)


def _derive(
    text: str, found: Sequence[CheckedReference], support: Support, reasons: tuple[str, ...]
) -> tuple[Support, tuple[str, ...]]:
    """Execute the derivation that a sentence claims; one that needs the reading set of the run cannot be checked."""
    plain = read_inline(text)
    cited = [
        CitedEvidence(piece, each.source, urlsplit(each.url).netloc)
        for each in found
        for piece in each.evidence or (find_best_windows(plain, each.page) if each.page else ())
    ]
    quoted = [piece for each in found for piece in each.evidence]
    derived = check_derivation(plain, cited if quoted else [])
    if derived.said and (own := check_support(derived.said, [each.evidence for each in cited])).support != "supported":
        return own.support, own.reasons
    if derived.holds is None and (derived.said or derived.kind in (DerivationKind.ABSENCE, DerivationKind.COUNT)):
        return Support.NOT_CHECKABLE, (derived.reason,)
    derived = derived if quoted else check_derivation(plain, cited)
    if derived.holds is None:
        return support, reasons
    if derived.holds:
        return Support.SUPPORTED, derived.steps
    refuted = derived.withholds or support is Support.CONTRADICTED
    return (Support.CONTRADICTED if refuted else Support.UNCLEAR), (derived.reason, *reasons)


def _list_labels(parsed: ParsedReport) -> list[str]:
    """Return the texts about the report itself: its headings, and what its references say of their sources."""
    headings = [block.text.strip("# *") for block in parsed.body if is_quiet_heading(block, parsed)]
    return [*(each.label for each in parsed.references.values()), *headings][:_MOST_LABELS]


def _iter_readings(said: CitedText, labels: Sequence[str]) -> Iterator[str]:
    """Yield a sentence as a viewer shows it, then as it is written: a tool may write a source's signs unescaped."""
    for text in (read_inline(said.text), unescape_markdown(said.text), said.text):
        yield strip_source_label(text, labels) if said.cell else text


def _settle_status(sentence: str, found: CheckedReference, evidence: list[Evidence]) -> CitationStatus:
    """Return the status for this sentence and collect what may support it: quotes, or the best part of a page."""
    evidence += found.evidence
    if found.status is not CitationStatus.SAID:
        return found.status
    windows = find_best_windows(sentence, found.page) if found.page else ()
    places = windows[:1] or (Evidence(""),)
    result = check_support(sentence, places)
    elsewhere = any(each.heading != places[0].heading for each in windows)
    heading = frozenset(stem_text(places[0].heading.rpartition(" > ")[2]))
    named = elsewhere and heading and heading <= frozenset(stem_text(sentence))  # that section is meant, and no other
    if result.withholds and not named:  # what stands in none of its best places is false, not what one place lacks
        places, result = windows, check_support(sentence, windows)
    evidence += places
    return CitationStatus.SAID if result.support is Support.SUPPORTED else CitationStatus.NOT_SAID


_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"contradicted": "error", "unsupported": "error", "unclear": "warning", "partly": "warning"}
_RULES = {
    "changed": "The text differs from the report that was delivered.",
    "reference": "A reference does not agree with its stored source.",
    "contradicted": "The cited source contradicts the statement.",
    "unsupported": "The cited source does not support the statement.",
    "partly": "The cited source supports a part of the statement.",
    "unclear": "It could not be decided whether the cited source supports the statement.",
    "supported": "The statement is supported, but one of its citations does not hold.",
    "not_checkable": "The cited source could not be looked at.",
}


def build_sarif(result: RecheckResult, name: str, version: str) -> dict[str, object]:
    """Return the findings as one SARIF run of this program version over `name`; what could not be checked is a note."""
    lines = {each.number: each.line for each in result.references}
    findings = [
        _make_result("changed", "error", f"{'Added' if each.added else 'Left out'}: {each.text}", name, each.line)
        for each in result.changes
    ]
    findings += [
        _make_result("reference", "error", f"Reference [{number}]: {problem}", name, lines.get(number, 1))
        for number, problem in result.problems.items()
    ]
    unknown = [each for each in result.statements if each.support.value == "not_checkable"]
    for each in (*result.failed, *unknown):
        state = each.support.value
        why = "; ".join(each.reasons) or _RULES[state]
        found = _make_result(state, _LEVELS.get(state, "note"), f"{each.text} ({why})", name, each.line)
        found["properties"] = {
            "state": state,
            "failingWords": list(each.failing),
            "citations": list(each.cited),
            "found": [status.value for status in each.found],
        }
        findings.append(found)
    rules = [{"id": rule, "shortDescription": {"text": text}} for rule, text in _RULES.items()]
    driver = {"name": "corrobora", "version": version, "rules": rules}
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": findings}]}


def _make_result(rule: str, level: str, text: str, name: str, line: int) -> dict[str, object]:
    location = {"artifactLocation": {"uri": name}, "region": {"startLine": max(1, line)}}
    return {
        "ruleId": rule,
        "level": level,
        "message": {"text": text[:1000]},
        "locations": [{"physicalLocation": location}],
    }

"""Checks of a draft: every sentence against the quotes that it cites, and every revision against the draft before it.

Knows markers, sentences, stored quotes and the rule that a revision may not lose most citations. Uses no model and no
network, so that a report can be checked again offline.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from urllib.parse import urlsplit

from corrobora.domain.evidence import Fact
from corrobora.domain.limits import LIMITS
from corrobora.domain.report import Draft, Findings, SentenceCheck, Support, Verdict
from corrobora.reporting.markdown import MARKER, drop_marks, is_row, iter_row_statements, strip_source_label
from corrobora.reporting.render import render_conflicts, render_gaps
from corrobora.text.derivations import ReadingSet, check_derivation
from corrobora.text.markdown import read_inline
from corrobora.text.operands import CitedEvidence
from corrobora.text.segmentation import split_sentences
from corrobora.text.support import Evidence, check_support

_ONE = r"S\d{1,9}\s{0,2}[:：,]?\s{0,2}C\d{1,9}"
_MORE = r"\s{0,2}[,;]\s{0,2}(?:S\d{1,9}\s{0,2}[:：]?\s{0,2})?C\d{1,9}"
_LOOSE = re.compile(rf"(?<!\\)[\[(［]\s*({_ONE}(?:{_MORE}){{0,30}})\s*[\])］]?", re.IGNORECASE)
_PART = re.compile(r"(?:(S\d{1,9})\s{0,2}[:：,]?\s{0,2})?(C\d{1,9})", re.IGNORECASE)
_URL = re.compile(r"\b(?:https?|ftp)://[^\s)>\]]{1,2083}|\bwww\.[^\s)>\]]{1,300}")
_SECRET = re.compile(  # what keys of common services and private keys look like
    r"\b(?:sk-[A-Za-z0-9_-]{20,400}|tvly-[A-Za-z0-9_-]{16,400}|gh[pousr]_[A-Za-z0-9]{30,400}|xox[baprs]-[A-Za-z0-9-]{10,400}"
    r"|AKIA[0-9A-Z]{16})|-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----"
)
_LINK = re.compile(r"(?<!\\)!?\[([^\]\n]{0,300})\]\((?:[^()\s]{0,2083})\)")
_ITEM = re.compile(r"\s*(?:(?:[-*+]|\d{1,3}[.)])\s+)?")  # what stands before the sentences of a line
_MOST_REPEATS = 3  # of a cited line: it may stand in a summary and in its section, a loop of a writer may not
_MOST_PLAIN = 20  # of a line without citation, which every part of a report may have
MIN_KEPT_CITATIONS = 0.5  # a revision must keep at least this share of the draft's distinct citations
_KEPT_STATUSES = (Support.SUPPORTED, Support.PARTLY, Support.UNCLEAR, Support.UNCITED)


@dataclass(frozen=True, slots=True)
class CheckedDraft:
    """A draft after the checks, and what they removed."""

    draft: Draft
    checks: tuple[SentenceCheck, ...]
    removed_markers: int = 0
    removed_sentences: int = 0
    removed_urls: int = 0
    removed_secrets: int = 0


def check_draft(draft: Draft, facts: Sequence[Fact], reading: ReadingSet | None = None) -> CheckedDraft:
    """Keep only what the evidence carries (TRUTH-2, TRUTH-3).

    Markers that resolve to nothing go; links go, and URLs that no quote states; a cited sentence that its quotes do not
    support, or contradict, goes; so does a line that was written again and again. Headings, tables, rules and
    code-written connectives stay.
    """
    by_marker: dict[str, list[Fact]] = {}
    for fact in facts:
        by_marker.setdefault(fact.marker, []).append(fact)
    plain, secrets = _SECRET.subn("[removed]", draft.body)  # bad-input M34
    body, urls = _strip_urls(normalize_markers(plain), facts)
    lines: list[str] = []
    checks: list[SentenceCheck] = []
    markers = gone = 0
    times: Counter[str] = Counter()
    for line in body.split("\n"):
        if _is_repeated(line.strip(), times):
            gone += 1
            continue
        kept, found, lost, dropped = _check_line(line, by_marker, reading)
        checks += found
        markers += lost
        gone += dropped
        if kept.strip() or not line.strip():
            lines.append(kept)
    return CheckedDraft(Draft(draft.title, _drop_empty_sections(lines)), tuple(checks), markers, gone, urls, secrets)


def _is_repeated(line: str, times: Counter[str]) -> bool:
    """Count a line and say whether it was written too often (bad-input M30); headings and tables may come again."""
    if line.startswith(("#", "|", "```")) or not any(letter.isalpha() for letter in line):
        return False
    times[line] += 1
    return times[line] > (_MOST_REPEATS if MARKER.search(line) else _MOST_PLAIN)


def normalize_markers(text: str) -> str:
    """Write every unambiguous marker in the one form `[S1:C2]`, several in one bracket as several (bad-input M25)."""

    def rewrite_marker(match: re.Match[str]) -> str:
        source, found = "", ""
        for part in _PART.finditer(match.group(1).upper()):
            source = part.group(1) or source  # [S1:C2, C3] means two passages of one source
            found += f"[{source}:{part.group(2)}]"
        return found

    return _LOOSE.sub(rewrite_marker, text)


def _strip_urls(text: str, facts: Sequence[Fact]) -> tuple[str, int]:
    """Drop links, and addresses that no quote states; return how many went."""
    plain, gone = _LINK.subn(r"\1", text)
    for url in sorted(set(_URL.findall(plain)), key=len, reverse=True):
        stated = read_inline(url).rstrip(".,;:!?")
        if not any(stated in fact.quote for fact in facts):
            gone += plain.count(url)
            plain = plain.replace(url, "")
    return plain, gone


def _check_line(
    line: str, facts: Mapping[str, list[Fact]], reading: ReadingSet | None
) -> tuple[str, list[SentenceCheck], int, int]:
    """Check one line; return what is kept of it, its checks, and how many markers and sentences went."""
    stripped = line.strip()
    if not stripped or stripped.startswith(("#", "---", "```")) or set(stripped) <= set("|-: "):
        return line, [], 0, 0
    if is_row(line):
        return _check_row(line, facts)
    kept: list[str] = []
    checks: list[SentenceCheck] = []
    lost = gone = 0
    item = _ITEM.match(line)
    lead = item.group() if item else ""
    for text, cited in iter_cited_sentences(line[len(lead) :]):
        known = [marker for marker in cited if marker in facts][: LIMITS.citations_per_sentence]
        lost += len(cited) - len(known)
        check = _check_sentence(read_inline(text), [fact for marker in known for fact in facts[marker]], reading)
        status = Support.UNSUPPORTED if cited and not known else check.support
        checks.append(replace(check, support=status))
        if status in _KEPT_STATUSES:
            kept.append(f"{text} {''.join(known)}" if known else text)
        else:
            gone += 1
    return lead + " ".join(kept) if kept else "", checks, lost, gone


def _check_sentence(text: str, held: Sequence[Fact], reading: ReadingSet | None) -> SentenceCheck:
    """Check a sentence against its evidence; a derivation that was executed again decides."""
    result = check_support(text, [make_evidence(fact) for fact in held])
    cited = [CitedEvidence(make_evidence(fact), fact.source, urlsplit(fact.url).netloc) for fact in held]
    derived = check_derivation(text, cited, reading)
    ids, overlap = tuple(fact.id for fact in held), round(result.overlap, 3)
    if derived.holds is None:
        return SentenceCheck(text, ids, result.support, overlap, result.reasons, derived.kind)
    refused = Support.CONTRADICTED if derived.withholds else Support.UNCLEAR
    status, reasons = (Support.SUPPORTED, ()) if derived.holds else (refused, (derived.reason, *result.reasons))
    return SentenceCheck(text, ids, status, overlap, reasons, derived.kind, derived.steps)


def _check_row(line: str, facts: Mapping[str, list[Fact]]) -> tuple[str, list[SentenceCheck], int, int]:
    """Check a row cell by cell, each against its own citations; the row goes if one of its cells does not hold."""
    unknown = [match.group() for match in MARKER.finditer(line) if match.group() not in facts]
    checks: list[SentenceCheck] = []
    for text, cited in iter_row_statements(line, MARKER):
        held = [fact for marker in cited for fact in facts.get(marker, ())]
        said = strip_source_label(
            read_inline(text), [label for fact in held for label in (fact.title, fact.version, fact.published)]
        )
        result = check_support(said, [make_evidence(fact) for fact in held])
        status = result.support if held else Support.UNSUPPORTED
        checks.append(
            SentenceCheck(text, tuple(fact.id for fact in held), status, round(result.overlap, 3), result.reasons)
        )
    for marker in unknown:
        line = line.replace(marker, "")
    holds = all(check.support in _KEPT_STATUSES for check in checks)
    return (line if holds else ""), checks, len(unknown), int(not holds)


def make_evidence(fact: Fact) -> Evidence:
    """Return a fact's quote with what its source says about itself."""
    return Evidence(fact.quote, fact.title, fact.version, fact.published, fact.heading)


def iter_cited_sentences(line: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the sentences of a line with the markers that follow or stand in each."""
    pending: tuple[str, list[str]] | None = None
    for span in split_sentences(line):
        piece = line[span.start : span.end]
        cited = [match.group() for match in MARKER.finditer(piece)]
        text = " ".join(drop_marks(piece, MARKER).split())
        leading = _find_leading_markers(piece)
        if pending is not None and leading:
            pending[1].extend(leading)
            cited = cited[len(leading) :]
        if not text.strip(" .,;:-*"):
            if pending is not None:
                pending[1].extend(cited)
            continue
        if pending is not None:
            yield pending
        pending = (text, cited)
    if pending is not None:
        yield pending


def _find_leading_markers(piece: str) -> list[str]:
    """Markers at the start of a piece belong to the sentence before it: "It grew. [S1:C2] Then it fell."."""
    found: list[str] = []
    rest = piece.lstrip()
    while match := MARKER.match(rest):
        found.append(match.group())
        rest = rest[match.end() :].lstrip()
    return found


def _drop_empty_sections(lines: Sequence[str]) -> str:
    """Drop headings whose sections became empty, also one below another, and runs of blank lines; the title stays."""
    kept: list[str] = []
    below = ""  # the next line that is kept and not blank
    for line in reversed(_drop_empty_tables(lines)):
        level = _heading_level(line)
        if level > 1 and (not below or 0 < _heading_level(below) <= level):
            continue
        if line.strip() or (kept and kept[-1].strip()):
            kept.append(line)
        below = line if line.strip() else below
    return "\n".join(reversed(kept)).strip()


def _drop_empty_tables(lines: Sequence[str]) -> list[str]:
    """Drop the heads of tables that have no row left."""
    kept: list[str] = []
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if line.startswith("|") and set(line.strip()) <= set("|-: ") and not following.startswith("|"):
            while kept and kept[-1].startswith("|"):
                kept.pop()
            continue
        kept.append(line)
    return kept


def _heading_level(line: str) -> int:
    return len(line) - len(line.lstrip("#"))


def add_code_sections(draft: Draft, findings: Findings) -> Draft:
    """The draft with the sections on contradictions and gaps that code adds: the judge sees what a reader will see."""
    facts = {fact.id: fact for fact in findings.facts}
    sections = (
        draft.body.strip(),
        render_conflicts(findings.contradictions, facts, lambda fact: fact.marker, draft.body),
        render_gaps(findings, ()),
    )
    return replace(draft, body="\n\n".join(section for section in sections if section) + "\n")


def build_verification(final: CheckedDraft, verdict: Verdict, threshold: float) -> dict[str, object]:
    """Build `verification.json`: the five scores, whether they pass, and the token overlap beside (ANGLES-31)."""
    return {
        "judge": asdict(verdict),
        "overall": round(verdict.overall, 3),
        "threshold": threshold,
        "passed": verdict.overall >= threshold,
        "flagged": verdict.suspicious,
        "token_overlap": score_overlap(final),
        "sentences_checked": len(final.checks),
    }


def score_overlap(final: CheckedDraft) -> float | None:
    """The token-overlap score (ANGLES-31): the mean over cited sentences; a floor that is shown, never a verdict."""
    scores = [check.overlap for check in final.checks if check.support is not Support.UNCITED]
    return round(sum(scores) / len(scores), 3) if scores else None


def choose_revision(before: Draft, after: Draft, findings: Findings) -> Draft:
    """Take a revision only if it is no loss: not empty, and most of the citations that held still there.

    Requirement: bad-input M31.
    """
    kept, new = find_cited_markers(before, findings), find_cited_markers(after, findings)
    if not after.body.strip() or len(new) < MIN_KEPT_CITATIONS * len(kept):
        return before
    return after


def find_cited_markers(draft: Draft, findings: Findings) -> frozenset[str]:
    """Distinct markers of a draft that resolve."""
    known = {fact.marker for fact in findings.facts}
    return frozenset(match.group() for match in MARKER.finditer(draft.body)) & known

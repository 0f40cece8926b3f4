"""Review: critique, revise and judge a draft, then keep only what the evidence carries.

Knows the order and the monotone gate: a revision that loses citations is refused. The judge may lower, never raise.
"""

from __future__ import annotations

from dataclasses import asdict, replace

from corrobora.domain.report import Draft, Findings, Support, Verdict
from corrobora.reporting.render import render_conflicts, render_gaps
from corrobora.reporting.verify import MARKER, CheckedDraft, check_draft

MIN_KEPT_CITATIONS = 0.5  # a revision must keep at least this share of the draft's distinct citations


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


def check_against_findings(draft: Draft, findings: Findings) -> CheckedDraft:
    """Check every sentence by code and remove what its quotes do not carry."""
    return check_draft(draft, findings.facts)

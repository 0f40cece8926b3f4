"""What a review makes of a checked draft: what the judge sees of it, its scores, and which of two drafts is taken.

Knows drafts, findings and verdicts. Does not know models, nor when a draft is reviewed.
"""

from __future__ import annotations

from dataclasses import asdict, replace

from corrobora.domain.report import Draft, Findings, Support, Verdict
from corrobora.reporting.markdown import MARKER
from corrobora.reporting.render import render_conflicts, render_gaps
from corrobora.reporting.verify import CheckedDraft

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


def build_verification(final: CheckedDraft, verdict: Verdict | None, threshold: float, why: str) -> dict[str, object]:
    """Build `verification.json`: the five scores, whether they pass, and the token overlap beside (ANGLES-31).

    Without a verdict `failed` says why there is none.
    """
    return {
        "judge": asdict(verdict) if verdict else None,
        "overall": round(verdict.overall, 3) if verdict else None,
        "threshold": threshold,
        "passed": verdict is not None and verdict.overall >= threshold,
        "flagged": verdict.suspicious if verdict else "",
        "failed": "" if verdict else why,
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

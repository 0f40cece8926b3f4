"""Review: a draft is critiqued, revised and judged, as far as the time allows.

Knows the three review roles and the session. Does not know what a check of a sentence is: `reporting.review` does.
"""

from __future__ import annotations

from corrobora.domain.report import Draft, Findings, Verdict
from corrobora.domain.run import EventType
from corrobora.engine.inputs import MAX_FACTS_WRITTEN, select_best_facts
from corrobora.engine.session.calls import Session
from corrobora.reporting.review import add_code_sections, build_verification, choose_revision
from corrobora.reporting.verify import check_draft
from corrobora.roles.review import Reviewing, Revising, critique, judge, revise

REVIEW_SECONDS = 10.0  # with less time than this left, reviewing is shed before the report is


async def review_draft(draft: Draft, findings: Findings, run: Session) -> Draft:
    """Critique and revise the draft, as the profile asks (ANGLES-29)."""
    review = run.profile.review
    facts = select_best_facts(findings.facts, MAX_FACTS_WRITTEN)
    question = run.brief.question
    low, high = run.profile.words_min, run.profile.words_max
    if review.critique and _has_time(run):
        critic = await run.call(critique, Reviewing("root/critique", question, draft, facts, low, high))
        run.emit(EventType.REPORT, "root", {"stage": "critique", "problems": critic.problems}, part="critique")
        if review.revise and critic.problems and _has_time(run):
            revising = Revising("root/revise", question, draft, critic, facts, low, high)
            draft = choose_revision(draft, await run.call(revise, revising), findings)
            run.emit(EventType.REPORT, "root", {"stage": "revised", "words": len(draft.body.split())}, part="revised")
    return draft


async def judge_draft(draft: Draft, findings: Findings, run: Session) -> Verdict | None:
    """Score what will be delivered by five criteria in one call; whether it passes is decided here (ANGLES-30)."""
    review = run.profile.review
    if not review.judge or not _has_time(run):
        return None
    facts = select_best_facts(findings.facts, MAX_FACTS_WRITTEN)
    final = check_draft(draft, findings.facts)
    low, high = run.profile.words_min, run.profile.words_max
    whole = add_code_sections(final.draft, findings)
    verdict = await run.call(judge, Reviewing("root/judge", run.brief.question, whole, facts, low, high))
    await run.write_json_artifact("verification.json", build_verification(final, verdict, review.min_score))
    run.emit(EventType.JUDGE, "root", {"overall": verdict.overall, "passed": verdict.overall >= review.min_score})
    return verdict


def _has_time(run: Session) -> bool:
    return run.budget.until_deadline > REVIEW_SECONDS

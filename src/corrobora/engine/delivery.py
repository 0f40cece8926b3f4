"""Deliver: the report with its methodology, its files and its last events.

Knows what belongs to a delivered report. A run without evidence delivers an outcome and no report body.
"""

from __future__ import annotations

from dataclasses import asdict, replace

from corrobora.domain.events import EventType
from corrobora.domain.evidence import Fact
from corrobora.domain.report import Draft, Findings, Outcome, Report, Verdict, iter_threads
from corrobora.domain.run import Stage
from corrobora.engine.artifacts import render_completion_report
from corrobora.engine.codec import CallMeta, decode, encode, hash_parts
from corrobora.engine.knowledge import remember_findings
from corrobora.engine.methodology import build_methodology
from corrobora.engine.page import render_html
from corrobora.engine.render import (
    build_citations,
    decide_outcome,
    number_citations,
    render_markdown,
    render_methodology,
)
from corrobora.engine.review import check_against_findings, find_cited_markers, score_overlap
from corrobora.engine.roundfiles import build_research_state, get_synthesis_badge, name_state_file
from corrobora.engine.session import Session, format_json
from corrobora.engine.subagents import build_cost_estimate
from corrobora.engine.verify import CheckedDraft
from corrobora.policies.form import format_report_body
from corrobora.policies.loop_decision import write_phase_state
from corrobora.policies.sufficiency import explain_refusal
from corrobora.roles.synthesize import Material, synthesize

UNCITED = "nothing_cited"  # why the last analyst wrote: of the draft before, no citation held


async def fallback_if_uncited(draft: Draft, material: Material, findings: Findings, run: Session) -> Draft:
    """Return the draft, if anything that it cites holds; else one from the same evidence by the last analyst.

    A draft of which no citation is left after the checks would be prose without evidence: it is never delivered.
    """
    if find_cited_markers(check_against_findings(draft, findings).draft, findings) or run.extractive_only:
        return draft
    last = run.outside.analysts[-1]
    given = replace(material, path=f"{material.path}/uncited")
    key = f"{given.path}/{synthesize.prompt}#{hash_parts(last.identity(synthesize), encode(Material, given))}"

    async def write_fallback() -> tuple[str, CallMeta]:
        run.emit(EventType.FALLBACK, "root", {"role": synthesize.name, "why": UNCITED}, part=UNCITED)
        answer = await last.play(synthesize, given)
        player = answer.analyst or last.name
        return encode(Draft, answer.value), CallMeta(
            usage=answer.usage, role=synthesize.name, analyst=player, fallback=UNCITED
        )

    return decode(Draft, await run.call_once(key, write_fallback, paid=False), key=key)


def make_empty_draft(findings: Findings) -> CheckedDraft:
    """What is delivered where there is nothing to write of: no statement was found, so no writer is asked."""
    return CheckedDraft(Draft(findings.title, ""), ())


async def deliver_report(checked: CheckedDraft, verdict: Verdict | None, findings: Findings, run: Session) -> Report:
    """Assemble the report, write its files, remember its facts, tell its end."""
    run.enter_stage(Stage.DELIVER)
    # quotes that no model has judged are measured against the question: what does not answer it is no report
    refused = explain_refusal(run.brief.question, findings.sub_questions, findings.facts) if run.extractive_only else ""
    held = not refused and bool(find_cited_markers(checked.draft, findings))  # prose that cites nothing is no report
    body, numbers = number_citations(
        _apply_form(checked.draft.body, run) if held else "",
        findings.facts,
        _list_disputed_facts(findings) if held else (),
    )
    cited_sources = {marker.split(":")[0] for marker in numbers}
    snapshots = await run.list_snapshots(tuple(fact.source for fact in findings.facts if fact.marker in numbers))
    done = build_methodology(findings, checked, len(cited_sources), run)
    if verdict is not None and verdict.suspicious:
        done = replace(done, notes=(*done.notes, f"The score is doubtful: {verdict.suspicious}."))
    kind, reason = decide_outcome(findings, len(numbers), failed_searches=done.failed_searches, searches=done.searches)
    if kind is Outcome.NO_EVIDENCE and (refused or findings.facts):
        reason = refused or f"{len(findings.facts)} statements were found, and no writer cited one of them as an answer"
    report = Report(
        question=run.brief.question,
        title=checked.draft.title or run.brief.question,
        outcome=kind,
        reason=reason,
        markdown="",
        citations=build_citations(numbers, findings.facts, snapshots),
        checks=checked.checks,
        methodology=done,
        findings=findings,
        verdict=verdict,
        overlap_score=score_overlap(checked),
        stop=findings.stop,
    )
    text = render_markdown(report, body, numbers) if numbers else ""
    report = replace(report, markdown=text)
    await run.write_artifacts(_build_files(report, run))
    await remember_findings(findings, run)
    totals = {
        "outcome": kind,
        "reason": reason,
        "words": len(text.split()),
        "sources": len(cited_sources),
        "citations": len(numbers),
        "seconds": round(done.seconds, 1),
        "supported": round(report.supported_share, 3),
    }
    run.emit(EventType.VERIFY, "root", {"removed": checked.removed_sentences, "supported": totals["supported"]})
    run.emit(EventType.COMPLETE, "root", totals, number=get_synthesis_badge(findings))
    return report


def _apply_form(body: str, run: Session) -> str:
    """Keep the rules of form (S2); the layouts of S1 and S4 are the seeds' own."""
    if run.profile.layout not in ("questions", "words"):
        return body
    title, _, rest = body.lstrip().partition("\n") if body.lstrip().startswith("# ") else ("", "", body)
    return f"{title}\n\n{format_report_body(rest)}" if title else format_report_body(rest)


def explain_no_report(report: Report) -> str:
    """What is said in place of a report where there is no evidence: the outcome and the methodology, no findings."""
    return f"No report: {report.reason or report.outcome}.\n\n{render_methodology(report)}\n"


def _list_disputed_facts(findings: Findings) -> list[Fact]:
    """Facts of contradictions are cited even where the body leaves them out: both sides are printed."""
    facts = {fact.id: fact for fact in findings.facts}
    return [facts[i] for c in findings.contradictions for i in (c.a, c.b) if c.a in facts and c.b in facts]


def _build_files(report: Report, run: Session) -> dict[str, str]:
    """The files of a finished run by their names; they are written together."""
    wanted = run.profile.artifacts
    leaves = list(iter_threads(report.findings))
    files: dict[str, str] = {}
    if "subagents" in wanted:
        bill = build_cost_estimate(leaves, report.methodology.usage, report.methodology.seconds)
        files["cost_estimate.json"] = format_json(bill)
    if "completion" in wanted:
        for leaf in (each for each in leaves if each.rounds or each.failed):  # a scout pursues no thread
            name, text = render_completion_report(leaf, leaf.max_rounds or run.profile.max_rounds)
            files[name] = text
    if "phase_state" in wanted:
        for leaf in leaves:
            place = "" if leaf is leaves[0] else "-" + leaf.path.replace("/", "-")
            state = write_phase_state(
                leaf.rounds,
                leaf.sub_questions,
                max_iterations=run.profile.max_rounds,
                allowance=run.budget.allowance,
                started_at=run.started_at,
            )
            files[f"phase_state{place}.json"] = format_json(state)
    if "rounds" in wanted:
        for leaf in (each for each in leaves if each.rounds):
            state = build_research_state(leaf.rounds, iterative_complete=True, complete=True)
            files[name_state_file(leaf.path)] = format_json(state)
    files["report.json"] = encode(Report, report)
    files["report.md"] = report.markdown or explain_no_report(report)
    if report.markdown:
        files["report.html"] = render_html(report)
    files["methodology.json"] = format_json(asdict(report.methodology))
    return files

"""Deliver: the report with its methodology, its files and its last events.

Knows what belongs to a delivered report. A run without evidence delivers an outcome and no report body.
"""

from __future__ import annotations

from dataclasses import asdict, replace

from corrobora.domain.events import EventType
from corrobora.domain.evidence import Fact
from corrobora.domain.report import Draft, Findings, Outcome, Report, Verdict
from corrobora.domain.run import Stage
from corrobora.engine.artifacts import completion_report
from corrobora.engine.codec import Meta, decode, digest, encode
from corrobora.engine.knowledge import remembered
from corrobora.engine.methodology import methodology, threads
from corrobora.engine.page import html
from corrobora.engine.render import citations, markdown, methodology_section, numbered, outcome
from corrobora.engine.review import cited, overlap_score, supported
from corrobora.engine.roundfiles import last_badge, research_state, state_name
from corrobora.engine.session import Session, json_text
from corrobora.engine.subagents import cost_estimate
from corrobora.engine.verify import Checked
from corrobora.policies.form import formed
from corrobora.policies.loop_decision import phase_state
from corrobora.policies.sufficiency import refusal
from corrobora.roles.synthesize import Material, synthesize

UNCITED = "nothing_cited"  # why the last analyst wrote: of the draft before, no citation held


async def carried(draft: Draft, material: Material, findings: Findings, run: Session) -> Draft:
    """Return the draft, if anything that it cites holds; else one from the same evidence by the last analyst.

    A draft of which no citation is left after the checks would be prose without evidence: it is never delivered.
    """
    if cited(supported(draft, findings).draft, findings) or run.keyless:
        return draft
    last = run.outside.analysts[-1]
    given = replace(material, path=f"{material.path}/uncited")
    key = f"{given.path}/{synthesize.prompt}#{digest(last.identity(synthesize), encode(Material, given))}"

    async def write() -> tuple[str, Meta]:
        run.tell(EventType.FALLBACK, "root", {"role": synthesize.name, "why": UNCITED}, part=UNCITED)
        answer = await last.play(synthesize, given)
        player = answer.analyst or last.name
        return encode(Draft, answer.value), Meta(
            usage=answer.usage, role=synthesize.name, analyst=player, fallback=UNCITED
        )

    return decode(Draft, await run.once(key, write, paid=False), key=key)


def unwritten(findings: Findings) -> Checked:
    """What is delivered where there is nothing to write of: no statement was found, so no writer is asked."""
    return Checked(Draft(findings.title, ""), ())


async def deliver(checked: Checked, verdict: Verdict | None, findings: Findings, run: Session) -> Report:
    """Assemble the report, write its files, remember its facts, tell its end."""
    run.enter(Stage.DELIVER)
    # quotes that no model has judged are measured against the question: what does not answer it is no report
    refused = refusal(run.brief.question, findings.sub_questions, findings.facts) if run.keyless else ""
    held = not refused and bool(cited(checked.draft, findings))  # prose that cites nothing is no report
    body, numbers = numbered(
        _shaped(checked.draft.body, run) if held else "", findings.facts, _disputed(findings) if held else ()
    )
    cited_sources = {marker.split(":")[0] for marker in numbers}
    snapshots = await run.snapshots(tuple(fact.source for fact in findings.facts if fact.marker in numbers))
    done = methodology(findings, checked, len(cited_sources), run)
    if verdict is not None and verdict.suspicious:
        done = replace(done, notes=(*done.notes, f"The score is doubtful: {verdict.suspicious}."))
    kind, reason = outcome(findings, len(numbers), failed_searches=done.failed_searches, searches=done.searches)
    if kind is Outcome.NO_EVIDENCE and (refused or findings.facts):
        reason = refused or f"{len(findings.facts)} statements were found, and no writer cited one of them as an answer"
    report = Report(
        question=run.brief.question,
        title=checked.draft.title or run.brief.question,
        outcome=kind,
        reason=reason,
        markdown="",
        citations=citations(numbers, findings.facts, snapshots),
        checks=checked.checks,
        methodology=done,
        findings=findings,
        verdict=verdict,
        overlap_score=overlap_score(checked),
        stop=findings.stop,
    )
    text = markdown(report, body, numbers) if numbers else ""
    report = replace(report, markdown=text)
    await run.artifacts(_files(report, run))
    await remembered(findings, run)
    totals = {
        "outcome": kind,
        "reason": reason,
        "words": len(text.split()),
        "sources": len(cited_sources),
        "citations": len(numbers),
        "seconds": round(done.seconds, 1),
        "supported": round(report.supported_share, 3),
    }
    run.tell(EventType.VERIFY, "root", {"removed": checked.removed_sentences, "supported": totals["supported"]})
    run.tell(EventType.COMPLETE, "root", totals, number=last_badge(findings))
    return report


def _shaped(body: str, run: Session) -> str:
    """Keep the rules of form (S2); the layouts of S1 and S4 are the seeds' own."""
    if run.profile.layout not in ("questions", "words"):
        return body
    title, _, rest = body.lstrip().partition("\n") if body.lstrip().startswith("# ") else ("", "", body)
    return f"{title}\n\n{formed(rest)}" if title else formed(rest)


def nothing(report: Report) -> str:
    """What is said in place of a report where there is no evidence: the outcome and the methodology, no findings."""
    return f"No report: {report.reason or report.outcome}.\n\n{methodology_section(report)}\n"


def _disputed(findings: Findings) -> list[Fact]:
    """Facts of contradictions are cited even where the body leaves them out: both sides are printed."""
    facts = {fact.id: fact for fact in findings.facts}
    return [facts[i] for c in findings.contradictions for i in (c.a, c.b) if c.a in facts and c.b in facts]


def _files(report: Report, run: Session) -> dict[str, str]:
    """The files of a finished run by their names; they are written together."""
    wanted = run.profile.artifacts
    leaves = list(threads(report.findings))
    files: dict[str, str] = {}
    if "subagents" in wanted:
        bill = cost_estimate(leaves, report.methodology.usage, report.methodology.seconds)
        files["cost_estimate.json"] = json_text(bill)
    if "completion" in wanted:
        for leaf in (each for each in leaves if each.rounds or each.failed):  # a scout pursues no thread
            name, text = completion_report(leaf, leaf.max_rounds or run.profile.max_rounds)
            files[name] = text
    if "phase_state" in wanted:
        for leaf in leaves:
            place = "" if leaf is leaves[0] else "-" + leaf.path.replace("/", "-")
            state = phase_state(
                leaf.rounds,
                leaf.sub_questions,
                max_iterations=run.profile.max_rounds,
                allowance=run.budget.allowance,
                started_at=run.started_at,
            )
            files[f"phase_state{place}.json"] = json_text(state)
    if "rounds" in wanted:
        for leaf in (each for each in leaves if each.rounds):
            state = research_state(leaf.rounds, iterative_complete=True, complete=True)
            files[state_name(leaf.path)] = json_text(state)
    files["report.json"] = encode(Report, report)
    files["report.md"] = report.markdown or nothing(report)
    if report.markdown:
        files["report.html"] = html(report)
    files["methodology.json"] = json_text(asdict(report.methodology))
    return files

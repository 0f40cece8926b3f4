"""The micro-report: one round, one report, as events and, where the profile asks, as files (S4, S3).

Knows what a round's events show, and that a round ends with S4's self-check. The files' layout is `engine.artifacts`'.
"""

from __future__ import annotations

from dataclasses import asdict

from corrobora.domain.events import EventType
from corrobora.domain.thread import ThreadState
from corrobora.engine.artifacts import render_micro_report
from corrobora.engine.roundfiles import build_research_state, build_round_finding, name_findings_file, name_state_file
from corrobora.engine.selfcheck import check_invariants
from corrobora.engine.session import Session
from corrobora.policies.loop_decision import write_loop_decision
from corrobora.policies.plateau import measure_saturation, plateau_level, url_overlap


async def report_round(thread: ThreadState, run: Session) -> None:
    """Write the round's files, check the round, tell it: decision, conflicts, escapes, exhausted questions.

    Raises:
        RoleError: `self_check`, if an invariant of S4 does not hold after the round.
    """
    last = thread.last
    if last is None or last.decision is None:
        return
    wanted, written = run.profile.artifacts, ""
    if "micro_reports" in wanted:
        written, text = render_micro_report(thread, run.outside.clock.utc_time())
        await run.write_artifacts({written: text})
    if "rounds" in wanted:
        await run.write_json_artifact(
            name_findings_file(thread.path), [build_round_finding(done) for done in thread.rounds]
        )
        state = build_research_state(thread.rounds, iterative_complete=not thread.open, complete=False)
        await run.write_json_artifact(name_state_file(thread.path), state)
    check_invariants(thread, run.rules, reported=bool(written) or "micro_reports" not in wanted)
    _emit_round_events(thread, run)
    data = {
        "phase": last.phase,
        "new_facts": last.new_facts,
        "confirming": last.confirming_facts,
        "saturation": measure_saturation(thread),
        "gaps": [gap.text for gap in thread.gaps],
        "stop": thread.stop,
        "cut": last.cut,
        "elapsed": last.decision.elapsed_seconds,
        "remaining": last.decision.remaining_seconds,
        "reserve": run.budget.allowance.reserve_seconds,
        "attempts": [asdict(attempt) for attempt in last.attempts],
    }
    if written:
        data["micro_report"] = written
    run.emit(EventType.ROUND_FINISHED, thread.last_path, data, number=last.number)
    done = {"text": f"Round {last.number} is complete.", "new_facts": last.new_facts, "sources": len(last.hits)}
    run.emit(EventType.COMPLETE, thread.last_path, done, number=last.number)


def _emit_round_events(thread: ThreadState, run: Session) -> None:
    last = thread.rounds[-1]
    path, number = thread.last_path, last.number
    for conflict in thread.contradictions:
        data = {"claim": conflict.claim, "difference": conflict.difference, "relation": conflict.relation}
        run.emit(EventType.CONTRADICTION, thread.path, data, number=number, part=f"{conflict.a}~{conflict.b}")
    for each in thread.known_conflicts:
        data = {"claim": each.known, "difference": each.difference, "relation": "contradicts", "status": "OPEN"}
        run.emit(EventType.CONTRADICTION, thread.path, data, number=number, part=f"known~{each.fact}~{each.known}")
    for question in thread.sub_questions:
        if question.standing == "EXHAUSTED":
            data = {"question": question.text, "tag": "#RETRY_EXHAUSTED", "attempts": question.attempts}
            run.emit(EventType.EXHAUSTED, thread.path, data, number=number, part=question.id)
    if thread.escape is not None:
        run.emit(EventType.ESCAPE, path, {"escape": thread.escape}, number=number)
    level = max(plateau_level(thread), thread.plateau_level)
    if level:
        overlap = round(url_overlap(thread), 3)
        run.emit(EventType.PLATEAU, path, {"level": level, "url_overlap": overlap}, number=number)
    if last.decision is not None:
        run.emit(EventType.DECISION, path, write_loop_decision(last.decision), number=number)

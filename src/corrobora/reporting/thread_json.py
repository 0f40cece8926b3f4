"""The JSON documents of a thread: loop decision, phase state, rounds, research state, sub-agent results and costs.

Knows the field names that the methods prescribe (TIMED-6, TIMED-23, ROUNDS-18, ROUNDS-19, ANGLES-18, ANGLES-22). Values
that a model proposed are replaced by what code decided and the clock measured (bad-input M11 to M13). Does not write
files.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict

from corrobora.domain.evidence import Hit, ReadOutcome
from corrobora.domain.limits import Allowance, Usage
from corrobora.domain.plan import Node, SubQuestion, SubQuestionStatus
from corrobora.domain.report import Findings, Played, iter_threads
from corrobora.domain.run import write_loop_decision
from corrobora.domain.thread import Round, ThreadState
from corrobora.policies.budget import Estimate
from corrobora.reporting.artifacts import make_slug, render_micro_report
from corrobora.text.phrases import format_count


def write_retry_tracking(sub_questions: Sequence[SubQuestion], rounds: Sequence[Round]) -> dict[str, object]:
    """Write the retry tracking (TIMED-21): attempts and status of each sub-question, and how many are exhausted.

    `attempts` counts the rounds that tried to gather evidence for it.
    """
    table = {
        each.id: {
            "attempts": max(each.attempts, sum(1 for done in rounds if each.id in done.intent.targets)),
            "status": _STATUS[each.standing],
        }
        for each in sub_questions
    }
    exhausted = sum(1 for each in sub_questions if each.standing is SubQuestionStatus.EXHAUSTED)
    return {"subquestions": table, "total_exhausted": exhausted}


def write_phase_state(
    rounds: Sequence[Round],
    sub_questions: Sequence[SubQuestion],
    *,
    max_iterations: int,
    allowance: Allowance,
    started_at: str,
) -> dict[str, object]:
    """Write the `phase_state` document, `research` at its top; the loop decision is that of the last round.

    Requirement: TIMED-23.
    """
    decided = [done.decision for done in rounds if done.decision is not None]
    seconds = allowance.seconds
    return {
        "research": {
            "time_budget": {
                "total_minutes": None if seconds is None else round(seconds / 60.0, 4),
                "synthesis_reserve_minutes": round(allowance.reserve_seconds / 60.0, 4),
                "started_at": started_at,
            },
            "iteration": {"current": max((done.number for done in rounds), default=0), "max": max_iterations},
            "retry_tracking": write_retry_tracking(sub_questions, rounds),
            "gap_analysis": {"loop_decision": write_loop_decision(decided[-1]) if decided else None},
        }
    }


_STATUS = {
    SubQuestionStatus.OPEN: "pending",
    SubQuestionStatus.PARTIAL: "pending",
    SubQuestionStatus.ANSWERED: "complete",
    SubQuestionStatus.EXHAUSTED: "exhausted",
}


def build_round_finding(done: Round) -> Mapping[str, object]:
    """Return one round as a finding of `rounds.json` (ROUNDS-18), with exactly these field names."""
    proposal = done.proposal
    results = {hit.url if hit.passage is None else f"{hit.url}#{hit.passage}": hit for hit in done.hits}
    reasoning = done.intent.reasoning or done.intent.goal
    learned = proposal.reasoning or proposal.summary if proposal else ""
    return {
        "round": done.number,
        "queries": [query.text for query in done.intent.queries],
        "results": [_describe_hit(hit) for hit in results.values()],
        "reasoning": f"{reasoning} {learned}".strip(),
        "gaps": [gap.text for gap in proposal.gaps] if proposal else [],
        "metadata": {
            "queriesGenerated": len(done.intent.queries),
            "sourcesFound": len(results),
            "providersUsed": list(done.providers),
        },
    }


def _describe_hit(hit: Hit) -> dict[str, object]:
    return {
        "title": hit.title,
        "url": hit.url,
        "content": hit.snippet,
        "score": hit.score,
        "publishedDate": hit.published,
        "provider": hit.provider,
    }


def build_research_state(rounds: Sequence[Round], *, iterative_complete: bool, complete: bool) -> Mapping[str, object]:
    """Return the state of a thread for `research_state.json` (ROUNDS-19), with exactly these field names.

    `iterative_complete` once the last round is done, `complete` once the report is written.
    """
    found = [build_round_finding(done) for done in rounds]
    sources = {hit.url: hit for done in rounds for hit in done.hits}
    return {
        "currentRound": rounds[-1].number if rounds else 1,
        "researchComplete": complete,
        "research": {
            "queries": [query.text for done in rounds for query in done.intent.queries],
            "enriched": [_describe_hit(hit) for hit in sources.values()],
            "finalSources": list(sources) if complete else [],
            "rounds": [
                {
                    "round": each["round"],
                    "queries": each["queries"],
                    "sourcesFound": len({hit.url for hit in done.hits}),
                    "reasoning": each["reasoning"],
                    "gaps": each["gaps"],
                }
                for each, done in zip(found, rounds, strict=True)
            ],
            "iterativeComplete": iterative_complete,
        },
    }


def name_findings_file(path: str) -> str:
    """Name of the file of a thread's findings: `rounds.json`; of one leaf among several, with its place."""
    return f"rounds{_place_suffix(path)}.json"


def name_state_file(path: str) -> str:
    """Name of the file of a thread's state: `research_state.json`; of one leaf among several, with its place."""
    return f"research_state{_place_suffix(path)}.json"


def render_round_files(thread: ThreadState, wanted: Collection[str], timestamp: str) -> dict[str, object]:
    """Return what the last round leaves behind, by file name: texts, and values to be stored as JSON."""
    files: dict[str, object] = {}
    if "micro_reports" in wanted:
        name, files[name] = render_micro_report(thread, timestamp)
    if "rounds" in wanted:
        files[name_findings_file(thread.path)] = [build_round_finding(done) for done in thread.rounds]
        state = build_research_state(thread.rounds, iterative_complete=not thread.open, complete=False)
        files[name_state_file(thread.path)] = state
    return files


def _place_suffix(path: str) -> str:
    place = path.removeprefix("root").strip("/").replace("/", "-")
    return f"-{place}" if place else ""


def get_synthesis_badge(findings: Findings) -> int:
    """Return the badge of the synthesis: one more than the last round of any thread."""
    return 1 + max((done.number for leaf in iter_threads(findings) for done in leaf.rounds), default=0)


def name_result_file(found: Findings) -> str:
    """Name of a leaf's file: `subagents/ANGLE.json`; without an angle, or in a later iteration, its place is added."""
    if found.angle and "~" not in found.path:
        return f"subagents/{make_slug(found.angle)}.json"
    return f"subagents/{make_slug(found.angle or found.title)}-{found.path.replace('/', '-').replace('~', '.')}.json"


def build_leaf_result(node: Node, found: Findings) -> dict[str, object]:
    """Build the `SubAgentResult`: angle, task, chunks, summary, citations, trajectory, bill (ANGLES-18, ANGLES-22)."""
    return {
        "angle": found.angle,
        "title": found.title,
        "task": {
            "objective": node.objective,
            "output_format": node.output_format,
            "search_guidance": {"initial_query": "".join(node.queries[:1]), "narrowing": list(node.queries[1:])},
            "out_of_scope": node.out_of_scope,
            "max_search_rounds": node.max_rounds,
        },
        "failed": found.failed,
        "summary": found.summary,
        "citations": list(dict.fromkeys(fact.marker for fact in found.facts)),
        "chunks": [chunk for r in found.rounds for chunk in _name_chunks(r.hits)],
        "search_trajectory": [_describe_round(r, found.played) for r in found.rounds],
        "stop": found.stop,
        **_build_bill(found),
    }


def _describe_round(done: Round, played: Sequence[Played]) -> dict[str, object]:
    decision, proposal = done.decision, done.proposal
    return {
        "round": done.number,
        "phase": done.phase,
        "queries": [query.text for query in done.intent.queries],
        "chunks_retrieved": _name_chunks(done.hits),
        "chunks_read": [p for r in done.readings if r.outcome is ReadOutcome.READ for p in r.passages],
        "evaluation": {
            "reasoning": (proposal.reasoning or proposal.summary) if proposal else "",
            "gaps": [gap.text for gap in proposal.gaps] if proposal else [],
            "done": proposal.done if proposal else None,
            "stop": decision.stop if decision else None,
            "rule": decision.rule if decision else "",
        },
        "failures": [
            *done.failures,
            *(f"{r.hit.url}: {r.note or r.outcome}" for r in done.readings if r.outcome in _UNREAD),
        ],
        "played_by": [_describe_player(each) for each in played if each.round == done.number],
    }


_UNREAD = frozenset(ReadOutcome) - {ReadOutcome.READ, ReadOutcome.SKIPPED, ReadOutcome.DRIFTED, ReadOutcome.CUT}


def _describe_player(played: Played) -> dict[str, object]:
    why: dict[str, object] = {"instead_because": played.fallback} if played.fallback else {}
    return {"role": played.role, "by": played.by, "calls": played.calls, **why}


def _name_chunks(hits: Sequence[Hit]) -> list[str]:
    return [f"{hit.source}:{hit.passage}" if hit.source and hit.passage else hit.url for hit in hits]


def _build_bill(found: Findings) -> dict[str, object]:
    read = {p for r in found.rounds for each in r.readings if each.outcome is ReadOutcome.READ for p in each.passages}
    return {
        "seconds": round(found.seconds, 3),
        "tokens": found.usage.input_tokens + found.usage.output_tokens,
        "chunk_count": len({chunk for r in found.rounds for chunk in _name_chunks(r.hits)}),
        "chunks_read_count": len(read),
        "search_rounds": len(found.rounds),
        "played_by": [_describe_player(each) for each in found.played if not each.round],
        "fallbacks": sum(each.calls for each in found.played if each.fallback),
        "dollars": found.usage.dollars if found.usage.priced else None,
        "usage": asdict(found.usage),
    }


def build_estimate(estimate: Estimate) -> dict[str, object]:
    """Build the estimate of a run before it starts (BUDGET-7): the numbers, and the same as one sentence."""
    return {**asdict(estimate), "needs_yes": estimate.needs_yes, "text": describe_estimate(estimate)}


def describe_estimate(estimate: Estimate) -> str:
    """Return an estimate as one sentence: tokens, dollars and minutes, and what they are based on."""
    low, high = estimate.low, estimate.high
    least, most = low.input_tokens + low.output_tokens, high.input_tokens + high.output_tokens
    if low.dollars is None or high.dollars is None:
        dollars = f"dollars unknown (no price for {', '.join(estimate.unpriced)})"
    else:
        dollars = f"${low.dollars:.2f} to ${high.dollars:.2f}"
    calls, rounds = format_count(high.calls, "call"), format_count(high.rounds, "round")
    return (
        f"{least:,} to {most:,} tokens, {dollars}, {low.seconds / 60:.1f} to {high.seconds / 60:.1f} minutes; based on "
        f"{low.calls} to {calls} of {', '.join(estimate.models)} in {low.rounds} to {rounds}"
    )


def build_cost_estimate(leaves: Sequence[Findings], whole: Usage, seconds: float) -> dict[str, object]:
    """Build `cost_estimate.json`: time, tokens, chunks, trajectory and cost of each sub-agent (ANGLES-22)."""
    agents = [
        {
            "angle": leaf.angle,
            "title": leaf.title,
            "failed": leaf.failed,
            **_build_bill(leaf),
            "file": name_result_file(leaf),
        }
        | {"search_trajectory": [_describe_round(r, leaf.played) for r in leaf.rounds]}
        for leaf in leaves
    ]
    rounds = [len(leaf.rounds) for leaf in leaves if not leaf.failed]
    return {
        "subagents": agents,
        "average_search_rounds": round(sum(rounds) / len(rounds), 2) if rounds else 0.0,
        "total": {"seconds": round(seconds, 3), "dollars": whole.dollars if whole.priced else None, **asdict(whole)},
    }

"""Sub-agents: what each leaf found, written to disk with its full trajectory, and read back by the synthesis (S1).

Knows the layout of a `SubAgentResult`, the bill of a leaf, and the summary of all bills. The file, not memory, is what
the gathering reads: what it says of rounds, facts and summary is what the report is written from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from corrobora.domain.evidence import Hit, ReadOutcome
from corrobora.domain.limits import Usage
from corrobora.domain.plan import Node
from corrobora.domain.report import Findings
from corrobora.domain.thread import Round
from corrobora.engine.artifacts import make_slug


def name_result_file(found: Findings) -> str:
    """Name of a leaf's file: `subagents/ANGLE.json`; without an angle, or in a later iteration, its place is added."""
    if found.angle and "~" not in found.path:
        return f"subagents/{make_slug(found.angle)}.json"
    return f"subagents/{make_slug(found.angle or found.title)}-{found.path.replace('/', '-').replace('~', '.')}.json"


def build_leaf_result(node: Node, found: Findings) -> dict[str, object]:
    """Build the `SubAgentResult`: angle, task, chunks, summary, citations, trajectory, bill (S1 3d, 10)."""
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
        "search_trajectory": [_describe_round(r) for r in found.rounds],
        "stop": found.stop,
        **_build_bill(found),
    }


def _describe_round(done: Round) -> dict[str, object]:
    decision = done.decision
    proposal = decision.proposal if decision else None
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
        "failures": list(done.failures),
    }


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
        "dollars": found.usage.dollars if found.usage.priced else None,
        "usage": asdict(found.usage),
    }


def build_cost_estimate(leaves: Sequence[Findings], whole: Usage, seconds: float) -> dict[str, object]:
    """Build `cost_estimate.json`: time, tokens, chunks, trajectory and cost of each sub-agent (S1, requirement 10)."""
    agents = [
        {
            "angle": leaf.angle,
            "title": leaf.title,
            "failed": leaf.failed,
            **_build_bill(leaf),
            "file": name_result_file(leaf),
        }
        | {"search_trajectory": [_describe_round(r) for r in leaf.rounds]}
        for leaf in leaves
    ]
    rounds = [len(leaf.rounds) for leaf in leaves if not leaf.failed]
    return {
        "subagents": agents,
        "average_search_rounds": round(sum(rounds) / len(rounds), 2) if rounds else 0.0,
        "total": {"seconds": round(seconds, 3), "dollars": whole.dollars if whole.priced else None, **asdict(whole)},
    }

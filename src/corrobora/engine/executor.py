"""Investigate: one node of the plan. A leaf is pursued as a thread, an inner node gathers its children.

Knows the recursion, gates and bounded iteration. Iteration changes sources and questions, never depth (S0).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from corrobora.domain.errors import CorroboraError, JournalError, NeedsHuman
from corrobora.domain.events import EventType
from corrobora.domain.plan import Gate, Node
from corrobora.domain.report import Draft, Findings
from corrobora.domain.thread import StopReason, ThreadState
from corrobora.engine.scouting import guided, sweep
from corrobora.engine.session import Session, level_below, too_deep
from corrobora.engine.subagents import filed, kept, reopened
from corrobora.engine.thread import pursue
from corrobora.engine.views import gathered, gathering, left_out
from corrobora.policies.budget import phase_spent
from corrobora.policies.gates import delta, improved, unmet
from corrobora.roles.refine import Refinement, Shortfall, refine
from corrobora.roles.synthesize import synthesize


async def investigate(node: Node, run: Session) -> Findings:
    """Research one node: a leaf is pursued, an inner node gathers its children (S0, executor)."""
    if node.is_leaf:
        return await isolated(sweep if node.discovery else follow, node, run)
    if too_deep(node, run):  # whatever a plan or a refinement says: no executor below the third level
        return refused(node, run)
    opened = await run.meter(f"{node.path}/open")
    findings = await _gathered(node, run, None)
    turn = 1
    for place, gate in enumerate(node.gates or (Gate(),)):
        if place:  # a later phase has its budget from where it begins; the first one began with the node
            opened = await run.meter(f"{node.path}/phase/{place + 1}")
        for _ in range(gate.max_iterations - (place == 0)):  # the first gathering is the first gate's iteration
            meter = await run.meter(f"{node.path}/gate/{turn}")
            missing = unmet(gate, findings)
            if not missing or phase_spent(gate, opened, meter) or run.budget.finishing:
                break
            change = await run.call(refine, shortfall(node, turn, missing, findings))
            turn += 1
            node = refined(node, change, turn)
            after = await _gathered(node, run, findings)
            log = f"{gate.name}, iteration {turn}: {delta(gate, findings, after)} Why: {change.why}"
            run.tell(EventType.DECISION, node.path, {"gate": gate.name, "delta": log}, part=f"gate/{turn}")
            taken = after if improved(gate, findings, after) else left_out(findings, after)
            findings = replace(taken, delta=(*findings.delta, log))
    return findings


async def _gathered(node: Node, run: Session, before: Findings | None) -> Findings:
    """Work on all children, discovery first, and synthesize what they found."""
    scouted = tuple([await isolated(sweep, child, run) for child in node.children if child.discovery])
    with level_below(node, run):
        parts = (*scouted, *await run.each(investigate, guided(node, scouted)))
    parts = await reopened(parts, run)  # from their artifacts, not from memory (S1)
    alone = len(parts) == 1 or not any(part.facts for part in parts)  # one part speaks for itself, nothing for nobody
    if node.path == "root" or alone:  # the report is the root's synthesis
        draft = Draft(node.title, "\n\n".join(part.summary for part in parts if part.summary))
    else:
        draft = await run.call(synthesize, gathering(node, run.brief.question, parts))
    return gathered(node, parts, draft, before)


async def follow(node: Node, run: Session) -> Findings:
    """Open the thread of a leaf and pursue it."""
    return await filed(node, pursue(ThreadState.open_thread(node, run.brief, run.profile.course), run), run)


async def isolated(work: Callable[[Node, Session], Awaitable[Findings]], node: Node, run: Session) -> Findings:
    """The leaf boundary: a failed leaf is a sentinel that is recorded, and its siblings go on (S1, error isolation).

    What concerns the whole run passes: a lost store, a waiting human, a newer owner, cancellation.
    """
    try:
        return await work(node, run)
    except (JournalError, NeedsHuman):
        raise
    except Exception as error:  # noqa: BLE001 - the one place where any failure becomes a recorded sentinel (STYLE)
        reason = error.message if isinstance(error, CorroboraError) else f"{type(error).__name__}: {error}"
        run.tell(EventType.LEAF_FAILED, node.path, {"title": node.title, "objective": node.objective, "why": reason})
        return await kept(node, sentinel(node, reason), run)


def sentinel(node: Node, reason: str) -> Findings:
    """What stands for a part that failed: its name, its questions, the reason (S1, error recovery)."""
    asked = node.sub_questions
    return Findings(node.path, node.title, failed=reason, angle=node.angle, stop=StopReason.ERROR, sub_questions=asked)


def refused(node: Node, run: Session) -> Findings:
    """The sentinel of an executor that would have been too deep; it is told, and its siblings go on (S0, feasible)."""
    reason = f"refused: an executor below level {run.profile.max_depth} is not spawned (S0, definition of feasible)"
    run.tell(EventType.LEAF_FAILED, node.path, {"title": node.title, "objective": node.objective, "why": reason})
    return sentinel(node, reason)


def shortfall(node: Node, iteration: int, missing: tuple[str, ...], findings: Findings) -> Shortfall:
    """What a gate still misses, for the planner."""
    asked = tuple(q.text for child in findings.children for r in child.rounds for q in r.intent.queries)
    return Shortfall(node.path, node, iteration, missing, findings.gaps, findings.linked, asked)


def refined(node: Node, change: Refinement, turn: int) -> Node:
    """The node for its next iteration: the same tree with new questions and sources; new paths, so new journal keys."""
    queries, sources = dict(change.queries), dict(change.sources)

    def again(child: Node, parent: str, name: str) -> Node:
        path = f"{parent}/{name}"
        return replace(
            child,
            path=path,
            children=tuple(again(each, path, each.path.rsplit("/", 1)[1]) for each in child.children),
            queries=queries.get(child.path, child.queries),
            sources=(*child.sources, *sources.get(child.path, ())),
        )

    def named(child: Node) -> str:
        return f"{child.path.rsplit('/', 1)[1].split('~')[0]}~{turn}"

    return replace(node, children=tuple(again(child, node.path, named(child)) for child in node.children))

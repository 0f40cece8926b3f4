"""Investigate: one node of the plan. A leaf is pursued as a thread, an inner node gathers its children.

Knows the recursion, gates and bounded iteration. Iteration changes sources and questions, never depth (TREE-26).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial

from corrobora.domain.errors import describe_failure
from corrobora.domain.evidence import Fact, SourceId
from corrobora.domain.limits import Usage
from corrobora.domain.plan import Gate, Node, SubQuestion, collect_leaves, sum_budgets, walk_nodes
from corrobora.domain.report import Findings, Played, iter_threads
from corrobora.domain.run import EventType
from corrobora.domain.thread import Gap, StopReason, ThreadState
from corrobora.engine.discover import make_phase_scout, share_shortlist, sweep_sources
from corrobora.engine.inputs import merge_part_contradictions, merge_questions, node_synthesis_input
from corrobora.engine.knowledge import spread_facts
from corrobora.engine.planning import keep_refinements, refine_input, refine_node
from corrobora.engine.pursue import pursue, reconsider_questions
from corrobora.engine.review import drop_unproven
from corrobora.engine.session import RUN_ERRORS, Session, run_parallel
from corrobora.engine.session.journal import decode, decode_meta, encode, get_type_adapter, hash_parts, iter_entries
from corrobora.policies.assessment import list_names, merge_facts
from corrobora.policies.budget import find_spent_phase_limit
from corrobora.policies.gates import describe_delta, find_unmet_criteria, has_improved, list_open_themes
from corrobora.policies.outcome import merge_gaps, select_last_iterations, strip_iterations
from corrobora.ports import Entry, QuestionRater
from corrobora.reporting.thread_json import build_leaf_result, name_result_file
from corrobora.roles.refine import Refinement, Shortfall, refine
from corrobora.roles.synthesize import synthesize

SUBAGENT_FILES = "subagents"  # the profile's word for these files
_level: ContextVar[int] = ContextVar("level", default=0)  # executors above the one that works here


async def investigate(node: Node, run: Session) -> Findings:
    """Research one node: a leaf is pursued, an inner node gathers its children (TREE-22)."""
    if node.path in run.settled:
        return repeat_findings(node, run.worked[strip_iterations(node.path)])
    if node.is_leaf:
        return await run_isolated(sweep_sources if node.discovery else pursue_leaf, node, run)
    if is_too_deep(node, run):  # no executor below the third level, even if a plan or a refinement says so
        return refuse_node(node, run)
    return await run_isolated(execute_node, node, run)


async def execute_node(node: Node, run: Session) -> Findings:
    """Work through the phases of an inner node; if something fails, what was found before is kept (TREE-17)."""
    gates = node.gates or (Gate(),)
    run.refined[strip_iterations(node.path)] = node
    opened = await run.record_meter(f"{node.path}/open")
    turn = 1
    findings = await _run_children(node, gates[0], turn, run, None)
    for place, gate in enumerate(gates):
        if place:  # a later phase has its budget from where it begins; the first one began with the node
            opened = await run.record_meter(f"{node.path}/phase/{place + 1}")
        for _ in range(gate.max_iterations - (place == 0)):  # the first gathering is the first gate's iteration
            meter = await run.record_meter(f"{node.path}/gate/{turn}")
            try:
                missing = find_unmet_criteria(gate, findings)
                if not missing or find_spent_phase_limit(gate, opened, meter) or run.budget.finishing:
                    break
                node = keep_refinements(node, run.refined)
                lacking = replace(refine_input(node, turn, missing, findings), record=run.record)
                turn += 1
                change = await run.call(refine, lacking)
                if not change.tasks:
                    node, findings = give_up_phase(gate, lacking, change, findings, run)
                    break
                node, findings = await _iterate_node(gate, lacking, change, findings, run)
            except RUN_ERRORS:
                raise
            except Exception as error:  # noqa: BLE001 - if anything fails here, what was found so far is kept (ENGINE-4)
                kept = keep_findings(node, findings, f"{gate.name}, iteration {turn}", error, run)
                return await _synthesize_node(node, kept, run)
    findings = _report_shortfall(node, gates, await _synthesize_node(node, findings, run))
    run.worked[strip_iterations(node.path)] = findings
    return findings


def _report_shortfall(node: Node, gates: Sequence[Gate], found: Findings) -> Findings:
    """Turn uncovered themes into gaps, and pass what the last refinement asks of the text on to the writer."""
    known = {gap.text for gap in found.gaps}
    gaps = tuple(Gap(theme) for theme in list_open_themes(gates, found) if theme not in known)
    return replace(found, gaps=(*found.gaps, *gaps), output_format=node.output_format)


def give_up_phase(
    gate: Gate, lacking: Shortfall, change: Refinement, findings: Findings, run: Session
) -> tuple[Node, Findings]:
    """End a phase whose planner changes no task: another iteration would find what the last one found (TREE-26)."""
    node, turn = lacking.node, lacking.iteration
    what = f"{gate.name} of {node.title!r}"
    note = f"{what} ended after iteration {turn}, as its planner changed no task. Why: {change.why}"
    run.emit(EventType.DECISION, node.path, {"gate": gate.name, "delta": note}, part=f"gate/{turn}/end")
    found = replace(findings, delta=(*findings.delta, note), notes=(*findings.notes, note))
    return replace(node, output_format=change.synthesis or node.output_format), found


async def _iterate_node(
    gate: Gate, lacking: Shortfall, change: Refinement, findings: Findings, run: Session
) -> tuple[Node, Findings]:
    """Change what a node's leaves look for and gather again; an iteration that improves nothing is left out."""
    turn = lacking.iteration + 1
    node = run.refined[strip_iterations(lacking.node.path)] = refine_node(lacking.node, change, turn)
    run.settled |= list_settled(node, change, run)
    after = await _run_children(node, gate, turn, run, findings)
    log = f"{gate.name}, iteration {turn}: {describe_delta(gate, findings, after)} Why: {change.why}"
    run.emit(EventType.DECISION, node.path, {"gate": gate.name, "delta": log}, part=f"gate/{turn}")
    taken = after if has_improved(gate, findings, after) else leave_out_iteration(findings, after)
    return node, replace(taken, delta=(*findings.delta, log))


async def _run_children(node: Node, gate: Gate, turn: int, run: Session, before: Findings | None) -> Findings:
    """Work on all children, discovery first, and put together what they found."""
    scouts = [child for child in node.children if child.discovery]
    scouts += [make_phase_scout(node, gate, turn)] if gate.discovery else []
    scouted = tuple([await scout_sources(each, node, run) for each in scouts])
    with enter_level(node, run):
        parts = (*scouted, *await run.run_siblings(investigate, share_shortlist(node, scouted)))
    parts = await reload_results(parts, run)  # from their artifacts, not from memory (ANGLES-21)
    parts = spread_facts(parts, list_names((run.brief.question,), run.brief.subjects), run.profile.publishers)
    parts = tuple(await run_parallel([_reconsider_part(part, run) for part in parts]))
    remember_shared_facts(parts, run)
    return merge_findings(node, parts, "\n\n".join(part.summary for part in parts if part.summary), before)


async def _synthesize_node(node: Node, found: Findings, run: Session) -> Findings:
    """Synthesize what the children of a node found, when its gates are through: no refinement reads a synthesis."""
    parts = select_last_iterations(found.children)
    alone = len(parts) == 1 or not any(part.facts for part in parts)  # one part speaks for itself, nothing for nobody
    if node.path == "root" or alone:  # the report is the root's synthesis
        return found
    try:
        given = replace(node_synthesis_input(node, run.brief.question, parts), today=run.record.today, gaps=found.gaps)
        draft = await run.call(synthesize, given)
    except RUN_ERRORS:
        raise
    except Exception as error:  # noqa: BLE001 - what was found is kept, with the summaries of the parts (ENGINE-4)
        return keep_findings(node, found, "the synthesis", error, run)
    return replace(found, summary=draft.body)


async def _reconsider_part(part: Findings, run: Session) -> Findings:
    """Reconsider the open questions of a leaf; if that fails, what it found is kept (ENGINE-4)."""
    try:
        again = await reconsider_questions(part, run)
        return again if again.summary == part.summary else drop_unproven(again, run)
    except RUN_ERRORS:
        raise
    except Exception as error:  # noqa: BLE001 - as for any other part
        return replace(part, notes=(*part.notes, f"its questions were not judged again: {describe_failure(error)}"))


def remember_shared_facts(parts: Sequence[Findings], run: Session) -> None:
    """Let a further iteration of a leaf begin with what its siblings found for it as well."""
    for leaf in (leaf for part in parts for leaf in iter_threads(part) if strip_iterations(leaf.path) in run.worked):
        own, asked = run.worked[strip_iterations(leaf.path)], {question.id for question in leaf.sub_questions}
        found = [fact for fact in leaf.facts if asked & set(fact.answers)]
        run.worked[strip_iterations(leaf.path)] = replace(own, facts=merge_facts(own.facts, found))


async def scout_sources(scout: Node, node: Node, run: Session) -> Findings:
    """Sweep for the tasks of a node, or repeat a sweep that a refinement left alone; all tasks work on new sources."""
    task, leaves = strip_iterations(scout.path), [leaf for leaf in collect_leaves(node) if not leaf.discovery]
    asked = {question.id: question for leaf in (scout, *leaves) for question in leaf.sub_questions}
    scout = replace(scout, sub_questions=tuple(asked.values()))
    before = run.worked.get(task)
    if before is not None and scout.path in run.settled:
        return repeat_findings(scout, before)
    found = await run_isolated(sweep_sources, scout, run)
    linked = {link.reference: link for link in (*(before.linked if before is not None else ()), *found.linked)}
    if before is None or len(linked) > len(before.linked):
        run.settled -= {each.path for each in walk_nodes(node)}
    if not found.failed:
        run.worked[task] = replace(found, linked=tuple(linked.values()))
    return found


@contextmanager
def enter_level(node: Node, run: Session) -> Generator[None]:
    """Work on the children of an executor: what is spawned inside is one level deeper."""
    token = _level.set(_level.get() + (0 if run.gathers_plans and node.path == "root" else 1))
    try:
        yield
    finally:
        _level.reset(token)


def is_too_deep(node: Node, run: Session) -> bool:
    """True for an executor that would be spawned below the deepest level (TREE-13)."""
    return not node.is_leaf and _level.get() >= run.profile.max_depth


async def pursue_leaf(node: Node, run: Session) -> Findings:
    """Open the thread of a leaf and pursue it; in a further iteration it goes on from what it found (TREE-26)."""
    node = await rate_questions(node, run)
    thread = ThreadState.open_thread(node, run.brief, run.profile.course, named=run.named)
    task = strip_iterations(node.path)
    before = run.worked.get(task)
    if before is not None:
        thread = replace(thread, earlier=before.rounds, facts=before.facts, contradictions=before.contradictions)
    seconds, tokens = (sum_budgets([getattr(s, name) for s in node.specs]) for name in ("seconds", "tokens"))
    if seconds is not None:  # it counts from where the leaf began, also after a resume
        thread = replace(thread, opened=(await run.record_meter(f"{node.path}/open")).elapsed_seconds)
        seconds = max(0.0, thread.opened + seconds - run.budget.elapsed)
    with run.budget.track_usage(tokens=None if tokens is None else int(tokens), seconds=seconds, judged=True):
        found = await record_leaf_result(node, pursue(thread, run), run)
    run.worked[task] = replace(found, rounds=(*thread.earlier, *found.rounds))
    return found


async def rate_questions(node: Node, run: Session) -> Node:
    """Say of each question of a node how likely it is answered, if all searched parts can tell and no model judges."""
    raters = [provider for provider in run.outside.searches.values() if isinstance(provider, QuestionRater)]
    if run.has_model or not raters or len(raters) < len(run.outside.searches):
        return node

    async def rate(text: str) -> tuple[float, ...]:
        rated = [await rater.rate_question(text) for rater in raters]
        return tuple(each for each in rated if each is not None)

    asked: list[SubQuestion] = []
    for each in node.sub_questions:
        key = f"rate#{hash_parts(each.text)}"
        rated = await run.record_value(key, tuple[float, ...], partial(rate, each.text))
        asked.append(replace(each, likely=max(rated, default=None)))
    return replace(node, sub_questions=tuple(asked))


def list_settled(node: Node, change: Refinement, run: Session) -> set[str]:
    """Return the parts of a node that a refinement did not change: their findings are kept, and no call is repeated."""
    changed = {strip_iterations(task) for task in change.tasks}
    return {
        each.path
        for each in walk_nodes(node)
        if each is not node
        and strip_iterations(each.path) in run.worked
        and not changed & {strip_iterations(leaf.path) for leaf in collect_leaves(each)}
    }


def repeat_findings(node: Node, found: Findings) -> Findings:
    """Return a task's earlier findings without rounds and cost, for an iteration in which it does nothing."""
    again = replace(found, path=node.path, rounds=(), usage=Usage(), played=(), notes=(), seconds=0.0)
    return replace(again, children=(), left_out=(), delta=())


async def run_isolated(work: Callable[[Node, Session], Awaitable[Findings]], node: Node, run: Session) -> Findings:
    """The leaf boundary: a failed leaf is a sentinel that is recorded, and its siblings go on (ANGLES-24).

    What concerns the whole run passes: a lost store, a waiting human, a silent model, a newer owner, cancellation.
    """
    try:
        return await work(node, run)
    except RUN_ERRORS:
        raise
    except Exception as error:  # noqa: BLE001 - the one place where any failure becomes a recorded sentinel (ENGINE-4)
        reason = describe_failure(error)
        _emit_failure(node, reason, run)
        return await write_leaf_result(node, make_sentinel(node, reason), run)


def _emit_failure(node: Node, why: str, run: Session, part: str = "") -> None:
    data = {"title": node.title, "objective": node.objective, "why": why}
    run.emit(EventType.LEAF_FAILED, node.path, data, part=part)


def keep_findings(node: Node, findings: Findings, what: str, error: Exception, run: Session) -> Findings:
    """Go on with what a node found before something failed; the failure is recorded and noted."""
    note = f"{what} of {node.title!r} failed: {describe_failure(error)}; what was found before is kept."
    _emit_failure(node, note, run, what)
    return replace(findings, notes=(*findings.notes, note))


def make_sentinel(node: Node, reason: str) -> Findings:
    """Make the findings of a failed part: its name, its questions, the reason (ANGLES-23)."""
    asked = node.sub_questions
    return Findings(node.path, node.title, failed=reason, angle=node.angle, stop=StopReason.ERROR, sub_questions=asked)


def refuse_node(node: Node, run: Session) -> Findings:
    """Make the findings of an executor that would be too deep; it is reported, and its siblings go on (TREE-13)."""
    reason = f"refused: an executor below level {run.profile.max_depth} is not started"
    _emit_failure(node, reason, run)
    return make_sentinel(node, reason)


def merge_findings(node: Node, parts: Sequence[Findings], summary: str, before: Findings | None) -> Findings:
    """Merge the parts of a node, and what its earlier iterations found: findings only ever grow (TREE-26)."""
    everything = (before, *parts) if before is not None else tuple(parts)
    kept: dict[str, Fact] = {}
    for fact in (fact for found in everything for fact in found.facts):  # the last grade, and all that it answers
        kept[fact.id] = merge_facts((fact,), (kept[fact.id],))[0] if fact.id in kept else fact
    return Findings(
        path=node.path,
        title=node.title,
        summary=summary,
        facts=tuple(kept.values()),
        contradictions=merge_part_contradictions(everything),
        sub_questions=(questions := merge_questions(everything)),
        subjects=tuple({s.name: s for found in everything for s in found.subjects}.values()),
        gaps=merge_gaps(parts, questions),
        rounds=(),
        failed="all parts failed" if parts and all(found.failed for found in everything) else "",
        follow_ups=tuple(dict.fromkeys(f for found in everything for f in found.follow_ups)),
        linked=tuple(dict.fromkeys(link for found in everything for link in found.linked)),
        delta=before.delta if before else (),
        children=(*(before.children if before else ()), *parts),
        left_out=before.left_out if before else (),
        notes=before.notes if before else (),
        seconds=sum(found.seconds for found in parts),
    )


def leave_out_iteration(findings: Findings, after: Findings) -> Findings:
    """Keep what was found without an iteration that improved nothing; what it did is still counted (TRUTH-6).

    What it asked besides and did not find stays a gap: else a report is silent on what its planner thought to matter.
    """
    own = {question.id for question in findings.sub_questions}
    gaps = tuple(gap for gap in after.gaps if gap.target and gap.target not in own and gap not in findings.gaps)
    without = (*findings.left_out, *after.children[len(findings.children) :])
    return replace(findings, left_out=without, gaps=(*findings.gaps, *gaps))


@dataclass(frozen=True, slots=True)
class StoredResult:
    """The fields of a `SubAgentResult` that are read back; the others repeat them for people."""

    findings: Findings


async def record_leaf_result(node: Node, work: Awaitable[Findings], run: Session) -> Findings:
    """Await a leaf's work, bill it as the first attempt that ended it did, and write its result (ANGLES-22)."""
    began = run.budget.elapsed
    with run.budget.track_usage() as ledger:
        found = await work
    seconds = float(await run.record_first(f"{node.path}/seconds", encode(float, round(run.budget.elapsed - began, 3))))
    stored = await run.record_first(f"{node.path}/played", encode(tuple[Played, ...], list_played(found, run)))
    played = decode(tuple[Played, ...], stored, key=f"{node.path}/played")
    billed = replace(drop_unproven(found, run), usage=ledger.usage, seconds=seconds, played=played)
    return await write_leaf_result(node, billed, run)


def list_played(found: Findings, run: Session) -> tuple[Played, ...]:
    """List who played which role in which round of a thread, from the journal."""
    calls: list[tuple[int, Entry]] = []  # each with its round; 0: outside of all rounds
    for entry in iter_entries(run.journal, f"{found.path}/"):
        number, _, _ = entry.key.removeprefix(found.path).partition("/round/")[2].partition("/")
        calls.append((int(number or 0), entry))
    read = {each.source: done.number for done in reversed(found.rounds) for each in done.readings if each.source}
    for entry in iter_entries(run.journal, "extract/"):
        source = SourceId(entry.key.split("/")[2])
        if source in read:
            calls.append((read[source], entry))
    counted: Counter[tuple[int, str, str, str]] = Counter()
    for number, entry in calls:
        meta = decode_meta(entry)
        if meta.role:
            counted[number, meta.role, meta.model or meta.analyst, meta.fallback] += 1
    return tuple(Played(*who, calls) for who, calls in sorted(counted.items()))


async def write_leaf_result(node: Node, found: Findings, run: Session) -> Findings:
    """Write the result of a leaf, also of one that failed: its task is in it."""
    if SUBAGENT_FILES in run.profile.artifacts:
        stored = get_type_adapter(Findings).dump_python(found, mode="json")
        await run.write_artifacts({name_result_file(found): {**build_leaf_result(node, found), "findings": stored}})
    return found


async def reload_results(parts: Sequence[Findings], run: Session) -> tuple[Findings, ...]:
    """Read the results of leaves back from their files (ANGLES-21)."""
    if SUBAGENT_FILES not in run.profile.artifacts:
        return tuple(parts)
    return tuple([await _reload_result(part, run) for part in parts])


async def _reload_result(part: Findings, run: Session) -> Findings:
    name = name_result_file(part)
    text = None if part.children else await run.outside.read(name)
    return part if text is None else decode(StoredResult, text, key=name).findings

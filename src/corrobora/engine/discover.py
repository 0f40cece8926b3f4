"""Scouting: a discovery leaf sweeps, triages and shortlists sources for its siblings (TREE-36).

Knows searches, quick scans and the scout's shortlist, all inside the leaf's budget. Never works on an inner node.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Container, Sequence
from dataclasses import asdict, replace
from urllib.parse import urlsplit

from corrobora.domain.errors import LimitReached
from corrobora.domain.evidence import Hit, LinkedSource, PassageId, Reading, ReadOutcome
from corrobora.domain.plan import Gate, Node, Record, collect_leaves
from corrobora.domain.report import Findings
from corrobora.domain.thread import Course, Intent, StopReason, ThreadState
from corrobora.engine.inputs import scope_input
from corrobora.engine.read import read_hits
from corrobora.engine.search import search_round, take_given_intent
from corrobora.engine.session import Session
from corrobora.engine.session.journal import CALL_TOKENS, RoundBuffer, UsageLedger
from corrobora.policies.assessment import merge_facts
from corrobora.policies.selection import cluster_copies, fuse_hits, list_given_hits
from corrobora.roles.forms import shorten_title
from corrobora.roles.scope import Candidate, Shortlist, Sweep, scope, scout

_SOURCE_ID = re.compile(r"\b[SK][0-9]+\b")
_LATER = "~"  # in a path: a later iteration of a phase
MAX_SCANS = 12  # candidates that are quick-scanned, best first
SHORTLIST_SIZE = 10
MAX_QUERIES = 7  # of a sweep for several questions


def share_shortlist(node: Node, scouted: Sequence[Findings]) -> tuple[Node, ...]:
    """Return the children without discovery leaves, each leaf below them with the sources that were shortlisted for it.

    A source for which the scout named none of their questions is for all.
    """
    chosen = [link for findings in scouted for link in findings.linked]
    served = {question.id for leaf in collect_leaves(node) if not leaf.discovery for question in leaf.sub_questions}

    def pass_on(child: Node) -> Node:
        if child.discovery:
            return child
        if child.is_leaf:
            asked = {question.id for question in child.sub_questions}
            wanted = ((link.reference, served.intersection(link.answers)) for link in chosen)
            own = (name for name, ids in wanted if not ids or not asked or asked & ids)
            return replace(child, sources=tuple(dict.fromkeys((*child.sources, *own))))
        return replace(child, children=tuple(map(pass_on, child.children)))

    return tuple(pass_on(child) for child in node.children if not child.discovery)


def make_phase_scout(node: Node, gate: Gate, turn: int) -> Node:
    """Make the discovery leaf of a phase that needs new sources, within the phase's own budget (TREE-21)."""
    leaves = [leaf for leaf in collect_leaves(node) if not leaf.discovery]
    return Node(
        f"{node.path}/scout~{turn}",
        shorten_title(f"Sources for {node.title}"),
        node.objective,
        sub_questions=tuple({q.id: q for leaf in leaves for q in leaf.sub_questions}.values()),
        subjects=tuple({s.name: s for leaf in leaves for s in leaf.subjects}.values()),
        gates=(gate,),
        queries=tuple(dict.fromkeys(query for leaf in leaves for query in leaf.queries)),
        discovery=True,
    )


async def sweep_sources(node: Node, run: Session) -> Findings:
    """Search, drop duplicates, cluster, scan quickly, and return a ranked shortlist as linked sources."""
    thread = ThreadState.open_thread(node, run.brief, _build_course(node, run))
    if run.budget.finishing:
        return Findings(node.path, node.title, sub_questions=thread.sub_questions, stop=StopReason.CANCELLED)
    buffer = RoundBuffer()
    tokens = min((gate.budget_tokens for gate in node.gates if gate.budget_tokens is not None), default=None)
    with run.budget.track_usage(tokens=tokens, seconds=_find_seconds(node)) as ledger:
        async with run.until_reserve(thread, buffer):
            buffer.intent = await _scope_sweep(thread, run)
            buffer.searched = await search_round(buffer.intent, thread, run)
            found = buffer.searched.hits
            found = fuse_hits(found, equal=True) if run.has_model else found  # each query has its turn at the scans
            hits = (*list_given_hits(thread), *found)  # what the plan names is triaged, too
            await _scan_hits(_dedupe_hits(hits), thread, buffer, ledger, run)
        candidates = _build_candidates((*list_given_hits(thread), *buffer.searched.hits), buffer.readings)
        shortlist = await run.call(scout, _build_sweep(thread, candidates, run.record))
    place = node.path.removeprefix("root").replace("/", "-").replace("~", ".")
    await run.write_artifacts({f"shortlist{place}.json": {"objective": node.objective, **asdict(shortlist)}})
    found = _build_sweep_findings(node, thread, _name_excluded(shortlist, candidates), shortlist, buffer)
    run.scouted += found.facts
    run.claims.barren |= _list_barren(buffer.readings, {each.reference for each in shortlist.sources})
    return replace(found, usage=ledger.usage)


async def _scope_sweep(thread: ThreadState, run: Session) -> Intent:
    """What a sweep looks for, as the planner worded it, unless it is a later one, or one query is to serve all."""
    scant = len(thread.suggested) == 1 < len(thread.sub_questions)
    planned = None if scant or _LATER in thread.path else await take_given_intent(thread, run)
    return planned or await run.call(scope, scope_input(thread, run))


async def _scan_hits(
    hits: Sequence[Hit], thread: ThreadState, buffer: RoundBuffer, ledger: UsageLedger, run: Session
) -> None:
    """Scan in parallel; under a limit of tokens one by one, best first, as far as they pay for (TREE-39).

    A resumed run scans what was scanned before: what it has read already costs nothing, so that the limit admits more.
    """
    ranking = CALL_TOKENS + sum(map(len, (f"{hit.title}{hit.snippet}" for hit in hits))) // 2  # kept for the scout
    scanned = run.journal.get(key := f"{thread.path}/scanned")
    known = None if scanned is None else json.loads(scanned.out)
    best = [hit for hit in hits[:MAX_SCANS] if known is None or hit.key in known]
    with contextlib.suppress(LimitReached), run.budget.reserve_tokens(ranking):
        for some in [best] if ledger.tokens is None or known is not None else [[hit] for hit in best]:
            async for reading in read_hits(some, thread, run):
                buffer.readings.append(reading)
    await run.record_first(key, json.dumps([reading.hit.key for reading in buffer.readings]))


def _build_course(node: Node, run: Session) -> Course:
    """Return the course of a sweep: one round, within the planner's time limit."""
    course = replace(run.profile.course, reads_per_round=MAX_SCANS, max_rounds=1, drift=False)
    if run.has_model:  # one query cannot find the sources of several tasks
        asked = min(MAX_QUERIES, len(node.sub_questions))
        course = replace(course, phases=tuple(replace(p, max_queries=max(p.max_queries, asked)) for p in course.phases))
    seconds = _find_seconds(node)
    if seconds is None:
        return course
    return replace(course, phases=tuple(replace(phase, minutes=seconds / 60.0) for phase in course.phases))


def _find_seconds(node: Node) -> float | None:
    return min((gate.budget_seconds for gate in node.gates if gate.budget_seconds is not None), default=None)


def _dedupe_hits(hits: tuple[Hit, ...]) -> list[Hit]:
    """Return one hit per source, best first."""
    first: dict[str, Hit] = {}
    for hit in hits:
        first.setdefault(_name_document(hit), hit)
    return list(first.values())


def _build_candidates(hits: tuple[Hit, ...], readings: list[Reading]) -> tuple[Candidate, ...]:
    scans = {_name_document(reading.hit): reading for reading in readings}  # chapters of a book share an address
    found_by: dict[str, list[str]] = {}
    for hit in hits:
        found_by.setdefault(_name_document(hit), []).append(hit.query)
    distinct = _dedupe_hits(hits)
    groups = cluster_copies([(f"{hit.title} {hit.snippet}", urlsplit(hit.url).hostname or "") for hit in distinct])
    earlier = {hit.snippet: hit for hit in reversed(distinct)}  # the words of copies are shown once
    once = (hit if earlier[hit.snippet] is hit else replace(hit, snippet="") for hit in distinct)
    return tuple(
        _build_candidate(hit, scans.get(_name_document(hit)), found_by[_name_document(hit)], group)
        for hit, group in zip(once, groups, strict=True)
    )


def _build_candidate(hit: Hit, scan: Reading | None, queries: Sequence[str], group: int) -> Candidate:
    found = merge_facts((), (*scan.facts, *scan.others)) if scan else ()
    facts, first = found[:3], next(iter(found), None)
    answers = (each for fact in found for each in fact.answers)
    host = (urlsplit(hit.url).hostname or "").removeprefix("www.")
    return Candidate(
        reference=_name_document(hit),
        title=(scan.title if scan else "") or hit.title,  # a given source names only itself
        snippet=hit.snippet,
        scan=" … ".join(fact.quote for fact in facts),
        published=hit.published or (first.published or first.version if first else ""),
        publisher=(first.publisher if first else "") or host,
        found_by=tuple(dict.fromkeys(queries)),
        cluster=group,
        answers=tuple(dict.fromkeys(answers)),
        scanned=scan is not None and scan.outcome is ReadOutcome.READ,
    )


def _list_barren(readings: Sequence[Reading], chosen: Container[str]) -> set[PassageId]:
    """Return the scanned passages of sources that gave nothing and were not chosen: no task opens them for these."""
    scans = (each for each in readings if each.outcome is ReadOutcome.READ and _name_document(each.hit) not in chosen)
    return {passage for each in scans if not (each.facts or each.others) for passage in each.passages}


def _name_document(hit: Hit) -> str:
    return hit.source or hit.url


def _name_excluded(shortlist: Shortlist, candidates: Sequence[Candidate]) -> list[str]:
    """Say which candidates were left out and why, by their titles: ids of sources mean nothing to a reader."""
    titles = {each.reference: each.title or each.reference for each in candidates}
    titles |= {f"K{at}": titles[each.reference] for at, each in enumerate(candidates, start=1)}  # as they were shown

    def name_source(found: re.Match[str]) -> str:
        return f'"{titles[found[0]]}"' if found[0] in titles else found[0]

    return [
        f"Not chosen for reading: {titles.get(name, name)}: {_SOURCE_ID.sub(name_source, why)}"
        for name, why in shortlist.excluded
    ]


def _build_sweep_findings(
    node: Node, thread: ThreadState, excluded: Sequence[str], shortlist: Shortlist, buffer: RoundBuffer
) -> Findings:
    lines = [
        f"{rank}. {s.title} (authority {s.authority:.2f}, recency {s.recency:.2f}, coverage {s.coverage:.2f}, "
        f"diversity {s.diversity:.2f}; {', '.join(s.balance)}): {s.rationale}"
        for rank, s in enumerate(shortlist.sources, 1)
    ]
    read = [reading for reading in buffer.readings if reading.outcome is ReadOutcome.READ]
    facts = merge_facts((), [fact for reading in read for fact in (*reading.facts, *reading.others)])
    return Findings(
        path=node.path,
        title=node.title,
        summary="\n".join(lines),
        facts=facts,
        sub_questions=thread.sub_questions,
        linked=tuple(LinkedSource(s.reference, s.rationale, s.coverage, s.answers) for s in shortlist.sources),
        notes=(
            *([f"Sources chosen for reading, by theme: {shortlist.balance}"] if shortlist.balance else []),
            *excluded,
        ),
        rounds=(),
    )


def _build_sweep(thread: ThreadState, candidates: Sequence[Candidate], record: Record) -> Sweep:
    """Build the input of the scout: the candidates of a sweep and the themes that they should cover."""
    themes = tuple(subject.name for subject in thread.subjects)
    found = (tuple(candidates), SHORTLIST_SIZE, record)
    return Sweep(f"{thread.path}/sweep", thread.objective, themes, *found, thread.sub_questions)

"""Views: what each role is given of a thread or a node, small, ordered and without a clock.

Knows which parts of the state a role may see. Decides nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from corrobora.domain.brief import Coverage, Standing, SubQuestion
from corrobora.domain.evidence import Contradiction, Fact, Grade, ReadOutcome
from corrobora.domain.plan import Node
from corrobora.domain.report import Draft, Findings
from corrobora.domain.thread import Escape, Gap, Needs, ThreadState
from corrobora.policies.coverage import forced_subject
from corrobora.policies.disambiguation import standing_terms
from corrobora.policies.phrases import leads
from corrobora.policies.plateau import saturation
from corrobora.policies.profile import Profile
from corrobora.roles.reflect import Learned
from corrobora.roles.synthesize import Material, Part

FACTS_SHOWN = 60  # to a role at once; the best ones first
WRITTEN_FACTS = 120  # to a writer of the whole report


def terms(thread: ThreadState, limit: int = 24) -> tuple[str, ...]:
    """Vocabulary of the sources, in the order in which it was learned."""
    proposed = (t for r in thread.rounds if r.decision for t in r.decision.proposal.terms)
    read = (t for r in thread.rounds for reading in r.readings for t in reading.terms)
    return tuple(dict.fromkeys((*proposed, *read)))[:limit]


def needs(thread: ThreadState) -> Needs:
    """What the thread does not yet know (S4, SCOPE)."""
    forced = forced_subject(thread) if thread.course.coverage else None
    last = thread.last
    decision = last.decision if last is not None else None
    given_up = {question.id for question in thread.sub_questions if question.standing is Standing.EXHAUSTED}
    return Needs(
        path=thread.round_path,
        question=thread.brief.question,
        objective=thread.objective,
        round=thread.number + 1,
        phase=thread.phase,
        open_questions=tuple(
            q for q in thread.sub_questions if q.standing not in (Standing.ANSWERED, Standing.EXHAUSTED)
        ),
        uncovered=tuple(s for s in thread.subjects if s.rounds == 0 or s.coverage is Coverage.UNCOVERED),
        gaps=tuple(gap for gap in thread.gaps if gap.target not in given_up),
        saturation=saturation(thread),
        escape=thread.escape,
        past_queries=thread.past_queries,
        terms=terms(thread),
        disambiguation=standing_terms(thread),
        focus_since=thread.brief.focus.since,
        focus_until=thread.brief.focus.until,
        forced_subject=forced.name if forced else "",
        suggested=thread.suggested,
        known=tuple(q.finding for q in thread.sub_questions if q.finding),
        next_topic=thread.steer or _angle(thread) or (decision.proposal.next_topic if decision else ""),
        out_of_scope=thread.out_of_scope,
        url=decision.proposal.url if decision else "",
    )


def _angle(thread: ThreadState) -> str:
    """The seed of the sixth escape: a question about the question (S4, fractal exploration)."""
    if thread.escape is not Escape.FRACTAL:
        return ""
    return f"What hidden assumptions underlie the research question '{thread.brief.question}'?"


def best(facts: Sequence[Fact], limit: int) -> tuple[Fact, ...]:
    """The best facts: answering ones, better grades, higher confidence; ties by id, so that order is stable.

    Where not all are shown, each sub-question and each source has its best ones among them: no long document and no
    easy question hides the others.
    """
    grades = {Grade.VERIFIED: 0, Grade.PLAUSIBLE: 1, Grade.UNVERIFIED: 2}
    ranked = sorted(facts, key=lambda f: (not f.answers, grades[f.grade], -f.score, -f.confidence, f.id))
    if len(ranked) <= limit:
        return tuple(ranked)
    seen: Counter[tuple[str, str]] = Counter()
    turn: dict[str, int] = {}
    for fact in ranked:
        turn[fact.id] = min((seen[answer, fact.source] for answer in fact.answers), default=len(ranked))
        seen.update((answer, fact.source) for answer in fact.answers)
    kept = {fact.id for fact in sorted(ranked, key=lambda fact: turn[fact.id])[:limit]}  # stable: best first in a turn
    return tuple(fact for fact in ranked if fact.id in kept)


def learned(thread: ThreadState) -> Learned:
    """What the thread has learned so far: the input of `reflect`."""
    last = thread.last
    return Learned(
        path=thread.last_path,
        question=thread.brief.question,
        objective=thread.objective,
        round=thread.number,
        sub_questions=thread.sub_questions,
        subjects=thread.subjects,
        facts=best(thread.facts, FACTS_SHOWN),
        contradictions=thread.contradictions,
        past_queries=thread.past_queries,
        terms=terms(thread),
        new_facts=last.new_facts if last else 0,
        output_format=thread.output_format,
    )


def summing(thread: ThreadState) -> Material:
    """What the writer of a thread's summary is given."""
    part = Part(thread.path, thread.title, "", best(thread.facts, FACTS_SHOWN), angle=thread.angle)
    return Material(
        path=thread.path,
        purpose="summary",
        question=thread.objective or thread.brief.question,
        title=thread.title,
        parts=(part,),
        sub_questions=thread.sub_questions,
        contradictions=thread.contradictions,
        gaps=open_gaps(thread),
        output_format=thread.output_format,
        words_max=600,
    )


def open_gaps(thread: ThreadState) -> tuple[Gap, ...]:
    """What the thread did not find: its last gaps, else its open sub-questions."""
    waiting = tuple(
        Gap(q.text, q.id)
        for q in thread.sub_questions
        if q.standing in (Standing.OPEN, Standing.PARTIAL, Standing.EXHAUSTED)
    )
    named = {gap.target for gap in waiting}
    missing = [gap for gap in thread.gaps if not leads(gap.text)]
    return (*waiting, *(gap for gap in missing if not gap.target or gap.target not in named))


def findings(thread: ThreadState, draft: Draft, *, seconds: float) -> Findings:
    """What a finished thread hands to its parent."""
    readings = [reading for r in thread.rounds for reading in r.readings if reading.outcome is ReadOutcome.READ]
    return Findings(
        path=thread.path,
        title=thread.title,
        summary=draft.body,
        facts=thread.facts,
        contradictions=thread.contradictions,
        sub_questions=thread.sub_questions,
        subjects=thread.subjects,
        gaps=open_gaps(thread),
        rounds=thread.rounds,
        max_rounds=thread.course.max_rounds,
        stop=thread.stop,
        angle=thread.angle,
        follow_ups=tuple(dict.fromkeys(f for r in readings for f in r.follow_ups)),
        linked=tuple(dict.fromkeys(link for r in readings for link in r.linked)),
        notes=thread.notes,
        seconds=seconds,
    )


def gathering(node: Node, question: str, parts: Sequence[Findings]) -> Material:
    """What the synthesizer of an inner node is given (S0)."""
    return Material(
        path=node.path,
        purpose="gathering",
        question=node.objective or question,
        title=node.title,
        parts=tuple(part_of(found, FACTS_SHOWN // max(1, len(parts)) + 8) for found in parts),
        sub_questions=_merged(parts),
        contradictions=merged_contradictions(parts),
        gaps=tuple(dict.fromkeys(gap for found in parts for gap in found.gaps)),
        uncovered=tuple(found.title for found in parts if found.failed),
        output_format=node.output_format,
        words_max=900,
    )


def part_of(found: Findings, limit: int) -> Part:
    """One child's findings as a part for a writer."""
    gaps = tuple(gap.text for gap in found.gaps)
    return Part(found.path, found.title, found.summary, best(found.facts, limit), gaps, found.failed, found.angle)


def gathered(node: Node, parts: Sequence[Findings], draft: Draft, before: Findings | None) -> Findings:
    """Merge the parts of a node, and what its earlier iterations found: findings only ever grow (S0, monotonic)."""
    everything = (before, *parts) if before is not None else tuple(parts)
    kept = {fact.id: fact for found in everything for fact in found.facts}
    return Findings(
        path=node.path,
        title=node.title,
        summary=draft.body,
        facts=tuple(kept.values()),
        contradictions=merged_contradictions(everything),
        sub_questions=_merged(everything),
        subjects=tuple({s.name: s for found in everything for s in found.subjects}.values()),
        gaps=tuple(dict.fromkeys(gap for found in parts for gap in found.gaps)),
        rounds=(),
        failed="all parts failed" if parts and all(found.failed for found in everything) else "",
        follow_ups=tuple(dict.fromkeys(f for found in everything for f in found.follow_ups)),
        linked=tuple(dict.fromkeys(link for found in everything for link in found.linked)),
        delta=before.delta if before else (),
        children=(*(before.children if before else ()), *parts),
        left_out=before.left_out if before else (),
        seconds=sum(found.seconds for found in parts),
    )


def left_out(findings: Findings, after: Findings) -> Findings:
    """Keep what was found without an iteration that improved nothing; what it did is still counted (DESIGN 10.6)."""
    return replace(findings, left_out=(*findings.left_out, *after.children[len(findings.children) :]))


def merged_contradictions(parts: Sequence[Findings]) -> tuple[Contradiction, ...]:
    """Contradictions of all parts, each pair once."""
    return tuple({frozenset((c.a, c.b)): c for found in parts for c in found.contradictions}.values())


def _merged(parts: Sequence[Findings]) -> tuple[SubQuestion, ...]:
    """Sub-questions of all parts; where two parts worked on one, the better standing counts."""
    order = {Standing.OPEN: 0, Standing.EXHAUSTED: 1, Standing.PARTIAL: 2, Standing.ANSWERED: 3}
    merged: dict[str, SubQuestion] = {}
    for question in (q for found in parts for q in found.sub_questions):
        known = merged.get(question.id)
        if known is None or order[question.standing] > order[known.standing]:
            merged[question.id] = question
    return tuple(merged.values())


def writing(found: Findings, question: str, profile: Profile) -> Material:
    """What the writer of the report is given: the parts of the root, or the thread itself."""
    parts = found.children or (found,)
    share = max(12, WRITTEN_FACTS // len(parts))
    return Material(
        path="root",
        purpose="report",
        question=question,
        title=found.title or question,
        parts=tuple(part_of(part, share) for part in parts if not part.failed),
        sub_questions=found.sub_questions,
        contradictions=found.contradictions,
        gaps=found.gaps,
        layout=profile.layout,
        words_min=profile.words_min,
        words_max=profile.words_max,
        uncovered=tuple(part.title for part in parts if part.failed),
    )


def shortened(material: Material) -> Material:
    """The same material for a short report: what is shed before a report is lost."""
    return replace(material, words_min=0, words_max=min(material.words_max, 700))

"""Views: what each role is given of a thread or a node, small, ordered and without a clock.

Knows which parts of the state a role may see. Decides nothing.

Insights: when an extractor's optional output counts, and what it is told where the planner gave no spec.

Knows the conditions of insights (TREE-30), reading prompts (TRIPLET-20) and the minimal rubric. Does not read
documents itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from corrobora.domain.evidence import Contradiction, Fact, Grade, Passage, ReadOutcome
from corrobora.domain.plan import Coverage, Node, SubQuestion, SubQuestionStatus
from corrobora.domain.report import Draft, Findings
from corrobora.domain.thread import Escape, Gap, ScopeInput, ThreadState
from corrobora.policies.coverage import choose_forced_subject
from corrobora.policies.drift import select_remaining_terms
from corrobora.policies.plateau import measure_saturation
from corrobora.policies.profile import Profile
from corrobora.roles.extract import Extraction
from corrobora.roles.reflect import Learned
from corrobora.roles.synthesize import Material, Part
from corrobora.text.comparison import SAME_SUBJECT_SHARE, Aspect, compare_topics, find_difference, parse_statement
from corrobora.text.markup import strip_markup
from corrobora.text.phrases import is_lead

MAX_FACTS_SHOWN = 60  # to a role at once; the best ones first
MAX_FACTS_WRITTEN = 120  # to a writer of the whole report


def collect_terms(thread: ThreadState, limit: int = 24) -> tuple[str, ...]:
    """Vocabulary of the sources, in the order in which it was learned."""
    proposed = (t for r in thread.rounds if r.decision for t in r.decision.proposal.terms)
    read = (t for r in thread.rounds for reading in r.readings for t in reading.terms)
    return tuple(dict.fromkeys((*proposed, *read)))[:limit]


def scope_input(thread: ThreadState) -> ScopeInput:
    """What the thread does not yet know (TRIPLET-13)."""
    forced = choose_forced_subject(thread) if thread.course.coverage else None
    last = thread.last
    decision = last.decision if last is not None else None
    given_up = {question.id for question in thread.sub_questions if question.standing is SubQuestionStatus.EXHAUSTED}
    return ScopeInput(
        path=thread.round_path,
        question=thread.brief.question,
        objective=thread.objective,
        round=thread.number + 1,
        phase=thread.phase,
        open_questions=tuple(
            q
            for q in thread.sub_questions
            if q.standing not in (SubQuestionStatus.ANSWERED, SubQuestionStatus.EXHAUSTED)
        ),
        uncovered=tuple(s for s in thread.subjects if s.rounds == 0 or s.coverage is Coverage.UNCOVERED),
        gaps=tuple(gap for gap in thread.gaps if gap.target not in given_up),
        saturation=measure_saturation(thread),
        escape=thread.escape,
        past_queries=thread.past_queries,
        terms=collect_terms(thread),
        disambiguation=select_remaining_terms(thread),
        focus_since=thread.brief.focus.since,
        focus_until=thread.brief.focus.until,
        forced_subject=forced.name if forced else "",
        suggested=thread.suggested,
        known=tuple(q.finding for q in thread.sub_questions if q.finding),
        next_topic=thread.steer or _fractal_question(thread) or (decision.proposal.next_topic if decision else ""),
        out_of_scope=thread.out_of_scope,
        url=decision.proposal.url if decision else "",
    )


def _fractal_question(thread: ThreadState) -> str:
    """The question that the sixth escape starts from: a question about the question (TRIPLET-37)."""
    if thread.escape is not Escape.FRACTAL:
        return ""
    return f"What hidden assumptions underlie the research question '{thread.brief.question}'?"


def select_best_facts(facts: Sequence[Fact], limit: int) -> tuple[Fact, ...]:
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


def reflect_input(thread: ThreadState) -> Learned:
    """What the thread has learned so far: the input of `reflect`."""
    last = thread.last
    return Learned(
        path=thread.last_path,
        question=thread.brief.question,
        objective=thread.objective,
        round=thread.number,
        sub_questions=thread.sub_questions,
        subjects=thread.subjects,
        facts=select_best_facts(thread.facts, MAX_FACTS_SHOWN),
        contradictions=thread.contradictions,
        past_queries=thread.past_queries,
        terms=collect_terms(thread),
        new_facts=last.new_facts if last else 0,
        output_format=thread.output_format,
    )


def summary_input(thread: ThreadState) -> Material:
    """What the writer of a thread's summary is given."""
    part = Part(thread.path, thread.title, "", select_best_facts(thread.facts, MAX_FACTS_SHOWN), angle=thread.angle)
    return Material(
        path=thread.path,
        purpose="summary",
        question=thread.objective or thread.brief.question,
        title=thread.title,
        parts=(part,),
        sub_questions=thread.sub_questions,
        contradictions=thread.contradictions,
        gaps=list_open_gaps(thread),
        output_format=thread.output_format,
        words_max=600,
    )


def list_open_gaps(thread: ThreadState) -> tuple[Gap, ...]:
    """What the thread did not find: its last gaps, else its open sub-questions."""
    waiting = tuple(
        Gap(q.text, q.id)
        for q in thread.sub_questions
        if q.standing in (SubQuestionStatus.OPEN, SubQuestionStatus.PARTIAL, SubQuestionStatus.EXHAUSTED)
    )
    named = {gap.target for gap in waiting}
    missing = [gap for gap in thread.gaps if not is_lead(gap.text)]
    return (*waiting, *(gap for gap in missing if not gap.target or gap.target not in named))


def build_thread_findings(thread: ThreadState, draft: Draft, *, seconds: float) -> Findings:
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
        gaps=list_open_gaps(thread),
        rounds=thread.rounds,
        max_rounds=thread.course.max_rounds,
        stop=thread.stop,
        angle=thread.angle,
        follow_ups=tuple(dict.fromkeys(f for r in readings for f in r.follow_ups)),
        linked=tuple(dict.fromkeys(link for r in readings for link in r.linked)),
        notes=thread.notes,
        seconds=seconds,
    )


def node_synthesis_input(node: Node, question: str, parts: Sequence[Findings]) -> Material:
    """What the synthesizer of an inner node is given (TREE-24)."""
    return Material(
        path=node.path,
        purpose="gathering",
        question=node.objective or question,
        title=node.title,
        parts=tuple(build_part(found, MAX_FACTS_SHOWN // max(1, len(parts)) + 8) for found in parts),
        sub_questions=_merge_questions(parts),
        contradictions=merge_part_contradictions(parts),
        gaps=tuple(dict.fromkeys(gap for found in parts for gap in found.gaps)),
        uncovered=tuple(found.title for found in parts if found.failed),
        output_format=node.output_format,
        words_max=900,
    )


def build_part(found: Findings, limit: int) -> Part:
    """One child's findings as a part for a writer."""
    gaps = tuple(gap.text for gap in found.gaps)
    return Part(
        found.path, found.title, found.summary, select_best_facts(found.facts, limit), gaps, found.failed, found.angle
    )


def merge_findings(node: Node, parts: Sequence[Findings], draft: Draft, before: Findings | None) -> Findings:
    """Merge the parts of a node, and what its earlier iterations found: findings only ever grow (TREE-26)."""
    everything = (before, *parts) if before is not None else tuple(parts)
    kept = {fact.id: fact for found in everything for fact in found.facts}
    return Findings(
        path=node.path,
        title=node.title,
        summary=draft.body,
        facts=tuple(kept.values()),
        contradictions=merge_part_contradictions(everything),
        sub_questions=_merge_questions(everything),
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


def leave_out_iteration(findings: Findings, after: Findings) -> Findings:
    """Keep what was found without an iteration that improved nothing; what it did is still counted (TRUTH-6)."""
    return replace(findings, left_out=(*findings.left_out, *after.children[len(findings.children) :]))


def merge_part_contradictions(parts: Sequence[Findings]) -> tuple[Contradiction, ...]:
    """Contradictions of all parts, each pair once."""
    return tuple({frozenset((c.a, c.b)): c for found in parts for c in found.contradictions}.values())


def _merge_questions(parts: Sequence[Findings]) -> tuple[SubQuestion, ...]:
    """Sub-questions of all parts; where two parts worked on one, the better standing counts."""
    order = {
        SubQuestionStatus.OPEN: 0,
        SubQuestionStatus.EXHAUSTED: 1,
        SubQuestionStatus.PARTIAL: 2,
        SubQuestionStatus.ANSWERED: 3,
    }
    merged: dict[str, SubQuestion] = {}
    for question in (q for found in parts for q in found.sub_questions):
        known = merged.get(question.id)
        if known is None or order[question.standing] > order[known.standing]:
            merged[question.id] = question
    return tuple(merged.values())


def report_input(found: Findings, question: str, profile: Profile) -> Material:
    """What the writer of the report is given: the parts of the root, or the thread itself."""
    parts = found.children or (found,)
    share = max(12, MAX_FACTS_WRITTEN // len(parts))
    return Material(
        path="root",
        purpose="report",
        question=question,
        title=found.title or question,
        parts=tuple(build_part(part, share) for part in parts if not part.failed),
        sub_questions=found.sub_questions,
        contradictions=found.contradictions,
        gaps=found.gaps,
        layout=profile.layout,
        words_min=profile.words_min,
        words_max=profile.words_max,
        uncovered=tuple(part.title for part in parts if part.failed),
    )


def shorten_material(material: Material) -> Material:
    """The same material for a short report: what is shed before a report is lost."""
    return replace(material, words_min=0, words_max=min(material.words_max, 700))


LOW_CONFIDENCE = 0.5
LIMITATION_HEADINGS = ("limitation", "future work", "future research", "open question", "further research")


def has_insight_trigger(
    extraction: Extraction, passages: Sequence[Passage], *, discovery_intense: bool, disputed: bool = False
) -> bool:
    """Say whether one of the four conditions of TREE-30 holds, so that follow-ups, gaps and linked sources count.

    Low confidence on key claims; explicit limitations or future work; a contradiction within the source or with what
    was given as known (`disputed`: code found one); a discovery-intense leaf.
    """
    if discovery_intense or disputed or extraction.contradicts_known or contradicts_itself(extraction):
        return True
    if any(quote.confidence < LOW_CONFIDENCE for quote in extraction.quotes):
        return True
    return any(word in f"{p.heading}\n{p.text}".lower() for p in passages for word in LIMITATION_HEADINGS)


def contradicts_itself(extraction: Extraction) -> bool:
    """True if two quotes of one source differ about the same thing, in more than wording (TREE-30)."""
    quotes = extraction.quotes
    said = [parse_statement(strip_markup(quote.quote)) for quote in quotes] if len(quotes) > 1 else []
    return any(
        compare_topics(one, other) >= SAME_SUBJECT_SHARE
        and (found := find_difference(one, other)) is not None
        and found.aspect is not Aspect.WORDING
        for one, other in combinations(said, 2)
    )


def fill_prompt(template: str, thread: ThreadState) -> str:
    """Fill the blanks of a phase's reading prompt (TRIPLET-20)."""
    if not template:
        return ""
    criteria = "; ".join(q.text for q in thread.sub_questions if q.standing is not SubQuestionStatus.ANSWERED)
    claims = "; ".join(q.finding for q in thread.sub_questions if q.finding)
    topic = thread.objective or thread.brief.question
    for blank, value in (
        ("${TOPIC}", topic),
        ("${CRITERIA}", criteria or topic),
        ("${SPECIFIC_CLAIM}", claims or topic),
    ):
        template = template.replace(blank, value)
    return template


def build_rubric(thread: ThreadState, passages: Sequence[Passage] = ()) -> str:
    """Compose the minimal rubric of an extraction from the objective and prior findings (TREE-25).

    It names the scope, the sections of this source to consider, and the target confidence.
    """
    sections = tuple(dict.fromkeys(p.heading.rsplit(" > ", 1)[-1] for p in passages if p.heading))
    known = [q for q in thread.sub_questions if q.finding]
    missing = [q.text for q in thread.sub_questions if q.standing is not SubQuestionStatus.ANSWERED]
    lines = [
        f"Scope: {thread.objective or thread.brief.question}",
        f"Look for: {'; '.join(missing) or 'confirmation of what is known'}",
        f"Sections to consider: {'; '.join(sections)[:400]}" if sections else "",
        f"Leave out: {thread.out_of_scope}" if thread.out_of_scope else "",
        f"Known already: {'; '.join(q.finding for q in known)[:600]}" if known else "",
        "Target confidence: 0.7 or more for each key claim.",
    ]
    return "\n".join(line for line in lines if line)

"""What a role is given of a thread or of its findings: small, in a fixed order, without a clock.

Knows which parts of the state a role may see, and the texts that guide a reading. Decides nothing and calls nothing;
what the manager and the planners are given, before there is a thread, is in `planning`, and what those who review a
draft are given in `engine.review`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from corrobora.domain.evidence import Contradiction, Fact, ReadOutcome
from corrobora.domain.plan import (
    Coverage,
    Node,
    Record,
    SubQuestion,
    SubQuestionStatus,
    TaskSpec,
    describe_task,
    join_specs,
)
from corrobora.domain.report import Findings
from corrobora.domain.thread import Escape, Gap, Intent, Phase, ScopeInput, ThreadState
from corrobora.engine.knowledge import build_record, searches_web
from corrobora.engine.session.reading import AGAIN, ReadPart, join_parts, name_task
from corrobora.policies.drift import select_remaining_terms
from corrobora.policies.intent import build_rubric, choose_forced_subject, drop_repeated, fill_prompt
from corrobora.policies.outcome import list_latest, merge_gaps, select_last_iterations
from corrobora.policies.queries import list_unasked_queries
from corrobora.policies.selection import list_unread_sources
from corrobora.policies.stop import measure_saturation
from corrobora.roles.extract import Excerpt
from corrobora.roles.forms import drop_duplicates, name_origin, select_best_facts
from corrobora.roles.synthesize import Learned, Material, Part
from corrobora.text import phrases

if TYPE_CHECKING:
    from corrobora.engine.session import Session
    from corrobora.policies import Profile

MAX_FACTS_SHOWN = 60  # to a role at once; the best ones first
MAX_UNREAD_SHOWN = 10  # addresses that a role may choose from
MAX_RECALLED_SHOWN = 8  # facts of earlier runs that a reader is told
WORDS_OPENING, WORDS_OF_QUESTION, WORDS_OF_FACT = 200, 150, 15  # that a report has room for
MAX_FACTS_WRITTEN = 160  # to a writer of the whole report
MIN_FACTS_OF_PART = 12
FIRST_DONE = 2  # the round from which on a reflection that is content sums up its thread in the same answer ...
ENDING_RULES = frozenset({"criteria_met", "converged", "no_gaps"})  # ... or the first, where one of these may end it


def collect_terms(thread: ThreadState) -> tuple[str, ...]:
    """Return the vocabulary of the sources, in the order in which it was learned."""
    proposed = (t for r in thread.rounds if r.decision for t in r.decision.proposal.terms)
    read = (t for r in thread.rounds for reading in r.readings for t in reading.terms)
    return tuple(dict.fromkeys((*proposed, *read)))[:24]


def scope_input(thread: ThreadState, run: Session, record: Record | None = None) -> ScopeInput:
    """Build the input of `scope`: what the thread does not know yet (TRIPLET-13). Threads of a run share one form."""
    forced = choose_forced_subject(thread) if thread.course.coverage else None
    last = thread.last
    decision = last.decision if last is not None else None
    given_up = {question.id for question in thread.sub_questions if question.standing is SubQuestionStatus.EXHAUSTED}
    return ScopeInput(
        path=thread.round_path,
        question=thread.brief.question,
        objective=thread.objective,
        round=thread.number + 1,
        phase=_fit_phase(thread.phase, run),
        open_questions=tuple(
            q
            for q in thread.sub_questions
            if q.standing not in (SubQuestionStatus.ANSWERED, SubQuestionStatus.EXHAUSTED)
        ),
        uncovered=tuple(
            s for s in thread.subjects if (s.rounds == 0 and not thread.earlier) or s.coverage is Coverage.UNCOVERED
        ),
        gaps=tuple(gap for gap in thread.gaps if gap.target not in given_up),
        saturation=measure_saturation(thread),
        escape=thread.escape,
        past_queries=thread.past_queries,
        terms=collect_terms(thread),
        disambiguation=select_remaining_terms(thread),
        focus_since=thread.brief.focus.since,
        focus_until=thread.brief.focus.until,
        forced_subject=forced.name if forced else "",
        suggested=list_unasked_queries(thread) if run.has_model else thread.suggested,  # code begins with the broad one
        known=tuple(q.finding for q in thread.sub_questions if q.finding and q.standing is SubQuestionStatus.ANSWERED),
        next_topic=thread.steer or _fractal_question(thread) or (decision.proposal.next_topic if decision else ""),
        out_of_scope=thread.out_of_scope,
        url=decision.proposal.url if decision else "",
        record=record or build_record(thread, run.record),
        all_questions=drop_duplicates(question.id for question in (*run.questions, *thread.sub_questions)),
        all_subjects=drop_duplicates(subject.name for subject in (*run.brief.subjects, *thread.subjects)),
    )


def _fit_phase(phase: Phase, run: Session) -> Phase:
    """Leave out the hints on sites where no web is searched."""
    if not run.has_model or searches_web(run):
        return phase
    return replace(phase, query_hints=tuple(each for each in phase.query_hints if not each.startswith("site:")))


def rescope_input(given: ScopeInput, refused: Intent) -> ScopeInput:
    """Build the input of a second attempt, after queries that did not change enough."""
    texts = tuple(query.text for query in refused.queries)
    return replace(given, path=f"{given.path}/again", past_queries=(*given.past_queries, *texts), refused=texts)


def _fractal_question(thread: ThreadState) -> str:
    """The question that the sixth escape starts from: a question about the question (TRIPLET-37)."""
    if thread.escape is not Escape.FRACTAL:
        return ""
    return f"What hidden assumptions underlie the research question '{thread.brief.question}'?"


def reflect_input(
    thread: ThreadState, run: Session, *, most: int = MAX_FACTS_SHOWN, after: ThreadState | None = None
) -> Learned:
    """Build the input of `reflect`: what the thread has learned so far, with its best facts.

    `after` is the thread as its next round finds it, if the same answer words that round.
    """
    last, record = thread.last, build_record(thread, run.record)  # the coming round remembers the same ones
    left = after.course.max_rounds - after.number if after is not None and after.open else 0
    first = 1 if any(name in ENDING_RULES for name, _ in run.rules) else FIRST_DONE
    may_end = after is not None and (not left or thread.number >= first)
    return Learned(
        path=thread.last_path,
        question=thread.brief.question,
        objective=thread.objective,
        round=thread.number,
        sub_questions=thread.sub_questions,
        subjects=thread.subjects,
        facts=select_best_facts(thread.facts, most, thread.contradictions),
        contradictions=thread.contradictions,
        past_queries=thread.past_queries,
        terms=collect_terms(thread),
        new_facts=last.new_facts if last else 0,
        output_format=_describe_result(thread),
        unread=list_unread_sources(thread, MAX_UNREAD_SHOWN),
        record=record,
        coming=scope_input(after, run, replace(record, today="", searched="")) if after is not None else None,
        rounds_left=left,
        closing=run.leaves > 1 and may_end,
        several=run.leaves > 1,
        run_questions=tuple(question.id for question in run.questions),
        run_subjects=tuple(subject.name for subject in run.brief.subjects),
    )


def _describe_result(thread: ThreadState) -> str:
    """Describe the expected result of a thread and the acceptance criteria of the planner's specs (TREE-16)."""
    accepted = "; ".join(spec.acceptance_criteria for spec in thread.specs if spec.acceptance_criteria)
    return "; ".join(filter(None, (thread.output_format, f"accepted only if: {accepted}" if accepted else "")))


def summary_input(thread: ThreadState) -> Material:
    """Build the input of `summarize` for one thread."""
    facts = select_best_facts(thread.facts, MAX_FACTS_SHOWN, thread.contradictions)
    part = Part(thread.path, thread.title, "", facts, angle=thread.angle)
    return Material(
        path=thread.path,
        purpose="summary",
        question=thread.objective or thread.brief.question,
        whole=thread.brief.question if thread.objective not in ("", thread.brief.question) else "",
        title=thread.title,
        parts=(part,),
        sub_questions=thread.sub_questions,
        contradictions=thread.contradictions,
        gaps=list_open_gaps(thread),
        output_format=thread.output_format,
        words_max=600,
        read=len({each.source for done in thread.rounds for each in done.readings if each.outcome is ReadOutcome.READ}),
    )


def list_open_gaps(thread: ThreadState) -> tuple[Gap, ...]:
    """What the thread did not find: the gaps of its last assessment; before there is one, all that is not answered."""
    if thread.last and thread.last.decision:
        return thread.gaps
    return tuple(Gap(q.text, q.id) for q in thread.sub_questions if q.standing is not SubQuestionStatus.ANSWERED)


def node_synthesis_input(node: Node, question: str, parts: Sequence[Findings]) -> Material:
    """Build the input of the synthesizer of an inner node (TREE-24)."""
    questions = merge_questions(parts)
    return Material(
        path=node.path,
        purpose="gathering",
        question=node.objective or question,
        whole=question if node.objective not in ("", question) else "",
        title=node.title,
        parts=build_parts([replace(p, facts=drop_foreign_facts(p.facts, questions)) for p in parts], MAX_FACTS_SHOWN),
        sub_questions=questions,
        contradictions=merge_part_contradictions(parts),
        gaps=merge_gaps(parts, questions),
        uncovered=tuple(found.title for found in parts if found.failed),
        output_format=node.output_format,
        words_max=900,
    )


def drop_foreign_facts(facts: Sequence[Fact], asked: Sequence[SubQuestion]) -> tuple[Fact, ...]:
    """Leave out facts that answer other questions only: readers find them for other parts, which are given them."""
    own = {question.id for question in asked}
    return tuple(fact for fact in facts if not fact.answers or own & set(fact.answers))


def build_parts(parts: Sequence[Findings], room: int) -> tuple[Part, ...]:
    """The findings of children as parts for a writer, with as many facts of each as it has a share of all.

    What a scout saw, and what a reader found for another part, is told by the part that it was found for; which
    sources a scout ranked how is of no use to a writer.
    """
    shared = {fact.id for found in parts if not _is_shortlist(found) for fact in found.facts}
    mine = [set(drop_foreign_facts(found.facts, found.sub_questions)) for found in parts]
    asked = {fact.id for facts in mine for fact in facts}
    own = [
        [f for f in found.facts if (f in held or f.id not in asked) and not (_is_shortlist(found) and f.id in shared)]
        for found, held in zip(parts, mine, strict=True)
    ]
    total = max(1, sum(map(len, own)))
    return tuple(
        build_part(
            replace(found, facts=tuple(facts), summary="" if _is_shortlist(found) else found.summary),
            max(MIN_FACTS_OF_PART, room * len(facts) // total),
        )
        for found, facts in zip(parts, own, strict=True)
        if facts or not _is_shortlist(found)
    )


def _is_shortlist(found: Findings) -> bool:
    """True for what a scout returns: sources to read, and what it saw of them."""
    return bool(found.linked) and not found.rounds and not found.children


def build_part(found: Findings, limit: int) -> Part:
    """One child's findings as a part for a writer."""
    weak = tuple(gap.text for gap in found.gaps if gap.text.startswith(phrases.UNKNOWN_STANDING))
    gaps = tuple(gap.text for gap in found.gaps if gap.text not in weak)
    asked = tuple(text.removeprefix(f"{phrases.UNKNOWN_STANDING}: ") for text in weak)
    facts = select_best_facts(found.facts, limit, found.contradictions, found.summary)
    more = len(found.facts) - len(facts)
    failures = drop_duplicates(failure for done in found.rounds for failure in done.failures)
    queries = () if found.facts else drop_duplicates(q.text for done in found.rounds for q in done.intent.queries)
    return Part(
        found.path, found.title, found.summary, facts, gaps, found.failed, found.angle, asked, more, failures, queries
    )


def merge_part_contradictions(parts: Sequence[Findings]) -> tuple[Contradiction, ...]:
    """Return the contradictions of all parts, each once."""
    return tuple({c.key: c for found in parts for c in found.contradictions}.values())


def merge_questions(parts: Sequence[Findings]) -> tuple[SubQuestion, ...]:
    """Return the sub-questions of all parts; where two parts worked on one, the better status counts."""
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
    """Build the input of the writer of the report: the parts of the root, or the thread itself."""
    parts = select_last_iterations(found.children) or (found,)
    return Material(
        path="root",
        purpose="report",
        question=question,
        title=found.title or question,
        parts=build_parts([part for part in parts if not part.failed], MAX_FACTS_WRITTEN),
        sub_questions=found.sub_questions,
        contradictions=found.contradictions,
        gaps=found.gaps,
        output_format=found.output_format,
        layout=profile.layout,
        words_min=profile.words_min,
        words_max=profile.words_max,
        uncovered=tuple(part.title for part in parts if part.failed),
        nearest=found.nearest,
    )


def fit_length(material: Material) -> Material:
    """Limit the length of the report to what the question needs: its parts and what was found for them.

    What is asked for stays as it is: "2000 to 2000 words" would ask to fill it.
    """
    if material.words_min:
        return material
    facts = sum(len(part.facts) for part in material.parts)
    needed = WORDS_OPENING + WORDS_OF_QUESTION * len(material.sub_questions) + WORDS_OF_FACT * facts
    return replace(material, words_max=min(material.words_max, needed))


def shorten_material(material: Material) -> Material:
    """Reduce the material to that of a short report, which is better than none."""
    return replace(material, words_min=0, words_max=min(material.words_max, 700))


def _merge_leaf_needs(thread: ThreadState, run: Session) -> ThreadState:
    """Whose needs a reading serves: those of all leaves, where there are several.

    What one leaf leaves out may be what another one looks for, and the prompt must not depend on which came first.
    """
    if run.leaves == 1:
        return thread
    own = {question.id: question for question in thread.sub_questions}
    asked = {question.id: question for question in run.questions} | own
    return replace(thread, objective=run.brief.question, sub_questions=tuple(asked.values()), out_of_scope="")


def extract_input(batch: Sequence[ReadPart], thread: ThreadState, run: Session) -> Excerpt:
    """Build the input of `extract`: all needs of the run, because a passage is sent only once for a task.

    The first document leads; the others are read beside it.
    """
    served, specs = _merge_leaf_needs(thread, run), _list_specs(thread, run, list_latest(run.specified, run.refined))
    spec = "\n".join(f"{told}{join_specs(own)}" for told, own in specs)
    asked = {question.id: question for question in (*run.questions, *thread.sub_questions)}
    names = [
        passage.id + (AGAIN + name_reading_task(thread, run, part) if part.missing else "")
        for part in batch
        for passage in part.passages
    ]
    wanted = tuple(dict.fromkeys(each for part in batch for each in part.missing or part.wanted))
    tasks = () if run.leaves == 1 and not (spec or thread.output_format) else _list_tasks(thread, run)
    made = Excerpt(
        path=f"extract/{name_reading_task(thread, run)}/{batch[0].source.id}/{'+'.join(names)}",
        title="",
        version="",
        published="",
        passages=(),
        question=run.brief.question,
        sub_questions=tuple(asked.values()),
        subjects=run.brief.subjects or thread.subjects,
        guidance=fill_prompt(thread.phase.reading_prompt, served),
        spec=spec,
        rubric="" if spec else build_rubric(served if not tasks else replace(served, objective="")),
        discovery_intense=any(each.discovery_intense for _, own in specs for each in own),
        known_facts=(*run.brief.known_facts, *(fact.claim for fact in thread.recalled[:MAX_RECALLED_SHOWN])),
        terms=collect_terms(thread),
        tasks=drop_repeated(tasks, (run.brief.question, *(each.text for each in asked.values()))),
        missing=wanted,
    )
    parts = [_show_source(made, part) for part in join_parts(batch)]
    return replace(parts[0], beside=tuple(parts[1:]))


def _show_source(made: Excerpt, part: ReadPart) -> Excerpt:
    source = part.source
    publisher, host = name_origin(source.publisher, urlsplit(source.url).netloc)
    return replace(
        made,
        title=source.title,
        version=source.version,
        published=source.published,
        passages=part.passages,
        publisher=publisher,
        host=host,
        elsewhere=part.elsewhere,
        source=source.id,
    )


def _list_tasks(thread: ThreadState, run: Session) -> tuple[str, ...]:
    """What a reading is for: all leaves of the plan, so that no passage is sent twice, else the leaf alone."""
    return run.tasks if run.shares_readers(thread.specs) else (describe_task(thread.objective, thread.output_format),)


def _list_specs(thread: ThreadState, run: Session, leaves: Sequence[Node]) -> list[tuple[str, tuple[TaskSpec, ...]]]:
    """The specifications of a reading, of all these leaves after what each is for if others are read for beside it."""
    if not run.shares_readers(thread.specs):
        return [("", thread.specs)] if thread.specs else []
    told = (" ".join(asked.id for asked in leaf.sub_questions) or leaf.title for leaf in run.specified)
    return [(f"For {ids}:\n", leaf.specs) for ids, leaf in zip(told, leaves, strict=True)]


def name_reading_task(thread: ThreadState, run: Session, part: ReadPart | None = None) -> str:
    """Name what a thread's readers are asked for, of a part also why again: an answer is for the same task only."""
    limits = "" if run.leaves > 1 else thread.out_of_scope
    planned = _list_specs(thread, run, run.specified)  # new ones of a sibling change no name
    specs = (join_specs(own) for _, own in planned)
    return name_task(*_list_tasks(thread, run), limits, *specs, *(part.missing if part else ()))

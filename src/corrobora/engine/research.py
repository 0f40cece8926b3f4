"""Research: a question in, a cited and verified report out.

Knows the stages and their order. Everything below is `investigate`; everything outside is the session.

Rescue: the report of a run whose time is over, from what the journal holds (BUDGET-6).

Knows the journal's extractions and the last analyst, which needs neither network nor time. Looks up nothing new.
"""

from __future__ import annotations

from dataclasses import replace

from corrobora.domain.errors import Infeasible, JournalError, ReadError
from corrobora.domain.evidence import Document, Fact, SourceId
from corrobora.domain.plan import Brief, Plan
from corrobora.domain.report import Findings, Report, iter_threads
from corrobora.domain.run import EventType, Stage
from corrobora.domain.thread import Gap, StopReason
from corrobora.engine.inputs import report_input, shorten_material
from corrobora.engine.investigate import investigate
from corrobora.engine.planning import (
    ThreadFile,
    clarify_input,
    merge_plans,
    parse_thread_file,
    plan_input,
    select_phases,
    with_pinned_sources,
)
from corrobora.engine.session.calls import Session
from corrobora.engine.session.journal import decode
from corrobora.engine.session.people import read_agreed_scope
from corrobora.engine.session.retry import run_parallel
from corrobora.engine.steps.deliver import deliver_report, fallback_if_uncited, make_empty_draft
from corrobora.engine.steps.review import judge_draft, review_draft
from corrobora.policies.budget import select_shed_work
from corrobora.policies.coverage import merge_facts
from corrobora.policies.feasibility import repair_plan
from corrobora.policies.grading import grade_facts
from corrobora.policies.intake import ANGLE_SLUGS
from corrobora.reporting.review import check_against_findings
from corrobora.reporting.thread_json import get_synthesis_badge
from corrobora.roles.clarify import Scoping, clarify
from corrobora.roles.extract import Extraction
from corrobora.roles.plan import plan
from corrobora.roles.synthesize import synthesize


async def research(brief: Brief, run: Session) -> Report:
    """A question in; a cited, verified report out (ENGINE-1).

    Raises:
        Infeasible: the question must be narrowed first; the reasons and narrower questions are in the message.
        NeedsHuman: the plan waits for a person.
    """
    run.begin_run(brief)
    run.enter_stage(Stage.CLARIFY)
    if run.request.thread_file:
        tree = await plan_from_thread_file(
            parse_thread_file(run.request.thread_file), run
        )  # thread and brief are given (TRIPLET-1)
    else:
        agreed = read_agreed_scope(run.request)  # narrow, split, refuse (TREE-2); a dialogue has done it before
        scoping = require_feasible(agreed or await run.call(clarify, clarify_input(brief, run.profile)))
        run.enter_stage(Stage.PLAN)
        tree = await make_plan(scoping, run)
    await run.authorize_plan(tree)  # "Authorized to execute", or a policy
    run.enter_stage(Stage.INVESTIGATE)
    findings = await investigate(tree.root, run)
    async with run.budget.use_reserve():  # time kept for writing
        if not findings.facts:
            return await deliver_report(make_empty_draft(findings), None, findings, run)
        begin_synthesis(findings, run)
        material = report_input(findings, brief.question, run.profile)
        short = "shorter_report" in select_shed_work(
            await run.record_meter("root/write")
        )  # what is shed before a report is lost
        material = shorten_material(material) if short else material
        draft = await run.call(synthesize, material)
        run.enter_stage(Stage.REVIEW)
        draft = await review_draft(draft, findings, run)  # critique, revise
        run.enter_stage(Stage.VERIFY)
        draft = await fallback_if_uncited(draft, material, findings, run)
        verdict = await judge_draft(draft, findings, run)
        return await deliver_report(check_against_findings(draft, findings), verdict, findings, run)


def require_feasible(scoping: Scoping) -> Scoping:
    """Refuse to plan until every query is feasible (TREE-3)."""
    if scoping.feasible and scoping.queries:
        return scoping
    offered = " Narrower: " + " | ".join(scoping.narrower) if scoping.narrower else ""
    asked = " " + " ".join(scoping.questions) if scoping.questions else ""
    raise Infeasible(
        "question_infeasible",
        f"The question is too broad for one run: {' '.join(scoping.reasons)}{asked}",
        next_step=f"Ask a narrower question.{offered}",
    )


async def make_plan(scoping: Scoping, run: Session) -> Plan:
    """One planner for each feasible query (TREE-9); each plan and the whole are checked by code."""
    run.brief = scoping.queries[0] if len(scoping.queries) == 1 else run.brief
    given = [
        plan_input(query, number, scoping, run.profile, of=len(scoping.queries))
        for number, query in enumerate(scoping.queries, 1)
    ]
    plans = await run_parallel([run.call(plan, each) for each in given])  # n planners for n queries, in parallel
    tree = repair_plan(
        merge_plans(plans, run.brief),
        max_depth=run.profile.max_depth,
        max_leaves=run.profile.max_leaves,
        dynamic_angles=run.profile.dynamic_angles,
        allowed_angles=ANGLE_SLUGS,
    )
    tree = replace(tree, root=with_pinned_sources(tree.root, run.request.sources))
    await run.propose_plan(tree)
    return tree


async def plan_from_thread_file(given: ThreadFile, run: Session) -> Plan:
    """Take a given thread as it is: no manager, no planner, no person (TRIPLET-53)."""
    run.brief, run.profile = given.brief, select_phases(run.profile, given.source_strategy)
    await run.propose_plan(given.plan)
    return given.plan


def begin_synthesis(findings: Findings, run: Session) -> None:
    """Enter the writing: its badge follows that of the last round (ROUNDS-22: rounds 1 to 3, then 4)."""
    run.enter_stage(Stage.SYNTHESIZE)
    rounds = [done for leaf in iter_threads(findings) for done in leaf.rounds]
    sources = {hit.url for done in rounds for hit in done.hits}
    text = f"Synthesizing the findings of {len(rounds)} rounds: {len(sources)} sources were found."
    number = get_synthesis_badge(findings)
    run.emit(EventType.THOUGHT, "root", {"text": text, "queries": []}, number=number, part="synthesis")


async def rescue_report(run: Session, why: StopReason) -> Report:
    """Write the partial report from the journal, with the analyst that always answers."""
    facts = grade_facts(merge_facts((), await _restore_facts(run)))
    answered = {answer for fact in facts for answer in fact.answers}
    open_questions = tuple(q for q in run.questions if q.id not in answered)
    findings = Findings(
        path="root",
        title=run.brief.question,
        facts=tuple(facts),
        sub_questions=run.questions,
        gaps=tuple(Gap(q.text, q.id) for q in open_questions),
        stop=why,
        notes=("The run was cut at its deadline; this report was written from what was journaled.",),
    )
    material = shorten_material(report_input(findings, run.brief.question, run.profile))
    draft = (await run.outside.analysts[-1].play(synthesize, replace(material, path="rescue"))).value
    return await deliver_report(check_against_findings(draft, findings), None, findings, run)


async def _restore_facts(run: Session) -> list[Fact]:
    """Facts of all journaled extractions; a quote that no longer stands in its snapshot is dropped."""
    found: list[Fact] = []
    for key in run.journal.keys("extract/"):
        entry = run.journal.get(key)
        if entry is None:
            continue
        try:
            source, text = await run.library.document(SourceId(key.split("/", 4)[2]))
        except (ReadError, JournalError):
            continue
        extraction = decode(Extraction, entry.out, key=key)
        wanted = tuple(dict.fromkeys(quote.passage for quote in extraction.quotes))
        passages = {p.id: p for p in await run.library.passages(wanted)}  # pyright: ignore[reportArgumentType]
        document = Document(source, text, tuple(passages.values()))
        for quote in extraction.quotes:
            passage = passages.get(quote.passage)  # pyright: ignore[reportArgumentType]
            if passage is not None:
                fact = Fact.from_quote(
                    document,
                    passage,
                    quote.quote,
                    confidence=quote.confidence,
                    answers=quote.answers,
                    claim=quote.claim,
                )
                found += [fact] if fact is not None else []
    return found

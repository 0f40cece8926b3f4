"""Research: a question in, a cited and verified report out.

Knows the stages and their order. Everything below is `investigate`; everything outside is the session.
"""

from __future__ import annotations

from dataclasses import replace

from corrobora.domain.brief import Brief
from corrobora.domain.errors import Infeasible
from corrobora.domain.events import EventType
from corrobora.domain.plan import Plan
from corrobora.domain.report import Findings, Report, iter_threads
from corrobora.domain.run import Stage
from corrobora.engine.delivery import deliver_report, fallback_if_uncited, make_empty_draft
from corrobora.engine.dialogue import read_agreed_scope
from corrobora.engine.executor import investigate
from corrobora.engine.given import ThreadFile, parse_thread_file, select_phases
from corrobora.engine.parallel import run_parallel
from corrobora.engine.planning import clarify_input, merge_plans, plan_input, with_pinned_sources
from corrobora.engine.review import check_against_findings
from corrobora.engine.reviewing import judge_draft, review_draft
from corrobora.engine.roundfiles import get_synthesis_badge
from corrobora.engine.session import Session
from corrobora.engine.views import report_input, shorten_material
from corrobora.policies.angles import ANGLE_SLUGS
from corrobora.policies.budget import select_shed_work
from corrobora.policies.feasibility import repair_plan
from corrobora.roles.clarify import Scoping, clarify
from corrobora.roles.plan import plan
from corrobora.roles.synthesize import synthesize


async def research(brief: Brief, run: Session) -> Report:
    """A question in; a cited, verified report out (DESIGN 2).

    Raises:
        Infeasible: the question must be narrowed first; the reasons and narrower questions are in the message.
        NeedsHuman: the plan waits for a person.
    """
    run.begin_run(brief)
    run.enter_stage(Stage.CLARIFY)
    if run.request.thread_file:
        tree = await plan_from_thread_file(
            parse_thread_file(run.request.thread_file), run
        )  # S4: thread and brief are given
    else:
        agreed = read_agreed_scope(run.request)  # S0 manager: narrow, split, refuse; a dialogue has done it before
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
    """Refuse to plan until every query is feasible (S0, manager)."""
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
    """One planner for each feasible query (S0); each plan and the whole are checked by code."""
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
    """Take a given thread as it is: no manager, no planner, no person (S4)."""
    run.brief, run.profile = given.brief, select_phases(run.profile, given.source_strategy)
    await run.propose_plan(given.plan)
    return given.plan


def begin_synthesis(findings: Findings, run: Session) -> None:
    """Enter the writing: its badge follows that of the last round (S3: rounds 1 to 3, then 4)."""
    run.enter_stage(Stage.SYNTHESIZE)
    rounds = [done for leaf in iter_threads(findings) for done in leaf.rounds]
    sources = {hit.url for done in rounds for hit in done.hits}
    text = f"Synthesizing the findings of {len(rounds)} rounds: {len(sources)} sources were found."
    number = get_synthesis_badge(findings)
    run.emit(EventType.THOUGHT, "root", {"text": text, "queries": []}, number=number, part="synthesis")

"""Research: a question in, a cited and verified report out.

Knows the stages and their order. Everything below is `investigate`; everything outside is the session.
"""

from __future__ import annotations

from dataclasses import replace

from corrobora.domain.brief import Brief
from corrobora.domain.errors import Infeasible
from corrobora.domain.plan import Plan
from corrobora.domain.report import Report
from corrobora.domain.run import Stage
from corrobora.engine.delivery import carried, deliver, unwritten
from corrobora.engine.dialogue import agreed_scope
from corrobora.engine.executor import investigate
from corrobora.engine.given import GivenThread, read_thread, strategic
from corrobora.engine.parallel import together
from corrobora.engine.planning import asking, merged, planning, sourced
from corrobora.engine.review import judged, reviewed, supported
from corrobora.engine.roundfiles import synthesizing
from corrobora.engine.session import Session
from corrobora.engine.views import shortened, writing
from corrobora.policies.angles import SLUGS
from corrobora.policies.budget import shed
from corrobora.policies.feasibility import feasible
from corrobora.roles.clarify import Scoping, clarify
from corrobora.roles.plan import plan
from corrobora.roles.synthesize import synthesize


async def research(brief: Brief, run: Session) -> Report:
    """A question in; a cited, verified report out (DESIGN 2).

    Raises:
        Infeasible: the question must be narrowed first; the reasons and narrower questions are in the message.
        NeedsHuman: the plan waits for a person.
    """
    run.begin(brief)
    run.enter(Stage.CLARIFY)
    if run.request.thread_file:
        tree = await taken(read_thread(run.request.thread_file), run)  # S4: thread and brief are given
    else:
        agreed = agreed_scope(run.request)  # S0 manager: narrow, split, refuse; a dialogue has done it before
        scoping = accepted(agreed or await run.call(clarify, asking(brief, run.profile)))
        run.enter(Stage.PLAN)
        tree = await planned(scoping, run)
    await run.authorize(tree)  # "Authorized to execute", or a policy
    run.enter(Stage.INVESTIGATE)
    findings = await investigate(tree.root, run)
    async with run.budget.reserve():  # time kept for writing
        if not findings.facts:
            return await deliver(unwritten(findings), None, findings, run)
        synthesizing(findings, run)
        material = writing(findings, brief.question, run.profile)
        short = "shorter_report" in shed(await run.meter("root/write"))  # what is shed before a report is lost
        material = shortened(material) if short else material
        draft = await run.call(synthesize, material)
        run.enter(Stage.REVIEW)
        draft = await reviewed(draft, findings, run)  # critique, revise
        run.enter(Stage.VERIFY)
        draft = await carried(draft, material, findings, run)
        verdict = await judged(draft, findings, run)
        return await deliver(supported(draft, findings), verdict, findings, run)


def accepted(scoping: Scoping) -> Scoping:
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


async def planned(scoping: Scoping, run: Session) -> Plan:
    """One planner for each feasible query (S0); each plan and the whole are checked by code."""
    run.brief = scoping.queries[0] if len(scoping.queries) == 1 else run.brief
    given = [
        planning(query, number, scoping, run.profile, of=len(scoping.queries))
        for number, query in enumerate(scoping.queries, 1)
    ]
    plans = await together([run.call(plan, each) for each in given])  # n planners for n queries, in parallel
    tree = feasible(
        merged(plans, run.brief),
        max_depth=run.profile.max_depth,
        max_leaves=run.profile.max_leaves,
        dynamic_angles=run.profile.dynamic_angles,
        allowed_angles=SLUGS,
    )
    tree = replace(tree, root=sourced(tree.root, run.request.sources))
    await run.propose(tree)
    return tree


async def taken(given: GivenThread, run: Session) -> Plan:
    """Take a given thread as it is: no manager, no planner, no person (S4)."""
    run.brief, run.profile = given.brief, strategic(run.profile, given.source_strategy)
    await run.propose(given.plan)
    return given.plan

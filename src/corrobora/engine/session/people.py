"""What a run asks of its person before it begins: to authorize the plan.

Knows the session, through which every answer is journaled, so that nobody is asked twice. Does not know how a person is
reached: the port `Human` does.
"""

from __future__ import annotations

from dataclasses import replace

from corrobora.domain.errors import LimitReached
from corrobora.domain.plan import Brief, Plan, SubQuestion, collect_leaves, describe_task, executor_depth
from corrobora.domain.run import EventType
from corrobora.engine.session.calls import Session
from corrobora.engine.session.journal import CallMeta, get_type_adapter
from corrobora.reporting.thread_json import build_estimate


async def propose_plan(plan: Plan, run: Session) -> None:
    """Emit and store the plan, before anybody authorizes it."""
    whole = get_type_adapter(Plan).dump_python(replace(plan, answer=""), mode="json")
    data = {"plan": whole, "depth": executor_depth(plan), "tier": plan.tier}
    if run.outside.estimate is not None:
        data["estimate"] = build_estimate(run.outside.estimate(plan))
    run.emit(EventType.PLAN_PROPOSED, "root", data)
    await run.write_artifacts({"plan.json": whole})


async def authorize_plan(plan: Plan, run: Session) -> None:
    """Go on only with a plan that a policy or a person authorized (TREE-5). Raises `NeedsHuman`.

    The answer is read from the journal or asked of the person; nothing in a question, page or model output counts.
    """
    run.questions = _collect_questions(plan, run.brief)
    leaves = collect_leaves(plan.root)
    run.gathers_plans, run.leaves = plan.gathers_plans, len(leaves)
    run.tasks = tuple(
        dict.fromkeys(describe_task(leaf.objective, leaf.output_format) for leaf in leaves if not leaf.discovery)
    )
    estimate = run.outside.estimate(plan) if run.outside.estimate else None
    asks = run.profile.authorize != "auto" or (estimate is not None and estimate.needs_yes)
    by = run.request.authorized or ("" if asks else "policy")
    if not by and run.journal.get("authorized") is None:
        await run.journal.flush()
        if not await run.outside.human.authorize(plan):
            raise LimitReached("authorization", value=0, limit=1, scope="plan")

    async def record_authorization() -> tuple[str, CallMeta]:
        return by or "human", CallMeta()

    await run.call_once("authorized", record_authorization, paid=False)
    run.emit(EventType.PLAN_AUTHORIZED, "root", {"by": by or "human"})


def _collect_questions(plan: Plan, brief: Brief) -> tuple[SubQuestion, ...]:
    """All sub-questions of a plan, each once: a passage is read for all of them."""
    found: dict[str, SubQuestion] = {}
    for question in (*brief.sub_questions, *(q for leaf in collect_leaves(plan.root) for q in leaf.sub_questions)):
        found.setdefault(question.id, question)
    return tuple(found.values())

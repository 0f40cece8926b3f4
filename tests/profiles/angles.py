"""What the tests of the profile `angles` share: plans by angle, and runs of the profile over a library."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.profiles.research import QUESTION, LibraryRun, Mixed, make_run

from corrobora.analysts.extractive.clarify import clarify_question
from corrobora.analysts.extractive.plan import make_plan
from corrobora.config.profiles import load_profile
from corrobora.domain.plan import Brief, Node, Plan, SubQuestion
from corrobora.engine.planning import plan_input
from corrobora.policies.feasibility import repair_plan
from corrobora.policies.intake import ANGLE_SLUGS, CANONICAL_ANGLES
from corrobora.roles.clarify import Asking, Scoping


def task(number: int, slug: str, **more: Any) -> Node:
    title = next((a.title for a in CANONICAL_ANGLES if a.slug == slug), slug)
    asked = (SubQuestion(f"sq-{number}", f"What do sources say on harbour cranes of Brenhaven: {title}?"),)
    fields = {"sub_questions": asked, "angle": slug, "queries": (f"{title} of Brenhaven cranes",), **more}
    return Node(f"root/{number}", title, f"Find {title} of the cranes", **fields)


def plan_of(*slugs: str, tier: str = "", **more: Any) -> Plan:
    children = tuple(task(number, slug, **more) for number, slug in enumerate(slugs, 1))
    return Plan(Node("root", QUESTION, QUESTION, children), tier=tier)


def checked(plan: Plan, **more: Any) -> Plan:
    limits = {"max_depth": 1, "max_leaves": 7, "dynamic_angles": False, "allowed_angles": ANGLE_SLUGS, **more}
    return repair_plan(plan, **limits)


def lead(topic: str, **fields: Any) -> Plan:
    """The keyless lead agent's plan for a topic, as it would run."""
    profile = replace(load_profile("angles"), **fields)
    scoping: Scoping = clarify_question(Asking("root", Brief(topic)))
    brief = scoping.queries[0] if scoping.queries else Brief(topic)
    made = make_plan(plan_input(brief, 1, scoping, profile, of=1))
    return checked(made, dynamic_angles=profile.dynamic_angles, max_leaves=profile.max_leaves)


async def angles(
    plan: Plan | None = None, lines: dict[str, Any] | None = None, **more: Any
) -> tuple[LibraryRun, Mixed]:
    analyst = Mixed({**({"plan": plan} if plan else {}), **(lines or {})}, usage=more.pop("usage", None))
    return await make_run("angles", analysts=(analyst,), **more), analyst

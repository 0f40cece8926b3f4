"""Planning views: what the manager and the planners are given, and how several plans become one tree.

Knows profiles and briefs. Does not plan: the role does; does not judge: `policies.feasibility` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from corrobora.domain.brief import Brief
from corrobora.domain.plan import Node, Plan
from corrobora.policies.angles import CANONICAL, SLUGS
from corrobora.policies.feasibility import complexity_hint, feasible
from corrobora.policies.profile import Profile
from corrobora.roles.clarify import Asking, Scoping
from corrobora.roles.plan import Angle, Planning
from corrobora.roles.suggested import read_suggested

PARTS_OF_A_THREAD = 7  # sub-questions that one thread can follow

DYNAMIC_LEAVES = 20  # tasks that a lead may invent where angles are dynamic: the cap of seven does not hold then


def asking(brief: Brief, profile: Profile, dialogue: tuple[str, ...] = ()) -> Asking:
    """What the manager is given. Where parts are worked on by leaves, no more of them than leaves."""
    parts = profile.max_leaves if profile.split in ("tree", "angles") else PARTS_OF_A_THREAD
    return Asking("root", brief, dialogue, parts)


def planning(query: Brief, number: int, scoping: Scoping, profile: Profile, *, of: int) -> Planning:
    """What one planner is given. With several queries each has its own path, so its own journal keys."""
    return Planning(
        path="root" if of == 1 else f"root/{number}",
        brief=query,
        split=profile.split,
        angles=tuple(Angle(a.slug, a.title, a.guidance) for a in CANONICAL) if profile.split == "angles" else (),
        max_leaves=max(profile.max_leaves, DYNAMIC_LEAVES) if profile.dynamic_angles else profile.max_leaves,
        max_depth=profile.max_depth,
        max_rounds=profile.max_rounds,
        complexity_hint=scoping.complexity_hint or complexity_hint(query.question),
        dynamic_angles=profile.dynamic_angles,
        discovery=profile.discovery,
        suggested_plan=query.suggested_plan,
    )


def check_suggested(text: str, profile: Profile) -> None:
    """Refuse a suggested plan that does not follow the spec or is not feasible, before anything is paid (S0).

    Raises:
        UserError: `plan_shape`, or an `Infeasible` that names what is too deep, too many or wrong.
    """
    feasible(
        Plan(read_suggested(text)),
        max_depth=profile.max_depth,
        max_leaves=profile.max_leaves,
        dynamic_angles=profile.dynamic_angles,
        allowed_angles=SLUGS,
    )


def merged(plans: Sequence[Plan], brief: Brief) -> Plan:
    """One plan stays as it is; of several, a root that only gathers, as S0's manager does for n >= 2 sub-queries."""
    if len(plans) == 1:
        return replace(plans[0], root=placed(plans[0].root, "root"))
    children = tuple(placed(each.root, f"root/{number}") for number, each in enumerate(plans, 1))
    root = Node("root", brief.question, brief.question, children)
    notes = tuple(note for each in plans for note in each.notes)
    return Plan(root, rationale=" ".join(each.rationale for each in plans), gathers_plans=True, notes=notes)


def sourced(node: Node, sources: Sequence[str]) -> Node:
    """Give every leaf the sources that a person named, before those of the plan."""
    if node.is_leaf:
        return replace(node, sources=tuple(dict.fromkeys((*sources, *node.sources))))
    return replace(node, children=tuple(sourced(child, sources) for child in node.children))


def placed(node: Node, path: str) -> Node:
    """Give a node and all below it their paths. Paths come from the tree alone, never from a model."""
    children = tuple(placed(child, f"{path}/{number}") for number, child in enumerate(node.children, 1))
    return replace(node, path=path, children=children)

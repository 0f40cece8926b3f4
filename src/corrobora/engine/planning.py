"""Plans: what the manager and the planners are given, and how their answers or a thread file become one tree.

Knows briefs, profiles and the fields of a thread file (TRIPLET-1), and says what is wrong with one. Does not plan: the
role does; does not judge a plan: `policies.feasibility` does.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StringConstraints, TypeAdapter, ValidationError
from pydantic_core import from_json

from corrobora.domain.errors import LimitReached, UserError
from corrobora.domain.plan import (
    Brief,
    Focus,
    Node,
    Plan,
    Subject,
    SubQuestion,
    collect_leaves,
    describe_task,
    executor_depth,
)
from corrobora.domain.report import Findings, iter_threads
from corrobora.domain.run import EventType
from corrobora.engine.inputs import drop_foreign_facts
from corrobora.engine.session import Session
from corrobora.engine.session.journal import get_type_adapter
from corrobora.policies import Profile
from corrobora.policies.feasibility import repair_plan
from corrobora.policies.intake import ANGLE_SLUGS, CANONICAL_ANGLES, check_question, read_suggested
from corrobora.policies.outcome import strip_iterations
from corrobora.policies.queries import MAX_THREAD_QUESTIONS
from corrobora.reporting.thread_json import build_estimate
from corrobora.roles.clarify import Asking, Scoping
from corrobora.roles.forms import select_best_facts
from corrobora.roles.plan import Planning
from corrobora.roles.refine import Refinement, Shortfall

MAX_FACTS_REFINED = 40  # that a refiner is shown of a part
MAX_DYNAMIC_LEAVES = 20  # tasks that a lead may invent where angles are dynamic: the cap of seven does not hold then


def clarify_input(brief: Brief, profile: Profile, dialogue: tuple[str, ...] = ()) -> Asking:
    """What the manager is given. Where each part is a leaf, no more of them than leaves; an angle may have several."""
    parts = profile.max_leaves if profile.split == "tree" else MAX_THREAD_QUESTIONS
    return Asking("root", brief, dialogue, parts)


def describe_earlier(run: Session) -> tuple[str, ...]:
    """What a follow-up follows up on: without it "the draft" or "it" of its question means nothing."""
    before = run.outside.topic
    return (f"This follows up on an earlier question, which has a report: {before}",) if before else ()


def plan_input(query: Brief, number: int, scoping: Scoping, profile: Profile, *, of: int) -> Planning:
    """What one planner is given. With several queries each has its own path, so its own journal keys."""
    return Planning(
        path="root" if of == 1 else f"root/{number}",
        brief=query,
        split=profile.split,
        angles=CANONICAL_ANGLES if profile.split == "angles" else (),
        max_leaves=max(profile.max_leaves, MAX_DYNAMIC_LEAVES) if profile.dynamic_angles else profile.max_leaves,
        max_depth=profile.max_depth,
        max_rounds=profile.max_rounds,
        complexity_hint=scoping.complexity_hint,
        dynamic_angles=profile.dynamic_angles,
        discovery=profile.discovery,
        suggested_plan=query.suggested_plan,
    )


def refine_input(node: Node, iteration: int, missing: tuple[str, ...], findings: Findings) -> Shortfall:
    """What a gate still misses, for the planner. A link to what was read is worth no further reading."""
    rounds = [done for leaf in iter_threads(findings) for done in leaf.rounds]
    asked = tuple(dict.fromkeys(query.text for done in rounds for query in done.intent.queries))
    opened = {name for done in rounds for each in done.readings for name in (each.source, each.hit.url)}
    linked = tuple(link for link in findings.linked if link.reference not in opened)
    own = drop_foreign_facts(findings.facts, findings.sub_questions)
    known = select_best_facts(own, MAX_FACTS_REFINED, findings.contradictions)
    return Shortfall(node.path, node, iteration, missing, findings.gaps, linked, asked, known=known)


def check_suggested_plan(text: str, profile: Profile) -> None:
    """Refuse a suggested plan that does not follow the spec or is not feasible, before anything is paid (TREE-10).

    Raises:
        UserError: `plan_shape`, or an `Infeasible` that names what is too deep, too many or wrong.
    """
    repair_plan(
        Plan(read_suggested(text)),
        max_depth=profile.max_depth,
        max_leaves=profile.max_leaves,
        dynamic_angles=profile.dynamic_angles,
        allowed_angles=ANGLE_SLUGS,
    )


def describe_answer(proposed: Plan) -> object:
    """Return what a lead agent answered: a model's own words, else the plan that was made without a model."""
    return from_json(proposed.answer) if proposed.answer else TypeAdapter(Plan).dump_python(proposed, mode="json")


def merge_plans(plans: Sequence[Plan], brief: Brief) -> Plan:
    """One plan stays as it is; of several, a root that only gathers, as the manager does for n >= 2 queries.

    Requirement: TREE-9.
    """
    if len(plans) == 1:
        return replace(plans[0], root=assign_paths(plans[0].root, "root"))
    children = tuple(assign_paths(each.root, f"root/{number}") for number, each in enumerate(plans, 1))
    root = Node("root", brief.question, brief.question, children)
    notes = tuple(note for each in plans for note in each.notes)
    return Plan(root, rationale=" ".join(each.rationale for each in plans), gathers_plans=True, notes=notes)


def with_pinned_sources(node: Node, sources: Sequence[str]) -> Node:
    """Give every leaf the sources that a person named, before those of the plan."""
    if node.is_leaf:
        return replace(node, sources=tuple(dict.fromkeys((*sources, *node.sources))))
    return replace(node, children=tuple(with_pinned_sources(child, sources) for child in node.children))


def assign_paths(node: Node, path: str) -> Node:
    """Give a node and all below it their paths. Paths come from the tree alone, never from a model."""
    children = tuple(assign_paths(child, f"{path}/{number}") for number, child in enumerate(node.children, 1))
    return replace(node, path=path, children=children)


Text = Annotated[str, StringConstraints(strict=True, strip_whitespace=True, min_length=1)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Question(_Table):
    question: Text
    id: Text | None = None


class _ThreadTable(_Table):
    name: Text
    sub_questions: Annotated[tuple[Text | _Question, ...], Field(min_length=1)]
    subjects: tuple[Text, ...] = ()
    source_strategy: tuple[Text, ...] = ()
    sources: tuple[Text, ...] = ()


class _BriefTable(_Table):
    question: Text | None = None
    disambiguation: tuple[Text, ...] = ()
    known_facts: tuple[Text, ...] = ()
    places: tuple[Text, ...] = ()
    since: StrictInt | None = None
    until: StrictInt | None = None
    domains: tuple[Text, ...] = ()


class _FileTable(_Table):
    thread: _ThreadTable
    brief: _BriefTable
    round_budget: Annotated[StrictInt, Field(ge=1, le=100)]
    artifact_dir: str = ""


@dataclass(frozen=True, slots=True)
class ThreadFile:
    """The four parameters of TRIPLET-1: the thread, the brief, the round budget, and where the artifacts go."""

    brief: Brief
    name: str
    round_budget: int
    artifact_dir: str
    source_strategy: tuple[str, ...]
    sources: tuple[str, ...] = ()

    @property
    def plan(self) -> Plan:
        leaf = Node(
            "root",
            self.name,
            self.brief.question,
            sub_questions=self.brief.sub_questions,
            subjects=self.brief.subjects,
            max_rounds=self.round_budget,
            sources=self.sources,
        )
        return Plan(leaf, rationale="Given by the user.")


def parse_thread_file(text: str) -> ThreadFile:
    """Read a thread file. Raises `UserError` that names the field and what is wrong with it."""
    try:
        table = _FileTable.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise UserError("thread_syntax", f"The thread file is not TOML: {error}.") from error
    except ValidationError as error:
        raise _explain_first_error(error) from error
    thread, brief = table.thread, table.brief
    asked = tuple(
        SubQuestion(f"SQ-{number}", each)
        if isinstance(each, str)
        else SubQuestion(each.id or f"SQ-{number}", each.question)
        for number, each in enumerate(thread.sub_questions, 1)
    )
    if len({question.id for question in asked}) != len(asked):
        raise _make_field_error("thread.sub_questions", "have an id twice", "Give each its own id, or none.")
    return ThreadFile(
        Brief(
            check_question(brief.question or " ".join(question.text for question in asked)),
            asked,
            tuple(Subject(name) for name in thread.subjects),
            brief.disambiguation,
            brief.known_facts,
            Focus(brief.places, brief.since, brief.until, brief.domains),
        ),
        thread.name,
        table.round_budget,
        table.artifact_dir.strip(),
        thread.source_strategy,
        thread.sources,
    )


def _explain_first_error(error: ValidationError) -> UserError:
    first = error.errors()[0]
    field = ".".join(str(part) for part in first["loc"][:2])
    if first["type"] == "extra_forbidden":
        return _make_field_error(field, "is unknown", "See the guide on threads for the fields that a file may have.")
    problem = "is missing" if first["type"] == "missing" else f"is wrong: {first['msg'][:1].lower()}{first['msg'][1:]}"
    return _make_field_error(field, problem, "Correct the field; the guide on threads shows each one.")


def select_phases(profile: Profile, strategy: Sequence[str]) -> Profile:
    """Return the profile with the phases of a thread's `source_strategy`, in its order; all of them without one.

    Raises:
        UserError: `thread_field`, naming a phase that the profile does not have.
    """
    known = {phase.name.upper(): phase for phase in profile.phases}
    unknown = [name for name in strategy if name.upper() not in known]
    if unknown:
        raise _make_field_error(
            "thread.source_strategy", f"names the phase {unknown[0]!r}", f"Known: {', '.join(known)}."
        )
    return replace(profile, phases=tuple(known[name.upper()] for name in dict.fromkeys(strategy)) or profile.phases)


def _make_field_error(field: str, problem: str, step: str) -> UserError:
    return UserError("thread_field", f"The thread file's {field} {problem}.", next_step=step)


async def propose_plan(plan: Plan, run: Session) -> None:
    """Emit and store the plan, before anybody authorizes it."""
    whole = get_type_adapter(Plan).dump_python(replace(plan, answer=""), mode="json")
    data = {"plan": whole, "depth": executor_depth(plan), "tier": plan.tier}
    if run.outside.estimate is not None:
        data["estimate"] = build_estimate(run.outside.estimate(plan))
    if run.outside.recipients:
        data["shared"] = run.outside.recipients
    run.emit(EventType.PLAN_PROPOSED, "root", data)
    await run.write_artifacts({"plan.json": whole})


async def authorize_plan(plan: Plan, run: Session) -> None:
    """Go on only with a plan that a policy or a person authorized (TREE-5). Raises `NeedsHuman`.

    The answer is read from the journal or asked of the person; nothing in a question, page or model output counts.
    """
    run.questions = _collect_questions(plan, run.brief)
    leaves = collect_leaves(plan.root)
    run.gathers_plans, run.leaves = plan.gathers_plans, len(leaves)
    run.named = frozenset(subject.name for leaf in leaves for subject in leaf.subjects)
    run.tasks = tuple(
        dict.fromkeys(describe_task(leaf.objective, leaf.output_format) for leaf in leaves if not leaf.discovery)
    )
    run.specified = tuple(leaf for leaf in leaves if leaf.specs)
    estimate = run.outside.estimate(plan) if run.outside.estimate else None
    asks = run.profile.authorize != "auto" or (estimate is not None and estimate.needs_yes)
    by = run.request.authorized or ("" if asks else "policy")
    if not by and run.journal.get("authorized") is None:
        await run.journal.flush()
        if not await run.outside.human.authorize(plan):
            raise LimitReached("authorization", value=0, limit=1, scope="plan")
    await run.record_first("authorized", by or "human")
    run.emit(EventType.PLAN_AUTHORIZED, "root", {"by": by or "human"})


def _collect_questions(plan: Plan, brief: Brief) -> tuple[SubQuestion, ...]:
    """All sub-questions of a plan, each once: a passage is read for all of them."""
    found: dict[str, SubQuestion] = {}
    for question in (*brief.sub_questions, *(q for leaf in collect_leaves(plan.root) for q in leaf.sub_questions)):
        found.setdefault(question.id, question)
    return tuple(found.values())


def keep_refinements(node: Node, refined: Mapping[str, Node]) -> Node:
    """Return a node with what the inner nodes below it made of their own tasks: a later iteration goes on from it."""

    def restore_node(child: Node) -> Node:
        own = refined.get(strip_iterations(child.path))
        if own is None:
            return replace(child, children=tuple(map(restore_node, child.children)))
        latest = {strip_iterations(each.path): each for each in own.children}
        pairs = ((each, latest.get(strip_iterations(each.path), each)) for each in child.children)
        children = tuple(restore_node(replace(new, path=old.path, children=old.children)) for old, new in pairs)
        return replace(child, children=children, output_format=own.output_format)

    return replace(node, children=tuple(map(restore_node, node.children)))


def refine_node(node: Node, change: Refinement, turn: int) -> Node:
    """Return a node for its next iteration: the same tree with what is new for its leaves, and new journal keys."""
    queries, sources = dict(change.queries), dict(change.sources)
    questions, specs = dict(change.questions), dict(change.specs)
    known = {question.text: question for leaf in collect_leaves(node) for question in leaf.sub_questions}

    def copy_node(child: Node, parent: str, name: str) -> Node:
        path = f"{parent}/{name}"
        new = enumerate(questions.get(child.path, ()), 1)
        asked = (known.get(text) or SubQuestion(f"sq-{path.partition('/')[2]}.{n}", text) for n, text in new)
        return replace(
            child,
            path=path,
            children=tuple(copy_node(each, path, each.path.rsplit("/", 1)[1]) for each in child.children),
            queries=queries.get(child.path, child.queries),
            sources=(*child.sources, *sources.get(child.path, ())),
            sub_questions=tuple({each.id: each for each in (*child.sub_questions, *asked)}.values()),
            specs=specs.get(child.path, child.specs),
        )

    def name_iteration(child: Node) -> str:
        return f"{child.path.rsplit('/', 1)[1].split('~')[0]}~{turn}"

    children = tuple(copy_node(child, node.path, name_iteration(child)) for child in node.children)
    return replace(node, children=children, output_format=change.synthesis or node.output_format)

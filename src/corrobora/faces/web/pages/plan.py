"""The plan gate: the plan of a run as a tree that a person edits by forms, and authorizes.

Knows the forms, and a plan as the JSON values that a run stores. A changed plan is checked and proposed anew by the run
itself, with a new estimate.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any, cast

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import TypeAdapter

from corrobora.app import Workspace
from corrobora.app.runs import resolve_profile
from corrobora.domain.errors import CorroboraError, UserError
from corrobora.domain.plan import Plan, collect_leaves, executor_depth
from corrobora.domain.run import RunRow, RunStatus
from corrobora.faces.web import service
from corrobora.faces.web.context import Form, Opened, SentForm, go_to, render_page
from corrobora.faces.web.pages.live import load_view
from corrobora.policies.feasibility import find_overlaps

Values = dict[str, Any]
_FIELDS = ("title", "objective", "questions")
_NEW = "New part"


def edit_plan(plan: Mapping[str, Any], fields: Mapping[str, str], action: str) -> Values:
    """Return the plan with the fields of a form, and after one action.

    Args:
        plan: the stored plan; it is not changed.
        fields: `title:PATH`, `objective:PATH` and `questions:PATH` (one question a line) of any nodes.
        action: "save", "add PATH", "remove PATH" or "merge PATH OTHER".

    Raises:
        UserError: `plan_edit`, for an action that the plan does not allow.
    """
    edited: Values = copy.deepcopy(dict(plan))
    root = cast("Values", edited["root"])
    for node in iter_nodes(root):
        _set_fields(node, fields)
    verb, *paths = action.split()
    nodes = {str(node["path"]): node for node in iter_nodes(root)}
    if unknown := [path for path in paths if path not in nodes]:
        raise _refuse(f"The plan has no part {unknown[0][:80]}.")
    match verb, paths:
        case "save", []:
            pass
        case "add", [path]:
            _add_child(nodes[path])
        case "remove", [path]:
            _remove_node(root, path)
        case "merge", [path, other]:
            _merge_nodes(nodes[path], nodes[other])
            _remove_node(root, other)
        case _:
            raise _refuse(f"There is no action {action[:80]!r}.")
    return edited


def iter_nodes(node: Values) -> Iterator[Values]:
    """Yield a node of a stored plan and all below it."""
    yield node
    for child in cast("list[Values]", node.get("children") or []):
        yield from iter_nodes(child)


def _refuse(problem: str) -> UserError:
    return UserError("plan_edit", problem, next_step="Open the plan again.")


def _set_fields(node: Values, fields: Mapping[str, str]) -> None:
    """Write the fields of a form into a node; searches that were planned for another task are dropped.

    An only question that repeats the title changes with it: whoever names a new part need not write its name twice.
    """
    given = {name: fields[f"{name}:{node['path']}"].strip() for name in _FIELDS if f"{name}:{node['path']}" in fields}
    changed = [name for name in ("title", "objective") if given.get(name, node[name]) != node[name]]
    if "title" in changed and given.get("questions") == node["title"]:
        given["questions"] = given["title"]
    for name in changed:
        node[name] = given[name]
    if "questions" in given:
        lines = [line for line in (" ".join(each.split()) for each in given["questions"].splitlines()) if line]
        known = {str(each["text"]): each for each in cast("list[Values]", node["sub_questions"])}
        if lines != list(known):
            changed.append("questions")
            node["sub_questions"] = [known.get(line, {"text": line}) for line in dict.fromkeys(lines)]
    if changed:
        node["queries"] = []


def _add_child(node: Values) -> None:
    """Add a child; a leaf that gets one keeps its task in a first child, because an inner node only gathers."""
    children = cast("list[Values]", node.setdefault("children", []))
    if not children:
        moved = ("title", "objective", "sub_questions", "specs", "queries", "subjects", "sources", "angle")
        children.append({name: copy.deepcopy(node[name]) for name in moved if name in node})
        node |= {name: [] for name in ("sub_questions", "specs", "queries", "subjects", "sources") if name in node}
        node["angle"] = ""
    # Without a question of its own it would be given all those of the run.
    children.append({"title": _NEW, "objective": "Find evidence for this part.", "sub_questions": [{"text": _NEW}]})


def _remove_node(root: Values, path: str) -> None:
    """Remove a node; an inner node whose last child goes is removed with it, and the root always stays."""
    for parent in iter_nodes(root):
        children = cast("list[Values]", parent.get("children") or [])
        kept = [child for child in children if child.get("path") != path]
        if len(kept) == len(children):
            continue
        if kept:
            parent["children"] = kept
        elif parent is root:
            raise _refuse("The last part of a plan cannot be removed.")
        else:
            _remove_node(root, str(parent["path"]))
        return
    raise _refuse("The whole plan cannot be removed; stop the run instead.")


def _merge_nodes(node: Values, other: Values) -> None:
    """Give a node the questions, tasks and sources of another that the plan loses."""
    for name in ("sub_questions", "specs", "subjects", "sources"):
        mine = cast("list[Any]", node.get(name) or [])
        node[name] = [*mine, *(each for each in cast("list[Any]", other.get(name) or []) if each not in mine)]
    node["objective"] = f"{node['objective']} {other['objective']}".strip()
    node["queries"] = []


router = APIRouter()
_PROPOSE_SECONDS = 20.0  # how long a form waits for the new proposal; after it, the page shows what there is


@router.get("/runs/{run}/plan")
async def show_plan(request: Request, run: str, workspace: Opened) -> HTMLResponse:
    """Show the plan of a run: as forms while it waits, else to read."""
    return await _render_plan(request, workspace, await service.read_run(workspace, run))


async def _render_plan(
    request: Request, workspace: Workspace, row: RunRow, error: CorroboraError | None = None
) -> HTMLResponse:
    stored = await service.read_plan(workspace, row.id)
    plan = TypeAdapter(Plan).validate_python(stored)
    profile = resolve_profile(workspace.settings, row.request)
    return render_page(
        request,
        "plan.html",
        status=200 if error is None else 422,
        row=row,
        view=await load_view(workspace, row.id),
        plan=plan,
        error=error,
        waits=row.status is RunStatus.AWAITING,
        phrase=profile.phrase,
        depth=executor_depth(plan),
        leaves=len(collect_leaves(plan.root)),
        profile=profile,
        overlaps=find_overlaps(plan.root),
    )


@router.post("/runs/{run}/plan")
async def change_plan(request: Request, run: str, workspace: Opened, form: SentForm) -> Response:
    """Take the changes of the form, which the run proposes anew, or start the research of a plan that is unchanged.

    Whoever changed the plan and authorizes it in one step sees the changed plan with its estimate first. The Enter key
    saves, or authorizes if words were typed.
    """
    row = await service.read_run(workspace, run)
    action = form.text("do") or "save"
    if action == "enter":
        action = "authorize" if form.text("words").strip() else "save"
    starts = action == "authorize"
    try:
        changed = await _change(workspace, row.id, form, "save" if starts else action)
        if starts and changed:
            raise UserError(
                "plan_edit",
                "Your changes are saved, and nothing was started.",
                next_step="Read the changed plan and its estimate, then authorize it.",
            )
        if starts:
            await service.authorize(workspace, row.id, form.text("words"))
    except CorroboraError as error:
        return await _render_plan(request, workspace, await service.read_run(workspace, run), error)
    return go_to(f"/runs/{row.id}" if starts else f"/runs/{row.id}/plan{await _find_place(workspace, row.id, action)}")


async def _find_place(workspace: Workspace, run: str, action: str) -> str:
    """Return where on the page a person goes on: at the title of the part that was added, else at the tree."""
    verb, _, path = action.partition(" ")
    nodes = iter_nodes(cast("Values", (await service.read_plan(workspace, run))["root"]))
    parent = next((each for each in nodes if verb == "add" and each["path"] == path), None)
    added = cast("list[Values]", (parent or {}).get("children") or [])
    return f"#t-{added[-1]['path']}" if added else "#tree"


async def _change(workspace: Workspace, run: str, form: Form, action: str) -> bool:
    stored = await service.read_plan(workspace, run)
    changed = edit_plan(stored, form.texts_after("node:"), action)
    if dict(stored) == dict(changed):
        return False
    await service.replace_plan(workspace, run, changed)
    await service.wait_for_run(workspace, run, seconds=_PROPOSE_SECONDS)
    return True

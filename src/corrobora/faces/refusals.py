"""What a refusal says in the words of its face: the next step of a reader of the page, of a program, of an assistant.

Knows the errors whose next step is a command, what takes its place where nobody types commands, and the fields of a
problem document (RFC 9457). Every other error keeps the next step that it was raised with.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, Field

from corrobora.domain.errors import CorroboraError


class _Steps(NamedTuple):
    page: str
    api: str
    tool: str  # of an assistant


_STEPS = {
    "run_unknown": _Steps("All runs lists what is stored.", "List them: GET /api/v1/runs", "Call runs."),
    "run_ambiguous": _Steps("All runs lists them.", "Write more of the id: GET /api/v1/runs", "Call runs."),
    "run_id": _Steps("All runs lists what is stored.", "List them: GET /api/v1/runs", "Call runs."),
    "run_active": _Steps("Stop it first.", "First: POST /api/v1/runs/RUN/cancel", "Call cancel first."),
    "not_waiting": _Steps(
        "Open the run: it says where it stands.",
        "Its state: GET /api/v1/runs/RUN; one that stopped goes on with POST /api/v1/runs/RUN/resume",
        "Call status; one that stopped goes on with resume.",
    ),
    "dialogue_unknown": _Steps("Begin one under Chat.", "Begin a new one.", "Begin a new one."),
    "sources_missing": _Steps(
        "Choose a library or a web search.", "Name some in `libraries` or `providers`.", "Name some in `libraries`."
    ),
    "question_empty": _Steps("Write a question.", "Write it in `question`.", "Write it in `question`."),
    "report_missing": _Steps(
        "Open the run: it says why.", "Its state: GET /api/v1/runs/RUN", "Call status: it says where the run stands."
    ),
    "source_unknown": _Steps(
        "The report lists its sources.",
        "List them: GET /api/v1/runs/RUN/sources",
        "Call report: it lists its passages.",
    ),
    "passage_unknown": _Steps(
        "The report lists its sources.",
        "Read the source: GET /api/v1/runs/RUN/sources/SOURCE",
        "Name the source alone.",
    ),
    "question_too_long": _Steps(*("Shorten it, or add the long text to a library.",) * 3),
    "read_not_found": _Steps(
        "Search the library again.", "Search the library again.", "Call search: it lists the ids."
    ),
    "report_json": _Steps(*("Export the report again.",) * 3),
    "edit_missing": _Steps(
        "Write what should change, or mark sections and sentences.",
        "Name `edits`, write `feedback`, or name a `version`.",
        "Name `edits`, pass on `feedback`, or name a `version`.",
    ),
    "edit_no_model": _Steps(
        "Mark sections and sentences, or configure a model on the server.",
        "Name `edits`, or configure a model on the server.",
        "Name `edits`; outline lists the ids.",
    ),
    "edit_nothing": _Steps(
        "Mark other sections or sentences.", "The ids: GET /api/v1/runs/RUN/outline", "Call outline: it lists the ids."
    ),
    "edit_version": _Steps("", "List them: GET /api/v1/runs/RUN/versions", "Name an earlier one."),
    "edit_not_waiting": _Steps(
        "Open the run: it says where it stands.", "Its state: GET /api/v1/runs/RUN", "Call status."
    ),
    "run_exists": _Steps("", *("Send another Idempotency-Key, or the same request as before.",) * 2),
    "price_unknown": _Steps(
        "State its price in the settings of the server.",
        "State its price in the settings of the server, or send `accept_unknown_price`.",
        "The operator states its price in the settings of the server.",
    ),
}
_COMMAND = re.compile(r" [^.:]*: corrobora \w.*", re.DOTALL)  # the last sentence of a reason
_TYPED = re.compile(r"\bcorrobora [a-z]|(?<!\w)--\w")  # a command or a flag: nobody types one at these faces
_WORDS = {"missing": "it is missing", "extra_forbidden": "there is no such field", "string_too_short": "it is empty"}
_SHOULD = re.compile(r"^\w+ should |(?: after validation)")
_NO_OBJECT = ("model_attributes_type", "dict_type", "json_invalid")


def choose_next_step(error: CorroboraError | Problem, face: Literal["page", "api", "tool"]) -> str:
    """Return what a person or program at this face can do next."""
    steps = _STEPS.get(error.code)
    if steps is not None:
        return getattr(steps, face)
    return "" if _TYPED.search(error.next_step) else error.next_step


def explain_error(error: CorroboraError, face: Literal["page", "api", "tool"]) -> str:
    """Return what happened and what can be done next at this face."""
    return f"{error.message} {choose_next_step(error, face)}".strip()


def drop_command(reason: str) -> str:
    """Return why a run waits, without the command that goes on with it: nobody types one at this face."""
    return _COMMAND.sub("", reason)


def describe_fault(faults: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """Return the field of the first of pydantic's faults, as body.time, and what is wrong with it."""
    first = faults[0]
    place, kind = tuple(first["loc"]), str(first["type"])
    if kind in _NO_OBJECT and place[:1] == ("body",) and (len(place) == 1 or kind == "json_invalid"):
        return "body", "it is not a JSON object, or was not sent as Content-Type: application/json"
    if kind in ("missing", "extra_forbidden") or (kind == "string_too_short" and not first["input"]):
        return ".".join(map(str, place)), _WORDS[kind]
    branches = [  # of a value that may have several forms, each with its form as the last part of its place
        each
        for each in faults
        if each["loc"][:-1] == place[:-1] and each["input"] is first["input"] and isinstance(each["loc"][-1], str)
    ]
    if len(branches) > 1:
        place = place[:-1]
    said = dict.fromkeys(_SHOULD.sub("", str(each["msg"])) for each in (branches or [first]))
    start = "it must " if _SHOULD.match(str(first["msg"])) else ""
    return ".".join(map(str, place)), (start + " or ".join(said)).replace(" or be ", " or ")


PROBLEM_TYPE = "application/problem+json"


class Problem(BaseModel):
    """What went wrong: what, where, which limit, and the next step."""

    type: str = Field(description="A name of the kind of problem that never changes: urn:corrobora:error:CODE.")
    title: str = Field(description="What happened, in one sentence.")
    status: int = Field(description="The HTTP status.")
    detail: str = Field(description="What happened, where, which limit, and what to do.")
    code: str = Field(description="The stable code, which programs may match; docs/reference/errors.md lists them.")
    next_step: str = Field(default="", description="What to do.")
    field: str = Field(default="", description="The field of the request that is wrong, as body.time.")
    limit: float | None = Field(default=None, description="The limit that was reached.")
    provider: str = Field(default="", description="The provider that failed.")


def make_problem(code: str, title: str, status: int, *, next_step: str = "", **more: Any) -> Problem:
    """Return a problem; its detail is title and next step."""
    detail = f"{title} {next_step}".strip()
    kind = f"urn:corrobora:error:{code}"
    return Problem(type=kind, title=title, status=status, detail=detail, code=code, next_step=next_step, **more)

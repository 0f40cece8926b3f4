"""What a refusal says in the words of its face: the next step of a reader of the page, of a program, of an assistant.

Knows the errors whose next step is a command, what takes its place where nobody types commands, and the fields of a
problem document (RFC 9457). Every other error keeps the next step that it was raised with.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, Field

from corrobora.domain.errors import CorroboraError
from corrobora.domain.limits import read_table

_COMMAND = re.compile(r" [^.:]*: corrobora \w.*", re.DOTALL)  # the last sentence of a reason
_TYPED = re.compile(r"\bcorrobora [a-z]|(?<!\w)--\w")  # a command or a flag: nobody types one at these faces
_WORDS = {"missing": "it is missing", "extra_forbidden": "there is no such field", "string_too_short": "it is empty"}
_SHOULD = re.compile(r"^\w+ should |(?: after validation)")
_NO_OBJECT = ("model_attributes_type", "dict_type", "json_invalid")


def choose_next_step(error: CorroboraError | Problem, face: Literal["page", "api", "tool"]) -> str:
    """Return what a person or program at this face can do next."""
    steps = read_table("next_steps.toml").get(error.code)
    if steps is not None:
        return steps[face]
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

"""Arguments of the command line: the question from an argument, a file or stdin, and the values of flags.

Knows how they are written. Does not know profiles' defaults or what a run does with the request.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from corrobora.config import read_small_file
from corrobora.config.settings import TIERS
from corrobora.domain.errors import UserError
from corrobora.domain.limits import LIMITS
from corrobora.domain.run import Stage
from corrobora.faces.question import Question, check_question

_MAX_INPUT_BYTES = 4 * LIMITS.question_max_chars + 4  # UTF-8 needs at most four bytes a character
_MAX_PLAN_BYTES = 1_000_000
STAGE_ALIASES = {  # other names of the stages
    "init": Stage.CLARIFY,
    "generation": Stage.INVESTIGATE,
    "verification": Stage.VERIFY,
    "delivery": Stage.DELIVER,
}
STAGES = tuple(stage.value for stage in Stage) + tuple(STAGE_ALIASES)


def read_question(argument: str | None, file: Path | None) -> Question:
    """Return the checked question: the argument, `@FILE`, `-` for stdin, or `--question-file`.

    A question that happens to be the path of a file stays a question. Raises `UserError`.
    """
    if argument is not None and file is not None:
        raise UserError(
            "question_twice", "A question and --question-file were both given.", next_step="Give one of them."
        )
    if file is not None:
        return check_question(_read_question_file(file))
    if argument is None:
        raise UserError(
            "question_missing",
            "No question was given.",
            next_step='Ask one: corrobora "QUESTION", @FILE, or - to read it from stdin.',
        )
    if argument == "-":
        return check_question(_read_stdin())
    if argument.startswith("@") and len(argument) > 1:
        return check_question(_read_question_file(Path(argument[1:])))
    return check_question(argument)


def _read_question_file(path: Path) -> str:
    return read_small_file(path, limit=_MAX_INPUT_BYTES, what="The question file")


def _read_stdin() -> str:
    """Read at most what a question may have, so that 5 MB of pasted text never enter memory."""
    stream: io.BufferedIOBase | None = getattr(sys.stdin, "buffer", None)
    data = stream.read(_MAX_INPUT_BYTES + 1) if stream is not None else b""
    if len(data) > _MAX_INPUT_BYTES:
        raise UserError(
            "question_too_long",
            f"The question on stdin has more than {_MAX_INPUT_BYTES:,} bytes; the limit is "
            f"{LIMITS.question_max_chars:,} characters.",
            next_step="Shorten it; documents go into a library: corrobora library add NAME PATH",
        )
    return data.decode("utf-8", "surrogateescape").removeprefix("\ufeff")


def read_plan(path: Path) -> str:
    """Return the text of a plan file after a check that it is JSON. Raises `UserError` with line and column."""
    text = read_small_file(path, limit=_MAX_PLAN_BYTES, what="The plan file")
    try:
        value: object = json.loads(text)
    except json.JSONDecodeError as error:
        message = f"{path}: line {error.lineno}, column {error.colno}: {error.msg}."
        raise UserError("plan_syntax", message, next_step="Correct the JSON.") from None
    except (RecursionError, ValueError):
        raise UserError("plan_syntax", f"{path}: a value is nested too deeply or out of range.") from None
    if not isinstance(value, dict):
        raise UserError("plan_syntax", f"{path}: line 1: a plan is a JSON object.", next_step="See: corrobora --help")
    return text


def find_stage(name: str) -> Stage:
    """Return the stage for our name or for an alias."""
    return STAGE_ALIASES[name] if name in STAGE_ALIASES else Stage(name)


def find_last_stage(name: str) -> Stage:
    """Return the last stage of what a name means: `init` ends with the plan, `generation` with the review."""
    return {"init": Stage.PLAN, "generation": Stage.REVIEW}.get(name) or find_stage(name)


def parse_deliveries(given: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Read `--deliver folder:DIR`, `email:ADDRESS` or `webhook`; the folder is stored by its absolute path.

    Raises `UserError` for a folder without a name: it would be whatever folder the command happens to run in.
    """
    found: list[tuple[str, str]] = []
    for text in given:
        kind, _, where = text.partition(":")
        if kind == "folder" and not where.strip():
            raise UserError(
                "delivery_target", f"--deliver {text!r} names no folder.", next_step="Write --deliver folder:DIR"
            )
        found.append((kind, str(Path(where).expanduser().absolute()) if kind == "folder" else where))
    return tuple(found)


def parse_models(given: Sequence[str]) -> dict[str, tuple[object, str]]:
    """Read `--model [TIER=]PROVIDER:MODEL` as settings; without a tier a model plays all roles. Raises `UserError`."""
    found: dict[str, str] = {}
    for text in given:
        tier, equals, model = text.partition("=")
        if not equals:
            found |= {each: found.get(each, text) for each in TIERS}
        elif tier in TIERS:
            found[tier] = model
        else:
            raise UserError(
                "model_tier", f"--model {text!r}: {tier!r} is no tier.", next_step=f"Tiers: {', '.join(TIERS)}."
            )
    return {f"models.{tier}": (model, "--model") for tier, model in found.items()}


def parse_fields(given: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Read `-s FIELD=VALUE`. Raises `UserError` if there is no `=`; the profile checks field and value."""
    pairs: list[tuple[str, str]] = []
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise UserError(
                "field_syntax",
                f"-s {text!r} is not FIELD=VALUE.",
                next_step="Such as: -s reads_per_round=8. Fields: corrobora profiles show NAME",
            )
        pairs.append((name.strip(), value.strip()))
    return tuple(pairs)

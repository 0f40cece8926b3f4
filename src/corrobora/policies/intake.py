"""Intake: whether a text may be asked, how long it is, the seven canonical angles, and plans that people hand in.

Knows characters, lengths, rough counts in any script, the number of sub-agents for each tier, and the fields of a
suggested plan and how few of them a person must write. Does not know meaning, does not judge feasibility and does not
choose angles: the lead agent does, within these rules (ANGLES-8).
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, cast

from corrobora.domain.errors import UserError
from corrobora.domain.limits import LIMITS, read_table
from corrobora.domain.plan import Criteria, Gate, Node, TaskSpec
from corrobora.text.tokens import STOP_WORDS, sanitize_text, split_words

_JOINERS = frozenset("\u200c\u200d")  # joiners are letters of some scripts and of emoji
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
_IDEOGRAPH = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_SMALL_TALK = frozenset(
    "ok okay yes yeah yep sure right fine good great perfect nice cool looks sounds seems agreed agree correct exactly "
    "thanks thank thx please go ahead start begin run proceed continue execute authorize authorise authorized "
    "authorised execution let lets hello hi hey bye goodbye morning evening now do it just well very much lot".split()
)


def check_question(text: str, *, least: int | None = None) -> str:
    """Return the question as it will be asked, or refuse it before anything is spent (bad-input Q01 to Q12).

    Removes surrounding white space, escape sequences, control and direction characters and invisible format characters
    (zero-width, soft hyphen, tag characters); joiners inside stay. Whatever the text says remains text: it authorizes
    nothing, cites nothing and opens no file (bad-input Q14, Q15, Q17, Q18).

    `least` is the number of letters and digits that it must have.

    Raises `UserError` with the code question_not_utf8, question_control_char, question_too_long, question_empty or
    question_too_short.
    """
    text = _decode_surrogates(text)
    if "\0" in text:
        raise UserError(
            "question_control_char",
            f"The question has a NUL character at position {text.index(chr(0)) + 1}.",
            next_step="Remove it.",
        )
    plain = sanitize_text("".join(c for c in text if not _is_invisible(c))).strip().strip("".join(_BIDI)).strip()
    if len(plain) > LIMITS.question_max_chars:
        raise UserError(
            "question_too_long",
            f"The question has {len(plain):,} characters; the limit is {LIMITS.question_max_chars:,}.",
            next_step="Shorten it, or add the long text to a library with `corrobora library add`.",
        )
    if not plain.strip("".join(_BIDI | _JOINERS) + " "):
        raise UserError("question_empty", "The question is empty.", next_step="Ask something, in quotes.")
    least = LIMITS.question_min_chars if least is None else least
    if sum(1 for c in plain if c.isalnum()) < least:
        raise UserError(
            "question_too_short",
            f"The question has {f'fewer than {least}' if least > 1 else 'no'} letters or digits.",
            next_step="Say what you want to know.",
        )
    return plain


def is_small_talk(text: str) -> bool:
    """True for words of a conversation that name nothing to look up: a greeting, thanks, agreement."""
    words = set(split_words(text))
    return "?" not in text and words <= STOP_WORDS | _SMALL_TALK and not words <= STOP_WORDS


def refuse_small_talk(text: str) -> str:
    """Return a turn of a conversation that may start a run, as it is. Raises `UserError` `question_small_talk`."""
    if is_small_talk(text):
        problem = f"“{' '.join(text.split())[:80]}” names nothing that could be looked up; no research was started."
        raise UserError("question_small_talk", problem, next_step="Ask a question.")
    return text


def count_hidden_characters(text: str) -> int:
    """Count the invisible characters that `check_question` removes, for the record (bad-input Q12)."""
    return sum(1 for c in text if _is_invisible(c))


def count_words(text: str) -> int:
    """Estimate the number of words in any script; two characters of a script without spaces count as about one word."""
    spaced = _WORD.findall(_UNSPACED.sub(" ", text))
    ideographs = len(_IDEOGRAPH.findall(text))
    letters = sum(1 for c in _UNSPACED.findall(text) if c.isalpha()) - ideographs
    return len(spaced) + (ideographs + 1) // 2 + (max(0, letters) + 3) // 4


def _is_invisible(char: str) -> bool:
    """True for invisible format characters other than joiners and direction marks."""
    return unicodedata.category(char) == "Cf" and char not in _JOINERS and char not in _BIDI


def _decode_surrogates(text: str) -> str:
    """Return a question with its bytes read that a terminal of another character set (LC_ALL=C) left as they are."""
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8")
    except UnicodeError:
        at = next(place for place, c in enumerate(text) if "\ud800" <= c <= "\udfff")
    offset = len(text[:at].encode("utf-8", "surrogatepass"))
    raise UserError(
        "question_not_utf8",
        f"The question is not valid UTF-8: byte {offset} (character {at + 1}).",
        next_step="Send it as UTF-8 text.",
    )


@dataclass(frozen=True, slots=True)
class Angle:
    """One angle: a slug usable in file names, a title, and what a search from this angle looks for.

    One of the canonical seven, or one invented for the question (`--angles dynamic`).
    """

    slug: str
    title: str
    guidance: str


CANONICAL_ANGLES = tuple(Angle(**each) for each in read_table("angles.toml")["angles"])

ANGLE_SLUGS: tuple[str, ...] = tuple(angle.slug for angle in CANONICAL_ANGLES)

TIERS = ("simple", "moderate", "complex")
_ANGLE_RANGES: dict[str, tuple[int, int]] = {"simple": (1, 1), "moderate": (2, 4), "complex": (5, 7)}


def angle_range(tier: str) -> tuple[int, int]:
    """Return the minimum and maximum number of sub-agents for a tier (ANGLES-5); 1 to 7 for an unknown tier."""
    return _ANGLE_RANGES.get(tier, (1, LIMITS.sub_agents_max))


_NODE_FIELDS = frozenset(field.name for field in fields(Node))
_SPEC_FIELDS = frozenset(field.name for field in fields(TaskSpec))
_GATE_FIELDS = frozenset(field.name for field in (*fields(Gate), *fields(Criteria)))
_DEEPEST = 64


def read_suggested(text: str, path: str = "root") -> Node:
    """Read a suggested plan: `{title, objective, queries, specs, children, ...}`, or the `plan.json` of a run.

    A title is enough for a node. Sub-questions and specs may be plain strings. What a spec says is kept as written;
    `verbatim` is what extractors get, and without it the spec's own fields.

    Raises:
        UserError: `plan_shape`; the message names the node and the field.
    """
    try:
        parsed: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _make_error("the plan", f"is not JSON ({error})") from None
    whole = _expect_object(parsed, "the plan")
    return _read_node(_expect_object(whole["root"], "root") if "root" in whole else whole, path, 0)


def _read_node(given: Mapping[str, object], path: str, depth: int) -> Node:
    if depth > _DEEPEST:
        raise _make_error(path, "is nested too deeply to be read")
    _check_names(given, _NODE_FIELDS, path)
    title = _read_text(given, "title", path) or _read_text(given, "objective", path)
    if not title:
        raise _make_error(path, "has neither title nor objective")
    children = [
        _read_node(_expect_object(each, f"{path}/{number}"), f"{path}/{number}", depth + 1)
        for number, each in enumerate(_read_list(given, "children", path), 1)
    ]
    plain = {name: value for name, value in given.items() if name != "children"}
    made = plain | {
        "path": path,
        "title": title,
        "objective": _read_text(given, "objective", path) or f"Find evidence for: {title}",
        "sub_questions": [_read_question(each) for each in _read_list(given, "sub_questions", path)],
        "subjects": [{"name": each} if isinstance(each, str) else each for each in _read_list(given, "subjects", path)],
        "specs": [_read_spec(each, path) for each in _read_list(given, "specs", path)],
        "gates": [_read_gate(each, path) for each in _read_list(given, "gates", path)],
    }
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415 - a plan that people hand in is rare

    try:
        node = TypeAdapter(Node).validate_python(made)
    except ValidationError as error:
        first = error.errors()[0]
        raise _make_error(path, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    return replace(node, children=tuple(children))


def _read_question(given: object) -> object:
    if isinstance(given, str):
        return {"id": "", "text": given}
    return {"id": "", **cast("Mapping[str, object]", given)} if isinstance(given, Mapping) else given


def _read_spec(given: object, path: str) -> object:
    """A spec as it goes to extractors: a text stands for itself, byte for byte."""
    if isinstance(given, str):
        return {"questions": [given], "verbatim": given}
    spec = _expect_object(given, f"{path}, a spec")
    _check_names(spec, _SPEC_FIELDS, f"{path}, a spec")
    return spec


def _read_gate(given: object, path: str) -> object:
    """A gate with its criteria beside its name or below `criteria`."""
    gate = _expect_object(given, f"{path}, a gate")
    _check_names(gate, _GATE_FIELDS, f"{path}, a gate")
    names = {field.name for field in fields(Criteria)}
    nested = gate.get("criteria")
    criteria = cast("dict[str, object]", nested) if isinstance(nested, dict) else {}
    flat = {name: value for name, value in gate.items() if name in names}
    own = {name: value for name, value in gate.items() if name not in names and name != "criteria"}
    return {**own, "criteria": {**criteria, **flat}}


def _expect_object(value: object, what: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise _make_error(what, "must be an object")
    return cast("Mapping[str, object]", value)


def _read_list(given: Mapping[str, object], name: str, path: str) -> list[object]:
    value: Any = given.get(name) or []
    if not isinstance(value, list):
        raise _make_error(path, f"{name} must be a list")
    return cast("list[object]", value)


def _read_text(given: Mapping[str, object], name: str, path: str) -> str:
    value = given.get(name) or ""
    if not isinstance(value, str):
        raise _make_error(path, f"{name} must be a text")
    return " ".join(value.split())


def _check_names(given: Mapping[str, object], names: frozenset[str], what: str) -> None:
    strange = sorted(set(given) - names)
    if strange:
        raise _make_error(what, f"has the unknown field {strange[0]!r}; known: {', '.join(sorted(names))}")


def _make_error(what: str, why: str) -> UserError:
    return UserError("plan_shape", f"The suggested plan cannot be used: {what} {why}.", next_step="Correct the plan.")

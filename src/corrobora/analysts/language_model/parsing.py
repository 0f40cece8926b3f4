"""Parsing: from the text of an answer to a filled-in form, or a typed refusal.

Knows fences, thinking blocks, prose with braces, bare Markdown, repeated keys, depth, numbers that are none, and one
small repair. Every scan is linear in the text; the standard parser alone would take the last of two equal keys and
accept NaN.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any, NoReturn, TypeAlias, cast

from pydantic import TypeAdapter, ValidationError

from corrobora.domain.errors import RoleError
from corrobora.domain.limits import LIMITS
from corrobora.roles.forms import CHOICES

_Place: TypeAlias = "tuple[Any, ...]"  # names of members and numbers of items

_THINK, _THOUGHT = "<think>", "</think>"
_MARKDOWN_FENCE = re.compile(
    r"(?:\A|^(?=```[a-z]{0,20}\n\s*#[ \t]))```[a-z]{0,20}\n(.*?)\n?```\Z", re.DOTALL | re.MULTILINE
)
_TITLE = re.compile(r"^#[ \t]+(\S.{0,400})$", re.MULTILINE)
_MARKER = re.compile(r"\[S\d{1,9}:C\d{1,9}")
_NUMBER = re.compile(r"(-?(?:0|[1-9]\d{0,15}))(?:(?:\.|,(?!\d{3}$))(\d{1,20}))? ?(%?)")
_TRUTHS = {"true": True, "yes": True, "false": False, "no": False}
_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")  # a character that no text of a database may hold


def extract_object(text: str, *, role: str) -> str:
    """Return the JSON object in `text`, as strict JSON text.

    Accepts fences, words around the object (where they hold braces, too, the longest balanced part counts), raw line
    ends in texts and a thinking block; repairs comments and trailing commas in texts of at most
    `LIMITS.repair_max_chars`.

    Raises:
        RoleError: `empty_output`, `output_too_large`, `json_too_deep` or `json_invalid`.
    """
    if len(text) > LIMITS.model_output_max_chars:
        size, most = f"{len(text):,}", f"{LIMITS.model_output_max_chars:,}"
        raise RoleError("output_too_large", f"The answer for {role} has {size} characters; the limit is {most}.")
    body = _read_text(drop_thinking(text).strip())
    if not body:
        raise RoleError("empty_output", f"The answer for {role} is empty.")
    start = body.find("{")
    end = body.rfind("}")
    if start < 0:
        raise RoleError("json_invalid", f"The answer for {role} holds no JSON object: it starts with {body[:60]!r}.")
    inner = body[start : end + 1] if end > start else body[start:]
    try:
        return _parse_or_repair(inner, role)
    except RoleError as error:
        longest = _find_longest_object(inner)
        if error.code != "json_invalid" or longest in ("", inner):
            raise
        return _parse_or_repair(longest, role)


def is_whole_object(text: str) -> bool:
    """True for one JSON object, alone or in a fence: such an answer is whole, however its server says that it ended."""
    body = drop_thinking(text).strip()
    body = body.partition("\n")[2].removesuffix("```") if body.startswith("```") else body
    try:
        return isinstance(json.loads(body, strict=False), dict)
    except (ValueError, RecursionError):
        return False


def read_markdown(text: str, *, title: str, role: str) -> str:
    """Return a text that was written bare or fenced, not as JSON, as the form of a draft: `title` and `body`.

    The title is its first heading, else `title`; what stands before that heading and cites nothing is dropped. Raises
    `RoleError` (`json_invalid`) if it has neither a heading nor a citation marker, or is broken JSON: a refusal is no
    report.
    """
    body = drop_thinking(text).strip()
    fenced = _MARKDOWN_FENCE.search(body)
    body = fenced.group(1).strip() if fenced else body
    heading = _TITLE.search(body)
    if '"body"' in body or body.startswith("{") or not (heading or _MARKER.search(body)):
        raise RoleError("json_invalid", f"The answer for {role} is neither JSON nor a text with headings and markers.")
    if heading and not _MARKER.search(body[: heading.start()]):  # words of the model to itself
        body = body[heading.start() :]
    return _parse_strictly(json.dumps({"title": heading.group(1) if heading else title, "body": body}), role)


def unwrap_object(text: str, fields: Container[str]) -> str:
    """Return the object inside wrappers without any field, such as `{"role": "extract", "answer": {...}}`."""
    value = json.loads(text)
    while (
        not any(name in fields for name in value)
        and len(inner := [x for x in map(_read_object, value.values()) if x]) == 1
    ):
        value = inner[0]
    return json.dumps(value, ensure_ascii=False)


def _read_text(body: str) -> str:
    """Return the text that a JSON text holds: some models write their whole answer as one."""
    try:
        said = json.loads(body, strict=False) if body[:1] == body[-1:] == '"' else body
    except ValueError:
        return body
    return said.strip() if isinstance(said, str) else body


def _read_object(value: Any) -> dict[str, Any] | None:
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value, strict=False)
        except ValueError:
            return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def fill_form(adapter: TypeAdapter[Any], text: str, schema: Mapping[str, Any], *, last: bool = False) -> Any:
    """Fill in a role's form, strictly. A field left `null` counts as left out.

    A number or a truth in quotes is read as one, and one item where a list is asked for as a list.
    A text that is left out is empty, and what an answer can do without is dropped where it does not fit: whatever has
    a default, and of an answer that is the `last` one items of any list. Forms that forbid further fields, because all
    of them take effect, are refused as a whole.

    `text` is what `extract_object` returned, `schema` the form's. Raises `ValidationError`.
    """
    try:
        return adapter.validate_json(text, strict=True)
    except ValidationError as error:
        refused = error
    if (cleaned := drop_nulls(text) or text) != text:
        try:
            return adapter.validate_json(cleaned, strict=True)
        except ValidationError as error:
            refused = error
    places = [tuple(each["loc"]) for each in refused.errors(include_url=False, include_context=False)]
    if (adapted := _adapt_values(cleaned, places, schema)) is not None:
        return fill_form(adapter, adapted, schema, last=last)
    mended = None if schema.get("additionalProperties") is False else _mend_form(cleaned, places, schema, last=last)
    if mended is None:
        raise refused
    return adapter.validate_json(mended, strict=True)


def _adapt_values(text: str, places: Iterable[_Place], schema: Mapping[str, Any]) -> str | None:
    """Return JSON text whose values at these places are of the kind that the form asks for; None if none can be."""
    value, found = json.loads(text), False
    for place in places:
        holder, wanted = _find_value(value, place[:-1]), _find_schema(schema, place)
        for read in _read_as(_find_said(holder, place[-1]), wanted):
            holder[place[-1]], found = read, True
    return json.dumps(value, ensure_ascii=False) if found else None


def _read_as(said: Any, wanted: Mapping[str, Any]) -> Iterator[Any]:
    """Read a value as one of the kind that is asked for, if it can be."""
    kinds = {each.get("type") for each in (wanted, *wanted.get("anyOf", ()))}
    number = _NUMBER.fullmatch(said.strip()) if isinstance(said, str) else None
    if number is not None and ("number" in kinds or "integer" in kinds):
        whole, rest, percent = number.groups()
        yield float(f"{whole}.{rest or 0}") / 100 if percent else json.loads(f"{whole}.{rest}" if rest else whole)
    elif "boolean" in kinds and isinstance(said, str) and said.casefold() in _TRUTHS:
        yield _TRUTHS[said.casefold()]
    elif "array" in kinds and isinstance(said, str | dict):
        yield [said] if said else []
    elif "object" in kinds and isinstance(said, str) and len(needed := wanted.get("required", ())) == 1:
        yield {needed[0]: said}  # a query, a gap or a question in words alone


def _mend_form(text: str, places: Iterable[_Place], schema: Mapping[str, Any], *, last: bool) -> str | None:
    """Return JSON text without what stands at these places; None if the form cannot do without it."""
    value, dropped, demanded = json.loads(text), set[_Place](), schema.get("required", ())
    before = {name: bool(value.get(name)) for name in demanded}
    for place in places:
        holder = _find_value(value, place[:-1])
        if isinstance(holder, dict) and place[-1] not in holder and _is_plain_text(_find_schema(schema, place)):
            holder[place[-1]] = ""
        elif found := _find_spare(place, schema, last=last):
            dropped.add(found)
        else:
            return None
    for place in sorted(dropped, reverse=True):  # later items of a list first
        del _find_value(value, place[:-1])[place[-1]]
    emptied = any(was and isinstance(value[name], list) and not value[name] for name, was in before.items())
    return None if emptied else json.dumps(value, ensure_ascii=False)


def _find_spare(place: _Place, schema: Mapping[str, Any], *, last: bool) -> _Place:
    """Return the innermost part around a place that a form can do without; () if there is none.

    Of a list that is demanded no item can be missed as long as the answer can be asked for again.
    """
    for size in range(len(place), 0, -1):
        holder = _find_schema(schema, place[: size - 1])
        if isinstance(place[size - 1], int):
            spare = last or place[0] not in schema.get("required", ())
        else:
            spare = place[size - 1] in holder.get("properties", {}) and place[size - 1] not in holder.get(
                "required", ()
            )
        if spare:
            return place[:size]
    return ()


def _find_schema(schema: Mapping[str, Any], place: _Place) -> Mapping[str, Any]:
    found: Any = schema
    for key in (None, *place):
        if key is not None:
            found = found.get("items", {}) if isinstance(key, int) else found.get("properties", {}).get(key, {})
        if "$ref" in found:
            found = schema["$defs"][found["$ref"].rpartition("/")[2]]
    return found


def _find_value(value: Any, place: _Place) -> Any:
    for key in place:
        value = value[key]
    return value


def _find_said(holder: Any, key: Any) -> Any:
    try:
        return holder[key]
    except KeyError:  # it is left out
        return None


def _is_plain_text(schema: Mapping[str, Any]) -> bool:
    """True if a form asks for any text here, also for none."""
    return schema.get("type") == "string" and schema.keys().isdisjoint(("enum", "minLength", CHOICES))


def drop_nulls(text: str) -> str | None:
    """Return JSON text without the members and items that are `null`; None if it has none."""
    if "null" not in text:
        return None
    found: list[bool] = []

    def drop_items(value: Any) -> Any:
        found.append(value is None or (isinstance(value, list) and None in value))
        return [each for each in cast("list[Any]", value) if each is not None] if isinstance(value, list) else value

    def drop(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = {key: drop_items(value) for key, value in pairs}
        return {key: value for key, value in made.items() if value is not None}

    value = json.loads(text, object_pairs_hook=drop)
    return json.dumps(value, ensure_ascii=False) if any(found) else None


def drop_thinking(text: str) -> str:
    """Return an answer without the thoughts at its beginning; "" if it holds nothing else."""
    begin = text.find(_THINK)
    if begin < 0 or text[:begin].strip():
        return text
    end = text.find(_THOUGHT, begin)
    return text[end + len(_THOUGHT) :] if end >= 0 else ""


def _parse_or_repair(text: str, role: str) -> str:
    try:
        return _parse_strictly(text, role)
    except RoleError as error:
        if error.code != "json_invalid" or len(text) > LIMITS.repair_max_chars:
            raise
        repaired = _repair(text)
        if repaired == text:
            raise
        return _parse_strictly(repaired, role)


def _find_longest_object(text: str) -> str:
    """Return the longest part from a brace to the brace that closes it; "" if none closes."""
    longest, start, depth, at = "", 0, 0, text.find("{")
    while 0 <= at < len(text):
        if text[at] == '"' and depth:
            at = _find_string_end(text, at)
            continue
        if text[at] == "{":
            start = start if depth else at
            depth += 1
        elif text[at] == "}" and depth:
            depth -= 1
            longest = text[start : at + 1] if not depth and at + 1 - start > len(longest) else longest
        at += 1
    return longest


def _parse_strictly(text: str, role: str) -> str:
    try:
        value = json.loads(
            text,
            strict=False,  # raw line ends in texts
            object_pairs_hook=_refuse_repeated_keys,
            parse_constant=_refuse_constant,
            parse_float=_parse_number,
        )
    except RecursionError:
        raise _make_depth_error(role) from None
    except ValueError as error:
        raise RoleError("json_invalid", f"The answer for {role} is not valid JSON: {error}.") from None
    if not isinstance(value, dict):
        raise RoleError("json_invalid", f"The answer for {role} is not a JSON object.")
    if not _is_shallow(value):
        raise _make_depth_error(role)
    return _NUL.sub(r"\1", _join_surrogates(json.dumps(value, ensure_ascii=False)))


def _join_surrogates(text: str) -> str:
    """Return a text that can be stored: two halves of a character are one, a half alone becomes a sign for it."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _make_depth_error(role: str) -> RoleError:
    return RoleError("json_too_deep", f"The answer for {role} nests deeper than {LIMITS.json_max_depth} levels.")


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for at, key in enumerate(keys) if key in keys[:at])
        message = f"the key {twice[:60]!r} occurs twice in one object"
        raise ValueError(message)
    return found


def _refuse_constant(name: str) -> NoReturn:
    message = f"{name} is not a number"
    raise ValueError(message)


def _parse_number(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        message = f"{text[:20]} is too large"
        raise ValueError(message)
    return value


def _is_shallow(value: Any) -> bool:
    """Measure the depth level by level, so that no depth exhausts the stack."""
    level: list[Any] = [value]
    for _ in range(LIMITS.json_max_depth + 1):
        below: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                below.extend(each.values())  # pyright: ignore[reportUnknownArgumentType] - JSON
            elif isinstance(each, list):
                below.extend(each)  # pyright: ignore[reportUnknownArgumentType] - JSON
        if not below:
            return True
        level = below
    return False


def _repair(text: str) -> str:
    """Drop `//` and `/* */` comments and commas before a closing bracket, outside strings. One pass, no guessing."""
    pieces: list[str] = []
    comma = -1
    at = 0
    while at < len(text):
        letter = text[at]
        if letter == '"':
            end = _find_string_end(text, at)
            pieces.append(text[at:end])
            at, comma = end, -1
            continue
        if letter == "/" and text[at + 1 : at + 2] in ("/", "*"):
            close = text.find("\n" if text[at + 1] == "/" else "*/", at + 2)
            at = len(text) if close < 0 else close + (0 if text[at + 1] == "/" else 2)
            continue
        if letter in "}]" and comma >= 0:
            pieces[comma] = ""
        if not letter.isspace():
            comma = len(pieces) if letter == "," else -1
        pieces.append(letter)
        at += 1
    return "".join(pieces)


def _find_string_end(text: str, at: int) -> int:
    at += 1
    while at < len(text) and text[at] != '"':
        at += 2 if text[at] == "\\" else 1
    return min(at + 1, len(text))

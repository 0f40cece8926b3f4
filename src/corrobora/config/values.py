"""Values: the types of settings, how pydantic reads a declared field or says which forms it accepts, and secrets.

Knows texts, numbers with ranges, words, lists, and references to environment variables and files; a secret is never
shown. A small file that people write is opened without waiting, of a limited size, decoded as UTF-8. Does not know
which fields or keys exist, where a value was written, or who uses it.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from annotated_types import DocInfo, Ge, Gt, Le, MaxLen, Predicate

from corrobora.domain.errors import UserError
from corrobora.domain.limits import LIMITS, MAX_MINUTES, UNLIMITED, NoneWord, OneOf

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_MAX_SECRET_BYTES = 64_000
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}\Z")
UNREADABLE = {  # why a path cannot be read, by the number of the error
    errno.ENOENT: "does not exist",
    errno.ENOTDIR: "does not exist: a part of its path is not a folder",
    errno.EACCES: "may not be read by this user",
    errno.EPERM: "may not be read by this user",
    errno.ELOOP: "is a loop of symbolic links",
    errno.ENAMETOOLONG: "has too long a name",
    errno.ENXIO: "is a device or socket, not a regular file",
}


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value was written: the layer, and the flag, variable or file with its line."""

    layer: str  # flag | environment | vendor environment | project file | user file | default
    where: str = ""

    def __str__(self) -> str:
        return f"{self.layer} ({self.where})" if self.where else self.layer


@dataclass(frozen=True, slots=True)
class Secret:
    """One secret. `repr` and `str` never show the value; `reveal` is the only way to it."""

    reference: str  # "env:NAME" or "file:PATH", or "literal"
    problem: str = ""  # why there is no usable value; "" if there is one
    notes: tuple[str, ...] = ()  # what was repaired or should be changed, for people
    _value: str = field(default="", repr=False)

    @property
    def set(self) -> bool:
        """True if the reference leads to a usable value."""
        return not self.problem

    def reveal(self) -> str:
        """Return the value. Raises `UserError` `secret_missing` that names the reference, never the value."""
        if self.problem:
            raise UserError("secret_missing", f"{self.problem}.", next_step="Set it, or remove the reference to it.")
        return self._value

    def __str__(self) -> str:
        return f"{self.reference} ({'set' if self.set else 'not set'})"


def parse_reference(value: object) -> tuple[str, str] | None:
    """Read `env:NAME`, `file:PATH`, `{env = NAME}` or `{file = PATH}`; None for anything else."""
    if isinstance(value, dict):
        items = list(cast("dict[str, object]", value).items())
        if len(items) == 1 and items[0][0] in ("env", "file") and isinstance(items[0][1], str):
            return items[0][0], items[0][1]
        return None
    kind, _, target = value.partition(":") if isinstance(value, str) else ("", "", "")
    return (kind, target) if kind in ("env", "file") and target else None


def read_environment(name: str, env: Mapping[str, str]) -> Secret:
    """Return the secret in the environment variable `name`; a trailing line end is dropped and noted."""
    reference = f"env:{name}"
    if not _NAME.match(name):
        return Secret("env:?", problem="The reference to an environment variable does not hold a valid name")
    if name not in env:
        return Secret(reference, problem=f"The environment variable {name} is not set")
    return _check_secret(reference, env[name], f"The environment variable {name}")


def read_secret_file(path: Path) -> Secret:
    """Return the secret in a small file; one that other users may read is noted."""
    reference = f"file:{path}"
    try:
        text = read_small_file(path, limit=_MAX_SECRET_BYTES)
    except UserError as error:
        return Secret(reference, problem=error.message.rstrip("."))
    secret = _check_secret(reference, text, f"The file {path}")
    if os.name == "posix" and path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
        note = f"{path} holds a secret and can be read by other users; run: chmod 600 {path}"
        return replace(secret, notes=(*secret.notes, note))
    return secret


def read_literal(value: str) -> Secret:
    """Return a secret that is written as text in a setting."""
    return _check_secret("literal", value, "The value")


def _check_secret(reference: str, raw: str, what: str) -> Secret:
    value = raw.rstrip("\r\n")
    notes = (f"{what} ends with a line end, which was dropped",) if value != raw else ()
    if not value.strip():
        return Secret(reference, problem=f"{what} is empty")
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return Secret(reference, problem=f"{what} has quotation marks around its value")
    if any(ord(letter) < 32 or ord(letter) == 127 for letter in value):  # noqa: PLR2004 - ASCII control characters
        return Secret(reference, problem=f"{what} holds control characters")
    return Secret(reference, notes=notes, _value=value)


def read_small_bytes(path: Path, *, limit: int, what: str = "The file") -> bytes:
    """Return the content of a regular file of at most `limit` bytes.

    Never blocks: a FIFO, socket or device is refused, not waited for.
    Raises `UserError` `file_unreadable`, `file_not_regular` or `file_too_large`.
    """
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except (OSError, ValueError) as error:  # ValueError: a NUL inside the path
        why = UNREADABLE.get(getattr(error, "errno", 0) or 0, "cannot be opened")
        raise UserError("file_unreadable", f"{what} {str(path)!r} {why}.", next_step="Check the path.") from None
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            kind = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file (pipe, socket or device)"
            raise UserError("file_not_regular", f"{what} {str(path)!r} is {kind}.", next_step="Name a text file.")
        data = b"" if status.st_size > limit else _read_bytes(handle, limit + 1, path, what)
    finally:
        os.close(handle)
    size = max(status.st_size, len(data))
    if size > limit:
        raise UserError("file_too_large", f"{what} {str(path)!r} has {size:,} bytes; the limit is {limit:,}.")
    return data


def read_small_file(path: Path, *, limit: int, what: str = "The file") -> str:
    """Return the text of a regular file of at most `limit` bytes, read as `read_small_bytes` does.

    Raises `UserError`, also `file_not_utf8`.
    """
    data = read_small_bytes(path, limit=limit, what=what)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        message = f"{what} {str(path)!r} is not UTF-8 at line {line}, column {column} (byte {error.start})."
        raise UserError("file_not_utf8", message, next_step="Save it as UTF-8.") from None


def _read_bytes(handle: int, limit: int, path: Path, what: str) -> bytes:
    parts: list[bytes] = []
    left = limit
    try:
        while left > 0 and (part := os.read(handle, min(left, 1 << 20))):
            parts.append(part)
            left -= len(part)
    except OSError as error:
        why = os.strerror(error.errno or 0).lower()
        raise UserError("file_unreadable", f"{what} {str(path)!r} cannot be read: {why}.") from None
    return b"".join(parts)


Mark = TypeVar("Mark")
MAX_ITEMS = 64  # of a list in a profile
MINUTES_FORMS = f"minutes as a number above 0 and at most {MAX_MINUTES:,.0f} (5, or 0.5), or {UNLIMITED}"
_TIME_FORMS = f"a time above 0 and at most {MAX_MINUTES:,.0f} minutes (5, 0.5, 90s, 5m or 2h), or {UNLIMITED}"
_DURATION = re.compile(r"([0-9]*\.?[0-9]+) ?(s|m|min|h)", re.IGNORECASE)
_UNIT_MINUTES = {"s": 1 / 60, "m": 1.0, "min": 1.0, "h": 60.0}
_MODEL = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}:\S{1,200}\Z", re.IGNORECASE)
_URL = re.compile(r"https?://[^\s/?#]+\S*\Z")
_MAIL_SERVER = re.compile(r"(?:smtps?://)?[\w.\[\]:-]+/?\Z")


@dataclass(frozen=True, slots=True)
class Convert:
    """What becomes of a written value before pydantic checks its type."""

    change: Callable[[object], object]

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        """Tell pydantic; it is imported only where a value is checked."""
        from pydantic_core import core_schema  # noqa: PLC0415 - help and version need no checks

        return core_schema.no_info_before_validator_function(self.change, handler(source))


@dataclass(frozen=True, slots=True)
class Forms:
    """What a person may write for a type, where its range and words do not say it."""

    text: str


def find_fields(kind: type) -> Mapping[str, Any]:
    """Return the declared fields of a value type with their annotations, marks included."""
    return get_type_hints(kind, include_extras=True)


def split_annotation(annotation: Any) -> tuple[Any, tuple[object, ...]]:
    """Return the plain type of an annotation, without None, and all marks beside it."""
    if get_origin(annotation) is Annotated:
        inner, *marks = get_args(annotation)
        plain, more = split_annotation(inner)
        return plain, (*more, *marks)
    if get_origin(annotation) in (Union, UnionType):
        kinds = [kind for kind in get_args(annotation) if kind is not NoneType]
        if len(kinds) == 1:
            return split_annotation(kinds[0])
    return annotation, ()


def find_mark(annotation: Any, kind: type[Mark]) -> Mark | None:
    """Return the first mark of a kind, None without one."""
    return next((mark for mark in split_annotation(annotation)[1] if isinstance(mark, kind)), None)


def find_doc(annotation: Any) -> str:
    """Return what a field means, in words."""
    mark = find_mark(annotation, DocInfo)
    return mark.documentation if mark else ""


@cache
def _find_adapter(annotation: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter  # noqa: PLC0415 - help and version need no checks

    return TypeAdapter(annotation)


def parse_value(annotation: Any, value: object, *, typed: bool = False) -> Any:
    """Read what a flag, a variable or a `typed` file says, where no text is true or false. Raises `ValueError`."""
    is_switch = split_annotation(annotation)[0] is bool
    if (typed and isinstance(value, str) and is_switch) or (isinstance(value, bool) and not is_switch):
        raise ValueError  # to pydantic, true is also the number 1
    return _find_adapter(annotation).validate_python(value.strip() if isinstance(value, str) else value)


def read_value(annotation: Any, value: object) -> Any:
    """Read a value of a profile, whose type must be exact. Raises `ValueError`."""
    word = find_mark(annotation, NoneWord)
    if word is not None and value == word.word:
        return None
    given = tuple(cast("list[object]", value)) if isinstance(value, list) else value
    found: Any = _find_adapter(annotation).validate_python(given, strict=True)
    items = cast("tuple[object, ...]", found) if isinstance(given, tuple) else ()
    if len(set(items)) < len(items) or len(items) > MAX_ITEMS:
        raise ValueError
    return found


def list_words(annotation: Any) -> tuple[str, ...]:
    """Return the closed set of words of a type or of its items; () if there is none."""
    plain, marks = split_annotation(annotation)
    if get_origin(plain) is tuple:
        return list_words(get_args(plain)[0])
    mark = next((mark for mark in marks if isinstance(mark, OneOf)), None)
    if mark is not None:
        return mark.words
    return tuple(str(word) for word in get_args(plain)) if get_origin(plain) is Literal else ()


def describe_forms(annotation: Any) -> str:
    """Say what a type accepts: in an error message, and in the reference."""
    plain, marks = split_annotation(annotation)
    forms = next((mark.text for mark in marks if isinstance(mark, Forms)), "")
    words = ", ".join(list_words(annotation))
    if any(isinstance(mark, NoneWord) for mark in marks):
        return MINUTES_FORMS
    if forms or plain is bool:
        return forms or "true or false"
    if plain in (int, float):
        return f"a {'whole ' if plain is int else ''}number {_describe_range(marks)}"
    if get_origin(plain) is tuple:
        return f"a list of {words or 'texts'}, each once"
    longest = next((f" of at most {mark.max_length:,} characters" for mark in marks if isinstance(mark, MaxLen)), "")
    return f"one of {words}" if words else f"a text{longest}"


def _describe_range(marks: tuple[object, ...]) -> str:
    low = next((f"{mark.ge:,}" for mark in marks if isinstance(mark, Ge)), None)
    above = next((f"{mark.gt:,}" for mark in marks if isinstance(mark, Gt)), None)
    high = next((f"{mark.le:,}" for mark in marks if isinstance(mark, Le)), "any size")
    return f"from {low} to {high}" if low is not None else f"above {above}, at most {high}"


def _is_line(text: str) -> bool:
    return text != "" and text.isprintable()


def _is_model(text: str) -> bool:
    return _MODEL.match(text) is not None


def _is_mail_server(text: str) -> bool:
    return _MAIL_SERVER.match(text) is not None


def _is_url(text: str) -> bool:
    return bool(_URL.match(text)) and len(text) <= LIMITS.url_max_chars


def _is_amount(value: float) -> bool:
    return value == 0 or value >= 0.001  # noqa: PLR2004 - a tenth of a cent


def _split_names(value: object) -> object:
    """Read a list of names; the environment writes it with commas."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return (
        [item.strip() if isinstance(item, str) else item for item in cast("list[object]", value)]
        if isinstance(value, list)
        else value
    )


def _read_minutes(value: object) -> object:
    """Read a duration with a unit as minutes; anything else in lower case, as it is."""
    found = _DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
    return _lower_case(value) if found is None else float(found[1]) * _UNIT_MINUTES[found[2].lower()]


def _lower_case(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


def _strip_slash(value: object) -> object:
    return value.rstrip("/") if isinstance(value, str) else value


def _expand_path(value: object) -> object:
    if not isinstance(value, str) or not _is_line(value):
        raise ValueError
    return Path(value).expanduser()


Lower = Convert(_lower_case)
Line = Annotated[str, Predicate(_is_line), Forms("one line of text")]
FolderPath = Annotated[Path, Convert(_expand_path), Forms("the path of a folder")]
Names = Annotated[tuple[Line, ...], Convert(_split_names), MaxLen(1_000), Forms("a list of texts, none empty")]
Model = Annotated[
    str, Predicate(_is_model), Forms("provider:model, such as anthropic:MODEL, openai:MODEL or ENDPOINT:MODEL")
]
Url = Annotated[
    str, Convert(_strip_slash), Predicate(_is_url), Forms("an address that starts with http:// or https://")
]
MailServer = Annotated[
    str,
    Convert(_strip_slash),
    Predicate(_is_mail_server),
    Forms("a mail server such as mail.example.org:587 (STARTTLS), smtps://HOST or smtp://127.0.0.1:25"),
]
Dollars = Annotated[
    float,
    Ge(0),
    Le(100_000),
    Predicate(_is_amount),
    Forms("a number from 0.001 (less pays for no call) to 100,000, or 0"),
]
RunMinutes = Annotated[
    Annotated[float, Gt(0), Le(MAX_MINUTES)] | Literal["unlimited"], Convert(_read_minutes), Forms(_TIME_FORMS)
]
AngleCount = Annotated[
    Annotated[int, Ge(1), Le(7)] | Literal["dynamic"], Lower, Forms("a whole number from 1 to 7, or dynamic")
]


def iterate_marks(kind: type, mark: type[Mark]) -> Iterator[tuple[str, Any, Mark]]:
    """Yield name, annotation and mark of each field of a type that has such a mark."""
    for name, annotation in find_fields(kind).items():
        found = find_mark(annotation, mark)
        if found is not None:
            yield name, annotation, found

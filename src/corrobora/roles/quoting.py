"""Quoting: how text that nobody vouches for enters a prompt, and how a model's quote finds its way back to the source.

Knows invisible characters, our own markers and delimiters that a text cannot contain. Does not know roles or models.
A delimiter is a mitigation, not a proof: what a role may cause is decided by code, whatever it read.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from itertools import count

from corrobora.domain.evidence import LOOK_ALIKES

_INVISIBLE = (
    "\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_BREAKS = "\r\x0b\x0c\x1c-\x1f\x85\u2028\u2029"
_DIRTY = re.compile(f"[{_INVISIBLE}{_BREAKS}]")
_HIDDEN = re.compile(f"[{_INVISIBLE}]")
_BREAK = re.compile(f"\r\n|[{_BREAKS}]")
_MARKER = re.compile(r"[\[\u3010\uff3b]S\d{1,12}:C\d{1,12}[\]\u3011\uff3d]")
_TAG = re.compile(r"</?data-", re.IGNORECASE)
_IDENT = re.compile(r"[\w.:/@+,() ~\-\[\]]{0,200}\Z")  # ~: the second iteration of root/1 is root/1~2

_KEY = b"corrobora: text that nobody vouches for"  # public: what a text cannot do is contain the hash of itself
_CODE_BYTES = 5


class Shown(str):
    """Text that may stand in a prompt: made by `quote_text`, `show_identifier` or `quote_rows` only."""

    __slots__ = ()


def clean_text(text: str, *, markers: bool = False) -> str:
    """Drop what a reader cannot see and what only our code may write: citation markers and data tags.

    Invisible: controls, bidirectional overrides, zero-width and tag characters, variation selectors, lone surrogates.
    With `markers`, `[S3:C2]` stays: for drafts, whose markers are checked by code.
    """
    if not text.isascii() or _DIRTY.search(text):
        text = _HIDDEN.sub("", _BREAK.sub("\n", text))
    if "<" in text:
        text = _TAG.sub("data ", text)
    return text if markers or ":C" not in text else _MARKER.sub("", text)


def quote_text(text: str, *, markers: bool = False) -> Shown:
    """Wrap one text as data between tags that carry a code; the code does not occur in the text.

    The code is a keyed hash of the text: no clock and no chance, so that equal prompts are equal bytes everywhere, and
    a change in one text changes no other part of the prompt (providers cache prompts by their beginning).
    """
    inside = clean_text(text, markers=markers).strip()
    code = make_delimiter(inside)
    space = "\n" if "\n" in inside else ""
    return Shown(f"<data-{code}>{space}{inside}{space}</data-{code}>")


def quote_rows(lines: Iterable[tuple[str, Sequence[str]]], *, markers: bool = False) -> Shown:
    """Wrap many short texts as one block of data, one line each: a label written by code, then the texts.

    Line ends inside a text are folded, so that no text can start a line of its own.
    """
    shown: list[str] = []
    for label, texts in lines:
        parts = [" ".join(clean_text(text, markers=markers).split()) for text in texts]
        shown.append(" | ".join(part for part in (show_identifier(label), *parts) if part))
    inside = "\n".join(shown)
    code = make_delimiter(inside)
    return Shown(f"<data-{code}>\n{inside}\n</data-{code}>") if inside else Shown("(none)")


def show_identifier(name: object) -> Shown:
    """Show an id, a number or a word of a closed set as it is. Raises `ValueError` for anything that could be prose."""
    text = f"{name:g}" if isinstance(name, float) else str(name)
    if not _IDENT.match(text):
        message = f"not an id: {text[:40]!r}"
        raise ValueError(message)
    return Shown(text)


def make_delimiter(text: str) -> str:
    """Return a code of ten hex digits that does not occur in `text`: a keyed hash of it."""
    data = text.encode("utf-8", "surrogatepass")
    seeds = (data + number.to_bytes(4, "big") if number else data for number in count())
    codes = (hashlib.blake2b(seed, key=_KEY, digest_size=_CODE_BYTES).hexdigest() for seed in seeds)
    return next(code for code in codes if code not in text)


_SAME = {**LOOK_ALIKES, "\u2026": "..."}
_GAP = re.compile(r" ?(?:\.\.\.|\[\.\.\.\]) ?")
_MAX_QUOTE = 4_000  # characters; the engine refuses longer quotes anyway
_MAX_SPLICE = 400  # characters between the parts of a quote with "..." in it
_MIN_PART = 10


def find_literal(quoted: str, text: str) -> str | None:
    """Return the characters of `text` that `quoted` stands for, exactly as they stand there, or None.

    Folds white space, typographic quotes and dashes and invisible characters; never letters, digits, superscripts or
    case. A quote with "..." must match part by part, in order, inside one paragraph, and gives the whole span.
    """
    plain = quoted.strip()
    if not plain or len(plain) > _MAX_QUOTE:
        return None
    if plain in text:
        return plain
    folded, offsets = _fold(text)
    small = _fold(plain)[0].strip()
    if not small:
        return None
    found = _span([small], folded) or _span([part for part in _GAP.split(small) if part], folded)
    if found is None:
        return None
    span = text[offsets[found[0]] : offsets[found[1] - 1] + 1]
    return span if "\n\n" not in span or "\n\n" in plain or len(span) <= len(plain) else None


def _span(parts: Sequence[str], folded: str) -> tuple[int, int] | None:
    """Find the parts one after another; each of several must be long enough to mean something."""
    if not parts or (len(parts) > 1 and min(map(len, parts)) < _MIN_PART):
        return None
    start = folded.find(parts[0])
    if start < 0:
        return None
    end = start + len(parts[0])
    for part in parts[1:]:
        at = folded.find(part, end, end + _MAX_SPLICE + len(part))
        if at < 0:
            return None
        end = at + len(part)
    return start, end


def _fold(text: str) -> tuple[str, list[int]]:
    """Return the text with look-alikes folded, and for each of its characters the offset in the original."""
    letters: list[str] = []
    offsets: list[int] = []
    for at, letter in enumerate(text):
        if letter.isspace() or _BREAK.match(letter):
            if not letters or letters[-1] == " ":
                continue
            letters.append(" ")
        elif not letter.isascii() and _HIDDEN.match(letter):
            continue
        else:
            same = _SAME.get(letter, letter)
            letters.append(same)
            offsets.extend([at] * (len(same) - 1))
        offsets.append(at)
    return "".join(letters), offsets

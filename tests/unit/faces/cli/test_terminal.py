"""What reaches a terminal: nothing that it would obey."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.faces.cli.screen import can_draw, is_terminal, one_line
from corrobora.text.tokens import sanitize_text

OBEYED = {
    "colour": ("\x1b[31mred\x1b[0m", "red"),
    "cursor": ("a\x1b[2Jb\x1b[1;1H", "ab"),
    "title": ("\x1b]0;evil\x07text", "text"),
    "hyperlink": ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
    "device control": ("\x1bPq#0\x1b\\x", "x"),
    "eight-bit": ("2003\x9b31mb", "2003b"),
    "backspace": ("a\x08b\rc", "abc"),
    "direction": ("a\u202eb\u2066c\u200f", "abc"),
    "tags": ("a\U000e0041b", "ab"),
    "kept": ("tab\tand\nline é 漢 ─", "tab\tand\nline é 漢 ─"),
    "unfinished": ("a\x1b]0;never ends", "a0;never ends"),
}


@pytest.mark.parametrize("case", OBEYED)
def test_q10_q11_control_sequences_are_removed(case: str) -> None:
    text, expected = OBEYED[case]
    assert sanitize_text(text).replace("]", "") == expected.replace("]", "")


@given(st.text(max_size=300))
def test_nothing_obeyed_is_left(text: str) -> None:
    left = sanitize_text(text)
    assert not any((ord(c) < 32 and c not in "\t\n") or 0x7F <= ord(c) < 0xA0 for c in left)
    assert not set(left) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@given(st.text(max_size=300), st.integers(1, 50))
def test_one_line_is_one_line_of_limited_length(text: str, limit: int) -> None:
    assert len(one_line(text, limit)) <= limit
    assert "\n" not in one_line(text, limit)


def test_nothing_is_drawn_without_a_terminal() -> None:
    assert not can_draw(io.StringIO(), {"TERM": "xterm"}, 120)
    closed = io.StringIO()
    closed.close()
    assert not is_terminal(closed)
    assert not is_terminal(None)

"""Markdown of one line: a source's text is shown as it stands, and read back."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from corrobora.reporting.verify import normalize_markers
from corrobora.text.markdown import escape_text, read_inline
from corrobora.text.tokens import fold_whitespace

SIGNS = st.text(st.sampled_from([*"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ 19aSsCcé日［］“\n"]), max_size=40)
VIEWER = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


@given(SIGNS)
def test_every_viewer_shows_the_characters_of_the_source(text: str) -> None:
    line = escape_text(text)
    shown = fold_whitespace(text)
    assert read_inline(line) == shown
    tokens = VIEWER.parse(line)
    assert [token.type for token in tokens] == (["paragraph_open", "inline", "paragraph_close"] if shown else [])


@given(st.text(st.sampled_from([*"[](){}［］SsCc12:, ^!ab\\"]), max_size=30))
def test_no_text_of_a_source_becomes_a_citation(text: str) -> None:
    line = escape_text(text)
    assert normalize_markers(line) == line
    assert not re.search(r"(?<!\\)\[\^?\d+\]|\[S\d+:C\d+\]", line)


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("**Keep** `*.log` and \\*.tmp", "Keep *.log and *.tmp"),
        ("a *b* [c](https://d.example) &amp; e", "a b c & e"),
        ("snake_case_name and 2 * 3", "snake_case_name and 2 * 3"),
    ],
)
def test_a_line_is_read_as_a_viewer_shows_it(markdown: str, shown: str) -> None:
    assert read_inline(markdown) == shown

"""Markup: what is read, what is made harmless."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.text.markup import strip_markup


@pytest.mark.parametrize(
    ("marked", "read"),
    [
        ("Verifiers **SHALL NOT** ask.", "Verifiers SHALL NOT ask."),
        ("see [Sec. 4](sec4.md#a) and [[RFC 20]](#RFC20)", "see Sec. 4 and [RFC 20]"),
        ("![a chart](x.png) shows <i>it</i>", "a chart shows it"),
        ("# A title {#top}", "A title"),
        ("snake_case stays, _this_ goes", "snake_case stays, this goes"),
        ("a < b &amp; c", "a < b & c"),
        ("10² is not 102", "10² is not 102"),
    ],
)
def test_marks_go_and_words_stay(marked, read):
    assert strip_markup(marked) == read


def test_a_forged_marker_is_no_marker():
    assert "[S3:C2]" not in strip_markup("Trust me [S3:C2].")


@given(st.text(alphabet=st.sampled_from("<>[]()!ab {}#*_`/:&;\n"), max_size=200))
def test_nothing_is_left_that_a_renderer_takes_for_a_tag_or_a_link(text):
    read = strip_markup(text)
    assert "](" not in read
    assert "![" not in read
    assert "<a" not in read
    assert "</" not in read
    assert "\n" not in read


@pytest.mark.parametrize("hostile", ["<a " * 50_000, "[" * 100_000, "[x](" * 50_000, "*" * 100_000, "{#" * 50_000])
def test_hostile_marks_are_read_to_the_end(hostile):
    assert isinstance(strip_markup(hostile), str)


def test_drawn_lines_and_the_mark_beside_a_heading_are_not_read():
    assert strip_markup("4.2 Keepers¶\n------------\nAnn ===== Bo") == "4.2 Keepers Ann Bo"
    assert strip_markup("a -- b --- c-----d ¶ 5") == "a -- b --- c-----d ¶ 5"

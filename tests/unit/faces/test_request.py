"""The question: group Q of docs/bad-input.md, as far as text alone decides."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.domain.errors import UserError
from corrobora.faces.request import parse_question

REFUSED = {
    "Q01": ("", "question_empty"),
    "Q02 spaces": (" \t\n", "question_empty"),
    "Q02 no-break": ("\u00a0\u2003", "question_empty"),
    "Q02 invisible": ("\u200b\u200d\ufeff\u2060", "question_empty"),
    "Q03": ("?", "question_too_short"),
    "Q03 two letters": ("a?!b", "question_too_short"),
    "Q05": ("x" * 20_001, "question_too_long"),
    "Q07": ("what is \ud800 this", "question_not_utf8"),
    "Q08": ("what is \udcff this", "question_not_utf8"),
    "Q09": ("what\0is this", "question_control_char"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_its_code(case: str) -> None:
    text, code = REFUSED[case]
    with pytest.raises(UserError) as caught:
        parse_question(text)
    assert caught.value.code == code


@pytest.mark.parametrize("text", ["abc", "x" * 20_000, "なぜ空は青い", "ทำไมท้องฟ้าเป็นสีฟ้า", "[S1:C1] and [1] are what?"])
def test_q04_q17_q21_accepted_as_it_is(text: str) -> None:
    assert parse_question(f"  {text}\n").text == text


def test_q10_q11_escape_sequences_and_direction_marks_are_taken_out() -> None:
    assert parse_question("\x1b[31mwhy red\u202e?").text == "why red?"


def test_q12_tag_characters_are_removed_and_counted() -> None:
    found = parse_question("why\U000e0041\U000e0042 blue?")
    assert (found.text, found.invisible) == ("why blue?", 2)


@given(st.text(alphabet=st.characters(), max_size=200))
def test_any_text_is_taken_or_refused_in_one_line(text: str) -> None:
    try:
        found = parse_question(text)
    except UserError as error:
        assert len(str(error).splitlines()) == 1  # noqa: PT017 - either way out is right
    else:
        assert found.text
        found.text.encode("utf-8")

"""Declarations: the marks of a field, read by whoever checks its value."""

from __future__ import annotations

from typing import Annotated, get_args

import pytest
from annotated_types import Le
from pydantic import TypeAdapter, ValidationError

from corrobora.domain.limits import MAX_MINUTES, UNLIMITED, Minutes, NoneWord, OneOf


def test_words_come_from_the_table_that_gives_them_their_meaning() -> None:
    words = OneOf.from_table({"stay": 1, "go": 2})
    assert words.words == ("stay", "go")
    read = TypeAdapter(Annotated[str, words]).validate_python
    assert read("go") == "go"
    with pytest.raises(ValidationError):
        read("fly")


def test_minutes_end_after_a_week_and_have_a_word_for_no_limit() -> None:
    number, word = get_args(Minutes)
    assert word == NoneWord(UNLIMITED)
    assert Le(MAX_MINUTES) in get_args(get_args(number)[0])

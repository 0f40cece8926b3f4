"""Numbering: the same numbers as word by word, whatever the table holds."""

from __future__ import annotations

import re
import zlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from corrobora.storage.index.numbering import WordTable


def number(word: str) -> int:
    return zlib.crc32(word.encode()) % 1_000_000_000 if word[0] != "s" else -1


def by_word(text: str) -> list[tuple[int, int]]:
    return [(match.start(), number(match.group())) for match in re.finditer("[a-z0-9]+", text)]


def at_once(table: WordTable, text: str) -> list[tuple[int, int]]:
    found = table.number_words(text)
    return list(zip(found.starts.tolist(), found.numbers.tolist(), strict=True))


_TEXTS = st.text("ab0 .\n_'\0Z~", max_size=60)


@given(st.lists(_TEXTS, min_size=1, max_size=4))
def test_every_run_of_letters_gets_its_number(texts: list[str]) -> None:
    table = WordTable(number)
    for text in (*texts, *texts):
        assert at_once(table, text) == by_word(text)


def test_words_that_share_their_first_letters_are_told_apart() -> None:
    stem = "abcdefghijklmnopqrstuvwxyz"
    text = " ".join(stem[:n] + tail for n in range(1, 26) for tail in ("", "0", "1"))
    table = WordTable(number)
    assert at_once(table, text) == at_once(table, text) == by_word(text)


def test_more_words_than_the_table_has_places() -> None:
    asked: list[str] = []

    def counted(word: str) -> int:
        asked.append(word)
        return number(word)

    table = WordTable(counted)
    words = [f"w{at * 7919}" for at in range(2**18 + 50_000)]
    text = " ".join(words)
    expected = by_word(text)
    assert at_once(table, text) == expected
    asked.clear()
    assert at_once(table, text) == expected
    assert len(set(asked)) == len(asked) < len(words) * 2 // 3, "most words are found without asking again"


def test_a_word_once_numbered_is_not_asked_for_again() -> None:
    asked: list[str] = []

    def counted(word: str) -> int:
        asked.append(word)
        return number(word)

    table = WordTable(counted)
    table.number_words("king rome")
    asked.clear()
    assert np.unique(table.number_words("king rome " * 9_000).numbers).tolist() == sorted(
        {number("king"), number("rome")}
    )
    assert asked == []

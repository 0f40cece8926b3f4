"""Heads: those of many texts at once are those of each text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from corrobora.storage.index import posting_cache
from corrobora.text import mentions

_WORDS = ["King", "Rome", "queen", "II", "7", "3rd", "McCoy", "fooBar", "Élan", "naïve", "ſ", "I", "s"]
_BETWEEN = ["'s", "'s", "’s", "'S", "'", " ", " ", " ", ", ", " (", "--", "\n\n", " - ", "....", "_", "\0"]
_PIECES = st.sampled_from([*_WORDS, *_BETWEEN])
_TEXTS = st.lists(st.lists(_PIECES, max_size=12).map("".join), max_size=5)


@given(_TEXTS)
def test_heads_of_many_texts_are_those_of_each(texts):
    found = posting_cache.find_alias_prefixes(texts)
    each = [
        {head for at, head in zip(found.texts, found.heads, strict=True) if at == place} for place in range(len(texts))
    ]
    assert each == [mentions.list_alias_prefixes(text) for text in texts]


def test_a_possessive_is_passed_over_and_texts_are_kept_apart():
    found = posting_cache.find_alias_prefixes(["The King's Road to", "Rome"])
    assert sorted(zip(found.texts, found.heads, strict=True)) == [
        (0, "king"),
        (0, "king road"),
        (0, "road"),
        (0, "road to"),
        (0, "the"),
        (0, "the king"),
        (1, "rome"),
    ]

"""Names: titles as aliases, longest mentions, linear time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.plugins.growth import LINEAR, measure_growth

from corrobora.text.mentions import (
    alias_prefix,
    find_alias_mentions,
    group_by_prefix,
    list_alias_prefixes,
    make_alias,
)


@pytest.mark.parametrize(
    ("title", "alias"),
    [
        ("Theodred II (Bishop of Elmham)", "theodred ii"),
        ("Nicki Minaj", "nicki minaj"),
        ("1984", ""),
        ("The", ""),
        ("It is", ""),
        ("", ""),
        ("A title of very many words that is clearly a whole sentence", ""),
    ],
)
def test_a_title_becomes_an_alias_or_none(title, alias):
    assert make_alias(title) == alias


def test_the_longest_mention_with_a_capital_initial_wins():
    known = group_by_prefix(["lothair ii", "lothair ii of france", "ermengarde of tours"])
    text = "Lothair II of France met Lothair II’s mother Ermengarde of Tours; lothair ii did not."
    assert [mention.alias for mention in find_alias_mentions(text, known)] == [
        "lothair ii of france",
        "lothair ii",
        "ermengarde of tours",
    ]


@given(
    st.lists(st.sampled_from(["Anna", "Bell", "of", "Tours", "the", "Élan", ", ", "-", "'s"]), max_size=12).map(
        " ".join
    )
)
def test_whatever_is_mentioned_can_be_asked_for_by_its_head(text):
    known = group_by_prefix(["anna bell", "anna", "bell of tours", "elan"])
    for mention in find_alias_mentions(text, known):
        assert alias_prefix(mention.alias) in list_alias_prefixes(text)
        assert text[mention.start].isupper()


@pytest.mark.parametrize("unit", ["A ", "Aa", "A.", "A\n", "É "])
def test_hostile_text_is_searched_in_linear_time(unit):
    def search(size: int) -> None:
        text = unit * size
        assert list_alias_prefixes(text) is not None
        assert find_alias_mentions(text, group_by_prefix(["a b"])) == ()

    assert measure_growth(search, 5_000) < LINEAR

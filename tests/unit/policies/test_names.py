"""Names: titles as aliases, longest mentions, linear time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.policies.names import alias_of, by_head, head_of, heads, mentions


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
    assert alias_of(title) == alias


def test_the_longest_mention_with_a_capital_initial_wins():
    known = by_head(["lothair ii", "lothair ii of france", "ermengarde of tours"])
    text = "Lothair II of France met Lothair II’s mother Ermengarde of Tours; lothair ii did not."
    assert [mention.alias for mention in mentions(text, known)] == [
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
    known = by_head(["anna bell", "anna", "bell of tours", "elan"])
    for mention in mentions(text, known):
        assert head_of(mention.alias) in heads(text)
        assert text[mention.start].isupper()


@pytest.mark.parametrize("unit", ["A ", "Aa", "A.", "A\n", "É "])
def test_hostile_text_is_searched_in_linear_time(unit):
    text = unit * 100_000
    assert heads(text) is not None
    assert mentions(text, by_head(["a b"])) == ()

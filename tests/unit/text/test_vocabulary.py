"""Vocabulary: the sources' own words for what was asked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.text.tokens import stem_text
from corrobora.text.vocabulary import (
    Equivalence,
    add_aliased_stems,
    find_broader_names,
    find_equivalences,
    find_recurring_pairs,
    format_equivalence,
    make_heading_phrase,
    map_aliases,
    map_broader_names,
    parse_equivalence,
)


@pytest.mark.parametrize(
    ("text", "one", "other"),
    [
        ("A thermal chamber — commonly referred to as a kiln — holds heat.", "thermal chamber", "kiln"),
        ("A passkey, also known as a discoverable credential, is stored.", "passkey", "discoverable credential"),
        ("The public switched telephone network (PSTN) is old.", "public switched telephone network", "PSTN"),
        ("kiln: See thermal chamber.", "kiln", "thermal chamber"),
        ("Use a myocardial infarction, i.e., heart attack, code.", "myocardial infarction", "heart attack"),
    ],
)
def test_texts_say_that_two_names_mean_one_thing(text, one, other):
    assert Equivalence(one, other) in find_equivalences(text)


def test_a_bracket_that_is_no_acronym_says_nothing():
    assert find_equivalences("The chamber (open daily) is warm.") == ()


def test_a_learned_name_stands_for_the_asked_one():
    pairs = [Equivalence("thermal chamber", "kiln")]
    wanted = frozenset(stem_text("kiln opening"))
    held = add_aliased_stems(stem_text("Open the thermal chambers slowly."), map_aliases(wanted, pairs))
    assert stem_text("kiln")[0] in held
    assert stem_text("kiln")[0] not in add_aliased_stems(stem_text("Open the door slowly."), map_aliases(wanted, pairs))


def test_what_a_name_is_filed_under():
    assert find_broader_names("sent via the PSTN (SMS or voice).", frozenset(stem_text("SMS"))) == ("PSTN",)
    assert map_broader_names(["sent via the PSTN (SMS or voice)."], frozenset(stem_text("SMS"))) == {
        "sm": (frozenset({"pstn"}),)
    }


def test_phrases_that_recur_are_learned_and_general_headings_are_not():
    texts = [("thermal chamber rules", 1.0), ("open the thermal chamber", 1.0), ("a glaze", 1.0)]
    assert find_recurring_pairs(texts, frozenset()) == ("thermal chamber",)
    assert make_heading_phrase("A.3 Complexity") == "complexity"
    assert make_heading_phrase("1. Introduction") == ""


@given(st.text(max_size=200))
def test_any_text_gives_names_that_stand_in_it(text):
    folded = " ".join(text.split())
    for pair in find_equivalences(folded):
        assert parse_equivalence(format_equivalence(Equivalence("x y", "z"))) == Equivalence("x y", "z")
        assert all(word in folded for word in (*pair.one.split(), *pair.other.split()))


@pytest.mark.parametrize("hostile", ["(AB" * 30_000, "also known as " * 10_000, "e.g. " * 20_000, "x — " * 30_000])
def test_hostile_texts_are_read_to_the_end(hostile):
    find_equivalences(hostile)
    find_broader_names(hostile, frozenset({"x"}))

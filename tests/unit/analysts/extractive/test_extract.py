"""Extract without a model (TREE-29)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.plugins.growth import LINEAR, measure_growth
from tests.unit.analysts.extractive.samples import (
    BIRD_DOCUMENT,
    OLD_DOCUMENT,
    PARTS,
    document,
    excerpt,
    play,
)

from corrobora.domain.limits import LIMITS
from corrobora.domain.plan import SubQuestion
from corrobora.roles.extract import extract


def test_quotes_are_literal_whole_sentences_and_answer_sub_questions():
    found = play(extract, excerpt(OLD_DOCUMENT))
    text = OLD_DOCUMENT.passages[0].text
    assert {"sq-1", "sq-2"} <= {sq for quote in found.quotes for sq in quote.answers}
    for quote in found.quotes:
        assert quote.quote in text
        assert LIMITS.quote_min_chars <= len(quote.quote) <= LIMITS.quote_max_chars
        assert 0.0 <= quote.confidence <= 1.0


def test_the_words_of_the_source_are_learned():
    assert "thermal chamber (kiln)" in play(extract, excerpt(OLD_DOCUMENT)).terms


def test_learned_words_find_what_the_question_says_otherwise():
    text = "Safety\n\nOperators SHALL NOT open a thermal chamber above 200 degrees. Brooms are kept in the cellar."
    of = document(7, "Safety", text)
    asked = (SubQuestion("sq-1", "What are the rules on kiln safety doors?"),)
    found = play(extract, excerpt(of, asked[0].text, asked, terms=("thermal chamber (kiln)",)))
    assert any("thermal chamber" in quote.quote for quote in found.quotes)


def test_a_source_that_speaks_of_something_else_is_not_relevant():
    found = play(extract, excerpt(BIRD_DOCUMENT))
    assert found.quotes == ()


def test_a_sentence_that_points_back_brings_the_one_before_it():
    text = "Kilns\n\nThe kiln of the guild was built by Marta Lindqvist. It was opened for its inspection in 2019."
    found = play(extract, excerpt(document(8, "Kilns", text)))
    assert any(q.quote.startswith("The kiln of the guild") and q.quote.endswith("2019.") for q in found.quotes)


def test_a_sentence_brings_the_one_that_limits_it():
    text = "Kilns\n\nThe kiln rules allow no opening at night. However, a fitter may open it if there is smoke."
    found = play(extract, excerpt(document(8, "Kilns", text)))
    assert any(q.quote.endswith("if there is smoke.") and "no opening" in q.quote for q in found.quotes)


@given(
    st.lists(
        st.sampled_from(
            ["The kiln rules changed in opening.", "**It** burns", "\n\n", "# Kiln", "| a | kiln |", "e.g. x"]
        )
    )
)
def test_any_text_gives_literal_quotes(pieces):
    of = document(4, "T", " ".join(pieces))
    for quote in play(extract, excerpt(of, parts=PARTS)).quotes:
        assert quote.quote in of.text


@pytest.mark.parametrize("unit", ["kiln rules ", "kiln. ", "(kiln, ", "[kiln]("])
def test_hostile_text_is_read_in_linear_time(unit):
    assert measure_growth(lambda size: play(extract, excerpt(document(4, "T", unit * size))), 250) < LINEAR


def test_what_stands_below_a_heading_that_names_the_topic_speaks_to_it():
    text = "How to store the drops\n\nKeep them in the dark and shut the lid.\n\nPrices\n\nA bottle costs four crowns."
    asked = (SubQuestion("sq-1", "How should the drops be stored?"),)
    found = play(extract, excerpt(document(8, "Leaflet", text), asked[0].text, asked))
    assert [quote.quote for quote in found.quotes] == [
        "How to store the drops\n\nKeep them in the dark and shut the lid."
    ]


def test_an_acronym_of_the_question_is_found_in_the_name_that_it_abbreviates():
    question = "Does the KGR forbid a firing at night?"
    parts = (SubQuestion("sq-1", question),)
    text = "The Kiln Guard Rules forbid every firing at night. Other papers speak of lamps and of the harbour."
    found = play(extract, excerpt(document(71, "Papers", text), question, parts))
    assert any("forbid every firing" in quote.quote and quote.answers == ("sq-1",) for quote in found.quotes)


def test_the_cheapest_row_of_a_table_on_other_things_answers_nothing():
    question = "Which bank of the harbour offers the cheapest account?"
    parts = (SubQuestion("sq-1", question),)
    text = "Lamps are sold here.\n\nLamp | Cost | Oil\nTall | 12 | 3\nShort | 7 | 2\nWide | 9 | 4"
    found = play(extract, excerpt(document(72, "Lamps", text), question, parts))
    assert not any(quote.answers for quote in found.quotes)


OPTIONS = (
    "You can set these options:\n\n- ping interval: Time between two pings on this line. Default: 4 seconds.\n"
    "- quit: Ends the program. It is not asked again.\n\nThe end."
)


def test_a_sentence_of_an_item_is_quoted_from_what_the_item_defines():
    asked = (SubQuestion("sq-1", "What is the default ping interval?"),)
    found = play(extract, excerpt(document(8, "Options", OPTIONS), asked[0].text, asked))
    assert "ping interval: Time between two pings on this line. Default: 4 seconds." in found.quotes[0].quote


def test_a_comment_of_a_configuration_is_quoted_with_the_setting_that_it_is_about():
    text = (
        "# port on which the mill listens\nlisten_on 80\n\n"
        "# seconds that the mill waits for grain before it\n# stops the stones\ngrain_delay 40\n\n"
        "# sacks to fill at most\nsacks 7"
    )
    asked = (SubQuestion("sq-1", "How long does the mill wait for grain?"),)
    found = play(extract, excerpt(document(9, "mill.conf", text), asked[0].text, asked))
    assert text.split("\n\n")[1] in [quote.quote for quote in found.quotes]


def test_a_setting_is_found_by_the_words_of_the_comment_above_it():
    text = "# seconds that the mill waits for grain\ngrain_delay 40\n\n# sacks to fill at most\nsacks 7"
    asked = (SubQuestion("sq-1", "What is grain_delay?"),)
    found = play(extract, excerpt(document(9, "mill.conf", text), asked[0].text, asked))
    assert found.quotes[0].quote == text.split("\n\n", maxsplit=1)[0]


def test_a_name_is_found_in_a_name_that_contains_it():
    text = "Mills\n\nThe flag Mill.grain_delay may be turned off. Any grain comes with a delay of some days."
    asked = (SubQuestion("sq-1", "Can grain_delay be turned off?"),)
    found = play(extract, excerpt(document(9, "Mills", text), asked[0].text, asked))
    assert found.quotes[0].quote.startswith("The flag Mill.grain_delay")

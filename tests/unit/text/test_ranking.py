"""Ranking: dates and sources named in a question, fusion, links."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.text.quantities import find_date_prefixes
from corrobora.text.ranking import (
    Candidates,
    SourceHints,
    add_clause_scores,
    damp_repeated_sources,
    join_meaning,
    names_publisher,
    score_linked_passage,
    weighted_share,
)


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("published on October 7, 2023", ("2023-10-07",)),
        ("on 7 October 2023 and in December 2022", ("2022-12", "2023-10-07")),
        ("2024-02-29", ("2024-02-29",)),
        ("October 7, 2023, that is in October 2023", ("2023-10-07",)),
        ("in the year 2023", ()),
        ("Version 12 2023", ()),
    ],
)
def test_days_and_months_are_read(text, dates):
    assert find_date_prefixes(text) == dates


def test_a_source_or_date_that_is_named_doubles_the_score():
    asked = SourceHints.from_question("What did The Verge report on October 7, 2023?")
    assert asked.boost_factor("The Verge", "2023-10-07T10:00:00") == 4
    assert asked.boost_factor("The Verge", "2023-10-08") == 2
    assert asked.boost_factor("TechCrunch", "2023-10-07") == 2
    assert asked.boost_factor("", "") == 1
    asked = SourceHints.from_question("What was decided in June 2019?")
    assert asked.boost_factor("", "2019-06-13") == asked.boost_factor("", "", "Minutes > 6/13/2019") == 2
    assert asked.boost_factor("", "2019-07-13", "7/13/2019") == 1
    assert SourceHints.from_question("What was decided on June 13th?").boost_factor("", "2019-06-13") == 2
    release = SourceHints.from_question("What changed in release 1.4?")
    assert release.boost_factor("", "", "Changes in 1.4") > release.boost_factor("", "", "Changes in 1.3") == 1


def test_a_publisher_is_named_by_its_first_part_too():
    assert names_publisher(" as the cnbc said ", "Cnbc | World Business News Leader")
    assert not names_publisher(" on the verges of it ", "The Verge")


def test_words_lead_where_they_stand_together_and_meaning_where_they_do_not():
    words, nearness = {1: 8.0, 2: 4.0}, {2: 1.0, 3: 3.0}
    told = join_meaning(Candidates(words, nearness, held=1.2, asked=20.0))
    other = join_meaning(Candidates(words, nearness, held=0.1, asked=20.0))
    assert sorted(told, key=lambda each: -told[each]) == [1, 2, 3]
    assert max(other, key=lambda each: other[each]) == 3
    assert told[1] == other[1] == 1.0
    assert join_meaning(Candidates({}, {7: 1.0, 8: 0.0}, held=0.0, asked=0.0))[7] > 0


def test_a_clause_lifts_what_fits_it_best():
    scores = add_clause_scores([(1, 10.0), (2, 4.0)], [(4.0, [(2, 3.0), (1, 1.0)]), (1.0, [(3, 1.0)])])
    assert scores[2] - 0.4 > scores[1] - 1.0
    assert scores[3] == pytest.approx(0.25)


def test_room_is_made_only_if_two_sources_are_named():
    ranked = [(1, 1.0), (2, 0.99), (3, 0.96)]
    publisher = {1: "The Verge", 2: "The Verge", 3: "TechCrunch"}
    assert damp_repeated_sources(ranked, publisher, SourceHints.from_question("What did The Verge say?")) == dict(
        ranked
    )
    both = damp_repeated_sources(ranked, publisher, SourceHints.from_question("Do The Verge and TechCrunch agree?"))
    assert both[3] > both[2]


@given(st.floats(0, 1e3), st.floats(0, 1), st.floats(0, 1))
def test_a_link_never_outranks_its_parent(parent, sentence, target):
    assert 0 <= score_linked_passage(parent, sentence, target) <= parent


def test_share_is_weighted():
    assert weighted_share({"a": 3.0, "b": 1.0}, {"a"}) == 0.75
    assert weighted_share({}, {"a"}) == 0.0


def test_a_passage_below_the_heading_that_a_question_names_comes_before_one_below_a_longer_name() -> None:
    asked = SourceHints.from_question("What is the default of mail_check?")
    assert asked.boost_factor("", "", "Settings > 3.1. mail_check") > asked.boost_factor(
        "", "", "3.2. mail_check_stats"
    )
    assert asked.boost_factor("", "", "3.2. mail_check_stats") == 1.0

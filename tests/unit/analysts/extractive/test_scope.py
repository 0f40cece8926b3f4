"""Scope without a model (TRIPLET-13)."""

from __future__ import annotations

import pytest
from tests.unit.analysts.extractive.samples import PARTS, QUESTION, needs, play

from corrobora.domain.plan import Subject
from corrobora.domain.thread import Escape, Gap, Phase
from corrobora.roles.scope import scope
from corrobora.text.tokens import stem_text


def texts(**given):
    return [query.text for query in play(scope, needs(**given)).queries]


def test_the_first_query_is_broad():
    assert texts(open_questions=PARTS)[0] == QUESTION
    assert texts(suggested=("kiln rules overview",))[0] == "kiln rules overview"


def test_the_other_side_of_a_comparison_is_searched_in_the_first_round():
    found = texts(question="How does the minimum size of lamps differ between Mill 4.3 and Mill 4.4?")
    assert "Mill 4.4 minimum size lamps" in found


def test_a_later_round_says_it_in_the_words_of_the_sources():
    found = texts(round=2, open_questions=PARTS, past_queries=(QUESTION,), terms=("thermal chamber (kiln)",))
    assert any("thermal chamber" in text for text in found)


def test_a_chain_of_names_is_followed():
    found = texts(
        question="When did Ada Lovelace's mother die?",
        round=2,
        past_queries=("When did Ada Lovelace's mother die?",),
        known=("Ada Lovelace was a daughter of Anne Isabella Milbanke.",),
    )
    assert "Anne Isabella Milbanke" in found


def test_a_statement_is_searched_for_its_counterpart():
    statement = "Operators SHOULD NOT open a thermal chamber above 200 degrees in the workshop."
    found = texts(round=2, open_questions=PARTS, past_queries=(QUESTION,), terms=(statement,))
    assert "Operators open thermal chamber degrees workshop" in found
    assert statement not in found


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_the_limits_of_the_phase_hold_and_no_query_is_asked_twice(number):
    past = (QUESTION, "kiln opening", "kiln inspection")
    phase = Phase("p", min_queries=2, max_queries=3)
    found = texts(round=number, open_questions=PARTS, past_queries=past, phase=phase)
    assert 1 <= len(found) <= 3
    assert not set(found) & set(past)


def test_the_forced_subject_comes_first():
    intent = play(scope, needs(round=3, forced_subject="Marta Lindqvist", uncovered=(Subject("Marta Lindqvist"),)))
    assert intent.queries[0].text.startswith("Marta Lindqvist")
    assert intent.subjects == ("Marta Lindqvist",)


def test_reformulation_changes_at_least_half_of_the_terms():
    past = ("kiln opening rules of the guild",)
    known = ("The thermal chamber is heated by gas burners.",)
    (first, *_) = texts(
        round=3,
        escape=Escape.REFORMULATE,
        past_queries=past,
        known=known,
        terms=("thermal chamber (kiln)", "gas burners"),
    )
    old, new = set(stem_text(past[0])), set(stem_text(first))
    assert len(new - old) >= len(new) / 2


@pytest.mark.parametrize("escape", list(Escape))
def test_every_escape_gives_a_query(escape):
    known = ("Kilns were studied by Marta Lindqvist.",)
    assert texts(round=3, escape=escape, open_questions=PARTS, past_queries=(QUESTION,), known=known)


def test_negative_and_community_searches_say_so():
    assert any("no evidence" in text or "not listed" in text for text in texts(round=3, escape=Escape.NEGATIVE))
    assert any("experience" in text for text in texts(round=3, escape=Escape.COMMUNITY))


def test_hints_and_gaps_reach_the_queries():
    phase = Phase("SURVEY", max_queries=2, query_hints=("site:gov", "records"))
    intent = play(scope, needs(phase=phase, open_questions=PARTS))
    assert intent.queries[0].site == "gov"
    assert intent.queries[1].text.endswith("records")
    gap = Gap("No evidence for: How hot is a glaze firing?", "sq-1")
    assert any("glaze" in text for text in texts(round=2, gaps=(gap,), past_queries=(QUESTION,)))


def test_a_release_is_searched_for_as_it_is_headed():
    assert "release 2.3.0 v2.3.0" in texts(question="What changed in Kilnlib 2.3.0?")

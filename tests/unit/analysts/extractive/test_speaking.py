"""Speaking: which sentence speaks to a question."""

from __future__ import annotations

from tests.unit.analysts.extractive.samples import BIRD_DOCUMENT, OLD_DOCUMENT, document, excerpt

from corrobora.analysts.extractive.lines import read_lines
from corrobora.analysts.extractive.quotes import extend_matches, match_sentence, preference_factor
from corrobora.text.questions import read_expectation, weigh_terms


def judged(question, of):
    topic, wanted = weigh_terms(question).topic, read_expectation(question)
    lines = read_lines(excerpt(of))
    return extend_matches([match_sentence(question, topic, line, wanted) for line in lines], question, lines, wanted)


def test_half_of_the_topic_speaks_and_nothing_of_it_does_not():
    assert any(share.answers for share in judged("What is a thermal chamber?", OLD_DOCUMENT))
    assert not any(share.whole for share in judged("How do volcanoes erupt under glaciers?", BIRD_DOCUMENT))


def test_a_sentence_about_another_thing_is_no_answer():
    found = judged("Are gulls of the Kestrel Institute counted on roofs?", BIRD_DOCUMENT)
    assert not any(share.answers for share in found)


def test_a_duty_beside_the_name_speaks_too():
    text = "Access\n\nThe XR7 door is of steel. It SHALL be locked at night by the guard of the harbour."
    found = judged("Is the XR7 permitted, and what must be done?", document(9, "Access", text))
    assert found[1].answers


def test_the_wanted_kind_is_preferred():
    wanted = read_expectation("How many nests were counted?")
    assert preference_factor("She counted 412 nests.", wanted) > preference_factor("She counted the nests.", wanted)

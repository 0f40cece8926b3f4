"""Material of prompts: nothing is shown twice, and what is shown names what its reader may name."""

from __future__ import annotations

from dataclasses import replace

from corrobora.analysts.language_model.material import (
    show_cited,
    show_claims,
    show_evidence,
    show_facts,
    show_facts_of_part,
    show_origins,
    show_quotes,
)
from corrobora.domain.evidence import FactId, PassageId
from corrobora.roles.forms import FACTS
from corrobora.roles.review import Doubt
from corrobora.roles.synthesize import Part

ONE, TWO = replace(FACTS[0], claim="The pump has a rate."), replace(FACTS[1], claim="The pressure has a limit.")
AGAIN = replace(ONE, id=FactId("F9"), claim="The pump is fast.")


def test_the_words_of_a_quote_are_shown_once():
    shown = show_facts((ONE, AGAIN), (ONE, AGAIN))
    assert shown.count(ONE.quote) == 1
    assert f"the words of {ONE.id}" in shown
    assert AGAIN.claim in shown


def test_evidence_is_shown_once_under_its_marker_with_all_that_was_claimed_of_it():
    shown = show_evidence((ONE, AGAIN, TWO))
    assert shown.count(ONE.quote) == shown.count(TWO.quote) == 1
    assert AGAIN.claim in shown
    assert not any(str(fact.id) in shown for fact in (ONE, AGAIN, TWO))
    elsewhere = replace(ONE, id=FactId("F8"), passage=PassageId("C99"))
    assert f"the words of {ONE.marker.strip('[]')}" in show_evidence((ONE, elsewhere))


def test_a_source_is_shown_once_and_those_of_one_title_with_their_paths():
    assert show_origins((ONE, TWO)).count(ONE.title) == 1
    near = replace(ONE, url="https://a.example/one.html")
    far = replace(ONE, source=type(ONE.source)("S77"), url="https://a.example/two.html")
    shown = show_origins((near, far))
    assert "one.html" in shown
    assert "two.html" in shown


def test_facts_of_an_earlier_part_are_named_and_not_shown_again():
    parts = (Part("root/1", "Flow", "", (ONE,)), Part("root/2", "Limits", "", (ONE, TWO)))
    shown = show_facts_of_part(parts, 1)
    assert ONE.quote not in shown
    assert TWO.quote in shown
    assert f"of this part, too: {ONE.id}" in shown
    assert "for sq-2 | The pressure has a limit." in show_claims((TWO,))


def test_quotes_of_doubtful_sentences_are_numbered_and_shown_once():
    first = ("Pump manual", "", "The pump moves 12.5 litres a minute.")
    behind = ("Pump manual", "(… The pump moves 12.5 litres a minute. …)", "It is blue and heavy.")
    doubts = (Doubt("It moves 12 litres.", (first,)), Doubt("It is blue.", (first, behind)))
    shown = show_quotes(doubts)
    assert shown.count("12.5 litres") == 1
    assert "(… Q1 …)" in shown
    assert show_cited(doubts[1], doubts) == "Q1 Q2"

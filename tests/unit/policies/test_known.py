"""Known: what cannot hold together with a known fact is kept, with both sides."""

from __future__ import annotations

from dataclasses import replace

from corrobora.domain.evidence import FactId
from corrobora.policies.drift import find_known_conflicts
from corrobora.roles.forms import FACTS


def test_triplet_another_quantity_is_against_a_known_fact() -> None:
    (found,) = find_known_conflicts(["The pump moves 14 litres a minute."], FACTS)
    assert found.fact == FACTS[0].id
    assert found.known == "The pump moves 14 litres a minute."


def test_what_agrees_is_not() -> None:
    assert find_known_conflicts(["The pump moves 12.5 litres a minute."], FACTS) == ()


def test_what_the_reader_reports_is_kept_where_words_show_nothing() -> None:
    (found,) = find_known_conflicts(["It is blue."], FACTS, ["It is green, not blue."])
    assert found.known == "It is green, not blue."


def test_each_sentence_of_a_quote_is_compared_and_the_conflict_names_the_fact_it_is_about():
    quote = "Take care of all keys. Passwords SHALL be at least 8 characters in length. They SHALL be hashed."
    facts = [replace(FACTS[0], id=FactId(f"F{at}"), quote=said) for at, said in enumerate(("Keys are kept.", quote))]
    (found,) = find_known_conflicts(("Passwords must be at least 6 characters long.",), facts)
    assert (found.fact, found.difference) == ("F1", "6 characters -> 8 characters")
    (found,) = find_known_conflicts(("Nothing is hashed.",), facts, ("All passwords are hashed here.",))
    assert found.fact == "F1"

"""Known: what cannot hold together with a known fact is kept, with both sides."""

from __future__ import annotations

from corrobora.policies.drift import find_known_conflicts
from corrobora.testing.samples import FACTS


def test_triplet_another_quantity_is_against_a_known_fact() -> None:
    (found,) = find_known_conflicts(["The pump moves 14 litres a minute."], FACTS)
    assert found.fact == FACTS[0].id
    assert found.known == "The pump moves 14 litres a minute."


def test_what_agrees_is_not() -> None:
    assert find_known_conflicts(["The pump moves 12.5 litres a minute."], FACTS) == ()


def test_what_the_reader_reports_is_kept_where_words_show_nothing() -> None:
    (found,) = find_known_conflicts(["It is blue."], FACTS, ["It is green, not blue."])
    assert found.known == "It is green, not blue."

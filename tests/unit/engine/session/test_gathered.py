"""Gathered: what a cut round keeps is what its record names."""

from __future__ import annotations

from corrobora.domain.evidence import Hit, Reading, ReadOutcome
from corrobora.engine.session.journal import RoundBuffer, SearchResults


def reading(name: str) -> Reading:
    return Reading(Hit(name, name), ReadOutcome.READ)


def test_the_record_of_a_cut_round_gives_the_same_round_again() -> None:
    first = RoundBuffer()
    first.searched = SearchResults((Hit("a", "a"),))
    first.readings = [reading("a")]
    again = RoundBuffer()
    again.searched = SearchResults((Hit("a", "a"),))
    again.readings = [reading("a"), reading("b")]
    again.keep_recorded(frozenset(first.keys))
    assert again.readings == first.readings
    assert again.searched == first.searched


def test_a_round_that_was_cut_before_its_search_has_none() -> None:
    gathered = RoundBuffer()
    gathered.searched = SearchResults((Hit("a", "a"),))
    gathered.keep_recorded(frozenset())
    assert gathered.searched == SearchResults(())
    assert gathered.keys == []

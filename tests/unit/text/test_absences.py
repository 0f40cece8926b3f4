"""Absences that are told in other words than a count over what was read."""

from __future__ import annotations

from corrobora.text.derivations import ReadDocument, ReadingSet, check_derivation, find_mention


def test_the_words_of_what_a_question_asks_may_stand_where_it_is_not_answered() -> None:
    """A page that only lists "safe-start" does not say what it does: that is for a model to decide."""
    texts = {"S1": "The small edition lacks the commands safe-start and safe-restart."}
    known = ReadingSet((ReadDocument("S1"),), lambda name, words: find_mention(texts[name], words), asked="safe-start")
    said = "What safe-start and safe-restart do was not found in what was read."
    assert not check_derivation(said, (), known).withholds
    assert check_derivation("The commands safe-start and safe-restart were not found.", (), known).holds is not True

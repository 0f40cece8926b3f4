"""Feedback: the names on which the best passages of several clauses agree."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from corrobora.text.ranking import (
    FEEDBACK_WEIGHT,
    MAX_FEEDBACK_NAMES,
    ScoredPassage,
    apply_feedback,
    find_agreed_names,
    select_feedback_passages,
)

QUESTION = "Which firm pays to be the default, is sued by a paper, and hides its chats?"


def seen(document, clauses, text, score=1.0):
    return ScoredPassage(document, frozenset(clauses), score, text)


def test_the_best_of_each_clause_and_of_the_whole_are_looked_at():
    clauses = [[(1, 9.0), (2, 8.0), (3, 7.0), (4, 6.0)], [(2, 5.0)]]
    found = select_feedback_passages({1: 0.1, 2: 0.2, 7: 3.0, 8: 2.0, 9: 1.0}, clauses)
    assert found == {1: {0}, 2: {0, 1}, 3: {0}, 7: set(), 8: set(), 9: set()}


def test_two_clauses_and_two_documents_must_agree_on_a_name():
    one = seen("a", [0], "Deals. The firm is Orbis, as the court heard.")
    assert list(find_agreed_names([one, seen("b", [1], "A paper sued Orbis today.")], QUESTION)) == ["orbi"]
    assert not find_agreed_names([one, seen("b", [0], "A paper sued Orbis today.")], QUESTION)
    assert not find_agreed_names([one, seen("a", [1], "A paper sued Orbis today.")], QUESTION)


def test_a_capital_that_opens_a_sentence_is_no_name_and_what_the_question_says_is_none_either():
    texts = ("Court of Default. Money went to the Default.", "Trial. Money came. Who pays for Default?")
    assert not find_agreed_names([seen("a", [0], texts[0]), seen("b", [1], texts[1])], QUESTION)


def test_few_names_are_taken_the_surest_first():
    names = "Arden Bellow Carrow Dunmore Ellery Farrow Garrow"
    passages = [
        seen("a", [0], f"They met {names}.", 1.0),
        seen("b", [1], f"They met {names}.", 1.0),
        seen("c", [2], "They met Garrow.", 0.5),
    ]
    found = find_agreed_names(passages, QUESTION)
    assert len(found) == MAX_FEEDBACK_NAMES
    assert next(iter(found)) == "garrow"


def test_only_candidates_are_raised_by_a_part_of_the_best_score():
    assert apply_feedback({1: 2.0, 2: 1.0}, {2: 4.0, 3: 9.0}) == {1: 2.0, 2: 1.0 + 2.0 * FEEDBACK_WEIGHT}
    assert apply_feedback({1: 2.0}, {}) == {1: 2.0}
    assert apply_feedback({1: 2.0}, {1: 5e-324}) == {1: 2.0 + 2.0 * FEEDBACK_WEIGHT}


@given(
    st.dictionaries(st.integers(0, 9), st.floats(0, 10), min_size=1),
    st.dictionaries(st.integers(0, 9), st.floats(0, 10)),
)
def test_nothing_is_lowered_and_nothing_raised_by_more_than_its_part(scores, spoken):
    raised = apply_feedback(scores, spoken)
    assert raised.keys() == scores.keys()
    assert all(scores[k] <= raised[k] <= scores[k] + FEEDBACK_WEIGHT * max(scores.values()) + 1e-9 for k in scores)

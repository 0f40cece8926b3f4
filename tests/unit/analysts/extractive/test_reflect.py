"""Reflect without a model: coverage, gaps, contradictions, what is next."""

from __future__ import annotations

import pytest
from tests.unit.analysts.extractive.samples import NEW_DOCUMENT, OLD_DOCUMENT, PARTS, QUESTION, document, facts_of, play
from tests.unit.policies.threads import one_round, thread

from corrobora.domain.plan import Brief, SubQuestion
from corrobora.policies.assessment import settle_round
from corrobora.roles.synthesize import Learned, reflect
from corrobora.text import phrases


def learned(facts=(), question=QUESTION, parts=PARTS, **more):
    values = {"path": "root", "question": question, "objective": "", "round": 1, "sub_questions": parts, "subjects": (),
              "facts": tuple(facts), "contradictions": (), "past_queries": (), "terms": (),
              "new_facts": len(facts)}  # fmt: skip
    return Learned(**{**values, **more})


def settled(facts, parts=PARTS, question=QUESTION):
    """The questions and gaps as the assessment has them after the extractive analyst has reflected."""
    state = thread(one_round(), facts=facts, sub_questions=parts, brief=Brief(question))
    state, proposal = settle_round(state, play(reflect, learned(facts, question, parts)))
    return {each.id: each.standing.value for each in state.sub_questions}, [gap.text for gap in proposal.gaps]


def asked_of(question, text, title="Notes", number=31):
    parts = (SubQuestion("sq-1", question),)
    return settled(facts_of(document(number, title, text), question=question, parts=parts), parts, question)


def test_without_facts_every_sub_question_is_a_gap():
    standings, gaps = settled(())
    assert set(standings.values()) == {"OPEN"}
    assert len(gaps) == len(PARTS)


def test_one_edition_lacks_the_other_side():
    _, gaps = settled(facts_of(OLD_DOCUMENT))
    assert any("side" in gap for gap in gaps)


def test_both_editions_answer_and_differ():
    facts = facts_of(OLD_DOCUMENT, NEW_DOCUMENT)
    assert "SHOULD NOT -> SHALL NOT" in {one.difference for one in play(reflect, learned(facts)).contradictions}
    assert set(settled(facts)[0].values()) == {"ANSWERED"}


def test_a_name_that_no_source_holds_is_a_gap():
    parts = (SubQuestion("sq-1", "What did Oskar Brandt say of thermal chambers?"),)
    facts = facts_of(
        OLD_DOCUMENT, question="What is a thermal chamber?", parts=(SubQuestion("sq-1", "What is a thermal chamber?"),)
    )
    standings, gaps = settled(facts, parts, parts[0].text)
    assert standings == {"sq-1": "OPEN"}
    assert gaps


def test_names_lead_on_and_names_nearest_to_the_relation_come_first():
    question = "Where was the director of The Long Kiln born?"
    parts = (SubQuestion("sq-1", question),)
    of = document(
        21, "The Long Kiln", "The Long Kiln is a British film of 1951 with Ann Castle, directed by Robert Marlow."
    )
    proposal = play(reflect, learned(facts_of(of, question=question, parts=parts), question, parts))
    assert proposal.next_topic == "Robert Marlow"


def test_the_order_of_facts_does_not_change_contradictions():
    facts = facts_of(OLD_DOCUMENT, NEW_DOCUMENT)
    assert play(reflect, learned(facts)).contradictions == play(reflect, learned(facts[::-1])).contradictions


def test_no_gap_names_a_word_that_no_statement_uses():
    question = "Wie wird das Brennen bei einer Wölbung und einer Mündung geführt?"
    standings, gaps = asked_of(question, "Das Brennen wird im Buch geführt und danach von der Aufsicht gezeichnet.")
    assert standings == {"sq-1": "OPEN"}
    assert gaps == [f"No statement that was read clearly answers this: {question}"]


def test_words_that_no_one_statement_says_together_answer_nothing():
    texts = ("The bell was cast in 1874. ", "Painters came in May. ", "An evening in the tower is long. ", "Be silent.")
    text = "\n\n".join(f"{each}Nothing else was written down on that page." for each in texts)
    assert asked_of("How do I silence the evening bell of a tower for painters?", text)[0] == {"sq-1": "OPEN"}


def test_both_sides_of_a_difference_may_stand_in_one_source():
    text = "Hall 9 was opened on 3 May 2017. Hall 10 was opened on 6 July 2019."
    _, gaps = asked_of("How do the opening dates of Hall 9 and Hall 10 differ?", text, "Halls")
    assert not any("second side" in gap for gap in gaps)


def test_a_number_of_what_is_counted_answers_only_if_it_speaks_of_the_rest():
    text = "Over 200 people came to the harbour for the wedding of the ferry's captain in spring."
    assert asked_of("How many people use it today?", text, "Ferry")[0] == {"sq-1": "OPEN"}


def test_how_often_is_answered_without_any_number():
    text = "The filter of the kiln must be cleaned every week by the keeper of the hall."
    assert asked_of("How often must the filter of the kiln be cleaned?", text, "Filter") == ({"sq-1": "ANSWERED"}, [])


@pytest.mark.parametrize(
    ("said", "likely", "standing"),
    [
        ("The hotel had 40 guests at a time. The harbour was quiet.", 0.9, "PARTIAL"),  # it holds little of the topic
        ("The hotel had 40 guests at a time. The harbour was quiet.", 0.1, "OPEN"),
        ("The hotel had 40 guests at a time. The harbour was quiet.", 0.3, "OPEN"),
        ("The hotel had 40 guests at a time. The harbour was quiet.", None, "OPEN"),
        ("In the busy summer season 40 guests of the old harbour hotel came by steamer.", 0.99, "ANSWERED"),
    ],
)
def test_a_question_is_answered_if_the_library_is_likely_to_and_a_statement_of_its_kind_holds_its_topic(
    said: str, likely: float | None, standing: str
):
    question = "How many guests of the old harbour hotel came by steamer in the busy summer season?"
    parts = (SubQuestion("sq-1", question, likely=likely),)
    standings, gaps = settled(facts_of(document(41, "Notes", said), question=question, parts=parts), parts, question)
    assert standings == {"sq-1": standing}
    assert any(gap.startswith(phrases.UNLIKELY) for gap in gaps) == (likely == 0.1)
    assert any(gap.startswith(phrases.UNCERTAIN) for gap in gaps) == (standing == "PARTIAL")


def test_many_guests_are_no_number_of_guests():
    question = "How many guests of the old harbour hotel came by steamer in the busy summer season?"
    parts = (SubQuestion("sq-1", question, likely=0.9),)
    said = document(42, "Notes", "The hotel had many guests. The harbour was quiet in the summer season.")
    assert settled(facts_of(said, question=question, parts=parts), parts, question)[0] == {"sq-1": "OPEN"}

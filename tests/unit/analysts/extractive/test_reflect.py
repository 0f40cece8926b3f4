"""Reflect without a model: coverage, gaps, contradictions, what is next."""

from __future__ import annotations

from tests.unit.analysts.extractive.samples import NEW_DOCUMENT, OLD_DOCUMENT, PARTS, QUESTION, document, facts_of, play

from corrobora.domain.plan import SubQuestion
from corrobora.roles.reflect import Learned, reflect


def learned(facts=(), question=QUESTION, parts=PARTS, **more):
    values = {"path": "root", "question": question, "objective": "", "round": 1, "sub_questions": parts, "subjects": (),
              "facts": tuple(facts), "contradictions": (), "past_queries": (), "terms": (),
              "new_facts": len(facts)}  # fmt: skip
    return Learned(**{**values, **more})


def test_without_facts_every_sub_question_is_a_gap():
    proposal = play(reflect, learned())
    assert {gap.target for gap in proposal.gaps} >= {"sq-1", "sq-2"}
    assert not proposal.done
    assert proposal.next_topic


def test_one_edition_lacks_the_other_side():
    proposal = play(reflect, learned(facts_of(OLD_DOCUMENT)))
    assert any("comparison" in gap.text or "side" in gap.text for gap in proposal.gaps)


def test_both_editions_answer_and_differ():
    proposal = play(reflect, learned(facts_of(OLD_DOCUMENT, NEW_DOCUMENT)))
    assert "SHOULD NOT -> SHALL NOT" in {one.difference for one in proposal.contradictions}
    assert set(proposal.answered) == {"sq-1", "sq-2"}


def test_a_name_that_no_source_holds_is_a_gap():
    asked = (SubQuestion("sq-1", "What did Oskar Brandt say of thermal chambers?"),)
    facts = facts_of(
        OLD_DOCUMENT, question="What is a thermal chamber?", parts=(SubQuestion("sq-1", "What is a thermal chamber?"),)
    )
    proposal = play(reflect, learned(facts, asked[0].text, asked))
    assert any("Oskar Brandt" in gap.text for gap in proposal.gaps)


def test_names_lead_on_and_names_nearest_to_the_relation_come_first():
    question = "Where was the director of The Long Kiln born?"
    parts = (SubQuestion("sq-1", question),)
    of = document(
        21, "The Long Kiln", "The Long Kiln is a British film of 1951 with Ann Castle, directed by Robert Marlow."
    )
    proposal = play(reflect, learned(facts_of(of, question=question, parts=parts), question, parts))
    assert proposal.next_topic == "Robert Marlow"
    assert not proposal.done


def test_the_order_of_facts_does_not_change_contradictions():
    facts = facts_of(OLD_DOCUMENT, NEW_DOCUMENT)
    assert play(reflect, learned(facts)).contradictions == play(reflect, learned(facts[::-1])).contradictions


def test_a_word_that_no_passage_uses_is_told_as_the_question_writes_it():
    asked = (SubQuestion("sq-1", "Wie wird das Brennen bei einer Wölbung und einer Mündung geführt?"),)
    of = document(31, "Regeln", "Das Brennen wird im Buch geführt und danach von der Aufsicht gezeichnet.")
    proposal = play(reflect, learned(facts_of(of, question=asked[0].text, parts=asked), asked[0].text, asked))
    assert any(
        "“Wölbung” or “Mündung”" in gap.text and "No statement that was found for this uses" in gap.text
        for gap in proposal.gaps
    )


def test_words_that_no_one_statement_says_together_are_a_gap():
    asked = (SubQuestion("sq-1", "How do I silence the evening bell of a tower for painters?"),)
    texts = ("The bell was cast in 1874. ", "Painters came in May. ", "An evening in the tower is long. ", "Be silent.")
    of = document(33, "Notes", "\n\n".join(f"{text}Nothing else was written down on that page." for text in texts))
    given = learned(facts_of(of, question=asked[0].text, parts=asked), asked[0].text, asked)
    proposal = play(reflect, given)
    assert proposal.gaps
    assert not proposal.answered


def test_both_sides_of_a_difference_may_stand_in_one_source():
    asked = (SubQuestion("sq-1", "How do the opening dates of Hall 9 and Hall 10 differ?"),)
    of = document(34, "Halls", "Hall 9 was opened on 3 May 2017. Hall 10 was opened on 6 July 2019.")
    proposal = play(reflect, learned(facts_of(of, question=asked[0].text, parts=asked), asked[0].text, asked))
    assert not any("second side" in gap.text for gap in proposal.gaps)


def test_a_word_of_the_same_family_is_said():
    asked = (SubQuestion("sq-1", "Welche Öfen werden unterstützt und gereinigt?"),)
    of = document(35, "Öfen", "Die unterstützten Öfen stehen in der Halle und werden dort jede Woche gereinigt.")
    proposal = play(reflect, learned(facts_of(of, question=asked[0].text, parts=asked), asked[0].text, asked))
    assert not any("unterstützt" in gap.text.split(":")[0] for gap in proposal.gaps)


def test_a_number_of_what_is_counted_answers_only_if_it_speaks_of_the_rest():
    asked = (SubQuestion("sq-1", "How many people use it today?"),)
    of = document(36, "Ferry", "Over 200 people came to the harbour for the wedding of the ferry's captain in spring.")
    proposal = play(reflect, learned(facts_of(of, question=asked[0].text, parts=asked), asked[0].text, asked))
    assert any("number that is asked for" in gap.text or "“today”" in gap.text for gap in proposal.gaps)


def test_how_often_is_answered_without_any_number():
    asked = (SubQuestion("sq-1", "How often must the filter of the kiln be cleaned?"),)
    of = document(37, "Filter", "The filter of the kiln must be cleaned every week by the keeper of the hall.")
    proposal = play(reflect, learned(facts_of(of, question=asked[0].text, parts=asked), asked[0].text, asked))
    assert not any("number" in gap.text for gap in proposal.gaps)

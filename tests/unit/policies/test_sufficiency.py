"""Sufficiency: evidence that lacks what the question names is not enough."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from corrobora.domain.evidence import Document, Fact, Passage, PassageId, Source, SourceId
from corrobora.domain.plan import SubQuestion, SubQuestionStatus
from corrobora.policies.selection import check_sufficiency, explain_refusal, find_on_topic_facts, find_required_names

TEXTS = [
    "In 2019 the ornithologist Marta Lindqvist counted 412 nests on the harbour roofs. Harbour Birds www.smh.com.au"
]


def test_what_the_question_names_must_stand_in_the_evidence():
    assert check_sufficiency("How many nests did Marta Lindqvist count on the harbour roofs?", (), TEXTS).enough
    refused = check_sufficiency("How many nests did Oskar Brandt and the Kestrel Institute count?", (), TEXTS)
    assert not refused.enough
    assert refused.missing == ("Oskar Brandt", "Kestrel Institute")


def test_an_outlet_may_stand_in_the_address():
    assert check_sufficiency(
        "What nests did Marta Lindqvist count, as The Sydney Morning Herald reported?", (), TEXTS
    ).enough


def test_a_question_without_names_needs_its_topic():
    assert check_sufficiency("How many nests were counted on harbour roofs?", (), TEXTS).enough
    assert not check_sufficiency("How do volcanoes erupt under glaciers?", (), TEXTS).enough


def test_no_text_is_never_enough_and_dates_anchor_nothing():
    assert not check_sufficiency("How many nests?", (), []).enough
    assert find_required_names("What did Reuters say on November 6?") == ("Reuters",)


@given(st.text(max_size=120), st.lists(st.text(max_size=80), max_size=4))
def test_more_evidence_never_makes_it_less(question, texts):
    if check_sufficiency(question, (), texts).enough:
        assert check_sufficiency(question, (), [*texts, "Something else."]).enough


def test_a_name_alone_is_no_evidence_for_what_is_asked_of_it():
    found = check_sufficiency("Which statute of Lindqvist regulates nuclear waste storage?", (), TEXTS)
    assert not found.enough
    assert {"nuclear", "waste"} <= set(found.missing)


def test_an_outlet_need_not_stand_in_what_it_printed():
    assert check_sufficiency("According to Reuters, how many nests did Marta Lindqvist count?", (), TEXTS).enough


def test_facts_that_answer_nothing_are_refused_with_what_is_lacking():
    source = Source(SourceId("S1"), "Harbour Birds", "birds", "h", "h")
    passage = Passage(PassageId("C1"), source.id, TEXTS[0], 0, len(TEXTS[0]), "")
    fact = Fact.from_quote(Document(source, TEXTS[0], (passage,)), passage, TEXTS[0][:60], answers=("sq-1",))
    assert fact is not None
    good = SubQuestion("sq-1", "How many nests did Marta Lindqvist count?", standing=SubQuestionStatus.ANSWERED)
    assert explain_refusal(good.text, [good], [fact]) == ""
    bad = SubQuestion(
        "sq-1",
        "Which tax on imported wine did Marta Lindqvist raise in the parliament?",
        standing=SubQuestionStatus.ANSWERED,
    )
    assert "parliament" in explain_refusal(bad.text, [bad], [fact])


def quoted(text, **more):
    source = Source(SourceId("S1"), "Harbour", "birds", "h", "h")
    passage = Passage(PassageId("C1"), source.id, text, 0, len(text), "")
    fact = Fact.from_quote(Document(source, text, (passage,)), passage, text, **more)
    assert fact is not None
    return fact


def test_a_statement_that_holds_much_of_the_topic_counts_without_the_names():
    question = "Does the Courier article by Oskar Brandt say that gulls nested on harbour roofs after the fire?"
    near = quoted("Gulls nested on the old roofs as soon as the fire was out.")
    assert find_on_topic_facts(question, [near, quoted("The fire brigade came late that evening.")]) == (near.id,)
    assert not find_on_topic_facts("Which gulls nested?", [quoted("Gulls nested on the old roofs by the sea.")])


def test_a_long_question_of_one_clause_needs_one_statement_that_holds_three_words_of_it():
    question = "What colour of roof paint did neighbours choose for repairing storm damage near harbour sheds?"
    asked = [SubQuestion("sq-1", question, standing=SubQuestionStatus.ANSWERED)]
    apart = [
        quoted("They liked the colour of the sky that morning.", answers=("sq-1",)),
        quoted("A storm was coming from the west.", answers=("sq-1",)),
        quoted("The harbour was quiet and the neighbours slept.", answers=("sq-1",)),
    ]
    assert explain_refusal(question, asked, apart)
    together = quoted("The neighbours chose green paint for the roof of the sheds.", answers=("sq-1",))
    assert explain_refusal(question, asked, [*apart, together]) == ""

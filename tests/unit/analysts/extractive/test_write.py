"""Write without a model: only sentences of the sources, and an honest "not found"."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from tests.unit.analysts.extractive.samples import (
    NEW_DOCUMENT,
    OLD_DOCUMENT,
    PARTS,
    QUESTION,
    document,
    facts_of,
    play,
)

from corrobora.analysts.extractive.contradictions import find_contradictions
from corrobora.analysts.extractive.fact_selection import RankedFact
from corrobora.analysts.extractive.judge import parse_sentences
from corrobora.analysts.extractive.write import _choose_opening
from corrobora.domain.evidence import FactId
from corrobora.domain.plan import SubQuestion, SubQuestionStatus
from corrobora.domain.thread import Gap
from corrobora.roles.synthesize import Material, Part, summarize, synthesize
from corrobora.text import phrases
from corrobora.text.tokens import fold_whitespace

FACTS = facts_of(OLD_DOCUMENT, NEW_DOCUMENT)
LAYOUTS = ("questions", "angles", "words", "completion")


def material(facts=FACTS, question=QUESTION, asked=PARTS, **more):
    values = {"path": "root", "purpose": "report", "question": question, "title": "", "sub_questions": asked,
              "parts": (Part("root", "Kilns", "", tuple(facts)),), "gaps": (),
              "contradictions": find_contradictions(facts)}  # fmt: skip
    return Material(**{**values, **more})


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("purpose", ["report", "gathering", "summary"])
def test_every_sentence_stands_in_a_source_and_cites_it(layout, purpose):
    draft = play(synthesize, material(layout=layout, purpose=purpose))
    sources = fold_whitespace(f"{OLD_DOCUMENT.text} {NEW_DOCUMENT.text}")
    labels = ("2015 edition", "2021 edition")
    assert parse_sentences(draft.body)
    for sentence in parse_sentences(draft.body):
        text = sentence.text
        for label in labels:
            text = text.removeprefix(f"{label}: ")
        assert sentence.markers, sentence
        assert text.rstrip(".!? ") in sources, sentence


@pytest.mark.parametrize("layout", [layout for layout in LAYOUTS if layout != "angles"])
def test_differences_stand_side_by_side_with_their_editions(layout):
    printed = "SHOULD NOT →" in play(synthesize, material(layout=layout)).body
    assert not printed  # the engine prints it, in every report
    if layout == "completion":
        return  # the completion report has no other form
    lines = play(synthesize, material(layout=layout, purpose="gathering")).body.splitlines()
    at = lines.index("### SHOULD NOT → SHALL NOT (2015 edition → 2021 edition)")
    assert "[S1:C1]" in lines[at + 2]
    assert "[S2:C2]" in lines[at + 3]


def test_a_report_by_angles_compares_in_a_table():
    body = play(synthesize, material(layout="angles")).body
    row = next(line for line in body.splitlines() if "SHALL NOT |" in line)
    assert row.index("2015 edition") < row.index("[S1:C1]") < row.index("2021 edition") < row.index("[S2:C2]")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_without_evidence_the_report_says_so_plainly(layout):
    body = play(synthesize, material(facts=(), layout=layout)).body
    assert phrases.NO_EVIDENCE in body
    assert parse_sentences(body) == []


def test_a_sub_question_without_facts_is_named():
    parts = (*PARTS, SubQuestion("sq-9", "Who paints the harbour gates?"))
    body = play(
        synthesize, material(asked=parts, gaps=(Gap("No evidence for: Who paints the harbour gates?", "sq-9"),))
    ).body
    assert f"## Who paints the harbour gates?\n\n{phrases.NO_EVIDENCE} for this." in body


def test_the_angle_layout_has_its_form():
    parts = (Part("root/1", "Opening", "", FACTS[:3], angle="opening"), Part("root/2", "Inspection", "", FACTS[3:]))
    body = play(synthesize, material(layout="angles", parts=parts, uncovered=("Fuel",))).body
    lines = body.splitlines()
    assert lines[0].startswith("# ")
    assert [line for line in lines if line.startswith("## ")][:2] == ["## 1. Opening", "## 2. Inspection"]
    assert "## Conclusion" in lines
    assert lines.count("---") >= 2
    assert re.search(r"\*\*\d+ months\*\*", body)
    assert f"{phrases.NO_COVERAGE}: Fuel" in body


def test_words_stay_within_the_limit_and_a_summary_is_short():
    long = play(synthesize, material(words_max=2_000)).body
    short = play(synthesize, material(words_max=40)).body
    assert len(short.split()) < len(long.split())
    assert "#" not in play(summarize, material(purpose="summary")).body


def test_the_order_of_facts_does_not_matter():
    turned = material(parts=(Part("root", "Kilns", "", FACTS[::-1]),))
    assert play(synthesize, turned) == play(synthesize, material())


WALL = document(
    41, "Kiln Hall", "The kiln hall of Ardal has brick walls. Its walls were painted in spring by the guild."
)


def test_where_no_statement_gives_what_is_asked_the_report_says_so_before_what_comes_nearest():
    asked = (SubQuestion("sq-1", "How thick are the walls of the kiln hall?"),)
    gap = Gap(f"No statement that was read gives the number that is asked for: {asked[0].text}", "sq-1")
    facts = facts_of(WALL, question=asked[0].text, parts=asked)
    body = play(synthesize, material(facts, asked[0].text, asked, gaps=(gap,), layout="questions")).body
    first = body.split("\n\n")[1]
    assert first == "No statement that was read gives the number that is asked for. Passages near the question follow."
    assert body.count("brick walls [S41:C41]") == 1


def test_of_several_questions_the_one_without_an_answer_says_so_under_its_heading():
    asked = (
        SubQuestion("sq-1", "How thick are the walls of the kiln hall?"),
        SubQuestion("sq-2", "Who painted the walls of the kiln hall?"),
    )
    gap = Gap(f"No statement that was read gives the number that is asked for: {asked[0].text}", "sq-1")
    facts = facts_of(WALL, question=" ".join(part.text for part in asked), parts=asked)
    body = play(synthesize, material(facts, "About the hall", asked, gaps=(gap,), layout="questions")).body
    assert "## How thick are the walls of the kiln hall?\n\nNo statement that was read gives the number" in body


def test_where_no_part_of_a_question_is_answered_the_opening_says_so():
    asked = (
        SubQuestion("sq-1", "How thick are the walls of the kiln hall?"),
        SubQuestion("sq-2", "How high are the walls of the kiln hall?"),
    )
    missing = "No statement that was read gives the number that is asked for"
    facts = facts_of(WALL, question=" ".join(part.text for part in asked), parts=asked)

    def open_report(reasons):
        gaps = tuple(Gap(f"{reason}: {part.text}", part.id) for reason, part in zip(reasons, asked, strict=False))
        body = play(synthesize, material(facts, "About the hall", asked, gaps=gaps, layout="questions")).body
        return body.split("\n\n")[1]

    assert open_report([missing, missing]) == f"{missing}. Passages near the question follow."
    assert open_report([missing, phrases.UNLIKELY]) == f"{phrases.NO_ANSWER}. Passages near the question follow."
    assert "Passages near" not in open_report([missing])
    gaps = tuple(Gap(f"{phrases.NO_ANSWER}: {part.text}", part.id) for part in asked)
    told = play(synthesize, material(facts, "About the hall", asked, gaps=gaps, layout="questions")).body
    assert told.count(phrases.NO_ANSWER) == 1, "what the opening says is not said again of each part"
    assert phrases.NO_EVIDENCE not in told


def test_an_answered_question_is_opened_by_its_answer_without_what_other_passages_add():
    question = "How thick are the walls of the kiln hall?"
    hall = document(
        42,
        "Kiln Hall",
        "The walls of the kiln hall are four feet thick, says the book of the guild on its first page, which is lost.",
    )
    ivy = document(12, "Diary", "Around the kiln hall, thick walls of ivy were cut in spring.")
    men = document(13, "Log", "The kiln hall has walls that 12 men painted.")  # a number, too, though another one
    facts = facts_of(hall, ivy, men, question=question)
    asked = (SubQuestion("sq-1", question),)

    def open_report(asked):
        return play(synthesize, material(facts, question, asked, layout="questions")).body.split("\n## ")[0]

    opening = open_report(asked)
    assert "ivy" in opening, "where nothing is answered, what is near helps"
    assert "12 men" in opening
    told = open_report((replace(asked[0], standing=SubQuestionStatus.ANSWERED),))
    assert "ivy" not in told
    assert "12 men" not in told
    assert "four feet" in told


@pytest.mark.parametrize(("share", "opens"), [(0.5, False), (1.0, True)])
def test_an_answered_question_is_opened_by_what_holds_more_of_its_topic_as_well(share: float, opens: bool):
    """What made a report complete stood far below, as another statement was worth more."""
    first, other = FACTS[0], next(fact for fact in FACTS if fact.passage != FACTS[0].passage)
    own = [RankedFact(first, 1.0, frozenset(), share=0.5), RankedFact(other, 0.3, frozenset(), share=share)]
    assert (other.id in _choose_opening(own, answered=True)) == opens


def test_a_part_that_no_statement_is_counted_for_is_answered_from_all_of_them():
    asked = (SubQuestion("sq-1", "Who painted the walls?"), SubQuestion("sq-2", "What of the roof?"))
    facts = tuple(replace(fact, answers=()) for fact in facts_of(WALL, question=asked[0].text, parts=asked))
    body = play(synthesize, material(facts, "The hall", asked, layout="questions")).body
    assert "painted in spring" in body.partition("\n## ")[0]


def test_a_number_answers_though_another_sentence_holds_more_words():
    asked = (SubQuestion("sq-1", "What is the maximum size of a tray or a lid?"),)
    text = (
        "The maximum size of a tray or a lid can be lowered by the keeper at any time. "
        "The hall only supports a tray or lid up to 2147483 or less."
    )
    facts = facts_of(document(43, "Trays", text), question=asked[0].text, parts=asked)
    body = play(synthesize, material(facts, asked[0].text, asked, layout="questions")).body
    assert "2147483" in body.split("\n\n")[1]


def test_releases_that_titles_name_are_editions_where_they_are_compared():
    asked = "How did the opening of kilns change between release 1.4.0 and 2.0.0?"
    old = document(21, "Kiln rules 1.4.0", "Kilns are opened by the fitter after a rest of two full days in the room.")
    new = document(22, "Kiln rules 2.0.0", "Kilns are opened by any member after a rest of one full day in the room.")
    parts = (SubQuestion("sq-1", asked),)
    body = play(synthesize, material(facts_of(new, old, question=asked, parts=parts), asked, parts)).body
    first, second = f"{phrases.STATED_IN} version 1.4.0:", f"{phrases.STATED_IN} version 2.0.0:"
    assert body.index(first) < body.index("two full days") < body.index(second) < body.index("one full day")
    alone = asked.replace("change between release 1.4.0 and 2.0.0", "go on in this house")
    parts = (SubQuestion("sq-1", alone),)
    assert phrases.STATED_IN not in play(synthesize, material(facts_of(new, old), alone, parts)).body


def test_of_two_statements_that_say_as_much_the_shorter_one_opens_the_report():
    """In a long sentence some words are those of the question by chance, and it takes the room of others."""
    long = (
        "The kiln lid, which stands beside the bench where the glazes are mixed and the shelves for drying, all of "
        "them painted in the spring, is closed at 250 degrees by whoever fires it."
    )
    short = "The lid of the oven, the kiln, is closed at 300 degrees."
    asked = "At what temperature is the kiln lid closed?"
    part = (SubQuestion("sq-1", asked),)
    documents = (document(1, "Notes", long), document(2, "Notes", short))
    facts = facts_of(*documents, question=asked, parts=part)
    body = play(synthesize, material(facts, asked, part, contradictions=())).body
    assert body.index("The lid of the oven") < body.index("which stands beside")


def test_where_a_release_is_asked_for_what_passes_the_answer_test_opens_the_report():
    asked = "In which version was CPR support added to the mill?"
    part = (SubQuestion("sq-1", asked),)
    other = document(1, "mill", "Version 1.22.95 of the mill added support for bells.")
    said = "CPR support came to the mill in version 1.29.92, in which the sacks, sieves and bells were painted, too."
    facts = facts_of(other, document(2, "CPR backend", said), question=asked, parts=part)
    body = play(synthesize, material(facts, asked, part, contradictions=())).body
    assert 0 < body.find("1.29.92") < body.find("1.22.95")


def test_what_refers_to_something_that_is_not_quoted_stands_behind_what_does_not():
    """A reader of the opening has nothing before it that "it" could be."""
    asked = "When is the kiln lid closed?"
    part = (SubQuestion("sq-1", asked),)
    said = "It is closed with the kiln lid on Mondays by the fitter, who has the only key of the house."
    leaning = document(1, "Notes", said)
    whole = document(
        2, "Notes", "The lid of the oldest and largest kiln in the cellar of the house is closed on Fridays."
    )
    facts = facts_of(leaning, whole, question=asked, parts=part)
    body = play(synthesize, material(facts, asked, part, contradictions=())).body
    assert body.index("on Fridays") < body.index("on Mondays")


def test_where_a_number_is_asked_for_a_statement_that_passes_the_answer_test_opens_the_report():
    about = "A kiln has a synopsis for long years."
    number = "The synopsis should be kept brief, certainly under 80 characters, as lines that are longer are cut."
    asked = "How long may the synopsis of a kiln be?"
    part = (SubQuestion("sq-1", asked),)
    documents = (document(1, "Notes", about), document(2, "Description of a kiln", number))
    facts = facts_of(*documents, question=asked, parts=part)
    body = play(synthesize, material(facts, asked, part, contradictions=())).body
    assert body.index("80 characters") < body.index("A kiln has")


def test_a_long_quote_answers_each_part_with_another_sentence_of_it():
    quote = (
        "The lid of the kiln is moved by a chain, which is oiled by the keeper on the first day of every month. "
        "It can be used where the hand does not reach, as over the shelves at the back of the hall, and is quiet. "
        "It is never hung up by anybody but the keeper, who counts its links each year before the first firing. "
        "Note that there is a small risk of burns from the chain, so gloves are worn."
    )
    asked = (
        SubQuestion("sq-1", "What moves the lid of the kiln?"),
        SubQuestion("sq-2", "What is the risk of the chain?"),
    )
    (fact,) = facts_of(document(51, "Lids", quote), question="The lid", parts=asked)[:1]
    best = replace(fact, quote=quote, claim=quote, answers=("sq-1", "sq-2"))
    other = replace(
        fact,
        id=FactId("F2"),
        quote="The hall has its risk, and the keeper knows what it costs in a year of use.",
        claim="",
        answers=("sq-2",),
    )
    facts = (best, other)
    body = play(synthesize, material(facts, "The lid", asked, layout="questions")).body
    opening = body.split("\n## ")[0]
    assert "moved by a chain" in opening
    assert "risk of burns" in opening
    assert body.count("moved by a chain") == 1


def test_two_things_are_no_editions_though_each_document_has_one():
    """Of two options of one manual, each is told where it is asked about: no counterpart is looked for elsewhere."""
    asked = "What is the difference between --fire and --idle?"
    parts = (SubQuestion("sq-1", "What is --fire?"), SubQuestion("sq-2", "What is --idle?"))
    text = "With --fire no more than ten kilns are opened a day.\n\nWith --idle a kiln rests for two full days."
    documents = (
        document(61, "fire", text, version="fire 3.5"),
        document(62, "kilns", text, version="kilns of fire 3.5"),
    )
    facts = facts_of(*documents, question=asked, parts=parts)
    body = play(synthesize, material(facts, asked, parts, contradictions=())).body
    opening = body.split("\n## ")[0]
    assert opening.index("ten kilns") < opening.index("two full days")
    assert phrases.UNCHANGED not in opening

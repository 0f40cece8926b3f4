"""Answers: what is asked for, and which sentence is of that kind."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.text.answers import AnswerKind, classify_question, find_place, score_answer_fit


@pytest.mark.parametrize(
    ("question", "good", "poor"),
    [
        ("How long must a password be?", "It shall be at least 8 characters.", "It shall not be shared."),
        ("How long does the trial last?", "The trial lasts 30 days.", "The trial is free."),
        ("How often must the filter be changed?", "It must be changed every 6 months.", "It must be clean."),
        ("How many nests were counted?", "She counted 412 nests.", "She left in 2019."),
        ("How much does the licence cost?", "It costs 40 euros.", "It can be bought online."),
        ("Wie lange dauert die Prüfung?", "Sie dauert sechs Wochen.", "Sie ist am Ende schwer."),
        ("Wie viel kostet die Karte?", "Sie kostet 12,50 Euro.", "Sie gilt am Abend."),
        ("Wie viele Gäste kamen?", "Es kamen 180 Gäste.", "Es war laut."),
        ("Wann wird das Wasser abgestellt?", "Am 25. Oktober wird es abgestellt.", "Es wird abgestellt."),
        ("Warum ist das Tor zu?", "Es ist zu, weil es klemmt.", "Es ist zu."),
        ("Wer leitet den Verein?", "Ute Brandt leitet ihn.", "er wird geleitet."),
        ("What time does the shop open?", "It opens at 9:30.", "It opens daily."),
        ("When is the fair?", "The fair is on 11 May.", "The fair may be held."),
        ("When was the bridge built?", "It was built in 1931.", "It was built of steel."),
        ("Who designed the bridge?", "Marta Lindqvist designed it.", "It was designed well."),
        ("Why was the road closed?", "Since it was icy, it was closed.", "It is closed since Friday."),
        ("Where is the archive kept?", "It is kept in Tarnholm.", "It is kept safe."),
        ("Why was the road closed?", "It was closed because of ice.", "It was closed."),
        ("What is a thermal chamber?", "A thermal chamber is a box.", "Open the thermal chamber."),
        ("May visitors take photographs?", "Visitors may not use a flash.", "Visitors come by bus."),
        ("What is the largest size of a tray?", "Trays go up to 2147483 or less.", "Trays of 1998 are gone."),
        ("How many trays can a kiln hold?", "The limit of trays is 64.", "A kiln has 2 doors and holds trays."),
        ("What is the limit of trays?", "tray_limit: 64; door: none.", "tray_limit: none; door: closed."),
        ("Who was against the bridge?", "M. Lindqvist was against it.", "Lindqvist was against it."),
        ("Whom do I ask about a lost key?", "Then write to keys@mill.example.", "Then ask for another key."),
        ("Which numbers of trays are allowed?", "The limit is 64.", "Trays are allowed."),
        ("Who may use the kiln?", "Everyone of age may use it.", "Marta Lindqvist has a kiln."),
        ("How many characters fit in one line?", "A line holds 70 chars.", "A line of 70 holds much."),
        ("How long is the vote open?", "It is open for a week.", "It is open once a week."),
        ("What is the kiln trick?", "This is often called the kiln trick.", "He called the keeper of the kiln."),
        ("Which tools are needed?", "A saw, a file, and a clamp are needed.", "Tools are needed."),
    ],
)
def test_a_sentence_of_the_kind_asked_for_fits_better(question, good, poor):
    assert score_answer_fit(good, classify_question(question)) > score_answer_fit(poor, classify_question(question))


def test_a_number_with_a_duty_fits_best_where_both_are_asked():
    wanted = classify_question("How long must a password be?")
    assert wanted.duty
    assert wanted.quantified
    assert score_answer_fit("It shall be at least 8 characters.", wanted) > score_answer_fit(
        "Many are 8 characters.", wanted
    )


def test_a_name_of_the_question_is_no_answer_to_who():
    assert score_answer_fit("Karl Weber was there.", classify_question("Who met Karl Weber?")) == 0.0


def test_kinds_are_read_from_the_words():
    assert classify_question("How did the rules on lamp size change between the editions?").quantified
    assert not classify_question("How did the rules on lamps change between the editions?").quantified
    assert classify_question("What percentage of nests failed?").kinds == {AnswerKind.AMOUNT}
    assert classify_question("Is smoking permitted on deck?").duty
    assert classify_question("At which time does the mill open?").kinds == {AnswerKind.CLOCK}
    assert not classify_question("Which settings, with which defaults and time limits, rule the mill?").kinds
    assert classify_question("Which release of Mill brought the sieve?").kinds == {AnswerKind.RELEASE}


def test_a_sentence_that_names_another_release_fits():
    dropped = classify_question("Which release dropped Mill 3.7?")
    assert score_answer_fit("Mill 3.7 was dropped.", dropped) == 0.0
    assert score_answer_fit("Dropped in 3.11.0.", dropped) == 1.0
    assert find_place("News > 3.11.0 > Removed", dropped) == "3.11.0"


def test_a_date_that_is_a_heading_stands_with_the_heading_that_it_dates():
    when = classify_question("When was Mill 3.7 released?")
    assert find_place("News > Mill 3.7 > Mar 5, 2018 > Highlights", when) == "Mill 3.7 > Mar 5, 2018"
    assert find_place("News > Mill 3.7 (Mar 5, 2018)", when) == "Mill 3.7 (Mar 5, 2018)"
    assert find_place("Mar 5, 2018", when) == "Mar 5, 2018"


@given(st.text(max_size=300), st.text(max_size=120))
def test_every_share_is_a_share(text, question):
    assert 0.0 <= score_answer_fit(text, classify_question(question)) <= 1.0

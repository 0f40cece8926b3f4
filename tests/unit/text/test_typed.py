"""Typed comparison: each kind of difference is told with its words, and none where there is none."""

from __future__ import annotations

import re

import pytest

from corrobora.text.bindings import find_foreign_names
from corrobora.text.reading import read_evidence
from corrobora.text.support import Evidence, Support, check_support
from corrobora.text.typed import compare_sentence

UNITS = (
    "The clinic treated 40 women between 3 May and 9 June 2020, and most of them may have been infected abroad.",
    "According to the ministry, the wells were closed unless they had been tested by a laboratory.",
)


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("The clinic treated 40 men.", "men"),
        ("All of the 40 women were treated.", "All"),
        ("The clinic treated 40 women in July 2020.", "July 2020"),
        ("The clinic treated 40 women on 4 May 2020.", "4 May 2020"),
        ("The clinic of Torrin treated 40 women.", "Torrin"),
        ("The clinic treated 44 women.", "44"),
    ],
)
def test_what_differs_is_named(sentence: str, words: str) -> None:
    reading = read_evidence(UNITS, "")
    found = (*find_foreign_names(sentence, reading), *compare_sentence(sentence, reading))
    assert words in [problem.words for problem in found]


def test_a_speaker_that_is_left_out_is_told() -> None:
    found = compare_sentence("The wells were closed.", read_evidence(UNITS, ""))
    assert "it leaves out “According to”" in [problem.reason for problem in found]


def test_who_speaks_of_all_of_what_its_source_does_not_name_is_not_supported() -> None:
    fee = [Evidence("The fee for students is 20 euros a year.")]
    for who in ("All members", "Most members", "Only members"):
        assert check_support(f"{who} pay a fee of 20 euros a year.", fee).support is Support.UNCLEAR
    assert check_support("All students pay a fee of 20 euros a year.", fee).support is Support.SUPPORTED


@pytest.mark.parametrize(
    ("sentence", "quote", "word"),
    [
        ("Pain was mild in all of the wards.", "Each nurse reported it: pain was mild in 94 % of wards.", "all"),
        ("In 2014 all five locks were closed.", "Three of the five locks were closed in 2014.", "all"),
        (
            "A keeper may open the lock at any time.",
            "A keeper may open every lock while a fault is feared.",
            "any time",
        ),
    ],
)
def test_truth_3_all_of_what_the_source_restricts_is_not_supported(sentence: str, quote: str, word: str) -> None:
    found = check_support(sentence, [Evidence(quote)])
    assert found.support is not Support.SUPPORTED
    assert any(word in each for each in found.failing)


def test_truth_3_a_bound_turned_round_is_denied() -> None:
    barge = [Evidence("The lock stays open to barges of up to 12 tonnes.")]
    assert check_support("The lock stays open to barges of at least 12 tonnes.", barge).support is Support.CONTRADICTED
    assert (
        check_support("The lock stays open to barges of at most 12 tonnes.", barge).support is not Support.CONTRADICTED
    )
    rest = [Evidence("Barges of more than 12 tonnes must wait outside.")]
    assert not check_support("Barges of at most 12 tonnes may pass.", rest).withholds  # what is left of all
    trial = [Evidence("Over an 18-month trial the lock leaked.")]
    assert not check_support("The lock leaked for up to 18 months.", trial).withholds


def test_a_true_restatement_has_no_problem() -> None:
    sentence = "The clinic treated forty women from 3 May to 9 June 2020."
    assert [problem for problem in compare_sentence(sentence, read_evidence(UNITS, "")) if problem.false] == []


def test_a_compound_is_compared_clause_by_clause() -> None:
    sentence = "The wells were closed unless they had been tested, and the clinic treated 400 women."
    assert any(problem.false for problem in compare_sentence(sentence, read_evidence(UNITS, "")))


@pytest.mark.parametrize(
    ("evidence", "sentence"),
    [
        ("Of the 1,250 households asked, 250 had no heating.", "One in five of the households had no heating."),
        ("Turnout rose from 48 % to 61 %.", "Turnout rose by 13 percentage points."),
        ("Each crate holds 12 bottles, and a pallet takes 40 crates.", "A pallet takes 480 bottles."),
        ("Members pay 36 euros a year. Pupils pay half.", "Pupils pay 18 euros a year."),
        ("Trains run every 15 minutes.", "Four trains an hour run."),
        ("The bus leaves at 7:40 and arrives at 8:25.", "The bus takes 45 minutes."),
        ("The estate was sold for £4,000, a third of its value.", "Its value was £12,000."),
        ("The tower was finished in 1889, two years later than planned.", "The tower was planned for 1887."),
        ("The talk starts at 3 pm.", "The talk starts at 15:00."),
        ("The cache holds 2 GiB.", "The cache holds 2,048 MiB."),
    ],
)
def test_a_number_that_may_be_computed_is_not_called_false(evidence: str, sentence: str) -> None:
    reading = read_evidence((evidence,), "")
    assert not any(problem.false for problem in compare_sentence(sentence, reading))
    digits = re.search(r"\d[\d,]*", sentence)
    if digits:
        wrong = sentence.replace(digits.group(), "7,771")
        assert any(problem.false for problem in compare_sentence(wrong, reading))


@pytest.mark.parametrize(
    ("evidence", "true", "false"),
    [
        ("Turnout rose to 61 % in 2019, then declined in 2023.", "In 2023 turnout fell.", "In 2023 turnout grew."),
        ("The outer basin freezes before the inner one.", "The inner basin freezes later than the outer one.",
         "The inner basin freezes earlier than the outer one."),
        ("The vaccine lowered the rate of admissions to 6.2.", "Admissions fell to 6.2.", "Admissions rose to 6.2."),
    ],
)  # fmt: skip
def test_opposite_directions_and_swapped_sides_are_told(evidence: str, true: str, false: str) -> None:
    reading = read_evidence((evidence,), "")

    def differs(said: str) -> bool:
        return any("it says" in each.reason or "order" in each.reason for each in compare_sentence(said, reading))

    assert (differs(true), differs(false)) == (False, True)


def test_a_denial_withholds_only_a_sentence_about_the_same_thing() -> None:
    reading = read_evidence(("The study of patients with non-insulin dependent diabetes ran in Dundee.",), "")
    sentence = "In Dundee, patients with diabetes not dependent on insulin were studied."
    assert not any(problem.false for problem in compare_sentence(sentence, reading))


@pytest.mark.parametrize(
    ("sentence", "false"),
    [
        ("At 63 metres, the cable is longer than the rope of 15 metres.", True),
        ("The cable has between 40 and 50 metres.", False),
        ("The cable has 40 metres to 50 metres.", False),
    ],
)
def test_only_the_ends_of_a_range_hold_what_lies_between(sentence: str, false: bool) -> None:
    reading = read_evidence(("The cable has 47 metres.", "The rope has 15 metres."), "")
    assert any(problem.false for problem in compare_sentence(sentence, reading)) is false


def test_a_negation_beside_an_obligation_is_compared() -> None:
    reading = read_evidence(("The keeper must lock the gate when the lamp is lit.",), "")
    told = compare_sentence("The keeper must lock the gate when the lamp is not lit.", reading)
    assert any("negation" in each.reason for each in told)
    assert compare_sentence("When the lamp is lit, the keeper must lock the gate.", reading) == ()


def test_what_is_bound_to_a_thing_is_no_obligation() -> None:
    reading = read_evidence(("A lamp bound to a pole collides with the boats.",), "")
    told = compare_sentence("A lamp bound to a pole does not collide with the boats.", reading)
    assert any(each.contradicts for each in told)


def test_a_superlative_that_no_source_has_is_told() -> None:
    told = read_evidence(("The bridge of Arden is 90 metres long.",), "")
    assert "longest" in {each.words for each in compare_sentence("The bridge of Arden is the longest.", told)}
    said = read_evidence(("The longest bridge is that of Arden.",), "")
    assert not compare_sentence("The bridge of Arden is the longest.", said)


def test_an_amount_of_a_title_alone_supports_nothing_where_the_text_gives_another() -> None:
    """A title may give the amount that a question asks for: whether it is said of the same thing is left open."""
    quote = "The gates must be greased every 11 days, and the pond may stand at most 200 centimetres high."
    titled = Evidence(quote, title="Say [1] that the gates must be greased every 777 days", published="2021")
    assert check_support("The gates must be greased every 777 days [1].", [titled]).support is Support.UNCLEAR
    assert check_support("The gates must be greased every 11 days.", [titled]).support is Support.SUPPORTED


def test_a_count_of_what_the_text_lists_itself_is_left_to_a_reader() -> None:
    """A source seldom counts its own steps; a number of anything else must stand in it."""
    steps = [Evidence("Start the pump by hand."), Evidence("Open the valve. This step is only required in frost.")]
    assert not check_support("Of these 2 steps the second is only required in frost.", steps).withholds
    assert check_support("The pump has 2 valves.", steps).withholds


@pytest.mark.parametrize(
    ("sentence", "computed"),
    [
        ("The bell rings 5 seconds before the end of 30, after 25 seconds.", True),
        ("It rings after 30 - 5 = 25 seconds.", True),
        ("The bell rings 5 seconds before the end of 30, after 20 seconds.", False),
        ("The bell rings after 25 seconds.", False),
    ],
)
def test_a_number_that_follows_from_two_that_are_stated_is_doubted_and_any_other_withheld(
    sentence: str, computed: bool
) -> None:
    quotes = [Evidence("The bell rings 5 seconds before the end."), Evidence("lamp_time (in seconds). Default: 30")]
    found = check_support(sentence, quotes)
    assert ("may be computed" in "; ".join(found.reasons), found.withholds) == (computed, not computed)

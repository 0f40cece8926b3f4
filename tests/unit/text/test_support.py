"""Scoring: the weights ship with the package, and more of a sentence in its evidence never scores less."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.plugins.growth import LINEAR, measure_growth

from corrobora.domain.evidence import fold_typography
from corrobora.domain.report import Support
from corrobora.text.bindings import find_foreign_names
from corrobora.text.clauses import split_statement
from corrobora.text.reading import read_evidence
from corrobora.text.support import (
    FEATURES,
    Evidence,
    SupportCheck,
    check_support,
    find_numbers,
    load_weights,
    measure_features,
    score_support,
)
from corrobora.text.tokens import token_overlap

WORDS = st.lists(st.sampled_from("lake dam water river stone mill bridge boat".split()), min_size=3, max_size=12)


def test_the_shipped_weights_have_every_feature() -> None:
    weights = load_weights()
    assert len(weights.weights) == len(FEATURES)
    assert 0.0 < weights.unsupported < weights.supported < 1.0


@given(WORDS, WORDS)
def test_a_copy_scores_higher_than_foreign_words(words: list[str], others: list[str]) -> None:
    sentence = " ".join(words)
    copied = measure_features(sentence, read_evidence((sentence,), ""), ())
    foreign = measure_features(sentence, read_evidence((" ".join(f"x{each}" for each in others),), ""), ())
    assert len(copied) == len(FEATURES)
    assert score_support(copied, load_weights()) > score_support(foreign, load_weights())


@given(st.text(max_size=200), st.lists(st.text(max_size=200), max_size=4))
def test_any_text_has_a_score(sentence: str, units: list[str]) -> None:
    features = measure_features(sentence, read_evidence(tuple(units), ""), ())
    assert 0.0 <= score_support(features, load_weights()) <= 1.0


LAKE = "The reservoir at Lake Arden held 4,200 million litres in March 2021, after 18 months of drought."
RULE = (
    "Verifiers SHALL NOT require users to change passwords periodically. However, verifiers SHALL force a change if "
    "there is evidence of compromise of the authenticator. Passwords SHALL be at least 8 characters long."
)
DOSE = "Take 5 mg of the powder twice a day unless your doctor says otherwise."
DEAL = "Jones Holdings acquired Smith Ltd in 2019 for $5 million. Smoking was associated with lower survival in mice."


def check(sentence: str, *quotes: str) -> SupportCheck:
    return check_support(sentence, [Evidence(quote) for quote in quotes])


def test_a_slice_of_a_quote_is_supported() -> None:
    assert check(LAKE, LAKE).support is Support.SUPPORTED
    assert check("The reservoir at Lake Arden\n held 4,200 million litres.", LAKE).support is Support.SUPPORTED


def test_a_slice_may_stand_at_several_places() -> None:
    quote = "Unless it rains, Pump 7 of Ardal runs at night. It was built of brass. Pump 7 of Ardal runs at night."
    assert check("Pump 7 of Ardal runs at night.", quote).support is Support.SUPPORTED


def test_without_a_quote_it_is_uncited() -> None:
    assert check("Anything at all.").support is Support.UNCITED


@pytest.mark.parametrize(
    ("sentence", "quote"),
    [
        ("In March 2021 Lake Arden held 4.2 billion litres after drought.", LAKE),
        ("Take .005 g of the powder twice a day unless your doctor says otherwise.", DOSE),
        ("Passwords must be at least eight characters long.", RULE),
        ("Passwords must have 8 characters or more.", RULE),
        ("Verifiers must not require users to change passwords periodically.", RULE),
        ("Smith Ltd was acquired by Jones Holdings in 2019 for five million dollars.", DEAL),
        ("Of the 400 patients, 0.12 had a fever.", "Of the 400 patients, 12 % had a fever."),
        ("The box holds 12 eggs.", "The box holds a dozen eggs."),
    ],
)
def test_truth_3_other_words_and_units_for_the_same_are_supported(sentence: str, quote: str) -> None:
    assert check(sentence, quote).support is Support.SUPPORTED


@pytest.mark.parametrize(
    ("sentence", "quote", "failing"),
    [
        ("In March 2021 Lake Arden held 4,300 million litres after drought.", LAKE, "4,300 million litres"),
        ("In March 2022 Lake Arden held 4,200 million litres after drought.", LAKE, "March 2022"),
        ("Lake Arden was low after 18 weeks of drought.", LAKE, "18 weeks"),
        ("Take 5 g of the powder twice a day unless your doctor says otherwise.", DOSE, "5 g"),
        ("Passwords must be at least 64 characters long.", RULE, "64"),
        ("The lake covers 10 metres of the shore.", "The lake covers 10² metres of the shore.", "10 metres"),
        ("Verifiers SHALL require users to change passwords periodically.", RULE, "SHALL"),
        ("Verifiers SHOULD NOT require users to change passwords periodically.", RULE, "SHOULD NOT"),
        ("Passwords MAY be at least 8 characters long.", RULE, "MAY"),
        ("The committee did approve the new bridge.", "The committee did not approve the new bridge.", "approve"),
        ("The committee did not approve the bridge.", "The committee did approve the new bridge.", "approve"),
    ],
)
def test_truth_3_a_changed_amount_date_obligation_or_polarity_withholds(
    sentence: str, quote: str, failing: str
) -> None:
    found = check(sentence, quote)
    assert found.withholds
    assert found.support in (Support.UNSUPPORTED, Support.CONTRADICTED)
    assert failing in found.failing
    assert found.reasons


@pytest.mark.parametrize(
    ("sentence", "quote"),
    [
        ("The reservoir at Lake Bellow held 4,200 million litres in March 2021.", LAKE),  # name
        ("Smith Ltd acquired Jones Holdings in 2019 for $5 million.", DEAL),  # who does what to whom
        ("Smoking caused lower survival in mice.", DEAL),  # strength
        ("Smoking was associated with higher survival in mice.", DEAL),  # direction
        ("Smoking was associated with lower survival in men.", DEAL),  # population
        ("Passwords must be 8 characters long.", RULE),
        ("verifiers SHALL force a change", RULE),  # tail with its condition cut
        ("require users to change passwords periodically", RULE),  # head with its negation cut
        ("Verifiers SHALL NOT require evidence of compromise of the authenticator.", RULE),  # two sentences spliced
        ("Take 5 mg of the powder twice a day.", DOSE),
        ("Tаke 5 mg of the powder twice a day unless your doctor says otherwise.", DOSE),  # a Cyrillic letter
        ("Take ５ mg of the powder twice a day unless your doctor says otherwise.", DOSE),  # a full-width digit
        ("A third of the patients improved.", "12 % of the patients improved."),  # said roughly
        ("The protein SHP-3 binds to the membrane of a cell.", "The protein SHP-2 binds to the membrane of a cell."),
        ("The size is told in bits of the content.", "The size is told in bytes of the content."),  # without a number
        ("The second entry of the list is used.", "The first entry of the list is used."),
        ("Passwords must be at least B characters long.", RULE),  # a letter in the place of a digit
        ("Cables are inspected every other 6 months.", "Cables are inspected every 6 months."),
        ("Members choose a same secret for the box.", "Members choose a different secret for the box."),
        ("Runtimes MAY NOT report an error here.", "Runtimes MUST NOT report an error here."),
        (
            "By default a diff has three lines of context.",
            "The default number of context lines is 3; with -U0 no context is shown.",
        ),
        ("The timeout was halved, but not on s390.", "The default timeout of units was halved, except on the s390."),
        ("300,000 fewer passengers used it in 2019.", "It carried 1.2 million passengers in 2019, before 1.5 million."),
        ("Members must pay the fee.", "Members must pay the fee before 31 March."),  # tail with its limit cut
        ("If somebody else built on it.", "If somebody else built on it they must repair it."),
        ("It is never a help. The gate is shut here.", "It is never a help. The gate is not shut here."),
        ("Some patients improved.", "All patients improved."),
        ("All patients improved.", "Some patients improved."),
    ],
)
def test_truth_3_a_softer_difference_is_never_supported_and_never_withheld(sentence: str, quote: str) -> None:
    found = check(sentence, quote)
    assert found.support is not Support.SUPPORTED
    assert not found.withholds


def test_what_is_lacked_and_what_should_be_done_are_two_things() -> None:
    said = "The bare transport does no authentication and should be used with caution."
    assert not check(
        said, "The native (bare) transport does no authentication and should be used with caution."
    ).withholds
    assert check("No guest should use the lift.", "Guests should use the lift.").withholds


def test_what_the_source_says_about_itself_carries_a_sentence() -> None:
    quote = "The standard no longer asks for periodic changes of passwords."
    sentence = "In 2017 the standard no longer asked for periodic changes of passwords."
    assert check(sentence, quote).withholds
    dated = Evidence(quote, title="Digital Identity Guidelines", published="June 2017")
    assert not check_support(sentence, [dated]).reasons


def test_the_reason_is_told_in_plain_words() -> None:
    reasons = check("The dam holds 64 million litres.", "The dam holds 46 million litres.").reasons
    assert reasons[0] == "its amount 64 million litres stands in none of its sources; they give 46 million litres"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("4,200 and 4200", {"4200"}),
        ("12.50 %", {"12.5"}),
        ("8 to 12.", {"8", "12"}),
        ("1.000,5", {"1.000.5"}),
        ("alpha.{1,2,3,4} at 0,4,16", {"0", "1", "2", "3", "4", "16"}),
        ("1,234,567", {"1234567"}),
        ("none", set()),
    ],
)
def test_numbers_have_one_spelling(text: str, found: set[str]) -> None:
    assert find_numbers(text) == found


@given(st.text(max_size=300), st.lists(st.text(max_size=300), max_size=3))
def test_any_text_has_a_status_and_a_share(sentence: str, quotes: list[str]) -> None:
    result = check(sentence, *quotes)
    assert 0.0 <= result.overlap <= 1.0
    assert (result.support is Support.UNCITED) == (not quotes)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30), min_size=1, max_size=6))
def test_a_whole_quote_is_supported_by_itself(words: list[str]) -> None:
    quote = " ".join(words)
    if "".join(fold_typography(quote).split()).strip(".!?"):  # a soft hyphen alone says nothing
        assert check(quote, quote).support is Support.SUPPORTED


@given(st.text(max_size=200))
def test_a_text_overlaps_itself_wholly_or_says_nothing(text: str) -> None:
    assert token_overlap(text, text) in (0.0, 1.0)


@pytest.mark.parametrize(
    ("honest", "false", "quote"),
    [
        (
            "In the blood of the treated pupils the marker could not be detected.",
            "In the blood of the treated pupils the marker could be detected.",
            "The marker was undetectable in the blood of the treated pupils of the school.",
        ),
        (
            "The log of the pump is kept in /srv/fen/pump.log.",
            "The log of the pump is kept in /srv/fen/valve.log.",
            "The pump keeps its log in /srv/fen/pump.log for every keeper.",
        ),
        (
            "The tool saltfold compares the old and the new ledger.",
            "The tool brimfold compares the old and the new ledger.",
            "Old and new ledgers are compared with the tool saltfold.",
        ),
        (
            "The library lends out books for 28 days and films for one week.",
            "The library lends out books for 28 days and films for one month.",
            "The library lends out books for four weeks and films for seven days.",
        ),
        (
            "Nothing below the mill may be burned by the keepers.",
            "Anything below the mill may be burned by the keepers.",
            "The keepers must not burn anything below the mill.",
        ),
        (
            "Repair the copy of the lake instead of the map.",
            "Repair the map of the lake instead of the copy.",
            "Following a flood, repair a copy rather than the map that shows the lake.",
        ),
        (
            "As soon as the water rises, the gate of the lock is shut.",
            "The gate of the lock is shut.",
            "When the water rises, the gate of the lock is shut by hand.",
        ),
    ],
)
def test_truth_3_what_types_agree_on_is_supported_in_other_words(honest: str, false: str, quote: str) -> None:
    assert check(honest, quote).support is Support.SUPPORTED
    assert check(false, quote).support is not Support.SUPPORTED


def test_truth_3_a_page_supports_only_what_it_says_word_by_word() -> None:
    said = "The mill on the lake was built by Ada Lin in 1874 out of grey stone."
    page = " ".join([said, *(f"The keeper of gate {number} walked home along the river." for number in range(60))])
    restated = "Ada Lin built the mill of grey stone on the lake, and this was in 1874."
    assert check(restated, said).support is Support.SUPPORTED
    assert check(restated, page).support is Support.UNCLEAR
    assert check(said, page).support is Support.SUPPORTED


def test_truth_3_words_without_a_like_in_the_evidence_are_named() -> None:
    found = check(
        "The pilots of the harbour decorate the weekly newspaper.", "The clerks of the harbour count the weekly catch."
    )
    assert found.support is not Support.SUPPORTED
    assert "decorate" in found.failing
    assert found.reasons


def test_truth_3_what_is_said_instead_of_something_denies_nothing() -> None:
    quote = (
        "Though the end of the works was expected in December 2009, the notice that they had ended came in August 2010."
    )
    found = check("The works ended in August 2010 rather than in December 2009 as expected.", quote)
    assert not found.withholds
    assert found.support is not Support.CONTRADICTED


SPOOFED = (
    "This vulnerability does not disclose plaintext to the attacker, nor does it affect the authenticity of archives."
)


@pytest.mark.parametrize(
    "said",
    [
        "It disclosed plaintext to the attacker and affected the authenticity of archives.",
        "It affected the authenticity of archives.",
    ],
)
def test_truth_3_not_and_nor_deny_two_things_and_do_not_cancel_each_other(said: str) -> None:
    assert check_support(said, [Evidence(SPOOFED)]).support is Support.CONTRADICTED


def test_truth_3_what_neither_and_nor_deny_may_be_said_in_other_words() -> None:
    said = "It neither discloses plaintext to the attacker nor affects the authenticity of archives."
    assert not check_support(said, [Evidence(SPOOFED)]).withholds


def test_a_sentence_may_begin_with_whoever() -> None:
    told = "The crane is locked when somebody opens the gate."
    check = check_support("Whoever opens the gate locks the crane.", [Evidence(told)])
    assert not any("Whoever" in reason for reason in check.reasons)


def test_below_a_release_of_its_own_day_the_date_of_the_whole_log_dates_nothing() -> None:
    quote, said = "Copies that were moved are found again.", "In 2023 copies that were moved were found again."
    whole = Evidence(quote, title="News", published="2023-03-24", heading="Release notes")
    entry = Evidence(quote, title="News", published="2023-03-24", heading="Version 1.1.11 (2020-03-08)")
    assert not check_support(said, [whole]).withholds
    assert check_support(said, [entry]).withholds
    assert not check_support(said.replace("2023", "2020"), [entry]).withholds


@pytest.mark.parametrize("unit", ["9", "a", "-", " ", " and "])
def test_a_hostile_sentence_is_compared_in_linear_time(unit):
    evidence = read_evidence(("The gates of Orrin mill must be greased every 14 days.",), "")

    def compare(size: int) -> None:
        split_statement(f"The gates {unit * (size // len(unit))} x.")
        list(find_foreign_names(f"The gates {unit * (size // len(unit))} x.", evidence))

    assert measure_growth(compare, 4_000) < LINEAR


def test_an_approximate_number_of_a_source_is_repeated_and_not_approximated_again() -> None:
    quote = [Evidence("Spambots are responsible for about 90% of all spam.")]
    assert check_support("Spambots are responsible for about 90% of all spam.", quote).support is Support.SUPPORTED
    for other in (85, 95, 99):
        assert check_support(f"Spambots are responsible for about {other}% of all spam.", quote).withholds
    exact = [Evidence("Spambots are responsible for 94.7% of all spam.")]
    assert not check_support("Spambots are responsible for about 95% of all spam.", exact).withholds

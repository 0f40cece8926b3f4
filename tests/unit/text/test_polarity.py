"""Polarity: "only A" is no contradiction of "not B", and what is denied in other words proves nothing false."""

from __future__ import annotations

import pytest

from corrobora.domain.report import Support
from corrobora.text.reading import read_evidence
from corrobora.text.support import Evidence, SupportCheck, check_support
from corrobora.text.typed import compare_sentence


def check(said: str, quote: str) -> SupportCheck:
    return check_support(said, [Evidence(quote)])


@pytest.mark.parametrize(
    ("said", "quote"),
    [
        ("The leak exposed only letters in drawers of the clerk.",
         "The leak never exposed letters outside of the clerk's drawers."),
        ("It exposed only letters in open drawers.", "The fault did not expose letters outside of open drawers."),
        ("It did not expose letters outside of open drawers.", "The fault exposed only letters in open drawers."),
    ],
)  # fmt: skip
def test_truth_3_a_restriction_is_not_refuted_by_the_denial_of_the_rest(said: str, quote: str) -> None:
    found = check(said, quote)
    assert not found.withholds
    assert found.support is not Support.CONTRADICTED


@pytest.mark.parametrize(
    ("said", "quote"),
    [
        ("The leak exposed the letters.", "The leak did not expose the letters."),
        ("The leak exposed the letters of the clerk only.", "The leak exposed no letters of the clerk."),
        ("The bells will ring on 5 April.", "The bells will not ring on 5 April."),
    ],
)
def test_truth_3_a_dropped_negation_is_never_supported(said: str, quote: str) -> None:
    assert check(said, quote).support is not Support.SUPPORTED


def test_a_negation_of_what_the_other_side_does_not_say_leaves_it_open() -> None:
    reading = read_evidence(("The keepers will not move the buoys on 5 April.",), "")
    found = compare_sentence("The keepers leave the buoys alone on 5 April.", reading)
    assert [(each.false, each.scored) for each in found] == [(False, False)]


@pytest.mark.parametrize(
    ("said", "quote"),
    [
        ("At first the toll was tied directly to the weight of the cart.",
         "The original toll was flat and did not relate directly to the weight of the cart."),
        ("Both the east gate and the west gate are painted.",
         "The east gate and the west gate need not match and are not painted."),
        ("Bread is weighed before it is baked, never after.", "Bread is weighed after it is baked, never before."),
        ("When both of the ropes are wet, the knot is likely to slip.",
         "If only one of the ropes is wet, the knot is likely to slip."),
        ("With the red key, the guards need not sign.", "Unlike with the red key, the guards need not sign."),
    ],
)  # fmt: skip
def test_truth_3_a_denial_or_a_restriction_that_is_left_out_is_never_supported(said: str, quote: str) -> None:
    assert check(said, quote).support is not Support.SUPPORTED


@pytest.mark.parametrize(
    ("said", "quote"),
    [
        ("Neither the nets nor the floats are dyed.", "The nets and the floats are not dyed."),
        ("It is recommended that crews do not use the old pier.", "Crews should not use the old pier."),
        ("The hold takes no more than 16 crates.", "The hold takes crates; the maximum number is 16."),
        ("The inner canal is longer than the outer canal.", "The outer canal is shorter than the inner canal."),
    ],
)
def test_a_denial_in_other_words_is_no_difference(said: str, quote: str) -> None:
    assert not [each for each in check(said, quote).reasons if "negation" in each or "its sources “" in each]


@pytest.mark.parametrize(
    ("said", "quote"),
    [
        ("A ferry never has more than 40 boats.", "Each ferry has up to 40 boats."),
        ("No other ferry is as slow as the Petrel.", "The Petrel is the slowest ferry of the lake."),
        ("The tolls peaked in March at 30 crowns.", "Tolls are still down from the March high of 30 crowns."),
    ],
)
def test_truth_3_a_bound_a_superlative_and_a_month_in_other_words_are_not_refuted(said: str, quote: str) -> None:
    assert not check_support(said, [Evidence(quote)]).withholds


def test_truth_3_out_of_service_is_not_in_service() -> None:
    found = check_support(
        "Half of the ferries were in service.", [Evidence("Half of the ferries were out of service.")]
    )
    assert found.support is not Support.SUPPORTED


@pytest.mark.parametrize(
    ("said", "quote", "support"),
    [
        ("Compression is not on by default.", "Compression is disabled by default.", Support.SUPPORTED),
        ("Each record takes at most 1 KB on disk.", "Each record takes 1 - 2 KB on disk.", Support.UNCLEAR),
        ("Each record takes at least 2 KB on disk.", "Each record takes 1 - 2 KB on disk.", Support.UNCLEAR),
        ("The page is set in a sans font.", "The page is set in a sans serif font for his sin.", Support.SUPPORTED),
        (
            "Expired objects that are not yet deleted give 404 Not Found.",
            "The expired-but-not-yet-deleted objects give 404 Not Found.",
            Support.SUPPORTED,
        ),
        (
            "He concludes that Zoll does not offer as strong a warranty as Tarn.",
            "So, Tarn does not offer as strong a warranty as Zoll.",
            Support.UNCLEAR,
        ),
        (
            "By default two locks are opened per visit.",
            "By default, two locks are opened per visit; this number may be changed by the keeper.",
            Support.SUPPORTED,
        ),
    ],
)
def test_truth_3_a_denial_a_bound_or_an_order_in_other_words_is_judged_by_what_it_says(
    said: str, quote: str, support: Support
) -> None:
    assert check(said, quote).support is support


def test_a_verb_that_denies_what_follows_it_is_no_proof_against_a_denial() -> None:
    quote = "The gate is locked at dusk so that boats cannot enter the basin at night."
    assert not check("The locked gate prevents boats from entering the basin at night.", quote).withholds
    assert check("Boats enter the basin at night.", quote).withholds
    assert check("A file without a tab is refused.", "A file that contains a tab is refused.").support is not (
        Support.SUPPORTED
    )


def test_a_verb_whose_object_is_nothing_is_denied_and_what_its_sources_deny_is_no_reason_to_withhold_it() -> None:
    said = (
        "A reserve library shares nothing with its main library but loans, and the two must not use the same shelf "
        "of one hall."
    )
    quote = (
        "There is no further relationship between the reserve library and the main library it lends from, in "
        "particular, they must not share the same hall shelf if they use the same hall."
    )
    assert not check(said, quote).withholds


def test_truth_4_a_word_said_beside_its_denial_and_what_something_is_independent_of_prove_nothing_false() -> None:
    queued = (
        "If a message has been on the queue for longer than the cutoff time of any applicable retry rule for a given "
        "address, a delivery is attempted for that address, even if it is not yet time, and if this delivery fails, "
        "the address is timed out."
    )
    said = (
        "If a message has been on the queue for longer than the cutoff time, a delivery is attempted even if it is not "
        "yet time, and if it fails, the address is timed out."
    )
    assert not check(said, queued).withholds
    counted = (
        "Reaching the retry cutoff is independent of how long any specific message has been failing; it is the length "
        "of continuous failure for the recipient address that counts."
    )
    said = (
        "What counts is the length of continuous failure for the recipient address, not how long a message has been "
        "failing."
    )
    assert not check(said, counted).withholds
    assert check("The bells ring at night.", "The bells must not ring at night.").withholds


@pytest.mark.parametrize(
    ("said", "quote", "false"),
    [
        (
            "A tide below the mark keeps the gate from being opened.",
            "At a tide below the mark the gate is opened.",
            True,
        ),
        ("Boats enter the basin at dusk.", "The locked gate keeps boats from entering the basin at dusk.", True),
        ("A broken seal keeps the gate from being opened.", "If a seal is broken, the gate is not opened.", False),
        ("The clerk keeps copies from existing files.", "The clerk keeps copies from existing files at hand.", False),
    ],
)
def test_truth_3_to_keep_something_from_being_done_denies_it(said: str, quote: str, *, false: bool) -> None:
    assert check(said, quote).withholds is false

"""Claims: numbers, dates, names and obligations need a source; connecting prose does not."""

from __future__ import annotations

import pytest

from corrobora.text.claim_words import find_claim_words


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("It has 64 rooms.", "64 rooms"),
        ("In March 2018 it closed.", "March 2018"),
        ("It was sold to Ruth Hale.", "Ruth Hale"),
        ("Users must not wait.", "must not"),
        ("It fell by half a percent, to 3 %.", "3 %"),
        ("They use RFC 2119 here.", "RFC 2119"),
    ],
)
def test_a_claim_is_found_with_its_words(sentence: str, words: str) -> None:
    assert words in find_claim_words(sentence)


@pytest.mark.parametrize(
    "sentence", ["Both sides agree on this.", "Two rules changed:", "However, the picture is mixed.", "", "***"]
)
def test_connecting_prose_claims_nothing(sentence: str) -> None:
    assert find_claim_words(sentence) == ()


def test_a_text_about_the_report_itself_claims_nothing() -> None:
    assert find_claim_words("**Revision 3 (June 2017)**", ["Revision 3 (June 2017)"]) == ()
    assert find_claim_words("Revision 3 (June 2017) holds 8.", ["Revision 3 (June 2017)"])


def test_a_sentence_that_leaves_a_known_question_open_claims_nothing() -> None:
    known = ["What does section 5.2.5 of RFC 9999 require?", "Who built the mill?"]
    assert find_claim_words("What section 5.2.5 of RFC 9999 demands was not found in what was read.", known) == ()
    assert find_claim_words("What section 5.2.6 of RFC 9999 demands was not found.", known)
    assert find_claim_words("Section 5.2.5 of RFC 9999 demands a key.", known)
    assert find_claim_words("RFC 9999 was not found before 2019.", known)


@pytest.mark.parametrize(
    "sentence",
    [
        "The bridge at Arnholm was never opened.",
        "The drug Novel-7 was not found to reduce mortality at Arnholm.",
        "The bridge at Arnholm was not found in 1951.",
        "The bridge at Arnholm was not found in the river.",
        "The bridge at Arnholm remains open.",
        "The bridge at Arnholm is not settled.",
        "The cause at Arnholm remains unknown.",
        "The letter from Arnholm was never read.",
        "The bridge at Arnholm was not found in the documents of the treaty.",
    ],
)
def test_a_denial_about_the_world_still_needs_a_source(sentence: str) -> None:
    known = ["Was the bridge at Arnholm ever opened?", "Did Novel-7 reduce mortality at Arnholm before 1951?"]
    assert find_claim_words(sentence, known)


@pytest.mark.parametrize(
    "sentence",
    [
        "When the bridge at Arnholm was opened is not answered here.",
        "Whether Novel-7 reduced mortality at Arnholm remains unanswered.",
        "An opening of the bridge at Arnholm could not be found in the documents.",
        "The year of the bridge at Arnholm was not found in any of the cited sources.",
        "The opening of the bridge at Arnholm was nowhere found in any document.",
    ],
)
def test_what_was_not_found_while_reading_claims_nothing(sentence: str) -> None:
    known = ["Did Novel-7 reduce mortality at Arnholm?"]
    assert find_claim_words(sentence, known) == ()

"""Releases: which version numbers are meant."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.text.quantities import (
    find_asked_releases,
    find_asked_sections,
    find_releases,
    is_in_section,
    remove_releases,
)


@pytest.mark.parametrize(
    ("question", "numbers"),
    [
        ("What changed in Kilnlib 2.3.0?", ("2.3.0",)),
        ("What is new in v2.3?", ("2.3",)),
        ("When did 1.0rc1 come out?", ("1.0rc1",)),
        ("Does 2.3 have it?", ("2.3",)),
        ("How long does 2.5 kg of clay last?", ()),
        ("Is a rate of 3.5% or 4.5 percent paid?", ()),
        ("What does section 4.2 say?", ()),
        ("How much is $3.50?", ()),
    ],
)
def test_dotted_numbers_are_versions_unless_they_measure_or_number_a_section(question, numbers):
    assert find_asked_releases(question).numbers == numbers


def test_the_number_of_a_section_is_no_release_and_that_of_a_heading_is():
    assert find_releases("Clocks > 4.3. What clocks are there") == ()
    assert find_releases("10.3. Version 4.6.1") == ("4.6.1",)
    assert find_releases("4.3 (2022-08-31)") == ("4.3",)
    assert find_releases("It came with 4.3. It was late.") == ("4.3",)


def test_a_number_is_not_found_in_a_longer_one():
    asked = find_asked_releases("What changed in 2.3?")
    assert asked.is_named_in("## v2.3 (2020-01-01)")
    assert not asked.is_named_in("## 2.3.1")
    assert not asked.is_named_in("## 12.3")
    assert not asked.is_named_in("## 2.30")


def test_between_two_versions_all_after_the_first_are_meant():
    asked = find_asked_releases("What changed between 1.9.0 and 1.11.0?")
    assert all(asked.is_named_in(each) for each in ("1.9.0", "1.10.0", "1.10.2", "1.11.0"))
    assert not any(asked.is_named_in(each) for each in ("1.8", "1.11.1", "2.0"))


def test_the_digits_of_a_version_are_no_words_of_the_question():
    assert "2" not in remove_releases("What changed in Kilnlib 2.3.0?").replace("?", "").split()
    assert remove_releases("How many are 12?") == "How many are 12?"


@given(st.text(max_size=200))
def test_any_text_has_versions_or_none(text):
    assert all(number in text.lower() for number in find_releases(text))


def test_a_section_lies_below_the_headings_whose_numbers_make_its_own() -> None:
    assert find_asked_sections("What do section 49.2 and § 3 say, and what was the section of 2019?") == ("49.2", "3")
    for place in ("Rules > 49. Bells > 2. Ropes", "49. Bells > 49.2. Ropes > 1. Length", "§ 49 Bells > § 2"):
        assert is_in_section(place, "49.2")
    assert not any(
        is_in_section(place, "49.2") for place in ("2. Bells > 2. Ropes", "49. Bells > 20. Ropes", "49. Bells")
    )

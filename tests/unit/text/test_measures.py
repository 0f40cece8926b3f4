"""Measures: one amount in many spellings is one value; another unit is another."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.text.measures import find_identifiers, find_measures, find_unit


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("5 mg", ".005 g"),
        ("12 % of patients", "12 percent of patients"),
        ("12 %", "0.12"),
        ("a dozen eggs", "twelve eggs"),
        ("4,200 million litres", "4.2 billion litres"),
        ("one in five adults", "20 % of adults"),
        ("half an hour", "30 minutes"),
        ("two years", "24 months"),
        ("90 km/h", "25 m/s"),
        ("15 km2", "15 square kilometres"),
        ("1 000 people", "1,000 people"),
        ("$5m", "5 million dollars"),
        ("98.6 °F", "37 degrees Celsius"),
        ("1,5 kg", "1500 g"),
        ("one hundred and twenty people", "120 people"),
        ("15m", "15 minutes"),
        ("2 minutes", "2 m"),
    ],
)
def test_an_amount_is_the_same_in_other_units_and_words(one: str, other: str) -> None:
    assert any(a.equals(b) for a in find_measures(one) for b in find_measures(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *(
            ("5 mg", "5 g"),
            ("12 %", "12"),
            ("18 months", "18 weeks"),
            ("$5", "€5"),
            ("5 MB", "5 Mb"),
            ("-5 °C", "5 °C"),
        ),
        *(("15m", "15 seconds"), ("15m", "14 minutes"), ("15 metres", "15 minutes"), ("15 km", "15 minutes")),
    ],
)
def test_another_unit_or_sign_is_another_amount(one: str, other: str) -> None:
    assert not any(a.equals(b) for a in find_measures(one) for b in find_measures(other))


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("at least 8 characters", ">="),
        ("no fewer than eight characters", ">="),
        ("8 characters or more", ">="),
        ("up to 8 characters", "<="),
        ("not more than 8 characters", "<="),
        ("more than 8 characters", ">"),
        ("<8 characters", "<"),
        ("8 characters", ""),
    ],
)
def test_bounds_are_read_before_and_after(text: str, bound: str) -> None:
    assert [each.bound for each in find_measures(text)] == [bound]


def test_digits_of_identifiers_are_no_numbers() -> None:
    text = "COVID-19 in SP 800-63B and v1.2.3"
    assert find_measures(text) == ()
    assert find_identifiers(text) == ("COVID-19", "800-63B", "v1.2.3")


@given(st.text(max_size=200))
def test_every_measure_is_a_slice(text: str) -> None:
    assert all(text[each.start : each.end].strip() == each.text for each in find_measures(text))


@given(st.integers(1, 10**9), st.sampled_from(["kg", "days", "patients", "%"]))
def test_separators_change_nothing(number: int, unit: str) -> None:
    plain, separated = find_measures(f"{number} {unit}"), find_measures(f"{number:,} {unit}")
    assert plain[0].equals(separated[0])


def test_a_margin_of_error_is_no_negative_number() -> None:
    assert [each.value for each in find_measures("a mean of 1.4 +/- 0.09, at -3 degrees")] == [1.4, 0.09, -3.0]


def test_numbers_that_and_joins_are_two_unless_a_hundred_stands_before() -> None:
    assert [each.value for each in find_measures("Between five and nine attempts are made.")] == [5.0, 9.0]
    assert [each.value for each in find_measures("The hall holds two hundred and five guests.")] == [205.0]
    assert find_measures("The old lamps burn longer than the new ones.") == ()


@pytest.mark.parametrize(("short", "long"), [("5d", "5 days"), ("300s", "5 minutes"), ("4000s", "4000 seconds")])
def test_a_span_of_a_parameter_is_a_time(short: str, long: str) -> None:
    assert [m.value for m in find_measures(f"The limit is {short}.")] == [
        m.value for m in find_measures(f"It is {long}.")
    ]


@pytest.mark.parametrize("decade", ["the 1990s", "the 60s"])
def test_a_decade_is_no_span_of_a_parameter(decade: str) -> None:
    assert [m.dimension for m in find_measures(f"Built in {decade}.")] == ["decade"]


@pytest.mark.parametrize(
    ("text", "value", "dimension"),
    [
        ("an hour and a half", 5400.0, "time"),
        ("two and a half hours", 9000.0, "time"),
        ("a year and a half", 18.0, "month"),
        ("£165m", 165e6, "£"),
        ("€2.5bn", 2.5e9, "€"),
    ],
)
def test_halves_and_short_scales_belong_to_their_number(text: str, value: float, dimension: str) -> None:
    (found,) = find_measures(f"It took {text}.")
    assert (found.value, found.dimension, found.text) == (value, dimension, text)


@pytest.mark.parametrize(
    ("word", "dimension", "factor"),
    [
        ("mg", "mass", 1e-6),
        ("Kilograms", "mass", 1.0),
        ("MB", "data", 8e6),
        ("KiB", "data", 8192.0),
        ("km²", "length2", 1e6),
        ("%", "ratio", 0.01),
        ("weeks", "time", 604_800.0),
        ("£", "£", 1.0),
    ],
)
def test_a_symbol_or_name_has_a_dimension_and_a_factor(word: str, dimension: str, factor: float) -> None:
    unit = find_unit(word)
    assert unit is not None
    assert (unit.dimension, unit.factor) == (dimension, pytest.approx(factor))


@pytest.mark.parametrize("word", ["lamp", "at", "as", "S", "MG"])
def test_a_word_or_another_case_is_no_unit(word: str) -> None:
    assert find_unit(word) is None


def test_one_is_a_number_behind_a_bound_and_a_pronoun_elsewhere() -> None:
    (found,) = find_measures("A gate has at most one lock.")
    assert (found.value, found.bound) == (1.0, "<=")
    assert not find_measures("It is the one that the clerk took.")


@pytest.mark.parametrize(
    "text", ["the short test takes minutes, the extended one tens of minutes", "one hundreds of users"]
)
def test_one_before_a_plural_number_is_no_part_of_it(text: str) -> None:
    """ "The extended one" is a test: its tens of minutes are not eleven."""
    [found] = find_measures(text)
    assert found.text in ("tens", "hundreds")
    assert [each.value for each in find_measures("one hundred users")] == [100.0]


def test_a_quotient_is_what_it_comes_to_and_a_divisor_of_a_setting_is_no_amount() -> None:
    assert any(each.equals(find_measures("80 seconds")[0]) for each in find_measures("It waits 240/3 seconds."))
    assert not find_measures("It retries every loop_wait/2 seconds.")

"""Drift: each axis fires on evidence, holds without a restriction, and three in a row escalate."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.policies.threads import one_round, thread

from corrobora.domain.evidence import Hit, ReadOutcome, SourceId
from corrobora.domain.plan import Brief, Focus, Subject
from corrobora.policies.drift import (
    Drift,
    SeenText,
    count_drift_streak,
    detect_drift,
    must_reformulate,
    select_missed_subjects,
)

NORWAY = Brief("How are ferries licensed?", focus=Focus(places=("Norway",)))
RECENT = Brief("How are ferries licensed?", focus=Focus(since=2020, until=2024))
SHIPPING = Brief("How are ferries licensed?", focus=Focus(domains=("shipping", "maritime law")))
FERRY = (Subject("Ardal ferry", aliases=("MF Ardal",)),)


def axis(found: Drift | None) -> str | None:
    return found.axis if found else None


@pytest.mark.parametrize(
    ("text", "off"),
    [
        ("Licences in Chile are issued at Valparaiso for one year.", "place"),
        ("Licences in Norway are issued at Bergen for one year.", None),
        ("Licences are issued for one year.", None),  # names no place: no evidence of drift
        ("In January the licences were renewed; in March they were not.", None),  # months are no places
    ],
)
def test_triplet_38_geographic_relevance(text: str, off: str | None) -> None:
    assert axis(detect_drift("Licences", text, NORWAY, (), ())) == off


@pytest.mark.parametrize(
    ("text", "off"),
    [
        ("Rules of 1998 were amended in 2001 and 2003.", "time"),
        ("Rules of 1998 were amended in 2022.", None),
        ("Rules of 2013 were amended in 2014.", "time"),  # more than 5 years before 2020
        ("Rules of 2015 were amended in 2014.", None),  # 2015 is 5 years away, not more
        ("Rules of 2031 and 2030 are planned.", "time"),
        ("Formats follow RFC 1524 and RFC 2045.", None),  # numbers of documents
        ("Rules of 2029 are planned for 2030.", None),
        ("A key of 2048 bits, a page of 1,998 lines, 1999.5 km and $1998.", None),
        ("Rules without any date.", None),
    ],
)
def test_triplet_38_temporal_relevance(text: str, off: str | None) -> None:
    assert axis(detect_drift("Rules", text, RECENT, (), ())) == off


def test_one_year_in_the_title_is_enough_and_one_in_passing_is_not() -> None:
    assert axis(detect_drift("Annual report 1987", "Ferries sailed.", RECENT, (), ())) == "time"
    assert detect_drift("Report", "Ferries sailed since 1987.", RECENT, (), ()) is None


def test_half_open_periods_restrict_one_side() -> None:
    since = Brief("q", focus=Focus(since=2020))
    assert axis(detect_drift("t", "In 1999 and 2000 it held.", since, (), ())) == "time"
    assert detect_drift("t", "In 2050 and 2051 it will hold.", since, (), ()) is None


@pytest.mark.parametrize(
    ("text", "off"),
    [
        ("The MF Ardal sails daily.", None),
        ("The ferry of Ardal sails daily.", None),
        ("Bicycles are repaired on Mondays.", "subject"),
        ("Vessel dues are paid at the quay.", None),  # says it with a word learned from the sources
    ],
)
def test_triplet_38_subject_relevance(text: str, off: str | None) -> None:
    assert axis(detect_drift("Page", text, Brief("q"), FERRY, ("vessel dues",))) == off


def test_numbers_and_ids_among_the_terms_put_nothing_on_subject() -> None:
    assert axis(detect_drift("Page", "Rule 1 of 1: repair bicycles.", Brief("q"), FERRY, ("sq-1", "1"))) == "subject"


@pytest.mark.parametrize(
    ("text", "off"),
    [
        ("Shipping companies apply in writing.", None),
        ("Chickens lay eggs in spring.", "domain"),
        ("How ferries become licensed.", None),  # speaks the question's own words
    ],
)
def test_triplet_38_domain_relevance(text: str, off: str | None) -> None:
    assert axis(detect_drift("Page", text, SHIPPING, (), ())) == off


def test_domains_restrict_a_question_of_stop_words_too() -> None:
    assert (
        axis(detect_drift("Page", "Chickens lay eggs.", Brief("What is it?", focus=SHIPPING.focus), (), ())) == "domain"
    )


def test_less_than_half_of_the_questions_words_is_another_domain() -> None:
    long = Brief("Which coastal ferries need licences?", focus=SHIPPING.focus)
    assert axis(detect_drift("Page", "Coastal chickens lay eggs.", long, (), ())) == "domain"
    assert detect_drift("Page", "Coastal ferries sail.", long, (), ()) is None


def test_a_number_is_no_term() -> None:
    assert axis(detect_drift("Page", "In 2024 bicycles are repaired.", Brief("q"), FERRY, ("2024",))) == "subject"


def test_reasons_say_what_was_seen_and_what_was_wanted() -> None:
    early = detect_drift("Report", "From 1987 to 1989.", Brief("q", focus=Focus(since=2020)), (), ())
    assert early == Drift("time", "covers 1987 to 1989, over 5 years from 2020 to ...")
    far = detect_drift("t", "In Chile and at Lima.", NORWAY, (), ())
    assert far == Drift("place", "speaks of Chile, Lima, not of Norway")


@given(st.text(max_size=200), st.text(max_size=500))
def test_a_brief_that_restricts_nothing_drifts_nothing(title: str, text: str) -> None:
    assert detect_drift(title, text, Brief("What is asked?"), (), ()) is None


@given(st.text(max_size=300), st.lists(st.text(max_size=20), max_size=3))
def test_any_text_gets_one_axis_with_a_reason_or_none(text: str, terms: list[str]) -> None:
    brief = Brief("q", focus=Focus(("Norway",), 2020, 2024, ("shipping",)))
    found = detect_drift("", text, brief, FERRY, terms)
    assert found is None or (found.axis in ("place", "time", "subject", "domain") and found.reason)


@given(st.text(max_size=300))
def test_a_text_that_names_the_subject_never_drifts_off_subject(text: str) -> None:
    assert axis(detect_drift("", f"{text} Ardal ferry {text}", Brief("q"), FERRY, ())) is None


def test_names_are_found_literally_or_by_half_of_their_words() -> None:
    text = "Ada, countess of Lovelace"
    assert SeenText(text).has_name("Ada Lovelace")
    assert SeenText(text).has_name("Lovelace")
    assert not SeenText(text).has_name("Grace Hopper")
    assert not SeenText(text).has_name("Ada King Byron")
    assert not SeenText(text).has_name("The Who")


def test_triplet_38_three_drifts_in_a_row_force_a_reformulation() -> None:
    assert must_reformulate(thread(one_round(drifted="a b c", new=0)))
    assert not must_reformulate(thread(one_round(drifted="a b", new=0)))
    assert must_reformulate(thread(one_round(drifted="a b", new=0), one_round(drifted="c", new=0)))  # over rounds
    assert not must_reformulate(thread(one_round(drifted="a b", new=0), one_round(urls="c", drifted="d", new=0)))


def test_a_streak_ends_when_nothing_more_is_fetched() -> None:
    assert not must_reformulate(thread(one_round(drifted="a b c", new=0), one_round(new=0)))
    assert not must_reformulate(thread())


@given(st.lists(st.sampled_from(list(ReadOutcome)), max_size=12))
def test_only_fetched_results_break_or_make_a_streak(outcomes: list[ReadOutcome]) -> None:
    fetched = [o for o in outcomes if o in (ReadOutcome.READ, ReadOutcome.EMPTY, ReadOutcome.DRIFTED)]
    streak = count_drift_streak(outcomes)
    assert streak == count_drift_streak(fetched)
    assert fetched[len(fetched) - streak :] == [ReadOutcome.DRIFTED] * streak
    assert streak == len(fetched) or fetched[-streak - 1] is not ReadOutcome.DRIFTED


@pytest.mark.parametrize(
    ("naming", "found", "stored", "missed"),
    [(0, 10, True, True), (2, 10, True, True), (3, 10, True, False), (9, 10, False, True), (2, 3, True, True)],
)
def test_a_name_that_much_of_a_library_uses_is_not_missed_in_its_other_pages(
    naming: int, found: int, stored: bool, missed: bool
):
    said = ["The MF Ardal sails." if n < naming else "It sails at noon." for n in range(found)]
    hits = [
        Hit(f"page {n}", "Timetable", text, source=SourceId(f"S{n}") if stored else None) for n, text in enumerate(said)
    ]
    assert select_missed_subjects(FERRY, hits) == (FERRY if missed else ())

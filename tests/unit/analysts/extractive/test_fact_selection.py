"""Select: best facts first, repetitions out, editions apart."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.analysts.extractive.samples import NEW_DOCUMENT, OLD_DOCUMENT, PARTS, document, facts_of, play

from corrobora.analysts.extractive.fact_selection import rank_facts, select_diverse
from corrobora.roles.scope import Candidate, Sweep, scout

FACTS = facts_of(OLD_DOCUMENT, NEW_DOCUMENT)


@given(st.permutations(FACTS))
def test_the_order_of_facts_does_not_matter(facts):
    assert rank_facts(PARTS[0].text, facts) == rank_facts(PARTS[0].text, FACTS)


def test_what_speaks_to_the_question_comes_first():
    assert "open" in rank_facts("How is a kiln opened?", FACTS)[0].fact.quote


def test_both_editions_of_one_statement_stay():
    chosen = select_diverse(rank_facts("How is a kiln opened?", FACTS), len(FACTS))
    assert {one.fact.version for one in chosen} == {"2015 edition", "2021 edition"}
    assert len({one.fact.id for one in chosen}) == len(chosen)


def test_a_copy_without_version_and_date_is_a_repetition_unless_editions_are_compared():
    copy = facts_of(document(7, "Kiln Rules", OLD_DOCUMENT.text))
    for facts in ((*facts_of(OLD_DOCUMENT), *copy), (*copy, *facts_of(OLD_DOCUMENT))):
        ranked = rank_facts("How is a kiln opened?", facts)
        assert len(select_diverse(ranked, len(facts), compares=False)) == len(copy)
        assert len(select_diverse(ranked, len(facts))) == len(facts)
    both = select_diverse(rank_facts("How is a kiln opened?", FACTS), len(FACTS), compares=False)
    assert {one.fact.version for one in both} == {"2015 edition", "2021 edition"}


def test_what_explains_a_thing_comes_before_what_mentions_it_more_often():
    text = (
        "A saggar or two saggars may crack when the saggar is wet. A saggar is a box of clay that shields pots. "
        "Some potters stack saggars."
    )
    best = rank_facts(
        "What is a saggar?", facts_of(document(5, "Notes", text), question="What is a saggar?", parts=())
    )[0]
    assert best.core.startswith("A saggar is a box")


def test_a_statement_says_which_share_of_the_question_it_holds_and_whether_it_is_of_its_kind():
    by = {one.core: one for one in rank_facts("How hot may a thermal chamber be opened?", FACTS)}
    assert all(0.0 <= one.share <= 1.0 for one in by.values())
    assert {one.fits for one in by.values()} == {True, False}


CANDIDATES = (
    Candidate(
        "https://a.example.gov/kiln", "Kiln safety rules", "rules on kiln opening", published="2021", found_by=("q",)
    ),
    Candidate("https://copy.example/kiln", "Kiln safety rules", "rules on kiln opening", published="2021", cluster=0),
    Candidate(
        "https://old.example/kiln", "Kiln inspection", "inspection of kilns", published="1990", publisher="Guild"
    ),
    Candidate("https://forum.example/gulls", "Gulls", "gulls in the harbour"),
)


def test_candidates_are_ranked_tagged_and_justified():
    found = play(
        scout, Sweep("root", "kiln opening and inspection rules", ("kiln opening", "kiln inspection"), CANDIDATES)
    )
    assert found.sources[0].reference == "https://a.example.gov/kiln"
    assert "official" in found.sources[0].balance
    for one in found.sources:
        assert one.rationale
        assert all(0.0 <= score <= 1.0 for score in (one.authority, one.recency, one.coverage, one.diversity))
    assert ("https://forum.example/gulls", "concerns none of the themes") in found.excluded
    assert "kiln inspection: " in found.balance


def test_copies_share_one_place_and_the_limit_holds():
    first, second = (Candidate(f"https://{n}.example", "Kiln rules", "kiln rules", cluster=7) for n in "ab")
    found = play(scout, Sweep("root", "kiln rules", (), (second, first)))
    assert [one.reference for one in found.sources] == ["https://a.example"]
    assert "copy" in found.excluded[0][1]
    limited = play(scout, Sweep("root", "kiln rules", (), CANDIDATES[:3], limit=1))
    assert len(limited.sources) == 1


def test_the_order_of_candidates_does_not_matter():
    one = play(scout, Sweep("root", "kiln rules", ("kiln opening",), CANDIDATES))
    assert one.sources == play(scout, Sweep("root", "kiln rules", ("kiln opening",), CANDIDATES[::-1])).sources

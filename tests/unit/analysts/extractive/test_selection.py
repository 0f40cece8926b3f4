"""Select: best facts first, repetitions out, editions apart."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.analysts.extractive.samples import NEW_DOCUMENT, OLD_DOCUMENT, PARTS, document, facts_of

from corrobora.analysts.extractive.selection import fact_text, rank_facts, select_diverse
from corrobora.domain.plan import SubQuestion

FACTS = facts_of(OLD_DOCUMENT, NEW_DOCUMENT)


@given(st.permutations(FACTS))
def test_the_order_of_facts_does_not_matter(facts):
    assert rank_facts(PARTS[0].text, facts) == rank_facts(PARTS[0].text, FACTS)


def test_what_speaks_to_the_question_comes_first():
    assert "open" in fact_text(rank_facts("How is a kiln opened?", FACTS)[0].fact)


def test_both_editions_of_one_statement_stay():
    chosen = select_diverse(rank_facts("How is a kiln opened?", FACTS), len(FACTS))
    assert {one.fact.version for one in chosen} == {"2015 edition", "2021 edition"}
    assert len({one.fact.id for one in chosen}) == len(chosen)


def test_what_differs_answers_a_question_for_change():
    by = {one.fact.id: one.worth for one in rank_facts("How did kiln rules change?", FACTS)}
    first = next(iter(by))
    boosted = {
        one.fact.id: one.worth for one in rank_facts("How did kiln rules change?", FACTS, compared=frozenset({first}))
    }
    assert boosted[first] > by[first]


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


NOTES = (
    "# Changes\n\n## 2.3.1 (2021-02-01)\n\n- The lid of the kiln opens faster than it did before.\n\n"
    "## 2.3.0 (2020-11-10)\n\n- A second chamber was added for glazes of every colour.\n"
    "- The old shelf of the kiln is gone for good.\n\n"
    "## 2.2.0 (2019-04-01)\n\n- Kilnlib 2.2.0 mends the lid of the kiln and the shelf of it."
)


def test_what_stands_under_the_release_that_is_asked_for_comes_first():
    question = "What changed in Kilnlib 2.3.0?"
    asked = (SubQuestion("sq-1", question),)
    facts = facts_of(document(51, "Kilnlib", NOTES), question=question, parts=asked)
    best = [fact_text(one.fact) for one in rank_facts(question, facts)]
    assert "second chamber" in best[0]
    assert any(fact.answers and "second chamber" in fact.quote for fact in facts)


def test_what_names_the_year_that_is_asked_for_comes_before_what_names_another():
    question = "Who was the keeper of the kiln in 2010?"
    text = (
        "Bo Lind was the keeper of the kiln until the spring of 2008. Ann Holt kept it from 2010 until 2013. "
        "Cid Marr became the keeper of the kiln in 2014."
    )
    asked = (SubQuestion("sq-1", question),)
    best = rank_facts(question, facts_of(document(52, "Keepers", text), question=question, parts=asked))[0]
    assert "Ann Holt" in fact_text(best.fact)


def test_the_source_that_a_question_names_by_its_file_comes_before_others():
    text = "The keeper shall end a firing at dusk. Nobody may end a firing alone."
    question = "When must a firing end under KR-2?"
    asked = (SubQuestion("sq-1", question),)
    facts = facts_of(document(61, "Rules", text), document(62, "Rules", text), question=question, parts=asked)
    facts = tuple(replace(f, url=f"rules/{'KR-2' if f.source == 'S62' else 'KR-2.1'}.txt") for f in facts)
    assert {one.fact.source for one in rank_facts(question, facts)[:2]} == {"S62"}


def test_of_a_table_the_row_with_the_most_comes_first():
    rows = "Hall | Doors | Built\nArden | 12 | 1874\nBellow | 1,400 | 1931\nCarrow | 7 | 1790\nDunmore | 31 | 1901"
    question = "Which hall has the most doors?"
    asked = (SubQuestion("sq-1", question),)
    text = f"The halls of the harbour are listed here by the guild.\n\n{rows}"
    best = rank_facts(question, facts_of(document(63, "Halls", text), question=question, parts=asked))[0]
    assert "Bellow" in fact_text(best.fact)
    assert "Dunmore" not in fact_text(best.fact)


def test_of_rows_that_name_their_heads_the_one_with_the_most_comes_first():
    rows = [("Arden", "12"), ("Bellow", "1,400"), ("Carrow", "7"), ("Dunmore", "31")]
    listed = "\n".join(f"Hall: {name}; Doors: {doors}; Town: Skerry." for name, doors in rows)
    question = "Which hall has the most doors?"
    asked = (SubQuestion("sq-1", question),)
    text = f"The halls of the harbour are listed here by the guild.\n\n{listed}"
    best = rank_facts(question, facts_of(document(63, "Halls", text), question=question, parts=asked))[0]
    assert fact_text(best.fact) == "Hall: Bellow; Doors: 1,400; Town: Skerry."

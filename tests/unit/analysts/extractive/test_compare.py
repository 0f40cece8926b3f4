"""Compare: differences between editions, whatever the order of the facts."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.analysts.extractive.samples import NEW_DOCUMENT, OLD_DOCUMENT, document, facts_of

from corrobora.analysts.extractive.contradictions import find_contradictions
from corrobora.domain.evidence import Relation, Severity

FACTS = facts_of(NEW_DOCUMENT, OLD_DOCUMENT)


def test_editions_are_set_in_order_with_their_differences():
    found = {one.difference: one for one in find_contradictions(FACTS)}
    assert {"SHOULD NOT -> SHALL NOT", "12 months -> 6 months"} <= set(found)
    duty = found["SHOULD NOT -> SHALL NOT"]
    assert duty.relation is Relation.SUPERSEDES
    assert duty.resolved
    assert duty.scope == "2015 edition -> 2021 edition"
    older = next(fact for fact in FACTS if fact.id == duty.a)
    assert older.version == "2015 edition"


@given(st.permutations(FACTS))
def test_the_order_of_facts_does_not_matter(facts):
    assert find_contradictions(facts) == find_contradictions(FACTS)


def test_undated_sources_contradict_and_stay_open():
    question = "Are thermal chambers opened by operators?"
    one = document(11, "Guild", "Operators may open a thermal chamber above 200 degrees in the kiln room.")
    other = document(12, "Union", "Operators must not open a thermal chamber above 200 degrees in the kiln room.")
    (found,) = find_contradictions(facts_of(one, other, question=question, parts=()))
    assert found.relation is Relation.CONTRADICTS
    assert found.severity is Severity.HIGH
    assert found.blocking


def test_minutes_of_two_meetings_and_figures_of_two_months_contradict_nobody():
    def found(*told: tuple[str, str]) -> tuple[object, ...]:
        facts = [
            replace(fact, url=url)
            for n, (url, text) in enumerate(told)
            for fact in facts_of(
                document(20 + n, f"Report {n}", text), question="What profit did the guild make?", parts=()
            )
        ]
        return find_contradictions(facts)

    profit = "The guild made a net profit of {} crowns on its kilns{}."
    same = ("a.md", profit.format(400, "")), ("b.md", profit.format(900, ""))
    assert found(*same), "two reports of one thing differ"
    assert not found(("minutes-202501.md", same[0][1]), ("minutes-202502.md", same[1][1]))
    months = ("a.md", profit.format(400, " as of May 2021")), ("b.md", profit.format(900, " as of June 2021"))
    assert not found(*months)


def test_one_edition_does_not_contradict_itself():
    assert find_contradictions(facts_of(OLD_DOCUMENT)) == ()


def test_a_term_that_was_replaced_everywhere_is_told_once():
    old = "The fitter writes each firing of a kiln into the black list. The guild reads the black list once in a month."
    new = old.replace("black list", "block list")
    facts = facts_of(
        document(1, "Rules", old, "2015 edition", "2015"), document(2, "Rules", new, "2021 edition", "2021"),
        question="What does the fitter write into the list and the guild read?", parts=(),
    )  # fmt: skip
    found = [one.difference for one in find_contradictions(facts)]
    assert len(found) == len(set(found)) <= 1


def test_two_models_and_two_quarters_do_not_contradict_each_other():
    one, other = "The kiln must be cleaned every 3 months.", "The kiln must be cleaned every 6 months."
    question = "How often must the kiln be cleaned?"

    def differ(first: str, second: str) -> bool:
        return bool(find_contradictions(facts_of(document(1, first, one), document(2, second, other), question=question,
                                            parts=())))  # fmt: skip

    assert differ("Notes of Ruth on kilns", "Care of kilns")
    assert not differ("Kiln K7 manual", "Kiln K9 manual")
    assert not differ("Report on the first quarter of 2024", "Report on the second quarter of 2024")


def test_two_years_of_one_event_contradict_and_those_of_repeated_ones_do_not():
    def found(one: str, other: str) -> list[str]:
        documents = (document(31, "Guild", one), document(32, "Union", other))
        facts = facts_of(*documents, question="When was the kiln hall opened, and when did the guild meet?", parts=())
        return [each.difference for each in find_contradictions(facts)]

    opened, met = "The kiln hall of the guild was opened in {}.", "The guild met for its yearly kiln feast in {}."
    assert found(opened.format(1931), opened.format(1933)) == ["1931 -> 1933"]
    assert found(opened.format("May 1931"), opened.format("June 1931")) == ["1931-05 -> 1931-06"]
    assert not found(opened.format(1931), opened.format("June 1931"))
    assert not found(opened.format(1931), "The boat hall of the Union was opened in 1933.")
    assert not found(met.format(1931), met.format(1933))


def test_titles_that_differ_in_a_year_alone_are_editions_of_which_the_later_one_holds():
    question = "Are thermal chambers opened by operators?"
    one = document(13, "Kiln rules, 2011", "Operators may open a thermal chamber above 200 degrees in the kiln room.")
    other = document(14, "Kiln rules, 2019", "Operators must not open a thermal chamber above 200 degrees in the room.")
    (found,) = find_contradictions(facts_of(other, one, question=question, parts=()))
    assert (found.relation, found.resolved, found.scope) == (
        Relation.SUPERSEDES,
        True,
        "Kiln rules, 2011 -> Kiln rules, 2019",
    )

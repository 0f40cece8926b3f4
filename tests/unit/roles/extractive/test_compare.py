"""Compare: differences between editions, whatever the order of the facts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.roles.extractive.samples import NEW_DOCUMENT, OLD_DOCUMENT, document, facts_of

from corrobora.domain.evidence import Relation, Severity
from corrobora.roles.extractive.compare import contradictions

FACTS = facts_of(NEW_DOCUMENT, OLD_DOCUMENT)


def test_editions_are_set_in_order_with_their_differences():
    found = {one.difference: one for one in contradictions(FACTS)}
    assert {"SHOULD NOT -> SHALL NOT", "12 months -> 6 months"} <= set(found)
    duty = found["SHOULD NOT -> SHALL NOT"]
    assert duty.relation is Relation.SUPERSEDES
    assert duty.resolved
    assert duty.scope == "2015 edition -> 2021 edition"
    older = next(fact for fact in FACTS if fact.id == duty.a)
    assert older.version == "2015 edition"


@given(st.permutations(FACTS))
def test_the_order_of_facts_does_not_matter(facts):
    assert contradictions(facts) == contradictions(FACTS)


def test_undated_sources_contradict_and_stay_open():
    question = "Are thermal chambers opened by operators?"
    one = document(11, "Guild", "Operators may open a thermal chamber above 200 degrees in the kiln room.")
    other = document(12, "Union", "Operators must not open a thermal chamber above 200 degrees in the kiln room.")
    (found,) = contradictions(facts_of(one, other, question=question, parts=()))
    assert found.relation is Relation.CONTRADICTS
    assert found.severity is Severity.HIGH
    assert found.blocking


def test_one_edition_does_not_contradict_itself():
    assert contradictions(facts_of(OLD_DOCUMENT)) == ()

"""Gates: the success criteria one by one (TREE-18), monotonic improvement, the default criterion."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.policies.threads import asked, fact

from corrobora.domain.evidence import Contradiction, FactId, Grade
from corrobora.domain.plan import Coverage, Criteria, Gate, Subject, SubQuestionStatus
from corrobora.domain.report import Findings
from corrobora.policies.gates import (
    add_default_criterion,
    describe_delta,
    find_unmet_criteria,
    has_improved,
    measure_progress,
)
from corrobora.policies.grading import combine_confidence

ANSWERED = asked(1, SubQuestionStatus.ANSWERED, Grade.PLAUSIBLE)


def gate(**criteria) -> Gate:
    return Gate(criteria=Criteria(**{"corroboration": 0, **criteria}))


def findings(*facts, questions=(ANSWERED,), **more) -> Findings:
    return Findings("root", "T", facts=facts, sub_questions=tuple(questions), **more)


def test_tree_corroboration_count() -> None:
    one, two = fact(answers=("sq-1",)), fact("Steamers came in 1874.", source="S2", answers=("sq-1",))
    assert find_unmet_criteria(gate(corroboration=2), findings(one)) == (
        f"1 of 2 independent sources were found for: {ANSWERED.text}",
    )
    assert find_unmet_criteria(gate(corroboration=2), findings(one, two)) == ()


def test_tree_copies_do_not_corroborate() -> None:
    one, copy = fact(answers=("sq-1",)), fact("Again.", source="S2", origin="origin of S1", answers=("sq-1",))
    assert len(find_unmet_criteria(gate(corroboration=2), findings(one, copy))) == 1


def test_tree_a_copy_on_another_host_does_not_corroborate() -> None:
    pages = [
        replace(fact(quote, source=f"S{n}", answers=("sq-1",)), kind="web", url=f"https://{host}/", origin=origin)
        for n, (host, quote, origin) in enumerate(
            (("a.example", "It was opened.", "one"), ("mirror.example", "Steamers came in 1874.", "one"))
        )
    ]
    apart = [pages[0], replace(pages[1], origin="other")]
    for questions in ((ANSWERED,), ()):
        assert len(find_unmet_criteria(gate(corroboration=2), findings(*pages, questions=questions))) == 1
        assert find_unmet_criteria(gate(corroboration=2), findings(*apart, questions=questions)) == ()
    sure = [replace(each, confidence=0.5) for each in pages]
    assert (combine_confidence(sure), combine_confidence([replace(each, origin=each.id) for each in sure])) == (
        0.5,
        0.75,
    )


def test_without_sub_questions_the_sources_are_counted_at_all() -> None:
    assert find_unmet_criteria(gate(corroboration=1), findings(questions=())) == (
        "0 of 1 independent sources were found",
    )
    assert find_unmet_criteria(gate(corroboration=1), findings(fact(), questions=())) == ()


def test_timed_an_exhausted_sub_question_holds_no_gate_open() -> None:
    assert (
        find_unmet_criteria(gate(corroboration=1), findings(questions=(asked(1, SubQuestionStatus.EXHAUSTED),))) == ()
    )


def test_tree_minimum_confidence() -> None:
    weak = fact(answers=("sq-1",), confidence=0.6)
    missing = find_unmet_criteria(gate(minimum_confidence=0.8), findings(weak))
    assert missing == (f"confidence 0.60 is below the 0.80 that is needed for: {ANSWERED.text}",)
    more = fact("Steamers came in 1874.", source="S2", answers=("sq-1",), confidence=0.6)
    assert find_unmet_criteria(gate(minimum_confidence=0.8), findings(weak, more)) == ()


def test_tree_coverage_of_themes() -> None:
    wanted = gate(themes=("Ardal harbour", "fish prices"))
    assert find_unmet_criteria(wanted, findings(fact())) == ("theme not covered: fish prices",)
    covered = findings(fact(), subjects=(Subject("fish price", coverage=Coverage.COVERED),))
    assert find_unmet_criteria(wanted, covered) == ()
    for other in (Subject("fish price"), Subject("salt", coverage=Coverage.COVERED)):
        assert find_unmet_criteria(wanted, findings(fact(), subjects=(other,))) == ("theme not covered: fish prices",)


def test_evidence_is_what_a_fact_says_it_answers_or_what_the_question_lists() -> None:
    found = fact()
    listed = replace(ANSWERED, evidence=(found.id,))
    assert find_unmet_criteria(gate(corroboration=1), findings(found, questions=(listed,))) == ()
    assert len(find_unmet_criteria(gate(corroboration=1), findings(found))) == 1


def test_tree_contradiction_resolution() -> None:
    conflict = Contradiction("when it opened", FactId("F1"), FactId("F2"))
    assert find_unmet_criteria(gate(contradictions_resolved=True), findings(contradictions=(conflict,))) == (
        "contradiction is open: when it opened",
    )
    assert (
        find_unmet_criteria(
            gate(contradictions_resolved=True), findings(contradictions=(replace(conflict, resolved=True),))
        )
        == ()
    )
    assert find_unmet_criteria(gate(), findings(contradictions=(conflict,))) == ()


def test_p20_a_gate_without_a_criterion_gets_the_default_and_a_note() -> None:
    empty = gate()
    repaired, note = add_default_criterion(empty)
    assert repaired.criteria == Criteria()
    assert "no success criterion" in note
    assert add_default_criterion(repaired) == (repaired, "")


@pytest.mark.parametrize(
    "criterion",
    [{"corroboration": 1}, {"themes": ("x",)}, {"contradictions_resolved": True}, {"minimum_confidence": 0.1}],
)
def test_a_gate_with_any_criterion_is_left_as_it_is(criterion) -> None:
    assert add_default_criterion(gate(**criterion)) == (gate(**criterion), "")


def test_tree_improvement_is_monotonic() -> None:
    wanted = gate(corroboration=2)
    one = findings(fact(answers=("sq-1",)))
    two = findings(fact(answers=("sq-1",)), fact("Steamers came.", source="S2", answers=("sq-1",)))
    assert has_improved(wanted, one, two)
    assert not has_improved(wanted, two, one)
    assert not has_improved(wanted, one, one)


def test_without_sub_questions_progress_is_what_the_facts_give() -> None:
    nothing, something = findings(questions=()), findings(fact(confidence=0.5), questions=())
    assert (measure_progress(gate(), nothing).covered, measure_progress(gate(), nothing).confidence) == (0.0, 0.0)
    assert measure_progress(gate(), something).confidence == 0.5
    assert has_improved(gate(), nothing, something)


def test_a_resolved_contradiction_is_progress() -> None:
    conflict = Contradiction("when it opened", FactId("F1"), FactId("F2"))
    before, after = findings(contradictions=(conflict,)), findings(contradictions=(replace(conflict, resolved=True),))
    assert has_improved(gate(), before, after)
    assert not has_improved(gate(), after, before)


def test_an_iteration_that_finds_a_contradiction_is_never_left_out() -> None:
    first, second = fact(answers=("sq-1",)), fact("It opened in 1875.", source="S2", answers=("sq-2",))
    before = findings(first)
    after = replace(findings(first, second), contradictions=(Contradiction("when", first.id, second.id),))
    assert has_improved(gate(), before, after)
    assert not has_improved(gate(), after, after), "only a new one counts"


def test_tree_the_delta_log_says_what_changed() -> None:
    wanted = gate(corroboration=1)
    said = describe_delta(wanted, findings(), findings(fact(answers=("sq-1",))))
    assert said.startswith("1 new fact; criteria not met 1 -> 0; coverage 0.00 -> 1.00; confidence 0.00 -> 0.50")


FACTS = st.lists(
    st.builds(
        lambda n, s, c: fact(f"Statement {n} of Ardal.", source=f"S{s}", answers=("sq-1",), confidence=c),
        st.integers(1, 4),
        st.integers(1, 4),
        st.floats(0, 1),
    ),
    max_size=6,
)


@given(FACTS, FACTS, st.integers(0, 3), st.floats(0, 1))
def test_more_facts_never_open_a_gate_again(facts, more, corroboration: int, sure: float) -> None:
    wanted = gate(corroboration=corroboration, minimum_confidence=sure, themes=("Ardal",))
    fewer, larger = findings(*facts), findings(*facts, *more)
    assert len(find_unmet_criteria(wanted, larger)) <= len(find_unmet_criteria(wanted, fewer))
    assert not has_improved(wanted, larger, fewer)
    assert measure_progress(wanted, larger).unmet == len(find_unmet_criteria(wanted, larger))

"""Coverage: what facts answer, what failed attempts exhaust, which subject is forced."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.policies.threads import asked, fact, one_round, subject, thread

from corrobora.domain.evidence import Contradiction, Fact, FactId, Grade, SourceId
from corrobora.domain.plan import Coverage, Subject, SubQuestion, SubQuestionStatus
from corrobora.domain.thread import Gap, Proposal
from corrobora.policies.assessment import (
    assess_questions,
    assess_thread,
    merge_contradictions,
    merge_facts,
    settle_round,
)
from corrobora.policies.intent import choose_forced_subject
from corrobora.text import phrases

WEB: dict[str, Any] = {"kind": "web", "url": "https://example.com/x"}


@pytest.mark.parametrize(("done", "budget", "forced"), [(5, 10, False), (6, 10, True), (1, 3, False), (2, 3, True)])
def test_triplet_subject_coverage_is_enforced_past_half_the_budget(done: int, budget: int, forced: bool) -> None:
    state = thread(*[one_round()] * done, subjects=(subject("Bergen", 1), subject("Ardal", 0)), max_rounds=budget)
    assert choose_forced_subject(state) == (subject("Ardal", 0) if forced else None)


@pytest.mark.parametrize(("done", "budget", "waiting"), [(0, 3, 3), (0, 2, 3), (4, 7, 3), (6, 7, 1)])
def test_triplet_subjects_are_forced_while_there_is_a_round_left_for_each(done: int, budget: int, waiting: int) -> None:
    subjects = tuple(subject(f"Ardal {n}", 0) for n in range(waiting))
    state = thread(*[one_round()] * done, max_rounds=budget, subjects=subjects)
    assert choose_forced_subject(state) == subjects[0]
    roomy = thread(*[one_round()] * done, max_rounds=2 * (done + waiting) + 2, subjects=subjects)
    assert choose_forced_subject(roomy) is None


def test_triplet_a_subject_is_forced_as_soon_as_no_question_is_open() -> None:
    waiting = subject("Ardal", 0)
    closed = (
        replace(asked(1), standing=SubQuestionStatus.ANSWERED),
        replace(asked(2), standing=SubQuestionStatus.EXHAUSTED),
    )
    state = thread(one_round(), max_rounds=9, subjects=(waiting,), sub_questions=closed)
    assert choose_forced_subject(state) == waiting
    assert choose_forced_subject(replace(state, sub_questions=(*closed, asked(3)))) is None
    assert choose_forced_subject(replace(state, rounds=())) is None, "the first round is the analyst's"


def test_triplet_no_subject_is_forced_once_each_had_a_round() -> None:
    assert choose_forced_subject(thread(*[one_round()] * 9, subjects=(subject("Ardal", 1),))) is None


def after(facts=(), question=None, **more):
    round_options = {k: more.pop(k) for k in ("targets", "subjects_aimed", "cut", "urls", "failures") if k in more}
    if "subjects_aimed" in round_options:
        round_options["subjects"] = round_options.pop("subjects_aimed")
    state = thread(sub_questions=(question or asked(1),), facts=more.pop("known", ()), **more)
    return assess_thread(state, one_round(**{"urls": "a", **round_options}, facts=facts))


@pytest.mark.parametrize(
    ("found", "standing", "grade"),
    [
        (fact(answers=("sq-1",)), SubQuestionStatus.ANSWERED, Grade.PLAUSIBLE),
        (fact(answers=("sq-1",), primary=True), SubQuestionStatus.ANSWERED, Grade.VERIFIED),
        (fact(answers=("sq-1",), **WEB), SubQuestionStatus.PARTIAL, Grade.UNVERIFIED),
        (fact("Ardal has a harbour for steamers.", answers=("sq-1",)), SubQuestionStatus.OPEN, None),
        (fact("The mill of Bergen was opened in 1874.", answers=("sq-1",)), SubQuestionStatus.OPEN, None),
    ],
)
def test_triplet_only_plausible_or_better_answers(found, standing: SubQuestionStatus, grade: Grade | None) -> None:
    (question,) = after([found]).sub_questions
    assert (question.standing, question.grade) == (standing, grade)
    assert question.evidence == (found.id,)
    assert question.finding == (found.claim if grade is not None else "")


def test_the_finding_of_a_question_is_the_best_fact_that_speaks_of_it() -> None:
    first = fact("Ropes are checked by two people each time.", answers=("sq-1",))
    second = fact("The harbour of Ardal was opened to steamers in 1874.", answers=("sq-1",))
    wanted = replace(asked(1), text="When was the harbour of Ardal opened to steamers?")
    (question,) = after([first, second], wanted).sub_questions
    assert question.finding == second.claim


def test_triplet_a_single_unverified_source_answers_once_another_confirms_it() -> None:
    one = fact("The harbour of Ardal was opened to steamers in 1874.", answers=("sq-1",), **WEB)
    other = fact(
        "In 1874 the Ardal harbour opened for its first steamers.", source="S2", kind="web", url="https://example.org/y"
    )
    (question,) = assess_thread(
        thread(sub_questions=(asked(1),), facts=(one,)), one_round(urls="a", facts=[other])
    ).sub_questions
    assert (question.standing, question.grade) == (SubQuestionStatus.ANSWERED, Grade.VERIFIED)


def test_timed_14_three_failed_attempts_exhaust_a_sub_question() -> None:
    question = asked(1)
    seen = []
    for _ in range(3):
        (question,) = after(question=question, targets=("sq-1",)).sub_questions
        seen.append((question.attempts, question.standing))
    assert seen == [(1, SubQuestionStatus.OPEN), (2, SubQuestionStatus.OPEN), (3, SubQuestionStatus.EXHAUSTED)]


def test_timed_14_only_what_was_targeted_and_got_nothing_is_a_failed_attempt() -> None:
    assert after(question=asked(1)).sub_questions[0].attempts == 0  # not targeted
    got = fact(answers=("sq-1",), **WEB)
    assert after([got], targets=("sq-1",)).sub_questions[0].attempts == 0  # got something, if unverified
    assert after(targets=("sq-1",), cut=True).sub_questions[0].attempts == 0  # the reserve cut it
    assert after(targets=("sq-1",), failures=("down",)).sub_questions[0].attempts == 1  # a failed search counts


def test_a_question_that_is_answered_gathers_no_failed_attempts() -> None:
    (done,) = after([], targets=("sq-1",), known=(fact(),)).sub_questions
    assert (done.standing, done.attempts) == (SubQuestionStatus.ANSWERED, 0)


def test_attempts_is_the_number_of_the_course() -> None:
    assert (
        after(question=asked(1), targets=("sq-1",), attempts=1).sub_questions[0].standing is SubQuestionStatus.EXHAUSTED
    )
    kept = after(question=asked(1), targets=("sq-1",), attempts=1, exhaust=False).sub_questions[0]
    assert (kept.standing, kept.attempts) == (SubQuestionStatus.OPEN, 1)  # without `exhaust`: still a gap


def test_facts_that_come_late_answer_an_exhausted_sub_question() -> None:
    gone = asked(1, SubQuestionStatus.EXHAUSTED, attempts=3)
    assert after([fact(answers=("sq-1",))], gone).sub_questions[0].standing is SubQuestionStatus.ANSWERED


def test_triplet_subject_rounds_count_when_targeted() -> None:
    targeted = after(subjects=(subject("Ardal"),), subjects_aimed=("Ardal",)).subjects[0]
    passed = after(subjects=(subject("Ardal"),)).subjects[0]
    assert (targeted.rounds, passed.rounds) == (1, 0)
    assert after(subjects=(subject("Ardal"),), subjects_aimed=("Ardal",), cut=True, urls="").subjects[0].rounds == 0


@pytest.mark.parametrize(
    ("found", "coverage"),
    [
        (fact(subjects=("Ardal",)), Coverage.COVERED),
        (fact(subjects=("Ardal",), **WEB), Coverage.PARTIAL),
        (fact(), Coverage.COVERED),  # the quote names it
        (fact("Fish is salted in Bergen."), Coverage.UNCOVERED),
    ],
)
def test_triplet_subject_coverage_by_grade(found, coverage: Coverage) -> None:
    assert after([found], subjects=(subject("Ardal"),)).subjects[0].coverage is coverage


def test_a_subject_is_covered_under_its_alias() -> None:
    named = Subject("Port of Ardal", aliases=("harbour",))
    assert after([fact()], subjects=(named,)).subjects[0].coverage is Coverage.COVERED


def test_a_name_of_stop_words_must_stand_there_literally() -> None:
    band = Subject("The Who")
    assert after([fact("In 1964 The Who played.")], subjects=(band,)).subjects[0].coverage is Coverage.COVERED
    assert after([fact("Those who played.")], subjects=(band,)).subjects[0].coverage is Coverage.UNCOVERED


def test_all_words_of_a_name_must_stand_there() -> None:
    two = Subject("Ardal railway")
    assert after([fact()], subjects=(two,)).subjects[0].coverage is Coverage.UNCOVERED


def test_a_fact_found_again_gains_what_it_speaks_to() -> None:
    one, again = fact(answers=("sq-1",), confidence=0.4), fact(answers=("sq-2",), confidence=0.6)
    (joined,) = merge_facts([one], [again])
    assert (joined.answers, joined.confidence) == (("sq-1", "sq-2"), 0.6)


def test_triplet_contradictions_are_kept_once_for_each_pair_and_never_dropped() -> None:
    a, b = fact("It opened in 1874."), fact("It opened in 1880.", source="S2")
    one = Contradiction("opening", a.id, b.id)
    turned = Contradiction("opened when", b.id, a.id)
    assert merge_contradictions((one,), (turned,), (a, b)) == (one,)
    solved = merge_contradictions((one,), (replace(turned, resolved=True, scope="two harbours"),), (a, b))
    assert solved == (replace(one, resolved=True, scope="two harbours"),)
    assert merge_contradictions(solved, (one,), (a, b)) == solved
    assert merge_contradictions((one,), (), ()) == (one,)
    scoped = replace(one, scope="in summer")
    (kept,) = merge_contradictions((scoped,), (replace(one, resolved=True),), (a, b))
    assert (kept.resolved, kept.scope) == (True, "in summer")


def test_contradictions_of_unknown_facts_are_not_data() -> None:
    a = fact()
    assert (
        merge_contradictions((), (Contradiction("x", a.id, FactId("Fzzz")), Contradiction("x", a.id, a.id)), (a,)) == ()
    )


def test_contradictions_enter_with_a_proposal() -> None:
    a, b = fact("It opened in 1874."), fact("It opened in 1880.", source="S2")
    conflict = Contradiction("opening", a.id, b.id)
    state = thread(one_round(), facts=(a, b))
    assert settle_round(state, Proposal("", contradictions=(conflict,)))[0].contradictions == (conflict,)


FACTS = st.lists(
    st.builds(
        lambda quote, number, answers, web: fact(quote, source=f"S{number}", answers=answers, **(WEB if web else {})),
        st.sampled_from(["It opened in 1874.", "Ardal has a harbour.", "Fish is salted."]),
        st.integers(1, 3),
        st.lists(st.sampled_from(["sq-1", "sq-2"]), unique=True),
        st.booleans(),
    ),
    max_size=6,
)


@given(FACTS, FACTS, st.sets(st.sampled_from(["sq-1", "sq-2"])), st.booleans())
def test_nothing_found_is_lost_and_standings_are_repeatable(known, found, targets, cut: bool) -> None:
    state = thread(sub_questions=(asked(1), asked(2)), subjects=(subject("Ardal"),), facts=merge_facts((), known))
    done = one_round(urls="a", facts=found, targets=tuple(targets), cut=cut)
    result = assess_thread(state, done)
    assert {each.id for each in result.facts} == {each.id for each in (*known, *found)}
    assert result == assess_thread(state, done)
    assert [each.id for each in result.sub_questions] == ["sq-1", "sq-2"]
    for each in result.sub_questions:
        assert (each.standing is SubQuestionStatus.ANSWERED) == (each.grade in (Grade.PLAUSIBLE, Grade.VERIFIED))
        assert set(each.evidence) <= {f.id for f in result.facts}


@given(FACTS, FACTS)
def test_an_answered_question_stays_answered(known, found) -> None:
    state = thread(sub_questions=(asked(1),))
    first = assess_thread(state, one_round(urls="a", facts=known))
    later = replace(state, facts=first.facts, sub_questions=first.sub_questions)
    second = assess_thread(later, one_round(urls="b", facts=found, targets=("sq-1",)))
    if first.sub_questions[0].standing is SubQuestionStatus.ANSWERED:
        assert second.sub_questions[0].standing is SubQuestionStatus.ANSWERED


ANSWER = fact("The harbour of Ardal was opened to steamers in 1874.")


def settled(proposal: Proposal, *facts: Fact, questions=()):
    return settle_round(thread(one_round(), facts=facts, sub_questions=questions or (asked(1), asked(2))), proposal)


def test_a_question_is_a_gap_until_a_statement_answers_it_whatever_the_analyst_wrote() -> None:
    state, told = settled(Proposal(""), ANSWER)
    assert [each.standing for each in state.sub_questions] == [SubQuestionStatus.ANSWERED, SubQuestionStatus.OPEN]
    assert [gap.target for gap in told.gaps] == ["sq-2"]
    assert not told.done
    assert "1 of 2 questions answered" in told.summary
    _, empty = settled(Proposal(""))
    assert [gap.target for gap in empty.gaps] == ["sq-1", "sq-2"]


@pytest.mark.parametrize(
    ("proposal", "facts", "standing", "words"),
    [
        (Proposal("", answered=("sq-1",), judged=True), (ANSWER,), SubQuestionStatus.ANSWERED, ""),
        (Proposal("", judged=True), (ANSWER,), SubQuestionStatus.PARTIAL, phrases.DOUBTED),
        (Proposal("", answered=("sq-1",), judged=True), (), SubQuestionStatus.PARTIAL, phrases.CLAIMED),
        (Proposal("", judged=True), (), SubQuestionStatus.OPEN, phrases.NOTHING_FOUND),
    ],
)
def test_a_model_and_the_answer_test_must_agree(proposal, facts, standing: SubQuestionStatus, words: str) -> None:
    state, told = settled(proposal, *facts, questions=(asked(1),))
    assert state.sub_questions[0].standing is standing
    assert [gap.text.split(": ")[0] for gap in told.gaps] == ([words] if words else [])


def test_a_gap_in_the_words_of_the_model_stands_for_its_question() -> None:
    _, told = settled(Proposal("", gaps=(Gap("who held the brush", "sq-2"), Gap("a map")), judged=True))
    assert [gap.text for gap in told.gaps if gap.target != "sq-1"] == ["who held the brush", "a map"]


def test_one_page_of_unknown_standing_states_it_and_does_not_answer() -> None:
    page = fact(kind="web", url="https://example.com/x")
    state, told = settled(Proposal(""), page, questions=(asked(1),))
    assert state.sub_questions[0].finding == page.claim
    assert told.gaps[0].text.startswith(phrases.UNKNOWN_STANDING)


def test_a_comparison_needs_both_sides() -> None:
    question = SubQuestion("sq-1", "How did the rules on lamps change between Rule 7 and Rule 9?")
    old, new = fact("Lamps shall be lit at dusk."), fact("Lamps may be lit at dusk.", source="S2")
    old, new = replace(old, title="Rules", version="Rule 7"), replace(new, title="Rules", version="Rule 9")
    _, told = settled(Proposal(""), old, questions=(question,))
    assert told.gaps[0].text.startswith(phrases.OTHER_SIDE)
    _, told = settled(Proposal(""), old, questions=(replace(question, likely=0.1),))
    assert told.gaps[0].text.startswith(phrases.UNLIKELY), "the one side is hardly about the question either"
    _, told = settled(Proposal(""), old, new, questions=(question,))
    assert [gap.text.split(": ")[0] for gap in told.gaps] == [phrases.UNCERTAIN], "both sides are there"


def test_statements_that_fit_a_question_the_library_is_hardly_likely_to_answer_leave_it_uncertain() -> None:
    """Words alone can not tell: the rating of the library and what the statements hold must both speak for it."""
    question = replace(asked(1), text="When was the harbour of Ardal opened to steamers?", likely=0.55)
    state, told = settled(Proposal(""), ANSWER, questions=(question,))
    assert state.sub_questions[0].standing is SubQuestionStatus.PARTIAL
    assert state.sub_questions[0].is_uncertain
    assert [gap.text.split(": ")[0] for gap in told.gaps] == [phrases.UNCERTAIN]
    sure = replace(question, likely=0.99)
    assert settled(Proposal(""), ANSWER, questions=(sure,))[0].sub_questions[0].standing is SubQuestionStatus.ANSWERED
    rare = replace(question, likely=0.01)
    assert settled(Proposal(""), ANSWER, questions=(rare,))[0].sub_questions[0].standing is SubQuestionStatus.PARTIAL
    other = replace(sure, text="When was the wide harbour dug?")
    assert (
        settled(Proposal(""), ANSWER, questions=(other,))[0].sub_questions[0].standing is not SubQuestionStatus.ANSWERED
    )
    counted = Proposal("", answered=("sq-1",), judged=True)
    judged, _ = settled(counted, replace(ANSWER, answers=("sq-1",)), questions=(replace(sure, likely=0.55),))
    assert judged.sub_questions[0].standing is SubQuestionStatus.ANSWERED, "a model judges in the place of the rating"


def test_a_name_that_no_statement_has_leaves_a_question_open_however_likely_its_answer_seems() -> None:
    question = replace(asked(1), text="Does the harbour of Ardal use a dock of HM-7?", likely=0.99)
    said = fact("The harbour of Ardal has a quay of stone.")
    state, told = settled(Proposal(""), said, questions=(question,))
    assert state.sub_questions[0].standing is SubQuestionStatus.OPEN
    bare = replace(question, text="How many steamers can Ardal berth?")
    counted = fact("Ardal has 12 steamers.")
    assert settled(Proposal(""), counted, questions=(bare,))[0].sub_questions[0].standing is SubQuestionStatus.OPEN
    named = replace(fact("The plan of HM-7 was drawn in Ardal."), source=SourceId("S99"))
    state, told = settled(Proposal(""), said, named, questions=(question,))
    assert state.sub_questions[0].standing is SubQuestionStatus.PARTIAL
    assert [gap.text.split(": ")[0] for gap in told.gaps] == [phrases.UNCERTAIN]


def test_statements_that_a_model_counts_as_an_answer_may_give_the_two_sides_together() -> None:
    question = SubQuestion("sq-1", "How did the rules on lamps change between Rule 7 and Rule 9?")
    old, new = fact("Lamps shall be lit at dusk."), fact("Steamers are free from that.", source="S2")
    old, new = replace(old, title="Rules", version="Rule 7"), replace(new, title="Rules", version="Rule 9")
    state, told = settled(Proposal(""), old, new, questions=(question,))
    assert state.sub_questions[0].standing is SubQuestionStatus.OPEN, "words alone see one side"
    assert told.gaps[0].text.startswith(phrases.OTHER_SIDE)
    counted = Proposal("", answered=("sq-1",), judged=True)
    state, told = settled(counted, old, new, questions=(question,))
    assert (state.sub_questions[0].standing, told.gaps) == (SubQuestionStatus.ANSWERED, ())
    state, told = settled(counted, old, questions=(question,))
    assert told.gaps[0].text.startswith(phrases.OTHER_SIDE), "what was not read is no side, whatever a model counts"


def test_a_name_that_some_statement_has_is_not_said_to_be_missing() -> None:
    question = SubQuestion("sq-1", "Are members required to keep the register KR-512?")
    near = fact("The members of the club must keep the register.")
    named = replace(fact("KR-512 is a list."), source=SourceId("S99"))
    _, _, gaps = assess_questions((question,), (near, named))
    assert [gap.text for gap in gaps] == [f"{phrases.NO_ANSWER}: {question.text}"]


HERE, THERE = (
    fact(kind="web", url="https://example.com/x", source="S1"),
    fact(
        "The harbour of Ardal was opened to steamers in 1874, after 3 years of dredging.",
        kind="web",
        url="https://third.example/z",
        source="S3",
    ),
)
COUNTED = Proposal("", answered=("sq-1",), judged=True)


@pytest.mark.parametrize(
    ("proposal", "facts", "answered"),
    [
        (COUNTED, (HERE,), False),
        (COUNTED, (HERE, replace(HERE, id=FactId("F9"), url="https://example.com/2", source=SourceId("S9"))), False),
        (COUNTED, (HERE, THERE), True),
        (replace(COUNTED, answered=()), (HERE, THERE), False),
        (replace(COUNTED, first_hand=("S1",)), (HERE,), True),
        (replace(COUNTED, first_hand=("S1",), answered=()), (HERE,), False),
        (replace(COUNTED, first_hand=("S3",)), (HERE,), False),
        (replace(COUNTED, contradictions=(Contradiction("year", HERE.id, THERE.id),)), (HERE, THERE), False),
        (
            replace(COUNTED, first_hand=("S1",), contradictions=(Contradiction("year", HERE.id, THERE.id),)),
            (HERE, THERE),
            True,
        ),
        (
            replace(COUNTED, contradictions=(Contradiction("year", HERE.id, THERE.id, resolved=True),)),
            (HERE, THERE),
            True,
        ),
    ],
)
def test_pages_of_unknown_standing_answer_by_two_publishers_or_the_subjects_own_and_the_verdict_of_the_model(
    proposal: Proposal, facts, answered: bool
) -> None:
    state, told = settled(proposal, *facts, questions=(asked(1),))
    [question] = state.sub_questions
    assert (question.standing is SubQuestionStatus.ANSWERED) == answered
    assert (question.grade is Grade.PLAUSIBLE) == answered
    assert bool(told.gaps) != answered
    assert {each.grade for each in state.facts} == {Grade.UNVERIFIED}, "no fact is worth more for it"

"""Outcome: honest words for how a run ended, read from the assessment."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.policies.threads import fact, one_round

from corrobora.domain.evidence import (
    Contradiction,
    Fact,
    Hit,
    PassageId,
    Reading,
    ReadOutcome,
    Relation,
    SourceId,
)
from corrobora.domain.plan import SubQuestion, SubQuestionStatus
from corrobora.domain.report import Findings, Outcome
from corrobora.domain.thread import Gap, Intent, StopReason
from corrobora.policies.outcome import decide_outcome, describe_limits, explain_refusal, list_unread_requests
from corrobora.text import phrases
from corrobora.text.phrases import find_frame

ANSWERED = SubQuestion("q", "?", SubQuestionStatus.ANSWERED)


@pytest.mark.parametrize(
    ("found", "cited", "failed", "expected"),
    [
        (
            Findings("root", "t", sub_questions=(SubQuestion("q", "?", SubQuestionStatus.ANSWERED),)),
            1,
            0,
            Outcome.COMPLETE,
        ),
        (Findings("root", "t", sub_questions=(SubQuestion("q", "?"),)), 1, 0, Outcome.PASSAGES),
        (Findings("root", "t", sub_questions=(ANSWERED, SubQuestion("r", "?"))), 1, 0, Outcome.PARTIAL),
        (Findings("root", "t", sub_questions=(ANSWERED,), gaps=(Gap("a map"),)), 1, 0, Outcome.PARTIAL),
        (Findings("root", "t", sub_questions=(SubQuestion("q", "?", finding="In 1874."),)), 1, 0, Outcome.PARTIAL),
        (Findings("root", "t"), 1, 2, Outcome.PARTIAL),
        (Findings("root", "t", rounds=(one_round(1),)), 0, 2, Outcome.PROVIDER_DOWN),
        (Findings("root", "t", rounds=(one_round(1, "a b"),)), 0, 0, Outcome.NO_EVIDENCE),
    ],
)
def test_an_outcome_says_honestly_how_a_run_ended(found: Findings, cited: int, failed: int, expected: Outcome) -> None:
    assert decide_outcome(found, cited, failed_searches=failed, searches=3)[0] is expected


def test_a_run_that_a_person_ended_is_complete_only_if_everything_was_answered() -> None:
    def ended(*asked: SubQuestion) -> Findings:
        leaf = Findings("root/1", "t", sub_questions=asked, stop=StopReason.CANCELLED)
        return Findings("root", "t", sub_questions=asked, children=(leaf,), stop=StopReason.CANCELLED)

    def told(found: Findings, cited: int) -> tuple[Outcome, str]:
        return decide_outcome(found, cited, failed_searches=0, searches=3)

    answered = SubQuestion("q", "?", SubQuestionStatus.ANSWERED)
    assert told(ended(answered), 1) == (Outcome.COMPLETE, "")
    assert told(ended(), 1) == (Outcome.PARTIAL, "the research was ended before it was done")
    assert told(ended(answered, SubQuestion("r", "?")), 1)[0] is Outcome.PARTIAL
    assert told(ended(SubQuestion("r", "?")), 0) == (
        Outcome.CANCELLED,
        "the research was ended before anything was found",
    )


def test_questions_that_statements_fit_without_certainty_are_told_beside_those_answered() -> None:
    fits, doubted = (SubQuestion(name, "?", SubQuestionStatus.PARTIAL, finding="In 1874.", likely=0.9) for name in "rs")
    gaps = (Gap(f"{phrases.UNCERTAIN}: ?", "r"), Gap(f"{phrases.DOUBTED}: ?", "s"))  # a model says that s is open
    found = Findings("root", "t", sub_questions=(ANSWERED, fits, doubted), gaps=gaps)
    told = decide_outcome(found, 1, failed_searches=0, searches=3)
    assert told == (Outcome.PARTIAL, "1 of 3 questions answered, 1 perhaps")
    assert find_frame("de").translate(told[1]) == "1 von 3 Fragen beantwortet, 1 vielleicht"


def test_not_found_is_told_apart_from_could_not_be_read() -> None:
    done = one_round(1, "a b")
    locked = replace(done, readings=tuple(replace(r, outcome=ReadOutcome.ENCRYPTED) for r in done.readings))
    assert decide_outcome(Findings("root", "t", rounds=(locked,)), 0, failed_searches=0, searches=1) == (
        Outcome.INACCESSIBLE,
        "none of 2 results could be read",
    )


def test_a_search_that_never_answered_is_not_told_as_nothing_found() -> None:
    asked = replace(one_round(1), hits=(), readings=(), cut=True)
    assert asked.intent.queries
    found = decide_outcome(Findings("root", "t", rounds=(asked,)), 0, failed_searches=0, searches=0)
    assert found == (Outcome.PROVIDER_DOWN, "no search was answered before the time was over")


def test_a_run_whose_time_was_over_before_any_search_found_neither_something_nor_nothing() -> None:
    unasked = replace(one_round(1), intent=Intent("cut before it was scoped", ()), hits=(), readings=(), cut=True)
    for rounds in ((unasked,), ()):
        found = decide_outcome(Findings("root", "t", rounds=rounds), 0, failed_searches=0, searches=0)
        assert found == (Outcome.LIMIT_REACHED, "the time was over before anything was searched")


def test_statements_far_from_the_question_are_no_report_and_near_ones_are_passages() -> None:
    asked = SubQuestion("sq-1", "Which colour has the old mill of Ardal?")
    assert explain_refusal(asked.text, (asked,), (fact("Fish is salted in Bergen."),))
    assert explain_refusal(asked.text, (asked,), (fact("The old mill of Ardal has two wheels."),)) == ""
    for likely, near in ((0.3, True), (0.05, False)):
        rated = replace(asked, likely=likely)
        assert (explain_refusal(rated.text, (rated,), (fact("Fish is salted in Bergen."),)) == "") is near
        assert explain_refusal(rated.text, (rated,), (fact("A mill stands in Bergen."),)) == "", (
            "in other words, perhaps"
        )


def test_a_report_whose_answers_contradict_each_other_is_not_complete() -> None:
    sides = (replace(fact("a"), answers=("q",)), replace(fact("b"), answers=("q",)))
    dispute = Contradiction("c", sides[0].id, sides[1].id)

    def told(conflict: Contradiction, facts: tuple[Fact, ...] = sides) -> tuple[Outcome, str]:
        found = Findings("root", "t", facts=facts, sub_questions=(ANSWERED,), contradictions=(conflict,))
        return decide_outcome(found, 1, failed_searches=0, searches=1)

    assert told(dispute) == (Outcome.PARTIAL, "1 contradiction in an answer")
    assert told(replace(dispute, resolved=True))[0] is Outcome.COMPLETE
    assert told(replace(dispute, relation=Relation.SUPERSEDES))[0] is Outcome.COMPLETE
    aside = (sides[0], replace(sides[1], answers=("r",)))
    assert told(dispute, aside)[0] is Outcome.COMPLETE, "what was not asked may differ"


def test_a_limit_that_a_later_pass_of_a_task_got_over_is_not_told():
    capped = Findings("root/1", "Cranes", gaps=(Gap("the load", "sq-1"),), stop=StopReason.ITERATION_CAP)
    assert describe_limits([capped], (), None)
    assert not describe_limits([capped, Findings("root/1~2", "Cranes", stop=StopReason.GAPS_EMPTY)], (), None)


def test_a_document_that_a_later_round_opened_is_not_told_as_unread():
    """A search found it after all, at another passage than the one that its reader had asked for."""
    named = Hit("5.html", "5. Commands", source=SourceId("S5"), passage=PassageId("C50"), linked_from="54. Utilities")
    own = replace(named, title="54. Utilities", source=SourceId("S54"), passage=PassageId("C54"), snippet="10. Times")
    asking = Reading(Hit("54.html", "54. Utilities"), ReadOutcome.READ, SourceId("S54"), asks=(named, own))
    first = replace(one_round(1), readings=(asking,))
    opened = Reading(Hit("5.html", "5. Commands"), ReadOutcome.READ, SourceId("S5"), (PassageId("C51"),))
    assert list_unread_requests((first,)) == (named, own)
    later = replace(one_round(2), readings=(opened, replace(asking, asks=())))
    assert list_unread_requests((first, later)) == (own,), "of its own page another section is another thing"

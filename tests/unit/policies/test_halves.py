"""Questions of two halves, questions in other languages, and which finding is shown where a model counts them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.policies.test_coverage import COUNTED, settled
from tests.unit.policies.threads import asked, fact

from corrobora.domain.plan import SubQuestion, SubQuestionStatus
from corrobora.domain.thread import Proposal

HALVES = SubQuestion(
    "sq-1", "How long does the ferry wait for a late train, and how does the mill of Orrin space its gates?"
)
FERRY = fact("wait_limit (5d) The ferry waits for a late train no longer than this.", passage="C1", answers=("sq-1",))
GATES = fact("Gates of Orrin mill: the mill doubles the space between gates.", passage="C2", answers=("sq-1",))


@pytest.mark.parametrize(
    ("facts", "standing"),
    [
        ((FERRY, GATES), SubQuestionStatus.ANSWERED),
        ((GATES,), SubQuestionStatus.PARTIAL),
        ((), SubQuestionStatus.PARTIAL),
    ],
)
def test_a_question_of_two_halves_is_answered_by_a_fact_for_each(facts, standing: SubQuestionStatus) -> None:
    judged, _ = settled(COUNTED, *facts, questions=(HALVES,))
    assert judged.sub_questions[0].standing is standing


GERMAN = SubQuestion("sq-1", "Wie werden die Schleusen der Mühle geschmiert?")
OIL = fact("Man nimmt dafür Mineralöl und keinesfalls Tierfett.", answers=("sq-1",))


def test_where_the_answer_test_cannot_read_the_words_reader_and_verdict_decide() -> None:
    """It knows English only; a fact that its reader took for another question answers nothing here."""
    judged, _ = settled(COUNTED, OIL, questions=(GERMAN,))
    assert judged.sub_questions[0].standing is SubQuestionStatus.ANSWERED
    assert judged.sub_questions[0].finding == OIL.claim
    other, _ = settled(COUNTED, replace(OIL, answers=("sq-2",)), questions=(GERMAN, SubQuestion("sq-2", "Warum?")))
    assert other.sub_questions[0].standing is SubQuestionStatus.PARTIAL
    unclaimed, _ = settled(Proposal("", judged=True), OIL, questions=(GERMAN,))
    assert unclaimed.sub_questions[0].standing is not SubQuestionStatus.ANSWERED


def test_the_finding_that_is_shown_is_one_that_its_reader_took_for_the_question() -> None:
    near = fact("The harbour of Ardal and the steamers of Ardal: when was it opened? In 1874.", answers=("sq-2",))
    own = replace(fact("The harbour of Ardal was opened to steamers in 1874.", passage="C3"), answers=("sq-1",))
    judged, _ = settled(COUNTED, near, own, questions=(asked(1), asked(2)))
    assert judged.sub_questions[0].finding == own.claim


RELEASES = SubQuestion("sq-1", "How do Oaklock 2.2 and the sluices of Orrin 4.4 update gates for their barges?")
MANUALS = [
    fact(text, source=source, passage=f"C{at}", answers=("sq-1",))
    for at, (source, text) in enumerate(
        (
            ("S1", "The keeper posts each change to the separate process that updates the gates."),
            ("S1", "It is off by default."),
            ("S2", "The style must be one of slow, quick or none."),
            ("S2", "The kitchen serves soup at noon."),
        )
    )
]


@pytest.mark.parametrize(
    ("places", "standing"), [((0, 1, 2), SubQuestionStatus.ANSWERED), ((3,), SubQuestionStatus.PARTIAL)]
)
def test_what_a_model_names_together_is_tested_together(places, standing: SubQuestionStatus) -> None:
    """Rows of two manuals hold neither all words nor the release of a question; what is far from it answers nothing."""
    told = [replace(MANUALS[at], title="Oaklock 2.2.0" if at < 2 else "Sluices 4.4.3") for at in places]
    named = replace(COUNTED, answered_by=(("sq-1", tuple(each.id for each in told)),))
    judged, _ = settled(named, *told, questions=(RELEASES,))
    assert judged.sub_questions[0].standing is standing

"""Insights: S0's four triggers, S4's blanks, the rubric where no spec is given."""

from __future__ import annotations

import pytest

from corrobora.domain.brief import Brief, SubQuestion
from corrobora.domain.evidence import Passage, PassageId, SourceId
from corrobora.domain.plan import Node
from corrobora.domain.thread import Course, Phase, ThreadState
from corrobora.engine.insights import filled, rubric, triggered
from corrobora.roles.extract import Extraction, Quote

SURE = (Quote("C1", "a quote that is long enough", "claim", 0.9),)


def passage(text: str = "plain", heading: str = "") -> Passage:
    return Passage(PassageId("C1"), SourceId("S1"), text, 0, len(text), heading)


@pytest.mark.parametrize(
    ("extraction", "where", "intense", "expected"),
    [
        (Extraction(SURE), passage(), False, False),
        (Extraction((Quote("C1", "a quote", "claim", 0.2),)), passage(), False, True),
        (Extraction(SURE), passage(heading="5 Limitations"), False, True),
        (Extraction(SURE), passage("Future work should look at rivers."), False, True),
        (Extraction(SURE, contradicts_known=("It stood in 1900.",)), passage(), False, True),
        (Extraction(SURE), passage(), True, True),
    ],
)
def test_s0_optional_insights_count_under_four_triggers_only(
    extraction: Extraction, where: Passage, *, intense: bool, expected: bool
) -> None:
    assert triggered(extraction, [where], discovery_intense=intense) is expected


def thread() -> ThreadState:
    brief = Brief("What of mills?", (SubQuestion("sq-1", "When was it built?"), SubQuestion("sq-2", "Who owned it?")))
    return ThreadState.open_thread(Node("root", "t", "Tide mills"), brief, Course((Phase("SURVEY"),)))


def test_s4_blanks_of_reading_prompts_are_filled() -> None:
    text = filled("Find ${TOPIC}; records matching ${CRITERIA}; verify ${SPECIFIC_CLAIM}", thread())
    assert text == "Find Tide mills; records matching When was it built?; Who owned it?; verify Tide mills"
    assert filled("", thread()) == ""


def test_s0_a_rubric_names_scope_questions_and_target_confidence() -> None:
    text = rubric(thread())
    assert "Tide mills" in text
    assert "When was it built?" in text
    assert "0.7" in text

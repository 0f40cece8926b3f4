"""Insights: the four conditions, the blanks of reading prompts, the rubric where no spec is given."""

from __future__ import annotations

from dataclasses import replace

import pytest

from corrobora.domain.evidence import Passage, PassageId, SourceId
from corrobora.domain.plan import Brief, Node, SubQuestion
from corrobora.domain.thread import Course, Phase, ThreadState
from corrobora.engine.sections import has_insight_trigger
from corrobora.policies.intent import build_rubric, fill_prompt
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
def test_tree_optional_insights_count_under_four_triggers_only(
    extraction: Extraction, where: Passage, *, intense: bool, expected: bool
) -> None:
    assert has_insight_trigger(extraction, [where], discovery_intense=intense) is expected


def test_tree_what_code_finds_disputed_is_a_trigger_as_well() -> None:
    assert has_insight_trigger(Extraction(SURE), [passage()], discovery_intense=False, disputed=True)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("The crane must be inspected every 12 months.", "The crane must be inspected every 24 months.", True),
        ("The crane must be inspected every 12 months.", "Every 12 months the crane must be inspected.", False),
        ("The crane must be inspected every 12 months.", "The harbour was dug in 1874.", False),
    ],
)
def test_tree_a_source_that_contradicts_itself_is_a_trigger(one: str, other: str, *, expected: bool) -> None:
    quotes = tuple(Quote("C1", text, text, 0.9) for text in (one, other))
    assert has_insight_trigger(Extraction(quotes), [passage()], discovery_intense=False) is expected


def thread() -> ThreadState:
    brief = Brief("What of mills?", (SubQuestion("sq-1", "When was it built?"), SubQuestion("sq-2", "Who owned it?")))
    return ThreadState.open_thread(Node("root", "t", "Tide mills"), brief, Course((Phase("SURVEY"),)))


def test_triplet_blanks_of_reading_prompts_are_filled() -> None:
    text = fill_prompt("Find ${TOPIC}; records matching ${CRITERIA}; verify ${SPECIFIC_CLAIM}", thread())
    assert text == "Find Tide mills; records matching sq-1; sq-2; verify Tide mills"
    assert fill_prompt("", thread()) == ""


def test_tree_a_rubric_names_scope_questions_and_target_confidence() -> None:
    text = build_rubric(thread())
    assert "Tide mills" in text
    assert "Look for: all sub-questions" in text
    assert "0.7" in text


def test_tree_a_rubric_tells_a_finding_of_two_questions_once() -> None:
    asked = tuple(SubQuestion(name, "Is it old?", finding="It is old.") for name in ("sq-1", "sq-2"))
    both = replace(thread(), sub_questions=asked)
    assert build_rubric(both).count("It is old.") == 1

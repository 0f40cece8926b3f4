"""The synthesis prompt under its public names (ANGLES-28)."""

from __future__ import annotations

from corrobora.analysts.language_model.rendering import read_prompt_file, render_prompt
from corrobora.analysts.language_model.synthesis_prompt import (
    SYNTHESIS_SYSTEM,
    SYNTHESIS_USER_TEMPLATE,
    build_synthesis_prompt,
)
from corrobora.roles.forms import FACTS
from corrobora.roles.synthesize import Part
from corrobora.testing.conformance import SAMPLES


def test_the_synthesis_has_a_template_of_its_own():
    for role, given in SAMPLES:
        prompt = render_prompt(role, given)
        assert (prompt.system == SYNTHESIS_SYSTEM) == (role.prompt == "synthesize")
    assert SYNTHESIS_USER_TEMPLATE in read_prompt_file("synthesize")
    assert read_prompt_file("summarize").partition("<!-- brief -->")[2].strip() != SYNTHESIS_USER_TEMPLATE


def test_it_receives_topic_summaries_and_each_fact_once():
    parts = [Part("root/1", "One", "It moves [S3:C7].", FACTS), Part("root/2", "Two", "", FACTS, failed="lost")]
    prompt = build_synthesis_prompt("How does the pump work?", parts, uncovered=["risks"])
    assert prompt.system == SYNTHESIS_SYSTEM
    assert "How does the pump work?" in prompt.brief
    assert "It moves [S3:C7]." in prompt.task
    assert prompt.task.count(FACTS[0].id) == 1
    assert "risks" in prompt.task
    assert "lost" in prompt.task
    assert "Layout: angles" in prompt.brief


def test_the_format_of_the_report_is_demanded():
    for words in ("numbered `##` sections, one for each angle", "`---` between major\n  sections", "`## Conclusion`"):
        assert words in SYNTHESIS_SYSTEM

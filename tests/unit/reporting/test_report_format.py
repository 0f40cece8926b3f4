"""Form: the format rules hold for every body, and no sentence is changed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from corrobora.reporting.report_format import find_format_faults, format_report_body

LINES = st.sampled_from(
    ["# A", "## B", "### C", "#### D", "- one", "  - two", "text.", "", "## References", "## Sources:"]
)


@given(st.lists(LINES, max_size=12))
def test_timed_no_fault_is_left(lines: list[str]) -> None:
    assert find_format_faults(format_report_body("\n".join(lines))) == ()


def test_the_body_opens_with_its_statements() -> None:
    assert (
        format_report_body("## Key\n\n- One [1].\n- Two [2].\n\n## Rest\n\nThree.")
        == "One [1]. Two [2].\n\n## Rest\n\nThree."
    )


def test_lists_of_sources_and_methods_of_a_writer_go_with_their_parts() -> None:
    assert (
        format_report_body("Text.\n\n## References\n\n### Web\n\n- x\n\n## End\n\nLast.") == "Text.\n\n## End\n\nLast."
    )


def test_a_list_of_one_is_a_sentence_and_lists_are_flat() -> None:
    assert format_report_body("Text.\n\n- alone\n\n- a\n  - b") == "Text.\n\nalone\n\n- a\n- b"

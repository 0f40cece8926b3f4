"""Artifacts: names that stay inside, tables that hold, micro-reports and completion report."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from corrobora.domain.report import Findings
from corrobora.domain.thread import Gap, Intent, Round, StopReason
from corrobora.reporting.artifacts import make_slug, name_thread, quote_yaml, render_completion_report
from corrobora.text.markdown import format_cell, format_table


@given(st.text(max_size=200))
def test_safe_6_a_slug_is_a_plain_file_name(name: str) -> None:
    made = make_slug(name)
    assert made
    assert set(made) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert len(made) <= 57


def test_p07_a_name_that_lost_something_gets_a_hash() -> None:
    assert make_slug("mills") == "mills"
    assert make_slug("../../etc/passwd") != "etc-passwd"
    assert make_slug("a/b") != make_slug("a b") == "a-b"


@given(st.text(max_size=600))
def test_a_cell_stays_in_its_row(text: str) -> None:
    made = format_cell(text)
    assert "\n" not in made
    assert "|" not in made.replace("\\|", "")


def test_a_table_without_rows_has_a_dash() -> None:
    assert format_table(("A", "B"), ()).splitlines()[-1] == "| - | - |"
    assert format_table(("A",), (("x|y",),)).splitlines()[-1] == "| x\\|y |"


def test_triplet_completion_report_names_its_reason() -> None:
    name, text = render_completion_report(Findings("root", "Tide Mills", stop=StopReason.PLATEAU), 5)
    assert name.startswith("thread-completion-tide-mills")
    assert "**Convergence reason:** PLATEAU_STOPPED" in text
    assert "**Rounds executed:** 0 of 5" in text
    for heading in ("Sub-Question Status", "Subject Coverage", "All Sources Consulted", "Open Contradictions"):
        assert f"### {heading}" in text


def test_triplet_two_threads_of_one_title_never_write_the_same_file() -> None:
    places = ("root", "root/1", "root/2", "root/2~2", "root/1/2")
    names = {name_thread("Tide Mills", place) for place in places}
    assert len(names) == len(places)
    assert name_thread("Tide Mills", "root") == "tide-mills", "one given thread is named after its title alone"
    reports = {render_completion_report(Findings(place, "Tide Mills"), 5)[0] for place in places}
    assert len(reports) == len(places)


def test_triplet_a_thread_that_failed_is_not_said_to_have_spent_its_budget() -> None:
    _, text = render_completion_report(Findings("root", "Tide Mills", failed="broken", stop=StopReason.ERROR), 5)
    assert "**Convergence reason:** ERROR" in text


def test_triplet_a_gap_tells_how_many_rounds_looked_for_it() -> None:
    rounds = tuple(Round(n, "SURVEY", Intent("", (), (("SQ-1",) if n < 3 else ("SQ-2",)))) for n in (1, 2, 3))
    gaps = (Gap("Who built it?", "SQ-1"), Gap("What else?"))
    _, text = render_completion_report(Findings("root", "Tide Mills", gaps=gaps, rounds=rounds), 5)
    assert "| Who built it? | not stated in what was read | 2 |" in text
    assert "| What else? | not stated in what was read | 3 |" in text


@pytest.mark.parametrize(
    "name",
    [
        "Tide Mills",
        "Mills: a survey",
        "# Mills",
        "- Mills",
        "no",
        "2024",
        "1.0",
        "[mills]",
        'The "old" mill',
        "Mühle im Tal",
        "a",
    ],
)
def test_triplet_the_front_matter_of_a_micro_report_can_be_read_by_yaml(name: str) -> None:
    assert yaml.safe_load(f"thread: {quote_yaml(name)}\n") == {"thread": name}


def test_triplet_a_plain_name_stands_in_the_front_matter_as_it_is() -> None:
    assert quote_yaml("Oldby Towers") == "Oldby Towers"

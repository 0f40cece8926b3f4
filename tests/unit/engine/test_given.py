"""A given thread: the fields of a THREAD.toml, and what is said of a wrong one."""

from __future__ import annotations

from pathlib import Path

import pytest

from corrobora.domain.errors import UserError
from corrobora.engine.planning import _TABLES, parse_thread_file

GOOD = """
round_budget = 4
artifact_dir = "out"

[thread]
name = "Tide mills"
subjects = ["Orrin", "Sand"]
source_strategy = ["SURVEY", "EXTRACT"]
sub_questions = ["When was it built?", { id = "SQ-9", question = "Who owned it?" }]

[brief]
question = "What is known of the tide mills?"
disambiguation = ["mill at Orrin"]
known_facts = ["It stood in 1900."]
places = ["Orrin"]
since = 1800
until = 1900
"""


def test_triplet_thread_and_brief_are_taken_as_given() -> None:
    given = parse_thread_file(GOOD)
    assert given.round_budget == 4
    assert given.artifact_dir == "out"
    assert given.source_strategy == ("SURVEY", "EXTRACT")
    assert [q.id for q in given.brief.sub_questions] == ["SQ-1", "SQ-9"]
    assert [s.name for s in given.brief.subjects] == ["Orrin", "Sand"]
    assert given.brief.known_facts == ("It stood in 1900.",)
    assert (given.brief.focus.since, given.brief.focus.until, given.brief.focus.places) == (1800, 1900, ("Orrin",))
    leaf = given.plan.root
    assert leaf.is_leaf
    assert leaf.max_rounds == 4
    assert leaf.title == "Tide mills"


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (("round_budget = 4", "round_budget = 0"), "round_budget"),
        (("round_budget = 4", 'round_budget = "4"'), "round_budget"),
        (("[thread]", "[threat]"), "thread"),
        (("subjects =", "subject ="), "thread.subject"),
        (('subjects = ["Orrin", "Sand"]', "subjects = [1]"), "thread.subjects"),
        (('name = "Tide mills"', 'name = ""'), "thread.name"),
        (("since = 1800", 'since = "then"'), "brief.since"),
        (('id = "SQ-9"', 'id = "SQ-1"'), "sub_questions"),
        (("[brief]", "[brief"), "TOML"),
    ],
)
def test_what_is_wrong_is_named(change: tuple[str, str], named: str) -> None:
    with pytest.raises(UserError, match=named) as caught:
        parse_thread_file(GOOD.replace(*change))
    assert caught.value.code in ("thread_field", "thread_syntax")
    assert caught.value.exit_code == 2


def test_triplet_the_thread_of_the_guide_can_be_read_field_by_field() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "guides" / "threads.md").read_text(encoding="utf-8")
    given = parse_thread_file(page.partition("```toml\n")[2].partition("```")[0])
    assert (given.name, given.round_budget, given.artifact_dir) == ("Memorized secrets", 6, "reports")
    assert [part.id for part in given.brief.sub_questions] == ["SQ-1", "SQ-length"]
    assert (given.brief.focus.since, given.brief.focus.until, given.brief.focus.domains) == (
        2017,
        2024,
        ("authentication",),
    )
    assert given.source_strategy == ("SURVEY", "EXTRACT", "DIVERSIFY", "VERIFY")
    named = {line.split("=")[0].strip() for line in page.splitlines() if " = " in line}
    assert {name for fields in _TABLES.values() for name in fields} - {"thread", "brief"} <= named, (
        "every field is shown"
    )

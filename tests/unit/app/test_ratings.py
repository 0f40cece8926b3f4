"""Ratings by people: five criteria, one of each person, stored with the run beside the judge."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest
from tests.plugins.shell import Shell

from corrobora.app import Workspace
from corrobora.app.runs import CRITERIA, dump_rating, list_ratings, make_rating, store_rating
from corrobora.config import load_settings
from corrobora.domain.errors import UserError
from corrobora.domain.report import Verdict

FULL = dict.fromkeys(CRITERIA, "5")


def test_the_criteria_are_those_of_the_judge() -> None:
    judge = asdict(Verdict(0, 0, 0, 0, 0))
    assert list(CRITERIA) == [name for name in judge if name != "rationale"]


def test_steps_are_stored_from_0_to_1() -> None:
    rating = make_rating("  Ada   B ", {**FULL, "completeness": "2"}, " good ")
    assert (rating.rater, rating.comment) == ("Ada B", "good")
    assert rating.scores["completeness"] == 0.25
    assert rating.overall == pytest.approx(0.85)
    assert make_rating("", FULL, "").rater == "anonymous"


@pytest.mark.parametrize(
    ("rater", "steps", "comment", "said"),
    [
        ("Ada", {**FULL, "completeness": "6"}, "", "completeness"),
        ("Ada", {}, "", "factual accuracy"),
        ("a/b", FULL, "", "name"),
        ("Ada", FULL, "x" * 4_001, "comment"),
    ],
)
def test_what_is_no_rating_is_refused(rater: str, steps: dict[str, str], comment: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        make_rating(rater, steps, comment)


async def test_the_last_rating_of_each_person_counts(finished: tuple[Shell, str], tmp_path: Path) -> None:
    async with Workspace.open(load_settings(folder=tmp_path)) as workspace:
        for rater, step in (("Bo", "1"), ("Ada", "2"), ("Bo", "4")):
            await store_rating(workspace, finished[1], make_rating(rater, dict.fromkeys(CRITERIA, step), "ü"))
        found = await list_ratings(workspace, finished[1])
        assert [(each.rater, each.overall) for each in found] == [("Ada", 0.25), ("Bo", 0.75)]
        assert dump_rating(found[0])["overall"] == 0.25

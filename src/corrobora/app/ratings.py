"""Ratings of a report by people: the judge's five criteria, stored beside the judge's scores and never in their place.

Knows how a rating is stored with its run, one for each person, the last one of each counts. Does not know the judge.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

from corrobora.domain.errors import UserError

if TYPE_CHECKING:
    from corrobora.app import Workspace

_TOPIC = "rating/"
_NAME = re.compile(r"[\w .@-]{1,60}")
_MOST_COMMENT = 4_000
_STEPS = 5


@dataclass(frozen=True, slots=True)
class Scores:
    """The judge's five criteria, each from 0 to 1."""

    factual_accuracy: float
    citation_accuracy: float
    completeness: float
    source_quality: float
    source_diversity: float


CRITERIA = tuple(field.name for field in fields(Scores))


@dataclass(frozen=True, slots=True)
class Rating:
    """What one person says of a report."""

    rater: str
    scores: Scores
    comment: str = ""
    at: str = ""  # ISO time, UTC

    @property
    def overall(self) -> float:
        """The mean of the five criteria."""
        return sum(asdict(self.scores).values()) / len(CRITERIA)


def make_rating(rater: str, steps: Mapping[str, str], comment: str) -> Rating:
    """Make a rating of steps from 1 (poor) to 5 (excellent), stored as 0 to 1.

    Raises:
        UserError: `rating_invalid`: a name that cannot be one, a criterion without a step, or too long a comment.
    """
    name = " ".join(rater.split()) or "anonymous"
    if not _NAME.fullmatch(name):
        raise UserError("rating_invalid", "The name has characters that names do not have, or more than 60.")
    if len(comment) > _MOST_COMMENT:
        raise UserError("rating_invalid", f"The comment has more than {_MOST_COMMENT:,} characters.")
    chosen: dict[str, float] = {}
    for each in CRITERIA:
        step = steps.get(each, "")
        if step not in map(str, range(1, _STEPS + 1)):
            raise UserError("rating_invalid", f"Choose 1 to {_STEPS} for {each.replace('_', ' ')}.")
        chosen[each] = (int(step) - 1) / (_STEPS - 1)
    return Rating(name, Scores(**chosen), comment.strip(), datetime.now(UTC).isoformat(timespec="seconds"))


async def store_rating(workspace: Workspace, run: str, rating: Rating) -> None:
    """Store a person's rating of a run; an earlier one of the same person is replaced, the judge's scores never are."""
    await workspace.runs.store_answer(run, f"{_TOPIC}{rating.rater}", json.dumps(asdict(rating), ensure_ascii=False))


async def list_ratings(workspace: Workspace, run: str) -> list[Rating]:
    """Return the ratings of a run by name."""
    answers = await workspace.runs.read_answers(run)
    found: list[Rating] = []
    for topic in sorted(each for each in answers if each.startswith(_TOPIC)):
        stored = cast("dict[str, object]", json.loads(answers[topic]))
        scores = Scores(**cast("dict[str, float]", stored.pop("scores")))
        found.append(Rating(scores=scores, **cast("dict[str, str]", stored)))
    return found


def dump_rating(rating: Rating) -> dict[str, object]:
    """Return a rating as JSON values."""
    return {**asdict(rating), "overall": round(rating.overall, 3)}

"""Bodies of the HTTP API that are not values of the domain: runs as clients see them, controls, libraries, checks.

Knows field names and their meaning. Does not know routes.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from fastapi import Path
from pydantic import BaseModel, ConfigDict, Field

from corrobora.app.followups import MAX_FEEDBACK_CHARS
from corrobora.domain.evidence import Contradiction, Fact, Passage, Source
from corrobora.domain.limits import LIMITS
from corrobora.domain.run import Event, RunRow, RunStatus
from corrobora.domain.thread import Gap
from corrobora.faces.refusals import drop_command
from corrobora.faces.web import service
from corrobora.faces.web.stored_runs import EditInfo, Spend
from corrobora.reporting.run_comparison import ChangeKind, ReportChange

RunName = Annotated[
    str, Path(pattern="^[a-z0-9_-]{1,64}$", description="Id of a run, the unique start of one, or `last`.")
]
WholeRunName = Annotated[str, Path(pattern="^[a-z0-9_-]{1,64}$", description="The whole id of a run.")]
SourceName = Annotated[str, Path(pattern="^S[0-9]{1,9}$", description="Id of a source, as a report shows it: S186.")]
LibraryName = Annotated[str, Path(pattern="^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$", description="Name of a library.")]


Relation = Literal["", "ask", "update", "watch", "edit"]


class Strict(BaseModel):
    """A body whose fields are exactly these."""

    model_config = ConfigDict(strict=True, extra="forbid")


class Links(BaseModel):
    """Where the parts of a run are."""

    self: str
    events: str
    plan: str
    report: str
    page: str = Field(description="The page of the run, for people.")


class RunInfo(BaseModel):
    """The status of a run."""

    id: str
    status: RunStatus = Field(description="Final are done, failed and cancelled.")
    outcome: str = Field(description="How the last attempt ended, as a code; empty while it runs.")
    reason: str = Field(description="Why, in words; for a run that waits, what it waits for.")
    question: str
    profile: str
    libraries: list[str]
    providers: list[str]
    created_at: str
    updated_at: str
    elapsed_seconds: float = Field(description="Working time of all attempts.")
    attempts: int
    previous: str = Field(description="The run that this one follows, which may have been removed; empty without one.")
    relation: Relation = Field(description="What it is to the run `previous`.")
    score: float | None = Field(default=None, description="The judge's overall score, 0 to 1, if one was given.")
    links: Links


def describe_run(row: RunRow, score: float | None = None) -> RunInfo:
    """Return a run as its clients see it."""
    base = f"/api/v1/runs/{row.id}"
    parts = {name: f"{base}/{name}" for name in ("events", "plan", "report")}
    return RunInfo(
        id=row.id,
        status=row.status,
        outcome=row.outcome,
        reason=drop_command(row.reason),
        question=row.request.question,
        profile=row.request.profile,
        libraries=list(row.request.libraries),
        providers=list(row.request.providers),
        created_at=row.created_at,
        updated_at=row.updated_at,
        elapsed_seconds=row.elapsed_seconds,
        attempts=row.epoch,
        previous=row.request.previous,
        relation=cast("Relation", row.request.relation),
        score=score,
        links=Links(self=base, page=f"/runs/{row.id}", **parts),
    )


class RunPage(BaseModel):
    """One page of the list of runs, newest first."""

    runs: list[RunInfo]
    next_cursor: str | None = Field(description="`cursor` of the next page; null at the end.")


class Authorization(Strict):
    """A person's words on a waiting plan."""

    words: str = Field(max_length=2_000, description="The exact phrase, where the profile asks for one.")


class Hint(Strict):
    """A hint for the next round of a paused run."""

    hint: str = Field(max_length=2_000, description="What to look at; empty to go on without a hint.")


class WebhookAttemptInfo(BaseModel):
    """One attempt to send the end of a run."""

    at: str
    result: str = Field(description="What the receiver answered, or why it was not reached; empty while it is sent.")


class WebhookInfo(BaseModel):
    """A delivery of the end of a run, with its attempts."""

    id: str = Field(description="The header webhook-id, the same in every attempt.")
    host: str = Field(description="Where it goes; the rest of the address is not shown.")
    event: str = Field(description="run.done, run.failed or run.cancelled.")
    state: Literal["waiting", "delivered", "given_up"]
    ended_at: str
    next_at: str | None = Field(description="When it is sent next; null if it is not.")
    attempts: list[WebhookAttemptInfo]


class PlanBody(Strict):
    """A plan in place of the one that waits."""

    plan: dict[str, Any] = Field(description="A tree as `GET .../plan` gives it; it is checked against the limits.")


class EventInfo(BaseModel):
    """One event, with the names that `--display jsonl` uses."""

    seq: int = Field(description="Its number in the run, from 1 without gaps: the cursor to go on from.")
    ts: str
    run: str
    node: str
    round: int | None
    type: str
    data: dict[str, Any]


def describe_event(event: Event, run: str) -> EventInfo:
    """Return an event as its clients see it."""
    return EventInfo.model_validate(service.event_json(event, run))


class SourceInfo(BaseModel):
    """A source of a run with what the report says of it."""

    source: Source
    characters: int
    cited_as: list[int] = Field(description="Numbers of the references that cite it.")
    facts: list[Fact] = Field(description="What was taken from it; `start` and `end` index the text.")


class SourceText(SourceInfo):
    """A source of a run with its whole stored text and passages."""

    text: str
    passages: list[Passage]


class PassageInfo(BaseModel):
    """A passage with the ones before and after it."""

    source: Source
    passage: Passage
    neighbours: list[Passage]
    quotes: list[Fact] = Field(description="What was taken from this passage.")


class ContradictionInfo(BaseModel):
    """Two facts that differ, side by side."""

    contradiction: Contradiction
    a: Fact | None
    b: Fact | None


class GapList(BaseModel):
    """What the research did not find."""

    gaps: list[Gap]
    exhausted: list[str] = Field(description="Sub-questions that were given up after all attempts.")
    uncovered: list[str] = Field(description="Angles and sub-questions without coverage.")


class SpendList(BaseModel):
    """What a run cost so far, by role, model and provider."""

    total_dollars: float
    calls: int
    parts: list[Spend]


class LibraryInfo(BaseModel):
    """A stored library."""

    name: str
    documents: int
    passages: int
    characters: int


class UploadInfo(BaseModel):
    """What became of an uploaded document."""

    library: str
    document: str
    stored: bool = Field(description="False if the same document was stored already.")


class HitInfo(BaseModel):
    """A passage that a search found."""

    title: str
    url: str
    snippet: str
    score: float
    source: str | None
    passage: str | None


class FollowUpQuestion(Strict):
    """A question on the evidence of a run."""

    question: str = Field(min_length=1, max_length=LIMITS.question_max_chars)
    search: bool = Field(default=True, description="False: read only what the run has stored.")


class EditBody(Strict):
    """What to change in a report: edits by name, words that a model turns into edits, or an earlier version."""

    edits: list[EditInfo] = Field(default_factory=list[EditInfo], max_length=200)
    feedback: str = Field(default="", max_length=MAX_FEEDBACK_CHARS)
    accept: str = Field(
        default="",
        max_length=400,
        description="What the reader accepts: all, all with losses, none, or numbers as 1,3. Empty: the edit waits.",
    )
    version: int | None = Field(default=None, ge=1, le=10_000, description="Make this version the newest one.")


class Acceptance(Strict):
    """Which changes of a waiting edit its reader accepts."""

    accept: str = Field(max_length=400, description="all, all with losses, none, or numbers as 1,3.")


class OutlineSection(BaseModel):
    """A section of a report; its title is empty for the opening."""

    id: str
    title: str


class OutlineSentence(BaseModel):
    """A sentence of a report, with the numbers that it cites."""

    id: str
    text: str
    cited: list[int]


class OutlineInfo(BaseModel):
    """What edits can name in a report, by id."""

    sections: list[OutlineSection]
    sentences: list[OutlineSentence]


class ScoreInfo(BaseModel):
    """One measure of two runs; null where a run was not measured."""

    name: str
    before: float | None
    after: float | None
    kind: ChangeKind


class ComparisonInfo(BaseModel):
    """What changed from the run `before` to the run `after`."""

    before: str
    after: str
    same_question: bool
    has_news: bool = Field(description="A source says something else than before.")
    summary: str
    statements: list[ReportChange]
    answers: list[ReportChange]
    sources: list[ReportChange]
    contradictions: list[ReportChange]
    gaps: list[ReportChange]
    scores: list[ScoreInfo]


class ReportText(Strict):
    """A report to check: Markdown, HTML or JSON that Corrobora wrote, or Markdown with numbered citations."""

    text: str = Field(min_length=1, max_length=1_500_000)


class StatementInfo(BaseModel):
    """One checked statement of a report."""

    text: str
    line: int
    cited: list[str]
    found: list[str]
    support: str
    carried: bool | None
    judged_by: str = Field(description="The model of the run on whose word it counts as supported; empty if code does.")
    reasons: list[str]
    failing: list[str]


class CheckResult(BaseModel):
    """How far a report holds; each rate with what it is a rate of."""

    model_config = ConfigDict(extra="allow")

    seal: str
    run: str
    statements: int
    cited: int
    checkable: int
    carried: int
    verdict: Literal["passed", "failed", "nothing_checkable", "source_not_stored"]
    passed: bool = Field(description="True if something could be checked and all of it holds.")
    statements_checked: list[StatementInfo]


class ProfileInfo(BaseModel):
    """A profile: a way to research."""

    name: str
    about: str
    phrase: str = Field(description="Words that authorize its plans; empty if none are asked for.")
    minutes: float | None = Field(description="Its time limit; null without one.")


class Health(BaseModel):
    """Whether the server is well."""

    status: Literal["ok", "unready"]
    problem: str = ""

"""A run: its request, its status, and the events of its log.

Knows the request as it is stored, so that any worker can resume the run, and the vocabulary of events. Does not know
the store or who listens.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NewType, TypedDict

from corrobora.domain.errors import NoEvidence, UserError
from corrobora.domain.limits import read_table

if TYPE_CHECKING:
    from corrobora.domain.thread import Decision

REFUSED = ("question_infeasible", "edit_nothing")  # outcomes after which the same run would end so again
DEMO = "demo"  # the library that ships with the package

RunId = NewType("RunId", str)  # "r_" + 26 lower-case base32 characters: 128 random bits

_ID = re.compile(r"[a-z0-9_-]{1,64}")


def validate_id(text: str) -> RunId:
    """Return `text` as a run id; raise `UserError` unless it looks like one (bad-input C14)."""
    if not _ID.fullmatch(text):
        raise UserError(
            "run_id",
            f"{text[:80]!r} is not the id of a run: ids have 1 to 64 of a-z, 0-9, _ and -.",
            next_step="The ids: corrobora runs list",
        )
    return RunId(text)


class RunStatus(StrEnum):
    """The status of a run. Final: done, failed, cancelled."""

    QUEUED = "queued"
    RUNNING = "running"
    AWAITING = "awaiting_authorization"
    PAUSED = "paused"
    INTERRUPTED = "interrupted"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def final(self) -> bool:
        """True if the run will not continue by itself."""
        return self in (RunStatus.DONE, RunStatus.FAILED, RunStatus.CANCELLED)

    @property
    def active(self) -> bool:
        """True while somebody works on the run, or will without being asked."""
        return self in (RunStatus.QUEUED, RunStatus.RUNNING)

    @property
    def waits(self) -> bool:
        """True if the run continues only after a person has decided."""
        return self in (RunStatus.AWAITING, RunStatus.PAUSED)


class Stage(StrEnum):
    """The stages of a run, in order."""

    CLARIFY = "clarify"
    PLAN = "plan"
    INVESTIGATE = "investigate"
    SYNTHESIZE = "synthesize"
    REVIEW = "review"
    VERIFY = "verify"
    DELIVER = "deliver"


class RequestOption(StrEnum):
    """The keys of a request's metadata; a value is a text, and what was not asked for has no entry."""

    MAX_USD = "max_usd"
    ASK_ABOVE_USD = "ask_above_usd"  # above this amount a person is asked before the run starts
    ACCEPT_UNKNOWN_PRICE = "accept_unknown_price"  # the user accepts models without a known price
    MAX_TOKENS = "max_tokens"
    MAX_SEARCHES = "max_searches"
    INVISIBLE_CHARACTERS = "invisible_characters_removed"  # from the question (bad-input Q12)
    ARTIFACT_DIR = "artifact_dir"  # where the reports of a given thread go as well (TRIPLET-2)
    ALLOW_EGRESS = "allow_egress"  # words of private documents may be sent to search engines and sites
    SHOW_QUERIES = "show_queries"  # a person sees the queries of each round before they are sent
    LANGUAGE = "language"  # the tag of the language of question, search and report
    TRANSLATION = "translation"  # the texts of a report in it, from a file of the user
    FOLLOW_UP = "follow_up"  # ask: the evidence of the previous run is read first; update, watch: it is compared with
    READ_AGAIN = "read_again"  # changed files of the libraries are read before the research: it asks what is so now
    NO_SEARCH = "no_search"  # of a follow-up: only the evidence of the previous run is read
    EDITED_PLAN = "edited_plan"  # JSON of the plan as a person changed it while it waited: nobody plans again
    MODEL_REQUIRED = "model_required"  # the user named the model for this run: one that never answers ends it


@dataclass(frozen=True, slots=True)
class Request:
    """What a user asked for, as stored with the run. Contains names and numbers, never a secret."""

    question: str
    profile: str = "timed"
    overrides: tuple[tuple[str, str], ...] = ()  # profile fields set by flags, as (field, TOML value)
    libraries: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()  # addresses that are read first; one that ends in /* names a whole site
    models: tuple[tuple[str, str], ...] = ()  # (lead | worker | fast | judge, "provider:model")
    authorized: str = ""  # who authorized the plan: "" | "policy" | "human"
    thread_file: str = ""  # text of a THREAD.toml (TRIPLET-1)
    plan_file: str = ""  # text of a suggested plan (TREE-10)
    scope: str = ""  # JSON of the queries that manager and user agreed on in a dialogue (TREE-7)
    output: tuple[tuple[str, str], ...] = ()  # delivery targets (ANGLES-36 to ANGLES-38): ("folder", path), ...
    previous: str = ""  # the run that this one follows: its evidence is read first, or its report is edited
    edits: str = ""  # JSON of an `EditRequest`: this run edits the report of the previous one
    strict: bool = False
    metadata: tuple[tuple[str, str], ...] = ()

    def get_option(self, option: RequestOption) -> str:
        """Return an entry of the metadata, "" if it has none."""
        return dict(self.metadata).get(option, "")

    @property
    def plans(self) -> tuple[str, str]:
        """The texts of plans that a person handed in: a suggestion, and the plan as it was edited."""
        return self.plan_file, self.get_option(RequestOption.EDITED_PLAN)

    @property
    def relation(self) -> str:
        """What it is to the run `previous`: "ask", "update", "watch" or "edit"; "" if it follows none."""
        how = "edit" if self.edits else self.get_option(RequestOption.FOLLOW_UP)
        return how if self.previous else ""

    @property
    def is_follow_up(self) -> bool:
        """True if it asks a further question on the evidence of another run."""
        return self.get_option(RequestOption.FOLLOW_UP) == "ask"


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run as the store lists it."""

    id: RunId
    status: RunStatus
    epoch: int
    request: Request
    created_at: str
    updated_at: str
    outcome: str = ""
    reason: str = ""
    elapsed_seconds: float = 0.0  # of all attempts, until now while one works

    @property
    def state(self) -> str:
        """Return the one code that every face shows: its outcome, or its status while it has none with words."""
        known = self.status is not RunStatus.FAILED or self.outcome in read_table("codes.toml")
        return self.outcome if self.outcome and known else self.status

    @property
    def next_step(self) -> str:
        """Return the command that goes on with it, or the one that shows it where none does."""
        if self.status is RunStatus.RUNNING:
            return f"Wait for it, or stop it: corrobora cancel {self.id}"
        if self.status is RunStatus.AWAITING:
            return f"Go on with it: corrobora authorize {self.id}"
        if self.outcome == "changes_proposed":
            return f"Accept the changes: corrobora edit {self.id} --accept all"
        if self.status is RunStatus.DONE or self.outcome in REFUSED:
            return f"See: corrobora runs show {self.id}"
        return f"Go on with it: corrobora resume {self.id}"


def missing_report_error(row: RunRow) -> NoEvidence:
    """Return the error for a run that has no report, with what goes on with it."""
    yet = "" if row.status is RunStatus.DONE else " yet"
    return NoEvidence("report_missing", f"The run {row.id} has no report{yet}.", next_step=row.next_step)


STAGE_ALIASES = {  # names of the stages (ANGLES-1)
    "init": Stage.CLARIFY,
    "generation": Stage.INVESTIGATE,
    "verification": Stage.VERIFY,
    "delivery": Stage.DELIVER,
}


def parse_stage(name: str) -> Stage:
    """Return the stage for our name or for its alias (ANGLES-1)."""
    return STAGE_ALIASES.get(name) or Stage(name)


def parse_last_stage(name: str) -> Stage:
    """Return the last stage of what a name means: `init` ends with the plan, `generation` with the review.

    Requirement: ANGLES-1.
    """
    return {"init": Stage.PLAN, "generation": Stage.REVIEW}.get(name) or parse_stage(name)


SEALED = "report"  # the journal's key of what a report says: once it is committed, this is the outcome of the run


class EventType(StrEnum):
    """The types of events; those of ROUNDS-22 are `thought`, `search`, `read`, `complete`."""

    RUN_STARTED = "run.started"  # carries the resolved profile: always the first event
    RUN_FINISHED = "run.finished"
    STAGE = "stage"
    PLAN_PROPOSED = "plan.proposed"
    PLAN_AUTHORIZED = "plan.authorized"
    ROUND_STARTED = "round.started"
    ROUND_FINISHED = "round.finished"
    THOUGHT = "thought"
    SEARCH = "search"
    READ = "read"
    FACT = "fact"
    DRIFT = "drift"
    PLATEAU = "plateau"
    ESCAPE = "escape"
    CONTRADICTION = "contradiction"
    DECISION = "decision"
    RETRY = "retry"
    EXHAUSTED = "exhausted"
    FALLBACK = "fallback"  # another analyst played a role, and why
    REPORT = "report"  # draft, revised, final
    VERIFY = "verify"
    JUDGE = "judge"
    LEAF_FAILED = "leaf.failed"
    WARNING = "warning"
    COMPLETE = "complete"


@dataclass(frozen=True, slots=True)
class Event:
    """One event. `key` is unique in its run, so that a resumed run does not emit it twice."""

    type: EventType
    key: str
    path: str  # node or thread it belongs to
    round: int | None
    data: Mapping[str, object]
    seq: int = 0  # given by the store
    at: str = ""  # ISO time, given by the store

    def as_json(self) -> dict[str, object]:
        """Return what clients see of it; `seq` is the cursor from which one can go on."""
        place: dict[str, object] = {"node": self.path, "round": self.round}
        return {"seq": self.seq, "ts": self.at, **place, "type": self.type.value, "data": dict(self.data)}


class LoopDecision(TypedDict):
    """What the event of a decision carries; the field names are exactly those of TIMED-6."""

    iteration: int
    summary: str
    gaps: list[str]
    shouldContinue: bool
    nextSearchTopic: str | None
    urlToSearch: str | None
    timeRemainingMinutes: float | None


def write_loop_decision(decision: Decision) -> LoopDecision:
    """Write a decision as the loop decision JSON (TIMED-6). `timeRemainingMinutes` is None without a time limit."""
    proposal = decision.proposal
    left = decision.remaining_seconds
    return {
        "iteration": decision.iteration,
        "summary": proposal.summary,
        "gaps": [gap.text for gap in proposal.gaps],
        "shouldContinue": decision.stop is None,
        "nextSearchTopic": proposal.next_topic or None,
        "urlToSearch": proposal.url or None,
        "timeRemainingMinutes": None if left is None else round(left / 60.0, 2),
    }

"""The session: the one gate from the method to the outside.

Knows how a call is journaled, metered, retried, limited and told. Does not know what research is: the method does.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TypeVar

from pydantic_core import to_json

from corrobora.domain.errors import CorroboraError, LimitReached, NeedsHuman, ProviderError, RoleError
from corrobora.domain.evidence import Document, SourceId
from corrobora.domain.limits import Meter, Usage
from corrobora.domain.plan import Brief, Node, Plan, SubQuestion, collect_leaves, executor_depth
from corrobora.domain.report import Findings
from corrobora.domain.run import Event, EventType, Request, RunId, Stage
from corrobora.domain.thread import AdvanceRule, Intent, StopReason, StopRule, ThreadState
from corrobora.engine.session.budget import Budget, TimeScope
from corrobora.engine.session.journal import (
    CallMeta,
    PassageClaims,
    RoundBuffer,
    decode,
    decode_meta,
    encode,
    get_type_adapter,
    hash_parts,
)
from corrobora.engine.session.retry import run_parallel
from corrobora.policies.profile import Profile, dump_profile
from corrobora.policies.retry import compute_backoff
from corrobora.ports import (
    Analyst,
    Answer,
    Clock,
    Entry,
    FactStore,
    Human,
    Journal,
    Library,
    Reader,
    Role,
    SearchProvider,
)

I = TypeVar("I")  # noqa: E741 - input of a role, the letter of the design
O = TypeVar("O")  # noqa: E741 - output of a role
T = TypeVar("T")

UNLIMITED_RETRY_SECONDS = 120.0  # how long an outage is waited for where a run has no time limit
_replaying: ContextVar[bool] = ContextVar("replaying", default=False)
_level: ContextVar[int] = ContextVar("level", default=0)  # executors above the one that works here


class NotReplayed(TimeoutError):
    """A call of a cut round that was not answered when the round was cut: it is not made again."""


@dataclass(frozen=True, slots=True)
class RunPorts:
    """The adapters of one run, as ports."""

    analysts: tuple[Analyst, ...]  # in order of preference; the last one always answers
    searches: Mapping[str, SearchProvider]
    readers: tuple[Reader, ...]
    library: Library
    journal: Journal
    clock: Clock
    human: Human
    write: Callable[[Mapping[str, str]], Awaitable[None]]  # texts of artifacts by their names, written together
    read: Callable[[str], Awaitable[str | None]] | None = None  # text of an artifact that was written, or None
    facts: FactStore | None = None  # where facts are kept for re-use; None: the library keeps them


Perform = Callable[[], Awaitable[tuple[str, CallMeta]]]


@dataclass(slots=True)
class Session:
    """Everything a run may touch. The method holds one and nothing else."""

    run: RunId
    request: Request
    profile: Profile
    stop: tuple[tuple[str, StopRule], ...]
    advance: AdvanceRule
    outside: RunPorts
    budget: Budget
    started_at: str = ""  # ISO time of the first attempt
    retry_failures: bool = False  # a run that ended for want of a provider looks again
    brief: Brief = field(default_factory=lambda: Brief(""))
    questions: tuple[SubQuestion, ...] = ()
    claims: PassageClaims = field(default_factory=PassageClaims)
    until: Stage | None = None  # the last stage of this attempt; the run pauses after it (ANGLES-1)
    gathers_plans: bool = False  # the root stands for the manager and is no executor level (TREE-9)
    leaves: int = 1  # of the plan; several share what any of them reads
    opened: dict[str, Document] = field(default_factory=dict[str, Document])  # just fetched, about to be read, by key
    _inflight: dict[str, asyncio.Task[str]] = field(default_factory=dict[str, asyncio.Task[str]])
    _slots: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        """Set the bound on leaves that are worked on at once."""
        self._slots = asyncio.Semaphore(self.profile.max_concurrency)

    @property
    def rules(self) -> tuple[tuple[str, StopRule], ...]:
        """The profile's stop rules, after the one of a person who asked to finish."""
        return (("finish_asked", self._finish_asked), *self.stop)

    def _finish_asked(self, thread: ThreadState, meter: Meter) -> StopReason | None:  # noqa: ARG002 - one signature
        return StopReason.CANCELLED if self.budget.finishing else None

    @property
    def extractive_only(self) -> bool:
        """True where only the analyst that always answers plays: nothing is paid, and reading again is free."""
        return len(self.outside.analysts) == 1

    @property
    def journal(self) -> Journal:
        """The durable memory of this attempt."""
        return self.outside.journal

    @property
    def library(self) -> Library:
        """The stored sources."""
        return self.outside.library

    @property
    def facts(self) -> FactStore:
        """The knowledge base (TREE-31)."""
        return self.outside.facts or self.outside.library

    async def call(self, role: Role[I, O], given: I) -> O:
        """Play a role: from the journal if it was answered before, else by the first analyst that can.

        The key is the input's path plus a digest of input, prompt version and model, so that parallel order cannot
        change it. Raises `RoleError` or `ProviderError` only if every analyst failed.
        """
        text = encode(role.takes, given)
        path: str = getattr(given, "path", "root")
        key = f"{path}/{role.prompt}#{hash_parts(self.outside.analysts[0].identity(role), text)}"
        out = await self.call_once(key, lambda: self._play_role(role, given), paid=True)
        return decode(role.gives, out, key=key)

    async def call_once(self, key: str, perform: Perform, *, paid: bool) -> str:
        """Return the journaled answer of `key`, or perform it once, however many wait for it, and commit it."""
        while True:
            entry = self.journal.get(key)
            if entry is not None:
                self.budget.book_usage(decode_meta(entry).usage or Usage())
                return entry.out
            if _replaying.get():
                raise NotReplayed(key)
            self.budget.check_scope()
            task = self._inflight.get(key)
            if task is None:
                task = asyncio.create_task(self._commit_call(key, perform, paid=paid))
                self._inflight[key] = task
                task.add_done_callback(lambda _: self._inflight.pop(key, None))
                return await task
            await asyncio.wait([task])
            if not task.cancelled():  # else its owner was cut: whoever waited performs it
                return task.result()

    async def _commit_call(self, key: str, perform: Perform, *, paid: bool) -> str:
        if paid:
            self.journal.begin(key)
        out, meta = await perform()
        timed = replace(meta, elapsed=round(self.budget.elapsed, 3))
        return (await self.journal.put(Entry(key, out, encode(CallMeta, timed)))).out

    async def _play_role(self, role: Role[I, O], given: I) -> tuple[str, CallMeta]:
        why = ""
        for number, analyst in enumerate(self.outside.analysts):
            last = number == len(self.outside.analysts) - 1
            try:
                answer = await self._ask_analyst(analyst, role, given, last=last)
            except (ProviderError, RoleError, LimitReached, TimeoutError) as error:
                if last:
                    raise
                if isinstance(error, CorroboraError):
                    self.budget.add_usage(error.usage)  # a failed call is billed all the same
                why = error.code if isinstance(error, CorroboraError) else "too_slow"
                self.emit(EventType.FALLBACK, getattr(given, "path", "root"), {"role": role.name, "why": why})
                continue
            self.budget.add_usage(answer.usage)
            player = answer.analyst or analyst.name
            meta = CallMeta(usage=answer.usage, role=role.name, analyst=player, model=answer.model, fallback=why)
            return encode(role.gives, answer.value), meta
        raise RoleError("no_analyst", f"No analyst could play {role.name}.", next_step="Run: corrobora doctor")

    async def _ask_analyst(self, analyst: Analyst, role: Role[I, O], given: I, *, last: bool) -> Answer[O]:
        """Ask one analyst. All but the last are bounded by patience and by the limits of tokens, money and calls."""
        if last:
            return await analyst.play(role, given)
        spent = self.budget.read_meter().exhausted_limit
        if spent in ("tokens", "dollars", "calls"):
            raise LimitReached(spent, value=1, limit=1, scope="run")
        patience = self.budget.patience
        limit = asyncio.timeout(None if math.isinf(patience) else max(patience, 0.05))
        try:
            async with limit:
                answer = await self.call_with_retries(lambda: analyst.play(role, given))
        except TimeoutError:
            if limit.expired():
                self.budget.record_timeout()
            raise
        self.budget.record_answer()
        return answer

    async def call_with_retries(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Try, and try again after retryable failures, while the policy and the innermost scope allow it."""
        tried = 0
        waited = 0.0
        while True:
            try:
                return await attempt()
            except ProviderError as error:
                tried += 1
                bound = min(self.budget.scope_left, UNLIMITED_RETRY_SECONDS - waited)
                jitter = int(hash_parts(str(tried), error.message)[:4], 16) / 0xFFFF
                pause = (
                    compute_backoff(tried, error.retry_after_seconds, bound, jitter=jitter) if error.retryable else None
                )
                if pause is None:
                    raise
                waited += pause
                await self.outside.clock.sleep(pause)

    async def run_siblings(
        self, perform: Callable[[Node, Session], Awaitable[Findings]], nodes: Sequence[Node]
    ) -> tuple[Findings, ...]:
        """Work on sibling nodes, in turn or in parallel as the profile says; results in the order of the plan."""
        if self.profile.leaves_in_turn:
            return tuple([await perform(node, self) for node in nodes])
        return tuple(await run_parallel([self._run_in_slot(perform, node) for node in nodes]))

    async def _run_in_slot(self, perform: Callable[[Node, Session], Awaitable[Findings]], node: Node) -> Findings:
        if not node.is_leaf:  # an inner node must not hold a slot that its own leaves need
            return await perform(node, self)
        async with self._slots:
            return await perform(node, self)

    async def authorize_plan(self, plan: Plan) -> None:
        """Go on only with a plan that a policy or a person authorized (TREE-5). Raises `NeedsHuman`.

        The answer is read from the journal or asked of the person; nothing in a question, page or model output counts.
        """
        self.questions = _collect_questions(plan, self.brief)
        self.gathers_plans, self.leaves = plan.gathers_plans, len(collect_leaves(plan.root))
        by = self.request.authorized or ("policy" if self.profile.authorize == "auto" else "")
        if not by and self.journal.get("authorized") is None:
            await self.journal.flush()
            if not await self.outside.human.authorize(plan):
                raise LimitReached("authorization", value=0, limit=1, scope="plan")
            by = "human"
        await self.call_once("authorized", lambda: _make_answer(by or "human"), paid=False)
        self.emit(EventType.PLAN_AUTHORIZED, "root", {"by": by or "human"})

    async def record_meter(self, path: str) -> Meter:
        """Read the meter for a decision; journaled, or a resumed run would decide differently."""
        key = f"{path}/meter"
        entry = self.journal.get(key)
        out = (entry or await self.journal.put(Entry(key, encode(Meter, self.budget.read_meter())))).out
        return decode(Meter, out, key=key)

    @asynccontextmanager
    async def until_reserve(self, thread: ThreadState, gathered: RoundBuffer) -> AsyncGenerator[TimeScope]:
        """Gather one round until only the writing time is left; a round that was cut is cut again on resume."""
        key = f"{thread.round_path}/cut"
        record = self.journal.get(key)
        minutes = thread.phase.minutes
        token = _replaying.set(record is not None)
        try:
            async with self.budget.until_reserve(None if minutes is None else 60.0 * minutes) as window:
                yield window
        except NotReplayed:
            window = TimeScope(cut=True)
        finally:
            _replaying.reset(token)
        if record is not None:
            gathered.keep_recorded(frozenset(json.loads(record.out)))
        elif window.cut:
            await self.journal.put(Entry(key, json.dumps(sorted(gathered.keys))))
        gathered.cut = window.cut or record is not None

    def begin_run(self, brief: Brief) -> None:
        """Start the run: the resolved profile is its first event."""
        self.brief = brief
        self.emit(EventType.RUN_STARTED, "root", {"question": brief.question, "profile": dump_profile(self.profile)})

    def enter_stage(self, stage: Stage) -> None:
        """Tell that a stage begins. Raises `NeedsHuman` (`stage_reached`) after the last stage of this attempt."""
        order = list(Stage)
        if self.until is not None and order.index(stage) > order.index(self.until):
            raise NeedsHuman(
                "stage_reached",
                f"The run pauses after the stage {self.until}, as asked.",
                next_step=f"Go on with: corrobora resume {self.run}",
            )
        self.emit(EventType.STAGE, "root", {"stage": stage}, part=stage)

    def emit_thought(self, thread: ThreadState, text: str, intent: Intent) -> None:
        """Tell what a round looks for and why, with its queries (ROUNDS-22)."""
        queries = [query.text for query in intent.queries]
        data = {"text": text, "queries": queries, "targets": intent.targets, "forced": intent.forced}
        self.emit(EventType.THOUGHT, thread.round_path, data, number=thread.number + 1)

    async def propose_plan(self, plan: Plan) -> None:
        """Tell and keep the plan, before anybody authorizes it."""
        whole = get_type_adapter(Plan).dump_python(plan, mode="json")
        self.emit(EventType.PLAN_PROPOSED, "root", {"plan": whole, "depth": executor_depth(plan), "tier": plan.tier})
        await self.write_json_artifact("plan.json", whole)
        if "subagents" in self.profile.artifacts:  # the lead agent's planning response (ANGLES-12)
            await self.write_json_artifact("lead_agent_plan.json", whole)

    async def steer_between_rounds(self, thread: ThreadState) -> ThreadState:
        """Let a person steer between two rounds, where the profile asks for it (ROUNDS-25)."""
        if not self.profile.pause_between_rounds or not thread.open:
            return thread
        key = f"{thread.last_path}/steer"
        if self.journal.get(key) is None:
            await self.journal.flush()
        hint = await self.call_once(key, lambda: self._ask_hint(thread), paid=False)
        return replace(thread, steer=hint)

    async def _ask_hint(self, thread: ThreadState) -> tuple[str, CallMeta]:
        return await self.outside.human.between_rounds(thread.path, thread.number), CallMeta()

    async def list_snapshots(self, sources: Sequence[SourceId]) -> dict[str, str]:
        """Return the content hashes of stored sources."""
        found: dict[str, str] = {}
        for source in dict.fromkeys(sources):
            stored, _ = await self.library.document(source)
            found[source] = stored.snapshot
        return found

    async def write_artifacts(self, texts: Mapping[str, str]) -> None:
        """Write files of the run, together, by their names."""
        await self.outside.write(texts)

    async def write_json_artifact(self, name: str, value: object) -> None:
        """Write one JSON file of the run."""
        await self.write_artifacts({name: format_json(value)})

    def emit(
        self,
        kind: EventType,
        path: str,
        data: Mapping[str, object],
        *,
        number: int | None = None,
        part: str = "",
    ) -> None:
        """Append an event; told once per run, however often the run is resumed."""
        key = f"{kind}@{path}/{part}" if part else f"{kind}@{path}"
        self.journal.emit(Event(kind, key, path, number, data))


def format_json(value: object) -> str:
    """Return `value` as the text of a JSON file."""
    return to_json(value, indent=2, fallback=str).decode() + "\n"


@contextmanager
def enter_level(node: Node, run: Session) -> Generator[None]:
    """Work on the children of an executor: what is spawned inside is one level deeper."""
    token = _level.set(_level.get() + (0 if run.gathers_plans and node.path == "root" else 1))
    try:
        yield
    finally:
        _level.reset(token)


def is_too_deep(node: Node, run: Session) -> bool:
    """True for an executor that would be spawned below the deepest level (TREE-13)."""
    return not node.is_leaf and _level.get() >= run.profile.max_depth


def _collect_questions(plan: Plan, brief: Brief) -> tuple[SubQuestion, ...]:
    """All sub-questions of a plan, each once: a passage is read for all of them."""
    found: dict[str, SubQuestion] = {}
    for question in (*brief.sub_questions, *(q for leaf in collect_leaves(plan.root) for q in leaf.sub_questions)):
        found.setdefault(question.id, question)
    return tuple(found.values())


async def _make_answer(text: str) -> tuple[str, CallMeta]:
    return text, CallMeta()


def sum_earlier_seconds(journal: Journal) -> float:
    """Working time of earlier attempts, as the journal last saw it."""
    entries = (journal.get(key) for key in journal.keys())  # noqa: SIM118 - a port, not a dict
    return max((decode_meta(entry).elapsed for entry in entries if entry is not None), default=0.0)

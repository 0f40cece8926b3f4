"""The session: the one gate from the method to the outside.

Knows how a call is journaled, metered, retried, limited and reported. Does not know what research is: the method does.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from corrobora.domain.errors import (
    CorroboraError,
    JournalError,
    LimitReached,
    ModelSilent,
    NeedsHuman,
    ProviderError,
    RoleError,
    Stale,
)
from corrobora.domain.evidence import Document, Fact, FactId, Hit
from corrobora.domain.limits import Meter, Usage
from corrobora.domain.plan import Brief, Node, Plan, Record, SubQuestion, TaskSpec
from corrobora.domain.report import Findings, Report
from corrobora.domain.run import Event, EventType, Request, RequestOption, RunId, Stage, parse_last_stage
from corrobora.domain.thread import AdvanceRule, StopReason, StopRule, ThreadState
from corrobora.engine.session.budget import Budget, TimeScope
from corrobora.engine.session.egress import Egress
from corrobora.engine.session.journal import (
    CallMeta,
    NotReplayed,
    RoundBuffer,
    decode,
    encode,
    encode_input,
    format_json,
    hash_parts,
    name_bill,
    sum_usage,
)
from corrobora.engine.session.reading import PassageClaims
from corrobora.policies.queries import compute_backoff
from corrobora.policies.stop import lacks_reading_time, no_gaps
from corrobora.ports import (
    CALL_SCOPE,
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

if TYPE_CHECKING:
    from corrobora.policies import Profile
    from corrobora.policies.budget import Estimate

I = TypeVar("I")  # noqa: E741 - input of a role, the letter of the design
O = TypeVar("O")  # noqa: E741 - output of a role
T = TypeVar("T")
WRITER, READER = "synthesize", "extract"  # who writes the report, and who reads for all
BEFORE_READING = ("clarify", "plan", "scope")  # without what is read afterwards their answers are worth nothing
UNLIMITED_RETRY_SECONDS = 120.0  # how long an outage is waited for where a run has no time limit
RUN_ERRORS = (Stale, JournalError, NeedsHuman, ModelSilent)  # they concern the whole run; the most urgent first

_replaying: ContextVar[bool] = ContextVar("replaying", default=False)


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
    seal: Callable[[Mapping[str, str], Entry], Awaitable[Entry]]  # a report: what was journaled of the first one
    read: Callable[[str], Awaitable[str | None]]  # text of an artifact that was written, or None
    render_round: Callable[[ThreadState, Collection[str], str], Mapping[str, object]]  # files of a round, by name
    estimate: Callable[[Plan], Estimate] | None = None  # what a run of a plan may cost, None: nothing
    facts: FactStore | None = None  # where facts are kept for re-use; None: the library keeps them
    recipients: tuple[str, ...] = ()  # who outside this machine is sent what, for people
    previous: Report | None = None  # the report of the run that this one follows
    earlier: Sequence[Fact] = ()  # of those before it
    topic: str = ""  # the question that this run's question follows up on
    answer: Callable[[str], Awaitable[str | None]] | None = None  # what a person answered on a topic, None: not yet


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
    record: Record = field(default_factory=Record)  # what every thread begins with: the date, what is searched
    retry_failures: bool = False  # a run that ended for want of a provider looks again
    brief: Brief = field(default_factory=lambda: Brief(""))
    questions: tuple[SubQuestion, ...] = ()
    researched: tuple[str, ...] = ()  # what the question was narrowed to or split into, if it was
    tasks: tuple[str, ...] = ()  # what the leaves of the plan want
    specified: tuple[Node, ...] = ()  # those of its leaves that prescribe something to readers
    found: dict[str, Hit] = field(default_factory=dict[str, Hit])  # what searches of the web found, by address
    rulings: dict[tuple[str, tuple[str, ...]], str | None] = field(default_factory=lambda: {})  # noqa: PIE807 - `dict` has no type
    claims: PassageClaims = field(default_factory=PassageClaims)
    until: str = ""  # the last stage of this attempt as it was asked for; the run pauses after it (ANGLES-1)
    pauses: set[str] = field(default_factory=set[str])  # "path/number" a person answered for; "": after any round
    gathers_plans: bool = False  # the root stands for the manager and is no executor level (TREE-9)
    leaves: int = 1  # of the plan; several share what any of them reads
    named: frozenset[str] = frozenset()  # subjects that a leaf of the plan covers: no other one must
    worked: dict[str, Findings] = field(default_factory=dict[str, Findings])  # what each task of the plan found so far
    refined: dict[str, Node] = field(default_factory=dict[str, Node])  # each inner node as it was worked on last
    threads: dict[str, ThreadState] = field(default_factory=dict[str, ThreadState])  # that ended, by path
    settled: set[str] = field(default_factory=set[str])  # leaves that a refinement left alone
    shared: dict[FactId, Fact] = field(default_factory=dict[FactId, Fact])  # what finished threads stored for siblings
    offered: list[Fact] = field(default_factory=list[Fact])  # found by readers of one thread for what others ask
    scouted: list[Fact] = field(default_factory=list[Fact])  # found by scouts: whoever asks for it begins with it
    opened: dict[str, Document] = field(default_factory=dict[str, Document])  # just fetched, about to be read, by key
    failing: dict[str, list[str]] = field(default_factory=dict[str, list[str]])  # codes since a provider's last answer
    _inflight: dict[str, asyncio.Task[str]] = field(default_factory=dict[str, asyncio.Task[str]])
    _bills: set[asyncio.Task[Entry]] = field(default_factory=set[asyncio.Task[Entry]])
    _bill_number: int = 0
    journal: Journal = field(init=False)  # the durable memory of this attempt
    library: Library = field(init=False)  # the stored sources
    facts: FactStore = field(init=False)  # the knowledge base (TREE-31)
    has_model: bool = field(init=False)  # a language model plays the roles; the last analyst needs none
    egress: Egress = field(init=False)
    _slots: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        """Name the parts of the outside that are asked most, and set what follows from request and profile."""
        self.journal, self.library = self.outside.journal, self.outside.library
        self.facts, self.has_model = self.outside.facts or self.library, len(self.outside.analysts) > 1
        self.egress = Egress.from_request(self.request, self.outside.readers)
        self._slots = asyncio.Semaphore(self.profile.max_concurrency)

    @property
    def rules(self) -> tuple[tuple[str, StopRule], ...]:
        """The profile's stop rules, between "a person asked to finish" and "a model would have no time to read"."""

        def finish_asked(_thread: ThreadState, _meter: Meter) -> StopReason | None:
            return StopReason.CANCELLED if self.budget.finishing else None

        follow_up = (("no_gaps", no_gaps),) if self.request.is_follow_up else ()
        timed = (("time_to_read", lacks_reading_time),) if self.has_model else ()
        return (("finish_asked", finish_asked), *follow_up, *self.stop, *timed)

    async def call(self, role: Role[I, O], given: I, *, as_configured: bool = False) -> O:
        """Play a role: from the journal if it was answered before, else by the first analyst that can.

        `as_configured`: no analyst without a model stands in for a named one. The key is the input's path and a digest
        of input, prompt version and model. Raises `RoleError` or `ProviderError` only if every analyst failed.
        """
        text = encode_input(given)
        self.egress.note_shown(text)
        path, digest = getattr(given, "path", "root"), hash_parts(self.outside.analysts[0].identity(role), text)
        key = f"{path}/{role.prompt}#{digest}"
        some = self.outside.analysts[: -1 if as_configured else None] or self.outside.analysts
        out = await self.call_once(key, lambda: self._play_role(key, role, given, text, some), paid=True)
        return decode(role.gives, out, key=key)

    async def call_once(self, key: str, perform: Perform, *, paid: bool) -> str:
        """Return the journaled answer of `key`, or perform it once, however many wait for it, and commit it."""
        while True:
            entry = self.journal.get(key)
            if entry is not None:
                self.budget.book_usage(sum_usage(self.journal, key, name_bill(key)))
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
        began = self.budget.elapsed
        out, meta = await perform()
        ended = self.budget.elapsed
        meta = replace(meta, elapsed=round(ended, 3), seconds=round(ended - began, 3))
        return (await self.journal.put(Entry(key, out, encode(CallMeta, meta)), wait=paid)).out

    async def record_text(self, key: str, read: Callable[[], Awaitable[str]]) -> str:
        """Return the journaled text of `key`, or read it once, for nothing, and journal it as it is."""

        async def perform() -> tuple[str, CallMeta]:
            return await read(), CallMeta()

        return await self.call_once(key, perform, paid=False)

    async def record_value(self, key: str, kind: type[T], compute: Callable[[], Awaitable[T]]) -> T:
        """Return the journaled value of `key`, or compute it once, for nothing, and journal it as JSON."""

        async def compute_text() -> str:
            return encode(kind, await compute())

        return decode(kind, await self.record_text(key, compute_text), key=key)

    async def record_first(self, key: str, text: str) -> str:
        """Return the text that was journaled first for `key`: this one, if there was none."""

        async def perform() -> tuple[str, CallMeta]:
            return text, CallMeta()

        return await self.call_once(key, perform, paid=False)

    async def _play_role(
        self, key: str, role: Role[I, O], given: I, text: str, some: Sequence[Analyst]
    ) -> tuple[str, CallMeta]:
        why = ""
        if key in self.journal.uncertain_keys():
            self._tell_repeat(key, role, 1, "process_ended")
        with self.budget.open_bill(partial(self._write_bill, key), partial(self._tell_repeat, key, role)) as bill:
            for analyst in some:
                try:
                    answer = await self._ask_analyst(analyst, role, given, text)
                except (ProviderError, RoleError, LimitReached, TimeoutError) as error:
                    bill.add_unbooked(error.usage if isinstance(error, CorroboraError) else Usage())
                    spent = isinstance(error, LimitReached) and error.is_of_part and role.name == READER
                    if analyst is some[-1] or spent:  # what a part cannot pay for is left unread by all
                        raise
                    if isinstance(error, ProviderError) and analyst is self.outside.analysts[-2] and self.is_silent:
                        raise ModelSilent.from_failure(error) from error
                    if isinstance(error, LimitReached) and error.scope == CALL_SCOPE:
                        self.budget.short = error.which
                    why = error.code if isinstance(error, CorroboraError) else bill.failure or "too_slow"
                    self.emit(EventType.FALLBACK, getattr(given, "path", "root"), {"role": role.name, "why": why})
                    continue
                bill.add_unbooked(answer.usage)
                player, cost = answer.analyst or analyst.name, bill.take_cost()
                return encode(role.gives, answer.value), CallMeta(0.0, cost, role.name, player, answer.model, why)
        raise RoleError("no_analyst", f"No analyst could play {role.name}.", next_step="Run: corrobora doctor")

    def _tell_repeat(self, key: str, role: Role[Any, Any], number: int, why: str = "no_usable_answer") -> None:
        """Tell that the same prompt is sent again."""
        data, part = {"role": role.name, "why": why, "attempt_number": number}, f"{key}/{self.journal.epoch}.{number}"
        self.emit(EventType.RETRY, "root", data, part=part)

    def _write_bill(self, key: str, cost: Usage) -> None:
        """Journal what a call has cost without an answer so far, beside the answers: nothing ever looks it up."""
        self._bill_number += 1
        meta = CallMeta(elapsed=round(self.budget.elapsed, 3), usage=cost)
        name = f"{name_bill(key)}{self.journal.epoch}.{self._bill_number}"
        task = asyncio.ensure_future(self.journal.put(Entry(name, "null", encode(CallMeta, meta))))
        self._bills.add(task)
        task.add_done_callback(self._forget_bill)

    def _forget_bill(self, task: asyncio.Task[Entry]) -> None:
        self._bills.discard(task)
        _ = task.cancelled() or task.exception()  # whoever writes next meets it as well

    async def write_bills(self) -> None:
        """Wait until every cost that was booked is journaled. Raises `Stale` or `JournalError`."""
        await asyncio.gather(*self._bills)

    @property
    def is_silent(self) -> bool:
        """True if a model was named for this run, and no call of it was answered so far."""
        usage = self.budget.read_meter().usage
        return usage.calls == usage.uncertain and bool(self.request.get_option(RequestOption.MODEL_REQUIRED))

    async def _ask_analyst(self, analyst: Analyst, role: Role[I, O], given: I, text: str) -> Answer[O]:
        """Ask one analyst. All but the last are bounded by patience and by the limits of tokens, money and calls."""
        if analyst is self.outside.analysts[-1]:
            return await analyst.play(role, given)
        if (spent := self.budget.read_meter().exhausted_limit) in ("tokens", "dollars", "calls"):
            raise LimitReached(spent, value=1, limit=1, scope="run")
        tokens, reading = self.budget.estimate_tokens(analyst, role, given, text), role.name == READER
        await self.budget.wait_tokens(tokens, reading=reading)
        if (patience := await self.budget.wait_turn(writer=role.name == WRITER, then=role.name in BEFORE_READING)) <= 0:
            raise LimitReached("time", value=1, limit=1, scope="part")
        with self.budget.reserve_tokens(tokens, reading=reading):
            async with self.budget.limit_call(patience):
                return await self.call_with_retries(lambda: analyst.play(role, given))

    async def call_with_retries(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Try, and try again after retryable failures, while the policy and the innermost scope allow it."""
        tried, waited = 0, 0.0
        while True:
            try:
                return await attempt()
            except ProviderError as error:
                if not error.retryable:
                    raise
                tried += 1
                bound = min(self.budget.scope_left, UNLIMITED_RETRY_SECONDS - waited)
                jitter = int(hash_parts(str(tried), error.message)[:4], 16) / 0xFFFF
                pause = compute_backoff(tried, error.retry_after_seconds, bound, jitter=jitter)
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

        async def run_in_slot(node: Node) -> Findings:
            async with self._slots if node.is_leaf else nullcontext():  # an inner node's own leaves need the slots
                return await perform(node, self)

        return tuple(await run_parallel([run_in_slot(node) for node in nodes]))

    async def record_meter(self, path: str) -> Meter:
        """Read the meter for a decision; journaled, or a resumed run would decide differently."""
        entry, meter = self.journal.get(key := f"{path}/meter"), self.budget.read_meter(parts=self.has_model)
        out = (entry or await self.journal.put(Entry(key, encode(Meter, meter)), wait=False)).out
        return decode(Meter, out, key=key)

    @asynccontextmanager
    async def until_reserve(self, thread: ThreadState, buffer: RoundBuffer) -> AsyncGenerator[TimeScope]:
        """Gather one round until only the writing time is left; a round that was cut is cut again on resume.

        One that a person ended is not: whoever resumes the run wants it to go on.
        """
        key = f"{thread.round_path}/cut"
        record = self.journal.get(key)
        token = _replaying.set(record is not None)
        try:
            async with self.budget.until_reserve(thread.phase.minutes and 60.0 * thread.phase.minutes) as window:
                yield window
        except NotReplayed:
            window = TimeScope(cut=True)
        finally:
            _replaying.reset(token)
        if record is not None:
            buffer.keep_recorded(frozenset(json.loads(record.out)))
        elif window.cut and not self.budget.finishing:
            await self.journal.put(Entry(key, json.dumps(sorted(buffer.keys))))
        buffer.cut = window.cut or record is not None

    def shares_readers(self, specs: tuple[TaskSpec, ...]) -> bool:
        """True unless a leaf is alone, or a refinement gave it specifications that nobody has read for."""
        return self.leaves > 1 and (not specs or any(specs == leaf.specs for leaf in self.specified))

    def enter_stage(self, stage: Stage) -> None:
        """Tell that a stage begins. Raises `NeedsHuman` (`stage_reached`) after the last stage of this attempt."""
        order = list(Stage)
        if self.until and order.index(stage) > order.index(parse_last_stage(self.until)):
            raise NeedsHuman(
                "stage_reached",
                f"The run pauses after the stage {self.until}, as asked.",
                next_step=f"Go on with: corrobora resume {self.run}",
            )
        self.emit(EventType.STAGE, "root", {"stage": stage}, part=stage)

    async def write_artifacts(self, files: Mapping[str, object]) -> None:
        """Write files of the run, together, by their names: a text as it is, another value as JSON."""
        await self.outside.write({n: each if isinstance(each, str) else format_json(each) for n, each in files.items()})

    def emit(
        self, kind: EventType, path: str, data: Mapping[str, object], *, number: int | None = None, part: str = ""
    ) -> None:
        """Append an event; it appears once in a run, however often the run is resumed."""
        self.journal.emit(Event(kind, f"{kind}@{path}/{part}" if part else f"{kind}@{path}", path, number, data))


async def run_parallel(work: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Await all; if one fails, cancel the others and raise its failure, of several one that concerns the whole run."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each) for each in work]
    except BaseExceptionGroup as several:
        causes: Sequence[BaseException] = several.exceptions  # parts that use this function hand up no groups
        raise next((e for kind in RUN_ERRORS for e in causes if isinstance(e, kind)), causes[0]) from None
    return [task.result() for task in tasks]

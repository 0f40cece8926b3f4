"""The budget of one run: what was used, what is left, and the scopes that keep the writing time free.

Knows the clock and the allowance; is rebuilt from the journal on resume. Decides nothing: policies read its meter.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from corrobora.domain.errors import LimitReached, ProviderError
from corrobora.domain.limits import Allowance, Meter, Usage
from corrobora.engine.session.journal import CALL_TOKENS, Bill, UsageLedger
from corrobora.policies.budget import WRITE_MARGIN_SECONDS, CallTimes, estimate_writing_seconds, fit_reserve
from corrobora.ports import Analyst, Clock, PromptMeter, Role, open_book

_scope: ContextVar[float] = ContextVar("scope_ends", default=math.inf)
_writing: ContextVar[bool] = ContextVar("writing", default=False)
_ledgers: ContextVar[tuple[UsageLedger, ...]] = ContextVar("ledgers", default=())

ROUND_SHARE = 0.5  # of what a round has left: the most that one call may take of it
MAX_HALVINGS = 3  # of the patience, after calls that took too long
DECISION_SHARE = 0.25  # of the reserve: the most that deciding and summarizing may take from it
FALLBACK_SECONDS, FALLBACK_SHARE = 2.0, 0.1  # of a round, at its end: the next analyst still reads what no model read

CHARACTERS_PER_TOKEN = 3  # of an input at least: a call is reckoned before it is sent, and rather too high


class ScopeOver(TimeoutError):
    """A call was about to start after its scope had ended; `ends` names the scope."""

    def __init__(self, ends: float) -> None:
        super().__init__("the time of this scope is over")
        self.ends = ends


@dataclass(slots=True, eq=False)
class OpenCall:
    """A call of a model in flight: when it began, behind how many others, and what ends it."""

    began: float
    ahead: int
    limit: asyncio.Timeout
    ends: float  # of its round, on the clock of the run; `inf` outside of one


@dataclass(slots=True)
class TimeScope:
    """One scope of time; `cut` says whether *its* limit fired."""

    cut: bool = False


class Budget:
    """The ledger of a run. `carried_*` is what earlier attempts used: working time (without down-time), cost, searches.

    With `in_turn` its models are assumed to serve one call after the other, until they show that they do not.
    """

    def __init__(  # noqa: PLR0913 - what it begins with; all are keywords
        self,
        allowance: Allowance,
        clock: Clock,
        *,
        carried_seconds: float = 0.0,
        carried_usage: Usage | None = None,
        carried_searches: int = 0,
        in_turn: bool = False,
    ) -> None:
        self.allowance = allowance
        self._clock = clock
        self._started = clock.now() - carried_seconds
        self._usage = carried_usage or Usage()
        self._reserved = Usage()  # at most, by the calls in flight
        self._settled = asyncio.Event()
        self.short = ""  # the limit that left too little for a call
        self.refusals: dict[str, list[ProviderError]] = {}  # final ones of each model, since its last answer
        self._searches = carried_searches
        self._open: set[asyncio.Timeout] = set()
        self._too_slow = 0  # calls in a row that outlasted their patience
        self._heard = -math.inf  # when an answer came last, or was given up
        self._calls: list[OpenCall] = []  # in flight, in the order of their beginning
        self._ended = asyncio.Event()  # set when one of them ends, and replaced
        self._times = CallTimes(in_turn)
        self.finishing = False

    @property
    def elapsed(self) -> float:
        """Working seconds so far, over all attempts."""
        return self._clock.now() - self._started

    @property
    def until_deadline(self) -> float:
        """Seconds to the end of the run; `inf` without a limit."""
        if self.allowance.seconds is None:
            return math.inf
        return self.allowance.seconds - self.elapsed

    @property
    def scope_left(self) -> float:
        """Seconds left in the innermost scope, measured now."""
        return min(_scope.get() - self._clock.now(), self.until_deadline)

    @property
    def call_seconds(self) -> float:
        """How long four of five answered model calls took at most, without waiting for others; 0 before the first."""
        return self._times.find_quantile(0.8)

    @property
    def reserve(self) -> float:
        """Seconds that are kept for writing now: more where calls are slow."""
        return fit_reserve(self.allowance, self.call_seconds)

    def find_patience(self, *, writer: bool = False, then: int = 0) -> float:
        """Return how many seconds one analyst may take before the next one is asked; 0 if it is not to be asked.

        The `writer` may use all of the writing time. Any other call gets `_base_patience`, halved for each call in a
        row that timed out (three times at most), so that a model that hangs does not use up the run call by call.

        It is 0 if the median call so far would not be answered in time, or would leave too little for the calls that
        must follow in this round: `then` is their number. Reading needs a model more than the wording of a query does.
        """
        ledgers_left = self._ledgers_left()
        if writer and _writing.get():
            return max(0.0, min(self.scope_left, ledgers_left))
        patience = min(self._base_patience() / 2 ** min(self._too_slow, MAX_HALVINGS), ledgers_left)
        median = self._times.find_quantile(0.5)
        if then and median:
            left = self._research_left if math.isinf(_scope.get()) else self.scope_left
            patience = min(patience, left - then * median)
        return max(0.0, patience) if patience >= median else 0.0

    async def wait_turn(self, *, writer: bool = False, then: int = 0) -> float:
        """Wait until a call is likely to be answered in time behind those in flight; return its patience (or 0).

        A server that handles one call after the other works on a call even after we gave it up, which delays the calls
        behind it, the writer's among them. So a call that would be too late is not sent.
        """
        while True:
            patience, median = self.find_patience(writer=writer, then=then), self._times.find_quantile(0.5)
            in_round = not (_writing.get() or math.isinf(_scope.get()))  # patience is renewed there, see `limit_call`
            left = min(self._end_round(self.scope_left), self._ledgers_left()) if in_round else patience
            if patience <= 0 or left >= median + self._times.queueing * len(self._calls):
                return patience
            try:
                async with asyncio.timeout(left - median):
                    await self._ended.wait()
            except TimeoutError:
                return 0.0

    def _ledgers_left(self) -> float:
        """Seconds until the first of the open ledgers ends."""
        return min((ledger.ends for ledger in _ledgers.get()), default=math.inf) - self._clock.now()

    @property
    def _research_left(self) -> float:
        return self.until_deadline - self.reserve

    def _base_patience(self) -> float:
        """Return a share of what the round has left; outside of rounds, of what all research has left.

        Outside of rounds (planning, reflecting, summarizing) a call may also take a quarter of the reserve, if the
        writer has enough without it.
        """
        if _writing.get():
            return self.scope_left
        if not math.isinf(_scope.get()):
            return self._share_round(self.scope_left)
        writing = min(estimate_writing_seconds(self.call_seconds) or (1 - DECISION_SHARE) * self.reserve, self.reserve)
        of_reserve = min(DECISION_SHARE * self.reserve, self.until_deadline - writing)
        return max(self._share_time(self._research_left), of_reserve)

    def _share_time(self, left: float) -> float:
        """Half of the time, so that another analyst can be asked; up to twice what calls take, where they are slow."""
        return max(ROUND_SHARE * left, min(left, 2 * self.call_seconds))

    def _share_round(self, left: float) -> float:
        return min(self._share_time(left), self._end_round(left))

    def _end_round(self, left: float) -> float:
        """What is left of a round without its end, in which the next analyst reads what no model read."""
        return left - min(FALLBACK_SECONDS, FALLBACK_SHARE * left)

    @asynccontextmanager
    async def limit_call(self, patience: float) -> AsyncGenerator[None]:
        """Limit a call of a model to its patience, and learn from how it ends. Raises `TimeoutError`.

        Where calls are served one after the other, a call of a round gets new patience whenever a call before it is
        answered: a provider that hangs answers none.
        """
        began = self._clock.now()
        limit = asyncio.timeout(None if math.isinf(patience) else patience)
        ends = math.inf if _writing.get() else _scope.get()
        call = OpenCall(began, len(self._calls), limit, min(ends, began + self._ledgers_left()))
        self._calls.append(call)
        for ledger in (ledgers := _ledgers.get()):
            ledger.calls += 1
        try:
            async with limit:
                yield
        except TimeoutError:
            if limit.expired():
                self.record_timeout(self._clock.now() - began)
            raise
        finally:
            behind = self._calls[self._calls.index(call) + 1 :]
            self._calls.remove(call)
            for ledger in ledgers:
                ledger.calls -= 1
            self._ended.set()
            self._ended = asyncio.Event()
        self.record_answer(self._clock.now() - began, ahead=call.ahead)
        for each in behind:
            self._renew_patience(each)

    def _renew_patience(self, call: OpenCall) -> None:
        before = call.limit.when()
        if math.isinf(call.ends) or before is None or call.limit.expired():
            return
        after = asyncio.get_running_loop().time() + self._share_round(call.ends - self._clock.now())
        if after > before:
            call.limit.reschedule(after)

    def record_timeout(self, seconds: float) -> None:
        """Count a call that timed out, unless calls usually take as long, or another ended while it was in flight."""
        now = self._clock.now()
        if seconds >= 2 * self.call_seconds and now - seconds >= self._heard:
            self._too_slow, self._heard = self._too_slow + 1, now

    def record_answer(self, seconds: float, *, ahead: int = 0) -> None:
        """Note that an analyst answered after so many seconds, `ahead` calls being served first."""
        self._too_slow, self._heard = 0, self._clock.now()
        self._times.add(seconds, ahead)

    def add_usage(self, usage: Usage) -> None:
        """Book what a call cost."""
        self._usage += usage
        self.book_usage(usage)

    @contextmanager
    def open_bill(self, write: Callable[[Usage], None], tell: Callable[[int], None]) -> Generator[Bill]:
        """Book the calls that are sent inside, for one play of a role."""
        bill = Bill(self, write, tell)
        token = open_book.set(bill)
        try:
            yield bill
        finally:
            open_book.reset(token)
            bill.write_lost()

    async def reserve_call(self, most: Usage) -> Usage:
        """Reserve a call, and return what it may take. Waits where only calls in flight leave too little.

        Raises `LimitReached` if the limit of dollars leaves nothing.
        """
        limits = self.allowance
        while True:
            spent = self._usage + self._reserved
            dollars = math.inf if limits.dollars is None else limits.dollars - spent.dollars
            taken = spent.input_tokens + spent.output_tokens + most.input_tokens
            room = most.output_tokens if limits.tokens is None else min(limits.tokens - taken, most.output_tokens)
            whole = dollars >= most.dollars and room >= most.output_tokens
            if whole or not self._reserved.calls:
                break
            self._settled.clear()
            await self._settled.wait()
        if most.dollars > 0 and dollars <= 0:
            raise LimitReached("dollars", value=1, limit=1, scope="run")
        self._reserved += most
        return replace(most, dollars=min(dollars, most.dollars), output_tokens=max(room, 0))

    def settle_call(self, most: Usage, cost: Usage) -> None:
        """Replace what was reserved for a call by its cost."""
        self._reserved += Usage(-most.input_tokens, -most.output_tokens, dollars=-most.dollars, calls=-most.calls)
        self.add_usage(cost)
        self._settled.set()

    @contextmanager
    def track_usage(
        self, *, tokens: int | None = None, seconds: float | None = None, judged: bool = False
    ) -> Generator[UsageLedger]:
        """Book what is called inside to a ledger of its own as well: the bill of a sub-agent, the limit of a scout."""
        ends = math.inf if seconds is None else self._clock.now() + seconds
        ledger = UsageLedger(tokens=tokens, ends=ends, kept=(tokens or 0) // 4 if judged else 0)
        token = _ledgers.set((*_ledgers.get(), ledger))
        try:
            yield ledger
        finally:
            _ledgers.reset(token)

    def estimate_tokens(self, analyst: Analyst, role: Role[Any, Any], given: Any, text: str) -> int:
        """Return how many tokens a call may take: by its prompt, where a part of the run has a limit of them."""
        limited = any(each.tokens is not None for each in _ledgers.get())
        size = analyst.measure_prompt(role, given) if limited and isinstance(analyst, PromptMeter) else len(text)
        return size // CHARACTERS_PER_TOKEN + CALL_TOKENS

    async def wait_tokens(self, tokens: int, *, reading: bool = False) -> None:
        """Wait while only calls in flight leave a part of the run too few tokens: most take less than is reserved."""
        while any(
            ledger.calls and 0 < ledger.find_lack(tokens, reading=reading) <= ledger.reserved
            for ledger in _ledgers.get()
        ):
            await self._ended.wait()

    @contextmanager
    def reserve_tokens(self, tokens: int, *, reading: bool = False) -> Generator[None]:
        """Keep the tokens that a call may take free in every ledger that is open here (TREE-39).

        Raises `LimitReached` if one has too few left, or its time is over: the call must not be sent.
        """
        limits = [ledger for ledger in _ledgers.get() if ledger.tokens is not None or ledger.ends < math.inf]
        for ledger in limits:
            if ledger.tokens is not None and ledger.find_lack(tokens, reading=reading) > 0:
                ledger.refused = True
                value = ledger.used + ledger.reserved + tokens
                raise LimitReached("tokens", value=value, limit=ledger.tokens, scope="part")
            if self._clock.now() >= ledger.ends:
                raise LimitReached("time", value=1, limit=1, scope="part")
            ledger.reserved += tokens
        try:
            yield
        finally:
            for ledger in limits:
                ledger.reserved -= tokens

    def book_usage(self, usage: Usage) -> None:
        """Add to the ledgers that are open here."""
        for ledger in _ledgers.get():
            ledger.usage += usage

    def count_search(self) -> None:
        self._searches += 1

    def read_meter(self, *, parts: bool = False) -> Meter:
        """Read the meter, with the reserve that is kept now. With `parts` those that are spent count as the run."""
        limits = replace(self.allowance, reserve_seconds=self.reserve)
        short = "tokens" if parts and any(ledger.is_spent for ledger in _ledgers.get()) else self.short
        return Meter(limits, self.elapsed, self._usage, self._searches, short, self.call_seconds)

    def check_scope(self) -> None:
        """Refuse to start a call in a scope that is over. Raises `ScopeOver`, which that scope swallows."""
        ends = _scope.get()
        if ends <= self._clock.now() and not _writing.get():
            raise ScopeOver(ends)

    @asynccontextmanager
    async def until_reserve(self, seconds: float | None = None) -> AsyncGenerator[TimeScope]:
        """Run a body until only the reserve is left (or `seconds` are over); swallow only this scope's timeout.

        A stop rule between rounds does not protect the reserve; this scope does (BUDGET-5).
        """
        left = self._research_left if seconds is None else min(self._research_left, seconds)
        async with self._limit_scope(left) as window:
            yield window

    @asynccontextmanager
    async def use_reserve(self) -> AsyncGenerator[TimeScope]:
        """Open the writing time: calls inside end before the deadline, so that a fall-back can still write."""
        token = _scope.set(self._clock.now() + self.until_deadline - WRITE_MARGIN_SECONDS)
        writing = _writing.set(True)
        try:
            yield TimeScope()
        finally:
            _writing.reset(writing)
            _scope.reset(token)

    @asynccontextmanager
    async def _limit_scope(self, left: float) -> AsyncGenerator[TimeScope]:
        window = TimeScope()
        left = 0.0 if self.finishing else left
        ends = min(_scope.get(), self._clock.now() + left)
        token = _scope.set(ends)
        limit = asyncio.timeout(None if math.isinf(left) else max(left, 0.0))
        self._open.add(limit)
        try:
            async with limit:
                yield window
        except TimeoutError as error:
            own = limit.expired() or (isinstance(error, ScopeOver) and error.ends == ends)
            if not own:
                raise
            window.cut = True
        finally:
            self._open.discard(limit)
            _scope.reset(token)

    def finish_research(self) -> None:
        """End all research now and go on to writing, or wait to be resumed if nothing was gathered."""
        self.finishing = True
        for limit in self._open:
            limit.reschedule(0.0)

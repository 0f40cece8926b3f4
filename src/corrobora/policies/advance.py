"""Advance: which phase and which escape the next round takes.

Knows the phases of a thread's course and how stuck the thread is. Does not know what a phase asks of a query writer.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from corrobora.domain.thread import AdvanceRule, Escape, Round, Saturation, StopReason, ThreadState, Transition
from corrobora.policies.drift import must_reformulate
from corrobora.policies.plateau import PlateauLevel, classify_saturation, is_informative, next_escape, signal_level


def each_round(thread: ThreadState) -> Transition:
    """Take the next phase after every round; the last one repeats (S1 broad then narrow, S3 orient to validate)."""
    enough = thread.number - thread.phase_since >= thread.phase.min_rounds
    return _decide_turn(thread, advance=enough)


def on_saturation(thread: ThreadState) -> Transition:
    """Take the next phase when the current one is saturated or has had its rounds (S4, source phase progression).

    The escape SHIFT_SOURCES and plateau level 2 force the next phase; the last phase is never left.
    """
    last = thread.last
    done = _count_productive_rounds(thread)
    saturated = (
        last is not None
        and is_informative(last)
        and _found_something(last)
        and classify_saturation(last.new_facts) is Saturation.HIGH
        and done >= thread.phase.min_rounds
    )
    full = thread.phase.max_rounds is not None and done >= thread.phase.max_rounds
    return _decide_turn(thread, advance=saturated or full, forced=True)


def stay(thread: ThreadState) -> Transition:
    """Keep the phase: what is next is driven by gaps alone (S2)."""
    return _decide_turn(thread, advance=False)


ADVANCE_RULES: Mapping[str, AdvanceRule] = MappingProxyType(
    {each.__name__: each for each in (each_round, on_saturation, stay)}
)


def choose_escape(thread: ThreadState) -> tuple[Escape | None, str]:
    """Return the escape the next round must take, and why; `(None, "")` if none is called for.

    Three drifted results in a row force a reformulation at once. A search without results is reformulated once; if
    there is still nothing, the sources are shifted. Else each plateau signal takes the next escape (S4).
    """
    if not thread.course.escapes:
        return None, ""
    if must_reformulate(thread):
        return Escape.REFORMULATE, "three results in a row drifted"
    empty = _count_empty_streak(thread)
    if empty in (1, 2):
        escape = Escape.REFORMULATE if empty == 1 else Escape.SHIFT_SOURCES
        return escape, f"{empty} round{'s' if empty > 1 else ''} without any search result"
    level = signal_level(thread)
    if level in (PlateauLevel.REFORMULATE, PlateauLevel.ADVANCE):
        return next_escape(thread), f"plateau level {int(level)}"
    return None, ""


def _decide_turn(thread: ThreadState, *, advance: bool, forced: bool = False) -> Transition:
    level = signal_level(thread)
    if level is PlateauLevel.STOP and thread.course.escapes:
        return Transition(
            phase=thread.phase_index,
            plateau_level=level,
            stop=StopReason.PLATEAU,
            note=f"round {thread.number}: plateau level 3, no way out is left",
        )
    escape, why = choose_escape(thread)
    shifted = forced and (escape is Escape.SHIFT_SOURCES or level is PlateauLevel.ADVANCE)
    last_phase = len(thread.course.phases) - 1
    phase = min(thread.phase_index + 1, last_phase) if advance or shifted else min(thread.phase_index, last_phase)
    note = f"round {thread.number}: {why}, next comes {escape.value}" if escape is not None else ""
    return Transition(phase=phase, escape=escape, plateau_level=level, note=note)


def _count_productive_rounds(thread: ThreadState) -> int:
    """Count rounds of the current phase that brought results of its kind: not all drifted, not empty."""
    rounds = (done for done in thread.rounds if done.number > thread.phase_since)
    return sum(1 for done in rounds if is_informative(done) and _found_something(done))


def _found_something(done: Round) -> bool:
    return bool(done.hits or done.readings)


def _count_empty_streak(thread: ThreadState) -> int:
    """Count the last rounds, one after another, whose searches answered with nothing."""
    streak = 0
    for done in reversed(thread.rounds):
        if not _is_empty_round(done):
            break
        streak += 1
    return streak


def _is_empty_round(done: Round) -> bool:
    return not _found_something(done) and not done.failures and not done.cut

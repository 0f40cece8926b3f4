"""Plateau: how stuck a thread is, and the next way out.

Knows the addresses and the new facts of a thread's rounds. Does not know what was found, nor how an escape is worded.
Rounds that say nothing about saturation (all results drifted, cut, or nothing could be looked at) are skipped.

Advance: which phase and which escape the next round takes.

Knows the phases of a thread's course and how stuck the thread is. Does not know what a phase asks of a query writer.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType

from corrobora.domain.evidence import Hit, PassageId, ReadOutcome
from corrobora.domain.thread import AdvanceRule, Escape, Round, Saturation, StopReason, ThreadState, Transition
from corrobora.policies.drift import must_reformulate
from corrobora.policies.selection import fuse_hits

MIN_OVERLAP = 0.60  # TRIPLET-32
STALE_ROUNDS = 2  # so many rounds without a new fact are a signal of their own
_FETCHED = frozenset({ReadOutcome.READ, ReadOutcome.DRIFTED, ReadOutcome.EMPTY})


class PlateauLevel(IntEnum):
    """Levels: what a plateau asks for (TRIPLET-32 to TRIPLET-35)."""

    MOVING = 0
    REFORMULATE = 1
    ADVANCE = 2
    STOP = 3


def is_informative(done: Round) -> bool:
    """True unless all results drifted, the round was cut, or every search failed (TRIPLET-48)."""
    could_not_look = bool(done.failures) and not done.hits
    return not (done.all_drifted or done.cut or could_not_look)


def select_informative_rounds(thread: ThreadState) -> tuple[Round, ...]:
    """Return the rounds that say something about saturation, oldest first."""
    return tuple(done for done in thread.rounds if is_informative(done))


def url_overlap(thread: ThreadState) -> float:
    """Return the share of this round's addresses that the round before had as well, in [0, 1] (TRIPLET-32).

    A page is never sent twice, so an address that was read before and stands again among the best hits, as many as a
    round may read, counts as visited by the round that found it again: the overlap shows that the search returns
    what is known.
    """
    rounds = select_informative_rounds(thread)
    if not rounds or rounds[-1] is not thread.last or len(rounds) < 2:  # noqa: PLR2004 - a pair of rounds
        return 0.0
    known: set[str] = set()
    parts: set[PassageId] = set()
    seen: list[tuple[set[str], set[PassageId]]] = []
    for done in rounds:
        addresses, passages = _find_visited(done, thread.course.reads_per_round, known, parts)
        seen.append((addresses, passages))
        known |= addresses
        parts |= passages
    (before, read_before), (now, _) = seen[-2], seen[-1]
    again = sum(1 for address in now if address in before or _parse_passage(address) in read_before)
    return again / max(len(now), 1)


def classify_saturation(new_facts: int) -> Saturation:
    """Name the saturation of a round. HIGH means FEW new facts: the source is exhausted, not productive.

    Requirement: TRIPLET-30.
    """
    if new_facts <= 1:
        return Saturation.HIGH
    return Saturation.MEDIUM if new_facts <= 4 else Saturation.LOW  # noqa: PLR2004 - TRIPLET-30: 2-4 new facts


def measure_saturation(thread: ThreadState) -> Saturation:
    """Return the saturation after the last round that says something; FIRST_ROUND before there is one (TRIPLET-13)."""
    rounds = select_informative_rounds(thread)
    return classify_saturation(rounds[-1].new_facts) if rounds else Saturation.FIRST_ROUND


def repeats_addresses(thread: ThreadState) -> bool:
    """Signal 1: at least 60 % of the addresses are those of the round before."""
    return url_overlap(thread) >= MIN_OVERLAP


def is_stale(thread: ThreadState) -> bool:
    """Signal 2: no new fact for two consecutive rounds that say something."""
    rounds = select_informative_rounds(thread)
    if len(rounds) < STALE_ROUNDS or rounds[-1] is not thread.last:
        return False
    return all(done.new_facts == 0 for done in rounds[-STALE_ROUNDS:])


def signal_level(thread: ThreadState) -> PlateauLevel:
    """Say how stuck a thread is by its signals alone, without the cap of rounds.

    Both signals in one round stop; a signal with no escape left stops (TRIPLET-34, TRIPLET-36).
    """
    again = repeats_addresses(thread)
    nothing_new = thread.last is not None and thread.last.new_facts == 0
    if again and nothing_new:
        return PlateauLevel.STOP
    level = PlateauLevel.ADVANCE if is_stale(thread) else PlateauLevel.REFORMULATE if again else PlateauLevel.MOVING
    if level is not PlateauLevel.MOVING and thread.course.escapes and next_escape(thread) is None:
        return PlateauLevel.STOP
    return level


def plateau_level(thread: ThreadState) -> PlateauLevel:
    """Say how stuck a thread is, from 0 (moving) to 3 (stop): TRIPLET-32 to TRIPLET-35.

    Rounds in which every result drifted are skipped: they say nothing about saturation. A used-up budget of rounds
    is level 3 as well; the stop rule `plateau` leaves that row to `max_rounds`, so that the reason told is true.
    """
    return PlateauLevel.STOP if thread.number >= thread.course.max_rounds else signal_level(thread)


def next_escape(thread: ThreadState) -> Escape | None:
    """Return the first of the six escapes that was not used yet, in their order; None if the ladder is exhausted.

    Requirement: TRIPLET-36.
    """
    return next((escape for escape in Escape if escape not in thread.escapes_used), None)


def _find_visited(done: Round, reads: int, known: set[str], parts: set[PassageId]) -> tuple[set[str], set[PassageId]]:
    """Return the addresses a round fetched or found again, and their passages."""
    fetched = [reading for reading in done.readings if reading.outcome in _FETCHED and not reading.again]
    skipped = [reading.hit for reading in done.readings if reading.outcome is ReadOutcome.SKIPPED]
    best = list({_hit_address(hit): hit for hit in fuse_hits(done.hits)}.values())[:reads]
    again = [hit for hit in (*best, *skipped) if _hit_address(hit) in known or hit.passage in parts]
    addresses = {_hit_address(reading.hit) for reading in fetched} | {_hit_address(hit) for hit in again}
    passages = {passage for reading in fetched for passage in reading.passages}
    return addresses, passages | {hit.passage for hit in again if hit.passage is not None}


def _hit_address(hit: Hit) -> str:
    return f"{hit.url}#{hit.passage}" if hit.passage else hit.url


def _parse_passage(address: str) -> PassageId | None:
    return PassageId(address.rsplit("#", 1)[1]) if "#" in address else None


def each_round(thread: ThreadState) -> Transition:
    """Take the next phase after every round; the last one repeats (ANGLES-14, ROUNDS-4)."""
    enough = thread.number - thread.phase_since >= thread.phase.min_rounds
    return _decide_turn(thread, advance=enough)


def on_saturation(thread: ThreadState) -> Transition:
    """Take the next phase when the current one is saturated or has had its rounds (TRIPLET-14).

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
    """Keep the phase: what is next is driven by gaps alone (TIMED-8)."""
    return _decide_turn(thread, advance=False)


ADVANCE_RULES: Mapping[str, AdvanceRule] = MappingProxyType(
    {each.__name__: each for each in (each_round, on_saturation, stay)}
)


def choose_escape(thread: ThreadState) -> tuple[Escape | None, str]:
    """Return the escape the next round must take, and why; `(None, "")` if none is called for.

    Three drifted results in a row force a reformulation at once. A search without results is reformulated once; if
    there is still nothing, the sources are shifted. Else each plateau signal takes the next escape (TRIPLET-36,
    TRIPLET-39, TRIPLET-45).
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

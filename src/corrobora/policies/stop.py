"""Stop: when a thread ends and why, how stuck it is, and which phase or escape comes next.

Knows the rounds, course and criteria of one thread and a reading of the meter; rounds without information about
saturation are skipped. Does not know the clock or any model: a model proposes gaps and can never extend a run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from types import MappingProxyType

from corrobora.domain.evidence import OPENED, PassageId, ReadOutcome
from corrobora.domain.limits import Meter
from corrobora.domain.plan import Coverage, SubQuestion, SubQuestionStatus, sum_budgets
from corrobora.domain.thread import (
    AdvanceRule,
    Escape,
    Gap,
    Round,
    Saturation,
    StopReason,
    StopRule,
    ThreadState,
    Transition,
)
from corrobora.policies.budget import compute_round_end, find_spent_limit
from corrobora.policies.drift import must_reformulate
from corrobora.policies.queries import PATH_DECISION
from corrobora.policies.selection import count_reads_left, fuse_hits
from corrobora.text.phrases import describe_code
from corrobora.text.tokens import stem_text
from corrobora.text.vocabulary import collect_equivalences

MIN_OVERLAP = 0.60  # TRIPLET-32
STALE_ROUNDS = 2  # this many rounds without a new fact are a signal


class PlateauLevel(IntEnum):
    """What a plateau calls for (TRIPLET-32 to TRIPLET-35)."""

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
    """Return the share of this round's addresses that the previous round also had, in [0, 1] (TRIPLET-32).

    No page is fetched twice. An address read before that is again among the best hits (as many as a round may read)
    therefore counts as visited by this round: the overlap shows that the search returns what is known.
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
    again = sum(address in before or PassageId(address.rpartition("#")[2]) in read_before for address in now)
    return again / max(len(now), 1)


def classify_saturation(new_facts: int) -> Saturation:
    """Return the saturation of a round. HIGH means FEW new facts: the source is exhausted (TRIPLET-30)."""
    if new_facts <= 1:
        return Saturation.HIGH
    return Saturation.MEDIUM if new_facts <= 4 else Saturation.LOW  # noqa: PLR2004 - TRIPLET-30: 2-4 new facts


def measure_saturation(thread: ThreadState) -> Saturation:
    """Return the saturation after the last informative round; FIRST_ROUND before there is one (TRIPLET-13)."""
    rounds = select_informative_rounds(thread)
    return classify_saturation(rounds[-1].new_facts) if rounds else Saturation.FIRST_ROUND


def is_stale(thread: ThreadState) -> bool:
    """Signal 2: no new fact in two consecutive informative rounds."""
    rounds = select_informative_rounds(thread)
    if len(rounds) < STALE_ROUNDS or rounds[-1] is not thread.last:
        return False
    return all(done.new_facts == 0 for done in rounds[-STALE_ROUNDS:])


def signal_level(thread: ThreadState) -> PlateauLevel:
    """Return how stuck a thread is by its signals alone, without the cap of rounds.

    Both signals in one round stop the thread, and so does a signal with no escape left (TRIPLET-34, TRIPLET-36).
    """
    again = url_overlap(thread) >= MIN_OVERLAP
    nothing_new = thread.last is not None and thread.last.new_facts == 0
    if again and nothing_new:
        return PlateauLevel.STOP
    level = PlateauLevel.ADVANCE if is_stale(thread) else PlateauLevel.REFORMULATE if again else PlateauLevel.MOVING
    if level is not PlateauLevel.MOVING and thread.course.escapes and next_escape(thread) is None:
        return PlateauLevel.STOP
    return level


def plateau_level(thread: ThreadState) -> PlateauLevel:
    """Return how stuck a thread is, from 0 (moving) to 3 (stop): TRIPLET-32 to TRIPLET-35.

    A used-up budget of rounds is level 3 as well; the stop rule `plateau` leaves that case to `max_rounds`, so that the
    recorded reason is right.
    """
    return PlateauLevel.STOP if thread.number >= thread.course.max_rounds else signal_level(thread)


def next_escape(thread: ThreadState) -> Escape | None:
    """Return the first of the six escapes that was not used yet, or None if all were (TRIPLET-36)."""
    return next((escape for escape in Escape if escape not in thread.escapes_used), None)


def _find_visited(done: Round, reads: int, known: set[str], parts: set[PassageId]) -> tuple[set[str], set[PassageId]]:
    """Return the addresses a round fetched or found again, and their passages."""
    fetched = [reading for reading in done.readings if reading.outcome in OPENED and not reading.again]
    skipped = [reading.hit for reading in done.readings if reading.outcome is ReadOutcome.SKIPPED]
    best = list({hit.key: hit for hit in fuse_hits(done.hits)}.values())[:reads]
    again = [hit for hit in (*best, *skipped) if hit.key in known or hit.passage in parts]
    addresses = {reading.hit.key for reading in fetched} | {hit.key for hit in again}
    passages = {passage for reading in fetched for passage in reading.passages}
    return addresses, passages | {hit.passage for hit in again if hit.passage is not None}


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
    """Keep the phase: gaps alone decide what comes next (TIMED-8)."""
    return _decide_turn(thread, advance=False)


ADVANCE_RULES: Mapping[str, AdvanceRule] = MappingProxyType(
    {each.__name__: each for each in (each_round, on_saturation, stay)}
)


def choose_escape(thread: ThreadState) -> tuple[Escape | None, str]:
    """Return the escape the next round must take and why; `(None, "")` if none is needed.

    Three drifted results in a row force a reformulation. A search without results is reformulated once; if there are
    still none, the sources are shifted. Otherwise each plateau signal takes the next escape (TRIPLET-36, TRIPLET-39,
    TRIPLET-45).
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
    note = f"round {thread.number}: {why}, next comes {describe_code(escape)} {PATH_DECISION}" if escape else ""
    return Transition(phase=phase, escape=escape, plateau_level=level, note=note)


def _count_productive_rounds(thread: ThreadState) -> int:
    """Count rounds of the current phase with results of its kind: not all drifted, not empty."""
    rounds = (done for done in thread.rounds if done.number > thread.phase_since)
    return sum(1 for done in rounds if is_informative(done) and _found_something(done))


def _found_something(done: Round) -> bool:
    return bool(done.hits or done.readings)


def _count_empty_streak(thread: ThreadState) -> int:
    """Count the last consecutive rounds whose searches returned nothing."""
    streak = 0
    for done in reversed(thread.rounds):
        if _found_something(done) or done.failures or done.cut:
            break
        streak += 1
    return streak


def no_gaps(thread: ThreadState, meter: Meter) -> StopReason | None:  # noqa: ARG001 - one signature for all rules
    """Stop if the last reflection found no gap, whatever the model wished (TIMED-7).

    If a sub-question was given up, something is still missing: the reason is then ALL_EXHAUSTED (TIMED-10).
    """
    proposal = thread.last_proposal
    if proposal is None or proposal.gaps:
        return None
    given_up = any(each.standing is SubQuestionStatus.EXHAUSTED for each in thread.sub_questions)
    return StopReason.ALL_EXHAUSTED if given_up else StopReason.GAPS_EMPTY


def reserve_reached(thread: ThreadState, meter: Meter) -> StopReason | None:
    """Stop when only the writing time is left (TIMED-9), when it cut the last round, or would cut the next one."""
    cut = thread.last is not None and thread.last.cut
    return StopReason.TIME_RESERVE if cut or meter.remaining_seconds < compute_round_end(meter) else None


def all_exhausted(thread: ThreadState, meter: Meter) -> StopReason | None:  # noqa: ARG001 - one signature
    """Stop when every remaining gap belongs to a sub-question marked `#RETRY_EXHAUSTED` (TIMED-10), or unlikely."""
    gaps = thread.gaps
    if not gaps or not all(_is_given_up(gap, thread) for gap in gaps):
        return None
    tried = any(each.standing is SubQuestionStatus.EXHAUSTED for each in thread.sub_questions)
    return StopReason.ALL_EXHAUSTED if tried else StopReason.UNLIKELY


def max_rounds(thread: ThreadState, meter: Meter) -> StopReason | None:  # noqa: ARG001 - one signature
    """Stop when the course's rounds are used, even if gaps remain (ANGLES-13, TIMED-4, ROUNDS-4, TRIPLET-3)."""
    return StopReason.ITERATION_CAP if thread.number >= thread.course.max_rounds else None


def model_done(thread: ThreadState, meter: Meter) -> StopReason | None:  # noqa: ARG001 - one signature
    """Stop if the evaluation finds nothing to refine, once every phase had its minimum of rounds (ANGLES-14).

    The wide search and at least one narrow one are guaranteed by the loop, not left to the model.
    """
    proposal = thread.last_proposal
    least = sum(phase.min_rounds for phase in thread.course.phases)
    return StopReason.MODEL_DONE if proposal is not None and proposal.done and thread.number >= least else None


def converged(thread: ThreadState, meter: Meter) -> StopReason | None:  # noqa: ARG001 - one signature
    """Stop when the thread has converged on its criteria (TRIPLET-41)."""
    return StopReason.CRITERIA_MET if meets_criteria(thread) else None


def criteria_met(thread: ThreadState, meter: Meter) -> StopReason | None:  # noqa: ARG001 - one signature
    """Stop when all sub-questions are answered and all subjects covered, with or without their own round (TREE-18)."""
    asked = bool(thread.sub_questions or thread.subjects)
    answered = all(each.is_answered for each in thread.sub_questions)
    covered = all(each.coverage is Coverage.COVERED for each in thread.subjects)
    quiet = not any(each.blocking for each in thread.contradictions)
    return StopReason.CRITERIA_MET if asked and answered and covered and quiet else None


def plateau(thread: ThreadState, meter: Meter) -> StopReason | None:  # noqa: ARG001 - one signature
    """Stop at plateau level 3: both signals in one round, or no escape left (TRIPLET-34, TRIPLET-36)."""
    return StopReason.PLATEAU if signal_level(thread) is PlateauLevel.STOP else None


def lacks_reading_time(thread: ThreadState, meter: Meter) -> StopReason | None:  # noqa: ARG001 - one signature
    """Stop a run with a model if it would have no time to read in another round."""
    return StopReason.TIME_RESERVE if meter.call_seconds and find_spent_limit(meter) == "time" else None


def limit_spent(thread: ThreadState, meter: Meter) -> StopReason | None:
    """Stop when tokens, money or searches are used up, or what the planner allows a leaf (BUDGET-2, TREE-16)."""
    seconds = sum_budgets([spec.seconds for spec in thread.specs])
    late = seconds is not None and meter.elapsed_seconds - thread.opened >= seconds
    return StopReason.LIMIT if meter.exhausted_limit is not None or count_reads_left(thread) == 0 or late else None


_RULES = (
    no_gaps, reserve_reached, all_exhausted, max_rounds, model_done, converged, criteria_met, plateau, limit_spent,
)  # fmt: skip
STOP_RULES: Mapping[str, StopRule] = MappingProxyType({rule.__name__: rule for rule in _RULES})


@dataclass(frozen=True, slots=True)
class NumberedRule:
    """A stop rule with a number, which a profile writes as `NAME:NUMBER`. Packages add it as `corrobora.rules`."""

    check: Callable[[ThreadState, Meter, int], StopReason | None]
    least: int = 1
    most: int = 100


def find_first_stop(
    rules: Sequence[tuple[str, StopRule]], thread: ThreadState, meter: Meter
) -> tuple[StopReason | None, str]:
    """Return the reason and the name of the first rule that fires, or `(None, "")`. The order matters."""
    for name, rule in rules:
        reason = rule(thread, meter)
        if reason is not None:
            return reason, name
    return None, ""


def _is_given_up(gap: Gap, thread: ThreadState) -> bool:
    """True if a gap's sub-question was given up or is unlikely to be answered; a gap without one needs all of them."""
    given_up = {
        each.id: each.standing is SubQuestionStatus.EXHAUSTED
        or ((each.is_unlikely or each.is_uncertain) and not _is_reworded(each, thread))
        for each in thread.sub_questions
    }
    if gap.target in given_up:
        return given_up[gap.target]
    open_subject = any(each.name == gap.target for each in thread.subjects)
    return not open_subject and bool(given_up) and all(given_up.values())


def _is_reworded(asked: SubQuestion, thread: ThreadState) -> bool:
    """True if the sources were found to call a thing of a question by another name: its rating is of the first one."""
    proposals = [done.proposal for done in thread.rounds if done.proposal is not None]
    readings = [reading for done in thread.rounds for reading in done.readings]
    pairs = collect_equivalences((term for each in (*proposals, *readings) for term in each.terms), ())
    own = frozenset(stem_text(asked.text))
    return any(not own.isdisjoint(stem_text(pair.other)) for pair in pairs)


def meets_criteria(thread: ThreadState) -> bool:
    """True if a thread has met its criteria, the first term of TRIPLET-40.

    Every sub-question is ANSWERED with PLAUSIBLE or better, every subject had a round of its own, and no contradiction
    above MEDIUM is open. A thread without sub-questions and subjects has no criteria and never meets them.
    """
    if not thread.sub_questions and not thread.subjects:
        return False
    return (
        all(each.is_answered for each in thread.sub_questions)
        and all(each.rounds >= 1 for each in thread.subjects)
        and not any(each.blocking for each in thread.contradictions)
    )

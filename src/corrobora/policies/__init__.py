"""Policies: every decision of a run as a pure function of frozen values; and the profile, which chooses among them.

A field of the profile is declared here and nowhere else: type, range, words and meaning. Loading, messages, `-s
FIELD=VALUE` and the reference page read the declaration. Knows threads, plans, facts, limits and readings of the meter.
Does not know TOML, the clock, the network, any model or how a decision is carried out.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Literal, cast

from annotated_types import Ge, Le, MaxLen, MinLen, doc

from corrobora.domain.limits import LIMITS, MAX_MINUTES, Allowance, Meter, Minutes, OneOf, Text
from corrobora.domain.plan import Split
from corrobora.domain.thread import AdvanceRule, Course, Phase, StopRule
from corrobora.policies import budget
from corrobora.policies.stop import ADVANCE_RULES, STOP_RULES, NumberedRule
from corrobora.registry import list_parts, load_part
from corrobora.text.phrases import format_count

Artifact = Literal["plan", "subagents", "micro_reports", "completion", "phase_state", "rounds"]


@cache
def find_rule(text: str) -> StopRule | None:
    """Return the stop rule that a profile names as `NAME` or `NAME:NUMBER`, None if there is none of this form."""
    name, colon, number = text.partition(":")
    if not colon and name in STOP_RULES:
        return STOP_RULES[name]
    if name not in list_parts("rules"):
        return None
    rule: NumberedRule | StopRule = load_part("rules", name)
    if not isinstance(rule, NumberedRule):
        return None if colon else rule
    if not number.isdecimal() or not rule.least <= int(number[:9]) <= rule.most:
        return None
    check, limit = rule.check, int(number)
    return lambda thread, meter: check(thread, meter, limit)


@dataclass(frozen=True, slots=True)
class Review:
    """What happens to a draft before it is delivered."""

    critique: Annotated[bool, doc("A language model names the faults of the draft.")] = False
    revise: Annotated[bool, doc("The writer revises the draft after the critique.")] = False
    judge: Annotated[bool, doc("A judge scores the report.")] = False
    min_score: Annotated[float, Ge(0), Le(1), doc("The score that the judged report must reach.")] = 0.70

    def explain_failure(self, score: float | None, min_score: float | None = None) -> str:
        """Say why a verification fails: no score where a judge is asked for, or one below the threshold; "" if not."""
        threshold = self.min_score if min_score is None else min_score
        if not self.judge or (score is not None and score >= threshold):
            return ""
        return (
            "The report was not judged, and its profile asks for a judge."
            if score is None
            else f"The score {score:.2f} is below {threshold:.2f}."
        )


@dataclass(frozen=True, slots=True)
class Profile:
    """One research system as data. Every field has a test that fails if it is ignored."""

    name: Annotated[str, MaxLen(64), doc("Name of the method as printed in the report.")]
    summary: Annotated[Text, doc("What the profile is for, in one line.")] = ""
    split: Annotated[Split, doc("How a question becomes a plan.")] = "questions"
    max_depth: Annotated[int, Ge(1), Le(LIMITS.plan_max_depth), doc("Levels of executors in the plan.")] = 3
    max_leaves: Annotated[int, Ge(1), Le(LIMITS.plan_max_leaves), doc("Leaves of the plan.")] = 7
    dynamic_angles: Annotated[bool, doc("Angles are derived from the question as well as the seven fixed ones.")] = (
        False
    )
    discovery: Annotated[bool, doc("The planner adds a discovery leaf, which selects sources.")] = False
    authorize: Annotated[Literal["human", "auto"], doc("Who authorizes the plan.")] = "auto"
    phrase: Annotated[str, MaxLen(200), doc("The exact words that authorize, typed by a person.")] = ""
    pause_between_rounds: Annotated[bool, doc("The run pauses after each round, so that a person can steer it.")] = (
        False
    )
    phases: tuple[Phase, ...] = field(default=(Phase("research"),))
    advance: Annotated[str, OneOf.from_table(ADVANCE_RULES), doc("When a thread moves on to its next phase.")] = (
        "each_round"
    )
    leaves_in_turn: Annotated[bool, doc("Leaves run one after the other instead of in parallel.")] = False
    queries_in_turn: Annotated[bool, doc("Queries of a round run one after the other instead of in parallel.")] = False
    pause_seconds: Annotated[float, Ge(0), Le(60), doc("Seconds between two queries that run in turn.")] = 0.0
    max_concurrency: Annotated[int, Ge(1), Le(64), doc("Maximum number of concurrent calls.")] = 7
    reads_per_round: Annotated[int, Ge(1), Le(100), doc("Sources read in one round.")] = 5
    hits_per_query: Annotated[int, Ge(1), Le(100), doc("Results taken of one query.")] = 10
    whole_documents: Annotated[bool, doc("Results of a library are new documents, not passages.")] = False
    stop: Annotated[
        tuple[Annotated[str, OneOf(tuple(STOP_RULES), find_rule)], ...],
        MinLen(1),
        doc("Stop rules; the first that applies is recorded."),
    ] = ("no_gaps", "reserve_reached", "all_exhausted", "max_rounds")
    max_rounds: Annotated[int, Ge(1), Le(100), doc("Rounds of each thread.")] = 3
    deep_rounds: Annotated[int, Ge(1), Le(100), doc("Rounds of each thread in a deep run (`--deep`).")] = 7
    attempts: Annotated[int, Ge(1), Le(10), doc("Attempts at one target: a search, a page, a sub-question.")] = 3
    exhaust: Annotated[bool, doc("A sub-question is given up after `attempts` failures.")] = True
    drift: Annotated[bool, doc("Off-topic results are skipped.")] = False
    escapes: Annotated[bool, doc("A thread without progress tries other strategies before it stops.")] = False
    coverage: Annotated[bool, doc("A subject without a round of its own is given one.")] = False
    minutes: Annotated[Minutes, doc("Time for the whole run.")] = None
    reserve_minutes: Annotated[
        Annotated[float, Ge(0), Le(MAX_MINUTES)] | None,
        doc("Time kept for writing; by default 1.5 minutes, and at most 0.3 of the run's time."),
    ] = None
    publishers: Annotated[
        tuple[Text, ...], doc("Hosts that count as credible publishers, in addition to the built-in table.")
    ] = ()
    share_facts: Annotated[bool, doc("A leaf may use the facts that earlier leaves stored.")] = False
    recall_facts: Annotated[bool, doc("A run may use the facts that earlier runs stored.")] = False
    review: Review = Review()
    layout: Annotated[Literal["questions", "angles", "words", "completion"], doc("Layout of the report.")] = "questions"
    words_min: Annotated[int, Ge(0), Le(100_000), doc("Minimum length of the report in words.")] = 0
    words_max: Annotated[int, Ge(50), Le(100_000), doc("Maximum length of the report in words.")] = 1_500
    artifacts: Annotated[tuple[Artifact, ...], doc("Files written in addition to the report.")] = ()
    lead_thinking: Annotated[bool, doc("The lead model uses extended reasoning if it supports it.")] = False
    notes: tuple[str, ...] = ()  # what loading changed in what was asked for, and why

    @property
    def course(self) -> Course:
        """What a thread is given of this profile: the fields of the same names."""
        return Course(**{each.name: getattr(self, each.name) for each in dataclasses.fields(Course)})

    @property
    def reserve_seconds(self) -> float:
        """Time kept for writing: `min(1.5, 0.3 T)` minutes, 1.5 without a limit."""
        if self.reserve_minutes is not None:
            return 60.0 * self.reserve_minutes
        return budget.compute_reserve_seconds(self.minutes)


def fit_profile(profile: Profile, meter: Meter) -> Profile:
    """Return the profile with as many leaves and rounds as its time allows, where model calls are slow.

    The plan becomes smaller before the writer gets less time. A note says what was left out, and why. Rounds are fewer
    only where another part waits for its turn: else a rule ends them when their time is over.
    """
    slots = budget.count_calls_in_turn(meter)
    if slots is None:
        return profile
    rounds = max(1, min(profile.max_rounds, slots // budget.CALLS_OF_A_ROUND))
    lanes = 1 if profile.leaves_in_turn else profile.max_concurrency
    leaves = max(1, min(profile.max_leaves, lanes * max(1, slots // (rounds * budget.CALLS_OF_A_ROUND))))
    rounds = rounds if lanes == 1 < leaves else profile.max_rounds
    if (rounds, leaves) == (profile.max_rounds, profile.max_leaves):
        return profile
    planned, usual = format_count(leaves, "part"), f"{profile.max_leaves}"
    if rounds < profile.max_rounds:
        planned, usual = f"{planned} with {format_count(rounds, 'round')} each", f"{usual} and {profile.max_rounds}"
    note = (
        f"a model call took up to {meter.call_seconds:.0f} s, so at most {planned} could be planned, "
        f"where the profile has {usual}"
    )
    return dataclasses.replace(profile, max_rounds=rounds, max_leaves=leaves, notes=(*profile.notes, note))


def dump_profile(profile: Profile) -> dict[str, object]:
    """Return the resolved profile as plain data: the first event of a run carries it."""
    return cast("dict[str, object]", _dump_value(dataclasses.asdict(profile)))


def _dump_value(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _dump_value(each) for key, each in cast("Mapping[str, object]", value).items()}
    if isinstance(value, list | tuple):
        return [_dump_value(each) for each in cast("Sequence[object]", value)]
    return value


def resolve_rules(profile: Profile) -> tuple[tuple[str, StopRule], ...]:
    """Return the stop rules with their names, in the profile's order; names were checked when it was loaded."""
    return tuple((name, rule) for name in profile.stop if (rule := find_rule(name)) is not None)


def resolve_advance(profile: Profile) -> AdvanceRule:
    """Return how the profile takes phases."""
    return ADVANCE_RULES[profile.advance]


def derive_allowance(
    profile: Profile, *, tokens: int | None = None, dollars: float | None = None, searches: int | None = None
) -> Allowance:
    """Return what a run of this profile may use: the profile's time and the user's other limits."""
    return budget.make_allowance(
        minutes=profile.minutes,
        reserve_minutes=profile.reserve_minutes,
        tokens=tokens,
        dollars=dollars,
        searches=searches,
    )


def derive_numbers(profile: Profile) -> budget.EstimateInputs:
    """Return the numbers of a profile that an estimate needs."""
    review = profile.review
    return budget.EstimateInputs(
        course=profile.course,
        reviews=sum((review.critique, review.revise, review.judge)),
        leaves_in_turn=profile.leaves_in_turn,
        minutes=profile.minutes,
    )

"""Every field of a profile and every flag of a run does something: each is set, a run is made, its effect is seen.

`python -m bench.mutate_fields` ignores the fields and flags one at a time: then the test of that name must fail.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.fakes import run_virtually
from tests.profiles import corpus
from tests.profiles.research import Mixed, make_run
from tests.profiles.scripted import Engine, Growing, WebRun, asked_for, make_web_run, profile_asked_for
from tests.unit.policies.threads import fact, one_round, thread

from corrobora.app.wiring import open_analysts
from corrobora.config import load_settings
from corrobora.config.profiles import list_fields, load_profile
from corrobora.domain.evidence import Grade, PassageId, Query
from corrobora.domain.plan import Plan
from corrobora.domain.report import Critique, Report, Verdict
from corrobora.domain.run import EventType, Request
from corrobora.domain.thread import Gap, Intent, Phase, Proposal
from corrobora.faces.cli.request import research
from corrobora.policies import Profile, Review
from corrobora.policies.assessment import assess_thread
from corrobora.roles.review import Revision

ROOT = Path(__file__).resolve().parents[2]
QUESTION = "How tall is the lighthouse of Oldby?"
PAGES: dict[str, Any] = {
    f"https://site{n}.example/x": f"# Lighthouse note {n}\n\nThe lighthouse of Oldby is tall, wrote keeper {n}."
    for n in range(12)
}
NOWHERE: dict[str, Any] = {"https://a.example/b": "# Trains\n\nThe timetable of trains for commuters."}


class Person:
    """A person who agrees, and counts how often."""

    def __init__(self) -> None:
        self.plans = 0
        self.rounds = 0

    async def authorize(self, plan: Plan) -> bool:
        self.plans += 1
        return bool(plan.root.path)

    async def between_rounds(self, path: str, number: int) -> str:
        self.rounds += 1
        return ""

    async def before_searches(self, path: str, number: int, queries: Sequence[str]) -> str:
        return ""


class Ran:
    """One run of a profile and what was seen of it."""

    def __init__(self, profile: Profile, pages: Any = None, *, wire: bool = True, **lines: Any) -> None:
        self.person, self.analyst = Person(), Mixed({"reflect": wanting, **lines})
        web = PAGES if pages is None else pages
        self.engines = [Engine(web, "tavily"), Engine(web, "exa")]
        for engine in self.engines:
            engine.seconds = 1.0
        parts: dict[str, Any] = {"engines": self.engines, "analysts": [self.analyst], "human": self.person}
        self.made: WebRun = make_web_run(profile, web, question=QUESTION, wire=wire, **parts)
        self.report: Report = run_virtually(self.made.research())
        self.rounds = self.report.findings.rounds

    def told(self, kind: EventType) -> list[Any]:
        return [event.data for event in self.made.told(kind)]

    @property
    def planning(self) -> Any:
        return self.analyst.given("plan")[0]

    @property
    def writing(self) -> Any:
        return [given for given in self.analyst.given("synthesize") if given.purpose == "report"][-1]


def wanting(given: Any) -> Proposal:
    return Proposal("More.", (Gap(f"more of {given.round}", "sq-1"),))


def one(given: Any) -> Intent:
    return Intent("A goal", (Query(f"lighthouse Oldby tall {given.round}"),), ("sq-1",))


def three(given: Any) -> Intent:
    return Intent("A goal", tuple(Query(f"lighthouse Oldby tall {given.round} {n}") for n in "abc"), ("sq-1",))


def busiest(ran: Ran) -> int:
    return max(engine.most_busy for engine in ran.engines)


def gap_between_searches(ran: Ran) -> float:
    at = sorted(time for engine in ran.engines for time in engine.at)
    return round(at[1] - at[0], 1)


def thinking(profile: Profile) -> bool:
    asked: list[bool] = []

    class Models:
        def get_analyst(self, _models: Any, *, thinking: bool, **_: object) -> None:
            asked.append(thinking)

    settings = load_settings(env={}, user_file=Path("/nonexistent"))
    open_analysts(settings, Request(QUESTION), profile, Models())  # type: ignore[arg-type]
    return asked[0]


def critical(**lines: Any) -> Callable[[Profile], Ran]:
    return lambda profile: Ran(
        profile,
        critique=Critique(("too short",), "good"),
        revise=lambda given: Revision(),
        judge=lambda given: Verdict(0.6, 0.6, 0.6, 0.6, 0.6),
        **lines,
    )


def endless(profile: Profile) -> tuple[WebRun, Report]:
    engine = Growing({})
    engine.seconds = 20.0
    made = make_web_run(
        profile, engine.pages, question=QUESTION, engines=[engine], analysts=[Mixed({"reflect": wanting})]
    )
    return made, run_virtually(made.research())


def phases(*rows: str) -> str:
    return "[" + ", ".join("{" + row + "}" for row in rows) + "]"


def failing(profile: Profile) -> int:
    engine = Engine(PAGES, "tavily", down=True)
    made = make_web_run(profile, PAGES, question=QUESTION, engines=[engine], analysts=[Mixed({"scope": one})])
    run_virtually(made.research())
    return len(engine.asked)


def passages_found(profile: Profile) -> set[PassageId | None]:
    """The passages that results of a library name."""

    async def ran() -> set[PassageId | None]:
        report = await (await make_run(profile)).research()
        return {hit.passage for r in report.findings.rounds for hit in r.hits} - {None}

    return asyncio.run(ran())


def parallel(profile: Profile) -> int:
    """How many searches of a question with many parts are under way at once."""
    engine = Engine(dict([*corpus.corpus().items()][::5]), "tavily", seconds=1.0)
    run_virtually(make_web_run(profile, engine.pages, question=corpus.QUESTION, engines=[engine]).research())
    return engine.most_busy


def drifted(profile: Profile) -> bool:
    pages = {"https://a.example/b": "# Trains tall\n\nThe timetable of trains for commuters is tall."}
    return bool(Ran(profile, pages, scope=tall).told(EventType.DRIFT))


def tall(given: Any) -> Intent:
    return Intent("A goal", tuple(Query(f"tall {given.round} {n}") for n in "abc"), ("sq-1",))


def covered(profile: Profile) -> bool:
    return any(r.intent.forced for r in Ran(profile, scope=one).rounds)


def graded(profile: Profile) -> Grade:
    """The grade of one page of example.org in a thread of this profile."""
    page = fact(kind="web", url="https://example.org/page")
    state = replace(thread(), course=profile.course)
    return assess_thread(state, one_round(urls="a", facts=(page,))).facts[0].grade


PHASES = {
    "name": (phases('name = "mine"'), lambda p: Ran(p, scope=one).rounds[0].phase, "mine"),
    "goal": (
        phases('name = "x", goal = "look here"'),
        lambda p: Ran(p).analyst.given("scope")[0].phase.goal,
        "look here",
    ),
    "min_queries": (
        phases('name = "x", min_queries = 3'),
        lambda p: len(Ran(p, scope=one, wire=False).rounds[0].intent.queries),
        3,
    ),
    "max_queries": (
        phases('name = "x", max_queries = 2'),
        lambda p: len(Ran(p, scope=three).rounds[0].intent.queries),
        2,
    ),
    "providers": (phases('name = "x", providers = ["exa"]'), lambda p: Ran(p).rounds[0].providers, ("exa",)),
    "rotation": (
        phases('name = "x", rotation = "fixed"'),
        lambda p: Ran(p).rounds[0].providers,
        ("tavily",),
    ),
    "query_hints": (
        phases('name = "x", query_hints = ["records"]'),
        lambda p: "records" in Ran(p).rounds[0].intent.queries[0].text,
        True,
    ),
    "reading_prompt": (
        phases('name = "x", reading_prompt = "Read like this."'),
        lambda p: Ran(p).analyst.given("extract")[0].guidance,
        "Read like this.",
    ),
    "min_rounds": (
        phases('name = "x", min_rounds = 2', 'name = "y"'),
        lambda p: [r.phase for r in Ran(p, scope=one).rounds][:3],
        ["x", "x", "y"],
    ),
    "max_rounds": (
        phases('name = "x", max_rounds = 1', 'name = "y"'),
        lambda p: [r.phase for r in Ran(p, scope=one, extract=None).rounds][:2],
        ["x", "y"],
    ),
    "minutes": (phases('name = "x", minutes = 0.1'), lambda p: endless(p)[1].findings.rounds[0].cut, True),
}
PROBES: dict[str, tuple[str, str, Callable[[Profile], object], object]] = {
    "name": ("timed", '"mine"', lambda p: Ran(p).report.methodology.profile, "mine"),
    "summary": ("timed", '"my way"', lambda p: Ran(p).told(EventType.RUN_STARTED)[0]["profile"]["summary"], "my way"),
    "split": ("timed", '"leaf"', lambda p: Ran(p).planning.split, "leaf"),
    "max_depth": ("timed", "2", lambda p: Ran(p).planning.max_depth, 2),
    "max_leaves": ("timed", "3", lambda p: Ran(p).planning.max_leaves, 3),
    "dynamic_angles": ("timed", "true", lambda p: Ran(p).planning.dynamic_angles, True),
    "discovery": ("timed", "true", lambda p: Ran(p).planning.discovery, True),
    "authorize": ("timed", '"human"', lambda p: Ran(p).person.plans, 1),
    "pause_between_rounds": ("timed", "true", lambda p: Ran(p).person.rounds > 0, True),
    "advance": ("rounds", '"stay"', lambda p: {r.phase for r in Ran(p).rounds}, {"orient"}),
    "leaves_in_turn": ("angles", "true", parallel, 1),
    "queries_in_turn": ("timed", "true", lambda p: busiest(Ran(p, scope=three)), 1),
    "pause_seconds": ("rounds", "5.0", lambda p: gap_between_searches(Ran(p)), 6.0),
    "max_concurrency": ("angles", "1", parallel, 1),
    "reads_per_round": ("timed", "2", lambda p: len(Ran(p).rounds[0].readings), 2),
    "hits_per_query": ("timed", "3", lambda p: max(len(Ran(p, scope=one).rounds[0].hits) // 2, 0), 3),
    "whole_documents": ("timed", "true", passages_found, set[PassageId]()),
    "stop": ("timed", '["max_rounds"]', lambda p: len(Ran(p, reflect=Proposal("", ())).rounds), 3),
    "max_rounds": ("timed", "2", lambda p: len(endless(p)[1].findings.rounds), 2),
    "deep_rounds": ("timed", "5", lambda p: len(endless(p)[1].findings.rounds), 5),
    "attempts": ("timed", "2", failing, 2),
    "exhaust": ("timed", "false", lambda p: len(Ran(p, NOWHERE).told(EventType.EXHAUSTED)), 0),
    "drift": ("rounds", "true", drifted, True),
    "escapes": ("rounds", "true", lambda p: bool(Ran(p, {}).told(EventType.ESCAPE)), True),
    "coverage": ("timed", "true", covered, True),
    "minutes": ("timed", "0.5", lambda p: endless(p)[0].session.budget.elapsed <= 30, True),
    "reserve_minutes": ("timed", "4.5", lambda p: endless(p)[0].session.budget.elapsed <= 31, True),
    "publishers": ("timed", '["example.org"]', graded, Grade.PLAUSIBLE),
    "share_facts": ("timed", "true", lambda p: bool(Ran(p).made.journal.keys("root/recall")), True),
    "recall_facts": ("timed", "true", lambda p: bool(Ran(p).made.journal.keys("root/recall")), True),
    "layout": ("timed", '"completion"', lambda p: "## Sub-question status" in Ran(p).report.markdown, True),
    "words_min": ("timed", "77", lambda p: Ran(p).writing.words_min, 77),
    "words_max": ("timed", "333", lambda p: Ran(p).writing.words_max, 333),
    "artifacts": ("timed", '["rounds"]', lambda p: "rounds.json" in Ran(p).made.files, True),
    "lead_thinking": ("timed", "true", thinking, True),
    "review.critique": ("timed", "true", lambda p: len(critical()(p).analyst.given("critique")), 1),
    "review.revise": ("timed", "true", lambda p: len(critical()(p).analyst.given("revise")), 1),
    "review.judge": ("timed", "true", lambda p: len(critical()(p).analyst.given("judge")), 1),
    "review.min_score": ("angles", "0.5", lambda p: critical()(p).told(EventType.JUDGE)[0]["passed"], True),
}


MORE: dict[str, tuple[tuple[str, str], ...]] = {  # what must be set beside a field for its effect to show
    "deep_rounds": (("deep", "true"),),
    "attempts": (("max_rounds", "1"),),
    "max_rounds": (("stop", '["max_rounds"]'),),
    "phases.min_rounds": (("advance", '"each_round"'), ("stop", '["max_rounds"]')),
    "phases.max_rounds": (("advance", '"on_saturation"'), ("stop", '["max_rounds"]'), ("escapes", "false")),
    "review.revise": (("review.critique", "true"),),
    "authorize": (("phrase", '"Go"'),),
    "exhaust": (("deep", "true"), ("stop", '["max_rounds"]')),
    "coverage": (("deep", "true"), ("stop", '["max_rounds"]'), ("escapes", "false")),
}


@pytest.mark.parametrize("field", PROBES)
def test_field_takes_effect(field: str):
    base, value, seen, expected = PROBES[field]
    assert seen(load_profile(base, (*MORE.get(field, ()), (field, value)))) == expected


@pytest.mark.parametrize("field", PHASES)
def test_field_of_a_phase_takes_effect(field: str, tmp_path: Path):
    rows, seen, expected = PHASES[field]
    (tmp_path / "mine.toml").write_text(f'base = "timed"\nphases = {rows}\n')
    assert seen(load_profile(str(tmp_path / "mine.toml"), MORE.get(f"phases.{field}", ()))) == expected


def test_the_mutation_table_names_every_field_and_every_flag():
    from bench.mutate_fields import table

    wanted = {f"field:{name}" for name in list_fields(Profile)}
    wanted |= {f"field:review.{name}" for name in list_fields(Review)}
    wanted |= {f"field:phases.{name}" for name in list_fields(Phase)}
    wanted |= {f"flag:{each.name}" for each in research.params if each.param_type_name == "option"}
    assert set(table()) == wanted


def test_the_mutation_table_names_tests_that_exist():
    from bench.mutate_fields import table

    for name, test in table().items():
        file, _, function = test.partition("::")
        text, case = (ROOT / file).read_text(), function.partition("[")[2].rstrip("]")
        assert f"def {function.partition('[')[0]}(" in text, name
        assert not case or f'"{case}"' in text, name


FLAGS: dict[str, tuple[tuple[str, ...], Callable[..., object], object]] = {
    "time": (("--time", "7"), lambda *a: profile_asked_for(*a).minutes, 7.0),
    "deep": (("--deep",), lambda *a: profile_asked_for(*a).max_rounds, 7),
    "max_rounds": (("--max-rounds", "6"), lambda *a: profile_asked_for(*a).max_rounds, 6),
    "angles": (("--angles", "dynamic"), lambda *a: profile_asked_for(*a).dynamic_angles, True),
    "profile": (("--profile", "rounds"), lambda *a: asked_for(*a).profile, "rounds"),
    "fields": (("-s", "reads_per_round=2"), lambda *a: profile_asked_for(*a).reads_per_round, 2),
    "yes": (("--yes",), lambda *a: asked_for(*a).authorized, "policy"),
    "plan_only": (("--plan-only",), lambda *a: profile_asked_for(*a).authorize, "human"),
    "max_cost": (("--max-cost", "2"), lambda *a: dict(asked_for(*a).metadata)["max_usd"], "2.0"),
    "max_tokens": (("--max-tokens", "500"), lambda *a: dict(asked_for(*a).metadata)["max_tokens"], "500"),
    "max_searches": (("--max-searches", "4"), lambda *a: dict(asked_for(*a).metadata)["max_searches"], "4"),
    "model": (("--model", "lead=openai:x"), lambda *a: dict(asked_for(*a).models)["lead"], "openai:x"),
    "library": (("--library", "more"), lambda *a: "docs" in asked_for(*a).libraries, True),
    "accept_unknown_price": (
        ("--accept-unknown-price",),
        lambda *a: dict(asked_for(*a).metadata).get("accept_unknown_price"),
        "yes",
    ),
    "allow_egress": (("--allow-egress",), lambda *a: dict(asked_for(*a).metadata).get("allow_egress"), "yes"),
    "show_queries": (("--show-queries",), lambda *a: dict(asked_for(*a).metadata).get("show_queries"), "yes"),
    "strict": (("--strict",), lambda *a: asked_for(*a).strict, True),
    "min_score": (("--min-score", "0.9"), lambda *a: profile_asked_for(*a).review.min_score, 0.9),
}


@pytest.mark.parametrize("flag", FLAGS)
def test_flag_takes_effect(flag: str):
    args, seen, expected = FLAGS[flag]
    assert seen(QUESTION, *args) == expected


def test_a_plan_file_reaches_the_request(tmp_path: Path):
    (tmp_path / "plan.json").write_text('{"root": []}')
    assert json.loads(asked_for(QUESTION, "--plan", str(tmp_path / "plan.json")).plan_file) == {"root": []}

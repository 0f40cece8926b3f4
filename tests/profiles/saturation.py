"""A scripted web with a known saturation point: fourteen subjects, two pages each, and nothing else to be found.

Every search is one query of one round; after the round that reads the last page, nothing new exists on this web.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.profiles.research import Mixed
from tests.profiles.scripted import Engine, WebRun, make_web_run

from corrobora.config.profiles import load_profile
from corrobora.domain.evidence import Query
from corrobora.domain.plan import Coverage
from corrobora.domain.thread import Intent
from corrobora.policies import Profile

SUBJECTS = (
    "Arrel Bodin Corvan Dalmet Estor Fennick Garmund Holvar Inskip Jortun Kellam Lurwick Mervan Nostrel"
).split()
TASKS = ("keeper", "mooring")
BUDGET = 28  # rounds of a fixed-round baseline: one for each subject and task


def pages() -> dict[str, str]:
    """Return the whole web: for each subject a page on each task, in words of its own."""
    found: dict[str, str] = {}
    for at, name in enumerate(SUBJECTS):
        told = (
            f"The keeper of the ferry {name} is the family {name[::-1].title()} from house number {at + 3}.",
            f"The ferry {name} has its mooring beside the {name[:3].lower()} mill under lamp {at + 30}.",
        )
        for task, text in zip(TASKS, told, strict=True):
            found[f"https://{name.lower()}{task}.gov/{at}"] = f"# The ferry {name}, {task}\n\n{text}\n"
    return found


def thread_file(budget: int = BUDGET) -> str:
    """Return the thread: all subjects, and two questions of which no page answers the second."""
    names = ", ".join(f'"{name}"' for name in SUBJECTS)
    return (
        f'round_budget = {budget}\n[thread]\nname = "Ferry keepers"\nsubjects = [{names}]\n'
        'sub_questions = ["Who is the keeper of the ferry?", "Which painter chose the colour of the ferry?"]\n'
        '[brief]\nquestion = "Who keeps the ferries, and where is their mooring?"\n'
    )


def by_subject(given: Any) -> Intent:
    """A planner of queries that takes the next uncovered subject, else goes on where it is told to."""
    name = given.forced_subject or (given.uncovered[0].name if given.uncovered else SUBJECTS[-1])
    text = f"{name} {'harbour' if given.round % 2 else 'landing'} {given.round}"
    ids = tuple(question.id for question in given.open_questions)
    return Intent(f"Cover {name or 'what is left'}", (Query(text),), ids, (name,) if name else ())


@dataclass(frozen=True)
class Outcome:
    """What one strategy cost and covered."""

    searches: int
    rounds: int
    covered: int
    saturated_at: int  # the round after which nothing new was found
    stop: str


def made(profile: Profile, budget: int = BUDGET, *, planned: bool = True) -> WebRun:
    """Set up one run over this web; `planned` says that queries are planned by subject, else without any model."""
    web: Mapping[str, str] = pages()
    analyst = Mixed({"scope": by_subject} if planned else {})
    return make_web_run(profile, web, engines=[Engine(web)], thread_file=thread_file(budget), analysts=[analyst])


def baseline() -> Profile:
    """Return the same thread without saturation: exactly as many rounds as given, one query each, no way out."""
    fields = (("stop", '["max_rounds"]'), ("escapes", "false"), ("coverage", "false"), ("advance", '"stay"'))
    return load_profile("triplet", (*fields, ("reads_per_round", "1")))


async def outcome(of: Profile, budget: int = BUDGET, *, planned: bool = True) -> Outcome:
    """Run one strategy to its end."""
    run = made(of, budget, planned=planned)
    report = await run.research()
    rounds = report.findings.rounds
    return Outcome(
        searches=len(run.engines["tavily"].asked),
        rounds=len(rounds),
        covered=sum(each.coverage is Coverage.COVERED for each in report.findings.subjects),
        saturated_at=max((done.number for done in rounds if done.new_facts), default=0),
        stop=str(report.stop),
    )

"""A run for acceptance tests: the real engine over documents in memory, every file kept, every call remembered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tests.fakes import FakeClock, MemoryFiles, MemoryJournal, MemoryLibrary
from tests.profiles.over_wire import OverWire

from corrobora.analysts.extractive import ExtractiveAnalyst
from corrobora.config.profiles import load_profile
from corrobora.domain.plan import Brief, Plan
from corrobora.domain.report import Report
from corrobora.domain.run import Request, RunId
from corrobora.engine.research import research
from corrobora.engine.session import RunPorts, Session
from corrobora.engine.session.budget import Budget
from corrobora.engine.session.journal import hash_parts
from corrobora.policies import Profile, derive_allowance, resolve_advance, resolve_rules
from corrobora.ports import Analyst, Answer, Clock, FactStore, Role
from corrobora.reporting.thread_json import render_round_files

DOCUMENTS = {
    "rules-2011.md": """# Crane rules of Brenhaven, 2011

Harbour cranes of Brenhaven shall be inspected every 24 months.

A crane of class B may lift a load of at most 40 tonnes in calm weather.""",
    "rules-2019.md": """# Crane rules of Brenhaven, 2019

Harbour cranes of Brenhaven must be inspected every 12 months, and the record must be kept for 10 years.

The load that a crane of class B may lift was lowered to 35 tonnes.""",
    "history.md": """# The harbour of Brenhaven

The harbour of Brenhaven was dug in 1874.

Its cranes were steam cranes until 1931, and each could lift a load of 5 tonnes.""",
    "risks.md": """# Crane accidents at Brenhaven

Three harbour cranes of Brenhaven failed between 2012 and 2018 because of worn brakes.

Limitations: the cause of the accident of 2014 remains unclear.""",
    "fish.md": """# Fish market

The market opens at 5 in the morning and sells herring and cod.""",
}
QUESTION = "How often must the harbour cranes of Brenhaven be inspected, and what load may a crane of class B lift?"


class Agreeing:
    """A person who agrees to every plan and has nothing to add."""

    async def authorize(self, plan: Plan) -> bool:
        return bool(plan.root.path)

    async def between_rounds(self, path: str, number: int) -> str:
        return ""

    async def before_searches(self, path: str, number: int, queries: Sequence[str]) -> str:
        return ""


@dataclass
class Mixed:
    """Plays scripted roles by functions of the input, all others by the extractive analyst; keeps what it was given."""

    lines: Mapping[str, Any] = field(default_factory=dict)
    name: str = "mixed"
    played: list[tuple[str, Any]] = field(default_factory=list)
    usage: Any = None
    _rest: ExtractiveAnalyst = field(default_factory=ExtractiveAnalyst)

    def identity(self, role: Role[Any, Any]) -> str:
        return f"{self.name}/{role.prompt}"

    async def play(self, role: Role[Any, Any], given: Any) -> Answer[Any]:
        self.played.append((role.prompt, given))
        line = self.lines.get(role.prompt)
        value = line(given) if callable(line) else line
        if isinstance(value, Exception):
            raise value
        if value is None:
            value = (await self._rest.play(role, given)).value
        return Answer(value, self.usage, self.name, self.name) if self.usage else Answer(value, analyst=self.name)

    def given(self, prompt: str) -> list[Any]:
        return [given for name, given in self.played if name == prompt]


@dataclass
class LibraryRun:
    """One run with its parts in reach. `files` holds what the run wrote and is what the run reads back."""

    session: Session
    library: MemoryLibrary
    journal: MemoryJournal
    files: dict[str, str]

    async def research(self) -> Report:
        request = self.session.request
        return await research(Brief(request.question, suggested_plan=request.plan_file), self.session)


async def make_run(
    profile: str | Profile,
    *,
    question: str = QUESTION,
    analysts: tuple[Analyst, ...] = (ExtractiveAnalyst(),),
    documents: Mapping[str, str] = DOCUMENTS,
    library: MemoryLibrary | None = None,
    journal: MemoryJournal | None = None,
    clock: Clock | None = None,
    facts: FactStore | None = None,
    files: dict[str, str] | None = None,
    request: Request | None = None,
    human: Any = None,
    search: Any = None,
    wire: bool = True,
    **fields: Any,
) -> LibraryRun:
    """Set up a run; `wire`: analysts answer over the wire. `fields` replace fields of the profile."""
    chosen = replace(load_profile(profile) if isinstance(profile, str) else profile, **fields)
    library = library or await MemoryLibrary.of(documents)
    journal = journal or MemoryJournal(run=f"r_{hash_parts(question, chosen.name)}")
    clock = clock or FakeClock()
    written = MemoryFiles(journal, {} if files is None else files)
    session = Session(
        run=RunId(journal.run),
        request=request or Request(question, chosen.name),
        profile=chosen,
        stop=resolve_rules(chosen),
        advance=resolve_advance(chosen),
        outside=RunPorts(
            analysts=tuple(map(OverWire, analysts)) if wire else analysts,
            searches={"library": search or library},
            readers=(library,),
            library=library,
            journal=journal,
            clock=clock,
            human=human or Agreeing(),
            write=written.write,
            seal=written.seal,
            read=written.read,
            render_round=render_round_files,
            facts=facts,
        ),
        budget=Budget(derive_allowance(chosen), clock),
    )
    return LibraryRun(session, library, journal, written.texts)

"""Seven sub-agents in parallel against the same work in sequence, on an analyst of fixed latency (ANGLES-25).

Prints both times and their ratio, for the stage `generation` and for the whole run. The target of
ANGLES-25 is 0.5, ours 0.25. Documents, library and journal are in memory, so that what is measured is the latency of
the
analyst. Exit code 1 if the ratio of the generation is above ours.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tests.fakes import MemoryFiles, MemoryJournal, MemoryLibrary

from corrobora.adapters.pacing import SystemClock
from corrobora.analysts.extractive import ExtractiveAnalyst
from corrobora.config.profiles import load_profile
from corrobora.domain.plan import Brief, Node, Plan, SubQuestion
from corrobora.domain.run import Request, RunId
from corrobora.engine.research import research
from corrobora.engine.session import RunPorts, Session
from corrobora.engine.session.budget import Budget
from corrobora.policies import derive_allowance, resolve_advance, resolve_rules
from corrobora.policies.intake import CANONICAL_ANGLES
from corrobora.ports import Answer, Role
from corrobora.reporting.thread_json import render_round_files

TARGET = 0.25
QUESTION = "What is known about the harbour cranes of Brenhaven?"


@dataclass
class SlowAnalyst:
    """The extractive analyst, every answer delayed by a fixed time, as a model's would be."""

    seconds: float
    name: str = "slow"
    calls: int = 0
    began: float = 0.0  # when the first sub-agent did
    ended: float = 0.0  # when the revised report was handed to the judge
    rest: ExtractiveAnalyst = field(default_factory=ExtractiveAnalyst)

    def identity(self, role: Role[Any, Any]) -> str:
        """Name the role."""
        return f"{self.name}/{role.prompt}"

    async def play(self, role: Role[Any, Any], given: Any) -> Answer[Any]:
        """Play the role after the delay."""
        self.calls += 1
        if role.prompt == "scope":
            self.began = self.began or time.perf_counter()
        if role.prompt == "judge":
            self.ended = time.perf_counter()
        await asyncio.sleep(self.seconds)
        if role.prompt == "plan":
            return Answer(_plan())
        return await self.rest.play(role, given)


class Agreeing:
    """Nobody is asked: the profile authorizes by policy."""

    async def authorize(self, plan: Plan) -> bool:
        """Agree."""
        return bool(plan.root.path)

    async def between_rounds(self, path: str, number: int) -> str:  # noqa: ARG002 - the signature of the port
        """Add nothing."""
        return ""

    async def before_searches(self, path: str, number: int, queries: Sequence[str]) -> str:  # noqa: ARG002 - as above
        """Let them be sent."""
        return ""


def _plan() -> Plan:
    """Seven angles, each with a subject of its own, so that no angle waits for what another one reads."""
    children = tuple(
        Node(
            f"root/{number}",
            angle.title,
            f"Find {angle.title} of the cranes",
            sub_questions=(SubQuestion(f"sq-{number}", f"What does report {number} say about {_part(number)}?"),),
            angle=angle.slug,
            queries=(f"report {number} {_part(number)}",),
        )
        for number, angle in enumerate(CANONICAL_ANGLES, 1)
    )
    return Plan(Node("root", QUESTION, QUESTION, children), tier="complex")


def _part(number: int) -> str:
    return ("brakes", "rails", "cables", "motors", "cabins", "hooks", "lamps")[number - 1]


def _documents() -> dict[str, str]:
    return {
        f"report-{n}-{k}.md": f"# Report {n} on {_part(n)}\n\nReport {n}, part {k}: the {_part(n)} of the cranes "
        f"of Brenhaven were renewed in {1980 + n + k} after {10 * n + k} complaints."
        for n in range(1, 8)
        for k in range(1, 4)
    }


async def _timed(latency: float, *, in_turn: bool) -> tuple[float, float, int]:
    profile = replace(load_profile("angles"), leaves_in_turn=in_turn)
    library, clock = await MemoryLibrary.of(_documents()), SystemClock()
    analyst, journal = SlowAnalyst(latency), MemoryJournal()
    files = MemoryFiles(journal)
    session = Session(
        run=RunId("r_bench"),
        request=Request(QUESTION, "angles"),
        profile=profile,
        stop=resolve_rules(profile),
        advance=resolve_advance(profile),
        outside=RunPorts(
            analysts=(analyst,),
            searches={"library": library},
            readers=(library,),
            library=library,
            journal=journal,
            clock=clock,
            human=Agreeing(),
            write=files.write,
            seal=files.seal,
            read=files.read,
            render_round=render_round_files,
        ),
        budget=Budget(derive_allowance(profile), clock),
    )
    began = time.perf_counter()
    report = await research(Brief(QUESTION), session)
    seconds = time.perf_counter() - began
    assert len(report.findings.children) == len(CANONICAL_ANGLES)
    assert all(not child.failed and len(child.rounds) > 1 for child in report.findings.children)
    return analyst.ended - analyst.began, seconds, analyst.calls


async def measure(latency: float) -> float:
    """Measure both ways, print them, return the ratio."""
    sequence, whole, calls = await _timed(latency, in_turn=True)
    parallel, shorter, same = await _timed(latency, in_turn=False)
    print(f"analyst latency  {latency:7.2f} s;  generation  whole run")
    print(f"in sequence      {sequence:18.2f} s {whole:9.2f} s   {calls} calls")
    print(f"in parallel      {parallel:18.2f} s {shorter:9.2f} s   {same} calls")
    print(f"ratio            {parallel / sequence:18.3f}   {shorter / whole:9.3f}     required: 0.5; ours: {TARGET}")
    return parallel / sequence


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--latency", type=float, default=0.5, help="seconds of each answer")
    return int(asyncio.run(measure(parser.parse_args().latency)) > TARGET)


if __name__ == "__main__":
    sys.exit(main())

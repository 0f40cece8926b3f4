"""CPU milliseconds per model call through `LanguageModelAnalyst`, against a fixed-latency server in another process.

Prints one line for each protocol and number of parallel callers; the goals of the whole engine are 8 ms at N = 1 and
4 ms at N = 50. The first calls open connections: left out. Run: python bench/model_calls.py
"""

from __future__ import annotations

import argparse
import asyncio
import time

from bench.engine_calls import server
from corrobora.adapters.models import parse_target
from corrobora.adapters.models.connection import ModelConnection
from corrobora.adapters.pacing import CallGate, Pace
from corrobora.analysts.language_model.analyst import LanguageModelAnalyst
from corrobora.domain.evidence import Passage, PassageId, SourceId
from corrobora.domain.plan import SubQuestion
from corrobora.roles.extract import Excerpt, extract

TEXT = "Valves of this kind shall be inspected every 12 months, and the result shall be recorded. " * 12
PROTOCOLS = ("openai-compatible:scripted@{url}/v1", "anthropic:claude-sonnet-5@{url}")


def excerpt(number: int) -> Excerpt:
    """One reading of a source of about 1,100 characters; no two are equal."""
    passage = Passage(PassageId(f"C{number}"), SourceId("S1"), f"{number}. {TEXT}", 0, len(TEXT))
    asked = (SubQuestion("sq-1", "How often shall valves be inspected?"),)
    return Excerpt("root", "Valves", "", "", (passage,), "How often shall valves be inspected?", asked)


async def measure(target: str, callers: int, calls: int) -> tuple[float, float]:
    """Return CPU milliseconds per call and calls per second."""
    connection = ModelConnection(parse_target(target, {}), CallGate("bench", Pace(start=max(8, callers))))
    analyst = LanguageModelAnalyst({"worker": connection})
    work = iter(range(10**9))

    async def caller(count: int) -> None:
        for _ in range(count):
            await analyst.play(extract, excerpt(next(work)))

    await asyncio.gather(*(caller(2) for _ in range(callers)))
    began, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(caller(calls // callers) for _ in range(callers)))
    spent, wall = time.process_time() - cpu, time.perf_counter() - began
    await connection.aclose()
    return spent / (calls // callers * callers) * 1_000, calls / wall


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--latency", type=float, default=0.02)
    options = parser.parse_args()
    with server(options.latency) as url:
        for name in PROTOCOLS:
            for callers in (1, 50):
                milliseconds, rate = asyncio.run(measure(name.format(url=url), callers, options.calls))
                print(f"{name.split('@')[0]:32} N={callers:<3} {milliseconds:6.2f} CPU ms/call {rate:7.0f} calls/s")


if __name__ == "__main__":
    main()

"""Listeners of live runs: memory, delay, and whether any event is lost or doubled when every listener is cut off.

    python -m bench.listeners [--listeners 1000] [--runs 20]

Starts `corrobora serve` as a process of its own on an empty database, starts runs, opens server-sent event streams on
them, breaks every stream several times on purpose and lets the listener come back with the number it saw last. Prints
the memory of the server per listener, the delay from an event's time to its arrival, and the counts of lost and doubled
events, which must be 0.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
import time
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import httpx2
import psutil

DOCUMENT = (
    "# Lake {n}\n\nLake {n} is {n}0 metres deep and freezes over in week {n} of the year. It holds perch and pike.\n"
)


@dataclass
class Listener:
    """What one listener saw of one run."""

    run: str
    seen: list[int] = field(default_factory=list)
    delays: list[float] = field(default_factory=list)
    breaks: int = 0
    ended: bool = False


async def listen(client: httpx2.AsyncClient, heard: Listener, most_breaks: int, rng: random.Random) -> None:
    """Follow a run to its end; leave the stream at random and come back with the last number."""
    while not heard.ended:
        after = heard.seen[-1] if heard.seen else 0
        opened = time.time()
        budget = rng.randint(1, 12) if heard.breaks < most_breaks else 10**9
        try:
            async with client.stream(
                "GET", f"/api/v1/runs/{heard.run}/events", headers={"Last-Event-ID": str(after)}
            ) as answer:
                async for line in answer.aiter_lines():
                    if not line.startswith("data: "):
                        continue
                    event = json.loads(line[6:])
                    heard.seen.append(event["seq"])
                    happened = datetime.fromisoformat(event["ts"]).timestamp()
                    if happened > opened:  # what happened before is late on purpose
                        heard.delays.append(time.time() - happened)
                    budget -= 1
                    if budget == 0:
                        break
                else:
                    heard.ended = True
        except httpx2.TransportError:
            await asyncio.sleep(0.2)
        heard.breaks += not heard.ended


async def measure(url: str, process: psutil.Process, listeners: int, runs: int) -> dict[str, float]:
    """Start runs and listeners, wait until all have ended, and return the figures."""
    rng = random.Random(7)
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=0)
    async with httpx2.AsyncClient(base_url=url, timeout=600, limits=limits) as client:
        for n in range(6):
            document = DOCUMENT.format(n=n + 1).encode()
            (await client.put(f"/api/v1/libraries/lakes/documents/lake{n}.md", content=document)).raise_for_status()
        before = process.memory_info().rss
        heard: list[Listener] = []
        for number in range(runs):
            body = {"question": f"How deep is lake {number % 6 + 1}?", "libraries": ["lakes"], "profile": "tree"}
            made = await client.post("/api/v1/runs", json=body)
            made.raise_for_status()
            heard += [Listener(made.json()["id"]) for _ in range(listeners // runs)]
        names = list(dict.fromkeys(each.run for each in heard))
        tasks = [asyncio.create_task(listen(client, each, 3, rng)) for each in heard]
        while not all(each.seen for each in heard):  # noqa: ASYNC110 - until all are connected; the runs wait
            await asyncio.sleep(0.2)
        await asyncio.sleep(2)
        during = process.memory_info().rss
        for run in names:
            while (await client.get(f"/api/v1/runs/{run}")).json()["status"] != "awaiting_authorization":  # noqa: ASYNC110
                await asyncio.sleep(0.2)
            answer = await client.post(f"/api/v1/runs/{run}/authorize", json={"words": "Authorized to execute"})
            answer.raise_for_status()
        await asyncio.gather(*tasks)
        wanted: dict[str, list[int]] = {}
        for run in names:
            text = (await client.get(f"/api/v1/runs/{run}/events", params={"format": "ndjson"})).text
            wanted[run] = [json.loads(line)["seq"] for line in text.splitlines()]
    delays = sorted(delay for each in heard for delay in each.delays)
    return {
        "listeners": len(heard),
        "runs": len(names),
        "events": sum(len(each.seen) for each in heard),
        "reconnects": sum(each.breaks for each in heard),
        "lost": sum(len(set(wanted[each.run]) - set(each.seen)) for each in heard),
        "doubled": sum(len(each.seen) - len(set(each.seen)) for each in heard),
        "out_of_order": sum(each.seen != sorted(each.seen) for each in heard),
        "kb_per_listener": (during - before) / 1024 / len(heard),
        "delay_median_ms": 1000 * delays[len(delays) // 2],
        "delay_p99_ms": 1000 * delays[int(0.99 * len(delays))],
    }


async def run_bench(listeners: int, runs: int, database_url: str = "") -> dict[str, float]:
    """Serve in a process of its own and measure."""
    with tempfile.TemporaryDirectory(prefix="corrobora-listeners-") as home:
        env = {**os.environ, "CORROBORA_HOME": home, "CORROBORA_WORKER_CONCURRENCY": "4"}
        env |= {"CORROBORA_DATABASE_URL": database_url} if database_url else {}
        arguments = (sys.executable, "-m", "corrobora", "serve", "--port", "0")
        process = await asyncio.create_subprocess_exec(*arguments, stderr=asyncio.subprocess.PIPE, env=env, cwd=home)
        assert process.stderr is not None
        try:
            line = (await process.stderr.readline()).decode()
            url = line.removeprefix("corrobora: ").strip().rstrip("/")
            await _wait_until_ready(url)
            return await measure(url, psutil.Process(process.pid), listeners, runs)
        finally:
            process.terminate()
            await process.wait()
            if not database_url:
                await _stop_database(Path(home))


async def _wait_until_ready(url: str) -> None:
    async with httpx2.AsyncClient(timeout=60) as client:
        while True:
            try:
                (await client.get(f"{url}/readyz")).raise_for_status()
            except httpx2.HTTPError:
                await asyncio.sleep(0.2)
            else:
                return


async def _stop_database(home: Path) -> None:
    env = {**os.environ, "CORROBORA_HOME": str(home)}
    stopping = await asyncio.create_subprocess_exec(sys.executable, "-m", "corrobora", "db", "stop", env=env, cwd=home)
    await stopping.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--listeners", type=int, default=1_000)
    parser.add_argument("--runs", type=int, default=20)
    given = parser.parse_args()
    for name, value in asyncio.run(run_bench(given.listeners, given.runs)).items():
        print(f"{name:<16} {value:,.1f}" if isinstance(value, float) else f"{name:<16} {value:,}")


if __name__ == "__main__":
    main()

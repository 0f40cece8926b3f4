"""A fleet of worker processes and its ledger, for the proofs with kills, freezes and outages.

Knows how to start workers, to hit them on progress (never on a timer), and what the ledger must not contain. Does not
know storage.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the ledger: B begun, A answered, C committed, F finished."""

    what: str
    pid: int
    at: float
    run: str
    key: str


class Fleet:
    """Workers over one database; leaving the context kills what is left."""

    def __init__(self, url: str, ledger: Path, *, seconds: float, concurrency: int) -> None:
        self.url, self.ledger, self.seconds, self.concurrency = url, ledger, seconds, concurrency
        self.workers: list[subprocess.Popen[bytes]] = []
        ledger.touch()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers:
            worker.kill()
            worker.wait()

    def start(self) -> subprocess.Popen[bytes]:
        """Start one more worker."""
        command = [sys.executable, "-m", "tests.journal.fleet_worker", self.url, str(self.ledger)]
        log = self.ledger.with_name(f"worker-{len(self.workers)}.log")
        with log.open("wb") as output:
            worker = subprocess.Popen(
                [*command, str(self.seconds), str(self.concurrency)], cwd=_ROOT, stderr=output, stdout=output
            )
        self.workers.append(worker)
        return worker

    def lines(self) -> list[Line]:
        """Read the ledger; a last line that is being written is left out."""
        whole = self.ledger.read_bytes().rpartition(b"\n")[0].decode()
        split = (line.split(" ") for line in whole.splitlines())
        return [Line(what, int(pid), float(at), run, key) for what, pid, at, run, key in split]

    def until_committed(self, count: int) -> None:
        """Wait until so many answers are committed: progress, not time, triggers what comes next."""
        self.until(lambda lines: sum(line.what == "C" for line in lines) >= count, f"{count} committed answers")

    def until(self, reached: Callable[[list[Line]], bool], what: str, *, patience_seconds: float = 900.0) -> None:
        """Wait until the ledger shows it; fail the test if it never does."""
        end = time.monotonic() + patience_seconds
        while not reached(self.lines()):
            if time.monotonic() > end:
                raise AssertionError(f"no {what} within {patience_seconds:g} s")
            time.sleep(0.02)

    def busiest(self, among: list[subprocess.Popen[bytes]] | None = None) -> subprocess.Popen[bytes]:
        """Return the living worker with the most calls in flight."""
        in_flight = Counter[int]()
        for line in self.lines():
            in_flight[line.pid] += {"B": 1, "C": -1}.get(line.what, 0)
        living = [worker for worker in among or self.workers if worker.poll() is None]
        return max(living, key=lambda worker: in_flight[worker.pid])

    def send(self, worker: subprocess.Popen[bytes], what: signal.Signals) -> None:
        """Send a signal to a worker of ours."""
        os.kill(worker.pid, what)


def begun_after_commit(lines: list[Line]) -> list[Line]:
    """Calls that began although their answer was committed before: there must be none."""
    committed: dict[tuple[str, str], float] = {}
    for line in lines:
        if line.what == "C":
            at = committed.get((line.run, line.key), line.at)
            committed[line.run, line.key] = min(at, line.at)
    return [line for line in lines if line.what == "B" and committed.get((line.run, line.key), line.at) < line.at]


def repeated(lines: list[Line]) -> int:
    """How many answers were paid for more than once."""
    answers = Counter((line.run, line.key) for line in lines if line.what == "A")
    return sum(count - 1 for count in answers.values())

"""Synthetic passages and questions for the cost benches.

Knows a Zipf law over a made-up vocabulary and a fixed seed. Says nothing about quality.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from corrobora.storage.postgres import Database

VOCABULARY = 200_000
NAMES_FROM = 2_000
WORDS = 106  # of an average passage in the measured real sets
_SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]


_LAUNCH = """
import os, sys
quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=quiet)
_, status, used = os.wait4(child, 0)
print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def run_command(environment: Mapping[str, str], *command: str) -> tuple[float, float]:
    """Run a command; return its CPU seconds and the most memory that it had in MB.

    A small process starts it: the kernel adds what a process held before it became the command, a copy of its parent.
    """
    small = (sys.executable, "-I", "-S", "-c", _LAUNCH)
    done = subprocess.run([*small, *command], env=environment, stdout=subprocess.PIPE, text=True, check=True)
    cpu, memory = map(float, done.stdout.split())
    return cpu, memory


class Texts:
    """Draws passages, titles and questions."""

    def __init__(self, seed: int = 7) -> None:
        import numpy as np  # noqa: PLC0415 - a process whose memory is measured shall not hold it for a bench

        self._search = np.searchsorted
        self._random = np.random.default_rng(seed)
        draw = np.random.default_rng(1)
        picks = draw.integers(0, len(_SYLLABLES), (VOCABULARY, 4))
        self._words = ["".join(_SYLLABLES[each] for each in row[: 2 + at % 3]) for at, row in enumerate(picks)]
        weights = 1 / np.arange(10, VOCABULARY + 10) ** 1.05
        self._cumulative = np.cumsum(weights / weights.sum())

    def words(self, n: int) -> list[str]:
        """Draw `n` words."""
        picks = self._search(self._cumulative, self._random.random(n))
        return [self._words[min(each, VOCABULARY - 1)] for each in picks.tolist()]

    def passage(self) -> str:
        """Draw a passage of a few sentences."""
        return sentences(self.words(int(self._random.integers(WORDS // 2, WORDS * 3 // 2))))

    def title(self) -> str:
        """Draw a title of three words, as names are: none of the 2,000 commonest words."""
        picks = self._random.integers(NAMES_FROM, VOCABULARY, 3)
        return " ".join(self._words[each] for each in picks.tolist()).title()

    def question(self) -> str:
        """Draw a question of eight words from a passage."""
        return " ".join(self.words(8))


def sentences(words: Sequence[str]) -> str:
    """Write words as sentences of fourteen."""
    parts = [" ".join(words[at : at + 14]).capitalize() + "." for at in range(0, len(words), 14)]
    return " ".join(parts)


async def postmaster(database: Database) -> int:
    """Return the process id of the server: the parent of one of its backends."""
    row = await database.fetch_one("select pg_backend_pid()")
    return int(_fields(int(row[0]))[1]) if row else 0


def server_cpu(server: int) -> float:
    """CPU seconds of a server and all its children so far (Linux; ticks of 10 ms)."""
    total = 0
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = _fields(int(entry.name))
        except OSError:
            continue  # it has just ended
        if int(entry.name) == server:  # its own time and that of children that ended
            total += sum(int(each) for each in fields[11:15])
        elif int(fields[1]) == server:
            total += sum(int(each) for each in fields[11:13])
    return total / os.sysconf("SC_CLK_TCK")


def _fields(process: int) -> list[str]:
    return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()

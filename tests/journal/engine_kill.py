"""Kill the whole engine on progress, resume, compare: what a test of any profile may ask for."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from tests.journal.engine_run import SPACE

from corrobora.domain.evidence import Source, SourceId
from corrobora.storage.index import PostgresLibrary
from corrobora.storage.postgres import Database

DOCUMENTS = (
    (
        "Potters' handbook 2015",
        "2015",
        (
            "The kiln temperature shall be 980 degrees for the first firing. Pots should dry for 5 days before the "
            "first firing. The guild publishes this handbook every few years.\n\n"
            "Glaze is put on after the first firing."
        ),
    ),
    (
        "Potters' handbook 2021",
        "2021",
        (
            "The kiln temperature shall be 1010 degrees for the first firing. Pots shall dry for 7 days before the "
            "first firing. A longer drying time avoids cracks.\n\nGlaze is put on after the first firing."
        ),
    ),
    ("Notes of a potter", "2019", "I dry my pots in the shade. A kiln that is too hot melts the glaze of my cups."),
)


async def _stored(url: str) -> None:
    async with await Database.connect(url, size=2) as database:
        library = PostgresLibrary(database, (SPACE,))
        for title, year, text in DOCUMENTS:
            await library.store(Source(SourceId(""), title, f"{title}.md", "", published=year), text, space=SPACE)


async def _run(url: str, folder: Path, profile: str, *points: int) -> list[dict[str, Any]]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.journal.engine_run",
        url,
        str(folder),
        profile,
        *map(str, points),
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    assert process.returncode == 0
    return [json.loads(line) for line in out.decode().splitlines()]


async def kills_change_nothing(url: str, folder: Path, *, n_points: int, profile: str = "timed") -> None:
    """SIGKILL a run at points spread over its progress, resume each: nothing is repeated and the report is equal."""
    await _stored(url)
    (whole,) = await _run(url, folder / "whole", profile, 10_000_000)
    assert not whole["killed"]
    assert "1010 degrees" in whole["report"]
    step = max(1, whole["points"] // n_points)
    chosen = list(range(1, whole["points"], step))[:n_points]
    for result in await _run(url, folder / "killed", profile, *chosen):
        assert result["killed"], result["point"]
        assert result["resumed"] == 0, result["point"]
        assert result["report"] == whole["report"], result["point"]
        _nothing_repeated(result["ledger"], result["point"])


def _nothing_repeated(ledger: list[list[str]], point: int) -> None:
    first = [(kind, key) for attempt, kind, key in ledger if attempt == "first"]
    again = {key for attempt, kind, key in ledger if attempt == "second" and kind == "begin"}
    committed = {key for kind, key in first if kind == "commit"}
    begun = [key for kind, key in first if kind == "begin"]
    assert not committed & again, f"point {point}: committed calls were made again"
    in_flight = set(begun) - committed
    assert len(begun) == len(set(begun)), f"point {point}: a call was made twice in one attempt"
    assert set(begun) & again <= in_flight

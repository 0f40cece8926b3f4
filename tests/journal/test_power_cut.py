"""A power cut: the journal's own log is torn, cut or bent at its end, and the journal opens at its last whole entry."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import psycopg
import pytest

from corrobora.domain.run import Request
from corrobora.ports import Entry
from corrobora.storage.journal import JournalWriter, RunJournal
from corrobora.storage.journal.runs import Runs
from corrobora.storage.postgres import Database, embedded
from corrobora.storage.postgres.embedded import EmbeddedServer, stop_server
from corrobora.storage.postgres.processes import is_running

ENTRIES = 40
CUTS = (
    0,
    1,
    7,
    8,
    63,
    511,
    512,
    513,
    1_000,
    2_000,
    3_333,
    4_096,
)  # bytes of the end of the log that never reached the disk
FLIPS = (300, 3_000)  # bytes before the end at which one bit is another


def entry(number: int) -> Entry:
    return Entry(f"root/round/{number:03}", f'{{"n": {number}, "text": "{"kept " * 20}"}}')


async def written(url: str) -> str:
    """Store a run with its entries, each committed before the next one; return its id."""
    async with await Database.connect(url, size=2) as database, JournalWriter(database) as writer:
        runs = Runs(database)
        run = await runs.create(Request("Which of the two holds?"))
        epoch = await runs.claim(run, "test")
        assert epoch is not None
        journal = await RunJournal.open(database, writer, run, epoch)
        for number in range(ENTRIES):
            await journal.put(entry(number))
        return run


async def reopened(url: str, run: str) -> Sequence[Entry | None]:
    """What the next attempt at the run finds; every entry's checksum is compared."""
    async with await Database.connect(url, size=2) as database, JournalWriter(database) as writer:
        runs = Runs(database)
        epoch = await runs.claim(run, "after the cut")
        assert epoch is not None
        journal = await RunJournal.open(database, writer, run, epoch)
        return [journal.get(key) for key in journal.keys()]  # noqa: SIM118 - a journal, not a dict


def end_of_log(url: str) -> tuple[str, int]:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT * FROM pg_walfile_name_offset(pg_current_wal_flush_lsn())").fetchone()
    assert row is not None
    return str(row[0]), int(row[1])


def kill(home: Path) -> None:
    """End the server and all its processes at once, as a power cut does."""
    pid = embedded.server_status(home).pid
    assert pid is not None
    os.killpg(os.getpgid(pid), signal.SIGKILL)
    while is_running(pid):
        os.sched_yield()


@pytest.fixture(scope="module")
def cut(scratch: Path) -> Iterator[tuple[Path, str, str, int]]:
    """The folder of a server that was killed amid its work, the run in it, and where its log ends."""
    folder = Path(tempfile.mkdtemp(prefix="corrobora-cut-", dir=scratch))
    folder.chmod(0o755)
    home = folder / "data"
    server = EmbeddedServer.start(home)
    run = asyncio.run(written(server.url))
    file, end = end_of_log(server.url)
    kill(home)
    server.stop_if_last()
    yield home, run, file, end
    shutil.rmtree(folder)


def after(cut: tuple[Path, str, str, int], *, zeroed: int = 0, flipped: int = 0) -> list[Entry | None]:
    """Damage a copy of the log, start again, and return what the journal holds."""
    home, run, file, end = cut
    copy = home.parent / f"copy-{zeroed}-{flipped}"
    subprocess.run(["cp", "-a", str(home), str(copy)], check=True)
    log = copy / "postgres" / "cluster" / "pg_wal" / file
    with log.open("r+b") as stream:
        if flipped:
            stream.seek(end - flipped)
            byte = stream.read(1)[0]
            stream.seek(end - flipped)
            stream.write(bytes([byte ^ 0x10]))
        else:
            stream.seek(end - zeroed)
            stream.write(bytes(log.stat().st_size - (end - zeroed)))
    server = EmbeddedServer.start(copy)
    try:
        return list(asyncio.run(reopened(server.url, run)))
    finally:
        stop_server(server.data_dir)
        shutil.rmtree(copy)


@pytest.mark.parametrize("zeroed", CUTS)
def test_r03_r04_a_log_that_is_cut_anywhere_opens_at_its_last_whole_entry(
    zeroed: int, cut: tuple[Path, str, str, int]
) -> None:
    found = after(cut, zeroed=zeroed)
    assert found == [entry(number) for number in range(len(found))], "a beginning of what was written, without a hole"
    assert len(found) == ENTRIES if zeroed == 0 else len(found) >= ENTRIES // 4


@pytest.mark.parametrize("flipped", FLIPS)
def test_r03_r05_a_bit_that_flips_in_the_log_is_never_read_as_an_entry(
    flipped: int, cut: tuple[Path, str, str, int]
) -> None:
    found = after(cut, flipped=flipped)
    assert found == [entry(number) for number in range(len(found))]
    assert ENTRIES // 4 <= len(found) < ENTRIES

"""SQLite FTS5 as a yardstick: the same passages and questions, in the same process and hour.

A machine that is slow or busy makes both slow: the ratio says what the figures of time alone do not. Knows the plain
use of FTS5: stemmed words, any of them, ranked by its BM25. Says nothing about quality.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from corrobora.ports import IngestItem

NAME = "FTS5 of SQLite (porter, any word)"


class Yardstick:
    """An FTS5 table in a file. `cpu` is what filling it took so far, in seconds."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path)
        self._connection.execute("create virtual table passage using fts5(title, body, tokenize = 'porter unicode61')")
        self.cpu = 0.0

    def add(self, documents: Sequence[IngestItem]) -> None:
        """Store documents in one transaction."""
        rows = [(each.source.title, each.text) for each in documents]
        begin = time.process_time()
        with self._connection:
            self._connection.executemany("insert into passage (title, body) values (?, ?)", rows)
        self.cpu += time.process_time() - begin

    def ask(self, question: str, limit: int) -> float:
        """Fetch the best passages for any word of the question; return the CPU milliseconds."""
        words = " OR ".join(f'"{word}"' for word in question.split())
        begin = time.process_time()
        self._connection.execute(
            "select title, body from passage where passage match ? order by rank limit ?", (words, limit)
        ).fetchall()
        return (time.process_time() - begin) * 1e3

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

"""The parser child: untrusted bytes are read in a process that can be killed.

Knows limits of wall time, CPU time and memory, and starts a fresh process after some documents, a kill or a crash.
Does not know formats beyond their names.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import struct
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from typing import Any, Self

from corrobora.adapters.readers.worker import Format, format_of
from corrobora.domain.documents import Heading, ParsedDocument
from corrobora.domain.errors import ReadError
from corrobora.domain.evidence import ReadOutcome
from corrobora.domain.limits import LIMITS

DOCUMENTS_PER_PROCESS = 200
_START_SECONDS = 60.0  # a cold start with its imports, on a busy machine, is no fault of the document
_WALL_FACTOR = 4.0  # times the CPU time that a document may take: on a busy machine a process gets its CPU slowly
_EXIT_SECONDS = 5.0  # the kernel takes back the memory of a process that it ended
_ANSWER_BYTES = 500_000_000
_PASSED_VARIABLES = ("PATH", "PYTHONPATH", "VIRTUAL_ENV", "LANG", "LC_ALL", "SYSTEMROOT", "TMPDIR")


class ParserProcess:
    """One worker process, started when it is first needed; documents wait for each other.

    Cancelling `parse` kills the process at once. Close it when done, or use it as a context.
    """

    def __init__(
        self,
        *,
        memory_bytes: int = LIMITS.parse_memory_bytes,
        documents: int = DOCUMENTS_PER_PROCESS,
        seconds: float | None = None,
    ) -> None:
        self._memory = memory_bytes
        self._documents = documents
        self._seconds = seconds
        self._process: Process | None = None
        self._served = 0
        self._lock = asyncio.Lock()

    async def parse_document(
        self, data: bytes, *, name: str = "", content_type: str = "", charset: str = ""
    ) -> ParsedDocument:
        """Read a document in the child.

        Raises:
            ReadError: what the reader found, `timeout` at the limit of time, `broken` if the process died.
        """
        if len(data) > LIMITS.file_max_bytes:
            raise ReadError(ReadOutcome.TOO_LARGE, f"It has {len(data)} bytes (limit {LIMITS.file_max_bytes}).")
        format_ = format_of(name, data, content_type)
        async with self._lock:
            answer = await self._request_answer(format_, data, name, charset)
        if "parsed" in answer:
            return load_parsed(answer["parsed"])
        raise ReadError(
            ReadOutcome(answer["outcome"]), str(answer["message"]), next_step=str(answer.get("next_step", ""))
        )

    async def _request_answer(self, format_: Format, data: bytes, name: str, charset: str) -> dict[str, Any]:
        seconds = self._seconds or (LIMITS.parse_pdf_seconds if format_ == "pdf" else LIMITS.parse_html_seconds)
        fresh = self._process is None
        process = await self._ensure_process()
        head = json.dumps({"format": format_, "name": name, "charset": charset, "seconds": seconds}).encode()
        try:
            async with asyncio.timeout(_WALL_FACTOR * seconds + (_START_SECONDS if fresh else 1.0)):
                answer = await _exchange_frames(process, head, data)
        except TimeoutError:
            await self._kill_process()
            raise ReadError(ReadOutcome.TIMEOUT, f"Reading it took longer than {seconds:g} s.") from None
        except (asyncio.IncompleteReadError, ConnectionError, ValueError) as error:
            code = await self._await_exit()
            if code is not None and -code == _SIGXCPU:
                raise ReadError(ReadOutcome.TIMEOUT, f"Reading it took more than {seconds:g} s of CPU.") from error
            raise ReadError(ReadOutcome.BROKEN, "The reader crashed on it.") from error
        except asyncio.CancelledError:
            await self._kill_process()
            raise
        self._served += 1
        if self._served >= self._documents:
            await self._kill_process()
        return answer

    async def _ensure_process(self) -> Process:
        if self._process is None:
            self._served = 0
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-m", "corrobora.adapters.readers.worker", str(self._memory)),
                stdin=PIPE,
                stdout=PIPE,
                stderr=DEVNULL,
                env={name: os.environ[name] for name in _PASSED_VARIABLES if name in os.environ},
            )
        return self._process

    async def _await_exit(self) -> int | None:
        """Wait for a process that closed its answer, and return how it ended by itself.

        To kill it at once could take that away: who sends a signal to a dead process may be told nothing of its end.
        """
        if self._process is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_EXIT_SECONDS):
                    await self._process.wait()
        return await self._kill_process()

    async def _kill_process(self) -> int | None:
        """Kill the process if there is one, and return how it ended."""
        process, self._process = self._process, None
        if process is None:
            return None
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        if process.stdin is not None:
            process.stdin.close()
        return await asyncio.shield(process.wait())

    async def close(self) -> None:
        """End the process."""
        await self._kill_process()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


_SIGXCPU = 24


async def _exchange_frames(process: Process, head: bytes, data: bytes) -> dict[str, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(struct.pack(">II", len(head), len(data)) + head)
    process.stdin.write(data)
    await process.stdin.drain()
    (size,) = struct.unpack(">I", await process.stdout.readexactly(4))
    if size > _ANSWER_BYTES:
        raise ValueError("answer")
    answer = json.loads(await process.stdout.readexactly(size))
    if not isinstance(answer, dict):
        raise TypeError("answer")
    return answer  # pyright: ignore[reportUnknownVariableType] - checked where it is used


def load_parsed(raw: dict[str, Any]) -> ParsedDocument:
    """Build the value from the child's answer, which is not trusted: headings must lie in the text, in order."""
    text = str(raw["text"])
    headings = [
        Heading(int(each["start"]), int(each["level"]), str(each["title"]))
        for each in raw["headings"]
        if 0 <= int(each["start"]) < len(text)
    ]
    return ParsedDocument(
        title=str(raw["title"]),
        text=text,
        headings=tuple(sorted(headings, key=lambda heading: heading.start)),
        published=str(raw["published"]),
        version=str(raw["version"]),
        publisher=str(raw["publisher"]),
        truncated=bool(raw["truncated"]),
        note=str(raw["note"]),
    )

"""The worker: one request, one answer, until its input ends; its environment holds no secret."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from typing import Any

from corrobora.adapters.readers.parser import MARKDOWN, TEXT, FormatReader
from corrobora.adapters.readers.worker import PIECE_CHARS


def ask(*requests: tuple[FormatReader, bytes], under: str = "") -> list[list[bytes]]:
    """Return the frames of each answer; an empty one ends it. `under` sets limits of a shell."""
    given = b""
    for reader, data in requests:
        head = json.dumps({"read": reader.read, "charset": "", "seconds": 5}).encode()
        given += struct.pack(">II", len(head), len(data)) + head + data
    command = [sys.executable, "-m", "corrobora.adapters.readers.worker", str(1 << 30)]
    command = ["bash", "-c", f'{under} exec "$@"', "bash", *command]
    out = subprocess.run(command, input=given, capture_output=True, check=True, timeout=600).stdout
    found: list[list[bytes]] = [[]]
    while out:
        (size,) = struct.unpack(">I", out[:4])
        found[-1].append(out[4 : 4 + size])
        out = out[4 + size :]
        if not size:
            found.append([])
    assert not found[-1]
    return [frames[:-1] for frames in found[:-1]]


def test_requests_are_answered_in_order():
    one, two = ask((TEXT, b"One."), (MARKDOWN, b"\x89PNG"))
    answer: Any = json.loads(one[0])
    assert (answer["parsed"]["title"], one[1:]) == ("", [b"One."])
    assert json.loads(two[0])["outcome"] == "unsupported"
    assert len(two) == 1


def test_a_long_text_is_answered_in_pieces_that_are_whole_characters():
    text = "Words and wörds. " * (PIECE_CHARS // 8)
    ((_, *pieces),) = ask((TEXT, text.encode()))
    assert len(pieces) == 1 + len(text) // PIECE_CHARS
    assert max(len(piece.decode()) for piece in pieces) == PIECE_CHARS
    assert "".join(piece.decode() for piece in pieces) == text.strip()


def test_documents_are_read_under_a_lower_limit_of_whoever_started_the_program():
    ((first, *text),) = ask((TEXT, b"One."), under="ulimit -v 700000 -t 4 -c 0;")
    assert ("parsed" in json.loads(first), text) == (True, [b"One."])


def test_no_request_no_answer():
    assert ask() == []


def test_a_package_that_is_missing_is_named_and_ends_nothing() -> None:
    broken = FormatReader("no_such_package:read", (".x",), ())
    (first,), (second, *_) = ask((broken, b"Text."), (TEXT, b"Text."))
    told = json.loads(first)
    assert told["outcome"] == "broken"
    assert "A package that reads it is missing or broken (No module named 'no_such_package')" in told["message"]
    assert "parsed" in json.loads(second)

"""The worker: one request, one answer, until its input ends; its environment holds no secret."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from typing import Any

from corrobora.adapters.readers.parser import MARKDOWN, TEXT, FormatReader


def ask(*requests: tuple[FormatReader, bytes]) -> list[dict[str, object]]:
    given = b""
    for reader, data in requests:
        head = json.dumps({"read": reader.read, "charset": "", "seconds": 5}).encode()
        given += struct.pack(">II", len(head), len(data)) + head + data
    command = [sys.executable, "-m", "corrobora.adapters.readers.worker", str(1 << 30)]
    out = subprocess.run(command, input=given, capture_output=True, check=True, timeout=600).stdout
    found = []
    while out:
        (size,) = struct.unpack(">I", out[:4])
        found.append(json.loads(out[4 : 4 + size]))
        out = out[4 + size :]
    return found


def test_requests_are_answered_in_order():
    one: Any
    one, two = ask((TEXT, b"One."), (MARKDOWN, b"\x89PNG"))
    assert one["parsed"]["text"] == "One."
    assert two["outcome"] == "unsupported"


def test_no_request_no_answer():
    assert ask() == []

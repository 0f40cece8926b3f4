"""Recorded answers, served again: each request gets what was recorded for its method and path, in order."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from corrobora.testing.http_server import Request, Response

RECORDED = Path(__file__).parents[3] / "fixtures" / "recorded"


class Replay:
    """Answers from one recording. `asked` keeps what was sent; `recorded` what was sent when it was made."""

    def __init__(self, name: str) -> None:
        self._answers: defaultdict[tuple[str, str], deque[bytes]] = defaultdict(deque)
        self.asked: list[tuple[str, Any]] = []
        self.recorded: list[Any] = []
        for request, body in _interactions(RECORDED / name):
            self._answers[request["method"], _target(request["uri"])].append(body)
            self.recorded.append(request.get("parsed_body") or json.loads(request.get("body") or "null"))

    async def __call__(self, request: Request) -> Response:
        self.asked.append((request.path, json.loads(request.body or b"null")))
        waiting = self._answers[request.method, request.path]
        return Response(body=waiting.popleft()) if waiting else Response(404)


def _interactions(path: Path) -> Iterator[tuple[dict[str, Any], bytes]]:
    for each in yaml.safe_load(path.read_text())["interactions"]:
        reply = each["response"]
        body = reply["parsed_body"] if "parsed_body" in reply else json.loads(reply["body"]["string"])
        yield each["request"], json.dumps(body).encode()


def _target(uri: str) -> str:
    parts = urlsplit(uri)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path

"""A receiver of webhooks on loopback: keeps every request, and answers each as a script says."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HANG = 0  # in a script: receive, and never answer


@dataclass(frozen=True)
class Received:
    """One request."""

    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Sink:
    """A running receiver. `script` has the next answers, a status alone or with a Retry-After; then it answers 200."""

    port: int = 0
    received: list[Received] = field(default_factory=list)
    script: list[int | tuple[int, str]] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook?token=of-the-receiver"

    def wait_for(self, count: int, seconds: float = 120) -> Received:
        """Wait until so many requests have come, and return the last of them."""
        deadline = time.monotonic() + seconds
        while len(self.received) < count:
            assert time.monotonic() < deadline, f"{len(self.received)} of {count} requests came"
            time.sleep(0.02)
        return self.received[count - 1]


@contextmanager
def open_sink(*script: int | tuple[int, str]) -> Iterator[Sink]:
    """Receive until the block ends."""
    sink = Sink(script=list(script))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            sink.received.append(Received(self.path, dict(self.headers.items()), body))
            said = sink.script.pop(0) if sink.script else 200
            status, retry_after = said if isinstance(said, tuple) else (said, "")
            if status == HANG:
                sink.released.wait(300)
                return
            self.send_response(status)
            if retry_after:
                self.send_header("Retry-After", retry_after)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the signature of the library
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    sink.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), name="webhook sink")
    thread.start()
    try:
        yield sink
    finally:
        sink.released.set()
        server.shutdown()
        server.server_close()
        thread.join()

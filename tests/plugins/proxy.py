"""A proxy before a database on loopback that can fall silent: it keeps its connections, and passes nothing on."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from psycopg.conninfo import conninfo_to_dict


@dataclass
class Proxy:
    """A running proxy to the server of `url`; `goes` is cleared to let it fall silent."""

    url: str
    server: str
    goes: threading.Event = field(default_factory=threading.Event)
    ends: list[socket.socket] = field(default_factory=list)

    def accept_forever(self, listening: socket.socket) -> None:
        """Pass every connection on, until the listening socket is closed."""
        with suppress(OSError):
            while True:
                ours, _ = listening.accept()
                theirs = socket.socket(socket.AF_UNIX)
                theirs.connect(self.server)
                self.ends += [ours, theirs]
                for pair in ((ours, theirs), (theirs, ours)):
                    threading.Thread(target=self._pass_on, args=pair, daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                self.goes.wait()
                target.sendall(data)
            self.goes.wait()
            target.shutdown(socket.SHUT_WR)


@contextmanager
def open_proxy(url: str) -> Iterator[Proxy]:
    """Open a proxy to the server of a database URL until the block ends."""
    parts = conninfo_to_dict(url)
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    through = f"postgresql://{parts['user']}@127.0.0.1:{port}/{parts['dbname']}"
    proxy = Proxy(through, f"{parts['host']}/.s.PGSQL.{parts['port']}")
    proxy.goes.set()
    threading.Thread(target=proxy.accept_forever, args=(listening,), daemon=True).start()
    try:
        yield proxy
    finally:
        proxy.goes.set()
        listening.close()
        for each in proxy.ends:
            each.close()

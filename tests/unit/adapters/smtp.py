"""An SMTP server on loopback for tests of delivery: keeps what it is told, and may refuse the receiver."""

from __future__ import annotations

import asyncio
from typing import Self


class SmtpServer:
    """Keeps lines and messages; with `refuse` every receiver is answered so, with `auth` a password may be given."""

    def __init__(self, refuse: str = "", *, auth: bool = False) -> None:
        self.lines: list[str] = []
        self.messages: list[bytes] = []
        self._answers = {"QUIT": "221 bye", "DATA": "354 go on"} | ({"RCPT": refuse} if refuse else {})
        self._answers |= {"EHLO": "250-post\r\n250 AUTH PLAIN", "AUTH": "235 good"} if auth else {}

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._talk, "127.0.0.1", 0, limit=16_000_000)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def say(line: str) -> None:
            writer.write(f"{line}\r\n".encode())
            await writer.drain()

        await say("220 post")
        while line := (await reader.readline()).decode().strip():
            self.lines.append(line)
            word = line.split(" ")[0].upper()
            await say(self._answers.get(word, "250 good"))
            if word == "DATA":
                self.messages.append(await reader.readuntil(b"\r\n.\r\n"))
                await say("250 good")
            if word == "QUIT":
                break
        writer.close()
        await writer.wait_closed()

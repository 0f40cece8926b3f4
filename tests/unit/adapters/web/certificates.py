"""Certificates for tests, good and bad, made on the spot: an authority, and what it or nobody signs.

Knows ECDSA on P-256 and as much of X.509 as a TLS handshake looks at. For loopback only: nothing here is secret.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import secrets
import ssl
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

_P = 2**256 - 2**224 + 2**192 + 2**96 - 1
_N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_G = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)
_Point = tuple[int, int] | None


def _add(a: _Point, b: _Point) -> _Point:
    if a is None or b is None:
        return a or b
    if a[0] == b[0] and (a[1] + b[1]) % _P == 0:
        return None
    slope = (3 * a[0] ** 2 - 3) * pow(2 * a[1], -1, _P) if a == b else (b[1] - a[1]) * pow(b[0] - a[0], -1, _P)
    x = (slope**2 - a[0] - b[0]) % _P
    return x, (slope * (a[0] - x) - a[1]) % _P


def _times(factor: int, point: _Point) -> _Point:
    found: _Point = None
    while factor:
        found = _add(found, point) if factor & 1 else found
        point, factor = _add(point, point), factor >> 1
    return found


def _der(tag: int, *parts: bytes) -> bytes:
    body = b"".join(parts)
    size = len(body).to_bytes((len(body).bit_length() + 7) // 8 or 1, "big")
    return bytes([tag]) + (size if len(body) < 0x80 else bytes([0x80 | len(size)]) + size) + body


def _integer(value: int) -> bytes:
    return _der(2, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def _oid(hexadecimal: str) -> bytes:
    return _der(6, bytes.fromhex(hexadecimal))


def _bits(body: bytes) -> bytes:
    return _der(3, b"\0" + body)


def _time(when: datetime) -> bytes:
    return _der(0x18, when.strftime("%Y%m%d%H%M%SZ").encode())


def _name(text: str) -> bytes:
    return _der(0x30, _der(0x31, _der(0x30, _oid("550403"), _der(0x0C, text.encode()))))


def _extension(oid: str, value: bytes) -> bytes:
    return _der(0x30, _oid(oid), _der(4, value))


def _pem(label: str, body: bytes) -> str:
    return f"-----BEGIN {label}-----\n{base64.encodebytes(body).decode()}-----END {label}-----\n"


_CURVE, _ECDSA = _oid("2a8648ce3d030107"), _der(0x30, _oid("2a8648ce3d040302"))  # prime256v1, ecdsa-with-SHA256


@dataclass
class Key:
    """A pair of keys, and the certificates that it signs under its name."""

    name: str
    secret: int = field(default_factory=lambda: secrets.randbelow(_N - 1) + 1)

    @property
    def public(self) -> bytes:
        point = _times(self.secret, _G)
        assert point is not None
        return b"\x04" + point[0].to_bytes(32, "big") + point[1].to_bytes(32, "big")

    @property
    def pem(self) -> str:
        key = _der(4, self.secret.to_bytes(32, "big"))
        return _pem("EC PRIVATE KEY", _der(0x30, _integer(1), key, _der(0xA0, _CURVE), _der(0xA1, _bits(self.public))))

    def sign(self, data: bytes) -> bytes:
        digest = int.from_bytes(hashlib.sha256(data).digest(), "big")
        nonce = secrets.randbelow(_N - 1) + 1
        point = _times(nonce, _G)
        assert point is not None
        r = point[0] % _N
        return _der(0x30, _integer(r), _integer(pow(nonce, -1, _N) * (digest + r * self.secret) % _N))

    def certificate(
        self, of: Key, *hosts: str, begins: timedelta = timedelta(-1), ends: timedelta = timedelta(1)
    ) -> str:
        """A certificate of another key, or of this one; without hosts it is an authority's. Times count from now."""
        now = datetime.now(UTC)
        names = _der(0x30, *(_der(0x82, host.encode()) for host in hosts))
        basic = _der(0x30, *(() if hosts else (_der(1, b"\xff"),)))
        extensions = [_extension("551d13", basic), *([_extension("551d11", names)] if hosts else [])]
        body = _der(
            0x30,
            _der(0xA0, _integer(2)),
            _integer(secrets.randbits(64)),
            _ECDSA,
            _name(self.name),
            _der(0x30, _time(now + begins), _time(now + ends)),
            _name(of.name),
            _der(0x30, _der(0x30, _oid("2a8648ce3d0201"), _CURVE), _bits(of.public)),
            _der(0xA3, _der(0x30, *extensions)),
        )
        return _pem("CERTIFICATE", _der(0x30, body, _ECDSA, _bits(self.sign(body))))


def trusting(authority: Key) -> ssl.SSLContext:
    """What a client has who trusts this authority and nobody else."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=authority.certificate(authority))
    return context


def showing(certificate: str, key: Key) -> ssl.SSLContext:
    """What a server has that shows this certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "chain.pem"
        file.write_text(certificate + key.pem)
        context.load_cert_chain(file)
    return context


@contextlib.asynccontextmanager
async def serving(context: ssl.SSLContext, page: bytes) -> AsyncIterator[int]:
    """A page over TLS, on a port of 127.0.0.1, without a robots.txt."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.read(65_536)
        status, body = (b"404 Not Found", b"") if head.startswith(b"GET /robots.txt") else (b"200 OK", page)
        writer.write(b"HTTP/1.1 %b\r\ncontent-type: text/html\r\ncontent-length: %d\r\n\r\n" % (status, len(body)))
        writer.write(body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0, ssl=context)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await server.wait_closed()

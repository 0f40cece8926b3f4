"""HTTP: TLS context, proxies of the environment, dates as servers write them, and bodies decoded within bounds.

Knows which certificates are trusted, Retry-After in seconds and as a date, dates that are none, odd JSON, and gzip and
deflate with one limit for the wire and one for what comes out. The HTTP library's own decoding is not used: it turns
1.6 KB into 2 GB before anybody counts. Knows HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY, and that nothing on this
machine is reached through a proxy. Opens no connection, and does not know who is asked.
"""

from __future__ import annotations

import base64
import ipaddress
import json
import os
import re
import ssl
import zlib
from collections.abc import AsyncIterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import cache, reduce
from typing import Any
from urllib.parse import unquote, urlsplit

from pydantic_core import from_json

from corrobora.domain.errors import UserError
from corrobora.domain.limits import LIMITS


@cache
def tls_context() -> ssl.SSLContext:
    """Return the context for every connection: certificates are checked, against SSL_CERT_FILE or SSL_CERT_DIR if set.

    Made once: reading the machine's certificates takes tens of milliseconds and a megabyte.

    Raises:
        UserError: the environment names certificates that cannot be read.
    """
    import httpx2  # noqa: PLC0415 - a local model server needs no certificates, and loading it takes 0.15 s

    try:
        return httpx2.create_ssl_context()
    except (OSError, ValueError) as error:  # one of `ssl` for a file without a certificate is an `OSError`
        name = "SSL_CERT_FILE" if os.environ.get("SSL_CERT_FILE") else "SSL_CERT_DIR"
        raise UserError(
            "certificates_unreadable",
            f"{name} names {os.environ.get(name, '')[:200]!r}, where no certificates can be read ({error}).",
            next_step=f"Correct {name}, or remove it to trust what this machine trusts.",
        ) from error


def check_certificates() -> None:
    """Read the certificates that the environment names, if it names any. Raises `UserError` as `tls_context`."""
    if os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR"):
        tls_context()


def find_tls_error(error: BaseException) -> ssl.SSLError | None:
    """Return the failure of TLS or of a certificate among the causes of an error."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLError):
        cause = cause.__cause__ or cause.__context__
    return cause


_SECONDS = re.compile(r"[0-9]+(?:\.[0-9]*)?")  # with decimals, as some servers write them


def parse_retry_after(value: str, now: str, *, most: float = LIMITS.retry_after_max_seconds) -> float | None:
    """Return the seconds that a Retry-After header asks for, at most `most`; None for none or nonsense (bad-input S15).

    `now` is the ISO time that a date is compared with.
    """
    text = value.strip()
    if _SECONDS.fullmatch(text):
        return min(float(text[:9]), most)
    try:
        at = parsedate_to_datetime(text)
        here = datetime.fromisoformat(now)
        seconds = (at if at.tzinfo else at.replace(tzinfo=UTC)) - (here if here.tzinfo else here.replace(tzinfo=UTC))
    except (ValueError, TypeError, OverflowError):
        return None
    wait = seconds.total_seconds()
    return min(wait, most) if wait > 0 else None


_FIRST_YEAR = 1500  # earlier dates of web pages are fillers, as is the epoch
_EPOCH = date(1970, 1, 1)
_YEAR = re.compile(r"([0-9]{4})(?:-(?:0[1-9]|1[0-2]))?\Z")  # of a month without a day the year is kept
_NO_YEAR = re.compile(r"(?<![+-])\b0[0-9]{3}\b")  # a filler that is read as a year of this century


def parse_published(value: object, now: str) -> str:
    """Return an ISO date or a year; "" for what is no date, lies in the future, or is a filler (bad-input S11, H28).

    `now` is the ISO time that "future" is measured from; a day is granted for time zones.
    """
    text = value.strip() if isinstance(value, str) else ""
    today = datetime.fromisoformat(now).date()
    if found := _YEAR.match(text):
        return found[1] if _FIRST_YEAR <= int(found[1]) <= today.year else ""
    day = _parse_day(text)
    if day is None or day.year < _FIRST_YEAR or day == _EPOCH or day > today + timedelta(days=1):
        return ""
    return day.isoformat()


def _parse_day(text: str) -> date | None:
    if not text or len(text) > 64:  # noqa: PLR2004 - no date is longer
        return None
    try:
        return datetime.fromisoformat(text).date()
    except ValueError:
        pass
    try:
        return None if _NO_YEAR.search(text) else parsedate_to_datetime(text).date()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


_LONG = 1_000  # digits: then a float will do


def load_json(data: bytes) -> Any:
    """Return the value of a JSON text, also of one with bytes that are no UTF-8 or with numbers beyond all bounds.

    Raises `ValueError` or `RecursionError`.
    """
    with suppress(ValueError):
        return from_json(data)  # several times as fast, and stricter
    try:
        return json.loads(data)
    except json.JSONDecodeError:
        raise
    except UnicodeDecodeError:
        return load_json(data.decode("utf-8", "replace").encode())
    except ValueError:  # Python makes no integer of more than 4,300 digits
        return json.loads(data, parse_int=lambda digits: int(digits) if len(digits) < _LONG else float(digits))


ACCEPT_ENCODING = "gzip"  # the only coding that is asked for; deflate is read, too
_STEP = 1 << 16
_GZIP = b"\x1f\x8b"
_MOST_RATIO = 100  # of text, packed: markup is rarely packed to a twentieth
_ZIPS = frozenset({"gzip", "x-gzip", "deflate"})
_PLAIN = frozenset({"", "identity", "none", "binary", "utf-8", "utf8"})  # all but two are no codings, but sent
_MAX_CODINGS = 3
_MAX_MEMBERS = 100  # honest streams have one; each costs time, however little it holds


class BadEncoding(Exception):
    """The answer is packed in a way that was not asked for, or its packing is damaged."""


class TruncatedBody(Exception):
    """The answer ended before its end."""


class BodyTooLarge(Exception):
    """The answer has more bytes than its bound, packed (`wire`) or unpacked (`decoded`)."""

    def __init__(self, what: str, limit: int) -> None:
        super().__init__(f"more than {limit:,} bytes {'on the wire' if what == 'wire' else 'when unpacked'}")
        self.what = what
        self.limit = limit


@dataclass(frozen=True, slots=True)
class Body:
    """The bytes of an answer; `truncated` if the rest was left on the wire."""

    data: bytes
    truncated: bool = False


async def read_body(
    chunks: AsyncIterable[bytes], coding: str, *, wire: int, decoded: int, truncate: bool = False
) -> Body:
    """Read at most `wire` bytes and unpack at most `decoded`; with `truncate`, a longer body is cut, not refused.

    With `truncate`, what arrived of a body that ends too early is returned as cut, too.

    Raises:
        BodyTooLarge: a bound was passed; with `truncate`, only by data that unpacks to a hundred times its size. Memory
            stays within `decoded` and one step.
        BadEncoding: any coding other than one gzip or deflate, or damaged data.
        TruncatedBody: the data ends early; with `truncate`, only if nothing had arrived.
    """
    unpack = make_decoder(coding)
    out = bytearray()
    taken = 0
    try:
        async for chunk in chunks:
            room = wire - taken
            unpack.feed_chunk(chunk[:room], out, decoded)
            taken += min(len(chunk), room)
            if len(chunk) > room:
                raise BodyTooLarge("wire", wire)  # noqa: TRY301 - the one place that says what a cut body is
        unpack.check_end()
    except (BodyTooLarge, TruncatedBody) as error:
        much = max(len(out), unpack.made) > _MOST_RATIO * unpack.taken
        bomb = isinstance(error, BodyTooLarge) and error.what == "decoded" and much
        if not truncate or not out or bomb:
            raise
        return Body(bytes(out[:decoded]), truncated=True)
    return Body(bytes(out))


def make_decoder(coding: str) -> PlainDecoder:
    """Return what unpacks a body of these codings, the first of which was put on first. Raises `BadEncoding`."""
    names = [name for each in coding.lower().split(",") if (name := each.strip()) not in _PLAIN]
    if len(names) > _MAX_CODINGS or not _ZIPS.issuperset(names):
        raise BadEncoding(f"the answer is compressed as {coding[:40]!r}, but only {ACCEPT_ENCODING} was asked for")
    return reduce(lambda inner, name: _ZipDecoder(name, inner), names, PlainDecoder())


class PlainDecoder:
    """Passes bytes on as they are; the base of what unpacks."""

    taken = 0  # bytes that were used of what came
    made = 0  # and what was unpacked of them

    def feed_chunk(self, chunk: bytes, out: bytearray, limit: int) -> None:
        """Add what a piece of a body holds to `out`. Raises `BodyTooLarge` once all pieces hold more than `limit`."""
        out += chunk[: limit - self.taken + 1]
        self.taken += len(chunk)
        if self.taken > limit:
            raise BodyTooLarge("decoded", limit)

    def check_end(self) -> None:
        """Raise `TruncatedBody` for a body that ends early; plain bytes have no end of their own."""


class _ZipDecoder(PlainDecoder):
    """Unpacks one stream of gzip, which may have several members, or of deflate; what follows the last is ignored.

    What it unpacks goes to `inner`, which may unpack it further; each of them keeps the bound.
    """

    def __init__(self, coding: str, inner: PlainDecoder) -> None:
        self._coding = coding
        self._inner = inner
        self._stream = zlib.decompressobj(zlib.MAX_WBITS + (0 if coding == "deflate" else 16))
        self._members = 1
        self._started = False
        self._done = False

    def feed_chunk(self, chunk: bytes, out: bytearray, limit: int) -> None:
        data = chunk
        if self._coding == "deflate" and not self._started and chunk and chunk[0] & 15 != zlib.DEFLATED:
            self._stream = zlib.decompressobj(-zlib.MAX_WBITS)  # without the frame of zlib, as some servers send it
        while data and not self._done:
            self._started = True
            try:
                piece = self._stream.decompress(data, min(_STEP, limit - self.made + 1))
            except zlib.error as error:
                raise BadEncoding(f"its {self._coding} data is damaged") from error
            self.taken += len(data) - len(self._stream.unconsumed_tail)
            self.made += len(piece)
            self._inner.feed_chunk(piece, out, limit)
            if self.made > limit:
                raise BodyTooLarge("decoded", limit)
            data = self._stream.unconsumed_tail
            if self._stream.eof:
                data = self._stream.unused_data
                self._done = bool(data) and (self._coding == "deflate" or not data.startswith(_GZIP[: len(data)]))
                if data and not self._done:
                    self._start_member()

    def _start_member(self) -> None:
        self._members += 1
        if self._members > _MAX_MEMBERS:
            raise BadEncoding(f"its {self._coding} data has more than {_MAX_MEMBERS} members")
        self._stream = zlib.decompressobj(16 + zlib.MAX_WBITS)

    def check_end(self) -> None:
        if self._started and not self._stream.eof and not self._done:
            raise TruncatedBody(f"its {self._coding} data ends early")
        self._inner.check_end()


END_OF_HEAD = b"\r\n\r\n"
_OK = range(200, 300)


class ProxyRefused(OSError):
    """The proxy does not open the tunnel."""


@dataclass(frozen=True, slots=True)
class Proxy:
    """An HTTP proxy; `authorization` is the value of the header that proves who asks."""

    host: str
    port: int
    tls: bool = False
    url: str = field(default="", repr=False)
    authorization: str = field(default="", repr=False)

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"

    def write_tunnel_request(self, host: str, port: int) -> bytes:
        """Return the request for a tunnel to an address."""
        to = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        proof = f"Proxy-Authorization: {self.authorization}\r\n" if self.authorization else ""
        return f"CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n{proof}\r\n".encode("latin-1")

    def check_tunnel(self, head: bytes) -> None:
        """Read the proxy's answer to the request for a tunnel. Raises `ProxyRefused`."""
        version, _, rest = head.partition(b"\r\n")[0].partition(b" ")
        status = rest[:3].decode("latin-1")
        if not version.startswith(b"HTTP/1.") or not (status.isascii() and status.isdigit()):
            raise ProxyRefused(f"the proxy {self} does not speak HTTP")
        if int(status) not in _OK:
            raise ProxyRefused(f"the proxy {self} refused to open a connection there (HTTP {status})")


def find_proxy(scheme: str, host: str, port: int) -> Proxy | None:
    """Return the proxy of the environment for an address; None if it is reached directly, as all of this machine is.

    As everywhere, the variable in lower case counts first, and HTTP_PROXY counts nothing in a CGI program.

    Raises:
        UserError: the variable names no HTTP proxy.
    """
    name, value = _read_variable(f"{scheme}_proxy") or _read_variable("all_proxy") or ("", "")
    if not value or _is_here(host) or _is_exempt(host, port, (_read_variable("no_proxy") or ("", ""))[1]):
        return None
    return _parse_proxy(name, value)


def find_proxy_url(url: str) -> str | None:
    """Return the URL of the proxy for a URL, with what it needs to be asked; None without one. Raises `UserError`."""
    parts = urlsplit(url)
    proxy = find_proxy(parts.scheme, parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))
    return proxy and proxy.url


def list_proxies() -> tuple[str, ...]:
    """Return host and port of each proxy that the environment names. Raises `UserError`."""
    found = (_read_variable(f"{kind}_proxy") for kind in ("https", "http", "all"))
    return tuple(dict.fromkeys(str(_parse_proxy(*each)) for each in found if each is not None and each[1]))


def _read_variable(name: str) -> tuple[str, str] | None:
    for spelled in (name, name.upper()):
        if spelled in os.environ and not (spelled == "HTTP_PROXY" and "REQUEST_METHOD" in os.environ):
            return spelled, os.environ[spelled].strip()
    return None


def _parse_proxy(name: str, value: str) -> Proxy:
    url = value if "://" in value else f"http://{value}"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        parts, host, port = urlsplit(""), "", 0
    if parts.scheme not in ("http", "https") or not host:
        raise UserError(
            "proxy_unusable",
            f"{name} does not name an HTTP proxy: it begins with {parts.scheme[:20] or 'no scheme'!r}.",
            next_step=f"Set {name} to http://HOST:PORT, or remove it.",
        )
    own = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}".encode()
    proof = f"Basic {base64.b64encode(own).decode()}" if parts.username else ""
    return Proxy(host, port, parts.scheme == "https", url, proof)


def _is_here(host: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost" or host.endswith(".localhost")


def _is_exempt(host: str, port: int, listed: str) -> bool:
    """True for a host that NO_PROXY lists: as a name with all below it, an address, a network, with a port, or all."""
    host = host.lower().rstrip(".")
    for entry in listed.lower().replace(",", " ").split():
        name, _, only = entry.rpartition(":")
        if not name or not only.isdigit() or (":" in name and not name.endswith("]")):
            name, only = entry, ""
        name = name.strip("[]").removeprefix("*").removeprefix(".")
        if only and int(only) != port:
            continue
        if not name or host == name or host.endswith(f".{name}") or _is_within(host, name):
            return True
    return False


def _is_within(host: str, network: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    return False

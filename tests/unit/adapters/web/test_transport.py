"""One request: nothing of ours travels with it, and every broken answer ends in an outcome."""

from __future__ import annotations

import asyncio
import gzip
import re
import sys
import textwrap
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from tests.unit.adapters.web.certificates import Key, serving, showing, trusting
from tests.unit.adapters.web.loopback import QUICK, fetch, outcome, raw_server, visitor

import corrobora
from corrobora.adapters.pacing import SystemClock
from corrobora.adapters.web.network import AllowList, VettedNetwork
from corrobora.adapters.web.transport import Bounds, Transport
from corrobora.domain.errors import ReadError
from corrobora.testing.http_server import HttpServer, Request, Respond, Response, gzip_bomb
from corrobora.testing.web import LoopbackWeb

OK = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n"
RAW = {  # bad-input F17, F18, F19, H08: what servers say, byte for byte, and how it ends
    "F17 HTTP/1.0 without length": (b"HTTP/1.0 200 OK\r\n\r\n<p>x", "read"),
    "F17 HTTP/0.9": (b"<html>x</html>", "failed"),
    "F17 nothing": (b"", "failed"),
    "F17 1xx before the answer": (
        b"HTTP/1.1 103 Early Hints\r\n\r\n" * 50 + OK + b"content-length: 1\r\n\r\nx",
        "read",
    ),
    "F17 204 with a body": (b"HTTP/1.1 204 No Content\r\n\r\nbody", "read"),
    "F17 999": (b"HTTP/1.1 999 Odd\r\ncontent-length: 0\r\n\r\n", "read"),
    "F17 status word": (b"HTTP/1.1 OK 200\r\n\r\n", "failed"),
    "F17 two lengths": (OK + b"content-length: 1\r\ncontent-length: 2\r\n\r\nxx", "failed"),
    "F17 length that lies": (OK + b"content-length: 100\r\n\r\nshort", "read"),
    "F17 length without a body": (OK + b"content-length: 100\r\n\r\n", "failed"),
    "F17 negative length": (OK + b"content-length: -5\r\n\r\n", "failed"),
    "F17 broken chunk": (OK + b"transfer-encoding: chunked\r\n\r\nzz\r\n", "failed"),
    "F17 huge chunk": (OK + b"transfer-encoding: chunked\r\n\r\nffffffffffffffffffff\r\nx", "read"),
    "F18 switching": (b"HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n", "failed"),
    "F19 line in a header": (OK + b"x: a\r\n b\r\ncontent-length: 1\r\n\r\nx", "read"),
    "F19 odd bytes in a header": (OK + b"x: \xff\xc3\xa4\ncontent-length: 1\r\n\r\nx", "any"),
    "H08 header of 10 MB": (OK + b"x: " + b"a" * 10_000_000 + b"\r\n\r\n", "failed"),
    "H08 5,000 headers": (OK + b"x: aaaaaaaaaaaaaaaaaaaaaaa\r\n" * 5_000 + b"\r\n", "failed"),
    "H05 100 MB by its own word": (OK + b"content-length: 100000000\r\n\r\n", "failed"),
    "H05 length of 5,000 digits": (OK + b"content-length: " + b"9" * 5_000 + b"\r\n\r\n", "any"),
    "H10 twenty codings": (OK + b"content-encoding: identity, gzip\r\n" * 20 + b"\r\n", "unsupported"),
}


@pytest.mark.parametrize("name", RAW)
async def test_f17_f18_f19_h08_raw_answers(name: str):
    answer, expected = RAW[name]
    async with raw_server(answer) as port:
        at = visitor(_at(port))
        found = await outcome(at, f"http://127.0.0.1:{port}/")
    assert expected in {found, "any"}


def _at(port: int) -> HttpServer:
    server = HttpServer(_nothing)
    server.port = port
    return server


async def _nothing(_: Request) -> Response:
    return Response(404)


async def test_h07_one_byte_now_and_then_is_too_slow():
    async def drip(writer: asyncio.StreamWriter) -> None:
        writer.write(OK + b"\r\n")
        for _ in range(10_000):
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.02)

    async with raw_server(drip) as port:
        slow = visitor(_at(port), limits=replace(QUICK, connect_seconds=1.0))
        with pytest.raises(ReadError, match="too slowly") as caught:
            await fetch(slow, f"http://127.0.0.1:{port}/")
        assert caught.value.outcome == "timeout"
        whole = visitor(_at(port), limits=replace(QUICK, fetch_seconds=0.3))
        assert await outcome(whole, f"http://127.0.0.1:{port}/") == "timeout"


async def test_h07_a_server_that_never_answers_costs_the_limit_of_time():
    async def hang(_: asyncio.StreamWriter) -> None:
        await asyncio.sleep(600)

    async with raw_server(hang) as port:
        at = visitor(_at(port), limits=replace(QUICK, fetch_seconds=0.2))
        assert await outcome(at, f"http://127.0.0.1:{port}/") == "timeout"


async def test_f07_f12_f13_f16_nothing_of_ours_travels(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """No cookie of an earlier page, no .netrc, no proxy of the environment, no referrer; who asks is said."""
    seen: list[Request] = []

    async def page(request: Request) -> Response:
        seen.append(request)
        if request.path == "/robots.txt":
            return Response(404)
        return Response(200, b"<p>x</p>", "text/html", {"set-cookie": "id=canary; Path=/"})

    async def proxy(request: Request) -> Response:
        proxied.append(request)
        return Response(200)

    proxied: list[Request] = []
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login canary password canary\n")
    (tmp_path / ".netrc").chmod(0o600)
    async with HttpServer(page) as server, HttpServer(proxy) as other:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"):
            monkeypatch.setenv(name, other.url)
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
        at = visitor(server)
        for number in range(3):
            await fetch(at, f"{server.url}/{number}")
    assert not proxied
    allowed = {"host", "user-agent", "accept", "accept-encoding", "connection"}
    assert all(set(request.headers) == allowed for request in seen)
    assert {request.headers["accept-encoding"] for request in seen} == {"gzip"}
    assert "Corrobora" in seen[0].headers["user-agent"]
    assert seen[0].headers["host"] == f"127.0.0.1:{server.port}"


async def test_f19_headers_are_stored_on_one_line_and_cut():
    cookie = b"x-long: " + b"a" * 50_000 + b"\r\nx-two: a\r\nx-two: b\r\nx-utf: \xc3\xa4\r\ncontent-length: 1\r\n\r\nx"
    async with raw_server(OK + cookie) as port:
        reply = await fetch(visitor(_at(port)), f"http://127.0.0.1:{port}/")
    assert len(reply.get_header("x-long")) == 2_000
    assert reply.get_header("x-two") == "a, b"
    assert reply.get_header("x-utf") == "ä"
    assert reply.get_header("missing") == ""


async def test_s18_tls_that_fails_is_a_failure():
    async with raw_server(b"HTTP/1.1 200 OK\r\n\r\n") as port:
        assert await outcome(visitor(_at(port)), f"https://127.0.0.1:{port}/") == "failed"


async def test_the_body_is_read_only_if_it_is_wanted():
    async with LoopbackWeb(faults={"/x": "endless"}) as web:
        network = VettedNetwork(allow=AllowList(endpoints=frozenset({web.endpoint})))
        transport = Transport(network, clock=SystemClock(), limits=QUICK)
        reply = await transport.request_page(f"{web.url}/x", lambda _: None)
        assert (reply.status, reply.body) == (200, b"")
        cut = await transport.request_page(f"{web.url}/x", lambda _: Bounds(1_000, 2_000, truncate=True))
        assert (len(cut.body), cut.truncated) == (1_000, True)


@pytest.mark.parametrize("fault", ["endless", "large"])
async def test_h05_h06_a_page_above_its_size_is_cut_whatever_its_headers_say(fault: str):
    async with LoopbackWeb(faults={"/x": fault}) as web:
        reply = await fetch(visitor(_at(web.port)), f"{web.url}/x")
    assert (len(reply.body), reply.truncated) == (1_000_000, True)


async def test_an_honest_packed_page_above_its_size_is_cut_as_well():
    words = " ".join(f"word {number} of a long page" for number in range(100_000)).encode()
    async with HttpServer(_answer_packed(gzip.compress(words))) as server:
        reply = await fetch(visitor(_at(server.port)), f"{server.url}/x")
    assert (reply.body, reply.truncated) == (words[:1_000_000], True)


def _answer_packed(body: bytes) -> Respond:
    async def respond(_: Request) -> Response:
        return Response(200, body, "text/html", {"content-encoding": "gzip"})

    return respond


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("bomb", "too_large"),
        ("double-gzip", "read"),
        ("brotli", "unsupported"),
        ("damaged-gzip", "unsupported"),
        ("short-gzip", "read"),
        ("cut", "read"),
        ("upgrade", "failed"),
    ],
)
async def test_h09_h10_hostile_bodies(fault: str, expected: str):
    async with LoopbackWeb(faults={"/x": fault}) as web:
        assert await outcome(visitor(_at(web.port)), f"{web.url}/x") == expected


async def test_safe_3_h09_a_bomb_of_one_gigabyte_costs_less_than_100_megabytes_of_memory():
    """A fresh process reads the bomb eight times at once and reports its peak."""
    script = """
        import asyncio, resource, sys
        from tests.unit.adapters.web.loopback import BOUNDS, outcome, visitor
        from corrobora.testing.http_server import HttpServer

        async def main(url, port):
            server = HttpServer(None)
            server.port = port
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            found = [await outcome(visitor(server), url) for _ in range(4)]
            after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            print(*found, (after - before) // 1024)

        asyncio.run(main(sys.argv[1], int(sys.argv[2])))
        """
    assert len(gzip_bomb(1024)) < 1_200_000
    async with LoopbackWeb(faults={"/x": "bomb"}) as web:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-c", textwrap.dedent(script), f"{web.url}/x", str(web.port)),
            stdout=asyncio.subprocess.PIPE,
            cwd=Path(__file__).parents[4],
        )
        out, _ = await process.communicate()
    *outcomes, megabytes = out.decode().split()
    assert outcomes == ["too_large"] * 4
    assert int(megabytes) < 100


def test_s18_no_code_turns_certificate_checks_off():
    root = Path(corrobora.__file__).parent
    bad = re.compile(r"verify\s*=\s*False|CERT_NONE|check_hostname\s*=\s*False|_create_unverified_context")
    assert not [file for file in root.rglob("*.py") if bad.search(file.read_text())]


HOST = "page.example"
PAGE = b"<p>page</p>"
AUTHORITY, SITE = Key("An authority"), Key("A site")
BAD = {
    "expired": (AUTHORITY.certificate(SITE, HOST, ends=timedelta(hours=-1)), "certificate has expired"),
    "not yet": (AUTHORITY.certificate(SITE, HOST, begins=timedelta(hours=1)), "not yet valid"),
    "another host": (AUTHORITY.certificate(SITE, "other.example"), f"not valid for '{HOST}'"),
    "self-signed": (SITE.certificate(SITE, HOST), "self-signed certificate"),
    "of nobody known": (Key("Somebody").certificate(SITE, HOST), "unable to get local issuer certificate"),
}


async def test_a_page_with_a_good_certificate_is_read():
    async with serving(showing(AUTHORITY.certificate(SITE, HOST), SITE), PAGE) as port:
        at = visitor(_at(port), names={HOST: ["127.0.0.1"]}, ports=[port], tls=trusting(AUTHORITY))
        assert (await fetch(at, f"https://{HOST}:{port}/")).body == PAGE


@pytest.mark.parametrize("name", BAD)
async def test_a_page_with_a_bad_certificate_is_not_read_and_the_reason_is_told(name: str):
    certificate, why = BAD[name]
    async with serving(showing(certificate, SITE), PAGE) as port:
        at = visitor(_at(port), names={HOST: ["127.0.0.1"]}, ports=[port], tls=trusting(AUTHORITY))
        with pytest.raises(ReadError, match="certificate is not valid") as caught:
            await fetch(at, f"https://{HOST}:{port}/")
    assert caught.value.outcome == "failed"
    assert why in caught.value.message


async def test_without_a_setting_the_public_authorities_are_trusted_and_no_other():
    async with serving(showing(AUTHORITY.certificate(SITE, HOST), SITE), PAGE) as port:
        at = visitor(_at(port), names={HOST: ["127.0.0.1"]}, ports=[port])
        with pytest.raises(ReadError, match="certificate is not valid"):
            await fetch(at, f"https://{HOST}:{port}/")


async def test_a_server_without_tls_behind_https_is_told_apart():
    async with raw_server(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n") as port:
        at = visitor(_at(port), names={HOST: ["127.0.0.1"]}, ports=[port], tls=trusting(AUTHORITY))
        with pytest.raises(ReadError, match="no secure connection") as caught:
            await fetch(at, f"https://{HOST}:{port}/")
    assert caught.value.outcome == "failed"

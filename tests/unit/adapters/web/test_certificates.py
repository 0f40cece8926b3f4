"""Pages over TLS: a good certificate is read, a bad one ends in an error that says what is wrong with it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.unit.adapters.web.certificates import Key, serving, showing, trusting
from tests.unit.adapters.web.lab import fetch, raw_server, visitor

from corrobora.domain.errors import ReadError
from corrobora.testing.http import HttpServer, Request, Response

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


async def _nothing(_: Request) -> Response:
    return Response(404)


def _at(port: int) -> HttpServer:
    """What a visitor is told to be allowed to reach."""
    server = HttpServer(_nothing)
    server.port = port
    return server


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

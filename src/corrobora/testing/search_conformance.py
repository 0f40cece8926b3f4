"""Conformance of search providers: checks that anyone can run on an adapter of their own.

Know `ports.SearchProvider` and how servers misbehave. Do not know any provider: you say how to build the adapter for an
address and what its answer looks like.

    @pytest.mark.parametrize("check", SEARCH_CHECKS, ids=lambda check: check.__name__)
    async def test_conformance(check):
        await check(SearchCase(lambda url, seconds: Mine("key", url, seconds), answer=my_shape, key="key"))
"""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

from corrobora.domain.errors import ProviderError
from corrobora.domain.evidence import Hit, Query
from corrobora.ports import SearchProvider
from corrobora.testing.http_server import HttpServer, Request, Response

GOOD_RESULT: Mapping[str, object] = {
    "url": "https://example.org/one",
    "title": "One",
    "snippet": "The first page.",
    "score": 0.5,
    "published": "2024-02-29",
}
_PATIENCE = 30.0  # seconds for a call that should not need them
_QUERY = Query("which page is the first one")


@dataclass(frozen=True, slots=True)
class SearchCase:
    """One adapter under test.

    Args:
        make: builds the adapter for a base URL and a limit in seconds for one call.
        answer: writes the provider's JSON for some results, each with the keys of `GOOD_RESULT`, or for `None` and
            other values in place of the list of results; bytes for a provider that does not answer in JSON.
        key: the key that `make` gives the adapter, which may never be shown; "" for one that needs none.
        ranked: False if the provider's answer has no scores.
        address: the address that the provider's hit has for a result's `url`, if it makes its own.
    """

    make: Callable[[str, float], SearchProvider]
    answer: Callable[[object], object]
    key: str
    ranked: bool = True
    address: Callable[[str], str] = str


SearchCheck = Callable[[SearchCase], Awaitable[None]]


async def finds_what_the_provider_found(case: SearchCase) -> None:
    """Each field arrives; the provider and the query are named; the call carries the key, not the address."""
    seen: list[Request] = []
    (hit,) = await _search_rows(case, [GOOD_RESULT], seen=seen)
    assert (hit.url, hit.title, hit.snippet) == (case.address("https://example.org/one"), "One", "The first page.")
    assert hit.published == "2024-02-29"
    assert hit.score == (0.5 if case.ranked else 0.0)
    assert hit.query == _QUERY.text
    assert hit.provider
    assert hit.source is None
    assert case.key in json.dumps(dict(seen[0].headers))
    assert not case.key or case.key not in seen[0].path


async def nothing_found_is_an_empty_list(case: SearchCase) -> None:
    """No result is an answer, not an error."""
    assert not await _search_rows(case, [])


async def at_most_limit_hits_in_the_order_given(case: SearchCase) -> None:
    """A thousand results when eight were asked for: the first eight."""
    rows = [{**GOOD_RESULT, "url": f"https://example.org/{n}"} for n in range(1_000)]
    first = [case.address(f"https://example.org/{n}") for n in range(8)]
    assert [hit.url for hit in await _search_rows(case, rows)] == first


async def another_shape_is_an_error_and_never_nothing(case: SearchCase) -> None:
    """HTML, null, a string, rows without addresses: `provider_bad_content`, which no retry can mend."""
    pages: list[bytes] = [b"<html>captcha</html>", b"[]", b"null", b'"x"', b"{}", b"[" * 100_000 + b"]" * 100_000]
    pages += [
        _dump_json(case.answer(rows)) for rows in (None, "none", 7, {"a": 1}, [1, 2], [{**GOOD_RESULT, "url": None}])
    ]
    for page in pages:
        error = await _expect_failure(case, Response(body=page))
        assert error.code in {"provider_bad_content", "provider_failed"}, page[:60]
        assert error.code == "provider_bad_content" or b"{}" in page, page[:60]


async def unusable_addresses_are_dropped(case: SearchCase) -> None:
    """Relative, over-long, with user data or of another scheme; the others come in their one spelling, escaped."""
    bad = ["/one", "ftp://a.example/", "https://me:pw@a.example/", "https://a.example/" + "x" * 50_000, "https://", 5]
    rows: list[Mapping[str, object]] = [{**GOOD_RESULT, "url": url} for url in bad]
    rows += [{**GOOD_RESULT, "url": "HTTPS://WWW.Example.ORG.:443/a?utm_source=x&id=1#part"}]
    rows += [{**GOOD_RESULT, "url": " https://example.org/a b.pdf\n"}]
    found = [hit.url for hit in await _search_rows(case, rows)]
    assert found == ["https://www.example.org/a?id=1", "https://example.org/a%20b.pdf"]


async def one_page_is_one_hit(case: SearchCase) -> None:
    """The same page eight times, with and without TLS and www: once."""
    same = ["https://example.org/a", "http://example.org/a", "https://www.example.org/a", "https://example.org/a/"] * 2
    hits = await _search_rows(case, [{**GOOD_RESULT, "url": url} for url in same])
    assert [hit.url for hit in hits] == ["https://example.org/a"]


async def texts_can_be_stored(case: SearchCase) -> None:
    """Control characters, NUL, half characters and missing texts: nothing that a database refuses."""
    rows = [
        {**GOOD_RESULT, "title": "a\x00b\n\x1b[31mc\ud800", "snippet": "x\x00y\ud800"},
        {**GOOD_RESULT, "url": "https://example.org/two", "title": None, "snippet": None},
    ]
    for hit in await _search_rows(case, rows):
        assert hit.title
        assert not set(hit.title + hit.snippet) & set("\x00\x1b")
        assert "\n" not in hit.title
        (hit.title + hit.snippet).encode()


async def only_real_dates_are_kept(case: SearchCase) -> None:
    """Future, fillers, words, impossible days: ""."""
    future = (datetime.now(UTC) + timedelta(days=400)).date().isoformat()
    bad = [future, "0001-01-01", "1970-01-01", "yesterday", "2024-02-31", "", None, 20240101, "2024-13-01", "9" * 5_000]
    rows = [{**GOOD_RESULT, "url": f"https://example.org/{n}", "published": value} for n, value in enumerate(bad)]
    for start in range(0, len(rows), 5):
        assert [hit.published for hit in await _search_rows(case, rows[start : start + 5])] == [""] * 5
    (hit,) = await _search_rows(case, [{**GOOD_RESULT, "published": "2024-02-29T23:10:00.000Z"}])
    assert hit.published == "2024-02-29"


async def scores_are_finite_numbers(case: SearchCase) -> None:
    """NaN, infinity, text, true, nothing: 0, so that the order decides."""
    bad = [float("nan"), float("inf"), "high", True, None]
    rows = [{**GOOD_RESULT, "url": f"https://example.org/{n}", "score": value} for n, value in enumerate(bad)]
    assert [hit.score for hit in await _search_rows(case, rows)] == [0.0] * 5


async def a_refused_key_is_final_and_names_its_setting(case: SearchCase) -> None:
    """401 and 403: not retryable; the setting is named, the key is not, even if the provider repeats it.

    Requirement: bad-input S20.
    """
    for status in (401, 403):
        error = await _expect_failure(case, Response(status, body=_dump_json({"error": f"bad key {case.key}"})))
        assert error.code == "provider_refused"
        assert not error.retryable
        assert "KEY" in error.next_step
        assert error.status == status


async def a_used_up_quota_is_final(case: SearchCase) -> None:
    """402: not retryable, so that other providers take over."""
    error = await _expect_failure(case, Response(402))
    assert (error.code, error.retryable) == ("provider_quota", False)


async def retry_after_is_honoured_within_bounds(case: SearchCase) -> None:
    """Seconds and dates, at most 60; nonsense is no wish at all."""
    soon = format_datetime(datetime.now(UTC) + timedelta(hours=3), usegmt=True)
    for value, expected in (("7", 7.0), ("0", 0.0), ("1000000000", 60.0), (soon, 60.0)):
        error = await _expect_failure(case, Response(429, headers={"retry-after": value}))
        assert error.retryable
        assert error.retry_after_seconds == expected, value
    for value in ("-5", "soon", "", "1e9", "Mon, 01 Jan 1990 00:00:00 GMT", "²"):
        error = await _expect_failure(case, Response(429, headers={"retry-after": value.encode().decode("latin-1")}))
        assert error.retryable
        assert error.retry_after_seconds is None, value


async def a_broken_server_may_be_tried_again(case: SearchCase) -> None:
    """500 to 504: retryable. 400 and 404: not."""
    again = dict.fromkeys((408, 500, 502, 503, 504), True)
    for status, retryable in {**again, 400: False, 404: False}.items():
        error = await _expect_failure(case, Response(status))
        assert (error.code, error.retryable, error.status) == ("provider_failed", retryable, status)


async def a_cut_answer_may_be_tried_again(case: SearchCase) -> None:
    """A connection that breaks, JSON that ends early, gzip that ends early: retryable, never "nothing found"."""
    whole = _dump_json(case.answer([GOOD_RESULT]))
    packed = {"content-encoding": "gzip"}
    for reply in (
        Response(body=whole, cut_after=len(whole) // 2),
        Response(body=whole[:-20]),
        Response(body=b""),
        Response(body=gzip.compress(whole, mtime=0)[:-12], headers=packed),
    ):
        error = await _expect_failure(case, reply)
        assert (error.code, error.retryable) == ("provider_failed", True)
    async with HttpServer(_reply_always(Response())) as gone:
        url = gone.url
    error = await _expect_error(case.make(url, _PATIENCE))
    assert (error.code, error.retryable) == ("provider_failed", True)


async def an_answer_is_read_within_five_megabytes(case: SearchCase) -> None:
    """30 MB, plain or unpacked from 30 KB: `provider_bad_content` before anything is parsed."""
    large = _dump_json(case.answer([{**GOOD_RESULT, "snippet": "x" * 30_000_000}]))
    packed = {"content-encoding": "gzip"}
    for reply in (
        Response(body=large),
        Response(body=gzip.compress(large, mtime=0), headers=packed),
        Response(
            body=gzip.compress(gzip.compress(large, mtime=0), mtime=0), headers={"content-encoding": "gzip, gzip"}
        ),
        Response(body=b"{}", headers={"content-encoding": "br"}),
    ):
        assert (await _expect_failure(case, reply)).code == "provider_bad_content"


async def without_a_valid_certificate_there_is_no_answer(case: SearchCase) -> None:
    """An https address that does not speak TLS: refused, and not worth a retry."""

    async def answer_plainly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer_plainly, "127.0.0.1") as server:
        error = await _expect_error(case.make(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}", _PATIENCE))
    assert (error.code, error.retryable) == ("provider_tls", False)


async def redirects_are_not_followed(case: SearchCase) -> None:
    """The key must not travel to another host."""
    seen: list[Request] = []
    async with HttpServer(_reply_always(Response(body=_dump_json(case.answer([GOOD_RESULT]))), seen)) as other:
        for status in (301, 302, 307, 308):
            error = await _expect_failure(case, Response(status, headers={"location": f"{other.url}/search"}))
            assert not error.retryable
    assert not seen


async def a_silent_or_slow_server_costs_only_the_time_limit(case: SearchCase) -> None:
    """No answer, or one byte after the other: an error, and one attempt: who is silent is not asked again at once."""

    async def hang_forever(_: Request) -> Response:
        await asyncio.sleep(600)
        return Response()

    async def drip_bytes(_: Request) -> Response:
        return Response(parts=_drip_body())

    for respond in (hang_forever, drip_bytes):
        async with HttpServer(respond) as server:
            error = await _expect_error(case.make(server.url, 0.3))
            assert (error.code, error.retryable) == ("provider_timeout", False)


async def _drip_body() -> AsyncIterator[bytes]:
    while True:
        yield b" "
        await asyncio.sleep(0.05)


def _dump_json(value: object) -> bytes:
    return value if isinstance(value, bytes) else json.dumps(value).encode()


def _reply_always(reply: Response, seen: list[Request] | None = None) -> Callable[[Request], Awaitable[Response]]:
    async def respond(request: Request) -> Response:
        if seen is not None:
            seen.append(request)
        return reply

    return respond


async def _search_rows(case: SearchCase, rows: object, *, seen: list[Request] | None = None) -> Sequence[Hit]:
    async with HttpServer(_reply_always(Response(body=_dump_json(case.answer(rows))), seen)) as server:
        return await case.make(server.url, _PATIENCE).search(_QUERY, limit=8)


async def _expect_failure(case: SearchCase, reply: Response) -> ProviderError:
    async with HttpServer(_reply_always(reply)) as server:
        error = await _expect_error(case.make(server.url, _PATIENCE))
    shown = f"{error!r} {error} {error.next_step}"
    cause: BaseException | None = error
    while cause is not None:
        shown += f"{cause!r}"
        cause = cause.__cause__ or cause.__context__
    assert not case.key or case.key not in shown
    return error


async def _expect_error(provider: SearchProvider) -> ProviderError:
    try:
        found = await provider.search(_QUERY, limit=8)
    except ProviderError as error:
        return error
    raise AssertionError(f"the failure was taken for an answer: {found}")


SEARCH_CHECKS: Sequence[SearchCheck] = (
    finds_what_the_provider_found,
    nothing_found_is_an_empty_list,
    at_most_limit_hits_in_the_order_given,
    another_shape_is_an_error_and_never_nothing,
    unusable_addresses_are_dropped,
    one_page_is_one_hit,
    texts_can_be_stored,
    only_real_dates_are_kept,
    scores_are_finite_numbers,
    a_refused_key_is_final_and_names_its_setting,
    a_used_up_quota_is_final,
    retry_after_is_honoured_within_bounds,
    a_broken_server_may_be_tried_again,
    a_cut_answer_may_be_tried_again,
    an_answer_is_read_within_five_megabytes,
    without_a_valid_certificate_there_is_no_answer,
    redirects_are_not_followed,
    a_silent_or_slow_server_costs_only_the_time_limit,
)

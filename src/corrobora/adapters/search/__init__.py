"""Search providers, and their base: a bounded JSON call with precise errors, and hits built from the rows of an answer.

Knows HTTP statuses, Retry-After, limits of size and time, and which addresses, dates, scores and texts are usable. It
follows no redirect, uses a proxy of the environment, and never puts the key or the answer's text into an error. Does
not know the fields of any provider: the modules below do.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard, cast

import httpx2

from corrobora.adapters.http import (
    ACCEPT_ENCODING,
    BadEncoding,
    BodyTooLarge,
    TruncatedBody,
    find_proxy_url,
    find_tls_error,
    load_json,
    parse_published,
    parse_retry_after,
    read_body,
    tls_context,
)
from corrobora.adapters.web import BadUrl, normalize_url, page_key
from corrobora.domain.errors import ProviderError, UserError, describe_connection
from corrobora.domain.evidence import Hit, Query
from corrobora.domain.limits import LIMITS
from corrobora.ports import Clock, Limiter
from corrobora.registry import key_variable
from corrobora.text.authors import clean_authors
from corrobora.text.tokens import sanitize_text

CALL_SECONDS = 30.0  # a whole call, from connection to the last byte
_QUOTA = frozenset({402, 432, 433})  # 432 and 433 are Tavily's own: plan and pay-as-you-go limits
_REFUSED = frozenset({401, 403})
_AGENT = "Corrobora/0.1"
_OK = 200


class KeyedProvider:
    """The base of every search provider: a subclass says what it needs and implements `search` with `_api`.

    An entry point of the group `corrobora.search` names the subclass. Users set the key in the variable `NAME_API_KEY`
    or as `keys.NAME`, and another address as `sources.NAME_url`.

    Attributes:
        name: the name of the entry point.
        base_url: the provider's own address.
        needs_key: a run is refused before it starts if the key is not set.
        calls_per_second: the rate that all workers together keep.
        seconds: the limit for one whole call.
        refused: what to do where a search without a key is refused.

    Args:
        key: the operator's key; sent as `headers` says and never shown.
        clock: for dates.
        base_url: another address than the provider's own, such as a server of one's own.
        limiter: a slot is taken before every call, so that all workers together keep the provider's rate.
        seconds: the limit for one whole call, if not the provider's own.
        contact: an e-mail address for those who run the provider, if `wants_contact`; sent in the user agent.
    """

    name: str = ""
    base_url: str = ""
    needs_key: bool = True
    wants_contact: bool = False
    wants_command: bool = False
    calls_per_second: float = 1.0
    seconds: float = CALL_SECONDS
    refused: str = ""

    def __init__(  # noqa: PLR0913 - the parts of one connection
        self,
        key: str,
        *,
        clock: Clock,
        base_url: str = "",
        limiter: Limiter | None = None,
        seconds: float | None = None,
        contact: str = "",
    ) -> None:
        self.contact = contact
        agent = {"User-Agent": f"{_AGENT} ({contact or 'no contact set'})"} if self.wants_contact else {}
        self._api = ProviderApi(
            self.name,
            base_url=base_url or self.base_url,
            headers={**(self.auth_headers(key) if key else {}), **agent},
            setting=key_variable(self.name) if key else "",
            refused=self.refused,
            clock=clock,
            limiter=limiter,
            seconds=self.seconds if seconds is None else seconds,
        )

    def auth_headers(self, key: str) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {key}"}

    async def post_search(  # noqa: PLR0913 - what providers differ in
        self,
        path: str,
        body: Mapping[str, object],
        rows: str,
        read_row: Callable[[Mapping[str, object]], ResultRow],
        *,
        query: Query,
        limit: int,
    ) -> Sequence[Hit]:
        """Send a search and return the hits in the field `rows` of its answer. Raises `ProviderError`."""
        answer = await self._api.post_json(path, body)
        if not is_mapping(answer):
            raise ProviderError.bad_content(self.name, "the answer is not an object")
        return self.list_hits(answer.get(rows), read_row, query, limit)

    def list_hits(
        self, rows: object, read_row: Callable[[Mapping[str, object]], ResultRow], query: Query, limit: int
    ) -> Sequence[Hit]:
        now = self._api.clock.utc_time()
        return build_hits(rows, read_row, provider=self.name, query=query, limit=limit, now=now)


class ProviderApi:
    """The JSON interface of one provider.

    Args:
        name: the provider, as errors name it.
        base_url: where it answers; set by the operator, never by a page or a model.
        headers: sent with every call, the key among them.
        setting: the name of the setting that holds the key, for people; "" if none is sent.
        clock: for dates in Retry-After.
        limiter: a slot is taken before every call, so that all workers together keep the provider's rate.
        seconds: the limit for one whole call.
        refused: what to do where a call without a key is refused.

    Raises:
        UserError: a key that no header can carry; it is not shown.
    """

    def __init__(  # noqa: PLR0913 - named parts of one connection
        self,
        name: str,
        *,
        base_url: str,
        headers: Mapping[str, str],
        setting: str,
        clock: Clock,
        limiter: Limiter | None = None,
        seconds: float = CALL_SECONDS,
        refused: str = "",
    ) -> None:
        if not all(value.isascii() and value.isprintable() for value in headers.values()):
            raise UserError(
                "secret_unusable",
                f"The key of {name} holds characters that cannot be sent.",
                next_step=f"Check the setting {setting}.",
            )
        self.name = name
        self.clock = clock
        self._base = base_url.rstrip("/")
        self._setting = setting
        self._limiter = limiter
        self._seconds = seconds
        self._refused = refused
        self._proxy = find_proxy_url(self._base)
        self._client = httpx2.AsyncClient(
            headers={**headers, "Accept": "application/json", "Accept-Encoding": ACCEPT_ENCODING},
            follow_redirects=False,
            trust_env=False,
            proxy=self._proxy,
            timeout=httpx2.Timeout(seconds),
            verify=tls_context(),
            limits=httpx2.Limits(max_keepalive_connections=0),  # nothing stays open, so nothing must be closed
        )

    async def post_json(self, path: str, body: Mapping[str, object]) -> object:
        """Send `body` as JSON and return the answer's JSON. Raises `ProviderError`."""
        return self._parse_answer(await self._request("POST", path, body))

    async def get_json(self, path: str, *, language: str = "") -> object:
        """Return the JSON at `path`; `language` stands for `{language}` in the address. Raises `ProviderError`."""
        return self._parse_answer(await self._request("GET", path, None, language))

    async def get_bytes(self, path: str) -> bytes:
        """Return what lies at `path`, at most the size of an answer. Raises `ProviderError`."""
        return await self._request("GET", path, None)

    async def post_bytes(self, path: str, body: Mapping[str, object], headers: Mapping[str, str]) -> bytes:
        """Send `body` as JSON with more headers, and return the answer as it is. Raises `ProviderError`."""
        return await self._request("POST", path, body, headers=headers)

    async def _request(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None,
        language: str = "",
        *,
        headers: Mapping[str, str] | None = None,
    ) -> bytes:
        address = self._base.replace("{language}", language) + path
        if self._limiter is not None:
            await self._limiter.acquire()
        try:
            async with (
                asyncio.timeout(self._seconds),
                self._client.stream(method, address, json=body, headers=headers) as reply,
            ):
                self._check_status(reply)
                limit = LIMITS.provider_json_max_bytes
                coding = reply.headers.get("content-encoding", "")
                read = await read_body(reply.aiter_raw(), coding, wire=limit, decoded=limit)
        except (TimeoutError, httpx2.TimeoutException) as error:
            why = f"{self.name} did not give a complete answer within {self._seconds:g} s."  # it is not asked again
            raise ProviderError("provider_timeout", why, provider=self.name) from error
        except (httpx2.RequestError, TruncatedBody) as error:
            raise self._connection_error(error) from error
        except (BodyTooLarge, BadEncoding) as error:
            raise ProviderError.bad_content(self.name, str(error)) from error
        return read.data

    def _check_status(self, reply: httpx2.Response) -> None:
        status = reply.status_code
        if status == _OK:
            return
        if status in _REFUSED and self._setting:
            raise ProviderError.key_refused(self.name, setting=self._setting, status=status)
        if status in _REFUSED:  # no key was sent
            why = f"{self.name} allows no such search (HTTP {status})"
            raise ProviderError(
                "provider_refused", f"{why}. {self._refused}".strip(), provider=self.name, status=status
            )
        if status in _QUOTA:
            raise ProviderError(
                "provider_quota",
                f"{self.name} says that the quota is used up (HTTP {status}).",
                provider=self.name,
                status=status,
                next_step="Renew the plan, or name another provider.",
            )
        why = "a redirect, which is not followed" if reply.has_redirect_location else ""
        after = parse_retry_after(reply.headers.get("retry-after", ""), self.clock.utc_time())
        raise ProviderError.request_failed(self.name, status=status, retry_after=after, why=why)

    def _connection_error(self, error: Exception) -> ProviderError:
        """A connection that could not be made or was cut. A bad certificate will still be bad at the next try."""
        if find_tls_error(error) is not None:
            return ProviderError(
                "provider_tls",
                f"The connection to {self.name} is not secure: its certificate or its TLS failed.",
                provider=self.name,
                next_step="Check the clock of this machine and the address of the provider.",
            )
        through = " through the proxy of the environment" if self._proxy else ""
        return ProviderError.request_failed(self.name, why=f"{describe_connection(error)}{through}")

    def _parse_answer(self, data: bytes) -> object:
        """Return the value of a JSON text. Raises `ProviderError` for an error that came alone with the status 200."""
        answer = self.parse_json(data)
        if is_mapping(answer) and (answer.get("error") or answer.get("errors")) and not _holds_rows(answer):
            raise ProviderError.request_failed(self.name, why="it answered with an error")
        return answer

    def parse_json(self, data: bytes) -> object:
        """Return the value of a JSON text. Raises `ProviderError` for a text that is cut or no JSON."""
        try:
            return load_json(data)
        except (ValueError, RecursionError) as error:  # UnicodeDecodeError is a ValueError
            text = data.strip()
            if not text or (text[:1] in b"{[" and text[-1:] not in b"}]"):
                raise ProviderError.request_failed(self.name, why="the answer was cut") from error
            raise ProviderError.bad_content(self.name, "the answer is not JSON") from error


def _holds_rows(answer: Mapping[str, object]) -> bool:
    """True if results stand beside an error: some engines failed, and the others are paid for."""
    parts = [value for name, value in answer.items() if name not in ("error", "errors")]
    parts += [value for part in parts if is_mapping(part) for value in part.values()]
    return any(isinstance(part, list) and any(is_mapping(row) and "url" in row for row in part) for part in parts)


SNIPPET_MAX_CHARS = 4_000
TITLE_MAX_CHARS = 300
_IDENTIFIER_CHARS = 200
_UNWANTED = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 127], " ")  # control characters but tab and line ends


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One result under common names, with the values as the provider wrote them."""

    url: object
    title: object
    snippet: object = ""
    score: object = None
    published: object = None
    identifier: object = ""
    authors: Sequence[str] = ()


def read_fields(
    url: str, title: str, snippet: str, score: str, date: str
) -> Callable[[Mapping[str, object]], ResultRow]:
    """Return what reads a result whose address, title, snippet, score and date have these names, "" for none."""
    return lambda row: ResultRow(row.get(url), row.get(title), row.get(snippet), row.get(score), row.get(date))


def is_mapping(value: object) -> TypeGuard[Mapping[str, object]]:
    """True for a JSON object."""
    return isinstance(value, dict)


def build_hits(  # noqa: PLR0913 - the parts of one translation
    rows: object,
    read: Callable[[Mapping[str, object]], ResultRow],
    *,
    provider: str,
    query: Query,
    limit: int,
    now: str,
) -> list[Hit]:
    """Return at most `limit` hits in the provider's order, each page once.

    A row without a usable address is dropped. An empty list means that the provider found nothing.

    Raises:
        ProviderError: `rows` is no list, or no row has an address of the web: the shape has changed (bad-input S02).
    """
    if not isinstance(rows, list):
        raise ProviderError.bad_content(provider, "its results are not a list")
    given = cast("list[object]", rows)
    read_rows = [read(row) for row in given if is_mapping(row)]
    found: dict[str, Hit] = {}
    for row in read_rows:
        if len(found) >= limit:
            break
        hit = _build_hit(row, provider, query, now)
        if hit is not None:
            found.setdefault(page_key(hit.url), hit)
    if given and not found:
        raise ProviderError.bad_content(provider, "none of its results has an address of the web")
    return list(found.values())


def _build_hit(row: ResultRow, provider: str, query: Query, now: str) -> Hit | None:
    if not isinstance(row.url, str):
        return None
    try:
        url = normalize_url(row.url.strip().replace(" ", "%20"))
    except BadUrl:
        return None
    return Hit(
        url=url,
        title=clean_line(row.title)[:TITLE_MAX_CHARS] or url,
        snippet=clean_text(row.snippet)[:SNIPPET_MAX_CHARS],
        score=parse_score(row.score),
        provider=provider,
        query=query.text,
        published=parse_published(row.published, now),
        identifier=clean_line(row.identifier)[:_IDENTIFIER_CHARS],
        authors=clean_authors(row.authors),
    )


def clean_text(value: object) -> str:
    """Return text without control characters and half characters, which no database stores; "" for other values."""
    if not isinstance(value, str):
        return ""
    return value.translate(_UNWANTED).encode("utf-8", "replace").decode("utf-8").strip()


def clean_line(value: object) -> str:
    """Return text on one line, without characters that turn it around: it is shown in lists and files."""
    return " ".join(sanitize_text(clean_text(value)).split())


def parse_score(value: object) -> float:
    """Return a finite score; 0 for anything else, so that the provider's order decides (bad-input S12)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    try:
        number = float(value)
    except OverflowError:
        return 0.0
    return number if math.isfinite(number) else 0.0

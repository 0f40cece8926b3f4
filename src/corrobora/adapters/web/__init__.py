"""The open web: one spelling for each address, and a refusal of those that no honest page has.

Knows syntax, hosts and tracking parameters; the modules below know connections, robots and politeness: how to fetch an
untrusted URL without reaching a private address, filling the memory or overloading a host. Does not know searches,
documents, libraries or runs.
"""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from corrobora.domain.errors import ReadError
from corrobora.domain.evidence import ReadOutcome
from corrobora.domain.limits import LIMITS

if TYPE_CHECKING:
    import httpx2


_TRACKING = re.compile(
    r"(?:utm_\w+|fbclid|gclid|gclsrc|dclid|gbraid|wbraid|msclkid|yclid|igshid|mc_cid|mc_eid|_ga|_gl|_hsenc|_hsmi|mkt_tok"
    r"|oly_anon_id|oly_enc_id|vero_id|wickedid|twclid|ttclid)\Z",
    re.IGNORECASE,
)
_HOST = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*\Z")
_NUMBER = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)\Z")
_MAX_HOST = 253
_MAX_PORT = 65_535
DEFAULT_PORTS = {"http": 80, "https": 443}


class BadUrl(ValueError):
    """A URL that is not fetched; `code` is `bad_url` or `scheme`."""

    def __init__(self, code: str, why: str) -> None:
        super().__init__(why)
        self.code = code


@lru_cache(maxsize=4_096)  # a result of several searches is read, linked and cited
def normalize_url(url: str) -> str:
    """Return the one spelling of `url`: lower-case punycode host, no default port, fragment or tracking parameters.

    Raises:
        BadUrl: another scheme, user data, control characters or spaces, an impossible host or port, or a host that
            only some programs read as a number (bad-input S05, S06, F02, F08 to F11).
    """
    parsed = parse_url(url)
    host = parsed.raw_host.decode("ascii").lower().rstrip(".")
    shown = f"[{host}]" if ":" in host else host
    port = "" if parsed.port in (None, DEFAULT_PORTS[parsed.scheme]) else f":{parsed.port}"
    path, mark, query = parsed.raw_path.decode("ascii").partition("?")
    if mark:
        kept = [part for part in query.split("&") if not _TRACKING.match(part.partition("=")[0])]
        query = "?" + "&".join(kept) if any(kept) else ""
    return f"{parsed.scheme}://{shown}{port}{path or '/'}{query}"


def check_url(url: str) -> str:
    """Normalize a URL that is about to be read. Raises `ReadError` `refused` for one that is not fetched."""
    try:
        return normalize_url(url)
    except BadUrl as error:
        raise ReadError(ReadOutcome.REFUSED, f"Not fetched ({error.code}): {error}.") from error


@lru_cache(maxsize=1_024)  # an address is checked, normalized and requested
def parse_url(url: str) -> httpx2.URL:
    """Parse and check `url`. Raises `BadUrl`, and nothing else, whatever the text is."""
    text = url.strip(" ")
    if not text or len(text) > LIMITS.url_max_chars:
        raise BadUrl("bad_url", f"a URL has 1 to {LIMITS.url_max_chars:,} characters, this one has {len(text):,}")
    if any(letter <= " " or letter in "\x7f\\" for letter in text):
        raise BadUrl("bad_url", "spaces, control characters and backslashes have no place in a URL")
    import httpx2  # noqa: PLC0415 - 0.1 CPU-s, for whoever reads the web

    try:
        parsed = httpx2.URL(text)
        host = parsed.raw_host.decode("ascii").lower()
        path = parsed.raw_path
    except (httpx2.InvalidURL, ValueError, IndexError) as error:  # UnicodeError and idna.IDNAError are ValueErrors
        raise BadUrl("bad_url", "it cannot be parsed") from error
    if parsed.scheme not in DEFAULT_PORTS:
        raise BadUrl("scheme", f"only http and https are fetched, not {parsed.scheme[:20] or 'a relative address'}")
    if parsed.userinfo:
        raise BadUrl("bad_url", "it carries user data")
    if parsed.port is not None and not 0 < parsed.port <= _MAX_PORT:
        raise BadUrl("bad_url", f"there is no port {parsed.port}")
    check_host(host)
    if len(path) > LIMITS.url_max_chars * 3:
        raise BadUrl("bad_url", "its path is too long")
    return parsed


def check_host(host: str) -> None:
    """Check the form of a host. Raises `BadUrl` for anything but a name or a plainly written address."""
    if ":" in host:
        if "%" in host or parse_ip(host.strip("[]")) is None:
            raise BadUrl("bad_url", "its host is not an IPv6 address")
        return
    name = host.rstrip(".")
    if not name or len(name) > _MAX_HOST or host.endswith("..") or not _HOST.match(name):
        raise BadUrl("bad_url", "its host is not a valid host name")
    if any(label.startswith("xn--") and not _is_punycode(label) for label in name.split(".")):
        raise BadUrl("bad_url", "its host is not a valid international name")
    if _NUMBER.match(name.rsplit(".", 1)[-1]) and parse_ip(name) is None:
        raise BadUrl("bad_url", "its host is a number in a form that programs read differently")


def parse_ip(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the address that a host is written as, None for a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _is_punycode(label: str) -> bool:
    try:
        return bool(label[4:].encode("ascii").decode("punycode"))
    except ValueError:
        return False


def page_key(url: str) -> str:
    """Return what two spellings of one page share: no scheme, no `www.`, no last slash. `url` is normalized.

    Requirement: bad-input S07.
    """
    return url.partition("://")[2].removeprefix("www.").rstrip("/")


def host_of(url: str) -> str:
    """Return the host of a normalized URL, without its port."""
    authority = url.partition("://")[2].partition("/")[0].partition("?")[0]
    if authority.startswith("["):
        return authority.partition("]")[0].removeprefix("[")
    return authority.partition(":")[0]


def origin_of(url: str) -> str:
    """Return scheme, host and port of a normalized URL: `https://example.org:8443`."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0].partition('?')[0]}"

"""Publishers: what standing a page has, judged by its address.

Knows the table of publishers that comes with the package and what a user adds to it. Does not know what a page says.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from urllib.parse import urlsplit

from corrobora.domain.evidence import Fact
from corrobora.text.mentions import strip_to_alphanumeric

_OFFICIAL_LABELS = frozenset({"gov", "mil", "edu", "int", "gob", "gouv", "govt"})
_BELOW_COUNTRY = frozenset({"ac", "edu", "gov", "gob", "gouv", "govt", "mil"})  # gov.uk, ac.jp
_MIN_NAME = 3  # letters of a name that a host may be called after


class Standing(StrEnum):
    """What one page of a publisher is worth."""

    OFFICIAL = "official"
    CREDIBLE = "credible"
    UNKNOWN = "unknown"  # communities, and everything else


@dataclass(frozen=True, slots=True)
class PublisherTable:
    """The hosts of the table, by what they are."""

    official: frozenset[str]
    credible: frozenset[str]
    hosted_by_subdomain: frozenset[str]
    hosted_by_path: frozenset[str]


@cache
def load_publishers() -> PublisherTable:
    """Read the table of the package (`data/publishers.toml`)."""
    table = tomllib.loads(resources.files("corrobora.data").joinpath("publishers.toml").read_text("utf-8"))
    credible = frozenset(host for hosts in table["credible"].values() for host in hosts)
    hosting = table["hosting"]
    return PublisherTable(
        frozenset(table["official"]), credible, frozenset(hosting["by_subdomain"]), frozenset(hosting["by_path"])
    )


def read_host(url: str) -> str:
    """Return the host of an address without "www.", "" if it has none."""
    try:
        return (urlsplit(url).hostname or "").rstrip(".").lower().removeprefix("www.")
    except ValueError:
        return ""


def is_official(url: str) -> bool:
    """True for addresses of governments, universities, treaty bodies and standards bodies, judged by their names."""
    host = read_host(url)
    labels = host.split(".")
    if len(labels) < 2:  # noqa: PLR2004 - a name without a dot belongs to nobody
        return False
    below_country = len(labels[-1]) == 2 and labels[-2] in _BELOW_COUNTRY  # noqa: PLR2004 - country codes
    return labels[-1] in _OFFICIAL_LABELS or below_country or _is_listed(host, load_publishers().official)


def judge_publisher(fact: Fact, names: Iterable[str] = (), credible: Sequence[str] = ()) -> Standing:
    """Judge the publisher of a fact (TRIPLET-23).

    Args:
        fact: what was read, with its address.
        names: what the research is about; a host of such a name is the subject's own publisher.
        credible: hosts that the user counts as credible.
    """
    if fact.primary or is_official(fact.url):
        return Standing.OFFICIAL
    host = read_host(fact.url)
    if fact.kind != "web" or _is_listed(host, load_publishers().credible | {each.lower() for each in credible}):
        return Standing.CREDIBLE  # a document that the user gave is at least that
    return Standing.CREDIBLE if _is_own_publisher(host, fact.url, names) else Standing.UNKNOWN


def identify_witness(fact: Fact) -> str:
    """Name the independent source of a fact: its web host, else the origin of its text (TRUTH-4)."""
    host = read_host(fact.url) if fact.kind == "web" else ""
    return f"host:{host}" if host else f"origin:{fact.origin or fact.source}"


def _is_listed(host: str, hosts: Iterable[str]) -> bool:
    return any(host == each or host.endswith(f".{each}") for each in hosts)


def _is_own_publisher(host: str, url: str, names: Iterable[str]) -> bool:
    """True if a host is called after one of the names; of a hosting site, its subdomain or the path is."""
    table = load_publishers()
    labels = host.split(".")
    if _is_listed(host, table.hosted_by_path):
        called = urlsplit(url).path.strip("/").split("/")[:2]
    elif _is_listed(host, table.hosted_by_subdomain):
        called = labels[:1]
    else:
        called = labels[-2:-1] if len(labels) < 3 or len(labels[-2]) > _MIN_NAME else labels[-3:-2]  # noqa: PLR2004 - co.uk
    wanted = {strip_to_alphanumeric(name) for name in names}
    return any(len(each) >= _MIN_NAME and strip_to_alphanumeric(each) in wanted for each in called)

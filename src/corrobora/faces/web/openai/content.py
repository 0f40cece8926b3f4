"""A report as the text of an answer: citations as Markdown links, and the same as annotations with their places.

Knows where a citation leads: to the page of the web, or to the stored source on this server. Does not know the forms of
answers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from corrobora.faces.cli.screen import one_line

_MARK = re.compile(r"\[(\d{1,4})\](?![(:])")
_SOURCES = "\n## Sources\n"


@dataclass(frozen=True, slots=True)
class Cited:
    """A citation in a text: its place, and where it leads."""

    start: int
    end: int
    url: str
    title: str
    quote: str


@dataclass(frozen=True, slots=True)
class Content:
    """The text of an answer with its citations; `sources` are the cited ones, each once."""

    text: str
    cited: tuple[Cited, ...] = ()
    sources: tuple[Mapping[str, str], ...] = ()


def write_content(report: Mapping[str, Any], run: str, server: str) -> Content:
    """Return a report as text. `server` is the address of this server, with a slash at its end."""
    body, _, _ = str(report["markdown"]).partition(_SOURCES)
    known = {int(each["number"]): each for each in report["citations"]}
    parts: list[str] = []
    cited: list[Cited] = []
    at = length = 0
    for mark in _MARK.finditer(body):
        number = int(mark[1])
        source = known.get(number)
        if source is None:
            continue
        url = _link(source, run, server)
        before, link = (
            body[at : mark.start()],
            f"[{number}](<{url}>)" if " " in url or ")" in url else f"[{number}]({url})",
        )
        parts += (before, link)
        start = length + len(before)
        length = start + len(link)
        at = mark.end()
        quotes = source.get("quotes") or [""]
        cited.append(Cited(start, length, url, one_line(str(source["title"]), 300), str(quotes[0])))
    text = "".join((*parts, body[at:])).rstrip() + "\n"
    return Content(text, tuple(cited), tuple(_list_sources(list(known.values()), run, server)))


def _link(source: Mapping[str, Any], run: str, server: str) -> str:
    url = one_line(str(source["url"]), 2_000)
    return url if url.startswith(("http://", "https://")) else f"{server}runs/{run}/sources/{source['source']}"


def _list_sources(cited: Sequence[Mapping[str, Any]], run: str, server: str) -> list[Mapping[str, str]]:
    found: dict[str, Mapping[str, str]] = {}
    for each in cited:
        url, title = _link(each, run, server), one_line(str(each["title"]), 300)
        quotes = each.get("quotes") or [""]
        found.setdefault(url, {"title": title, "url": url, "date": str(each["published"]), "snippet": str(quotes[0])})
    return list(found.values())

"""Scripted parts for tests: an analyst, a search provider and a reader that do what a test says.

Know roles by name, hits and documents that a test gives. Do not know what is asked of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from corrobora.domain.errors import ProviderError, ReadError, RoleError
from corrobora.domain.evidence import Document, Hit, Passage, PassageId, Query, ReadOutcome, Source, SourceId
from corrobora.domain.limits import Usage
from corrobora.ports import Answer, Role
from corrobora.text.tokens import stem_text

I = TypeVar("I")  # noqa: E741 - input of a role, the letter of the design
O = TypeVar("O")  # noqa: E741 - output of a role

ScriptLine = object | Exception | Callable[[Any], object]  # a value, an error to raise, or a function of the input


@dataclass(slots=True)
class ScriptedAnalyst:
    """Plays `script`: prompt name (`extract`, `refine`, ...) -> a line, or a list of lines played one after the other.

    A line is the role's output, an exception to raise, or a function of the role's input that returns either. The last
    line of a list repeats. A role without a line raises `RoleError` `not_scripted`. `played` lists what was asked.

    Example:
        analyst = ScriptedAnalyst({"critique": Critique(), "judge": [RoleError("refusal", "no"), verdict]})
    """

    script: Mapping[str, ScriptLine | Sequence[ScriptLine]]
    name: str = "scripted"
    usage: Usage = Usage(calls=1)
    played: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])
    _turns: dict[str, int] = field(default_factory=dict[str, int])

    def identity(self, role: Role[I, O]) -> str:
        return f"{self.name}/{role.prompt}"

    async def play(self, role: Role[I, O], given: I) -> Answer[O]:
        self.played.append((role.prompt, given))
        if role.prompt not in self.script:
            raise RoleError("not_scripted", f"The script has no line for {role.prompt}.")
        line = self._next_line(role.prompt, self.script[role.prompt])
        value = line(given) if callable(line) and not isinstance(line, type) else line
        if isinstance(value, Exception):
            raise value
        return Answer(cast("O", value), self.usage, self.name, self.name)

    def _next_line(self, role: str, lines: ScriptLine | Sequence[ScriptLine]) -> Any:
        if not isinstance(lines, list | tuple):
            return lines
        rows = cast("Sequence[ScriptLine]", lines)
        turn = self._turns.get(role, 0)
        self._turns[role] = turn + 1
        return rows[min(turn, len(rows) - 1)]


_PASSAGE_CHARS = 1_200


@dataclass(slots=True)
class ScriptedSearch:
    """Answers a query with the pages (URL -> text) that share most words with it; `down` makes all searches fail.

    The first `fail_first` searches fail, as with a provider that has a hiccup. `asked` lists the queries.
    """

    pages: Mapping[str, str]
    name: str = "scripted"
    down: bool = False
    fail_first: int = 0
    asked: list[Query] = field(default_factory=list[Query])

    async def search(self, query: Query, /, *, limit: int) -> Sequence[Hit]:
        self.asked.append(query)
        if self.down or len(self.asked) <= self.fail_first:
            raise ProviderError.request_failed(self.name, status=503)
        wanted = set(stem_text(query.text))
        ranked = sorted(
            ((len(wanted & set(stem_text(text))), url) for url, text in self.pages.items()), key=lambda r: (-r[0], r[1])
        )
        return [
            Hit(url, _first_line(self.pages[url]), self.pages[url][:200], float(score), self.name, query.text)
            for score, url in ranked[:limit]
            if score
        ]


@dataclass(slots=True)
class ScriptedReader:
    """Reads the pages of a table (URL -> text); an outcome in place of a text makes reading end in it."""

    pages: Mapping[str, str | ReadOutcome]
    read_urls: list[str] = field(default_factory=list[str])

    def accepts(self, hit: Hit) -> bool:
        return hit.url in self.pages

    async def read(self, hit: Hit) -> Document:
        """Return the page as a document with passages, or raise `ReadError` with its outcome."""
        self.read_urls.append(hit.url)
        page = self.pages.get(hit.url, ReadOutcome.NOT_FOUND)
        if isinstance(page, ReadOutcome):
            raise ReadError(page.value, f"{hit.url}: {page.value}.")
        number = sorted(self.pages).index(hit.url) + 1
        digest = hashlib.sha256(page.encode()).hexdigest()
        source = Source(SourceId(f"S{number}"), _first_line(page), hit.url, digest, origin=digest, kind="web")
        return Document(source, page, _split_passages(source.id, number, page))


def _split_passages(source: SourceId, number: int, text: str) -> tuple[Passage, ...]:
    spans = [(at, min(at + _PASSAGE_CHARS, len(text))) for at in range(0, len(text), _PASSAGE_CHARS)]
    return tuple(
        Passage(PassageId(f"C{number * 1_000 + at}"), source, text[start:end], start, end)
        for at, (start, end) in enumerate(spans)
    )


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0].lstrip("# ")[:100]

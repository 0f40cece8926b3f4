"""Testing: scripted parts for every port, a model provider on loopback with faults, and conformance suites.

Knows the contracts, roles by name, hits and documents that a test gives, and when a fault strikes: by the text of a
request and how often it came, never by the order of arrival, so that parallel runs meet the same faults. Does not know
any real provider. Ships with the package, for users who write their own adapters: scripted parts here, the provider in
`corrobora.testing.server`, the suites in `corrobora.testing.conformance`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar, cast

from corrobora.domain.errors import ProviderError, ReadError, RoleError
from corrobora.domain.evidence import Document, Hit, Passage, PassageId, Query, ReadOutcome, Source, SourceId
from corrobora.domain.limits import Usage
from corrobora.ports import Answer, Role
from corrobora.testing.fakes import FakeClock, LoopTime, MemoryJournal, MemoryLibrary, run_virtually
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


FAULT_KINDS: Mapping[str, str] = {
    "429": "refuse a share `p` of the calls; `retry_after` seconds are asked for",
    "limit": "refuse every call above `k` in flight; `retry_after`",
    "bad-json": "answer a share `p` with JSON that cannot be parsed",
    "cut-answer": "end a share `p` of the answers half-way, as if out of tokens",
    "cut-connection": "break a share `p` of the connections in the middle of the answer",
    "outage": "answer 503 for `seconds`, beginning `start` seconds after the first call",
    "slow": "let a share `p` of the calls take `seconds` longer",
    "500": "answer 500 to a share `p` of the calls",
    "wrong-citations": "change markers, quotes, numbers and addresses in a share `p` of the answers",
    "empty": "answer a share `p` with nothing",
    "refusal": "refuse to answer a share `p`",
    "usage": "report no tokens at all in a share `p` of the answers",
}
_DAY = re.compile(rb"\d{4}-\d{2}-\d{2}")
_FORGED = ("body", "summary", "claim")  # fields whose markers, numbers and addresses may be changed


@dataclass(frozen=True, slots=True)
class Fault:
    """One kind of fault with its numbers."""

    kind: str
    p: float = 1.0
    retry_after: float = 1.0
    seconds: float = 20.0
    start: float = 0.0
    k: int = 4

    @classmethod
    def parse(cls, text: str) -> Fault:
        """Read "429:p=0.2,retry_after=1". Raises `ValueError` that names the kinds or numbers there are."""
        kind, _, rest = text.partition(":")
        if kind not in FAULT_KINDS:
            message = f"unknown fault {kind!r}; there are: {', '.join(FAULT_KINDS)}"
            raise ValueError(message)
        known = [each.name for each in fields(cls) if each.name != "kind"]
        numbers: dict[str, Any] = {}
        for part in filter(None, rest.split(",")):
            name, _, value = part.partition("=")
            if name not in known:
                message = f"unknown number {name!r} of a fault; there are: {', '.join(known)}"
                raise ValueError(message)
            numbers[name] = int(float(value)) if name == "k" else float(value)
        return cls(kind, **numbers)


@dataclass(slots=True)
class FaultInjector:
    """The faults of one server. `forged` lists every wrong marker, number and address that was put into an answer."""

    faults: Sequence[Fault] = ()
    seed: int = 0
    forged: list[str] = field(default_factory=list[str])
    _seen: Counter[str] = field(default_factory=Counter[str])

    def identify_call(self, body: bytes) -> str:
        """Name this sending of a request: its digest without dates, so that no draw hangs on the day, and a number."""
        digest = hashlib.sha256(_DAY.sub(b"", body)).hexdigest()[:24]
        self._seen[digest] += 1
        return f"{digest}/{self._seen[digest]}"

    def find_fault(self, kind: str, call: str) -> Fault | None:
        """Return the fault of this kind if it strikes this call."""
        for fault in self.faults:
            if fault.kind == kind and self.draw_chance(kind, call) < fault.p:
                return fault
        return None

    def draw_chance(self, *parts: str) -> float:
        """Return a number in [0, 1) that depends on the seed and the parts only."""
        text = "\0".join((str(self.seed), *parts)).encode()
        return int.from_bytes(hashlib.sha256(text).digest()[:7], "big") / (1 << 56)

    def forge_answer(self, answer: str, call: str) -> str:
        """Change what an answer cites: a marker, a number, a word of a quote, an address."""
        try:
            value: object = json.loads(answer)
        except ValueError:
            return answer
        return json.dumps(self._forge_value(value, call, ""), ensure_ascii=False)

    def _forge_value(self, value: object, call: str, name: str) -> object:
        if isinstance(value, dict):
            rows = cast("dict[str, object]", value)
            return {key: self._forge_value(each, f"{call}.{key}", key) for key, each in rows.items()}
        if isinstance(value, list):
            rows_ = cast("list[object]", value)
            return [self._forge_value(each, f"{call}.{at}", name) for at, each in enumerate(rows_)]
        if not isinstance(value, str):
            return value
        if name == "quote":
            return self._forge_quote(value, call)
        return self._forge_body(value, call) if name in _FORGED else value

    def _forge_quote(self, text: str, call: str) -> str:
        words = text.split(" ")
        at = int(self.draw_chance("word", call) * len(words))
        words[at] = _other_number(words[at]) if any(c.isdigit() for c in words[at]) else f"{words[at]}x"
        return " ".join(words)

    def _forge_body(self, text: str, call: str) -> str:
        """Change each marker, number and sentence end with a chance of one in three."""

        def change_marker(found: re.Match[str]) -> str:
            if self.draw_chance("marker", call, str(found.start())) > 1 / 3:
                return found.group()
            wrong = f"[S{90_000 + found.start()}:C{found.start()}]"
            self.forged.append(wrong)
            return wrong

        def change_number(found: re.Match[str]) -> str:
            if self.draw_chance("number", call, str(found.start())) > 1 / 3:
                return found.group()
            wrong = _other_number(found.group())
            self.forged.append(wrong)
            return wrong

        text = re.sub(r"\[S\d+:C\d+\]", change_marker, text)
        text = re.sub(r"(?<![\w:\[.,-])\d{2,6}(?![\w:\].,-])", change_number, text)
        if self.draw_chance("address", call) < 1 / 3:
            wrong = f"https://forged.example/{int(self.draw_chance('path', call) * 1e6)}"
            self.forged.append(wrong)
            text = f"{text}\n\nSee also {wrong} for details."
        return text


def _other_number(text: str) -> str:
    return re.sub(r"\d", lambda found: str((int(found.group()) + 3) % 10), text)


__all__ = [
    "FakeClock",
    "Fault",
    "LoopTime",
    "MemoryJournal",
    "MemoryLibrary",
    "ScriptedAnalyst",
    "ScriptedReader",
    "ScriptedSearch",
    "run_virtually",
]

"""The faults of the provider: what they are, and when each strikes.

Knows when a fault strikes: by the text of a request and how often it came, never by the order of arrival, so that
parallel runs meet the same faults. Does not know any real provider.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, cast

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

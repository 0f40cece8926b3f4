"""Limits, the reading of the meter (seconds, tokens, money, calls), how a field declares its range, shipped tables.

Knows the defaults (docs/reference/limits.md), what a meter shows at one moment, the marks beside those of
`annotated_types`, and where the tables of the package lie. Does not know what they hold, nor the clock, and does not
check values: whoever reads text into a value does.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib import resources
from typing import Annotated, Any, Literal

from annotated_types import Ge, GroupedMetadata, Gt, Le, MaxLen, Predicate, doc


@cache
def read_table(name: str) -> Any:
    """Return a table of the folder `data` of the package: words, messages or fitted weights, as TOML or JSON."""
    text = (resources.files("corrobora") / "data" / name).read_text("utf-8")
    return json.loads(text) if name.endswith(".json") else tomllib.loads(text)


@dataclass(frozen=True, slots=True)
class Limits:
    """Every fixed limit of the product in one table. Sizes are in characters or bytes, times in seconds."""

    question_max_chars: int = 20_000
    question_min_chars: int = 3
    query_max_chars: int = 400
    url_max_chars: int = 2_083
    quote_min_chars: int = 25
    quote_max_chars: int = 1_000
    citations_per_sentence: int = 8
    model_output_max_chars: int = 200_000
    json_max_depth: int = 64
    repair_max_chars: int = 64_000
    provider_json_max_bytes: int = 5_000_000
    retry_after_max_seconds: float = 60.0
    parse_html_seconds: float = 5.0
    parse_pdf_seconds: float = 20.0
    parse_memory_bytes: int = 512 << 20
    pdf_max_pages: int = 300
    file_max_bytes: int = 30_000_000
    text_max_chars: int = 60_000_000
    plan_max_depth: int = 3
    plan_max_leaves: int = 64
    sub_agents_max: int = 7
    redirects_max: int = 5
    dns_seconds: float = 5.0
    connect_seconds: float = 5.0
    fetch_seconds: float = 20.0
    fetch_idle_seconds: float = 8.0  # without a byte
    fetch_min_bytes_per_second: float = 500.0  # measured after `connect_seconds`
    page_wire_bytes: int = 5_000_000
    page_decoded_bytes: int = 1_000_000  # a longer page is cut there
    pdf_wire_bytes: int = 30_000_000
    pdf_decoded_bytes: int = 60_000_000
    robots_max_bytes: int = 512_000
    robots_cache_seconds: float = 86_400.0
    host_pause_seconds: float = 1.0  # between the starts of two requests to one host
    host_max_pause_seconds: float = 30.0  # a host that asks for a longer pause is not visited
    fetches_at_once: int = 8
    pages_per_host: int = 20  # in one run
    page_passages: int = 8  # read of one page


LIMITS = Limits()


def _is_json_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


@dataclass(frozen=True, slots=True)
class Usage:
    """What calls cost, in US dollars; `priced` is False if no price is known.

    Every request that reached a provider is in `calls` or in `refused`. An `uncertain` one was cut before its answer
    ended: its dollars are the most that it can have cost, its tokens those that were sent.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    dollars: float = 0.0
    calls: int = 0
    priced: bool = True
    uncertain: int = 0  # of the calls
    refused: int = 0  # requests that were answered with an error, and are not billed

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.dollars + other.dollars,
            self.calls + other.calls,
            self.priced and other.priced,
            self.uncertain + other.uncertain,
            self.refused + other.refused,
        )


OutputMode = Literal["native", "tool", "prompted"]


@dataclass(frozen=True, slots=True)
class CallOptions:
    """How a model is called: `[models.options.NAME]`; NAME is an endpoint, a provider, a model, or a tier.

    None leaves a value to the next weaker table, and in the end to the program.
    """

    connect_seconds: Annotated[Annotated[float, Gt(0), Le(600)] | None, doc("Time to connect to the server.")] = None
    idle_seconds: Annotated[
        Annotated[float, Gt(0), Le(3_600)] | None, doc("Time without a received byte after which a call is aborted.")
    ] = None
    total_seconds: Annotated[Annotated[float, Gt(0), Le(86_400)] | None, doc("Time for one whole call.")] = None
    calls_at_once: Annotated[
        Annotated[int, Ge(1), Le(10_000)] | None, doc("Maximum number of concurrent calls; learned by default.")
    ] = None
    output_tokens: Annotated[Annotated[int, Ge(64), Le(10**6)] | None, doc("Length of an answer.")] = None
    output_mode: Annotated[
        OutputMode | None, doc("How structured output is requested; the strictest mode by default.")
    ] = None
    stream: Annotated[bool | None, doc("Whether answers are streamed; by default if the server supports it.")] = None
    extra_body: Annotated[
        Annotated[str, Predicate(_is_json_object)] | None, doc("Additional fields of every request, as a JSON object.")
    ] = None

    def override(self, stronger: CallOptions) -> CallOptions:
        """Return these options, replaced by those that `stronger` states."""
        stated = ((each.name, getattr(stronger, each.name)) for each in fields(stronger))
        return replace(self, **{name: value for name, value in stated if value is not None})


@dataclass(frozen=True, slots=True)
class Price:
    """What a model costs, in US dollars for a million tokens: `[models.prices."provider:model"]`."""

    input: Annotated[float, Ge(0), Le(100_000)]
    output: Annotated[float, Ge(0), Le(100_000)]
    cached: Annotated[float, Ge(0), Le(100_000)] | None = None  # of input read before; None: as other input


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a run may use. `seconds` is None without a time limit; the reserve is kept for writing (TIMED-1)."""

    seconds: float | None = None
    reserve_seconds: float = 90.0
    tokens: int | None = None
    dollars: float | None = None
    searches: int | None = None


@dataclass(frozen=True, slots=True)
class Meter:
    """One reading: what had been used when a decision was taken. Recorded in the journal with the decision."""

    allowance: Allowance
    elapsed_seconds: float = 0.0
    usage: Usage = Usage()
    searches: int = 0
    short: str = ""  # the limit that is not used up, but left too little for a call
    call_seconds: float = 0.0  # how long most model calls of this run took at most; 0 before there was one

    @property
    def remaining_seconds(self) -> float:
        """Seconds left, `inf` without a limit; never negative."""
        if self.allowance.seconds is None:
            return math.inf
        return max(0.0, self.allowance.seconds - self.elapsed_seconds)

    @property
    def tokens(self) -> int:
        """Tokens used so far, input and output."""
        return self.usage.input_tokens + self.usage.output_tokens

    @property
    def limits(self) -> Sequence[tuple[str, float, float]]:
        """The limits that are set, other than time: name, what is used of it, and the limit."""
        most = self.allowance
        known = (
            ("tokens", self.tokens, most.tokens),
            ("dollars", self.usage.dollars, most.dollars),
            ("searches", self.searches, most.searches),
        )
        return [(name, used, limit) for name, used, limit in known if limit is not None]

    @property
    def exhausted_limit(self) -> str | None:
        """The name of the first exhausted limit other than time, or None."""
        return self.short or next((name for name, used, limit in self.limits if used >= limit), None)


MAX_MINUTES = 10_080.0  # one week
UNLIMITED = "unlimited"
Text = Annotated[str, MaxLen(2_000)]


@dataclass(frozen=True, slots=True)
class OneOf(GroupedMetadata):
    """The words that a text may be, taken from the table that gives them their meaning.

    `find` returns the meaning of a further word that an installed package adds, None if there is none.
    """

    words: tuple[str, ...]
    find: Callable[[str], object] | None = None

    @classmethod
    def from_table(cls, table: Mapping[str, object]) -> OneOf:
        """Return the names in a table as words."""
        return cls(tuple(table))

    def __iter__(self) -> Iterator[object]:
        """Yield the check for libraries that read `annotated_types`."""
        yield Predicate(self._has_word)

    def _has_word(self, text: str) -> bool:
        return text in self.words or (self.find is not None and self.find(text) is not None)


@dataclass(frozen=True, slots=True)
class NoneWord:
    """The word that people write for None, where None has a meaning: no limit."""

    word: str


Minutes = Annotated[Annotated[float, Gt(0), Le(MAX_MINUTES)] | None, NoneWord(UNLIMITED)]

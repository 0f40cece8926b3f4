"""Confirm: from sentences that code could not decide and the quotes they cite to a ruling on each.

Knows single sentences with their quotes. Does not see the draft, the question or the sources. Code withholds what it
knows to be false, whatever is ruled here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from corrobora.ports import Role
from corrobora.roles.forms import choose_from


@dataclass(frozen=True, slots=True)
class Doubt:
    """One sentence that code could not decide: what it cites, and why code doubts it."""

    sentence: str
    quotes: tuple[tuple[str, str], ...]  # source with its version, and quote
    reasons: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()  # ids of the facts that it cites: not shown


@dataclass(frozen=True, slots=True)
class Confirming:
    """Sentences of one draft."""

    path: str
    doubts: tuple[Doubt, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the sentences, as they are shown."""
        return tuple(f"D{number}" for number, _ in enumerate(self.doubts, start=1))


@dataclass(frozen=True, slots=True)
class Rulings:
    """For each doubt, in order: "" if its quotes carry it, what they do not carry, or None without a ruling."""

    reasons: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class WireRuling:
    """Whether the quotes of one sentence carry all of it."""

    sentence: Annotated[str, choose_from("labels")]
    missing: Annotated[str, Field(description="What the quotes do not carry; empty if they carry all of it.")]
    carried: bool


@dataclass(frozen=True, slots=True)
class WireRulings:
    """One ruling for each sentence."""

    rulings: list[WireRuling]


def convert_rulings(given: Confirming, filled: WireRulings) -> Rulings:
    """Put the rulings in the order of the doubts; one that contradicts itself is none."""
    ruled: dict[str, str] = {}
    for each in filled.rulings:
        missing = " ".join(each.missing.split())
        if each.carried != bool(missing):
            ruled[each.sentence.strip()] = missing
    return Rulings(tuple(ruled.get(label) for label in given.labels))


confirm: Role[Confirming, Rulings] = Role(
    "confirm",
    Confirming,
    Rulings,
    "confirm",
    tier="judge",
    wire=WireRulings,
    convert=convert_rulings,
    example=lambda: Confirming(
        "root/confirm",
        (
            Doubt(
                "It pumps 12.5 litres each minute.",
                (("Pump manual, Edition 2", "The pump moves 12.5 litres a minute."),),
                ("the pump",),
            ),
        ),
    ),
)

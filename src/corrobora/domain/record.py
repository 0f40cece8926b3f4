"""The record: what a line of research has asked, found and left open, round by round, as its analysts are shown it.

Knows past rounds as values that never change again, so that every prompt of a thread begins like the one before. Does
not know how a round is run or what is decided after it.
"""

from __future__ import annotations

from dataclasses import dataclass

from corrobora.domain.evidence import Fact


@dataclass(frozen=True, slots=True)
class QueryYield:
    """What one query gave: results found, documents of them that were read, facts found in these."""

    query: str
    found: int
    read: int
    facts: int


@dataclass(frozen=True, slots=True)
class SourceYield:
    """One document that was to be read: what came of it, and what it says besides the answer."""

    source: str  # its id, "" if it was not read
    title: str
    origin: str  # its version, else the host of its address
    outcome: str
    facts: int
    told: tuple[str, ...] = ()  # questions it raises, gaps it admits, documents it names


@dataclass(frozen=True, slots=True)
class PastRound:
    """One finished round."""

    number: int
    phase: str
    goal: str
    queries: tuple[QueryYield, ...]
    sources: tuple[SourceYield, ...]
    facts: tuple[Fact, ...]  # that no earlier round had, best first
    summary: str = ""  # of the reflection after it
    left_open: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Record:
    """All that a thread remembers, in the order in which it happened."""

    today: str = ""  # the date on which the run began
    searched: str = ""  # the libraries and providers of the run
    recalled: tuple[Fact, ...] = ()  # facts of earlier runs and of siblings
    rounds: tuple[PastRound, ...] = ()

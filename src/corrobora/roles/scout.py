"""Scout: from candidate sources to a ranked, tagged shortlist (TREE-36).

Knows candidates and a quick scan of each. Spawns no executors and reads nothing itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from corrobora.ports import Role


@dataclass(frozen=True, slots=True)
class Candidate:
    """One candidate source after de-duplication, with the text of a quick scan."""

    reference: str  # URL or source id
    title: str
    snippet: str
    scan: str = ""
    published: str = ""
    publisher: str = ""
    found_by: tuple[str, ...] = ()  # queries that found it
    cluster: int = 0  # near-duplicates and copies share a cluster


@dataclass(frozen=True, slots=True)
class Sweep:
    """A sweep to be triaged within its budget."""

    path: str
    objective: str
    themes: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    limit: int = 10


@dataclass(frozen=True, slots=True)
class Shortlisted:
    """One chosen source. Scores in [0, 1]; `balance` are tags for the coverage balance."""

    reference: str
    title: str
    authority: float
    recency: float
    coverage: float
    diversity: float
    rationale: str
    balance: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Shortlist:
    """Ranked, best first; `excluded` says why the others were left out."""

    sources: tuple[Shortlisted, ...]
    excluded: tuple[tuple[str, str], ...] = ()
    balance: str = ""


scout: Role[Sweep, Shortlist] = Role("scout", Sweep, Shortlist, "scout", tier="fast")

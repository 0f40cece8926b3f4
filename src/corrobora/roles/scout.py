"""Scout: from candidate sources to a ranked, tagged shortlist.

Knows candidates and a quick scan of each. Spawns no executors and reads nothing itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from corrobora.ports import Role
from corrobora.roles.forms import Score, UnusableAnswer, choose_from, clean_texts


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

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the candidates, as they are shown."""
        return tuple(f"K{number}" for number, _ in enumerate(self.candidates, start=1))


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


@dataclass(frozen=True, slots=True)
class WireChoice:
    """One chosen candidate."""

    candidate: Annotated[str, choose_from("labels")]
    authority: Score
    recency: Score
    coverage: Score
    diversity: Score
    rationale: str
    balance: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class WireExcluded:
    """One candidate that was left out, and why."""

    candidate: Annotated[str, choose_from("labels")]
    reason: str


@dataclass(frozen=True, slots=True)
class WireShortlist:
    """The chosen candidates, best first."""

    sources: list[WireChoice]
    excluded: list[WireExcluded] = field(default_factory=list[WireExcluded])
    balance: str = ""


def convert_shortlist(given: Sweep, filled: WireShortlist) -> Shortlist:
    """Put references back in place of labels; unknown labels and duplicates are dropped."""
    known = dict(zip(given.labels, given.candidates, strict=True))
    chosen: dict[str, Shortlisted] = {}
    for choice in filled.sources:
        if candidate := known.get(choice.candidate.strip()):
            scores = (choice.authority, choice.recency, choice.coverage, choice.diversity)
            tags = clean_texts(choice.balance)
            made = Shortlisted(candidate.reference, candidate.title, *scores, choice.rationale, tags)
            chosen.setdefault(candidate.reference, made)
    if filled.sources and not chosen:
        raise UnusableAnswer(f"`candidate` must be one of the labels K1 to K{len(known)}.")
    out = [(known[e.candidate.strip()].reference, e.reason) for e in filled.excluded if e.candidate.strip() in known]
    return Shortlist(tuple(chosen.values())[: given.limit], tuple(out), filled.balance)


def _make_example() -> Sweep:
    manual = Candidate("https://example.org/a", "Manual A", "about A", "A scan", "2017", "Maker", ("pump",), 1)
    return Sweep("root", "Find manuals", ("limits",), (manual, Candidate("S3", "Manual B", "about B")), 5)


scout: Role[Sweep, Shortlist] = Role(
    "scout",
    Sweep,
    Shortlist,
    "scout",
    tier="fast",
    wire=WireShortlist,
    convert=convert_shortlist,
    example=_make_example,
)

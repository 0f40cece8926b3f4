"""Shortlist: which candidate sources to read, by authority, recency and coverage.

Knows the titles, snippets, dates and publishers of candidates. Reads nothing itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from corrobora.roles.scout import Candidate, Shortlist, Shortlisted, Sweep
from corrobora.text.quantities import find_years
from corrobora.text.ranking import jaccard_similarity, select_diverse_items
from corrobora.text.tokens import stem_text

_OFFICIAL = (".gov", ".edu", ".mil", ".int", ".europa.eu", ".ac.uk", "doi.org", "rfc-editor.org", "iso.org", "w3.org")
_OPINION = ("reddit.", "quora.", "medium.com", "forum", "blogspot.", "/blog", "stackexchange.", "twitter.", "x.com/")
_IRRELEVANT = 0.08
_WEIGHTS = (0.2, 0.15, 0.65)  # authority, recency, coverage
_MOST_AGE = 12.0


@dataclass(frozen=True, slots=True)
class RatedCandidate:
    """A candidate with its scores and its themes."""

    candidate: Candidate
    authority: float
    recency: float
    coverage: float
    themes: tuple[str, ...]
    stems: frozenset[str]

    @property
    def worth(self) -> float:
        """The weighted sum that ranks candidates before diversity."""
        return sum(w * s for w, s in zip(_WEIGHTS, (self.authority, self.recency, self.coverage), strict=True))


def shortlist_candidates(given: Sweep) -> Shortlist:
    """Rank candidates, one of each cluster, diverse first; say why the others are left out (TREE-36)."""
    newest = max((_stated_year(candidate) for candidate in given.candidates), default=0)
    rated = [_rate_candidate(candidate, given, newest) for candidate in given.candidates]
    excluded: list[tuple[str, str]] = []
    best: dict[int, RatedCandidate] = {}
    alone: list[RatedCandidate] = []
    for one in sorted(rated, key=lambda r: (-r.worth, r.candidate.reference)):
        if one.coverage < _IRRELEVANT:
            excluded.append((one.candidate.reference, "speaks to none of the themes"))
        elif one.candidate.cluster and one.candidate.cluster in best:
            first = best[one.candidate.cluster].candidate.reference
            excluded.append((one.candidate.reference, f"a copy or near-copy of {first}"))
        else:
            if one.candidate.cluster:
                best[one.candidate.cluster] = one
            alone.append(one)
    chosen = select_diverse_items(
        alone, lambda r: r.worth, lambda a, b: jaccard_similarity(a.stems, b.stems), limit=given.limit
    )
    kept = {one.candidate.reference for one in chosen}
    excluded += [
        (one.candidate.reference, f"beyond the limit of {given.limit}")
        for one in alone
        if one.candidate.reference not in kept
    ]
    return Shortlist(
        tuple(_shortlist_entry(one, chosen[:at]) for at, one in enumerate(chosen)),
        tuple(excluded),
        _describe_balance(chosen, given),
    )


def _rate_candidate(candidate: Candidate, given: Sweep, newest: int) -> RatedCandidate:
    text = f"{candidate.title} {candidate.snippet} {candidate.scan}"
    own = frozenset(stem_text(text))
    wanted = frozenset(stem_text(given.objective))
    themes = tuple(theme for theme in given.themes if _stem_share(frozenset(stem_text(theme)), own) >= 0.5)  # noqa: PLR2004 - half a theme
    coverage = _stem_share(wanted, own)
    if given.themes:
        coverage = 0.6 * coverage + 0.4 * len(themes) / len(given.themes)
    return RatedCandidate(
        candidate, _rate_authority(candidate), _rate_recency(candidate, newest), coverage, themes, own
    )


def _stem_share(wanted: frozenset[str], own: frozenset[str]) -> float:
    return len(wanted & own) / len(wanted) if wanted else 0.0


def _rate_authority(candidate: Candidate) -> float:
    """Rate an address: official ones high, forums and blogs low; a named publisher helps."""
    address = f"{candidate.reference} {candidate.publisher}".casefold()
    if any(part in address for part in _OFFICIAL):
        return 0.9
    if any(part in address for part in _OPINION):
        return 0.3
    return 0.6 if candidate.publisher else 0.5


def _stated_year(candidate: Candidate) -> int:
    stated = find_years(candidate.published)
    return stated[-1] if stated else 0


def _rate_recency(candidate: Candidate, newest: int) -> float:
    """Rate the age relative to the newest candidate; an unknown date is in the middle."""
    stated = _stated_year(candidate)
    return max(0.0, 1 - (newest - stated) / _MOST_AGE) if stated else 0.5


def _shortlist_entry(one: RatedCandidate, before: Sequence[RatedCandidate]) -> Shortlisted:
    alike = max((jaccard_similarity(one.stems, other.stems) for other in before), default=0.0)
    covers = ", ".join(one.themes) or "the objective in part"
    when = f"dated {one.candidate.published[:10]}" if one.candidate.published else "undated"
    official = one.authority >= 0.9  # noqa: PLR2004 - the rank of official addresses
    return Shortlisted(
        one.candidate.reference,
        one.candidate.title,
        round(one.authority, 3),
        round(one.recency, 3),
        round(one.coverage, 3),
        round(1 - alike, 3),
        f"covers {covers}; {'official' if official else 'other'} source; {when}; "
        f"found by {len(one.candidate.found_by)} queries",
        ("official" if official else "independent", *one.themes),
    )


def _describe_balance(chosen: Sequence[RatedCandidate], given: Sweep) -> str:
    """Describe how the selection covers the themes, and which theme has no source."""
    counts = [(theme, sum(theme in one.themes for one in chosen)) for theme in given.themes]
    listed = "; ".join(f"{theme}: {count}" for theme, count in counts)
    missing = [theme for theme, count in counts if not count]
    return listed + (f"; without a source: {', '.join(missing)}" if missing else "")

"""Scout without a model: candidates ranked by authority, recency, coverage and diversity, copies folded.

Knows titles, snippets, dates and publishers of candidates. Reads nothing itself.

Insights: what a source says beside what was asked of it: limits it states, what it contradicts, where it points.

Knows the quotes taken from one source, and the four conditions of TREE-30. Does not choose quotes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from corrobora.analysts.extractive.lines import Line
from corrobora.domain.evidence import FollowUp, LinkedSource
from corrobora.roles.extract import Excerpt, Extraction, Quote
from corrobora.roles.scout import Candidate, Shortlist, Shortlisted, Sweep
from corrobora.text.comparison import find_difference, parse_statement
from corrobora.text.markup import strip_markup
from corrobora.text.mentions import find_years
from corrobora.text.ranking import jaccard_similarity, select_diverse_items
from corrobora.text.tokens import stem_text

_OFFICIAL = (".gov", ".edu", ".mil", ".int", ".europa.eu", ".ac.uk", "doi.org", "rfc-editor.org", "iso.org", "w3.org")
_OPINION = ("reddit.", "quora.", "medium.com", "forum", "blogspot.", "/blog", "stackexchange.", "twitter.", "x.com/")
_IRRELEVANT = 0.08
_WEIGHTS = (0.2, 0.15, 0.65)  # authority, recency, coverage
_MOST_AGE = 12.0


@dataclass(frozen=True, slots=True)
class RatedCandidate:
    """A candidate with its scores and what it speaks of."""

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
    text = strip_markup(f"{candidate.title} {candidate.snippet} {candidate.scan}")
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
    """Official and institutional addresses rank high, forums and blogs low; a named publisher helps."""
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
    """Newer is better, measured from the newest candidate (no clock); an unknown date lies in the middle."""
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
    """Say how the choice spreads over themes, and which theme has no source."""
    counts = [(theme, sum(theme in one.themes for one in chosen)) for theme in given.themes]
    listed = "; ".join(f"{theme}: {count}" for theme, count in counts)
    missing = [theme for theme, count in counts if not count]
    return listed + (f"; without a source: {', '.join(missing)}" if missing else "")


_CONFIDENT = 0.5  # below this, the key claims are weak: a condition of TREE-30
_LIMITATION = re.compile(
    r"(?i)\b(?:limitations?|future (?:work|research|studies)|further (?:research|study|work) (?:is|are)|"
    r"remains? (?:unclear|unknown|open)|"
    r"not (?:yet )?(?:known|addressed|covered|considered)|out of scope|open questions?)\b"
)
_REFERENCE = re.compile(
    r"\[([^\[\]]{2,160})\]\((https?://[^\s()]{4,400})\)|(?<![\w(\[/])(https?://[^\s<>()\[\]\"']{4,400})"
)
_LINKS = 5


def add_insights(
    given: Excerpt, lines: Sequence[Line], quotes: tuple[Quote, ...], terms: tuple[str, ...]
) -> Extraction:
    """Add insights under the four conditions of TREE-30: weak claims, limitations, contradictions, discovery."""
    texts = [line.text for line in lines]
    stated = tuple(text for text in texts if _LIMITATION.search(text))[:3]
    against = tuple(_find_conflicts(given.known_facts, quotes))
    best = max((quote.confidence for quote in quotes), default=0.0)
    summary = " ".join(q.claim for q in sorted(quotes, key=lambda q: -q.confidence)[:2])
    if not (given.discovery_intense or best < _CONFIDENT or stated or against):
        return Extraction(quotes, summary, terms=terms)
    answered = {sq for quote in quotes for sq in quote.answers if quote.confidence >= _CONFIDENT}
    ups = tuple(
        FollowUp(part.text, round(1 - best, 3), "the source speaks to it only in part")
        for part in given.sub_questions
        if part.id not in answered
    )
    return Extraction(
        quotes,
        summary,
        follow_ups=ups,
        gaps=stated,
        linked=_linked_sources(given),
        contradicts_known=against,
        terms=terms,
    )


def _find_conflicts(known: Sequence[str], quotes: Sequence[Quote]) -> list[str]:
    found: list[str] = []
    stated = [parse_statement(fact) for fact in known]
    for quote in quotes:
        own = parse_statement(quote.claim)
        for fact in stated:
            differs = find_difference(fact, own)
            if differs is not None:
                found.append(f"{differs.text}: {quote.claim}")
                break
    return found


def _linked_sources(given: Excerpt) -> tuple[LinkedSource, ...]:
    """Return the web addresses the passages point to, with the words around them."""
    found: dict[str, LinkedSource] = {}
    wanted = set(stem_text(given.question))
    for passage in given.passages:
        for match in _REFERENCE.finditer(passage.text):
            address = (match.group(2) or match.group(3)).rstrip(".,;:")
            around = strip_markup(passage.text[max(0, match.start() - 80) : match.end() + 40])
            if address not in found:
                shared = len(wanted & set(stem_text(around))) / max(1, len(wanted))
                found[address] = LinkedSource(address, around, round(min(1.0, 0.3 + shared), 3))
    return tuple(sorted(found.values(), key=lambda link: (-link.priority, link.reference))[:_LINKS])

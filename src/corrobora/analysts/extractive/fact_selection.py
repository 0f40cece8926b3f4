"""Selection: which facts fit a text best without repetition, and which candidate sources to read.

Knows facts and questions; the worth of a fact is that of its best sentence. Keeps two editions of one statement apart:
that both say it, or differ, is a finding. Of candidates it knows titles, snippets, dates and publishers: it ranks them
by authority, recency and coverage, and reads nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from corrobora.analysts.extractive.lines import find_shown_code, is_turn, stem_heading
from corrobora.analysts.extractive.ranker import Ranked, Sentence, find_exchanges, rank_sentences, split_joined_names
from corrobora.domain.evidence import Fact, read_file_name
from corrobora.policies.grading import PublisherStanding, judge_address
from corrobora.roles.scope import Candidate, Shortlist, Shortlisted, Sweep
from corrobora.text.answers import FITS_KIND
from corrobora.text.entries import read_terms
from corrobora.text.phrases import format_count
from corrobora.text.quantities import find_years
from corrobora.text.ranking import jaccard_similarity, select_diverse_items
from corrobora.text.segmentation import split_sentences
from corrobora.text.tokens import LIST_ITEM, fold_whitespace, stem_text
from corrobora.text.vocabulary import collect_equivalences, map_names

_SAME = 0.8  # share of common stems from which two statements of one edition are one


@dataclass(frozen=True, slots=True)
class RankedFact:
    """A fact with its worth for one text."""

    fact: Fact
    worth: float
    stems: frozenset[str]
    core: str = ""  # its sentence that speaks best
    share: float = 0.0  # of the topic of the text that it holds, with its headings
    fits: bool = False  # a sentence of it is of the very kind that is asked for
    said: frozenset[str] = frozenset()  # words of the question in its best sentence


@lru_cache(maxsize=2_000)
def _split_fact(fact: Fact, *, spoken: bool) -> tuple[Sentence, ...]:
    """Take a fact apart into its sentences."""
    above = frozenset(
        stem_text(split_joined_names(f"{fact.title} {fact.place} {fact.version} {read_file_name(fact.url)}"))
    )
    heading = stem_heading(fact.place)
    spans = split_sentences(fact.quote)
    texts = [fact.quote[span.start : span.end] for span in spans]
    said = [stem_text(split_joined_names(text)) for text in texts]
    paragraphs = [(0, fact.quote.count("\n\n", 0, span.start)) for span in spans]
    asked = find_exchanges(list(zip(texts, paragraphs, strict=True)))
    asking = {each for own in asked.values() for each in own}
    terms = read_terms(fact.quote, spans)
    code = find_shown_code(fact.quote, spans)
    shown = [frozenset(stems) if led else frozenset[str]() for stems, led in zip(said[1:], code[1:], strict=True)]
    return tuple(
        Sentence(
            text,
            tuple(stem for each in (*asked.get(at, ()), at) for stem in said[each]),
            above.union(stem_text(split_joined_names(terms[at])), *shown[at : at + 1]),
            str(fact.passage),
            spoken,
            LIST_ITEM.match(text) is not None,
            at in asking or code[at],
            score=fact.score,
            heading=heading,
            place=fact.place,
            term=terms[at],
        )
        for at, text in enumerate(texts)
    )


def is_heading_of(fact: Fact, sentence: str) -> bool:
    """True for a heading above a fact, with which its quote may begin: it names what is stated and states nothing.

    A question or what ends in a colon is none: without it, nobody understands what stands below.
    """
    said = fold_whitespace(sentence)
    return said[-1:] not in "?:" and any(said == fold_whitespace(part) for part in fact.heading.split(" > "))


def _states_something(fact: Fact, one: Sentence) -> bool:
    """False for a heading, a question with its answer, and an item that leads in a list: what follows says more."""
    return not (one.bare or is_heading_of(fact, one.text) or (one.listed and one.text.endswith(":")))


def rank_facts(text: str, facts: Sequence[Fact]) -> tuple[RankedFact, ...]:
    """Rank facts for `text`, best first; ties go to the lower id, so that the order of the input does not matter."""
    distinct = sorted({fact.id: fact for fact in facts}.values(), key=lambda f: (f.source, f.passage, f.start, f.id))
    return _rank_distinct(split_joined_names(text), tuple(distinct))


@lru_cache(maxsize=32)  # summary and report rank the same facts for the same questions
def _rank_distinct(text: str, distinct: tuple[Fact, ...]) -> tuple[RankedFact, ...]:
    pairs = collect_equivalences((), (fact.quote for fact in distinct))
    spoken = _find_conversations(distinct)
    split = [_split_fact(fact, spoken=fact.source in spoken) for fact in distinct]
    ranked = iter(rank_sentences(text, [one for own in split for one in own], map_names(text, pairs)))
    found: list[RankedFact] = []
    for fact, own in zip(distinct, split, strict=True):
        worths: list[tuple[Ranked, Sentence]] = [(next(ranked), one) for one in own]
        if not worths:
            continue
        best, core = max(worths, key=lambda row: row[0].worth)
        if not _states_something(fact, core):
            core = max(worths, key=lambda row: (_states_something(fact, row[1]), row[0].worth))[1]
        found.append(
            RankedFact(
                fact,
                best.worth,
                frozenset(stem for one in own for stem in one.stems),
                core.text,
                max(one.topic for one, _ in worths),
                any(one.fits >= FITS_KIND for one, _ in worths),
                best.said,
            )
        )
    return tuple(sorted(found, key=lambda one: (-one.worth, one.fact.id)))


def _find_conversations(facts: Sequence[Fact]) -> frozenset[str]:
    """Return the sources of which at least half of the facts begin with the name of a speaker."""
    turns = Counter(fact.source for fact in facts if is_turn(fact.quote))
    return frozenset(source for source, n in Counter(fact.source for fact in facts).items() if 2 * turns[source] >= n)


def select_diverse(items: Sequence[RankedFact], limit: int, *, compares: bool = True) -> tuple[RankedFact, ...]:
    """Select at most `limit` facts in order, without repetitions in one edition.

    A copy without version and date is no edition of its own, unless the question `compares` editions.
    """
    kept: list[RankedFact] = []
    for one in items:
        if len(kept) >= limit:
            break
        same = {_fact_edition(one), *(() if compares else ("",))}
        rivals = kept if same == {""} and not compares else [each for each in kept if _fact_edition(each) in same]
        if not any(jaccard_similarity(one.stems, other.stems) >= _SAME for other in rivals):
            kept.append(one)
    return tuple(kept)


def _fact_edition(one: RankedFact) -> str:
    return one.fact.version or one.fact.published


_AUTHORITY = {PublisherStanding.OFFICIAL: 0.9, PublisherStanding.CREDIBLE: 0.7}
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
            excluded.append((one.candidate.reference, "concerns none of the themes"))
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
    themes = tuple(theme for theme in given.aims if _stem_share(frozenset(stem_text(theme)), own) >= 0.5)  # noqa: PLR2004 - half a theme
    coverage = _stem_share(wanted, own)
    if given.aims:
        coverage = 0.6 * coverage + 0.4 * len(themes) / len(given.aims)
    return RatedCandidate(
        candidate, _rate_authority(candidate), _rate_recency(candidate, newest), coverage, themes, own
    )


def _stem_share(wanted: frozenset[str], own: frozenset[str]) -> float:
    return len(wanted & own) / len(wanted) if wanted else 0.0


def _rate_authority(candidate: Candidate) -> float:
    """Rate who publishes a candidate as grades do: official ones high; a named publisher helps."""
    standing = judge_address(candidate.reference)
    return _AUTHORITY.get(standing, 0.6 if candidate.publisher else 0.5)


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
        f"found by {format_count(len(one.candidate.found_by), 'query', 'queries')}",
        ("official" if official else "independent", *one.themes),
    )


def _describe_balance(chosen: Sequence[RatedCandidate], given: Sweep) -> str:
    """Describe how the selection covers the themes, and which theme has no source."""
    counts = [(theme, sum(theme in one.themes for one in chosen)) for theme in given.aims]
    listed = "; ".join(f"{theme}: {count}" for theme, count in counts)
    missing = [theme for theme, count in counts if not count]
    return listed + (f"; without a source: {', '.join(missing)}" if missing else "")

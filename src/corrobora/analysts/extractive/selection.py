"""Selection: which facts fit a text best without repetition, and which candidate sources to shortlist.

Knows facts, questions, and the titles, snippets, dates and publishers of candidates. Reads nothing itself, and keeps
two editions of one statement apart: that both say it, or differ, is a finding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from corrobora.analysts.extractive.lines import ASIDE, QUESTION, is_aside, is_question, split_joined_names
from corrobora.analysts.extractive.quotes import preference_factor, subject_factor
from corrobora.analysts.extractive.relevance import (
    SentenceTerms,
    compute_rarity,
    damp_title_terms,
    find_explained_term,
    find_extreme,
    find_foremost_rows,
    score_brevity,
    score_explanation,
    score_proximity,
    score_sentences,
    score_standalone,
    weigh_by_rarity,
)
from corrobora.domain.evidence import Fact, FactId
from corrobora.roles.scout import Candidate, Shortlist, Shortlisted, Sweep
from corrobora.text.answers import FITS_KIND, classify_question, score_answer_fit
from corrobora.text.quantities import find_asked_releases, find_years, score_release_match
from corrobora.text.questions import (
    WeightedTerms,
    asks_for_every_change,
    find_anchors,
    names_source,
    read_expectation,
    score_year_match,
    weigh_terms,
)
from corrobora.text.ranking import jaccard_similarity, overlap_coefficient, select_diverse_items
from corrobora.text.segmentation import split_sentences
from corrobora.text.tokens import fold_whitespace, stem_text
from corrobora.text.vocabulary import (
    Aliases,
    Equivalence,
    add_aliased_stems,
    find_equivalences,
    find_expansions,
    map_aliases,
    map_broader_names,
    map_compounds,
)

_OTHER_EDITION = 0.35  # how much a statement of another edition counts as a repetition
_INSIDE, _LEAST_STEMS = 0.95, 5  # or from this share on, where the shorter one has as many stems
_SAME = 0.8  # from this on two statements of one edition are one
_CONFIDENCE_SHARE = 0.3
_UNANCHORED = 0.5  # a statement that names nothing the question is about
_DIFFERS = 1.6
_EXPLAINS = 0.8  # what a sentence gains that says what the thing is that shall be explained
_HEADING_CHARS = 120
_OF_THE_TABLE = 0.5  # share of the topic that a row holds under its heads
_OF_ANOTHER_SOURCE = 0.4
_YEAR_SHARE = 0.5  # what the year that is asked for counts beside the other words
_LATER = 0.95  # for each sentence that is read before the one that answers
_BY_SENTENCE = 0.75  # a fact is worth what its best sentence is, and what it says as a whole


@dataclass(frozen=True, slots=True)
class RankedFact:
    """A fact with its worth for one text."""

    fact: Fact
    worth: float
    stems: frozenset[str]
    core: str = ""  # its sentence that speaks best
    share: float = 0.0  # of the topic of the text that it holds, with its headings
    fits: bool = False  # a sentence of it is of the very kind that is asked for


def fact_text(fact: Fact) -> str:
    """Return the quote of a fact on one line: its characters, white space apart."""
    return fold_whitespace(fact.quote)


def rank_facts(text: str, facts: Sequence[Fact], *, compared: frozenset[str] = frozenset()) -> tuple[RankedFact, ...]:
    """Rank facts for `text`, best first; ties go to the lower id, so that the order of the input does not matter.

    Facts in `compared` take part in a difference between sources: if a change is asked for, they answer it.
    """
    text = split_joined_names(text)
    distinct = sorted({fact.id: fact for fact in facts}.values(), key=lambda fact: fact.id)
    read = weigh_terms(text)
    about = [own for name in find_anchors(text) if (own := frozenset(stem_text(name)))]
    wanted, kind, releases = read_expectation(text), classify_question(text), find_asked_releases(text)
    names = {**map_compounds(text), **_other_names(text, distinct, read, about)}
    titled = _common_title(distinct)
    sourced = any(names_source(text, f"{fact.url} {fact.title}") for fact in distinct)
    sayings = _split_facts(distinct, names)
    best = _best_sentences(sayings, _score_sentences(text, sayings, titled))
    entire = [_make_sentence(fact, fact_text(fact), names, at) for at, fact in enumerate(distinct)]
    whole = dict(zip((fact.id for fact in distinct), _score_sentences(text, entire, titled), strict=True))
    named = {fact.id for fact in distinct if not about or any(own <= _fact_stems(fact) for own in about)}
    found = [
        RankedFact(
            fact,
            (_BY_SENTENCE * best[fact.id][0] + (1 - _BY_SENTENCE) * whole[fact.id])
            * (ASIDE if is_aside(fact.heading) else 1.0)
            * (1 - _CONFIDENCE_SHARE + _CONFIDENCE_SHARE * fact.confidence)
            * (1.0 if fact.id in named else _UNANCHORED)
            * _source_factor(text, fact, sourced=sourced)
            * score_year_match(text, fact_text(fact))
            * score_release_match(releases, _release_context(fact), every=asks_for_every_change(text))
            * (_DIFFERS if wanted.comparison and fact.id in compared else 1.0),
            frozenset(stem_text(fact_text(fact))),
            best[fact.id][1],
            _topic_coverage(read.topic, fact, names)
            + (_YEAR_SHARE if score_year_match(text, fact_text(fact)) > 1 else 0.0),
            score_answer_fit(best[fact.id][1], kind) >= FITS_KIND
            or score_answer_fit(fact_text(fact), kind) >= FITS_KIND,
        )
        for fact in distinct
        if fact.id in best
    ]
    return tuple(sorted(_promote_superlatives(text, found), key=lambda one: (-one.worth, one.fact.id)))


def _promote_superlatives(text: str, found: Sequence[RankedFact]) -> list[RankedFact]:
    """If the highest or lowest value is asked for, put the row that has it first."""
    wanted = find_extreme(text)
    rows = [piece for one in found for piece in fact_text(one.fact).split(". ")] if wanted is not None else []
    if wanted is None or not (best := {rows[at] for at in find_foremost_rows(rows, wanted)}):
        return list(found)
    most = max(one.worth for one in found)
    return [
        replace(one, worth=one.worth + most, share=1.0, fits=True)
        if one.share >= _OF_THE_TABLE and best & set(fact_text(one.fact).split(". "))
        else one
        for one in found
    ]


def _topic_coverage(topic: frozenset[str], fact: Fact, names: Aliases) -> float:
    held = frozenset(add_aliased_stems(stem_text(fact_text(fact)), names)) | _fact_stems(fact)
    return len(topic & held) / max(1, len(topic))


def _source_factor(question: str, fact: Fact, *, sourced: bool) -> float:
    """Prefer sources that a question names by an identifier, if any of them does."""
    if not sourced:
        return 1.0
    return 1.0 if names_source(question, f"{fact.url} {fact.title}") else _OF_ANOTHER_SOURCE


def _release_context(fact: Fact) -> tuple[str, ...]:
    """Return a fact and the texts that name its release; a quote may begin with a heading."""
    first = fact.quote.split("\n", 1)[0]
    above = first if first != fact.quote and len(first) < _HEADING_CHARS else ""
    return (fact_text(fact), above, fact.heading.rsplit(" > ", 1)[-1], f"{fact.title} {fact.version}")


def _common_title(facts: Sequence[Fact]) -> frozenset[str]:
    """Return the stems that all titles share."""
    titles = [frozenset(stem_text(fact.title)) for fact in facts]
    return titles[0].intersection(*titles[1:]) if titles else frozenset()


def _score_sentences(text: str, sayings: Sequence[FactSentence], titled: frozenset[str]) -> list[float]:
    """Score each sentence for `text`: words, closeness, kind, and whether it can stand alone."""
    read, wanted, kind, thing = (
        weigh_terms(text),
        read_expectation(text),
        classify_question(text),
        find_explained_term(text),
    )
    weights = damp_title_terms(
        weigh_by_rarity(read.weights, compute_rarity(saying.unit.stems for saying in sayings)), titled
    )
    return [
        score.total
        * preference_factor(saying.text, wanted, kind)
        * subject_factor(read.topic, saying.unit.stems)
        * score_proximity(saying.unit.stems, read.topic)
        * score_brevity(saying.unit.stems)
        * score_standalone(saying.text)
        * (1 + _EXPLAINS * score_explanation(saying.text, thing))
        * (QUESTION if is_question(saying.text) else 1.0)
        for saying, score in zip(sayings, score_sentences([s.unit for s in sayings], weights), strict=True)
    ]


def _best_sentences(sayings: Sequence[FactSentence], worths: Sequence[float]) -> dict[FactId, tuple[float, str]]:
    """Return the best sentence of each fact with its score; later sentences count less."""
    best: dict[FactId, tuple[float, str]] = {}
    place: Counter[FactId] = Counter()
    for saying, each in zip(sayings, worths, strict=True):
        worth = each * _LATER ** place[saying.fact.id]
        place[saying.fact.id] += 1
        if worth > best.get(saying.fact.id, (-1.0, ""))[0]:
            best[saying.fact.id] = worth, saying.text
    return best


@dataclass(frozen=True, slots=True)
class FactSentence:
    """One sentence of a fact with the headings of its passage."""

    fact: Fact
    text: str
    unit: SentenceTerms


def _other_names(question: str, facts: Sequence[Fact], read: WeightedTerms, about: Sequence[frozenset[str]]) -> Aliases:
    single = frozenset(term for own in about if len(own) == 1 for term in own)
    pairs = [
        *fact_equivalences(facts),
        *(p for f in facts for p in find_expansions(f"{fact_text(f)} {f.title}", question)),
    ]
    return {**map_aliases(frozenset(read.weights), pairs), **map_broader_names([fact_text(f) for f in facts], single)}


def _split_facts(facts: Sequence[Fact], names: Aliases) -> list[FactSentence]:
    """Take the facts apart into their sentences."""
    found: list[FactSentence] = []
    for at, fact in enumerate(facts):
        text = fact_text(fact)
        found += (_make_sentence(fact, text[span.start : span.end], names, at) for span in split_sentences(text))
    return found


def _make_sentence(fact: Fact, text: str, names: Aliases, paragraph: int) -> FactSentence:
    above = frozenset(stem_text(f"{fact.title} {fact.heading} {fact.version}"))
    return FactSentence(
        fact, text, SentenceTerms(add_aliased_stems(stem_text(split_joined_names(text)), names), above, paragraph)
    )


def _fact_stems(fact: Fact) -> frozenset[str]:
    return frozenset(stem_text(split_joined_names(f"{fact_text(fact)} {fact.title} {fact.heading} {fact.version}")))


def fact_equivalences(facts: Sequence[Fact]) -> list[Equivalence]:
    """Return the equivalences that the facts themselves state."""
    return list(dict.fromkeys(pair for fact in facts for pair in find_equivalences(fact_text(fact))))


def select_diverse(items: Sequence[RankedFact], limit: int) -> tuple[RankedFact, ...]:
    """Select at most `limit` facts by maximal marginal relevance, without repetitions in one edition."""
    kept: list[RankedFact] = []
    for one in select_diverse_items(
        items, lambda r: r.worth, _fact_similarity, limit=min(len(items), 3 * limit), trade=0.75
    ):
        if len(kept) >= limit:
            break
        if not any(_fact_edition(one) == _fact_edition(other) and _is_repetition(one, other) for other in kept):
            kept.append(one)
    return tuple(kept)


def _is_repetition(one: RankedFact, other: RankedFact) -> bool:
    """True if two statements are nearly equal, or one adds little to the other."""
    inside = (
        min(len(one.stems), len(other.stems)) >= _LEAST_STEMS and overlap_coefficient(one.stems, other.stems) >= _INSIDE
    )
    return inside or jaccard_similarity(one.stems, other.stems) >= _SAME


def _fact_similarity(a: RankedFact, b: RankedFact) -> float:
    alike = jaccard_similarity(a.stems, b.stems)
    return alike if _fact_edition(a) == _fact_edition(b) else alike * _OTHER_EDITION


def _fact_edition(one: RankedFact) -> str:
    return one.fact.version or one.fact.published


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

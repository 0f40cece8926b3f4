"""Scope without a model: the queries of one round, and which candidate sources to read.

Knows the open questions, learned words, names, escapes and hints of one thread. Does not know the library; every query
differs from those asked before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from corrobora.analysts.extractive.plan import distinct_queries, topic_text
from corrobora.domain.evidence import Query
from corrobora.domain.limits import LIMITS
from corrobora.domain.thread import Escape, Intent, ScopeInput
from corrobora.policies.grading import PublisherStanding, judge_address
from corrobora.policies.queries import GENERIC_WORDS, reword_query
from corrobora.roles.forms import drop_duplicates
from corrobora.roles.scope import Candidate, Shortlist, Shortlisted, Sweep
from corrobora.text.mentions import find_mentions, find_names
from corrobora.text.phrases import describe_code, format_count
from corrobora.text.quantities import find_asked_releases, find_years, is_calendar_name
from corrobora.text.questions import (
    find_alternatives,
    find_anchors,
    find_attributions,
    find_compared_sides,
    find_topic_stems,
    find_topic_words,
    is_relational,
)
from corrobora.text.ranking import jaccard_similarity, select_diverse_items
from corrobora.text.tokens import fold_text, stem_text
from corrobora.text.vocabulary import collect_equivalences, format_equivalence, parse_equivalence, weigh_stem

_TELLING = 6  # words of a statement that are searched for
_PHRASE_WORDS = 8  # more words are a sentence, not a phrase
_LEADING = 2  # queries for open questions before one for what lies beside them
_FOLLOWED = 4  # names taken from what is known


def scope_round(given: ScopeInput) -> Intent:
    """Return the intent of one round (TRIPLET-13): a goal, its queries, and their targets.

    Round 1 asks broadly; later rounds use learned words and names from the evidence. At least one query is returned,
    and none that was asked before if another can be made.
    """
    least, most, topic = given.phase.min_queries, max(1, given.phase.max_queries), topic_text(given.question)
    wishes = distinct_queries(_candidate_queries(given), given.past_queries)[: max(least, most)]
    spare = distinct_queries([topic, *(f"{topic} {word}" for word in GENERIC_WORDS)], (*given.past_queries, *wishes))
    chosen = (*wishes, *spare[: max(0, least - len(wishes))]) or (given.question[: LIMITS.query_max_chars],)
    queries = tuple(_add_hint(text, given, at) for at, text in enumerate(chosen))
    open_ids = tuple(part.id for part in given.open_questions)
    return Intent(
        goal=_round_goal(given),
        queries=queries,
        targets=_target_ids(given, chosen) or open_ids,
        subjects=_target_subjects(given, chosen),
        reasoning=_explain_round(given),
    )


def _candidate_queries(given: ScopeInput) -> list[str]:
    """List possible queries, most wanted first."""
    if given.forced_subject:
        about = _join_phrases(given.forced_subject, topic_text(given.question))
        return [about, given.forced_subject, *_next_queries(given)]
    if given.escape is not None:
        return [*_escape_queries(given, given.escape), *_next_queries(given)]
    if given.round <= 1:
        return _first_queries(given)
    return _next_queries(given)


def _first_queries(given: ScopeInput) -> list[str]:
    """Return the planner's query or the question, then its parts and compared sides."""
    broad = given.suggested[0] if given.suggested else given.question
    parts = [part.text if is_relational(part.text) else _core_topic(part.text) for part in given.open_questions]
    sides = _side_stems(given.question)
    either = find_alternatives(given.question)
    core = "" if either and is_relational(given.question) else find_topic_words(given.question, without=sides)
    compared = [_join_phrases(side, core) for side in find_compared_sides(given.question)]
    if either:
        return [broad, *compared, *parts]
    about = [] if is_relational(given.question) else list(find_anchors(given.question))
    named = [subject.name for subject in given.uncovered]
    about = [*(f"release {number} v{number}" for number in find_asked_releases(given.question).numbers), *about]
    return [broad, *compared, *parts[:1], *about, *parts[1:], *given.suggested[1:], *named]


def _next_queries(given: ScopeInput) -> list[str]:
    """Return queries for the open questions, for names and counterparts in what was read, then those of the plan."""
    texts = _open_texts(given)
    variants = [_phrase_variants(text, given) for text in texts]
    reworded = [query for turn in zip_longest(*variants, fillvalue="") for query in turn]  # one of each text in turn
    names = _follow_names(given)
    topic = [given.next_topic] if given.next_topic else []
    if is_relational(given.question):
        queries = _alternate(names, [*topic, *reworded], _LEADING, len(topic) + 1)
    else:
        counterparts = [_pick_telling_words(term) for term in given.terms if _is_statement(term)]
        found = [*counterparts, *(names if find_anchors(given.question) else [])]
        new = list(distinct_queries(reworded, given.past_queries))
        queries = _alternate(new, found, 1 if counterparts else min(len(texts), _LEADING), _LEADING) + topic
    subjects = [_join_phrases(subject.name, topic_text(given.question)) for subject in given.uncovered]
    return [*queries, *given.suggested, *subjects]


def _alternate(first: list[str], second: list[str], of_first: int, of_second: int) -> list[str]:
    """Return the beginnings of two lists, of so many queries, then the rest of both."""
    return [*first[:of_first], *second[:of_second], *first[of_first:], *second[of_second:]]


def _is_statement(term: str) -> bool:
    """True for a whole sentence among the terms: its counterpart elsewhere is wanted."""
    return len(term.split()) > _PHRASE_WORDS


def _pick_telling_words(statement: str) -> str:
    """Return the rarest words of a statement as a query for its counterpart elsewhere, in its order."""
    words = [word for word in find_topic_words(statement).split() if word.isalpha()]
    rare = sorted(words, key=lambda word: -max(map(weigh_stem, stem_text(word))))[:_TELLING]
    return " ".join(word for word in words if word in rare)


def _open_texts(given: ScopeInput) -> list[str]:
    """Return the questions that gaps name, then the open ones; the question itself if there are none."""
    named = [gap.text.split(": ", 1)[1] for gap in given.gaps if ": " in gap.text]
    return list(dict.fromkeys((*named, *(part.text for part in given.open_questions)))) or [given.question]


def _phrase_variants(text: str, given: ScopeInput) -> list[str]:
    """Word an open question in the sources' words, in its own, and for each of the sides that it compares."""
    core = _core_topic(text)
    translated = _translate_terms(core, given)
    sides = (_join_phrases(translated, side) for side in find_compared_sides(text))
    return [*dict.fromkeys((translated, core)), *sides]


def _translate_terms(core: str, given: ScopeInput) -> str:
    learned = _learned_terms(given)
    said = [next((learned[s] for s in stem_text(word) if s in learned), "") or word for word in core.split()]
    return " ".join(dict.fromkeys(said))


def _core_topic(text: str) -> str:
    """Return the topic words of a question without compared sides and attributions."""
    aside = _side_stems(text) | frozenset(s for name in find_attributions(text) for s in stem_text(name))
    core = find_topic_words(text, without=aside)
    return core if len(stem_text(core)) > 1 else find_topic_words(text) or text.strip("? ")


def _learned_terms(given: ScopeInput) -> dict[str, str]:
    """Map stems of the question to the sources' words for them."""
    found: dict[str, str] = {}
    for pair in collect_equivalences(given.terms, ()):
        for part in stem_text(pair.other):
            found.setdefault(part, pair.one)
    return found


def _plain_terms(given: ScopeInput) -> list[str]:
    asked = set(stem_text(given.question))
    plain = (term for term in given.terms if parse_equivalence(term) is None and not _is_statement(term))
    return [term for term in plain if not set(stem_text(term)) <= asked]


def _is_name(term: str) -> bool:
    found = find_mentions(term)
    return len(found) == 1 and found[0].text == term


def _follow_names(given: ScopeInput) -> list[str]:
    """Return queries for names in the findings that are not in the question: the next hop of a chain."""
    asked = set(stem_text(given.question))
    past = {fold_text(query) for query in given.past_queries}
    hanging = is_relational(given.question)
    met = [term for term in _plain_terms(given) if _is_name(term)]
    met += [name for line in given.known for name in find_names(line)]
    met = [name for name in met if hanging or ((" " in name or name.isupper()) and not any(c.isdigit() for c in name))]
    found: dict[str, None] = {}
    for name in met:
        own = set(stem_text(name))
        if (
            own
            and not own <= asked
            and not is_calendar_name(name)
            and not any(fold_text(name) in query for query in past)
        ):
            found[name] = None
    anchor = next(iter(find_anchors(given.question)), "") or topic_text(given.question)
    return [name if hanging else _join_phrases(name, anchor) for name in list(found)[:_FOLLOWED]]


def _escape_queries(given: ScopeInput, escape: Escape) -> list[str]:
    topic = topic_text(given.question)
    match escape:
        case Escape.REFORMULATE:
            learned = [*_learned_terms(given).values(), *_plain_terms(given), *_related_names(given)]
            return [reword_query((given.past_queries or (topic,))[-1], given.past_queries, learned)]
        case Escape.SHIFT_SOURCES:
            kinds = " ".join(hint for hint in given.phase.query_hints if not hint.startswith("site:"))
            return [_join_phrases(find_topic_words(part.text), kinds) for part in given.open_questions] or [topic]
        case Escape.LATERAL:
            return [*_related_names(given), *_plain_terms(given)]
        case Escape.NEGATIVE:
            return [f"no evidence of {topic}", f"{topic} not listed", f"{topic} unknown or disputed"]
        case Escape.COMMUNITY:
            return [f"experience with {topic}", f"has anyone {topic}", f"{topic} in practice"]
        case Escape.FRACTAL:
            return [f"{word} {topic}" for word in ("assumptions behind", "definition of", "alternatives to")]


def _related_names(given: ScopeInput) -> list[str]:
    asked = set(stem_text(given.question))
    return [name for line in given.known for name in find_names(line) if not set(stem_text(name)) <= asked]


def _side_stems(question: str) -> frozenset[str]:
    return frozenset(s for side in find_compared_sides(question) for s in stem_text(side))


def _join_phrases(first: str, second: str) -> str:
    said = set(stem_text(first))
    return " ".join((first, *(word for word in second.split() if not set(stem_text(word)) <= said))).strip()


def _add_hint(text: str, given: ScopeInput, at: int) -> Query:
    """Add one of the phase's hints in turn: `site:` restricts the place, other hints are words."""
    hints = given.phase.query_hints
    if not hints:
        return Query(text, intent=_round_goal(given))
    hint = hints[(given.round - 1 + at) % len(hints)]
    if hint.startswith("site:"):
        return Query(text, site=hint.removeprefix("site:"), intent=_round_goal(given))
    return Query(f"{text} {hint}"[: LIMITS.query_max_chars], intent=_round_goal(given))


def _round_goal(given: ScopeInput) -> str:
    if given.forced_subject:
        return f"Cover {given.forced_subject}"
    if given.gaps and given.round > 1:
        return given.gaps[0].text
    if given.open_questions:
        return given.open_questions[0].text
    return given.objective or given.question


def _target_ids(given: ScopeInput, chosen: Sequence[str]) -> tuple[str, ...]:
    said = set(stem_text(" ".join(chosen)))
    return tuple(part.id for part in given.open_questions if set(find_topic_stems(part.text)) & said)


def _target_subjects(given: ScopeInput, chosen: Sequence[str]) -> tuple[str, ...]:
    said = set(stem_text(" ".join(chosen)))
    aimed = (subject.name for subject in given.uncovered if set(stem_text(subject.name)) <= said)
    return drop_duplicates(aimed)


def _explain_round(given: ScopeInput) -> str:
    if given.escape is not None:
        return f"Escape from a plateau: {describe_code(given.escape)}."
    if given.round <= 1:
        return "First round: the question as it was asked, broadly, then its parts."
    learned = [format_equivalence(pair) for pair in collect_equivalences(given.terms, ())]
    open_ids = ", ".join(part.id for part in given.open_questions) or "none"
    words = f"; the sources' words: {'; '.join(learned[:3])}" if learned else ""
    return f"Round {given.round}: open: {open_ids}{words}."


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
    return max(find_years(candidate.published), default=0)


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

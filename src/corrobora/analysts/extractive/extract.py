"""Extract without a model: whole sentences of one source that answer the question, quoted literally.

Knows the passages of one source, what is asked of it, and words learned earlier. Does not know other sources.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from corrobora.analysts.extractive.contradictions import add_insights
from corrobora.analysts.extractive.lines import ASIDE, QUESTION, Line, is_question, read_lines, split_joined_names
from corrobora.analysts.extractive.quotes import (
    SentenceMatch,
    extend_matches,
    grow_quote,
    match_sentence,
    preference_factor,
    subject_factor,
    topic_share,
)
from corrobora.analysts.extractive.relevance import (
    compute_rarity,
    damp_title_terms,
    find_explained_term,
    find_extreme,
    find_foremost_rows,
    score_brevity,
    score_explanation,
    score_proximity,
    score_sentences,
    weigh_by_rarity,
)
from corrobora.domain.limits import LIMITS
from corrobora.domain.plan import SubQuestion
from corrobora.roles.extract import Excerpt, Extraction, Quote
from corrobora.text.answers import ExpectedAnswer, score_answer_fit
from corrobora.text.answers import classify_question as kind_of
from corrobora.text.layout import read_heads, read_row, split_cells
from corrobora.text.quantities import Releases, find_asked_releases, score_release_match
from corrobora.text.questions import (
    asks_for_every_change,
    find_anchors,
    read_expectation,
    score_year_match,
    weigh_terms,
)
from corrobora.text.tokens import fold_whitespace, stem_text
from corrobora.text.vocabulary import (
    Aliases,
    Equivalence,
    add_aliased_stems,
    find_broader_names,
    find_equivalences,
    find_expansions,
    find_recurring_pairs,
    list_equivalent_terms,
    make_heading_phrase,
    map_aliases,
    map_broader_names,
    map_compounds,
    parse_equivalence,
)

QUOTES_PER_QUESTION = 5
QUOTES_PER_SOURCE = 16
_NEAR_BEST, _BROAD_BEST = 0.4, 0.25  # of the best sentence's worth; less where a thing shall be explained
_AROUND = 0.3  # what the neighbours' words count for a sentence
_PASSED = 0.6  # of a question's worth goes to what answers it
_WITH_HEADING = 400  # characters of a quote that begins with the heading above it
_UNANCHORED = 0.6  # of its confidence stays a sentence that names nothing the question is about
_DEFINES = 0.4
_DEFINITIONS = 2
_HEADING_STEMS = 5
_TERMS = 8
_IN_RELEASE = 0.5
_FOREMOST, _OF_THE_TABLE = 1.5, 0.5
_ENTRY = 80  # characters of a glossary entry that only points elsewhere


@dataclass(frozen=True, slots=True)
class Span:
    """Lines quoted together, and how well they match each sub-question; "" stands for none of them."""

    first: int
    last: int
    speaks: Mapping[str, float]


def extract_quotes(given: Excerpt) -> Extraction:
    """Return what one source says about the question as literal quotes; `relevant` is False if nothing does."""
    lines = read_lines(given)
    pairs = [pair for line in lines for pair in find_equivalences(line.text)]
    pairs += [
        pair for line in lines if len(line.text) < _ENTRY for pair in find_equivalences(f"{line.above}: {line.text}")
    ]
    pairs += [pair for term in given.terms if (pair := parse_equivalence(term)) is not None]
    wording = " ".join((given.question, *(part.text for part in given.sub_questions)))
    pairs += [pair for line in lines for pair in find_expansions(f"{line.above}. {line.text}", wording)]
    pairs += find_expansions(given.title, wording)
    asked = tuple(replace(part, text=split_joined_names(part.text)) for part in given.sub_questions) or (
        SubQuestion("", split_joined_names(given.question)),
    )
    other_names = {**_question_aliases(given, asked, pairs), **_category_names(asked, lines)}
    lines = [
        replace(line, unit=replace(line.unit, stems=add_aliased_stems(line.unit.stems, other_names))) for line in lines
    ]
    chosen = _choose(given, asked, lines)
    terms = _source_terms(given, asked, lines, pairs)
    chosen |= {at: {"": _DEFINES} for at in _find_definitions(asked, lines) if at not in chosen}
    if not chosen:
        return Extraction((), relevant=False, terms=tuple(t for t in terms if parse_equivalence(t) is not None))
    kinds = {part.id: kind_of(part.text) for part in asked}
    named = [own for part in asked for name in find_anchors(part.text) if (own := frozenset(stem_text(name)))]
    spans = [_prepend_name(lines, span, named) for span in _spans(lines, chosen, kinds)]
    topics = {part.id: weigh_terms(part.text).topic for part in asked}
    quotes = [quote for span in spans if (quote := _to_quote(given, lines, span, topics)) is not None]
    return add_insights(given, lines, tuple(_merge_contained(quotes)), terms)


def _question_aliases(given: Excerpt, asked: Sequence[SubQuestion], pairs: Sequence[Equivalence]) -> Aliases:
    wanted = frozenset(stem_text(given.question)).union(*(stem_text(part.text) for part in asked))
    return {**map_compounds(" ".join((given.question, *(part.text for part in asked)))), **map_aliases(wanted, pairs)}


def _category_names(asked: Sequence[SubQuestion], lines: Sequence[Line]) -> Aliases:
    """Return the broader terms this source uses for the things asked about."""
    named = frozenset(own[0] for part in asked for name in find_anchors(part.text) if len(own := stem_text(name)) == 1)
    return map_broader_names([line.text for line in lines if named & frozenset(line.unit.stems)], named)


def _choose(given: Excerpt, asked: Sequence[SubQuestion], lines: Sequence[Line]) -> dict[int, dict[str, float]]:
    """Return the chosen lines with the coverage of each sub-question they match; "" stands for none of them."""
    units = [line.unit for line in lines]
    rare = compute_rarity(unit.stems for unit in units)
    titled = lines[0].title if lines else frozenset[str]()
    chosen: dict[int, dict[str, float]] = {}
    for part in asked:
        read, wanted = weigh_terms(part.text), read_expectation(part.text)
        kind, thing, releases = kind_of(part.text), find_explained_term(part.text), find_asked_releases(part.text)
        weights = damp_title_terms(weigh_by_rarity(read.weights, rare), titled)
        scores = score_sentences(units, weights)
        near = [_context_share(weights, line) for line in lines]
        worth = [
            (s.total + _AROUND * near[at])
            * preference_factor(line.text, wanted, kind)
            * subject_factor(read.topic, line.unit.stems)
            * score_proximity(line.unit.stems, read.topic)
            * score_brevity(line.unit.stems)
            * (1 + score_explanation(line.text, thing))
            * score_year_match(part.text, line.text)
            * score_release_match(releases, _release_context(given, line), every=asks_for_every_change(part.text))
            * line.weight
            for at, (s, line) in enumerate(zip(scores, lines, strict=True))
        ]
        speaks = extend_matches(
            [match_sentence(part.text, read.topic, line, wanted, kind) for line in lines], part.text, lines, wanted
        )
        _credit_answers(lines, worth, speaks, kind)
        if asks_for_every_change(part.text):
            _mark_release(given, lines, speaks, releases)
        for at in _superlative_rows(lines, part.text, read.topic):
            worth[at], speaks[at] = _FOREMOST * max(worth), SentenceMatch(1.0, answers=True)
            if lines[at].table >= 0:
                speaks[_table_header(lines, at)] = SentenceMatch(0.0)  # they would tell all rows
        best = max((worth[at] for at, share in enumerate(speaks) if share.whole), default=0.0)
        near_best, most = (_BROAD_BEST, 2 * QUOTES_PER_QUESTION) if thing else (_NEAR_BEST, QUOTES_PER_QUESTION)
        fit_for = [at for at, share in enumerate(speaks) if share.whole and worth[at] >= near_best * best]
        for at in sorted(fit_for, key=lambda at: (-worth[at], at))[:most]:
            chosen.setdefault(at, {})[part.id if speaks[at].answers else ""] = speaks[at].whole
    if len(chosen) > QUOTES_PER_SOURCE:
        kept = sorted(chosen, key=lambda at: (-max(chosen[at].values()), at))[:QUOTES_PER_SOURCE]
        chosen = {at: chosen[at] for at in kept}
    return chosen


def _superlative_rows(lines: Sequence[Line], question: str, topic: frozenset[str]) -> list[int]:
    """Return the rows with the highest or lowest value asked for, from tables that match half of the topic."""
    wanted = find_extreme(question)
    if wanted is None:
        return []
    tables: dict[object, list[int]] = {}
    for at, line in enumerate(lines):
        if line.table >= 0:
            tables.setdefault((line.passage, line.table), []).append(at)
        elif heads := read_heads(line.text):
            tables.setdefault(heads, []).append(at)
    found: list[int] = []
    for group in tables.values():
        rows, texts = group, [lines[at].text for at in group]
        if lines[group[0]].table >= 0:
            head, *cells = map(split_cells, texts)
            rows, texts = group[1:], [read_row(head, row) for row in cells]
        best = find_foremost_rows(texts, wanted)
        found += [rows[at] for at in sorted(best) if topic_share(topic, lines[rows[at]].unit).whole >= _OF_THE_TABLE]
    return found


def _table_header(lines: Sequence[Line], at: int) -> int:
    """Return the header row of a row's table."""
    while at and (lines[at - 1].passage, lines[at - 1].table) == (lines[at].passage, lines[at].table):
        at -= 1
    return at


def _release_context(given: Excerpt, line: Line) -> tuple[str, ...]:
    """Return a sentence and the texts that name its release: the headings above it, else the title."""
    path = given.passages[line.passage].heading
    return (line.text, line.above, path if not line.above else "", f"{given.title} {given.version}")


def _mark_release(given: Excerpt, lines: Sequence[Line], speaks: list[SentenceMatch], releases: Releases) -> None:
    """Let sentences under the name of a release count as about it, although they do not repeat it."""
    for at, line in enumerate(lines):
        if (
            not speaks[at].answers
            and line.weight >= ASIDE
            and score_release_match(releases, _release_context(given, line)) > 1
        ):
            speaks[at] = SentenceMatch(_IN_RELEASE, answers=True)


def _context_share(weights: Mapping[str, float], line: Line) -> float:
    """Return the share of the question that a sentence and its neighbours contain together."""
    mass = sum(weights.values()) or 1.0
    return sum(weight for term, weight in weights.items() if term in line.around) / mass


def _credit_answers(
    lines: Sequence[Line], worth: list[float], speaks: list[SentenceMatch], kind: ExpectedAnswer
) -> None:
    """Credit the sentence after a question: in a source too, what follows a question answers it."""
    for at in range(len(lines) - 1, 0, -1):
        before = lines[at - 1]
        if not is_question(before.text) or before.passage != lines[at].passage or is_question(lines[at].text):
            continue
        passed = _PASSED * worth[at - 1] * (1 + score_answer_fit(lines[at].text, kind))
        if speaks[at - 1].whole and passed > worth[at]:
            worth[at] = passed
            speaks[at] = max(speaks[at], speaks[at - 1], key=lambda one: (one.answers, one.whole))


def _spans(
    lines: Sequence[Line], chosen: Mapping[int, Mapping[str, float]], kinds: Mapping[str, ExpectedAnswer]
) -> list[Span]:
    """Extend the chosen lines, in order; overlapping quotes become one as far as its length allows."""
    spans: list[Span] = []
    for at in sorted(chosen):
        kind = next((kinds[part] for part in chosen[at] if part in kinds), ExpectedAnswer())
        first, last = grow_quote(lines, at, kind)
        before = spans[-1] if spans else None
        if before is not None and first <= before.last and lines[first].passage == lines[before.first].passage:
            start, end = min(first, before.first), max(last, before.last)
            if lines[end].end - lines[start].start <= LIMITS.quote_max_chars:
                spans[-1] = Span(start, end, _merge_shares(before.speaks, chosen[at]))
                continue
            if at <= before.last:
                spans[-1] = replace(before, speaks=_merge_shares(before.speaks, chosen[at]))
                continue
            first = before.last + 1
        spans.append(Span(first, last, chosen[at]))
    return spans


def _prepend_name(lines: Sequence[Line], span: Span, named: Sequence[frozenset[str]]) -> Span:
    """Begin a span with the sentence before it if that one names what is asked about."""
    first = lines[span.first]
    held = frozenset(term for line in lines[span.first : span.last + 1] for term in line.unit.stems)
    missing = [name for name in named if not name <= held | first.unit.heading]
    if len(missing) < len(named) or not any(name <= first.before for name in missing):
        return span
    fits = lines[span.last].end - lines[span.first - 1].start <= LIMITS.quote_max_chars
    return replace(span, first=span.first - 1) if fits else span


def _merge_shares(one: Mapping[str, float], other: Mapping[str, float]) -> Mapping[str, float]:
    return {part: max(one.get(part, 0.0), other.get(part, 0.0)) for part in (*one, *other)}


def _find_definitions(asked: Sequence[SubQuestion], lines: Sequence[Line]) -> list[int]:
    """Return the lines that give another name for what is asked."""
    topic = frozenset(term for part in asked for term in weigh_terms(part.text).topic)
    texts = (f"{line.above}: {line.text}" if len(line.text) < _ENTRY else line.text for line in lines)
    return [at for at, text in enumerate(texts) if list_equivalent_terms(topic, find_equivalences(text))][:_DEFINITIONS]


def _to_quote(given: Excerpt, lines: Sequence[Line], span: Span, topics: Mapping[str, frozenset[str]]) -> Quote | None:
    """Quote a span literally, with the heading above it if it is too short or only the heading names its topic."""
    line, speaks = lines[span.first], span.speaks
    text = given.passages[line.passage].text
    start, end = line.start, lines[span.last].end
    if end - start < LIMITS.quote_min_chars and line.opened >= 0:
        start = line.opened
    if 0 <= line.under < start and end - line.under <= _WITH_HEADING and _named_above(lines, span, topics):
        start = line.under
    literal = _truncate_quote(text[start:end])
    if len(literal) < LIMITS.quote_min_chars:
        return None
    coverage = max(speaks.values()) * (1.0 if any(speaks) else _UNANCHORED)
    answers = tuple(part.id for part in given.sub_questions if part.id in speaks)
    held = frozenset(term for each in lines[span.first : span.last + 1] for term in each.unit.stems)
    named = tuple(s.name for s in given.subjects if set(stem_text(s.name)) & (held | line.unit.heading))
    return Quote(
        passage=given.passages[line.passage].id,
        quote=literal,
        claim=fold_whitespace(literal),
        confidence=round(min(0.9, 0.3 + 0.6 * coverage), 3),
        answers=answers,
        subjects=named,
    )


def _named_above(lines: Sequence[Line], span: Span, topics: Mapping[str, frozenset[str]]) -> bool:
    """True if a span contains little of its topic and the heading above it names it."""
    said = frozenset(term for each in lines[span.first : span.last + 1] for term in each.unit.stems)
    above = frozenset(stem_text(lines[span.first].above)) - lines[span.first].title
    return any(2 * len(topic & said) < len(topic) and topic & above - said for topic in _span_topics(span, topics))


def _span_topics(span: Span, topics: Mapping[str, frozenset[str]]) -> list[frozenset[str]]:
    return [topic for part, topic in topics.items() if part in span.speaks]


def _truncate_quote(literal: str) -> str:
    """Cut an overlong sentence at the last clause that fits."""
    if len(literal) <= LIMITS.quote_max_chars:
        return literal
    head = literal[: LIMITS.quote_max_chars]
    for mark in ("; ", ". ", ", ", " "):
        at = head.rfind(mark)
        if at > LIMITS.quote_max_chars // 2:
            return head[: at + len(mark.rstrip())].rstrip()
    return head


def _merge_contained(quotes: Sequence[Quote]) -> list[Quote]:
    """Drop quotes contained in another one, and add their answers to it."""
    kept: list[Quote] = []
    for quote in sorted(quotes, key=lambda q: -len(q.quote)):
        for at, other in enumerate(kept):
            if other.passage == quote.passage and quote.quote in other.quote:
                kept[at] = replace(other, answers=tuple(dict.fromkeys((*other.answers, *quote.answers))))
                break
        else:
            kept.append(quote)
    order = {id(quote.quote): at for at, quote in enumerate(quotes)}
    return sorted(kept, key=lambda q: order.get(id(q.quote), 0))


def _source_terms(
    given: Excerpt, asked: Sequence[SubQuestion], lines: Sequence[Line], pairs: Sequence[Equivalence]
) -> tuple[str, ...]:
    """Return the source's terms for what was asked: other names, matching headings, recurring phrases."""
    read = weigh_terms(" ".join((given.question, *(part.text for part in asked))))
    found = list_equivalent_terms(read.topic, pairs)
    filed = [name for line in lines for name in find_broader_names(line.text, frozenset(read.weights))]
    matched: dict[str, float] = {}
    for line in lines:
        above = f"{given.passages[line.passage].heading} > {line.above}"
        for name in dict.fromkeys(make_heading_phrase(part) for part in above.split(" > ")):  # a set has no fixed order
            if 0 < len(stem_text(name)) <= _HEADING_STEMS and not frozenset(stem_text(name)) <= read.topic:
                matched[name] = matched.get(name, 0.0) + len(read.topic & frozenset(line.unit.stems))
    headings = sorted((name for name, mass in matched.items() if mass > 0), key=lambda name: (-matched[name], name))
    texts = list(matched.items())
    texts += [
        (line.text, 1.0 + len(read.topic & frozenset(line.unit.stems))) for line in lines if line.weight >= QUESTION
    ]
    again = find_recurring_pairs(texts, read.topic, limit=3)
    return tuple(dict.fromkeys((*found, *filed[:2], *again, *headings[:2])))[:_TERMS]

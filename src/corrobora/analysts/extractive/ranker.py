"""Ranker: how likely each sentence of some passages answers a question, by fitted weights over readable features.

Knows the words of a question with their rarity among the sentences at hand, headings, neighbours, the order of a
search, and the kind of answer asked for. Does not know any index or subject: all statistics come from the sentences.
The weights lie in `corrobora/data/ranker.json`; `python -m bench.fit_ranker --data DIR` fits them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, pairwise

from corrobora.domain.limits import read_table
from corrobora.text.answers import (
    FITS_KIND,
    ExpectedAnswer,
    classify_question,
    find_place,
    score_answer_fit,
)
from corrobora.text.entries import read_row
from corrobora.text.measures import find_measures
from corrobora.text.quantities import (
    NUMBER_WORDS,
    Releases,
    find_asked_releases,
    find_asked_sections,
    find_date_prefixes,
    find_days,
    find_releases,
    holds_date,
    is_in_section,
)
from corrobora.text.questions import find_code, find_superlative, weigh_terms
from corrobora.text.tokens import FAMILY_LETTERS, find_literals, holds_literal, is_same_family, stem_text, stem_word
from corrobora.text.vocabulary import Aliases

FEATURES = (
    "own",  # rarity-weighted share of the question's words in the sentence
    "headed",  # of the words in it and its headings, title, speaker and lead-in
    "together",  # of the words in it, its neighbours, headings, title, speaker and lead-in
    "passage",  # of the words in its passage
    "pairs",  # of neighbouring words of the question that stand together in the sentence
    "kind",  # fit to the kind of answer asked for
    "first",  # place of its passage in the search: 1, 1/2, 1/3 ...
    "score",  # score of its passage in the search, relative to the best
    "listed",  # an item of a list, or a sentence after a colon
    "asks",  # is itself a question
    "named",  # share of the heading right above it that the question names
)
_CLOSE = 4  # words within which two words stand together
_OTHER_RELEASE = 0.3  # what a fit, and what stands below no such heading, counts where a release is asked about
_ROW_ORDER = 0.01  # what a row of a table gains at most that is otherwise worth as much as the others
_OTHER_TERM = 0.6  # what a statement counts about a term that the question does not name; the inverse if it does
_JOINED_NAMES = re.compile(r"(?<=[a-z])(?=[A-Z][a-z])")
_TAKEN = re.compile(r"[=\[<({][^,]*")
_QUESTION_CHARS = 300  # of a paragraph that asks
_ASKS = re.compile(r"[?？؟][^\w.!]*$")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence to rank. Sentences of one `passage` are given in its order."""

    text: str
    stems: tuple[str, ...]
    above: frozenset[str]  # stems of the title, the headings, the speaker and the lead-in
    passage: str
    spoken: bool = False  # a turn of a conversation
    listed: bool = False
    bare: bool = False
    score: float = 0.0  # of its passage in the search; 0.0 if unknown
    heading: frozenset[str] = frozenset()  # stems of the heading right above it
    place: str = ""  # the path of headings above it
    term: str = ""  # that it defines, or below which it stands
    source: str = ""  # title and date of its source


@dataclass(frozen=True, slots=True)
class Ranked:
    """What a sentence is worth for a question, and how much of the question's topic it covers."""

    worth: float  # 0 to 1
    own: float  # rarity-weighted share of the question's words in the sentence
    together: float  # in the sentence, its neighbours, its headings and its title
    topic: float  # plain share of the topic words in the sentence and its headings
    held: int  # topic words in the sentence itself
    words: int  # topic words in the sentence and its headings
    fits: float  # to the kind of answer asked for
    said: frozenset[str]  # words of the question in the sentence
    near: frozenset[str]  # words of the question in its passage, its headings and its title, and the place asked about


def is_question(text: str) -> bool:
    """True for a question, whatever punctuation follows its question mark."""
    return _ASKS.search(text) is not None


def stem_term(term: str) -> frozenset[str]:
    """Return the stems of a term without letters alone and what it takes: of "-c, --chunk=SIZE" those of "chunk"."""
    return frozenset(stem for stem in stem_text(_JOINED_NAMES.sub(" ", _TAKEN.sub(" ", term))) if len(stem) > 1)


@lru_cache(maxsize=4_000)  # a sentence is read as a line and ranked as a fact
def split_joined_names(text: str) -> str:
    """Split names joined by capitals.

    Example:
        >>> split_joined_names("AnnMiller uses mailCheck")
        'Ann Miller uses mailCheck'
    """
    return _JOINED_NAMES.sub(" ", text)


def find_exchanges(rows: Sequence[tuple[str, tuple[int, int]]]) -> dict[int, range]:
    """Map each sentence of a paragraph that follows a question to the sentences of the paragraph that asks it.

    Each row is a sentence with its passage and its paragraph; those of passage -1 answer nothing.
    """
    groups = [list(own) for _, own in groupby(range(len(rows)), key=lambda at: rows[at][1])]
    found: dict[int, range] = {}
    for asking, answering in pairwise(groups):
        one, other = rows[asking[-1]], rows[answering[-1]]
        asks = one[1][0] == other[1][0] >= 0 and is_question(one[0]) and not is_question(other[0])
        if asks and sum(len(rows[at][0]) for at in asking) <= _QUESTION_CHARS:
            found |= dict.fromkeys(answering, range(asking[0], asking[-1] + 1))
    return found


class QuestionTerms:
    """The words of a question as bits, with their weights among some sentences."""

    def __init__(self, question: str, sentences: Sequence[Sentence], aliases: Aliases) -> None:
        read, self._dates = weigh_terms(question), find_date_prefixes(question, bare=True)
        self._words, self._literals = len(read.weights), find_code(question)
        self.terms = (*read.weights, *self._literals, *self._dates)
        self._bits = {term: 1 << at for at, term in enumerate(self.terms)}
        self._families: dict[str, list[str]] = {}  # the terms by what all of a family begin with
        for term in read.weights:
            self._families.setdefault(term[:FAMILY_LETTERS], []).append(term)
        self._names = [
            (name, self._bits[term]) for term, names in aliases.items() if term in self._bits for name in names
        ]
        vocabulary = {stem for one in sentences for stem in one.stems}.union(*(one.above for one in sentences))
        self._known = {stem: bits for stem in vocabulary if (bits := self._match(stem))}
        self._read_spellings(tuple(read.weights), vocabulary)
        self.topic = self.read(read.topic) | sum(
            self._bits[term] for term in (*read.topic, *self._literals) if term in self._bits
        )
        self.names = self.read(read.names) & self.topic
        self.own = [self.read(one.stems) | self._read_code(one.text) | self._read_dates(one.text) for one in sentences]
        self.above = [
            self.read(one.above)
            | self._read_code(f"{one.place} {one.term}")
            | self._read_dates(f"{one.source} > {one.place}")
            for one in sentences
        ]
        count = [sum(mask >> at & 1 for mask in self.own) for at in range(len(self.terms))]
        rare = [math.log(1 + (len(sentences) - n + 0.5) / (n + 0.5)) for n in count]
        self._weights = [read.weights.get(term, 1.0) * each for term, each in zip(self.terms, rare, strict=True)]
        self._mass = sum(self._weights) or 1.0
        self.near: list[int] = []  # words in passage and headings of each sentence; filled as features are measured
        self._shares: dict[int, float] = {0: 0.0}

    def _match(self, stem: str) -> int:
        near = self._families.get(stem[:FAMILY_LETTERS], ())
        return sum(self._bits[term] for term in near if is_same_family(term, stem))

    def _read_spellings(self, terms: Sequence[str], vocabulary: set[str]) -> None:
        """Know the words of the question where a text writes "user name" as one word, or as two, or "four" as 4."""
        for term in terms:
            number = str(NUMBER_WORDS.get(term, ""))
            if number in vocabulary:
                self._known[number] = self._known.get(number, 0) | self._bits[term]
            parts = ((term[:at], rest) for at in range(3, len(term) - 2) for rest in (term[at:], f"{term[at:]}e"))
            whole = self._bits[term]
            self._names += [(frozenset(pair), whole) for pair in parts if vocabulary.issuperset(pair)]
        for one, other in pairwise(terms):
            joined = stem_word(one + other)
            if joined in vocabulary:
                self._known[joined] = self._known.get(joined, 0) | self._bits[one] | self._bits[other]

    def read(self, stems: Iterable[str]) -> int:
        """Return the words of the question, as bits, that some stems express."""
        found = 0
        for stem in stems:
            found |= self._known.get(stem, 0)
        if self._names:
            held = frozenset(stems)
            for name, bit in self._names:
                if 3 * len(held & name) >= 2 * len(name):
                    found |= bit
        return found

    def _read_code(self, text: str) -> int:
        return sum(self._bits[each] for each in self._literals if holds_literal(text, each))

    def _read_dates(self, text: str) -> int:
        said = find_date_prefixes(text) if self._dates else ()
        return sum(self._bits[each] for each in self._dates if any(holds_date(day, each) for day in said))

    def weigh_entry(self, term: str) -> float:
        """Return what the entry of a term counts: more if the question names the term, less if it names another."""
        head, name = _TAKEN.sub(" ", term), stem_term(term)
        options = any(each[0] == "-" for each in self._literals) and any(each[0] == "-" for each in find_literals(head))
        if self._read_code(head):
            return 1 / _OTHER_TERM
        return _OTHER_TERM ** (1 - 2 * (0.0 if options else self.cover_name(name))) if options or name else 1.0

    def share(self, mask: int) -> float:
        """Return the weighted share of the question that some of its words hold."""
        found = self._shares.get(mask)
        if found is None:
            found = sum(w for at, w in enumerate(self._weights) if mask >> at & 1) / self._mass
            self._shares[mask] = found
        return found

    def cover_name(self, name: frozenset[str]) -> float:
        """Return the share of a title or heading that the question names."""
        return sum(bool(self._known.get(stem, 0)) for stem in name) / len(name) if name else 0.0

    def name_terms(self, mask: int) -> frozenset[str]:
        """Return the words of the question that some bits stand for."""
        return frozenset(term for at, term in enumerate(self.terms) if mask >> at & 1)

    def count_pairs(self, stems: Sequence[str]) -> float:
        """Return the share of neighbouring words of the question that stand close together, in order, in a sentence."""
        if self._words < 2:  # noqa: PLR2004 - a pair
            return 0.0
        places = [(at, bits) for at, stem in enumerate(stems) if (bits := self._known.get(stem, 0))]
        met = 0
        for place, (at, first) in enumerate(places, start=1):
            for other, second in places[place : place + _CLOSE]:
                if other - at < _CLOSE:
                    met |= (first << 1) & second
        return met.bit_count() / (self._words - 1)


def measure_features(
    question: str, sentences: Sequence[Sentence], aliases: Aliases
) -> tuple[list[tuple[float, ...]], QuestionTerms]:
    """Return the features of each sentence in the order of `FEATURES`, each 0 to 1, and the question's terms."""
    asked = QuestionTerms(question, sentences, aliases)
    kind, releases = classify_question(question), find_asked_releases(question)
    whole: dict[str, int] = {}
    scores: dict[str, float] = {}
    for one, own in zip(sentences, asked.own, strict=True):
        whole[one.passage] = whole.get(one.passage, 0) | own
        scores[one.passage] = max(one.score, scores.get(one.passage, 0.0))
    best = max(scores.values(), default=0.0) or 1.0
    order = sorted((each for each in scores if scores[each] > 0), key=lambda each: -scores[each])
    first = {each: 1 / place for place, each in enumerate(order, start=1)}
    found: list[tuple[float, ...]] = []
    for at, one in enumerate(sentences):
        own, above = asked.own[at], asked.above[at]
        near = [n for n in (at - 1, at + 1) if 0 <= n < len(sentences) and sentences[n].passage == one.passage]
        every = own | above
        for other in near:
            every |= asked.own[other]
        below_colon = at - 1 in near and sentences[at - 1].text.endswith(":")
        asked.near.append(whole[one.passage] | above)
        found.append(
            (
                asked.share(own),
                asked.share(own | above),
                asked.share(every),
                asked.share(whole[one.passage] | above),
                asked.count_pairs(one.stems) if own.bit_count() > 1 else 0.0,
                _score_kind(one, kind, releases) if every or releases else 0.0,
                first.get(one.passage, 0.0),
                scores[one.passage] / best,
                float(one.listed or below_colon),
                float(is_question(one.text)),
                asked.cover_name(one.heading),
            )
        )
    return found, asked


def _score_kind(one: Sentence, kind: ExpectedAnswer, releases: Releases) -> float:
    """Return how well a sentence, read below its headings, fits what is asked for: of its release, if one is named."""
    fit = max(score_answer_fit(one.text, kind), FITS_KIND if find_place(one.place, kind) else 0.0)
    if not releases:
        return fit
    named = releases.is_named_in(f"{one.place} {one.text}")
    return (fit if kind.kinds else 1.0) if named else _OTHER_RELEASE * fit


def _weigh_releases(question: str, sentences: Sequence[Sentence]) -> Mapping[str, float]:
    """Return what sentences count below each heading: 1 below the release or section asked about, less below another.

    Empty if no heading names it.
    """
    asked, places = find_asked_releases(question), {one.place for one in sentences}
    sections = find_asked_sections(question)
    inside = {place for place in places if any(is_in_section(place, each) for each in sections)}
    if inside:
        return {place: 1.0 if place in inside else _OTHER_RELEASE for place in places}
    if not asked or (asked.between and len(asked.numbers) == 1):  # "since 1.2" asks for others
        return {}
    own = {place for place in places if asked.is_named_in(place)}
    others = {place: 0.0 if find_releases(place) else _OTHER_RELEASE for place in places - own}
    return {**others, **dict.fromkeys(own, 1.0)} if own else {}


def _order_rows(question: str, sentences: Sequence[Sentence]) -> list[float]:
    """Return for each row of a table how near it is to the end that is asked for, 0 to 1: "most", "the lowest"."""
    sign, thing = find_superlative(question)
    wanted = frozenset(stem_text(thing))
    values = [_read_asked_value(one.text, wanted) if sign else None for one in sentences]
    order = sorted({each for each in values if each is not None}, key=lambda value: sign * value)
    place = {value: at / len(order) for at, value in enumerate(order, start=1)}
    return [0.0 if each is None else place[each] for each in values]


def _read_asked_value(row: str, wanted: frozenset[str]) -> float | None:
    """Return the number or day of the cell of a row whose head holds most of some words; None of any other text."""
    best, found = 0, None
    for head, value in read_row(row):
        held = len(wanted.intersection(stem_text(head)))
        if held > best and (said := find_days(value)):
            best, found = held, float(said[0].replace("-", ""))
        elif held > best and (numbers := find_measures(value)):
            best, found = held, numbers[0].number
    return found


@lru_cache(maxsize=1)
def read_weights() -> dict[str, tuple[float, ...]]:
    """Return the fitted weights of prose and of dialogue, an intercept first, in the order of `FEATURES`."""
    stored = read_table("ranker.json")
    return {
        form: (stored[form]["intercept"], *(stored[form]["weights"][name] for name in FEATURES))
        for form in ("prose", "dialogue")
    }


def rank_sentences(question: str, sentences: Sequence[Sentence], aliases: Aliases) -> list[Ranked]:
    """Return the worth of each sentence for a question, in the order given."""
    features, asked = measure_features(question, sentences, aliases)
    weights = read_weights()
    counted, rows = _weigh_releases(question, sentences), _order_rows(question, sentences)
    places = frozenset(place for place, fit in counted.items() if fit == 1.0)  # the release or section asked about
    found: list[Ranked] = []
    for at, (one, row) in enumerate(zip(sentences, features, strict=True)):
        intercept, *fitted = weights["dialogue" if one.spoken else "prose"]
        total = intercept + sum(weight * value for weight, value in zip(fitted, row, strict=True))
        own = asked.own[at] & asked.topic
        topic = (asked.topic & ~asked.names | own) or asked.names  # a name counts where the sentence itself says it
        held = (own | asked.above[at]) & topic
        fits, inside = counted.get(one.place, 1.0), one.place in places
        counts = fits * asked.weigh_entry(one.term) * (1 + _ROW_ORDER * rows[at])
        found.append(
            Ranked(
                min(1.0, counts / (1 + math.exp(-max(-30.0, min(30.0, total))))),
                row[FEATURES.index("own")],
                row[FEATURES.index("together")],
                (held.bit_count() + inside) / (topic.bit_count() + bool(places) or 1),
                own.bit_count(),
                held.bit_count() + inside,
                fits * row[FEATURES.index("kind")],
                asked.name_terms(asked.own[at]),
                asked.name_terms(asked.near[at]) | (places & {one.place}),
            )
        )
    return found

"""Ranking: similarity of term sets, fusion of ranked lists, and the parts of a question that guide a search.

Pure arithmetic over scores and stems; the weights were measured on public data sets and are the same for all of them.
Knows clauses, named publishers, dates and capitalised names. Does not know any index, source or where scores come from.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Container, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from corrobora.domain.limits import read_table
from corrobora.text.quantities import (
    Releases,
    find_asked_releases,
    find_asked_sections,
    find_date_prefixes,
    holds_date,
    is_in_section,
)
from corrobora.text.questions import find_code
from corrobora.text.tokens import find_stems, holds_literal, split_words, stem_text

if TYPE_CHECKING:
    from rapidfuzz.distance import Opcodes

_HEADING_NUMBER = re.compile(r"^\W*\d[\d.]*\s+")
T = TypeVar("T")


def list_edits(one: Sequence[str], other: Sequence[str]) -> Opcodes:
    """Return how the words of one text become those of another: by what is equal, left out and put in."""
    from rapidfuzz.distance import Indel  # noqa: PLC0415 - 4 MB that no literal copy needs

    return Indel.opcodes(one, other)


def count_edits(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many words are left out or put in."""
    steps = list_edits(one, other)
    return sum(op.src_end - op.src_start + op.dest_end - op.dest_start for op in steps if op.tag != "equal")


def jaccard_similarity(a: frozenset[str], b: frozenset[str]) -> float:
    """Return the Jaccard similarity of two sets, 0.0 if either is empty."""
    return len(a & b) / len(a | b) if a and b else 0.0


def measure_name(name: str, *called: str) -> float:
    """Return how far a name is one of what something is called: 0 if a number of it, as in "Part 2", is another one.

    The number before a heading is no part of its name: nobody who names "Locks" knows that it is "2.5.12. Locks".
    """
    wanted = frozenset(stem_text(name))
    numbers = frozenset(word for word in wanted if any(letter.isdigit() for letter in word))
    others = (frozenset(stem_text(each if numbers else _HEADING_NUMBER.sub("", each))) for each in called)
    return max((jaccard_similarity(wanted, each) for each in others if numbers <= each), default=0.0)


def select_diverse_items(
    items: Sequence[T],
    relevance: Callable[[T], float],
    likeness: Callable[[T, T], float],
    *,
    limit: int,
    trade: float = 0.7,
) -> tuple[T, ...]:
    """Select at most `limit` items by maximal marginal relevance (Carbonell and Goldstein 1998).

    Each step maximises `trade` x relevance - (1 - trade) x similarity to the selection. Ties go to the earlier item, so
    the result depends on the input alone.
    """
    left = list(range(len(items)))
    worth = [relevance(item) for item in items]
    top = max(worth, default=0.0) or 1.0
    closest = [0.0] * len(items)
    chosen: list[int] = []
    while left and len(chosen) < limit:
        best = max(left, key=lambda at: (trade * worth[at] / top - (1 - trade) * closest[at], -at))
        left.remove(best)
        chosen.append(best)
        for at in left:
            closest[at] = max(closest[at], likeness(items[best], items[at]))
    return tuple(items[at] for at in chosen)


MAX_CLAUSES = 12
_MIN_CLAUSE_STEMS = 3  # content words; a shorter part joins the one before it
_CLAUSE_BORDER = re.compile(
    r"[,;:?!.]\s|[()]|\s(?:and|or|but|while|whereas|although|though|because|who|whom|whose|which|that|before|after|"
    r"when|where|if|than|as)\s",
    re.IGNORECASE,
)


def split_clauses(question: str) -> tuple[str, ...]:
    """Split a question into at most twelve parts of three or more content words; one part means "do not split"."""
    found: list[str] = []
    sizes: list[int] = []
    for part in _CLAUSE_BORDER.split(question):
        size = len(set(stem_text(part)))
        if not size:
            continue
        if found and (size < _MIN_CLAUSE_STEMS or sizes[-1] < _MIN_CLAUSE_STEMS or len(found) == MAX_CLAUSES):
            found[-1] = f"{found[-1]} {part.strip()}"
            sizes[-1] += size
        else:
            found.append(part.strip())
            sizes.append(size)
    return tuple(found)


RRF_K = 10
MEANING = ("held", "asked")  # what the weight of meaning depends on; `python -m bench.fit_meaning` fits it
_HELD = 0.05  # added to the share of words that the best passage holds, as it may hold none
SOURCE_BOOST = 2.0
DATE_BOOST = 2.0
RELEASE_BOOST = 4.0
NAME_BOOST = 3.0  # added for a token of code in a heading; 1.0 for one in the text below it
LINK_SEEDS = 3
CLAUSE_WEIGHT = 0.5
REPEAT_DAMPING = 0.95
LEAD_WEIGHT = 0.4  # of the best score, for a passage that begins with all words of the question
_LEAD_CHARS = 200

_TITLE_SEPARATOR = re.compile(r" [|–—-] |: ")


class SourceHints(NamedTuple):
    """What a question says about its sources: its words as one string; dates, releases and tokens of code it names."""

    joined: str
    dates: tuple[str, ...]
    releases: Releases
    literals: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()

    @property
    def names_parts(self) -> bool:
        """True if it names what stands in few passages, in words that stand in many."""
        return bool(self.releases or self.literals or self.sections)

    @classmethod
    def from_question(cls, question: str) -> SourceHints:
        return cls(
            f" {' '.join(split_words(question))} ",
            find_date_prefixes(question, bare=True),
            find_asked_releases(question),
            find_code(question),
            find_asked_sections(question),
        )

    def boost_factor(self, publisher: str, published: str, heading: str = "", body: str = "") -> float:
        """Return the weight of a passage: more if the question names its source, date, release or subject."""
        factor = SOURCE_BOOST if names_publisher(self.joined, publisher) else 1.0
        said = (published, *find_date_prefixes(heading)) if self.dates else ()
        if any(holds_date(day, each) for each in self.dates for day in said):
            factor *= DATE_BOOST
        if self.releases and self.releases.is_named_in(heading):
            factor *= RELEASE_BOOST
        if any(is_in_section(heading, each) for each in self.sections):
            factor *= RELEASE_BOOST
        if self.literals:
            held = (NAME_BOOST if holds_literal(heading, each) else holds_literal(body, each) for each in self.literals)
            factor *= 1.0 + sum(held) / len(self.literals)
        return factor


def names_publisher(joined: str, publisher: str) -> bool:
    """True if a question, given as " words with spaces ", names the publisher or its first part."""
    return any(f" {name} " in joined for name in list_publisher_names(publisher))


@lru_cache(maxsize=20_000)
def list_publisher_names(publisher: str) -> tuple[str, ...]:
    """Return the folded names by which a question may refer to a publisher: in full, and its first part."""
    names: list[str] = []
    for part in dict.fromkeys((publisher, _TITLE_SEPARATOR.split(publisher, maxsplit=1)[0])):
        name = split_words(part)
        if name[:1] == ["the"] and len(name) > 1:
            name = name[1:]
        if len(" ".join(name)) > 2:  # noqa: PLR2004 - shorter ones stand in any question
            names.append(" ".join(name))
    return tuple(dict.fromkeys(names))


class Candidates(NamedTuple):
    """How the candidates of one question stand by words and by meaning.

    `words` are scores by words, of any scale; `nearness` is by how many deviations a passage is nearer to the question
    than usual, at least 0. `held` is the share of the weight of the question's words, `asked`, that the best passage by
    words holds; a word that it repeats counts more than once.
    """

    words: Mapping[int, float]
    nearness: Mapping[int, float]
    held: float
    asked: float


@lru_cache(maxsize=1)
def read_meaning_weights() -> tuple[float, ...]:
    """Return the fitted intercept and the weights of `MEANING`."""
    stored = read_table("meaning.json")
    return (stored["intercept"], *(stored["weights"][name] for name in MEANING))


def list_meaning_features(held: float, asked: float) -> tuple[float, ...]:
    """Return the features of a question in the order of `MEANING`."""
    return math.log(held + _HELD), math.log(asked + 1.0)


def join_meaning(found: Candidates) -> dict[int, float]:
    """Join scores by words and by meaning: the best passage by words gets 1, and each deviation a fitted weight.

    The weight is small where the words of a question stand together in a passage and large where they do not, as in a
    question in other words than the texts.
    """
    intercept, *weights = read_meaning_weights()
    features = list_meaning_features(found.held, found.asked)
    weight = math.exp(intercept + sum(w * value for w, value in zip(weights, features, strict=True)))
    best = max(found.words.values(), default=0.0) or 1.0
    ids = dict.fromkeys((*found.words, *found.nearness))
    return {id_: found.words.get(id_, 0.0) / best + weight * found.nearness.get(id_, 0.0) for id_ in ids}


def weighted_share(wanted: Mapping[str, float], text: Container[str]) -> float:
    """Return the weighted share of the words `wanted` that `text` contains, 0 to 1."""
    total = sum(wanted.values())
    return sum(weight for word, weight in wanted.items() if word in text) / total if total else 0.0


def score_linked_passage(parent: float, sentence: float, target: float) -> float:
    """Score a passage reached by a link: the parent's score, damped, so that it never exceeds it.

    `sentence` and `target` are the shares of the question's remaining words in the linking sentence and in the target.
    """
    return parent * (0.75 + 0.1 * sentence + 0.1 * target)


def add_clause_scores(
    whole: Sequence[tuple[int, float]], parts: Sequence[tuple[float, Sequence[tuple[int, float]]]]
) -> dict[int, float]:
    """Combine the ranking of a question with the rankings of its clauses, each a list of (id, score), best first.

    Scores are relative to the best of their list. A passage gets its score for the whole question plus that for its
    best clause, since each document of a multi-hop question answers one clause. A clause weighs by the square root of
    its word weight (the first value of each part) relative to the heaviest.
    """
    scores = {id_: score / whole[0][1] for id_, score in whole}
    heaviest = max((weight for weight, _ in parts), default=0.0)
    best: dict[int, float] = {}
    for weight, ranked in parts:
        if not ranked or heaviest <= 0:
            continue
        factor = math.sqrt(weight / heaviest) / ranked[0][1]
        for id_, score in ranked:
            best[id_] = max(best.get(id_, 0.0), factor * score)
    for id_, score in best.items():
        scores[id_] = scores.get(id_, 0.0) + CLAUSE_WEIGHT * score
    return scores


def damp_repeated_sources(
    ranked: Sequence[tuple[int, float]], publisher: Mapping[int, str], asked: SourceHints
) -> dict[int, float]:
    """Damp repeated passages of one source if the question names several sources: it wants them all."""
    named = {each: names_publisher(asked.joined, each) for each in set(publisher.values())}
    scores = dict(ranked)
    if sum(named.values()) < 2:  # noqa: PLR2004 - one source has nobody to make room for
        return scores
    seen: dict[str, int] = {}
    for id_, score in ranked:
        name = publisher[id_]
        if named[name]:
            seen[name] = seen.get(name, 0) + 1
            scores[id_] = score * REPEAT_DAMPING ** (seen[name] - 1)
    return scores


# The results are flat around these values (weight 0.2 to 0.4, two to four passages per clause). They were chosen by
# cross-validation over all public sets; values chosen on the other sets work as well for each set alone.
MIN_FEEDBACK_CLAUSES = 3  # a question with fewer clauses usually names its subject, and feedback costs time
PASSAGES_PER_CLAUSE = 3  # the best passages of each clause ...
PASSAGES_OF_QUESTION = 3  # ... and of the whole question
MAX_FEEDBACK_NAMES = 6
FEEDBACK_WEIGHT = 0.2  # of the best score

_INNER_NAME = re.compile(r"(?<![.!?:] )(?<!^)\b[A-Z][\w'’-]+")  # a capital that does not open a sentence


class ScoredPassage(NamedTuple):
    """A passage for feedback: its document, the clauses it fits best, its score, and its text with the title."""

    document: str
    clauses: frozenset[int]
    score: float
    text: str


def select_feedback_passages(
    scores: Mapping[int, float], clauses: Sequence[Sequence[tuple[int, float]]]
) -> dict[int, frozenset[int]]:
    """Return the passages used for feedback with the clauses each fits best."""
    found: dict[int, frozenset[int]] = {}
    for number, ranked in enumerate(clauses):
        for id_, _ in ranked[:PASSAGES_PER_CLAUSE]:
            found[id_] = found.get(id_, frozenset[int]()) | {number}
    best = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:PASSAGES_OF_QUESTION]
    return {**dict.fromkeys((id_ for id_, _ in best), frozenset[int]()), **found}


def find_agreed_names(passages: Sequence[ScoredPassage], question: str) -> dict[str, float]:
    """Return the stems of the names on which passages agree, with their weights; at most six.

    "Which company pays to be the default, and is sued by a publisher?" never names its subject, but the passages that
    fit its clauses do. A name must occur for two clauses and in two documents, and not in the question.
    """
    asked = frozenset(stem_text(question))
    best = max((passage.score for passage in passages), default=0.0)
    weights: dict[str, float] = {}
    clauses: dict[str, set[int]] = {}
    documents: dict[str, set[str]] = {}
    for passage in passages:
        for name in sorted(frozenset(stem_text(" ".join(_INNER_NAME.findall(passage.text)))) - asked):
            weights[name] = weights.get(name, 0.0) + (passage.score / best if best else 0.0)
            clauses.setdefault(name, set()).update(passage.clauses)
            documents.setdefault(name, set()).add(passage.document)
    shared = [name for name in weights if len(clauses[name]) > 1 and len(documents[name]) > 1]
    return {
        name: weights[name] for name in sorted(shared, key=lambda name: (-weights[name], name))[:MAX_FEEDBACK_NAMES]
    }


def measure_leads(texts: Sequence[str], weights: Mapping[str, float]) -> list[float]:
    """Return for each passage the share of the question's weighted stems among its first words."""
    return [weighted_share(weights, held) for held in find_stems([each[:_LEAD_CHARS] for each in texts], weights)]


def apply_feedback(scores: Mapping[int, float], spoken: Mapping[int, float]) -> dict[int, float]:
    """Raise candidates by their score for the agreed names (`spoken`); no new candidates are added."""
    most = max((spoken.get(id_, 0.0) for id_ in scores), default=0.0)
    if most <= 0:
        return dict(scores)
    part = FEEDBACK_WEIGHT * max(scores.values())
    return {id_: score + part * (spoken.get(id_, 0.0) / most) for id_, score in scores.items()}

"""Select: which facts speak to a text best, without saying the same thing twice.

Knows facts and a question. Keeps two editions of one statement apart: that both say it, or differ, is the finding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from corrobora.domain.evidence import Fact, FactId
from corrobora.policies.answers import asked, fit
from corrobora.policies.definitions import explained, explains
from corrobora.policies.dialogue import apart
from corrobora.policies.directness import by_itself, close_together, in_short
from corrobora.policies.diversity import containment, marginal_relevance, overlap
from corrobora.policies.prose import prose
from corrobora.policies.questions import Weighed, anchors, every_change, expectation, names_source, of_year, weighed
from corrobora.policies.releases import asked_releases, of_release
from corrobora.policies.relevance import Unit, in_title, rank, rarity, weigh
from corrobora.policies.sentences import sentences
from corrobora.policies.superlatives import extreme, foremost
from corrobora.policies.vocabulary import Equivalence, aliases, equivalences, filed_under, joined, read_as, spelled_out
from corrobora.policies.words import stems
from corrobora.roles.extractive.lines import ASIDE, QUESTION, asks, beside_the_body
from corrobora.roles.extractive.speaking import preference, topical

_OTHER_EDITION = 0.35  # how much a statement of another edition counts as a repetition
_INSIDE, _LEAST_STEMS = 0.95, 5  # or from this share on, where the shorter one has as many stems
_SAME = 0.8  # from this on two statements of one edition are one
_CONFIDENCE_SHARE = 0.3
_UNANCHORED = 0.5  # a statement that names nothing the question is about
_DIFFERS = 1.6
_EXPLAINS = 0.8  # what a sentence gains that says what the thing is that shall be explained
_OF_THE_KIND = 0.8
_HEADING_CHARS = 120
_OF_THE_TABLE = 0.5  # share of the topic that a row holds under its heads
_OF_ANOTHER_SOURCE = 0.4
_YEAR_SHARE = 0.5  # what the year that is asked for counts beside the other words
_LATER = 0.95  # for each sentence that is read before the one that answers
_BY_SENTENCE = 0.75  # a fact is worth what its best sentence is, and what it says as a whole


@dataclass(frozen=True, slots=True)
class Ranked:
    """A fact with its worth for one text."""

    fact: Fact
    worth: float
    stems: frozenset[str]
    core: str = ""  # its sentence that speaks best
    share: float = 0.0  # of the topic of the text that it holds, with its headings
    fits: bool = False  # a sentence of it is of the very kind that is asked for


def said(fact: Fact) -> str:
    """Return the fact as a reader reads it: its quote in running text, of a table the rows that are meant."""
    return prose(fact.quote, fact.claim)


def ranked(text: str, facts: Sequence[Fact], *, compared: frozenset[str] = frozenset()) -> tuple[Ranked, ...]:
    """Rank facts for `text`, best first; ties go to the lower id, so that the order of the input does not matter.

    Facts whose ids are in `compared` stand in a difference between sources: where change is asked for, they answer it.
    """
    text = apart(text)
    distinct = sorted({fact.id: fact for fact in facts}.values(), key=lambda fact: fact.id)
    read = weighed(text)
    about = [own for name in anchors(text) if (own := frozenset(stems(name)))]
    wanted, kind, releases = expectation(text), asked(text), asked_releases(text)
    names = {**joined(text), **_other_names(text, distinct, read, about)}
    titled = _titled(distinct)
    sourced = any(names_source(text, f"{fact.url} {fact.title}") for fact in distinct)
    sayings = _sayings(distinct, names)
    best = _best_sentences(sayings, _worths(text, sayings, titled))
    entire = [_saying(fact, said(fact), names, at) for at, fact in enumerate(distinct)]
    whole = dict(zip((fact.id for fact in distinct), _worths(text, entire, titled), strict=True))
    named = {fact.id for fact in distinct if not about or any(own <= _held(fact) for own in about)}
    found = [
        Ranked(
            fact,
            (_BY_SENTENCE * best[fact.id][0] + (1 - _BY_SENTENCE) * whole[fact.id])
            * (ASIDE if beside_the_body(fact.heading) else 1.0)
            * (1 - _CONFIDENCE_SHARE + _CONFIDENCE_SHARE * fact.confidence)
            * (1.0 if fact.id in named else _UNANCHORED)
            * _of_named_source(text, fact, sourced=sourced)
            * of_year(text, said(fact))
            * of_release(releases, _placed(fact), every=every_change(text))
            * (_DIFFERS if wanted.comparison and fact.id in compared else 1.0),
            frozenset(stems(said(fact))),
            best[fact.id][1],
            _share(read.topic, fact, names) + (_YEAR_SHARE if of_year(text, said(fact)) > 1 else 0.0),
            fit(best[fact.id][1], kind) >= _OF_THE_KIND or fit(said(fact), kind) >= _OF_THE_KIND,
        )
        for fact in distinct
        if fact.id in best
    ]
    return tuple(sorted(_foremost_first(text, found), key=lambda one: (-one.worth, one.fact.id)))


def _foremost_first(text: str, found: Sequence[Ranked]) -> list[Ranked]:
    """Where the most or the least is asked for, put the row that has it before all others."""
    wanted = extreme(text)
    rows = [piece for one in found for piece in said(one.fact).split(". ")] if wanted is not None else []
    if wanted is None or not (best := {rows[at] for at in foremost(rows, wanted)}):
        return list(found)
    most = max(one.worth for one in found)
    return [
        replace(one, worth=one.worth + most, share=1.0, fits=True)
        if one.share >= _OF_THE_TABLE and best & set(said(one.fact).split(". "))
        else one
        for one in found
    ]


def _share(topic: frozenset[str], fact: Fact, names: Mapping[str, tuple[frozenset[str], ...]]) -> float:
    return len(topic & (frozenset(read_as(stems(said(fact)), names)) | _held(fact))) / max(1, len(topic))


def _of_named_source(question: str, fact: Fact, *, sourced: bool) -> float:
    """Prefer the sources that a question names by an identifier, where any of them does carry it."""
    if not sourced:
        return 1.0
    return 1.0 if names_source(question, f"{fact.url} {fact.title}") else _OF_ANOTHER_SOURCE


def _placed(fact: Fact) -> tuple[str, ...]:
    """Return a fact and what names the release it is about; a quote may begin with the heading above it."""
    first = fact.quote.split("\n", 1)[0]
    above = first if first != fact.quote and len(first) < _HEADING_CHARS else ""
    return (said(fact), above, fact.heading.rsplit(" > ", 1)[-1], f"{fact.title} {fact.version}")


def _titled(facts: Sequence[Fact]) -> frozenset[str]:
    """Return what all sources are about by their titles."""
    titles = [frozenset(stems(fact.title)) for fact in facts]
    return titles[0].intersection(*titles[1:]) if titles else frozenset()


def _worths(text: str, sayings: Sequence[Saying], titled: frozenset[str]) -> list[float]:
    """Say what each sentence is worth for `text`: its words, their closeness, its kind, and how it stands alone."""
    read, wanted, kind, thing = weighed(text), expectation(text), asked(text), explained(text)
    weights = in_title(weigh(read.weights, rarity(saying.unit.stems for saying in sayings)), titled)
    return [
        score.total
        * preference(saying.text, wanted, kind)
        * topical(read.topic, saying.unit.stems)
        * close_together(saying.unit.stems, read.topic)
        * in_short(saying.unit.stems)
        * by_itself(saying.text)
        * (1 + _EXPLAINS * explains(saying.text, thing))
        * (QUESTION if asks(saying.text) else 1.0)
        for saying, score in zip(sayings, rank([s.unit for s in sayings], weights), strict=True)
    ]


def _best_sentences(sayings: Sequence[Saying], worths: Sequence[float]) -> dict[FactId, tuple[float, str]]:
    """Return the best sentence of each fact with its worth; one that others must be read before is worth less."""
    best: dict[FactId, tuple[float, str]] = {}
    place: Counter[FactId] = Counter()
    for saying, each in zip(sayings, worths, strict=True):
        worth = each * _LATER ** place[saying.fact.id]
        place[saying.fact.id] += 1
        if worth > best.get(saying.fact.id, (-1.0, ""))[0]:
            best[saying.fact.id] = worth, saying.text
    return best


@dataclass(frozen=True, slots=True)
class Saying:
    """One sentence of a fact, read under the headings of its passage."""

    fact: Fact
    text: str
    unit: Unit


def _other_names(
    question: str, facts: Sequence[Fact], read: Weighed, about: Sequence[frozenset[str]]
) -> Mapping[str, tuple[frozenset[str], ...]]:
    single = frozenset(term for own in about if len(own) == 1 for term in own)
    pairs = [*pairs_of(facts), *(p for f in facts for p in spelled_out(f"{said(f)} {f.title}", question))]
    return {**aliases(frozenset(read.weights), pairs), **filed_under([said(f) for f in facts], single)}


def _sayings(facts: Sequence[Fact], names: Mapping[str, tuple[frozenset[str], ...]]) -> list[Saying]:
    """Take the facts apart into their sentences."""
    found: list[Saying] = []
    for at, fact in enumerate(facts):
        text = said(fact)
        found += (_saying(fact, text[span.start : span.end], names, at) for span in sentences(text))
    return found


def _saying(fact: Fact, text: str, names: Mapping[str, tuple[frozenset[str], ...]], paragraph: int) -> Saying:
    above = frozenset(stems(f"{fact.title} {fact.heading} {fact.version}"))
    return Saying(fact, text, Unit(read_as(stems(apart(text)), names), above, paragraph))


def _held(fact: Fact) -> frozenset[str]:
    return frozenset(stems(apart(f"{said(fact)} {fact.title} {fact.heading} {fact.version}")))


def pairs_of(facts: Sequence[Fact]) -> list[Equivalence]:
    """Return the equivalences that the facts themselves state."""
    return list(dict.fromkeys(pair for fact in facts for pair in equivalences(said(fact))))


def diverse(items: Sequence[Ranked], limit: int) -> tuple[Ranked, ...]:
    """Choose at most `limit` by maximal marginal relevance, repetitions of one edition left out."""
    kept: list[Ranked] = []
    for one in marginal_relevance(items, lambda r: r.worth, _likeness, limit=min(len(items), 3 * limit), trade=0.75):
        if len(kept) >= limit:
            break
        if not any(_edition(one) == _edition(other) and _repeats(one, other) for other in kept):
            kept.append(one)
    return tuple(kept)


def _repeats(one: Ranked, other: Ranked) -> bool:
    """True if two statements are nearly one, or one says little that the other does not."""
    inside = min(len(one.stems), len(other.stems)) >= _LEAST_STEMS and containment(one.stems, other.stems) >= _INSIDE
    return inside or overlap(one.stems, other.stems) >= _SAME


def _likeness(a: Ranked, b: Ranked) -> float:
    alike = overlap(a.stems, b.stems)
    return alike if _edition(a) == _edition(b) else alike * _OTHER_EDITION


def _edition(one: Ranked) -> str:
    return one.fact.version or one.fact.published

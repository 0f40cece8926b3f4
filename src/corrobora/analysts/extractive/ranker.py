"""Ranker: how likely each sentence of some passages answers a question, by fitted weights over readable features.

Knows the words of a question with their rarity among the sentences at hand, headings, neighbours, the order of a
search, the kind of answer asked for, and the forms in which five languages explain a term. Does not know any index or
subject: all statistics come from the sentences.
The weights lie in `corrobora/data/ranker.json`; `python -m bench.fit_ranker --data DIR` fits them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

from corrobora.text.answers import classify_question, score_answer_fit
from corrobora.text.questions import find_framing_stems, weigh_terms
from corrobora.text.tokens import STOP_WORDS, fold_text, is_same_family, stem_text, stem_word
from corrobora.text.vocabulary import Aliases

_EXPLANATION_QUESTIONS = tuple(
    re.compile(pattern)
    for pattern in (
        r"^what (?:is|are)(?: meant by)? (?:an? |the )?([\w .'/-]{2,60}?)\W*$",
        r"^what (?:does|do) (?:an? |the )?([\w .'/-]{2,60}?) (?:mean|stand for|do|say)\W*$",
        r"^(?:explain|describe|define)(?: to me)? (?:what (?:is|are) )?(?:an? |the )?([\w .'/-]{2,60}?)\W*$",
        r"^(?:please )?tell me about (?:the history of )?(?:an? |the )?([\w .'/-]{2,60}?)\W*$",
        r"\b(?:say|said|written|stated|known|learn|found|find) (?:about|on) (?:an? |the )?([\w .'/-]{2,60}?)\W*$",
        r"^was (?:ist|sind|bedeutet|heisst|heißt)(?: (?:ein|eine|der|die|das))? ([\w .'/-]{2,60}?)\W*$",
        r"^qu['’]?est-ce (?:que c['’]est )?(?:que |qu['’])(?:une? |les? |la |l['’]|des )?([\w .'/-]{2,60}?)\W*$",
        r"^\W*que (?:es|son|significa)(?: (?:el|la|los|las|una?|unos|unas))? ([\w .'/-]{2,60}?)\W*$",
        r"^(?:give|write) (?:me )?an? (?:overview|summary) (?:of|on|about) (?:an? |the )?([\w .'/-]{2,60}?)\W*$",
    )
)
_PART_OF = re.compile(r" (?:of|for|between|in|on|with|to|from|by|at|and|or) ")  # it asks for something of the thing
_WORD = re.compile(r"[\w'’-]+")
_STATES_WHAT_IT_IS = re.compile(
    r"(?i)^[\s,]*(?:\([^()]{1,60}\)[\s,]*)?(?:(?:is|are|was|were) (?:an?|the|any|one|both|defined|when|where|how|"
    r"what)\b|(?:ist|sind|war) (?:eine?|der|die|das)\b|(?:est|sont|etait|était) (?:une?|les?|la|des|l['’])|"
    r"(?:es|son|era) (?:una?|el|la|los|las)\b|means\b|bedeutet\b|bezeichnet\b|signifie\b|désigne\b|significa\b|"
    r"refers? to\b|stands? for\b|denotes?\b|describes?\b|consists? of\b|:\s)"
)
_STATES_WHAT_IT_DOES = re.compile(
    r"(?i)^[\s,]*(?:\([^()]{1,60}\)[\s,]*)?(?:(?!is\b|was\b|has\b|does\b)[a-z]{2,}(?<!s)s|exist|allow|help|protect|"
    r"prevent|serve|ensure|enable|provide)\b (?!of\b|and\b|or\b|in\b)"
)
_CALLED = re.compile(
    r"(?i)\b(?:called|known as|termed|named|referred to as|defined as|bekannt als|bezeichnet als|appelée?s?|"
    r"sous le nom de|conocid[oa]s? como|llamad[oa]s?|denominad[oa]s?)\s+(?:an?\s+|the\s+)?[\"'“‘«*]?$"
)
_WHICH = re.compile(r"(?i)^[\"'”’»*]?,?\s+(?:which|that|who)\s+(?:is|are|was|were|has|have|holds?|contains?)\b")
_BELONGING = re.compile(  # "the use of a kiln is a craft" tells of the use
    r"(?i)\b(?:of|for|in|on|with|from|by|to|at|de|del|en|con|von|vom|mit|für|im|du|des|dans|avec|pour)\s+"
    r"(?:(?:an?|the|this|el|la|los|las|una?|le|les|une|der|die|das|dem|den|eine[mnrs]?|ein)\s+)?$"
)
_MOST_STEMS = 4
_MAX_TERM_OFFSET = 200  # characters in which the thing must be named


@lru_cache(maxsize=1_000)
def find_explained_term(question: str) -> frozenset[str]:
    """Return the stems of the term a question wants explained ("What does HSTS do?"), or nothing."""
    folded = " ".join(fold_text(question).split())
    for pattern in _EXPLANATION_QUESTIONS:
        match = pattern.search(folded)
        if match is not None:
            own = frozenset(stem_text(match.group(1)))
            return own if len(own) <= _MOST_STEMS and _PART_OF.search(match.group(1)) is None else frozenset()
    return frozenset()


def score_explanation(text: str, thing: frozenset[str]) -> float:
    """Return how well a sentence explains a term: 1.0 if it says what it is, 0.6 what it does, else 0.0."""
    if not thing:
        return 0.0
    best = 0.0
    recent: list[tuple[str, int]] = []
    for match in _WORD.finditer(text[:_MAX_TERM_OFFSET]):
        word = fold_text(match.group())
        recent.append(("" if word in STOP_WORDS else stem_word(word), match.start()))
        span = [(term, start) for term, start in recent[-len(thing) - 1 :] if term]
        if recent[-1][0] in thing and thing <= {term for term, _ in span}:
            first = min(start for term, start in span if term in thing)
            after = text[match.end() : match.end() + 80]
            named = len(thing) == 1 and _CALLED.search(text[:first]) is not None
            telling = 0.6 if _STATES_WHAT_IT_DOES.match(after) or _WHICH.match(after) or named else 0.0
            is_it = _STATES_WHAT_IT_IS.match(after) is not None and _BELONGING.search(text[:first]) is None
            best = max(best, 1.0 if is_it else telling)
    return best


FEATURES = (
    "own",  # rarity-weighted share of the question's words in the sentence
    "headed",  # of the words in it and its headings, title, speaker and lead-in
    "together",  # of the words in it, its neighbours, headings, title, speaker and lead-in
    "passage",  # of the words in its passage
    "pairs",  # of neighbouring words of the question that stand together in the sentence
    "kind",  # fit to the kind of answer asked for
    "first",  # place of its passage in the search: 1, 1/2, 1/3 ...
    "score",  # score of its passage in the search, relative to the best
    "result",  # words of a result, not of an aim
    "listed",  # an item of a list, or a sentence after a colon
    "explains",  # says what the thing is, where that is asked
    "asks",  # is itself a question
    "bare",  # states nothing: a reference, a title, an address
)
_CLOSE = 4  # words within which two words stand together
_RESULT = re.compile(
    r"(?i)\b(?:results?|found|finds?|findings?|show(?:s|ed|n)?|demonstrat\w+|reveal\w*|observed|conclu\w+|indicat\w+|"
    r"suggests?|suggested|increas\w+|decreas\w+|reduc\w+|significant\w*|associated|compared with|therefore|thus)\b"
)
_AIM = re.compile(
    r"(?i)\b(?:aims?|aimed|objectives?|purpose|goal|to (?:determine|investigate|examine|assess|evaluate|explore|test|"
    r"compare) (?:whether|the|if|how)|we (?:investigate|investigated|examine|examined|sought|set out|asked))\b"
)
_ASKS = re.compile(r"\?[^\w.!]*$")


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
    near: frozenset[str]  # words of the question in its passage, its headings and its title


def is_question(text: str) -> bool:
    """True for a question, whatever punctuation follows its question mark."""
    return _ASKS.search(text) is not None


class QuestionTerms:
    """The words of a question as bits, with their weights among some sentences."""

    def __init__(self, question: str, sentences: Sequence[Sentence], aliases: Aliases) -> None:
        read = weigh_terms(question)
        self.terms = tuple(read.weights)
        self._bits = {term: 1 << at for at, term in enumerate(self.terms)}
        self._names = [
            (name, self._bits[term]) for term, names in aliases.items() if term in self._bits for name in names
        ]
        vocabulary = {stem for one in sentences for stem in one.stems}.union(*(one.above for one in sentences))
        self._known = {stem: bits for stem in vocabulary if (bits := self._match(stem))}
        self.topic = self.read(read.topic) | sum(self._bits[term] for term in read.topic if term in self._bits)
        self.own = [self.read(one.stems) for one in sentences]
        self.above = [self.read(one.above) for one in sentences]
        count = [sum(mask >> at & 1 for mask in self.own) for at in range(len(self.terms))]
        rare = [math.log(1 + (len(sentences) - n + 0.5) / (n + 0.5)) for n in count]
        unsaid = any(not count[at] for at, term in enumerate(self.terms) if term in read.topic)
        frame = find_framing_stems(question) if unsaid else frozenset[str]()  # said otherwise: the frame counts in full
        self._weights = [
            (1.0 if term in frame else read.weights[term]) * each for term, each in zip(self.terms, rare, strict=True)
        ]
        self._mass = sum(self._weights) or 1.0
        self.near: list[
            int
        ] = []  # the words in the passage and headings of each sentence; filled as features are measured
        self._shares: dict[int, float] = {0: 0.0}

    def _match(self, stem: str) -> int:
        return sum(bit for term, bit in self._bits.items() if is_same_family(term, stem))

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

    def share(self, mask: int) -> float:
        """Return the weighted share of the question that some of its words hold."""
        found = self._shares.get(mask)
        if found is None:
            found = sum(w for at, w in enumerate(self._weights) if mask >> at & 1) / self._mass
            self._shares[mask] = found
        return found

    def name_terms(self, mask: int) -> frozenset[str]:
        """Return the words of the question that some bits stand for."""
        return frozenset(term for at, term in enumerate(self.terms) if mask >> at & 1)

    def count_pairs(self, stems: Sequence[str]) -> float:
        """Return the share of neighbouring words of the question that stand close together, in order, in a sentence."""
        if len(self.terms) < 2:  # noqa: PLR2004 - a pair
            return 0.0
        places = [(at, bits) for at, stem in enumerate(stems) if (bits := self._known.get(stem, 0))]
        met = 0
        for at, first in places:
            for other, second in places:
                if 0 < other - at < _CLOSE:
                    met |= (first << 1) & second
        return met.bit_count() / (len(self.terms) - 1)


def measure_features(
    question: str, sentences: Sequence[Sentence], aliases: Aliases
) -> tuple[list[tuple[float, ...]], QuestionTerms]:
    """Return the features of each sentence in the order of `FEATURES`, each 0 to 1, and the question's terms."""
    asked = QuestionTerms(question, sentences, aliases)
    kind, thing = classify_question(question), find_explained_term(question)
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
        near = 0
        for other in (at - 1, at + 1):
            if 0 <= other < len(sentences) and sentences[other].passage == one.passage:
                near |= asked.own[other]
        every = own | above | near
        asked.near.append(whole[one.passage] | above)
        share = asked.share(own)
        below_colon = at > 0 and sentences[at - 1].passage == one.passage and sentences[at - 1].text.endswith(":")
        result = (_RESULT.search(one.text) is not None) - 2 * (_AIM.search(one.text) is not None) if own else 0
        found.append(
            (
                share,
                asked.share(own | above),
                asked.share(every),
                asked.share(whole[one.passage] | above),
                asked.count_pairs(one.stems) if own.bit_count() > 1 else 0.0,
                score_answer_fit(one.text, kind) if every else 0.0,
                first.get(one.passage, 0.0),
                scores[one.passage] / best,
                float(result),
                float(one.listed or below_colon),
                score_explanation(one.text, thing) if thing and own else 0.0,
                float(is_question(one.text)),
                float(one.bare),
            )
        )
    return found, asked


@lru_cache(maxsize=1)
def read_weights() -> dict[str, tuple[float, ...]]:
    """Return the fitted weights of prose and of dialogue, an intercept first, in the order of `FEATURES`."""
    stored = json.loads(resources.files("corrobora.data").joinpath("ranker.json").read_text("ascii"))
    return {
        form: (stored[form]["intercept"], *(stored[form]["weights"][name] for name in FEATURES))
        for form in ("prose", "dialogue")
    }


def rank_sentences(question: str, sentences: Sequence[Sentence], aliases: Aliases) -> list[Ranked]:
    """Return the worth of each sentence for a question, in the order given."""
    features, asked = measure_features(question, sentences, aliases)
    weights = read_weights()
    size = max(1, asked.topic.bit_count())
    found: list[Ranked] = []
    for at, (one, row) in enumerate(zip(sentences, features, strict=True)):
        intercept, *fitted = weights["dialogue" if one.spoken else "prose"]
        total = intercept + sum(weight * value for weight, value in zip(fitted, row, strict=True))
        own, above = asked.own[at] & asked.topic, asked.above[at] & asked.topic
        found.append(
            Ranked(
                1 / (1 + math.exp(-max(-30.0, min(30.0, total)))),
                row[FEATURES.index("own")],
                row[FEATURES.index("together")],
                (own | above).bit_count() / size,
                own.bit_count(),
                (own | above).bit_count(),
                row[FEATURES.index("kind")],
                asked.name_terms(asked.own[at]),
                asked.name_terms(asked.near[at]),
            )
        )
    return found

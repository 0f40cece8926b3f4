"""Support: whether the cited evidence supports a sentence, with the words that fail and the reasons.

Knows three ways to compare: characters (a slice of a quote), words in order (a near copy) and types (numbers, dates,
obligations, negations and the like, clause by clause). What they leave open a fitted score decides (TRUTH-3): overlap
of characters and word pairs and nearness of meaning, in the up to three sentences that match best, and no length,
which recognises a data set. `python -m bench.fit_support` makes its weights (data/support.json). Does not know where
evidence is stored or which source to believe.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from corrobora.domain.limits import read_table
from corrobora.domain.report import Support
from corrobora.text.alignment import NEAR_COPY, align_copy, find_cut, find_slices, find_substitute
from corrobora.text.bindings import find_foreign_names, find_rebindings
from corrobora.text.clauses import Clause, split_statement
from corrobora.text.contrasts import find_contrasts
from corrobora.text.measures import find_measures, is_named_apart
from corrobora.text.notices import drop_orders, find_order
from corrobora.text.quantities import find_dates
from corrobora.text.reading import Discrepancy, ParsedEvidence, read_evidence
from corrobora.text.segmentation import list_sentences
from corrobora.text.tokens import LIST_ITEM, fold_text, is_table_row, stem_text
from corrobora.text.typed import compare_sentence
from corrobora.text.vocabulary import compare_stems, detect_language, weigh_stem, weigh_stems

if TYPE_CHECKING:
    from corrobora.text.vocabulary import Matrix

FEATURES = ("grams", "pairs", "both", "missing", "shades", "amounts")
_WINDOW = 3  # sentences that may support a claim together
_GRAM = 5  # characters
_NEAR, _WITHIN = 3, 5  # words between the two of a pair, in the claim and in the evidence
PASSAGE = 40  # sentences: what holds more is a page, where overlap shows nothing and people see no support


@dataclass(frozen=True, slots=True)
class Weights:
    """Fitted weights of the features as measured, and the scores from which a verdict is given."""

    bias: float
    weights: tuple[float, ...]
    supported: float
    unsupported: float


@lru_cache(maxsize=1)
def load_weights() -> Weights:
    """Read the weights that ship with the package."""
    stored = read_table("support.json")
    weights = tuple(stored["weights"][name] for name in FEATURES)
    return Weights(stored["bias"], weights, stored["supported"], stored["unsupported"])


def score_support(features: Sequence[float], weights: Weights) -> float:
    """Return the probability of support, 0 to 1."""
    total = weights.bias + sum(value * weight for value, weight in zip(features, weights.weights, strict=True))
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, total))))


@lru_cache(maxsize=4_000)  # every sentence is compared with the same quotes
def _list_stems(text: str) -> tuple[str, ...]:
    return stem_text(text)


@lru_cache(maxsize=4_000)
def _list_grams(text: str) -> frozenset[str]:
    plain = "".join(char for char in fold_text(text) if char.isalnum())
    return frozenset(plain[at : at + _GRAM] for at in range(max(1, len(plain) - _GRAM + 1)))


@lru_cache(maxsize=4_000)
def _list_pairs(stems: tuple[str, ...], reach: int) -> frozenset[tuple[str, str]]:
    return frozenset((one, other) for at, one in enumerate(stems) for other in stems[at + 1 : at + 1 + reach])


def measure_features(sentence: str, reading: ParsedEvidence, problems: Sequence[Discrepancy]) -> tuple[float, ...]:
    """Return the features of a sentence and its evidence, in the order of `FEATURES`."""
    typed = (float(any(each.scored for each in problems)), float(any(each.false for each in problems)))
    stems = _list_stems(sentence)
    units = [unit for unit in reading.units[:PASSAGE] if unit.stems]
    if not stems or not units:
        return (0.0, 0.0, 0.0, 1.0, *typed)
    equal = [m.text for m in find_measures(sentence) if any(m.equals(other) for other in reading.measures)]
    converted = frozenset(stem_text(" ".join(equal))) - reading.stems  # "500 ml" for "half a litre": found by type
    wanted, held = (
        [stem for stem in dict.fromkeys(stems) if stem not in converted] or list(stems),
        sorted(reading.stems),
    )
    near = _match_stems(wanted, held, frozenset(wanted))
    begin = _find_window(frozenset(stems), units)
    window = units[begin : begin + _WINDOW]
    pairs = _list_pairs(stems, _NEAR)
    theirs = frozenset[tuple[str, str]]().union(*(_list_pairs(_list_stems(unit.text), _WITHIN) for unit in window))
    grams = _list_grams(sentence)
    weights = weigh_stems(wanted)
    missing = sorted(weights * (1.0 - near.max(axis=1)), reverse=True)
    return (
        len(grams & _list_grams(" ".join(unit.text for unit in window))) / len(grams),
        len(pairs & theirs) / max(1, len(pairs)),
        _match_both_ways(wanted, held, near, units),
        float(sum(missing[:2])) / 2,
        *typed,
    )


def _match_stems(wanted: Sequence[str], held: Sequence[str], said: frozenset[str]) -> Matrix:
    """Compare stems; what the sentence says itself stands for nothing else: no river for a valley that it names."""
    near = compare_stems(wanted, held)
    own = [at for at, stem in enumerate(held) if stem in said]
    near[:, own] *= near[:, own] >= 1.0
    return near


def _join_stems(units: Sequence[Clause]) -> frozenset[str]:
    return frozenset[str]().union(*(unit.stems for unit in units))


def _find_window(stems: frozenset[str], units: Sequence[Clause]) -> int:
    """Return where the sentences in a row begin that hold most of a claim's words, the rarer the heavier."""
    begins = range(max(1, len(units) - _WINDOW + 1))
    return max(begins, key=lambda at: sum(map(weigh_stem, sorted(stems & _join_stems(units[at : at + _WINDOW])))))


def _match_both_ways(wanted: Sequence[str], held: Sequence[str], near: Matrix, units: Sequence[Clause]) -> float:
    """Return how well a claim and a clause, or up to three sentences, cover each other: the best harmonic mean."""
    parts = [frozenset(_list_stems(clause)) for unit in units for clause in split_statement(unit.text)]
    for size in range(1, _WINDOW + 1):
        parts += [_join_stems(units[at : at + size]) for at in range(max(1, len(units) - size + 1))]
    rows = {stem: row for row, stem in enumerate(held)}
    weights, theirs, back = weigh_stems(wanted), weigh_stems(held), near.max(axis=0)
    best = 0.0
    for part in filter(None, parts):
        inside = sorted(rows[stem] for stem in part)
        forth = float((weights * near[:, inside].max(axis=1)).sum() / weights.sum())
        share = float((theirs * back)[inside].sum() / theirs[inside].sum())
        best = max(best, 2 * forth * share / (forth + share + 1e-9))
    return best


@dataclass(frozen=True, slots=True)
class Evidence:
    """A quote with what its source says about itself: "In 2017 ..." is carried by a source dated June 2017.

    `before` and `after` are the neighbouring sentences of the quote in its source, "" where they are unknown.
    """

    quote: str
    title: str = ""
    version: str = ""
    published: str = ""
    heading: str = ""
    before: str = ""
    after: str = ""
    opening: str = ""  # the first lines of a page: its date, authors and edition, often

    @property
    def context(self) -> str:
        """What the source says about itself and around the quote.

        Below a heading with a date of its own, as in a change log, the date of the source is not that of the quote.
        """
        own = any(date.year for date in find_dates(self.heading)[0])
        published = "" if own else self.published
        return "\n".join(
            filter(None, (self.title, self.version, published, self.heading, self.before, self.after, self.opening))
        )


@dataclass(frozen=True, slots=True)
class SupportCheck:
    """How far quotes support a sentence: status, share of its content words in the quotes, and reasons."""

    support: Support
    overlap: float
    reasons: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()  # the words of the sentence that fail, for display
    withholds: bool = False  # code knows it to be false: a typed failure, which no model overrules


class Comparison(NamedTuple):
    """What the evidence says, how a sentence differs from it, and whether the sentence nearly copies it."""

    reading: ParsedEvidence
    problems: tuple[Discrepancy, ...]
    copied: bool

    @property
    def differs(self) -> bool:
        """True if a difference alone keeps the sentence from being supported, whatever its score."""
        return any(self.copied or not each.scored for each in self.problems)


_HELD, _MISSED = 0.7, 0.3  # shares of a clause's words from which one half of a sentence is supported and the other not
_OTHERWISE = "its sources say this in other words, if they say it"
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_LISTED = re.compile(r"(?<![\d.,])\d{1,2}(?:,\d{1,2}){2,}(?![\d.,]\d)")  # "1,2,3,4" are four numbers


def check_support(sentence: str, evidence: Sequence[Evidence]) -> SupportCheck:
    """Check a sentence (without its markers) against the evidence it cites.

    A slice of a quote is supported unless it cuts off a condition or negation. Any other sentence is compared by type;
    a difference that proves it false withholds it, any other leaves it unclear. What is left is scored.
    """
    if not evidence:
        return SupportCheck(Support.UNCITED, 0.0)
    found = compare_evidence(sentence, evidence)
    if found is None:
        return SupportCheck(Support.SUPPORTED, 1.0)
    problems = list(found.problems)
    status = _decide_status(sentence, found)
    failing = [each.words for each in problems if each.words and each.words.lower() in sentence.lower()]
    if status in (Support.UNSUPPORTED, Support.UNCLEAR) and not problems:
        missing = _find_missing_words(sentence, found.reading)
        reason = "its sources do not say this" if status is Support.UNSUPPORTED else _OTHERWISE
        problems, failing = [Discrepancy(reason, ", ".join(missing))], missing
    elif status is Support.SUPPORTED:
        problems, failing = [], []
    return SupportCheck(
        status,
        _share_found(sentence, found.reading),
        tuple(dict.fromkeys(each.reason for each in problems)),
        tuple(dict.fromkeys(failing)),
        withholds=any(each.false for each in problems),
    )


def compare_evidence(sentence: str, evidence: Sequence[Evidence]) -> Comparison | None:
    """Return how a sentence differs from its evidence, the false first; None for a slice of a quote."""
    if not find_order(sentence):
        evidence = [
            replace(
                each,
                quote=drop_orders(each.quote),
                before=drop_orders(each.before),
                after=drop_orders(each.after),
            )
            for each in evidence
        ]
    problems: list[Discrepancy] = []
    for said in (sentence, sentence[:1].lower() + sentence[1:]):  # a writer begins with a capital what he cuts
        cuts = [find_cut(head, tail, said) for each in evidence for head, tail in find_slices(said, each.quote)]
        if None in cuts and said == sentence:
            return None
        problems += [] if None in cuts else [cut for cut in cuts[:1] if cut]
    reading = read_units(evidence)
    units = [unit.text for unit in reading.units]
    copies = [align_copy(each, units) for each in list_sentences(sentence)]
    copied = bool(copies) and all(copy.nearness >= NEAR_COPY for copy in copies)
    problems += [*find_foreign_names(sentence, reading), *compare_sentence(sentence, reading)]
    listed = " ".join(each.words.lower() for each in problems)
    problems += [each for copy in copies for each in copy.problems if not each.words or each.words not in listed]
    if not copied and all(each.scored for each in problems):
        sayings = (unit.text for unit in reading.units if not is_table_row(unit.text))
        substitutes = (find_substitute(sentence, each, reading.stems) for each in sayings)
        problems += [found for found in substitutes if found is not None]
    problems += [*find_rebindings(sentence, units), *find_contrasts(sentence, reading)]
    return Comparison(reading, tuple(sorted(problems, key=lambda each: not each.false)), copied)


def read_units(evidence: Sequence[Evidence]) -> ParsedEvidence:
    """Parse evidence: its sentences, and what its sources say about themselves."""
    units = tuple(dict.fromkeys(unit for each in evidence for unit in _split_units(each)))
    return read_evidence(units, "\n".join(each.context for each in evidence))


def _split_units(evidence: Evidence) -> list[str]:
    """Return the sentences of a quote and its neighbours, without list marks."""
    found: list[str] = []
    for text in (evidence.quote, evidence.before, evidence.after):
        for is_row, lines in groupby(map(str.strip, text.split("\n")), key=is_table_row):
            part = list(lines)
            plain = " ".join(" ".join(part).split())
            found += part if is_row else list_sentences(plain)
    return [LIST_ITEM.sub("", unit, count=1) if LIST_ITEM.match(unit) else unit for unit in found]


def _decide_status(sentence: str, found: Comparison) -> Support:
    if any(each.contradicts for each in found.problems):
        return Support.CONTRADICTED
    if any(each.false for each in found.problems):
        return Support.UNSUPPORTED
    if found.copied:
        return Support.UNCLEAR if found.problems else Support.SUPPORTED
    weights = load_weights()
    score = score_support(measure_features(sentence, found.reading, found.problems), weights)
    shares = [_share_found(part, found.reading) for part in split_statement(sentence)]
    if max(shares) >= _HELD and min(shares) <= _MISSED:
        return Support.PARTLY
    foreign = detect_language(sentence) or detect_language(found.reading.everything)  # its words are those of English
    if score < weights.unsupported and not foreign and not any(each.computed for each in found.problems):
        return Support.UNSUPPORTED
    held = score >= weights.supported and len(found.reading.units) < PASSAGE
    return Support.SUPPORTED if held and not found.differs else Support.UNCLEAR


def _share_found(text: str, reading: ParsedEvidence) -> float:
    wanted = frozenset(stem_text(text))
    return len(wanted & reading.stems) / len(wanted) if wanted else 0.0


def _find_missing_words(sentence: str, reading: ParsedEvidence) -> list[str]:
    words = re.findall(r"[^\W_]+", sentence)
    return [word for word in words if (stems := stem_text(word)) and not reading.stems.intersection(stems)]


def list_unshown_numbers(sentence: str, shown: str) -> frozenset[str]:
    """Return the numbers of a sentence that a text gives neither as they are nor as the same amount in other words."""
    held, missing = find_measures(shown), find_numbers(sentence) - find_numbers(shown)
    for each in find_measures(sentence) if missing else ():
        if any(each.equals(other) for other in held) or is_named_apart(each, held, shown):
            missing -= find_numbers(each.text)
    return missing


def find_numbers(text: str) -> frozenset[str]:
    """Return the numbers of a text in a canonical spelling: no thousands separators, no trailing zeros of decimals."""
    found: set[str] = set()
    for match in _NUMBER.finditer(_LISTED.sub(lambda each: each[0].replace(",", " "), text)):
        plain = match.group().rstrip(".,")
        whole = (
            plain.replace(",", "") if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", plain) else plain.replace(",", ".")
        )
        found.add(whole.rstrip("0").rstrip(".") if "." in whole else whole)
    return frozenset(found)

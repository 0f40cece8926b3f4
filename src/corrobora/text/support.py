"""Support: whether the cited evidence supports a sentence.

Knows negation, numbers, names and word overlap. A changed number, an inverted negation or an unknown name lowers
support whatever the overlap (TRUTH-3). Does not know where evidence is stored or which source to believe.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from corrobora.domain.report import Support
from corrobora.text.mentions import MentionKind, find_mentions
from corrobora.text.segmentation import split_sentences
from corrobora.text.tokens import fold_text, split_words, stem_text


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


FULL_OVERLAP = 0.6
PART_OVERLAP = 0.35
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_NEGATING_WORDS = frozenset(
    "not no never neither nor none nobody nothing without cannot lack lacks lacked fail fails failed".split()
)


@dataclass(frozen=True, slots=True)
class SupportCheck:
    """How far quotes support a sentence: status, share of its content words in the quotes, and reasons."""

    support: Support
    overlap: float
    reasons: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()  # the words of the sentence that fail, for display
    withholds: bool = False  # code knows it to be false: a typed failure, which no model overrules


def check_support(sentence: str, evidence: Sequence[Evidence]) -> SupportCheck:
    """Check a sentence (without its markers) against the evidence it cites.

    A sentence that a quote contains, literally or as the same sequence of words, is supported. Otherwise the quotes
    must contain all its numbers and names and enough of its content words, and negation must agree with the closest
    sentence.
    """
    quotes = [each.quote for each in evidence]
    if not quotes:
        return SupportCheck(Support.UNCITED, 0.0)
    folded = " ".join(fold_text(sentence).split()).rstrip(".!?")
    if any(folded in " ".join(fold_text(quote).split()) for quote in quotes) or _is_word_sequence(sentence, quotes):
        return SupportCheck(Support.SUPPORTED, 1.0)
    everything = "\n".join(quotes)
    overlap = token_overlap(sentence, everything)
    reasons: list[str] = []
    foreign = find_numbers(sentence) - find_numbers(everything)
    if foreign:
        reasons.append(f"numbers not in the quotes: {', '.join(sorted(foreign))}")
    names = _foreign_names(sentence, everything)
    if names:
        reasons.append(f"names not in the quotes: {', '.join(names)}")
    said = [quote[span.start : span.end] for quote in quotes for span in split_sentences(quote)] or list(quotes)
    best = max(said, key=lambda each: token_overlap(sentence, each))  # the relevant sentence of a long quote
    inverted = is_negated(sentence) != is_negated(best) and overlap >= FULL_OVERLAP and not _has_mixed_polarity(best)
    if inverted:
        reasons.append("negation differs from the quote")
    return SupportCheck(
        _classify_support(overlap, foreign=bool(foreign), names=bool(names), inverted=inverted), overlap, tuple(reasons)
    )


def _is_word_sequence(sentence: str, quotes: Sequence[str]) -> bool:
    """True if a quote contains the words of a sentence in sequence, such as a list written on one line."""
    said = f" {' '.join(split_words(sentence))} "
    return bool(said.strip()) and any(said in f" {' '.join(split_words(quote))} " for quote in quotes)


def _classify_support(overlap: float, *, foreign: bool, names: bool, inverted: bool) -> Support:
    if inverted:
        return Support.CONTRADICTED
    if foreign or overlap < PART_OVERLAP:
        return Support.UNSUPPORTED
    if names or overlap < FULL_OVERLAP:
        return Support.PARTLY
    return Support.SUPPORTED


def find_numbers(text: str) -> frozenset[str]:
    """Return the numbers of a text in a canonical spelling: no thousands separators, no trailing zeros of decimals."""
    found: set[str] = set()
    for match in _NUMBER.finditer(text):
        plain = match.group().rstrip(".,")
        whole = (
            plain.replace(",", "") if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", plain) else plain.replace(",", ".")
        )
        found.add(whole.rstrip("0").rstrip(".") if "." in whole else whole)
    return frozenset(found)


def is_negated(text: str) -> bool:
    """True if a text contains an odd number of negating words."""
    return sum(word in _NEGATING_WORDS or word.endswith("n't") for word in _split_plain_words(text)) % 2 == 1


def _has_mixed_polarity(quote: str) -> bool:
    """True for a long quote with a negation: its clauses may differ in polarity, so it proves nothing."""
    return len(split_words(quote)) > 40 and is_negated(quote)  # noqa: PLR2004 - words of two clauses


def _split_plain_words(text: str) -> list[str]:
    return fold_text(text).replace("’", "'").replace(",", " ").replace(".", " ").split()


def _foreign_names(sentence: str, evidence: str) -> tuple[str, ...]:
    """Return the names the evidence does not contain: "Lake Bellow" is not "Lake Arden".

    A name counts as missing if its last part, or more than half of its parts, is missing.
    """
    known = frozenset(stem_text(evidence))
    found: list[str] = []
    for mention in find_mentions(sentence):
        parts = stem_text(mention.text)
        missing = [part for part in parts if part not in known]
        foreign = parts and (parts[-1] in missing or 2 * len(missing) > len(parts))
        if mention.kind is not MentionKind.QUOTED and foreign:
            found.append(mention.text)
    return tuple(dict.fromkeys(found))


def token_overlap(sentence: str, evidence: str) -> float:
    """Return the share of a sentence's content words that occur in the evidence (ANGLES-31)."""
    wanted = frozenset(stem_text(sentence))
    return len(wanted & frozenset(stem_text(evidence))) / len(wanted) if wanted else 0.0

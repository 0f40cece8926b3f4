"""Support: does a sentence say what its quotes say?

Knows words, numbers, names and negation of both. Token overlap is a floor, not a verdict: a changed number, an
inverted negation or a foreign name lowers the status whatever the overlap (DESIGN 10.3). Does not know sources.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from corrobora.domain.report import Support
from corrobora.policies.markup import strip_markup
from corrobora.policies.mentions import MentionKind, find_mentions
from corrobora.policies.prose import quote_to_prose
from corrobora.policies.sentences import split_sentences
from corrobora.policies.words import fold_text, split_words, stem_text

FULL_OVERLAP = 0.6
PART_OVERLAP = 0.35
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_NEGATING_WORDS = frozenset(
    "not no never neither nor none nobody nothing without cannot lack lacks lacked fail fails failed".split()
)


@dataclass(frozen=True, slots=True)
class SupportCheck:
    """The status of one sentence, the share of its content words in its quotes, and what lowered the status."""

    support: Support
    overlap: float
    reasons: tuple[str, ...] = ()


def check_support(sentence: str, quotes: Sequence[str]) -> SupportCheck:
    """Check a sentence (without its markers) against the quotes it cites.

    A sentence that stands in a quote, or whose words do so one after another, is supported. Else every number and name
    of the sentence must occur in a quote, negation must agree with the best sentence of the quotes, and enough of its
    content words must be there.
    """
    if not quotes:
        return SupportCheck(Support.UNCITED, 0.0)
    folded = " ".join(fold_text(sentence).split()).rstrip(".!?")
    if any(folded in " ".join(fold_text(quote).split()) for quote in quotes) or _is_word_sequence(sentence, quotes):
        return SupportCheck(Support.SUPPORTED, 1.0)
    everything = "\n".join(
        (*quotes, *(quote_to_prose(quote) for quote in quotes if "\n" in quote))
    )  # values parted by commas
    overlap = token_overlap(sentence, everything)
    reasons: list[str] = []
    foreign = find_numbers(sentence) - find_numbers(everything)
    if foreign:
        reasons.append(f"numbers not in the quotes: {', '.join(sorted(foreign))}")
    names = _foreign_names(sentence, everything)
    if names:
        reasons.append(f"names not in the quotes: {', '.join(names)}")
    said = [quote[span.start : span.end] for quote in quotes for span in split_sentences(quote)] or list(quotes)
    best = max(said, key=lambda each: token_overlap(sentence, each))  # of a long quote, the sentence that speaks of it
    inverted = is_negated(sentence) != is_negated(best) and overlap >= FULL_OVERLAP and not _has_mixed_polarity(best)
    if inverted:
        reasons.append("negation differs from the quote")
    return SupportCheck(
        _classify_support(overlap, foreign=bool(foreign), names=bool(names), inverted=inverted), overlap, tuple(reasons)
    )


def _is_word_sequence(sentence: str, quotes: Sequence[str]) -> bool:
    """True if the words of a sentence stand in a quote one after another, as a list does that is told in one line."""
    said = f" {' '.join(split_words(sentence))} "
    return bool(said.strip()) and any(said in f" {' '.join(split_words(strip_markup(quote)))} " for quote in quotes)


def _classify_support(overlap: float, *, foreign: bool, names: bool, inverted: bool) -> Support:
    if inverted:
        return Support.CONTRADICTED
    if foreign or overlap < PART_OVERLAP:
        return Support.UNSUPPORTED
    if names or overlap < FULL_OVERLAP:
        return Support.PARTLY
    return Support.SUPPORTED


def find_numbers(text: str) -> frozenset[str]:
    """Numbers of a text in one spelling: thousands separators and trailing zeros of decimals dropped."""
    found: set[str] = set()
    for match in _NUMBER.finditer(text):
        plain = match.group().rstrip(".,")
        whole = (
            plain.replace(",", "") if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", plain) else plain.replace(",", ".")
        )
        found.add(whole.rstrip("0").rstrip(".") if "." in whole else whole)
    return frozenset(found)


def is_negated(text: str) -> bool:
    """Say whether a text negates, by an odd number of negating words."""
    return sum(word in _NEGATING_WORDS or word.endswith("n't") for word in _split_plain_words(text)) % 2 == 1


def _has_mixed_polarity(quote: str) -> bool:
    """A long quote with a negated and a plain clause says nothing about the polarity of one of them."""
    return len(split_words(quote)) > 40 and is_negated(quote)  # noqa: PLR2004 - words of two clauses


def _split_plain_words(text: str) -> list[str]:
    return fold_text(text).replace("’", "'").replace(",", " ").replace(".", " ").split()


def _foreign_names(sentence: str, evidence: str) -> tuple[str, ...]:
    """Names whose last part, or most of whose parts, the evidence never says: "Lake Bellow" is not "Lake Arden"."""
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
    """Share of the sentence's content words that occur in the evidence (S1, token-overlap verification score)."""
    wanted = frozenset(stem_text(sentence))
    return len(wanted & frozenset(stem_text(evidence))) / len(wanted) if wanted else 0.0

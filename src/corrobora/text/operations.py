"""Operations: arithmetic, comparisons and trends that a sentence claims, computed again from the numbers it quotes.

Knows numbers with their units, operator words and which number belongs to which side. Does not know where evidence is
stored, and never guesses an operand: what is not determined is not executed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from corrobora.domain.report import Support
from corrobora.text.claims import (
    BOUNDS,
    OPERATOR_STEMS,
    CitedEvidence,
    Claim,
    QuotedNumber,
    find_instances,
    hide_titles,
    list_quoted_numbers,
    list_texts,
    name_words,
    read_claim,
    scan_numbers,
    share_unit,
    split_sides,
)
from corrobora.text.measures import find_measures
from corrobora.text.quantities import NUMBER_WORDS, find_years
from corrobora.text.support import Evidence, SupportCheck
from corrobora.text.tokens import fold_text, split_words, stem_text, stem_word


class DerivationKind(StrEnum):
    """How a sentence follows from what it cites or from what was read."""

    QUOTE = "quote"
    RESTATEMENT = "restatement"
    ARITHMETIC = "arithmetic"
    COUNT = "count"
    COMPARISON = "comparison"
    TREND = "trend"
    ABSENCE = "absence"
    JUDGEMENT = "judgement"


@dataclass(frozen=True, slots=True)
class Derivation:
    """How a sentence follows; `holds` is None where nothing was executed, so that its support decides."""

    kind: DerivationKind
    holds: bool | None = None
    steps: tuple[str, ...] = ()  # operands and result, for display
    reason: str = ""  # why it does not hold, or why it was not executed
    withholds: bool = False  # code knows it to be false, whatever else is found
    said: str = ""  # what its sources must carry, if that is a part of the sentence; the rest was looked up

    def limit_support(self, result: SupportCheck) -> SupportCheck:
        """Lower the support of a part if the rest of its sentence could not be looked up."""
        unknown = self.said and not self.steps and result.support is Support.SUPPORTED
        return replace(result, support=Support.UNCLEAR, reasons=(self.reason,)) if unknown else result

    @classmethod
    def confirm(cls, kind: DerivationKind, *steps: str) -> Derivation:
        """Build the result of a derivation that came out."""
        return cls(kind, holds=True, steps=steps)

    @classmethod
    def refuse(cls, kind: DerivationKind, reason: str, *steps: str, withholds: bool = True) -> Derivation:
        """Build the result of a derivation that did not come out."""
        return cls(kind, holds=False, steps=steps, reason=reason, withholds=withholds)

    @classmethod
    def leave_open(cls, kind: DerivationKind, reason: str, *steps: str) -> Derivation:
        """Build the result of a derivation that could not be executed."""
        return cls(kind, steps=steps, reason=reason)


_NEGATED = re.compile(r"\b(?:not|never|no|nor|neither|without|cannot)\b|n['’]t\b")
_CLOSE = 0.05  # relative error that "about" allows
_MOST_FOREIGN = 0.4  # share of words that the evidence need not have
_CONCLUSION = re.compile(r"[,;:(–—]")
_NAME = re.compile(r"(?<=[\w,(] )[A-Z]\w+")
_EITHER_WAY = re.compile(
    r"(?i)\bdiffer\w* by\b|\b(?:factor|ratio)\b.*\bbetween\b|\bapart\b"
)  # which side is which, is not said


def execute_operation(sentence: str, cited: Sequence[CitedEvidence]) -> Derivation | None:
    """Execute what a sentence claims from quoted operands; None if it claims no operation."""
    quoted = list_quoted_numbers(cited)
    hidden = hide_titles(sentence, cited)
    claim = read_claim(hidden, quoted, pieces=len(cited))
    if claim is None:
        return None
    kind = _KINDS.get(claim.operator, DerivationKind.ARITHMETIC)
    if any(_says_itself(claim, each) or _states_bounds(hidden, each) for each in (one.evidence for one in cited)):
        return None
    if claim.operator == "unread" or _NEGATED.search(fold_text(hidden)):
        return Derivation.leave_open(kind, "its operation was not understood")
    missing = [each.text for each in claim.operands if not find_instances(each, quoted)]
    if missing:
        return Derivation.refuse(kind, f"not in its quotes: {', '.join(missing)}", withholds=False)
    if claim.operator in ("sum", "average"):
        return _execute_over_all(claim, kind, cited)
    turn = _find_turn(hidden, claim)
    borders = split_sides(hidden[: turn or None], claim.operands)
    pair = _find_pair(tuple(sentence[start:end] for start, end in borders), claim, quoted)
    if isinstance(pair, str):
        return Derivation.refuse(kind, pair, withholds=False) if pair == _SWAPPED else Derivation.leave_open(kind, pair)
    if any(claim.counted and claim.counted not in each.words | each.number.unit for each in pair):
        return Derivation.refuse(kind, "its operands count something else", withholds=False)
    done = _execute_pair(claim, kind, *(pair[::-1] if turn else pair))
    if claim.operator == "ratio" and not done.holds and not claim.direction and _EITHER_WAY.search(hidden):
        other = _execute_pair(claim, kind, *pair[::-1])
        done = other if other.holds else done
    return Derivation.leave_open(kind, _BEYOND, *done.steps) if done.holds and _says_more(sentence, cited) else done


def _find_turn(sentence: str, claim: Claim) -> int:
    """Return where a conclusion begins that speaks of the last amount first ("A has 3 and B 6, so B ..."); or 0.

    So does one that names neither side: "3 and 6, twice as many".
    """
    if len(claim.operands) != 2:  # noqa: PLR2004 - a pair
        return 0
    begun = _CONCLUSION.search(sentence, claim.operands[-1].end)
    turn = begun.start() if begun else 0
    if not turn or (at := sentence.find(claim.cue, turn)) < 0:
        return 0
    one, other = (name_words(sentence[start:end]) for start, end in split_sides(sentence[:turn], claim.operands))
    sides = (one - other, other - one)
    told = [name_words(text) for text in (sentence[turn:at], sentence[at + len(claim.cue) :])]
    turned = sum(len(told[i] & sides[1 - i]) - len(told[i] & sides[i]) for i in (0, 1))
    nameless = claim.operator == "ratio" and not claim.over_time and not any(each & (one | other) for each in told)
    return turn if turned > 0 or (nameless and not re.search(r"ratio|factor", claim.cue)) else 0


_BEYOND = "it says more than its operands"


def _says_more(sentence: str, cited: Sequence[CitedEvidence]) -> bool:
    """True if a sentence has names that its evidence does not have, or too many other words."""
    sources = " ".join(part for piece in cited for part in (piece.publisher, *list_texts(piece.evidence)))
    known = name_words(sources) | {str(year) for year in find_years(sources)} | OPERATOR_STEMS
    words = [word for word in stem_text(sentence) if not word[0].isdigit() and word not in NUMBER_WORDS]
    foreign = [word for word in words if word not in known]
    names = {stem_word(fold_text(match.group())) for match in _NAME.finditer(sentence)}
    return bool(names & set(foreign)) or len(foreign) > _MOST_FOREIGN * len(words)


_KINDS = {"trend": DerivationKind.TREND, "comparison": DerivationKind.COMPARISON, "ratio": DerivationKind.COMPARISON}


def _says_itself(claim: Claim, evidence: Evidence) -> bool:
    """True if one quote has the operator's words and all numbers of the sentence: then nothing was derived."""
    held = {number.value for number in scan_numbers(evidence.quote)}
    numbers = (*claim.operands, *((claim.result,) if claim.result else ()))
    said = frozenset(split_words(evidence.quote))
    return frozenset(split_words(claim.cue)) <= said and all(number.value in held for number in numbers)


def _states_bounds(sentence: str, evidence: Evidence) -> bool:
    """True if a quote has each amount of a sentence in the same bounds, in any unit: then it compares nothing."""
    own, theirs = find_measures(sentence), find_measures(evidence.quote)
    same = all(any(each.equals(other) and each.bound == other.bound for other in theirs) for each in own)
    return same and any(each.bound for each in own)


def _execute_over_all(claim: Claim, kind: DerivationKind, cited: Sequence[CitedEvidence]) -> Derivation:
    """Add or average the stated operands, or else the one number of the result's unit in each piece of evidence."""
    result = claim.result
    values = list(claim.operands)
    if result is not None and not values:
        for piece in cited:
            own = {n.number.value: n.number for n in list_quoted_numbers([piece]) if n.number.unit & result.unit}
            values += own.values() if len(own) == 1 else ()
        values = values if len(values) == len(cited) else []
    if result is None or len(values) < 2:  # noqa: PLR2004 - an operation of one number is none
        return Derivation.leave_open(kind, "its operands are not determined")
    units = [share_unit(one.unit, result.unit) for one in values]
    total = sum(each.value for each in values)
    got = total / len(values) if claim.operator == "average" else total
    joined = " + ".join(_format(each.value) for each in values)
    step = f"({joined}) / {len(values)}" if claim.operator == "average" else joined
    return _judge(claim, kind, got, step, units_agree=all(units))


_SWAPPED = "its operands belong to the other sides"


def _find_pair(
    operands: Sequence[str], claim: Claim, quoted: Sequence[QuotedNumber]
) -> tuple[QuotedNumber, QuotedNumber] | str:
    """Return the two operands as quoted, first side first, or why there are none."""
    left, right = (name_words(side) for side in operands)
    sides = (left - right, right - left)
    if len(claim.operands) == 2:  # noqa: PLR2004 - a pair
        choices = [find_instances(each, quoted) for each in claim.operands]
    elif not claim.operands and all(sides):
        choices = [_find_by_side(side, claim, quoted) for side in sides]
    else:
        return "its operands are not determined"
    pairs = [
        (one, other)
        for one in choices[0]
        for other in choices[1]
        if one is not other and (claim.operator == "product" or share_unit(one.number.unit, other.number.unit))
    ]
    if not pairs or (not claim.operands and len({(a.number.value, b.number.value) for a, b in pairs}) > 1):
        return "its operands are not determined"
    years = [frozenset(int(number.value) for number in scan_numbers(side) if number.is_year) for side in operands]
    dated = [pair for pair in pairs if all(y <= one.years for y, one in zip(years, pair, strict=True) if one.years)]
    if not dated:
        return _SWAPPED
    fits = [(_count_fitting(sides, pair), -at, pair) for at, pair in enumerate(dated)]
    best, _, pair = max(fits, key=lambda row: row[:2])
    return _SWAPPED if best < 0 else pair


def _find_by_side(side: frozenset[str], claim: Claim, quoted: Sequence[QuotedNumber]) -> list[QuotedNumber]:
    """Return the numbers whose words name a side best, of the result's unit if there is one."""
    unit = claim.result.unit - {"%"} if claim.result is not None and not claim.factor else frozenset[str]()
    fitting = [
        each
        for each in quoted
        if (each.number.unit & unit if unit else each.number.unit) and not each.number.is_year and side & each.words
    ]
    most = max((len(side & each.words) for each in fitting), default=0)
    return [each for each in fitting if len(side & each.words) == most]


def _count_fitting(sides: tuple[frozenset[str], frozenset[str]], pair: tuple[QuotedNumber, QuotedNumber]) -> int:
    """Return how many words of the sides stand with their own operand rather than with the other one."""
    own = (pair[0].words - pair[1].words, pair[1].words - pair[0].words)
    return sum(len(sides[i] & own[i]) - len(sides[i] & own[1 - i]) for i in (0, 1))


def _execute_pair(claim: Claim, kind: DerivationKind, one: QuotedNumber, other: QuotedNumber) -> Derivation:
    if claim.operator in ("comparison", "trend"):
        return _compare_pair(claim, kind, one, other)
    first, last = (other.number, one.number) if claim.over_time else (one.number, other.number)
    a, b = first.value, last.value
    left, right = _format(a), _format(b)
    quotient = a / b if b else 0.0
    units_agree = True
    match claim.operator:
        case "ratio" | "quotient":
            got, step = quotient, f"{left} / {right}"
        case "share":
            got, step = 100 * quotient, f"{left} / {right}"
            units_agree = claim.result is None or share_unit(claim.result.unit, one.number.unit | {"%"})
        case "product":
            got, step = a * b, f"{left} x {right}"
            units = (one.number.unit, other.number.unit)
            units_agree = claim.result is None or any(share_unit(claim.result.unit, unit) for unit in units)
        case _ if claim.result is not None and "%" in claim.result.unit and "point" not in claim.result.text:
            got, step = (100 * (a - b) / b if b else 0.0), f"({left} - {right}) / {right}"
        case _:
            got, step = a - b, f"{left} - {right}"
            units_agree = claim.result is None or share_unit(claim.result.unit, one.number.unit)
            if not units_agree and BOUNDS.intersection(claim.cue.split()):
                return Derivation.leave_open(kind, "it states bounds, and no difference")
    if claim.operator == "difference":
        if claim.direction and (got > 0) != (claim.direction > 0):
            return _refuse(claim, kind, f"{step} = {_format(got)}", "the numbers say otherwise")
        got = abs(got)
    return _judge(claim, kind, got, step, units_agree=units_agree)


def _compare_pair(claim: Claim, kind: DerivationKind, one: QuotedNumber, other: QuotedNumber) -> Derivation:
    a, b = one.number.value, other.number.value
    first, last = (a, b) if claim.operator == "comparison" else (b, a)
    holds = (first > last) - (first < last) == claim.direction
    step = f"{_format(a)} {'>' if a > b else '<' if a < b else '='} {_format(b)}"
    if claim.operator == "trend" and (one.end, other.end) == ("to", "from"):
        return _refuse(claim, kind, step, "its source tells the change the other way round")
    return Derivation.confirm(kind, step) if holds else _refuse(claim, kind, step, "the numbers say otherwise")


def _judge(claim: Claim, kind: DerivationKind, got: float, step: str, *, units_agree: bool) -> Derivation:
    """Compare what was computed with the result that the sentence states, to its last digit."""
    stated = claim.factor if claim.result is None else claim.result.value
    place = 0.0 if claim.result is None else claim.result.place
    room = max(_CLOSE * abs(got), place) if claim.about else place
    steps = f"{step} = {_format(got)}"
    if not units_agree:
        return _refuse(claim, kind, steps, "its result has another unit than its operands")
    if abs(got - stated) > room + 1e-9 * max(1.0, abs(got)):
        return _refuse(claim, kind, steps, f"it comes out as {_format(got)}, not {_format(stated)}")
    return Derivation.confirm(kind, steps)


def _refuse(claim: Claim, kind: DerivationKind, step: str, reason: str) -> Derivation:
    """Refuse; only operands that the sentence states itself prove it false."""
    return Derivation.refuse(kind, reason, step, withholds=len(claim.operands) > 1)


def _format(value: float) -> str:
    return f"{value:.10g}" if abs(value - round(value)) < 1e-9 else f"{value:.4g}"  # noqa: PLR2004 - whole

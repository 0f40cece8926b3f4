"""Comparison of statements: in which respect two of them differ, clause by clause.

Knows obligations, polarity, comparatives, quantities and dates, as clauses and measures read them, and word overlap.
Does not know which statement is right or which source to believe; spelling and wording are no difference.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from corrobora.text.clauses import Clause, find_opposites, parse_clause, split_statement
from corrobora.text.measures import Measure, find_identifiers, find_measures
from corrobora.text.mentions import MentionKind, find_mentions
from corrobora.text.quantities import MONTH_NAMES, find_date_prefixes, find_days, find_years
from corrobora.text.segmentation import list_sentences
from corrobora.text.tokens import STOP_WORDS, split_words, stem_text, stem_word


class Aspect(StrEnum):
    """The respect in which two statements differ, the most important first."""

    OBLIGATION = "obligation"
    NEGATION = "negation"
    COMPARATIVE = "comparative"
    QUANTITY = "quantity"
    DATE = "date"


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference: its aspect, the two readings and the two sentences, in the order of the statements."""

    aspect: Aspect
    before: str
    after: str
    opposed: bool = True  # the readings exclude each other; a stronger obligation does not
    alike: float = 0.0  # how similar the topics of the sentences are
    one: str = ""
    other: str = ""

    @property
    def text(self) -> str:
        """The difference as printed: "SHOULD NOT -> SHALL NOT"."""
        return f"{self.before} -> {self.after}"


@dataclass(frozen=True, slots=True)
class ParsedStatement:
    """A sentence or a clause of one, parsed for comparison; made by `parse_statement`."""

    text: str
    topic: frozenset[str]  # stems without obligation, negation and numbers
    duties: tuple[tuple[str, str], ...]  # (words of obligation, stem of the verb after them)
    clause: Clause
    measures: tuple[Measure, ...]
    days: tuple[str, ...]
    parts: tuple[ParsedStatement, ...] = ()  # the clauses, if there are several

    @property
    def force(self) -> int:
        """The strength of its strongest obligation, from 0 (none) to 3 (must, must not)."""
        return max((abs(_FORCES[duty.kind]) for duty in self.clause.duties), default=0)


_FORCES = {"required": 3, "recommended": 2, "permitted": 1, "needless": 1, "discouraged": -2, "forbidden": -3}
_MONTHS = frozenset(map(stem_word, MONTH_NAMES))
_DIGIT = re.compile(r"\d")
_ITEM = re.compile(r"\s*(?:[-*•]|\(?\w{1,3}[.)])\s+")
SAME_SUBJECT_SHARE = 0.5  # share of common topic stems from which two statements have the same subject
CLOSE_SUBJECT_SHARE = 0.62
IDENTICAL_SUBJECT_SHARE = 0.75
_INSIDE_SHARE = 0.75  # of a short topic that stands in a long one, from which opposite words are compared
_MIN_TOPIC = 2


@lru_cache(maxsize=8_000)  # a fact is compared with every other one of its thread
def parse_statement(text: str, lead_in: str = "") -> ParsedStatement:
    """Parse a sentence for comparison; the words of a list's lead-in count as said in each of its items."""
    whole = _parse_part(f"{lead_in} {text}".strip(), text)
    parts = split_statement(text)
    if len(parts) < 2 or lead_in:  # noqa: PLR2004 - one clause
        return whole
    return ParsedStatement(
        text, whole.topic, whole.duties, whole.clause, whole.measures, whole.days,
        tuple(_parse_part(part, part) for part in parts),
    )  # fmt: skip


def _parse_part(text: str, shown: str) -> ParsedStatement:
    clause = parse_clause(text)
    said = frozenset(stem_word(word) for duty in clause.duties for word in split_words(duty.text))
    topic = frozenset(s for s in clause.stems if s not in said and s not in _MONTHS and _DIGIT.search(s) is None)
    duties = tuple((" ".join(duty.text.split()), duty.governs) for duty in clause.duties)
    measures = tuple(m for m in find_measures(text) if not m.nouns & _MONTHS and not _is_year(m, text))
    return ParsedStatement(shown, topic, duties, clause, measures, find_days(text))


def _is_year(measure: Measure, text: str) -> bool:
    """True for "in 1931", whatever follows: "In 1931 boats sank" counts no boats."""
    return find_years(measure.text) != () and _IN_YEAR.search(text[: measure.start]) is not None


@lru_cache(maxsize=4_000)  # a quote is compared with every other one of its source
def list_statements(text: str) -> tuple[ParsedStatement, ...]:
    """Return the sentences of a text, parsed; items of a list are read together with the line that leads them in."""
    lead = ""
    found: list[ParsedStatement] = []
    for said in list_sentences(text):
        item = _ITEM.match(said)
        found.append(parse_statement(said[item.end() :] if item else said, lead if item else ""))
        lead = said if said.rstrip().endswith(":") else lead if item else ""
    return tuple(found)


def compare_topics(a: ParsedStatement, b: ParsedStatement) -> float:
    """Return how similar the topics of two statements are, 0 to 1; a short topic inside a long one counts extra."""
    least, shared = min(len(a.topic), len(b.topic)), len(a.topic & b.topic)
    if least < _MIN_TOPIC:
        return 0.0
    return 0.7 * (shared / (len(a.topic) + len(b.topic) - shared)) + 0.3 * (shared / least)


def find_difference(a: ParsedStatement, b: ParsedStatement) -> Difference | None:
    """Return the most important difference between two statements on the same subject, or None.

    Each clause is compared with its closest counterpart; the whole sentences, where no clauses correspond.
    """
    found: list[Difference] = []
    for one in a.parts or (a,):
        other = max(b.parts or (b,), key=lambda each: compare_topics(one, each))
        back = max(a.parts or (a,), key=lambda each: compare_topics(other, each))
        if back is one:
            found += _compare_parts(one, other)
    found = found or list(_compare_parts(a, b))
    if found and _is_of_two_things(a.text, b.text, found):
        return None
    best = min(found, key=lambda each: list(Aspect).index(each.aspect), default=None)
    if best is None:
        return None
    return Difference(best.aspect, best.before, best.after, best.opposed, compare_topics(a, b), a.text, b.text)


_LABEL = re.compile(  # "lamp number 3", "room 12", "tank B": which of several things of a kind is meant
    r"(?<![^\W_])(?P<kind>[^\W\d_]{3,})[.:]?\s+(?P<said>(?i:number|nr\.?|no\.?)\s+|#)?(?P<label>\d+(?:\.\d+)*|[B-Z]|A(?=\s+[a-z]))"
    r"(?![\w%°€$£]|[.,:/-]\w|\s*%)(?:\s+(?P<counted>[^\W\d_]+))?"
)
_REFERENCE_WORDS = frozenset(
    map(stem_word, "section chapter table figure appendix annex clause paragraph page note line see".split())
)
_EDITION_WORDS = frozenset(map(stem_word, "version release edition revision draft".split()))  # these are compared


def _is_of_two_things(one: str, other: str, found: Sequence[Difference]) -> bool:
    """True if two sentences speak of things that a number or letter tells apart: "lamp number 3", "lamp number 4".

    A number before a noun may as well count it ("limit 64 characters"): it is a label if more than it differs.
    """
    mine, yours = _list_labels(one), _list_labels(other)
    for kind in mine.keys() & yours.keys():
        if mine[kind].keys() & yours[kind].keys():
            continue
        labels = mine[kind] | yours[kind]
        if all(labels.values()) or any(each.before.partition(" ")[0] not in labels for each in found):
            return True
    return False


@lru_cache(maxsize=4_000)
def _list_labels(text: str) -> Mapping[str, dict[str, bool]]:
    """Return the stems of nouns with the labels after them, and whether each is nothing but a label."""
    found: dict[str, dict[str, bool]] = {}
    for match in _LABEL.finditer(text):
        kind, counted = stem_word(match["kind"].lower()), match["counted"]
        if kind in _MONTHS | _EDITION_WORDS or match["kind"].lower() in STOP_WORDS:
            continue
        if kind in _REFERENCE_WORDS and match.start():
            continue
        sure = bool(match["said"]) or not match["label"][0].isdigit() or not counted or counted.lower() in STOP_WORDS
        found.setdefault(kind, {})[match["label"]] = sure
    return found


def find_differences(one: str, other: str) -> tuple[Difference, ...]:
    """Return the differences between the sentences of two texts, each with its closest counterpart, nearest first."""
    found: list[Difference] = []
    theirs = list_statements(other)
    for mine in list_statements(one):
        nearest = sorted(theirs, key=lambda each: -compare_topics(mine, each))[:1]
        found += [differs for each in nearest if (differs := find_difference(mine, each)) is not None]
    return tuple(sorted(found, key=lambda each: -each.alike))


def find_differing_sentences(one: str, other: str, difference: str, claim: str = "") -> tuple[str, str]:
    """Return the sentences of two quotes that show the difference `told`, or the whole quotes if none do.

    If several do, the pair with the sentence `claim` is meant.
    """
    found = [each for each in find_differences(one, other) if each.text == difference]
    named = [each for each in found if claim and claim in (each.one, each.other)]
    return next(((each.one, each.other) for each in (*named, *found)), (one, other))


def _compare_parts(a: ParsedStatement, b: ParsedStatement) -> Iterator[Difference]:
    """Compare two clauses in every respect."""
    alike, shared = compare_topics(a, b), len(a.topic & b.topic)
    if _name_different_things(a, b):
        return
    if alike < SAME_SUBJECT_SHARE:  # a short claim inside a long sentence
        if shared > _MIN_TOPIC and shared >= _INSIDE_SHARE * min(len(a.topic), len(b.topic)):
            yield from _compare_opposites(a.clause, b.clause)
        return
    yield from _compare_duties(a, b)
    if alike < CLOSE_SUBJECT_SHARE:
        return
    yield from _compare_polarity(a.clause, b.clause)
    yield from _compare_opposites(a.clause, b.clause)
    verbs = [frozenset(verb for _, verb in each.duties) for each in (a, b)]
    if not all(verbs) or verbs[0] & verbs[1] or alike >= IDENTICAL_SUBJECT_SHARE:
        yield from _compare_measures(a, b, alike)
    if len(a.days) == len(b.days) == 1 and a.days != b.days:
        yield Difference(Aspect.DATE, a.days[0], b.days[0])
    elif times := find_other_time(a, b):
        yield Difference(Aspect.DATE, *times)


_ONCE = frozenset(  # what happens to a thing once, so that two times of it cannot both be true
    map(stem_word, """founded established created born died opened completed finished built constructed erected invented
    discovered published launched introduced inaugurated commissioned decommissioned demolished destroyed abolished
    dissolved closed enacted ratified repealed signed adopted patented released premiered began started ended sank
    collapsed retired arrived merged renamed unveiled incorporated consecrated""".split())
)  # fmt: skip


def find_other_time(a: ParsedStatement, b: ParsedStatement) -> tuple[str, str] | None:
    """Return the two times that statements give for one event that happens once; None if they agree or may both hold.

    Each states one time, and neither names a thing that the other does not: "opened in 1931" against "opened in 1933".
    """
    if not _ONCE & a.topic & b.topic or a.clause.negations != b.clause.negations:
        return None
    ranks = [frozenset(_RANK.findall(each.text.lower())) for each in (a, b)]
    if ranks[0] != ranks[1]:  # "the first line", "the second line"
        return None
    times = (_list_times(a.text), _list_times(b.text))
    names = [_list_names(each) for each in (a, b)]
    if any(len(each) != 1 for each in times) or (names[0] - names[1] and names[1] - names[0]):
        return None
    one, other = times[0][0], times[1][0]
    return None if one.startswith(other) or other.startswith(one) else (one, other)


def _list_times(text: str) -> tuple[str, ...]:
    """Return the distinct days, months or years of a text in ISO form; "about 1931" is none."""
    plain = _ROUGHLY.sub("~", text)
    return find_date_prefixes(plain) or tuple(map(str, find_years(plain)))


_RANK = re.compile(
    r"\b(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last|new|old|\d+(?:st|nd|rd|th))\b"
)
_IN_YEAR = re.compile(r"(?i)\b(?:in|since|until|during|from|by|of)\s$")


_ROUGHLY = re.compile(
    r"(?i)\b(?:about|around|circa|ca\.|c\.|roughly|before|after|by|until|since)\s+(?:[a-z]+\s+)?\d[\w-]*"
)


def _list_names(said: ParsedStatement) -> frozenset[str]:
    found = (each for each in find_mentions(said.text) if each.kind is not MentionKind.QUOTED)
    return frozenset(stem for each in found for stem in stem_text(each.text)) - _MONTHS


def _name_different_things(a: ParsedStatement, b: ParsedStatement) -> bool:
    mine, yours = frozenset(find_identifiers(a.text)), frozenset(find_identifiers(b.text))
    return bool(mine and yours and mine.isdisjoint(yours))


def _compare_duties(a: ParsedStatement, b: ParsedStatement) -> Iterator[Difference]:
    """Compare obligations on the same verb."""
    pairs = [(m, y) for m in a.clause.duties for y in b.clause.duties if m.governs and m.governs == y.governs]
    kept = {mine.kind for mine, yours in pairs if mine.kind == yours.kind}
    for mine, yours in pairs:
        if mine.kind != yours.kind and mine.kind not in kept and yours.kind not in kept:
            opposed = (_FORCES[mine.kind] > 0) != (_FORCES[yours.kind] > 0)
            yield Difference(Aspect.OBLIGATION, " ".join(mine.text.split()), " ".join(yours.text.split()), opposed)


def _compare_polarity(a: Clause, b: Clause) -> Iterator[Difference]:
    """Find a word that one side denies and the other affirms, where obligations do not say it already."""
    if a.duties or b.duties or (a.negations - b.negations) % 2 == 0:
        return
    denied = (a.negated & (b.stems - b.negated)) | (b.negated & (a.stems - a.negated))
    if denied:
        first = bool(a.negated & denied)
        word = f"not {min(denied)}"
        yield Difference(Aspect.NEGATION, word if first else min(denied), min(denied) if first else word)


def _compare_opposites(a: Clause, b: Clause) -> Iterator[Difference]:
    yield from (Difference(Aspect.COMPARATIVE, one, other) for one, other in find_opposites(a.terms, b.terms))


def _compare_measures(a: ParsedStatement, b: ParsedStatement, alike: float) -> Iterator[Difference]:
    """Compare amounts of one dimension, or of one noun, of which each side states one, or as many in the same words."""
    for mine in a.measures:
        own = [each for each in a.measures if _measure_same(mine, each)]
        theirs = [each for each in b.measures if _measure_same(mine, each)]
        if not own or len(own) != len(theirs):
            continue
        if len(own) > 1 and (alike < IDENTICAL_SUBJECT_SHARE or any(map(mine.equals, theirs))):
            continue  # listed in other words, or in another order
        yours = theirs[own.index(mine)]
        if not mine.equals(yours) and not (mine.approximate or yours.approximate):
            yield Difference(Aspect.QUANTITY, _show(mine, a), _show(yours, b))
        elif mine.bound and yours.bound and mine.bound[0] != yours.bound[0]:
            yield Difference(Aspect.COMPARATIVE, f"{mine.bound} {mine.text}", f"{yours.bound} {yours.text}")


def _measure_same(one: Measure, other: Measure) -> bool:
    """True if two amounts measure the same: one dimension and, where both count something, the same noun."""
    if one.dimension != other.dimension:
        return False
    return bool(one.nouns & other.nouns) or (bool(one.dimension) and not (one.nouns and other.nouns))


def _show(measure: Measure, said: ParsedStatement) -> str:
    """Return an amount with the word it counts: "8 characters"."""
    if measure.dimension:
        return measure.text
    noun = re.match(r"[\s-]+[^\W\d_]+", said.text[measure.end :]) if measure.text in said.text[: measure.end] else None
    return f"{measure.text}{noun.group()}" if noun else measure.text

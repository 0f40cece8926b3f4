"""Typed comparison: what a sentence says otherwise than its evidence, clause by clause.

Knows which differences prove a sentence false (a number, unit or date that stands nowhere, another obligation or
polarity of the same verb) and which only leave it open. Of the labelled cells of a table row or list it compares those
that are meant. Does not know paraphrases: other words for the same thing are not judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from operator import attrgetter

from corrobora.text.bindings import compare_polarity, describe_bounds, find_of_others, find_restated, find_turned_bounds
from corrobora.text.clauses import (
    OPPOSITES,
    SAME_ORDER,
    SUPERLATIVES,
    Clause,
    Shade,
    compare_order,
    find_nearest_segment,
    find_opposites,
    find_word,
    parse_clause,
    split_statement,
)
from corrobora.text.measures import Measure, find_measures, is_named_apart
from corrobora.text.quantities import Date, find_dates
from corrobora.text.reading import (
    YEAR,
    Discrepancy,
    ParsedEvidence,
    find_nearest,
    is_computable,
    is_scaled_apart,
    is_stated_result,
    is_unit_named,
    read_evidence,
    select_cells,
    split_by_cells,
)
from corrobora.text.tokens import split_words, stem_text
from corrobora.text.vocabulary import is_akin

_NEXT_YEAR = re.compile(r"(?i)\b(?:an?|the|previous|next|last|following) year\b")
_NAMED = re.compile(
    r"(?i)\b(revision|version|release|edition|article|section|chapter|clause|table|figure|part|annex|appendix)\s+$"
)
_OWN_COUNT = re.compile(r"(?i)\b(?:these|those)\s+$")  # of what the text itself lists
_ORDERING = ("before", "after")
_RANGE_WORDS = 3  # between the ends of a range
_SAME_SUBJECT = 0.8  # share of a clause's stems in a sentence from which one verb is about one thing
_NEAR_AMOUNT = 0.1  # how far "about" reaches
_FOCUS = 6  # words after "only" that it may be about
_OF = re.compile(r"\s+of\s+(?:(?:the|its|their|these)\s+)?")
_EXACT_UPTO = 10  # counts in words up to this may count what is listed


def compare_sentence(sentence: str, reading: ParsedEvidence) -> tuple[Discrepancy, ...]:
    """Return what a sentence says otherwise than its evidence, clause by clause; the false first."""
    found: list[Discrepancy] = []
    whole = parse_clause(sentence)
    texts = [unit.text for unit in reading.units]
    for part in (piece for each in split_statement(sentence) for piece in split_by_cells(each, texts)):
        clause = parse_clause(part)
        meant, sure = _select_meant(clause, reading)
        problems = _compare_clause(clause, whole, meant)
        problems += find_of_others(clause, meant, reading, problems)
        found += problems if sure else [each._replace(false=False, contradicts=False) for each in problems]
    return tuple(sorted(dict.fromkeys(found), key=lambda each: not each.false))


def _select_meant(clause: Clause, reading: ParsedEvidence) -> tuple[ParsedEvidence, bool]:
    """Return the evidence without the cells of a row or list that a clause does not mean, and whether that is sure."""
    texts = [unit.text for unit in reading.units]
    selected = select_cells(texts, clause.stems)
    if selected is None:
        return reading, True
    return read_evidence(selected[0], reading.everything[len("\n".join(texts)) :]), selected[1]


def _compare_clause(clause: Clause, whole: Clause, reading: ParsedEvidence) -> list[Discrepancy]:
    units = find_nearest(clause, reading.units)
    found = list(_compare_numbers(clause.text, whole.text, reading, units))
    if units:
        found += min(
            (list(_compare_words(clause, whole, unit, reading)) for unit in units),
            key=lambda each: (sum(p.false for p in each), len(each)),
        )
    return found


def _compare_numbers(text: str, whole: str, reading: ParsedEvidence, units: Sequence[Clause]) -> Iterator[Discrepancy]:
    dates, rest = find_dates(text)
    for date in dates:
        if not _is_date_known(date, reading):
            yield Discrepancy(f"its date {date.text} stands in none of its sources", date.text, false=True)
    measures = find_measures(rest)
    years = [m for m in measures if YEAR.fullmatch(m.text) and (not m.nouns or m.number in reading.years)]
    for year in years:
        if year.number not in reading.years and not any(other.number == year.number for other in reading.measures):
            false = not _is_counted_year(int(year.number), reading)
            yield Discrepancy(f"its year {year.text} stands in none of its sources", year.text, false=false)
    measures = tuple(m for m in measures if m not in years)
    near = [measure for unit in units for measure in find_measures(unit.text)]
    for at, measure in enumerate(measures):
        around = measures[max(0, at - 1) : at + 2]
        beside = [each for each in around if each is measure or _is_range(rest, *sorted((each, measure), key=_start))]
        problem = _compare_number(measure, reading, near, beside, rest[: measure.start])
        if problem is not None and problem.false and is_stated_result(measure, find_measures(whole), reading.measures):
            problem = _doubt_computed(measure)
        if problem is not None:
            yield problem


def _is_counted_year(year: int, reading: ParsedEvidence) -> bool:
    """True if a year may be counted from another one: "two years later than planned", "a year before"."""
    spans = {round(each.value / 12) for each in reading.measures if each.dimension == "month"}
    spans |= {1} if _NEXT_YEAR.search(reading.everything) else set()
    return any(abs(year - other) in spans for other in reading.years)


def _is_date_known(date: Date, reading: ParsedEvidence) -> bool:
    if not (date.year or date.day) and date.text in reading.everything:
        return True  # "the March high" gives a month that only "in March" reads as a date
    year_known = not date.year or date.year in reading.years
    return (
        any(
            (
                other.month == date.month
                and (not date.day or other.day == date.day)
                and (other.year == date.year or not (date.year and other.year))
            )
            for other in reading.dates
        )
        and year_known
    )


def _compare_number(
    measure: Measure, reading: ParsedEvidence, near: Sequence[Measure], beside: Sequence[Measure], before: str
) -> Discrepancy | None:
    """Compare a number with all of the evidence, with those `near` and, of its own sentence, `beside` and `before` it.

    None if the evidence gives it, else how it differs: from the same number otherwise used to none that is like it.
    """
    said = measure.text
    equal = [other for other in reading.measures if measure.equals(other)]
    alike = [other for other in reading.measures if other.dimension == measure.dimension]
    close = [other for other in alike if abs(other.value - measure.value) <= _NEAR_AMOUNT * abs(other.value)]
    rivals = [
        other
        for other in near
        if other.dimension == measure.dimension and (measure.dimension or measure.nouns & other.nouns)
    ]
    if not equal and (
        is_scaled_apart(measure, reading) or is_named_apart(measure, reading.measures, reading.everything)
    ):
        return None
    if equal or _is_release(said, before, reading.everything):
        other = _find_other_edition(said, before, reading)
        return other or (_compare_bounds(measure, equal, rivals, reading) if equal else None)
    if any(each.number == measure.number and not (each.dimension and measure.dimension) for each in reading.measures):
        return _compare_unit(measure, reading)
    if _is_about(measure, close):
        return None
    if any(_includes(measure, other) for other in close) or _spans(measure, alike, beside):
        return Discrepancy(f"its sources give {(close or alike)[0].text}, not {said}", said)
    return _describe_absence(measure, reading, rivals, before)


def _compare_unit(measure: Measure, reading: ParsedEvidence) -> Discrepancy | None:
    """Compare a number that the evidence gives with another unit; "a cycle of nineteen" has none of its own."""
    bare = not measure.dimension and not measure.nouns
    if bare or is_unit_named(measure, reading):
        return None
    return Discrepancy(f"its sources give {measure.text.split()[0]} with another unit or none", measure.text)


def _describe_absence(measure: Measure, reading: ParsedEvidence, rivals: Sequence[Measure], before: str) -> Discrepancy:
    """Describe a number that is like none of the evidence; it is false unless it may be meant otherwise."""
    said = measure.text
    counts = (measure.spelled or _OWN_COUNT.search(before) is not None) and measure.number <= _EXACT_UPTO
    if is_computable(measure, reading.operands, reading.years):
        return _doubt_computed(measure)
    if measure.vague or (counts and not rivals):
        return Discrepancy(f"its number {said} stands in none of its sources", said)
    if (name := _NAMED.search(before)) and re.search(rf"(?i)\b{name[1]}\s+\d", reading.everything) is None:
        return Discrepancy(f"none of its sources is called {name[1]} {said}", f"{name[1]} {said}")
    kind = "amount" if measure.dimension else "number"
    instead = f"; they give {rivals[0].text}" if rivals else ""
    reason = f"its {kind} {said} stands in none of its sources{instead}"
    return Discrepancy(reason, said, false=True, contradicts=bool(rivals))


def _doubt_computed(measure: Measure) -> Discrepancy:
    said = measure.text
    return Discrepancy(
        f"its number {said} is in none of its sources and may be computed from them", said, computed=True
    )


def _find_other_edition(said: str, before: str, reading: ParsedEvidence) -> Discrepancy | None:
    """Find an edition that the evidence names only beside its own: what "replaces Version 1" is no version 1."""
    if (name := _NAMED.search(before)) is None:
        return None
    held = "\n".join(unit.text for unit in reading.units)
    named = [
        re.findall(rf"(?i)\b{name[1]}\s+(\d[\w.]*\b)", text) for text in (held, reading.everything.removeprefix(held))
    ]
    number = said.split(maxsplit=1)[0].rstrip(".,")
    if number in named[0] or number not in named[1][1:] or number == named[1][0]:
        return None
    return Discrepancy(f"none of its sources is called {name[1]} {said}", f"{name[1]} {said}")


def _is_release(said: str, before: str, about: str) -> bool:
    """True for a release named by its first numbers: "Django 4.2" where the source says "4.2.11"."""
    number = said.split(maxsplit=1)[0].rstrip(".,")
    if "." in number and re.search(rf"(?i)(?<![\w.])v{re.escape(number)}(?!\w|[.]\d)", about):
        return True
    named = re.search(r"(?:\b[A-Z][\w.-]*|(?i:version|release|since|in|until|before|after|v))\s?$", before)
    return (
        named is not None
        and re.fullmatch(r"\d+(?:\.\d+)*", number) is not None
        and re.search(rf"(?<![\w.])v?{re.escape(number)}{'' if '.' in number else '[.][0-9]+'}[.]\d+", about)
        is not None
    )


def _is_about(measure: Measure, close: Sequence[Measure]) -> bool:
    """True for an approximate number near an exact one, and for a scaled one ("4.2 million") that is another rounded.

    "About 95" is another number than "about 90".
    """
    if measure.approximate and any(not other.approximate for other in close):
        return True
    digits = re.sub(r"\D", "", measure.text).lstrip("0")
    scaled = any(word in measure.text for word in ("million", "billion", "thousand", "bn", "trillion"))
    return scaled and any(float(f"{other.value:.{max(len(digits), 1)}g}") == measure.value for other in close)


def _includes(measure: Measure, other: Measure) -> bool:
    """True if "more than 4,000" includes 4,200."""
    return (measure.bound[:1] == ">" and other.value > measure.value) or (
        measure.bound[:1] == "<" and other.value < measure.value
    )


_start = attrgetter("start")


def _is_range(text: str, one: Measure, other: Measure) -> bool:
    """True if what stands between two numbers makes them the ends of a range: "40 metres to 50"."""
    between = split_words(text[one.end : other.start].replace("–", " to ").replace("-", " to "))
    return len(between) <= _RANGE_WORDS and bool({"to", "and", "or", "until"} & set(between))


def _spans(measure: Measure, others: Sequence[Measure], beside: Sequence[Measure]) -> bool:
    """True if a number is one end of a range in which a number of the evidence lies."""
    return any(
        each.dimension == measure.dimension
        and min(each.value, measure.value) <= other.value <= max(each.value, measure.value)
        for each in beside
        for other in others
    )


def _compare_bounds(
    measure: Measure, equal: Sequence[Measure], rivals: Sequence[Measure], reading: ParsedEvidence
) -> Discrepancy | None:
    if rivals and measure.dimension and not any(measure.equals(other) for other in reading.operands):
        said = measure.text
        return Discrepancy(f"its {said} stands only in a title; its sources give {rivals[0].text} here", said)
    if not any(other.bound == measure.bound or (not measure.bound and other.approximate) for other in equal):
        theirs = next((other.bound for other in equal if other.bound), "")
        return Discrepancy(describe_bounds(measure, theirs), measure.text)
    counted = measure.nouns and not measure.dimension
    named = [other for other in equal if other.nouns]
    if counted and rivals and named and not any(other.nouns & measure.nouns for other in named):
        return Discrepancy(f"its sources give {measure.text} for something else", measure.text)
    return None


def _compare_words(clause: Clause, whole: Clause, unit: Clause, reading: ParsedEvidence) -> Iterator[Discrepancy]:
    """Compare obligation, polarity, direction and shades of a clause with one sentence of the evidence.

    What a clause leaves out may stand elsewhere in its sentence, `whole`.
    """
    same = len(clause.stems & unit.stems) >= _SAME_SUBJECT * max(1, len(clause.stems))
    yield from _compare_duties(clause, whole, unit, reading, same=same)
    yield from find_turned_bounds(clause, unit)
    denied = list(compare_polarity(clause, unit, reading, same=same))
    turned = list(_compare_directions(clause, unit, reading))
    if len(denied) != 1 or denied[0].false or len(turned) != 1 or turned[0].words in _ORDERING:
        yield from (*denied, *turned)  # together they say the same: "never above five" is "at most five"
    yield from _compare_shades(clause, whole, unit, reading)


def _compare_directions(clause: Clause, unit: Clause, reading: ParsedEvidence) -> Iterator[Discrepancy]:
    """Compare opposite words ("rose", "declined") and the order of two things ("A before B")."""
    found = [pair for pair in find_opposites(clause.terms, unit.terms) if not unit.terms & OPPOSITES[pair[1]]]
    found += find_opposites(clause.terms, find_nearest_segment(clause, unit).terms)
    for term in sorted(clause.terms & SUPERLATIVES - frozenset[str]().union(*(each.terms for each in reading.units))):
        yield Discrepancy(f"its sources do not say “{find_word(clause, term)}”", find_word(clause, term))
    order = compare_order(clause.text, unit.text)
    for one, other in dict.fromkeys(found) if order != SAME_ORDER else ():
        yield Discrepancy(
            f"it says “{find_word(clause, one)}”, its sources “{find_word(unit, other)}”", find_word(clause, one)
        )
    if order and order != SAME_ORDER:
        yield Discrepancy(f"its sources order the two sides of “{order}” otherwise", order)


def _compare_duties(
    clause: Clause, whole: Clause, unit: Clause, reading: ParsedEvidence, *, same: bool
) -> Iterator[Discrepancy]:
    theirs = {duty.kind: duty for duty in unit.duties}
    for duty in clause.duties:
        known = any(
            other.kind == duty.kind and is_akin(other.governs, duty.governs)
            for each in reading.units
            for other in each.duties
        )
        unable = duty.text.lower().startswith("can") and not unit.duties and unit.negations
        if known or unable or (duty.kind in theirs and not any(d.governs == duty.governs for d in unit.duties)):
            continue
        rival = next((d for d in unit.duties if d.governs == duty.governs), None)
        if rival is not None and same:
            yield Discrepancy(
                f"it says “{duty.text}”, its sources “{rival.text}”", duty.text, false=True, contradicts=True
            )
        else:
            stated = f"“{unit.duties[0].text}”" if unit.duties else "nothing of the kind"
            yield Discrepancy(f"it says “{duty.text}”, its sources {stated}", duty.text)
    carried = whole.duties or (unit.duties and _is_carried(unit.duties[0], whole))
    if unit.duties and not carried and any(duty.governs in clause.stems for duty in unit.duties):
        yield Discrepancy(f"its sources say “{unit.duties[0].text}”", unit.duties[0].text)


def _is_carried(duty: Shade, whole: Clause) -> bool:
    """True if a sentence without words of obligation is an order itself, or says "need" for "require"."""
    ordered = next(iter(stem_text(whole.text)), "") == duty.governs
    hedged = duty.kind == "permitted" and bool(whole.kinds("hedge"))
    return ordered or hedged or any(is_akin(stem, own) for stem in stem_text(duty.text) for own in whole.stems)


def _compare_shades(clause: Clause, whole: Clause, unit: Clause, reading: ParsedEvidence) -> Iterator[Discrepancy]:
    """Compare quantifiers, strength of relation, hedges, conditions, attribution and population."""
    yield from _find_added_shades(clause, unit, reading)
    for shade in (each for part in find_restated(clause, unit) for each in part.shades):
        entailed = shade.kind in ("all", "ever") and not whole.kinds("quantifier")
        if shade.kind in whole.kinds(shade.family) or entailed or shade.family in ("relation", "condition"):
            continue
        if shade.family == "population":
            missing = True
        elif shade.family in ("quantifier", "hedge"):
            other = clause.duties if shade.family == "hedge" else clause.kinds("quantifier") & unit.kinds("quantifier")
            every = "all" in clause.kinds("quantifier") - unit.kinds("quantifier")  # the source says "only one of them"
            overstates = every and shade.family == "quantifier"
            missing = overstates or (shade.governs in clause.stems and not other)
        else:
            missing = not whole.duties
        if missing:
            yield Discrepancy(f"it leaves out “{shade.text}”", shade.text)


def _find_added_shades(clause: Clause, unit: Clause, reading: ParsedEvidence) -> Iterator[Discrepancy]:
    for shade in clause.shades:
        alike = shade.kind != "all" and shade.kind in unit.kinds(shade.family)  # "each" may be each of another thing
        known = (alike and not _refocuses(shade, unit)) or any(
            shade.kind == other.kind and (shade.governs == other.governs or shade.family != "quantifier")
            for each in reading.units
            for other in each.shades
        )
        if shade.family == "relation":
            hedged = "link" in unit.kinds("relation") or unit.kinds("hedge")
            known = known or shade.kind != "cause" or not hedged
        if not known and shade.family not in ("hedge", "attribution"):
            foreign = shade.family == "quantifier" and bool(shade.governs) and shade.governs not in reading.stems
            stronger = shade.kind in ("only", "cause", "ever") or (shade.kind == "all" and _names_part(unit))
            yield Discrepancy(f"its sources do not say “{shade.text}”", shade.text, scored=not (foreign or stronger))


def _names_part(unit: Clause) -> bool:
    """True if a sentence says something of a part: "most of them", "94 % of cases", "three of the five bridges"."""
    found = find_measures(unit.text)
    places = {each.start for each in found}
    shares = ((each, _OF.match(unit.text, each.end)) for each in found)
    parts = (of is not None and (each.dimension == "ratio" or of.end() in places) for each, of in shares)
    return bool(unit.kinds("quantifier") - {"all", "only"}) or any(parts)


def _refocuses(shade: Shade, unit: Clause) -> bool:
    """True if "only" stands before something else of its sentence: "only members may" is not "members may only"."""
    theirs = (unit.text.split(other.text, 1)[1] for other in unit.shades if other.kind == "only")
    near = {stem for rest in theirs for stem in stem_text(" ".join(rest.split()[:_FOCUS]))}
    return shade.kind == "only" and shade.governs in unit.stems and shade.governs not in near

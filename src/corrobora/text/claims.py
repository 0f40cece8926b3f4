"""Claims: the operation that a sentence claims, with its operator, direction, result and operands.

Knows numbers with their units, words and years, and the words of sums, differences, percentages,
ratios, averages, comparisons and trends. Does not execute anything.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from corrobora.domain.report import Support
from corrobora.text.measures import Measure, find_measures
from corrobora.text.quantities import find_years
from corrobora.text.segmentation import split_sentences
from corrobora.text.support import Evidence, SupportCheck, check_support
from corrobora.text.tokens import fold_text, split_words, stem_text, stem_word


@dataclass(frozen=True, slots=True)
class CitedEvidence:
    """A piece of cited evidence with the identity of its source."""

    evidence: Evidence
    source: str
    publisher: str = ""


@dataclass(frozen=True, slots=True)
class Number:
    """A number as written: `place` is half of its last digit, `unit` the stems after it, "%" or a currency sign."""

    value: float
    unit: frozenset[str]
    text: str
    start: int
    end: int
    place: float = 0.0
    is_year: bool = False


@dataclass(frozen=True, slots=True)
class QuotedNumber:
    """A number of the evidence with the words and years that stand with it."""

    number: Number
    words: frozenset[str]
    years: frozenset[int]
    end: str = ""  # of a change that the evidence itself tells: "from" or "to"
    sentence: str = ""


_JOINED = re.compile(r"\w|[./–-]\d|,\d|-[A-Z]")  # after a number that is part of a name or of another number
_END = re.compile(r"(?i)\b(from|to)\s+(?:about\s+)?$")
_END_ROOM = 16  # characters before a number in which its preposition stands
_NAMING = frozenset("revision version rev section table figure chapter release part level step page no sp".split())
_IN_YEAR = ("in", "since", "until", "during")
_NO_UNIT = frozenset(map(stem_word, "more fewer less higher lower longer shorter larger smaller greater times".split()))
NAMED_NUMBER = re.compile(r"\b([A-Z][\w+-]*) \d+(?:\.\d+)*(?![\w%]|[.,-]\d)")  # "Icinga 2"
_ELLIPSIS = re.compile(r"[^.;:()]{0,80}\b(?:and|against|versus|after|while|compared (?:with|to))\s(?:by |of |about )?")
_CLAUSE = re.compile(r"(?:[,;:.](?=\s)|\b(?:and|while|whereas|but|against|versus)\b)")


def scan_numbers(text: str) -> tuple[Number, ...]:
    """Return the numbers of a text in order, without those that are part of a name ("Revision 3", "800-63")."""
    found: list[Number] = []
    for each in find_measures(text):
        before = re.search(r"([^\W\d_][\w’'-]*)\.?\s$", text[max(0, each.start - 30) : each.start])
        word = before.group(1) if before else ""
        capital = word[:1].isupper() and bool(stem_word(fold_text(word))) and before is not None and before.start() > 0
        if _is_operand(each, text) and not capital and fold_text(word) not in _NAMING:
            end = each.unit_at if each.unit_at and "%" not in each.units else each.end
            said, units = text[each.start : end].strip(), each.units
            if each.number and end < each.end and "%" not in units:  # 5 days, 5d
                units = units.union((f"{each.dimension}:{each.value / each.number:.6g}",))
            year = _is_year(each, text, word)
            found.append(Number(each.number, units - _NO_UNIT, said, each.start, end, _read_place(each), year))
    return tuple(found)


def _is_operand(measure: Measure, text: str) -> bool:
    """True for an amount that stands alone: no fraction in words, time of day, rank or decade, no part of a sign."""
    shared = measure.dimension == "ratio" and ("%" not in measure.units or measure.spelled)
    if shared or measure.dimension in ("clock", "rank", "decade"):
        return False
    return not (re.search(r"(?:[\w.,/-]|\d[–-])$", text[: measure.start]) or _JOINED.match(text, measure.end))


def _is_year(measure: Measure, text: str, word: str) -> bool:
    """True for four digits that a word before them, or brackets, make a year."""
    if not measure.text.isdigit() or len(measure.text) != 4 or not 1500 <= measure.number < 2100:  # noqa: PLR2004 - years
        return False
    dated = word.lower() in (_IN_YEAR if measure.units else (*_IN_YEAR, "from", "to", "of", "by", "and"))
    bracketed = text[measure.start - 1 : measure.start] == "(" and text[measure.end : measure.end + 1] == ")"
    return dated or (not measure.units and bracketed)


def _read_place(measure: Measure) -> float:
    """Return half of the last digit as written: how far a rounded number may be off."""
    decimals = re.search(r"\.(\d+)", measure.text)
    plain = re.match(r"\D*(\d[\d,]*(?:\.\d+)?)", measure.text)
    written = float(plain.group(1).replace(",", "")) if plain else 0.0
    factor = abs(measure.number / written) if written else 1.0
    return 0.5 * 10 ** -(len(decimals.group(1)) if decimals else 0) * factor


def share_unit(one: frozenset[str], other: frozenset[str]) -> bool:
    """True if two units may be the same: one is not stated, or they share a word."""
    return not one or not other or bool(one & other)


def list_quoted_numbers(cited: Sequence[CitedEvidence]) -> tuple[QuotedNumber, ...]:
    """Return the numbers of the quotes, each with the words of its clause and of its source's labels."""
    found: list[QuotedNumber] = []
    for piece in cited:
        given = piece.evidence
        label = f"{given.title} {given.version} {given.heading} {given.published} {piece.publisher}"
        last: Number | None = None
        spans = split_sentences(given.quote)
        edges = [0, *(match.start() for match in _CLAUSE.finditer(given.quote)), len(given.quote)]
        for number in scan_numbers(given.quote):
            if last is not None and not number.unit and _ELLIPSIS.fullmatch(given.quote[last.end : number.start]):
                number = replace(number, unit=last.unit)  # noqa: PLW2901 - "9 visitors came by boat and 11 by bus"
            last = number
            begin = max(edge for edge in edges if edge <= number.start)
            end = min(edge for edge in edges if edge >= number.end)
            clause = given.quote[begin:end]
            years = find_years(clause) or find_years(given.quote) or find_years(f"{label} {given.before} {given.after}")
            words = name_words(f"{clause} {label}") | {str(year) for year in years}
            end = _END.search(given.quote[max(0, number.start - _END_ROOM) : number.start])
            within = next((given.quote[s.start : s.end] for s in spans if s.start <= number.start < s.end), "")
            found.append(QuotedNumber(number, words, frozenset(years), end.group(1).lower() if end else "", within))
    return tuple(found)


def list_texts(evidence: Evidence) -> tuple[str, ...]:
    """Return the quote, its neighbours and what its source says about itself."""
    edition = (evidence.title, evidence.version, evidence.heading, evidence.published)
    return evidence.quote, *edition, evidence.before, evidence.after


def name_words(text: str) -> frozenset[str]:
    """Return the stems of a text and its identifiers ("800-63-4", "3")."""
    return frozenset((*stem_text(text), *re.findall(r"(?<!\w)[\w.-]*\d[\w-]*", fold_text(text))))


_ABOUT = r"(?:about |around |roughly |nearly |almost |approximately |some |exactly |a |an |only )?"
_N, _W = r"#(\d+)#(?:[a-z]{1,3}\b)?", r"(?:\s+[^\s#@.;]+)"  # 5 s, 5s
_UP = "more|higher|greater|larger|longer|bigger|later|above|wider|heavier|taller|deeper"
_DOWN = "fewer|less|lower|smaller|shorter|earlier|below|narrower|lighter"
_ROSE = "rose|risen|rises?|grew|grown|grows?|increase[sd]?|climbed|climbs|went up|gained|growth|gain|raised"
_FELL = "fell|fallen|falls?|drop(?:s|ped)?|declined?|declines|decrease[sd]?|shrank|went down|sank|loss|reduced|lowered"
_MOVES = "increase|decrease|rise|fall|drop|growth|reduction"
_STAYED = "stayed|stays|remained|remains|unchanged|constant|did not change"
_UNIT = rf"(?:(?! (?:is|are|was|were)\b){_W}){{0,2}}"  # "1,000 s is higher" states no difference of 1,000 s
_VERB = r"(?:=|equals?|is|are|was|were|makes?|made|gives?|comes? to|came to|amounts? to|adds? up to|totals?|totalled)"
_FACTORS = {"twice": 2.0, "double": 2.0, "doubled": 2.0, "doubles": 2.0, "thrice": 3.0, "triple": 3.0, "tripled": 3.0,
            "quadrupled": 4.0, "half": 0.5, "halved": 0.5, "halves": 0.5}  # fmt: skip
_SIGN = re.compile(rf"{_N}{_W}{{0,2}}\s*(\+|-|−|–|×|x|\*|/|÷|times|multiplied by|plus|minus|divided by)\s*{_N}")
_OPERATORS: tuple[tuple[str, str], ...] = (  # the first whose word stands in the sentence
    ("average", r"(?<!\ban )\baverage[sd]?\b|\ban average of\b|\bmean\b"),
    ("sum", r"\b(?:total(?:s|led|ling)?|sum|together|combined|altogether|in all|adds? up)\b"),
    (
        "ratio",
        "|".join(
            (
                rf"{_N} times (?:as|the|that|those|what|its|their|{_UP}|{_DOWN})\b",
                r"\bfactor of\b|\bratio\b",
                rf"\b(?:{'|'.join(_FACTORS)})\b(?<!twice(?= (?:in|within|per|an?|each|every|during)\b))",  # how often
            )
        ),
    ),
    ("product", rf"{_N}{_W}{{0,2}} of {_N}\s?\w+ each\b"),
    ("share", rf"{_N}(?:(?!\s+(?:instead|because|ahead|regardless)\b){_W}){{0,3}}? (?:out )?of (?:the |all )?{_N}"),
    (
        "difference",
        "|".join(
            (
                rf"{_N}{_UNIT} (?:{_UP}|{_DOWN})\b|\bby {_ABOUT}{_N}|\b(?:difference|gap|margin)\b",
                rf"\b(?:{_ROSE}|{_FELL}|{_MOVES}){_W}{{0,1}}? of {_ABOUT}{_N}|{_N} (?:{_MOVES})\b",
            )
        ),
    ),
)
_RESULTS = {
    "average": (rf"{_VERB} {_ABOUT}{_N}", rf"(?:average|mean){_W}{{0,3}}? of {_ABOUT}{_N}(?!{_W}{{0,2}} and\b)",
                rf"{_N}{_W}{{0,3}}? on average", rf"(?:on average|average){_W}{{0,2}}? {_N}"),
    "sum": (rf"{_VERB} {_ABOUT}{_N}", rf"(?:total|sum){_W}{{0,3}}? of {_ABOUT}{_N}(?!{_W}{{0,2}} and\b)",
            rf"{_N}{_W}{{0,3}}? (?:in total|in all|altogether|combined|together)",
            rf"(?:in total|in all|together|altogether|combined),?{_W}{{0,2}}? {_N}"),
    "ratio": (rf"{_N} times\b", rf"(?:factor|ratio){_W}{{0,12}}? (?:of|is|was|=) {_ABOUT}{_N}",
              rf"{_VERB} {_ABOUT}{_N}"),
    "share": (rf"{_VERB} {_ABOUT}{_N}", rf"\({_ABOUT}{_N}", rf"{_N} of\b"),
    "difference": (rf"{_N}{_UNIT} (?:{_UP}|{_DOWN})\b", rf"\bby {_ABOUT}{_N}", rf"{_N} (?:{_MOVES})",
                   rf"(?:of|is|was|=|{_VERB}) {_ABOUT}{_N}"),
}  # fmt: skip
_CHANGES = re.compile(rf"\b(?:{_UP}|{_DOWN}|{_ROSE}|{_FELL}|{_MOVES}|differ\w*|exceed\w*|outnumber\w*|vary|varies)\b")
_OFTEN = re.compile(r" times\s*[,;.]")
_COMPARED = re.compile(
    rf"\b(?:(?P<up>{_UP}|exceeds?|exceeded)|(?P<down>{_DOWN}))\b(?=.*\bthan\b|.*\b(?:exceeds?|exceeded)\b|\s+#)"
    r"|\b(?P<same>(?<!in )(?<!on )(?<!by )(?<!from )the same"  # "in the same thread" says nothing of amounts
    r"|equal|identical|as (?:many|much|long|high) (?!as [$€£]?#))\b"
)
BOUNDS = frozenset(("above", "below"))
_IS = (["is"], ["are"], ["was"], ["were"], ["lies"], ["lie"], ["lay"], ["stays"], ["stayed"])
_COUNTED = re.compile(r"\b(?:more|fewer|less|as many|as much) ([a-z]+)\b")
_TREND = re.compile(rf"\b(?:(?P<up>{_ROSE})|(?P<down>{_FELL})|(?P<same>{_STAYED}))\b")
_APPROXIMATE = re.compile(r"(?:about|around|roughly|nearly|almost|approximately|some)\s+(?:a |an )?$")
_BREAK = re.compile(r"[,;(]|\b(?:to|and|against|versus|as|from)\b")
_DOUBLED = re.compile(r"\b(?:doubled|tripled|quadrupled|halved)\b")
_SIGNS = {"+": "sum", "plus": "sum", **dict.fromkeys(("-", "−", "–", "minus"), "minus"),
          **dict.fromkeys(("/", "÷", "divided by"), "quotient")}  # fmt: skip
_SET_NOUNS = frozenset(
    map(stem_word, "sources documents values figures numbers editions versions quotes years".split())
)
OPERATOR_STEMS = frozenset(
    stem_text(
        re.sub(r"[^a-z]+", " ", f"{_UP} {_DOWN} {_ROSE} {_FELL} {_STAYED} {_MOVES} {_VERB} {' '.join(_FACTORS)}")
        + "average mean total sum together combined altogether ratio factor share difference gap percent percentage "
        "points times exceeds number minimum maximum state states ask asks say says require requires name names"
    )
)

_DIRECTIONS = {"up": 1, "down": -1}


@dataclass(frozen=True, slots=True)
class Claim:
    """What a sentence claims: the operator, its direction, the result, and the operands that it states."""

    operator: str
    direction: int  # 1 up, -1 down, 0 none
    over_time: bool  # the second operand is the later one: "rose from 8 to 15"
    result: Number | None
    factor: float  # of "twice", else 0
    operands: tuple[Number, ...]
    about: bool
    cue: str  # the words of the operator
    counted: str  # the stem of what is counted: "more characters"
    words: frozenset[str] = frozenset()


def read_claim(sentence: str, quoted: Sequence[QuotedNumber], *, pieces: int) -> Claim | None:
    """Read the operation that a sentence claims over some pieces of evidence; None if it has no operator word."""
    numbers = scan_numbers(sentence)
    masked = _mask_numbers(sentence, numbers)
    operator, cue = _find_operator(masked)
    compared, moved = _find_comparison(masked)
    if not operator and compared is None:
        return None
    factors = (_FACTORS[word] for word in split_words(masked) if operator == "ratio" and word in _FACTORS)
    factor = next(factors, 0.0)
    result = _find_result(operator, masked, numbers, quoted) if operator and not factor else None
    if operator and result is None and not factor:
        operator = "unread"
    counted = _COUNTED.search(masked)
    return Claim(
        operator=operator or ("trend" if moved else "comparison"),
        direction=_DIRECTIONS.get(compared.lastgroup or "", 0) if compared else 0,
        over_time=moved or _DOUBLED.search(masked) is not None,
        result=result,
        factor=factor,
        operands=_list_operands(sentence, numbers, result, quoted, pieces),
        about=result is not None
        and _APPROXIMATE.search(sentence[max(0, result.start - 20) : result.start]) is not None,
        cue=re.sub(r"[#@]\d+[#@]", "", cue or (compared.group() if compared else "")),
        counted=stem_word(counted.group(1)) if counted else "",
        words=name_words(sentence),
    )


def _find_comparison(masked: str) -> tuple[re.Match[str] | None, bool]:
    """Return the words that compare two numbers, and whether they tell how one moved: "rose from 8 to 15"."""
    moved = None if re.search(r"\bthan\b", masked) else _TREND.search(masked)
    compared = (each for each in _COMPARED.finditer(masked) if not _is_bound(each, masked))
    return moved or next(compared, None), moved is not None


def _list_operands(
    sentence: str, numbers: Sequence[Number], result: Number | None, quoted: Sequence[QuotedNumber], pieces: int
) -> tuple[Number, ...]:
    """List the numbers that an operation takes: not its result, how often it is done, or how many pieces it is over.

    Years are operands only where what lies between two of them is told.
    """
    own = [each for each in numbers if each is not result and not _OFTEN.match(sentence, each.end)]
    of_years = result is not None and "year" in result.unit and any(each.is_year for each in own)

    def counts_pieces(number: Number) -> bool:
        return number.value == pieces and bool(number.unit & _SET_NOUNS) and not find_instances(number, quoted)

    return tuple(each for each in own if each.is_year is of_years and not counts_pieces(each))


def _is_bound(compared: re.Match[str], masked: str) -> bool:
    """True for "values above 64 are refused": what stands before is what is bounded, and nothing is compared."""
    before = masked[: compared.start()].split()[-1:]
    return compared.group() in BOUNDS and before not in _IS


def _find_operator(masked: str) -> tuple[str, str]:
    """Return the operator and its words, two empty texts if there is none."""
    signed = _SIGN.search(masked)
    if signed is not None:
        return _SIGNS.get(signed.group(2), "product"), signed.group(2)
    for name, form in _OPERATORS:
        found = re.search(form, masked)
        if found is not None and not (found.group().startswith("by ") and not _CHANGES.search(masked)):
            return name, found.group()
    return "", ""


def _mask_numbers(sentence: str, numbers: Sequence[Number]) -> str:
    """Replace numbers by `#place#` and years by `@place@`."""
    masked, last = "", 0
    for at, number in enumerate(numbers):
        mark = "@" if number.is_year else "#"
        masked += sentence[last : number.start] + f"{mark}{at}{mark}"
        last = number.end
    return fold_text(masked + sentence[last:])


def _find_result(
    operator: str, masked: str, numbers: Sequence[Number], quoted: Sequence[QuotedNumber]
) -> Number | None:
    """Return the number that stands in the place of a result, one that no quote has before others."""
    forms = _RESULTS.get(operator, (rf"{_VERB} {_ABOUT}{_N}",))
    places = [int(match.group(1)) for form in forms for match in re.finditer(form, masked)]
    new = [at for at in places if not find_instances(numbers[at], quoted)]
    chosen = (new or places)[:1] if operator == "difference" else (new or places)[-1:]
    if not places:
        alone = [at for at, number in enumerate(numbers) if not number.is_year and not find_instances(number, quoted)]
        chosen = alone if len(alone) == 1 else []
    return numbers[chosen[0]] if chosen else None


def find_instances(number: Number, quoted: Sequence[QuotedNumber]) -> list[QuotedNumber]:
    """Return the numbers of the quotes that are this one."""
    return [each for each in quoted if each.number.value == number.value and share_unit(each.number.unit, number.unit)]


def split_sides(sentence: str, operands: Sequence[Number]) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return where the two sides of a comparison stand: around "than", or around what separates two operands."""
    border = re.search(r"\bthan\b|\bexceed(?:s|ed)?\b|(?<=\w )as\b(?=\s(?!many|much|long|high))", sentence)
    if border is not None:
        return (0, border.start()), (border.end(), len(sentence))
    if len(operands) != 2:  # noqa: PLR2004 - a pair
        return (0, len(sentence)), (0, 0)
    first, second = operands
    breaks = [match.start() for match in _BREAK.finditer(sentence, first.end, second.start)]
    at = breaks[-1] if breaks else second.start
    return (0, at), (at, len(sentence))


def hide_titles(sentence: str, cited: Sequence[CitedEvidence]) -> str:
    """Replace titles and words in quotation marks, whose numbers and words claim nothing, by as many letters."""
    hidden = re.sub(r"“[^”]{1,400}”", lambda match: "x" * len(match.group()), sentence)
    for name in sorted({part for one in cited for part in (one.evidence.title, one.evidence.version) if part}):
        hidden = hidden.replace(name, "x" * len(name))
    return hidden


def check_named_support(text: str, quotes: Sequence[Evidence], known: Sequence[str]) -> SupportCheck:
    """Check a sentence; what fails only for the number in a name that the question has is doubted, not withheld.

    Where `known` texts give the name several numbers, the number tells which is meant: then it counts.
    """
    result = check_support(text, quotes)
    if not result.withholds:
        return result
    named = {name[0] for each in known for name in NAMED_NUMBER.finditer(each)}

    def drop_number(name: re.Match[str]) -> str:
        own = [each for each in named if each.startswith(f"{name[1]} ")]
        return name[1] if own == [name[0]] and name[1].lower() not in _NAMING else name[0]

    plain = NAMED_NUMBER.sub(drop_number, text)
    again = check_support(plain, quotes) if plain != text else result
    return result if again.withholds else replace(result, support=Support.UNCLEAR, withholds=False)


def check_read_support(
    text: str, quotes: Sequence[Evidence], claims: Sequence[str], known: Sequence[str]
) -> SupportCheck:
    """Check a sentence by its quotes; what fails by them and not by what their reader took from each is doubted.

    "This option doubles it": the name of the option stands before the quote, and the reader of the passage has seen it.
    """
    result = check_named_support(text, quotes, known)
    read = [replace(each, quote=claim) for each, claim in zip(quotes, claims, strict=True) if claim != each.quote]
    if not (result.withholds and any(each.quote for each in read)):
        return result
    by_name = check_named_support(text, [*quotes, *(each for each in read if each.quote)], known)
    return result if by_name.withholds else replace(result, support=Support.UNCLEAR, withholds=False)

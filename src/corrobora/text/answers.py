"""Answers: what kind of statement answers a question, and how well a sentence fits that kind.

Knows English question words and the forms in which quantities, times, persons, places, reasons, definitions and lists
are stated. Does not know any subject: a sentence may be of the right kind and still be about something else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from corrobora.domain.limits import read_table
from corrobora.text.measures import find_quantities
from corrobora.text.mentions import MentionKind, find_mentions
from corrobora.text.quantities import NUMBER_WORDS, SCALES, find_dates, find_days, find_releases, find_years
from corrobora.text.questions import split_case
from corrobora.text.tokens import FAMILY_LETTERS, fold_text, is_table_row, split_words, stem_text, stem_word


class AnswerKind(StrEnum):
    """One property that the answering statement has."""

    EXTENT = "extent"  # how long, how large, what size: a number of a measure
    DURATION = "duration"  # how long, how old, at most when: a number of a time
    FREQUENCY = "frequency"  # how often
    COUNT = "count"  # how many of something
    AMOUNT = "amount"  # any number with a unit: a price, a percentage
    CLOCK = "clock"  # what time
    DATE = "date"
    RELEASE = "release"
    PERSON = "person"
    PLACE = "place"
    REASON = "reason"
    MEANS = "means"  # how something is done
    DEFINITION = "definition"
    LIST = "list"


@dataclass(frozen=True, slots=True)
class ExpectedAnswer:
    """What a question asks for: any of `kinds`, and with `duty` also what must be."""

    kinds: frozenset[AnswerKind] = frozenset()
    duty: bool = False
    counted: frozenset[str] = frozenset()  # stems of what is counted ("how many DAYS"), or of what is defined
    named: frozenset[str] = frozenset()  # stems of the question: its own names are no answer
    whether: bool = False  # yes or no: what denies, restricts or grants

    @property
    def quantified(self) -> bool:
        return bool(self.kinds & NUMBERS)


def _read_kinds(names: str) -> frozenset[AnswerKind]:
    return frozenset(map(AnswerKind, names.split()))


NUMBERS = _read_kinds("extent duration frequency count amount")


def _read_rows(name: str) -> tuple[tuple[str, frozenset[AnswerKind]], ...]:
    return tuple((words, _read_kinds(kinds)) for words, kinds in read_table("answer_kinds.toml")[name])


_DEGREES = _read_rows("degrees")
_HOW = re.compile(rf"\bhow ({'|'.join(each for each, _ in _DEGREES)})\b")
_HOW_MANY = re.compile(r"\b(?:how many|wie ?viele[nr]?)((?: \w+){1,4})")
_GERMAN = tuple((re.compile(rf"\b(?:{asks})\b"), kinds) for asks, kinds in _read_rows("german"))
_OPENS_NOUN = (
    r"\b(?:what|which)(?: (?:is|are|was|were|has been|will be))?(?: (?:the|a|an|its|their|his|her))?"
    r"(?: (?!(?:between|of|for|in|on|to|from|with)\b)\w+){0,2}? "
)
_NOUNS = _read_rows("nouns")
_NOUN = tuple((re.compile(rf"{_OPENS_NOUN}(?:{nouns})\b"), kinds) for nouns, kinds in _NOUNS)
_CHANGED = tuple(
    (re.compile(rf"\b(?:{nouns})(?: \w+){{0,2}}? (?:chang|differ|evolv|develop|grow|grew|rise|rose|fall|fell)"), kinds)
    for nouns, kinds in _NOUNS[:6]
)
_WHEN = re.compile(r"\bwhen (?:is|are|was|were|do|does|did|has|have|had|can|could|should|shall|will|would|may|must)\b")
_PERSON = re.compile(  # "who may use it?" asks for a rule that names nobody
    r"\b(?:who(?! (?:may|can|could|must|shall|should|ought|needs?|has to|is (?:allowed|permitted|obliged|required)))|"
    r"whom|whose|which (?:\w+ )?(?:person|people|author|company|team|player|character|student|member|developer|"
    r"maintainer|engineer|editor|contributor|speaker|chair|president|director|manager|teacher|professor|scientist|"
    r"researcher|artist|writer|inventor|founder|colleague|man|woman))\b"
)
_DEFINITION_QUESTION = re.compile(
    r"^(?:what (?:is|are) (?:an? |the )?([\w .'/-]{2,60}?)|what (?:does|do) (?:an? |the )?([\w .'/-]{2,60}?) "
    r"(?:mean|stand for)|define ([\w .'/-]{2,60}?))\W*$"
)
_LISTS = re.compile(
    r"\b(?:which|what)\b(?: \w+){0,4}? (?:are|were)\b|\b(?:what|which) (?:\w+ ){0,2}?"
    r"(?:kinds|types|steps|ways|methods|options|features|ingredients|factors|examples|reasons|conditions|items|parts)\b"
    r"|\blist\b|\bname (?:the|all|two|three|four|five)\b"
)
_OBLIGES = re.compile(
    r"\b(?:must|shall|should|required|require|requires|requirements?|mandatory|allowed|permitted|prohibited|forbidden|"
    r"acceptable|allows?|permits?|prohibits?|forbids?|guidance|rules?|polic(?:y|ies)|may|can|"
    r"have to|has to|need to|needs to|obliged|minimum|maximum)\b"
)
_DUTY = re.compile(
    r"(?i)\b(?:must|shall|should|may|required?|requires|prohibit(?:s|ed)|forbidden|recommended|permit(?:s|ted)|"
    r"allow(?:s|ed)|cannot|mandatory|at least|at most|no (?:more|less|fewer|later) than|up to|not exceed|ha(?:ve|s) to|"
    r"needs? to)\b"
)
# A bound says what must be without a verb of duty.
_BOUND = re.compile(r"(?i)\b(?:maximum|minimum|max|min|limit(?:ed|s)?|höchstens|mindestens)\b")
_WHETHER = re.compile(  # its last part begins with its verb
    r"(?:^|[.,;:!?] (?:and |but |so |und |aber )?)(?:can|could|may|might|must|should|will|would|is|are|was|were|am|do|"
    r"does|did|has|have|had|kann|können|darf|dürfen|muss|müssen|soll|sollte|wird|werden|ist|sind|hat|haben|gibt) "
    r"[^,;:]*\Z"
)
_DENIES = re.compile(
    r"(?i)\b(?:cannot|not|no|none|nor|neither|never|only|nobody|nothing|impossible|unable|unless|without|"
    r"reject(?:s|ed)|refuse[sd]?|denie[sd]|declined|forb(?:ids?|idden|ade)|prohibit(?:s|ed)|"
    r"nicht|kein\w*|nie|niemals|nur|weder|unmöglich|ohne|abgelehnt|verboten)\b|n['’]t\b"
)
_GRANTS = re.compile(r"(?i)\b(?:can|yes|needs?|possible|supports?|supported|kann|können|darf|dürfen|möglich|erlaubt)\b")
_STRICT = re.compile(r"(?i)\b(?:must|shall|required|mandatory|prohibited|forbidden)\b")
_MAILBOX = re.compile(r"\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}\b")
_TIMES = frozenset(
    stem_word(word)
    for word in "second seconds minute minutes min mins hour hours hrs day days night nights week weeks weekday "
    "month months year years yr yrs decade century fortnight quarter sekunde sekunden minuten stunde stunden tag tage "
    "tagen woche wochen monat monate monaten jahr jahre jahren".split()
)
_MEASURED = frozenset(  # besides physical quantities
    stem_word(word)
    for word in "character characters digit digits letter letters word words page pages line lines pixel pixels item "
    "items token tokens dpi".split()
)
_NOT_MEASURED = frozenset(("", "time", "clock", "rank", "decade", *"$€£¥"))  # dimensions of other numbers
_OFTEN = re.compile(
    r"(?i)\b(?:every|each|once|twice|thrice|daily|weekly|monthly|quarterly|annually|yearly|hourly|per|always|never|"
    r"\w+ times|times an?|periodically|regularly|at least once|nightly|biweekly|täglich|"
    r"wöchentlich|monatlich|jährlich|jede[nrs]?|alle|einmal|zweimal|pro|im (?:monat|jahr)|in der woche|am tag)\b"
)
_CLOCK = re.compile(r"(?i)\b\d{1,2}(?::|\.)\d{2}\b|\b\d{1,2} ?(?:a\.?m|p\.?m)\b|\b(?:noon|midnight|o'clock)\b")
_MONTHS = "january|february|march|april|june|july|august|september|october|november|december"
_DAY = re.compile(
    r"(?i)\b\d{1,2}(?:st|nd|rd|th|\.)? may\b|\bmay \d{1,2}\b|"
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\b(?:today|tomorrow|tonight|yesterday|weekend)\b|"
    rf"\b(?:{_MONTHS})\b|\b\d{{1,2}}\. [JFMASOND]\w{{2,8}}\b|\b(?:in|since|"
    r"until|by) (?:may|spring|summer|autumn|winter)\b|\b(?:19|20)\d{6}\b|\b(?:next|last|this) (?:week|month|year)\b"
)
_PLACE = re.compile(
    r"\b(?:in|at|near|from|to|on|outside|inside|around) (?:the |our |my |your |a )?[A-Z][\w'-]+|"
    r"\b(?:bei|am|im|auf|unter|nach|zu[mr]?|aus|in(?: de[rmn])?) [A-ZÄÖÜ]\w+|\b\d+ [A-Z]\w+ (?:St|Ave|R)"
)
_PLACE_WORD = re.compile(
    r"(?i)\b(?:at|in|near|behind|beside|outside|inside|around|opposite) (?:the|our|my|your|a|an) \w+"
)
_REASON = re.compile(
    rf"(?i)\b(?:because|since(?! (?:\d|last\b|then\b|\w+day\b|may\b|{_MONTHS}))|therefore|due to|reasons?|rationale|"
    r"weil|wegen|aufgrund|grund|ursache|schuld|deshalb|daher|damit|"
    r"so that|in order to|as a result|caused? by|owing to|thanks to|hence|"
    r"to (?:avoid|prevent|ensure|protect|reduce|allow|keep|make|help))\b"
)
_MEANS = re.compile(r"(?i)\b(?:by|using|via|through|with|first|then|click|set|run|use|add|choose|select)\b")
_LISTING = re.compile(r",[^,]{2,60},? (?:and|or|&) |\n\s*[-*•]|^\s*[-*•]|: .*;|\b(?:first|second|third)(?:ly)?,")
_DEFINITION_VERB = re.compile(
    r"(?i)^[\s,]*(?:\([^()]{1,60}\)[\s,]*)?(?:is|are|was|were|means|refers? to|stands? for|denotes?|describes?|"
    r":|—|–|-)(?:\s|$)"
)
_STATED = re.compile(
    r"(?i)(?:[^\W\d][\"'`)\]]?\s?[:=]\s?|"
    r"\b(?:is|are|was|were|be|or|of|to|than|least|most|exactly|about|only|exceeds?)\s+(?:about |exactly |only )?)"
    r"(?!(?:1[5-9]|20)\d\d\b)\d[\d,.]*(?:\s?(?:thousand|million|billion|trillion))?\b"
    r"(?=\s*(?:[.,;:)(]|or\b|and\b|$))(?![.,]\d)"
)
FITS_KIND = 0.8  # a fit from which a sentence counts as being of the kind asked for
_PLAIN_NUMBER = 0.95  # what a sentence fits that states a number without any unit
_FALLBACK = 0.4  # a number of another kind, a name of one word


@lru_cache(maxsize=1_000)
def classify_question(question: str) -> ExpectedAnswer:
    """Infer from the words that ask what kind of answer a question asks for."""
    folded = " ".join(fold_text(split_case(question)[0]).split())
    own = frozenset(stem_text(question))
    duty = _OBLIGES.search(folded) is not None
    many = _HOW_MANY.search(folded)
    if many is not None:
        counted = frozenset(stem_text(" ".join(many.group(1).split()[:2])))
        return ExpectedAnswer(frozenset((AnswerKind.COUNT,)), duty, counted=counted, named=own)
    how = _HOW.search(folded)
    if how is not None:
        kinds = next(kinds for names, kinds in _DEGREES if how.group(1) in names.split("|"))
        aged = duty and how.group(1) == "old"  # how old something must be is no date
        return ExpectedAnswer(kinds - {AnswerKind.DATE} if aged else kinds, duty, named=own)
    defined = _DEFINITION_QUESTION.match(folded)
    for pattern, kinds in (*_GERMAN, *_NOUN, *_CHANGED):
        if pattern.search(folded) is not None:
            return ExpectedAnswer(kinds, duty, named=own)
    return _classify_by_question_word(folded, defined, own, duty=duty)


def _classify_by_question_word(
    folded: str, defined: re.Match[str] | None, own: frozenset[str], *, duty: bool
) -> ExpectedAnswer:
    said = folded.split()
    if _WHEN.search(" ".join(said[:9])) and not folded.startswith(("what", "who", "why")):
        return ExpectedAnswer(frozenset((AnswerKind.DATE, AnswerKind.CLOCK)), duty=False, named=own)
    if _PERSON.search(folded):
        return ExpectedAnswer(frozenset((AnswerKind.PERSON,)), duty, named=own)
    if "where" in said[:6]:
        return ExpectedAnswer(frozenset((AnswerKind.PLACE,)), duty, named=own)
    if "why" in said[:6]:
        return ExpectedAnswer(frozenset((AnswerKind.REASON,)), duty=False, named=own)
    if defined is not None and not duty:
        thing = frozenset(stem_text(next(group for group in defined.groups() if group)))
        if 0 < len(thing) <= 4:  # noqa: PLR2004 - a term, not a description
            return ExpectedAnswer(frozenset((AnswerKind.DEFINITION,)), duty, counted=thing, named=own)
    if said[:1] == ["how"] and len(said) > 1 and not duty:
        return ExpectedAnswer(frozenset((AnswerKind.MEANS,)), duty, named=own)
    if _LISTS.search(folded):
        return ExpectedAnswer(frozenset((AnswerKind.LIST,)), duty, named=own)
    return ExpectedAnswer(frozenset(), duty, named=own, whether=_WHETHER.search(folded) is not None)


def find_duty_stems(question: str) -> frozenset[str]:
    """Return the stems of the words by which a question asks for a duty: any other word of duty answers them."""
    return frozenset(stem_text(" ".join(_OBLIGES.findall(fold_text(question)))))


@lru_cache(maxsize=40_000)  # a sentence is rated again each time that facts are ranked
def score_answer_fit(text: str, wanted: ExpectedAnswer) -> float:
    """Return how well a sentence fits the kind asked for, 0 to 1; 0.0 if nothing definite is asked.

    Whether something is so, what denies or restricts tells best: what is not so is stated only if it might be. If a
    duty is asked for beside a number, a sentence with both fits best and one with the number alone half.
    """
    kind = max((_SCORES[each](text, wanted) for each in wanted.kinds), default=0.0)
    if kind < FITS_KIND and wanted.kinds & _LABELLED_KINDS and _is_labelled(text, wanted.named):
        kind = FITS_KIND
    if wanted.whether:
        return 1.0 if _DENIES.search(text) else 0.6 if _GRANTS.search(text) or _DUTY.search(text) else 0.0
    if not wanted.duty:
        return kind
    duty = 1.0 if _STRICT.search(text) else 0.8 if _DUTY.search(text) or _BOUND.search(text) else 0.0
    return kind * (0.4 + 0.6 * duty) if wanted.kinds else duty


_LABELLED_KINDS = _read_kinds("person place reason means list definition")
_LABEL = re.compile(r"(?:[-*•] )?([^:;.\n]{3,60}): (?=\S)")


def _is_labelled(text: str, named: frozenset[str]) -> bool:
    """True for "Assembly point: behind the barn" where the question asks for the assembly point."""
    match = _LABEL.match(text)
    label = stem_text(match.group(1)) if match else ()
    return bool(label) and named.issuperset(label) and not is_table_row(text)


_COMPACT_TIME = re.compile(r"(?<![\w.])\d{1,9}(?:[dh]|(?<=\d{3})s)(?![\w'’])")  # of a parameter: "5d", "24h", "300s"


def _score_form(pattern: re.Pattern[str], fit: float) -> Callable[[str, ExpectedAnswer], float]:
    return lambda text, _: fit if pattern.search(text) else 0.0


def _score_date(text: str, wanted: ExpectedAnswer) -> float:
    years = (year for year in find_years(text) if str(year) not in wanted.named)  # its own year is no answer
    return 1.0 if find_days(text) or any(years) or _DAY.search(text) else 0.0


def _score_release(text: str, wanted: ExpectedAnswer) -> float:
    others = (each for each in find_releases(text) if not wanted.named.issuperset(split_words(each)))
    return 1.0 if any(others) else 0.0


def _score_time_units(text: str) -> float:
    found = find_quantities(text)
    return 1.0 if any(each.units & _TIMES for each in found) else _FALLBACK if found else 0.0


def _score_extent(text: str) -> float:
    found = find_quantities(text)
    fits = any(each.units & _MEASURED or each.dimension not in _NOT_MEASURED for each in found)
    return 1.0 if fits else _FALLBACK if found else 0.0


_UNCOUNTED_TIME = re.compile(  # "for a week", but not "once a week"
    r"(?i)(?<!once )(?<!twice )(?<!times )\b(?:an?|half an?|eine[rmn]?) (?:second|minute|hour|day|night|week|"
    r"weekend|fortnight|month|quarter|year|decade|century|sekunde|stunde|tag|woche|monat|jahr)\b"
)


def _score_duration(text: str) -> float:
    if _COMPACT_TIME.search(text):
        return 1.0
    return max(_score_time_units(text), float(_UNCOUNTED_TIME.search(text) is not None))


def _score_plain_number(text: str) -> float:
    """Score a number stated without a unit: "The default is 2000."."""
    return _PLAIN_NUMBER if _STATED.search(text) else 0.0


def _score_count(text: str, counted: frozenset[str]) -> float:
    """Score a number right before what is counted, with at most two words between; others score less."""
    said = split_words(text)
    things = [_is_counted(word, counted) for word in said]
    for at, word in enumerate(said):
        if (word.isdigit() or word in _SPELLED) and any(things[at + 1 : at + 4]):
            return 1.0
    if _STATED.search(text) and any(things):
        return _PLAIN_NUMBER
    return _FALLBACK if any(word.isdigit() or word in _SPELLED for word in said) else 0.0


def _is_counted(word: str, counted: frozenset[str]) -> bool:
    """True for a word of what is counted, or its beginning: "chars"."""
    stem = stem_word(word)
    return stem in counted or (len(stem) >= FAMILY_LETTERS - 1 and any(each.startswith(stem) for each in counted))


_SPELLED = frozenset((*NUMBER_WORDS, *SCALES, "dozen", "no", "none"))


_INITIAL = re.compile(r"\b[A-Z]\.\s?\Z")  # before a name: "B. Okafor"


def _score_person(text: str, named: frozenset[str]) -> float:
    best = 1.0 if _MAILBOX.search(text) else 0.0  # whom to write to
    for mention in find_mentions(text):
        own = frozenset(stem_text(mention.text))
        if mention.kind is MentionKind.NAME and own and not own & named:
            whole = " " in mention.text or _INITIAL.search(text, max(0, mention.start - 4), mention.start)
            best = max(best, 1.0 if whole else 0.6)
    return best


_CALLED = re.compile(r"(?i)\b(?:called|known as|referred to as|termed|dubbed)\s+(?:the |an? )?[\"'“‘`]?")


def _score_definition(text: str, thing: frozenset[str]) -> float:
    """Score "A THING is ...", "THING (T): ..." and "... is known as THING"; else the thing must open the sentence."""
    if any(
        thing <= set(stem_text(text[each.end() : each.end() + 60])[: len(thing)]) for each in _CALLED.finditer(text)
    ):
        return 1.0
    seen: set[str] = set()
    for match in re.finditer(r"[\w'’-]+", text[:160]):
        seen |= set(stem_text(match.group()))
        if thing <= seen:
            opening = len(stem_text(text[: match.end()])) <= len(thing) + 1
            return 1.0 if opening and _DEFINITION_VERB.match(text[match.end() :]) else _FALLBACK if opening else 0.0
    return 0.0


_SCORES: Mapping[AnswerKind, Callable[[str, ExpectedAnswer], float]] = {
    AnswerKind.EXTENT: lambda text, _: max(_score_extent(text), _score_plain_number(text)),
    AnswerKind.DURATION: lambda text, _: _score_duration(text),
    AnswerKind.FREQUENCY: lambda text, _: 1.0 if _OFTEN.search(text) else _score_time_units(text),
    AnswerKind.COUNT: lambda text, wanted: _score_count(text, wanted.counted),
    AnswerKind.AMOUNT: lambda text, _: 0.8 if find_quantities(text) else _score_plain_number(text),
    AnswerKind.CLOCK: _score_form(_CLOCK, 1.0),
    AnswerKind.DATE: _score_date,
    AnswerKind.RELEASE: _score_release,
    AnswerKind.PERSON: lambda text, wanted: _score_person(text, wanted.named),
    AnswerKind.PLACE: lambda text, _: 1.0 if _PLACE.search(text) else 0.6 if _PLACE_WORD.search(text) else 0.0,
    AnswerKind.REASON: _score_form(_REASON, 1.0),
    AnswerKind.MEANS: _score_form(_MEANS, 0.5),
    AnswerKind.DEFINITION: lambda text, wanted: _score_definition(text, wanted.counted),
    AnswerKind.LIST: _score_form(_LISTING, 0.6),
}


_OF_HEADINGS = frozenset((AnswerKind.DATE, AnswerKind.RELEASE))


def find_place(heading: str, wanted: ExpectedAnswer, text: str = "") -> str:
    """Return the innermost heading of a path that gives the date or release asked for and the text below does not.

    A date that is a heading alone stands with what it dates, the heading above it.
    """
    kinds = wanted.kinds & _OF_HEADINGS
    if not kinds or not heading:
        return ""
    dated = find_days(text) or (not find_days(heading) and score_answer_fit(text, wanted) >= FITS_KIND)  # 1000: a year?
    if AnswerKind.RELEASE not in kinds and dated:
        return ""
    plain = ExpectedAnswer(kinds, named=wanted.named)
    parts = heading.split(" > ")
    fitting = (part for part in reversed(parts) if AnswerKind.RELEASE in kinds or find_years(part))
    found = next((part for part in fitting if score_answer_fit(part, plain) >= FITS_KIND), "")
    at = parts.index(found) if found else 0
    return " > ".join(parts[at - 1 : at + 1]) if at and not find_dates(found)[1].strip(" ,.()~") else found

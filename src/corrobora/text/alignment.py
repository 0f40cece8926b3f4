"""Alignment: a sentence that nearly copies one of its evidence, word by word.

Knows which words were changed, moved, put in or left out, and where two sentences were joined or a slice cuts off a
condition or negation. Does not know whether a change matters: every change of a content word leaves the sentence open.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from corrobora.domain.evidence import fold_typography
from corrobora.text.clauses import fold_words, parse_clause
from corrobora.text.measures import find_measures, find_unit
from corrobora.text.quantities import MONTH_NAMES, find_dates
from corrobora.text.ranking import count_edits, list_edits
from corrobora.text.reading import Discrepancy
from corrobora.text.segmentation import list_sentences
from corrobora.text.tokens import stem_word
from corrobora.text.vocabulary import is_near

NEAR_COPY = 0.8  # share of a sentence's words, in order, in one sentence of the evidence
_IN_ORDER = 0.5  # share in order from which a sentence is compared word by word
_WHOLE = 0.9  # share of a sentence from which it was copied as a whole
_KEPT = 0.6  # share of a sentence's stems in one sentence from which a word in the place of another counts
_RUN = 4  # words in a row that were copied
_LEAST_COPIED = 3  # words in a row, at the end or at the begin, of a copy that breaks off
_HARMLESS = frozenset(  # function words that a copy may put in; any other may change its meaning
    "a an the this that these those it its he she they them their his her we us our you your i my is are was were be "
    "been being am has have had having do does did of to in on at for by with from into as about which who whom whose "
    "there here then thus also so such just very too however therefore hence moreover will would".split()
)
_LIMIT = re.compile(
    r"[,;]?\s*((?:only )?(?:after|before|within|without|until|during|throughout|except|provided|as long as"
    r"|(?:for|in|by|at|every|under|below|above|over|up to|at least|at most)(?= (?:the |an? |each )?\d))\b)"
)
_CONDITION = re.compile(r"(?:If|When|Whenever|Unless|Once|Where|Until|As long as|Provided)\b(?!.*,)")
_TELLS = re.compile(  # what such words govern is not said by the sentence itself: "It is false that", "Tell the reader"
    r"(?i)(?:^|.*\s)(?:that|dass|que|before|until|whether|bevor|bis|ob)(?:\sthe|\san?)?$|^(?:(?:you|please|now|then|must|should|shall|always|just)\s)*(?:tell|write|say|answer"
    r"|respond|reply|claim|suppose|assume|imagine|pretend|output|print|repeat)\b(?!.*[;.]$)"
)
_AFFIRMS = re.compile(
    r"(?i)\b(?:not(?:e|ed|es|ice|iced)|remember|recall|aware|know[ns]?|knew|show(?:s|ed|n)?|f(?:ind|inds|ound)|confirm\w*"
    r"|prove[dns]?|demonstrate[ds]?|ensure[ds]?|(?:make|be) sure|means?|(?:true|clear|certain|fact)|(?:so|now|given|in)"
    r"|order|important|essential) that(?: the| an?)?$"
)
_OPENERS = frozenset(
    "in on at by for from during after before since until with without under over as of to because if when while "
    "although unless except where compared among according between only".split()
)
_LIMITING = frozenset(
    "of in on at to with for from under above below over between during through among who that".split()
)
_CLAUSE_OPENERS = frozenset("that which who whom whose while whereas but because since although".split())
_RELEASE = re.compile(r"(?<!\w)v(?=\d+\.\d)")  # "v2.4" is 2.4
_ALIKE = {"shall": "must", "none": "no"}
_LEADING = frozenset((*MONTH_NAMES, "most", "least", "to", "than", "maximum", "minimum"))
_JOINING = frozenset("but and while though although which who whereas".split())  # what follows is another clause


@dataclass(frozen=True, slots=True)
class Copy:
    """How near a sentence is to a copy, and what it changed."""

    nearness: float
    problems: tuple[Discrepancy, ...] = ()


def find_slices(sentence: str, quote: str) -> Iterator[tuple[str, str]]:
    """Yield what stands before and after an exact slice in its sentence of the quote, for each place of it.

    White space, typography, and the full stop at the end of the slice, may differ; nothing else.
    """
    wanted, pieces = " ".join(fold_typography(sentence).split()).rstrip(".!?"), _fold_sentences(quote)
    text = " ".join(pieces)
    at = text.find(wanted) if wanted else -1
    while at >= 0:
        end = at + len(wanted)
        if _begins(text, at) and _ends(text, end):
            borders = [0, *accumulate(len(piece) + 1 for piece in pieces)]
            first = max(border for border in borders if border <= at)
            last = min(border for border in borders if border >= end)
            yield text[first:at].strip(), text[end:last].strip()
        at = text.find(wanted, at + 1)


@lru_cache(maxsize=4_000)  # every sentence is compared with the same quotes
def _fold_sentences(quote: str) -> tuple[str, ...]:
    return tuple(" ".join(fold_typography(each).split()) for each in list_sentences(quote))


def _begins(text: str, at: int) -> bool:
    """True if a slice may begin at `at`: after white space or what opens something, never inside a word or number."""
    return at == 0 or text[at - 1].isspace() or text[at].isspace() or text[at - 1] in "([{\"'"


def _ends(text: str, at: int) -> bool:
    """True if a slice may end at `at`: before white space, or before punctuation after which nothing goes on."""
    if at >= len(text) or text[at].isspace() or text[at - 1].isspace():
        return True
    return text[at] in ".,;:!?)]}\"'" and not text[at + 1 : at + 2].isalnum()


def find_cut(head: str, tail: str, said: str = "") -> Discrepancy | None:
    """Say what a slice cuts off if that decides its meaning: a condition, negation, hedge, quantifier, limit, speaker.

    `said` is the slice: of a condition alone, what it governs is cut off.
    """
    if limit := _LIMIT.match(tail):
        return Discrepancy(f"it cuts off “{limit.group(1)}” of its sentence", "")
    if (opening := fold_words(tail)[:1]) and opening[0] in _LIMITING and tail[0].isalpha() and states_rule(said):
        return Discrepancy(f"it cuts off “{tail.rstrip(' .!?')}” of its sentence", "")
    if _CONDITION.match(said) and any(char.isalnum() for char in tail):
        return Discrepancy("it cuts off what its condition governs", "")
    if _is_embedding(head):
        return Discrepancy(f"it cuts off “{head}” of its sentence", "")
    for part in (head, tail):
        parsed = parse_clause(part)
        if parsed.negations and part is head:
            return Discrepancy("it cuts off a negation of its sentence", "")
        denied = [duty for duty in parsed.duties if duty.kind in ("forbidden", "discouraged", "needless")]
        for shade in (*parsed.shades, *denied):
            if part is head or shade.family in ("condition", "population") or shade.kind in ("only", "said"):
                return Discrepancy(f"it cuts off “{shade.text}” of its sentence", "")
    return None


def _is_embedding(head: str) -> bool:
    """True if what follows these words is what somebody is told, denies or supposes, not what the sentence states."""
    return _TELLS.search(head) is not None and _AFFIRMS.search(head) is None


def find_break(said: str, whole: str) -> str | None:
    """Return the words of a sentence that a copy of it cuts off: "" if it cuts off none, None if it is no copy.

    It is a copy if half of its words, and at least three, stand there in one run that reaches its end or its begin.
    What lies beyond is cut off if the copy does not say most of it in its other half.

    Example:
        >>> find_break("In short, the pump starts.", "The pump starts only below four bar.")
        'only below four bar'
    """
    words, theirs = fold_words(said), fold_words(whole)
    cuts = (_find_rest(words, theirs), _find_rest(words[::-1], theirs[::-1]))
    rests = [cuts[0] or "", " ".join((cuts[1] or "").split()[::-1])]
    return None if cuts == (None, None) else next(filter(None, rests), "")


def _find_rest(words: Sequence[str], theirs: Sequence[str]) -> str | None:
    """Return what follows the longest run with which `words` end, if it is new; None if no run is long enough."""
    longest = (0, 0)
    for end in range(1, len(theirs) + 1):
        run = 0
        while run < min(len(words), end) and words[-1 - run] == theirs[end - 1 - run]:
            run += 1
        longest = max(longest, (run, end))
    run, end = longest
    if run < max(_LEAST_COPIED, len(words) / 2):
        return None
    rest = {stem_word(word) for word in theirs[end:]} - {""}
    kept = {stem_word(word) for word in words[: len(words) - run]}
    return " ".join(theirs[end:]) if len(rest - kept) > len(rest & kept) else ""


def align_copy(sentence: str, units: Sequence[str]) -> Copy:
    """Compare a sentence with the sentence of its evidence that holds most of its words."""
    words = _fold_copy(sentence)
    best, nearest = (0.0, 0.0), ()
    runs: dict[int, set[int]] = {}
    whole = True
    for number, unit in enumerate(units):
        theirs = _fold_copy(unit)
        blocks = [op for op in list_edits(words, theirs) if op.tag == "equal"]
        copied = [op for op in blocks if op.src_end - op.src_start >= _RUN]
        if copied:
            runs[number] = {at for op in copied for at in range(op.src_start, op.src_end)}
            whole &= sum(op.dest_end - op.dest_start for op in blocks) >= _WHOLE * len(theirs)
        held = (Counter(words) & Counter(theirs)).total() / max(1, len(words))
        share = (held, sum(op.src_end - op.src_start for op in blocks) / max(1, len(words)) - len(theirs) / 1e6)
        if share > best:
            best, nearest = share, theirs
    if best[0] >= NEAR_COPY and best[1] >= _IN_ORDER:
        turned = (_fold_copy(each) for each in _turn_adjuncts(sentence))
        return Copy(best[0], tuple(_find_changes(min(turned, key=lambda each: count_edits(each, nearest)), nearest)))
    joined = len(runs) > 1 and not whole and len(set[int]().union(*runs.values())) >= NEAR_COPY * len(words)
    other = " ".join(words[at] for at in sorted(min(runs.values(), key=len))[-_RUN:]) if joined else ""
    found = [Discrepancy("it joins parts of two sentences", other)] if joined else []
    if best[0] >= _IN_ORDER:
        found += [
            Discrepancy(f"its sources say “{number}” here", "") for number in _list_skipped_numbers(words, nearest)
        ]
    return Copy(best[1], tuple(found))


def _turn_adjuncts(sentence: str) -> Iterator[str]:
    """Yield a sentence as it stands, and with what stands before its first or after its last comma at the other end."""
    yield sentence
    plain = sentence.strip(" .!?")
    for head, comma, tail in (plain.partition(", "), plain.rpartition(", ")):
        if comma:
            yield f"{tail} {head}"


@lru_cache(maxsize=4_000)  # every sentence is compared with the same quotes
def _fold_copy(text: str) -> tuple[str, ...]:
    """Return the words of a text in order, with dates in one order ("May 19, 1993") and releases without "v"."""
    for date in find_dates(text)[0]:
        if 1 <= date.month <= len(MONTH_NAMES):
            parts = (MONTH_NAMES[date.month - 1], str(date.day or ""), str(date.year or ""))
            text = text.replace(date.text, " ".join(filter(None, parts)))
    return tuple(_ALIKE.get(word, word) for word in fold_words(_RELEASE.sub("", text)))


def _find_changes(words: Sequence[str], theirs: Sequence[str]) -> Iterator[Discrepancy]:
    said, known = _list_shades(words), _list_shades(theirs)
    alike = {word for kind, text in said if kind in dict(known) for word in fold_words(text)} - {"may"}
    for own, other in _list_gaps(words, theirs):
        changed = [w for w in _drop_moved(own, theirs) if w not in alike and _matters(w, own, other, theirs)]
        if changed:
            yield Discrepancy(f"its sources do not say “{' '.join(changed)}” here", " ".join(changed))
        if other and other[0] not in _JOINING and (left := _find_left_out(words, theirs, own, other)):
            yield Discrepancy(f"it leaves out “{left}”", left)
    for number in _list_skipped_numbers(words, theirs):
        yield Discrepancy(f"its sources say “{number}” here", "")


def _list_skipped_numbers(words: Sequence[str], theirs: Sequence[str]) -> Iterator[str]:
    """Yield a number of which a copy gives the next one in its place: "is 2" for "is 4 (was 2)".

    The day of a month may be left out, and the end of a range that a bound does not name.
    """
    for op in list_edits(words, theirs):
        ends = [*theirs[op.dest_start : op.dest_start + 1], *theirs[op.dest_end : op.dest_end + 1]]
        before = {*words[max(0, op.src_start - 2) : op.src_start + 2], *theirs[op.dest_start - 1 : op.dest_start]}
        if op.tag == "insert" and op.dest_start and all(word[:1].isdigit() for word in ends) and not before & _LEADING:
            yield ends[0]


def _list_gaps(words: Sequence[str], theirs: Sequence[str]) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """Yield what stands between the words that both have in order, of each side."""
    start = begin = 0
    for op in list_edits(words, theirs):
        if op.tag == "equal":
            yield words[start : op.src_start], theirs[begin : op.dest_start]
            start, begin = op.src_end, op.dest_end
    yield words[start:], theirs[begin:]


def _find_left_out(words: Sequence[str], theirs: Sequence[str], own: Sequence[str], other: Sequence[str]) -> str:
    """Return what a copy leaves out with `other` that decides its meaning: a shade, a denial, a limit of a rule."""
    left = _list_left_out(words, theirs, other)
    if not own and theirs[: len(other)] == other and _is_embedding(" ".join(other)):
        return " ".join(other)
    inner = other[-1] != theirs[-1] and other[0] != theirs[0]
    if not left and inner and parse_clause(" ".join(other)).negations > parse_clause(" ".join(own)).negations:
        return "not"
    return left[0] if left else "" if own else _find_cut_limit(words, other)


def _list_left_out(words: Sequence[str], theirs: Sequence[str], other: Sequence[str]) -> list[str]:
    """Return the shades and negations that a copy leaves out of what it says."""
    own, unit, gap = (parse_clause(" ".join(each)) for each in (words, theirs, other))
    said = {shade[:2] for shade in (*own.shades, *own.duties)}
    known = {shade[:2] for shade in (*unit.shades, *unit.duties)}
    left = [
        shade.text
        for shade in (*gap.shades, *gap.duties)
        if shade[:2] not in said
        and shade[:2] in known
        and (
            shade.family in ("condition", "population", "attribution")
            or shade.governs in own.stems
            or not shade.governs
        )
    ]
    return left + (["not"] if gap.negations and not own.negations else [])


def _find_cut_limit(words: Sequence[str], other: Sequence[str]) -> str:
    """Return what limits a rule or denial where a copy says it of more: "ferries [to the islands] do not leave"."""
    kept = {stem_word(word) for word in words}
    limits = other[0] in _LIMITING and other[-1] not in _CLAUSE_OPENERS
    limits = limits and any(stem_word(word) not in kept for word in other[1:])
    return " ".join(other) if limits and states_rule(" ".join(words)) else ""


def states_rule(text: str) -> bool:
    """True if a text orders, forbids or denies, or says something of all: what is left out then makes it say more."""
    clause = parse_clause(text)
    return bool(clause.duties or clause.negations or clause.kinds("quantifier") & {"all", "ever", "only"})


def _matters(word: str, own: Sequence[str], near: Sequence[str], theirs: Sequence[str]) -> bool:
    """True if a word of `own` may change the meaning of a copy that has it in the place of `near`.

    No harmless function word does, no other form of a word there, and no number or unit that says the same.
    """
    if any(measure.text == word for measure in find_measures(word)):
        return not _is_amount_there(own, near, theirs)
    if (unit := find_unit(word)) is not None:
        return unit not in map(find_unit, near or theirs) and not _is_amount_there(own, near, theirs)
    stem = stem_word(word)
    if not stem and word.isalpha():
        return word not in _HARMLESS and word not in theirs
    return stem not in parse_clause(" ".join(near)).stems


def _is_amount_there(own: Sequence[str], near: Sequence[str], theirs: Sequence[str]) -> bool:
    """True if a number of `own` stands in its place, or elsewhere in a sentence that has nothing in its place."""
    said, known = find_measures(" ".join(own)), find_measures(" ".join(near))
    known = known[: len(said)] if len(own) == 1 else known  # "2" in the place of "4 (was 2)" is another number
    known = known or find_measures(" ".join(theirs if not near or own[0] in theirs else ()))
    return any(other.number == measure.number or measure.equals(other) for measure in said for other in known)


def _list_shades(words: Sequence[str]) -> list[tuple[tuple[str, str], str]]:
    clause = parse_clause(" ".join(words))
    return [((shade.family, shade.kind), shade.text) for shade in (*clause.shades, *clause.duties)]


def _drop_moved(own: Sequence[str], theirs: Sequence[str]) -> list[str]:
    """Drop runs such as "in March 2021" that stand elsewhere in the same sentence, as an adjunct may."""
    text = f" {' '.join(theirs)} "
    kept: list[str] = []
    at = 0
    while at < len(own):
        end = at + 1
        while end < len(own) and f" {' '.join(own[at : end + 1])} " in text:
            end += 1
        if end - at < 2 or own[at] not in _OPENERS:  # noqa: PLR2004 - a preposition and its noun
            kept.append(own[at])
            end = at + 1
        at = end
    return kept


def find_substitute(sentence: str, unit: str, known: frozenset[str]) -> Discrepancy | None:
    """Find a word that stands in the place of another one: "the risk of cancer" for "the risk of stroke"."""
    said = parse_clause(sentence).stems
    if len(said & parse_clause(unit).stems) < _KEPT * len(said):
        return None
    words, theirs = _fold_copy(sentence), _fold_copy(unit)
    places = {key: at for at in range(len(theirs)) for key in _list_places(theirs, at)}
    for at, word in enumerate(words):
        stem = stem_word(word)
        if (
            not stem
            or not word.isalpha()
            or stem in known
            or word.endswith(("ed", "ing"))
            or find_measures(word)
            or find_unit(word)
        ):
            continue
        for key in _list_places(words, at):
            other = theirs[places[key]] if key in places else ""
            if (
                other.isalpha()
                and not find_measures(other)
                and stem_word(other)
                and stem_word(other) not in said
                and not is_near(stem, stem_word(other))
                and not other.endswith(("ed", "ing"))
            ):
                return Discrepancy(f"it says “{word}” where its sources say “{other}”", word)
    return None


def _list_places(words: Sequence[str], at: int) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield what surrounds a word: the two words before, the two after, and one on each side."""
    if at > 1:
        yield "before", tuple(words[at - 2 : at])
    if at + 2 < len(words):
        yield "after", tuple(words[at + 1 : at + 3])
    if 0 < at < len(words) - 1:
        yield "between", (words[at - 1], words[at + 1])

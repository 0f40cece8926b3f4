"""Derivations: how a sentence follows from what it cites, or from the documents that were read.

Knows counts and absences over the recorded reading set, labelled judgements, and hands numbers to the operations. An
absence says what was searched and read, with what could not be read. Does not know where documents are stored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from corrobora.domain.report import Support
from corrobora.text.claims import CitedEvidence
from corrobora.text.operations import Derivation, DerivationKind, execute_operation
from corrobora.text.phrases import format_count
from corrobora.text.quantities import NUMBER_WORDS
from corrobora.text.segmentation import list_sentences
from corrobora.text.support import check_support
from corrobora.text.tokens import fold_text, stem_text

FindMention = Callable[[str, str], str]  # source and words: the sentence of the source that mentions them, or ""


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """One document that was read."""

    source: str
    title: str = ""
    publisher: str = ""


@dataclass(frozen=True, slots=True)
class ReadingSet:
    """What a run read, what it could not read, and what it found and left unread."""

    documents: tuple[ReadDocument, ...]
    find_mention: FindMention
    failed: int = 0
    unread: int = 0
    asked: str = ""  # the questions of the run: what they name may be told as not found


_COUNT = rf"\d{{1,6}}|{'|'.join(NUMBER_WORDS)}"
_SET = (
    r"(?:(?:cited|independent|different|distinct|relevant|other|stored) )?"
    r"(?P<noun>sources?|documents?|pages?|texts?|papers?|articles?|reports?|files?|publishers?)"
)
_READ = (
    r"(?P<read>(?: that (?:were|was|have been|has been)| which were)?(?: searched and| found and)? "
    r"(?:read|cited|checked|opened))?"
)
_SAYS = (
    r"(?:mentions?|mentioned|names?|named|contains?|contained|uses?|used|speaks? of|spoke of|refers? to|referred to|"
    r"discuss(?:es|ed)?|cites?|addresses|says? anything about|said anything about)"
)
_FOUND = "(?:found|mentioned|named|contained|discussed|addressed)"
_WHAT = "(?P<what>[^;()]+?) (?:is|are|was|were)"
_OF = rf"(?: \(?(?:of|among) the (?P<size>{_COUNT})(?: {_SET.replace('noun', 'set')})?\)?(?: read)?)?"
_ABSENCES = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"^(?:none|not one|no one) of the (?P<size>{_COUNT}) {_SET}{_READ} {_SAYS} (?P<what>[^;()]+)",
        rf"^no {_SET}{_READ}{_OF} {_SAYS} (?P<what>[^;()]+)",
        rf"^{_WHAT} (?:not|never) {_FOUND} in (?:any of )?the (?P<size>{_COUNT}) {_SET}{_READ}",
        rf"^{_WHAT} {_FOUND} in none of the (?P<size>{_COUNT}) {_SET}{_READ}",
    )
)
_JOINS = re.compile(
    r"(?i)\s?(?:[,;] (?:and|but|yet|while|whereas|though|although) |; | [–—] )"  # of a claim and an absence
)
_JOINS_BACK = re.compile(r"(?i)\s?[,;] (?:but|yet|while|whereas|though|although) ")  # behind an absence, which may list
_FRONTED = re.compile(  # "Of the 12 documents read, none mentions"
    rf"(?i)^(?:of|among) (?P<all>the (?:{_COUNT}) {_SET}{_READ}),? (?P<none>none|not one|no one) "
)
_TOLD = (  # nouns for what documents hold: "no survivor was found" is a claim about the world
    r"(?:figures?|numbers?|counts?|dates?|prices?|values?|data|evidence|information|statements?|mentions?|sources?|documents?|stud(?:y|ies)|"
    r"comparisons?|benchmarks?|measurements?|explanations?|descriptions?|answers?|details?|definitions?|indications?|"
    r"recommendations?|guidance|references?|accounts?|reports?)"
)
_LEFT = (
    "(?:open|unanswered|not (?:found|described|stated|given|told|explained|answered|documented|specified|mentioned|"
    "addressed|covered))"
)
_DENY, _ASKS = "(?:do|does|did|could) not", "(?:whether|how|what|which|when|where|who)"
_NO_CONTENT = re.compile(  # how a document says it, and what opens a question
    r"(?i)^(?:(?:say|tell|state|mention|give|name|explain|describe|contain|show|specify|report|discuss|cover)s? )?"
    r"(?:(?:anything|about|on|of) )*"
    r"(?:(?P<much>how (?:long|often|many|much|far)|when|what)|whether|how|which|that|who|where)?\b"
)
_UNCOUNTED = tuple(  # ordinary wordings of an absence, without the size of what was read
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"^no (?P<what>(?:[\w-]+ ){{0,3}}?{_TOLD}\b[^;]*?) (?:is|are|was|were|has been|have been|could be) found\b",
        rf"^(?:none of the|neither of the|no) (?:(?P<size>{_COUNT}) )?{_SET}{_READ} (?P<what>\w[^;]*)",
        rf"^(?:the|these|those) {_SET}{_READ} (?:{_DENY}|never|nowhere|\w+ (?:no|nothing)) (?P<what>\w[^;]*)",
        rf"^(?:the|this|our) (?:research|search|reading) (?:{_DENY} find|found no(?:thing)?) (?P<what>\w[^;]*)",
        rf"^(?P<what>{_ASKS}\b[^;]+?) (?:remains? (?:open|unanswered)|(?:is|are|was|were)(?: left)? {_LEFT})\b[^;]*",
    )
)
_SAYS_MORE = re.compile(
    r"(?i)\b(?:but|because|although|though|since|while|whereas|despite|why|so that|except)\b|[,:–—]\s"
)
_TELLING = re.compile(r"\b(?=\w*[A-Z\d])\w[\w.-]*\w|\b\d\b")
_FEW_WORDS = 3  # content words; fewer may stand together in a sentence that says something else
_EXISTENCE = re.compile(
    r"(?i)^there (?:is|are|exists?|was|were) (?:no|not any)\b|\b(?:does|do|did) not exist\b|^no\b.{1,80}\bexists?\b"
)
_COUNTS = re.compile(
    rf"(?i)^(?:(?P<least>at least|only|exactly) )?(?P<number>all|both|every|each|{_COUNT})(?: of)?(?: the| these)?"
    rf"(?: (?P<size>{_COUNT}))? {_SET}{_READ} (?P<verb>{_SAYS} )?(?P<what>[^;]+)"
)
_OTHERS = rf"(?i)\b({_COUNT})(?: more| others?| further)?(?: (?:documents?|pages?|sources?))?(?: that were found)?"
_FAILED = re.compile(rf"{_OTHERS} (?:could not be (?:read|opened|fetched)|failed|(?:was|were) not readable)")
_UNREAD = re.compile(rf"{_OTHERS} (?:were|was|remain(?:ed|s)?) (?:found and )?(?:not (?:read|opened)|unread|unopened)")
_JUDGEMENT = re.compile(
    r"(?i)^\W*(?:(?:our |overall )?(?:judge?ment|assessment|opinion|recommendation|view)\s?:|"
    r"in (?:our|my) (?:judge?ment|view|opinion|assessment)\b|"
    r"(?:we|i) (?:judge|recommend|consider|think|believe|infer)\b)"
)
_QUOTED = re.compile(r"[\"“‘'`]([^\"”’`]{2,200})[\"”’'`]")
_NOT_WHOLE = re.compile(r"(?i)\b(?:not|never|no|and|but|because|which)\b")
_DIGIT = re.compile(r"\d+(?:[.,]\d+)*")


def is_about_reading(text: str) -> bool:
    """True if a text may count what was read or say that something is absent from it."""
    found = (_find_absence, _find_uncounted, _COUNTS.match, split_absence)
    return any(find(line) for line in _split_plain(text) for find in found)


def _split_plain(text: str) -> list[str]:
    lines = (line.lstrip("-*> ") for line in text.split("\n"))
    return [each for line in lines for each in list_sentences(line)]


def _find_absence(sentence: str) -> re.Match[str] | None:
    said = _FRONTED.sub(r"\g<none> of \g<all> ", sentence)
    return next((found for form in _ABSENCES if (found := form.match(said)) is not None), None)


def split_absence(sentence: str) -> tuple[str, str] | None:
    """Split "..., and none of the 11 documents mentions X" into a claim and an absence; None for other sentences."""
    pieces = [(sentence[: join.start()], sentence[join.end() :]) for join in _JOINS.finditer(sentence)]
    pieces += [(sentence[join.end() :], sentence[: join.start()]) for join in _JOINS_BACK.finditer(sentence)]
    return next((piece for piece in pieces if _find_absence(piece[1]) and not _find_absence(piece[0])), None)


def _find_uncounted(sentence: str) -> re.Match[str] | None:
    said = _FRONTED.sub(r"\g<none> of \g<all> ", sentence)
    found = next((found for form in _UNCOUNTED if (found := form.match(said)) is not None), None)
    return None if found is None or _SAYS_MORE.search(said) else found


def find_mention(text: str, words: str) -> str:
    """Return the first sentence of a text that has all content words of `words`, or "".

    Words in quotation marks must stand together and in this order.
    """
    literal = _QUOTED.search(words)
    wanted = stem_text(literal.group(1) if literal else words)
    if not wanted:
        return ""
    for sentence in list_sentences(text):
        said = stem_text(sentence)
        found = f" {' '.join(wanted)} " in f" {' '.join(said)} " if literal else frozenset(wanted) <= frozenset(said)
        if found:
            return " ".join(sentence.split())
    return ""


def check_derivation(sentence: str, cited: Sequence[CitedEvidence], reading: ReadingSet | None = None) -> Derivation:
    """Say how a sentence follows and execute it again; `holds` is None where its support decides.

    A count or an absence needs the reading set; without one it is not executed.
    """
    plain = " ".join(sentence.split())
    if _JUDGEMENT.match(plain):
        return _check_judgement(plain, cited)
    if cited and (joined := split_absence(plain)) is not None:
        absent = check_derivation(joined[1], (), reading)
        return (
            absent
            if absent.holds is False
            else replace(absent, kind=DerivationKind.RESTATEMENT, holds=None, said=joined[0])
        )
    if absence := _find_absence(plain):
        return _check_absence(plain, absence, reading)
    if not cited and (uncounted := _find_uncounted(plain)):
        return _look_for_absence(uncounted, reading)
    if not cited and _EXISTENCE.search(plain):
        reason = "an absence can be stated only for what was read, not in general"
        return Derivation.refuse(DerivationKind.ABSENCE, reason, withholds=False)
    folded = fold_text(plain).rstrip(".!?")
    if any(folded in " ".join(fold_text(piece.evidence.quote).split()) for piece in cited):
        return Derivation(DerivationKind.QUOTE)
    counted = _COUNTS.match(plain)
    if counted is not None and (counted.group("size") or counted.group("read") or len(cited) > 1):
        return _check_count(counted, cited, reading)
    done = execute_operation(plain, cited) if cited else None
    return Derivation(DerivationKind.RESTATEMENT) if done is None else done


def _check_judgement(sentence: str, cited: Sequence[CitedEvidence]) -> Derivation:
    """A labelled judgement is nobody's fact, but the numbers in it must stand in what it cites."""
    evidence = " ".join(f"{one.evidence.quote} {one.evidence.version} {one.evidence.published}" for one in cited)
    foreign = [number for number in _DIGIT.findall(sentence) if number not in _DIGIT.findall(evidence)]
    if foreign:
        return Derivation.refuse(
            DerivationKind.JUDGEMENT, f"a judgement with figures of its own: {', '.join(foreign)}", withholds=False
        )
    return Derivation(DerivationKind.JUDGEMENT)


def _read_count(said: str) -> int:
    return int(said) if said.isdigit() else NUMBER_WORDS.get(said.lower(), 0)


def _check_absence(sentence: str, found: re.Match[str], reading: ReadingSet | None) -> Derivation:
    """Look for the words in everything that was read; a hidden failure or unread document refuses the sentence."""
    kind = DerivationKind.ABSENCE
    if reading is None:
        return Derivation.leave_open(kind, "the reading set is not at hand")
    size = len(reading.documents)
    stated = found.group("size")
    if stated is None or _read_count(stated) != size:
        reason = f"{format_count(size, 'document was', 'documents were')} read, and it does not say so"
        return Derivation.refuse(kind, reason, withholds=stated is not None)
    for form, number, wording in (
        (_FAILED, reading.failed, ("document", "documents", "could not be read")),
        (_UNREAD, reading.unread, ("document was", "documents were", "not opened")),
    ):
        named = form.search(sentence)
        if (_read_count(named.group(1)) if named else 0) != number:
            one, many, rest = wording
            reason = f"{format_count(number, one, many)} {rest}, and it does not say so"
            return Derivation.refuse(kind, reason, withholds=named is not None)
    if _NOT_WHOLE.search(found.group("what")):
        return Derivation.leave_open(kind, "what is absent was not understood")
    for words in _split_alternatives(found.group("what")):
        if not stem_text(words):
            return Derivation.leave_open(kind, "what is absent was not understood")
        for document in reading.documents:
            said = reading.find_mention(document.source, words)
            if said:
                reason = f"{document.title or document.source} mentions it"
                return Derivation.refuse(kind, reason, said)
    return Derivation.confirm(kind, f"{_read_words(found)}: found in 0 of {format_count(size, 'document')} read")


def _look_for_absence(found: re.Match[str], reading: ReadingSet | None) -> Derivation:
    """Look for a sentence that has all words of what is told as absent; without one it stays open, with this as step.

    Other words for the same may stand in what was read, so this is no proof. What it names must be known to the run.
    """
    kind = DerivationKind.ABSENCE
    if reading is None:
        return Derivation.leave_open(kind, "the reading set is not at hand")
    what, names = _read_words(found), [document.source for document in reading.documents]
    stated = found.groupdict().get("size")
    if stated and _read_count(stated) != len(names):
        reason = f"{format_count(len(names), 'document was', 'documents were')} read, not {stated}"
        return Derivation.refuse(kind, reason)
    for word in _TELLING.findall(what[1:]):  # a capital opens the sentence
        if word not in reading.asked and not any(reading.find_mention(name, f"“{word}”") for name in names):
            return Derivation.leave_open(kind, "what is absent was not understood")
    opening = _NO_CONTENT.match(what)
    what = what[opening.end() :] if opening is not None else what
    words = stem_text(what)
    if not words:
        return Derivation.leave_open(kind, "what is absent was not understood")
    for document in reading.documents:
        if said := reading.find_mention(document.source, what):
            reason = f"{document.title or document.source} mentions it"
            much = opening is not None and opening["much"]  # the words may stand there without the answer
            return Derivation.refuse(kind, reason, said, withholds=not much and len(set(words)) >= _FEW_WORDS)
    return Derivation.leave_open(
        kind, "", f"{what.strip()}: found in no sentence of {format_count(len(names), 'document')} read"
    )


def _read_words(found: re.Match[str]) -> str:
    """Return the words that are counted or absent, without the full stop."""
    return found.group("what").strip(" .")


def _split_alternatives(what: str) -> list[str]:
    return [part for part in re.split(r",\s*(?:or\s+)?|\s+or\s+", what.strip(" .")) if part]


def _check_count(found: re.Match[str], cited: Sequence[CitedEvidence], reading: ReadingSet | None) -> Derivation:
    """Count the sources again: by what they mention in the whole text, else by what their evidence supports."""
    kind = DerivationKind.COUNT
    word, stated = found.group("number").lower(), found.group("size")
    size = _read_count(stated) if stated else 2 if word == "both" else 0
    members = _choose_members(found, size, cited, reading)
    if members is None:
        return Derivation.leave_open(kind, "the reading set is not at hand")
    if size not in (0, len(members)):
        own, read = len({one.source for one in cited}), len(reading.documents) if reading is not None else 0
        return Derivation.refuse(kind, f"it speaks of {size}, while {own} are cited and {read} were read")
    by_mentions = bool(found.group("verb")) and reading is not None
    if reading is not None and by_mentions:
        holding, undecided = _list_mentioning(found, reading), set[str]()
    else:
        holding, undecided = _list_supporting(found, cited, reading)
    counted = 2 if word == "both" else _read_count(word)
    wanted = len(members) if word in ("all", "every", "each") else counted
    number = len({members[source] for source in holding if source in members})
    most = len({members[source] for source in holding | undecided if source in members})
    at_least = (found.group("least") or "").lower() == "at least"
    holds = number >= wanted if at_least else number == wanted == most
    step = f"{_read_words(found)}: {number} of {len(members)}"
    if holds:
        return Derivation.confirm(kind, step)
    if number <= wanted <= most:
        return Derivation.leave_open(kind, "whether some of the sources counted say so is unclear", step)
    return Derivation.refuse(kind, f"{number} of {len(members)}, not {wanted}", step, withholds=by_mentions)


def _choose_members(
    found: re.Match[str], size: int, cited: Sequence[CitedEvidence], reading: ReadingSet | None
) -> dict[str, str] | None:
    """Return what is counted, by source: what was read, or what the sentence cites; None if it is not at hand."""
    said = found.group()[: found.start("what") - found.start()].lower()
    own = {one.source: one.publisher for one in cited}
    read = None if reading is None else {one.source: one.publisher for one in reading.documents}
    of_reading = "cited" not in said and (found.group("read") or found.group("verb") or size not in (0, len(own)))
    chosen = read if of_reading else own
    if chosen is None or "publisher" not in found.group("noun").lower():
        return None if chosen is None else {source: source for source in chosen}
    return {source: publisher or source for source, publisher in chosen.items()}


def _list_mentioning(found: re.Match[str], reading: ReadingSet) -> set[str]:
    """Return the documents read whose text mentions the words."""
    parts = _split_alternatives(_read_words(found))
    sources = (each.source for each in reading.documents)
    return {source for source in sources if any(reading.find_mention(source, words) for words in parts)}


def _list_supporting(
    found: re.Match[str], cited: Sequence[CitedEvidence], reading: ReadingSet | None
) -> tuple[set[str], set[str]]:
    """Return the cited sources whose evidence supports the predicate, and the sources that may support it."""
    said = _read_words(found)
    held: dict[str, Support] = {}
    for source in dict.fromkeys(one.source for one in cited):
        held[source] = check_support(said, [one.evidence for one in cited if one.source == source]).support
    others = [one.source for one in reading.documents if one.source not in held] if reading is not None else []
    unclear = {source for source in others if reading is not None and reading.find_mention(source, said)}
    unclear |= {source for source, support in held.items() if support in (Support.PARTLY, Support.UNCLEAR)}
    return {source for source, support in held.items() if support is Support.SUPPORTED}, unclear

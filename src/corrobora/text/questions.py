"""Questions: their topic, what they compare, and the kind of answer they expect.

Knows English question words, conjunctions and lists by spelling alone. Does not know subjects or sources: no topic is
named here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from corrobora.text.mentions import MentionKind, find_mentions
from corrobora.text.quantities import find_asked_releases, is_calendar_name, remove_releases
from corrobora.text.segmentation import QUESTION_MARKS, list_sentences
from corrobora.text.tokens import find_literals, split_words, stem_text, stem_word
from corrobora.text.vocabulary import detect_language, find_function_words

_BETWEEN = re.compile(
    r"(?i)\bbetween\s+(.{2,120}?)\s+and\s+(.{2,120}?)(?=[?;,:]|\.(?!\d)|$|\s+(?:in|on|with|regarding|for|"
    r"since|when|concerning|as|is|are|was|were|did|does|do|has|have)\b)"
)
_SHARED = re.compile(r"(?i)\b(?:the|an?|which|what|each|any|no)\s+([a-z-]+)\s+\Z")  # a noun before "between"
_VERSUS = re.compile(
    r"(?i)\b(?:compare|comparing|contrast)\s+(.{2,120}?)\s+(?:and|with|to|versus|vs\.?|"
    r"against)\s+(.{2,120}?)(?=[?;,:]|\.(?!\d)|$|\s+(?:in|on|regarding|for|with|concerning)\b)"
)
_VS = re.compile(r"(?i)([^,;?]{2,80}?)\s+(?:versus|vs\.?)\s+([^,;?]{2,80})")
_FROM_TO = re.compile(r"(?i)\bfrom\s+([^,;?]{2,80}?)\s+to\s+([^,;?]{2,80}?)(?=[?;,:]|\.(?!\d)|$)")
_DIFFER = re.compile(
    r"(?i)\bdo(?:es)?\s+(?:the\s+)?(?:[\w -]{2,60}?\s+(?:of|in|for)\s+)?(?:the\s+)?(.{2,80}?)\s+and\s+(.{2,80}?)\s+"
    r"(?:differ|compare|vary)\b"
)
_EITHER = re.compile(r"(?i)(?:,|:)\s*([^,:;?]{2,120}?),?\s+or\s+([^,;?]{2,120})\?*\s*$")
_ASKS = re.compile(r"(?i)\b(?:which|what|how|when|where|whom?|whose|why)\b|\A\s*(?:and|but|und|aber)\s")
_ASKING = (
    r"(?:which|what|how|when|where|whom?|whose|why|welche[rsmn]?|was|wie|wann|wo(?:her|hin|für|durch|mit)?|wer|wen|wem|"
    r"warum|weshalb|wessen)"
)
_ENDS_ASKING = re.compile(rf"(?i)\b{_ASKING}\Z")
_CONJUNCTION = re.compile(r"(?i)\A[,;]?\s*(?:and|und|as well as|sowie)\s+")
_AND_ASKS = re.compile(rf"(?i)[,;]?\s+(?:and|und|as well as|sowie)\s+(?=(?:\w{{2,4}}\s+)?{_ASKING}\b)")
# Words that say what happened to a topic rather than what the topic is: they frame a question.
FRAMING_WORDS = frozenset(
    "change changed changes changing differ differs different difference differences compare compared comparison "
    "contrast analyze analyse assess evaluate examine explore investigate identify outline determine evolve evolved "
    "evolution vary varies develop developed describe described explain explained discuss discussed list say says said "
    "state states stated tell mention mentioned mentions report reported reports suggest suggests suggested imply "
    "implies implied indicate indicates claim claims article articles according account guidance information happen "
    "happened cover covered considering main key important use used make made give given take taken find found know "
    "known name named kind kinds type types sort way ways example examples reason reasons role effect effects affect "
    "affects impact impacts work works mean means meaning relate related relation role detail details both recent "
    "recently condition conditions circumstance circumstances true false older younger later earlier same consistent "
    "consistency inconsistent inconsistency remain remained published portrayal document documents text texts history "
    "overview summary aspect aspects need needs needed do done doing occur occurs happens please".split()
)  # fmt: skip
_RELATION_WORDS = 4
SIDE_STEMS = 6
_FRAME_NOUN = re.compile(
    r"(?i)['\"’”]?(?:['’]s)?\s+(?:[a-z]+\s+)?(?:articles?|reports?|guidance|guidelines?|stud(?:y|"
    r"ies)|papers?|documents?|"
    r"posts?|pieces?|interviews?|websites?|stor(?:y|ies)|coverage|rules|recommendations?|standards?)\b"
)
_SAID_BY = re.compile(
    r"(?i)\b(?:according to|under|per|"
    r"(?:reported|published|stated|covered|claimed|noted|mentioned|described|highlighted|said|"
    r"written) (?:by|in|on|from)|"
    r"(?:articles?|reports?|piece|stor(?:y|ies)|information|coverage) (?:from|by|in|on|of)) (?:the |"
    r"an? )?(?:both )?['\"‘“]?$"
)
_OF_DOCUMENT = re.compile(r"(?i)\b(?:in|of|by|from|to|under|per|between|and)\s+(?:the\s+)?$")
_BOUND = re.compile(r"\bat (?:the )?(least|most)\b")
_DEGREE = re.compile(r"\bhow (long|many|much|often|far|old|tall|high|deep|wide|soon|large|big|frequently|quickly)\b")
_DOES_IT = re.compile(
    r"(?i)\s*how (?:(?:do|can|could|should|may|must) (?:i|we|you|one)|to)\b"
)  # asks for instructions, not for a difference
_DUTY_WORDS = frozenset(
    "guidance requirement requirements required require requires must shall should allowed acceptable permitted "
    "prohibited mandatory policy rule rules recommend recommended recommendation recommendations may conditions "
    "standard comply obliged".split()
)
_COMPARING = frozenset("change changed differ difference differences compare compared".split())
_TOPIC_ENOUGH = 2  # with this many topic words, names weigh less
_FRAME_WEIGHT, _KIND_WEIGHT, _SIDE_WEIGHT, _NAME_WEIGHT = 0.3, 0.0, 0.2, 0.5
_CASE_WEIGHT = 0.5
_ASKS_AFTER = re.compile(rf"(?i)(?<=;)\s+(?=(?:(?:and|so|but)\s+)?(?:\w{{2,4}}\s+)?{_ASKING}\b)")


@lru_cache(maxsize=1_000)
def split_case(question: str) -> tuple[str, str]:
    """Return what of a text asks, and what tells the case that it asks about: "" if all or nothing of it asks.

    Example:
        >>> split_case("We use a proxy. Which setting is needed?")
        ('Which setting is needed?', 'We use a proxy.')
    """
    said = [part for sentence in list_sentences(question[:2_000]) for part in _ASKS_AFTER.split(sentence)]
    asks = [part.endswith(QUESTION_MARKS) for part in said]
    if all(asks) or not any(asks):
        return question, ""
    asked, told = ([part for part, ask in zip(said, asks, strict=True) if ask is each] for each in (True, False))
    return " ".join(asked), " ".join(told)


def find_framing_stems(question: str) -> frozenset[str]:
    """Return the stems that frame a question ("change", "report", "differ") rather than name its topic."""
    topic = [word for word in split_words(question) if stem_word(word)]
    foreign = find_function_words(question)
    light = frozenset(stem_word(word) for word in topic if word in FRAMING_WORDS or word in foreign)
    degree = _DEGREE.search(" ".join(split_words(question)))
    light |= frozenset((stem_word(degree.group(1)),)) if degree is not None else frozenset()
    return light if len(light) < len({stem_word(word) for word in topic}) else frozenset()


_MOST = re.compile(
    r"(?i)\b(?:(?:most|highest|largest|greatest|biggest|longest|latest|newest)"
    r"|(?P<least>least|fewest|lowest|smallest|shortest|earliest|oldest))\b"
    r"(?<!\bat least)(?<!\bat most)(?! (?:one|of)\b)"
)
_OVER_ALL = re.compile(r"(?i)\b(?:average|(?:the|an?) mean|median|total|sum of|altogether|in all)\b")


def find_superlative(question: str) -> tuple[int, str]:
    """Return 1 and of what, if a question asks which one has most of it; -1 if it asks for the least; else 0.

    Example:
        >>> find_superlative("Which month had the most stops?")
        (1, ' stops?')
    """
    found = _MOST.search(question)
    return (0, "") if found is None else (-1 if found["least"] else 1, question[found.end() :])


def asks_for_aggregate(question: str) -> bool:
    """True if a question asks for what no row of a table says by itself: the most, the least, a mean or a sum."""
    return find_superlative(question)[0] != 0 or _OVER_ALL.search(question) is not None


_PLURAL = r"(?: [\w/-]+){0,3}? (?!does|was|is|has|this)[\w/-]+(?<![sui]s)(?<=s)"
_VERBS = "are|were|do|can|could|may|must|should|shall|have|had|will|would"
_SEVERAL = re.compile(
    rf"(?i)\b(?:which{_PLURAL}(?= (?:{_VERBS}|does|did|come|came|of|for|in|from)\b)"
    rf"|what (?:are|were)(?: the| all| its)*{_PLURAL}(?= (?:{_VERBS}|and)\b|\W*$)"
    rf"|what(?! is\b){_PLURAL}(?= (?:{_VERBS})\b))"
)


def asks_for_several(question: str) -> bool:
    """True if a question asks which things there are, by a plural: no single statement tells that it lists them all.

    Example:
        >>> asks_for_several("Which values can the field have?")
        True
    """
    return _SEVERAL.search(question) is not None


@lru_cache(maxsize=1_000)
def find_code(question: str) -> tuple[str, ...]:
    """Return the code that a question names; a letter that is a word of its language, as the Spanish "y", is none."""
    found = find_literals(question)
    words = find_function_words(question) if found else ()
    return tuple(each for each in found if each not in words)


def split_content_words(text: str) -> list[str]:
    """Return the distinct content words of a text, as spelled."""
    words = (raw.strip("?.,;:!()\"'“”‘’[]") for raw in text.split())
    return list(dict.fromkeys(word for word in words if stem_text(word)))


def find_topic_words(text: str, *, without: frozenset[str] = frozenset()) -> str:
    """Return the words of a text that name its topic, as spelled, but for those of the stems `without`."""
    light = find_framing_stems(text)
    named = ((word, set(stem_text(word))) for word in split_content_words(text))
    return " ".join(word for word, stems in named if not stems <= light and not stems <= without)


@lru_cache(maxsize=1_000)
def find_attributions(question: str) -> tuple[str, ...]:
    """Return the names a question attributes statements to: documents, outlets, issuing bodies.

    These are identifiers after a preposition ("in SP 800-63B") and names before a framing noun ("the TechCrunch
    article") or after "according to".
    """
    found: dict[str, None] = {}
    for mention in find_mentions(question):
        after = _FRAME_NOUN.match(question[mention.end : mention.end + 30])
        before = _SAID_BY.search(question[max(0, mention.start - 40) : mention.start])
        document = mention.kind is MentionKind.IDENTIFIER and _OF_DOCUMENT.search(
            question[max(0, mention.start - 12) : mention.start]
        )
        if document or after is not None or before is not None:
            found[mention.text] = None
    return tuple(found)


def _find_kinds_of_document(question: str) -> list[str]:
    """Return what a question calls the documents that it names: "guidance" in "NIST guidance"."""
    found = (_FRAME_NOUN.match(question[each.end : each.end + 30]) for each in find_mentions(question))
    return [match.group() for match in found if match is not None]


@lru_cache(maxsize=1_000)  # called for every sentence
def find_anchors(question: str) -> tuple[str, ...]:
    """Return the named subjects of a question, without attributions and compared sides."""
    either = find_alternatives(question)
    said = " ".join((*find_attributions(question), *(() if either else _find_named_sides(question))))
    named = (name for name in find_subjects(question) if name not in said and not any(name in each for each in either))
    return (*either, *named)


def is_relational(question: str) -> bool:
    """True if a question has little besides names: its answer may depend on a chain of names."""
    named = [m for m in find_mentions(question) if m.kind in (MentionKind.NAME, MentionKind.QUOTED)]
    read = weigh_terms(question)
    return bool(named) and len(read.topic - read.names or read.topic) <= _RELATION_WORDS


@dataclass(frozen=True, slots=True)
class WeightedTerms:
    """The stems of a question: `weights` ranks sentences; `topic` is what it is about, its `names` included."""

    weights: dict[str, float]
    topic: frozenset[str]
    names: frozenset[str]


@lru_cache(maxsize=1_000)
def weigh_terms(question: str) -> WeightedTerms:
    """Weigh the stems of a question: topic words and names in full, framing words and compared sides lightly.

    What tells the case asked about is no topic if what asks has one, and weighs less than that. Attributions and
    compared sides say where to look; a document does not repeat its own subject in every sentence. If a question
    contains nothing else, they are its topic.
    """
    every = dict.fromkeys(stem_text(remove_releases(question)) or stem_text(question))
    light = find_framing_stems(question)
    either = find_alternatives(question)
    aside = (*(() if either else _find_named_sides(question)), *find_attributions(question))
    compared = frozenset(s for side in aside for s in stem_text(side))
    named = frozenset(s for name in (*find_subjects(question), *either) for s in stem_text(name))
    topic = frozenset(every) - light - compared
    told = _find_told_stems(question)
    told = told if len(topic - told) >= _TOPIC_ENOUGH else frozenset[str]()
    topic -= told
    enough = len(topic) >= _TOPIC_ENOUGH
    kinds = frozenset(stem_text(" ".join(_find_kinds_of_document(question))))
    weights = dict.fromkeys(every, 1.0)
    for term in every:
        if term in light:
            weights[term] = _KIND_WEIGHT if term in kinds else _FRAME_WEIGHT
        elif term in compared and (topic or term.isdigit()):
            weights[term] = _SIDE_WEIGHT if enough else _NAME_WEIGHT
        elif term in told:
            weights[term] = _CASE_WEIGHT
    return WeightedTerms(weights, topic or frozenset(every) - light or frozenset(every), named)


def _find_told_stems(question: str) -> frozenset[str]:
    """Return the stems that stand only in what tells the case asked about."""
    asked, case = split_case(question)
    return frozenset(stem_text(case)).difference(stem_text(asked)) if case else frozenset()


def find_counted_stems(question: str) -> frozenset[str]:
    """Return the topic stems of a question without those that only bound a number ("at least")."""
    topic = weigh_terms(question).topic
    return topic - frozenset(map(stem_word, _BOUND.findall(" ".join(split_words(question))))) or topic


def find_topic_stems(question: str) -> tuple[str, ...]:
    """Return the distinct stems of a question's topic in order, without framing words."""
    light = find_framing_stems(question)
    return tuple(dict.fromkeys(s for s in stem_text(question) if s not in light))


@lru_cache(maxsize=1_000)
def asks_for_duty(question: str) -> bool:
    """True if a question asks what must, should or may be: a slight preference, never a filter."""
    return not _DUTY_WORDS.isdisjoint(split_words(split_case(question)[0]))


@lru_cache(maxsize=1_000)
def asks_to_compare(question: str) -> bool:
    """True if a question names two sides or several releases, or asks what changed or differs."""
    differs = not _COMPARING.isdisjoint(split_words(split_case(question)[0])) and _DOES_IT.match(question) is None
    return differs or bool(find_compared_sides(question)) or len(find_asked_releases(question).numbers) > 1


def find_compared_sides(question: str) -> tuple[str, ...]:
    """Return the two things a question compares, or nothing: they share a distance, and differ by a difference."""
    for pattern in (_BETWEEN, _VERSUS, _EITHER, _FROM_TO, _VS):
        match = pattern.search(question[:2_000])
        shared = _SHARED.search(question[: match.start()]) if match is not None and pattern is _BETWEEN else None
        if match is not None and (shared is None or shared[1].lower() in FRAMING_WORDS):
            found = tuple(side.strip(" ,;:?.\"'") for side in match.groups())
            asks = pattern is _EITHER and any(map(_ASKS.search, found))  # "... and at which level is it used or set"
            named = pattern is not _EITHER or all(map(find_mentions, found))  # "at removal or at purge" are options
            if named and not asks and all(stem_text(side) or find_mentions(side) for side in found):
                return found
    return ()


def split_parts(question: str) -> tuple[str, ...]:
    """Return what a question asks one after the other: "Who sails, and when?" asks two things; else the question alone.

    A part begins at a conjunction before a word that asks.
    """
    whole = question[:2_000]
    cuts = [0, *(match.start() for match in _AND_ASKS.finditer(whole)), len(whole)]
    parts = [_CONJUNCTION.sub("", whole[one:two]).strip(" ,;") for one, two in pairwise(cuts)]
    broken = any(_ENDS_ASKING.search(part) for part in parts)  # "how and why it fails" asks one thing
    whole_parts = all(len(stem_text(part)) > 1 for part in parts)  # "and for how long?" says nothing alone
    return tuple(parts) if len(parts) > 1 and whole_parts and not broken else (question,)


def find_differing_sides(question: str) -> tuple[str, ...]:
    """Return the two things a question asks to distinguish ("How do A and B differ?") or compares, or nothing."""
    match = _DIFFER.search(question[:2_000])
    return tuple(match.groups()) if match is not None else find_compared_sides(question)


def _find_named_sides(question: str) -> tuple[str, ...]:
    """Return compared sides that merely name things; a long side is part of the topic."""
    found = find_compared_sides(question)
    return found if all(len(stem_text(side)) <= SIDE_STEMS for side in found) else ()


def find_alternatives(question: str) -> tuple[str, ...]:
    """Return the two alternatives of a question such as "Which is older, A or B?", or nothing."""
    match = _EITHER.search(question[:2_000])
    found = tuple(side.strip(" ,;:?.\"'") for side in match.groups()) if match is not None else ()
    return found if found and all(find_mentions(side) for side in found) else ()


def find_subjects(question: str) -> tuple[str, ...]:
    """Return the names, acronyms, identifiers and quoted titles in a question."""
    named = [
        m for m in find_mentions(question) if m.kind is not MentionKind.QUOTED or " " in m.text or m.text[:1].isupper()
    ]
    quoted = [(m.start, m.end) for m in named if m.kind is MentionKind.QUOTED]
    kept = [
        m.text
        for m in named
        if m.kind is MentionKind.QUOTED or not any(start <= m.start and m.end <= end for start, end in quoted)
    ]
    kept = [
        name
        for name in kept
        if not is_calendar_name(name) and f"({name})" not in question and is_meaningful_name(name, question)
    ]
    return tuple(dict.fromkeys(kept))


def is_meaningful_name(name: str, question: str) -> bool:
    """False for function words of another language and for single German words, as all its nouns are capitalised."""
    spoken = detect_language(question)
    if not spoken or any(c.isdigit() for c in name) or (name.isupper() and len(name) > 1):
        return True
    own = [word for word in split_words(name) if word not in find_function_words(question)]
    return len(own) > (spoken == "de")

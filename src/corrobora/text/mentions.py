"""Mentions: the names, identifiers and quoted strings of a text, titles used as names, and what makes a claim.

Knows capitals, digits, quotation marks and words of obligation, and how a title becomes an alias. Knows no list of
names, what a name refers to, or which sources exist: the aliases to look for are given. Takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from corrobora.text.measures import find_quantities
from corrobora.text.quantities import find_years
from corrobora.text.tokens import STOP_WORDS, WORD, fold_text, split_words, stem_text
from corrobora.text.vocabulary import detect_language, read_function_words


class MentionKind(StrEnum):
    """The form of a mention."""

    NAME = "name"  # "Ermengarde of Tours", "The Verge"
    ACRONYM = "acronym"  # "SMS"
    IDENTIFIER = "identifier"  # "SP 800-63B", "RFC 2119", "AAL3"
    QUOTED = "quoted"  # a string in quotation marks


@dataclass(frozen=True, slots=True)
class Mention:
    """One mention with its position in the text."""

    text: str
    kind: MentionKind
    start: int
    end: int


_TOKEN = re.compile(r"[^\W_]+(?:[-'’./&+][^\W_]+)*\.?")
_QUOTED = re.compile(
    r"[\"“]([^\"“”\n]{2,120})[\"”]|(?<![^\W_])['‘]([^'‘’\n]{2,80}(?:['’]s [^'‘’\n]{2,80})?)['’](?![^\W_])"
)
_CONNECTORS = frozenset("of the de la le du des van von der den del di da dos das al bin ibn for and".split())
_NOT_JOINED = frozenset(("and", "for", "the"))  # may follow another connector, but never joins two names alone
_SENTENCE_OPENERS = frozenset(
    "how what when where who whom whose which why is are was were do does did has have had can could should would will "
    "shall may might must if in on at by for from to of and or but after before between considering given based "
    "according during since while although though because despite among under over about regarding compare "
    "describe explain list name tell give summarize discuss analyze analyse assess evaluate examine explore "
    "investigate identify outline determine summarise the a an this that these those it its he she they we you "
    "his her their our my your one two three some many most all each every any no not there here however also both "
    "then thus so as with without yes please note see using for example e.g i.e within across per whoever whomever "
    "whatever whichever whenever wherever".split()
)
_CAPITALIZED_KEYWORDS = frozenset(
    "shall must may should can not no and or the required recommended optional only all note".split()
)
_NOT_ALPHANUMERIC = re.compile(r"[\W_]+")
_STYLED = re.compile(r"[a-z]{1,3}[A-Z]\w+\Z")  # "iPhone", "eSIM", "macOS"
_SHORT_NUMBER = re.compile(r"(?<![\w.])\d{1,2}(?![\w.])")


def find_mentions(text: str) -> tuple[Mention, ...]:
    """Return the mentions of `text` in order, quoted strings included; mentions of one kind never overlap."""
    found = [*_find_quoted(text), *_find_capitalized(text)]
    return tuple(sorted(found, key=lambda mention: (mention.start, mention.end, mention.kind)))


def _find_quoted(text: str) -> Iterable[Mention]:
    for match in _QUOTED.finditer(text):
        inner = 1 if match.group(1) is not None else 2
        yield Mention(match.group(inner), MentionKind.QUOTED, match.start(inner), match.end(inner))


def _find_capitalized(text: str) -> list[Mention]:
    tokens = [(match.group().rstrip("."), match.start(), match.end()) for match in _TOKEN.finditer(text)]
    found: list[Mention] = []
    at = 0
    while at < len(tokens):
        if not _opens_mention(text, tokens, at):
            at += 1
            continue
        stop = at + 1
        while stop < len(tokens) and (step := _count_joined(text, tokens, stop)):
            stop += step
        found.append(_make_mention(text, tokens[at:stop]))
        at = stop
    return found


def _opens_mention(text: str, tokens: list[tuple[str, int, int]], at: int) -> bool:
    word, start, _ = tokens[at]
    if not word.isalpha() and any(map(str.isdigit, word)):
        counts = word[:-2].isdigit() or (word[:-1].isdigit() and word[-1].islower())  # "3rd", "2w"
        return (any(c.isalpha() for c in word) and not counts) or (word.count("-") > 0 and len(word) > 4)  # noqa: PLR2004 - "1-2"
    if not word[0].isupper():
        return _STYLED.match(word) is not None
    if len(word) > 1 and word.isupper():
        return fold_text(word) not in _CAPITALIZED_KEYWORDS
    folded = fold_text(word)
    if folded in _SENTENCE_OPENERS or folded in STOP_WORDS:
        follows = (
            at + 1 < len(tokens) and tokens[at + 1][0][0].isupper() and text[tokens[at][2] : tokens[at + 1][1]] == " "
        )
        return folded == "the" and follows and _is_inside_sentence(text, start)
    return len(word) > 1


def _is_inside_sentence(text: str, start: int) -> bool:
    """True if the word at `start` does not open a sentence."""
    before = text[max(0, start - 3) : start].rstrip(" \"'“‘(")
    return bool(before) and before[-1] not in ".!?:\n"


def _count_joined(text: str, tokens: list[tuple[str, int, int]], at: int) -> int:
    """Return how many tokens at `at` continue the mention before them: 0, 1, or a connector and the next word."""
    word, start, _ = tokens[at]
    gap = text[tokens[at - 1][2] : start]
    if tokens[at - 1][0].endswith(("'s", "’s")) and fold_text(word) not in STOP_WORDS and word[0].isupper():
        return 1 if gap == " " else 0
    if gap not in (" ", " & ", "/"):
        return 0
    if word[0].isupper() and (fold_text(word) not in _SENTENCE_OPENERS or _capital_follows(text, tokens, at)):
        return 1
    if word[0].isdigit() and not tokens[at - 1][0][0].isdigit():
        return 1 if len(word) <= 12 else 0  # noqa: PLR2004 - longer is no part of a name
    for step in (1, 2):
        if at + step >= len(tokens) or fold_text(tokens[at + step - 1][0]) not in _CONNECTORS:
            return 0
        if text[tokens[at + step - 1][2] : tokens[at + step][1]] != " ":
            return 0
        ahead = tokens[at + step][0]
        if ahead[0].isupper() and fold_text(ahead) not in _SENTENCE_OPENERS:
            return 0 if fold_text(word) in _NOT_JOINED else step + 1
    return 0


def _capital_follows(text: str, tokens: list[tuple[str, int, int]], at: int) -> bool:
    """True inside a capitalised title ("Walking On The Water"): capitals continue to a meaningful word."""
    for ahead in range(at + 1, min(at + 4, len(tokens))):
        if text[tokens[ahead - 1][2] : tokens[ahead][1]] != " " or not tokens[ahead][0][0].isupper():
            return False
        if fold_text(tokens[ahead][0]) not in _SENTENCE_OPENERS:
            return True
    return False


def _make_mention(text: str, tokens: list[tuple[str, int, int]]) -> Mention:
    start = tokens[0][1]
    last, _, end = tokens[-1]
    end = start + len(text[start:end].rstrip("."))
    for ending in ("'s", "’s"):
        if last.endswith(ending):
            end -= len(ending)
    literal = text[start:end]
    kind = MentionKind.NAME
    if any(c.isdigit() for c in literal) and (literal.upper() == literal or any(c.isdigit() for c in tokens[0][0])):
        kind = MentionKind.IDENTIFIER
    elif len(tokens) == 1 and literal.isupper() and len(literal) > 1:
        kind = MentionKind.ACRONYM
    return Mention(literal, kind, start, end)


@lru_cache(maxsize=2_000)  # what a thread is about is read again in every round
def find_names(text: str) -> tuple[str, ...]:
    """Return the distinct names, acronyms and identifiers of `text` in order of first use, without quoted strings."""
    return tuple(dict.fromkeys(m.text for m in find_mentions(text) if m.kind is not MentionKind.QUOTED))


def mentions_name(text_stems: frozenset[str], squashed: str, name: str) -> bool:
    """True if a text mentions `name`, regardless of spacing and word order.

    The text is given as stems and as characters (`strip_to_alphanumeric`). The numbered part of an identifier is
    enough: "SP800-63B" mentions "NIST SP 800-63B".
    """
    wanted = stem_text(name)
    small = strip_to_alphanumeric(name)
    if wanted and all(part in text_stems for part in wanted) and (not _SHORT_NUMBER.search(name) or small in squashed):
        return True  # any text contains short numbers: it must follow its name
    if len(small) > 3 and small in squashed:  # noqa: PLR2004 - shorter strings stand in any text
        return True
    numbered = [part for part in name.split() if any(c.isdigit() for c in part)]
    return (
        bool(numbered)
        and len(numbered) < len(name.split())
        and all(
            len(strip_to_alphanumeric(part)) > 3 and strip_to_alphanumeric(part) in squashed  # noqa: PLR2004 - as above
            for part in numbered
        )
    )


def strip_to_alphanumeric(text: str) -> str:
    """Return only the letters and digits of `text`, folded: "SP 800-63B" and "sp800-63b" become equal."""
    return _NOT_ALPHANUMERIC.sub("", fold_text(text))


MAX_ALIAS_WORDS = 8
_MIN_CHARS = 3
_CAPITAL = re.compile(  # the capital precedes its lookbehind: a pattern that begins with a character set is faster
    r"([A-Z0-9\u00c0-\u00de\u0100-\u024f\u0370-\u03ff\u0400-\u052f](?<![^\W_].)[^\W_]*)"
    r"(?=(?:['’]s)?[\W_]{1,3}([^\W_]+)|)"
)

_ASCII_CAPITAL = re.compile(  # the same for ASCII texts, in two thirds of the time
    r"([A-Z0-9](?<![a-zA-Z0-9].)[a-zA-Z0-9]*)(?=(?:'s)?[^a-zA-Z0-9]{1,3}([a-zA-Z0-9]+)|)", re.ASCII
)


class AliasMention(NamedTuple):
    """An alias found in a text, with its position."""

    alias: str
    start: int
    end: int


def make_alias(title: str) -> str:
    """Return the alias by which texts may mention a title, or "" if the title is not a usable name.

    Text in parentheses is dropped: "Theodred II (Bishop of Elmham)" becomes "theodred ii". More than eight words are a
    sentence, not a name.
    """
    found = split_words(title.split(" (", 1)[0])
    alias = " ".join(found)
    if not 1 <= len(found) <= MAX_ALIAS_WORDS or len(alias) < _MIN_CHARS or alias.replace(" ", "").isdigit():
        return ""
    return "" if all(word in STOP_WORDS for word in found) else alias


def alias_prefix(alias: str) -> str:
    """Return the first two words of an alias: the key under which an index stores it."""
    return " ".join(alias.split(" ", 2)[:2])


def list_alias_prefixes(text: str) -> set[str]:
    """Return the prefixes of every alias `text` could mention: each capitalised word, alone and with the next."""
    found: set[str] = set()
    folded, pattern = (str.lower, _ASCII_CAPITAL) if text.isascii() else (fold_text, _CAPITAL)
    for first, second in pattern.findall(text):
        one = folded(first)
        found.add(one)
        if second:
            found.add(f"{one} {folded(second)}")
    return found


def group_by_prefix(aliases: Iterable[str]) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Group aliases by prefix, the longest first."""
    grouped: dict[str, list[tuple[str, ...]]] = {}
    for alias in aliases:
        grouped.setdefault(alias_prefix(alias), []).append(tuple(alias.split(" ")))
    return {head: tuple(sorted(group, key=lambda parts: (-len(parts), parts))) for head, group in grouped.items()}


def find_alias_mentions(text: str, known: Mapping[str, tuple[tuple[str, ...], ...]]) -> tuple[AliasMention, ...]:
    """Find the aliases in `known` (see `group_by_prefix`): longest match, capital initial, no overlap."""
    found: list[AliasMention] = []
    past = 0
    folded, pattern = (str.lower, _ASCII_CAPITAL) if text.isascii() else (fold_text, _CAPITAL)
    for match in pattern.finditer(text):
        first, second = match.groups()
        one = folded(first)
        candidates = (known.get(f"{one} {folded(second)}", ()) if second else ()) + known.get(one, ())
        if not candidates:
            continue
        start = match.start()
        if start < past or not (text[start].isupper() or text[start].isdigit()):
            continue
        for parts in candidates:
            end = _match_end(text, start, parts)
            if end:
                found.append(AliasMention(" ".join(parts), start, end))
                past = end
                break
    return tuple(found)


def _match_end(text: str, start: int, parts: tuple[str, ...]) -> int:
    """Return where the words `parts` end if they begin at `start`, else 0."""
    position = start
    for number, part in enumerate(parts):
        match = WORD.search(text, position, position + 64)
        if match is None or (number and match.start() - position > 3) or fold_text(match.group(1)) != part:  # noqa: PLR2004
            return 0
        position = match.end()
    return position


_DIGITS = re.compile(r"(?<![\w.])[$€£]?\d[\d.,:/–-]*(?:\s?%)?(?![\w])|\d+(?:st|nd|rd|th)\b")
_SPAN = re.compile(
    r"(?i)\b(?:after|within|every|until|before|for|than|least|most|to)\s+"
    r"((?:an?|one|half an?)\s+(?:second|minute|hour|day|week|month|quarter|year|decade|century))\b"
)
_OBLIGATION = re.compile(
    r"\b(?:shall|must|may (?:not|never)|should|required to|obliged to|prohibited|forbidden|mandatory|recommended)\b"
    r"(?: not\b)?",
    re.IGNORECASE,
)

_STATES = re.compile(
    r"(?i)(?!.*\b(?:how|what|when|which|who|whether|why|unanswered|unclear|unknown)\b).*"
    r"\b(?:is|are|was|were|has|have|had|will|would|can(?:not)?|could|may|might|must|shall|should|does|did|do)\b"
)
_LEFT_OPEN = re.compile(  # said of the reading: whatever else is not found, opened or settled is a claim
    r"(?i)\b(?:(?:not|nowhere|never) (?:to )?(?:be )?found (?:in|among) (?:what\b(?! year)|(?:any of )?"
    r"(?:the|these|those|its|our|all|any)(?: [\w-]+){0,2} (?:documents?|sources?|materials?|pages?|texts?)\b(?! of\b))|"
    r"(?:is|are|was|were) not (?:answered|read)\b|remains? (?:unanswered|unread)\b|"
    r"(?:documents?|sources?|pages?|texts?)(?: that were)? read (?:state|name|mention|give|contain|tell|say) no\b)"
)


def _has_joined_capitals(text: str) -> bool:
    """True for two capitalized words side by side: in German every noun has a capital, so one alone is no name."""
    capital = [word[0].isupper() and fold_text(word) not in read_function_words()["de"] for word in text.split()]
    return any(one and other for one, other in pairwise(capital))


def is_statement(line: str, asked: Sequence[str] = ()) -> bool:
    """True for a title, heading or gap that says something beside a question, not for the name of a thing."""
    for each in asked:
        line = line.replace(each.strip(" ?."), "")
    return _STATES.match(line) is not None


_OF_RESEARCH = re.compile(
    r"(?i)\b(?:(?:un)?(?:answered|covered|read)|coverage|(?:not|nothing|never) (?:\w+ )?found|(?:re)?search(?:e[ds])?|"
    r"looked for|(?:is|are|was|were|remains?|left|still) (?:open|unknown|unclear)|gaps?|partial(?:ly)?|"
    r"in (?:part|full)|next (?:step|round)|statements?|points|Aussagen?|Punkte|"
    r"stands? out|deserves?|matters?|worth (?:noting|knowing)|fallen auf|verdienen|"
    r"(?:un)?beantwortet|nichts? gefunden|offen|abgedeckt|gelesen|gesucht|Lücke)\b"
)
_COUNTS_RESEARCH = re.compile(
    r"(?i)should|\w+ of|(?:two|three|four|five|six|zwei|drei|vier|fünf|sechs) \w+|"
    r"\S+ (?:sub-?)?(?:questions?|subjects?|gaps?|rounds?|topics?|statements?|points|"
    r"(?:Teil)?fragen?|Themen|Lücken?|Runden?|Aussagen?|Punkte)"
)


def describes_research(sentence: str, words: Sequence[str], known: Sequence[str]) -> bool:
    """True if a sentence may say what was asked, answered, found or read, and names nothing but what was asked.

    Code cannot tell whether it claims something else besides.
    """
    names = "\n".join(known).casefold()
    return _OF_RESEARCH.search(sentence) is not None and all(
        _COUNTS_RESEARCH.fullmatch(word) or all(part.casefold() in names for part in word.split()) for word in words
    )


def find_claim_words(sentence: str, known: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the words for which a sentence needs a source; none for connecting prose.

    A sentence that ends with a colon introduces what follows, and claims no more than a year. `known` are texts about
    the report itself, such as the question, its gaps and the titles of its sources: words that repeat one of them claim
    nothing unless they are a statement, nor does a sentence that says in its own words that a question is not answered
    or that its answer was not found in what was read.

    Example:
        >>> find_claim_words("The mill was built in 1874."), find_claim_words("Both sides agree on this.")
        (('1874',), ())
        >>> find_claim_words("Die Antwort steht in den Akten."), find_claim_words("Das sagt der Forscher Otto Hahn.")
        ((), ('Forscher Otto Hahn',))
    """
    said = sentence.strip(" *_#>-.?!")
    if not said or (any(said in each for each in known) and not is_statement(said)):
        return ()
    if said.endswith(":"):
        return tuple(year for year in map(str, find_years(said)) if known and not any(year in each for each in known))
    found = dict.fromkeys(_list_definite(sentence))
    every = "\0".join(found)
    words = tuple(word for word in found if every.count(word) == 1)  # none is a part of another
    telling = [part for word in words for part in word.split() if not part[0].islower()]
    if _LEFT_OPEN.search(sentence) and any(all(part in each for part in telling) for each in known):
        return ()
    return words


def _list_definite(sentence: str) -> Iterator[str]:
    """Yield the numbers, amounts, time spans, words of obligation and names of a sentence.

    A capital at the beginning of a sentence, or of a single German word, makes no name.
    """
    yield from (match.group().strip(".,:") for match in _DIGITS.finditer(sentence))
    yield from (each.text for each in find_quantities(sentence))
    yield from (match.group(1) for match in _SPAN.finditer(sentence))  # "after one day"
    yield from (match.group() for match in _OBLIGATION.finditer(sentence))
    german = detect_language(sentence) == "de"
    for each in find_mentions(sentence):
        named = each.kind is MentionKind.NAME
        if german and named and not _has_joined_capitals(each.text):
            continue
        opens = not any(letter.isalnum() for letter in sentence[: each.start]) and " " not in each.text
        if each.kind is not MentionKind.QUOTED and not (opens and named):
            yield each.text

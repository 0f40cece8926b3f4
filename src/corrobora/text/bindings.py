"""Bindings, polarity and names: what belongs to what, what is denied, and what a sentence names without evidence.

Knows who does what (by name), which part of a sentence a number stands in, what negations govern, prefixes that negate
("unset"), and restrictions ("only"), which say of something what a negation says of the rest. Knows names, identifiers,
paths, words that no dictionary has and letters of other alphabets, with the other spellings under which evidence may
hold them. Does not know what a sentence means: another binding leaves it open.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from corrobora.text.clauses import Clause, find_word, parse_clause, split_statement
from corrobora.text.measures import Measure, find_identifiers, find_measures, find_unit
from corrobora.text.mentions import Mention, MentionKind, find_mentions, strip_to_alphanumeric
from corrobora.text.quantities import find_dates, is_calendar_name
from corrobora.text.reading import Discrepancy, ParsedEvidence, find_nearest
from corrobora.text.tokens import STOP_WORDS, fold_text, is_same_family, split_words, stem_text, stem_word
from corrobora.text.vocabulary import find_function_words, is_akin, is_common, is_known, weigh_stem

_PART = re.compile(r"[,;]\s(?!\d)|\s(?:and|but|while|whereas)\s")
_BETWEEN = frozenset(
    "himself herself itself themselves has have had also already then was were is are be been first later jointly "
    "who".split()
)
_APPOSITION = re.compile(r"^,\s[^,;.]{1,80},(?=\s)")  # "Ann Lee, who leads the union, called"
_PASSIVE = re.compile(r"([^\W\d_]{3,})(?:\s[^\W\d_]+ly)?\s+by\s+(?:the\s+)?$")
_ALIEN = 2.0  # how much heavier the words of another part must be than those of the part that has a number


def find_rebindings(sentence: str, units: Sequence[str]) -> Iterator[Discrepancy]:
    """Find a name or number that belongs to something else in the evidence."""
    yield from _compare_agents(sentence, units)
    yield from _compare_parts(sentence, units)


@lru_cache(maxsize=4_000)
def _read_agents(text: str) -> tuple[tuple[str, frozenset[str], str], ...]:
    """Return verbs with the stems and the text of the names that do them: "Smith founded", "founded by Smith"."""
    found: list[tuple[str, frozenset[str], str]] = []
    for mention in find_mentions(text):
        if mention.kind is MentionKind.QUOTED or not (stems := frozenset(stem_text(mention.text))):
            continue
        if passive := _PASSIVE.search(text[: mention.start]):
            found.append((stem_word(passive.group(1).lower()), stems, mention.text))
            continue
        rest = _APPOSITION.sub("", text[mention.start + len(mention.text) :], count=1)
        following = split_words(_PART.split(rest[:60])[0]) if rest[:1] == " " else []
        verb = next((word for word in following if word not in _BETWEEN and not word.endswith("ly")), "")
        passive = any(word in ("was", "were", "is", "are", "been") for word in following[:2])
        if verb and not passive and (stem := stem_word(verb)):
            found.append((stem, stems, mention.text))
    return tuple((verb, stems, name) for verb, stems, name in found if verb)


def _compare_agents(sentence: str, units: Sequence[str]) -> Iterator[Discrepancy]:
    """Find a name that does what the evidence says only another name does, or to which that one does it."""
    known = [(unit, agent) for unit in units for agent in _read_agents(unit)]
    own = _read_agents(sentence)
    doing = frozenset[str]().union(*(stems for _, stems, _ in own))
    idle = not any(theirs & doing for _, (_, theirs, _) in known)
    for verb, stems, name in own:
        doers = [
            (theirs, other)
            for unit, (act, theirs, other) in known
            if is_akin(act, verb) or (idle and other in sentence and _is_done_to(name, other, unit))
        ]
        if doers and not any(theirs & (stems | doing) for theirs, _ in doers):
            yield Discrepancy(f"its sources say “{doers[0][1]}” of what it says “{name}” does", name)


def _is_done_to(name: str, doer: str, unit: str) -> bool:
    """True if a name stands behind the one that does something, and does it not together with it."""
    rest = unit.partition(doer)[2]
    return name in rest and not rest.startswith((f" and {name}", f", {name}"))


def _compare_parts(sentence: str, units: Sequence[str]) -> Iterator[Discrepancy]:
    """Find a number that the evidence gives for something else: the words beside it stand beside another number.

    Within one sentence of the evidence the parts share a subject: there, a part counts that says nothing of the number.
    """
    parts = [
        (at, _list_words(part), find_measures(find_dates(part)[1]))
        for at, unit in enumerate(units)
        for part in _PART.split(unit)
    ]
    for piece in _PART.split(sentence):
        said = _list_words(piece)
        for measure in find_measures(find_dates(piece)[1]):
            if not measure.vague and _is_told_of_another(measure, said, parts):
                yield Discrepancy(f"its sources give {measure.text} for something else", measure.text)


def _is_told_of_another(
    measure: Measure, said: frozenset[str], parts: Sequence[tuple[int, frozenset[str], Sequence[Measure]]]
) -> bool:
    """True if the words beside a number, `said`, stand beside another number of its kind in the evidence.

    `parts` are those of the evidence: the place of their sentence, their words and their numbers.
    """
    holding = [(at, words) for at, words, found in parts if any(measure.equals(other) for other in found)]
    if not holding or not all(words for _, words in holding):
        return False
    sentences = {at for at, _ in holding}
    own = frozenset[str]().union(*(words for _, words in holding))
    related = frozenset[str]().union(*(words for at, words, _ in parts if at in sentences))
    for at, words, found in parts:
        if (at, words) in holding or not any(other.dimension == measure.dimension for other in found):
            continue
        if at in sentences:  # the parts of one sentence share a subject, so more must speak for the other part
            another = _weigh(said & words - own) > _ALIEN * _weigh(said & own - words)
        else:
            another = _weigh(said & words - related) > _weigh(said & related - words)
        if another:
            return True
    return False


def find_of_others(
    clause: Clause, meant: ParsedEvidence, reading: ParsedEvidence, found: Sequence[Discrepancy]
) -> list[Discrepancy]:
    """Find words that the evidence has only in other rows or cells of a table than a clause means, beside `found`."""
    told = " ".join(each.words for each in found)
    words = (find_word(clause, stem) for stem in sorted((clause.stems & reading.stems) - meant.stems))
    return [Discrepancy(f"its sources say “{word}” of something else", word) for word in words if word not in told]


def _list_words(text: str) -> frozenset[str]:
    return frozenset(stem for stem in stem_text(text) if not stem[0].isdigit())


def _weigh(stems: frozenset[str]) -> float:
    return float(sum(map(weigh_stem, sorted(stems))))


NEGATED = re.compile(r"(un|in|im|ir|non|dis)([a-z]{3,})")
_DENYING = ("forbidden", "discouraged", "needless")
_IMPLIED = frozenset(  # verbs that deny what they govern, in the words of no negation
    map(stem_word, """prevent stop avoid refuse reject deny dispute disable cancel exclude omit ignore forbid prohibit
    block cease""".split())
)  # fmt: skip
_DENIED = "it and its sources differ in a negation"
_SAME_BOUNDED = 0.75  # share of the words beside a bounded number from which a bound is of the same
_IRRESPECTIVE = re.compile(r"\b(?:independent(?:ly)?|irrespective|regardless|unabhängig) (?:of|von)\b", re.IGNORECASE)
_RESTRICTING = ("only", "unless")  # "only A" says of B what "not B" says


def compare_polarity(clause: Clause, unit: Clause, reading: ParsedEvidence, *, same: bool) -> Iterator[Discrepancy]:
    """Compare what a clause denies with the nearest sentence of its evidence, `unit`.

    A verb that one side alone denies proves the clause false if both say it of the `same` thing and neither restricts
    it. Negations of words that the other side does not have are counted only: other words may say them.
    """
    if clause.duties and unit.duties:  # what these deny is compared with them
        beside = [max(0, len(each.negated) - sum(d.kind in _DENYING for d in each.duties)) for each in (clause, unit)]
        if sum(beside) % 2:
            yield Discrepancy(_DENIED, "not" if clause.negations else "")
        return
    parts = _list_parts(unit)
    found = _find_denial(clause, unit, reading, parts) if same else None
    if found is not None:
        restricted = _is_restricted(clause) != _is_restricted(unit)
        yield Discrepancy(_DENIED, found.words) if restricted else found
        return
    own = find_restated(clause, unit)
    odd = [_differ(clause, part) for part in own]
    # one who denies needs one part that denies as well; one who affirms must leave out none of the denials
    if all(odd) if clause.negations % 2 else any(odd):
        yield Discrepancy(_DENIED, "not" if clause.negations else "")


def describe_bounds(measure: Measure, theirs: str) -> str:
    """Say that a bound is another one in the evidence."""
    names = {">=": "at least", ">": "more than", "<=": "at most", "<": "less than", "": "exactly"}
    return f"it says {names[measure.bound]} {measure.text}, its sources {names[theirs]}"


def find_turned_bounds(clause: Clause, unit: Clause) -> Iterator[Discrepancy]:
    """Find bounds turned round, "at least" for "at most", of what both say the same of and neither denies."""
    for part in find_restated(clause, unit) if not clause.negations else ():
        for measure in find_measures(clause.text) if not part.negations else ():
            equal = [other.bound for other in find_measures(part.text) if measure.equals(other)]
            rest = clause.stems - {"least", *stem_text(measure.text)}
            if (
                measure.bound
                and equal
                and all(bound and bound[0] != measure.bound[0] for bound in equal)
                and len(rest & part.stems) >= _SAME_BOUNDED * len(rest)
            ):
                yield Discrepancy(describe_bounds(measure, equal[0]), measure.text, false=True, contradicts=True)


def find_restated(clause: Clause, unit: Clause) -> list[Clause]:
    """Return the parts of a sentence of which a clause says half, else the nearest one."""
    parts = _list_parts(unit)
    restated = [part for part in parts if part.stems and 2 * len(part.stems & clause.stems) >= len(part.stems)]
    return restated or find_nearest(clause, parts)[:1] or [unit]


def _list_parts(unit: Clause) -> list[Clause]:
    return [parse_clause(part) for part in split_statement(unit.text)]


def _find_denial(clause: Clause, unit: Clause, reading: ParsedEvidence, parts: list[Clause]) -> Discrepancy | None:
    """Return the problem of a word that one side alone denies."""
    for stem in sorted((unit.negated & clause.stems) - clause.negated):
        own = next((part for part in parts if stem in part.negated), unit)
        free = any(stem in each.stems - each.negated for each in (*reading.units, *parts))
        said = stem_text(own.text).count(stem)  # "is not yet time" and "is timed out" in one sentence
        if not free and said <= own.negations and _differ(clause, own):
            word = find_word(clause, stem)
            return Discrepancy(f"its sources deny “{word}”", word, false=True, contradicts=True)
    for stem in sorted((clause.negated & unit.stems) - unit.negated):
        own = next((part for part in parts if stem in part.stems), unit)
        free = any(
            stem in each.negated or any(shade.kind == "unless" and shade.governs == stem for shade in each.shades)
            for each in reading.units
        )
        free = free or _IRRESPECTIVE.search(own.text) is not None  # "independent of A" is "not A" in other words
        if not free and not own.negations and _differ(clause, own):  # "no attempt to filter it" denies it, too
            word = find_word(clause, stem)
            return Discrepancy(f"it denies “{word}”, its sources do not", word, false=True, contradicts=True)
    return None


def _is_restricted(clause: Clause) -> bool:
    return any(shade.kind in _RESTRICTING for shade in clause.shades)


def _count_negations(clause: Clause, other: Clause) -> int:
    """Count the negations of a clause, "unset" and "undetectable" among them where the other has "set" and "detect".

    A verb that denies what follows it counts where the other denies that: "prevents it", "it cannot".
    """
    count = clause.negations + _implies_denial(clause, other)
    for word in split_words(clause.text):
        match = NEGATED.match(word)
        base = stem_word(match[2]) if match is not None else ""
        if match is None or not base or stem_word(word) in other.stems:
            continue
        is_alike = is_akin if match[1] == "un" else is_same_family  # "un" negates whatever follows, "in" often does not
        count += any(is_alike(base, each) for each in other.stems)
    return count


def _implies_denial(clause: Clause, other: Clause) -> bool:
    if other.negations <= clause.negations or not _IMPLIED & clause.stems - other.stems:
        return False
    stems = list(map(stem_word, split_words(clause.text)))
    first = min(stems.index(verb) for verb in _IMPLIED & clause.stems - other.stems)
    return other.negated & clause.stems <= frozenset(stems[first + 1 :])


def _differ(one: Clause, other: Clause) -> bool:
    """True if one of two clauses has an odd number of negations more."""
    return (_count_negations(one, other) - _count_negations(other, one)) % 2 > 0


_LITERAL = re.compile(r"(?<![\w./])(?:\.[A-Za-z]\w*|(?<!-)[\w.-]*[/_][\w./-]*\w|[#?]{2,})")
_ADJECTIVE, _LEAST_NAME = "a|n|an|ian|ean|ese|ish|ic|y", 5


def find_foreign_names(sentence: str, reading: ParsedEvidence) -> Iterator[Discrepancy]:
    """Find names and identifiers that the evidence does not hold, and words in letters of another alphabet."""
    for each in (*_find_identifiers(sentence, reading), *_find_literals(sentence, reading)):
        yield Discrepancy(f"{each} stands in none of its sources", each)
    for mention in find_mentions(sentence):
        if mention.kind is not MentionKind.QUOTED and _is_foreign(mention, reading):
            yield Discrepancy(f"the name {mention.text} stands in none of its sources", mention.text)
    connecting = find_function_words(sentence)
    for word in dict.fromkeys(split_words(sentence)):
        stem = stem_word(word)
        coined = stem and word not in connecting and not is_known(stem) and not word[0].isdigit()
        if coined and not _is_spelled_alike(word, reading):
            yield Discrepancy(f"the word {word} stands in none of its sources", word)
    for word in re.findall(r"[^\W_]+", sentence):
        if not word.isascii() and fold_text(word) not in connecting and word.lower() not in reading.everything.lower():
            yield Discrepancy(f"the letters of {word} stand in none of its sources", word)


def _is_foreign(mention: Mention, reading: ParsedEvidence) -> bool:
    """True if the evidence lacks the last or most words of a name, and nothing there is another form of it.

    Days and months, amounts, and a word that is a capital's only for opening its sentence are no names.
    """
    name, parts = mention.text, stem_text(mention.text)
    missing = [part for part in parts if part not in reading.stems]
    if not parts or not (parts[-1] in missing or 2 * len(missing) > len(parts)) or is_calendar_name(name):
        return False
    if (len(parts) == 1 and _is_derived_name(name, reading.everything)) or _is_abbreviated(name, reading.everything):
        return False
    opens = mention.start == 0 and mention.kind is MentionKind.NAME and name[1:].islower()
    if opens and (parse_clause(name).shades or (" " not in name and all(map(is_common, missing)))):
        return False
    return not find_measures(name) and find_unit(name) is None


def _find_identifiers(sentence: str, reading: ParsedEvidence) -> list[str]:
    """Return the identifiers of which the evidence has not the letters and digits in a row."""
    identifiers = find_identifiers(sentence)
    squashed = strip_to_alphanumeric(reading.everything) if identifiers else ""
    return [each for each in identifiers if strip_to_alphanumeric(each) not in squashed]


def _find_literals(sentence: str, reading: ParsedEvidence) -> Iterator[str]:
    """Yield paths, extensions, names with a slash or underscore, and masks, of which the evidence lacks a part."""
    for match in _LITERAL.finditer(sentence):
        parts = [part for part in split_words(match.group()) if part not in STOP_WORDS and find_unit(part) is None]
        written = match.group().lower() in reading.everything.lower()
        composed = parts or "/" in match.group()  # "and/or" is no path
        if not written and not (composed and frozenset(map(stem_word, parts)) <= reading.stems):
            yield match.group()


def _is_spelled_alike(word: str, reading: ParsedEvidence) -> bool:
    """True if the evidence has a word that no dictionary holds, or one of its family, British or American."""
    forms = (word, match.group(2)) if (match := NEGATED.match(word)) else (word,)
    stems = list(map(stem_word, forms))
    return any(is_same_family(stem, each) for stem in stems for each in reading.stems)


def _is_derived_name(name: str, text: str) -> bool:
    """True if the evidence has the adjective of a name, or the name of an adjective: "Europe" and "European"."""
    pattern = rf"(?i)\b{re.escape(name)}(?:{_ADJECTIVE})\b|\b{re.escape(re.sub(rf'(?:{_ADJECTIVE})$', '', name))}\b"
    return len(name) >= _LEAST_NAME and re.search(pattern, text) is not None


def _is_abbreviated(name: str, text: str) -> bool:
    """True if the evidence spells out an acronym, or a name's initials stand in it."""
    if name.isupper() and len(name) > 1:
        words = split_words(text)
        letters = ("".join(word[0] for word in part) for part in (words, [w for w in words if w not in STOP_WORDS]))
        return any(name.lower() in each for each in letters)
    initials = "".join(word[0] for word in name.split() if word[0].isupper())
    return len(initials) > 1 and re.search(rf"\b{re.escape(initials)}\b", text) is not None

"""Polarity: whether a clause and a sentence of its evidence deny the same.

Knows what negations govern, prefixes that negate ("unset"), and restrictions ("only"), which say of something what a
negation says of the rest. Does not know obligations, whose denials are compared with them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from corrobora.text.clauses import Clause, find_word, parse_clause, split_statement
from corrobora.text.reading import Problem, Reading, find_nearest
from corrobora.text.tokens import is_same_family, split_words, stem_word
from corrobora.text.vocabulary import is_akin

NEGATED = re.compile(r"(un|in|im|ir|non|dis)([a-z]{3,})")
_DENYING = ("forbidden", "discouraged", "needless")
_IMPLIED = frozenset(  # verbs that deny what they govern, in the words of no negation
    map(stem_word, """prevent stop avoid refuse reject deny dispute disable cancel exclude omit ignore forbid prohibit
    block cease""".split())
)  # fmt: skip
_DENIED = "it and its sources differ in a negation"
_RESTRICTING = ("only", "unless")  # "only A" says of B what "not B" says


def compare_polarity(clause: Clause, unit: Clause, reading: Reading, *, same: bool) -> Iterator[Problem]:
    """Compare what a clause denies with the nearest sentence of its evidence, `unit`.

    A verb that one side alone denies proves the clause false if both say it of the `same` thing and neither restricts
    it. Negations of words that the other side does not have are counted only: other words may say them.
    """
    if clause.duties and unit.duties:  # what these deny is compared with them
        beside = [max(0, len(each.negated) - sum(d.kind in _DENYING for d in each.duties)) for each in (clause, unit)]
        if sum(beside) % 2:
            yield Problem(_DENIED, "not" if clause.negations else "")
        return
    parts = _list_parts(unit)
    found = _find_denial(clause, unit, reading, parts) if same else None
    if found is not None:
        restricted = _is_restricted(clause) != _is_restricted(unit)
        yield Problem(_DENIED, found.words) if restricted else found
        return
    own = find_restated(clause, unit)
    odd = [_differ(clause, part) for part in own]
    # one who denies needs one part that denies as well; one who affirms must leave out none of the denials
    if all(odd) if clause.negations % 2 else any(odd):
        yield Problem(_DENIED, "not" if clause.negations else "")


def find_restated(clause: Clause, unit: Clause) -> list[Clause]:
    """Return the parts of a sentence of which a clause says half, else the nearest one."""
    parts = _list_parts(unit)
    told = [part for part in parts if part.stems and 2 * len(part.stems & clause.stems) >= len(part.stems)]
    return told or find_nearest(clause, parts)[:1] or [unit]


def _list_parts(unit: Clause) -> list[Clause]:
    return [parse_clause(part) for part in split_statement(unit.text)]


def _find_denial(clause: Clause, unit: Clause, reading: Reading, parts: list[Clause]) -> Problem | None:
    """Return the problem of a word that one side alone denies."""
    for stem in sorted((unit.negated & clause.stems) - clause.negated):
        own = next((part for part in parts if stem in part.negated), unit)
        free = any(stem in each.stems - each.negated for each in (*reading.units, *parts))
        if not free and _differ(clause, own):
            word = find_word(clause, stem)
            return Problem(f"its sources deny “{word}”", word, false=True, contradicts=True)
    for stem in sorted((clause.negated & unit.stems) - unit.negated):
        own = next((part for part in parts if stem in part.stems), unit)
        free = any(
            stem in each.negated or any(shade.kind == "unless" and shade.governs == stem for shade in each.shades)
            for each in reading.units
        )
        if not free and _differ(clause, own):
            word = find_word(clause, stem)
            return Problem(f"it denies “{word}”, its sources do not", word, false=True, contradicts=True)
    return None


def _is_restricted(clause: Clause) -> bool:
    return any(shade.kind in _RESTRICTING for shade in clause.shades)


def _count_negations(clause: Clause, other: Clause) -> int:
    """Count the negations of a clause, "unset" and "undetectable" among them where the other has "set" and "detect".

    A verb that denies what follows it counts where the other denies that: "prevents it", "it cannot".
    """
    bases = [match for word in split_words(clause.text) if (match := NEGATED.match(word))]
    stems = [(each[1], stem_word(each[2])) for each in bases if stem_word(each.string) not in other.stems]
    return (
        clause.negations
        + _implies_denial(clause, other)
        + sum(
            any((is_akin if prefix == "un" else is_same_family)(stem, each) for each in other.stems)
            for prefix, stem in stems
            if stem
        )
    )


def _implies_denial(clause: Clause, other: Clause) -> bool:
    if other.negations <= clause.negations or not _IMPLIED & clause.stems - other.stems:
        return False
    stems = list(map(stem_word, split_words(clause.text)))
    first = min(stems.index(verb) for verb in _IMPLIED & clause.stems - other.stems)
    return other.negated & clause.stems <= frozenset(stems[first + 1 :])


def _differ(one: Clause, other: Clause) -> bool:
    """True if one of two clauses has an odd number of negations more."""
    return (_count_negations(one, other) - _count_negations(other, one)) % 2 > 0

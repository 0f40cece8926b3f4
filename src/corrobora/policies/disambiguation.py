"""Disambiguation: which of the things that share a name is meant, as far as what was found supports or eliminates them.

Knows the terms of the brief, facts, conflicts with known facts, and what was skipped for drift. Does not know names,
and removes nothing: an eliminated candidate is told, and its facts stay.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from corrobora.domain.evidence import Fact, ReadOutcome, SourceId
from corrobora.domain.thread import ThreadState
from corrobora.policies.words import fold_text, stem_text

_DENIED = re.compile(
    r"(?:\b(?:not to be (?:confused|mistaken) (?:with|for)|unrelated to|un?connected (?:to|with)|"
    r"no (?:relation|connection|link) (?:of|to|with)|not (?:related|connected|identical) (?:to|with)|"
    r"(?:differs?|different|distinct) from|other than|rather than|instead of|not|nor))\s+(?:the |an? )?$"
)
_DENYING = re.compile(
    r"^\s*,?\s*(?:(?:is|are|was|were|has|have|had) (?:not the same\b|nothing to do with\b|no (?:relation|connection)\b|"
    r"not (?:related|connected|identical)\b|(?:an )?unrelated\b|an(?:other)? different\b)|"
    r"which is (?:another|unrelated)\b)"
)
_DENIAL_REACH = 60  # characters in which a denial stands before a name


class CandidateStatus(StrEnum):
    """Where a candidate stands (S4, "update disambiguation status when evidence supports or eliminates candidates")."""

    SUPPORTED = "SUPPORTED"
    ELIMINATED = "ELIMINATED"
    UNCONFIRMED = "UNCONFIRMED"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One candidate with its status and the evidence in words."""

    name: str
    status: CandidateStatus
    why: str


def assess_candidates(thread: ThreadState) -> tuple[Candidate, ...]:
    """Return where each disambiguation term of the brief stands after what was read.

    A source speaks for a candidate if a fact of it names it. It speaks against it if a fact denies that it is meant, or
    differs from a known fact of the brief that is not the candidate's own; so does a result that names it in its title
    and was skipped because it lies outside of what is asked. What is only spoken against is eliminated; where sources
    disagree, nothing is concluded.
    """
    return tuple(_assess_candidate(name, thread) for name in thread.brief.disambiguation)


def select_remaining_terms(thread: ThreadState) -> tuple[str, ...]:
    """The terms that still tell the meant thing apart: all but the eliminated ones; all, if none were left."""
    if not (thread.rounds and thread.brief.disambiguation):
        return thread.brief.disambiguation
    kept = tuple(each.name for each in assess_candidates(thread) if each.status is not CandidateStatus.ELIMINATED)
    return kept or thread.brief.disambiguation


def _assess_candidate(name: str, thread: ThreadState) -> Candidate:
    own = frozenset(stem_text(name))
    naming = [fact for fact in thread.facts if own and own <= frozenset(stem_text(f"{fact.title} {fact.quote}"))]
    against: dict[SourceId | str, str] = {}
    for fact in naming:
        if (denial := _find_denial(name, fact)) != "":
            against.setdefault(fact.source, f'a source says "{denial}"')
    by_id = {fact.id: fact for fact in naming}
    for conflict in thread.known_conflicts:
        fact = by_id.get(conflict.fact)
        if fact is not None and not own <= frozenset(stem_text(conflict.known)):
            against.setdefault(fact.source, f'its source differs from the known fact "{conflict.known}"')
    for reading in (reading for done in thread.rounds for reading in done.readings):
        if reading.outcome is ReadOutcome.DRIFTED and own and own <= frozenset(stem_text(reading.title)):
            against.setdefault(reading.source or reading.hit.url, f"{reading.hit.url} lies outside ({reading.note})")
    supporting = {fact.source for fact in naming} - set(against)
    if against and not supporting:
        return Candidate(name, CandidateStatus.ELIMINATED, "; ".join(dict.fromkeys(against.values())))
    if against:
        said = f"{len(supporting)} sources speak for it and {len(against)} against it"
        return Candidate(name, CandidateStatus.UNCONFIRMED, f"{said}: {next(iter(against.values()))}")
    status = CandidateStatus.SUPPORTED if naming else CandidateStatus.UNCONFIRMED
    return Candidate(name, status, f"{len(naming)} facts name it")


def _find_denial(name: str, fact: Fact) -> str:
    """The words in which a fact denies that a name is meant, "" if it does not."""
    quote, wanted = fold_text(fact.quote), fold_text(name)
    at = quote.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        begin = max(0, at - _DENIAL_REACH)
        before = _DENIED.search(quote[begin:at])
        after = _DENYING.search(quote[end : end + _DENIAL_REACH])
        if before is not None:
            return " ".join(quote[begin + before.start() : end].split())
        if after is not None:
            return " ".join(quote[at : end + after.end()].split())
        at = quote.find(wanted, end)
    return ""

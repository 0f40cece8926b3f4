"""Drift: whether a document lies outside the question, what is covered, and which thing of one name is meant.

Knows the four axes of TRIPLET-38 (place, time, subject, domain), disambiguation terms and known facts of the brief.
Does not know any gazetteer, topic or name: a document is refused, and a candidate eliminated, only on evidence in the
words that were read. Conflicts with known facts stay open.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Literal

from corrobora.domain.evidence import Fact, Grade, Hit, KnownConflict, ReadOutcome, SourceId
from corrobora.domain.plan import Brief, Coverage, Focus, Subject
from corrobora.domain.thread import Round, ThreadState
from corrobora.policies.grading import GRADE_RANK, sort_by_grade
from corrobora.text.comparison import find_differences
from corrobora.text.phrases import format_count
from corrobora.text.quantities import MONTH_NAMES, WEEKDAYS
from corrobora.text.tokens import fold_text, stem_text

Axis = Literal["place", "time", "subject", "domain"]
MAX_DRIFT_STREAK = 3  # TRIPLET-39
MAX_YEARS_OFF = 5  # TRIPLET-38
# Share and number of the documents found in a library that name a subject, from which the others are taken to be on it.
COMMON_NAME, LEAST_NAMING = 0.3, 3
_SCANNED_CHARS = 60_000  # enough to see what a document is about

_YEAR = re.compile(
    r"(?<![\d.,/$€£-])(?<![A-Z]{2} )(1[5-9]\d\d|20\d\d)(?![\d%]|[.,]\d|[-\s]?(?:bits?|bytes?|px|kb|mb|gb|hz|mhz|ms)\b)"
)
_PLACE = re.compile(r"\b(?i:in|at|near|from|across|throughout)\s+((?:[A-Z][\w'’-]+)(?:\s+[A-Z][\w'’-]+){0,2})")
_CALENDAR = frozenset((*MONTH_NAMES, *WEEKDAYS, "spring", "summer", "autumn", "winter"))


@dataclass(frozen=True, slots=True)
class Drift:
    """Why a document is skipped: the axis and the reason in words, for the log."""

    axis: Axis
    reason: str


def select_missed_subjects(subjects: Sequence[Subject], hits: Sequence[Hit]) -> tuple[Subject, ...]:
    """Return the subjects whose absence from a stored document tells that it is about something else.

    None where much of what was found in a library names one of them: the pages of a product's manual rarely repeat its
    name. Measured on four sets, these shares lie near 0 or above one half.
    """
    names = _list_names(subjects)
    stored: dict[SourceId, bool] = {}
    for hit in hits:
        if hit.source is not None and not stored.get(hit.source):
            stored[hit.source] = any(map(SeenText(f"{hit.title}\n{hit.snippet}").has_name, names))
    naming = sum(stored.values())
    return () if naming >= max(LEAST_NAMING, COMMON_NAME * len(stored)) else tuple(subjects)


def _list_names(subjects: Sequence[Subject]) -> list[str]:
    return [name for each in subjects for name in (each.name, *each.aliases) if name.strip()]


def detect_drift(
    document_title: str, text: str, brief: Brief, subjects: Sequence[Subject], terms: Iterable[str]
) -> Drift | None:
    """Return why a document lies outside the research, or None if facts may be taken from it (TRIPLET-10).

    `terms` are the words of the current intent and the vocabulary learned so far: a document that uses them is on
    subject even if it calls the subject by another name.
    """
    seen = SeenText(f"{document_title}\n{text[:_SCANNED_CHARS]}")
    return (
        _check_subject(seen, brief, subjects, tuple(terms))
        or _check_place(seen, brief.focus)
        or _check_time(document_title, seen.text, brief.focus)
        or _check_domain(seen, brief)
    )


class SeenText:
    """What is looked at of a document; folded, and as stems, once these are needed: most name their subject."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def folded(self) -> str:
        """The text in lower case without marks."""
        return fold_text(self.text)

    @cached_property
    def spoken(self) -> frozenset[str]:
        return frozenset(stem_text(self.text))

    def has_name(self, name: str) -> bool:
        """True if the text contains a name literally or at least half of its words."""
        plain = fold_text(name).strip()
        if plain and plain in self.folded:
            return True
        parts = set(stem_text(name))
        return bool(parts) and 2 * len(parts & self.spoken) >= len(parts)

    def uses_term(self, term: str) -> bool:
        """True if the text uses at least half of a term's words; numbers and short signs identify nothing."""
        parts = {stem for stem in stem_text(term) if len(stem) > 2 and not stem.isdigit()}  # noqa: PLR2004 - "sq", "v2"
        return bool(parts) and 2 * len(parts & self.spoken) >= len(parts)


def count_drift_streak(outcomes: Iterable[ReadOutcome]) -> int:
    """Count how many of the last fetched results drifted in a row; results that were not fetched do not count."""
    streak = 0
    for outcome in outcomes:
        if outcome is ReadOutcome.DRIFTED:
            streak += 1
        elif outcome in (ReadOutcome.READ, ReadOutcome.EMPTY):
            streak = 0
    return streak


def must_reformulate(thread: ThreadState) -> bool:
    """True if the last three or more results drifted in a row: do not wait for the plateau (TRIPLET-39)."""
    last = thread.last
    if last is None or count_drift_streak(reading.outcome for reading in last.readings if not reading.again) == 0:
        return False
    read = (r.outcome for done in thread.rounds for r in done.readings if not r.again)
    return count_drift_streak(read) >= MAX_DRIFT_STREAK


def _check_subject(seen: SeenText, brief: Brief, subjects: Sequence[Subject], terms: tuple[str, ...]) -> Drift | None:
    if not subjects:
        return None
    if any(seen.has_name(name) for name in (*_list_names(subjects), *brief.disambiguation) if name.strip()):
        return None
    if any(map(seen.uses_term, terms)):
        return None
    return Drift("subject", f"names none of: {', '.join(each.name for each in subjects[:5])}")


def _check_place(seen: SeenText, focus: Focus) -> Drift | None:
    if not focus.places or any(map(seen.has_name, focus.places)):
        return None
    others = [found for found in dict.fromkeys(_PLACE.findall(seen.text)) if found.split()[0].lower() not in _CALENDAR]
    if len(others) < 2:  # noqa: PLR2004 - one capital word after "in" may be anything
        return None
    return Drift("place", f"speaks of {', '.join(others[:3])}, not of {', '.join(focus.places[:3])}")


def _check_time(title: str, seen: str, focus: Focus) -> Drift | None:
    if focus.since is None and focus.until is None:
        return None
    years = [int(year) for year in _YEAR.findall(seen)]
    if not years or (len(years) < 2 and not _YEAR.search(title)):  # noqa: PLR2004 - one year in passing says little
        return None
    early = -1 if focus.since is None else focus.since - MAX_YEARS_OFF
    late = 10_000 if focus.until is None else focus.until + MAX_YEARS_OFF
    if any(early <= year <= late for year in years):
        return None
    period = f"{focus.since or '...'} to {focus.until or '...'}"
    return Drift("time", f"covers {min(years)} to {max(years)}, over {MAX_YEARS_OFF} years from {period}")


def _check_domain(seen: SeenText, brief: Brief) -> Drift | None:
    domains = brief.focus.domains
    if not domains or any(set(stem_text(domain)) & seen.spoken for domain in domains):
        return None
    asked = set(stem_text(brief.question))
    if asked and 2 * len(asked & seen.spoken) >= len(asked):
        return None
    return Drift("domain", f"uses no word of: {', '.join(domains[:3])}")


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
_DENIAL_REACH = 60  # characters around a name in which a denial is looked for


class CandidateStatus(StrEnum):
    """The status of a candidate (TRIPLET-24)."""

    SUPPORTED = "SUPPORTED"
    ELIMINATED = "ELIMINATED"
    UNCONFIRMED = "UNCONFIRMED"


@dataclass(frozen=True, slots=True)
class NameCandidate:
    """One candidate with its status and the evidence in words."""

    name: str
    status: CandidateStatus
    why: str


def assess_candidates(thread: ThreadState) -> tuple[NameCandidate, ...]:
    """Assess each disambiguation term of the brief against what was read.

    A source supports a candidate if one of its facts names it. It counts against the candidate if a fact denies that it
    is meant or differs from a known fact that is not the candidate's own, and so does a drifted result with the
    candidate in its title. A candidate with evidence only against it is eliminated; if sources disagree, nothing is
    concluded.
    """
    return tuple(_assess_candidate(name, thread) for name in thread.brief.disambiguation)


def select_remaining_terms(thread: ThreadState) -> tuple[str, ...]:
    """Return the disambiguation terms that were not eliminated; all of them if none remain."""
    if not (thread.rounds and thread.brief.disambiguation):
        return thread.brief.disambiguation
    kept = tuple(each.name for each in assess_candidates(thread) if each.status is not CandidateStatus.ELIMINATED)
    return kept or thread.brief.disambiguation


def _assess_candidate(name: str, thread: ThreadState) -> NameCandidate:
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
        return NameCandidate(name, CandidateStatus.ELIMINATED, "; ".join(dict.fromkeys(against.values())))
    if against:
        said = f"{format_count(len(supporting), 'source speaks', 'sources speak')} for it and {len(against)} against it"
        return NameCandidate(name, CandidateStatus.UNCONFIRMED, f"{said}: {next(iter(against.values()))}")
    status = CandidateStatus.SUPPORTED if naming else CandidateStatus.UNCONFIRMED
    return NameCandidate(name, status, format_count(len(naming), "fact names it", "facts name it"))


def _find_denial(name: str, fact: Fact) -> str:
    """Return the words in which a fact denies that a name is meant, or ""."""
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


def find_known_conflicts(
    known: Sequence[str], facts: Sequence[Fact], reported: Sequence[str] = ()
) -> tuple[KnownConflict, ...]:
    """Return the facts that cannot hold together with a known fact (TRIPLET-50).

    `reported` lists contradictions reported by the reader of the source; they are used if the words alone show none.
    """
    if not known:
        return ()
    found: list[KnownConflict] = []
    for fact in facts:
        for text in known:
            differing = (each for each in find_differences(text, fact.quote) if each.opposed)
            found += [KnownConflict(text, fact.id, differs.text) for differs in differing][:1]
    if not found and facts:
        found = [KnownConflict(text, _find_nearest(text, facts).id, _REPORTED) for text in reported]
    return tuple(found)


_REPORTED = "reported by the reader of the source"


def _find_nearest(text: str, facts: Sequence[Fact]) -> Fact:
    """Return the fact that shares most words with a text."""
    said = frozenset(stem_text(text))
    return max(facts, key=lambda fact: len(said & frozenset(stem_text(fact.quote))))


def assess_subject(subject: Subject, done: Round, facts: Sequence[Fact]) -> Subject:
    """Count the round if it was dedicated to the subject and read something; grade what is known of it."""
    dedicated = subject.name in done.intent.subjects and (not done.cut or bool(done.readings))
    about = sort_by_grade(fact for fact in facts if _is_about_subject(fact, subject))
    best = about[0] if about else None
    if best is not None and GRADE_RANK[best.grade] >= GRADE_RANK[Grade.PLAUSIBLE]:
        coverage = Coverage.COVERED
    else:
        coverage = Coverage.PARTIAL if best is not None else subject.coverage
    return replace(
        subject,
        rounds=subject.rounds + (1 if dedicated else 0),
        coverage=coverage,
        finding=select_claim(about, subject.name) or subject.finding,
    )


def select_claim(facts: Sequence[Fact], asked: str) -> str:
    """Return the claim to show: among those of the best grade, the one that shares most words with the question."""
    best = [fact.claim for fact in facts if fact.grade is facts[0].grade]
    if len(best) < 2:  # noqa: PLR2004 - a pair
        return "".join(best)
    wanted = frozenset(stem_text(asked))
    return max(best, key=lambda claim: len(wanted.intersection(stem_text(claim))))


def _is_about_subject(fact: Fact, subject: Subject) -> bool:
    if subject.name in fact.subjects:
        return True
    said = f"{fact.quote} {fact.title}"
    folded, spoken = fold_text(said), frozenset(stem_text(said))
    return any(_is_named(name, folded, spoken) for name in (subject.name, *subject.aliases))


def _is_named(name: str, folded: str, spoken: frozenset[str]) -> bool:
    """True if a text contains all words of a name; a name of stop words ("The Who") must occur literally."""
    parts = set(stem_text(name))
    plain = fold_text(name).strip()
    return parts <= spoken if parts else bool(plain) and plain in folded

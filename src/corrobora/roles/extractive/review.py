"""Critique, revise and judge without a model: what code can see of a draft.

Knows a draft, the facts it may use and the question. Scores are computed from checks of every sentence; nothing here
raises what another check has lowered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from corrobora.domain.evidence import Fact, Grade
from corrobora.domain.report import Critique, Draft, Verdict
from corrobora.policies.decomposition import parts
from corrobora.policies.markup import plain
from corrobora.policies.mentions import quantities
from corrobora.policies.questions import topic_stems
from corrobora.policies.vocabulary import aliases, read_as
from corrobora.policies.words import stems
from corrobora.roles.extractive.drafts import Sentence, heading, read
from corrobora.roles.extractive.layouts import bare, cited
from corrobora.roles.extractive.select import diverse, pairs_of, ranked
from corrobora.roles.review import Reviewing, Revising

_SUPPORT = 0.7  # share of a sentence's stems that its quotes must hold
_PART = 0.4  # share of a sub-question's topic that the draft must hold
_GRADES = {Grade.VERIFIED: 1.0, Grade.PLAUSIBLE: 0.75, Grade.UNVERIFIED: 0.45}
_ENOUGH_SOURCES = 5
_ADDED = 3


@dataclass(frozen=True, slots=True)
class Checks:
    """What the checks found, sentence by sentence."""

    sentences: tuple[Sentence, ...]
    uncited: tuple[Sentence, ...]
    unknown: tuple[Sentence, ...]  # a marker that no fact has
    unsupported: tuple[Sentence, ...]
    repeated: tuple[Sentence, ...]
    missing: tuple[str, ...]  # parts of the question that nothing speaks to

    @property
    def bad(self) -> tuple[Sentence, ...]:
        """Sentences that a revision takes out."""
        return (*self.uncited, *self.unknown, *self.unsupported, *self.repeated)


def checks(question: str, draft: Draft, facts: Sequence[Fact]) -> Checks:
    """Check every sentence of a draft against the facts it cites, and the draft against the parts of the question."""
    by_marker: dict[str, list[Fact]] = {}
    for fact in facts:
        by_marker.setdefault(fact.marker.strip("[]"), []).append(fact)
    every = read(draft.body)
    uncited = tuple(s for s in every if not s.markers)
    unknown = tuple(s for s in every if s.markers and not any(m in by_marker for m in s.markers))
    unsupported = tuple(s for s in every if s.markers and s not in unknown and not _supported(s, by_marker))
    seen: set[tuple[str, ...]] = set()
    repeated: list[Sentence] = []
    for one in every:
        key = (*stems(one.text), *one.markers)
        if key in seen and one not in uncited:
            repeated.append(one)
        seen.add(key)
    return Checks(every, uncited, unknown, unsupported, tuple(repeated), _missing(question, draft, facts))


def _supported(sentence: Sentence, by_marker: Mapping[str, Sequence[Fact]]) -> bool:
    quotes = [plain(fact.quote) for marker in sentence.markers for fact in by_marker.get(marker, ())]
    held = frozenset(stems(" ".join(quotes)))
    own = stems(sentence.text)
    if not own or sum(term in held for term in own) / len(own) < _SUPPORT:
        return False
    stated = {(q.value, q.unit) for quote in quotes for q in quantities(quote)}
    return all((q.value, q.unit) in stated for q in quantities(sentence.text))


def _missing(question: str, draft: Draft, facts: Sequence[Fact]) -> tuple[str, ...]:
    found: list[str] = []
    for part in parts(question):
        topic = frozenset(topic_stems(part))
        held = frozenset(read_as(stems(plain(draft.body)), aliases(topic, pairs_of(facts))))
        if topic and len(topic & held) / len(topic) < _PART:
            found.append(part)
    return tuple(found)


def criticized(given: Reviewing) -> Critique:
    """List what is wrong with a draft, whatever its sections are called: one problem a line, most serious first."""
    found = checks(given.question, given.draft, given.facts)
    problems = [
        *(_problem("no fact has this marker", s) for s in found.unknown),
        *(_problem("not supported by its quotes", s) for s in found.unsupported),
        *(_problem("without a citation", s) for s in found.uncited),
        *(_problem("said twice", s) for s in found.repeated),
        *(f"No sentence speaks to: {part}" for part in found.missing),
    ]
    count = len(plain(given.draft.body).split())
    if count > given.words_max:
        problems.append(f"Too long: {count} words, at most {given.words_max}.")
    elif count < given.words_min:
        problems.append(f"Too short: {count} words, at least {given.words_min} where there is evidence.")
    total = len(found.sentences)
    return Critique(
        tuple(problems), f"{total - len(set(found.bad))} of {total} sentences stand; {len(problems)} problems."
    )


def _problem(what: str, sentence: Sentence) -> str:
    where = f"Section {sentence.section!r}: " if sentence.section else ""
    return f"{where}{what}: {sentence.text[:300]}"


def revised(given: Revising) -> Draft:
    """Take out what the checks refuse, add evidence for parts that nothing speaks to; sections keep their names."""
    found = checks(given.question, given.draft, given.facts)
    lines = given.draft.body.splitlines()
    gone: dict[int, list[Sentence]] = {}
    for sentence in found.bad:
        gone.setdefault(sentence.line, []).append(sentence)
    kept: list[str] = []
    for number, line in enumerate(lines):
        if number not in gone:
            kept.append(line)
        elif not line.lstrip().startswith("|"):
            left = [s for s in found.sentences if s.line == number and s not in gone[number]]
            if left:
                kept.append(_rewritten(line, left))
    body = _without_empty(kept)
    return Draft(given.draft.title, _with_missing(body, found, given))


def _rewritten(line: str, left: Sequence[Sentence]) -> str:
    mark = line[: len(line) - len(line.lstrip("-*> \t"))]
    texts = [f"{s.text.rstrip('.!?;: ')} {' '.join(f'[{m}]' for m in s.markers)}." for s in left]
    return mark + " ".join(texts)


def _without_empty(lines: Sequence[str]) -> list[str]:
    """Drop headings that have nothing below them, and runs of empty lines."""
    kept: list[str] = []
    for number, line in enumerate(lines):
        if heading(line) and not line.startswith("# "):
            level = len(line) - len(line.lstrip("#"))
            below = lines[number + 1 :]
            body = False
            for other in below:
                if heading(other) and len(other) - len(other.lstrip("#")) <= level:
                    break
                if other.strip() and other.strip() != "---":
                    body = True
                    break
            if not body:
                continue
        if line.strip() or (kept and kept[-1].strip()):
            kept.append(line)
    return kept


def _with_missing(lines: list[str], found: Checks, given: Revising) -> str:
    added: list[str] = []
    printed = {bare(sentence.text) for sentence in read("\n".join(lines))}
    for part in found.missing:
        best = [one for one in ranked(part, given.facts) if one.worth > 0]
        written = [cited(one.fact, printed=printed) for one in diverse(best, _ADDED)]
        if any(written):
            added += ["", f"## {part.rstrip('?. ')}", "", *(f"- {text}" for text in written if text)]
    ending = next((at for at, line in enumerate(lines) if heading(line).casefold() == "conclusion"), len(lines))
    return (
        "\n".join([*lines[:ending], *added, *([""] if added and ending < len(lines) else []), *lines[ending:]]).strip()
        + "\n"
    )


def judged(given: Reviewing) -> Verdict:
    """Score a draft from the checks (S1 requirement 8): supported share, resolved markers, parts, grades, sources."""
    found = checks(given.question, given.draft, given.facts)
    cited_sentences = [s for s in found.sentences if s.markers]
    total = len(found.sentences)
    supported = len(cited_sentences) - len(found.unknown) - len(found.unsupported)
    asked = parts(given.question)
    used = _used(cited_sentences, given.facts)
    return Verdict(
        factual_accuracy=_share(supported, total),
        citation_accuracy=_share(supported, len(cited_sentences)),
        completeness=_share(len(asked) - len(found.missing), len(asked)) if cited_sentences else 0.0,
        source_quality=_share(sum(max(_GRADES[f.grade], 0.9 if f.primary else 0.0) for f in used), len(used)),
        source_diversity=_diversity(used),
        rationale=(
            f"{supported} of {total} sentences are supported by what they cite, {len(found.uncited)} cite nothing; "
            f"{len(asked) - len(found.missing)} of {len(asked)} parts of the question are spoken to."
        ),
    )


def _used(cited_sentences: Sequence[Sentence], facts: Sequence[Fact]) -> list[Fact]:
    markers = {marker for sentence in cited_sentences for marker in sentence.markers}
    return [fact for fact in facts if fact.marker.strip("[]") in markers]


def _share(part: float, whole: int) -> float:
    return round(min(1.0, max(0.0, part / whole)), 4) if whole else 0.0


def _diversity(used: Sequence[Fact]) -> float:
    """Half for the number of independent origins, half for how evenly they are used."""
    if not used:
        return 0.0
    counts = Counter(fact.origin or fact.source for fact in used)
    even = 1 - max(counts.values()) / len(used) if len(counts) > 1 else 0.0
    return round(0.5 * min(1.0, len(counts) / _ENOUGH_SOURCES) + 0.5 * min(1.0, even * 2), 4)

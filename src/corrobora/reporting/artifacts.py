"""The texts of a run's artifacts: micro-reports and completion reports in the layouts that the methods prescribe.

Knows those layouts (TRIPLET-27, TRIPLET-42) and how the files are named. Does not write files.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256

from corrobora.domain.evidence import OPENED, Contradiction, Fact, FactId, Grade, KnownConflict, ReadOutcome
from corrobora.domain.plan import Coverage
from corrobora.domain.report import Findings
from corrobora.domain.thread import Gap, Round, Saturation, StopReason, ThreadState
from corrobora.policies.drift import assess_candidates
from corrobora.policies.stop import classify_saturation
from corrobora.text.markdown import format_cell, format_table
from corrobora.text.phrases import describe_code, format_count

_YAML_WORDS = frozenset("yes no on off true false null y n".split())  # YAML reads these as other types
_SLUG_CHARS = 48


def make_slug(name: str) -> str:
    """Make a file name of any text: lower case with hyphens (TRIPLET-31), and a hash if more was lost (SAFE-6)."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    if plain and plain == "-".join(name.lower().split()) and len(plain) <= _SLUG_CHARS:
        return plain
    return f"{plain[:_SLUG_CHARS].strip('-') or 'x'}-{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def name_thread(title: str, path: str) -> str:
    """Return the name of a thread for its files: its title (TRIPLET-31), and its place if there are several threads.

    Two threads with one title, or one thread in two iterations of a gate, never write the same file.

    Example:
        >>> name_thread("Tide Mills", "root"), name_thread("Tide Mills", "root/2~3")
        ('tide-mills', 'tide-mills-2.3')
    """
    place = path.removeprefix("root").strip("/").replace("/", "-").replace("~", ".")
    return f"{make_slug(title)}-{place}" if place else make_slug(title)


def quote_yaml(text: str) -> str:
    """Return a text as a value of YAML front matter, quoted if a parser could read it as anything but a string.

    Example:
        >>> quote_yaml("Tide Mills"), quote_yaml("Mills: a survey")
        ('Tide Mills', '"Mills: a survey"')
    """
    flat = " ".join(text.split())
    plain = re.fullmatch(r"[^\W\d_][\w .,()/+-]*[\w)]", flat) and flat.lower() not in _YAML_WORDS
    return flat if plain else json.dumps(flat, ensure_ascii=False)


def render_micro_report(thread: ThreadState, timestamp: str) -> tuple[str, str]:
    """Return name and text of the micro-report of the last round (TRIPLET-27)."""
    last = thread.rounds[-1]
    level = classify_saturation(last.new_facts)
    opened = [reading for reading in last.readings if not reading.again]  # a repeated reading opens no document
    earlier = {fact.id for done in thread.rounds[:-1] for reading in done.readings for fact in reading.facts}
    known = earlier - {fact.id for reading in opened for fact in reading.facts}
    new = {fact.id for reading in last.readings for fact in reading.facts} - known
    facts = [fact for fact in thread.facts if fact.id in new]
    consulted = [reading for reading in opened if reading.outcome in OPENED]
    failed = [reading for reading in opened if reading not in consulted]
    by_id = {fact.id: fact for fact in thread.facts}
    contradictions = [each for each in thread.contradictions if {each.a, each.b} & new]
    against = [each for reading in last.readings for each in reading.against]
    unverified = facts and all(fact.grade is Grade.UNVERIFIED for fact in facts)
    flag = " All facts of this round are UNVERIFIED: none answers a sub-question." if unverified else ""
    text = f"""---
thread: {quote_yaml(thread.title)}
round: {last.number}
strategy_phase: {last.phase}
timestamp: {timestamp}
sources_consulted: {len(consulted)}
new_facts: {last.new_facts}
confirming_facts: {last.confirming_facts}
saturation: {level}
---

## Round Summary

{_render_summary(thread, len(consulted), len(failed))}{flag}{_render_drifts(last)}

## Facts Extracted

{_render_facts(facts)}

## Subject Registry Updates

{_render_subjects(thread)}

## Disambiguation Updates

{_render_disambiguation(thread)}

## Contradictions Found

{_render_contradictions(contradictions, against, by_id)}

{_render_assessment(thread, level)}
"""
    return f"micro-report-{name_thread(thread.title, thread.path)}-round-{last.number}.md", text


def _render_assessment(thread: ThreadState, level: Saturation) -> str:
    """Render how saturated the round was and what the next one should look for."""
    last = thread.rounds[-1]
    remaining = [asked.text for asked in thread.sub_questions if not asked.is_answered]
    topic = last.proposal.next_topic if last.proposal is not None else ""
    return f"""## Saturation Assessment

- New facts this round: {last.new_facts}
- Confirming facts (already known): {last.confirming_facts}
- Saturation level: {level}{" (all results drifted: the round is not counted)" if last.all_drifted else ""}
  - HIGH: 0-1 new facts (mostly confirming: the source is exhausted, not productive)
  - MEDIUM: 2-4 new facts (some new, some confirming)
  - LOW: 5+ new facts (mostly new information)

## Next Round Guidance

- Strategy phase recommendation: {_recommend_phase(thread)}
- Reason: {_explain_phase(thread, level)}
- Suggested focus: "{format_cell(topic, 200)}"
- Remaining gaps: {"; ".join(remaining) or "none"}"""


def _render_summary(thread: ThreadState, consulted: int, failed: int) -> str:
    last = thread.rounds[-1]
    queries = ", ".join(f'"{q.text}"' for q in last.intent.queries) or "nothing"
    failures = (
        f" {format_count(len(last.failures), 'search', 'searches')} failed: {'; '.join(last.failures)}."
        if last.failures
        else ""
    )
    return (
        f"Searched {queries} ({format_cell(last.intent.goal, 200)}). {format_count(len(last.hits), 'result')}, "
        f"{format_count(consulted, 'source')} consulted, {failed} not read. "
        f"{last.new_facts} new and {format_count(last.confirming_facts, 'confirming fact')}.{failures}"
    )


def _render_facts(facts: Sequence[Fact]) -> str:
    rows = [
        (n, f.claim, f.title, f.url, f.grade, f'"{format_cell(f.quote, 160)}" {f.marker}')
        for n, f in enumerate(facts, 1)
    ]
    return format_table(("#", "Fact", "Source", "URL", "Confidence", "Notes"), rows)


def _render_subjects(thread: ThreadState) -> str:
    last = thread.rounds[-1]
    before = dict(last.prior)
    rows = [
        (
            s.name,
            before.get(s.name, Coverage.UNCOVERED),
            s.coverage,
            f"{'targeted this round; ' if s.name in last.intent.subjects else ''}{s.finding or 'nothing yet'}",
        )
        for s in thread.subjects
    ]
    return format_table(("Subject", "Prior Status", "New Status", "Evidence"), rows)


def _render_disambiguation(thread: ThreadState) -> str:
    lines = [f"- {each.name}: {each.status} because {format_cell(each.why)}" for each in assess_candidates(thread)]
    return "\n".join(lines) or "- none given"


def _render_drifts(last: Round) -> str:
    """Render what was skipped because it is off the subject (TRIPLET-38)."""
    skipped = [f"{r.hit.url} ({r.note})" for r in last.readings if r.outcome is ReadOutcome.DRIFTED]
    return f" Skipped for drift: {'; '.join(skipped)}." if skipped else ""


def _render_contradictions(
    found: Sequence[Contradiction], against: Sequence[KnownConflict], facts: Mapping[FactId, Fact]
) -> str:
    rows = [row[:-1] for row in _list_conflicts(found, against, facts)]
    return format_table(("Claim", "Source A Says", "Source B Says", "Status"), rows)


def _list_conflicts(
    found: Sequence[Contradiction], against: Sequence[KnownConflict], facts: Mapping[FactId, Fact]
) -> list[tuple[str, str, str, str, str]]:
    """Return a row for each contradiction between sources and with the known facts of the brief, its impact last."""
    said = {name: f"{fact.quote} ({fact.url})" for name, fact in facts.items()}
    rows = [
        (
            each.claim,
            said[each.a],
            said[each.b],
            "RESOLVED" if each.resolved else "OPEN",
            f"{each.severity}: {each.difference or 'the claim stays undecided'}",
        )
        for each in found
        if each.a in said and each.b in said
    ]
    rows += [
        (
            each.difference,
            f"{each.known} (known fact of the brief)",
            said[each.fact],
            "OPEN",
            "a known fact is in doubt",
        )
        for each in against
        if each.fact in said
    ]
    return rows


def _recommend_phase(thread: ThreadState) -> str:
    last = thread.rounds[-1]
    if not thread.open:
        return f"STOP ({describe_code(thread.stop)})"
    return f"STAY in {last.phase}" if thread.phase.name == last.phase else f"ADVANCE to {thread.phase.name}"


def _explain_phase(thread: ThreadState, level: Saturation) -> str:
    if thread.escape is not None:
        return f"plateau: the next attempt is {describe_code(thread.escape)}"
    if not thread.open:
        return describe_code(thread.stop)
    last = thread.rounds[-1]
    if thread.phase.name != last.phase and level is not Saturation.HIGH:
        return f"{last.phase} has had its rounds (saturation {level})"
    return f"saturation {level}"


def render_completion_report(found: Findings, budget: int) -> tuple[str, str]:
    """Return name and text of the thread completion report (TRIPLET-42)."""
    ended = name_completion_reason(found.stop) if found.stop is not None else "NOT_BEGUN"
    phases = list(dict.fromkeys(done.phase for done in found.rounds))
    opened = [each for each in found.contradictions if not each.resolved]
    against = [each for done in found.rounds for reading in done.readings for each in reading.against]
    questions = [
        (q.id, q.text, q.standing, q.grade or Grade.UNVERIFIED, q.finding or "no sufficient evidence")
        for q in found.sub_questions
    ]
    subjects = [(s.name, s.rounds, s.coverage, s.finding or "-") for s in found.subjects]
    conflicts = _list_conflicts(opened, against, {fact.id: fact for fact in found.facts})
    gaps = [(g.text, _explain_gap(g, found), _count_attempts(g, found), _suggest_next_step(found)) for g in found.gaps]
    text = f"""## Thread Completion Report: {found.title}

**Rounds executed:** {len(found.rounds)} of {budget}
**Convergence reason:** {ended}
**Micro-reports generated:** {len(found.rounds)}
**Strategy phases traversed:** {", ".join(phases)}

### Sub-Question Status

{format_table(("ID", "Question", "Status", "Confidence", "Key Finding"), questions)}

### Subject Coverage

{format_table(("Subject", "Rounds Dedicated", "Status", "Key Finding"), subjects)}

### All Sources Consulted

{format_table(("#", "URL", "Source Title", "Rounds Used In", "Value"), _list_sources(found))}

### Open Contradictions

{format_table(("Claim", "Source A", "Source B", "Status", "Impact"), conflicts)}

### Gaps Remaining

{format_table(("Gap", "Why Not Found", "Rounds Attempted", "Recommended Next Step"), gaps)}

### Plateau History

{_render_history(found.rounds)}
"""
    return f"thread-completion-{name_thread(found.title, found.path)}.md", text


def _render_history(rounds: Sequence[Round]) -> str:
    """Render how much each round found that was new, and the escape that it took."""
    rows = [
        (
            done.number,
            done.new_facts,
            done.confirming_facts,
            classify_saturation(done.new_facts),
            done.phase,
            done.escape or "N/A",
        )
        for done in rounds
    ]
    return format_table(("Round", "New Facts", "Confirming", "Saturation", "Phase", "Escape Used"), rows)


def _explain_gap(gap: Gap, found: Findings) -> str:
    """Say why a gap is one, from what was done for it (TRIPLET-44)."""
    stated = [fact for fact in found.facts if gap.target and gap.target in fact.answers]
    if stated and all(fact.grade is Grade.UNVERIFIED for fact in stated):
        return f"stated by {format_count(len(stated), 'UNVERIFIED statement')} only"
    failures = sum(len(r.failures) for r in found.rounds)
    unread = sum(reading.outcome is not ReadOutcome.READ for r in found.rounds for reading in r.readings)
    if failures:
        return f"{format_count(failures, 'search', 'searches')} failed"
    left = f"; {format_count(unread, 'result was', 'results were')} not read" if unread else ""
    return f"not stated in what was read{left}"


def _count_attempts(gap: Gap, found: Findings) -> int:
    """Count the rounds that aimed at the question or subject of a gap; all rounds if it belongs to none."""
    if not gap.target:
        return len(found.rounds)
    return sum(gap.target in (*done.intent.targets, *done.intent.subjects) for done in found.rounds)


def _suggest_next_step(found: Findings) -> str:
    if found.stop is StopReason.PLATEAU:
        return "add sources"
    return "add sources that name it, or raise the round budget"


def _list_sources(found: Findings) -> list[tuple[object, ...]]:
    """Return a row for each document that was opened: the rounds that used it, and its worth by its facts."""
    rounds: dict[str, list[int]] = {}
    titles: dict[str, str] = {}
    facts: Counter[str] = Counter()
    for done in found.rounds:
        for reading in done.readings:
            if not reading.again and reading.outcome in (ReadOutcome.READ, ReadOutcome.DRIFTED):
                rounds.setdefault(reading.hit.url, []).append(done.number)
                titles[reading.hit.url] = reading.title
                facts[reading.hit.url] += len(reading.facts)
    return [
        (number, url, titles[url], ", ".join(map(str, dict.fromkeys(used))), _rate_source(facts[url]))
        for number, (url, used) in enumerate(rounds.items(), 1)
    ]


def _rate_source(facts: int) -> str:
    if not facts:
        return "LOW"
    return "HIGH" if facts >= 3 else "MEDIUM"  # noqa: PLR2004 - three grades of worth


_COMPLETION_REASONS = {  # the words of TRIPLET-43; it has none for time, money and cancelling
    StopReason.ITERATION_CAP: "BUDGET_EXHAUSTED",
    StopReason.PLATEAU: "PLATEAU_STOPPED",
}


def name_completion_reason(stop: StopReason) -> str:
    """Return the word of TRIPLET-43 for the completion report, or our own where it has none."""
    return _COMPLETION_REASONS.get(stop, stop.value.upper())

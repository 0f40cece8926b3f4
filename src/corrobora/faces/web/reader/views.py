"""What the reading screens show: verdicts beside a report, windows of a stored source, the matrix of an audit, trends.

Knows reports, events and comparisons as values. Does not know requests, and lays nothing out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

from corrobora.app.exports import PassageReference
from corrobora.domain.errors import UserError
from corrobora.domain.evidence import Document, Fact, Passage, Relation
from corrobora.domain.report import CitedPassage, CitedQuote, MarkerEvidence, Report, SentenceCheck, Support, Verdict
from corrobora.domain.run import Event, EventType, RunRow
from corrobora.faces.event_text import thread_label, thread_path
from corrobora.policies.grading import group_witnesses
from corrobora.reporting.cards import VERDICTS, MarkedSpan, Window, link_passage, mark_spans
from corrobora.reporting.evidence import cite_span, fold_letters
from corrobora.reporting.render import HOW
from corrobora.reporting.run_comparison import ChangeKind, ReportChange, RunComparison
from corrobora.text.phrases import describe_code

_AROUND = 12  # passages that the viewer shows before and after the one that is asked for
_CRITERIA = {
    "factual_accuracy": "Do the statements hold?",
    "citation_accuracy": "Do the citations support the statements in front of them?",
    "completeness": "Is every part of the question answered, or named as a gap?",
    "source_quality": "Are the sources first-hand and trustworthy?",
    "source_diversity": "Are there several independent sources?",
}


def source_link(run: str) -> Callable[[Window], str]:
    """Return what links a passage of a card to its place in the viewer."""

    def link(window: Window) -> str:
        quote = window.quotes[0]
        return f"/runs/{run}/sources/{quote.source}?passage={quote.passage}#q-{quote.start}"

    return link


@dataclass(frozen=True, slots=True)
class SentenceView:
    """A checked sentence, its verdict in words, and the markers behind it."""

    text: str
    sign: str
    verdict: str
    tone: str
    method: str
    reasons: tuple[str, ...]
    withheld: str
    markers: tuple[MarkerEvidence, ...]
    letter: str
    cells: Mapping[str, CitedQuote]  # its first quote in each source
    publishers: int  # independent ones among what it cites


@dataclass(frozen=True, slots=True)
class ConflictSide:
    """One side of a contradiction, and the place of its quote."""

    fact: Fact
    original: str


@dataclass(frozen=True, slots=True)
class ConflictView:
    """A contradiction or change with both sides."""

    claim: str
    difference: str
    status: str
    tone: str
    scope: str
    sides: tuple[ConflictSide, ConflictSide]


@dataclass(frozen=True, slots=True)
class Side:
    """What is shown beside a report."""

    sentences: tuple[SentenceView, ...]
    checked: int
    claims: int
    supported: int
    conflicts: tuple[ConflictView, ...]
    gaps: tuple[str, ...]


def build_side(report: Report) -> Side:
    """Return verdicts, conflicts and gaps of a report; what claims nothing is no statement."""
    claims = [check for check in report.checks if check.support is not Support.UNCITED]
    checked = [check for check in claims if check.support is not Support.NOT_CHECKABLE]
    facts: dict[str, Fact] = {fact.id: fact for fact in report.findings.citable}
    markers = dict[str, list[MarkerEvidence]]()
    for each in report.evidence:
        markers.setdefault(fold_letters(each.sentence), []).append(each)
    return Side(
        sentences=tuple(_describe_sentence(check, facts, markers) for check in claims),
        checked=len(checked),
        claims=len(claims),
        supported=sum(check.support is Support.SUPPORTED for check in checked),
        conflicts=tuple(_list_conflicts(report)),
        gaps=tuple(dict.fromkeys(gap.text for gap in report.findings.gaps)),
    )


def _describe_sentence(
    check: SentenceCheck, facts: Mapping[str, Fact], said: Mapping[str, Sequence[MarkerEvidence]]
) -> SentenceView:
    sign, verdict, tone, letter = VERDICTS[check.support]
    cited = [facts[name] for name in check.facts if name in facts]
    markers = tuple(said.get(fold_letters(check.sentence), ()))
    return SentenceView(
        text=check.sentence,
        sign=sign,
        verdict=verdict,
        tone=tone,
        method=HOW.get(check.follows, check.follows),
        reasons=check.reasons,
        withheld=check.withheld,
        markers=markers,
        letter=letter,
        cells=_find_cells(markers, cited),
        publishers=len(group_witnesses(cited)),
    )


def _find_cells(markers: Sequence[MarkerEvidence], cited: Sequence[Fact]) -> dict[str, CitedQuote]:
    """Return a quote for each source that a statement cites; what is withheld has no marker, and its facts count."""
    cells = {
        fact.source: CitedQuote(fact.id, fact.source, fact.passage, "", fact.start, fact.end, fact.quote)
        for fact in reversed(cited)
    }
    return {**cells, **{each.source: each for marker in reversed(markers) for each in reversed(marker.quotes)}}


def _list_conflicts(report: Report) -> Iterator[ConflictView]:
    facts = {fact.id: fact for fact in report.findings.facts}
    for each in report.findings.contradictions:
        if each.a in facts and each.b in facts:
            settled = each.resolved or each.relation is Relation.SUPERSEDES
            status = "replaced by the later one" if each.relation is Relation.SUPERSEDES else "resolved"
            sides = tuple(ConflictSide(facts[name], link_passage(facts[name].url, "")) for name in (each.a, each.b))
            yield ConflictView(
                claim=each.claim,
                difference=each.difference,
                status=status if settled else f"open, {each.severity}",
                tone="ok" if settled else "bad",
                scope=each.scope,
                sides=(sides[0], sides[1]),
            )


@dataclass(frozen=True, slots=True)
class ShownPassage:
    """A passage of the viewer: its parts, and for each quote its anchor."""

    passage: CitedPassage
    parts: tuple[tuple[MarkedSpan, int], ...]  # each with the place of its first character in the snapshot
    wanted: bool


@dataclass(frozen=True, slots=True)
class SourceView:
    """A window on a stored source."""

    source: Any
    original: str
    length: int
    passages: tuple[ShownPassage, ...]
    quotes: tuple[tuple[int, str, tuple[int, ...]], ...]  # place, passage, numbers of the markers that cite it
    citing: Mapping[int, tuple[MarkerEvidence, ...]]  # by the place of the quote
    first: int
    total: int
    step: int

    @property
    def earlier(self) -> int | None:
        """Where the window before this one begins, None at the beginning of the source."""
        return max(0, self.first - self.step) if self.first else None

    @property
    def later(self) -> int | None:
        """Where the next window begins, None at the end of the source."""
        after = self.first + len(self.passages)
        return after if after < self.total else None


def build_source(report: Report, stored: Document, wanted: PassageReference, first: int | None) -> SourceView:
    """Return the passages of a source around the one that is asked for, with the quotes of a report marked.

    Raises `UserError` `passage_unknown` for a passage that the source has not.
    """
    spans: dict[tuple[int, int], list[MarkerEvidence]] = {}
    homes: dict[int, str] = {}
    for marker in report.evidence:
        for quote in marker.quotes:
            if (quote.source, quote.snapshot) == (stored.source.id, stored.source.snapshot):
                spans.setdefault((quote.start, quote.end), []).append(marker)
                homes.setdefault(quote.start, quote.passage)
    place = _find_place(stored, wanted)
    begin = min(first, max(0, len(stored.passages) - 1)) if first is not None else max(0, place - _AROUND)
    shown = stored.passages[begin : begin + 2 * _AROUND + 1]
    return SourceView(
        source=stored.source,
        original=link_passage(stored.source.url, ""),
        length=len(stored.text),
        passages=tuple(_show_passage(stored, each, tuple(spans), wanted) for each in shown),
        quotes=tuple(
            (start, homes[start], tuple(dict.fromkeys(each.number for each in spans[start, end])))
            for start, end in sorted(spans)
        ),
        citing={start: tuple(spans[start, end]) for start, end in sorted(spans)},
        first=begin,
        total=len(stored.passages),
        step=2 * _AROUND + 1,
    )


def _find_place(stored: Document, wanted: PassageReference) -> int:
    if not wanted.passage:
        return 0
    found = next((n for n, each in enumerate(stored.passages) if each.id == wanted.passage), None)
    if found is None:
        raise UserError("passage_unknown", f"The source {wanted.source} has no passage {wanted.passage[:20]}.")
    return found


def _show_passage(
    stored: Document, passage: Passage, spans: Sequence[tuple[int, int]], wanted: PassageReference
) -> ShownPassage:
    held = cite_span(stored, passage.id, passage.heading, passage.start, passage.end)
    inside = [
        (max(start, held.start) - held.start, min(end, held.end) - held.start)
        for start, end in spans
        if start < held.end and end > held.start
    ]
    at = held.start
    parts: list[tuple[MarkedSpan, int]] = []
    for each in mark_spans(held.text, inside):
        parts.append((each, at))
        at += len(each.text)
    return ShownPassage(held, tuple(parts), held.passage == wanted.passage)


@dataclass(frozen=True, slots=True)
class Column:
    """A source of the matrix: its id, title and the numbers that cite it."""

    source: str
    title: str
    numbers: tuple[int, ...]
    passage: str


@dataclass(frozen=True, slots=True)
class LogLine:
    """An event of a run as the audit shows it."""

    at: str
    kind: str
    path: str
    round: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Audit:
    """Which statements rest on which sources, and what was decided and spent."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[SentenceView, int], ...]  # each with how often the report says it
    tones: Mapping[str, str]  # of the counts
    counts: Mapping[str, int]
    decisions: tuple[LogLine, ...]
    troubles: tuple[LogLine, ...]
    judge: Mapping[str, float] | None


# Fields of an event in words, "" for those that need none; a decision's round and whether it goes on are told apart.
_FIELDS = {
    "summary": "",
    "gaps": "open",
    "nextSearchTopic": "next",
    "urlToSearch": "next page",
    "timeRemainingMinutes": "minutes left",
}
_APART = ("iteration", "shouldContinue")
_TROUBLES = (EventType.RETRY, EventType.EXHAUSTED, EventType.FALLBACK, EventType.LEAF_FAILED, EventType.WARNING)


def build_audit(report: Report, events: Sequence[Event]) -> Audit:
    """Return the matrix of statements by sources, the decisions and the troubles of a run."""
    numbers: dict[str, list[int]] = {}
    for each in report.citations:
        numbers.setdefault(each.source, []).append(each.number)
    first = {each.source: each for each in reversed(report.citations)}
    columns = tuple(
        Column(source, first[source].title, tuple(held), first[source].passage) for source, held in numbers.items()
    )
    rows = build_side(report).sentences
    first_said = {(each.text, each.verdict, each.withheld): each for each in reversed(rows)}
    times = Counter((each.text, each.verdict, each.withheld) for each in rows)
    return Audit(
        columns=columns,
        rows=tuple((first_said[key], count) for key, count in times.items()),
        tones={"withheld" if each.withheld else each.verdict: each.tone for each in rows},
        counts=Counter("withheld" if each.withheld else each.verdict for each in rows),
        decisions=tuple(_log(each) for each in events if each.type is EventType.DECISION),
        troubles=tuple(_log(each) for each in events if each.type in _TROUBLES),
        judge=dump_verdict(report),
    )


def _log(event: Event) -> LogLine:
    goes_on = event.data.get("shouldContinue")
    shown = {_FIELDS.get(name, describe_code(name)): _say(it) for name, it in event.data.items() if name not in _APART}
    parts = [f"{name}: {text}" if name else text for name, text in shown.items() if text]
    parts += [] if goes_on is None else ["goes on" if goes_on else "stops"]
    return LogLine(
        event.at[11:19], describe_code(event.type), thread_label(thread_path(event.path)), event.round, "; ".join(parts)
    )


def _say(value: object) -> str:
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False, default=str)[:600] if value else ""
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_say, cast("Sequence[object]", value)))[:600]
    if isinstance(value, float):
        return f"{value:g}"
    return "" if value is None else str(value)[:600].rstrip(".")


def dump_verdict(report: Report) -> dict[str, float] | None:
    """Return the judge's five scores and their mean, None without a judge."""
    verdict: Verdict | None = report.verdict
    if verdict is None:
        return None
    scores = {name: value for name, value in asdict(verdict).items() if name in _CRITERIA}
    return {**scores, "overall": round(verdict.overall, 3)}


def describe_criteria(names: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return each criterion with its name in words and the question that it asks."""
    return [(name, name.replace("_", " ").capitalize(), _CRITERIA[name]) for name in names]


def suggest_earlier(rows: Sequence[RunRow], later: RunRow) -> str:
    """Return the run that another is compared with first, of rows that begin with the newest.

    It is the one that the other follows, else the last before it, of the same question if there is one.
    """
    before = [row for row in rows if row.created_at < later.created_at]
    followed = [row for row in before if row.id == later.request.previous]
    alike = [row for row in before if row.request.question == later.request.question]
    others = [row for row in rows if row.id != later.id]
    return next((row.id for row in (*followed, *alike, *before, *others)), "")


def split_parts(found: RunComparison) -> list[tuple[str, list[tuple[ChangeKind, list[ReportChange]]]]]:
    """Return the changes by part and kind; empty kinds are left out."""
    return [
        (name, [(kind, held) for kind in ChangeKind if (held := [each for each in changes if each.kind is kind])])
        for name, changes in found.parts.items()
    ]


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """One run of a question, and the height of its bar from 0 to 100."""

    row: RunRow
    score: float
    height: int


def build_trend(rows: Sequence[RunRow], scores: Mapping[str, float]) -> list[TrendPoint]:
    """Return the scored runs of one question, oldest first."""
    return [TrendPoint(row, scores[row.id], round(scores[row.id] * 100)) for row in rows if row.id in scores]

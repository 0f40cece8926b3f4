"""Comparison of two runs: what a later report says that an earlier one did not, and the other way round.

Knows two reports as values and compares statements by what they say: wording, order, copies and dates of access are no
change. Tells what is news, because a source says something else than before, from what only this search found or
missed. Does not know where runs are stored, or who asked for the comparison.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum

from corrobora.domain.evidence import Contradiction, Fact, FactId
from corrobora.domain.plan import SubQuestion
from corrobora.domain.report import Findings, Report, Support, iter_threads
from corrobora.policies.grading import group_statements
from corrobora.reporting.verify import make_evidence
from corrobora.text.comparison import find_differences
from corrobora.text.markdown import format_cell
from corrobora.text.phrases import describe_code, format_count
from corrobora.text.support import check_support
from corrobora.text.tokens import fold_text, fold_whitespace, stem_text, token_overlap

_NEAR = 0.5  # share of the words of one statement that another must hold to speak of the same thing
_MOST_NEAR = 8  # statements that are asked whether they carry another one
_CHARS = 400  # of a statement, as it is printed


class ChangeKind(StrEnum):
    """What became of something between two runs."""

    NEW = "new"
    CHANGED = "changed"
    GONE = "gone"
    SAME = "same"


@dataclass(frozen=True, slots=True)
class ReportChange:
    """One thing in both runs or in one of them. `text` is the later wording, or the earlier one of what is gone."""

    kind: ChangeKind
    text: str
    before: str = ""  # what it was; "" if it is new or the same
    note: str = ""  # the difference, or why it is no news
    sources: tuple[str, ...] = ()  # addresses of the sources that say so
    news: bool = True  # false if only the search differs: what its source says did not change


@dataclass(frozen=True, slots=True)
class ScoreChange:
    """One measure of both runs; None where a run was not measured."""

    name: str
    before: float | None
    after: float | None

    @property
    def kind(self) -> ChangeKind:
        """Whether it changed."""
        return ChangeKind.SAME if self.before == self.after else ChangeKind.CHANGED


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Two runs side by side: `before` and `after` are their ids."""

    before: str
    after: str
    statements: tuple[ReportChange, ...] = ()
    sources: tuple[ReportChange, ...] = ()
    answers: tuple[ReportChange, ...] = ()
    gaps: tuple[ReportChange, ...] = ()
    contradictions: tuple[ReportChange, ...] = ()
    scores: tuple[ScoreChange, ...] = field(default=())
    same_question: bool = True

    @property
    def has_news(self) -> bool:
        """True if a source says something else than before: a statement is new, changed or gone."""
        return any(each.news and each.kind is not ChangeKind.SAME for each in self.statements)

    @property
    def parts(self) -> Mapping[str, tuple[ReportChange, ...]]:
        """The changes by what they are about, in the order in which they are shown."""
        return {
            "statements": self.statements,
            "answers": self.answers,
            "sources": self.sources,
            "contradictions": self.contradictions,
            "gaps": self.gaps,
        }

    @property
    def summary(self) -> str:
        """What changed, in a sentence or two."""
        kinds = {kind: self.count_kind("statements", kind) for kind in ChangeKind if kind is not ChangeKind.SAME}
        if not self.same_question:
            counts = ", ".join(f"{count} {kind.value}" for kind, count in kinds.items() if count) or "all the same"
            return f"The questions differ, so this compares what two reports quote: {counts}."
        news = [each for each in self.statements if each.news and each.kind is not ChangeKind.SAME]
        if news:
            counts = (
                format_count(sum(each.kind is kind for each in news), f"{kind.value} statement") for kind in kinds
            )
            return f"Sources say something else than before: {', '.join(each for each in counts if each[0] != '0')}."
        found = format_count(sum(kinds.values()), "statement differs", "statements differ")
        rest = f" {found} because of the search." if any(kinds.values()) else ""
        return f"No source says something else than before.{rest}"

    def count_kind(self, part: str, kind: ChangeKind) -> int:
        return sum(each.kind is kind for each in self.parts[part])


def compare_reports(
    before: Report, after: Report, runs: tuple[str, str] = ("", ""), unchanged: Collection[str] = ()
) -> RunComparison:
    """Compare two reports: the statements that one of them cites, sources, answers, gaps, contradictions and scores.

    A statement is the same if the earlier ones carry all that it says, changed if they speak of the same thing and
    differ in it (a number, a name, a date, an obligation), else new or gone. The order of facts changes nothing.
    `unchanged` are the hashes of texts that stood in the libraries at both times: what they say is no news.
    """
    old, new = _Side.read(before, unchanged), _Side.read(after, unchanged)
    return RunComparison(
        *runs,
        statements=tuple(_compare_statements(old, new)),
        sources=tuple(_compare_sources(old, new)),
        answers=tuple(_compare_answers(before.findings.sub_questions, after.findings.sub_questions)),
        gaps=tuple(_compare_texts(_list_gaps(before), _list_gaps(after))),
        contradictions=tuple(_compare_texts(_list_conflicts(before), _list_conflicts(after))),
        scores=tuple(_compare_scores(before, after)),
        same_question=_fold(before.asked or before.question) == _fold(after.asked or after.question),
    )


@dataclass(frozen=True, slots=True)
class _Side:
    """One report: its statements, each as the facts that make it, and what it knows of its sources."""

    statements: tuple[tuple[Fact, ...], ...]
    cited: frozenset[str]  # the facts whose quotes its report shows
    texts: frozenset[str]  # hashes of the stored texts that it read, and ids of their sources
    addresses: frozenset[str]
    unchanged: Collection[str] = ()

    @classmethod
    def read(cls, report: Report, unchanged: Collection[str] = ()) -> _Side:
        printed = tuple(_list_printed(report))
        facts = {fact.id: fact for fact in (*report.findings.facts, *printed)}
        groups = tuple(tuple(facts[name] for name in each.facts) for each in group_statements(tuple(facts.values())))
        shown = frozenset(quote.fact for marker in report.evidence for quote in marker.quotes)
        shown |= {each.id for each in printed}
        snapshots = (each.snapshot for each in report.citations)
        texts = (*(fact.origin for fact in facts.values()), *snapshots, *_list_read(report.findings), *unchanged)
        addresses = frozenset(fact.url for fact in facts.values())
        return cls(groups, shown or frozenset(facts), frozenset(filter(None, texts)), addresses, unchanged)

    def cites(self, *statements: Sequence[Fact]) -> bool:
        """True if one of these statements stands in the report: a run finds more than it writes."""
        return any(fact.id in self.cited for said in statements for fact in said)

    def holds(self, said: Sequence[Fact]) -> bool:
        """True if this side read the very text that one of these facts stands in."""
        return any(fact.origin in self.texts or fact.source in self.texts for fact in said)


def _list_printed(report: Report) -> Iterator[Fact]:
    """Yield as facts the sentences of passages printed whole that share a word with the question, not others."""
    whole, asked = {fact.id: fact for fact in report.findings.nearest}, {*stem_text(report.asked or report.question)}
    supported = (each for each in report.evidence if each.support is Support.SUPPORTED)
    for marker in (each for each in supported if not asked.isdisjoint(stem_text(each.sentence))):
        for quoted in filter(None, (whole.get(FactId(quote.fact)) for quote in marker.quotes)):
            name = FactId(f"{quoted.id}:{marker.marker}")
            yield replace(quoted, id=name, quote=marker.sentence, claim=marker.sentence)


def _list_read(found: Findings) -> Iterator[str]:
    for leaf in iter_threads(found):
        for reading in (each for done in leaf.rounds for each in done.readings):
            if reading.source is not None:
                yield reading.source


def _compare_statements(old: _Side, new: _Side) -> Iterator[ReportChange]:
    left = list(old.statements)
    fresh: list[tuple[Fact, ...]] = []
    for said, twins in _find_twins(old.statements, new.statements):
        if twins:
            left = [each for each in left if each not in twins]
            if new.cites(said) or old.cites(*twins):
                yield ReportChange(ChangeKind.SAME, _word(said), sources=_list_addresses(said))
        else:
            fresh.append(said)
    for said in fresh:
        former = max(left, key=lambda each: _likeness(said, each), default=None)
        change = _find_change(said, former) if former is not None else ""
        if former is None or not change:
            note = "its source said so before as well" if old.holds(said) else ""
            if new.cites(said):
                yield ReportChange(ChangeKind.NEW, _word(said), note=note, sources=_list_addresses(said), news=not note)
        else:
            left.remove(former)
            if not (new.cites(said) or old.cites(former)):
                continue
            both = old.holds(said) and new.holds(former)  # neither text changed: the search chose another sentence
            yield ReportChange(
                ChangeKind.CHANGED, _word(said), _word(former), change, _list_addresses(said), news=not both
            )
    for said in left:
        if old.cites(said):
            yield _describe_loss(said, new)


def _describe_loss(said: tuple[Fact, ...], new: _Side) -> ReportChange:
    gone = any(fact.url in new.addresses for fact in said) and not new.holds(said)
    why = "its source no longer says so" if gone else "not found again; its source was not seen to have changed"
    return ReportChange(ChangeKind.GONE, _word(said), note=why, sources=_list_addresses(said), news=gone)


def _find_twins(
    old: Sequence[tuple[Fact, ...]], new: Sequence[tuple[Fact, ...]]
) -> Iterator[tuple[tuple[Fact, ...], list[tuple[Fact, ...]]]]:
    """Yield each new statement with the old ones that say all of it: the same quotes, or one that carries its quote.

    What has a literal twin on both sides is not compared again, and only the nearest of the others are checked.
    """
    quoted: dict[str, list[tuple[Fact, ...]]] = {}
    for each in old:
        for quote in {_fold(fact.quote) for fact in each}:
            quoted.setdefault(quote, []).append(each)
    literal = [list(dict.fromkeys(each for fact in said for each in quoted.get(_fold(fact.quote), ()))) for said in new]
    matched = {each for twins in literal for each in twins}
    other = [each for each in old if each not in matched]
    for said, twins in zip(new, literal, strict=True):
        near = _rank_near(said, other if twins else old)
        yield said, [*twins, *(each for each in near if any(_carries(one, two) for one in said for two in each))]


def _rank_near(said: Sequence[Fact], others: Iterable[tuple[Fact, ...]]) -> list[tuple[Fact, ...]]:
    """Return the statements that share most words with this one, the nearest first."""
    shared = {each: max(token_overlap(one.quote, two.quote) for one in said for two in each) for each in others}
    return [each for each in sorted(shared, key=lambda each: -shared[each])[:_MOST_NEAR] if shared[each] >= _NEAR]


def _carries(one: Fact, two: Fact) -> bool:
    """True if the earlier quote carries the later one: nothing is said that was not said before."""
    return check_support(one.quote, [make_evidence(two)]).support is Support.SUPPORTED


def _fold(text: str) -> str:
    return fold_text(fold_whitespace(text))


def _likeness(said: Sequence[Fact], other: Sequence[Fact]) -> float:
    here = {fact.url for fact in said}
    near = max(
        token_overlap(one.quote, two.quote) + token_overlap(two.quote, one.quote) for one in said for two in other
    )
    return near / 2 + (0.1 if any(fact.url in here for fact in other) else 0.0)


def _find_change(said: Sequence[Fact], former: Sequence[Fact]) -> str:
    """Say in which respect two statements differ; "" if they do not speak of the same thing."""
    pairs = [(two, one) for one in said for two in former if token_overlap(one.quote, two.quote) >= _NEAR]
    differences = dict.fromkeys(each.text for two, one in pairs for each in find_differences(two.quote, one.quote))
    return "; ".join(differences) or ("said otherwise" if pairs else "")


def _word(said: Sequence[Fact]) -> str:
    best = max(said, key=lambda fact: (bool(fact.answers), fact.confidence, fact.score, fact.id))
    return " ".join(best.quote.split())


def _list_addresses(said: Sequence[Fact]) -> tuple[str, ...]:
    return tuple(sorted({fact.url or fact.title for fact in said}))


def _compare_sources(old: _Side, new: _Side) -> Iterator[ReportChange]:
    """Compare texts by their addresses; the chapters of a book share one, and are distinguished by their titles."""
    before, now = _group_texts(old), _group_texts(new)
    cited = {fact.url for side in (old, new) for said in side.statements for fact in said if fact.id in side.cited}
    for url in sorted(cited):
        was, are = before.get(url, {}), now.get(url, {})
        lost = [fact for origin, fact in was.items() if origin not in are]
        for origin, fact in are.items():
            single = len(was) == len(are) == 1
            same = (each for each in lost if each.origin not in old.unchanged and (single or each.title == fact.title))
            former = None if origin in old.unchanged else next(same, None)
            if origin in was:
                yield ReportChange(ChangeKind.SAME, fact.title or url, sources=(url,))
            elif former is not None:
                lost.remove(former)
                yield ReportChange(ChangeKind.CHANGED, fact.title or url, former.title, "its text has changed", (url,))
            else:
                yield ReportChange(ChangeKind.NEW, fact.title or url, sources=(url,))
        for fact in lost:
            yield ReportChange(ChangeKind.GONE, fact.title or url, sources=(url,))


def _group_texts(side: _Side) -> dict[str, dict[str, Fact]]:
    """The facts of a side by address and stored text, one of each."""
    found: dict[str, dict[str, Fact]] = {}
    for said in side.statements:
        for fact in said:
            found.setdefault(fact.url, {}).setdefault(fact.origin, fact)
    return found


def _compare_answers(old: Sequence[SubQuestion], new: Sequence[SubQuestion]) -> Iterator[ReportChange]:
    before = {_fold(asked.text): asked for asked in old}
    for asked in new:
        was = before.pop(_fold(asked.text), None)
        now = _word_answer(asked)
        if was is None:
            yield ReportChange(ChangeKind.NEW, now)
        elif was.standing is asked.standing and _is_same_finding(was.finding, asked.finding):
            yield ReportChange(ChangeKind.SAME, now)
        else:
            yield ReportChange(ChangeKind.CHANGED, now, _word_answer(was))
    for was in before.values():
        yield ReportChange(ChangeKind.GONE, _word_answer(was))


def _is_same_finding(one: str, other: str) -> bool:
    if _fold(one) == _fold(other):
        return True
    near = bool(one and other) and token_overlap(other, one) >= _NEAR
    return near and not find_differences(one, other)


def _word_answer(asked: SubQuestion) -> str:
    return f"{asked.text} ({describe_code(asked.standing).lower()}){f': {asked.finding}' if asked.finding else ''}"


def _list_gaps(report: Report) -> list[str]:
    return [gap.text for gap in report.findings.gaps]


def _list_conflicts(report: Report) -> list[str]:
    facts = {fact.id: fact for fact in report.findings.facts}
    return [_word_conflict(each, facts) for each in report.findings.contradictions if {each.a, each.b} <= facts.keys()]


def _word_conflict(each: Contradiction, facts: Mapping[FactId, Fact]) -> str:
    sides = sorted(" ".join(facts[name].quote.split()) for name in (each.a, each.b))
    return f"{each.difference or each.claim}: “{sides[0]}” and “{sides[1]}”{' (resolved)' if each.resolved else ''}"


def _compare_texts(old: Sequence[str], new: Sequence[str]) -> Iterator[ReportChange]:
    before, after = ({_fold(text): text for text in texts} for texts in (old, new))
    for name, text in after.items():
        yield ReportChange(ChangeKind.SAME if name in before else ChangeKind.NEW, text)
    for name, text in before.items():
        if name not in after:
            yield ReportChange(ChangeKind.GONE, text)


def _compare_scores(before: Report, after: Report) -> Iterator[ScoreChange]:
    names = ("factual_accuracy", "citation_accuracy", "completeness", "source_quality", "source_diversity", "overall")
    if before.verdict is not None or after.verdict is not None:
        for name in names:
            yield ScoreChange(name, *(getattr(each.verdict, name, None) for each in (before, after)))
    yield ScoreChange("supported_share", round(before.supported_share, 3), round(after.supported_share, 3))
    for name in ("rounds", "searches", "sources_read", "sources_cited", "facts"):
        yield ScoreChange(name, getattr(before.methodology, name), getattr(after.methodology, name))


def dump_comparison(found: RunComparison) -> dict[str, object]:
    """Return a comparison as JSON values."""
    scores = [{**asdict(each), "kind": each.kind.value} for each in found.scores]
    return {**asdict(found), "scores": scores, "has_news": found.has_news, "summary": found.summary}


def render_comparison(found: RunComparison) -> str:
    """Render what changed between two runs as Markdown: counts, then each change; what is the same is only counted."""
    head = f"What changed from run `{found.before}` to run `{found.after}`"
    blocks = [f"# {head}\n\n{found.summary}"]
    for part, changes in found.parts.items():
        counts = ((kind, found.count_kind(part, kind)) for kind in ChangeKind)
        counted = ", ".join(f"{count} {kind.value}" for kind, count in counts if count) or "none"
        lines = [_render_change(each) for each in changes if each.kind is not ChangeKind.SAME]
        blocks.append("\n".join([f"## {part.capitalize()}: {counted}", *([""] if lines else []), *lines]))
    moved = [each for each in found.scores if each.kind is ChangeKind.CHANGED]
    lines = [f"- {describe_code(each.name)}: {_show(each.before)} -> {_show(each.after)}" for each in moved]
    same = format_count(len(found.scores) - len(moved), "measure is the same", "measures are the same")
    blocks.append("\n".join(["## Measures", "", *lines, f"- {same}."]))
    return "\n\n".join(blocks) + "\n"


def _render_change(each: ReportChange) -> str:
    where = f" [{', '.join(each.sources)}]" if each.sources else ""
    note = f" ({each.note})" if each.note else ""
    was = f" Before: {format_cell(each.before, _CHARS)}" if each.before else ""
    return f"- {each.kind.value}: {format_cell(each.text, _CHARS)}{note}{where}{was}"


def _show(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"

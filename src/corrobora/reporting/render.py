"""Rendering of a checked draft as the delivered report in Markdown, with the account of its checks.

Knows how citations are numbered and how the sections that code writes are laid out: conflicts, gaps, methodology,
sources, and the account, which counts every statement once by how it was checked and by its verdict, so that the sums
close. Titles, URLs and quotes come from the evidence, never from a writer. Does not check any sentence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from corrobora.domain.evidence import Contradiction, Fact, FactId, Relation, Severity
from corrobora.domain.report import Citation, Findings, Methodology, Report, SentenceCheck, Support
from corrobora.policies.queries import COMPLETION_DRIVE, PATH_DECISION
from corrobora.reporting.bibliography import cut_title, format_source_details, list_source_notes, name_side
from corrobora.reporting.report_format import translate_body
from corrobora.roles.forms import shorten_title
from corrobora.text import phrases
from corrobora.text.alignment import find_cut, find_slices
from corrobora.text.comparison import find_differing_sentences
from corrobora.text.markdown import MARKER, escape_markdown, format_cell, format_table
from corrobora.text.notices import find_order
from corrobora.text.phrases import ENGLISH, Frame, describe_code, describe_stop, find_frame, format_count
from corrobora.text.tokens import escape_text, sanitize_text

HOW = {
    "quote": "copied word for word",
    "restatement": "restated in other words",
    "arithmetic": "calculated",
    "count": "counted",
    "comparison": "compared",
    "trend": "told as a trend",
    "absence": "told as not found",
    "judgement": "judged",
    "": "without a source",
}
_VERDICTS = {
    Support.SUPPORTED: "supported",
    Support.PARTLY: "partly",
    Support.UNCLEAR: "unclear",
    Support.UNSUPPORTED: "not supported",
    Support.CONTRADICTED: "contradicted",
    Support.NOT_CHECKABLE: "not checked",
    Support.UNCITED: "no claim",
}
_WITHHELD, _ALL = "withheld", "all"


def summarize_checks(checks: Sequence[SentenceCheck]) -> str:
    """Return the checks in one line: what was copied, what else is supported, what is not, and what was withheld."""
    claims = [check for check in checks if check.support is not Support.UNCITED]
    printed = [check for check in claims if not check.withheld]
    copied = sum(check.follows == "quote" for check in printed)
    others = [check for check in printed if check.follows != "quote"]
    supported = sum(check.support is Support.SUPPORTED for check in others)
    withheld = len(claims) - len(printed)
    parts = [f"{copied} of {format_count(len(claims), 'statement')} copied word for word"]
    parts += [f"{supported} of {len(others)} in other words supported by their quotes"] if others else []
    parts += [f"{withheld} of {len(claims)} withheld"] if withheld else []
    return ", ".join(parts)


def render_account(report: Report, frame: Frame = ENGLISH) -> str:
    """Render the section: a table whose sums close, then what was withheld and why, and what the labels mean."""
    if not report.checks:
        return ""
    cells = [
        (HOW.get(check.follows, check.follows), _WITHHELD if check.withheld else _VERDICTS[check.support])
        for check in report.checks
    ]
    counts, by_way, by_verdict = Counter(cells), Counter(way for way, _ in cells), Counter(name for _, name in cells)
    used = [column for column in (*_VERDICTS.values(), _WITHHELD) if column in by_verdict]
    ways = [way for way in dict.fromkeys((*HOW.values(), *by_way)) if way in by_way]
    rows = [[way, *(counts[way, column] for column in used), by_way[way]] for way in ways]
    total = [_ALL, *(by_verdict[column] for column in used), len(report.checks)]
    say = frame.translate
    table = format_table(
        [say(each) for each in ("Statements", *used, _ALL)], [[say(str(row[0])), *row[1:]] for row in [*rows, total]]
    )
    notes = "\n".join(f"- {say(line)}" for line in _explain_counts(report))
    return f"## {say(phrases.ACCOUNT)}\n\n{table}\n\n{notes}"


def _explain_counts(report: Report) -> list[str]:
    claims = [check for check in report.checks if check.support is not Support.UNCITED]
    supported = sum(check.support is Support.SUPPORTED for check in claims)
    copied = sum(check.follows == "quote" and not check.withheld for check in claims)
    total = len(claims)
    counted = format_count(total, "statement")
    lines = [f"{supported} of {counted} supported by what is cited; {copied} of {counted} copied word for word."]
    why = Counter(check.withheld for check in report.checks if check.withheld)
    lines += [f"Withheld: {reason}{f' ({n} times)' if n > 1 else ''}." for reason, n in why.items()]
    labels = {check.support for check in claims if not check.withheld} & set(_VERDICTS) - {Support.SUPPORTED}
    if labels:
        lines.append(
            f"A label such as *({phrases.LABELS[1]})* stands behind a sentence that code could not confirm; "
            "it may be true, so read its quotes."
        )
    unchecked = sum(check.support is Support.NOT_CHECKABLE for check in report.checks)
    lines += [f"Not checked: {unchecked} of {len(report.checks)}."] if unchecked else []
    done = report.methodology
    if done.removed_markers:
        removed = format_count(done.removed_markers, "citation or address", "citations and addresses")
        lines.append(f"Removed because they led to no source: {removed}.")
    if done.repeated_lines:
        lines.append(f"Printed a few times, not as often as written: {format_count(done.repeated_lines, 'line')}.")
    return lines


_TWICE = re.compile(r"(\[\d+\])\1+")
CitationFormat = Callable[[Fact], str]  # how a fact is cited: a marker, or a number
_SIDE_CHARS = 600  # of what one side of a contradiction says
_NOTICE_CHARS = 300
_SCHEME = re.compile(r"\b(?:https?|ftp)://(?:www\.)?|\bwww\.(?=\S)")


_TAGS = re.compile(rf" (?:{COMPLETION_DRIVE}|{PATH_DECISION})\b")  # for programs: they stand in methodology.json


def _disarm(text: str) -> str:
    """Return a line about the run without links: an address is shown without its scheme, as no viewer links it."""
    return _SCHEME.sub("", text.replace("](", "] ("))


def number_citations(body: str, facts: Sequence[Fact], extra: Sequence[Fact] = ()) -> tuple[str, dict[str, int]]:
    """Replace markers by `[n]`, numbered by first appearance; `extra` facts are numbered after the body."""
    known = {fact.marker for fact in facts}
    numbers: dict[str, int] = {}

    def assign_number(match: re.Match[str]) -> str:
        marker = match.group()
        if marker not in known:
            return ""
        return f"[{numbers.setdefault(marker, len(numbers) + 1)}]"

    text = renumber_sections(_TWICE.sub(r"\1", MARKER.sub(assign_number, body)))
    for fact in extra:
        if fact.marker in known:
            numbers.setdefault(fact.marker, len(numbers) + 1)
    return text, numbers


def renumber_sections(text: str) -> str:
    """Renumber the `## N.` headings and merge adjacent rules, because the checks may have removed a section."""
    count = iter(range(1, text.count("\n## ") + text.startswith("## ") + 1))
    text = re.sub(r"(?m)^## \d+\. ", lambda _: f"## {next(count)}. ", text)
    return re.sub(r"(?m)^---\n(?:\s*---\n)+", "---\n", text)


@dataclass(frozen=True, slots=True)
class CitedSource:
    """What the stored source of a citation adds to it: its hash, a notice about its own standing, and its authors."""

    snapshot: str
    notice: str = ""
    authors: tuple[str, ...] = ()


def build_citations(
    numbers: Mapping[str, int], facts: Sequence[Fact], sources: Mapping[str, CitedSource]
) -> tuple[Citation, ...]:
    """Build the numbered references with the quotes that support them."""
    unknown = CitedSource("")
    by_marker: dict[str, list[Fact]] = {}
    for fact in facts:
        if fact.marker in numbers:
            by_marker.setdefault(fact.marker, []).append(fact)
    return tuple(
        Citation(
            number=number,
            source=held[0].source,
            passage=held[0].passage,
            title=cut_title(sanitize_text(held[0].title)),  # as in Markdown: a page has no other words
            url=sanitize_text(held[0].url),
            snapshot=sources.get(held[0].source, unknown).snapshot,
            notice=sanitize_text(sources.get(held[0].source, unknown).notice)[:_NOTICE_CHARS],
            quotes=_drop_contained([fact.quote for fact in held]),
            version=held[0].version,
            published=held[0].published,
            heading=sanitize_text(held[0].heading),
            authors=sources.get(held[0].source, unknown).authors,
            order=sanitize_text(next(filter(None, (find_order(fact.quote) for fact in held)), ""))[:_NOTICE_CHARS],
        )
        for marker, number in sorted(numbers.items(), key=lambda item: item[1])
        if (held := by_marker.get(marker))
    )


def _drop_contained(quotes: Sequence[str]) -> tuple[str, ...]:
    """Return each quote once, without those that another quote contains as sentences of its own."""
    once = tuple(dict.fromkeys(quotes))
    return tuple(each for each in once if not any(each != other and _carries(other, each) for other in once))


def _carries(quote: str, part: str) -> bool:
    """True if a part of a quote says there what it says alone."""
    return part in quote and any(find_cut(*around, part) is None for around in find_slices(part, quote))


def render_markdown(report: Report, body: str, numbers: dict[str, int]) -> str:
    """Lay out the delivered Markdown in the report's language: the draft's body, then the sections of code."""
    frame = find_frame(report.language, report.translation)
    facts = {fact.id: fact for fact in report.findings.facts}

    def format_mark(fact: Fact) -> str:
        return f"[{numbers[fact.marker]}]" if fact.marker in numbers else ""

    title, rest = f"# {sanitize_text(report.title)}", body.lstrip()
    if rest.startswith("# "):
        title, _, rest = rest.partition("\n")
    parts = [
        title,
        f"*{render_status(report, frame)}*",
        _render_question(report, frame),
        translate_body(rest.strip(), frame),
        render_conflicts(report.findings.contradictions, facts, format_mark, rest, frame) if numbers else "",
        render_gaps(report.findings, report.methodology.uncovered, report.question, frame),
        render_methodology(report, frame),
        render_account(report, frame) if numbers else "",
        render_sources(report.citations, frame),
    ]
    # a quote may hold HTML, images or links (SAFE-4)
    return escape_markdown(sanitize_text("\n\n".join(part for part in parts if part).strip())) + "\n"


def render_status(report: Report, frame: Frame = ENGLISH) -> str:
    """Return the line below the title: outcome, sources, checks and who wrote it."""
    return " ".join(map(frame.translate, _list_status(report)))


def _list_status(report: Report) -> list[str]:
    done = report.methodology
    sources = format_count(done.sources_cited, "source")
    checked = f"; {summarize_checks(report.checks)}" if report.citations else ""
    notes = [
        f"Status: {describe_code(report.outcome)}{f' ({report.reason})' if report.reason else ''}.",
        f"{sources} cited of {done.sources_read} read{checked}.",
        f"Written by: {done.analyst}.",
    ]
    notes += [f"The text was written without the model: {describe_code(done.writer)}."] if done.writer else []
    return notes + ([f"Judge: {report.verdict.overall:.2f}."] if report.verdict else [])


def _render_question(report: Report, frame: Frame) -> str:
    """Show the question as asked and as researched, where they differ."""
    if not report.asked:
        return ""
    researched = format_cell("; ".join(report.researched), 600)
    asked = f"Asked: {format_cell(report.asked, 600)}"
    return f"*{frame.translate(asked)}*\n\n*{frame.translate(f'Researched: {researched}')}*"


def _render_side(fact: Fact, said: str, mark: CitationFormat) -> str:
    where = name_side(fact.title, fact.version, fact.published)
    text = " ".join(said.split())
    shown = text if len(text) <= _SIDE_CHARS else f"{text[:_SIDE_CHARS]}…"
    return f"{escape_text(where)}: “{escape_text(shown)}” {mark(fact)}".rstrip()


def render_conflicts(
    found: Sequence[Contradiction],
    facts: Mapping[FactId, Fact],
    mark: CitationFormat,
    body: str = "",
    frame: Frame = ENGLISH,
) -> str:
    """Render both sides of every contradiction and change (TRUTH-4); `mark` writes a citation.

    Of each quote only the sentence that differs is shown, and a pair of sentences only once. Open contradictions come
    first, ordered by severity. A change is left out if a table of the body already compares both sides; an open
    contradiction never is.
    """
    rows_of_body = [line for line in body.split("\n") if line.startswith("|")]

    def is_shown_in_body(pair: Contradiction) -> bool:
        settled = pair.resolved or pair.relation is Relation.SUPERSEDES
        marks = [mark(facts[pair.a]), mark(facts[pair.b])]
        return settled and all(marks) and any(all(each in row for each in marks) for row in rows_of_body)

    pairs = [c for c in found if c.a in facts and c.b in facts and not is_shown_in_body(c)]
    if not pairs:
        return ""
    weights = list(Severity)
    pairs.sort(key=lambda c: (c.resolved or c.relation is Relation.SUPERSEDES, -weights.index(c.severity)))
    named = {Relation.SUPERSEDES: "later version differs", Relation.QUALIFIES: "qualified"}
    rows: dict[tuple[str, ...], tuple[str, ...]] = {}
    for c in pairs:
        said = find_differing_sentences(facts[c.a].quote, facts[c.b].quote, c.difference, c.claim)
        sides = [_render_side(facts[at], text, mark) for at, text in zip((c.a, c.b), said, strict=True)]
        status = named.get(c.relation, "resolved" if c.resolved else "open contradiction")
        what = escape_text(c.difference or c.claim)
        rows.setdefault((c.difference, *said), (what, *sides, frame.translate(status)))  # the same pair in other quotes
    head = [frame.translate(each) for each in ("What differs", "One side", "Other side", "Status")]
    table = format_table(head, list(rows.values()), limit=10_000)
    return f"## {frame.translate(phrases.CONFLICTS)}\n\n{table}"


def render_gaps(found: Findings, failed: Sequence[str], question: str = "", frame: Frame = ENGLISH) -> str:
    """Render what was not found, and what was not covered because a part failed (TRUTH-6).

    The `question` is the title of the report: a gap that does not need it is printed without it.
    """
    gaps = list(dict.fromkeys(gap.text for gap in found.gaps))
    if not gaps and not failed:
        return ""
    lines = [f"- {format_cell(_render_gap(text, question, frame), 400)}" for text in gaps]
    lines += [f"- {frame.translate(phrases.FAILED)}: {_disarm(format_cell(text, 400))}" for text in failed]
    return f"## {frame.translate('Gaps')}\n\n" + "\n".join(lines)


def _render_gap(text: str, question: str, frame: Frame) -> str:
    if not phrases.is_written_by_code(text):
        return f"{frame.translate(phrases.GAP)}: {text}"
    reason, colon, asked = text.partition(": ")
    if asked == question and re.search(r"\bthis\b", reason) is None:
        return f"{frame.translate(reason)}."
    return f"{frame.translate(reason)}{colon}{asked}"


def render_methodology(report: Report, frame: Frame = ENGLISH) -> str:
    """Render the Methodology section from counts alone (TIMED-22, TRUTH-6)."""
    done, say = report.methodology, frame.translate
    searches = format_count(done.searches, "search", "searches")
    searched = f"{searches} answered, {done.failed_searches} failed"
    searched += f", of {', '.join(done.providers)}" if done.providers else ""
    read = f"{format_count(done.hits, 'result')}, {format_count(done.sources_read, 'source')} read"
    refused = f"{format_count(done.dropped_quotes, 'quote')} refused: not in their source, or at no single place of it"
    outcomes = ", ".join(f"{say(describe_code(name))} {count}" for name, count in done.outcomes)
    lines = [
        f"Profile `{done.profile}`; analyst: {done.analyst}.",
        f"{format_count(done.rounds, 'round')}; {searched}; {read}.",
        f"{format_count(done.facts, 'fact')}, each with a literal quote; {refused}.",
        f"Results by outcome: {outcomes or 'nothing was requested'}.",
        f"Stopped because: {_describe_stops(done.stops, frame) or 'nothing ran'}.",
        f"Spent: {_describe_spending(done)}.",
        *(f"Given up after repeated failures: {text}" for text in done.exhausted),
        *(f"Limit hit: {text}." for text in done.limits_hit),
        *(f"Shared: {format_cell(text, 300)}." for text in done.shared),
        *_list_unbilled(done),
        *(f"Note: {format_cell(note, 300)}" for note in done.notes),
    ]
    if frame.tag != ENGLISH.tag:
        lines.append(f"Language: {frame.tag if frame.own_name == frame.tag else f'{frame.own_name} ({frame.tag})'}.")
    return f"## {say('Methodology')}\n\n" + "\n".join(f"- {_disarm(say(_TAGS.sub('', line)))}" for line in lines)


def _describe_stops(stops: Sequence[tuple[str, str]], frame: Frame) -> str:
    """Say why each part stopped; a part that stopped several times for one reason, as before a gate, is named once."""
    say = frame.translate
    counts = Counter((format_cell(shorten_title(name, 80)), why) for name, why in stops)
    return "; ".join(
        (f"{name}: " if len(counts) > 1 else "")
        + say(describe_stop(why))
        + (f" {say(f'({times} times)')}" if times > 1 else "")
        for (name, why), times in counts.items()
    )


def _describe_spending(done: Methodology) -> str:
    allowed, usage = done.time_limit_seconds, done.usage
    limit = ", without a time limit" if allowed is None else f" of {allowed / 60:g} minutes"
    calls = "no model was called"
    if usage.calls:
        tokens = f"{usage.input_tokens} input and {usage.output_tokens} output tokens"
        unpriced = "" if usage.priced else " plus calls without a known price"
        calls = f"{format_count(usage.calls, 'model call')}, {tokens}, ${usage.dollars:.4f}{unpriced}"
    return f"{done.seconds:.0f} s{limit}; {calls}"


def _list_unbilled(done: Methodology) -> Iterator[str]:
    """Yield what to know of calls that had no whole answer, and of requests that a provider refused."""
    if done.uncertain_calls:
        calls = format_count(done.uncertain_calls, "call")
        yield f"{calls} had no whole answer and may have been billed; counted at the most that they can cost."
    if done.usage.refused:
        requests = format_count(done.usage.refused, "further request")
        yield f"{requests} to models ended with an error of the provider and are not billed."


def render_sources(cited: Sequence[Citation], frame: Frame = ENGLISH) -> str:
    """Render the numbered sources with their stored snapshots and quotes, which `corrobora verify` reads."""
    blocks: list[str] = []
    for citation in cited:
        title = escape_text(cut_title(citation.title))
        head = f"[{citation.number}] **{title}**{format_source_details(citation, escape_text)}"
        head += "" if head.rstrip("*").endswith((".", "!", "?")) else "."  # a title may be a sentence
        head += f" {citation.url if '://' in citation.url else escape_text(citation.url)}"
        head += f" `{citation.source}:{citation.passage}` `sha256:{citation.snapshot}`"
        head += "".join(f"\n\n**{name}:** {escape_text(text)}" for name, text in list_source_notes(citation, frame))
        quotes = "\n>\n".join(f"> {escape_text(sanitize_text(quote))}" for quote in citation.quotes)
        blocks.append(f"{head}\n\n{quotes}")
    return "\n\n".join((f"## {frame.translate('Sources')}", *blocks)) if cited else ""

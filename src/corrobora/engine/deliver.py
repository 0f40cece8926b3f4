"""Deliver: the report with its methodology, its files and its last events.

Knows what belongs to a delivered report, and counts what was done from findings and journal, never from what an analyst
says (TRUTH-6). Does not know how a report is laid out, nor where it is sent.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace

from corrobora.domain.evidence import Fact, Hit, ReadOutcome, SourceId
from corrobora.domain.limits import Usage
from corrobora.domain.plan import SubQuestion
from corrobora.domain.report import (
    NOT_JUDGED,
    Draft,
    Findings,
    Judgement,
    Methodology,
    Outcome,
    Report,
    collect_notes,
    iter_threads,
)
from corrobora.domain.run import EventType, RequestOption, Stage
from corrobora.domain.thread import Round
from corrobora.engine.read import FetchResult, make_read_key
from corrobora.engine.review import (
    add_evidence,
    build_verification,
    describe_notices,
    find_cited_markers,
    mark_previous,
    read_cited_sources,
    score_overlap,
)
from corrobora.engine.sealing import seal_report
from corrobora.engine.search import count_failed_searches
from corrobora.engine.session import Session
from corrobora.engine.session.egress import list_shared
from corrobora.engine.session.journal import (
    FAILED,
    CallMeta,
    decode,
    decode_meta,
    encode,
    encode_input,
    format_json,
    hash_parts,
    iter_entries,
    iter_metas,
    list_uncertain,
    sum_spend,
)
from corrobora.policies.outcome import decide_outcome, describe_length, describe_limits, explain_refusal
from corrobora.policies.queries import RETRY_EXHAUSTED
from corrobora.reporting.artifacts import render_completion_report
from corrobora.reporting.html_page import render_html
from corrobora.reporting.render import build_citations, number_citations, render_markdown, render_methodology
from corrobora.reporting.report_format import format_report_body, strip_findings, strip_line
from corrobora.reporting.seal import seal_files
from corrobora.reporting.thread_json import (
    build_cost_estimate,
    build_research_state,
    name_state_file,
    write_phase_state,
)
from corrobora.reporting.verify import CheckedDraft
from corrobora.roles.synthesize import PLAIN_LAYOUTS, Material, synthesize
from corrobora.text.phrases import ENGLISH, NO_EVIDENCE, describe_code, find_frame, format_count
from corrobora.text.tokens import sanitize_json, sanitize_text

ResultKey = tuple[str, str | None]  # address and passage: what counts as one result


@dataclass(frozen=True, slots=True)
class ResultCounts:
    """What became of all results. `outcomes` also holds sources that a plan named; `hits` counts results alone."""

    hits: int
    outcomes: tuple[tuple[str, int], ...]
    sources: frozenset[SourceId]


def count_results(rounds: Sequence[Round], run: Session) -> ResultCounts:
    """Put every result in exactly one outcome (TRUTH-5).

    A page that one thread read and another left alone was read. What was found but not opened is `cut` if its round was
    cut, or if the run was before any round ended; else it is `skipped`.
    """
    ended: dict[ResultKey, ReadOutcome] = {}
    sources: set[SourceId] = set()
    for reading in (each for r in rounds for each in r.readings if not each.again):
        name = (reading.hit.url, reading.hit.passage)
        if ended.get(name) is not ReadOutcome.READ:
            ended[name] = reading.outcome
        if reading.outcome is ReadOutcome.READ and reading.source is not None:
            sources.add(reading.source)
    cut = {(hit.url, hit.passage) for r in rounds if r.cut for hit in r.hits}
    found = {
        (hit.url, hit.passage): hit for hit in (*_iter_searched_hits(run), *(hit for r in rounds for hit in r.hits))
    }
    for name, hit in found.items():
        if name in ended:
            continue
        fetched = _find_last_fetch(hit, run)
        left = ReadOutcome.CUT if name in cut or not rounds else ReadOutcome.SKIPPED
        ended[name] = fetched.outcome if fetched is not None else left
        if fetched is not None and fetched.source is not None:
            sources.add(fetched.source)
    return ResultCounts(len(found), tuple(sorted(Counter(map(str, ended.values())).items())), frozenset(sources))


def _iter_searched_hits(run: Session) -> Iterator[Hit]:
    for entry in iter_entries(run.journal, "search/"):
        if not entry.key.endswith(FAILED):
            yield from decode(tuple[Hit, ...], entry.out, key=entry.key)


def _find_last_fetch(hit: Hit, run: Session) -> FetchResult | None:
    """Return the last journaled attempt to fetch a hit."""
    key = make_read_key(hit)
    last = run.journal.get(key)
    for number in itertools.count(2):
        if (again := run.journal.get(f"{key}!{number}")) is None:
            break
        last = again
    last = run.journal.get(f"{key}!again") or last
    return None if last is None else decode(FetchResult, last.out, key=last.key)


def build_methodology(found: Findings, checked: CheckedDraft, cited: int, run: Session) -> Methodology:
    """Count what the run did."""
    leaves = list(iter_threads(found))
    worked = [leaf for leaf in leaves if leaf.path not in run.settled]  # what rested is not counted again
    rounds = [r for leaf in leaves for r in leaf.rounds]
    found_and_read = count_results(rounds, run)
    meter = run.budget.read_meter()
    usage, players, searches = _sum_usage(run)
    return Methodology(
        profile=run.profile.name,
        analyst=players,
        rounds=len(rounds),
        searches=searches,
        failed_searches=count_failed_searches(rounds, run),
        hits=found_and_read.hits,
        sources_read=len({*found_and_read.sources, *(fact.source for fact in found.facts)}),  # recalled ones, too
        sources_cited=cited,
        facts=len(found.facts),
        outcomes=found_and_read.outcomes,
        stops=tuple((each.title, str(each.stop or ("failed" if each.failed else "done"))) for each in worked),
        exhausted=tuple(dict.fromkeys(_iter_given_up(found.sub_questions, rounds))),
        uncovered=tuple(f"{leaf.title}: {leaf.failed}" for leaf in leaves if leaf.failed),
        limits_hit=describe_limits(leaves, rounds, meter.exhausted_limit),
        removed_markers=checked.removed_markers + checked.removed_urls,
        removed_sentences=checked.removed_sentences,
        repeated_lines=checked.repeated_lines,
        dropped_quotes=sum(reading.dropped_quotes for r in rounds for reading in r.readings),
        uncertain_calls=usage.uncertain + len(list_uncertain(run.journal)),
        usage=usage,
        writer=_find_writer_fallback(run) if found.facts else "",  # of nothing, nobody was asked to write
        seconds=meter.elapsed_seconds,
        time_limit_seconds=run.budget.allowance.seconds,
        providers=tuple(dict.fromkeys(hit.provider for r in rounds for hit in r.hits if hit.provider)),
        notes=tuple(
            dict.fromkeys(
                (*run.profile.notes, *_describe_fallbacks(run), *_describe_secrets(checked), *collect_notes(found))
            )
        ),
        shared=list_shared(rounds, run),
        spend=sum_spend(run.journal),
    )


def _iter_given_up(questions: Sequence[SubQuestion], rounds: Sequence[Round]) -> Iterator[str]:
    """Sub-questions and addresses that were given up after their last attempt (TIMED-17)."""
    tried = [(each.text, each.attempts) for each in questions if each.standing == "EXHAUSTED"]
    read = [reading for done in rounds for reading in done.readings if reading.note.endswith(RETRY_EXHAUSTED)]
    for what, attempts in (*tried, *((reading.hit.url, reading.attempts) for reading in read)):
        yield f"{what} {RETRY_EXHAUSTED} ({format_count(attempts, 'attempt')})"


def _sum_usage(run: Session) -> tuple[Usage, str, int]:
    """Usage, who answered how often, and the searches made, from the journal: earlier attempts count."""
    usage = Usage()
    players: Counter[str] = Counter()
    searches = 0
    for meta in iter_metas(run.journal):
        searches += meta.searches
        if meta.usage is not None:
            usage += meta.usage
            players.update([meta.model or meta.analyst] if meta.analyst else [])
    named = [
        f"{name} ({format_count(count, 'call')})" if name != "extractive" else _describe_extractive(count)
        for name, count in players.items()
    ]
    return usage, ", ".join(named) or _describe_extractive(0), searches


def _describe_extractive(count: int) -> str:
    return f"extractive analyst, no language model ({format_count(count, 'call')})"


def _describe_fallbacks(run: Session) -> list[str]:
    """Describe which tasks fell back to the next analyst, and why."""
    fallen = Counter(
        (meta.role, meta.model or meta.analyst, meta.fallback) for meta in iter_metas(run.journal) if meta.fallback
    )
    return [
        f"{describe_code(role)[0].upper()}{describe_code(role)[1:]} was done by "
        f"{'the extractive analyst' if player == 'extractive' else player} instead"
        f"{f' ({count} times)' if count > 1 else ''}: {describe_code(why)}"
        for (role, player, why), count in fallen.items()
    ]


def _find_writer_fallback(run: Session) -> str:
    """Return why the last analyst wrote the report in place of a model, "" if it did not."""
    keys = (*run.journal.keys(f"root/uncited/{synthesize.prompt}#"), *run.journal.keys(f"root/{synthesize.prompt}#"))
    entry = run.journal.get(keys[0]) if keys else None
    if not run.has_model:
        return ""
    return decode_meta(entry).fallback if entry is not None else "too_slow"  # the run was cut before it was written


def _describe_secrets(checked: CheckedDraft) -> list[str]:
    gone = checked.removed_secrets
    return [f"{format_count(gone, 'text')} of the writer looked like a key: removed"] if gone else []


UNCITED = "nothing_cited"  # why the last analyst wrote: of the draft before, no citation held


async def write_fallback_draft(material: Material, run: Session) -> Draft:
    """Have the last analyst write from the same evidence, after a draft of which no citation held.

    Such a draft would be prose without evidence: it is never delivered.
    """
    last = run.outside.analysts[-1]
    given = replace(material, path=f"{material.path}/uncited")
    key = f"{given.path}/{synthesize.prompt}#{hash_parts(last.identity(synthesize), encode_input(given))}"

    async def write_fallback() -> tuple[str, CallMeta]:
        run.emit(EventType.FALLBACK, "root", {"role": synthesize.name, "why": UNCITED}, part=UNCITED)
        answer = await last.play(synthesize, given)
        player = answer.analyst or last.name
        return encode(Draft, answer.value), CallMeta(
            usage=answer.usage, role=synthesize.name, analyst=player, fallback=UNCITED
        )

    return decode(Draft, await run.call_once(key, write_fallback, paid=False), key=key)


async def deliver_report(checked: CheckedDraft, judged: Judgement, findings: Findings, run: Session) -> Report:
    """Assemble the report and its files, and seal them."""
    verdict = judged.verdict
    run.enter_stage(Stage.DELIVER)
    await run.write_bills()
    findings = strip_findings(findings, run.request.question)
    stated = (run.request.question, *(fact.quote for fact in findings.citable))
    asked = (run.brief.question, findings.sub_questions, findings.facts)
    refused = "" if run.has_model else explain_refusal(*asked)  # a model has judged what answers
    held = not refused and bool(find_cited_markers(checked.draft, findings))  # prose that cites nothing is no report
    form = _apply_form(checked.draft.body, run) if held else ""
    body, numbers = number_citations(form, findings.citable, _list_disputed_facts(findings) if held else ())
    cited = await read_cited_sources(run.library, tuple(f.source for f in findings.citable if f.marker in numbers))
    done = build_methodology(findings, checked, len({marker.split(":")[0] for marker in numbers}), run)
    doubt = (f"The score is doubtful: {verdict.suspicious}.",) if verdict and verdict.suspicious else ()
    ours, notes = mark_previous(numbers, run.request.previous, run.outside.previous)
    length = describe_length(body, run.profile.words_min, done)
    done = replace(done, notes=(*done.notes, *describe_notices(cited), *length, *doubt, *notes))
    done = await _record_seconds(done, body, run)
    kind, reason = _explain_outcome(findings, len(numbers), done, checked, refused)
    report = Report(
        question=run.brief.question,
        title=strip_line(checked.draft.title, stated) or run.brief.question,
        outcome=kind,
        reason=reason,
        markdown="",
        citations=build_citations(numbers, findings.citable, cited),
        checks=checked.checks,
        methodology=done,
        findings=findings,
        verdict=verdict,
        overlap_score=score_overlap(checked),
        stop=findings.stop,
        previous=run.request.previous,
        from_previous=ours,
        asked=run.request.question if run.researched else "",
        researched=run.researched,
        language=run.request.get_option(RequestOption.LANGUAGE) or ENGLISH.tag,
        translation=run.request.get_option(RequestOption.TRANSLATION),
    )
    body = f"{NO_EVIDENCE} to answer the question." if kind is Outcome.NO_EVIDENCE else body
    markdown = render_markdown(report, body, numbers) if numbers or kind is Outcome.NO_EVIDENCE else ""
    report = await add_evidence(replace(report, markdown=markdown), run.library)
    files = _build_files(report, run)
    if judged is not NOT_JUDGED:
        files["verification.json"] = format_json(build_verification(checked, judged, run.profile.review.min_score))
    if report.markdown:
        files, seal = seal_files(files, run.run)
        report = replace(report, markdown=files["report.md"], seal=seal)
    return await seal_report(report, files, len(body.split()), run)


async def _record_seconds(done: Methodology, body: str, run: Session) -> Methodology:
    """Return the methodology with the time told first of a report that is made again, as for a second target."""
    key = f"spent#{hash_parts(body, encode_input(replace(done, seconds=0.0)))}"
    return replace(done, seconds=decode(float, await run.record_first(key, encode(float, done.seconds)), key=key))


def _explain_outcome(
    findings: Findings, cited: int, done: Methodology, checked: CheckedDraft, refused: str
) -> tuple[Outcome, str]:
    failed, searches = done.failed_searches, done.searches
    kind, reason = decide_outcome(findings, cited, failed_searches=failed, searches=searches, checks=checked.checks)
    if kind is Outcome.NO_EVIDENCE and (refused or findings.facts):
        found_some = format_count(len(findings.facts), "statement was", "statements were")
        reason = refused or f"{found_some} found, and no writer cited one of them as an answer"
    return kind, reason


def _apply_form(body: str, run: Session) -> str:
    """Apply the formatting rules (TIMED-33); the angles and triplet methods have layouts of their own."""
    if run.profile.layout not in PLAIN_LAYOUTS:
        return body
    title, _, rest = body.lstrip().partition("\n") if body.lstrip().startswith("# ") else ("", "", body)
    return f"{title}\n\n{format_report_body(rest)}" if title else format_report_body(rest)


def explain_no_report(report: Report) -> str:
    """Write what replaces a report without evidence: the outcome and the methodology, no findings."""
    frame = find_frame(report.language, report.translation)
    reason = f"No report: {report.reason or report.outcome}."
    return f"{frame.translate(reason)}\n\n{render_methodology(report, frame)}\n"


def _list_disputed_facts(findings: Findings) -> list[Fact]:
    """Facts of contradictions are cited even where the body leaves them out: both sides are printed."""
    facts = {fact.id: fact for fact in findings.facts}
    return [facts[i] for c in findings.contradictions for i in (c.a, c.b) if c.a in facts and c.b in facts]


def _build_files(report: Report, run: Session) -> dict[str, str]:
    """Return the files of a report by name."""
    wanted = run.profile.artifacts
    leaves = list(iter_threads(report.findings))
    files: dict[str, str] = {}
    if "subagents" in wanted:
        bill = build_cost_estimate(leaves, report.methodology.usage, report.methodology.seconds)
        files["cost_estimate.json"] = format_json(bill)
    if "completion" in wanted:
        for leaf in (each for each in leaves if each.rounds or each.failed):  # a scout pursues no thread
            name, text = render_completion_report(leaf, leaf.max_rounds or run.profile.max_rounds)
            files[name] = text
    if "phase_state" in wanted:
        for leaf in leaves:
            place = "" if leaf is leaves[0] else "-" + leaf.path.replace("/", "-")
            state = write_phase_state(
                leaf.rounds,
                leaf.sub_questions,
                max_iterations=run.profile.max_rounds,
                allowance=run.budget.allowance,
                started_at=run.started_at,
            )
            files[f"phase_state{place}.json"] = format_json(state)
    if "rounds" in wanted:
        for leaf in (each for each in leaves if each.rounds):
            state = build_research_state(leaf.rounds, iterative_complete=True, complete=True)
            files[name_state_file(leaf.path)] = format_json(state)
    files["report.json"] = encode_input(report)
    files["report.md"] = report.markdown or explain_no_report(report)
    if report.markdown:
        files["report.html"] = render_html(report)
    files["methodology.json"] = format_json(asdict(report.methodology))
    return {name: (sanitize_json if name.endswith(".json") else sanitize_text)(text) for name, text in files.items()}

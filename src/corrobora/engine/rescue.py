"""Rescue: the report of a run whose time is over, from what the journal holds (DESIGN 11, watchdog).

Knows the journal's extractions and the last analyst, which needs neither network nor time. Looks up nothing new.
"""

from __future__ import annotations

from dataclasses import replace

from corrobora.domain.errors import JournalError, ReadError
from corrobora.domain.evidence import Document, Fact, SourceId
from corrobora.domain.report import Findings, Report
from corrobora.domain.thread import Gap, StopReason
from corrobora.engine.codec import decode
from corrobora.engine.delivery import deliver_report
from corrobora.engine.review import check_against_findings
from corrobora.engine.session import Session
from corrobora.engine.views import report_input, shorten_material
from corrobora.policies.coverage import merge_facts
from corrobora.policies.grading import grade_facts
from corrobora.roles.extract import Extraction
from corrobora.roles.synthesize import synthesize


async def rescue_report(run: Session, why: StopReason) -> Report:
    """Write the partial report from the journal, with the analyst that always answers."""
    facts = grade_facts(merge_facts((), await _restore_facts(run)))
    answered = {answer for fact in facts for answer in fact.answers}
    open_questions = tuple(q for q in run.questions if q.id not in answered)
    findings = Findings(
        path="root",
        title=run.brief.question,
        facts=tuple(facts),
        sub_questions=run.questions,
        gaps=tuple(Gap(q.text, q.id) for q in open_questions),
        stop=why,
        notes=("The run was cut at its deadline; this report was written from what was journaled.",),
    )
    material = shorten_material(report_input(findings, run.brief.question, run.profile))
    draft = (await run.outside.analysts[-1].play(synthesize, replace(material, path="rescue"))).value
    return await deliver_report(check_against_findings(draft, findings), None, findings, run)


async def _restore_facts(run: Session) -> list[Fact]:
    """Facts of all journaled extractions; a quote that no longer stands in its snapshot is dropped."""
    found: list[Fact] = []
    for key in run.journal.keys("extract/"):
        entry = run.journal.get(key)
        if entry is None:
            continue
        try:
            source, text = await run.library.document(SourceId(key.split("/", 4)[2]))
        except (ReadError, JournalError):
            continue
        extraction = decode(Extraction, entry.out, key=key)
        wanted = tuple(dict.fromkeys(quote.passage for quote in extraction.quotes))
        passages = {p.id: p for p in await run.library.passages(wanted)}  # pyright: ignore[reportArgumentType]
        document = Document(source, text, tuple(passages.values()))
        for quote in extraction.quotes:
            passage = passages.get(quote.passage)  # pyright: ignore[reportArgumentType]
            if passage is not None:
                fact = Fact.from_quote(
                    document,
                    passage,
                    quote.quote,
                    confidence=quote.confidence,
                    answers=quote.answers,
                    claim=quote.claim,
                )
                found += [fact] if fact is not None else []
    return found

"""Repair: a draft checked as a whole, and what the check withholds given back to its writer once.

Knows what the writer is given, and which new words are taken: those that hold better. Does not know how a sentence is
checked or how words are put in its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from corrobora.domain.evidence import Fact
from corrobora.domain.report import Draft, Findings, SentenceCheck
from corrobora.domain.run import EventType
from corrobora.engine.inputs import MAX_FACTS_WRITTEN
from corrobora.engine.reading_set import count_documents, load_reading_set
from corrobora.engine.review import (
    MAX_FAILING_SHOWN,
    MAX_NEAR_SHOWN,
    ask_rulings,
    choose_revision,
    confirm_input,
    find_cited_markers,
    has_review_time,
)
from corrobora.engine.session import Session
from corrobora.reporting.repair import NumberedDraft, apply_repair, list_withheld, select_better, select_lines
from corrobora.reporting.verify import CheckedDraft, check_written_draft
from corrobora.roles.edit import Edit, EditAction
from corrobora.roles.forms import select_best_facts
from corrobora.roles.review import Repairing, repair
from corrobora.text.tokens import token_overlap

MAX_NEAR_REASON = 2  # facts for the reason: a model names what no quote that was cited has


async def check_whole_draft(
    draft: Draft, findings: Findings, run: Session, known: Sequence[SentenceCheck] = ()
) -> CheckedDraft:
    """Check every sentence of a draft against facts and reading set; a model rules on what code cannot decide.

    It is not asked about sentences whose checks are `known`.
    """
    reading = await load_reading_set(draft, findings, run)
    checked, ruled = check_written_draft(draft, findings, reading, run.rulings), len(run.rulings)
    if has_review_time(run):
        await ask_rulings(await confirm_input(checked, findings, run, known), run)
    return checked if len(run.rulings) == ruled else check_written_draft(draft, findings, reading, run.rulings)


async def repair_draft(draft: Draft, findings: Findings, run: Session, told: Sequence[str] = ()) -> CheckedDraft:
    """Give the sentences that would be withheld back to the writer once; what still fails is withheld with its note.

    Returns the draft after the check, with the new words that hold; nothing else of it changes or is judged again. Who
    was `told` of all of them, and left them as they are, is not asked again.
    """
    checked = await check_whole_draft(draft, findings, run)
    new = any(each.withheld and each.sentence not in told for each in checked.checks)
    if not new or not run.has_model or not has_review_time(run):
        return checked
    made = await run.call(repair, repair_input(checked, draft, findings, run))
    if made.whole is not None:  # written anew: as a revision is taken, or not
        repaired, edits = choose_revision(draft, made.whole, findings), ()
        again = await check_whole_draft(repaired, findings, run, checked.checks)
    else:
        repaired, edits, again = await _apply_better(draft, made.edits, checked, findings, run)
    better = again.removed_sentences < checked.removed_sentences
    data = {
        "stage": "repaired",
        "withheld": checked.removed_sentences,
        "left": again.removed_sentences,
        "taken": better,
        "dropped": sum(each.action is EditAction.DROP for each in edits),
        "lost": sorted(find_cited_markers(draft, findings) - find_cited_markers(repaired, findings)) if better else (),
    }
    run.emit(EventType.REPORT, "root", data, part="repaired")
    return again if better else checked


async def _apply_better(
    draft: Draft, edits: tuple[Edit, ...], checked: CheckedDraft, findings: Findings, run: Session
) -> tuple[Draft, tuple[Edit, ...], CheckedDraft]:
    """Return the draft with the edits whose words hold better than the old ones, these edits, and its check."""
    repaired = apply_repair(draft, edits, findings.facts)
    again = await check_whole_draft(repaired, findings, run, checked.checks)
    held = select_better(draft, edits, checked, again, findings.facts)
    if held == edits:
        return repaired, edits, again
    repaired = apply_repair(draft, held, findings.facts)
    known = (*checked.checks, *again.checks)
    return repaired, held, await check_whole_draft(repaired, findings, run, known)


def repair_input(checked: CheckedDraft, draft: Draft, findings: Findings, run: Session) -> Repairing:
    """What the writer is given once to repair: what is withheld, why, and the paragraphs in which it stands.

    Of the facts only those that such a sentence cites, and those that are nearest to it, or to what it lacks.
    """
    numbered = NumberedDraft.read(draft, findings.facts)
    failing = list_withheld(numbered, checked.checks, MAX_FAILING_SHOWN)
    shown = {name for each in checked.checks if each.withheld for name in each.facts}
    for _, (reason, text) in failing:
        for said, most in ((text, MAX_NEAR_SHOWN), (reason, MAX_NEAR_REASON)):
            nearness = partial(_measure_nearness, said)
            shown |= {fact.id for fact in sorted(findings.facts, key=nearness, reverse=True)[:most]}
    facts = select_best_facts([fact for fact in findings.facts if fact.id in shown], MAX_FACTS_WRITTEN)
    seen = replace(draft, body=select_lines(numbered, failing))
    return Repairing("root/repair", run.brief.question, seen, failing, facts, **count_documents(findings))


def _measure_nearness(sentence: str, fact: Fact) -> float:
    return token_overlap(sentence, f"{fact.claim} {fact.quote}")

"""Edit: a reader's wishes become typed edits of a delivered report, and the accepted ones a new version of it.

Knows the order: propose, check, ask again for words that failed, research a part again, wait for the reader, lay out.
Every version is a run of its own with a seal of its own; the report that it edits stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace

from corrobora.domain.errors import NeedsHuman, UserError
from corrobora.domain.evidence import Fact
from corrobora.domain.plan import Brief, Node, SubQuestion
from corrobora.domain.report import Draft, Report
from corrobora.domain.run import EventType, Stage
from corrobora.engine.inputs import MAX_FACTS_WRITTEN, report_input
from corrobora.engine.investigate import investigate
from corrobora.engine.knowledge import begin_record
from corrobora.engine.review import add_evidence, ask_rulings, confirm_input, read_cited_sources
from corrobora.engine.sealing import seal_report
from corrobora.engine.session import Session
from corrobora.engine.session.journal import decode, encode, format_json
from corrobora.policies import dump_profile
from corrobora.policies.outcome import answers_gap
from corrobora.reporting.edits import parse_document
from corrobora.reporting.html_page import render_html
from corrobora.reporting.revision import (
    NOT_RESEARCHED,
    Base,
    build_version,
    check_edits,
    list_joint_losses,
    plan_additions,
    plan_changes,
)
from corrobora.reporting.seal import seal_files, strip_seal
from corrobora.reporting.verify import CheckedDraft
from corrobora.roles.edit import Change, Edit, EditAction, Editing, EditRequest, Proposed, choose_changes, propose_edits
from corrobora.roles.forms import select_best_facts, shorten_title
from corrobora.roles.synthesize import synthesize
from corrobora.text.markdown import MARKER, is_heading, iter_cited_sentences
from corrobora.text.phrases import format_count
from corrobora.text.tokens import sanitize_json, sanitize_text

ACCEPT_TOPIC = "edits"  # of the answer with which a reader accepts changes
MAX_TRIES = 6  # how often a model is asked for words that pass the check
MAX_ADDED = 5  # statements of a part that is researched again
_WRITTEN = (EditAction.REWORD, EditAction.ADD)


async def edit_report(run: Session) -> Report:
    """Edit the report of the previous run as the request asks, and return the new version.

    Raises:
        NeedsHuman: `changes_proposed`: the changes wait for a reader.
        UserError: `edit_nothing`, `edit_unclear` or `edit_choice`: there is nothing to change.
    """
    before = run.outside.previous
    if before is None or not before.markdown:
        raise UserError("edit_report", f"The run {run.request.previous} has no report to edit.")
    given = decode(EditRequest, run.request.edits, key="edits")
    run.brief = Brief(before.question)
    run.emit(EventType.RUN_STARTED, "root", {"question": before.question, "profile": dump_profile(run.profile)})
    if given.restore:
        return await deliver_version(replace(before, markdown=strip_seal(before.markdown), seal=""), run)
    run.record = await begin_record(run)
    run.enter_stage(Stage.PLAN)
    base, proposed = await propose_changes(Base.read(before), given, run)
    await run.write_artifacts(
        {"edits.json": asdict(proposed), "changes.md": render_changes(proposed, run.request.previous)}
    )
    run.emit(EventType.REPORT, "root", {"stage": "edits", "changes": len(proposed.changes)}, part="edits")
    accepted = await wait_for_reader(proposed, run)
    await run.write_artifacts({"edits.json": {**asdict(proposed), "accepted": [each.number for each in accepted]}})
    run.enter_stage(Stage.DELIVER)
    proposals = format_count(len(proposed.changes), "change")
    note = f"Edited from run {run.request.previous}: {len(accepted)} of {proposals} accepted."
    left = ", ".join(
        f"{it.number} ({it.edit.action.value} {it.edit.target})" for it in proposed.changes if it not in accepted
    )
    note += f" Not made: {left}." if left else ""
    cited = await read_cited_sources(run.library, tuple(fact.source for fact in base.facts))
    return await deliver_version(
        build_version(base, accepted, note=note, sources=cited, previous=run.request.previous), run
    )


async def propose_changes(base: Base, given: EditRequest, run: Session) -> tuple[Base, Proposed]:
    """Return the checked changes, and the report with the facts of what was researched again."""
    edits, unclear = given.edits, ""
    if given.feedback:
        proposed = await run.call(propose_edits, edit_input(base, given.feedback))
        edits, unclear = (*edits, *proposed.edits), proposed.unclear
    if not edits:
        raise UserError(
            "edit_unclear",
            f"The feedback led to no edit{unclear and f': {unclear}'}".rstrip(". ") + ".",
            next_step="Name the edits: corrobora edit RUN --drop 2.1; the ids: corrobora edit RUN --outline",
        )
    base, changes = await check_changes(base, edits, run)
    base, changes, reason = await _try_again(base, changes, given, run)
    for change in changes:
        if change.refused == NOT_RESEARCHED:
            base, found = await research_part(base, change, run)
            changes = tuple(found if each is change else each for each in changes)
    named = {*given.edits, *(Edit(EditAction.DROP, each) for each in edit_input(base, given.feedback).named)}
    asked = {each.number for each in changes if each.edit.action is EditAction.DROP and each.edit in named}
    changes = tuple(replace(each, asked=True) if each.number in asked else each for each in changes)
    losses = list_joint_losses(base, [each for each in changes if not each.refused])
    return base, Proposed(changes, losses, reason or unclear)


async def _try_again(
    base: Base, changes: tuple[Change, ...], given: EditRequest, run: Session
) -> tuple[Base, tuple[Change, ...], str]:
    """Let the model word again what failed the check; return also why it could not, in its own words."""
    withdrawn: set[tuple[EditAction, str]] = set()  # what the model does not propose again once it knows the reason
    unclear = ""
    for turn in range(2, MAX_TRIES + 1):
        tried = [each for each in changes if _is_worth_another_try(each, given)]
        failed = [each for each in tried if (each.edit.action, each.edit.target) not in withdrawn]
        if not failed:
            break
        proposed = await run.call(propose_edits, edit_input(base, given.feedback, turn, list(map(_explain, failed))))
        again = {(each.action, each.target) for each in proposed.edits}
        lossy = [each.edit for each in failed if not each.refused]  # what is lost may be what the reader wants lost
        withdrawn |= {(each.action, each.target) for each in proposed.edits if each in lossy}
        if again or proposed.unclear:
            withdrawn |= {(each.edit.action, each.edit.target) for each in failed} - again
        unclear = proposed.unclear or unclear
        base, changes = await check_changes(base, _replace_words(changes, failed, proposed.edits, base), run)
    return base, changes, unclear


async def check_changes(base: Base, edits: Sequence[Edit], run: Session) -> tuple[Base, tuple[Change, ...]]:
    """Check every edit; a model rules on new words that code cannot decide, as it does on those of a writer."""
    changes = plan_changes(base, edits)
    findings, nothing = replace(base.report.findings, facts=base.facts), Draft("", "")
    checked = CheckedDraft(nothing, check_edits(base, changes))
    if not await ask_rulings(await confirm_input(checked, findings, run), run):
        return base, changes
    ruled = replace(base, rulings=dict(run.rulings))
    return ruled, plan_changes(ruled, edits)


def edit_input(base: Base, feedback: str, turn: int = 1, refused: Sequence[str] = ()) -> Editing:
    """What a model is given: the report as sentences with ids and markers, and what the reader said."""
    document, facts = base.document, select_best_facts(base.facts, MAX_FACTS_WRITTEN)
    cited = [fact for fact in base.facts if fact.marker in base.numbers and fact not in facts]
    shown = {f"[{number}]": marker for number, marker in base.markers.items()}
    sentences: list[tuple[str, str]] = []
    for piece in document.pieces:
        marks = "".join(shown.get(f"[{number}]", "") for number in piece.cited)
        text = " ".join(filter(None, (piece.words, marks, piece.label)))
        sentences += [(piece.id, text)] if piece.id else []
    return Editing(
        path="root/edit" if turn == 1 else f"root/edit/{turn}",
        question=base.report.question,
        feedback=feedback,
        sections=tuple((each, document.read_title(each) or "the opening") for each in document.sections),
        sentences=tuple(sentences),
        facts=(*facts, *cited),
        refused=tuple(refused),
    )


def _is_worth_another_try(change: Change, given: EditRequest) -> bool:
    """True for words of a model that failed the check, or that leave out what the sentence, or its source, said."""
    by_model = bool(given.feedback) and change.edit not in given.edits and change.edit.action in _WRITTEN
    kinds = ("detail", "words") if change.edit.action is EditAction.ADD else ("detail",)
    return by_model and (bool(change.refused) or any(loss.kind in kinds for loss in change.losses))


def _explain(change: Change) -> str:
    why = change.refused or f"it leaves out {', '.join(loss.text for loss in change.losses)}"
    return f"{change.edit.action.value} {change.edit.target}: {why}: {change.edit.text}"


def _replace_words(
    changes: Sequence[Change], failed: Sequence[Change], edits: Sequence[Edit], base: Base
) -> tuple[Edit, ...]:
    """Take new words for the edits that failed, and nothing else; what is worse than before is not taken."""
    fresh = {(each.action, each.target): each for each in edits}
    tried: list[Edit] = []
    for change in changes:
        again = fresh.get((change.edit.action, change.edit.target)) if change in failed else None
        better = again is not None and (change.refused or not plan_changes(base, [again])[0].refused)
        tried.append(again if again is not None and better else change.edit)
    return tuple(tried)


async def research_part(base: Base, change: Change, run: Session) -> tuple[Base, Change]:
    """Research what a section is about again; what is found and holds is added to its end."""
    document, edit = base.document, change.edit
    question = edit.text or document.read_title(edit.target) or base.report.question
    asked = SubQuestion(f"part-{edit.target}", question)  # the report has questions of its own
    title, whole = document.read_title(edit.target) or "the opening", base.report.question
    wanted = f"{question} It is for the section “{title}” of a report on: {whole}" if question != whole else question
    node = Node(f"root/edit/{change.number}", question, wanted, sub_questions=(asked,))
    run.questions, run.brief = (asked,), Brief(question, (asked,))
    run.enter_stage(Stage.INVESTIGATE)
    found = await investigate(node, run)
    if not found.facts:
        return base, replace(change, refused="nothing was found")
    material = replace(report_input(found, question, run.profile), path=f"root/edit/{change.number}", words_max=300)
    draft = await run.call(synthesize, material)
    texts = _list_statements(draft.body, [fact for fact in found.facts if fact.answers])
    known = {fact.id for fact in base.facts}
    wider = replace(base, facts=(*base.facts, *(fact for fact in found.facts if fact.id not in known)))
    wider, _ = await check_changes(wider, [Edit(EditAction.ADD, edit.target, text) for text in texts], run)
    answered = any(each.id == asked.id and each.is_answered for each in found.sub_questions)
    gaps = [gap.text for gap in base.report.findings.gaps] if answered else []
    closes = tuple(each for each in gaps if answers_gap(each, question, found.facts))
    return wider, replace(plan_additions(wider, change.number, edit, texts), closes=closes)


def _list_statements(body: str, facts: Sequence[Fact]) -> list[str]:
    """Return the cited sentences of a text that answer, each with its markers."""
    answering = {fact.marker for fact in facts}
    lines = (line for line in body.split("\n") if not is_heading(line) and not line.lstrip().startswith("|"))
    said = [(text, marks) for line in lines for text, marks in iter_cited_sentences(line.lstrip("-*+ "))]
    cited = [f"{text} {''.join(marks)}" for text, marks in said if answering & set(marks)]
    return list(dict.fromkeys(each for each in cited if MARKER.search(each)))[:MAX_ADDED]


async def wait_for_reader(proposed: Proposed, run: Session) -> tuple[Change, ...]:
    """Return the changes that the reader accepted; journaled. Raises `NeedsHuman` until there is an answer."""
    run.enter_stage(Stage.REVIEW)
    possible = ", ".join(str(each.number) for each in proposed.possible)
    if not possible:
        why = "; ".join(f"{each.edit.action.value} {each.edit.target}: {each.refused}" for each in proposed.changes)
        raise UserError("edit_nothing", f"No change can be made: {why}.")

    async def read_answer() -> str:
        said = await run.outside.answer(ACCEPT_TOPIC) if run.outside.answer is not None else None
        if said is None:
            await run.journal.flush()
            waiting = format_count(len(proposed.changes), "change waits", "changes wait")
            raise NeedsHuman(
                "changes_proposed",
                f"{waiting} for a reader; these may be accepted: {possible}.",
                next_step=f"Accept them: corrobora edit {run.run} --accept all, or their numbers",
            )
        return said

    said = await run.record_value("edits/accepted", str, read_answer)
    accepted = accept_named(proposed, said)
    if not accepted:
        lossy = "; ".join(
            f"{each.number} (loses {', '.join(f'{it.kind} “{shorten_title(it.text, 80)}”' for it in each.losses)})"
            for each in proposed.possible
            if each.losses
        )
        step = f"Changes that lose something are accepted by number or with --accept-losses: {lossy}." if lossy else ""
        raise UserError("edit_nothing", "No change was accepted; the report stays as it is.", next_step=step)
    return accepted


def accept_named(proposed: Proposed, said: str) -> tuple[Change, ...]:
    """Return the changes that a reader named. Raises `UserError` `edit_choice` for one that may not be accepted."""
    try:
        return choose_changes(proposed, said)
    except ValueError as error:
        raise UserError("edit_choice", f"{error}.", next_step="Name some of these, or all.") from error


async def deliver_version(report: Report, run: Session) -> Report:
    """Seal the files of a version and write them, as those of a report."""
    report = await add_evidence(report, run.library)
    files = {"report.json": sanitize_json(encode(Report, report)), "report.md": sanitize_text(report.markdown)}
    files |= {"report.html": render_html(report), "methodology.json": format_json(asdict(report.methodology))}
    sealed, seal = seal_files(files, run.run)
    words = len(parse_document(report).body.split())
    return await seal_report(replace(report, markdown=sealed["report.md"], seal=seal), sealed, words, run)


def render_changes(proposed: Proposed, previous: str) -> str:
    """Render the changes as a reader decides on them: numbered, the lines that go and come, and what is lost."""
    blocks = [f"# Changes to the report of run `{previous}`"]
    for each in proposed.changes:
        head = f"## {each.number}. {each.edit.action.value} {each.edit.target}"
        head += f" {each.edit.place}" if each.edit.place else ""
        lines = [f"- {line}" for line in each.before] + [f"+ {line}" for line in each.after]
        notes = [f"Loses {loss.kind}: {loss.text}" for loss in each.losses]
        notes += [f"Closes the gap: {text}" for text in each.closes]
        if each.refused:
            notes = [f"Refused, the text stays: {each.refused}."]
        blocks.append("\n".join(filter(None, (head, "", *(["```diff", *lines, "```"] if lines else []), *notes))))
    blocks += [f"Together they also lose {loss.kind}: {loss.text}" for loss in proposed.together]
    blocks += [f"Not an edit: {proposed.unclear}"] if proposed.unclear else []
    return "\n\n".join(blocks) + "\n"

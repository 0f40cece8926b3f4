"""Research: a question in, a cited and verified report out.

Knows the stages, their order, and the report that is rescued from the journal where the time is over (BUDGET-6).
Everything below a plan's root is `investigate`; everything outside is the session.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from corrobora.domain.errors import (
    CorroboraError,
    Infeasible,
    JournalError,
    LimitReached,
    ModelSilent,
    NeedsHuman,
    ProviderError,
    ReadError,
    RoleError,
)
from corrobora.domain.evidence import Fact, PassageId, SourceId
from corrobora.domain.plan import Brief, Plan
from corrobora.domain.report import NOT_JUDGED, Draft, Findings, Judgement, Report, iter_threads
from corrobora.domain.run import EventType, Request, RequestOption, Stage
from corrobora.domain.thread import StopReason
from corrobora.engine.inputs import fit_length, report_input, shorten_material
from corrobora.engine.investigate import investigate
from corrobora.engine.knowledge import begin_record
from corrobora.engine.nearest import quote_nearest_passages
from corrobora.engine.planning import (
    ThreadFile,
    authorize_plan,
    clarify_input,
    describe_answer,
    describe_earlier,
    merge_plans,
    parse_thread_file,
    plan_input,
    propose_plan,
    select_phases,
    with_pinned_sources,
)
from corrobora.engine.read import load_document
from corrobora.engine.reading_set import count_documents, find_read_sources
from corrobora.engine.repair import check_whole_draft, repair_draft
from corrobora.engine.review import (
    build_verification,
    choose_revision,
    critique_input,
    find_cited_markers,
    has_review_time,
    judge_input,
    revise_input,
)
from corrobora.engine.search import search_question
from corrobora.engine.session import Session, run_parallel
from corrobora.engine.session.egress import open_plan
from corrobora.engine.session.journal import decode, find_fallback, iter_entries
from corrobora.policies import dump_profile, fit_profile
from corrobora.policies.assessment import assess_questions
from corrobora.policies.budget import needs_short_report
from corrobora.policies.feasibility import repair_plan
from corrobora.policies.intake import ANGLE_SLUGS
from corrobora.reporting.repair import apply_revision
from corrobora.reporting.thread_json import get_synthesis_badge
from corrobora.reporting.verify import CheckedDraft, check_written_draft
from corrobora.roles.clarify import Scoping, clarify
from corrobora.roles.extract import Extraction, Quote
from corrobora.roles.plan import plan
from corrobora.roles.review import critique, judge, revise
from corrobora.roles.synthesize import Material, synthesize
from corrobora.text.mentions import find_names
from corrobora.text.phrases import describe_code, format_count
from corrobora.text.tokens import stem_text


async def research(brief: Brief, run: Session) -> Report:
    """A question in; a cited, verified report out (ENGINE-1).

    Raises:
        Infeasible: the question must be narrowed first; the reasons and narrower questions are in the message.
        NeedsHuman: the plan waits for a person, or one ended the research before anything was found.
    """
    begin_run(brief, run)
    run.record = await begin_record(run)
    run.enter_stage(Stage.CLARIFY)
    if run.request.thread_file:
        given = parse_thread_file(run.request.thread_file)  # thread and brief are given (TRIPLET-1)
        tree = await plan_from_thread_file(given, run)
    else:
        tree = await plan_question(brief, run)
    await open_plan(tree, run)
    await authorize_plan(tree, run)  # "Authorized to execute", or a policy
    run.enter_stage(Stage.INVESTIGATE)
    findings = await investigate(tree.root, run)
    if run.budget.finishing and not findings.facts:
        raise NeedsHuman(
            "finished_early",
            "The research was ended before anything was found that can be reported; it can go on.",
            next_step=f"Go on with: corrobora resume {run.run}",
        )
    async with run.budget.use_reserve():  # time kept for writing
        if not findings.facts:
            return await _deliver(CheckedDraft(Draft(findings.title, ""), ()), findings, run)
        begin_synthesis(findings, run)
        findings = replace(findings, nearest=await quote_nearest_passages(findings, run))
        material = await prepare_material(brief, findings, run)
        draft = await run.call(synthesize, material)
        if draft.outline:
            run.emit(EventType.REPORT, "root", {"stage": "outline", "parts": draft.outline}, part="outline")
        run.enter_stage(Stage.REVIEW)
        draft, told = await review_draft(draft, findings, run)  # critique, revise
        run.enter_stage(Stage.VERIFY)
        checked = await repair_draft(draft, findings, run, told)  # what the check withholds, once
        if run.has_model and not find_cited_markers(checked.draft, findings):
            from corrobora.engine.deliver import write_fallback_draft  # noqa: PLC0415 - see `_deliver`

            checked = await check_whole_draft(await write_fallback_draft(material, run), findings, run)
        return await _deliver(checked, findings, run, await judge_draft(checked, findings, run))


async def plan_question(brief: Brief, run: Session) -> Plan:
    """Narrow a question until it is feasible, and plan it; where it may, the search for it begins meanwhile."""
    early = asyncio.create_task(search_question(run)) if _searches_early(run) else None
    try:
        agreed = read_agreed_scope(run.request)  # narrow, split, refuse (TREE-2); a dialogue has done it before
        scoping = require_feasible(
            agreed or await run.call(clarify, clarify_input(brief, run.profile, describe_earlier(run)))
        )
        run.enter_stage(Stage.PLAN)
        if run.has_model and run.profile.minutes is not None:
            run.profile = fit_profile(run.profile, await run.record_meter("root/plan"))
        return await make_plan(scoping, run)
    finally:
        if early is not None:
            await early


def _searches_early(run: Session) -> bool:
    """True if nobody must authorize a search, one thread works on the question, and a model thinks meanwhile.

    A follow-up looks at what it knows first, and may then need no search.
    """
    allowed = run.profile.authorize == "auto" or bool(run.request.authorized)
    early = allowed and not run.request.is_follow_up
    return early and run.profile.split in ("questions", "leaf") and run.has_model


def begin_run(brief: Brief, run: Session) -> None:
    """Start the run: the resolved profile is its first event."""
    run.brief = brief
    data = {"question": brief.question, "profile": dump_profile(run.profile)}
    run.emit(EventType.RUN_STARTED, "root", data)


def read_agreed_scope(request: Request) -> Scoping | None:
    """Return the queries that were agreed on in a dialogue, None if there was none."""
    return decode(Scoping, request.scope, key="scope") if request.scope else None


def require_feasible(scoping: Scoping) -> Scoping:
    """Refuse to plan until every query is feasible (TREE-3)."""
    if scoping.feasible and scoping.queries:
        return scoping
    offered = " Narrower: " + " | ".join(scoping.narrower) if scoping.narrower else ""
    asked = " " + " ".join(scoping.questions) if scoping.questions else ""
    raise Infeasible(
        "question_infeasible",
        f"The question cannot be researched as it is: {' '.join(scoping.reasons)}{asked}",
        next_step=f"Ask it in other words.{offered}",
        narrower=scoping.narrower,
    )


async def make_plan(scoping: Scoping, run: Session) -> Plan:
    """One planner for each feasible query (TREE-9), none for a plan that a person edited; code checks the whole."""
    run.brief = scoping.queries[0] if len(scoping.queries) == 1 else run.brief
    queries = tuple(query.question for query in scoping.queries)
    same = len(queries) == 1 and stem_text(queries[0]) == stem_text(run.request.question)
    run.researched = () if same else queries
    # Words of a plan may be sent to the web: then its planner is not shown what private documents are called.
    record = replace(run.record, searched="") if run.egress.guarded else run.record
    given = [
        replace(plan_input(query, number, scoping, run.profile, of=len(scoping.queries)), record=record)
        for number, query in enumerate(scoping.queries, 1)
    ]
    if edited := run.request.get_option(RequestOption.EDITED_PLAN):
        whole = plan_input(replace(run.brief, suggested_plan=edited), 1, scoping, run.profile, of=1)
        taken = (await run.outside.analysts[-1].play(plan, whole)).value  # it takes a suggestion as it is
        plans = [replace(taken, gathers_plans=len(given) > 1)]
    else:  # n planners for n queries, in parallel
        plans = await run_parallel([run.call(plan, each) for each in given])
    if "subagents" in run.profile.artifacts:  # the planning response as it was given, before any correction (ANGLES-12)
        await run.write_artifacts({"lead_agent_plan.json": describe_answer(plans[0])})
    tree = repair_plan(
        merge_plans(plans, run.brief),
        max_depth=run.profile.max_depth,
        max_leaves=run.profile.max_leaves,
        dynamic_angles=run.profile.dynamic_angles,
        allowed_angles=ANGLE_SLUGS,
    )
    tree = replace(tree, root=with_pinned_sources(tree.root, run.request.sources))
    await propose_plan(tree, run)
    return tree


async def plan_from_thread_file(given: ThreadFile, run: Session) -> Plan:
    """Take a given thread as it is: no manager, no planner, no person (TRIPLET-53)."""
    run.brief, run.profile = given.brief, select_phases(run.profile, given.source_strategy)
    await propose_plan(given.plan, run)
    return given.plan


async def prepare_material(brief: Brief, findings: Findings, run: Session) -> Material:
    """Return what the report is written from; a model is given less of it if the time is short."""
    material = report_input(findings, brief.question, run.profile)
    material = replace(material, today=run.record.today, **count_documents(findings))
    material = fit_length(material) if run.has_model else material
    return shorten_material(material) if needs_short_report(await run.record_meter("root/write")) else material


def begin_synthesis(findings: Findings, run: Session) -> None:
    """Enter the writing: its badge follows that of the last round (ROUNDS-22: rounds 1 to 3, then 4)."""
    run.enter_stage(Stage.SYNTHESIZE)
    rounds = [done for leaf in iter_threads(findings) for done in leaf.rounds]
    results = format_count(len({hit.url for done in rounds for hit in done.hits}), "result was", "results were")
    read = find_read_sources(findings)
    counted = f"{results} found, {format_count(len(read), 'source')} read"
    text = f"Synthesizing the findings of {format_count(len(rounds), 'round')}: {counted}."
    if not rounds and findings.facts:
        text = f"Synthesizing {format_count(len(findings.facts), 'fact')} of earlier research; nothing was searched."
    number = get_synthesis_badge(findings)
    run.emit(EventType.THOUGHT, "root", {"text": text, "queries": []}, number=number, part="synthesis")


async def review_draft(draft: Draft, findings: Findings, run: Session) -> tuple[Draft, tuple[str, ...]]:
    """Critique and revise the draft, as the profile asks (ANGLES-29); return it, and what its reviser was told of.

    Its reviser is given what the critic finds and what the check withholds.
    """
    review = run.profile.review
    if not review.critique or not has_review_time(run):
        return draft, ()
    checked = await check_whole_draft(draft, findings, run)
    given = critique_input(checked, findings, run, draft=draft)
    critic = await run.call(critique, given)
    run.emit(EventType.REPORT, "root", {"stage": "critique", "problems": critic.problems}, part="critique")
    if not review.revise or not critic.problems or not has_review_time(run):
        return draft, ()
    made = await run.call(revise, revise_input(given, critic, checked, findings))
    after = choose_revision(draft, apply_revision(draft, made, findings.facts), findings)
    lost = find_cited_markers(draft, findings) - find_cited_markers(after, findings)
    data = {"words": len(after.body.split()), "edits": len(made.edits), "taken": after != draft, "lost": sorted(lost)}
    run.emit(EventType.REPORT, "root", {"stage": "revised", **data}, part="revised")
    told = (each.sentence for each in checked.checks if each.withheld and after != draft)
    return after, tuple(told)


async def judge_draft(final: CheckedDraft, findings: Findings, run: Session) -> Judgement:
    """Score what will be delivered by five criteria in one call; return the verdict, or why there is none (ANGLES-30).

    A judge that cannot be asked is replaced by nobody: the report is not judged, and so its verification fails.
    """
    review, verdict, why = run.profile.review, None, "no time was left to judge the report"
    if not review.judge:
        return NOT_JUDGED
    if has_review_time(run):
        try:
            verdict = await run.call(judge, judge_input(final, findings, run), as_configured=True)
        except (ProviderError, RoleError, LimitReached, TimeoutError) as error:
            why = error.message if isinstance(error, CorroboraError) else "the judge did not answer in time"
    judged = Judgement(verdict, why)
    await run.write_artifacts({"verification.json": build_verification(final, judged, review.min_score)})
    if verdict is None:
        run.emit(EventType.WARNING, "root", {"message": f"The report was not judged: {why}"}, part="judge")
    else:
        run.emit(EventType.JUDGE, "root", {"overall": verdict.overall, "passed": verdict.overall >= review.min_score})
    return judged


async def _deliver(checked: CheckedDraft, findings: Findings, run: Session, judged: Judgement = NOT_JUDGED) -> Report:
    """Deliver the report. Raises `ModelSilent` if a named model was asked and never answered: it asked for no other."""
    from corrobora.engine.deliver import deliver_report  # noqa: PLC0415 - the first search does not wait for it

    usage = run.budget.read_meter().usage
    if run.is_silent and usage.calls + usage.refused:
        raise ModelSilent.from_failure(f"{describe_code(find_fallback(run.journal) or 'too_slow')}.")
    return await deliver_report(checked, judged, findings, run)


async def rescue_report(run: Session, why: StopReason) -> Report:
    """Write the partial report from the journal, with the analyst that always answers."""
    names = find_names(run.brief.question)
    facts, questions, gaps = assess_questions(run.questions, await _restore_facts(run), names, run.profile.publishers)
    findings = Findings(
        path="root",
        title=run.brief.question,
        facts=facts,
        sub_questions=questions,
        gaps=gaps,
        stop=why,
        notes=("The run was cut at its deadline; this report was written from what was journaled.",),
    )
    material = shorten_material(report_input(findings, run.brief.question, run.profile))
    draft = (await run.outside.analysts[-1].play(synthesize, replace(material, path="rescue"))).value
    judged = Judgement(why="the run was cut at its deadline") if run.profile.review.judge else NOT_JUDGED
    return await _deliver(check_written_draft(draft, findings), findings, run, judged)


async def _restore_facts(run: Session) -> list[Fact]:
    """Facts of all journaled extractions; a quote that no longer stands in its snapshot is dropped."""
    found: list[Fact] = []
    for entry in iter_entries(run.journal, "extract/"):
        whole = decode(Extraction, entry.out, key=entry.key)
        for read in (whole, *whole.beside):
            found += await _restore_quotes(SourceId(read.source or entry.key.split("/", 4)[2]), read.quotes, run)
    return found


async def _restore_quotes(source: SourceId, quotes: Sequence[Quote], run: Session) -> list[Fact]:
    try:
        document = await load_document(source, tuple(dict.fromkeys(PassageId(each.passage) for each in quotes)), run)
    except (ReadError, JournalError):
        return []
    passages = {str(each.id): each for each in document.passages}
    facts = [
        Fact.from_quote(
            document,
            passages[each.passage],
            each.quote,
            confidence=each.confidence,
            answers=each.answers,
            claim=each.claim,
        )
        for each in quotes
        if each.passage in passages
    ]
    return [fact for fact in facts if fact is not None]

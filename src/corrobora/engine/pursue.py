"""Pursue: one thread, round by round, until a rule says stop.

Knows the loop, what a round leaves behind (events, and files where the profile asks for them), and the self-check that
ends it (TRIPLET-51): a broken point is a bug of ours and fails the leaf. Does not know trees or reports.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial

from corrobora.domain.errors import RoleError
from corrobora.domain.evidence import OPENED, Fact, Grade, Hit, ReadOutcome
from corrobora.domain.plan import SubQuestion, SubQuestionStatus
from corrobora.domain.report import Draft, Findings
from corrobora.domain.run import EventType, write_loop_decision
from corrobora.domain.thread import Intent, Proposal, Round, StopReason, StopRule, ThreadState
from corrobora.engine.inputs import list_open_gaps, reflect_input, summary_input
from corrobora.engine.knowledge import (
    make_offered_readings,
    recall_knowledge,
    share_thread_facts,
    take_offered_facts,
)
from corrobora.engine.read import expect_reading, read_hits
from corrobora.engine.search import list_attempts, scope_round, search_round
from corrobora.engine.session import Session
from corrobora.engine.session.journal import RoundBuffer, measure_part
from corrobora.engine.session.reading import ReadPart
from corrobora.policies.assessment import assess_questions, assess_thread, name_subject, settle_round
from corrobora.policies.outcome import MAX_AGAIN, list_missing, select_rereadings
from corrobora.policies.queries import take_new_questions
from corrobora.policies.selection import (
    NEAR_CHARS,
    drop_subjects,
    select_hits,
    select_more_hits,
    select_sections,
    select_unread,
)
from corrobora.policies.stop import (
    find_first_stop,
    measure_saturation,
    meets_criteria,
    plateau_level,
    signal_level,
    url_overlap,
)
from corrobora.roles.synthesize import reflect, summarize
from corrobora.text.answers import FITS_KIND, AnswerKind, classify_question, score_answer_fit

FEW_FACTS = 3  # that need no summary: the writer is shown them


async def pursue(thread: ThreadState, run: Session) -> Findings:
    """Advance one thread round by round until a rule says stop (ANGLES-13, TIMED-4, ROUNDS-4, TRIPLET-9)."""
    thread = await answer_from_memory(await recall_knowledge(thread, run), run)
    while thread.open and not run.budget.finishing:
        buffer = RoundBuffer()
        run.emit(EventType.ROUND_STARTED, thread.round_path, _round_start_data(thread, run), number=thread.number + 1)
        async with run.until_reserve(thread, buffer):  # no round may eat the writing time
            buffer.intent = await scope_round(thread, run)  # what do we not yet know?
            with expect_reading(thread, run):
                buffer.searched = await search_round(buffer.intent, thread, run)
                found = buffer.searched.hits
                again = await load_rereadings(thread, run, found)
                chosen = select_hits(found, thread, whole=run.has_model, again=len(again))
                async for reading in read_hits(chosen, thread, run, found, again):
                    buffer.readings.append(reading)
            first = [reading for reading in buffer.readings if not reading.again]
            more = select_more_hits(first, thread, found, whole=run.has_model)
            async for reading in read_hits(more, thread, run, found):
                buffer.readings.append(reading)
            buffer.readings += await take_offered_facts(thread, run, buffer.readings)
        thread = absorb_round(thread, buffer)
        proposal = await reflect_round(thread, run)  # the model proposes gaps ...
        meter = await run.record_meter(thread.last_path)
        thread, proposal = settle_round(take_new_questions(thread, proposal), proposal)
        seconds = measure_part(run.journal, f"{thread.last_path}/", meter.elapsed_seconds)
        thread = thread.record_proposal(proposal, meter, seconds)
        thread = thread.record_decision(*find_first_stop(run.rules, thread, meter))  # ... code decides
        thread = thread.apply_transition(run.advance(thread))  # next phase, or an escape
        await report_round(thread, run)  # one round, one report, checked
        thread = await steer_between_rounds(thread, run)
    thread = thread.close(StopReason.CANCELLED)  # by a person who asked to finish, before or between its rounds
    await share_thread_facts(thread, run)
    run.threads[thread.path] = thread
    return build_thread_findings(thread, await write_summary(thread, run), seconds=run.budget.elapsed)


async def load_rereadings(thread: ThreadState, run: Session, found: Sequence[Hit]) -> list[tuple[Hit, ReadPart]]:
    """Load what a model reads again in this round: unread passages of a page that bear on a gap.

    Without such passages these are the ones near the hit. Only one thread of a run rereads a passage, for all of them.
    """
    loaded: list[tuple[Hit, ReadPart]] = []
    for source, hit, first in select_rereadings(found if run.has_model else (), thread):
        stored, _ = await run.library.document(source)
        everything = await run.library.source_passages(source)
        gaps = drop_subjects(list_missing(thread), thread.subjects, stored.title)
        section = () if hit.passage is not None else select_unread(everything, thread.read_passages, gaps)
        if first and not section:
            place = () if hit.passage is None else (hit.passage,)
            section = select_sections(everything, place, (hit.query,), most=NEAR_CHARS)
        owners = [await run.record_first(f"again#{each.id}", thread.path) for each in section]
        section = [each for each, owner in zip(section, owners, strict=True) if owner == thread.path]
        if section and len(loaded) < MAX_AGAIN:
            wanted = tuple(dict.fromkeys((*list_missing(thread), hit.query)))
            loaded.append((hit, ReadPart(stored, tuple(section), missing=wanted)))
    return loaded


async def answer_from_memory(thread: ThreadState, run: Session) -> ThreadState:
    """Close the thread of a follow-up before its first round if the earlier run's facts answer all that it asks.

    Both must say so, as after a round: the answer test and the model that is shown these facts. Why something is so is
    looked up, unless a fact gives a reason.
    """
    if not (run.request.is_follow_up and thread.recalled and thread.sub_questions and run.has_model):
        return thread
    if not all(_gives_reason(asked, thread.recalled) for asked in thread.sub_questions):
        return thread
    known, proposal = settle_round(thread, await run.call(reflect, reflect_input(thread, run)))
    return thread if proposal.gaps else known.close(StopReason.GAPS_EMPTY)


def _gives_reason(asked: SubQuestion, facts: Sequence[Fact]) -> bool:
    """True if a question asks for no reason, or if one of its facts gives one."""
    wanted = classify_question(asked.text)
    own = (fact.quote for fact in facts if asked.id in fact.answers)
    return AnswerKind.REASON not in wanted.kinds or any(score_answer_fit(each, wanted) >= FITS_KIND for each in own)


async def reflect_round(thread: ThreadState, run: Session) -> Proposal:
    """Return what an analyst makes of a round; a model also words the next one in the same answer.

    Phase and escape of that one come from the rounds alone, so that they are known before. Where a round shows no new
    fact, the last judgement stands, with the summary that it may have written for a last round, and its next round is
    scoped by a shorter prompt that tells what failed.
    """
    if not run.has_model:  # only a prompt has an end
        return await run.call(reflect, reflect_input(thread, run, most=len(thread.facts)))
    given = reflect_input(thread, run, after=thread.apply_transition(run.advance(thread)))
    before = thread.rounds[-2].proposal if len(thread.rounds) > 1 else None
    if before is None or given.record.rounds[-1].facts or not (given.rounds_left or before.findings):  # to be summed up
        return await run.call(reflect, given)
    if run.journal.keys(f"{thread.last_path}/{reflect.prompt}"):  # by an older version
        return await run.call(reflect, given)
    own = tuple(gap for gap in before.gaps if gap.target not in before.answered)  # without those that code added to it
    return replace(before, gaps=own, summary="", next=None, next_topic="", url="", new_sub_questions=())


async def write_summary(thread: ThreadState, run: Session) -> Draft:
    """Return the summary of a thread for the writer of the report; a single thread, or few facts, need none.

    A reflection that was the last one wrote it (ANGLES-17); where code ended a thread before, it is asked for.
    """
    if not thread.facts:
        return Draft(thread.title, "")
    last = thread.last.decision if thread.last is not None else None
    said = last.proposal if last is not None else Proposal("")
    if any(fact.marker in said.findings for fact in thread.facts):
        return Draft(thread.title, said.findings)
    if run.has_model and (run.leaves == 1 or len(thread.facts) <= FEW_FACTS):
        return Draft(thread.title, said.summary)
    return await run.call(summarize, replace(summary_input(thread), today=run.record.today))


async def reconsider_questions(found: Findings, run: Session) -> Findings:
    """Ask once more what is answered, where code accepts facts that siblings found when a thread had ended."""
    thread = run.threads.get(found.path)
    last = thread.last if thread is not None else None
    if thread is None or last is None or last.decision is None or not run.has_model or run.budget.finishing:
        return found
    new = [fact for fact in found.facts if fact.id not in {each.id for each in thread.facts}]
    _, coded, _ = assess_questions(thread.sub_questions, found.facts, name_subject(thread), thread.course.publishers)
    open_ids = {each.id for each in found.sub_questions if not each.is_answered}
    wanted = {each.id for each in coded if each.is_answered and each.id in open_ids}
    if not wanted.intersection(name for fact in new for name in fact.answers):
        return found
    shown = replace(last, readings=(*last.readings, *make_offered_readings(new)), decision=None)
    thread = replace(thread, facts=found.facts, rounds=(*thread.rounds[:-1], shown))
    thread, proposal = settle_round(thread, await run.call(reflect, reflect_input(thread, run, after=thread)))
    done = replace(shown, decision=replace(last.decision, proposal=proposal))
    thread = replace(thread, rounds=(*thread.rounds[:-1], done))
    summary = proposal.findings if any(fact.marker in proposal.findings for fact in thread.facts) else found.summary
    questions, gaps = thread.sub_questions, list_open_gaps(thread)
    return replace(found, summary=summary, facts=thread.facts, sub_questions=questions, gaps=gaps, rounds=thread.rounds)


def _round_start_data(thread: ThreadState, run: Session) -> dict[str, object]:
    """Return what a round starts with; the first one of a thread also states the thread (TRIPLET-5, ROUNDS-24)."""
    data: dict[str, object] = {
        "phase": thread.phase.name,
        "max_rounds": thread.course.max_rounds,
        "elapsed": round(run.budget.elapsed, 3),
    }
    if thread.rounds:
        return data
    return data | {
        "title": thread.title,
        "sub_questions": len(thread.sub_questions),
        "subjects": len(thread.subjects),
    }


def absorb_round(thread: ThreadState, buffer: RoundBuffer) -> ThreadState:
    """Fold what was gathered into the thread. Readings are put in the order of the hits, not of their arrival."""
    hits = buffer.searched.hits
    order = {(hit.url, hit.passage): number for number, hit in reversed(list(enumerate(hits)))}
    readings = sorted(buffer.readings, key=lambda r: (order.get((r.hit.url, r.hit.passage), -1), r.hit.url))
    intent = buffer.intent or Intent("cut before it was scoped", ())
    done = Round(
        number=thread.number + 1,
        phase=thread.phase.name,
        intent=intent,
        hits=hits,
        readings=tuple(readings),
        escape=thread.escape,
        cut=buffer.cut,
        failures=buffer.searched.failures,
        attempts=list_attempts(intent, thread),
        providers=buffer.searched.providers,
    )
    return thread.add_round(done, assess_thread(thread, done))


def build_thread_findings(thread: ThreadState, draft: Draft, *, seconds: float) -> Findings:
    """What a finished thread hands to its parent."""
    readings = [reading for r in thread.rounds for reading in r.readings if reading.outcome is ReadOutcome.READ]
    return Findings(
        path=thread.path,
        title=thread.title,
        summary=draft.body,
        facts=thread.facts,
        contradictions=thread.contradictions,
        sub_questions=thread.sub_questions,
        subjects=thread.subjects,
        gaps=list_open_gaps(thread),
        rounds=thread.rounds,
        max_rounds=thread.course.max_rounds,
        stop=thread.stop,
        angle=thread.angle,
        follow_ups=tuple(dict.fromkeys(f for r in readings for f in r.follow_ups)),
        linked=tuple(dict.fromkeys(link for r in readings for link in r.linked)),
        notes=thread.notes,
        seconds=seconds,
    )


async def steer_between_rounds(thread: ThreadState, run: Session) -> ThreadState:
    """Let a person steer between two rounds, where the profile or the person asks for it (ROUNDS-25).

    A pause that was asked for is no pause of a round that an earlier attempt has passed.
    """
    asked = "" in run.pauses and not run.journal.keys(f"{thread.round_path}/")
    asked = asked or run.profile.pause_between_rounds or f"{thread.path}/{thread.number}" in run.pauses
    if not asked or not thread.open:
        return thread
    key = f"{thread.last_path}/steer"
    if run.journal.get(key) is None:
        await run.journal.flush()
    ask_hint = partial(run.outside.human.between_rounds, thread.path, thread.number)
    return replace(thread, steer=await run.record_text(key, ask_hint))


async def report_round(thread: ThreadState, run: Session) -> None:
    """Write the round's files, check the round, tell it: decision, conflicts, escapes, exhausted questions.

    Raises:
        RoleError: `self_check`, if a point of TRIPLET-51 does not hold after the round.
    """
    last = thread.last
    if last is None or last.decision is None:
        return
    wanted = run.profile.artifacts
    files = run.outside.render_round(thread, wanted, run.outside.clock.utc_time())
    await run.write_artifacts(files)
    written = next((name for name in files if name.startswith("micro-report-")), "")
    check_invariants(thread, run.rules, reported=bool(written) or "micro_reports" not in wanted)
    _emit_round_events(thread, run)
    meter = run.budget.read_meter()
    data: dict[str, object] = {
        "phase": last.phase,
        "new_facts": last.new_facts,
        "confirming": last.confirming_facts,
        "saturation": measure_saturation(thread),
        "gaps": [gap.text for gap in thread.gaps],
        "stop": thread.stop,
        "cut": last.cut,
        "elapsed": last.decision.elapsed_seconds,
        "remaining": last.decision.remaining_seconds,
        "reserve": run.budget.allowance.reserve_seconds,
        "tokens": meter.usage.input_tokens + meter.usage.output_tokens,
        "dollars": round(meter.usage.dollars, 6),
        "max_dollars": run.budget.allowance.dollars,
        "standing": {question.id: question.standing for question in thread.sub_questions},
        "attempts": [asdict(attempt) for attempt in last.attempts],
    }
    if written:
        data["micro_report"] = written
    run.emit(EventType.ROUND_FINISHED, thread.last_path, data, number=last.number)
    done = {"text": f"Round {last.number} is complete.", "new_facts": last.new_facts, "sources": len(last.hits)}
    run.emit(EventType.COMPLETE, thread.last_path, done, number=last.number)


def _emit_round_events(thread: ThreadState, run: Session) -> None:
    last = thread.rounds[-1]
    path, number = thread.last_path, last.number
    for conflict in thread.contradictions:
        data = {"claim": conflict.claim, "difference": conflict.difference, "relation": conflict.relation}
        run.emit(EventType.CONTRADICTION, thread.path, data, number=number, part=f"{conflict.a}~{conflict.b}")
    for each in thread.known_conflicts:
        data = {"claim": each.known, "difference": each.difference, "relation": "contradicts", "status": "OPEN"}
        run.emit(EventType.CONTRADICTION, thread.path, data, number=number, part=f"known~{each.fact}~{each.known}")
    for question in thread.sub_questions:
        if question.standing == "EXHAUSTED":
            data = {"question": question.text, "tag": "#RETRY_EXHAUSTED", "attempts": question.attempts}
            run.emit(EventType.EXHAUSTED, thread.path, data, number=number, part=question.id)
    if thread.escape is not None:
        run.emit(EventType.ESCAPE, path, {"escape": thread.escape}, number=number)
    level = max(plateau_level(thread), thread.plateau_level)
    if level:
        overlap = round(url_overlap(thread), 3)
        run.emit(EventType.PLATEAU, path, {"level": level, "url_overlap": overlap}, number=number)
    if last.decision is not None:
        run.emit(EventType.DECISION, path, write_loop_decision(last.decision), number=number)


def check_invariants(thread: ThreadState, rules: Sequence[tuple[str, StopRule]], *, reported: bool) -> ThreadState:
    """Assert the self-check after a round (TRIPLET-51); `reported` says that its micro-report was written.

    Raises:
        RoleError: `self_check`, naming the points that do not hold.
    """
    points = (("micro-report written", reported), *_list_invariants(thread, frozenset(name for name, _ in rules)))
    broken = [name for name, holds in points if not holds]
    if broken:
        raise RoleError("self_check", f"The self-check of {thread.last_path} failed: {'; '.join(broken)}.")
    return thread


def _list_invariants(thread: ThreadState, rules: frozenset[str]) -> Iterator[tuple[str, bool]]:
    last = thread.last
    yield "round history appended", last is not None and last.number == thread.number
    yield "decision recorded", last is not None and last.decision is not None
    yield "every fact has an address and a literal quote", all(fact.url and fact.quote for fact in thread.facts)
    yield "every fact was read", _facts_were_read(thread)
    yield "sub-question statuses updated", _statuses_updated(thread)
    yield "subject registry updated", _registry_updated(thread)
    yield "drift detection applied", not thread.course.drift or _drift_applied(thread)
    yield "at most the allowed results read", last is None or _count_reads(thread) <= thread.course.reads_per_round
    yield "a search follows its scope", last is None or not last.hits or bool(last.intent.goal)
    yield "plateau detection performed", not (thread.open and thread.course.escapes) or _plateau_judged(thread)
    yield "convergence evaluated", "converged" not in rules or not meets_criteria(thread) or not thread.open
    yield "a stopped thread says why", thread.open or thread.stop is not None


def _facts_were_read(thread: ThreadState) -> bool:
    read = {fact.id for r in thread.rounds for reading in r.readings for fact in reading.facts}
    read |= {fact.id for fact in thread.recalled}
    return all(fact.id in read for fact in thread.facts)


def _statuses_updated(thread: ThreadState) -> bool:
    """Only a statement of PLAUSIBLE or better answers a sub-question, and what is answered is no gap."""
    open_ids = {gap.target for gap in thread.gaps}
    answered = [each for each in thread.sub_questions if each.standing is SubQuestionStatus.ANSWERED]
    return all(
        each.finding and each.grade in (Grade.PLAUSIBLE, Grade.VERIFIED) and each.id not in open_ids
        for each in answered
    )


def _registry_updated(thread: ThreadState) -> bool:
    """Every targeted subject has its round counted; a round that was cut before it looked at anything is none."""
    looked = [r for r in thread.rounds if not r.cut or r.readings]
    return all(subject.rounds == sum(subject.name in r.intent.subjects for r in looked) for subject in thread.subjects)


def _drift_applied(thread: ThreadState) -> bool:
    fetched = (ReadOutcome.READ, ReadOutcome.DRIFTED)
    last = thread.last
    return last is None or all(r.drift_checked for r in last.readings if r.outcome in fetched and not r.again)


def _plateau_judged(thread: ThreadState) -> bool:
    """The level is that of the signals, as they were before the next escape was taken."""
    used = thread.escapes_used[:-1] if thread.escape is not None else thread.escapes_used
    return thread.plateau_level == signal_level(replace(thread, escapes_used=used))


def _count_reads(thread: ThreadState) -> int:
    last = thread.last
    spared = thread.course.attempts > 1  # then another result takes the place of one that could not be read
    counted = (r for r in last.readings if not r.again) if last is not None else ()
    return sum(not spared or reading.outcome in OPENED for reading in counted)

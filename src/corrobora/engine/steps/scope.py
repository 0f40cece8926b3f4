"""Scoping: what one round looks for, before anything is searched; code sees to what may not be left to an analyst.

Knows the role `scope` and the rules that bind its answer: forced subjects, reformulation, fallback strategies, the
number of queries. Does not search.
"""

from __future__ import annotations

from dataclasses import replace

from corrobora.domain.errors import RoleError
from corrobora.domain.evidence import Query
from corrobora.domain.limits import LIMITS
from corrobora.domain.run import EventType
from corrobora.domain.thread import Attempt, Escape, Intent, ScopeInput, ThreadState
from corrobora.engine.inputs import collect_terms, scope_input
from corrobora.engine.session.calls import Session
from corrobora.policies.drift import must_reformulate
from corrobora.policies.queries import (
    add_query,
    choose_time_words,
    has_time_words,
    is_reformulated,
    make_fallback_query,
    reword_query,
    select_fresh_queries,
)
from corrobora.policies.retry import attempt_number, choose_strategy
from corrobora.roles.scope import scope
from corrobora.text.tokens import fold_text, stem_text


async def scope_round(thread: ThreadState, run: Session) -> Intent:
    """Return the intent of the coming round (TRIPLET-13): the analyst's, as far as it keeps the rules."""
    given = scope_input(thread)
    _emit_opening(thread, run)
    intent = await run.call(scope, given)
    if must_change_terms(thread) and not _has_changed(intent, given):
        refused = tuple(query.text for query in intent.queries)
        again = replace(given, path=f"{given.path}/again", past_queries=(*given.past_queries, *refused))
        intent = ensure_changed_query(await run.call(scope, again), given)
    intent = apply_steering(drop_repeated(force_subject(intent, given), given, thread), thread)
    intent = add_date(add_fallback_query(fit_query_count(intent, given), thread), given)
    run.emit_thought(thread, intent.reasoning or intent.goal, intent)
    return intent


def require_scope(thread: ThreadState, run: Session) -> None:
    """Refuse to search for a round that was not scoped (TRIPLET-11).

    Raises:
        RoleError: `no_scope`, naming the round; the journal holds no answer of the role `scope` for it.
    """
    if not run.journal.keys(f"{thread.round_path}/{scope.prompt}#"):
        raise RoleError("no_scope", f"A search of {thread.round_path} was asked for before the round was scoped.")


def must_change_terms(thread: ThreadState) -> bool:
    """True if half of the terms must change: the escape says so, or three results in a row drifted.

    Requirement: TRIPLET-32, TRIPLET-39.
    """
    return thread.escape is Escape.REFORMULATE or must_reformulate(thread)


def _has_changed(intent: Intent, given: ScopeInput) -> bool:
    return any(is_reformulated(query.text, given.past_queries) for query in intent.queries)


def ensure_changed_query(intent: Intent, given: ScopeInput) -> Intent:
    """Put the query that changed enough first; if none did, change the first one by code."""
    new = [query for query in intent.queries if is_reformulated(query.text, given.past_queries)]
    if new:
        return replace(intent, queries=(*new, *(query for query in intent.queries if query not in new)))
    if not intent.queries:
        return intent
    learned = (*given.terms, *(part.text for part in given.open_questions), given.phase.goal)
    first = replace(intent.queries[0], text=reword_query(intent.queries[0].text, given.past_queries, learned))
    return replace(intent, queries=(first, *intent.queries[1:]), reasoning=f"{intent.reasoning} Reworded by code.")


def force_subject(intent: Intent, given: ScopeInput) -> Intent:
    """Aim at a subject that has had no round past half of the budget, whatever the analyst chose (TRIPLET-16)."""
    name = given.forced_subject
    if not name:
        return intent
    wanted = set(stem_text(name))
    queries = intent.queries
    if not queries or not any(wanted <= set(stem_text(query.text)) for query in queries):
        first = queries[0] if queries else Query("", intent=intent.goal)
        queries = (replace(first, text=f"{name} {first.text}".strip()), *queries[1:])
    subjects = tuple(dict.fromkeys((name, *intent.subjects)))
    log = f"Subject {name} has received 0 dedicated search rounds. Forcing coverage."
    return replace(intent, queries=queries, subjects=subjects, forced=log)


def apply_steering(intent: Intent, thread: ThreadState) -> Intent:
    """Ask what a person asked for between the rounds (ROUNDS-25), if the analyst did not."""
    wanted = set(stem_text(thread.steer))
    if not wanted or any(wanted <= set(stem_text(query.text)) for query in intent.queries):
        return intent
    return replace(intent, queries=(Query(thread.steer, intent="asked for by a person"), *intent.queries))


def drop_repeated(intent: Intent, given: ScopeInput, thread: ThreadState) -> Intent:
    """Never ask the same thing of the same place twice (TRIPLET-58); what is left without a query gets a new one."""
    asked = {(fold_text(query.text), query.site) for done in thread.rounds for query in done.intent.queries}
    fresh = tuple(query for query in intent.queries if (fold_text(query.text), query.site) not in asked)
    if not fresh and intent.queries:
        first = intent.queries[0]
        fresh = (replace(first, text=reword_query(first.text, given.past_queries, given.terms)),)
    return replace(intent, queries=fresh)


def fit_query_count(intent: Intent, given: ScopeInput) -> Intent:
    """Keep the number of queries within the phase: what is over is dropped, what is missing is asked for by code.

    Gaps come first, then open questions and what the planner suggested; where all of it was asked before, in new words.
    """
    phase = given.phase
    queries = list(intent.queries[: max(1, phase.max_queries)])
    wanted = (
        *(gap.text.split(": ", 1)[-1] for gap in given.gaps),
        *(part.text for part in given.open_questions),
        *given.suggested,
        given.question,
    )
    while len(queries) < phase.min_queries:
        past = (*given.past_queries, *(query.text for query in queries))
        fresh = select_fresh_queries(wanted, past) or (
            reword_query(wanted[len(queries) % len(wanted)], past, given.terms),
        )
        queries.append(Query(fresh[0], intent=intent.goal))
    return replace(intent, queries=tuple(queries))


def add_fallback_query(intent: Intent, thread: ThreadState) -> Intent:
    """Ask for a sub-question that failed before by the fallback strategy of its attempt (TIMED-15)."""
    if thread.escape is not None or not thread.course.exhaust:
        return intent
    failed = next((q for q in thread.sub_questions if q.id in intent.targets and q.attempts), None)
    if failed is None:
        return intent
    extra = make_fallback_query(failed.text, choose_strategy(failed.attempts), collect_terms(thread))
    texts = [query.text for query in intent.queries]
    kept = add_query(texts, extra, thread.past_queries, most=thread.phase.max_queries)
    known = {query.text: query for query in intent.queries}
    return replace(intent, queries=tuple(known.get(text) or Query(text, intent=failed.text) for text in kept))


def add_date(intent: Intent, given: ScopeInput) -> Intent:
    """Name the time where it matters (TRIPLET-18): a period that is given, or "latest" where now is asked for.

    One query of a round does; the others may look for what has no date.
    """
    asked = " ".join((given.question, given.objective, *(part.text for part in given.open_questions)))
    words = choose_time_words(asked, given.focus_since, given.focus_until)
    if not words or not intent.queries or any(has_time_words(query.text) for query in intent.queries):
        return intent
    last = intent.queries[-1]
    text = f"{last.text[: LIMITS.query_max_chars - len(words) - 1]} {words}"
    if is_reformulated(last.text, given.past_queries) and not is_reformulated(text, given.past_queries):
        return intent  # an escape that must change half of the terms comes first
    return replace(intent, queries=(*intent.queries[:-1], replace(last, text=text)))


def list_attempts(intent: Intent, thread: ThreadState) -> tuple[Attempt, ...]:
    """Return the attempts of a round, with their numbers (TIMED-16)."""
    return tuple(
        Attempt(question.id, attempt_number(question), choose_strategy(question.attempts))
        for question in thread.sub_questions
        if question.id in intent.targets
    )


def _emit_opening(thread: ThreadState, run: Session) -> None:
    """Tell what a round is about to think over (ROUNDS-22)."""
    number, phase = thread.number + 1, thread.phase
    if number == 1:
        text = f"Beginning round 1 ({phase.name}): {phase.goal}"
    else:
        before = f"Analyzing round {number - 1}: {len(thread.gaps)} gaps are open."
        text = f"{before} Round {number} ({phase.name}): {phase.goal}"
    run.emit(EventType.THOUGHT, thread.round_path, {"text": text, "queries": []}, number=number, part="opening")

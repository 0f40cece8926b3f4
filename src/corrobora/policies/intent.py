"""The rules of a round: which queries it asks, whatever an analyst proposed, and what its readers are to look for.

`bind_intent` lists the rules of queries in their order.

Knows one intent, the input it was made from and the thread. Does not know who proposed it, nor how it is searched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from corrobora.domain.evidence import Query
from corrobora.domain.limits import LIMITS
from corrobora.domain.plan import Subject, SubQuestion, SubQuestionStatus
from corrobora.domain.thread import Escape, Intent, ScopeInput, ThreadState
from corrobora.policies.drift import must_reformulate
from corrobora.policies.queries import (
    LATEST,
    add_query,
    choose_strategy,
    choose_time_words,
    extract_terms,
    has_time_words,
    is_reformulated,
    list_unasked_queries,
    make_fallback_query,
    query_core,
    reword_query,
    select_fresh_queries,
)
from corrobora.text.tokens import stem_text


def word_next_round(thread: ThreadState) -> Intent | None:
    """Return the round that the last reflection words.

    One that misses nothing words none: a round that must be all the same takes what the planner suggests.
    """
    proposal = thread.last_proposal
    if proposal is None or proposal.next is None:
        return word_planned_round(thread) if proposal is not None and proposal.done else None
    open_ids, raised = list_open_ids(thread), set(proposal.new_sub_questions)  # they had no id when targets were named
    own = [*proposal.next.targets, *(each.id for each in thread.sub_questions if each.text in raised)]
    return replace(proposal.next, targets=tuple(each for each in dict.fromkeys(own) if each in open_ids) or open_ids)


def word_planned_round(thread: ThreadState) -> Intent | None:
    """Return a round of what the planner suggests and no round has asked, None if nothing is left."""
    goal, texts = thread.phase.goal, list_unasked_queries(thread)[: thread.phase.max_queries]
    subjects = () if thread.angle else tuple(subject.name for subject in thread.subjects)
    asked = tuple(Query(text, intent=goal) for text in texts)
    return Intent(goal, asked, list_open_ids(thread), subjects) if asked else None


def list_open_ids(thread: ThreadState) -> tuple[str, ...]:
    """List the sub-questions that are neither answered nor given up."""
    settled = (SubQuestionStatus.ANSWERED, SubQuestionStatus.EXHAUSTED)
    return tuple(each.id for each in thread.sub_questions if each.standing not in settled)


Queries = tuple[Query, ...]


def bind_intent(intent: Intent, given: ScopeInput, thread: ThreadState, *, web: bool = True) -> Intent:
    """Return the analyst's intent with the queries that the rules allow and demand, applied in this order."""
    queries = cover_subject(_add_terms(intent.queries, given), given.forced_subject, intent.goal)
    queries = _replace_repeated(queries, given, thread)
    queries = _follow_topic(queries, given, thread)
    queries = _add_steering(queries, thread.steer)
    queries = fit_query_count(queries, given, intent.goal)
    queries = _retry_failed_question(queries, intent, given, thread)
    queries = _add_date(_add_terms(queries, given), given, web=web)
    if not given.forced_subject:
        return replace(intent, queries=queries)
    log = f"Subject {given.forced_subject} has received 0 dedicated search rounds. Forcing coverage."
    subjects = tuple(dict.fromkeys((given.forced_subject, *intent.subjects)))
    return replace(intent, queries=queries, subjects=subjects, forced=log)


def must_rescope(intent: Intent, given: ScopeInput, thread: ThreadState) -> bool:
    """True if half of the terms must change and no query of the intent does so.

    They must change where the escape says so, or after three results in a row that drifted (TRIPLET-32, TRIPLET-39).
    """
    changes = thread.escape is Escape.REFORMULATE or must_reformulate(thread)
    return changes and not any(is_reformulated(query.text, given.past_queries) for query in intent.queries)


def ensure_changed_query(intent: Intent, given: ScopeInput) -> Intent:
    """Put the query that changed enough first; if none did, change the first one by code."""
    new = tuple(query for query in intent.queries if is_reformulated(query.text, given.past_queries))
    if new:
        return replace(intent, queries=(*new, *(query for query in intent.queries if query not in new)))
    if not intent.queries:
        return intent
    learned = (*given.terms, *(part.text for part in given.open_questions))
    first = replace(intent.queries[0], text=reword_query(intent.queries[0].text, given.past_queries, learned))
    return replace(intent, queries=(first, *intent.queries[1:]), reasoning=f"{intent.reasoning} Reworded by code.")


def cover_subject(queries: Queries, name: str, goal: str) -> Queries:
    """Aim at a subject that has had no round past half of the budget, whatever the analyst chose (TRIPLET-16)."""
    if not name or _asks_for(queries, name):
        return queries
    first = queries[0] if queries else Query("", intent=goal)
    return (replace(first, text=f"{name} {first.text}".strip()), *queries[1:])


def _asks_for(queries: Queries, wanted: str) -> bool:
    stems = set(stem_text(wanted))
    return any(stems <= set(stem_text(query.text)) for query in queries)


def _replace_repeated(queries: Queries, given: ScopeInput, thread: ThreadState) -> Queries:
    """Never ask the same thing of the same place twice (TRIPLET-58); if nothing is left, reword the first query."""
    asked = {(query_core(query.text), query.site) for done in thread.rounds for query in done.intent.queries}
    fresh = tuple(query for query in queries if (query_core(query.text), query.site) not in asked)
    if fresh or not queries:
        return fresh
    return (replace(queries[0], text=reword_query(queries[0].text, given.past_queries, given.terms)),)


def _follow_topic(queries: Queries, given: ScopeInput, thread: ThreadState) -> Queries:
    """Search for the topic that a model proposed after the last round, if no query does (TIMED-11).

    An escape, a forced subject, a person's hint, and a round of one query come first; so do the queries of a model that
    worded the round in the same answer, if they fill it.
    """
    last = thread.last_proposal
    topic = last.next_topic if last is not None and last.judged else ""
    worded = last.next.queries if last is not None and last.next is not None else ()
    if len(worded) >= given.phase.max_queries and len(queries) >= given.phase.max_queries:
        return queries
    ruled = given.forced_subject or thread.escape is not None or thread.steer or given.phase.max_queries == 1
    if not topic or ruled or _asks_for(queries, topic):
        return queries
    return _add_text(queries, topic, topic, given, thread)


def _add_text(queries: Queries, text: str, intent: str, given: ScopeInput, thread: ThreadState) -> Queries:
    texts = add_query([query.text for query in queries], text, thread.past_queries, most=given.phase.max_queries)
    known = {query.text: query for query in queries}
    return tuple(known.get(each) or Query(each, intent=intent) for each in texts)


def _add_steering(queries: Queries, hint: str) -> Queries:
    """Ask what a person asked for between the rounds (ROUNDS-25), if the analyst did not."""
    if not stem_text(hint) or _asks_for(queries, hint):
        return queries
    return (Query(hint, intent="asked for by a person"), *queries)


def fit_query_count(queries: Queries, given: ScopeInput, goal: str) -> Queries:
    """Keep the number of queries within the phase: surplus ones are dropped, missing ones are added.

    Gaps come first, then open questions and what the planner suggested; where all of it was asked before, in new words.
    """
    found = list(queries[: max(1, given.phase.max_queries)])
    wanted = (
        *(gap.text.split(": ", 1)[-1] for gap in given.gaps),
        *(part.text for part in given.open_questions),
        *given.suggested,
        given.question,
    )
    while len(found) < given.phase.min_queries:
        past = (*given.past_queries, *(query.text for query in found))
        fresh = select_fresh_queries(wanted, past) or (
            reword_query(wanted[len(found) % len(wanted)], past, given.terms),
        )
        found.append(Query(fresh[0], intent=goal))
    return tuple(found)


def _retry_failed_question(queries: Queries, intent: Intent, given: ScopeInput, thread: ThreadState) -> Queries:
    """Ask for a sub-question that failed before by the fallback strategy of its attempt (TIMED-15)."""
    if thread.escape is not None or not thread.course.exhaust:
        return queries
    failed = next((q for q in thread.sub_questions if q.id in intent.targets and q.attempts), None)
    if failed is None or any(_looks_anew(query.text, failed, thread) for query in queries):
        return queries
    extra = make_fallback_query(failed.text, choose_strategy(failed.attempts), given.terms)
    return _add_text(queries, extra, failed.text, given, thread)


def _looks_anew(query: str, failed: SubQuestion, thread: ThreadState) -> bool:
    """True for a query in other words than all before it that speaks of a sub-question."""
    return is_reformulated(query, thread.past_queries) and bool(extract_terms(query) & extract_terms(failed.text))


def _add_terms(queries: Queries, given: ScopeInput) -> Queries:
    """Name what tells the subject from its namesakes, in each query that does not (TRIPLET-17)."""
    return tuple(replace(query, text=_join_terms(query.text, given.disambiguation)) for query in queries)


def _join_terms(text: str, terms: Sequence[str]) -> str:
    said = set(stem_text(text))
    extra = [term for term in terms if not set(stem_text(term)) & said]
    room = LIMITS.query_max_chars - sum(len(term) + 1 for term in extra)
    return " ".join((text[: max(room, 40)].strip(), *extra))[: LIMITS.query_max_chars] if extra else text


def _add_date(queries: Queries, given: ScopeInput, *, web: bool) -> Queries:
    """Name the time where it matters (TRIPLET-18): a period that is given, or "latest" where now is asked of the web.

    One query of a round does; the others may look for what has no date.
    """
    asked = " ".join((given.question, given.objective, *(part.text for part in given.open_questions)))
    words = choose_time_words(asked, given.focus_since, given.focus_until)
    if (
        not words
        or (words == LATEST and not web)
        or not queries
        or any(has_time_words(query.text) for query in queries)
    ):
        return queries
    last = queries[-1]
    text = f"{last.text[: LIMITS.query_max_chars - len(words) - 1]} {words}"
    if given.escape is Escape.REFORMULATE and not is_reformulated(text, given.past_queries):
        return queries  # half of the terms must change: that comes first
    return (*queries[:-1], replace(last, text=text))


def fill_prompt(template: str, thread: ThreadState) -> str:
    """Fill the blanks of a phase's reading prompt (TRIPLET-20); questions are named by their ids."""
    if not template:
        return ""
    criteria = "; ".join(_list_open(thread))
    claims = "; ".join(q.finding for q in thread.sub_questions if q.finding)
    topic = "the question" if is_whole_question(thread.objective, thread.brief.question) else thread.objective
    for blank, value in (
        ("${TOPIC}", topic),
        ("${CRITERIA}", criteria or topic),
        ("${SPECIFIC_CLAIM}", claims or topic),
    ):
        template = template.replace(blank, value)
    return template


def is_whole_question(objective: str, question: str) -> bool:
    """True if a line of research is after the question itself, which its prompts show once."""
    return objective in ("", question, f"Answer: {question}")


def _list_open(thread: ThreadState) -> list[str]:
    return [q.id or q.text for q in thread.sub_questions if q.standing is not SubQuestionStatus.ANSWERED]


def build_rubric(thread: ThreadState) -> str:
    """Compose the minimal rubric of an extraction from the objective and prior findings (TREE-25).

    It names the scope, the open sub-questions by their ids, and the target confidence. It is the same for all sources
    of a round: the sections of a source stand with its passages.
    """
    known = dict.fromkeys(q.finding for q in thread.sub_questions if q.finding)
    missing = _list_open(thread)
    wanted = "all sub-questions" if len(missing) == len(thread.sub_questions) > 0 else "; ".join(missing)
    whole = is_whole_question(thread.objective, thread.brief.question)
    lines = [
        f"Scope: {'the question' if whole else thread.objective}",
        f"Look for: {wanted or 'confirmation of what is known'}",
        f"Leave out: {thread.out_of_scope}" if thread.out_of_scope else "",
        f"Known already: {'; '.join(known)[:600]}" if known else "",
        "Target confidence: 0.7 or more for each key claim.",
    ]
    return "\n".join(line for line in lines if line)


def drop_repeated(tasks: Sequence[str], questions: Sequence[str]) -> tuple[str, ...]:
    """Leave out tasks that have no other words than the questions, which a reader is shown as well."""
    said = {stem for text in questions for stem in stem_text(text)}
    return tuple(each for each in tasks if not said.issuperset(stem_text(each)))


def choose_forced_subject(thread: ThreadState) -> Subject | None:
    """Return the subject the next round must target: the first without a round of its own, or None.

    A subject is forced past half of the rounds (TRIPLET-16), or earlier if the remaining rounds would not suffice for
    one each, or if no sub-question is open: then nothing else keeps the thread from converging.
    """
    waiting = [subject for subject in thread.subjects if subject.rounds == 0]
    left = thread.course.max_rounds - thread.number
    closed = (SubQuestionStatus.ANSWERED, SubQuestionStatus.EXHAUSTED)
    asked = [question.standing for question in thread.sub_questions]
    idle = bool(thread.rounds and asked) and all(standing in closed for standing in asked)
    due = 2 * thread.number > thread.course.max_rounds or len(waiting) >= left or idle
    return waiting[0] if waiting and due else None

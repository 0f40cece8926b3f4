"""Outcome: how a run ended, in one word and its reasons, and what is read again for what is missing.

Reads the assessment of questions and gaps that the findings carry, and counts what was searched and read; *not found*
differs from *could not look* (TRUTH-5). Does not assess anything itself.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from corrobora.domain.evidence import Contradiction, Fact, Hit, ReadOutcome, Relation, SourceId
from corrobora.domain.plan import Node, SubQuestion, SubQuestionStatus, collect_leaves
from corrobora.domain.report import Findings, Methodology, Outcome, SentenceCheck, Support, iter_threads
from corrobora.domain.thread import Gap, Round, StopReason, ThreadState
from corrobora.policies.assessment import assess_questions, merge_facts
from corrobora.policies.grading import EvidenceView
from corrobora.policies.queries import COMPLETION_DRIVE
from corrobora.text import phrases
from corrobora.text.answer_match import read_ratings
from corrobora.text.phrases import format_count
from corrobora.text.tokens import token_overlap

MAX_MISSING = 6  # gaps that a reader is told
COPY_NOTE = "the same text as"  # of a reading that was left out, because the run has read its text elsewhere
AGAIN_NOTE = "read again for what was missing"
MAX_AGAIN = 2  # documents that a round of a model reads again
MAX_REQUESTS_TOLD = 3
AGAIN_RANKS = 3  # results of a query that are looked through for them
MIN_ASKED = 0.6  # share of a gap's content words in the question whose answer closes it
_ITERATION = re.compile(r"~\d+")  # of a path: the iteration of a node


def decide_outcome(
    found: Findings, cited: int, *, failed_searches: int, searches: int, checks: Sequence[SentenceCheck] = ()
) -> tuple[Outcome, str]:
    """Return how a run ended and why.

    COMPLETE if every question is answered and no gap is left, PARTIAL if something is answered, PASSAGES if what was
    found is only near the question. A report of which the `checks` withheld a sentence, or did not find one supported,
    is not complete.
    """
    if not cited:
        return _explain_no_evidence(found, failed_searches=failed_searches, searches=searches)
    reasons: list[str] = []
    answered = sum(each.is_answered for each in found.sub_questions)
    if answered < len(found.sub_questions):
        open_ = {each.id for each in found.sub_questions if not each.is_answered}
        perhaps = len(open_.intersection(gap.target for gap in found.gaps if gap.text.startswith(phrases.UNCERTAIN)))
        more = f", {perhaps} perhaps" if perhaps else ""
        single = f"the question is {'perhaps' if perhaps else 'not'} answered"
        counted = f"{answered} of {len(found.sub_questions)} questions answered{more}"
        reasons.append(single if len(found.sub_questions) == 1 else counted)
    elif found.gaps:
        reasons.append(format_count(len(found.gaps), "gap remains", "gaps remain"))
    if any(_ended_early(leaf) for leaf in iter_threads(found)):
        reasons.append("the research was ended before it was done")
    failed = [child for child in found.children if child.failed]
    if failed:
        reasons.append(f"{len(failed)} of {format_count(len(found.children), 'part')} failed")
    denied = (Support.UNSUPPORTED, Support.CONTRADICTED)
    withheld = sum(bool(check.withheld) for check in checks)
    unsupported = sum(check.support in denied and not check.withheld for check in checks)
    counted = (
        (len(_list_disputed(found)), "contradiction in an answer", "contradictions in answers"),
        (failed_searches, "search failed", "searches failed"),
        (withheld, "sentence withheld", "sentences withheld"),
        (unsupported, "sentence is not supported", "sentences are not supported"),
    )
    reasons += [format_count(*each) for each in counted if each[0]]
    if found.sub_questions and not any(map(is_partly_answered, found.sub_questions)):
        return Outcome.PASSAGES, "; ".join(["no statement that was read clearly answers it", *reasons[1:]])
    return (Outcome.PARTIAL, "; ".join(reasons)) if reasons else (Outcome.COMPLETE, "")


def is_partly_answered(asked: SubQuestion) -> bool:
    """True if a statement passes the answer test for a question, or if a model counts it as answered."""
    return bool(asked.finding) or asked.standing in (SubQuestionStatus.ANSWERED, SubQuestionStatus.PARTIAL)


def merge_gaps(parts: Sequence[Findings], questions: Sequence[SubQuestion]) -> tuple[Gap, ...]:
    """Merge the gaps of parts: what one part lacks and another one answers is no gap of the whole."""
    answered = {each.id for each in questions if each.is_answered}
    return tuple(dict.fromkeys(gap for found in parts for gap in found.gaps if gap.target not in answered))


def take_shared_facts(
    found: Findings,
    shared: Sequence[Fact],
    kept: Sequence[Fact] = (),
    *,
    names: Sequence[str] = (),
    credible: Sequence[str] = (),
) -> Findings:
    """Give a part, and all below it, those facts that answer its questions; what they answer is no gap any more.

    `kept` are facts of its own readers that answer nobody's question: they stay with it. A part that failed takes none.
    What a model did not count as answered stays so, unless the new facts speak of each gap that it named. They are
    graded by the `names` of what is asked about and by `credible` hosts, as the thread that read them would.
    """
    take = partial(take_shared_facts, shared=shared, names=names, credible=credible)
    found = replace(found, children=tuple(map(take, found.children)))
    asked = {question.id: question.text for question in found.sub_questions}
    mine = [replace(fact, answers=own) for fact in shared if (own := tuple(a for a in fact.answers if a in asked))]
    if found.failed or not (mine or kept):
        return found
    graded, after, _ = assess_questions(found.sub_questions, (*found.facts, *mine, *kept), names, credible)
    new = {fact.id for fact in (*mine, *kept)}
    done = {each.id: each for each in after if each.is_answered}
    if is_judged(found):
        known = {fact.id for fact in found.facts}
        fresh = [fact for fact in mine if fact.id not in known]
        gaps = tuple(gap for gap in found.gaps if not _is_closed(gap, asked.get(gap.target, ""), fresh))
        done = {name: each for name, each in done.items() if name not in {gap.target for gap in gaps}}
    else:
        gaps = tuple(gap for gap in found.gaps if gap.target not in done)
    questions = tuple(each if each.is_answered else done.get(each.id, each) for each in found.sub_questions)
    facts = merge_facts(found.facts, [fact for fact in graded if fact.id in new])
    return replace(found, facts=facts, sub_questions=questions, gaps=gaps)


def _is_closed(gap: Gap, question: str, facts: Sequence[Fact]) -> bool:
    """True if a fact that was found for its question passes the answer test for the gap itself."""
    lacking = question if question and gap.text.endswith(question) else gap.text
    return answers_gap(lacking, "", [fact for fact in facts if gap.target in fact.answers])


def answers_gap(lacking: str, question: str, facts: Sequence[Fact]) -> bool:
    """True if a fact passes the answer test for what is lacking, or if the question that facts answered asks for it."""
    asked = question and token_overlap(lacking, question) >= MIN_ASKED
    return bool(asked) or any(check.passed for _, check in EvidenceView(facts).check(lacking))


def is_judged(found: Findings) -> bool:
    """True if a model judged which questions are answered."""
    rounds = (done for leaf in iter_threads(found) for done in leaf.rounds)
    return any(done.proposal is not None and done.proposal.judged for done in rounds)


def list_denied(found: Findings) -> dict[str, list[str]]:
    """Map questions that a model does not count as answered to the gaps that it named; code's own doubts are none."""
    if not is_judged(found):
        return {}
    waiting = (SubQuestionStatus.OPEN, SubQuestionStatus.PARTIAL)
    asked = {each.id: each.text for each in found.sub_questions if each.standing in waiting}
    denied: dict[str, list[str]] = {name: [] for name in asked}
    for gap in found.gaps:
        if gap.target in denied and not gap.text.endswith(asked[gap.target]):
            denied[gap.target].append(gap.text)
    return {name: gaps for name, gaps in denied.items() if gaps}


def explain_refusal(question: str, sub_questions: Sequence[SubQuestion], facts: Sequence[Fact]) -> str:
    """Say why quotes that no model has judged are no report, or "" if one of them is near the question.

    One is near that holds a word of the topic, or where the library is too small to tell, a name; any is where the
    library is not unlikely to speak of the question. An answer in other words stands in such passages often enough.
    """
    if not sub_questions or not facts or any(map(is_partly_answered, sub_questions)):
        return ""
    view = EvidenceView(facts)
    asked = dict.fromkeys((question, *(each.text for each in sub_questions)))
    rated = [each.likely for each in sub_questions if each.likely is not None]
    if any(likely >= read_ratings()[0] for likely in rated):
        return ""
    checked = (check for each in asked for _, check in view.check(each))
    if any(check.share or (check.near and not rated) for check in checked):
        return ""
    return f"{format_count(len(facts), 'statement was', 'statements were')} read and none is near the question"


def _list_disputed(found: Findings) -> list[Contradiction]:
    """The open contradictions between two facts that answer the same sub-question."""
    answers = {fact.id: frozenset(fact.answers) for fact in found.facts}
    nothing = frozenset[str]()
    return [
        each
        for each in found.contradictions
        if each.relation is Relation.CONTRADICTS
        and not each.resolved
        and answers.get(each.a, nothing) & answers.get(each.b, nothing)
    ]


def _ended_early(leaf: Findings) -> bool:
    """True for a thread that a person ended while it still had something to find."""
    answered = bool(leaf.sub_questions) and all(each.is_answered for each in leaf.sub_questions)
    return leaf.stop is StopReason.CANCELLED and not answered


def _explain_no_evidence(found: Findings, *, failed_searches: int, searches: int) -> tuple[Outcome, str]:
    leaves = list(iter_threads(found))
    readings = [reading for leaf in leaves for r in leaf.rounds for reading in r.readings]
    if failed_searches and not readings:
        count = format_count(failed_searches, "search", "searches")
        whys = Counter(why.rstrip(". ") for leaf in leaves for r in leaf.rounds for why in r.failures).most_common(1)
        most = f": {whys[0][0]}" if whys else ""  # why most of them did
        return Outcome.PROVIDER_DOWN, f"{count} failed, none gave a result{most}"
    if readings and not any(reading.outcome in ("read", "drifted", "empty") for reading in readings):
        return Outcome.INACCESSIBLE, f"none of {format_count(len(readings), 'result')} could be read"
    if any(_ended_early(leaf) for leaf in leaves):
        return Outcome.CANCELLED, "the research was ended before anything was found"
    failed = [leaf.failed for leaf in leaves if leaf.failed]
    if not (searches or readings or failed):  # no search was answered, so nothing is known
        if any(r.intent.queries for leaf in leaves for r in leaf.rounds):
            return Outcome.PROVIDER_DOWN, "no search was answered before the time was over"
        return Outcome.LIMIT_REACHED, "the time was over before anything was searched"
    if failed:  # no sub-agent succeeded: the reason of the first is given (ANGLES-24)
        return (
            Outcome.NO_EVIDENCE,
            f"{format_count(len(failed), 'part', 'parts')} failed and nothing was found: {failed[0]}",
        )
    looked = format_count(searches, "search", "searches")
    read = format_count(len(readings), "result")
    return Outcome.NO_EVIDENCE, f"{read} of {looked}, none of use" if readings else f"{looked} found nothing"


def list_missing(thread: ThreadState) -> tuple[str, ...]:
    """What a model named as missing after the last round, also in an earlier pass of the node; not what code adds."""
    rounds = (*thread.earlier, *thread.rounds)
    last = rounds[-1].proposal if rounds else None
    asked = tuple(f": {question.text}" for question in thread.sub_questions)
    gaps = last.gaps if last is not None else ()
    return tuple(gap.text for gap in gaps if not gap.text.endswith(asked))[:MAX_MISSING]


def select_rereadings(hits: Sequence[Hit], thread: ThreadState) -> Sequence[tuple[SourceId, Hit, bool]]:
    """List what a model may read again for what is still missing: the best results of a query that were read before.

    Whoever read them then looked for other things. The first result of each query is read again once, which is told
    with each; the others, and a page that was read again, only for what was not read of them yet.
    """
    if not list_missing(thread) and (thread.rounds or not thread.earlier):  # a further pass looks for something new
        return ()
    past = [r for done in (*thread.earlier, *thread.rounds) for r in done.readings if r.outcome is ReadOutcome.READ]
    pages = {reading.hit.url: reading.source for reading in past}
    passages = {passage: reading.source for reading in past for passage in reading.passages}
    again = {reading.hit.key for reading in past if reading.again}
    ranked = defaultdict[str, list[Hit]](list)
    for hit in hits:
        ranked[hit.query].append(hit)
    chosen: dict[SourceId, tuple[Hit, bool]] = {}
    placed = ((place, hit) for each in ranked.values() for place, hit in enumerate(each[:AGAIN_RANKS]))
    for place, hit in sorted(placed, key=lambda row: row[0]):
        source = pages.get(hit.url) if hit.passage is None else passages.get(hit.passage)
        if source is not None and (place == 0 or hit.passage is None):
            chosen.setdefault(source, (hit, place == 0 and hit.key not in again))
    return [(source, hit, first) for source, (hit, first) in chosen.items() if first or hit.passage is None]


def describe_length(body: str, least: int, done: Methodology) -> list[str]:
    """Tell that a report is shorter than its method wants: it is not padded (ROUNDS-30)."""
    words = len(body.split())
    if not 0 < words < least:
        return []
    cited = f"it cites {done.sources_cited} of {format_count(done.sources_read, 'source')} read"
    has = format_count(words, "word")
    return [f"The report has {has}, {least} or more were wanted: {cited}, and nothing was added to fill it"]


_LIMITS = {
    StopReason.TIME_RESERVE: "the time budget: only the writing reserve was left",
    StopReason.ITERATION_CAP: "the cap on rounds",
    StopReason.LIMIT: "a limit of tokens, money, calls or searches, or of its own task",
}

_LIMITS_OF_CALLS = {"tokens": "the limit of tokens", "dollars": "the limit of money", "calls": "the limit of calls"}


CUT_NOTE = "only its beginning was read"  # of a reading: the page is too long, or was not sent to its end


def describe_limits(leaves: Sequence[Findings], rounds: Sequence[Round], exhausted: str | None) -> tuple[str, ...]:
    """Say which limits ended a thread, or left later calls without a model.

    A cap on rounds limits only where something was left to look for, also after the last pass of a task.
    """
    leaves = list({strip_iterations(leaf.path): leaf for leaf in leaves}.values())
    named = len(leaves) > 1  # the title of the report names a single one
    hit = [
        f"{f'{leaf.title}: ' if named else ''}{_LIMITS[leaf.stop]}"
        f"{f'; open gaps: {len(leaf.gaps)} {COMPLETION_DRIVE}' if leaf.gaps else ''}"
        for leaf in leaves
        if leaf.stop is not None and leaf.stop in _LIMITS and (leaf.gaps or leaf.stop is not StopReason.ITERATION_CAP)
    ]
    if exhausted in _LIMITS_OF_CALLS and not any(leaf.stop is StopReason.LIMIT for leaf in leaves):
        hit.append(f"{_LIMITS_OF_CALLS[exhausted]}: later calls were made without a model")
    unread = [_name_request(each) for each in list_unread_requests(rounds)]
    if unread:
        more = ["..."] if len(unread) > MAX_REQUESTS_TOLD else []
        hit.append(f"not read, though readers asked for it: {'; '.join((*unread[:MAX_REQUESTS_TOLD], *more))}")
    if any(r.cut for r in rounds):
        hit.append("a round was cut when only the writing reserve was left")
    cut = {reading.source for r in rounds for reading in r.readings if reading.note == CUT_NOTE}
    if cut:
        hit.append(f"{format_count(len(cut), 'source')} not read to the end: too long, or not sent whole")
    return tuple(dict.fromkeys(hit))


def list_unread_requests(rounds: Sequence[Round]) -> tuple[Hit, ...]:
    """List the sections and documents that readers asked for and that no reading of these rounds has opened.

    Of another document than the reader's own, whatever a later round has read is enough.
    """
    readings = [each for done in rounds for each in done.readings]
    read = {each for one in readings for each in (one.hit.key, *one.passages, *(fact.passage for fact in one.facts))}
    asked: dict[str, Hit] = {}
    for done in rounds:
        opened = {reading.source for reading in done.readings}
        asked = {name: hit for name, hit in asked.items() if hit.linked_from == hit.title or hit.source not in opened}
        asked |= {hit.passage or hit.key: hit for reading in done.readings for hit in reading.asks}
    return tuple(hit for name, hit in asked.items() if name not in read and hit.key not in read)


def _name_request(asked: Hit) -> str:
    return f"{asked.snippet} of {asked.title}" if asked.snippet and asked.title == asked.linked_from else asked.title


def select_last_iterations(parts: Sequence[Findings]) -> tuple[Findings, ...]:
    """One part for each task: its last iteration that did not fail, with the facts of all of them.

    What an earlier one summed up and missed is no longer true; what it found is.
    """
    last: dict[str, Findings] = {}
    for found in parts:
        before = last.get(task := strip_iterations(found.path))
        if before is None or not found.failed:
            known = {fact.id for fact in found.facts}
            older = (fact for fact in (before.facts if before else ()) if fact.id not in known)
            last[task] = replace(found, facts=(*found.facts, *older))
    return tuple(last.values())


def strip_iterations(path: str) -> str:
    """Return the path of a task in the plan, whatever iteration of which node it stands in."""
    return _ITERATION.sub("", path)


def list_latest(leaves: Sequence[Node], refined: Mapping[str, Node]) -> list[Node]:
    """Return leaves of the plan as refinements have left them; of several nodes the deepest was refined last."""
    nodes = sorted(refined.items(), key=lambda each: each[0].count("/"))
    latest = {strip_iterations(leaf.path): leaf for _, node in nodes for leaf in collect_leaves(node)}
    return [latest.get(leaf.path, leaf) for leaf in leaves]

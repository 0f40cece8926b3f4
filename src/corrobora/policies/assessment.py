"""Assessment: the one value that says which questions and subjects of a thread are answered, and what is missing.

Knows graded statements, the answer test and, where a language model judged, its word: a question is answered if a
statement of grade PLAUSIBLE or better passes the test and the model said so too. Does not know whether the thread
continues: `stop` decides that from this value, and everything that is told of a thread is read from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from corrobora.domain.evidence import Contradiction, Fact, FactId, Grade, Relation
from corrobora.domain.plan import Subject, SubQuestion, SubQuestionStatus
from corrobora.domain.thread import Assessment, Gap, Proposal, Round, ThreadState
from corrobora.policies.drift import assess_subject, select_claim
from corrobora.policies.grading import (
    GRADE_RANK,
    EvidenceView,
    grade_facts,
    group_witnesses,
    read_headings,
    sort_by_grade,
)
from corrobora.policies.queries import is_exhausted
from corrobora.text import phrases
from corrobora.text.answer_match import AnswerCheck, Lack, covers_both_sides, is_answered, read_ratings
from corrobora.text.answers import classify_question
from corrobora.text.mentions import find_names
from corrobora.text.phrases import format_count
from corrobora.text.questions import asks_to_compare, split_parts
from corrobora.text.tokens import fold_text
from corrobora.text.vocabulary import Equivalence, collect_equivalences, detect_language

CHANGE_SHARE = 0.5  # of a question's topic that both statements of a difference must hold to answer it


def assess_thread(thread: ThreadState, done: Round | None = None, *, proposal: Proposal | None = None) -> Assessment:
    """Assess a thread: statements with grades, questions, gaps, subjects and contradictions.

    Pure and repeatable: the same arguments give the same assessment. Nothing found earlier is dropped. It is called
    with `done` when a round was read, and with the `proposal` of the analyst when it was reflected on.
    """
    found = tuple(fact for reading in done.readings for fact in reading.facts) if done else ()
    names = name_subject(thread)
    facts, statements = grade_facts(merge_facts(thread.facts, found), names, thread.course.publishers)
    view = EvidenceView(facts, read_equivalences(thread, facts, proposal))
    conflicts = merge_contradictions(thread.contradictions, proposal.contradictions if proposal else (), facts)
    judged = _read_judgement(thread, proposal, conflicts)
    changes = find_changes(thread.sub_questions, conflicts, view)
    results = [_assess_question(asked, view, judged, changes.get(asked.id, ())) for asked in thread.sub_questions]
    questions = tuple(
        _count_attempt(asked, result.question, thread, done, found)
        for asked, result in zip(thread.sub_questions, results, strict=True)
    )
    subjects = thread.subjects
    if done is not None:
        subjects = tuple(assess_subject(each, done, facts) for each in thread.subjects)
    return Assessment(
        facts=facts,
        sub_questions=questions,
        subjects=subjects,
        contradictions=conflicts,
        statements=statements,
        gaps=_list_gaps(questions, [result.reason for result in results], proposal),
    )


def settle_round(thread: ThreadState, proposal: Proposal) -> tuple[ThreadState, Proposal]:
    """Assess the last round with what the analyst proposed; return the thread and the proposal as it is recorded.

    The gaps and the summary that are recorded are those of the assessment: a gap of a question that is answered is
    closed, and a question that is not answered is a gap, whatever the analyst wrote.
    """
    assessed = assess_thread(thread, proposal=proposal)
    answered = sum(each.is_answered for each in assessed.sub_questions)
    statements = format_count(len(assessed.statements), "statement")
    counts = f"{statements}; {answered} of {format_count(len(assessed.sub_questions), 'question')} answered."
    settled = replace(
        proposal,
        gaps=assessed.gaps,
        summary=f"{counts} {proposal.summary}".rstrip(),
        done=proposal.done or not assessed.gaps,
    )
    return thread.take_assessment(assessed), settled


def assess_questions(
    questions: Sequence[SubQuestion], facts: Sequence[Fact], names: Sequence[str] = (), credible: Sequence[str] = ()
) -> tuple[tuple[Fact, ...], tuple[SubQuestion, ...], tuple[Gap, ...]]:
    """Assess facts without a thread: return them graded, the questions with their status, and the gaps."""
    graded, _ = grade_facts(merge_facts((), facts), names, credible)
    results = [_assess_question(asked, EvidenceView(graded), _Judgement()) for asked in questions]
    assessed = tuple(result.question for result in results)
    return graded, assessed, _list_gaps(assessed, [result.reason for result in results], None)


def name_subject(thread: ThreadState) -> tuple[str, ...]:
    """Return the names that a thread's research is about: those of its question and its subjects."""
    return list_names((thread.brief.question, thread.objective), thread.subjects)


def list_names(texts: Iterable[str], subjects: Iterable[Subject]) -> tuple[str, ...]:
    """Return the names in some texts and those of some subjects, each once."""
    asked = (name for text in texts for name in find_names(text))
    return tuple(dict.fromkeys((*asked, *(name for each in subjects for name in (each.name, *each.aliases)))))


def read_equivalences(thread: ThreadState, facts: Sequence[Fact], proposal: Proposal | None) -> tuple[Equivalence, ...]:
    """Return what the sources call the things of a question: learned terms and definitions."""
    proposals = (*(done.proposal for done in thread.rounds), proposal)
    terms = [term for each in proposals if each is not None for term in each.terms]
    terms += [term for each in thread.rounds for reading in each.readings for term in reading.terms]
    return collect_equivalences(terms, (fact.quote for fact in facts))


@dataclass(frozen=True, slots=True)
class _Result:
    question: SubQuestion
    reason: str = ""  # why it is not answered, as a gap says it


def find_changes(
    questions: Sequence[SubQuestion], conflicts: Sequence[Contradiction], view: EvidenceView
) -> Mapping[str, tuple[FactId, ...]]:
    """Map questions that ask for a change to the facts of the differences that answer them.

    A difference between two editions answers the question whose topic both of its statements hold best, if they hold
    half of it: "rotation" need not be said where it is told which changes are required.
    """
    compared = [asked for asked in questions if asks_to_compare(asked.text)]
    shares = {asked.id: {fact.id: check.share for fact, check in view.check(asked.text)} for asked in compared}
    found: dict[str, list[FactId]] = {}
    for one in conflicts:
        held = {asked: min(own.get(one.a, 0.0), own.get(one.b, 0.0)) for asked, own in shares.items()}
        most = max(held.values(), default=0.0)
        for asked, share in held.items():
            if share == most >= CHANGE_SHARE:
                found.setdefault(asked, []).extend((one.a, one.b))
    return {asked: tuple(facts) for asked, facts in found.items()}


@dataclass(frozen=True, slots=True)
class _Judgement:
    """What an analyst has made of questions and sources so far."""

    answered: Mapping[str, bool] = field(default_factory=dict[str, bool])  # by question; one not judged is absent
    named: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])  # facts, as its answer
    first_hand: frozenset[str] = frozenset()  # sources that the subject itself publishes
    disputed: frozenset[FactId] = frozenset()  # facts of open contradictions
    stored: frozenset[FactId] = frozenset()  # facts of an earlier run: no reader took them for questions of this one

    def may_answer(self, asked: SubQuestion, fact: Fact) -> bool:
        """True unless the reader of a fact took it for other questions, or for none."""
        return asked.id in fact.answers or (fact.id in self.stored and not fact.answers)

    def vouches(self, facts: Sequence[Fact]) -> bool:
        """True if facts of unknown standing answer together: two undisputed publishers, or any that must know."""
        sound = [fact for fact in facts if fact.id not in self.disputed]
        return len(group_witnesses(sound)) > 1 or any(fact.source in self.first_hand for fact in facts)


def _assess_question(
    asked: SubQuestion, view: EvidenceView, judged: _Judgement, changed: Sequence[FactId] = ()
) -> _Result:
    """Assess one question by the statements, the differences that answer it, and what the analyst `judged`.

    Of sources of unknown standing it takes two publishers, or the subject's own, and the model's verdict: what they
    answer is plausible, whatever the grade of each fact.
    """
    claimed = judged.answered.get(asked.id)
    passing = _find_passing(asked, view, judged, changed)
    held = bool(passing) and _has_both_sides(asked.text, view.facts if _is_likely(asked) or claimed else passing)
    grade = passing[0].grade if held else Grade.UNVERIFIED
    if held and claimed and not _is_plausible(grade) and judged.vouches(passing):
        grade = Grade.PLAUSIBLE
    if not held:
        reason = _explain_absence(asked, view, passing, claimed=claimed)
    elif not _is_plausible(grade):
        reason = phrases.UNKNOWN_STANDING
    else:
        reason = "" if claimed or (claimed is None and changed) else _find_doubt(asked, view, judged, passing)
    standing = SubQuestionStatus.PARTIAL if held or claimed else SubQuestionStatus.OPEN
    evidence = dict.fromkeys(fact.id for fact in (*passing, *(f for f in view.facts if asked.id in f.answers)))
    question = replace(
        asked,
        standing=standing if reason else SubQuestionStatus.ANSWERED,
        grade=grade if held else None,
        finding=select_claim(_choose_shown(asked, passing, view, judged), asked.text) if held else "",
        evidence=tuple(evidence),
    )
    return _Result(question, reason)


def _is_plausible(grade: Grade) -> bool:
    return GRADE_RANK[grade] >= GRADE_RANK[Grade.PLAUSIBLE]


def _is_likely(asked: SubQuestion) -> bool:
    """True if what is searched is likely to answer a question."""
    return asked.likely is not None and not asked.is_unlikely


def _explain_absence(asked: SubQuestion, view: EvidenceView, passing: Sequence[Fact], *, claimed: bool | None) -> str:
    """Say why nothing answers a question, or only one side of it."""
    remote = asked.likely is not None and asked.likely < read_ratings()[0]
    if passing:
        return phrases.UNLIKELY if remote and not claimed else phrases.OTHER_SIDE
    if claimed:
        return phrases.CLAIMED
    checked = view.check(asked.text)
    return phrases.UNLIKELY if remote and any(x.suits for _, x in checked) else _explain_miss(checked)


def _find_doubt(asked: SubQuestion, view: EvidenceView, judged: _Judgement, passing: Sequence[Fact]) -> str:
    """Say why an answer that no analyst confirmed, and that no difference gives, does not count yet; "" if it does."""
    if asked.id in judged.answered:
        return phrases.DOUBTED
    if sum(fact.id in judged.disputed for fact in passing) > 1:
        return phrases.DISPUTED
    return "" if is_answered(asked.text, view.statements, asked.likely) else phrases.UNCERTAIN


def _find_passing(
    asked: SubQuestion, view: EvidenceView, judged: _Judgement, changed: Sequence[FactId]
) -> tuple[Fact, ...]:
    """Return the facts that answer a question, the best grade first.

    A statement answers if it passes the answer test, or suits a question that the library is likely to answer and whose
    names were all read, or one that a model counts as answered by it, or is one of several that it names together.
    """
    claimed, checked = judged.answered.get(asked.id), view.check(asked.text)
    absent = frozenset[str].intersection(*(check.missing for _, check in checked)) if checked else ()
    likely = _is_likely(asked) and all(" " in name for name in absent)  # "Mill 4" is often "version 4"
    counts = classify_question(asked.text).quantified  # a number beside a name alone may count anything
    together = _answer_by_parts(asked, view, judged) | _answer_together(asked, view, judged) if claimed else ()
    taken = {*changed, *together}
    return sort_by_grade(
        fact
        for fact, check in checked
        if check.passed
        or fact.id in taken
        or (check.suits and likely and (check.share or not counts))
        or (claimed and judged.may_answer(asked, fact) and (check.suits or not _can_compare(asked, fact)))
    )


def _can_compare(asked: SubQuestion, fact: Fact) -> bool:
    """True if the answer test knows the words of both: it knows English only."""
    return not detect_language(asked.text) and not detect_language(fact.quote)


def _answer_by_parts(asked: SubQuestion, view: EvidenceView, judged: _Judgement) -> frozenset[FactId]:
    """Return the facts that answer the parts of a question, none unless each part has one.

    A statement seldom holds the words of "How many cards does it need, and which networks are set up?" together.
    """
    parts = split_parts(asked.text)
    if len(parts) == 1:
        return frozenset()
    found = [
        [
            fact.id
            for fact, check in view.check(part)
            if check.passed or (check.suits and judged.may_answer(asked, fact))
        ]
        for part in parts
    ]
    return frozenset(each for own in found for each in own) if all(found) else frozenset()


def _answer_together(asked: SubQuestion, view: EvidenceView, judged: _Judgement) -> set[FactId]:
    """Return what a model names as the answer: read for the question, together near to it and of the kind asked for."""
    named = judged.named.get(asked.id, ())  # each names its subject, or release? manuals seldom do
    near = [fact for fact in view.facts if fact.id in named and judged.may_answer(asked, fact)]
    foreign = any(not _can_compare(asked, fact) for fact in near)
    return {fact.id for fact in near} if foreign or view.check_together(asked.text, near) else set()


def _choose_shown(
    asked: SubQuestion, passing: Sequence[Fact], view: EvidenceView, judged: _Judgement
) -> Sequence[Fact]:
    """Return the facts of which one is shown as the finding: those that a model names as the answer, if any.

    Else it is what their reader took for the question; where a model counts it as answered, also without the test.
    """
    claimed = judged.answered.get(asked.id)
    own = sort_by_grade(fact for fact in (view.facts if claimed else passing) if asked.id in fact.answers)
    return [fact for fact in own if claimed and fact.id in judged.named.get(asked.id, ())] or own or passing


def _has_both_sides(question: str, passing: Sequence[Fact]) -> bool:
    """True unless a question compares two things or editions and the passing statements speak of one only."""
    if not asks_to_compare(question):
        return True
    texts = tuple(f"{fact.quote} {read_headings(fact)}" for fact in passing)
    versions = {fact.version for fact in passing}
    return covers_both_sides(question, texts) and (len(versions) != 1 or "" in versions)


def _explain_miss(checked: Sequence[tuple[Fact, AnswerCheck]]) -> str:
    """Say what the nearest miss lacks; a name that another statement has is not said to be missing."""
    nearest = max((check for _, check in checked), key=lambda check: check.rank, default=None)
    if nearest is None:
        return phrases.NOTHING_FOUND
    match nearest.lack:
        case Lack.NAME if not any(fold_text(nearest.what) in fold_text(fact.quote) for fact, _ in checked):
            return f"{phrases.UNNAMED} {nearest.what}"
        case Lack.KIND:
            return f"{phrases.UNSTATED} {nearest.what}"
        case _:
            return phrases.NO_ANSWER


def _list_gaps(questions: Sequence[SubQuestion], reasons: Sequence[str], proposal: Proposal | None) -> tuple[Gap, ...]:
    """List what is missing: each question that is not answered, in the model's words where it named the gap."""
    proposed = proposal.gaps if proposal is not None else ()
    ids = {each.id for each in questions}
    gaps: list[Gap] = []
    for asked, reason in zip(questions, reasons, strict=True):
        if asked.is_answered:
            continue
        own = [gap for gap in proposed if gap.target == asked.id]
        gaps += own or [Gap(f"{reason}: {asked.text}", asked.id)]
    return tuple(dict.fromkeys((*gaps, *(gap for gap in proposed if gap.target not in ids))))


def _read_judgement(thread: ThreadState, proposal: Proposal | None, conflicts: Sequence[Contradiction]) -> _Judgement:
    """Return whether the analyst counts each question as answered, and which sources it counts as first-hand.

    What was once counted, or is now, counts unless a gap of the last proposal names the question: no gap that a model
    names is closed unread.
    """
    past = (*thread.earlier, *thread.rounds)
    earlier = [each.proposal for each in past if each.proposal is not None]
    last = (proposal,) if proposal is not None else ()
    judged = any(each.judged for each in (*earlier, *last))
    verdicts = dict.fromkeys((each.id for each in thread.sub_questions), False) if judged else {}
    verdicts |= dict.fromkeys((asked for each in earlier for asked in each.answered), True)
    verdicts |= dict.fromkeys((asked for each in last for asked in each.answered), True)
    verdicts |= dict.fromkeys((gap.target for each in last for gap in each.gaps), False)
    disputes = (each for each in conflicts if each.relation is Relation.CONTRADICTS and not each.resolved)
    sides = (side for each in disputes for side in (each.a, each.b))
    own = (source for each in (*earlier, *last) for source in each.first_hand)
    stored = frozenset(fact.id for fact in thread.recalled)
    named = {asked: facts for each in (*earlier, *last) for asked, facts in each.answered_by}
    return _Judgement(verdicts, named, frozenset(own), frozenset(sides), stored)


def _count_attempt(
    before: SubQuestion, asked: SubQuestion, thread: ThreadState, done: Round | None, found: Sequence[Fact]
) -> SubQuestion:
    """Count a failed attempt, and give a question up after too many.

    A cut round, or one that did not target it, is no failed attempt.
    """
    attempts = before.attempts
    if done is not None and asked.id in done.intent.targets and not done.cut:
        got = any(asked.id in fact.answers for fact in found)
        attempts += not got and not asked.is_answered
    asked = replace(asked, attempts=attempts)
    if thread.course.exhaust and not asked.is_answered and is_exhausted(asked, thread.course.attempts):
        return replace(asked, standing=SubQuestionStatus.EXHAUSTED)
    return asked


def merge_facts(known: Sequence[Fact], found: Sequence[Fact]) -> tuple[Fact, ...]:
    """Merge facts by id, in order of first occurrence; a repeated fact gains answers, subjects and confidence."""
    joined: dict[FactId, Fact] = {}
    for fact in (*known, *found):
        before = joined.get(fact.id)
        joined[fact.id] = fact if before in (None, fact) else _merge_fact(before, fact)
    return tuple(joined.values())


def merge_contradictions(
    known: Sequence[Contradiction], found: Sequence[Contradiction], facts: Sequence[Fact]
) -> tuple[Contradiction, ...]:
    """Merge contradictions, one for each claim of a pair of known facts; a resolved one stays resolved."""
    ids = {fact.id for fact in facts}
    joined = {each.key: each for each in known}
    for each in found:
        if each.a not in ids or each.b not in ids or each.a == each.b:
            continue
        before = joined.get(each.key)
        if before is None:
            joined[each.key] = each
        elif each.resolved and not before.resolved:
            joined[each.key] = replace(before, resolved=True, scope=each.scope or before.scope)
    return tuple(joined.values())


def _merge_fact(before: Fact, again: Fact) -> Fact:
    return replace(
        before,
        answers=tuple(dict.fromkeys((*before.answers, *again.answers))),
        subjects=tuple(dict.fromkeys((*before.subjects, *again.subjects))),
        confidence=max(before.confidence, again.confidence),
        score=max(before.score, again.score),
    )

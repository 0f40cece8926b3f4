"""Small threads, rounds and facts for tests of policies: what a test names is what it is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import strategies as st

from corrobora.domain.evidence import (
    Fact,
    Grade,
    Hit,
    PassageId,
    Query,
    Reading,
    ReadOutcome,
    SourceId,
    fact_id,
)
from corrobora.domain.limits import Allowance, Meter, Usage
from corrobora.domain.plan import Brief, Coverage, Subject, SubQuestion, SubQuestionStatus
from corrobora.domain.thread import (
    Course,
    Decision,
    Escape,
    Gap,
    Intent,
    Phase,
    Proposal,
    Round,
    StopReason,
    ThreadState,
)

S4_PHASES = (
    Phase("SURVEY", min_rounds=1, max_rounds=2),
    Phase("EXTRACT", min_rounds=1, max_rounds=3),
    Phase("DIVERSIFY", min_rounds=1, max_rounds=2),
    Phase("VERIFY"),
)


def fact(
    quote: str = "The harbour of Ardal was opened to steamers in 1874.",
    *,
    source: str = "S1",
    passage: str = "C1",
    answers: Sequence[str] = (),
    subjects: Sequence[str] = (),
    origin: str = "",
    kind: str = "document",
    url: str = "",
    primary: bool = False,
    confidence: float = 0.5,
    grade: Grade = Grade.UNVERIFIED,
) -> Fact:
    return Fact(
        id=fact_id(SourceId(source), quote),
        claim=quote,
        quote=quote,
        source=SourceId(source),
        passage=PassageId(passage),
        start=0,
        end=len(quote),
        confidence=confidence,
        grade=grade,
        answers=tuple(answers),
        subjects=tuple(subjects),
        origin=origin or f"origin of {source}",
        kind=kind,
        url=url or f"{source}.md",
        primary=primary,
    )


def hit(url: str) -> Hit:
    return Hit(url, url, query="q")


def reading(url: str, outcome: ReadOutcome = ReadOutcome.READ, facts: Sequence[Fact] = ()) -> Reading:
    return Reading(hit(url), outcome, facts=tuple(facts))


def one_round(
    number: int = 1,
    urls: str = "",
    *,
    new: int = 1,
    drifted: str = "",
    found_again: str = "",
    facts: Sequence[Fact] = (),
    targets: Sequence[str] = (),
    subjects: Sequence[str] = (),
    phase: str = "research",
    cut: bool = False,
    failures: Sequence[str] = (),
    decision: Decision | None = None,
    query: str = "a question",
) -> Round:
    """A round that read `urls` (names separated by spaces), of which `drifted` ones drifted."""
    read = [reading(url, facts=facts if at == 0 else ()) for at, url in enumerate(urls.split())]
    off = [reading(url, ReadOutcome.DRIFTED) for url in drifted.split()]
    names = (*found_again.split(), *urls.split(), *drifted.split())
    return Round(
        number=number,
        phase=phase,
        intent=Intent("goal", (Query(query),), tuple(targets), tuple(subjects)),
        hits=tuple(hit(name) for name in names),
        readings=(*read, *off),
        new_facts=new,
        cut=cut,
        failures=tuple(failures),
        decision=decision,
    )


def thread(
    *rounds: Round,
    sub_questions: Sequence[SubQuestion] = (),
    subjects: Sequence[Subject] = (),
    phases: Sequence[Phase] = (Phase("research"),),
    max_rounds: int = 10,
    attempts: int = 3,
    escapes: bool = True,
    exhaust: bool = True,
    used: Sequence[Escape] = (),
    facts: Sequence[Fact] = (),
    phase_index: int = 0,
    phase_since: int = 0,
    brief: Brief | None = None,
) -> ThreadState:
    """A thread with these rounds, numbered from 1."""
    course = Course(
        tuple(phases), max_rounds=max_rounds, attempts=attempts, escapes=escapes, exhaust=exhaust, drift=True
    )
    return ThreadState(
        path="root",
        title="Thread",
        objective="Find out",
        brief=brief or Brief("What is asked?"),
        course=course,
        sub_questions=tuple(sub_questions),
        subjects=tuple(subjects),
        rounds=tuple(replace(each, number=number) for number, each in enumerate(rounds, 1)),
        facts=tuple(facts),
        escapes_used=tuple(used),
        phase_index=phase_index,
        phase_since=phase_since,
    )


def decided(
    *gaps: Gap | str,
    done: bool = False,
    stop: StopReason | None = None,
    iteration: int = 1,
    remaining: float | None = None,
) -> Decision:
    """A decision with a proposal of these gaps."""
    named = tuple(gap if isinstance(gap, Gap) else Gap(gap) for gap in gaps)
    proposal = Proposal("What was learned", named, done=done)
    return Decision(iteration, proposal, stop, 0.0, remaining)


def meter(
    elapsed: float = 0.0,
    *,
    seconds: float | None = 300.0,
    reserve: float = 90.0,
    tokens: int | None = None,
    dollars: float | None = None,
    searches: int | None = None,
    usage: Usage = Usage(),
    searched: int = 0,
) -> Meter:
    allowance = Allowance(seconds, reserve, tokens, dollars, searches)
    return Meter(allowance, elapsed, usage, searched)


def asked(
    number: int = 1, standing: SubQuestionStatus = SubQuestionStatus.OPEN, grade: Grade | None = None, attempts: int = 0
) -> SubQuestion:
    text = "When was the harbour of Ardal opened to steamers?" if number == 1 else f"Who painted mill {number}?"
    return SubQuestion(f"sq-{number}", text, standing, grade, attempts=attempts)


def subject(name: str = "Ardal", rounds: int = 0, coverage: Coverage = Coverage.UNCOVERED) -> Subject:
    return Subject(name, rounds=rounds, coverage=coverage)


_URLS = st.lists(st.sampled_from("abcdefgh"), max_size=6, unique=True).map(" ".join)


def any_rounds(most: int = 8) -> st.SearchStrategy[list[Round]]:
    """Rounds of every kind: productive, stale, drifted, cut, failed, empty."""
    built = st.builds(
        one_round,
        urls=_URLS,
        new=st.integers(0, 6),
        drifted=_URLS,
        found_again=_URLS,
        cut=st.booleans(),
        failures=st.sampled_from([(), ("search failed",)]),
        decision=st.sampled_from([None, decided(), decided("a gap"), decided(done=True)]),
    )
    return st.lists(built, max_size=most)


def any_thread() -> st.SearchStrategy[ThreadState]:
    """Threads at every point of their life."""
    return st.builds(
        lambda rounds, used, index, maximum, escapes, asks: thread(
            *rounds,
            used=used,
            phases=S4_PHASES,
            phase_index=index,
            max_rounds=maximum,
            escapes=escapes,
            sub_questions=asks,
        ),
        any_rounds(),
        st.lists(st.sampled_from(list(Escape)), unique=True),
        st.integers(0, 3),
        st.integers(1, 10),
        st.booleans(),
        st.lists(
            st.builds(asked, st.just(1), st.sampled_from(SubQuestionStatus), st.sampled_from([None, *Grade])),
            max_size=1,
        ),
    )

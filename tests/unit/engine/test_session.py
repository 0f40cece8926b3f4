"""Session: calls are journaled once, analysts follow one another, retries are bounded, a person is asked once."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from tests.fakes import FakeClock, LoopTime, MemoryJournal, run_virtually
from tests.profiles.research import LibraryRun, Mixed, make_run

from corrobora.domain.errors import CorroboraError, LimitReached, NeedsHuman, ProviderError, RoleError
from corrobora.domain.limits import Usage
from corrobora.domain.plan import Node, Plan
from corrobora.domain.report import Critique, Draft, Findings
from corrobora.domain.run import EventType, Stage
from corrobora.engine.investigate import enter_level, is_too_deep
from corrobora.engine.planning import authorize_plan
from corrobora.engine.session import Session
from corrobora.engine.session.journal import CallMeta, encode, encode_input, measure_part, sum_earlier_seconds
from corrobora.ports import Entry
from corrobora.roles.review import Reviewing, critique
from corrobora.testing.conformance import SAMPLES

GIVEN = Reviewing("root/critique", "What of Ardal?", Draft("Ardal", "It is old."), ())
LONG = Critique(("too long",))
PLAN = Plan(Node("root", "Ardal", "Describe Ardal"))


class Refusing:
    """A person who refuses every plan, and counts how often they were asked."""

    def __init__(self) -> None:
        self.asked = 0

    async def authorize(self, plan: Plan) -> bool:
        self.asked += 1
        return not plan.root.path

    async def between_rounds(self, path: str, number: int) -> str:
        return f"{path} {number}"


async def test_an_answered_call_is_never_played_again_also_by_the_next_attempt() -> None:
    analyst = Mixed({"critique": LONG})
    first = await make_run("timed", analysts=(analyst,))
    assert await first.session.call(critique, GIVEN) == LONG
    second = await make_run("timed", analysts=(analyst,), journal=first.journal.next_attempt())
    assert await second.session.call(critique, GIVEN) == LONG
    assert len(analyst.played) == 1
    await second.session.call(critique, replace(GIVEN, question="Another one?"))
    assert len(analyst.played) == 2


async def test_many_who_wait_for_one_answer_pay_for_it_once() -> None:
    analyst = Mixed({"critique": LONG}, usage=Usage(calls=1, input_tokens=10))
    made = await make_run("timed", analysts=(analyst,))
    answers = await asyncio.gather(*(made.session.call(critique, GIVEN) for _ in range(5)))
    assert answers == [LONG] * 5
    assert len(analyst.played) == 1


@pytest.mark.parametrize("error", [RoleError("refusal", "no"), ProviderError("provider_quota", "no credit")])
async def test_the_next_analyst_plays_where_one_fails_and_it_is_told_why(error: CorroboraError) -> None:
    made = await make_run("timed", analysts=(Mixed({"critique": error}, "first"), Mixed({"critique": LONG}, "second")))
    assert await made.session.call(critique, GIVEN) == LONG
    assert [e.data for e in made.journal.events if e.type is EventType.FALLBACK] == [
        {"role": "critique", "why": error.code}
    ]


async def test_what_a_failed_analyst_was_paid_is_on_the_bill() -> None:
    error = RoleError("json_invalid", "no")
    error.usage = Usage(calls=2, dollars=1.0)
    paid = Mixed({"critique": LONG}, "second", usage=Usage(calls=1, dollars=0.5))
    made = await make_run("timed", analysts=(Mixed({"critique": error}, "first"), paid))
    await made.session.call(critique, GIVEN)
    used = made.session.budget.read_meter().usage
    assert (used.calls, used.dollars) == (3, 1.5)


async def test_if_every_analyst_fails_the_last_error_is_raised_and_nothing_is_journaled() -> None:
    made = await make_run("timed", analysts=(Mixed({"critique": RoleError("refusal", "no")}),))
    with pytest.raises(RoleError, match="no"):
        await made.session.call(critique, GIVEN)
    assert made.journal.keys("root/critique") == []


async def tries(made: LibraryRun, error: ProviderError) -> int:
    """Count how often an attempt that always fails is made."""
    count = 0

    async def attempt() -> None:
        nonlocal count
        count += 1
        raise error

    with pytest.raises(ProviderError):
        await made.session.call_with_retries(attempt)
    return count


async def test_only_failures_that_may_pass_are_tried_again_and_not_for_ever() -> None:
    clock = FakeClock()
    made = await make_run("timed", clock=clock)
    assert await tries(made, ProviderError.request_failed("p", status=401)) == 1
    assert clock.slept == []
    assert 1 < await tries(made, ProviderError.request_failed("p", status=503)) < 20
    assert made.session.budget.until_deadline > 0


async def test_tree_a_plan_that_a_person_refuses_does_not_run_and_an_agreed_one_is_asked_once() -> None:
    person = Refusing()
    made = await make_run("timed", human=person, authorize="human")
    with pytest.raises(LimitReached):
        await authorize_plan(PLAN, made.session)
    agreed = await make_run("timed", human=person, authorize="human", journal=MemoryJournal())
    await agreed.journal.put(Entry("authorized", "human"))
    await authorize_plan(PLAN, agreed.session)
    assert person.asked == 1


async def test_angles_a_run_pauses_after_the_stage_it_was_asked_for() -> None:
    made = await make_run("timed")
    made.session.until = Stage.PLAN
    made.session.enter_stage(Stage.PLAN)
    with pytest.raises(NeedsHuman) as paused:
        made.session.enter_stage(Stage.INVESTIGATE)
    assert paused.value.code == "stage_reached"


async def test_tree_no_executor_below_the_deepest_level_and_the_manager_is_no_level() -> None:
    run = (await make_run("tree", max_depth=1)).session
    leaf = Node("root/1", "Leaf", "x")
    inner, root = Node("root/2", "Inner", "x", (leaf,)), Node("root", "Root", "x", (leaf,))
    with enter_level(root, run):
        assert is_too_deep(inner, run)
        assert not is_too_deep(leaf, run)
    run.gathers_plans = True
    with enter_level(root, run):
        assert not is_too_deep(inner, run)


async def test_siblings_are_bounded_in_number_and_keep_the_order_of_the_plan() -> None:
    busy, most = 0, 0

    async def perform(node: Node, _: Session) -> Findings:
        nonlocal busy, most
        busy += 1
        most = max(most, busy)
        for _turn in range(9 - int(node.path[-1])):  # later ones end first
            await asyncio.sleep(0)
        busy -= 1
        return Findings(node.path, node.title)

    run = (await make_run("angles", max_concurrency=2, leaves_in_turn=False)).session
    nodes = [Node(f"root/{n}", f"part {n}", "x") for n in range(1, 6)]
    found = await run.run_siblings(perform, nodes)
    assert [each.path for each in found] == [node.path for node in nodes]
    assert most == 2


async def test_the_working_time_of_earlier_attempts_is_read_from_the_journal() -> None:
    journal = MemoryJournal()
    assert sum_earlier_seconds(journal) == 0.0
    made = await make_run("timed", journal=journal, clock=FakeClock())
    await made.session.outside.clock.sleep(7.0)

    async def nine() -> tuple[str, CallMeta]:
        return "9", CallMeta()

    await made.session.call_once("root/x", nine, paid=False)
    assert sum_earlier_seconds(journal) == 7.0


async def test_what_a_part_took_is_read_from_its_calls_so_that_a_resumed_run_says_the_same() -> None:
    journal = MemoryJournal()
    made = await make_run("timed", journal=journal, clock=FakeClock())
    clock = made.session.outside.clock

    async def take_three() -> tuple[str, CallMeta]:
        await clock.sleep(3.0)
        return "3", CallMeta()

    await clock.sleep(7.0)
    for key in ("root/round/1/x", "root/round/1/y", "root/round/2/x"):
        await made.session.call_once(key, take_three, paid=False)
    assert measure_part(journal, "root/round/1/", 14.0) == 7.0
    assert measure_part(journal, "root/round/2/", 17.5) == 4.5
    assert measure_part(journal, "root/round/3/", 20.0) == 0.0


def test_an_analyst_that_hangs_is_given_up_and_asked_ever_more_briefly_until_it_answers() -> None:
    waits: list[float] = []

    class Hanging(Mixed):
        hangs = True

        async def play(self, role, given):
            began = asyncio.get_running_loop().time()
            try:
                return await (asyncio.Event().wait() if self.hangs else super().play(role, given))
            finally:
                waits.append(asyncio.get_running_loop().time() - began)

    async def calls() -> Hanging:
        first = Hanging({"critique": LONG}, name="first")
        made = await make_run("timed", analysts=(first, Mixed({"critique": LONG})), clock=LoopTime())
        for number in range(3):
            await made.session.call(critique, replace(GIVEN, question=f"What of {number}?"))
        first.hangs = False
        await made.session.call(critique, replace(GIVEN, question="What now?"))
        await made.session.call(critique, replace(GIVEN, question="And now?"))
        return first

    first = run_virtually(calls())
    assert waits[0] == pytest.approx(105.0)  # half of five minutes without the reserve
    assert waits[1] <= waits[0] / 4
    assert waits[2] <= waits[1] / 2
    assert [given.question for given in first.given("critique")] == ["What now?", "And now?"]


@pytest.mark.parametrize(("role", "given"), SAMPLES, ids=[role.prompt for role, _ in SAMPLES])
def test_the_input_of_a_call_is_written_as_earlier_versions_wrote_it_into_its_key(role, given):
    assert encode_input(given) == encode(role.takes, given)


def test_a_number_without_an_end_is_written_alike():
    usage = Usage(dollars=float("inf"))
    assert encode_input(usage) == encode(Usage, usage)

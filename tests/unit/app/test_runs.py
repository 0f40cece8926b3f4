"""The person behind a run: stored answers, and what is said while there is none."""

from __future__ import annotations

import pytest

from corrobora.app.attempts import StoredHuman
from corrobora.app.runs import PLAN_TOPIC, YES, pause_topic
from corrobora.domain.errors import NeedsHuman
from corrobora.domain.plan import Node, Plan
from corrobora.domain.run import Request
from corrobora.storage.journal.runs import Runs
from corrobora.storage.postgres import Database

TREE = Plan(Node("root", "t", "o"))


async def test_tree_a_plan_waits_until_someone_says_yes(database: Database) -> None:
    runs = Runs(database)
    run = await runs.create(Request("q"))
    human = StoredHuman(runs, run)
    with pytest.raises(NeedsHuman, match=f"corrobora authorize {run}") as caught:
        await human.authorize(TREE)
    assert caught.value.code == "plan_not_authorized"
    await runs.store_answer(run, PLAN_TOPIC, "no")
    assert not await human.authorize(TREE)
    await runs.store_answer(run, PLAN_TOPIC, YES)
    assert await human.authorize(TREE)


async def test_rounds_a_pause_names_its_round_and_takes_the_hint_for_it_alone(database: Database) -> None:
    runs = Runs(database)
    run = await runs.create(Request("q"))
    human = StoredHuman(runs, run)
    with pytest.raises(NeedsHuman) as caught:
        await human.between_rounds("root/1", 2)
    topic = pause_topic(str(caught.value))
    assert (caught.value.code, topic) == ("paused", "root/1/2")
    assert topic is not None
    await runs.store_answer(run, topic, "look at the pond")
    assert await human.between_rounds("root/1", 2) == "look at the pond"
    with pytest.raises(NeedsHuman):
        await human.between_rounds("root/1", 3)


def test_other_reasons_name_no_round() -> None:
    assert pause_topic("The plan waits for authorization.") is None

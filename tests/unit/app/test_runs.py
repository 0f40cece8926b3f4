"""Targets of a delivery: what the operator has set, and nothing that a request names."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from corrobora.app.delivery import open_target
from corrobora.app.runs import PLAN_TOPIC, YES, StoredHuman, pause_topic
from corrobora.config import load_settings
from corrobora.domain.errors import NeedsHuman, UserError
from corrobora.domain.plan import Node, Plan
from corrobora.domain.run import Request
from corrobora.storage.journal.runs import Runs
from corrobora.storage.postgres import Database

SECRET = "whsec_" + base64.b64encode(b"0123456789abcdef0123456789abcdef").decode()


def test_angles_the_address_of_a_webhook_is_the_operators_alone():
    settings = load_settings(
        env={"CORROBORA_DELIVERY_WEBHOOK_URL": "https://hook.example.org", "WEBHOOK_SECRET": SECRET},
        user_file=Path("/nonexistent"),
    )
    assert open_target("webhook", "", settings).name == "webhook"
    with pytest.raises(UserError):
        open_target("webhook", "https://elsewhere.example.org", settings)


@pytest.mark.parametrize("kind", ["email", "webhook", "pigeon"])
def test_angles_a_target_without_a_server_is_refused_before_the_run(kind: str):
    settings = load_settings(env={}, user_file=Path("/nonexistent"))
    with pytest.raises(UserError):
        open_target(kind, "a@b.org" if kind == "email" else "", settings)


TREE = Plan(Node("root", "t", "o"))


async def test_tree_a_plan_waits_until_someone_says_yes(database: Database) -> None:
    runs = Runs(database)
    run = await runs.create(Request("q"))
    human = StoredHuman(runs, run)
    with pytest.raises(NeedsHuman, match=f"corrobora authorize {run}") as caught:
        await human.authorize(TREE)
    assert (caught.value.code, "--words" in str(caught.value)) == ("plan_not_authorized", False)
    with pytest.raises(NeedsHuman, match='--words "Authorized to execute"'):  # only a profile with a phrase asks for it
        await StoredHuman(runs, run, phrase="Authorized to execute").authorize(TREE)
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

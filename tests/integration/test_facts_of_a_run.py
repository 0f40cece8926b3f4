"""What belongs to a whole run, over the wire: no plan's division of labour and no reader's thread loses what was read.

Knows what the scripted model says for each role. Does not know how threads and tasks are stored.
"""

from __future__ import annotations

import json

from tests.integration.rig import good, rig

from corrobora.testing.protocols import WireRequest
from corrobora.testing.scripted_model import answer_prompt
from corrobora.testing.server import ModelServer

GATES = "How often must the sluice gates of Orrin mill be greased?"
POND = "How high may the mill pond of Orrin stand?"


def is_role(asked: WireRequest, role: str) -> bool:
    return f"# Role: {role}\n" in asked.system


def make_plan(**fields: str) -> str:
    tasks = [
        {"key": key, "title": text, "objective": text, "queries": [text], "sub_questions": [text], **fields}
        for key, text in (("gates", GATES), ("pond", POND))
    ]
    return json.dumps({"tier": "moderate", "tasks": tasks})


async def test_what_one_task_leaves_to_another_is_not_left_out_of_the_thread_that_works_on_both(database_url: str):
    def answer(asked: WireRequest) -> str:
        return (
            make_plan(out_of_scope="gates and pond")
            if is_role(asked, "plan")
            else answer_prompt(asked.system, asked.user)
        )

    async with ModelServer(answers=answer) as server, rig(database_url) as lab:
        await good(await lab.run(server, "timed"), lab)
    assert any(is_role(asked, "scope") for asked in server.asked)
    assert not [asked.user for asked in server.asked if "gates and pond" in asked.user]

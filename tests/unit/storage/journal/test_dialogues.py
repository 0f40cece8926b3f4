"""Dialogues: kept turn by turn, one writer at a time, the newest open one found without a name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from corrobora.domain.errors import Stale, UserError
from corrobora.domain.run import Request, RunId
from corrobora.storage.journal.dialogues import Dialogues, dialogue_run_id, new_dialogue
from corrobora.storage.postgres import Database

ASKED = Request("", "tree", libraries=("mill",))


async def test_tree_a_dialogue_is_kept_as_it_was_said(database: Database) -> None:
    dialogues = Dialogues(database)
    kept = await dialogues.save(replace(new_dialogue(ASKED), said="{}", pending="How long?"))
    found = await dialogues.get(kept.id)
    assert (found.request, found.said, found.pending, found.run, found.version) == (ASKED, "{}", "How long?", None, 1)
    assert found.updated_at


async def test_a_writer_that_saw_an_older_version_is_refused(database: Database) -> None:
    dialogues = Dialogues(database)
    first = await dialogues.save(new_dialogue(ASKED))
    assert (await dialogues.save(first)).version == 2
    with pytest.raises(Stale):
        await dialogues.save(first)


async def test_without_a_name_the_newest_one_without_a_run_is_meant(database: Database) -> None:
    dialogues = Dialogues(database)
    for row in await dialogues.list():
        await dialogues.remove(row.id)
    with pytest.raises(UserError, match="no dialogue to continue"):
        await dialogues.get("")
    waiting = await dialogues.save(new_dialogue(ASKED))
    ended = replace(new_dialogue(ASKED), run=RunId("r_1"))
    await dialogues.save(ended)
    assert (await dialogues.get("")).id == waiting.id
    assert [each.id for each in await dialogues.list()] == [ended.id, waiting.id]
    assert await dialogues.remove(ended.id)
    assert not await dialogues.remove(ended.id)
    with pytest.raises(UserError, match="There is no dialogue"):
        await dialogues.get(ended.id)


def test_one_dialogue_starts_one_run() -> None:
    assert dialogue_run_id("d_abc") == dialogue_run_id("d_abc") == "r_abc"
    assert new_dialogue(ASKED).id != new_dialogue(ASKED).id

"""The manager in dialogue: refuses kindly until a question can be researched, and starts at the exact phrase.

Requirement: TREE-5.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from corrobora.analysts.extractive import ExtractiveAnalyst
from corrobora.app import Workspace
from corrobora.app.attempts import run_here
from corrobora.app.dialogues import DialogueManager, first_message, open_dialogue
from corrobora.app.runs import submit_run
from corrobora.config.profiles import load_profile
from corrobora.domain.errors import ProviderError, Stale, UserError
from corrobora.domain.run import Request, RunStatus
from corrobora.storage.journal.events import new_dialogue

BROAD = "Tell me everything about mills"
QUESTION = "How often must the sluice gates of Orrin mill be greased?"
PHRASE = "Authorized to execute"
ASKED = Request("", "tree", libraries=("mill",))


async def reopened(workspace: Workspace, identity: str) -> DialogueManager:
    """Go on with a stored dialogue, as another process does."""
    stored = await workspace.dialogues.get(identity)
    return open_dialogue(workspace, stored.request, stored)


async def test_tree_nothing_starts_before_an_agreement_and_the_phrase(workspace: Workspace) -> None:
    manager = open_dialogue(workspace, ASKED)
    for said in (PHRASE, BROAD, PHRASE, "please"):
        await manager.say(said)
        assert not manager.agreed
    await manager.say(QUESTION)
    assert manager.agreed
    for said in (f"{PHRASE}!", PHRASE.lower()):
        await manager.say(said)
        assert manager.run is None
    assert not await workspace.runs.list()


async def test_tree_what_was_agreed_is_researched(workspace: Workspace) -> None:
    manager = open_dialogue(workspace, ASKED)
    await manager.say(QUESTION)
    await manager.say(PHRASE)
    assert manager.run is not None
    assert not manager.agreed
    stored = (await workspace.runs.get(manager.run)).request
    assert (stored.question, stored.authorized) == (QUESTION, "human")
    assert stored.scope
    assert manager.run in await manager.say("And now?")
    await run_here(workspace, manager.run)
    assert (await workspace.runs.get(manager.run)).status is RunStatus.DONE


async def test_a_model_that_is_down_is_replaced_by_the_next_analyst(workspace: Workspace) -> None:
    class Down:
        name = "down"

        async def play(self, role: object, given: object, /) -> None:
            raise ProviderError.request_failed("down", status=503)

    analysts = (Down(), ExtractiveAnalyst())
    manager = DialogueManager(partial(submit_run, workspace), new_dialogue(ASKED), load_profile("tree"), analysts)  # type: ignore[arg-type]
    await manager.say(QUESTION)
    assert manager.agreed
    alone = DialogueManager(partial(submit_run, workspace), new_dialogue(ASKED), load_profile("tree"), (Down(),))  # type: ignore[arg-type]
    with pytest.raises(ProviderError):
        await alone.say(QUESTION)


async def test_a_target_that_cannot_be_used_is_said_at_the_phrase(workspace: Workspace) -> None:
    manager = open_dialogue(workspace, Request("", "tree", libraries=("mill",), output=(("pigeon", "x"),)))
    await manager.say(QUESTION)
    with pytest.raises(UserError):
        await manager.say(PHRASE)
    assert manager.run is None


async def test_tree_a_dialogue_survives_its_process_turn_by_turn(workspace: Workspace) -> None:
    first = open_dialogue(workspace, ASKED)
    await first.say(BROAD)
    again = await reopened(workspace, first.id)
    assert again.dialogue == first.dialogue
    assert not again.pending
    await again.say(QUESTION)
    assert again.agreed
    last = await reopened(workspace, first.id)
    await last.say(PHRASE)
    assert last.run is not None
    assert (await workspace.runs.get(last.run)).request.libraries == ("mill",)
    done = await reopened(workspace, first.id)
    assert done.run == last.run
    assert str(last.run) in await done.say("And now?")


async def test_tree_what_was_said_while_the_manager_thought_is_not_lost(workspace: Workspace) -> None:
    class Killed(Exception):
        """Stands for a kill while a model thinks."""

    class Thinking:
        name = "thinking"

        async def play(self, role: object, given: object, /) -> None:
            raise Killed

    keep = workspace.dialogues.save
    submit = partial(submit_run, workspace)
    manager = DialogueManager(submit, new_dialogue(ASKED), load_profile("tree"), (Thinking(),), keep=keep)  # type: ignore[arg-type]
    with pytest.raises(Killed):
        await manager.say(QUESTION)
    again = await reopened(workspace, manager.id)
    assert again.pending == QUESTION == first_message(await workspace.dialogues.get(manager.id))
    await again.say(again.pending)
    assert again.agreed
    assert (await reopened(workspace, manager.id)).pending == ""


async def test_tree_one_dialogue_makes_one_run_even_if_it_died_before_that_was_noted(workspace: Workspace) -> None:
    first = open_dialogue(workspace, ASKED)
    await first.say(QUESTION)
    agreed = await workspace.dialogues.get(first.id)
    await first.say(PHRASE)
    kept = await workspace.dialogues.get(first.id)
    await workspace.dialogues.save(replace(agreed, version=kept.version))  # as if the last note had been lost
    again = await reopened(workspace, first.id)
    assert again.run is None
    await again.say(PHRASE)
    assert again.run == first.run
    assert len([row for row in await workspace.runs.list() if row.id == first.run]) == 1


async def test_two_processes_cannot_go_on_with_one_dialogue(workspace: Workspace) -> None:
    first = open_dialogue(workspace, ASKED)
    await first.say(BROAD)
    other = await reopened(workspace, first.id)
    await other.say(QUESTION)
    with pytest.raises(Stale):
        await first.say(PHRASE)
    assert first.run is None

"""The manager in dialogue: refuses kindly until a question can be researched, and starts at the exact phrase (S0)."""

from __future__ import annotations

import pytest

from corrobora.assembly import Workspace
from corrobora.assembly.conversation import Manager
from corrobora.domain.errors import ProviderError, UserError
from corrobora.domain.run import Request, RunStatus
from corrobora.profiles import load_profile
from corrobora.roles.extractive import ExtractiveAnalyst

BROAD = "Tell me everything about mills"
QUESTION = "How often must the sluice gates of Orrin mill be greased?"
PHRASE = "Authorized to execute"
ASKED = Request("", "tree", libraries=("mill",))


async def test_s0_nothing_starts_before_an_agreement_and_the_phrase(workspace: Workspace) -> None:
    manager = workspace.manager(ASKED)
    for said in (PHRASE, BROAD, PHRASE, "please"):
        await manager.say(said)
        assert not manager.agreed
    await manager.say(QUESTION)
    assert manager.agreed
    for said in (f"{PHRASE}!", PHRASE.lower()):
        await manager.say(said)
        assert manager.run is None
    assert not await workspace.runs.list()


async def test_s0_what_was_agreed_is_researched(workspace: Workspace) -> None:
    manager = workspace.manager(ASKED)
    await manager.say(QUESTION)
    await manager.say(PHRASE)
    assert manager.run is not None
    assert not manager.agreed
    stored = (await workspace.runs.get(manager.run)).request
    assert (stored.question, stored.authorized) == (QUESTION, "human")
    assert stored.scope
    assert manager.run in await manager.say("And now?")
    await workspace.run_here(manager.run)
    assert (await workspace.runs.get(manager.run)).status is RunStatus.DONE


async def test_a_model_that_is_down_is_replaced_by_the_next_analyst(workspace: Workspace) -> None:
    class Down:
        name = "down"

        async def play(self, role: object, given: object, /) -> None:
            raise ProviderError.failed("down", status=503)

    manager = Manager(workspace.submit, ASKED, load_profile("tree"), (Down(), ExtractiveAnalyst()))  # type: ignore[arg-type]
    await manager.say(QUESTION)
    assert manager.agreed
    alone = Manager(workspace.submit, ASKED, load_profile("tree"), (Down(),))  # type: ignore[arg-type]
    with pytest.raises(ProviderError):
        await alone.say(QUESTION)


async def test_a_target_that_cannot_be_used_is_said_at_the_phrase(workspace: Workspace) -> None:
    manager = workspace.manager(Request("", "tree", libraries=("mill",), output=(("pigeon", "x"),)))
    await manager.say(QUESTION)
    with pytest.raises(UserError):
        await manager.say(PHRASE)
    assert manager.run is None

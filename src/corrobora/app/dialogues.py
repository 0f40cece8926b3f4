"""The manager as a partner in dialogue: what the command line and programs talk to before a run exists (TREE-2).

Knows a request, the analysts that play `clarify`, and when a run may be submitted: after the exact phrase, not before.
What was said is stored turn by turn, so that a killed process loses none of it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Protocol

from corrobora.domain.errors import ProviderError, RoleError
from corrobora.domain.plan import Brief
from corrobora.domain.run import Request, RunId
from corrobora.engine.session.journal import decode, encode
from corrobora.engine.session.people import AUTHORIZATION_PHRASE, Dialogue, reply_to_user
from corrobora.policies.profile import Profile
from corrobora.ports import Analyst
from corrobora.roles.clarify import Asking, Scoping, clarify
from corrobora.storage.journal.dialogues import StoredDialogue, dialogue_run_id

SaveDialogue = Callable[[StoredDialogue], Awaitable[StoredDialogue]]


def first_message(stored: StoredDialogue) -> str:
    """Return what the person said first in a stored dialogue."""
    turns = decode(Dialogue, stored.said, key=stored.id).turns if stored.said else ()
    return next((turn.removeprefix("user: ") for turn in turns if turn.startswith("user: ")), stored.pending)


class SubmitRun(Protocol):
    """Stores a run, as `Workspace.submit` does."""

    async def __call__(self, request: Request, *, run: RunId, deferred: bool) -> RunId:
        """Store the run under this id and return it; to say it twice makes one run."""
        ...


class DialogueManager:
    """One dialogue. `say` what the human said; `run` is set once they authorized what was agreed.

    `stored` is a new dialogue or one to go on with; with `keep` it is stored before and after each answer.

    Example:
        async with Workspace.open(load_settings()) as workspace:
            manager = workspace.manager(Request("", "tree", libraries=("demo",)))
            print(await manager.say("Tell me everything about passwords"))   # refuses, with reasons
            print(await manager.say("How long must a password be under SP 800-63B?"))
            await manager.say("Authorized to execute")
            await workspace.run_here(manager.run)
    """

    def __init__(
        self,
        submit: SubmitRun,
        stored: StoredDialogue,
        profile: Profile,
        analysts: Sequence[Analyst],
        *,
        keep: SaveDialogue | None = None,
    ) -> None:
        self._submit = submit
        self._analysts = tuple(analysts)
        self._keep = keep
        self._stored = stored
        if stored.said:
            self.dialogue = decode(Dialogue, stored.said, key=stored.id)
        else:
            brief = Brief("", suggested_plan=stored.request.plan_file)
            self.dialogue = Dialogue(
                brief, max_sub_questions=profile.max_leaves, phrase=profile.phrase or AUTHORIZATION_PHRASE
            )
        self.run: RunId | None = self._stored.run

    @property
    def id(self) -> str:
        """Name under which the dialogue is stored from the first thing said on."""
        return self._stored.id

    @property
    def pending(self) -> str:
        """What was said last, if the process died before it was answered: `say` it again."""
        return self._stored.pending

    @property
    def agreed(self) -> bool:
        """True while every query is feasible and waits for the phrase."""
        return self.dialogue.agreed and self.run is None

    async def say(self, text: str) -> str:
        """Take what the human said and return the manager's reply. Nothing is planned before the phrase (TREE-3).

        Raises:
            UserError: the suggested plan or a target of the request cannot be used.
            ProviderError, RoleError: no analyst could judge the question.
            Stale: the same dialogue went on in another process.
        """
        if self.run is not None:
            return f"The research has started as run {self.run}."
        await self._save_turn(self.dialogue, pending=text)
        heard = await reply_to_user(self.dialogue, text, self._clarify_question)
        run: RunId | None = None
        if heard.authorized:
            asked = heard.scoping.queries if heard.scoping is not None else ()
            question = " ".join(query.question for query in asked)
            request = replace(self._stored.request, question=question, scope=heard.scope, authorized="human")
            run = await self._submit(request, run=dialogue_run_id(self.id), deferred=False)
        await self._save_turn(heard, run=run)
        self.dialogue, self.run = heard, run
        return heard.reply

    async def _save_turn(self, dialogue: Dialogue, *, pending: str = "", run: RunId | None = None) -> None:
        now = replace(self._stored, said=encode(Dialogue, dialogue), pending=pending, run=run)
        self._stored = await self._keep(now) if self._keep is not None else now

    async def _clarify_question(self, asking: Asking) -> Scoping:
        for analyst in self._analysts[:-1]:
            try:
                return (await analyst.play(clarify, asking)).value
            except (ProviderError, RoleError):
                continue
        return (await self._analysts[-1].play(clarify, asking)).value

"""The manager as a partner in dialogue: what the command line and programs talk to before a run exists (S0).

Knows a request, the analysts that play `clarify`, and when a run may be submitted: after the exact phrase, not before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from corrobora.domain.brief import Brief
from corrobora.domain.errors import ProviderError, RoleError
from corrobora.domain.run import Request, RunId
from corrobora.engine.dialogue import PHRASE, Dialogue, hear
from corrobora.ports import Analyst
from corrobora.profiles import Profile
from corrobora.roles.clarify import Asking, Scoping, clarify


class Submit(Protocol):
    """Stores a run, as `Workspace.submit` does."""

    async def __call__(self, request: Request, *, deferred: bool) -> RunId:
        """Store the run and return its id."""
        ...


class Manager:
    """One dialogue. `say` what the human said; `run` is set once they authorized what was agreed.

    Example:
        async with Workspace.open(load_settings()) as workspace:
            manager = workspace.manager(Request("", "tree", libraries=("demo",)))
            print(await manager.say("Tell me everything about passwords"))   # refuses, with reasons
            print(await manager.say("How long must a password be under SP 800-63B?"))
            await manager.say("Authorized to execute")
            await workspace.run_here(manager.run)
    """

    def __init__(self, submit: Submit, request: Request, profile: Profile, analysts: Sequence[Analyst]) -> None:
        self._submit = submit
        self._request = request
        self._analysts = tuple(analysts)
        brief = Brief("", suggested_plan=request.plan_file)
        self.dialogue = Dialogue(brief, max_sub_questions=profile.max_leaves, phrase=profile.phrase or PHRASE)
        self.run: RunId | None = None

    @property
    def agreed(self) -> bool:
        """True while every query is feasible and waits for the phrase."""
        return self.dialogue.agreed and self.run is None

    async def say(self, text: str) -> str:
        """Take what the human said and return the manager's reply. Nothing is planned before the phrase (S0).

        Raises:
            UserError: the suggested plan or a target of the request cannot be used.
            ProviderError, RoleError: no analyst could judge the question.
        """
        if self.run is not None:
            return f"The research has started as run {self.run}."
        heard = await hear(self.dialogue, text, self._clarify)
        if heard.authorized:
            asked = heard.scoping.queries if heard.scoping is not None else ()
            question = " ".join(query.question for query in asked)
            request = replace(self._request, question=question, scope=heard.scope, authorized="human")
            self.run = await self._submit(request, deferred=False)
        self.dialogue = heard
        return heard.reply

    async def _clarify(self, asking: Asking) -> Scoping:
        for analyst in self._analysts[:-1]:
            try:
                return (await analyst.play(clarify, asking)).value
            except (ProviderError, RoleError):
                continue
        return (await self._analysts[-1].play(clarify, asking)).value

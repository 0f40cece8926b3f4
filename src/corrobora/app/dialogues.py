"""The dialogue with the manager: a question is narrowed or split until each query is feasible and a run may start.

Knows what was said, the analysts that play `clarify`, and the one phrase of the person (TREE-2). Every turn is stored,
so that a killed process loses none of it. Does not plan or search.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from corrobora.app.runs import resolve_profile, submit_run
from corrobora.domain.errors import ProviderError, RoleError, UserError
from corrobora.domain.plan import Brief
from corrobora.domain.run import Request, RunId
from corrobora.engine.session.journal import decode, encode
from corrobora.policies import Profile
from corrobora.ports import Analyst
from corrobora.roles.clarify import Asking, Scoping, clarify
from corrobora.storage.journal.events import StoredDialogue, dialogue_run_id, new_dialogue

if TYPE_CHECKING:
    from corrobora.app import Workspace

AUTHORIZATION_PHRASE = "Authorized to execute"
MAX_TURNS_SHOWN = 40  # of the latest turns, to the role

Clarify = Callable[[Asking], Awaitable[Scoping]]


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One conversation as a value; `reply_to_user` returns the next one.

    `scoping` is the manager's last judgement. `authorized` is True only after the human said the exact phrase while
    every query was feasible.
    """

    brief: Brief
    turns: tuple[str, ...] = ()  # "user: ..." and "manager: ..." in turn
    scoping: Scoping | None = None
    authorized: bool = False
    max_sub_questions: int = 7
    phrase: str = AUTHORIZATION_PHRASE

    @property
    def agreed(self) -> bool:
        """True when the manager holds each query for feasible."""
        return self.scoping is not None and self.scoping.feasible and bool(self.scoping.queries)

    @property
    def reply(self) -> str:
        """What the manager said last."""
        return next((turn.removeprefix("manager: ") for turn in reversed(self.turns) if turn[:8] == "manager:"), "")

    @property
    def scope(self) -> str:
        """The agreed queries for the request of a run. Raises `UserError` before there is an agreement."""
        if self.scoping is None or not self.agreed:
            raise UserError("scope_open", "The queries are not agreed yet.", next_step="Go on with the dialogue.")
        return encode(Scoping, self.scoping)


async def reply_to_user(dialogue: Dialogue, said: str, ask: Clarify) -> Dialogue:
    """Take what the human said and answer it (TREE-2, TREE-5).

    The exact phrase authorizes what was agreed and nothing else; before an agreement it is refused, without asking
    anybody. Everything else is part of the dialogue, the phrase inside a longer text too.
    """
    text = said.strip()
    if text == dialogue.phrase:
        if dialogue.agreed:
            return _add_turns(replace(dialogue, authorized=True), text, "Thank you. The research starts.")
        return _add_turns(dialogue, text, _word_refusal(dialogue))
    chosen = _pick_offered(dialogue, text)
    brief = dialogue.brief
    if chosen or not brief.question:
        brief = replace(brief, question=chosen or text)
    turns = (*dialogue.turns, f"user: {chosen or text}")
    earlier = () if len(turns) == 1 else turns[-MAX_TURNS_SHOWN:]
    asking = Asking(f"dialogue/{len(turns)}", brief, earlier, dialogue.max_sub_questions)
    scoping = await ask(asking)
    heard = replace(dialogue, brief=brief, turns=turns, scoping=scoping, authorized=False)
    return replace(heard, turns=(*turns, f"manager: {_word_judgement(heard)}"))


def _add_turns(dialogue: Dialogue, said: str, reply: str) -> Dialogue:
    return replace(dialogue, turns=(*dialogue.turns, f"user: {said}", f"manager: {reply}"))


def _pick_offered(dialogue: Dialogue, said: str) -> str:
    """Return the narrower question whose number was said, "" if none was."""
    offered = dialogue.scoping.narrower if dialogue.scoping is not None and not dialogue.agreed else ()
    number = said.removesuffix(".")
    if number.isascii() and number.isdigit() and 1 <= int(number[:3]) <= len(offered):
        return offered[int(number) - 1]
    return ""


def _word_refusal(dialogue: Dialogue) -> str:
    if dialogue.scoping is None:
        return "I would gladly start, but I do not know the question yet. What would you like to find out?"
    return f"I understand that you want to begin, but I must not start yet. {_word_judgement(dialogue)}"


def _word_judgement(dialogue: Dialogue) -> str:
    """Put the manager's judgement into words: the agreed queries, or reasons and narrower questions."""
    scoping = dialogue.scoping
    if scoping is None:
        return ""
    if dialogue.agreed:
        return _word_agreement(scoping, dialogue.phrase)
    reasons = " ".join(scoping.reasons) or "It is not clear yet what would answer the question."
    lines = [f"I cannot take this question as it stands. {reasons}"]
    if scoping.narrower:
        lines.append("I would take one of these; say its number, or put it in your own words:")
        lines += [f"{number}. {question}" for number, question in enumerate(scoping.narrower, 1)]
    lines += scoping.questions
    return "\n".join(lines)


def _word_agreement(scoping: Scoping, phrase: str) -> str:
    many = len(scoping.queries)
    split = f"I would split this into {many} queries; each can be researched."
    head = "This can be researched." if many == 1 else split
    lines = [head, *scoping.reasons]
    for number, query in enumerate(scoping.queries, 1):
        lines.append(f"{number}. {query.question}")
        lines += [f"   - {part.text}" for part in query.sub_questions if part.text != query.question]
    lines.append(f'Correct it if I am wrong, or say "{phrase}" and I start.')
    return "\n".join(lines)


SaveDialogue = Callable[[StoredDialogue], Awaitable[StoredDialogue]]


def first_message(stored: StoredDialogue) -> str:
    """Return what the person said first in a stored dialogue."""
    turns = decode(Dialogue, stored.said, key=stored.id).turns if stored.said else ()
    return next((turn.removeprefix("user: ") for turn in turns if turn.startswith("user: ")), stored.pending)


def open_dialogue(workspace: Workspace, request: Request, stored: StoredDialogue | None = None) -> DialogueManager:
    """Open a dialogue with the manager; `request` says where and how to research once it is agreed (TREE-2)."""
    profile = resolve_profile(workspace.settings, request)
    players = workspace.wiring.open_analysts(request, profile)
    stored = stored or new_dialogue(request)
    return DialogueManager(partial(submit_run, workspace), stored, profile, players, keep=workspace.dialogues.save)


class DialogueManager:
    """One dialogue. `say` what the human said; `run` is set once they authorized what was agreed.

    `stored` is a new dialogue or one to go on with; with `keep` it is stored before and after each answer.

    Example:
        async with Workspace.open(load_settings()) as workspace:
            manager = open_dialogue(workspace, Request("", "tree", libraries=("demo",)))
            print(await manager.say("Tell me everything about passwords"))   # refuses, with reasons
            print(await manager.say("How long must a password be under SP 800-63B?"))
            await manager.say("Authorized to execute")
            await run_here(workspace, manager.run)
    """

    def __init__(
        self,
        submit: Callable[..., Awaitable[RunId]],  # as `runs.submit_run`: the same id twice makes one run
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

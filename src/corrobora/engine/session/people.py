"""The dialogue of the manager: a question is narrowed or split until each query is feasible; only then may a run start.

Knows what was said, what the manager answered and the one phrase of the human. Calls the role `clarify` and nothing
else: it cannot plan, search or start anything.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from corrobora.domain.errors import UserError
from corrobora.domain.plan import Brief
from corrobora.domain.run import Request
from corrobora.engine.session.journal import decode, encode
from corrobora.roles.clarify import Asking, Scoping

AUTHORIZATION_PHRASE = "Authorized to execute"
MAX_TURNS_SHOWN = 40  # of the latest turns, to the role

Clarify = Callable[[Asking], Awaitable[Scoping]]


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One conversation as a value; `hear` returns the next one.

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


async def reply_to_user(dialogue: Dialogue, said: str, clarify: Clarify) -> Dialogue:
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
    scoping = await clarify(asking)
    heard = replace(dialogue, brief=brief, turns=turns, scoping=scoping, authorized=False)
    return replace(heard, turns=(*turns, f"manager: {_word_judgement(heard)}"))


def read_agreed_scope(request: Request) -> Scoping | None:
    """Return the queries that were agreed on in a dialogue, None if there was none."""
    return decode(Scoping, request.scope, key="scope") if request.scope else None


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

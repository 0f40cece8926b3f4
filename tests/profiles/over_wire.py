"""Scripted analysts behind a model endpoint: each answer travels as JSON of the role's schema, in a real HTTP exchange.

Knows how a value is written in the schema of its role; what the schema cannot say is lost here, as it is with a model.
Who answers is asked in the loop of the test, in its time; the exchange takes none of it. Prompts are really rendered.
"""

from __future__ import annotations

import asyncio
import functools
import json
import threading
from collections.abc import Callable
from contextvars import Context
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

from bench.model_server.server import ModelServer

from corrobora.adapters.models import parse_target
from corrobora.adapters.models.connection import ModelConnection
from corrobora.adapters.pacing import CallGate, LoopClock
from corrobora.analysts.language_model.analyst import LanguageModelAnalyst
from corrobora.domain.plan import Brief, Node, Plan, TaskSpec
from corrobora.domain.plan import Gate as Phase
from corrobora.domain.report import Critique, Draft, Verdict
from corrobora.domain.thread import Intent, Proposal
from corrobora.ports import Analyst, Answer, Role
from corrobora.roles.clarify import Scoping
from corrobora.roles.extract import Extraction
from corrobora.roles.refine import Refinement, Shortfall
from corrobora.roles.review import Confirming, Revising, Revision, Rulings
from corrobora.roles.scope import Shortlist, Sweep

Wire = dict[str, Any]
_TAGS = ("queries", "sources", "questions", "specs")


@dataclass
class OverWire:
    """Plays what `inner` plays, over the wire. `sent` counts the answers of this process that came that way."""

    inner: Analyst
    sent: ClassVar[int] = 0

    def __post_init__(self) -> None:
        self.name = self.inner.name

    def identity(self, role: Role[Any, Any]) -> str:
        return self.inner.identity(role)

    async def play(self, role: Role[Any, Any], given: Any) -> Answer[Any]:
        answer = await self.inner.play(role, given)
        if type(answer.value) is not role.gives:
            return answer
        text = json.dumps(_WRITERS[role.gives](answer.value, given), ensure_ascii=False)
        OverWire.sent += 1
        return replace(answer, value=_find_provider().exchange(text, role, given))


class _Provider:
    """A model server and its client on a loop of their own, for all tests of a process."""

    def __init__(self) -> None:
        self._text = ""
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True, name="model endpoint").start()
        self._analyst = self._wait(self._open())

    async def _open(self) -> LanguageModelAnalyst:
        server = await ModelServer(answers=lambda _: self._text, keep=False).__aenter__()
        target = parse_target(f"openai-compatible:scripted@{server.url}/v1", {})
        return LanguageModelAnalyst({"worker": ModelConnection(target, CallGate("wire", None, LoopClock()))})

    def exchange(self, text: str, role: Role[Any, Any], given: Any) -> Any:
        self._text = text
        return self._wait(self._analyst.play(role, given)).value

    def _wait(self, work: Any) -> Any:
        # in a context of its own: the answer of `inner` says what is billed, not this exchange
        return Context().run(asyncio.run_coroutine_threadsafe, work, self._loop).result(60)


@functools.cache
def _find_provider() -> _Provider:
    return _Provider()


def _write_scoping(value: Scoping, given: Any) -> Wire:
    return {
        "feasible": value.feasible,
        "complexity": value.complexity_hint or "simple",
        "queries": [_write_query(brief) for brief in value.queries],
        **{name: getattr(value, name) for name in ("reasons", "narrower", "questions")},
    }


def _write_query(brief: Brief) -> Wire:
    return {
        "question": brief.question,
        "sub_questions": [each.text for each in brief.sub_questions],
        "subjects": [{"name": each.name, "aliases": each.aliases} for each in brief.subjects],
        "disambiguation": brief.disambiguation,
    }


def _write_plan(value: Plan, given: Any) -> Wire:
    tasks = [row for child in value.root.children for row in _write_tasks(child, "")]
    return {
        "tier": value.tier or "moderate",
        "tasks": tasks or _write_tasks(value.root, ""),
        "rationale": value.rationale,
        "phases": [_write_phase(gate) for gate in value.root.gates],
    }


def _write_tasks(node: Node, parent: str) -> list[Wire]:
    task = {name: getattr(node, name) for name in ("title", "objective", "queries", "angle", "output_format")}
    task |= {
        "key": node.path,
        "parent": parent,
        "sub_questions": [each.text for each in node.sub_questions],
        "subjects": [each.name for each in node.subjects],
        "out_of_scope": node.out_of_scope,
        "discovery": node.discovery,
        "max_rounds": node.max_rounds,
        "specs": [_write_spec(each) for each in node.specs],
        "phases": [_write_phase(each) for each in node.gates],
    }
    return [task, *(row for child in node.children for row in _write_tasks(child, node.path))]


def _write_spec(spec: TaskSpec) -> Wire:
    return {name: each for name, each in asdict(spec).items() if name != "verbatim"}


def _write_phase(gate: Phase) -> Wire:
    row = asdict(gate)
    return {**row.pop("criteria"), **row}


def _write_refinement(value: Refinement, given: Shortfall) -> Wire:
    labels = dict(zip((link.reference for link in given.linked), given.labels, strict=True))
    new = {name: dict(getattr(value, name)) for name in _TAGS}
    changes = [
        {
            "task": task,
            "queries": new["queries"].get(task, ()),
            "sources": [labels[each] for each in new["sources"].get(task, ()) if each in labels],
            "sub_questions": new["questions"].get(task, ()),
            "specs": [_write_spec(each) for each in new["specs"].get(task, ())],
        }
        for task in dict.fromkeys(task for each in new.values() for task in each)
    ]
    return {"changes": changes, "why": value.why, "synthesis": value.synthesis}


def _write_intent(value: Intent, given: Any) -> Wire:
    return {
        "reasoning": value.reasoning,
        "goal": value.goal,
        "queries": [{"text": query.text, "site": query.site} for query in value.queries],
        "targets": value.targets,
        "subjects": value.subjects,
    }


def _write_shortlist(value: Shortlist, given: Sweep) -> Wire:
    labels = dict(zip((each.reference for each in given.candidates), given.labels, strict=True))
    scores = ("authority", "recency", "coverage", "diversity", "rationale", "balance")
    return {
        "sources": [
            {"candidate": labels[each.reference], **{name: getattr(each, name) for name in scores}}
            for each in value.sources
        ],
        "excluded": [{"candidate": labels[name], "reason": why} for name, why in value.excluded if name in labels],
        "balance": value.balance,
    }


def _write_proposal(value: Proposal, given: Any) -> Wire:
    """Who judged no question agrees with whatever code says: it counts all as answered."""
    row = {name: getattr(value, name) for name in ("summary", "done", "next_topic", "url", "reasoning", "terms")}
    return row | {
        "gaps": [asdict(gap) for gap in value.gaps],
        "answered": value.answered if value.judged else [each.id for each in given.sub_questions],
        "contradictions": [asdict(each) for each in value.contradictions],
        "new_sub_questions": value.new_sub_questions,
    }


def _write_draft(value: Draft, given: Any) -> Wire:
    return {"title": value.title, "body": value.body}


def _write_revision(value: Revision, given: Any) -> Wire:
    body = value.whole.body if value.whole is not None else ""
    if isinstance(given, Revising):
        title = value.whole.title if value.whole is not None else value.title
        return {"edits": [asdict(each) for each in value.edits], "title": title, "body": body}
    return {"edits": [{"sentence": each.target, "text": each.text} for each in value.edits], "body": body}


def _write_rulings(value: Rulings, given: Confirming) -> Wire:
    ruled = zip(given.labels, value.reasons, strict=True)
    rows = [{"sentence": label, "missing": why, "carried": not why} for label, why in ruled if why is not None]
    return {"rulings": rows}


def _write_extraction(value: Extraction, given: Any) -> Wire:
    """One answer holds what all sources of a call gave."""
    quotes = [asdict(quote) for each in (value, *value.beside) for quote in each.quotes]
    return asdict(value) | {"quotes": quotes}


def _write_fields(value: Any, given: Any) -> Wire:
    return asdict(value)


_WRITERS: dict[type[Any], Callable[[Any, Any], Wire]] = {
    Scoping: _write_scoping,
    Plan: _write_plan,
    Refinement: _write_refinement,
    Intent: _write_intent,
    Shortlist: _write_shortlist,
    Proposal: _write_proposal,
    Draft: _write_draft,
    Revision: _write_revision,
    Rulings: _write_rulings,
    Extraction: _write_extraction,
    Critique: _write_fields,
    Verdict: _write_fields,
}

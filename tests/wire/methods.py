"""A method over the wire: the real engine and analyst, a scripted model on loopback, documents or a web in memory.

Knows who answers which role and what was asked of it. Every file of the run is kept. Does not know what is right.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bench.model_server.protocols import WireRequest
from bench.model_server.scripted_model import ParsedPrompt, answer_prompt
from bench.model_server.server import ModelServer
from tests.profiles.research import LibraryRun, make_run
from tests.profiles.scripted import WebRun, make_web_run

from corrobora.adapters.models import parse_target
from corrobora.adapters.models.connection import ModelConnection
from corrobora.adapters.pacing import CallGate, LoopClock
from corrobora.analysts.extractive import ExtractiveAnalyst
from corrobora.analysts.language_model.analyst import LanguageModelAnalyst
from corrobora.domain.report import Report

Answer = Mapping[str, Any] | str | Callable[[ParsedPrompt], Mapping[str, Any] | str]


@dataclass
class WireRun:
    """A run that ended: its report, its files and events, and every prompt that was sent."""

    run: LibraryRun | WebRun
    report: Report
    asked: list[WireRequest]

    def prompts(self, role: str) -> list[str]:
        """The first prompts of a role, in the order in which they were sent: brief and task."""
        return [each.user for each in self.asked if f"# Role: {role}\n" in each.system and not each.turns]

    def json(self, name: str) -> Any:
        return json.loads(self.run.files[name])


async def run_over_wire(
    profile: str, answers: Mapping[str, Answer] | None = None, *, pages: Mapping[str, str] | None = None, **options: Any
) -> WireRun:
    """Research with a model that answers some roles as told and all others from the words of the prompt.

    It searches a library, or a web of `pages`.
    """
    told = answers or {}

    def answer(asked: WireRequest) -> str:
        page = ParsedPrompt.read(asked.system, asked.user)
        said = told.get(page.role)
        said = said(page) if callable(said) else said
        if said is None:
            return answer_prompt(asked.system, asked.user)
        return said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)

    async with ModelServer(answers=answer) as server:
        target = parse_target(f"openai-compatible:scripted@{server.url}/v1", {})
        connection = ModelConnection(target, CallGate("wire", None, LoopClock()))
        analysts = (LanguageModelAnalyst({"worker": connection}), ExtractiveAnalyst())
        try:
            if pages is not None:
                run = make_web_run(profile, pages, analysts=analysts, wire=False, **options)
            else:
                run = await make_run(profile, analysts=analysts, wire=False, **options)
            return WireRun(run, await run.research(), server.asked)
        finally:
            await connection.aclose()

"""A planned sweep over a web on private addresses: what it chose is read, and nobody words its queries a second time.

Knows a plan, a scout and the readings of a run. Does not know how candidates are found or ranked.
"""

from __future__ import annotations

import json
from typing import Any

from bench.model_server.protocols import WireRequest
from bench.model_server.scripted_model import answer_prompt
from bench.model_server.server import ModelServer
from tests.integration.harness import name_web, open_harness
from tests.integration.test_reading_and_memory import is_role, prompts

from corrobora.domain.evidence import ReadOutcome
from corrobora.domain.report import iter_threads
from corrobora.testing.web import LoopbackWeb, WebPage

GREASED = "How often must the sluice gates of Orrin mill be greased?"
HIGH = "How high may the pond of Orrin mill stand?"
SWEPT = "sluice gates and pond of Orrin mill"
PAGES = {
    "gates": "The sluice gates of Orrin mill must be greased every 14 days with mineral oil.",
    "pond": "The pond of Orrin mill may stand at most 210 centimetres above the sill.",
    "walls": "The walls of Orrin mill are of granite, and the sluice gates and the pond lie behind them.",
}


def write_page(name: str) -> WebPage:
    body = f"<h1>The {name} of Orrin mill</h1><p>{PAGES[name]}</p><p>{'Tickets are sold at the door. ' * 3}</p>"
    head = f"<title>The {name} of Orrin mill</title>"
    return WebPage.of_html(f"/{name}.html", f"<html><head>{head}</head><body><article>{body}</article></body></html>")


def make_task(key: str, *questions: str, **more: Any) -> dict[str, Any]:
    return {"key": key, "title": key, "objective": f"Find {key}", "queries": [], "sub_questions": [*questions], **more}


def answer(asked: WireRequest) -> str:
    if is_role(asked, "plan"):
        phase = {"name": "sweep", "corroboration": 0, "max_iterations": 0}
        sweep = make_task("sources", discovery=True, queries=[SWEPT, "Orrin mill"], phases=[phase])
        own = {"queries": ["granite walls of Orrin mill"], "specs": [{"questions": [GREASED]}]}
        return json.dumps(
            {"tier": "moderate", "tasks": [sweep, make_task("gates", GREASED, **own), make_task("pond", HIGH)]}
        )
    return answer_prompt(asked.system, asked.user)


async def test_what_a_sweep_chose_is_read_at_private_addresses_and_its_queries_are_the_planners(database_url: str):
    async with (
        ModelServer(answers=answer) as server,
        LoopbackWeb([write_page(name) for name in PAGES]) as web,
        open_harness(database_url, settings=name_web(web)) as harness,
    ):
        options: dict[str, Any] = {"libraries": (), "providers": ("tavily",)}
        found = await harness.run(server, "tree", question=f"{GREASED} {HIGH}", **options)
    assert found.report is not None
    sweep, *_ = found.report.findings.children
    chosen = {link.reference for link in sweep.linked}
    assert chosen, "a phase that asks for no corroboration and no iteration has one of each"
    leaves = list(iter_threads(found.report.findings))
    read = {each.hit.url: each.outcome for leaf in leaves for done in leaf.rounds for each in done.readings}
    assert chosen <= {url for url, outcome in read.items() if outcome is ReadOutcome.READ}
    assert not any(SWEPT in prompt for prompt in prompts(server, "scope"))
    specified = [prompt for prompt in prompts(server, "extract") if "Task specification:" in prompt]
    assert specified == prompts(server, "extract"), "all read for the same task, so no passage is sent twice"
    assert all(said in specified[0] for said in PAGES.values()), "what a sweep scans shares a call"
    sent = "\n".join(prompts(server, "extract"))
    assert all(sent.count(said) == 1 for said in PAGES.values())

"""What threads over the wire read, judge and sum up only once, or not at all."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from tests.profiles.research import DOCUMENTS
from tests.wire.methods import ParsedPrompt, answer_prompt, run_over_wire
from tests.wire.test_angles import SLUGS
from tests.wire.test_angles import make_plan as plan_angles
from tests.wire.test_tree import INSPECTED, LOAD, make_plan, make_task

from corrobora.domain.run import EventType

HERRING = "\n\n".join(f"## Stall {at}\n\n{f'Stall number {at} sells cod. ' * 30}" for at in range(1, 15))
MARKET = f"# Cranes of the fish market\n\nHerring is inspected below the cranes of Brenhaven.\n\n{HERRING}"


async def test_a_document_whose_scan_gave_nothing_and_that_the_scout_left_out_is_not_opened_for_the_same_passages():
    def extract(page: ParsedPrompt) -> Mapping[str, Any]:
        said = json.loads(answer_prompt("# Role: extract\n", page.text))
        return said | {"quotes": [each for each in said["quotes"] if "12 months" in each["quote"]]}

    def choose(rule: str) -> Any:
        def answer(page: ParsedPrompt) -> Mapping[str, Any]:
            blocks = re.findall(r"^- (K\d+), cluster[^\n]*\n([^\n]*)", page.text, re.MULTILINE)
            scores = dict.fromkeys(("authority", "recency", "coverage", "diversity"), 0.5)
            chosen = [label for label, words in blocks if rule in words]
            assert chosen
            return {"sources": [{"candidate": each, **scores, "rationale": "r"} for each in chosen]}

        return answer

    sweep = make_task("sources", "Sources on cranes", discovery=True, queries=["cranes of Brenhaven inspected", "cod"])
    plan = make_plan(sweep, make_task("inspected", INSPECTED), make_task("load", LOAD))
    documents = {"rules.md": DOCUMENTS["rules-2019.md"], "market.md": MARKET}
    stalls = []
    for rule in ("rules", "market"):
        answers = {"plan": plan, "extract": extract, "scout": choose("Crane rules" if rule == "rules" else "fish")}
        done = await run_over_wire("tree", answers, documents=documents, hits_per_query=3)
        stalls.append({at for each in done.prompts("extract") for at in re.findall(r"Stall number (\d+)", each)})
    left_out, chosen = stalls
    assert left_out < chosen


async def test_a_distance_between_two_things_compares_nothing_so_the_models_verdict_ends_the_thread():
    asked = "At which distance between the crane and the quay is the alarm of Brenhaven given?"
    said = "The alarm of Brenhaven is given at a distance of 4 metres."

    def answer(page: ParsedPrompt) -> Mapping[str, Any]:
        names = re.findall(r"^(F[0-9a-f]{12}) ", page.text, re.MULTILINE)
        done = {"answered": [{"question": "sq-1", "facts": names[:1]}], "gaps": [], "done": True}
        return {"summary": "s", "reasoning": "r", **done}

    def extract(page: ParsedPrompt) -> Mapping[str, Any]:
        [place] = [name for name, text in page.passages() if said in text]
        return {"quotes": [{"passage": place, "quote": said, "confidence": 0.9, "answers": ["sq-1"]}], "summary": "s"}

    clarify = {"feasible": True, "complexity": "simple", "queries": [{"question": asked, "sub_questions": [asked]}]}
    answers = {"clarify": clarify, "reflect": answer, "extract": extract}
    done = await run_over_wire("timed", answers, question=asked, documents={"alarm.md": f"# Alarm\n\n{said}"})
    assert len(done.report.findings.rounds) == 1
    assert "comparison" not in done.report.markdown


async def test_a_document_that_a_reader_asks_for_by_its_title_is_opened_where_it_speaks_of_what_is_missing():
    parts = "\n\n".join(f"## Part {at}\n\n{f'Part {at} is about paint. ' * 40}" for at in range(1, 31))
    rule = "## Limits\n\nFor those of class B the limit is a load of 35 tonnes."
    documents = {
        "index.md": "# Cranes\n\nWhat load a crane of class B may lift is told of elsewhere.",
        "paint.md": f"# Old Ledger\n\nOld Ledger. The Old Ledger is an old ledger, this ledger.\n\n{parts}",
    }
    documents["paint.md"] += f"\n\n{rule}"

    def extract(page: ParsedPrompt) -> Mapping[str, Any] | str:
        asks = {"quotes": [], "summary": "s", "read_next": ["Old Ledger"]}
        return asks if "told of elsewhere" in page.text else answer_prompt("# Role: extract\n", page.text)

    options: dict[str, Any] = {"question": LOAD, "documents": documents, "max_rounds": 1, "reads_per_round": 3}
    done = await run_over_wire("timed", {"extract": extract}, hits_per_query=1, **options)
    assert any("35 tonnes" in each for each in done.prompts("extract"))
    [found] = done.report.findings.rounds
    assert len({each.source for each in found.readings}) == len(found.readings) == 2
    both = await run_over_wire("timed", {"extract": extract}, hits_per_query=40, **options)
    [found] = both.report.findings.rounds
    assert len({each.source for each in found.readings}) == len(found.readings) == 2, "opened already, by a search"


async def test_the_summary_of_a_thread_stands_after_a_round_that_found_nothing():
    """Code goes on where the model was done: what it wrote for the writer is not asked for again."""
    asked: list[ParsedPrompt] = []

    def reflect(page: ParsedPrompt) -> Mapping[str, Any]:
        asked.append(page)
        [marker, *_] = re.findall(r"\[S\d+:C\d+\]", page.text)
        own = {
            "findings": f"It is as written {marker}.",
            "next": {"goal": "g", "queries": [{"text": "zebra xylophone"}]},
        }
        return {"summary": "s", "reasoning": "r", "answered": [], "gaps": [], "done": True, **own}

    plan = make_plan(make_task("inspected", INSPECTED), make_task("load", LOAD))
    done = await run_over_wire(
        "tree",
        {
            "plan": plan,
            "reflect": reflect,
            "scope": {"reasoning": "r", "goal": "g", "queries": [{"text": "quince yodel"}]},
        },
    )
    rounds = [len(found.rounds) for found in done.report.findings.children]
    assert max(rounds) > 1, "code went on"
    assert len(asked) == len(rounds), "and no later round found anything"
    assert not done.prompts("summarize")
    assert all("It is as written" in found.summary for found in done.report.findings.children)


async def test_what_code_doubts_is_not_taken_for_the_models_verdict_after_a_round_that_found_nothing():
    asked = "What is the difference between the cranes of Brenhaven and the quays of Holm?"
    said = "The cranes of Brenhaven are made of iron."

    def reflect(page: ParsedPrompt) -> Mapping[str, Any]:
        names = re.findall(r"^(F[0-9a-f]{12}) ", page.text, re.MULTILINE)
        answered = [{"question": "sq-1", "facts": names[:1]}]
        own = {"next": {"goal": "g", "queries": [{"text": "zebra xylophone"}]}}
        return {"summary": "s", "reasoning": "r", "answered": answered, "gaps": [], "done": True, **own}

    def extract(page: ParsedPrompt) -> Mapping[str, Any]:
        [place] = [name for name, text in page.passages() if said in text]
        return {"quotes": [{"passage": place, "quote": said, "confidence": 0.9, "answers": ["sq-1"]}], "summary": "s"}

    clarify = {"feasible": True, "complexity": "simple", "queries": [{"question": asked, "sub_questions": [asked]}]}
    answers = {"clarify": clarify, "reflect": reflect, "extract": extract}
    done = await run_over_wire("timed", answers, question=asked, documents={"a.md": f"# Iron\n\n{said}"}, exhaust=False)
    ended = [each.data for each in done.run.journal.events if each.type is EventType.ROUND_FINISHED]
    assert len(ended) > 1
    assert len(done.prompts("reflect")) < len(ended)
    standings: list[Any] = [each["standing"] for each in ended]
    assert {str(each["sq-1"]) for each in standings} == {"PARTIAL"}


async def test_a_reader_that_gives_both_ends_of_a_quote_finds_the_facts_of_one_that_copies_all_of_it():
    def shorten(page: ParsedPrompt) -> Mapping[str, Any]:
        said = json.loads(answer_prompt("# Role: extract\n", page.text))
        for each in said["quotes"]:
            words = each["quote"].split(" ")
            each["quote"] = " ".join((*words[:5], "...", *words[-5:])) if len(words) > 12 else each["quote"]
        return said

    plain, short = [
        await run_over_wire("angles", {"plan": plan_angles(SLUGS[:1])} | own) for own in ({}, {"extract": shorten})
    ]
    quotes = [{fact.quote for fact in done.report.findings.facts} for done in (plain, short)]
    assert quotes[0] == quotes[1]
    assert any(len(quote.split()) > 12 for quote in quotes[0])

"""One given thread over the wire: queries that a model proposes keep their rules, and the files say what happened."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from bench.model_server.scripted_model import ParsedPrompt
from tests.wire.methods import WireRun, run_over_wire

from corrobora.domain.evidence import ReadOutcome
from corrobora.domain.run import EventType, Request
from corrobora.domain.thread import Escape
from corrobora.policies.queries import is_reformulated, query_core
from corrobora.text.tokens import stem_text

THREAD = """
round_budget = {budget}
[thread]
name = "Tide Mills of Orrin"
sub_questions = ["How often must the sluice gates be greased?", "Who built the boat house?"]
subjects = ["sluice gates", "boat house"]
[brief]
question = "What is known of the sluice gates and the boat house?"
disambiguation = ["Orrin"]
"""
DOCUMENTS = {
    "rules.md": """# Rules of the Orrin mill

The sluice gates of Orrin mill must be greased every 14 days.

The sluice gates of Orrin are inspected in April.

The mill pond of Orrin may stand at 210 centimetres.

The miller of Orrin keeps a log of all sluice gates.

Animal fat must not be used on the sluice gates of Orrin.

The boat house of Orrin has two doors.

In 1931 a storm broke the wheel of Orrin mill.

Geese winter on the mill pond until the ice has gone.

Barley and oats were ground here before the war.

A lighthouse keeper repaired both doors with larch planks in 1968.""",
    "other.md": "# Another place\n\nThe bakery sells rye bread on Tuesdays, and the sluice gates are of larch.",
}


def ask_the_same(_page: ParsedPrompt) -> Mapping[str, Any]:
    return {"reasoning": "r", "goal": "g", "queries": [{"text": "sluice gates greased"}], "subjects": ["sluice gates"]}


async def run_thread(answers: Mapping[str, Any], *, budget: int = 6, **options: Any) -> WireRun:
    request = Request("", "triplet", thread_file=THREAD.format(budget=budget))
    return await run_over_wire("triplet", answers, request=request, **{"documents": DOCUMENTS, **options})


def list_queries(done: WireRun) -> list[str]:
    return [str(event.data["query"]) for event in done.run.journal.events if event.type is EventType.SEARCH]


async def test_triplet_58_a_model_that_repeats_its_query_never_searches_it_twice():
    done = await run_thread({"scope": ask_the_same, "reflect": doubt_all}, stop=("max_rounds",), escapes=False)
    queries = [query.text for each in done.report.findings.rounds for query in each.intent.queries]
    assert len(queries) == 6
    assert len({query_core(text) for text in queries}) == len(queries)


async def test_triplet_17_a_models_queries_name_the_disambiguation_terms_in_forced_rounds_too():
    done = await run_thread({"scope": ask_the_same, "reflect": doubt_all}, stop=("max_rounds",), escapes=False)
    thoughts = [event.data for event in done.run.journal.events if event.type is EventType.THOUGHT]
    assert any(data.get("forced") for data in thoughts)
    assert all("Orrin" in text for text in list_queries(done))


async def test_triplet_19_no_query_holds_words_of_the_programs_own_instructions():
    """Without a model, on a thread that runs through its escapes."""
    spread = {
        f"rules-{at}.md": f"# Rules {at}\n\n{text}" for at, text in enumerate(DOCUMENTS["rules.md"].split("\n\n"))
    }
    given = {"scope": "no", "reflect": "no"}
    done = await run_thread(given, budget=8, stop=("max_rounds",), documents=spread, reads_per_round=1)
    queries = list_queries(done)
    assert len(queries) >= 3
    goals = {stem for phase in done.run.session.profile.phases for stem in stem_text(phase.goal)}
    hints = {
        stem for phase in done.run.session.profile.phases for hint in phase.query_hints for stem in stem_text(hint)
    }
    own = set(stem_text(THREAD)) | {stem for text in DOCUMENTS.values() for stem in stem_text(text)}
    for text in queries:
        assert not set(stem_text(text)) & (goals - hints - own), text


async def test_triplet_30_five_new_facts_are_low_saturation():
    def quote_all(page: ParsedPrompt) -> Mapping[str, Any]:
        rows = page.passages()
        lines = [(name, line) for name, text in rows for line in text.split("\n") if line.endswith(".")]
        name = rows[0][0] if rows else "C1"
        quotes = [{"passage": at or name, "quote": text, "claim": text, "confidence": 0.8} for at, text in lines]
        return {"quotes": quotes}

    done = await run_thread({"extract": quote_all}, budget=1)
    [report] = [text for name, text in done.run.files.items() if name.startswith("micro-report")]
    assert done.report.findings.rounds[0].new_facts >= 5
    assert "saturation: LOW" in report


async def test_triplet_31_files_are_named_after_the_thread():
    done = await run_thread({}, budget=1)
    names = set(done.run.files)
    assert "micro-report-tide-mills-of-orrin-round-1.md" in names
    assert "thread-completion-tide-mills-of-orrin.md" in names


def doubt_all(_page: ParsedPrompt) -> Mapping[str, Any]:
    said = {"summary": "s", "reasoning": "r", "answered": [], "done": False}
    return {**said, "gaps": [{"text": "how often they are greased", "target": "SQ-1"}]}


async def test_triplet_25_what_a_second_document_states_again_is_a_confirming_fact():
    said = "The sluice gates of Orrin mill must be greased every 14 days."
    twice = {
        "one.md": f"# Rules of the mill\n\n{said}",
        "two.md": f"# Notes of the miller\n\n{said}\n\nIt is done at noon.",
    }
    searches = iter(
        f"sluice gates Orrin greased {word}" for word in ("rules", "notes", "miller", "noon", "mill", "days")
    )

    def search(_page: ParsedPrompt) -> Mapping[str, Any]:
        return {"reasoning": "r", "goal": "g", "queries": [{"text": next(searches)}]}

    answers = {"scope": search, "reflect": doubt_all}
    options = {"documents": twice, "reads_per_round": 1, "stop": ("max_rounds",), "escapes": False}
    done = await run_thread(answers, budget=2, **options)
    first, second = done.report.findings.rounds
    assert (first.new_facts > 0, first.confirming_facts) == (True, 0)
    assert second.confirming_facts == 1
    assert "confirming_facts: 1" in done.run.files["micro-report-tide-mills-of-orrin-round-2.md"]
    assert second.readings[0].hit.url != first.readings[0].hit.url


async def test_triplet_29_the_guidance_of_a_round_is_what_the_next_one_does():
    done = await run_thread(
        {"scope": ask_the_same, "reflect": doubt_all}, budget=5, stop=("max_rounds",), escapes=False
    )
    phases = [each.phase for each in done.report.findings.rounds]
    told: list[str] = []
    for number, (now, after) in enumerate(itertools.pairwise(phases), 1):
        text = done.run.files[f"micro-report-tide-mills-of-orrin-round-{number}.md"]
        told.append("STAY" if now == after else "ADVANCE")
        wanted = f"STAY in {now}" if now == after else f"ADVANCE to {after}"
        assert f"- Strategy phase recommendation: {wanted}\n" in text
    assert set(told) >= {"ADVANCE"}
    last = done.run.files[f"micro-report-tide-mills-of-orrin-round-{len(phases)}.md"]
    assert "- Strategy phase recommendation: STOP" in last


async def test_triplet_32_a_round_that_must_reformulate_changes_half_of_the_terms_against_every_earlier_query():
    """A model that changes one word at a time, over one document that every search finds again."""
    words = iter("often monthly weekly daily yearly hourly by whom with what".split())

    def search(_page: ParsedPrompt) -> Mapping[str, Any]:
        queries = [{"text": f"sluice gates greased mill {next(words)}"}]
        return {"reasoning": "r", "goal": "g", "queries": queries, "subjects": ["sluice gates"]}

    same = {f"same-{n}.md": f"# Mill rules {n}\n\nThe sluice gates of mill {n} are greased at Orrin." for n in range(3)}
    spoken = "often monthly weekly daily yearly hourly".split()
    new = {
        f"{w}.md": f"# {w} notes\n\nThe {w} log of the Orrin sluice gates lists {n + 11} boats."
        for n, w in enumerate(spoken)
    }
    options = {"documents": same | new, "stop": ("max_rounds",), "coverage": False, "reads_per_round": 4}
    done = await run_thread({"scope": search, "reflect": doubt_all}, **options)
    rounds = done.report.findings.rounds
    forced = [at for at, each in enumerate(rounds) if each.escape is Escape.REFORMULATE]
    assert forced
    for at in forced:
        past = [query.text for each in rounds[:at] for query in each.intent.queries]
        assert any(is_reformulated(query.text, past) for query in rounds[at].intent.queries)


async def test_triplet_47_a_document_that_names_no_subject_gives_no_facts_whatever_its_reader_says():
    bread = "The bakery sells rye bread on Tuesdays and closes at noon."
    documents = {"bakery.md": f"# Bread of the village\n\n{bread}", "rules.md": DOCUMENTS["rules.md"]}

    def search(_page: ParsedPrompt) -> Mapping[str, Any]:
        return {"reasoning": "r", "goal": "g", "queries": [{"text": "rye bread bakery"}]}

    def quote_bread(_page: ParsedPrompt) -> Mapping[str, Any]:
        return {"quotes": [{"passage": "C1", "quote": bread, "claim": bread, "confidence": 0.9}]}

    options = {"documents": documents, "stop": ("max_rounds",)}
    done = await run_thread({"scope": search, "extract": quote_bread, "reflect": doubt_all}, budget=1, **options)
    [each] = [r for done_round in done.report.findings.rounds for r in done_round.readings if r.hit.url == "bakery.md"]
    assert each.outcome is ReadOutcome.DRIFTED
    assert not [fact for fact in done.report.findings.facts if fact.url == "bakery.md"]
    assert "Skipped for drift: bakery.md" in done.run.files["micro-report-tide-mills-of-orrin-round-1.md"]

"""One given thread over the wire: queries that a model proposes keep their rules, and the files say what happened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.wire.methods import WireRun, run_over_wire

from corrobora.domain.evidence import Grade
from corrobora.domain.run import EventType, Request
from corrobora.policies.queries import query_core
from corrobora.testing.scripted_model import ParsedPrompt
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
    queries = list_queries(await run_thread({"scope": ask_the_same}))
    assert len(queries) > 1
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
        rows = [(found.group(1), text) for found, text in page.all(r"Passage (C\d+)(?:, under)?:?\s*$")]
        lines = [(name, line) for name, text in rows for line in text.split("\n") if line.endswith(".")]
        lines += [("", line) for _, text in page.blocks for line in text.split("\n") if line.endswith(".")]
        name = rows[0][0] if rows else "C1"
        quotes = [{"passage": at or name, "quote": text, "claim": text, "confidence": 0.8} for at, text in lines]
        return {"relevant": True, "quotes": quotes}

    done = await run_thread({"extract": quote_all}, budget=1)
    [report] = [text for name, text in done.run.files.items() if name.startswith("micro-report")]
    assert done.report.findings.rounds[0].new_facts >= 5
    assert "saturation: LOW" in report


async def test_triplet_31_files_are_named_after_the_thread():
    done = await run_thread({}, budget=1)
    names = set(done.run.files)
    assert "micro-report-tide-mills-of-orrin-round-1.md" in names
    assert "thread-completion-tide-mills-of-orrin.md" in names


async def test_triplet_44_a_gap_that_only_an_unverified_source_fills_says_so():
    done = await run_thread({"reflect": doubt_all}, budget=1, publishers=())
    text = done.run.files["thread-completion-tide-mills-of-orrin.md"]
    gaps = text.partition("### Gaps Remaining")[2].partition("###")[0]
    told = {fact.grade for fact in done.report.findings.facts if fact.answers}
    assert "Who built the boat house?" in gaps
    assert ("UNVERIFIED statements only" in gaps) == (told == {Grade.UNVERIFIED})


def doubt_all(_page: ParsedPrompt) -> Mapping[str, Any]:
    said = {"summary": "s", "reasoning": "r", "answered": [], "done": False, "should_continue": True}
    return {**said, "gaps": [{"text": "how often they are greased", "target": "SQ-1"}]}

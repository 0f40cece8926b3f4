"""What earlier runs found, over the wire: it stands in the prompts of a later run, saves rounds, and may be missing."""

from __future__ import annotations

from typing import Any

from tests.fakes import MemoryLibrary
from tests.profiles.research import DOCUMENTS
from tests.wire.methods import run_over_wire

from corrobora.adapters.qdrant import QdrantFacts

INSPECTED = "How often must the harbour cranes of Brenhaven be inspected?"
PLAN = {
    "tier": "simple",
    "tasks": [
        {
            "key": "inspected",
            "title": INSPECTED,
            "objective": "Find the interval",
            "queries": ["fish market"],
            "sub_questions": [INSPECTED],
        }
    ],
}
QUERIES = ["fish market", "market opens", "harbour cranes inspected"]


def search_late(page: Any) -> dict[str, Any]:
    """Ask for the right thing only in the third round, so that the first run takes three."""
    number = len(page.past_queries())
    return {"reasoning": "r", "goal": "g", "queries": [{"text": QUERIES[min(number, 2)]}]}


def judge_fact(page: Any) -> dict[str, Any]:
    """Count the question as answered once the interval stands among the facts."""
    known = "every 24 months" in page.text
    gaps = [] if known else [{"text": "the interval"}]
    said = {"summary": "s", "reasoning": "r", "answered": [name for name, _ in page.questions()] if known else []}
    return {**said, "gaps": gaps, "done": known}


async def test_tree_31_facts_of_an_earlier_run_stand_in_scope_and_extract_prompts_and_save_rounds():
    library = await MemoryLibrary.of(DOCUMENTS)
    answers = {"plan": PLAN, "scope": search_late, "reflect": judge_fact}
    first = await run_over_wire("tree", answers, question=INSPECTED, library=library, reads_per_round=1)
    later = await run_over_wire("tree", answers, question=INSPECTED, library=library, reads_per_round=1)
    assert "every 24 months" in str([fact.quote for fact in first.report.findings.facts])
    assert "24 months" not in first.prompts("scope")[0]
    assert "24 months" in later.prompts("scope")[0]
    assert "24 months" in later.prompts("extract")[0].partition("Passage ")[0]
    assert len(later.asked) < len(first.asked)
    assert len(later.prompts("scope")) < len(first.prompts("scope"))
    assert "24 months" in later.report.markdown


async def test_tree_33_a_store_of_facts_that_is_down_is_a_note_and_the_run_goes_on():
    store = QdrantFacts.from_url("http://127.0.0.1:9")
    done = await run_over_wire("tree", {"plan": PLAN}, question=INSPECTED, facts=store)
    await store.close()
    assert "12 months" in done.report.markdown
    assert any("store of facts could not be used" in note for note in done.report.methodology.notes)


SAME_TITLE = {
    "rules-2021.md": "# Rules\n\nHarbour cranes of Brenhaven must be inspected every 24 months by the mole office.\n",
    "rules-2024.md": "# Rules\n\nHarbour cranes of Brenhaven must be inspected every 12 months since the storm.\n",
    "log.md": "# Log of the harbour\n\nThe harbour cranes of Brenhaven were inspected in May by two men.\n",
}


async def test_every_role_can_tell_sources_of_one_title_apart():
    def doubt(page: Any) -> dict[str, Any]:
        facts = [fact for fact in page.facts() if "must be inspected" in fact.quote]
        body = " ".join(f"An inspection of each crane is due in a fixed rhythm {fact.marker}." for fact in facts)
        return {"title": "Cranes", "body": body}

    answers = {"plan": PLAN, "synthesize": doubt}
    done = await run_over_wire("full", answers, question=INSPECTED, documents=SAME_TITLE)
    for role in ("reflect", "synthesize", "critique", "judge", "confirm"):
        prompts = done.prompts(role)
        assert prompts, role
        rows = {line for line in prompts[-1].split("\n") if "Rules" in line}
        assert len({line for line in rows if "rules-2021.md" in line}) == 1, role
        assert len({line for line in rows if "rules-2024.md" in line}) == 1, role
    assert "log.md" not in "".join(done.prompts("synthesize")), "where titles differ they are enough"

"""A site that names its release says it of each of its pages, over the wire."""

from __future__ import annotations

from tests.fakes import MemoryLibrary
from tests.wire.methods import run_over_wire
from tests.wire.test_named_gaps import SAID, extract_sentences

from corrobora.adapters.readers.html import read_html
from corrobora.domain.evidence import Source, SourceId


async def test_a_page_of_the_documentation_of_a_release_answers_for_its_series():
    """No statement of a manual repeats which release it is on: the name of the site says it of each page."""
    asked, kept = (
        "For how many seconds does the Brenrouter 2.2 keep stale routes?",
        "Stale routes are kept for 90 seconds",
    )
    library = MemoryLibrary()
    for at, name, own in ((11, "Timers", ", then dropped."), (12, "Routes", " and are marked as old.")):
        page = f"<title>{at}. {name} &mdash; Brenrouter 2.2.1 documentation</title><h1>{at}. {name}</h1>"
        text = f"<p>{kept}{own}</p><p>{'The Brenrouter forwards packets of the harbour. ' * 9}</p>"
        parsed = read_html(f"{page}{text}".encode())
        source = Source(SourceId(""), parsed.title, f"{name}.html", "", publisher=parsed.publisher)
        await library.store(source, parsed.text, space="memory")
    answers = {
        "clarify": {
            "feasible": True,
            "complexity": "simple",
            "queries": [{"question": asked, "sub_questions": [asked]}],
        },
        "extract": lambda page: extract_sentences(page, kept),
        "reflect": {**SAID, "answered": ["sq-1"], "gaps": []},
    }
    done = await run_over_wire("timed", answers, question=asked, library=library, max_rounds=1)
    [found] = done.report.findings.sub_questions
    assert (found.standing, done.report.findings.gaps) == ("ANSWERED", ())
    assert {fact.publisher for fact in done.report.findings.facts} == {"Brenrouter 2.2.1 documentation"}

"""What a model names over the wire: facts that answer together, gaps that readers are told, questions of a scout."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from bench.model_server.scripted_model import ParsedPrompt
from tests.wire.methods import WireRun, run_over_wire
from tests.wire.test_tree import DUG, INSPECTED, LOAD, make_plan, make_task

SAID = {"summary": "s", "reasoning": "r", "done": False, "should_continue": True}
STEPS = "Which steps start the pump of Wexmoor?"
MANUAL = {
    "manual.md": "# Manual of the works\n\nThe pump is filled with water first. The valve below it is opened then. "
    "The lever of the pump is pulled in the end.\n\nA pump of this kind is painted green every year.\n"
}
SCORES = dict.fromkeys(("authority", "recency", "coverage", "diversity"), 0.5)


def extract_sentences(page: ParsedPrompt, *wanted: str) -> Mapping[str, Any]:
    ids = [name for name, _ in page.questions()]
    quotes = [
        {"passage": name, "quote": quote, "confidence": 0.8, "answers": ids}
        for name, text in page.passages()
        for quote in wanted
        if quote in text
    ]
    return {"relevant": bool(quotes), "quotes": quotes}


async def research_steps(*named: str, question: str = STEPS) -> str:
    """How the question stands after one round whose reflection names the facts with these words as its answer."""
    told = ("The pump is filled with water first.", "The lever of the pump is pulled in the end.", "painted green")

    def reflect(page: ParsedPrompt) -> Mapping[str, Any]:
        [(asked, _)] = page.questions()
        facts = [fact.id for fact in page.facts() if any(words in fact.quote for words in named)]
        return {**SAID, "answered": [{"question": asked, "facts": facts}], "gaps": []}

    answers = {
        "clarify": {
            "feasible": True,
            "complexity": "simple",
            "queries": [{"question": question, "sub_questions": [question]}],
        },
        "extract": lambda page: extract_sentences(page, *told[:2], "A pump of this kind is painted green every year."),
        "reflect": reflect,
    }
    done = await run_over_wire("timed", answers, question=question, documents=MANUAL, max_rounds=1)
    assert not done.report.findings.nearest, "a model has said what the passages answer"
    [asked] = done.report.findings.sub_questions
    return asked.standing


async def test_several_facts_that_a_model_names_answer_a_question_together():
    """None of them holds the steps, and the manual does not name the works: words alone cannot tell."""
    assert await research_steps() == "PARTIAL", "a bare verdict is not enough"
    assert await research_steps("filled with water", "lever of the pump") == "ANSWERED"
    assert await research_steps("no such fact") == "PARTIAL"
    limits = "Which steps, with which defaults and time limits, start the pump?"
    assert await research_steps("filled with water", "lever", question=limits) == "ANSWERED", "no time of day is asked"


async def test_a_passage_is_read_again_for_a_gap_that_a_model_names_and_its_reader_is_told():
    """The first reader passes over the class of the cranes; the gap is closed from the page that it has read."""
    quote, missed = (
        "Harbour cranes of Brenhaven must be inspected every 12 months.",
        "A crane of class B is painted red.",
    )
    documents = {"rules.md": f"# Crane rules of Brenhaven\n\n{quote} {missed}\n"}
    rounds: list[str] = []

    def extract(page: ParsedPrompt) -> Mapping[str, Any]:
        return extract_sentences(page, quote, *([missed] if "colour of class B cranes" in page.text else []))

    def reflect(page: ParsedPrompt) -> Mapping[str, Any]:
        rounds.append(page.text)
        known, asked = missed in page.text, [name for name, _ in page.questions()]
        gaps = [] if known else [{"text": "the colour of class B cranes", "target": asked[0]}]
        words = {"goal": "colour", "queries": [{"text": "colour of class B cranes"}], "targets": asked}
        return {**SAID, "answered": asked if known else [], "gaps": gaps, "next": words}

    done = await run_over_wire(
        "timed", {"extract": extract, "reflect": reflect}, question=INSPECTED, documents=documents, max_rounds=3
    )
    first, again = done.prompts("extract")
    assert "Still missing" not in first
    assert "the colour of class B cranes" in again.partition("Still missing after earlier rounds")[2]
    assert any(missed in fact.quote for fact in done.report.findings.facts)
    assert "read again for what was missing" in rounds[1]
    assert len(rounds) == 2, "the gap is closed"


async def test_what_is_read_again_shares_the_call_of_what_a_round_reads_first():
    """A second page is found in the second round, in which the first one is read again: one call for both."""
    quote, missed, other = (
        "Harbour cranes of Brenhaven must be inspected every 12 months.",
        "A crane of class B is painted red.",
        "The shopkeeper sells tar and brushes to anybody who pays.",
    )
    documents = {"rules.md": f"# Crane rules of Brenhaven\n\n{quote} {missed}\n"}
    late = {"paint.md": f"# Paint shop\n\n{other}\n"}
    asked = "colour of class B cranes"

    def extract(page: ParsedPrompt) -> Mapping[str, Any]:
        again = "Still missing after earlier rounds" in page.text
        return extract_sentences(page, quote, *([missed, other] if again else []))

    def reflect(page: ParsedPrompt) -> Mapping[str, Any]:
        known, ids = missed in page.text, [name for name, _ in page.questions()]
        gaps = [] if known else [{"text": asked, "target": ids[0]}]
        words = {"goal": "colour", "queries": [{"text": asked}, {"text": "tar and brushes"}], "targets": ids}
        return {**SAID, "answered": ids if known else [], "gaps": gaps, "next": words}

    def scope(page: ParsedPrompt) -> Mapping[str, Any]:
        ids = [name for name, _ in page.questions()]
        return {"reasoning": "r", "goal": "g", "queries": [{"text": "harbour cranes inspected"}], "targets": ids}

    done = await run_over_wire(
        "timed",
        {"extract": extract, "reflect": reflect, "scope": scope},
        question=INSPECTED,
        documents=documents | late,
        reads_per_round=2,
        max_rounds=2,
    )
    first, again = done.prompts("extract")
    assert other not in first
    assert missed in again
    assert other in again
    readings = [(reading.title, reading.again) for reading in done.report.findings.rounds[1].readings]
    assert sorted(readings) == [("Crane rules of Brenhaven", True), ("Paint shop", False)]


async def test_a_page_is_read_on_for_a_gap_where_it_was_not_read_also_if_another_result_comes_first():
    """The first reading shows the section on inspections of a long manual; the gap stands in another one."""
    quote, missed = (
        "Harbour cranes of Brenhaven must be inspected every 12 months.",
        "Class B is painted red by its owner.",
    )
    rest = "\n\n".join(f"## Part {at}\n\n{'The yard keeps ropes and barrels dry. ' * 40}" for at in range(9))
    manual = f"# Manual of the works\n\n## Inspections\n\n{quote}\n\n{rest}\n\n## Paint\n\n{missed}\n"
    pages = {
        "https://works.example/manual": manual,
        "https://news.example/": "# The colour of class B\n\nWhich colour has class B? Nobody knows it.\n",
    }

    def reflect(page: ParsedPrompt) -> Mapping[str, Any]:
        known, ids = missed in page.text, [name for name, _ in page.questions()]
        gaps = [] if known else [{"text": "how class B is painted", "target": ids[0]}]
        words = {"goal": "colour", "queries": [{"text": "colour of class B"}], "targets": ids}
        return {**SAID, "answered": ids if known else [], "gaps": gaps, "next": words}

    def scope(page: ParsedPrompt) -> Mapping[str, Any]:
        ids = [name for name, _ in page.questions()]
        return {"reasoning": "r", "goal": "g", "queries": [{"text": "inspected every 12 months"}], "targets": ids}

    answers = {"reflect": reflect, "scope": scope, "extract": lambda page: extract_sentences(page, quote, missed)}
    done = await run_over_wire("triplet", answers, pages=pages, question=INSPECTED, max_rounds=2, drift=False)
    first, *later = done.prompts("extract")
    assert quote in first
    assert missed not in first
    again = [page for page in later if missed in page]
    assert len(again) == 1
    assert quote not in again[0].partition("Its passages:")[2], "what was read is not sent again"
    assert any(missed in fact.quote for fact in done.report.findings.facts)


async def test_what_is_read_again_and_what_is_read_first_of_one_document_share_a_call_each_for_its_own_task():
    quote, missed, late = (
        "Harbour cranes of Brenhaven must be inspected every 12 months.",
        "An inspection takes two days.",
        "Class B is painted red by its owner.",
    )
    rest = "\n\n".join(f"## Part {at}\n\n{'The yard keeps ropes and barrels dry. ' * 70}" for at in range(12))
    manual = f"# Manual of the works\n\n## Inspections\n\n{quote} {missed}\n\n{rest}\n\n## Paint\n\n{late}\n"

    def reflect(page: ParsedPrompt) -> Mapping[str, Any]:
        known, ids = late in page.text, [name for name, _ in page.questions()]
        gaps = [] if known else [{"text": "days that an inspection takes", "target": ids[0]}]
        words = {"goal": "days", "queries": [{"text": "cranes inspected"}, {"text": "painted red"}], "targets": ids}
        return {**SAID, "answered": ids if known else [], "gaps": gaps, "next": words}

    def scope(page: ParsedPrompt) -> Mapping[str, Any]:
        ids = [name for name, _ in page.questions()]
        return {"reasoning": "r", "goal": "g", "queries": [{"text": "cranes inspected"}], "targets": ids}

    def extract(page: ParsedPrompt) -> Mapping[str, Any]:
        again = "days that an inspection takes" in page.text
        return extract_sentences(page, quote, *([missed, late] if again else []))

    answers = {"reflect": reflect, "scope": scope, "extract": extract}
    done = await run_over_wire("timed", answers, question=INSPECTED, documents={"manual.md": manual}, max_rounds=2)
    first, together = done.prompts("extract")
    assert late not in first
    assert missed in together
    assert late in together
    found = {fact.quote: reading.again for reading in done.report.findings.rounds[1].readings for fact in reading.facts}
    assert (found[missed], found[late]) == (True, False)


async def test_a_place_is_read_again_once_and_only_for_a_gap_in_the_words_of_a_model():
    documents = {"rules.md": "# Crane rules of Brenhaven\n\nHarbour cranes of Brenhaven must be inspected often.\n"}

    def never_content(gaps: list[dict[str, str]]) -> Any:
        words = {"goal": "g", "queries": [{"text": "cranes inspected how often in Brenhaven"}], "targets": ["sq-1"]}
        return lambda _: {**SAID, "answered": [], "gaps": gaps, "next": words}

    async def count_readings(gaps: list[dict[str, str]]) -> int:
        answers = {"reflect": never_content(gaps)}
        done = await run_over_wire(
            "timed", answers, question=INSPECTED, documents=documents, stop=("max_rounds",), max_rounds=3, escapes=False
        )
        return len(done.prompts("extract"))

    assert await count_readings([]) == 1, "what code finds missing is in no reader's power"
    assert await count_readings([{"text": "the number of months", "target": "sq-1"}]) == 2


async def test_tree_20_a_source_is_read_first_by_the_tasks_whose_questions_the_scout_chose_it_for():
    sweep = make_task("sources", "Sources on cranes", discovery=True, queries=["harbour cranes inspected"])
    plan = make_plan(sweep, make_task("inspected", INSPECTED), make_task("load", LOAD), make_task("dug", DUG))
    shown: list[ParsedPrompt] = []

    def choose(page: ParsedPrompt) -> Mapping[str, Any]:
        shown.append(page)
        ids = {text: name for name, text in (row.split(" | ") for row in page.lines("Questions of the tasks"))}
        asked = [ids[INSPECTED]]
        return {"sources": [{"candidate": "K1", **SCORES, "rationale": "It fits.", "answers": asked}]}

    done = await run_over_wire("tree", {"plan": plan, "scout": choose})
    scout, *tasks = done.report.findings.children
    [chosen] = [link.reference for link in scout.linked]
    readings = [[reading for done in found.rounds for reading in done.readings] for found in tasks]
    given = [[each.hit.source for each in own if each.hit.provider == "given"] for own in readings]
    assert given == [[chosen], [], []]
    assert re.search(r"Its scan found for sq-\d", shown[0].text), "what the scan found is shown with what it answers"


async def test_a_scout_of_many_questions_may_ask_a_query_for_each():
    asked = [INSPECTED, LOAD, DUG, "Who keeps the record of the cranes?", "What does a herring cost?"]
    tasks = [make_task(f"task-{number}", text) for number, text in enumerate(asked)]
    plan = make_plan(make_task("sources", "Sources on all", discovery=True, queries=["harbour"]), *tasks)
    done = await run_over_wire("tree", {"plan": plan})
    [page] = [page for page in done.prompts("scope") if "Sources on all" in page]
    count = len(ParsedPrompt.read("", page).lines("Open sub-questions"))
    assert f"1 to {count} queries." in page
    assert count > len(asked), "its own question is one of them"


async def test_what_was_opened_is_not_listed_as_unread_and_what_was_asked_is_not_suggested_again():
    sweep = make_task("sources", "Sources on cranes", discovery=True, queries=["harbour cranes inspected"])
    plan = make_plan(sweep, make_task("inspected", INSPECTED), make_task("load", LOAD))
    done = await run_over_wire("tree", {"plan": plan})
    for page in done.prompts("reflect"):
        told = ParsedPrompt.read("", page)
        read = {row.split(" | ")[1] for row in told.lines("What came of its documents:")}
        unread = {row.split(" | ")[2] for row in told.lines("Found or named, and not read")}
        assert not read & unread
        assert not told.lines("Queries that the planner suggests:"), "its only query was asked in the first round"


async def test_a_writer_is_told_a_gap_once_and_no_ranks_of_sources():
    def reflect(page: ParsedPrompt) -> Mapping[str, Any]:
        gaps = [{"text": f"the colour told for {name}", "target": name} for name, _ in page.questions()]
        return {**SAID, "answered": [], "gaps": gaps}

    sweep = make_task("sources", "Sources on cranes", discovery=True, queries=["harbour cranes inspected"])
    plan = make_plan(sweep, make_task("inspected", INSPECTED), make_task("load", LOAD))
    done = await run_over_wire("tree", {"plan": plan, "reflect": reflect}, max_rounds=1)
    [page] = done.prompts("synthesize")
    told = re.findall(r"the colour told for sq-\d", page)
    assert len(told) == len(set(told)) > 1
    assert "authority" not in page


async def test_a_task_without_subjects_is_not_sent_after_those_that_other_tasks_cover():
    """A forced subject of a sibling costs a round, and its words go into the queries."""
    subjects = [{"name": "inspection", "aliases": []}, {"name": "herring", "aliases": []}]
    clear = {
        "feasible": True,
        "complexity": "moderate",
        "queries": [{"question": INSPECTED, "sub_questions": [INSPECTED, LOAD], "subjects": subjects}],
    }
    plan = make_plan(
        make_task("inspected", INSPECTED, subjects=["inspection"]), make_task("load", LOAD), phases=[{"name": "one"}]
    )
    done = await run_over_wire("full", {"clarify": clear, "plan": plan}, discovery=False, max_rounds=3)
    inspected, load = done.report.findings.children
    assert [each.name for each in inspected.subjects] == ["inspection"]
    assert [each.name for each in load.subjects] == ["herring"], "what nobody took is left to it"
    queries = [query.text for each in load.rounds for query in each.intent.queries]
    assert not any(text.startswith("inspection") for text in queries)


async def test_a_library_has_no_sites_and_what_was_known_before_has_no_grade_of_its_own():
    sweep = make_task("sources", "Sources on cranes", discovery=True, queries=["harbour cranes inspected"])
    plan = make_plan(sweep, make_task("inspected", INSPECTED), make_task("load", LOAD))
    done = await run_over_wire("full", {"plan": plan})
    asked = [*done.prompts("scope"), *done.prompts("reflect")]
    assert asked
    assert not any("site:" in page for page in asked)
    known = [page for page in done.prompts("reflect") if "Facts known before this line" in page]
    assert known
    assert not any(
        "UNVERIFIED for" in page.partition("Facts known before")[2].partition("Round 1")[0] for page in known
    )


async def test_the_lead_is_told_what_a_part_that_found_nothing_was_searched_with():
    plan = make_plan(make_task("inspected", INSPECTED), make_task("load", "Who plays the organ of Wexmoor?"))

    def extract(page: ParsedPrompt) -> Mapping[str, Any]:
        said = extract_sentences(page, "Harbour cranes of Brenhaven")
        [first, *_] = (name for name, text in page.questions() if text == INSPECTED)
        return {**said, "quotes": [{**quote, "answers": [first]} for quote in said["quotes"]]}

    done = await run_over_wire("tree", {"plan": plan, "extract": extract}, max_rounds=1)
    [page] = done.prompts("synthesize")
    told = ParsedPrompt.read("", page).lines("It found nothing. It was searched with:")
    assert any("organ of Wexmoor" in each for each in told)


CRANES, PAINT = "Harbour cranes of Brenhaven must be inspected every 12 months.", "A crane of class B is painted red."
PORT = {"rules.md": f"# Crane rules of Brenhaven\n\n{CRANES}\n", "paint.md": f"# Paint shop of the port\n\n{PAINT}\n"}


async def test_a_gap_that_a_model_names_is_not_closed_by_its_own_verdict_on_the_question():
    """It says that the question is answered and names what is lacking: that is looked for, and told if not found."""

    def reflect(page: ParsedPrompt) -> Mapping[str, Any]:
        [asked] = [name for name, _ in page.questions()]
        answered = [{"question": asked, "facts": [page.facts()[0].id]}]
        return {**SAID, "answered": answered, "gaps": [{"text": "who inspects them", "target": asked}]}

    answers = {"reflect": reflect, "extract": lambda page: extract_sentences(page, CRANES)}
    done = await run_over_wire("timed", answers, question=INSPECTED, documents=PORT, max_rounds=2)
    assert len(done.prompts("reflect")) == 2, "the gap is looked for"
    [question] = done.report.findings.sub_questions
    assert question.standing == "PARTIAL"
    assert [gap.text for gap in done.report.findings.gaps] == ["who inspects them"]
    assert "who inspects them" in done.report.markdown


async def research_port(**options: Any) -> WireRun:
    """The reader of the rules asks for the paint shop, which the only reading of a round leaves unread."""

    def extract(page: ParsedPrompt) -> Mapping[str, Any]:
        return {
            **extract_sentences(page, CRANES, PAINT),
            "read_next": ["Paint shop of the port"] * (CRANES in page.text),
        }

    def reflect(page: ParsedPrompt) -> Mapping[str, Any]:
        [asked] = [name for name, _ in page.questions()]
        lacking = [{"text": "colour of cranes", "target": asked}] * (PAINT not in page.text)
        words = {"goal": "colour", "queries": [{"text": "colour of harbour cranes"}], "targets": [asked]}
        return {**SAID, "answered": [asked], "gaps": lacking, "next": words}

    answers = {"extract": extract, "reflect": reflect}
    return await run_over_wire(
        "timed", answers, question=INSPECTED, documents=PORT, reads_per_round=1, attempts=1, **options
    )


async def test_what_a_reader_asked_for_is_told_to_the_model_that_judges_and_read_if_it_wants_that():
    done = await research_port(max_rounds=3)
    first, second = done.prompts("reflect")
    assert "its reader asks for Paint shop of the port, not read for this task" in first
    assert PAINT in second
    assert not [each for each in done.report.methodology.limits_hit if "asked for" in each]


async def test_what_a_reader_asked_for_and_nobody_read_is_told_in_the_report():
    done = await research_port(max_rounds=1)
    [told] = [each for each in done.report.methodology.limits_hit if "asked for" in each]
    assert told == "not read, though readers asked for it: Paint shop of the port"
    assert "Paint shop of the port" in done.report.markdown

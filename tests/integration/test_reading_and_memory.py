"""What a model reads and remembers, over the wire: whole documents once for each task, and a record that only grows.

Knows the prompts that the scripted model got. Does not know how sections are chosen or how a record is stored.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from bench.model_server.protocols import WireRequest
from bench.model_server.scripted_model import ParsedPrompt, answer_prompt
from bench.model_server.server import ModelServer
from tests.integration.harness import DOCUMENTS, good, name_web, open_harness, passages_sent

from corrobora.domain.report import iter_threads
from corrobora.engine.sections import MAX_SECTIONS_LISTED
from corrobora.policies.selection import CALL_CHARS, READ_CHARS
from corrobora.testing.web import LoopbackWeb, WebPage

GATES = "How often must the sluice gates of Orrin mill be greased?"
NEW = "Which animals live on the mill pond of Orrin?"
LONG = "\n\n".join(
    f"## Part {number}\n\n"
    + " ".join(f"Gates of Orrin mill were counted in part {number}, line {at}." for at in range(40))
    for number in range(1, 31)
)


def is_role(asked: WireRequest, role: str) -> bool:
    return f"# Role: {role}\n" in asked.system


def prompts(server: ModelServer, role: str) -> list[str]:
    return [asked.user for asked in server.asked if is_role(asked, role)]


def shared_length(one: str, other: str) -> int:
    """Return how many characters two texts begin with alike."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def answer_with(changes: Mapping[str, Mapping[str, Any]]) -> Any:
    """Return the scripted model with these fields in the answers of these roles."""

    def answer(asked: WireRequest) -> str:
        said = answer_prompt(asked.system, asked.user)
        found = next((fields for role, fields in changes.items() if is_role(asked, role)), None)
        return json.dumps({**json.loads(said), **found}) if found else said

    return answer


UNSATISFIED = {"answered": [], "done": False, "gaps": [{"text": "the colour of the gates", "target": "sq-1"}]}
UNWORDED = {**UNSATISFIED, "next": {}}  # so that each round is scoped by a call


async def test_each_prompt_of_a_thread_begins_with_what_the_one_before_it_remembered(database_url: str):
    answer = answer_with({"reflect": UNWORDED})
    async with ModelServer(answers=answer) as server, open_harness(database_url) as harness:
        await harness.run(server, "rounds")
    scopes, reflections = prompts(server, "scope"), prompts(server, "reflect")
    assert len(scopes) > 1
    assert len(reflections) > 1
    assert shared_length(*reflections[:2]) >= reflections[0].index("Round 1 is over")
    assert shared_length(*scopes[:2]) >= scopes[0].index("Round 1, phase") - 2
    first = next(query["text"] for asked in server.asked if is_role(asked, "scope") for query in _queries(asked))
    for later in (scopes[1], reflections[1]):
        assert re.search(rf"^\d+, \d+, \d+ \| {re.escape(first)}$", later, re.MULTILINE), "the yield of a past query"
        assert "the colour of the gates" in later
        assert f"Today is {datetime.now(UTC):%Y}-" in later
        assert "mills (7 documents), such as: " in later
    assert "the colour of the gates" not in reflections[0]


async def test_the_form_of_an_answer_stays_the_same_though_questions_are_answered(database_url: str):
    """Providers read the form before all else: one that changes from round to round is no beginning that repeats."""
    answer = answer_with(
        {"reflect": {**UNWORDED, "answered": ["sq-2"], "gaps": [{"text": "colour", "target": "sq-1"}]}}
    )
    async with ModelServer(answers=answer) as server, open_harness(database_url) as harness:
        await harness.run(server, "rounds")
    for role in ("scope", "reflect"):
        asked = [asked for asked in server.asked if is_role(asked, role)]
        assert len(asked) > 1
        assert len({json.dumps(each.body["response_format"]) for each in asked}) == 1
    opened = [ParsedPrompt.read("", user).lines("Open sub-questions:") for user in prompts(server, "scope")]
    assert len(opened[1]) < len(opened[0])


def _queries(asked: WireRequest) -> list[dict[str, str]]:
    return json.loads(answer_prompt(asked.system, asked.user))["queries"]


def list_sources(prompt: str) -> list[str]:
    """Return the titles of the sources that are read in a call."""
    return re.findall(r"^The source(?: S\d+)?: <data-\w+>(.*?)</data", prompt, re.MULTILINE)


async def test_a_document_is_read_whole_in_one_call_and_no_passage_twice(database_url: str):
    async with ModelServer() as server, open_harness(database_url) as harness:
        await good(await harness.run(server, "timed"), harness)
    titles = Counter(title for user in prompts(server, "extract") for title in list_sources(user))
    assert max(titles.values()) == 1
    assert max(passages_sent(server).values()) == 1
    rules = next(user for user in prompts(server, "extract") if "tide mill, 2014</data" in user)
    assert all(text in rules for text in ("animal fat", "spill way opens", "Look for: all sub-questions"))


async def test_short_documents_share_a_call_and_what_was_said_stays_with_its_source(database_url: str):
    def answer(asked: WireRequest) -> str:
        said = json.loads(answer_prompt(asked.system, asked.user))
        if is_role(asked, "extract"):
            shown = dict(re.findall(r"^The source (S\d+): <data-\w+>(.*?)</data", asked.user, re.MULTILINE))
            said["summary"] = " ".join(f"{name}: It is about {title}." for name, title in shown.items())
            passages = ParsedPrompt.read(asked.system, asked.user).passages()
            told = next(name for name, text in passages if "In March 2018" in text)
            linked = {"reference": "The log", "context": "hours", "priority": 0.5, "passage": told}
            said |= {"gaps": [f"{told}: the cause is not known"], "linked": [linked]}
        return json.dumps(said)

    documents = {**DOCUMENTS, "flood.md": f"{DOCUMENTS['flood.md']}\n## Limitations\n\nThe cause is not known.\n"}
    async with ModelServer(answers=answer) as server, open_harness(database_url, documents) as harness:
        found = await harness.run(server, "timed", overrides=(("max_rounds", "1"),))
        await good(found, harness)
    [together] = prompts(server, "extract")
    assert len(list_sources(together)) > 3
    assert found.report is not None
    readings = [reading for done in found.report.findings.rounds for reading in done.readings]
    assert len(readings) == len(list_sources(together))
    for reading in readings:
        assert all(fact.source == reading.source for fact in reading.facts)
        assert reading.summary == f"It is about {reading.title}."
        own = reading.title == "The flood of 2018"
        assert list(reading.gaps) == (["the cause is not known"] if own else [])
        assert [link.reference for link in reading.linked] == (["The log"] if own else [])
    assert len({fact.source for reading in readings for fact in reading.facts}) > 2


async def test_documents_that_do_not_fit_into_one_call_are_read_in_several(database_url: str):
    long = {name: text + "\n" + "The wheel turns once more. " * 300 for name, text in DOCUMENTS.items()}
    async with ModelServer() as server, open_harness(database_url, long) as harness:
        await good(await harness.run(server, "timed", overrides=(("max_rounds", "1"),)), harness)
    calls = [list_sources(user) for user in prompts(server, "extract")]
    assert len(calls) > 1
    assert max(map(len, calls)) < len(long)
    assert max(passages_sent(server).values()) == 1
    assert all(len(user) < CALL_CHARS * 1.3 for user in prompts(server, "extract"))


async def test_of_a_long_document_the_best_sections_are_read_and_a_reader_may_ask_for_another(database_url: str):
    wanted: list[str] = []

    def answer(asked: WireRequest) -> str:
        said = json.loads(answer_prompt(asked.system, asked.user))
        listed = re.findall(r"^(C\d+) \| .*Part \d+$", asked.user, re.MULTILINE) if is_role(asked, "extract") else []
        if listed and not wanted:
            wanted.append(listed[-1])
            said["read_next"] = [listed[-1], "Grease for wooden gates"]
        return json.dumps(said)

    documents = {"long.md": f"# Counting of gates\n\n{LONG}", "grease.md": DOCUMENTS["grease.md"]}
    async with ModelServer(answers=answer) as server, open_harness(database_url, documents) as harness:
        await harness.run(server, "timed", overrides=(("max_rounds", "1"),))
    long = [user for user in prompts(server, "extract") if "Counting of gates" in list_sources(user)]
    assert wanted
    assert f"Passage {wanted[0]}," not in long[0]
    assert len(long[0]) < READ_CHARS * 1.3
    assert 0 < len(ParsedPrompt.read("", long[0]).lines("Other sections of this source")) <= MAX_SECTIONS_LISTED
    assert f"Passage {wanted[0]}," in long[1], "what was asked for is read in the same round"
    assert long[1] in [asked.user for asked in server.asked if is_role(asked, "extract")][:4]
    assert max(passages_sent(server).values()) == 1


async def test_a_document_that_a_source_names_is_read_and_one_that_is_nowhere_reaches_the_reflection(database_url: str):
    asks = {"read_next": ["Bread of the village", "Annals of the county of Orrin"]}
    changes = {"extract": asks, "reflect": UNSATISFIED}
    async with ModelServer(answers=answer_with(changes)) as server, open_harness(database_url) as harness:
        await harness.run(server, "timed")
    assert any("Bread of the village" in list_sources(user) for user in prompts(server, "extract"))
    assert "asked for Annals of the county of Orrin" in prompts(server, "reflect")[0]


async def test_a_section_that_is_named_by_its_number_is_found_by_its_heading_in_any_document(database_url: str):
    def answer(asked: WireRequest) -> str:
        said = json.loads(answer_prompt(asked.system, asked.user))
        if is_role(asked, "extract") and "5.2.4 Geese" not in asked.user:
            said["read_next"] = ["Sec. 5.2.5"]
        if is_role(asked, "reflect"):
            said |= UNSATISFIED
        if is_role(asked, "scope"):
            said["queries"] = [{"text": "sluice gates greased 2014 animal fat"}]
        return json.dumps(said)

    annex = "# Annex of the county\n\n## 5.2.4 Geese\n\nGeese may stay.\n\n## 5.2.5 Cats\n\nTwo cats are fed at noon.\n"
    documents = {**DOCUMENTS, "annex.md": annex}
    async with ModelServer(answers=answer) as server, open_harness(database_url, documents) as harness:
        await harness.run(
            server, "timed", overrides=(("drift", "false"), ("reads_per_round", "3"), ("max_rounds", "2"))
        )
    read = [user for user in prompts(server, "extract") if "Two cats are fed at noon" in user]
    assert len(read) == 1


async def test_what_may_be_filled_in_is_an_enum_of_what_the_prompt_shows(database_url: str):
    async with ModelServer() as server, open_harness(database_url) as harness:
        await harness.run(server, "rounds")
    for role, label in (
        ("extract", "Sub-questions:"),
        ("reflect", "Sub-questions, as code"),
        ("scope", "sub-questions:"),
    ):
        asked = next(asked for asked in server.asked if is_role(asked, role))
        shown = [row.split(" ")[0] for row in ParsedPrompt.read(asked.system, asked.user).lines(label)]
        assert shown
        assert f'"enum": {json.dumps(shown)}' in json.dumps(asked.body)
        assert "x-choices" not in json.dumps(asked.body)


async def test_a_sub_question_that_the_model_finds_necessary_is_researched_and_reported(database_url: str):
    changes = {"reflect": {**UNSATISFIED, "new_sub_questions": [NEW]}}
    async with ModelServer(answers=answer_with(changes)) as server, open_harness(database_url) as harness:
        found = await harness.run(server, "timed", overrides=(("reads_per_round", "3"),))
    reflections = prompts(server, "reflect")
    assert NEW not in reflections[0]
    assert re.search(rf"^new-1\.1 \w+ \| {re.escape(NEW)}", reflections[1], re.MULTILINE)
    assert any(NEW in user for user in prompts(server, "extract"))
    assert found.report is not None
    assert [each.text for each in found.report.findings.sub_questions].count(NEW) == 1


async def test_one_reading_serves_the_specifications_of_all_leaves(database_url: str):
    """Two leaves with a specification each: a document that both need is sent once, with both."""
    specs = [{"questions": [GATES], "acceptance_criteria": f"criterion {key}"} for key in ("one", "two")]
    same = {"queries": [GATES], "sub_questions": [GATES]}
    tasks = [
        {"key": f"t{at}", "title": f"Task {at}", "objective": f"{GATES} {at}", "specs": [spec], **same}
        for at, spec in enumerate(specs)
    ]
    changes = {"plan": {"tier": "moderate", "tasks": tasks}}
    async with ModelServer(answers=answer_with(changes)) as server, open_harness(database_url) as harness:
        await harness.run(server, "tree")
    rules = [user for user in prompts(server, "extract") if "tide mill, 2014</data" in user]
    assert len(rules) == 1
    assert all(f"criterion {key}" in rules[0] for key in ("one", "two"))
    assert set(passages_sent(server).values()) == {1}


async def test_sections_of_one_document_that_a_reader_asks_for_are_shown_as_one_source(database_url: str):
    asked_for: list[str] = []

    def answer(asked: WireRequest) -> str:
        said = json.loads(answer_prompt(asked.system, asked.user))
        listed = re.findall(r"^(C\d+) \| .*Part \d+$", asked.user, re.MULTILINE) if is_role(asked, "extract") else []
        if listed and not asked_for:
            asked_for.extend(listed[-2:])
            said["read_next"] = asked_for
        return json.dumps(said)

    documents = {"long.md": f"# Counting of gates\n\n{LONG}"}
    async with ModelServer(answers=answer) as server, open_harness(database_url, documents) as harness:
        await harness.run(server, "timed")
    both = next(user for user in prompts(server, "extract") if f"Passage {asked_for[0]}," in user)
    assert f"Passage {asked_for[1]}" in both
    assert (both.count("Its passages:"), both.count("Other sections of this source")) == (1, 0), "those were listed"
    assert not set(asked_for) & set(re.findall(r"^(C\d+) \| ", both, re.MULTILINE))
    told = next(user for user in prompts(server, "reflect") if "Counting of gates" in user)
    assert len(re.findall(r"^S\d+ read \d+ facts \| Counting of gates", told, re.MULTILINE)) == 1


async def test_a_text_that_stands_under_two_names_is_sent_to_a_model_once_and_both_are_told(database_url: str):
    documents = {**DOCUMENTS, "rules-copy.md": DOCUMENTS["rules-2021.md"]}
    async with ModelServer() as server, open_harness(database_url, documents) as harness:
        found = await harness.run(server, "timed")
    read = [list_sources(user) for user in prompts(server, "extract")]
    assert sum("Rules of the Orrin tide mill, 2021" in each for each in read) == 1
    assert found.report is not None
    notes = [r.note for leaf in iter_threads(found.report.findings) for done in leaf.rounds for r in done.readings]
    assert any(note.startswith("the same text as S") for note in notes)
    told = re.findall(
        r"^S\d+ read \d+ facts \| .*the same text at (.*\.md)", "\n".join(prompts(server, "reflect")), re.MULTILINE
    )
    assert told
    assert set(told) <= {"rules-2021.md", "rules-copy.md"}


def write_page(name: str) -> WebPage:
    """A long page of the web about gates, of ten parts."""
    parts = "".join(
        f"<h2>Part {number} of {name}</h2><p>{f'The sluice gates of Orrin mill, {name}, line {number}. ' * 40}</p>"
        for number in range(10)
    )
    title = f"The gates of Orrin mill, {name}"
    return WebPage.of_html(
        f"/{name}.html",
        f"<html><head><title>{title}</title></head><body><article><h1>{title}</h1>{parts}</article></body></html>",
    )


async def test_sections_that_readers_ask_for_are_read_together_if_they_are_of_one_web_page_only(database_url: str):
    """What a page says must not reach the reader of another page; sections of one page may share a call."""

    def answer(asked: WireRequest) -> str:
        said = json.loads(answer_prompt(asked.system, asked.user))
        if is_role(asked, "extract"):
            said["read_next"] = re.findall(r"^(C\d+) \| ", asked.user, re.MULTILINE)[:2]
        return json.dumps({**said, **(UNSATISFIED if is_role(asked, "reflect") else {})})

    pages = [write_page(name) for name in ("north", "south")]
    async with (
        ModelServer(answers=answer) as server,
        LoopbackWeb(pages) as web,
        open_harness(database_url, settings=name_web(web)) as harness,
    ):
        overrides = (("max_rounds", "2"), ("reads_per_round", "6"))
        await harness.run(server, "timed", overrides=overrides, libraries=(), providers=("tavily",))
    shown = [re.findall(r"^Passage C\d+(?:, under .*)?:", user, re.MULTILINE) for user in prompts(server, "extract")]
    assert len(shown) > 2, "sections were asked for and read"
    assert all(len(set(list_sources(user))) == 1 for user in prompts(server, "extract"))


async def test_a_document_on_one_of_two_subjects_is_opened_where_it_tells_what_is_asked_of_both(database_url: str):
    """The names of the subjects say which document is wanted; the one on Alder never speaks of Birch."""
    filler = "The Alder pump was shown at the fair, and visitors of the Alder pump admired its paint. " * 8
    parts = [f"## Part {number}\n\n{filler}" for number in range(40)]
    parts[31] = "## Part 31\n\nIts price is 300 crowns, and its upkeep takes two hours of time in each month."
    documents = {"alder.md": "# The Alder pump\n\n" + "\n\n".join(parts), "geese.md": DOCUMENTS["geese.md"]}
    question = "What do the Alder pump and the Birch pump cost in upkeep, price and time?"
    subjects = [{"name": "Alder pump", "aliases": ["Alder"]}, {"name": "Birch pump", "aliases": ["Birch"]}]
    query = {"question": question, "sub_questions": [question], "subjects": subjects, "disambiguation": [], "plan": []}
    first = {"text": "visitors of the fair who admired the Alder pump"}
    changes = {
        "clarify": {"queries": [query]},
        "scope": {"queries": [first], "goal": "the fair"},
    }
    async with (
        ModelServer(answers=answer_with(changes)) as server,
        open_harness(database_url, documents) as harness,
    ):
        await harness.run(server, "timed", question=question, overrides=(("max_rounds", "1"),))
    [alder] = [user for user in prompts(server, "extract") if "The Alder pump" in list_sources(user)]
    assert "300 crowns" in alder


async def test_a_round_for_one_gap_opens_few_results_and_the_others_only_if_these_give_nothing(database_url: str):
    documents = {
        f"gate-{number}.md": f"# Gate {number}\n\nThe sluice gate {number} of Orrin mill must be greased every "
        f"{number + 3} days. Its colour is told in book {number}.\n"
        for number in range(30)
    }

    def play(*, fruitless: bool) -> Any:
        rounds = [0]

        def answer(asked: WireRequest) -> str:
            said = json.loads(answer_prompt(asked.system, asked.user))
            if is_role(asked, "reflect"):
                rounds[0] += 1
                gap = {"text": "the colour of the sluice gates", "target": "sq-1"}
                said |= {"answered": [], "done": False, "gaps": [gap], "next": {}, "next_topic": ""}
            if is_role(asked, "extract") and rounds[0] and fruitless:
                said |= {"quotes": []}
            return json.dumps(said)

        return answer

    reads, again = list[list[int]](), list[list[int]]()
    for fruitless in (False, True):
        async with (
            ModelServer(answers=play(fruitless=fruitless)) as server,
            open_harness(database_url, documents) as harness,
        ):
            overrides = (("max_rounds", "2"), ("hits_per_query", "30"))
            found = await harness.run(server, "timed", question=GATES, overrides=overrides)
        assert found.report is not None
        rounds = [done for thread in iter_threads(found.report.findings) for done in thread.rounds]
        reads.append([len(done.readings) for done in rounds])
        again.append([sum(reading.again for reading in done.readings) for done in rounds])
    assert again == [[0, 1], [0, 1]], "the best result was read before, and is read again for the gap"
    assert reads == [[8, 3], [8, 9]]


async def test_a_later_round_finds_the_rest_of_a_long_document_where_results_are_documents(database_url: str):
    told = "The varnish of the cogwheels is renewed by Tobiah Quill in each third winter."
    long = {"gates.md": f"# Gates of Orrin mill\n\n{LONG}\n\n## Varnish of the cogwheels\n\n{told}\n"}
    wanted = {"goal": "varnish", "queries": [{"text": "varnish of the cogwheels renewed"}], "targets": ["sq-1"]}
    changes = {"reflect": {**UNSATISFIED, "next": wanted}, "scope": {**wanted, "queries": [{"text": "gates counted"}]}}
    async with ModelServer(answers=answer_with(changes)) as server, open_harness(database_url, long) as harness:
        await harness.run(server, "rounds", question=GATES)
    read = prompts(server, "extract")
    assert told not in read[0]
    assert any(told in page for page in read[1:])

"""What a model reads of long pages and of many, over the wire: entries by name, each query in its turn, hosts' limits.

Knows the prompts that the scripted model got. Does not know how results are ranked.
"""

from __future__ import annotations

import json
import re

import pytest
from bench.model_server.protocols import WireRequest
from bench.model_server.scripted_model import answer_prompt
from bench.model_server.server import ModelServer
from tests.integration.harness import DOCUMENTS, name_web, open_harness
from tests.integration.test_reading_and_memory import UNSATISFIED, answer_with, list_sources

from corrobora.domain.limits import LIMITS
from corrobora.engine.knowledge import MAX_ROUND_FACTS
from corrobora.testing.web import LoopbackWeb, WebPage

QUESTION = "How is the lamp of the Orrin lighthouse set?"


def is_role(asked: WireRequest, role: str) -> bool:
    return f"# Role: {role}\n" in asked.system


def prompts(server: ModelServer, role: str) -> list[str]:
    return [asked.user for asked in server.asked if is_role(asked, role)]


def write_page(name: str, title: str, body: str) -> WebPage:
    markup = f"<html><head><title>{title}</title></head><body><article><h1>{title}</h1>{body}</article></body></html>"
    return WebPage.of_html(f"/{name}.html", markup)


async def run_on_web(server: ModelServer, database_url: str, pages: list[WebPage], **overrides: str) -> str:
    async with LoopbackWeb(pages) as web, open_harness(database_url, settings=name_web(web)) as harness:
        ended = await harness.run(
            server,
            "timed",
            question=QUESTION,
            overrides=tuple(overrides.items()),
            libraries=(),
            providers=("tavily",),
        )
    return ended.markdown


async def test_an_entry_of_a_long_list_without_headings_is_read_if_a_reader_names_it(database_url: str):
    """A manual of settings has one heading and hundreds of entries: none of them is listed as a section."""
    rows = [
        f"<p>rope.mode{at}</p><p>{f'Sets rope {at} of the quay in winter and summer. ' * 12}</p>" for at in range(90)
    ]
    rows[70] = "<p>shade.colour</p><p>Its default is amber; blue needs a permit of the harbour.</p>"
    text = "<p>The lamp of the Orrin lighthouse is set by the keeper.</p>" + "".join(rows)
    asked_for: list[str] = []

    def answer(asked: WireRequest) -> str:
        said = json.loads(answer_prompt(asked.system, asked.user))
        if is_role(asked, "extract") and not asked_for:
            asked_for.append(asked.user)
            said["read_next"] = ["shade.colour"]
        return json.dumps(said)

    async with ModelServer(answers=answer) as server:
        await run_on_web(server, database_url, [write_page("settings", "Settings of the lighthouse", text)])
    first, *others = prompts(server, "extract")
    assert "Its default is amber" not in first
    [entry] = [user for user in others if "Its default is amber" in user]
    assert len(entry) < len(first)
    assert all("shade.colour, which was not found" not in user for user in prompts(server, "reflect"))


async def test_the_rest_of_a_section_that_was_read_in_part_is_listed_and_read_if_its_reader_asks(database_url: str):
    """A page with one heading is longer than a call: without a line for it nobody could ask for what follows."""
    rows = [
        f"<p>{f'Rope {at} of the Orrin lighthouse hangs at the quay, and its lamp is set. ' * 12}</p>"
        for at in range(60)
    ]
    rows[50] = "<p>Fifty fathoms below the ropes of the quay lies the brass anchor.</p>"
    asked_for: list[str] = []

    def answer(asked: WireRequest) -> str:
        said = json.loads(answer_prompt(asked.system, asked.user))
        if is_role(asked, "extract") and not asked_for:
            asked_for.extend(re.findall(r"^(C\d+) \| Ropes of the lighthouse: ", asked.user, re.MULTILINE)[-1:])
            said["read_next"] = asked_for
        return json.dumps(said)

    async with ModelServer(answers=answer) as server:
        await run_on_web(server, database_url, [write_page("ropes", "Ropes of the lighthouse", "".join(rows))])
    assert len(asked_for) == 1
    assert sum(f"Passage {asked_for[0]}" in user for user in prompts(server, "extract")) == 1


async def test_who_is_not_shown_all_facts_is_told_how_many_more_there_are(database_url: str):
    """Else a model names as missing, or denies, what its readers found."""
    rows = [f"The lamp of the Orrin lighthouse was set {at} times in {1700 + at} by keeper {at}." for at in range(200)]
    text = "".join(f"<p>{row}</p>" for row in rows)

    def answer(asked: WireRequest) -> str:
        said = json.loads(answer_prompt(asked.system, asked.user))
        if is_role(asked, "extract"):
            parts = re.split(r"^Passage (C\d+)[^\n]*:$", asked.user, flags=re.MULTILINE)
            found = [
                (at, row) for at, shown in zip(parts[1::2], parts[2::2], strict=True) for row in rows if row in shown
            ]
            about = {"confidence": 0.9, "claim": "", "answers": ["sq-1"], "subjects": []}
            said["quotes"] = [{"passage": at, "quote": row, **about} for at, row in found]
        return json.dumps(said)

    async with ModelServer(answers=answer) as server:
        await run_on_web(server, database_url, [write_page("lamp", "The lamp", text)], max_rounds="1")
    shown = {role: prompts(server, role)[0] for role in ("reflect", "synthesize")}
    facts = {role: len(re.findall(r"^F\w+ \[S\d+:C\d+\]", user, re.MULTILINE)) for role, user in shown.items()}
    assert facts["reflect"] == 2 * MAX_ROUND_FACTS, "as many again by their beginnings"
    assert f"without {facts['synthesize'] - 2 * MAX_ROUND_FACTS} more on the same questions" in shown["reflect"]
    assert "more on the same questions" not in shown["synthesize"], "the writer has room for all"


async def test_each_query_of_a_model_has_its_best_result_read_before_the_second_of_another(database_url: str):
    body = (
        "<p>The lamp of the Orrin lighthouse and its {}. " + "The granite wall of the tower was built by masons. " * 9
    )
    pages = [write_page(f"granite{at}", f"Granite wall {at}", body.format(f"granite {at}")) for at in range(8)]
    pages.append(write_page("copper", "Copper roof", "<p>The copper roof has a green patina since the storm.</p>"))

    def answer(asked: WireRequest) -> str:
        said = json.loads(answer_prompt(asked.system, asked.user))
        for task in said.get("tasks", []):
            task["queries"] = ["granite wall of the tower", "green patina of the copper roof"]
        return json.dumps(said)

    async with ModelServer(answers=answer) as server:
        await run_on_web(server, database_url, pages, reads_per_round="3", max_rounds="1")
    read = [user for user in prompts(server, "extract") if "has a green patina" in user]
    assert len(read) == 1, "a page that only the second query found"
    assert len(prompts(server, "extract")) == 3


async def test_a_model_is_told_of_pages_left_out_because_a_host_had_its_share(database_url: str):
    """Else a round whose results were never opened looks like a round of bad queries."""
    line = "<p>The lamp of the Orrin lighthouse is set {} times in month {}, as keeper {} of the lighthouse wrote.</p>"
    pages = [write_page(f"log{at}", f"Log {at}", line.format(at + 2, at + 3, at + 4)) for at in range(20)]
    pages += [write_page(f"bell{at}", f"Bell {at}", f"<p>The bell of pier {at} rings at noon.</p>") for at in range(8)]

    def answer(asked: WireRequest) -> str:
        said = json.loads(answer_prompt(asked.system, asked.user))
        if is_role(asked, "reflect"):
            said |= {"answered": [], "done": False, "gaps": [{"text": "the bell of the pier", "target": "sq-1"}]}
            if said["next"]:
                said["next"] |= {"queries": [{"text": "bell of the pier"}]}
        return json.dumps(said)

    async with ModelServer(answers=answer) as server:
        await run_on_web(
            server,
            database_url,
            pages,
            reads_per_round="20",
            max_rounds="2",
            hits_per_query="20",
            whole_documents="true",
        )
    assert len(prompts(server, "extract")) == LIMITS.pages_per_host == 20
    told = re.findall(r"^skipped 0 facts \| Bell \d+ \| .*, its limit\.", prompts(server, "reflect")[-1], re.MULTILINE)
    assert len(told) == 8


async def test_a_search_that_failed_is_told_as_one_to_those_who_reflect_and_write(database_url: str):
    """Else a broken provider looks like a web without sources, and the report denies what nobody looked for."""
    text = "<p>The lamp of the Orrin lighthouse is set by the keeper at noon.</p>"

    def answer(asked: WireRequest) -> str:
        said = json.loads(answer_prompt(asked.system, asked.user))
        for task in said.get("tasks", []):
            task["queries"] = ["lamp of the lighthouse", "keepers of the lighthouse"]
        return json.dumps(said)

    pages = [write_page("lamp", "The lamp", text)]
    async with (
        ModelServer(answers=answer) as server,
        LoopbackWeb(pages, api_faults=("", "401")) as web,
        open_harness(database_url, settings=name_web(web)) as harness,
    ):
        options = (("max_rounds", "1"), ("attempts", "1"), ("queries_in_turn", "true"))
        await harness.run(server, "timed", question=QUESTION, overrides=options, libraries=(), providers=("tavily",))
    for role, told in (("reflect", "Searches that failed"), ("synthesize", "Its searches that failed")):
        prompt = prompts(server, role)[0]
        assert re.search(rf"^{told}[^\n]*:\n<data-\w+>\ntavily refused the key", prompt, re.MULTILINE), role


async def test_a_short_quote_of_an_entry_is_a_fact_with_the_words_around_it_and_what_is_refused_is_told(
    database_url: str,
):
    """A manual states a default in two words: a reader that copies just these once lost the fact."""
    entry = "<h2>Lamp limit</h2><ul><li>Type of value: Lamps that may burn</li><li>Default value: 128</li></ul>"
    text = f"<p>The lamp of the Orrin lighthouse is set by the keeper.</p>{entry}<p>It is set in spring.</p>"

    def answer(asked: WireRequest) -> str:
        said = json.loads(answer_prompt(asked.system, asked.user))
        if is_role(asked, "extract"):
            shown = re.findall(r"^Passage (C\d+)", asked.user, re.MULTILINE)[0]
            quotes = ("Default value: 128", "Default value: 129", "set")
            said["quotes"] = [
                {"passage": shown, "quote": each, "claim": "", "confidence": 0.9, "answers": ["sq-1"], "subjects": []}
                for each in quotes
            ]
        return json.dumps(said)

    page = write_page("settings", "Settings of the lighthouse", text)
    async with ModelServer(answers=answer) as server:
        report = await run_on_web(server, database_url, [page])
    assert any("128" in user and "Type of value: Lamps that may burn" in user for user in prompts(server, "reflect"))
    assert all("129" not in user for user in prompts(server, "reflect"))
    assert re.search(r"each with a literal quote; 2 quotes refused: .*no single place", report)
    assert "2 of its reader's quotes refused: not in it" in prompts(server, "reflect")[0]


@pytest.mark.parametrize(
    ("name", "opened"),
    [
        ("zimtctl(8)", "ZIMTCTL manual page"),
        ("pepper.conf(5)", "PEPPER.CONF manual page"),
        ("GEESE", ""),
        ("Grey geese", "Birds"),
        ("Section 49.2", "Birds"),
        ("Purring cats", "Birds"),
    ],
)
async def test_a_document_or_section_is_found_by_its_name_or_number_and_one_word_of_a_heading_opens_nothing(
    database_url: str, name: str, opened: str
):
    documents = {
        **DOCUMENTS,
        "a.md": "# ZIMTCTL manual page\n\n## NAME\n\nStirs porridge.\n",
        "b.md": "# PEPPER.CONF manual page\n\n## NAME\n\nLists spices.\n",
        "c.md": f"# Birds\n\n## Geese\n\nThey stay.\n\n## 7.1.3. Grey geese\n\n{'Zib zab. ' * 60}\n\n"
        f"## 49. Pets\n\n### 2. Tortoises\n\n{'Zub zob. ' * 60}\n\n7.2. Purring cats\n\nThey sleep.\n",
    }
    changes = {"extract": {"read_next": [name]}, "reflect": UNSATISFIED}
    async with ModelServer(answers=answer_with(changes)) as server, open_harness(database_url, documents) as harness:
        await harness.run(server, "timed", overrides=(("max_rounds", "1"),))
    read = {title for user in prompts(server, "extract") for title in list_sources(user)}
    assert read & {"ZIMTCTL manual page", "PEPPER.CONF manual page", "Birds"} == {opened} - {""}


async def test_a_quote_without_the_permalink_sign_of_its_term_is_a_fact(database_url: str):
    """Generators of documentation put a sign of a font behind each term: nobody copies it."""
    sign = '<a class="headerlink" href="#lamps" title="Permalink to this definition">\uf0c1</a>'
    term = f"<dl><dt id=lamps>--lamps{sign}</dt><dd>The number of lamps that the keeper sets; 4 by default.</dd></dl>"
    quote = "--lamps: The number of lamps that the keeper sets; 4 by default."

    def answer(asked: WireRequest) -> str:
        said = json.loads(answer_prompt(asked.system, asked.user))
        if is_role(asked, "extract"):
            shown = re.findall(r"^Passage (C\d+)", asked.user, re.MULTILINE)[0]
            own = {"passage": shown, "quote": quote, "claim": "", "confidence": 0.9, "answers": ["sq-1"]}
            said["quotes"] = [own | {"subjects": []}]
        return json.dumps(said)

    text = f"<p>The lamp of the Orrin lighthouse is set by the keeper.</p>{term}<p>It is set in spring.</p>"
    async with ModelServer(answers=answer) as server:
        await run_on_web(server, database_url, [write_page("settings", "Settings of the lighthouse", text)])
    assert quote in prompts(server, "reflect")[0]


async def test_each_query_has_a_document_read_though_two_providers_answer_all_of_them(database_url: str):
    """The results of the last query's providers stood behind those of all others, and a round ended before them."""
    names, question = ("lamp", "rope", "bell"), "Where does the bell hang?"
    pages = [
        write_page(f"{name}{at}", f"The {name} {at}", f"<p>The {name} {at} hangs.</p>")
        for name in names
        for at in (1, 2)
    ]
    stored = {
        f"{name}-{at}.md": f"# The {name} {at} of the store\n\nThe {name} {at} is old.\n"
        for name in names
        for at in (1, 2)
    }

    def answer(asked: WireRequest) -> str:
        said = json.loads(answer_prompt(asked.system, asked.user))
        for task in said.get("tasks", []):
            task["queries"] = [question.replace("bell", name) for name in names]
        return json.dumps(said)

    async with (
        ModelServer(answers=answer) as server,
        LoopbackWeb(pages) as web,
        open_harness(database_url, documents=stored, settings=name_web(web)) as harness,
    ):
        options = (("max_rounds", "1"), ("reads_per_round", "3"))
        await harness.run(server, "timed", question=question, overrides=options, providers=("tavily",))
    [sources] = re.findall(r"What came of its documents:\n(.*?)\n</data", prompts(server, "reflect")[0], re.DOTALL)
    assert all(f"The {name}" in sources for name in names)

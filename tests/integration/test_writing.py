"""How a model writes, over the wire: an outline, a fitting length, no summary of a single thread, the question at once.

Knows the requests that the scripted model got. Does not know how a report is assembled.
"""

from __future__ import annotations

import json
import re

import pytest
from bench.model_server.protocols import WireRequest
from bench.model_server.scripted_model import answer_prompt
from bench.model_server.server import ModelServer
from tests.integration.harness import QUESTION, good, open_harness

from corrobora.engine.review import MAX_RULED, gather_reasons
from corrobora.storage.journal.events import read_events

OUTLINE = {"answer_type": "two rules", "components": ["interval", "level"], "disagreements": ["2014 against 2021"]}


def is_role(asked: WireRequest, role: str) -> bool:
    return f"# Role: {role}\n" in asked.system


def write_along(asked: WireRequest) -> str:
    said = answer_prompt(asked.system, asked.user)
    return json.dumps({"outline": OUTLINE, **json.loads(said)}) if is_role(asked, "synthesize") else said


async def test_the_lead_plans_its_text_and_a_single_thread_is_not_summarized(database_url: str):
    async with ModelServer(answers=write_along) as server, open_harness(database_url) as harness:
        found = await harness.run(server, "timed")
        await good(found, harness)
        events = await read_events(harness.workspace.database, found.row.id)
    [asked] = [asked for asked in server.asked if is_role(asked, "synthesize")]
    schema = json.dumps(asked.body["response_format"])
    assert schema.index('"outline"') < schema.index('"title"'), "what comes first is thought of first"
    assert [event.data["parts"] for event in events if event.data.get("stage") == "outline"] == [
        ["two rules", "interval", "level", "Disagreement: 2014 against 2021"]
    ]
    assert not [asked for asked in server.asked if is_role(asked, "summarize")]


@pytest.mark.parametrize("outline", ["interval, then level", ["interval", {"then": "level"}], {"answer_type": 2}, 7])
async def test_an_outline_in_another_shape_costs_no_further_call(database_url: str, outline: object):
    def write(asked: WireRequest) -> str:
        return json.dumps(
            json.loads(write_along(asked)) | ({"outline": outline} if is_role(asked, "synthesize") else {})
        )

    async with ModelServer(answers=write) as server, open_harness(database_url) as harness:
        await good(await harness.run(server, "timed"), harness)
    assert len([asked for asked in server.asked if is_role(asked, "synthesize")]) == 1


async def test_the_length_follows_the_question(database_url: str):
    documents = {
        "one.md": "# Orrin mill\n\nThe sluice gates of Orrin mill must be greased every 14 days, says the miller.\n"
    }
    async with ModelServer() as server, open_harness(database_url, documents) as harness:
        await harness.run(server, "timed")
    [asked] = [asked.user for asked in server.asked if is_role(asked, "synthesize")]
    words = int(asked.partition("at most ")[2].split(" ")[0])
    assert 200 < words < 700


async def test_a_length_that_a_method_asks_for_is_told_as_it_stands(database_url: str):
    async with ModelServer() as server, open_harness(database_url) as harness:
        await harness.run(server, "rounds")
    [written] = [asked.user for asked in server.asked if is_role(asked, "synthesize")]
    assert "2000 to 4000 words" in written


async def test_the_question_is_searched_for_while_it_is_clarified_and_planned(database_url: str):
    """Its results are those of the first round, and no second search is made for them."""

    def answer(asked: WireRequest) -> str:
        if is_role(asked, "scope"):
            return json.dumps({"reasoning": "r", "goal": "g", "queries": [{"text": "rye bread of the village"}]})
        return answer_prompt(asked.system, asked.user)

    async with ModelServer(answers=answer) as server, open_harness(database_url) as harness:
        found = await harness.run(server, "timed")
        events = await read_events(harness.workspace.database, found.row.id)
    searched = [event.data["query"] for event in events if event.type == "search"]
    assert searched.count(QUESTION) == 1
    assert any(
        "sluice gates" in asked.user.partition("Passage ")[2] for asked in server.asked if is_role(asked, "extract")
    )


@pytest.mark.parametrize("profile", ["timed", "rounds"])
async def test_what_the_model_searches_for_is_read_before_what_the_bare_question_found(database_url: str, profile: str):
    def answer(asked: WireRequest) -> str:
        words = [f"rye bread {word}" for word in ("bakery", "loaf", "crowns")]
        if is_role(asked, "scope"):
            return json.dumps({"reasoning": "r", "goal": "g", "queries": [{"text": text} for text in words]})
        said = json.loads(answer_prompt(asked.system, asked.user))
        for task in said.get("tasks", []):
            task["queries"] = words[:-1]  # the planner's words are searched for where they are enough for a round
        return json.dumps(said)

    once = (("max_rounds", "1"), ("reads_per_round", "1"), ("drift", "false"))
    async with ModelServer(answers=answer) as server, open_harness(database_url) as harness:
        found = await harness.run(server, profile, overrides=once)
    assert found.report is not None
    [done] = found.report.findings.rounds
    assert [reading.title for reading in done.readings] == ["Bread of the village"]
    assert QUESTION in {hit.query for hit in done.hits}
    assert any(is_role(asked, "scope") for asked in server.asked) == (profile == "rounds")  # which wants a third query
    urls = [hit.url for hit in done.hits]
    assert profile == "timed" or len(set(urls)) == len(urls), "no document counts twice in a round"


async def test_a_document_that_was_found_and_not_read_is_found_again_when_it_is_asked_for(database_url: str):
    words = iter(["rye bread bakery", "rye bread bakery loaf", "geese winter pond"])

    def word_queries() -> list[dict[str, str]]:
        text = next(words, "")
        return [{"text": f"{text} {end}".strip()} for end in ("", "village", "mill")]

    def answer(asked: WireRequest) -> str:
        said = json.loads(answer_prompt(asked.system, asked.user))
        if is_role(asked, "scope"):
            said["queries"] = word_queries()
        if is_role(asked, "reflect"):
            said |= {"done": False, "gaps": [{"text": "more"}], "next_topic": "", "url": ""}
            said["next"] = {"goal": "more", "queries": word_queries()}
        return json.dumps(said)

    options = (("reads_per_round", "1"), ("drift", "false"))
    async with ModelServer(answers=answer) as server, open_harness(database_url) as harness:
        found = await harness.run(server, "rounds", overrides=options)
    assert found.report is not None
    rounds = found.report.findings.rounds
    assert "Geese on the pond" in {hit.title for hit in rounds[0].hits}
    titles = [reading.title for done in rounds for reading in done.readings]
    assert titles[0] == "Bread of the village"
    assert titles[2] == "Geese on the pond"
    assert len(set(titles)) == len(titles), "what was read is no result again"


UNCLEAR = "The gates are greased so that they do not stick"


async def test_a_model_rules_on_what_code_doubts_and_what_both_doubt_is_withheld(database_url: str):
    """What it confirms stands without a label; the writer is told what it denies, and what stays so is withheld."""
    far = "Millers of the parish look after old machinery with great patience"

    def answer(asked: WireRequest) -> str:
        said = json.loads(answer_prompt(asked.system, asked.user))
        if is_role(asked, "synthesize"):
            marker = re.findall(r"\[S\d+:C\d+\]", said["body"])[0]
            told = f"{UNCLEAR} in the mill {marker}. {UNCLEAR} in the village {marker}. {far} {marker}."
            said["body"] += f"\n\n## More\n\n{told} The gates must be greased every 97 days {marker}."
        if is_role(asked, "confirm"):
            shown = re.findall(r"^(D\d+): <data-\w+>(.*?)</data", asked.user, re.MULTILINE)
            said["rulings"] = [
                {"sentence": label, "carried": "village" not in text, "missing": "the village" * ("village" in text)}
                for label, text in shown
            ]
        return json.dumps(said)

    async with ModelServer(answers=answer) as server, open_harness(database_url) as harness:
        found = await harness.run(server, "timed")
    asked = [asked.user for asked in server.asked if is_role(asked, "confirm")]
    assert len(asked) == 1, "a sentence is ruled on once"
    assert UNCLEAR in asked[0]
    assert "97 days" not in asked[0], "what code knows to be false is not asked about"
    [told] = [asked.user for asked in server.asked if is_role(asked, "repair")]
    assert re.search(rf"^\d+\.\d+ \| .*the village \| {UNCLEAR} in the village", told, re.MULTILINE)
    assert found.report is not None
    checks = {each.sentence.rstrip("."): each for each in found.report.checks}
    assert checks[f"{UNCLEAR} in the mill"].support == checks[far].support == "supported"
    denied = checks[f"{UNCLEAR} in the village"]
    assert denied.support == "unsupported"
    assert "the village" in denied.withheld
    line = next(line for line in found.markdown.splitlines() if UNCLEAR in line)
    assert f"{UNCLEAR} in the village" not in line
    assert "*(" not in line


async def test_a_number_in_the_line_above_a_quote_is_confirmed_and_one_that_stands_nowhere_is_not(database_url: str):
    """Release notes name a flaw in one line and describe it in the next: a quote of the second has no number."""
    quote = "The sluice gates of Orrin mill jammed in frost and let the water out at night."
    documents = {"notices.md": f"# Notices of the Orrin mill\n\nFixes of this year:\n\n * NOTE-4711:\n\n   {quote}\n"}
    said_of = "NOTE-{} is about gates of the mill that jammed in frost"

    def answer(asked: WireRequest) -> str:
        said = json.loads(answer_prompt(asked.system, asked.user))
        if is_role(asked, "extract"):
            for each in said["quotes"]:
                each |= {"quote": quote, "claim": f"NOTE-4711: {quote}"}
            said["quotes"] = said["quotes"][:1]
        if is_role(asked, "synthesize"):
            marker = re.findall(r"\[S\d+:C\d+\]", asked.user)[0]
            said["body"] = "\n\n".join(f"{said_of.format(number)} {marker}." for number in (4711, 4712))
        if is_role(asked, "confirm"):
            labels = re.findall(r"^(D\d+): ", asked.user, re.MULTILINE)
            said["rulings"] = [{"sentence": label, "carried": True, "missing": ""} for label in labels]
        return json.dumps(said)

    async with ModelServer(answers=answer) as server, open_harness(database_url, documents) as harness:
        found = await harness.run(server, "timed")
    assert found.report is not None
    checks = {each.sentence.rstrip("."): each.support for each in found.report.checks}
    assert checks[said_of.format(4711)] == "supported"
    assert checks[said_of.format(4712)] == "unclear"


async def test_a_digit_in_a_name_of_the_question_is_no_number_that_a_source_must_have(database_url: str):
    """A manual of gate7 need not say "gate7" in each sentence; a model that confirms one is believed."""
    quote = "The sluice gates jammed in frost and let the water out at night."
    documents = {"notices.md": f"# Notices of the Orrin mill\n\n{quote}\n"}
    said_of = "The makers of {} say that its gates jammed in frost and water went out at night"

    def answer(asked: WireRequest) -> str:
        said = json.loads(answer_prompt(asked.system, asked.user))
        if is_role(asked, "synthesize"):
            marker = re.findall(r"\[S\d+:C\d+\]", asked.user)[0]
            said["body"] = "\n\n".join(f"{said_of.format(name)} {marker}." for name in ("gate7", "gate8"))
        if is_role(asked, "confirm"):
            labels = re.findall(r"^(D\d+): ", asked.user, re.MULTILINE)
            said["rulings"] = [{"sentence": label, "carried": True, "missing": ""} for label in labels]
        return json.dumps(said)

    async with ModelServer(answers=answer) as server, open_harness(database_url, documents) as harness:
        found = await harness.run(server, "timed", question="When do the sluice gates of gate7 in the Orrin mill jam?")
    assert found.report is not None
    checks = {each.sentence.rstrip("."): each.support for each in found.report.checks}
    assert checks[said_of.format("gate7")] == "supported"
    assert checks[said_of.format("gate8")] != "supported"


async def test_a_sentence_that_cites_nothing_and_claims_something_is_withheld_if_a_model_says_so(database_url: str):
    """Code sees no claim in either: they name no number, date or name. What leads over stays."""
    claim, leading = "Most millers seldom look at such rules.", "Both parts are told in their turn."

    def answer(asked: WireRequest) -> str:
        said = json.loads(answer_prompt(asked.system, asked.user))
        if is_role(asked, "synthesize"):
            said["body"] += f"\n\n## More\n\n{leading} {claim}"
        if is_role(asked, "confirm"):
            shown = re.findall(r"^(D\d+): <data-\w+>(.*?)</data", asked.user, re.MULTILINE)
            missing = {label: "what most millers do" * ("millers" in text) for label, text in shown}
            said["rulings"] = [{"sentence": each, "carried": not why, "missing": why} for each, why in missing.items()]
        return json.dumps(said)

    async with ModelServer(answers=answer) as server, open_harness(database_url) as harness:
        found = await harness.run(server, "timed")
    [ruled] = [asked.user for asked in server.asked if is_role(asked, "confirm")]
    assert re.search(rf"{re.escape(claim)}</data-\w+>\s+It cites: nothing", ruled)
    assert found.report is not None
    checks = {each.sentence: each for each in found.report.checks}
    assert "what most millers do" in checks[claim].withheld
    assert not checks[leading].withheld
    assert claim not in found.markdown
    assert leading in found.markdown


async def test_an_absence_in_ordinary_words_stays_and_one_that_a_source_refutes_does_not(database_url: str):
    """Nothing has to be counted; who rules sees the quotes that are nearest to what is stated as not found."""
    name = "Orrin"
    true = (f"The documents that were read do not say who painted {name} mill.", "No figure for the rent was found.")
    false = "The documents read do not say how gates are greased so often."
    invented = "Whether Zebulon Kray owned the mill remains open."

    def answer(asked: WireRequest) -> str:
        said = json.loads(answer_prompt(asked.system, asked.user))
        if is_role(asked, "synthesize"):
            said["body"] += f"\n\n## More\n\n{' '.join((*true, false, invented))}"
        if is_role(asked, "confirm"):
            shown = re.findall(r"^(D\d+): <data-\w+>(.*?)</data", asked.user, re.MULTILINE)
            said["rulings"] = [
                {"sentence": label, "carried": text != true[1], "missing": "a quote says it" * (text == true[1])}
                for label, text in shown
            ]
        return json.dumps(said)

    async with ModelServer(answers=answer) as server, open_harness(database_url) as harness:
        found = await harness.run(server, "timed")
    [ruled] = [asked.user for asked in server.asked if is_role(asked, "confirm")]
    said = rf"{re.escape(true[0])}</data-\w+>\s+Code doubts:\s+<data-\w+>\s+it says that this was not found"
    near = re.search(said + ".*?It cites: Q", ruled, re.DOTALL)
    assert near, "with the quotes nearest to it"
    assert found.report is not None
    checks = {each.sentence: each for each in found.report.checks}
    assert true[0] in found.markdown
    assert (checks[true[0]].follows, checks[true[0]].withheld) == ("absence", "")
    assert "without a source" in checks[invented].withheld, "nobody named him"
    assert any("a quote says it" in each.withheld for each in found.report.checks)


async def test_a_cell_of_a_table_is_ruled_on_with_its_row_and_the_headers_of_its_columns(database_url: str):
    cell = "so that they do not stick in frost"

    def answer(asked: WireRequest) -> str:
        said = json.loads(answer_prompt(asked.system, asked.user))
        if is_role(asked, "synthesize"):
            marker = re.findall(r"\[S\d+:C\d+\]", said["body"])[0]
            table = f"| Part | Why it is greased | When |\n|---|---|---|\n| gates | {cell} {marker} | weekly |\n"
            said["body"] += f"\n\n## More\n\n{UNCLEAR} in the mill {marker}.\n\n{table}"
        return json.dumps(said)

    async with ModelServer(answers=answer) as server, open_harness(database_url) as harness:
        await harness.run(server, "timed")
    [asked] = [asked.user for asked in server.asked if is_role(asked, "confirm")]
    shown = re.findall(r"^A cell of this row[^<]*<data-\w+>(.*?)</data", asked, re.MULTILINE)
    assert shown == [f"Part: gates; → Why it is greased: {cell}; When: weekly"]
    quotes = re.search(
        r"The quotes, each with its source, or of the source above it:\n<data-(\w+)>\n(.*?)\n</data-\1>",
        asked,
        re.DOTALL,
    )
    assert quotes
    rows = quotes[2].split("\n")
    assert len({row.partition(" | ")[2] for row in rows}) == len(rows), "each quote is shown once"
    cited = {name for names in re.findall(r"^It cites: (.*)$", asked, re.MULTILINE) for name in names.split()}
    assert cited == {row.partition(" | ")[0] for row in rows}


async def test_each_call_rules_on_a_limited_number_of_sentences_and_all_are_ruled_on(database_url: str):
    def answer(asked: WireRequest) -> str:
        said = json.loads(answer_prompt(asked.system, asked.user))
        if is_role(asked, "synthesize"):
            marker = re.findall(r"\[S\d+:C\d+\]", said["body"])[0]
            yards = (f"{one}{other}" for one in "bdfghj" for other in "klmnprstvwz")
            many = " ".join(f"{UNCLEAR} in yard {yard} {marker}." for yard in yards)
            said["body"] += f"\n\n## More\n\n{many}"
        return json.dumps(said)

    async with ModelServer(answers=answer) as server, open_harness(database_url) as harness:
        await harness.run(server, "timed")
    shown = [re.findall(r"^D\d+: ", asked.user, re.MULTILINE) for asked in server.asked if is_role(asked, "confirm")]
    assert len(shown) > 1
    assert max(map(len, shown)) <= 1.5 * MAX_RULED
    assert max(map(len, shown)) - min(map(len, shown)) <= 1, "no call is sent all rules for one sentence"
    assert sum(map(len, shown)) >= 66


def test_what_stands_in_no_source_is_told_once_in_one_line():
    told = gather_reasons(
        (
            "the name Harbour Board stands in none of its sources",
            "the word board stands in none of its sources",
            "the letters of Ærø stand in none of its sources",
            "Ærø stands in none of its sources",
            "it leaves out “not”",
        )
    )
    assert told == ("in none of its sources: Harbour Board, Ærø", "it leaves out “not”")
    assert gather_reasons(("it leaves out “not”",)) == ("it leaves out “not”",)

"""The parts of a tree, over the wire: each is shown and told what answers its own questions, in every iteration.

Knows the requests that the scripted model got, and the findings. Does not know how facts are stored or recalled.
"""

from __future__ import annotations

import json
import re

from bench.model_server.protocols import WireRequest
from bench.model_server.scripted_model import answer_prompt
from bench.model_server.server import ModelServer
from tests.integration.harness import good, open_harness

from corrobora.domain.report import iter_threads

OLD = "How often must the sluice gates of Orrin mill be greased by the rules of 2014?"
NEW = "How often must the sluice gates of Orrin mill be greased by the rules of 2021?"
POND = "How high may the mill pond of Orrin stand?"
QUOTES = {"every 30 days with": OLD, "every 14 days with": NEW, "centimetres above the sill": POND}
TWICE = {"corroboration": 9, "max_iterations": 2}


def is_role(asked: WireRequest, role: str) -> bool:
    return f"# Role: {role}\n" in asked.system


def write_plan() -> str:
    def task(key: str, parent: str, text: str, **fields: object) -> dict[str, object]:
        made = {"key": key, "parent": parent, "title": text, "objective": text, "queries": [text]}
        return {**made, "sub_questions": [text], **fields}

    tasks = [
        task("gates", "", "Sluice gates", sub_questions=[], queries=[], phases=[TWICE]),
        task("old", "gates", OLD, queries=["sluice gates greased 2014"]),
        task("new", "gates", NEW, queries=["sluice gates greased 2021"]),
        task("pond", "", POND, queries=["mill pond level"]),
    ]
    return json.dumps({"tier": "moderate", "tasks": tasks})


def answer_apart(asked: WireRequest) -> str:
    """Readers say exactly which question each quote answers."""
    if is_role(asked, "plan"):
        return write_plan()
    said = json.loads(answer_prompt(asked.system, asked.user))
    if is_role(asked, "extract"):
        ids = {text: key for key, text in re.findall(r"^(sq-\d+) \| ([^|\n]+)$", asked.user, re.MULTILINE)}
        known = (
            (quote, next((q for words, q in QUOTES.items() if words in quote["quote"]), "")) for quote in said["quotes"]
        )
        said["quotes"] = [{**quote, "answers": [ids[question]]} for quote, question in known if question]
    return json.dumps(said)


async def test_a_part_is_told_what_answers_its_own_questions_and_an_iteration_changes_no_fact(database_url: str):
    async with ModelServer(answers=answer_apart) as server, open_harness(database_url) as harness:
        found = await harness.run(server, "tree")
        await good(found, harness)
    assert found.report is not None
    findings = found.report.findings
    ids = {question.text: question.id for question in findings.sub_questions}
    by_quote = {words: {fact for fact in findings.facts if words in fact.quote} for words in QUOTES}
    for words, question in QUOTES.items():
        assert by_quote[words], words
        assert {answer for fact in by_quote[words] for answer in fact.answers} == {ids[question]}, words
    assert any(leaf.path.endswith("~2") for leaf in iter_threads(findings)), "the gate iterated"
    again = [asked.user for asked in server.asked if is_role(asked, "reflect") and ", pass 2, looked for" in asked.user]
    assert again
    lines = [line for user in again for line in user.splitlines() if re.match(r"F[0-9a-f]{12} ", line)]
    for words, question in QUOTES.items():
        foreign = {f" for {name} " for text, name in ids.items() if text != question}
        assert not [line for line in lines if words in line and any(each in line for each in foreign)], words
    written = [asked.user for asked in server.asked if is_role(asked, "synthesize")]
    gathered = [user for user in written if "To be written: gathering" in user]
    assert gathered
    assert not any(f" for {ids[POND]}" in user for user in gathered), "the pond belongs to another part"
    assert not any(f" for {ids[POND]}" in asked.user for asked in server.asked if is_role(asked, "refine"))
    assert f" for {ids[POND]}" in written[-1], "the writer of the report sees it"
    titles = re.findall(r"^Part \d+: <data-\w+>(.*?)</data", written[-1], re.MULTILINE)
    assert len(titles) == len(set(titles)) > 1, "of each part only the last iteration is shown"
    shown = [re.findall(r"(?<!\S)F[0-9a-f]+(?!\S)", user) for user in written]
    assert all(len(name) == len("F0123456789ab") for names in shown for name in names), "no id is cut"


async def test_the_planner_words_the_first_round_of_a_task_and_no_later_pass_is_called_the_first(database_url: str):
    async with ModelServer(answers=answer_apart) as server, open_harness(database_url) as harness:
        found = await harness.run(server, "tree")
    assert found.report is not None
    first = [leaf.rounds[0].intent.queries[0].text for leaf in iter_threads(found.report.findings) if leaf.rounds]
    assert {"sluice gates greased 2014", "sluice gates greased 2021", "mill pond level"} <= set(first)
    scoped = [asked.user for asked in server.asked if is_role(asked, "scope")]
    assert not [user for user in scoped if ", looked for:" in user and "nothing was searched yet" in user]
    reflected = [asked.user for asked in server.asked if is_role(asked, "reflect")]
    later = [user for user in reflected if ", pass 2, looked for" in user]
    assert later
    for user in later:  # a further pass begins with what the one before was shown, so that providers cache it
        kept = user[: user.index(", pass 2, looked for")].rpartition("\nRound 1, ")[0]
        assert "\nRound 1, " in kept
        begun = [each for each in reflected if ", pass 2, looked for" not in each]
        assert any(user.startswith(each[: int(0.8 * len(kept))]) for each in begun)


async def test_a_task_that_ends_after_its_first_round_has_said_what_it_found(database_url: str):
    def answer(asked: WireRequest) -> str:
        said = json.loads(answer_apart(asked))
        if is_role(asked, "reflect") and "write `findings`" in asked.user:
            marker = re.findall(r"\[S\d+:C\d+\]", asked.user)[0]
            said |= {"done": True, "gaps": [], "findings": f"The rules say it {marker}."}
        return json.dumps(said)

    async with ModelServer(answers=answer) as server, open_harness(database_url) as harness:
        await good(await harness.run(server, "tree"), harness)
    reflected = [asked.user for asked in server.asked if is_role(asked, "reflect")]
    assert all("write `findings`" in user or "Write `findings`" in user for user in reflected)
    assert not [asked for asked in server.asked if is_role(asked, "summarize")]

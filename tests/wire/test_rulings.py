"""Rulings over the wire: what a model is asked about a draft, and what its answer does to a sentence or a cell."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bench.model_server.scripted_model import ParsedPrompt
from tests.wire.methods import WireRun, run_over_wire
from tests.wire.test_named_gaps import extract_sentences

from corrobora.engine.review import MAX_LEFT_OUT_SHOWN

ROLES = ("synthesize", "critique", "judge")

KEPT = "How long does the archive of Wexmoor keep letters and maps?"
LETTERS, MAPS = "Letters are kept for 12 years.", "Maps are kept for 30 years."
SEALED = "Open the box only where two keepers are present."
LAMP = "lamp_time: how long the lamp of the archive stays lit (in seconds). Default value: 30"
BELL = "Bells ring 5 seconds before the lamp of the archive goes out."
DOCUMENTS = {
    "archive.md": f"# Archive of Wexmoor\n\n{LETTERS} {MAPS}\n\nRule for sealed boxes:\n\n{SEALED}\n\n"
    f"Rule for plain boxes:\n\nOpen the box on any working day.\n\n{LAMP}\n\n{BELL}\n"
}


async def write_over_wire(
    body: str,
    *,
    refused: str = "",
    question: str = KEPT,
    claims: Mapping[str, str] | None = None,
    documents: Mapping[str, str] = DOCUMENTS,
    more: Sequence[str] = (),
    unruled: str = "never said",
    repair: Callable[[ParsedPrompt], Mapping[str, Any]] | None = None,
) -> WireRun:
    """Deliver a draft, markers for the first words of quotes; a model refuses what is shown with the word `refused`.

    It does not rule on what is shown with `unruled`, and may `repair`. `claims` are what the reader takes quotes for,
    of which `more` stand in other `documents`.
    """

    def read(page: ParsedPrompt) -> Mapping[str, Any]:
        found = extract_sentences(page, LETTERS, MAPS, SEALED, LAMP, BELL, *more)
        return {
            **found,
            "quotes": [{**each, "claim": (claims or {}).get(each["quote"], "")} for each in found["quotes"]],
        }

    def rule(page: ParsedPrompt) -> Mapping[str, Any]:
        shown = re.findall(r"^(D\d+): (.*?)(?=^D\d+: |^Rule\.)", page.text, re.MULTILINE | re.DOTALL)
        shown = [(label, text) for label, text in shown if unruled not in text]
        missing = {label: "something else" * (bool(refused) and refused in text) for label, text in shown}
        return {"rulings": [{"sentence": each, "carried": not why, "missing": why} for each, why in missing.items()]}

    def write(page: ParsedPrompt) -> Mapping[str, Any]:
        text = body
        for fact in page.facts():
            text = text.replace(f"[{fact.quote.split()[0]}]", f"{fact.marker}")
        return {"title": "Archive", "body": text}

    answers = {
        "extract": read,
        "synthesize": write,
        "confirm": rule,
        **({} if repair is None else {"repair": repair}),
    }
    return await run_over_wire("timed", answers, question=question, documents=documents, max_rounds=1)


async def test_cells_with_the_same_words_are_ruled_on_each_in_its_row_and_column():
    """Twelve years are true of letters and false of maps: one ruling for both would deliver the false one."""
    row = "| archive | 12 years [Letters] | 12 years [Letters] |"
    table = f"Both are kept.\n\n| | letters | maps |\n| --- | --- | --- |\n{row}\n"
    done = await write_over_wire(table, refused="→ maps: 12 years")
    row = next(line for line in done.report.markdown.splitlines() if line.startswith("| archive"))
    _, _, letters, maps, _ = row.split("|")
    assert "12 years" in letters
    assert "12 years" not in maps
    assert "something else" in maps


async def test_other_words_that_code_finds_supported_are_shown_to_a_model_with_the_line_before_their_quote():
    """Each word of the sentence stands in the quote; of which boxes it is said stands above it."""
    said = "For plain boxes: open the box only where two keepers are present."
    done = await write_over_wire(f"{said} [Open]\n\n{LETTERS} [Letters]\n", refused="plain boxes")
    [ruled] = done.prompts("confirm")
    assert re.search(rf"Rule for sealed boxes: …\) \| {re.escape(SEALED)}", ruled)
    assert said not in done.report.markdown
    assert "Code doubts" not in ruled.partition(said)[2], "its words stand there"
    checks = {each.sentence: each for each in done.report.checks}
    assert "something else" in checks[said].withheld
    assert LETTERS not in ruled.partition("D1: ")[2], "a copy needs no ruling"


async def test_a_trend_of_which_nothing_is_computed_is_ruled_on_as_other_words_are():
    """The words of the sentence stand in two sentences of its passage, of which one says the reverse."""
    once = "However, bounce_score is bumped only once for a day, any other bounces for the same day have no effect on "
    once += "the score."
    stale = "Bounce score that is older than a configured number of days older is considered stale."
    said = "Each further bounce of the same day increases the score again"
    done = await write_over_wire(
        f"{said} [However,]. {LETTERS} [Letters]\n",
        refused=said,
        documents={"a.md": f"# Archive of Wexmoor\n\n{LETTERS}\n\n{once} {stale}\n"},
        more=(once, stale),
    )
    [ruled] = done.prompts("confirm")[:1]
    assert said in ruled
    assert said not in done.report.markdown


async def test_a_number_that_follows_from_two_of_its_sentence_is_left_to_a_model_whatever_their_units():
    """A list of defaults gives 30 without a unit; code cannot tell that 25 is right, nor that it is false."""
    said = "The bell rings after {} seconds: 5 seconds before the lamp goes out after its default of 30 {}."
    right, false = (said.format(number, "[Bells] [lamp_time:]") for number in (25, 20))
    for refused in ("", "after 25 seconds"):
        done = await write_over_wire(f"{right}\n\n{false}\n\n{LETTERS} [Letters]\n", refused=refused)
        [ruled] = done.prompts("confirm")[:1]
        assert "may be computed from them" in ruled
        assert "after 20 seconds" not in ruled, "it follows from nothing, and nobody is asked"
        assert "after 20 seconds" not in done.report.markdown
        assert ("after 25 seconds" in done.report.markdown) is not bool(refused)
        assert "unclear" not in done.report.markdown.partition("## Methodology")[0].partition("\n\n")[2]


async def test_a_cell_of_an_entry_is_ruled_on_with_the_name_of_the_entry():
    """The quote is the second sentence of an entry; whose default it gives, the row and the reader's claim say."""
    entry = "It stays lit for 30 seconds unless a keeper turns it off."
    table = f"{LETTERS} [Letters]\n\n| name | default |\n| --- | --- |\n| lamp_time | 30 seconds [It] |\n"
    listed = f"- lamp_time: how long a lamp is lit after a visit to the vault. {entry}"
    document = f"# Archive of Wexmoor\n\n{LETTERS}\n\n{listed}\n"
    done = await write_over_wire(
        table, claims={entry: f"The lamp_time: {entry}"}, documents={"a.md": document}, more=(entry,)
    )
    [ruled] = done.prompts("confirm")[:1]
    assert re.search(rf"lamp_time: how long a lamp.*?\) \| {re.escape(entry)}", ruled)


async def test_what_stands_before_a_quote_is_not_shown_again_where_a_quote_above_has_it():
    done = await write_over_wire(
        "The archive holds letters for 12 years [Letters]. It holds maps for 30 years [Maps].\n"
    )
    [ruled] = done.prompts("confirm")[:1]
    assert ruled.count(LETTERS) == 1
    assert ruled.count("archive.md") + ruled.count("Archive of Wexmoor |") == 1, "a source is named once"
    assert f"Q1 …) | {MAPS}" in ruled


async def test_who_revises_a_report_is_told_the_length_that_its_writer_was_told():
    answers = {"critique": {"problems": ["The opening repeats a section."], "summary": "Weak."}}
    done = await run_over_wire("angles", answers)
    [written], [revised] = done.prompts("synthesize"), done.prompts("revise")
    assert re.findall(r"at most (\d+) words", written) == re.findall(r"at most (\d+) words", revised)


async def test_new_words_for_what_is_withheld_change_and_judge_nothing_else():
    """A model that gave no ruling on a sentence is not asked for it again because another one was repaired."""
    far = "Keepers of the archive look after old letters with great patience [Letters]."
    false = "The archive holds letters for 13 years [Letters]."

    def mend(page: ParsedPrompt) -> dict[str, object]:
        asked.append(page.text)
        [(name, marker)] = re.findall(r"^(\d+\.\d+) \|.*(\[S\d+:C\d+\])", page.text, re.MULTILINE)
        return {"edits": [{"sentence": name, "text": f"Letters stay in the archive for 12 years {marker}."}]}

    asked: list[str] = []
    body = f"{false} {far}\n\nIt holds maps for 30 years [Maps].\n"
    done = await write_over_wire(body, repair=mend, unruled="great patience")
    first, second = done.prompts("confirm")
    assert ("great patience" in first, "great patience" in second) == (True, False)
    assert "stay in the archive for 12 years" in second.partition("D1: ")[2]
    assert "stay in the archive for 12 years" in done.report.markdown
    assert "great patience" in done.report.markdown
    assert len(asked) == 1
    [event] = [each.data for each in done.run.journal.events if each.data.get("stage") == "repaired"]
    assert (event["withheld"], event["left"], event["taken"], event["dropped"]) == (1, 0, True, 0)


async def test_a_sentence_that_leads_over_to_some_statements_stays_if_a_model_finds_no_claim_in_it():
    said = "How long all is kept follows from two statements."
    for refused in ("", "two statements"):
        done = await write_over_wire(f"{said} {LETTERS} [Letters] {MAPS} [Maps]\n", refused=refused)
        assert (said in done.report.markdown) is not bool(refused)


async def test_each_sentence_of_a_long_report_is_ruled_on():
    """The first eighty were; a report of 4,000 words has twice as many, and what is false may stand in the last one."""
    names = [f"{one}{other}" for one in "bdfgklmnpr" for other in "aeiouvwxyz"]
    said = [f"The {each} archive holds letters for 12 years [Letters]." for each in names]
    done = await write_over_wire(" ".join(said) + "\n", refused=f"The {names[-1]} archive")
    ruled = done.prompts("confirm")[:3]
    assert all(any(f"The {each} archive" in prompt for prompt in ruled) for each in names)
    assert f"The {names[-1]} archive" not in done.report.markdown
    assert f"The {names[-2]} archive" in done.report.markdown


async def test_the_number_in_the_name_that_a_question_asks_about_is_left_to_a_model():
    """No rule of the archive says "Wexmoor 2": whoever reads the sentence can tell; another number stays false."""
    said = "Letters of Wexmoor {} are kept for 12 years."
    question = KEPT.replace("Wexmoor", "Wexmoor 2")
    done = await write_over_wire(f"{said.format(2)} [Letters]\n\n{said.format(3)} [Letters]\n", question=question)
    checks = {each.sentence: each for each in done.report.checks}
    assert checks[said.format(2)].support == "supported"
    assert "3" in checks[said.format(3)].withheld


async def test_a_sentence_that_names_what_is_asked_may_tell_of_the_research_if_a_model_agrees():
    """A status, a coverage or a next step names what was asked: whether it claims something else, code cannot tell."""
    told = "The question on Wexmoor is answered in part."
    claims = "The archive of Wexmoor was searched and is open to all."
    other = "The archive of Wexmoor was searched by Otto Hahn."
    done = await write_over_wire(f"{LETTERS} [Letters]\n\n{told} {claims} {other}\n", refused="open to all")
    checks = {each.sentence: each for each in done.report.checks}
    assert not checks[told].withheld
    assert told in done.report.markdown
    assert checks[claims].withheld
    assert claims not in done.report.markdown
    assert "Otto Hahn" in checks[other].withheld
    assert other not in "".join(done.prompts("confirm")), "a name that was not asked about is a claim"


async def test_what_a_reader_took_from_the_line_before_a_quote_is_doubted_and_not_withheld_unasked():
    said = "For sealed boxes of class 7 two keepers are present."
    body = f"{LETTERS} [Letters]\n\n{said} [Open]\n"
    alone = await write_over_wire(body)
    assert "7" in {each.sentence: each for each in alone.report.checks}[said].withheld
    taken = {SEALED: "A sealed box of class 7 is opened only where two keepers are present."}
    read = await write_over_wire(body, claims=taken)
    check = {each.sentence: each for each in read.report.checks}[said]
    assert not check.withheld
    assert check.support == "unclear", "no model confirms a number that it was not shown"
    assert said in "".join(read.prompts("confirm"))


async def test_a_quote_is_shown_with_the_name_that_its_reader_took_from_the_line_above_it_whatever_its_parts():
    rule = "Write full if the box is full; the default is wait."
    document = f"# Options\n\non_full\n\nEither full or wait. It says what is done with letters of Wexmoor.\n\n{rule}\n"
    taken = {rule: "on_full: the default is wait."}
    done = await write_over_wire(
        "The default of on_full is wait [Write].\n", claims=taken, documents={"a.md": document}, more=(rule,)
    )
    [shown] = re.findall(r"^Q1 \|.*", done.prompts("confirm")[0], re.MULTILINE)
    assert "(… on_full …" in shown


async def test_a_critic_sees_what_is_cited_and_the_best_of_the_rest_and_a_judge_what_is_cited():
    """Of thirty rules the draft cites those of one box: who grades it is not sent the other quotes again."""
    about = ("kept in room {0} for {0} years", "opened by {0} keepers", "made of oak from forest {0}")
    rules = [f"Box {at} of Wexmoor is {said.format(at)}." for at in range(1, 11) for said in about]
    documents = {f"{at}.md": f"# Box {at}\n\n{' '.join(rules[3 * at - 3 : 3 * at])}\n" for at in range(1, 11)}

    def write(page: ParsedPrompt) -> Mapping[str, Any]:
        first = page.facts()[0]
        return {"title": "Boxes", "body": f"{first.quote.rstrip('.')} {first.marker}."}

    answers = {"extract": lambda page: extract_sentences(page, *rules), "synthesize": write}
    question = "How long is each box of Wexmoor kept, and in which room?"
    done = await run_over_wire("angles", answers, question=question, documents=documents)
    shown = {role: len(re.findall(r"^(?:F\w+ )?\[S\d", done.prompts(role)[0], re.MULTILINE)) for role in ROLES}
    assert shown == {"synthesize": 30, "critique": 3 + MAX_LEFT_OUT_SHOWN, "judge": 3}


async def test_the_writer_is_told_how_many_documents_were_read_and_may_say_that_none_of_them_has_it():
    """Those without a fact are not listed, and an absence is counted in all that were read."""
    documents = {
        **DOCUMENTS,
        "vault.md": "# The vault of Wexmoor\n\nLetters and maps of the archive lie in its vault.\n",
    }
    for said in ("None of the 2 documents read mentions zebras.", "Of the 2 documents read, none mentions zebras."):
        done = await write_over_wire(f"{LETTERS} [Letters]\n\n{said}\n", documents=documents)
        assert "2 documents were read in all." in done.prompts("synthesize")[0]
        assert said in done.report.markdown
    shelf = "of the archive of Wexmoor"
    said = (f"# Shelf {at} {shelf}\n\nShelf {at} {shelf} keeps letters and maps {at + 2} years.\n" for at in range(40))
    many = {f"{at}.md": text for at, text in enumerate(said)}
    done = await write_over_wire(f"{LETTERS} [Letters]\n", documents={**documents, **many})
    assert re.search(r"\d+ documents were read in all, \d+ more w", done.prompts("synthesize")[0])


async def test_a_claim_may_be_joined_with_what_was_not_found_in_the_documents_read():
    """The number of documents stands in no quote; it is that of what was read, and a wrong one is withheld."""
    claim = LETTERS.rstrip(".")
    for said in (
        f"{claim} [Letters], and none of the 1 documents read mentions zebras.",
        f"{claim} [Letters]; zebras are not mentioned in any of the 1 documents read.",
        "None of the 1 documents read mentions zebras, but letters are kept for 12 years [Letters].",
    ):
        done = await write_over_wire(f"{MAPS} [Maps]\n\n{said}\n")
        assert "zebras" in done.report.markdown, said
        assert "zebras" not in "".join(each.sentence for each in done.report.checks if each.withheld)
        for other in (said.replace("1 documents", "7 documents"), said.replace("zebras", "two keepers")):
            done = await write_over_wire(f"{MAPS} [Maps]\n\n{other}\n")
            assert "are kept for 12 years [" not in done.report.markdown, other
    wrong = f"{claim.replace('12', '15')} [Letters], and none of the 1 documents read mentions zebras."
    done = await write_over_wire(f"{MAPS} [Maps]\n\n{wrong}\n")
    [check] = [each for each in done.report.checks if "15 years" in each.sentence]
    assert check.withheld

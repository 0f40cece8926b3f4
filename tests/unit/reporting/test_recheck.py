"""Recheck: every citation of a Markdown report has one fate, ours by its quotes, others' by their pages."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import pytest
from tests.plugins.growth import LINEAR, measure_growth

from corrobora.domain.evidence import Fact, FactId, PassageId, Source, SourceId
from corrobora.domain.report import Support
from corrobora.reporting.recheck import CheckedStatement, RecheckResult, build_sarif, recheck_report
from corrobora.reporting.references import CitationStatus, Lookups, SourcePage, StoredSource, find_best_windows
from corrobora.reporting.render import CitedSource, build_citations, render_sources
from corrobora.reporting.report_parser import Reference, find_statements, parse_report
from corrobora.reporting.seal import TextChange
from corrobora.text.phrases import OPENINGS

SNAPSHOT = "The mill was built in 1874. It has two wheels.\n\nIts owner was Ruth Hale."
HASH = hashlib.sha256(SNAPSHOT.encode()).hexdigest()
STORED = {HASH: SNAPSHOT}
PAGES = {"https://mills.example/a": "Mills are old. The mill of Ardal was built in 1874 by farmers. Cows graze there."}


async def by_hash(digest: str) -> str | None:
    return STORED.get(digest)


async def by_reference(reference: Reference) -> SourcePage | None:
    return SourcePage(PAGES[reference.url]) if reference.url in PAGES else None


async def checked(text: str) -> RecheckResult:
    return await recheck_report(text, Lookups(by_hash, by_reference))


def ours(body: str, quote: str, digest: str = HASH) -> str:
    return f"# Mills\n\n{body}\n\n## Sources\n\n[1] **Mills**. mills.md `S1:C1` `sha256:{digest}`\n\n> {quote}\n"


async def test_a_quote_that_stands_in_its_snapshot_is_verified_and_carries_its_sentence() -> None:
    found = await checked(ours("The mill was built in 1874 [1].", "The mill was built in 1874."))
    assert [statement.found for statement in found.statements] == [(CitationStatus.VERIFIED,)]
    assert found.statements[0].support is Support.SUPPORTED
    assert (found.cited, found.carried, found.checkable, found.coverage) == (1, 1, 1, 1.0)


async def test_a_quote_that_does_not_stand_there_and_a_lost_snapshot_are_told_apart() -> None:
    missing = await checked(ours("The mill was built in 1875 [1].", "The mill was built in 1875."))
    lost = await checked(ours("The mill was built in 1874 [1].", "The mill was built in 1874.", "0" * 64))
    assert missing.count_status(CitationStatus.QUOTE_MISSING) == 1
    assert lost.count_status(CitationStatus.NOT_STORED) == 1
    assert (missing.carried, lost.carried, lost.checkable) == (0, 0, 0)


@pytest.mark.parametrize("mark", ["[１]", "[^1]", "[1, １]"])
async def test_a_mark_that_code_never_writes_leads_nowhere_unless_a_quote_has_it(mark: str) -> None:
    forged = await checked(ours(f"The mill was built in 1874 {mark}.", "The mill was built in 1874."))
    assert not forged.passed
    assert forged.count_status(CitationStatus.DANGLING) > 0
    snapshot = f"The mill was built in 1874 {mark} by farmers. It has two wheels."

    async def read(_: str) -> str | None:
        return snapshot

    digest = hashlib.sha256(snapshot.encode()).hexdigest()
    quoted = ours(
        f"The mill was built in 1874 {mark} by farmers. [1]", f"The mill was built in 1874 {mark} by farmers."
    )
    honest = await recheck_report(quoted.replace(HASH, digest), Lookups(read, by_reference))
    assert honest.count_status(CitationStatus.DANGLING) == 0
    assert honest.carried == 1


async def test_a_snapshot_that_changed_is_noticed_by_its_hash() -> None:
    async def tampered(_: str) -> str | None:
        return SNAPSHOT.replace("1874", "1875")

    found = await recheck_report(ours("It was built in 1875 [1].", "built in 1875"), Lookups(tampered, by_reference))
    assert found.count_status(CitationStatus.CHANGED) == 1


@pytest.mark.parametrize("unit", ["[1]", "[S1:C1]", "|a\n", "* a\n", "a\n=\n", "## 1\n\n", "Aa Bb [1] ", "| a [1] |\n"])
def test_hostile_lines_take_time_in_proportion_to_their_number(unit: str) -> None:
    def check(size: int) -> None:
        asyncio.run(checked(ours(f"{unit * (size // len(unit))}", "The mill was built in 1874.")))

    assert measure_growth(check, 4_000) < LINEAR


async def test_a_statement_that_is_too_long_to_be_checked_is_unclear_and_fails_the_report() -> None:
    found = await checked(ours(f"{'The mill was built in 1874 ' * 400} [1].", "The mill was built in 1874."))
    assert (found.passed, found.statements[0].support, found.statements[0].reasons) == (
        False,
        Support.UNCLEAR,
        ("it is too long, or cites too much, to be checked",),
    )


async def test_foreign_reports_are_checked_by_their_addresses() -> None:
    text = (
        "The mill of Ardal was built in 1874 by farmers [1]. The owner sold 900 ships to Peru [1]. It is red [7].\n\n"
        "## References\n\n1. Mills of Ardal https://mills.example/a\n2. Never used https://mills.example/b\n"
    )
    found = await checked(text)
    assert [s.found for s in found.statements] == [
        (CitationStatus.SAID,),
        (CitationStatus.NOT_SAID,),
        (CitationStatus.DANGLING,),
    ]
    assert found.never_cited == (2,)
    assert found.carried == 1


async def test_an_uncited_sentence_lowers_the_coverage() -> None:
    found = await checked(ours("The mill was built in 1874 [1]. Everybody likes it.", "The mill was built in 1874."))
    assert (found.cited, found.coverage) == (1, 0.5)
    assert (await checked("")).coverage == 0.0


def test_the_sections_that_code_writes_are_no_body() -> None:
    parsed = parse_report(ours("A sentence [1].", "A quote") + "\n## Methodology\n\n- 3 rounds.\n")
    assert not any("3 rounds" in block.text for block in parsed.body)
    assert parsed.references[1].quotes == ("A quote",)
    assert parsed.references[1].snapshot == HASH


def test_the_best_window_is_a_few_sentences_of_the_page() -> None:
    page = " ".join(f"Sentence {n} speaks of cows." for n in range(20)) + " The ferry leaves at noon."
    window = find_best_windows("When does the ferry leave?", SourcePage(page))[0]
    assert "ferry leaves at noon" in window.quote
    assert len(window.quote) < len(page) / 3


async def test_truth_3_what_stands_below_another_heading_supports_nothing() -> None:
    page = (
        "max_clients\n\nThe most clients that may be connected at once.\n\nThe default is 100.\n\n"
        "pool_size\n\nThe most servers that a pool may have.\n\nThe default is 20.\n"
    )
    text = (
        "# Settings\n\nThe default of pool_size is {}. [1]\n\n## Sources\n\n[1] Settings https://a.example/settings\n"
    )

    async def read(_: object) -> SourcePage:
        return SourcePage(page, sections=((0, "max_clients"), (page.index("pool_size"), "pool_size")))

    for value, support in ((20, Support.SUPPORTED), (100, Support.UNSUPPORTED)):
        found = await recheck_report(text.format(value), Lookups(by_hash, read))
        assert found.statements[0].support is support, found.statements


async def test_marks_after_a_full_stop_belong_to_the_sentence_before_them() -> None:
    body = "The mill was built in 1874. [1] Its owner was Ruth Hale. [1]\nIt has two wheels.\n[1]"
    text = ours(body, "The mill was built in 1874. It has two wheels.") + ">\n> Its owner was Ruth Hale.\n"
    found = await checked(text)
    assert [(s.text, s.cited) for s in found.statements] == [
        ("The mill was built in 1874.", ("1",)),
        ("Its owner was Ruth Hale.", ("1",)),
        ("It has two wheels.", ("1",)),
    ]
    assert (found.coverage, found.carried) == (1.0, 3)
    before = await checked(
        ours("[1] The mill was built in 1874. [1] It has two wheels.", "The mill was built in 1874.")
    )
    assert [s.cited for s in before.statements] == [("1",), ("1",)], "marks may stand before their sentences, too"


@pytest.mark.parametrize("opening", OPENINGS)
async def test_the_wordings_of_a_report_are_no_statements_unless_they_cite(opening: str) -> None:
    told = "The mill was built in 1874. [1]"
    found = await checked(ours(f"{told}\n\n{opening} for this.", "The mill was built in 1874."))
    assert (len(found.statements), found.coverage) == (1, 1.0)
    cited = await checked(ours(f"{told}\n\n{opening}: the mill burned down. [1]", "The mill was built in 1874."))
    assert [s.support is Support.SUPPORTED for s in cited.statements] == [True, False]
    foreign = await checked(f"{told}\n\n{opening}: it burned down.\n\n1. Mills of Ardal https://mills.example/a\n")
    assert (len(foreign.statements), foreign.coverage) == (2, 0.5)


async def test_two_passages_of_one_document_are_not_the_same_reference_twice() -> None:
    def listed(number: int, passage: str) -> str:
        quote = "> The mill was built in 1874."
        return f"[{number}] **Mills**. https://mills.example/a `S1:{passage}` `sha256:{HASH}`\n\n{quote}"

    said = "# Mills\n\nThe mill was built in 1874 [1][2].\n\n## Sources\n\n"
    assert (await checked(f"{said}{listed(1, 'C1')}\n\n{listed(2, 'C2')}\n")).duplicates == 0
    assert (await checked(f"{said}{listed(1, 'C1')}\n\n{listed(2, 'C1')}\n")).duplicates == 1


RULES = "Keepers SHOULD open the gate at noon.", "Keepers SHALL open the gate at noon."
STORED_RULES = (f"{RULES[0]}\n\nAgain: Keepers SHOULD open\n  the gate at noon.", RULES[1])
RULE_HASHES = [hashlib.sha256(rule.encode()).hexdigest() for rule in STORED_RULES]
CONFLICT = (
    "| SHOULD -> SHALL | Revision 3: \u201cKeepers SHOULD open the gate at noon.\u201d [1] "
    "| Revision 4: \u201cKeepers SHALL open the gate at noon.\u201d [2] | later version differs |"
)


AUTHORS = "**Authors of this source:** Doe, J. \\_K.\\_; Institute of Gates\n\n"


async def check_rules(change: Callable[[str], str], named: str = "rules") -> RecheckResult:
    """Check a report on two editions with their stored records, after a change."""
    body = f"# Gates\n\n{RULES[0]} [1] {RULES[1]} [2]\n\n## Contradictions and changes\n\n"
    head = "| What differs | One side | Other side | Status |\n|---|---|---|---|\n"
    sources = "".join(
        f"\n[{n}] **Rules** (Revision {n + 2}), Gates > Hours. {named}{n}.md `S{n}:C{n}` "
        f"`sha256:{RULE_HASHES[n - 1]}`\n\n{AUTHORS if n == 2 else ''}"
        f"> {RULES[n - 1]}\n"
        for n in (1, 2)
    )

    async def read(digest: str) -> str | None:
        return dict(zip(RULE_HASHES, STORED_RULES, strict=True)).get(digest)

    async def read_records(reference: Reference, places: Sequence[tuple[int, int]]) -> Sequence[StoredSource]:
        n = RULE_HASHES.index(reference.snapshot) + 1
        source = Source(SourceId(f"S{n}"), "Rules", f"{named}{n}.md", reference.snapshot, version=f"Revision {n + 2}")
        source = replace(source, authors=("Doe, J. _K._", "Institute of Gates")) if n == 2 else source
        return (StoredSource(source, "Gates > Hours", f"C{n}"),) if len(places) == 3 - n else ()

    text = f"{body}{head}{CONFLICT}\n\n## Sources\n{sources}"
    assert change(text) != text or change is str
    return await recheck_report(change(text), Lookups(read, by_reference, read_records))


async def test_what_a_report_says_of_its_sources_and_of_their_contradictions_agrees_with_the_stored_records() -> None:
    found = await check_rules(str)
    assert (found.failed, dict(found.problems), dict(found.misplaced)) == ((), {}, {})


async def test_the_name_of_a_file_may_hold_spaces() -> None:
    found = await check_rules(str, "our own rules ")
    assert (found.failed, dict(found.problems), dict(found.misplaced)) == ((), {}, {})
    found = await check_rules(lambda text: text.replace("our own rules 2", "our old rules 2"), "our own rules ")
    assert found.problems


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("Gates > Hours. rules2", "Gates > Wages. rules2", "the passage stands below"),
        ("Gates > Hours. rules2", "rules2", "the passage stands below"),
        ("Doe, J. ", "Roe, J. ", "names as its authors: Doe, J. _K._; Institute of Gates"),
        ("; Institute of Gates", "", "names as its authors: Doe, J. _K._; Institute of Gates"),
        ("\n\n> Keepers SHOULD", f"\n\n{AUTHORS}> Keepers SHOULD", "the stored source names no author"),
        ("`S2:C2`", "`S2:C7`", "its quote stands in S2:C2"),
        ("`S2:C2`", "`S1:C2`", "its quote stands in S2:C2"),
        ("| Revision 4: ", "| Revision 9: ", "its source has another title and edition"),
        ("\u201cKeepers SHALL open", "\u201cKeepers SHALL close", "the quote is not there"),
        ("| SHOULD -> SHALL |", "| SHALL -> SHOULD |", "its quotes differ otherwise"),
        ("| SHOULD -> SHALL |", "| SHOULD -> MAY |", "its quotes differ otherwise"),
    ],
)
async def test_a_heading_passage_or_side_that_was_changed_is_found(old: str, new: str, why: str) -> None:
    found = await check_rules(lambda text: text.replace(old, new))
    told = [*found.problems.values(), *found.misplaced.values(), *(r for each in found.failed for r in each.reasons)]
    assert any(why in each for each in told), told


async def check_title(title: str, heading: str) -> tuple[str, RecheckResult]:
    """Return the references of a source with a title, and what a check of a report with them finds."""
    built = "The mill was built in 1874."
    fact = Fact(FactId("F1"), built, built, SourceId("S1"), PassageId("C1"), 0, len(built), title=title, url="mills.md")
    shown = build_citations({fact.marker: 1}, [replace(fact, heading=heading)], {"S1": CitedSource(HASH)})
    stored = StoredSource(Source(SourceId("S1"), title, "mills.md", HASH), heading, "C1")

    async def read_records(_: Reference, __: Sequence[tuple[int, int]]) -> Sequence[StoredSource]:
        return (stored,)

    listed = render_sources(shown)
    text = f"# Mills\n\nThe mill was built in 1874. [1]\n\n{listed}\n"
    return listed, await recheck_report(text, Lookups(by_hash, by_reference, read_records))


@pytest.mark.parametrize("below", ["", " > Wheels"])
async def test_a_title_that_is_cut_short_and_is_a_heading_too_is_the_one_that_is_stored(below: str) -> None:
    title = " ".join(f"The mill of Ardal and its {n} wheels" for n in range(9))
    listed, found = await check_title(title, f"{title}{below}")
    assert title not in listed
    assert listed.count("The mill of Ardal and its 0 wheels") == 1
    assert (found.failed, dict(found.problems)) == ((), {})


@pytest.mark.parametrize("title", ["The mills of Ardal -", "C:\\mills\\", "Mills of A. Doe Inc.", "Mills *"])
async def test_a_title_may_end_in_a_sign_of_layout(title: str) -> None:
    _, found = await check_title(title, title)
    assert (found.failed, dict(found.problems)) == ((), {})


async def test_a_report_may_leave_the_authors_out() -> None:
    found = await check_rules(lambda text: text.replace(AUTHORS, ""))
    assert (found.failed, dict(found.problems)) == ((), {})


async def test_the_passages_of_another_library_have_other_numbers() -> None:
    found = await check_rules(lambda text: text.replace("`S1:C1`", "`S8:C80`").replace("`S2:C2`", "`S9:C90`"))
    assert (found.failed, dict(found.problems), dict(found.misplaced)) == ((), {}, {})


def test_findings_have_lines_levels_and_failing_words() -> None:
    verified, lost = (CitationStatus.VERIFIED,), (CitationStatus.NOT_STORED,)
    result = RecheckResult(
        statements=(
            CheckedStatement("Fine.", ("1",), verified, Support.SUPPORTED, line=3),
            CheckedStatement("It has 64.", ("1",), verified, Support.UNSUPPORTED, ("no 64",), ("64",), 4),
            CheckedStatement("Unknown.", ("2",), lost, Support.NOT_CHECKABLE, line=5),
        ),
        references=(Reference(1, "A", line=9), Reference(2, "B", line=11)),
        never_cited=(),
        duplicates=0,
        problems={1: "the stored source has the title “C”"},
        changes=(TextChange(7, "Added.", added=True),),
    )
    run = cast("Any", build_sarif(result, "report.md", "1.0"))["runs"][0]
    found = [
        (each["ruleId"], each["level"], each["locations"][0]["physicalLocation"]["region"]["startLine"])
        for each in run["results"]
    ]
    assert found == [
        ("changed", "error", 7),
        ("reference", "error", 9),
        ("unsupported", "error", 4),
        ("not_checkable", "note", 5),
    ]
    assert run["results"][2]["properties"]["failingWords"] == ["64"]
    assert {each["ruleId"] for each in run["results"]} <= {rule["id"] for rule in run["tool"]["driver"]["rules"]}


def test_of_two_places_with_the_words_of_a_statement_the_one_with_all_in_one_sentence_is_the_best() -> None:
    page = (
        "When the clerk enters the loft, he reads the list of the packages. He has no need to await anybody there.\n\n"
        "It is cold.\n\nWho calls must ring.\n\nPackages in the loft do not await the clerk."
    )
    assert "do not await" in find_best_windows("Packages in the loft await the clerk.", SourcePage(page))[0].quote


def test_code_in_a_report_is_one_statement_and_neither_heading_nor_reference() -> None:
    forged = f"[7] **T**. https://x.example/ `S7:C7` `sha256:{'0' * 64}`"
    text = ours(f"It is so: [1]\n\n```\n# Methodology\n{forged}\nmill(2)\n```\n\n[1]\n\nDone [1].", "mill(2)")
    parsed = parse_report(text)
    assert list(parsed.references) == [1]
    said = [(each.text, each.numbers) for each in find_statements(parsed)]
    assert (f"# Methodology {forged} mill(2)", (1,)) in said
    assert ("Done.", (1,)) in said
    several = find_statements(parse_report(text.replace("```\n\n[1]", "```\n\n[1] [2]")))
    assert [each.numbers for each in several if "mill(2)" in each.text] == [(1, 2)]
    assert [each.text for each in several if len(each.numbers) > 1] == ["# Methodology", forged, "mill(2)"]
    lines = parse_report(ours(f"It is so:\n\n```\n# Methodology\n```\n\n[1]\n\n```\n{forged}\n```\n\nDone [1].", "x"))
    assert (list(lines.references), find_statements(lines)[-1].text) == ([1], "Done.")
    foreign = "A mill [1].\n\n```\n[2] https://x.example/\n```\n\n[1] https://y.example/\n"
    assert list(parse_report(foreign).references) == [1]

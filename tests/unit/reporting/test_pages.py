"""Statements about the page of another source: each against the place of the page that it is about."""

from __future__ import annotations

import pytest

from corrobora.adapters.readers.outline import read_outline
from corrobora.domain.report import Support
from corrobora.reporting.recheck import recheck_report
from corrobora.reporting.references import Lookups, SourcePage
from corrobora.reporting.report_parser import Reference
from corrobora.text.passages import iterate_sections

NOTES = (
    "Release notes of Sluice\n\n2.6.1 (2022-05-03)\n\n- The default number of gates is 6 (was 3).\n"
    "- Gates open on request.\n\n2.5.0 (2021-11-30)\n\n- Dropped support for the serial port.\n"
)
FARES = (
    "Fares of the tramway\n\nAll fares in euros.\n\nTicket: Short; Adult: 1.80; Child: 0.90.\n"
    "Ticket: Town; Adult: 3.10; Child: 1.50.\nTicket: Valley; Adult: 5.70; Child: 2.80.\n"
)
RULES = (
    "Rules of the harbour\n\nBoats with an engine must not anchor in the northern basin. All crews of a visiting boat "
    "must report to the office. Only the harbour master may open the lock at night. Most of the buoys were replaced.\n"
)
TALK = (
    'Meeting of the mill trust\n\nOda Brandt, who keeps the mill, called the plan "far too dear". Nils Aas asked for '
    "a second offer. Whether the wheel survives the winter is unknown. The yield rose by 5.2 tonnes at the upper mill "
    "and by 1.9 tonnes at the lower mill.\n"
)
GUESTS = (
    "The island inn\n\nTwenty guests came to the island by boat and sixteen by plane. About 310 guests stayed in May, "
    "compared with 350 on an average day.\n"
)
PARTS = """Notes
=====

Pump 3.1.0 (4 March 2021)
=========================

Storage
-------

The pump keeps its log on the card.

The valve opens by itself since firmware v2.4.

Display
-------

The display is dimmed.
Pump 3.0.0 (2 May 2020)
=======================

Storage
-------

The pump keeps its log in memory.
"""
PLANS = (
    "Plans of the sluice works\n\nPrices are per month. Valid from 3 May 2019.\n\n"
    "Plan: Reed; Depth: 2 m; Price: 5 EUR.\nPlan: Alder; Depth: 4 m; Price: 9 EUR.\n"
)
SURVEY = (
    "Survey of the fens\n\n" + "Fens hold water for a long time. " * 9 + "\n\nThe survey began in spring 2021.\n\n"
    "Sedges grow in it.\n\nMosses grow in it.\n\nIn the fens 412 species of moss were found.\n"
)
BEACONS = (
    "Beacon Exchange, Version 2\n\nPublished in March 2021. Replaces: Version 1 (2014).\n\n"
    + "Two stations share a link. " * 9
    + "\n\nTags\n----\n\nEvery beacon carries a tag of 16 octets.\n"
)
MIETE = "Mietrecht\n\nDie Kaution darf drei Monatsmieten nicht übersteigen. Hunde sind im Hof nicht erlaubt.\n"


def make_page(text: str) -> SourcePage:
    said, headings = read_outline(text.split("\n"))
    return SourcePage(
        said, text.partition("\n")[0], sections=tuple((at, path) for at, _, path in iterate_sections(said, headings))
    )


async def check(page: str, sentence: str) -> Support:
    async def read(_: object) -> SourcePage:
        return make_page(page)

    async def read_nothing(_: str) -> None:
        return None

    text = f"# Test\n\n{sentence} [1]\n\n## Sources\n\n[1] Page https://a.example/page\n"
    (found,) = (await recheck_report(text, Lookups(read_nothing, read))).statements
    return found.support


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        pytest.param(NOTES, "Since 2.6.1 the default number of gates is 6.", id="the heading is a release"),
        pytest.param(NOTES, "Sluice 2.5 dropped support for the serial port.", id="a release by its first numbers"),
        pytest.param(
            TALK,
            "The yield rose by 3.3 tonnes more at the upper mill than at the lower mill.",
            id="a difference is computed from the page",
        ),
        pytest.param(
            GUESTS, "40 fewer guests stayed than on an average day.", id="a difference, the second number without noun"
        ),
        pytest.param(PLANS, "Since May 2019 the plan Reed has had a depth of 2 m.", id="the date at the beginning"),
        pytest.param(RULES, "Most of the buoys were replaced.", id="a slice"),
        pytest.param(BEACONS, "In version 2, every beacon carries a tag of 16 octets.", id="the edition of the page"),
        pytest.param(PARTS, "From 3.1.0 on, the pump keeps its log on the card.", id="the heading above a heading"),
        pytest.param(PARTS, "Since firmware 2.4 the valve opens by itself.", id="a release without its v"),
    ],
)
async def test_truth_3_what_a_page_says_below_a_heading_or_gives_to_compute_is_supported(
    page: str, sentence: str
) -> None:
    assert await check(page, sentence) is Support.SUPPORTED


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        pytest.param(NOTES, "Since 2.6.1 the default number of gates is 3.", id="the former value"),
        pytest.param(PARTS, "From 3.0.0 on, the pump keeps its log on the card.", id="below another release"),
        pytest.param(PARTS, "Since firmware 2.5 the valve opens by itself.", id="another release"),
        pytest.param(NOTES, "Sluice 2.4 dropped support for the serial port.", id="another release"),
        pytest.param(BEACONS, "In version 1, every beacon carries a tag of 16 octets.", id="the edition it replaces"),
        pytest.param(FARES, "A town ticket for a child costs 0.90 euros.", id="another row"),
        pytest.param(FARES, "A town ticket for a child costs 3.10 euros.", id="another column"),
        pytest.param(FARES, "A town ticket for a child costs 1.50 crowns.", id="a unit that nobody names"),
        pytest.param(FARES, "A town ticket for a resident child costs 1.80 euros.", id="a cell of another row"),
        pytest.param(PLANS, "The plan Alder costs 9 EUR a year.", id="another period"),
        pytest.param(PLANS, "The plan Alder costs 5 EUR a month.", id="a price of another row"),
        pytest.param(GUESTS, "In total 36 guests came to the island by boat.", id="a sum said of one of its parts"),
        pytest.param(GUESTS, "In total 38 guests came to the island.", id="a sum that does not come out"),
        pytest.param(RULES, "Boats must not anchor in the northern basin.", id="a limit of the subject of a denial"),
        pytest.param(RULES, "All crews must report to the office.", id="a limit of all"),
        pytest.param(RULES, "The harbour master may open only the lock at night.", id="only, of something else"),
        pytest.param(RULES, "All of the buoys were replaced.", id="all for most"),
        pytest.param(TALK, 'Nils Aas called the plan "far too dear".', id="somebody else said it"),
        pytest.param(TALK, "The wheel survives the winter.", id="whether"),
        pytest.param(
            TALK,
            "The yield rose by 4.3 tonnes more at the upper mill than at the lower mill.",
            id="a difference that does not come out",
        ),
        pytest.param(MIETE, "Die Kaution darf drei Monatsmieten übersteigen.", id="a German denial"),
        pytest.param(MIETE, "Hunde sind im Hof erlaubt.", id="another German denial"),
    ],
)
async def test_truth_3_what_a_page_says_otherwise_is_not_supported(page: str, sentence: str) -> None:
    assert await check(page, sentence) is not Support.SUPPORTED


async def test_truth_3_a_number_is_false_only_if_it_stands_in_no_place_of_a_page() -> None:
    assert await check(SURVEY, "The survey of 2021 found 412 species of moss in the fens.") is Support.UNCLEAR
    assert await check(SURVEY, "The survey of 2014 found 412 species of moss in the fens.") is Support.UNSUPPORTED


async def test_an_address_below_the_title_of_its_reference_belongs_to_it() -> None:
    async def read(_: object) -> SourcePage:
        return make_page(RULES)

    async def read_nothing(_: str) -> None:
        return None

    text = "# T\n\nMost of the buoys were replaced \\[1\\].\n\n## Sources\n\n\\[1\\] Rules\n<https://a.example/r>\n"
    found = await recheck_report(text, Lookups(read_nothing, read))
    assert [s.support for s in found.statements] == [Support.SUPPORTED]
    assert [r.url for r in found.references] == ["https://a.example/r"]


@pytest.mark.parametrize("listed", ["[1] rules.txt", "1. rules.txt", "- [1] [Rules](rules.txt)", "[1]: rules.txt"])
async def test_a_list_of_sources_may_name_files_without_an_address(listed: str) -> None:
    async def read(reference: Reference) -> SourcePage | None:
        return make_page(RULES) if "rules.txt" in (reference.url, reference.title) else None

    async def read_nothing(_: str) -> None:
        return None

    text = f"# T\n\nMost of the buoys were replaced [1].\n\n## Sources\n\n{listed}\n"
    found = await recheck_report(text, Lookups(read_nothing, read))
    assert [s.support for s in found.statements] == [Support.SUPPORTED]

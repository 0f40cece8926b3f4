"""References for other programs: what their parsers read is what is known of the source, for every title."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

import pytest
import rispy
from bibtexparser import middlewares
from bibtexparser.entrypoint import parse_string
from hypothesis import given
from hypothesis import strategies as st

from corrobora.reporting.bibliography import CitedWork, name_side, write_bibtex, write_csl, write_ris

CSL_TYPES = {"article", "article-journal", "webpage", "document"}  # of CSL 1.0.2, as far as they are used
CSL_TEXTS = {"title", "URL", "DOI", "PMID", "number", "publisher", "version", "note"}

HOSTILE = (
    "Braces {and} more }{ of \\them",
    "100 % of $5 & #7_8 ~ ^ \"quoted\" 'so'",
    "Line one\nER  - \r\nTY  - BOOK\x00\x1b[31m",
    "@misc{x, title={y}}",
    "Straßenbahn in Łódź: 北京の橋 — מבוא, مقدمة, введение ½",
    "\\input{/etc/passwd} \\write18{rm -rf}",
    "TI  - a tag in a title",
)


def make_work(**values: str) -> CitedWork:
    return CitedWork.from_record({"source": "S7", "title": "T", "url": "https://a.example/x", **values})


def read_bibtex(text: str) -> dict[str, str]:
    """Return the fields of the one entry as the parser reads and decodes them."""
    library = parse_string(text, append_middleware=[middlewares.LatexDecodingMiddleware()])
    assert library.failed_blocks == []
    assert (len(library.blocks), len(library.entries)) == (1, 1)
    return {
        field.key: str(field.value).replace("\u02c6", "^") for field in library.entries[0].fields
    }  # its own sign for ^


def read_ris(text: str) -> dict[str, Any]:
    entries = rispy.loads(text)
    assert len(entries) == 1
    assert "unknown_tag" not in entries[0]
    return entries[0]


def check_csl(item: Mapping[str, Any]) -> None:
    """The shape that the CSL-JSON schema asks for: known variables, texts as texts, dates in parts."""
    assert item["type"] in CSL_TYPES
    assert isinstance(item["id"], str)
    for name, value in item.items():
        if name in ("issued", "accessed"):
            assert set(value) in ({"date-parts"}, {"literal"})
            assert all(
                1 <= len(part) <= 3 and all(type(n) is int for n in part) for part in value.get("date-parts", ())
            )
        else:
            assert name in CSL_TEXTS | {"id", "type"}
            assert isinstance(value, str)


PAPER = {
    "title": "On bridges",
    "version": "arXiv:2301.00001v2; doi:10.1000/182(a); PMID 12345",
    "published": "2023-04-05",
    "publisher": "Nature",
    "stored_at": "2026-11-22T21:00:00+00:00",
}


def test_a_paper_has_its_numbers_and_dates_in_all_three() -> None:
    work = make_work(**PAPER)
    (item,) = json.loads(write_csl([work]))
    check_csl(item)
    assert item["type"] == "article-journal"
    assert (item["DOI"], item["PMID"], item["number"]) == ("10.1000/182(a)", "12345", "arXiv:2301.00001v2")
    assert item["issued"] == {"date-parts": [[2023, 4, 5]]}
    assert item["accessed"] == {"date-parts": [[2026, 11, 22]]}
    bib = read_bibtex(write_bibtex([work]))
    assert (bib["title"], bib["year"], bib["month"], bib["day"]) == ("On bridges", "2023", "apr", "5")
    assert (bib["doi"], bib["eprint"], bib["archiveprefix"], bib["pmid"]) == (
        item["DOI"],
        "2301.00001v2",
        "arXiv",
        "12345",
    )
    assert (bib["url"], bib["urldate"], bib["publisher"]) == ("https://a.example/x", "2026-11-22", "Nature")
    ris = read_ris(write_ris([work]))
    assert (ris["type_of_reference"], ris["id"], ris["title"], ris["year"]) == ("JOUR", "S7", "On bridges", "2023")
    assert (ris["doi"], ris["accession_number"]) == (item["DOI"], "PMID 12345; arXiv:2301.00001v2")
    assert (ris["date"], ris["access_date"], ris["urls"]) == ("2023/04/05/", "2026/11/22/", ["https://a.example/x"])


def test_an_edition_is_no_number_of_the_work_in_all_three() -> None:
    for version, edition in (("Second draft; doi:10.1000/182", "Second draft"), ("arXiv:2301.00001v2", "")):
        work = make_work(version=version)
        (item,) = json.loads(write_csl([work]))
        bib, ris = read_bibtex(write_bibtex([work])), read_ris(write_ris([work]))
        assert (item.get("version", ""), bib.get("version", ""), ris.get("edition", "")) == (edition,) * 3
    assert name_side("On cranes", "Second draft; doi:10.1000/182", "2020") == "Second draft"
    assert name_side("On cranes.", "doi:10.1000/182", "2020") == "On cranes, 2020"


def test_braces_in_pairs_stay_braces_and_single_ones_become_words() -> None:
    """Programs read the braces; BibTeX counts each of them, so that a single one would end or swallow the field."""
    assert "{{Sets \\{a, b\\}}}" in write_bibtex([make_work(title="Sets {a, b}")])
    single = write_bibtex([make_work(title="A } and a {")])
    assert "\\{" not in single
    assert "\\}" not in single


NAMES = ["van der Lund, Greta", "Tide Board and Sons", "Brandt, Ole {O.} & \\\\Co", "北京太郎"]


def test_authors_are_persons_or_whole_names_in_all_three() -> None:
    work = CitedWork.from_record({"source": "S7", "title": "T", "authors": [*NAMES, 7, "admin"]})
    (item,) = json.loads(write_csl([work]))
    assert item["author"][:2] == [{"family": "van der Lund", "given": "Greta"}, {"literal": "Tide Board and Sons"}]
    assert len(item["author"]) == len(NAMES)
    library = parse_string(
        write_bibtex([work]),
        append_middleware=[middlewares.SeparateCoAuthors(), middlewares.LatexDecodingMiddleware()],
    )
    assert library.failed_blocks == []
    written = library.entries[0]["author"]
    assert [each.strip("{}") for each in written[:2]] == NAMES[:2]
    assert len(written) == len(NAMES)
    assert read_ris(write_ris([work]))["authors"] == NAMES
    assert "author" not in json.loads(write_csl([make_work()]))[0]


def test_a_persons_name_without_a_comma_is_parted_in_all_three() -> None:
    work = CitedWork.from_record({"source": "S7", "title": "T", "authors": ["Solveig Amundsen", "World Bank"]})
    (item,) = json.loads(write_csl([work]))
    assert item["author"] == [{"family": "Amundsen", "given": "Solveig"}, {"literal": "World Bank"}]
    assert parse_string(write_bibtex([work])).entries[0]["author"] == "Amundsen, Solveig and {World Bank}"
    assert read_ris(write_ris([work]))["authors"] == ["Amundsen, Solveig", "World Bank"]


@pytest.mark.parametrize(
    ("url", "doi", "arxiv", "pmid"),
    [
        ("https://doi.org/10.1038/s41586-020-2649-2", "10.1038/s41586-020-2649-2", "", ""),
        (
            "https://doi.org/10.1002/(SICI)1097-4571(199806)49:8%3C693::AID-ASI4%3E3.0.CO;2-O",
            "10.1002/(SICI)1097-4571(199806)49:8<693::AID-ASI4>3.0.CO;2-O",
            "",
            "",
        ),
        ("(see https://doi.org/10.1000/a(b).)", "10.1000/a(b)", "", ""),
        ("https://arxiv.org/abs/hep-th/9901001", "", "hep-th/9901001", ""),
        ("https://arxiv.org/pdf/2301.12345", "", "2301.12345", ""),
        ("https://pubmed.ncbi.nlm.nih.gov/30049270/", "", "", "30049270"),
        ("https://a.example/10.1000/182", "", "", ""),
    ],
)
def test_the_numbers_stand_in_the_address_too(url: str, doi: str, arxiv: str, pmid: str) -> None:
    work = make_work(url=url)
    assert (work.doi, work.arxiv, work.pmid) == (doi, arxiv, pmid)
    if work.is_web:
        assert [unquote(each) for each in read_ris(write_ris([work]))["urls"]] == [unquote(url)]


@pytest.mark.parametrize(
    ("said", "parts"),
    [
        ("March 2020", [2020, 3]),
        ("12 March 2020", [2020, 3, 12]),
        ("Mar. 12, 2020", [2020, 3, 12]),
        ("12 March", []),
        ("March 2020 and May 2021", []),
    ],
)
def test_a_date_in_words_is_a_date_in_all_three(said: str, parts: list[int]) -> None:
    work = make_work(published=said)
    issued = json.loads(write_csl([work]))[0]["issued"]
    assert issued == ({"date-parts": [parts]} if parts else {"literal": said})
    bib, ris = write_bibtex([work]), read_ris(write_ris([work]))
    assert ("  year = {2020},\n  month = mar" in bib, ris.get("year")) == (bool(parts), "2020" if parts else None)


def test_a_file_has_no_address_and_an_unknown_date_stays_as_it_is_said() -> None:
    work = make_work(url="docs/my report.pdf", published="spring")
    (item,) = json.loads(write_csl([work]))
    assert (item["type"], item["note"], item["issued"]) == ("document", "docs/my report.pdf", {"literal": "spring"})
    assert "URL" not in item
    assert "url" not in read_bibtex(write_bibtex([work]))
    assert read_ris(write_ris([work]))["notes"] == ["docs/my report.pdf"]
    assert json.loads(write_csl([make_work(published="2021-19")]))[0]["issued"] == {"date-parts": [[2021]]}


@pytest.mark.parametrize("title", HOSTILE)
def test_hostile_and_foreign_titles_come_back_as_they_are(title: str) -> None:
    check_round_trip(title)


@given(st.text(alphabet=st.characters(blacklist_categories=["Cs", "Cn", "Co"]), max_size=60))
def test_every_title_comes_back_as_it_is(title: str) -> None:
    check_round_trip(title)


def check_round_trip(title: str) -> None:
    work = make_work(title=title, version=title, publisher=title)
    shown = work.title
    assert "\n" not in shown
    (item,) = json.loads(write_csl([work]))
    check_csl(item)
    assert item.get("title", "") == shown
    bib = read_bibtex(write_bibtex([work]))
    if shown:
        assert bib["title"] == bib["publisher"] == shown.replace("\u02c6", "^")
    ris = read_ris(write_ris([work]))
    assert ris.get("title", "") == shown


def test_many_works_are_many_entries_in_their_order() -> None:
    works = [
        make_work(source=f"S{n}", title=title, url=f"https://a.example/{n}?q={{x}}") for n, title in enumerate(HOSTILE)
    ]
    assert [entry.key for entry in parse_string(write_bibtex(works)).entries] == [w.key for w in works]
    assert [entry["id"] for entry in rispy.loads(write_ris(works))] == [w.key for w in works]
    assert [item["id"] for item in json.loads(write_csl(works))] == [w.key for w in works]
    assert write_bibtex(works) == write_bibtex(list(works))

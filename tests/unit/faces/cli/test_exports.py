"""`corrobora export` and `corrobora plot`: a run as files."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
import rispy
from bench.flip_bundles import ROOT
from bibtexparser.entrypoint import parse_string

from corrobora.adapters.readers.office import read_docx


@pytest.mark.covers("export --format", "export --output")
def test_export(readable: tuple[Any, str]) -> None:
    shell, run = readable
    assert shell("export", run, "-o", "out").code == 0
    assert sorted(path.name for path in (shell.folder / "out").iterdir()) == ["report.html", "report.json", "report.md"]
    assert shell("export", run, "-f", "md", "-o", "one.md").out == "one.md\n"
    assert shell("export", run, "-f", "bib", "-f", "ris", "-o", "both").code == 0
    assert {each.name for each in (shell.folder / "both").iterdir()} == {"references.bib", "references.ris"}
    assert "'odt' is not a format" in shell("export", run, "-f", "odt", "-o", "x").complaint
    assert "--force" in shell("export", run, "-o", "out").complaint


def test_a_second_output_is_refused_and_an_ending_that_does_not_fit_is_named(readable: tuple[Any, str]) -> None:
    shell, run = readable
    for command in (("export", run), ("plot", run), ("research", "When was the bridge opened?")):
        refused = shell(*command, "-o", "a.html", "-o", "b.json")
        assert (refused.code, "-o names one file or folder, and was given 2 times" in refused.complaint) == (2, True)
    other = shell("export", run, "-f", "json", "-o", "a.html").complaint
    assert "has the ending '.html', which is none of what is to be written. Use .json or a folder." in other
    assert not list(shell.folder.glob("*.html"))


def test_export_to_stdout_is_one_format_and_makes_no_file(readable: tuple[Any, str]) -> None:
    shell, run = readable
    assert shell("export", run, "-f", "md", "-o", "-").out.startswith("# ")
    assert shell("export", run, "-o", "-").code == 2
    assert shell("research", "--run-id", run, "-o", "-", "-q").out.startswith("# ")
    assert not (shell.folder / "-").exists()


def test_a_bundle_is_said_to_need_no_database_and_a_missing_one_is_named(readable: tuple[Any, str]) -> None:
    shell, run = readable
    assert shell("export", run, "-f", "bundle", "-o", "report.zip").code == 0
    result = shell("verify", "report.zip")
    assert "because a bundle is checked without a database" in result.out
    assert "not stored here" not in result.out
    command = [sys.executable, str(ROOT / "tools" / "check_bundle.py"), "none.zip"]
    missing = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60, cwd=shell.folder)
    assert (missing.returncode, missing.stderr, missing.stdout) == (2, "", "there is no file none.zip\n")


@pytest.mark.covers("plot --kind", "plot --output", "plot --force", "plot --follow-symlinks")
def test_plots_of_a_run(readable: tuple[Any, str]) -> None:
    shell, run = readable
    drawn = shell("plot", run, "-o", "out").out.split()
    kinds = {"coverage", "saturation", "publishers", "spend", "timeline"}  # its documents state no date
    assert {path.removeprefix("out/") for path in drawn} == {f"plot-{kind}.svg" for kind in kinds}
    assert "--force" in shell("plot", run, "-o", "out").complaint
    assert shell("plot", run, "-o", "out", "--force").out.split() == drawn
    (shell.folder / "link.svg").symlink_to(shell.folder / "out" / "plot-spend.svg")
    assert "--follow-symlinks" in shell("plot", run, "--kind", "spend", "-o", "link.svg", "--force").complaint
    followed = shell("plot", run, "--kind", "spend", "-o", "link.svg", "--force", "--follow-symlinks")
    assert followed.out.endswith("plot-spend.svg\n")
    one = shell("plot", run, "--kind", "spend", "-o", "-").out
    assert one == (shell.folder / "out" / "plot-spend.svg").read_text()
    assert "writing" in one
    assert "'pie' is not a kind" in shell("plot", run, "--kind", "pie").complaint
    assert "takes one plot" in shell("plot", run, "-o", "-").complaint
    assert "takes one plot" in shell("plot", run, "-o", "x.svg").complaint
    assert shell("plot", run, "--kind", "dates").code == 6
    assert "Use .svg or a folder" in shell("plot", run, "--kind", "spend", "-o", "spend.html").complaint


def test_references_of_a_run(readable: tuple[Any, str]) -> None:
    shell, run = readable
    assert shell("export", run, "-f", "csl,bib,ris", "-o", "refs").code == 0
    report = json.loads(shell("export", run, "-f", "json", "-o", "-").out)
    cited = list(dict.fromkeys(each["source"] for each in report["citations"]))
    items = json.loads((shell.folder / "refs" / "references.csl.json").read_text())
    assert [each["id"] for each in items] == cited
    assert all(each["accessed"]["date-parts"][0][0] >= 2024 for each in items)  # when its text was stored
    entries = parse_string((shell.folder / "refs" / "references.bib").read_text()).entries
    assert [each.key for each in entries] == cited
    works = rispy.loads((shell.folder / "refs" / "references.ris").read_text())
    assert {each["title"] for each in works} == {each["title"] for each in report["citations"]}
    assert shell("export", run, "-f", "ris", "-o", "-").out.startswith("TY  - GEN\nID  - S")
    assert shell("export", run, "-f", "csl", "-o", "mine.json").out == "mine.json\n"
    assert json.loads((shell.folder / "mine.json").read_text()) == items


def test_word_and_pdf_of_a_run(readable: tuple[Any, str]) -> None:
    shell, run = readable
    assert shell("export", run, "-f", "docx,pdf", "-o", "out").out.split() == ["out/report.docx", "out/report.pdf"]
    assert "1931" in read_docx((shell.folder / "out" / "report.docx").read_bytes()).text
    assert (shell.folder / "out" / "report.pdf").read_bytes().startswith(b"%PDF-")
    assert "is not a text format" in shell("export", run, "-f", "pdf", "-o", "-").complaint
    assert shell("export", run, "-f", "pdf", "-o", "mine.pdf").out == "mine.pdf\n"
    assert shell("export", run, "-o", "other.DOCX").out == "other.DOCX\n"
    assert "1931" in read_docx((shell.folder / "other.DOCX").read_bytes()).text
    assert "Use .bib or a folder" in shell("export", run, "-f", "bib", "-o", "references.json").complaint
    assert "corrobora export last -o FILE" in shell("Which bridge?", "-l", "docs", "-o", "report.docx").complaint


FRONT = """---
title: The tide of Ardal
authors:
  - Lund, Greta
  - name: The Tide Board
---
# The tide of Ardal

The tide gauge of Ardal was set up in 1931 and stands 4 metres above the quay.
"""
PAGE = """<html><head><title>The mill of Orrin</title>
<script type="application/ld+json">
{"@type": "Article", "author": {"@type": "Person", "name": "Ole [1] <b>Brandt"}}</script>
</head><body><article><h1>The mill of Orrin</h1><p>The mill of Orrin was built in 1790 by the council of the town, and
it grinds barley for all farms of the valley until today.</p></article></body></html>"""


def test_authors_stand_in_the_report_and_its_references_and_every_check_passes(served: Any) -> None:
    notes = served.folder / "notes"
    notes.mkdir()
    (notes / "tide.md").write_text(FRONT)
    (notes / "mill.html").write_text(PAGE)
    question = "When was the tide gauge of Ardal set up, and when was the mill of Orrin built?"
    asked = served("research", question, "-l", str(notes), "--yes", "--offline", "--json", "-q", "--no-input")
    report = json.loads(asked.out)
    run = report["run_id"]
    named = {each["title"]: each["authors"] for each in report["citations"]}
    tide, mill = ["Lund, Greta", "The Tide Board"], ["Brandt, Ole 1 b"]
    assert named == {"The tide of Ardal": tide, "The mill of Orrin": mill}
    assert "**Authors of this source:** Lund, Greta; The Tide Board\n" in report["markdown"]
    assert served("export", run, "-f", "md,html,csl,bib,ris,bundle", "-o", "out").code == 0
    files = {path.name: path for path in (served.folder / "out").iterdir()}
    assert "<strong>Authors of this source:</strong> Lund, Greta" in files["report.html"].read_text()
    for name in ("report.md", "report.html", "bundle.zip"):
        assert (name, served("verify", str(files[name])).code) == (name, 0)
    items = {each["title"]: each["author"] for each in json.loads(files["references.csl.json"].read_text())}
    assert items["The tide of Ardal"] == [{"family": "Lund", "given": "Greta"}, {"literal": "The Tide Board"}]
    assert "author = {Lund, Greta and {The Tide Board}}" in files["references.bib"].read_text()
    works = {each["title"]: each["authors"] for each in rispy.loads(files["references.ris"].read_text())}
    assert works == {"The tide of Ardal": tide, "The mill of Orrin": mill}
    dropped = served("edit", run, "--drop", "0.1", "--accept", "1", "-q")
    assert (dropped.code, "**Authors of this source:**" in dropped.out) == (0, True)
    forged = files["report.md"].read_text().replace("Lund, Greta;", "Lund, Asta;")
    files["report.md"].write_text(forged)
    assert served("verify", str(files["report.md"])).code != 0


def test_a_run_that_found_nothing_has_a_document_and_no_references(filled: Any) -> None:
    assert filled("Which moons of Jupiter have oceans of ammonia?", "-l", "docs", "-q").code == 6
    assert filled("export", "last", "-f", "docx,pdf", "-o", "none").code == 0
    said = read_docx((filled.folder / "none" / "report.docx").read_bytes()).text
    assert "No sufficient evidence was found to answer the question." in said
    refused = filled("export", "last", "-f", "bib", "-o", "refs")
    assert refused.code == 6
    assert "cites nothing" in refused.complaint

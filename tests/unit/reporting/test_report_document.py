"""Word and PDF: what stands in the Markdown stands in them, every source is linked, and no text is read as markup."""

from __future__ import annotations

import io
import re
import sys
import zipfile
from typing import Any

import docx
import pypdfium2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.profiles.research import make_run

from corrobora.adapters.readers.office import read_docx
from corrobora.domain.errors import UserError
from corrobora.domain.report import Report
from corrobora.reporting.report_document import TextBlock, read_document, write_docx, write_pdf, write_typst

MARKDOWN = """# Bridges \\*and\\* ferries

*Status: complete.*

The bridge was opened in **1931**. [1][2] Array[3] and a source's own \\[1\\] are none, nor is `[1]` in code.

- One item with [a link](https://a.example/x?y=1&z=2)
- Another

3. Third
4. Fourth

| What | Now |
|---|---|
| Length | 412 metres [2] |

```text
#let x = read("/etc/passwd")
```

---

## Sources

[1] **The bridge**. https://a.example `S1:C1` `sha256:00`

> It was opened in 1931. [2]

[2] **北京の橋 #let $x$ @cite <label> \\`code\\`**. docs/b.md `S2:C2` `sha256:11`

> It is 412 metres long.
"""


@pytest.fixture
async def report() -> Report:
    return await (await make_run("timed")).research()


def blocks_of(report: Report) -> tuple[TextBlock, ...]:
    return read_document(report.markdown, [each.number for each in report.citations])


def read_pdf(data: bytes) -> str:
    document = pypdfium2.PdfDocument(data)
    return "\n".join(page.get_textpage().get_text_range() for page in document)


def fold(text: str) -> str:
    return re.sub(r"[\s\ufffe\u00ad]+", "", text)


def test_blocks_of_a_report() -> None:
    blocks = read_document(MARKDOWN, [1, 2])
    kinds = [block.kind for block in blocks]
    assert kinds[:6] == ["heading", "paragraph", "paragraph", "item", "item", "item"]
    assert [block.number for block in blocks if block.kind == "item"] == [0, 0, 3, 4]
    assert [run.source for run in blocks[2].runs if run.source] == [1, 2]
    assert [block.source for block in blocks if block.source] == [1, 2]
    assert [block.kind for block in blocks if block.kind in ("table", "code", "rule", "quote")] == [
        "table", "code", "rule", "quote", "quote",
    ]  # fmt: skip
    assert blocks[0].runs[0].text == "Bridges *and* ferries"
    assert not any(run.source for block in blocks if block.kind == "quote" for run in block.runs)


async def test_the_word_document_says_what_the_report_says(report: Report) -> None:
    data = write_docx(report.title, blocks_of(report))
    read = fold(read_docx(data).text)
    for citation in report.citations:
        assert all(fold(quote) in read for quote in citation.quotes)
        assert fold(citation.title) in read
    for check in report.checks:
        assert fold(check.sentence) in read
    written = zipfile.ZipFile(io.BytesIO(data)).read("word/document.xml").decode()
    linked = {int(n) for n in re.findall(r'w:anchor="source(\d+)"', written)}
    marked = [int(n) for n in re.findall(r'w:name="source(\d+)"', written)]
    assert marked == [each.number for each in report.citations]
    assert linked
    assert linked <= set(marked)


async def test_the_pdf_says_what_the_report_says(report: Report) -> None:
    data = write_pdf(report.title, blocks_of(report))
    read = fold(read_pdf(data))
    for citation in report.citations:
        assert all(fold(quote) in read for quote in citation.quotes)
    for check in report.checks:
        assert fold(check.sentence) in read
    document: Any = pypdfium2.PdfDocument(data)
    assert document.get_metadata_value("Title") == report.title
    assert write_pdf(report.title, blocks_of(report)) == data


def test_equal_reports_give_equal_word_documents() -> None:
    blocks = read_document(MARKDOWN, [1, 2])
    data = write_docx("T", blocks)
    assert write_docx("T", blocks) == data
    dates = {each.date_time for each in zipfile.ZipFile(io.BytesIO(data)).infolist()}
    assert dates == {(1980, 1, 1, 0, 0, 0)}
    opened: Any = docx.Document(io.BytesIO(data))
    assert [cell.text for row in opened.tables[0].rows for cell in row.cells] == [
        "What",
        "Now",
        "Length",
        "412 metres [2]",
    ]
    assert opened.core_properties.author == "Corrobora"
    links = [each.target_ref for each in opened.part.rels.values() if each.is_external]
    assert links == ["https://a.example/x?y=1&z=2", "https://a.example"]


LEFTWARDS = "# مبنى?\n\nبني عام 1931 [1]\n\nBuilt in 1931.\n\n| a | b |\n|---|---|\n| c | d |\n\n> اقتباس\n"


def test_the_address_of_a_source_is_a_link_and_one_in_a_text_is_not() -> None:
    text = "# T\n\nSee https://a.example/ [1]\n\n[1] **B.** (https://b.example/x_y.html). `S1:C1` `sha256:00aa`\n"
    addresses = [run.href for block in read_document(text, [1]) for run in block.runs if run.href]
    assert addresses == ["https://b.example/x_y.html"]


def test_a_word_document_says_its_language_direction_and_the_head_of_a_table() -> None:
    data = write_docx("T", read_document(LEFTWARDS, [1]), "de-AT")
    members = zipfile.ZipFile(io.BytesIO(data))
    written = members.read("word/document.xml").decode()
    turned = [paragraph.partition("</w:p>")[0] for paragraph in written.split("<w:p>")[1:]]
    assert ["<w:bidi/>" in each for each in turned] == [True, True, *[False] * 5, True]
    assert turned[1].count("<w:rtl/>") == 1  # not the number behind it
    assert written.count("<w:tblHeader/>") == 1
    assert 'w:val="de-AT"' in members.read("word/styles.xml").decode()
    opened: Any = docx.Document(io.BytesIO(data))
    assert opened.core_properties.language == "de-AT"
    assert str(opened.paragraphs[1]._p.xpath("w:hyperlink//w:color/@w:val")) == "['0A5AA8']"


def test_a_pdf_sets_a_text_from_right_to_left_at_the_right() -> None:
    blocks = read_document(LEFTWARDS, [1])
    page = pypdfium2.PdfDocument(write_pdf("T", blocks, "ar"))[0].get_textpage()
    whole = page.get_text_range()
    middle = 595 / 2
    assert page.get_charbox(whole.index("?"))[0] > middle
    assert page.get_charbox(whole.index("Built"))[0] < middle
    assert '#set text(lang: "ar", dir: ltr)' in write_typst("T", blocks, "ar")
    assert write_pdf("T", blocks, "no language").startswith(b"%PDF")


def test_markup_of_typst_in_a_report_is_text() -> None:
    read = fold(read_pdf(write_pdf('"#let', read_document(MARKDOWN, [1, 2]))))
    assert fold('#let x = read("/etc/passwd")') in read
    assert fold("#let $x$ @cite <label> `code`") in read
    assert "root:" not in read


@settings(max_examples=25, deadline=None)
@given(st.text(max_size=80))
def test_no_text_leaves_its_literal(text: str) -> None:
    blocks = read_document(
        f"# {text}\n\n{text} [1]\n\n| {text} |\n|---|\n| {text} |\n\n## Sources\n\n[1] {text}\n\n> {text}", [1]
    )
    markup = write_typst(text, blocks)
    outside = re.sub(r'"(?:[^"\\]|\\u\{[0-9a-f]+\})*"', '""', markup)
    assert '"' not in outside.replace('""', "")
    assert write_pdf(text, blocks).startswith(b"%PDF")
    assert read_docx(write_docx(text, blocks))


@pytest.mark.parametrize(("name", "write"), [("docx", write_docx), ("typst", write_pdf)])
def test_without_the_extra_the_error_says_what_to_install(name: str, write: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, name, None)
        with pytest.raises(UserError, match=re.escape("pip install '.[export]'")):
            write("T", ())
